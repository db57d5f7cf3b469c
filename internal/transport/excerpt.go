package transport

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const defaultExcerpt = 256

// excerpt returns the beginning of foreign text in a form that is safe to print: what is not printable, quotes and
// backslashes included, is written as a Go escape, and the result has at most limit bytes. A cut is marked with "…".
func excerpt(b []byte, limit int) string { return cutText(b, limit, appendEscaped) }

// cutText is excerpt with another way of escaping.
func cutText(b []byte, limit int, escape func(dst, b []byte) ([]byte, int)) string {
	const mark = "…"
	out := make([]byte, 0, min(len(b)+16, limit+16))
	fits := 0 // the length of out up to which the mark still fits
	for len(b) > 0 {
		var n int
		out, n = escape(out, b)
		if len(out) > limit {
			if limit < len(mark) {
				return ""
			}
			return string(out[:fits]) + mark
		}
		b = b[n:]
		if len(out)+len(mark) <= limit {
			fits = len(out)
		}
	}
	return string(out)
}

// withoutLastWord returns text, of which the rest was not read, without the word that it ends in, at most maxWord bytes: it
// may be the beginning of what is redacted when it is whole.
func withoutLastWord(text []byte) []byte {
	end := len(text)
	for end > 0 && len(text)-end < maxWord && !strings.ContainsRune(" \t\r\n\"',;<>(){}[]", rune(text[end-1])) {
		end--
	}
	return text[:end]
}

// maxWord is longer than any credential.
const maxWord = 16 << 10

// excerptEnd is excerpt for the end of the text.
func excerptEnd(b []byte, limit int) string {
	const mark = "…"
	if len(b) <= limit && !cut(b, limit) {
		return excerpt(b, limit)
	}
	// Every byte takes at least one in the escaped form, so the last limit bytes are enough.
	if len(b) > limit {
		b = b[len(b)-limit:]
		for len(b) > 0 && !utf8.RuneStart(b[0]) {
			b = b[1:]
		}
	}
	for len(b) > 0 && cut(b, limit-len(mark)) {
		_, n := utf8.DecodeRune(b)
		b = b[n:]
	}
	if len(b) == 0 {
		return ""
	}
	return mark + excerpt(b, limit-len(mark))
}

// cut reports whether the escaped form of b is longer than limit.
func cut(b []byte, limit int) bool {
	var scratch [16]byte
	total := 0
	for len(b) > 0 {
		out, n := appendEscaped(scratch[:0], b)
		if total += len(out); total > limit {
			return true
		}
		b = b[n:]
	}
	return false
}

func appendEscaped(dst, b []byte) ([]byte, int) {
	r, n := utf8.DecodeRune(b)
	switch {
	case r == utf8.RuneError && n == 1:
		const hex = "0123456789abcdef"
		return append(dst, '\\', 'x', hex[b[0]>>4], hex[b[0]&15]), 1
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r)), 1
	case strconv.IsPrint(r):
		return append(dst, b[:n]...), n
	}
	quoted := strconv.AppendQuoteRune(nil, r) // 'x' with an escape
	return append(dst, quoted[1:len(quoted)-1]...), n
}
