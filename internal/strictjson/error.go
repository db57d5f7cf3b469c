package strictjson

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrLimit is what errors.Is finds in an error about a text that may be good JSON but exceeds a bound: its size, its
// depth, or the exponent or digits of a number.
var ErrLimit = errors.New("limit exceeded")

// Class says in one word why a text was refused. The words are stable: published test vectors use them.
type Class string

// The classes.
const (
	ClassSyntax    Class = "syntax"    // not JSON
	ClassTrailing  Class = "trailing"  // bytes after the value
	ClassBOM       Class = "bom"       // a byte order mark in front
	ClassUTF8      Class = "utf8"      // invalid UTF-8 in a string
	ClassSurrogate Class = "surrogate" // an escaped surrogate without its partner
	ClassControl   Class = "control"   // a control character in a string
	ClassDuplicate Class = "duplicate" // a member name twice in one object
	ClassKind      Class = "kind"      // not an object where an object is wanted
	ClassDepth     Class = "depth"     // limit: nesting
	ClassSize      Class = "size"      // limit: bytes
	ClassExponent  Class = "exponent"  // limit: exponent of a number
	ClassDigits    Class = "digits"    // limit: significant digits of a number
)

// Error says where and why a text was refused. It never holds a value of the text; member names appear in Pointer and
// Reason, cut.
type Error struct {
	// Offset is the byte offset in the text at which the fault was seen.
	Offset int
	// Pointer is the JSON Pointer (RFC 6901) of the innermost value that was being read, "" for the whole text. For a
	// duplicate name it points to the object. At most 256 bytes; a longer one ends in "/...".
	Pointer string
	// Class is the kind of fault.
	Class Class
	// Reason is the fault in words.
	Reason string
}

// Error returns for example: at /a/b (byte 12): duplicate member name "x".
func (e *Error) Error() string {
	at := "the top"
	if e.Pointer != "" {
		at = strings.Trim(strconv.QuoteToASCII(e.Pointer), `"`)
	}
	return fmt.Sprintf("at %s (byte %d): %s", at, e.Offset, e.Reason)
}

// Is reports whether the fault is an exceeded limit and target is ErrLimit.
func (e *Error) Is(target error) bool {
	if target != ErrLimit {
		return false
	}
	switch e.Class {
	case ClassDepth, ClassSize, ClassExponent, ClassDigits:
		return true
	}
	return false
}

const maxExcerpt = 256

// quoteName returns a member name for an error text.
func quoteName(name []byte) string {
	if len(name) > maxExcerpt/4 {
		return strconv.QuoteToASCII(string(name[:maxExcerpt/4])) + "..."
	}
	return strconv.QuoteToASCII(string(name))
}

// Redacted returns e with every member name in it as redact returns it, whole and before it is cut. src is the text that
// e is about. e itself is not changed; a nil redact returns it.
func (e *Error) Redacted(src []byte, redact func([]byte) []byte) *Error {
	if redact == nil {
		return e
	}
	r := *e
	if e.Pointer != "" {
		r.Pointer = redactedPointer(src, e.Offset, redact)
	}
	if e.Class == ClassDuplicate {
		r.Reason = "duplicate member name"
	}
	if e.Class == ClassDuplicate && e.Offset < len(src) && src[e.Offset] == '"' {
		if end, closed := stringEnd(src, e.Offset); closed {
			r.Reason = duplicateReason(redact(appendUnescaped(nil, src[e.Offset+1:end-1])))
		}
	}
	return &r
}

func duplicateReason(name []byte) string { return "duplicate member name " + quoteName(name) }

// pointerAt finds the JSON Pointer of the value at offset off of src. The bytes before off are a prefix of a JSON text
// except for what the parser has not looked at yet (equal names). Keeping the path while parsing would cost every good
// text something; this costs a bad one a second look.
func pointerAt(src []byte, off int) string { return redactedPointer(src, off, nil) }

// redactedPointer is pointerAt with each name as redact returns it.
func redactedPointer(src []byte, off int, redact func([]byte) []byte) string {
	type frame struct {
		object, named bool
		from, to      int // the name's text in src
		index         int
	}
	var stack []frame
	off = min(off, len(src))
scan:
	for i := 0; i < off; {
		switch src[i] {
		case '{':
			stack = append(stack, frame{object: true})
		case '[':
			stack = append(stack, frame{})
		case '}', ']':
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
		case ',':
			if n := len(stack) - 1; n >= 0 {
				stack[n].named = false
				stack[n].index++
			}
		case '"':
			end, closed := stringEnd(src, i)
			if end > off || !closed {
				break scan
			}
			if n := len(stack) - 1; n >= 0 && stack[n].object && !stack[n].named {
				stack[n].named = true
				stack[n].from, stack[n].to = i+1, end-1
			}
			i = end
			continue
		}
		i++
	}
	var b []byte
	for _, f := range stack {
		mark := len(b)
		switch {
		case !f.object:
			b = strconv.AppendInt(append(b, '/'), int64(f.index), 10)
		case f.named:
			b = append(b, '/')
			name := src[f.from:f.to]
			if redact == nil && len(name) > 6*maxExcerpt { // an escape takes at most six bytes for one
				return string(append(b[:mark], "/..."...))
			}
			plain := appendUnescaped(nil, name)
			if redact != nil {
				plain = redact(plain)
			}
			for _, c := range plain {
				switch c {
				case '~':
					b = append(b, "~0"...)
				case '/':
					b = append(b, "~1"...)
				default:
					b = append(b, c)
				}
			}
		default:
			continue
		}
		if len(b) > maxExcerpt-4 {
			return string(append(b[:mark], "/..."...))
		}
	}
	return string(b)
}
