package strictjson

// Reader reads a checked text once, from left to right, for those who turn all of it into something else. Members and
// Elements look at a nested value again on every level.
//
//	for r.Enter(); r.More(); {
//		name := r.Name() // in an object
//		... r.Kind() says whether Enter or Scalar comes next
//	}
//
// Like Value it makes something meaningless of bytes that have not been checked, but it ends and does not panic.
type Reader struct {
	src   Value
	at    int
	first bool // directly behind the opening bracket
}

// NewReader returns a Reader in front of v.
func NewReader(v Value) *Reader { return &Reader{src: v, at: skipSpace(v, 0)} }

// Kind returns the kind of the value in front of the Reader.
func (r *Reader) Kind() Kind { return r.src[r.at:].Kind() }

// Enter steps into the object or array in front of the Reader. More follows.
func (r *Reader) Enter() {
	r.at = skipSpace(r.src, r.at+1)
	r.first = true
}

// More reports whether the innermost open object or array has another member or element, and steps in front of it,
// otherwise behind the object or array.
func (r *Reader) More() bool {
	if r.at >= len(r.src) {
		return false
	}
	switch c := r.src[r.at]; {
	case c == '}' || c == ']':
		r.at = skipSpace(r.src, r.at+1)
		r.first = false
		return false
	case c == ',':
		r.at = skipSpace(r.src, r.at+1)
	case !r.first:
		r.at = len(r.src) // not a checked text
		return false
	}
	r.first = false
	return r.at < len(r.src)
}

// Name reads a member's name, unescaped, and steps in front of its value.
func (r *Reader) Name() string {
	name, _ := r.Scalar().Text()
	if r.at < len(r.src) {
		r.at = skipSpace(r.src, r.at+1)
	}
	return name
}

// Scalar reads a string, a number, true, false or null.
func (r *Reader) Scalar() Value {
	start := r.at
	end := skipValue(r.src, start)
	r.at = skipSpace(r.src, end)
	return r.src[start:end:end]
}
