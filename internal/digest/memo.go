package digest

import (
	"bytes"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Memo takes the digests of texts of which most are the same as the one before, as the pages of a list are that is read
// again and again: it keeps the last text and compares bytes, which is many times cheaper than hashing.
//
// It remembers what a text's digest is and never whether something was allowed. It holds a copy of one text. The zero
// Memo is ready. A Memo is not safe for concurrent use.
type Memo struct {
	kind Kind
	lim  strictjson.Limits
	src  []byte
	d    Digest
	ok   bool
}

// OfJSON returns what the function OfJSON returns.
func (m *Memo) OfJSON(kind Kind, src []byte, lim strictjson.Limits) (Digest, error) {
	if m.ok && m.kind == kind && m.lim == lim && bytes.Equal(m.src, src) {
		return m.d, nil
	}
	d, err := OfJSON(kind, src, lim)
	if err != nil {
		return Digest{}, err
	}
	m.kind, m.lim, m.d, m.ok = kind, lim, d, true
	m.src = append(m.src[:0], src...)
	return d, nil
}
