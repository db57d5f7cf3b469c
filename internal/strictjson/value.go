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

// Span says where one member stands in the text of its object: the offsets of the quote before its name, of its value,
// and of the byte behind its value.
type Span struct{ Start, Value, End int }

// Spans yields the members of an object in source order with their places, names unescaped, for those who change one
// member and leave every other byte as it is. Another kind yields none.
func (v Value) Spans() iter.Seq2[string, Span] {
	return func(yield func(string, Span) bool) {
		for f := v.Fields(); f.Next(); {
			if !yield(string(f.Name), f.span) {
				return
			}
		}
	}
}

// Members yields the members of an object in source order, names unescaped. Another kind yields none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for f := v.Fields(); f.Next(); {
			if !yield(string(f.Name), f.Value) {
				return
			}
		}
	}
}

// Fields steps through the members of an object as Members does, for those who only look at names: these are no strings
// of their own, so a step costs no allocation.
//
//	for f := v.Fields(); f.Next(); {
//		switch string(f.Name) {
type Fields struct {
	// Field is the member that Next has stepped to. Its name aliases the text unless it has escapes.
	Field

	src  Value
	span Span
	next int // where the next member's name begins, len(src) if there is none
}

// Fields returns the members of an object, in front of the first. Another kind has none.
func (v Value) Fields() Fields {
	if v.Kind() != KindObject {
		return Fields{}
	}
	return Fields{src: v, next: skipSpace(v, 1)}
}

// Next steps to the next member and reports whether there is one.
func (f *Fields) Next() bool {
	src, start := f.src, f.next
	f.next = len(src)
	if start >= len(src) || src[start] != '"' {
		return false
	}
	i := skipString(src, start)
	name := src[start+1 : max(start+1, i-1)]
	i = skipSpace(src, i)
	if i >= len(src) || src[i] != ':' {
		return false
	}
	i = skipSpace(src, i+1)
	end := skipValue(src, i)
	if end == i {
		return false
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		name = appendUnescaped(make([]byte, 0, len(name)), name)
	}
	f.Name, f.Value, f.span = name[:len(name):len(name)], src[i:end:end], Span{start, i, end}
	if i = skipSpace(src, end); i < len(src) && src[i] == ',' {
		f.next = skipSpace(src, i+1)
	}
	return true
}

// Get returns the member whose name is exactly name.
func (v Value) Get(name string) (Value, bool) {
	for f := v.Fields(); f.Next(); {
		if string(f.Name) == name {
			return f.Value, true
		}
	}
	return nil, false
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
