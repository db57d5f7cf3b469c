// Package strictjson reads JSON the way a program must that compares what a peer said with what was reviewed: one text
// has one meaning or it is refused.
//
// Refused are member names that are equal after unescaping (at every depth), invalid UTF-8, escaped surrogates without
// their partner, a byte order mark, bytes after the value, control characters in strings, and everything beyond the
// [Limits]. Nothing is normalised: two texts that a Unicode library would call equivalent stay two texts.
//
// The package also knows the canonical form over which digests are taken. It is RFC 8785 wherever RFC 8785 is lossless:
// members sorted by the UTF-16 code units of their names, the escapes of that RFC, no white space. Numbers are compared
// by exact decimal value and never pass through float64: if the shortest ES6 form of the nearest double denotes exactly
// the literal's value, that form is printed, otherwise d.ddde+x or d.ddde-x with all significant digits. So 1, 1.0 and
// 10e-1 are one number, -0 is 0, and 2^53 and 2^53+1 are two.
//
// It is not a decoder into Go values and not a validator of schemas. A [Value] gives access to a checked text and keeps
// its exact bytes.
//
//	msg, err := strictjson.Parse(line, strictjson.Limits{})
//	if err != nil {
//		return err // at /params/name (byte 41): ...
//	}
//	method, ok := msg.Get("method")
//
// It is the lowest package of the protocol side: jsonrpc, digest and mcpheader stand on it, and it imports the standard
// library only. How one pass both checks and canonicalizes is described beside the parser type in parse.go.
package strictjson

import "slices"

// Defaults and fixed bounds.
const (
	// DefaultMaxBytes is the size limit of a text, 16 MiB.
	DefaultMaxBytes = 16 << 20
	// DefaultMaxDepth is the limit of nested arrays and objects.
	DefaultMaxDepth = 128
	// MaxExponent bounds x of a number's normalised form d.ddd × 10^x, both ways, however it is spelled.
	MaxExponent = 10000
	// MaxDigits bounds the significant digits of a number, without leading and trailing zeros.
	MaxDigits = 400

	hardMaxBytes = 512 << 20
	hardMaxDepth = 10000
)

// Limits bounds one text. A zero or negative field means the default.
type Limits struct {
	// Bytes is the largest size in bytes, white space included. Values above 512 MiB mean 512 MiB.
	Bytes int
	// Depth is the deepest nesting: a scalar has depth 0, [] has depth 1. Values above 10,000 mean 10,000.
	Depth int
}

func (l Limits) bytes() int {
	if l.Bytes <= 0 {
		return DefaultMaxBytes
	}
	return min(l.Bytes, hardMaxBytes)
}

func (l Limits) depth() int {
	if l.Depth <= 0 {
		return DefaultMaxDepth
	}
	return min(l.Depth, hardMaxDepth)
}

// Check reports whether src is exactly one JSON value, with nothing but white space around it. The error is an *Error.
func Check(src []byte, lim Limits) error {
	p := newParser(src, lim, false)
	defer p.free()
	return p.run(false)
}

// CheckObject is Check for a text that must be an object.
func CheckObject(src []byte, lim Limits) error {
	p := newParser(src, lim, false)
	defer p.free()
	return p.run(true)
}

// Parse is Check that also returns the value without the white space around it. The value aliases src.
func Parse(src []byte, lim Limits) (Value, error) {
	p := newParser(src, lim, false)
	defer p.free()
	if err := p.run(false); err != nil {
		return nil, err
	}
	return Value(src[p.first:p.last:p.last]), nil
}

// Field is one member of an object. Both parts alias the text they were read from.
type Field struct {
	// Name is the member's name, unescaped.
	Name []byte
	// Value is the member's value.
	Value Value
}

// AppendFields is CheckObject that also appends the members of the outermost object, in source order, to dst. It reads
// the text once. Names without escapes and all values alias src. After an error dst is returned as it was.
func AppendFields(dst []Field, src []byte, lim Limits) ([]Field, error) {
	p := newParser(src, lim, false)
	p.keepTop = true
	defer p.free()
	if err := p.run(true); err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, len(p.stack))
	for i := range p.stack {
		m := &p.stack[i]
		name := p.name(m)
		if m.nlen&inArena != 0 {
			name = slices.Clone(name)
		}
		dst = append(dst, Field{Name: name, Value: Value(src[m.vstart:m.vend:m.vend])})
	}
	return dst, nil
}

// AppendCanonical checks src as Check does and appends its canonical form to dst, which must not overlap src. It
// accepts exactly the texts that Check accepts. After an error dst is returned as it was.
//
// The canonical form of an accepted text is at most 5.25 times as long (1e20 is printed with 21 digits), is itself
// accepted under limits that admit its length, and is its own canonical form.
func AppendCanonical(dst, src []byte, lim Limits) ([]byte, error) {
	return appendCanonical(dst, src, lim, false)
}

// AppendCanonicalObject is AppendCanonical for a text that must be an object.
func AppendCanonicalObject(dst, src []byte, lim Limits) ([]byte, error) {
	return appendCanonical(dst, src, lim, true)
}

func appendCanonical(dst, src []byte, lim Limits, object bool) ([]byte, error) {
	p := newParser(src, lim, true)
	defer p.free()
	if err := p.run(object); err != nil {
		return dst, err
	}
	return p.appendTo(dst), nil
}

// AppendCompact appends src without the white space between its tokens. Src must have passed Check.
func AppendCompact(dst, src []byte) []byte {
	dst = slices.Grow(dst, len(src))
	from := 0
	for i := 0; i < len(src); {
		switch src[i] {
		case '"':
			i = skipString(src, i)
		case ' ', '\t', '\n', '\r':
			dst = append(dst, src[from:i]...)
			for i < len(src) && isSpace(src[i]) {
				i++
			}
			from = i
		default:
			i++
		}
	}
	return append(dst, src[from:]...)
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t'
}
