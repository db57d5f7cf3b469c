package boltfile

import (
	"bytes"
	"hash/fnv"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// layout lays entries, sorted by key, out as bbolt does when one transaction puts them into one new bucket, and hands
// each page with its overflow pages to emit, in no particular order. It stops when emit returns false. It returns the
// number of pages of the file.
//
// It is the second opinion on what bbolt writes: whether a file is canonical is asked of layout, which needs no
// temporary file, and tests hold both to the same bytes. The rules are those of bbolt's node.split and bucket.spill:
// a page is closed when the next element would exceed half of it, never with fewer than two elements, and two remain for
// the next; nodes are numbered level by level from page 4, behind the two metas and the empty list and leaf of a new
// file, which end up free.
func layout(entries []lock.KV, emit func(id uint64, page []byte) bool) (pages uint64) {
	const fill = pageSize / 2
	l := &layer{emit: emit, next: 4, going: true}

	elements := make([]element, len(entries))
	size := pageHeaderSize
	for i, e := range entries {
		elements[i] = element{key: e.Key, value: e.Value}
		size += leafElementSize + len(e.Key) + len(e.Value)
	}
	header := make([]byte, bucketHeaderSize)
	if size <= pageSize/4 {
		inline := make([]byte, size)
		putPage(inline, 0, leafPage, elements)
		header = append(header, inline...)
	} else {
		flags := uint16(leafPage)
		for {
			elements = l.level(elements, flags, fill)
			if len(elements) == 1 {
				break
			}
			flags = branchPage
		}
		le.PutUint64(header, elements[0].child)
	}
	root := l.node([]element{{key: bucketName, value: header, flags: bucketFlag}}, leafPage)

	freelist := l.next
	l.put(freelist, freelistPage, 2, []uint64{2, 3})
	l.next++
	l.put(2, freelistPage, 0, nil)
	l.put(3, leafPage, 0, nil)
	for i := range uint64(2) {
		b := make([]byte, pageSize)
		putHeader(b, i, metaPage, 0)
		m := b[pageHeaderSize : pageHeaderSize+metaSize]
		le.PutUint32(m, boltMagic)
		le.PutUint32(m[4:], boltVersion)
		le.PutUint32(m[8:], pageSize)
		le.PutUint64(m[16:], root)
		le.PutUint64(m[32:], freelist)
		le.PutUint64(m[40:], l.next)
		le.PutUint64(m[48:], 2-i) // the transaction number: the second meta is one older
		sum := fnv.New64a()
		sum.Write(m[:metaSummed])
		le.PutUint64(m[metaSummed:], sum.Sum64())
		l.out(i, b)
	}
	return l.next
}

// isLayout reports whether b is exactly the layout of entries.
func isLayout(b []byte, entries []lock.KV) bool {
	same := true
	pages := layout(entries, func(id uint64, page []byte) bool {
		at := id * pageSize
		same = at+uint64(len(page)) <= uint64(len(b)) && bytes.Equal(b[at:at+uint64(len(page))], page)
		return same
	})
	return same && pages*pageSize == uint64(len(b))
}

type element struct {
	key   string
	value []byte
	child uint64 // of a branch
	flags uint32 // of a leaf
}

func (e *element) size() int { return leafElementSize + len(e.key) + len(e.value) }

type layer struct {
	emit    func(id uint64, page []byte) bool
	going   bool // emit wants more
	next    uint64
	scratch []byte
}

// level writes elements as one level of nodes and returns the elements of the level above, one for each node.
func (l *layer) level(elements []element, flags uint16, fill int) []element {
	var above []element
	for len(elements) > 0 && l.going {
		n := splitAt(elements, fill)
		id := l.node(elements[:n], flags)
		above = append(above, element{key: elements[0].key, child: id})
		elements = elements[n:]
	}
	if !l.going {
		return []element{{}}
	}
	return above
}

// splitAt returns how many elements the next node takes.
func splitAt(elements []element, fill int) int {
	if len(elements) <= 4 || fits(elements) {
		return len(elements)
	}
	n, size := 0, pageHeaderSize
	for i := 0; i < len(elements)-2; i++ {
		n = i
		s := elements[i].size()
		if i >= 2 && size+s > fill {
			break
		}
		size += s
	}
	return n
}

// fits reports whether all elements fit into one page.
func fits(elements []element) bool {
	size := pageHeaderSize
	for i := range elements {
		if size += elements[i].size(); size >= pageSize {
			return false
		}
	}
	return true
}

// node writes one node and returns its number.
func (l *layer) node(elements []element, flags uint16) uint64 {
	size := pageHeaderSize
	for i := range elements {
		size += elements[i].size()
	}
	pages := (size + pageSize - 1) / pageSize
	b := l.blank(pages * pageSize)
	id := l.next
	putPage(b, id, flags, elements)
	le.PutUint32(b[12:], uint32(pages-1))
	l.next += uint64(pages)
	l.out(id, b)
	return id
}

func (l *layer) put(id uint64, flags uint16, count int, numbers []uint64) {
	b := l.blank(pageSize)
	putHeader(b, id, flags, count)
	for i, n := range numbers {
		le.PutUint64(b[pageHeaderSize+8*i:], n)
	}
	l.out(id, b)
}

func (l *layer) out(id uint64, b []byte) {
	if l.going {
		l.going = l.emit(id, b)
	}
}

// blank returns n zero bytes, which last until the next call.
func (l *layer) blank(n int) []byte {
	if cap(l.scratch) < n {
		l.scratch = make([]byte, n)
	}
	clear(l.scratch[:n])
	return l.scratch[:n]
}

func putHeader(b []byte, id uint64, flags uint16, count int) {
	le.PutUint64(b, id)
	le.PutUint16(b[8:], flags)
	le.PutUint16(b[10:], uint16(count))
}

// putPage writes header, elements and their bytes.
func putPage(b []byte, id uint64, flags uint16, elements []element) {
	putHeader(b, id, flags, len(elements))
	offset := pageHeaderSize + len(elements)*leafElementSize
	for i := range elements {
		e := &elements[i]
		at := pageHeaderSize + i*leafElementSize
		if flags == branchPage {
			le.PutUint32(b[at:], uint32(offset-at))
			le.PutUint32(b[at+4:], uint32(len(e.key)))
			le.PutUint64(b[at+8:], e.child)
		} else {
			le.PutUint32(b[at:], e.flags)
			le.PutUint32(b[at+4:], uint32(offset-at))
			le.PutUint32(b[at+8:], uint32(len(e.key)))
			le.PutUint32(b[at+12:], uint32(len(e.value)))
		}
		offset += copy(b[offset:], e.key)
		offset += copy(b[offset:], e.value)
	}
}
