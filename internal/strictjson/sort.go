package strictjson

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// name returns the member's name, unescaped.
func (p *parser) name(m *member) []byte {
	if m.nlen&inArena != 0 {
		return p.names[m.name : m.name+m.nlen&^inArena]
	}
	return p.src[m.name : m.name+m.nlen]
}

// order maps the bytes of UTF-8 so that comparing them compares UTF-16 code units: the two orders differ only in that
// U+E000 to U+FFFF (first bytes EE, EF) come after the characters beyond U+FFFF (first bytes F0 to F4), which UTF-16
// writes as surrogates.
func order(c byte) byte {
	switch {
	case c >= 0xF0:
		return c - 2
	case c >= 0xEE:
		return c + 5
	}
	return c
}

// nameKey returns the first eight bytes of the name b[i:i+n] as a number that sorts as the name does in UTF-16; a
// shorter name is filled up with zeros. Different keys decide, equal keys do not.
func nameKey(b []byte, i, n int) uint64 {
	var k uint64
	if i+8 <= len(b) {
		k = binary.BigEndian.Uint64(b[i:])
		if n < 8 {
			k &= ^(^uint64(0) >> (8 * uint(n)))
		}
	} else {
		for j := range min(n, 8) {
			k |= uint64(b[i+j]) << (56 - 8*uint(j))
		}
	}
	if k&highs != 0 {
		var w [8]byte
		binary.BigEndian.PutUint64(w[:], k)
		for j := range w {
			w[j] = order(w[j])
		}
		k = binary.BigEndian.Uint64(w[:])
	}
	return k
}

// compareNames compares by UTF-16 code units.
func compareNames(a, b []byte) int {
	n := min(len(a), len(b))
	if !bytes.Equal(a[:n], b[:n]) {
		i := 0
		for i+8 <= n && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
			i += 8
		}
		for a[i] == b[i] {
			i++
		}
		return cmp.Compare(order(a[i]), order(b[i]))
	}
	return cmp.Compare(len(a), len(b))
}

func (p *parser) compare(a, b *member) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return compareNames(p.name(a), p.name(b))
}

// ref stands for a member while sorting.
type ref struct {
	key   uint64
	index uint32
}

type sorter struct {
	refs, spare []ref
	counts      [8][256]uint32
}

// small is the number of members up to which insertion is the fastest sort.
const small = 24

// sort returns the order of the members by name, and the index of the member that is the earliest repetition of a name,
// -1 if all names differ. The order holds until the next call.
//
// A peer chooses the names, so the cost is bounded whatever they are: many members are sorted by radix, eight bytes of
// the names at a time, which is linear in the names' length.
func (p *parser) sort(ms []member) (order []ref, dup int) {
	s := &p.sorter
	s.refs = s.refs[:0]
	if len(ms) == 2 && ms[0].key > ms[1].key {
		s.refs = append(s.refs, ref{ms[1].key, 1}, ref{ms[0].key, 0})
		return s.refs, -1
	}
	for i := range ms {
		s.refs = append(s.refs, ref{ms[i].key, uint32(i)})
	}
	refs := s.refs
	if len(refs) <= small {
		p.insertion(ms, refs)
	} else {
		if cap(s.spare) < len(refs) {
			s.spare = make([]ref, len(refs))
		}
		p.radix(ms, refs, 0)
	}
	dup = -1
	for i := 1; i < len(refs); i++ {
		a, b := refs[i-1], refs[i]
		if ms[a.index].key == ms[b.index].key && (dup < 0 || int(b.index) < dup) &&
			compareNames(p.name(&ms[a.index]), p.name(&ms[b.index])) == 0 {
			dup = int(b.index)
		}
	}
	return refs, dup
}

// insertion sorts refs whose keys are those of level 0. It is stable.
func (p *parser) insertion(ms []member, refs []ref) {
	for i := 1; i < len(refs); i++ {
		r := refs[i]
		j := i
		for j > 0 && (r.key < refs[j-1].key ||
			r.key == refs[j-1].key && p.compare(&ms[r.index], &ms[refs[j-1].index]) < 0) {
			refs[j] = refs[j-1]
			j--
		}
		refs[j] = r
	}
}

// radix sorts refs by key, which holds bytes skip to skip+8 of the names, and groups of equal keys by what follows.
// All names agree in the bytes before skip. It is stable.
func (p *parser) radix(ms []member, refs []ref, skip int) {
	s := &p.sorter
	for {
		s.pass(refs)
		if refs[0].key != refs[len(refs)-1].key {
			break
		}
		// One group: go on in place, so that long common beginnings cost no stack.
		if !p.rekey(ms, refs, skip+8) {
			p.byName(ms, refs)
			return
		}
		skip += 8
	}
	for from := 0; from < len(refs); {
		to := from + 1
		for to < len(refs) && refs[to].key == refs[from].key {
			to++
		}
		if group := refs[from:to]; len(group) > small && p.rekey(ms, group, skip+8) {
			p.radix(ms, group, skip+8)
		} else if len(group) > 1 {
			p.byName(ms, group)
		}
		from = to
	}
}

// rekey sets the keys to bytes skip to skip+8 of the names. It reports false, having done nothing useful, if a name ends
// before skip: then the zeros that fill up a key could be mistaken for a name's own.
func (p *parser) rekey(ms []member, refs []ref, skip int) bool {
	for i := range refs {
		name := p.name(&ms[refs[i].index])
		if len(name) < skip {
			return false
		}
		refs[i].key = nameKey(name, skip, len(name)-skip)
	}
	return true
}

// byName sorts by comparing names. Ties are broken by place, which makes it stable.
func (p *parser) byName(ms []member, refs []ref) {
	slices.SortFunc(refs, func(a, b ref) int {
		if c := p.compare(&ms[a.index], &ms[b.index]); c != 0 {
			return c
		}
		return cmp.Compare(a.index, b.index)
	})
}

// few is the number of members up to which comparing keys beats counting their bytes.
const few = 256

// pass sorts refs by key, least significant byte first, leaving out the bytes in which all keys agree. It is stable.
func (s *sorter) pass(refs []ref) {
	if len(refs) <= few {
		slices.SortFunc(refs, func(a, b ref) int {
			if a.key != b.key {
				return cmp.Compare(a.key, b.key)
			}
			return cmp.Compare(a.index, b.index)
		})
		return
	}
	first := refs[0].key
	var differ uint64
	rising := true
	for i := 1; i < len(refs); i++ {
		differ |= refs[i].key ^ first
		rising = rising && refs[i-1].key <= refs[i].key
	}
	if rising {
		return
	}
	for b := range 8 {
		if differ>>(8*uint(b))&0xFF != 0 {
			s.counts[b] = [256]uint32{}
		}
	}
	for i := range refs {
		k := refs[i].key
		for b := range 8 {
			s.counts[b][byte(k>>(8*uint(b)))]++
		}
	}
	from, to := refs, s.spare[:len(refs)]
	for b := range 8 {
		shift := 8 * uint(b)
		if differ>>shift&0xFF == 0 {
			continue
		}
		counts := &s.counts[b]
		sum := uint32(0)
		for i, n := range counts {
			counts[i] = sum
			sum += n
		}
		for _, r := range from {
			c := &counts[byte(r.key>>shift)]
			to[*c] = r
			*c++
		}
		from, to = to, from
	}
	if &from[0] != &refs[0] {
		copy(refs, from)
	}
}
