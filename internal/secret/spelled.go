package secret

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// maxSpellings is how many times over characters may be escaped: JSON in JSON in JSON.
const maxSpellings = 3

// redactSpelled replaces the secrets in src that have characters written as escapes.
func (r *forms) redactSpelled(src []byte) []byte {
	for times, text := 1, src; times <= maxSpellings && bytes.IndexByte(text, '\\') >= 0; times++ {
		text, _ = unescaped(text, nil, false)
		if found, _, _ := r.scan(make([]byte, 0, len(text)), text, 0, true); !bytes.Equal(found, text) {
			src = r.maskSpelled(src, times)
			text = src
			for range times {
				text, _ = unescaped(text, nil, false)
			}
		}
	}
	return src
}

// maskSpelled is scan for src as it reads when its escapes are undone so many times.
func (r *forms) maskSpelled(src []byte, times int) []byte {
	text, at := src, []int(nil)
	for range times {
		text, at = unescaped(text, at, true)
	}
	out, covered := make([]byte, 0, len(src)), 0
	for i := range text {
		if n := match(r.byFirst[text[i]], text[i:]); n > 0 {
			if covered <= i {
				out = append(out, Mask...)
			}
			covered = max(covered, i+n)
		}
		if i >= covered {
			out = append(out, src[at[i]:at[i+1]]...)
		}
	}
	return out
}

// unescaped replaces the escapes that JSON, Go and C have in strings by what they stand for. It is for searching: it does
// not ask whether the text is any of these. With where it also says for each byte, and the end, at what offset its escape
// begins, as from, if given, has it for the bytes of text; of a character of several bytes the first has the escape.
func unescaped(text []byte, from []int, where bool) (out []byte, at []int) {
	out = make([]byte, 0, len(text))
	place := func(begin, end int) {
		if !where {
			return
		}
		for ; len(at) < len(out); begin = end {
			if from == nil {
				at = append(at, begin)
			} else {
				at = append(at, from[begin])
			}
		}
	}
	for i := 0; i < len(text); {
		n := 1
		switch {
		case text[i] == '\\' && i+1 < len(text):
			out, n = unescape(out, text[i:])
		default:
			out = append(out, text[i])
		}
		place(i, i+n)
		i += n
	}
	if where {
		end := len(text)
		if from != nil {
			end = from[end]
		}
		at = append(at, end)
	}
	return out, at
}

// unescape appends what the escape stands for that text begins with, and returns its length.
func unescape(out, text []byte) ([]byte, int) {
	switch c := text[1]; c {
	case 'b':
		return append(out, '\b'), 2
	case 'f':
		return append(out, '\f'), 2
	case 'n':
		return append(out, '\n'), 2
	case 'r':
		return append(out, '\r'), 2
	case 't':
		return append(out, '\t'), 2
	case 'u':
		r, ok := digits(text[2:], 4)
		if !ok {
			break
		}
		if utf16.IsSurrogate(r) && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
			if low, ok := digits(text[8:], 4); ok {
				return utf8.AppendRune(out, utf16.DecodeRune(r, low)), 12
			}
		}
		return utf8.AppendRune(out, r), 6
	case 'x':
		if r, ok := digits(text[2:], 2); ok {
			return append(out, byte(r)), 4
		}
	case 'U':
		if r, ok := digits(text[2:], 8); ok {
			return utf8.AppendRune(out, r), 10
		}
	}
	return append(out, text[1]), 2
}

// digits reads n hexadecimal digits.
func digits(b []byte, n int) (r rune, ok bool) {
	if len(b) < n {
		return 0, false
	}
	for _, c := range b[:n] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
