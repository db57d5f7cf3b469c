package secret

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
)

// maxPlainName is the length up to which a member name of letters counts as structure.
const maxPlainName = 32

// RedactJSON is Redact for JSON texts, one or several, that stay JSON: only strings are looked at, each by itself. Names
// of members that are plain words, of letters and underscores, are left alone, because a document means by them what it
// says. A string with a secret is written anew, with everything beyond ASCII escaped. The result does not alias src
// unless nothing was found. Of what is no JSON text, it is Redact.
func (r *Redactor) RedactJSON(src []byte) []byte {
	if r.forms().longest == 0 {
		return src
	}
	out := make([]byte, 0, len(src))
	for i := 0; i < len(src); {
		if src[i] != '"' {
			out = append(out, src[i])
			i++
			continue
		}
		end := i + 1
		for end < len(src) && src[end] != '"' {
			if src[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(src) {
			return r.Redact(src)
		}
		token, text := src[i:end+1], ""
		i = end + 1
		if json.Unmarshal(token, &text) != nil {
			return r.Redact(src)
		}
		name := bytes.HasPrefix(bytes.TrimLeft(src[i:], " \t\r\n"), []byte(":"))
		clean := r.RedactString(text)
		if clean == text && r.Holds(token) {
			clean = Mask // a spelling of it that is found only as it stands
		}
		if clean == text || name && plainName(text) {
			out = append(out, token...)
			continue
		}
		out = appendASCII(out, clean)
	}
	if bytes.Equal(out, src) {
		return src
	}
	return out
}

func plainName(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; s[i] != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(s) <= maxPlainName
}

// appendASCII appends s as a JSON string of printable ASCII.
func appendASCII(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	unit := func(u rune) {
		dst = append(dst, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
	}
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c >= ' ' && c < 0x7f:
			dst = append(dst, byte(c))
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			unit(high)
			unit(low)
		default:
			unit(c)
		}
	}
	return append(dst, '"')
}
