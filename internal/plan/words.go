package plan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// maxTokens bounds the word comparison of one text. A longer text is shown as replaced whole: everything of it is still
// in the document, it is only not aligned.
const maxTokens = 1 << 16

// words compares two texts word by word. Joining the words of "=" and "-" gives before, those of "=" and "+" gives after.
// Tokens are words, numbers, runs of white space and single other characters, since differences of characters cannot be
// read: of 30 and 100 they keep the 0.
func words(before, after string) []Word {
	a, b := tokens(before), tokens(after)
	if len(a) > maxTokens || len(b) > maxTokens {
		return joined(nil, before, after, "")
	}
	var out []Word
	at := 0 // next token of a
	for _, d := range lcs.DiffLines(a, b) {
		gap := strings.Join(a[at:d.Start], "")
		out = joined(out, strings.Join(a[d.Start:d.End], ""), strings.Join(b[d.ReplStart:d.ReplEnd], ""), gap)
		at = d.End
	}
	if rest := strings.Join(a[at:], ""); rest != "" {
		out = append(out, Word{"=", rest})
	}
	return out
}

// joined appends the equal text gap and the difference of minus and plus to out. Equal white space between two
// differences becomes a part of both, so that a replaced phrase reads as one.
func joined(out []Word, minus, plus, gap string) []Word {
	if n := len(out); n > 0 && strings.TrimSpace(gap) == "" && out[n-1].Op != "=" {
		var m, p string
		for n > 0 && out[n-1].Op != "=" {
			n--
			if out[n].Op == "-" {
				m = out[n].Text
			} else {
				p = out[n].Text
			}
		}
		out, minus, plus = out[:n], m+gap+minus, p+gap+plus
	} else if gap != "" {
		out = append(out, Word{"=", gap})
	}
	if minus != "" {
		out = append(out, Word{"-", minus})
	}
	if plus != "" {
		out = append(out, Word{"+", plus})
	}
	return out
}

func tokens(s string) []string {
	var out []string
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		kind := tokenKind(r)
		for kind != tokenOther && n < len(s) {
			next, size := utf8.DecodeRuneInString(s[n:])
			if k := tokenKind(next); k != kind && (kind != tokenWord || k != tokenNumber) {
				break
			}
			n += size
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

const (
	tokenOther = iota
	tokenSpace
	tokenNumber
	tokenWord
)

func tokenKind(r rune) int {
	switch {
	case r == '_' || unicode.IsLetter(r) || unicode.IsMark(r):
		return tokenWord
	case unicode.IsDigit(r):
		return tokenNumber
	case unicode.IsSpace(r):
		return tokenSpace
	default:
		return tokenOther
	}
}
