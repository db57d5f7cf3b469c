package strictjson

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// parser reads a text once, left to right, and leaves enough behind to print the canonical form.
//
// Most texts on the wire are canonical except for the order of members, so nothing is printed while reading. Instead
// the parser lists, in the order of the text, the places where the canonical form differs from it (events): a run of
// bytes with another spelling (white space, an escape, a number), or an object whose members stand in another order.
// The members of such an object are kept, sorted, in tape. Printing then copies the stretches in between: every byte
// is copied once, however deep the objects nest, and a canonical text is copied whole.
//
// Every object whose names do not come in strictly rising order has its members sorted when it closes, also when nothing
// is printed, because that is how equal names are found.
type parser struct {
	src      []byte
	emit     bool // list events and keep the tape
	keepTop  bool // leave the members of the outermost object in stack, in source order
	maxDepth int

	first, last int // the value without the white space around it

	stack  []member // members of the objects that are open, innermost last, in source order
	tape   []piece  // members of closed objects that were out of order, sorted
	events []event
	text   []byte // other spellings
	names  []byte // unescaped names of open objects
	grow   int    // length of the canonical form minus length of the value
	fence  int    // events before this one belong to another member, or to none
	digits [MaxDigits]byte
	sorter sorter

	decimal decimal // the number being read

	err *Error
}

// member is one member of an object.
type member struct {
	key    uint64 // see nameKey
	name   uint32 // offset of the name in src, or in names if nlen has inArena
	nlen   uint32
	start  uint32 // the name's opening quote
	vstart uint32
	vend   uint32
	ev     uint32 // the first event at or after start
}

// piece is what printing needs of a member: src[start:end], and where its events begin.
type piece struct{ start, end, ev uint32 }

const inArena = 1 << 31

// event is one place where the canonical form differs from the text.
type event struct {
	start, end uint32 // of the text that it replaces
	a, n       uint32 // text[a:a+n], or tape[a:a+n] for an object
	next       uint32 // for an object, the first event after it; 0 for a spelling
}

var pool = sync.Pool{New: func() any { return new(parser) }}

func newParser(src []byte, lim Limits, emit bool) *parser {
	p := pool.Get().(*parser)
	p.emit, p.maxDepth = emit, lim.depth()
	if most := lim.bytes(); len(src) > most {
		p.err = &Error{
			Offset: most, Class: ClassSize,
			Reason: fmt.Sprintf("got %d bytes, want at most %d", len(src), most),
		}
		return p
	}
	p.src = src
	return p
}

// maxScratch is the size in bytes above which scratch is not kept for the next text.
const maxScratch = 32 << 20

func (p *parser) free() {
	p.src, p.err, p.keepTop = nil, nil, false
	p.decimal.digits = nil
	p.first, p.last, p.grow, p.fence = 0, 0, 0, 0
	p.stack, p.tape, p.events = recycle(p.stack), recycle(p.tape), recycle(p.events)
	p.text, p.names = recycle(p.text), recycle(p.names)
	p.sorter.refs, p.sorter.spare = recycle(p.sorter.refs), recycle(p.sorter.spare)
	pool.Put(p)
}

func recycle[T any](s []T) []T {
	if uint64(cap(s))*uint64(unsafe.Sizeof(*new(T))) > maxScratch {
		return nil
	}
	return s[:0]
}

// fail records the first fault and returns -1, which every reading method passes on.
func (p *parser) fail(off int, class Class, reason string) int {
	if p.err == nil {
		p.err = &Error{Offset: off, Pointer: pointerAt(p.src, off), Class: class, Reason: reason}
	}
	return -1
}

// want is fail for a byte that does not belong at off.
func (p *parser) want(off int, what string) int {
	if off >= len(p.src) {
		return p.fail(len(p.src), ClassSyntax, "got the end of the text, want "+what)
	}
	return p.fail(off, ClassSyntax, fmt.Sprintf("got byte 0x%02x, want %s", p.src[off], what))
}

// run reads the whole text.
func (p *parser) run(object bool) error {
	if p.err == nil {
		p.whole(object)
	}
	if p.err != nil { // a nil *Error must not become a non-nil error
		return p.err
	}
	return nil
}

func (p *parser) whole(object bool) {
	src := p.src
	if len(src) >= 3 && src[0] == 0xEF && src[1] == 0xBB && src[2] == 0xBF {
		p.fail(0, ClassBOM, "byte order mark before the value")
		return
	}
	i := 0
	for i < len(src) && isSpace(src[i]) {
		i++
	}
	p.first = i
	if object && i < len(src) && src[i] != '{' && startsValue(src[i]) {
		p.fail(i, ClassKind, "got "+Value(src[i:i+1]).Kind().String()+", want an object")
		return
	}
	i = p.value(i, 0)
	if i < 0 {
		return
	}
	p.last = i
	for i < len(src) && isSpace(src[i]) {
		i++
	}
	if i != len(src) {
		p.fail(i, ClassTrailing, "bytes after the value")
	}
}

func startsValue(c byte) bool {
	return Value{c}.Kind() != KindInvalid
}

// value reads one value that starts at i, inside depth open containers, and returns the offset after it.
func (p *parser) value(i, depth int) int {
	src := p.src
	if uint(i) >= uint(len(src)) {
		return p.want(i, "a value")
	}
	switch c := src[i]; c {
	case '"':
		end, _ := p.str(i)
		return end
	case '{':
		return p.object(i, depth+1)
	case '[':
		return p.array(i, depth+1)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return p.number(i)
	case 't':
		if i+4 <= len(src) && binary.LittleEndian.Uint32(src[i:]) == 't'|'r'<<8|'u'<<16|'e'<<24 {
			return i + 4
		}
	case 'f':
		if i+5 <= len(src) && binary.LittleEndian.Uint32(src[i+1:]) == 'a'|'l'<<8|'s'<<16|'e'<<24 {
			return i + 5
		}
	case 'n':
		if i+4 <= len(src) && binary.LittleEndian.Uint32(src[i:]) == 'n'|'u'<<8|'l'<<16|'l'<<24 {
			return i + 4
		}
	}
	return p.want(i, "a value")
}

// space skips the white space at i, of which there is some.
func (p *parser) space(i int) int {
	src, start := p.src, i
	for i < len(src) && isSpace(src[i]) {
		i++
	}
	if p.emit && i > start {
		joined := p.lead(start)
		p.patch(start, i, len(p.text), joined)
	}
	return i
}

// nearby is the distance up to which two spellings become one event together with the text between them.
const nearby = 16

// lead prepares another spelling of the text from start on, which the caller appends to p.text and then either lists
// with patch or takes back, together with what lead appended.
//
// Where spellings stand close together (a list with spaces, a string full of escapes) one event that spells the whole
// stretch is cheaper than one for each: then lead appends the text in between. A stretch may not cross the fence, which
// stands at both ends of every member and behind every object: members move.
func (p *parser) lead(start int) (joined bool) {
	k := len(p.events) - 1
	if k < p.fence {
		return false
	}
	e := &p.events[k]
	if start-int(e.end) > nearby || e.next != 0 || e.start == e.end || int(e.a+e.n) != len(p.text) {
		return false
	}
	p.text = append(p.text, p.src[e.end:start]...)
	return true
}

// patch lists src[start:end] as spelled text[from:].
func (p *parser) patch(start, end, from int, joined bool) {
	p.grow += len(p.text) - from - (end - start)
	if joined {
		e := &p.events[len(p.events)-1]
		e.end, e.n = uint32(end), uint32(len(p.text))-e.a
		return
	}
	p.events = append(p.events, event{
		start: uint32(start), end: uint32(end), a: uint32(from), n: uint32(len(p.text) - from),
	})
}

func (p *parser) tooDeep(i int) int {
	return p.fail(i, ClassDepth, fmt.Sprintf("nested deeper than %d", p.maxDepth))
}

// array reads an array and the arrays directly inside it, which need no state but their number.
func (p *parser) array(i, depth int) int {
	src := p.src
	outer := depth
	if depth > p.maxDepth {
		return p.tooDeep(i)
	}
open:
	i++
	if i < len(src) && src[i] <= ' ' {
		i = p.space(i)
	}
	if i < len(src) && src[i] == ']' {
		goto shut
	}
element:
	if i < len(src) {
		switch src[i] {
		case '[':
			if depth++; depth > p.maxDepth {
				return p.tooDeep(i)
			}
			goto open
		case '{':
			i = p.object(i, depth+1)
		case '"':
			i, _ = p.str(i)
		default:
			i = p.value(i, depth)
		}
		if i < 0 {
			return i
		}
	} else {
		return p.want(i, "a value")
	}
after:
	if i < len(src) && src[i] <= ' ' {
		i = p.space(i)
	}
	if i < len(src) {
		switch src[i] {
		case ',':
			i++
			if i < len(src) && src[i] <= ' ' {
				i = p.space(i)
			}
			goto element
		case ']':
			goto shut
		}
	}
	return p.want(i, "',' or ']'")
shut:
	i++
	if depth == outer {
		return i
	}
	depth--
	goto after
}

func (p *parser) object(i, depth int) int {
	src := p.src
	if depth > p.maxDepth {
		return p.tooDeep(i)
	}
	open, base, nbase, ev := i, len(p.stack), len(p.names), len(p.events)
	if p.emit {
		// Events are listed in the order in which they begin, so the object's place is taken before its members'.
		p.events = append(p.events, event{start: uint32(open), end: uint32(open)})
	}
	rising := true
	i++
	if i < len(src) && src[i] <= ' ' {
		i = p.space(i)
	}
	if i < len(src) && src[i] == '}' {
		if len(p.events) == ev+1 {
			p.events = p.events[:ev]
		}
		return i + 1
	}
	for {
		if i >= len(src) || src[i] != '"' {
			return p.want(i, "a member name")
		}
		p.fence = len(p.events)
		m := member{start: uint32(i), ev: uint32(p.fence)}
		end, escaped := p.str(i)
		if end < 0 {
			return end
		}
		if escaped {
			m.name = uint32(len(p.names))
			p.names = appendUnescaped(p.names, src[i+1:end-1])
			m.nlen = uint32(len(p.names)) - m.name | inArena
			m.key = nameKey(p.names, int(m.name), len(p.names)-int(m.name))
		} else {
			m.name, m.nlen = uint32(i+1), uint32(end-i-2)
			m.key = nameKey(src, i+1, end-i-2)
		}
		if n := len(p.stack); rising && n > base {
			if prev := &p.stack[n-1]; m.key <= prev.key {
				rising = m.key == prev.key && p.compare(prev, &m) < 0
			}
		}

		i = end
		if i < len(src) && src[i] <= ' ' {
			i = p.space(i)
		}
		if i >= len(src) || src[i] != ':' {
			return p.want(i, "':'")
		}
		i++
		if i < len(src) && src[i] <= ' ' {
			i = p.space(i)
		}
		m.vstart = uint32(i)
		p.stack = append(p.stack, m)
		slot := len(p.stack) - 1
		if i >= len(src) {
			return p.want(i, "a value")
		}
		switch src[i] {
		case '"':
			i, _ = p.str(i)
		case '{':
			i = p.object(i, depth+1)
		default:
			i = p.value(i, depth)
		}
		if i < 0 {
			return i
		}
		p.stack[slot].vend = uint32(i)
		p.fence = len(p.events)

		if i < len(src) && src[i] <= ' ' {
			i = p.space(i)
		}
		if i >= len(src) {
			return p.want(i, "',' or '}'")
		}
		switch src[i] {
		case ',':
			i++
			if i < len(src) && src[i] <= ' ' {
				i = p.space(i)
			}
			continue
		case '}':
			i++
		default:
			return p.want(i, "',' or '}'")
		}
		break
	}

	if !rising {
		members := p.stack[base:]
		refs, dup := p.sort(members)
		if dup >= 0 {
			m := &members[dup]
			return p.fail(int(m.start), ClassDuplicate, duplicateReason(p.name(m)))
		}
		if p.emit {
			p.events[ev] = event{
				start: uint32(open), end: uint32(i),
				a: uint32(len(p.tape)), n: uint32(len(members)), next: uint32(len(p.events)),
			}
			for _, r := range refs {
				m := &members[r.index]
				p.tape = append(p.tape, piece{m.start, m.vend, m.ev})
			}
		}
	} else if len(p.events) == ev+1 {
		p.events = p.events[:ev] // the text of the object is canonical
	}
	p.fence = len(p.events)
	if p.keepTop && depth == 1 {
		return i
	}
	p.stack, p.names = p.stack[:base], p.names[:nbase]
	return i
}

// appendTo prints the canonical form after run.
func (p *parser) appendTo(dst []byte) []byte {
	dst = slices.Grow(dst, p.last-p.first+p.grow)
	return p.print(dst, uint32(p.first), uint32(p.last), 0)
}

// print appends the canonical form of src[from:to], whose events begin at e.
func (p *parser) print(dst []byte, from, to, e uint32) []byte {
	events := p.events
	for int(e) < len(events) {
		ev := &events[e]
		if ev.start >= to {
			break
		}
		dst = append(dst, p.src[from:ev.start]...)
		from = ev.end
		if ev.next == 0 {
			dst = append(dst, p.text[ev.a:ev.a+ev.n]...)
			e++
			continue
		}
		sep := byte('{')
		members := p.tape[ev.a : ev.a+ev.n]
		for k := range members {
			m := &members[k]
			dst = append(dst, sep)
			sep = ','
			if int(m.ev) >= len(events) || events[m.ev].start >= m.end {
				dst = append(dst, p.src[m.start:m.end]...)
			} else {
				dst = p.print(dst, m.start, m.end, m.ev)
			}
		}
		dst = append(dst, '}')
		e = ev.next
	}
	return append(dst, p.src[from:to]...)
}
