package mcp

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxExcerpt is how many bytes of peer text an error quotes.
const maxExcerpt = 256

// quote returns s as a quoted string that is safe to print: cut at maxExcerpt bytes, with everything that is not printable
// escaped, so that control, bidirectional and invisible characters show.
func quote(s string) string {
	if len(s) <= maxExcerpt {
		return strconv.Quote(s)
	}
	cut := maxExcerpt
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "..."
}

// peer is text of the peer among the arguments of a fault. It prints as quote returns it; as long as it is whole, it can be
// redacted.
type peer string

func (p peer) String() string { return quote(string(p)) }

// quoteList quotes at most eight strings.
func quoteList(list []string) string {
	var b strings.Builder
	for i, s := range list {
		if i == 8 {
			b.WriteString(" and more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(s))
	}
	return b.String()
}

// quoteEnd returns the end of what a child wrote to its standard error: its last lines, at most limit bytes, escaped.
func quoteEnd(b []byte, limit int) string {
	s := strings.TrimSpace(string(b))
	if len(s) > limit {
		s = s[len(s)-limit:]
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
