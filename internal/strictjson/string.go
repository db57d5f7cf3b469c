package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, with the high bit of a byte, the bytes of w that end a plain stretch of a string: quote, backslash,
// control characters and everything that is not ASCII. Only the lowest mark is exact: a borrow may run upwards from it.
func special(w uint64) uint64 {
	return (((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones) | (w - ' '*ones) | w) & highs
}

// str reads the string whose quote is at i and returns the offset after its closing quote, and whether it has escapes.
func (p *parser) str(i int) (int, bool) {
	src := p.src
	escaped := false
	i++
	for {
		for i+8 <= len(src) {
			m := special(binary.LittleEndian.Uint64(src[i:]))
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		if i >= len(src) {
			return p.want(i, "'\"'"), false
		}
		switch c := src[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i = p.escape(i); i < 0 {
				return i, false
			}
		case c < 0x20:
			return p.fail(i, ClassControl, "control character in a string"), false
		case c < utf8.RuneSelf:
			i++ // the last seven bytes of the text
		default:
			n := runes(src, i)
			if n == i {
				return p.fail(i, ClassUTF8, "invalid UTF-8"), false
			}
			i = n
		}
	}
}

// runes skips well-formed UTF-8 sequences of several bytes from i on. It returns i if there is none.
func runes(src []byte, i int) int {
	for i < len(src) {
		s := src[i:]
		c := s[0]
		switch {
		case c < 0xC2:
			return i
		case c < 0xE0:
			if len(s) < 2 || s[1]&0xC0 != 0x80 {
				return i
			}
			i += 2
		case c < 0xF0:
			if len(s) < 3 || s[1]&0xC0 != 0x80 || s[2]&0xC0 != 0x80 ||
				c == 0xE0 && s[1] < 0xA0 || c == 0xED && s[1] > 0x9F {
				return i
			}
			i += 3
		case c < 0xF5:
			if len(s) < 4 || s[1]&0xC0 != 0x80 || s[2]&0xC0 != 0x80 || s[3]&0xC0 != 0x80 ||
				c == 0xF0 && s[1] < 0x90 || c == 0xF4 && s[1] > 0x8F {
				return i
			}
			i += 4
		default:
			return i
		}
	}
	return i
}

// escape reads the escape at i and returns the offset after it.
func (p *parser) escape(i int) int {
	src := p.src
	if i+1 >= len(src) {
		return p.want(i+1, "an escape")
	}
	switch src[i+1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case '/':
		if p.emit {
			joined := p.lead(i)
			p.text = append(p.text, '/')
			p.patch(i, i+2, len(p.text)-1, joined)
		}
		return i + 2
	case 'u':
	default:
		return p.want(i+1, "an escape")
	}
	r, ok := hex4(src, i+2)
	if !ok {
		return p.fail(i, ClassSyntax, "want four hexadecimal digits after \\u")
	}
	end := i + 6
	if r >= 0xD800 && r < 0xE000 {
		low, ok := rune(0), false
		if r < 0xDC00 && end+1 < len(src) && src[end] == '\\' && src[end+1] == 'u' {
			low, ok = hex4(src, end+2)
		}
		if !ok || low < 0xDC00 || low >= 0xE000 {
			return p.fail(i, ClassSurrogate, "escaped surrogate without its partner")
		}
		r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
		end += 6
	}
	if p.emit {
		mark := len(p.text)
		joined := p.lead(i)
		from := len(p.text)
		p.text = appendRune(p.text, r)
		if string(p.text[from:]) == string(src[i:end]) {
			p.text = p.text[:mark]
		} else {
			p.patch(i, end, from, joined)
		}
	}
	return end
}

func hex4(src []byte, i int) (rune, bool) {
	if i+4 > len(src) {
		return 0, false
	}
	var r rune
	for _, c := range src[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

const hexDigits = "0123456789abcdef"

// appendRune appends the canonical spelling of one character inside a string.
func appendRune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r >= 0x20:
		return utf8.AppendRune(dst, r)
	}
	switch r {
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
}

// AppendString appends s as a JSON string with the escapes of RFC 8785: quote, backslash, control characters below
// U+0020 and nothing else. S must be valid UTF-8, which the caller checks: other bytes are appended as they are.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			dst = append(dst, s[from:i]...)
			dst = appendRune(dst, rune(c))
			from = i + 1
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// appendUnescaped appends the characters of the inside of a string. Escapes that are not well formed, which a checked
// text has none of, are taken as they are.
func appendUnescaped(dst, in []byte) []byte {
	for i := 0; i < len(in); {
		c := in[i]
		if c != '\\' || i+1 >= len(in) {
			dst = append(dst, c)
			i++
			continue
		}
		i += 2
		switch c := in[i-1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, ok := hex4(in, i)
			if !ok {
				dst = append(dst, '\\', 'u')
				continue
			}
			i += 4
			if r >= 0xD800 && r < 0xDC00 && i+1 < len(in) && in[i] == '\\' && in[i+1] == 'u' {
				if low, ok := hex4(in, i+2); ok && low >= 0xDC00 && low < 0xE000 {
					r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// skipString returns the offset after the string whose quote is at i, or len(src) if it does not end.
func skipString(src []byte, i int) int {
	end, _ := stringEnd(src, i)
	return end
}

func stringEnd(src []byte, i int) (end int, closed bool) {
	i++
	for i+8 <= len(src) {
		w := binary.LittleEndian.Uint64(src[i:])
		q, b := w^'"'*ones, w^'\\'*ones
		m := (((q - ones) &^ q) | ((b - ones) &^ b)) & highs
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if src[i] == '"' {
			return i + 1, true
		}
		i += 2
	}
	for i < len(src) {
		switch src[i] {
		case '"':
			return i + 1, true
		case '\\':
			i += 2
		default:
			i++
		}
	}
	return len(src), false
}
