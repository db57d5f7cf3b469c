package schema

import (
	"encoding/json"
	"errors"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
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
	number  int // the largest numberCost
}

// decoder turns a text that came through the strict door into the types that the validator takes: map[string]any, []any,
// string, json.Number, bool and nil.
type decoder struct {
	in       *strictjson.Reader
	maxNodes int
	shape
}

// decode passes src through the strict door once more, so that a text that came another way cannot be read differently
// here, and decodes it.
func decode(src []byte, maxDepth, maxNodes int) (any, shape, error) {
	if crowded(src, maxNodes) {
		return nil, shape{}, errTooManyNodes
	}
	text, err := strictjson.Parse(src, strictjson.Limits{Depth: maxDepth})
	if err != nil {
		return nil, shape{}, refused(err, maxDepth)
	}
	d := decoder{in: strictjson.NewReader(text), maxNodes: maxNodes}
	v, err := d.value(0)
	return v, d.shape, err
}

// crowded says, before anything is allocated, that src has more than maxNodes values: at least one more than commas and
// colons.
func crowded(src []byte, maxNodes int) bool {
	if len(src) < 2*maxNodes {
		return false
	}
	for i, n := 0, 0; i < len(src); i++ {
		switch src[i] {
		case ',', ':':
			if n++; n >= maxNodes {
				return true
			}
		case '"':
			for i++; i < len(src) && src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}

// refused maps the errors of the strict door to this package's.
func refused(err error, maxDepth int) error {
	var fault *strictjson.Error
	if !errors.As(err, &fault) {
		return err
	}
	switch fault.Class {
	case strictjson.ClassDepth:
		return &TooExpensiveError{What: "levels of nesting", Limit: int64(maxDepth)}
	case strictjson.ClassSize:
		return &TooExpensiveError{What: "bytes of JSON", Limit: strictjson.DefaultMaxBytes}
	case strictjson.ClassDigits:
		return &TooExpensiveError{What: "significant digits in a number", Limit: strictjson.MaxDigits}
	case strictjson.ClassExponent:
		return &TooExpensiveError{What: "decimal places before or behind the point of a number", Limit: strictjson.MaxExponent}
	}
	return &InstanceError{Offset: fault.Offset, Reason: fault.Reason}
}

func (d *decoder) node() error {
	d.nodes++
	if d.nodes > d.maxNodes {
		return errTooManyNodes
	}
	return nil
}

// value decodes the next value, which stands inside depth arrays and objects. The strict door has bounded depth.
func (d *decoder) value(depth int) (any, error) {
	if err := d.node(); err != nil {
		return nil, err
	}
	switch d.in.Kind() {
	case strictjson.KindObject:
		d.depth = max(d.depth, depth+1)
		obj := map[string]any{}
		for d.in.Enter(); d.in.More(); {
			if err := d.node(); err != nil {
				return nil, err
			}
			name := d.in.Name()
			d.strings += len(name)
			v, err := d.value(depth + 1)
			if err != nil {
				return nil, err
			}
			obj[name] = v
		}
		return obj, nil
	case strictjson.KindArray:
		d.depth = max(d.depth, depth+1)
		arr := []any{}
		for d.in.Enter(); d.in.More(); {
			v, err := d.value(depth + 1)
			if err != nil {
				return nil, err
			}
			arr = append(arr, v)
		}
		return arr, nil
	case strictjson.KindString:
		s, _ := d.in.Scalar().Text()
		d.strings += len(s)
		return s, nil
	case strictjson.KindNumber:
		return d.num(d.in.Scalar())
	}
	switch d.in.Scalar().Kind() {
	case strictjson.KindTrue:
		return true, nil
	case strictjson.KindFalse:
		return false, nil
	}
	return nil, nil
}

func (d *decoder) num(literal strictjson.Value) (any, error) {
	n := json.Number(literal)
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
