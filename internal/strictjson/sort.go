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

// sortMembers sorts by name. It returns the member of the earliest repetition, nil if all names differ.
func (p *parser) sortMembers(ms []member) *member {
	slices.SortFunc(ms, func(a, b member) int {
		if c := p.compare(&a, &b); c != 0 {
			return c
		}
		return cmp.Compare(a.start, b.start)
	})
	var dup *member
	for i := 1; i < len(ms); i++ {
		if ms[i-1].key == ms[i].key && p.compare(&ms[i-1], &ms[i]) == 0 && (dup == nil || ms[i].start < dup.start) {
			dup = &ms[i]
		}
	}
	return dup
}
