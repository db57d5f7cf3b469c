package strictjson

import (
	"bytes"
	"iter"
)

// Kind is the kind of a JSON value, named by the byte with which it begins; '0' stands for all numbers.
type Kind byte

// The kinds. KindInvalid is that of an absent (empty) value.
const (
	KindInvalid Kind = 0
	KindObject  Kind = '{'
	KindArray   Kind = '['
	KindString  Kind = '"'
	KindNumber  Kind = '0'
	KindTrue    Kind = 't'
	KindFalse   Kind = 'f'
	KindNull    Kind = 'n'
)

// String returns the kind with its article, for error texts: "an object".
func (k Kind) String() string {
	switch k {
	case KindObject:
		return "an object"
	case KindArray:
		return "an array"
	case KindString:
		return "a string"
	case KindNumber:
		return "a number"
	case KindTrue:
		return "true"
	case KindFalse:
		return "false"
	case KindNull:
		return "null"
	}
	return "nothing"
}

// Value is a JSON text that has been checked, without white space around it; the bytes are those that were received.
// The nil Value is an absent value: its kind is KindInvalid and it has no members.
//
// The methods expect a checked text. Of other bytes they make something meaningless but they do not panic, loop or
// read beyond.
type Value []byte

// Kind returns the kind of v.
func (v Value) Kind() Kind {
	if len(v) == 0 {
		return KindInvalid
	}
	switch c := v[0]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return Kind(c)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return KindNumber
	}
	return KindInvalid
}

// raw calls yield with the raw inside of each member's name and its value.
func (v Value) raw(yield func(name []byte, val Value) bool) {
	v.walk(func(name []byte, _, at, end int) bool { return yield(name, v[at:end:end]) })
}

// walk calls yield with the raw inside of each member's name, and the offsets of the name's quote, of the value and of
// what follows the value.
func (v Value) walk(yield func(name []byte, start, at, end int) bool) {
	if v.Kind() != KindObject {
		return
	}
	i := skipSpace(v, 1)
	for i < len(v) && v[i] == '"' {
		start := i
		end := skipString(v, i)
		name := v[i+1 : max(i+1, end-1)]
		i = skipSpace(v, end)
		if i >= len(v) || v[i] != ':' {
			return
		}
		i = skipSpace(v, i+1)
		end = skipValue(v, i)
		if end == i || !yield(name, start, i, end) {
			return
		}
		i = skipSpace(v, end)
		if i >= len(v) || v[i] != ',' {
			return
		}
		i = skipSpace(v, i+1)
	}
}

// Span says where one member stands in the text of its object: the offsets of the quote before its name, of its value,
// and of the byte behind its value.
type Span struct{ Start, Value, End int }

// Spans yields the members of an object in source order with their places, names unescaped, for those who change one
// member and leave every other byte as it is. Another kind yields none.
func (v Value) Spans() iter.Seq2[string, Span] {
	return func(yield func(string, Span) bool) {
		v.walk(func(name []byte, start, at, end int) bool {
			return yield(unescape(name), Span{start, at, end})
		})
	}
}

// Members yields the members of an object in source order, names unescaped. Another kind yields none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		v.raw(func(name []byte, val Value) bool {
			return yield(unescape(name), val)
		})
	}
}

// Fields is Members for names that are only looked at: a name without escapes aliases v, and costs nothing.
func (v Value) Fields() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		v.raw(func(name []byte, val Value) bool {
			if bytes.IndexByte(name, '\\') >= 0 {
				name = appendUnescaped(make([]byte, 0, len(name)), name)
			}
			return yield(name[:len(name):len(name)], val)
		})
	}
}

// Get returns the member whose name is exactly name.
func (v Value) Get(name string) (Value, bool) {
	var found Value
	v.raw(func(raw []byte, val Value) bool {
		if len(raw) < len(name) { // an escape is longer than what it stands for
			return true
		}
		if string(raw) == name && bytes.IndexByte(raw, '\\') < 0 ||
			bytes.IndexByte(raw, '\\') >= 0 && string(appendUnescaped(nil, raw)) == name {
			found = val
			return false
		}
		return true
	})
	return found, found != nil
}

// Elements yields the elements of an array. Another kind yields none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != KindArray {
			return
		}
		i := skipSpace(v, 1)
		for i < len(v) && v[i] != ']' {
			end := skipValue(v, i)
			if end == i || !yield(v[i:end:end]) {
				return
			}
			i = skipSpace(v, end)
			if i >= len(v) || v[i] != ',' {
				return
			}
			i = skipSpace(v, i+1)
		}
	}
}

// Text returns the characters of a string. Ok is false for another kind.
func (v Value) Text() (s string, ok bool) {
	if v.Kind() != KindString || len(v) < 2 {
		return "", false
	}
	return unescape(v[1 : len(v)-1]), true
}

func unescape(in []byte) string {
	if bytes.IndexByte(in, '\\') < 0 {
		return string(in)
	}
	return string(appendUnescaped(make([]byte, 0, len(in)), in))
}

// Int returns a number that is whole by value, such as 60000, 60000.0 or 6e4. Ok is false for another kind, for a
// fraction, and for a number that does not fit. It does not pass through float64.
func (v Value) Int() (n int64, ok bool) {
	d, ok := v.decimal()
	if !ok {
		return 0, false
	}
	if len(d.digits) == 0 {
		return 0, true
	}
	if d.x < len(d.digits)-1 || d.x > 18 {
		return 0, false
	}
	var u uint64 // at most 19 digits, which fit
	for i := range d.x + 1 {
		u *= 10
		if i < len(d.digits) {
			u += uint64(d.digits[i] - '0')
		}
	}
	switch {
	case d.neg && u <= 1<<63:
		return -int64(u-1) - 1, true
	case !d.neg && u < 1<<63:
		return int64(u), true
	}
	return 0, false
}

// Bool returns a boolean. Ok is false for another kind.
func (v Value) Bool() (value, ok bool) {
	k := v.Kind()
	return k == KindTrue, k == KindTrue || k == KindFalse
}

// Number returns a number in its canonical spelling. Ok is false for another kind.
func (v Value) Number() (canonical string, ok bool) {
	d, ok := v.decimal()
	if !ok {
		return "", false
	}
	return string(d.append(nil)), true
}

// decimal reads a number. It checks the grammar again, which costs little and keeps the promise about unchecked bytes.
func (v Value) decimal() (decimal, bool) {
	number, neg := bytes.CutPrefix(v, []byte("-"))
	whole, rest := cutDigits(number)
	var frac []byte
	if len(rest) > 0 && rest[0] == '.' {
		frac, rest = cutDigits(rest[1:])
		if len(frac) == 0 {
			return decimal{}, false
		}
	}
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return decimal{}, false
	}
	if len(rest) > 0 {
		exp := rest[1:]
		if len(exp) > 0 && (exp[0] == '+' || exp[0] == '-') {
			exp = exp[1:]
		}
		if digits, more := cutDigits(exp); rest[0]|0x20 != 'e' || len(digits) == 0 || len(more) > 0 {
			return decimal{}, false
		}
	}
	var d decimal
	class := d.normalise(make([]byte, 0, MaxDigits), neg, whole, frac, rest)
	return d, class == ""
}

func cutDigits(b []byte) (digits, rest []byte) {
	n := 0
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return b[:n], b[n:]
}

// Equal reports whether a and b have the same canonical form. Absent values equal each other only.
func Equal(a, b Value) bool {
	if a.Kind() == KindInvalid || b.Kind() == KindInvalid {
		return len(a) == 0 && len(b) == 0
	}
	if bytes.Equal(a, b) {
		return true
	}
	lim := Limits{Bytes: hardMaxBytes, Depth: hardMaxDepth}
	ca, err := AppendCanonical(nil, a, lim)
	if err != nil {
		return false
	}
	cb, err := AppendCanonical(nil, b, lim)
	return err == nil && bytes.Equal(ca, cb)
}

func skipSpace(src []byte, i int) int {
	for i < len(src) && isSpace(src[i]) {
		i++
	}
	return i
}

// skipValue returns the offset after the value at i of a checked text, i itself if there is none.
func skipValue(src []byte, i int) int {
	for depth := 0; i < len(src); {
		switch src[i] {
		case '"':
			i = skipString(src, i)
			if depth == 0 {
				return i
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
			if depth == 0 {
				return i
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return i
			}
			i++
		default:
			for i < len(src) && isScalar[src[i]] {
				i++
			}
			if depth == 0 {
				return i
			}
			if i < len(src) && !isStructural[src[i]] {
				i++
			}
		}
	}
	return i
}

// isScalar holds the bytes of which numbers and literals consist, isStructural those at which skipValue looks.
var isScalar, isStructural = func() (sc, st [256]bool) {
	for _, c := range "+-.0123456789Eaeflnrstu" {
		sc[c] = true
	}
	for _, c := range "\"{}[],: \t\n\r" {
		st[c] = true
	}
	return
}()
