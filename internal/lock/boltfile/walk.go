package boltfile

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"unicode/utf8"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// maxDepth bounds the levels of pages. A tree of the largest file has five.
const maxDepth = 16

// walk reads the entries out of the bytes of a lock file and copies them. It believes nothing: every page must say its
// own number, be reached exactly once or be listed as free, and hold its elements in order and without a gap; there is
// exactly one bucket, without buckets inside. So it ends, whatever the bytes are, after looking at each page once.
//
// The error is a *lock.NotLockError if the bytes are no bbolt database, or one of another program, and a
// *lock.CorruptError otherwise.
func walk(b []byte) ([]lock.KV, error) {
	if !looksLikeBolt(b) {
		return nil, &lock.NotLockError{Looks: looks(b)}
	}
	m, err := readMetas(b)
	if err != nil {
		return nil, err
	}
	end := m.pages * pageSize
	if uint64(len(b)) < end {
		return nil, damaged("it is cut off: %d bytes, want %d", len(b), end)
	}
	// bbolt itself leaves room behind the last page when it changes a file; mcpcat never does, so such a file is readable
	// and not canonical.
	if !isZero(b[end:]) {
		return nil, damaged("there is something behind its last page, which ends at byte %d", end)
	}
	w := &walker{b: b, pages: m.pages, seen: make([]bool, m.pages)}
	w.seen[0], w.seen[1] = true, true
	if err := w.bucket(m.root); err != nil {
		return nil, err
	}
	if err := w.freelist(m.freelist); err != nil {
		return nil, err
	}
	for id, seen := range w.seen {
		if !seen {
			return nil, damaged("page %d is neither used nor free", id)
		}
	}
	return w.copyOut(), nil
}

func isZero(b []byte) bool {
	var zero [pageSize]byte
	for len(b) > 0 {
		n := min(len(b), pageSize)
		if !bytes.Equal(b[:n], zero[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}

func damaged(format string, args ...any) error {
	return &lock.CorruptError{Reason: fmt.Sprintf(format, args...)}
}

// looksLikeBolt reports whether b is a bbolt database or what is left of one.
func looksLikeBolt(b []byte) bool {
	for _, at := range []int{0, pageSize} {
		if len(b) >= at+pageHeaderSize+4 && le.Uint32(b[at+pageHeaderSize:]) == boltMagic {
			return true
		}
	}
	// Cut off before the first magic number: the header of page 0 is known.
	head := []byte{0, 0, 0, 0, 0, 0, 0, 0, metaPage, 0, 0, 0, 0, 0, 0, 0, 0xED, 0xDA, 0x0C, 0xED}
	return len(b) > 8 && len(b) < len(head) && bytes.HasPrefix(head, b)
}

// looks says in a few words what a file is that is no lock.
func looks(b []byte) string {
	start := bytes.TrimLeft(b[:min(len(b), 512)], " \t\r\n\uFEFF")
	switch {
	case bytes.HasPrefix(start, []byte("version https://git-lfs")):
		return "a Git LFS pointer (fetch the file with git lfs pull)"
	case bytes.Contains(b[:min(len(b), 1<<16)], []byte("<<<<<<< ")) && utf8.Valid(start):
		return "conflict text of a git merge (restore one side, then plan and apply)"
	case len(start) > 0 && (start[0] == '{' || start[0] == '['):
		return "JSON text"
	case bytes.HasPrefix(start, []byte("SQLite format 3\x00")):
		return "an SQLite database"
	case isZero(b):
		return "nothing but zero bytes"
	case bytes.IndexByte(start, 0) < 0 && utf8.Valid(trimRune(start)):
		return "text"
	}
	return "unknown bytes"
}

// trimRune cuts an incomplete character off the end.
func trimRune(b []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

type meta struct{ root, freelist, pages, txid uint64 }

// readMetas reads both meta pages and returns the newer one. bbolt would do with one sound page of the two; here both
// must be, since a lock file is written whole.
func readMetas(b []byte) (meta, error) {
	if len(b) < 2*pageSize {
		return meta{}, damaged("it is cut off: %d bytes, want at least %d", len(b), 2*pageSize)
	}
	var metas [2]meta
	for i := range metas {
		p := b[i*pageSize:]
		if id, flags := le.Uint64(p), le.Uint16(p[8:]); id != uint64(i) || flags != metaPage {
			return meta{}, damaged("page %d is not a meta page", i)
		}
		p = p[pageHeaderSize : pageHeaderSize+metaSize]
		sum := fnv.New64a()
		sum.Write(p[:metaSummed])
		switch {
		case le.Uint32(p) != boltMagic:
			return meta{}, damaged("meta page %d has a wrong magic number", i)
		case le.Uint32(p[4:]) != boltVersion:
			return meta{}, damaged("meta page %d has bbolt version %d, want %d", i, le.Uint32(p[4:]), boltVersion)
		case le.Uint64(p[metaSummed:]) != sum.Sum64():
			return meta{}, damaged("meta page %d has a wrong checksum", i)
		case le.Uint32(p[8:]) != pageSize:
			return meta{}, damaged("page size is %d, want %d", le.Uint32(p[8:]), pageSize)
		case le.Uint32(p[12:]) != 0 || le.Uint64(p[24:]) != 0:
			return meta{}, damaged("meta page %d has flags or a sequence", i)
		}
		metas[i] = meta{root: le.Uint64(p[16:]), freelist: le.Uint64(p[32:]), pages: le.Uint64(p[40:]), txid: le.Uint64(p[48:])}
		if metas[i].pages < 4 || metas[i].pages > MaxFileBytes/pageSize {
			return meta{}, damaged("meta page %d counts %d pages, want 4 to %d", i, metas[i].pages, MaxFileBytes/pageSize)
		}
	}
	if metas[0].txid >= metas[1].txid {
		return metas[0], nil
	}
	return metas[1], nil
}

type entry struct{ key, value []byte }

type walker struct {
	b       []byte
	pages   uint64
	seen    []bool
	entries []entry // of the bucket, in order, referring to b
}

type page struct {
	id    uint64
	flags uint16
	count int
	data  []byte // with the header and all overflow pages
}

// page returns the page id, which nothing has asked for yet.
func (w *walker) page(id uint64) (page, error) {
	if id < 2 || id >= w.pages {
		return page{}, damaged("there is a reference to page %d, want 2 to %d", id, w.pages-1)
	}
	b := w.b[id*pageSize:]
	if got := le.Uint64(b); got != id {
		return page{}, damaged("page %d says that it is page %d", id, got)
	}
	overflow := uint64(le.Uint32(b[12:]))
	if overflow >= w.pages-id {
		return page{}, damaged("page %d runs over the end", id)
	}
	for i := id; i <= id+overflow; i++ {
		if w.seen[i] {
			return page{}, damaged("page %d is reached twice", i)
		}
		w.seen[i] = true
	}
	return page{id: id, flags: le.Uint16(b[8:]), count: int(le.Uint16(b[10:])), data: b[:(overflow+1)*pageSize]}, nil
}

// bucket reads the page of buckets, which holds the one bucket of a lock, and the tree of that bucket.
func (w *walker) bucket(root uint64) error {
	p, err := w.page(root)
	if err != nil {
		return err
	}
	if p.flags != leafPage || p.count != 1 {
		return &lock.NotLockError{Looks: "a bbolt database of another program"}
	}
	key, value, end, err := p.leaf(0, pageHeaderSize+leafElementSize)
	if err != nil {
		return err
	}
	if le.Uint32(p.data[pageHeaderSize:]) != bucketFlag || string(key) != bucketName {
		return &lock.NotLockError{Looks: "a bbolt database of another program"}
	}
	if end > len(p.data) || len(value) < bucketHeaderSize {
		return damaged("the bucket has no header")
	}
	if le.Uint64(value[8:]) != 0 {
		return damaged("the bucket has a sequence")
	}
	if tree := le.Uint64(value); tree != 0 {
		if len(value) != bucketHeaderSize {
			return damaged("the header of the bucket has %d bytes, want %d", len(value), bucketHeaderSize)
		}
		return w.tree(tree, nil, 0)
	}
	// A small bucket lies in its element, as a page without a number.
	data := value[bucketHeaderSize:]
	if len(data) < pageHeaderSize {
		return damaged("the bucket has no page")
	}
	inline := page{flags: le.Uint16(data[8:]), count: int(le.Uint16(data[10:])), data: data}
	if le.Uint64(data) != 0 || le.Uint32(data[12:]) != 0 || inline.flags != leafPage {
		return damaged("the page in the bucket is not a leaf")
	}
	return w.leaves(inline, nil)
}

// tree reads the page id and the pages below. first is the key with which the page must begin, nil for any.
func (w *walker) tree(id uint64, first []byte, depth int) error {
	if depth > maxDepth {
		return damaged("pages are nested more than %d deep", maxDepth)
	}
	p, err := w.page(id)
	if err != nil {
		return err
	}
	switch p.flags {
	case leafPage:
		return w.leaves(p, first)
	case branchPage:
	default:
		return damaged("page %d has flags %#x, want a leaf or a branch", id, p.flags)
	}
	if p.count == 0 {
		return damaged("branch page %d is empty", id)
	}
	offset := pageHeaderSize + p.count*branchElementSize
	if offset > len(p.data) {
		return damaged("page %d has more elements than room", id)
	}
	for i := range p.count {
		at := pageHeaderSize + i*branchElementSize
		pos, size := uint64(le.Uint32(p.data[at:])), uint64(le.Uint32(p.data[at+4:]))
		if size == 0 || size > lock.MaxKeyBytes || uint64(at)+pos != uint64(offset) || uint64(offset)+size > uint64(len(p.data)) {
			return damaged("page %d: key %d is out of place", id, i)
		}
		key := p.data[offset : offset+int(size)]
		offset += int(size)
		if i == 0 && first != nil && !bytes.Equal(key, first) {
			return damaged("page %d does not begin with the key that its parent names", id)
		}
		if err := w.tree(le.Uint64(p.data[at+8:]), key, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// leaves reads the elements of a leaf page.
func (w *walker) leaves(p page, first []byte) error {
	offset := pageHeaderSize + p.count*leafElementSize
	if offset > len(p.data) {
		return damaged("page %d has more elements than room", p.id)
	}
	if p.count == 0 && first != nil {
		return damaged("leaf page %d is empty", p.id)
	}
	for i := range p.count {
		key, value, end, err := p.leaf(i, offset)
		if err != nil {
			return err
		}
		offset = end
		if flags := le.Uint32(p.data[pageHeaderSize+i*leafElementSize:]); flags != 0 {
			return damaged("page %d: element %d is not an entry", p.id, i)
		}
		if i == 0 && first != nil && !bytes.Equal(key, first) {
			return damaged("page %d does not begin with the key that its parent names", p.id)
		}
		if n := len(w.entries); n > 0 && bytes.Compare(w.entries[n-1].key, key) >= 0 {
			return damaged("page %d: key %d is not greater than the one before", p.id, i)
		}
		if len(w.entries) == lock.MaxEntries {
			return damaged("it has more than %d entries", lock.MaxEntries)
		}
		w.entries = append(w.entries, entry{key, value})
	}
	return nil
}

// leaf returns key and value of element i, whose bytes must begin at offset, and where they end.
func (p page) leaf(i, offset int) (key, value []byte, end int, err error) {
	at := pageHeaderSize + i*leafElementSize
	if offset > len(p.data) || at+leafElementSize > len(p.data) {
		return nil, nil, 0, damaged("page %d has more elements than room", p.id)
	}
	e := p.data[at : at+leafElementSize]
	pos, ksize, vsize := uint64(le.Uint32(e[4:])), uint64(le.Uint32(e[8:])), uint64(le.Uint32(e[12:]))
	if ksize == 0 || ksize > lock.MaxKeyBytes || uint64(at)+pos != uint64(offset) || uint64(offset)+ksize+vsize > uint64(len(p.data)) {
		return nil, nil, 0, damaged("page %d: element %d is out of place", p.id, i)
	}
	split := offset + int(ksize)
	end = split + int(vsize)
	return p.data[offset:split], p.data[split:end], end, nil
}

// freelist reads the list of free pages and marks them.
func (w *walker) freelist(id uint64) error {
	p, err := w.page(id)
	if err != nil {
		return err
	}
	if p.flags != freelistPage {
		return damaged("page %d is not the list of free pages", id)
	}
	ids, count := p.data[pageHeaderSize:], uint64(p.count)
	if p.count == 0xFFFF {
		count = le.Uint64(ids)
		ids = ids[8:]
	}
	if count > uint64(len(ids))/8 {
		return damaged("page %d lists more free pages than it has room for", id)
	}
	for i := range count {
		free := le.Uint64(ids[i*8:])
		switch {
		case free < 2 || free >= w.pages:
			return damaged("page %d is listed as free, want 2 to %d", free, w.pages-1)
		case w.seen[free]:
			return damaged("page %d is listed as free, but is used or listed before", free)
		}
		w.seen[free] = true
	}
	return nil
}

// copyOut copies the entries, so that nothing refers to the bytes of the file.
func (w *walker) copyOut() []lock.KV {
	kvs := make([]lock.KV, len(w.entries))
	values := 0
	for _, e := range w.entries {
		values += len(e.value)
	}
	arena := make([]byte, 0, values)
	for i, e := range w.entries {
		start := len(arena)
		arena = append(arena, e.value...)
		kvs[i] = lock.KV{Key: string(e.key), Value: arena[start:len(arena):len(arena)]}
	}
	return kvs
}
