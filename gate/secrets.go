package gate

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// minSecret is the length in bytes from which a secret is looked for in answers. A shorter one would hold back ordinary
// words.
const minSecret = 8

// secrets finds the secrets of one server's block in what the server sends: as they are, escaped as in JSON, in Base64 and
// URL-encoded. What a server transforms in another way is not found.
type secrets struct {
	answers *secret.Redactor // nil if there is nothing to look for
	errors  *secret.Redactor
}

func newSecrets(values []secret.String) secrets {
	var s secrets
	var long []secret.String
	for _, v := range values {
		if len(v.Expose()) >= minSecret {
			long = append(long, v)
		}
	}
	if len(values) > 0 {
		s.errors = secret.NewRedactor(values...)
	}
	if len(long) > 0 {
		s.answers = secret.NewRedactor(long...)
	}
	return s
}

// in says whether a JSON text holds a secret, also one that is spelled with other escapes than ours.
func (s secrets) in(text []byte) bool {
	if s.answers == nil || len(text) == 0 {
		return false
	}
	if !bytes.Equal(s.answers.Redact(text), text) {
		return true
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return false
	}
	plain := unescaped(text)
	return !bytes.Equal(s.answers.Redact(plain), plain)
}

// unescaped replaces every escape in the strings of a JSON text by what it stands for. Backslashes occur only in strings.
// The result is for searching only.
func unescaped(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, n := unit(text[i+1:]), 4
			if utf16.IsSurrogate(r) && len(text) > i+6 && text[i+5] == '\\' && text[i+6] == 'u' {
				r, n = utf16.DecodeRune(r, unit(text[i+7:])), 10
			}
			out = utf8.AppendRune(out, r)
			i = min(i+n, len(text)-1)
		default:
			out = append(out, c)
		}
	}
	return out
}

// unit reads four hexadecimal digits.
func unit(b []byte) rune {
	if len(b) < 4 {
		return utf8.RuneError
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return utf8.RuneError
		}
		r = r<<4 | rune(c)
	}
	return r
}

// cleanError is err for logs, statuses and refusals: an error may quote what a server sent, and a server may repeat a
// secret.
func (s secrets) cleanError(err error) error {
	if err == nil || s.errors == nil {
		return err
	}
	text := err.Error()
	if clean := s.errors.RedactString(text); clean != text {
		return errors.New(clean)
	}
	return err
}
