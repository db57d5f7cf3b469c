package schema

import (
	"encoding/json"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// The strict door bounds numbers by value; here the spelling is bounded too, because big.Rat expands it.
const (
	maxNumberBytes    = 12_000
	maxNumberExponent = 20_000
)

var errTooManyNodes = errors.New("too many values")

// shape is what the cost bounds need to know of a decoded text.
type shape struct {
	nodes   int // values, and member names count as values too
	depth   int // nesting of arrays and objects
	strings int // bytes in all strings and member names
	longest int // bytes in the longest string or member name
	number  int // the largest numberCost
}

// decoder reads one JSON text into the types that the validator takes: map[string]any, []any, string, json.Number, bool
// and nil. It refuses what the strict door refuses, in the same pass, so that a text that did not come through the door
// cannot be read differently here.
type decoder struct {
	src      []byte
	pos      int
	maxDepth int
	maxNodes int
	shape
}

func decode(src []byte, maxDepth, maxNodes int) (any, shape, error) {
	d := decoder{src: src, maxDepth: maxDepth, maxNodes: maxNodes}
	d.space()
	v, err := d.value(0)
	if err != nil {
		return nil, d.shape, err
	}
	d.space()
	if d.pos != len(src) {
		return nil, d.shape, d.fail("bytes after the value")
	}
	return v, d.shape, nil
}

func (d *decoder) fail(reason string) error { return &InstanceError{Offset: d.pos, Reason: reason} }

func (d *decoder) space() {
	for d.pos < len(d.src) {
		switch d.src[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

func (d *decoder) node() error {
	d.nodes++
	if d.nodes > d.maxNodes {
		return errTooManyNodes
	}
	return nil
}

func (d *decoder) value(depth int) (any, error) {
	if err := d.node(); err != nil {
		return nil, err
	}
	if d.pos == len(d.src) {
		return nil, d.fail("the text ends early")
	}
	switch c := d.src[d.pos]; c {
	case '{':
		return d.object(depth + 1)
	case '[':
		return d.array(depth + 1)
	case '"':
		return d.text()
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	case 'n':
		return nil, d.literal("null")
	default:
		return d.num()
	}
}

func (d *decoder) literal(want string) error {
	if len(d.src)-d.pos < len(want) || string(d.src[d.pos:d.pos+len(want)]) != want {
		return d.fail("unexpected character")
	}
	d.pos += len(want)
	return nil
}

func (d *decoder) enter(depth int) error {
	if depth > d.maxDepth {
		return &TooExpensiveError{What: "levels of nesting", Limit: int64(d.maxDepth)}
	}
	d.depth = max(d.depth, depth)
	return nil
}

func (d *decoder) object(depth int) (any, error) {
	if err := d.enter(depth); err != nil {
		return nil, err
	}
	obj := map[string]any{}
	d.pos++
	d.space()
	if d.peek() == '}' {
		d.pos++
		return obj, nil
	}
	for {
		if d.peek() != '"' {
			return nil, d.fail("a member name must follow")
		}
		if err := d.node(); err != nil {
			return nil, err
		}
		name, err := d.text()
		if err != nil {
			return nil, err
		}
		if _, ok := obj[name]; ok {
			return nil, d.fail("duplicate member name")
		}
		d.space()
		if d.peek() != ':' {
			return nil, d.fail("a colon must follow a member name")
		}
		d.pos++
		d.space()
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		obj[name] = v
		d.space()
		switch d.peek() {
		case ',':
			d.pos++
			d.space()
		case '}':
			d.pos++
			return obj, nil
		default:
			return nil, d.fail("a comma or the object's end must follow")
		}
	}
}

func (d *decoder) array(depth int) (any, error) {
	if err := d.enter(depth); err != nil {
		return nil, err
	}
	arr := []any{}
	d.pos++
	d.space()
	if d.peek() == ']' {
		d.pos++
		return arr, nil
	}
	for {
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		arr = append(arr, v)
		d.space()
		switch d.peek() {
		case ',':
			d.pos++
			d.space()
		case ']':
			d.pos++
			return arr, nil
		default:
			return nil, d.fail("a comma or the array's end must follow")
		}
	}
}

// peek returns the next byte, 0 at the end.
func (d *decoder) peek() byte {
	if d.pos < len(d.src) {
		return d.src[d.pos]
	}
	return 0
}

func (d *decoder) text() (string, error) {
	d.pos++
	start := d.pos
	ascii := true
	for d.pos < len(d.src) {
		switch c := d.src[d.pos]; {
		case c == '"':
			raw := d.src[start:d.pos]
			if !ascii && !utf8.Valid(raw) {
				return "", d.fail("invalid UTF-8")
			}
			d.pos++
			return d.counted(string(raw)), nil
		case c == '\\':
			return d.escaped(start)
		case c < 0x20:
			return "", d.fail("a control character in a string")
		case c >= utf8.RuneSelf:
			ascii = false
		}
		d.pos++
	}
	return "", d.fail("the text ends in a string")
}

func (d *decoder) counted(s string) string {
	d.strings += len(s)
	d.longest = max(d.longest, len(s))
	return s
}

// escaped reads the rest of a string whose first escape is at pos.
func (d *decoder) escaped(start int) (string, error) {
	buf := append(make([]byte, 0, d.pos-start+32), d.src[start:d.pos]...)
	for d.pos < len(d.src) {
		c := d.src[d.pos]
		switch {
		case c == '"':
			d.pos++
			if !utf8.Valid(buf) {
				return "", d.fail("invalid UTF-8")
			}
			return d.counted(string(buf)), nil
		case c < 0x20:
			return "", d.fail("a control character in a string")
		case c != '\\':
			buf = append(buf, c)
			d.pos++
			continue
		}
		if d.pos+1 >= len(d.src) {
			break
		}
		esc := d.src[d.pos+1]
		d.pos += 2
		switch esc {
		case '"', '\\', '/':
			buf = append(buf, esc)
		case 'b':
			buf = append(buf, '\b')
		case 'f':
			buf = append(buf, '\f')
		case 'n':
			buf = append(buf, '\n')
		case 'r':
			buf = append(buf, '\r')
		case 't':
			buf = append(buf, '\t')
		case 'u':
			r, ok := d.hex()
			if ok && utf16.IsSurrogate(r) {
				ok = false
				if d.peek() == '\\' && d.pos+1 < len(d.src) && d.src[d.pos+1] == 'u' {
					d.pos += 2
					if low, isHex := d.hex(); isHex {
						r = utf16.DecodeRune(r, low)
						ok = r != utf8.RuneError
					}
				}
			}
			if !ok {
				return "", d.fail("a malformed \\u escape")
			}
			buf = utf8.AppendRune(buf, r)
		default:
			return "", d.fail("an unknown escape")
		}
	}
	return "", d.fail("the text ends in a string")
}

func (d *decoder) hex() (rune, bool) {
	if len(d.src)-d.pos < 4 {
		return 0, false
	}
	var r rune
	for _, c := range d.src[d.pos : d.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	d.pos += 4
	return r, true
}

func (d *decoder) digits() int {
	start := d.pos
	for c := d.peek(); c >= '0' && c <= '9'; c = d.peek() {
		d.pos++
	}
	return d.pos - start
}

func (d *decoder) num() (any, error) {
	start := d.pos
	if d.peek() == '-' {
		d.pos++
	}
	lead := d.peek()
	if n := d.digits(); n == 0 || (n > 1 && lead == '0') {
		return nil, d.fail("unexpected character")
	}
	if d.peek() == '.' {
		d.pos++
		if d.digits() == 0 {
			return nil, d.fail("digits must follow the point")
		}
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		d.pos++
		if c := d.peek(); c == '+' || c == '-' {
			d.pos++
		}
		if d.digits() == 0 {
			return nil, d.fail("digits must follow the exponent sign")
		}
	}
	n := json.Number(d.src[start:d.pos])
	cost := numberCost(n)
	if len(n) > maxNumberBytes || cost > maxNumberBytes+maxNumberExponent {
		return nil, &TooExpensiveError{What: "digits in a number", Limit: maxNumberBytes}
	}
	d.number = max(d.number, cost)
	return n, nil
}

// numberCost is the number of decimal digits that big.Rat handles when it reads n: its spelling and its exponent.
func numberCost(n json.Number) int {
	for i := range len(n) {
		if n[i]|0x20 != 'e' {
			continue
		}
		exp := 0
		for _, c := range []byte(n[i+1:]) {
			if c == '+' || c == '-' {
				continue
			}
			if exp = exp*10 + int(c-'0'); exp > maxNumberExponent {
				return maxNumberBytes + maxNumberExponent + 1
			}
		}
		return len(n) + exp
	}
	return len(n)
}
