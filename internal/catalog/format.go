package catalog

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxRounds is how often a text is formatted until it stays as it is. Once is enough for nearly all texts.
const maxRounds = 5

// Format returns the text of a catalog or value file with its spaces in the canonical form of HCL: two spaces for each
// bracket that is open, equals signs and comments of neighbouring lines in one column. Nothing but spaces and tabs
// between tokens is changed: a byte order mark, the kind of each line's end, empty lines, comments and heredocs stay.
//
// src is checked as Load checks it, before it is parsed; names are not looked up and nothing is evaluated. name is how
// diagnostics call the text. The result is nil if the list has errors, and formatting it again gives the same bytes.
func Format(name string, src []byte) ([]byte, diag.List) {
	l := &loader{cat: &Catalog{}, sources: map[string]*source{}}
	s := l.source(diag.Escape(name), src)
	if l.errors > 0 || s == nil {
		return nil, l.list()
	}
	text, steady := s.text, false
	for range maxRounds {
		next, ok := formatOnce(s.name, text)
		if !ok {
			break
		}
		if steady = bytes.Equal(next, text); steady {
			break
		}
		text = next
	}
	if !steady || !sameTokens(s.lexed(), lex(s.name, text)) {
		l.add(diag.Errorf("catalog.format", "File cannot be formatted",
			"%s: moving spaces alone does not bring it into a form that stays. It is left as it is. Write the statements on lines of their own and try again.", s.name).At(diag.Range{File: s.name, Start: diag.Pos{Line: 1, Column: 1}, End: diag.Pos{Line: 1, Column: 1}}))
		return nil, l.list()
	}
	return withEnds(src, text), l.list()
}

func lex(name string, text []byte) hclsyntax.Tokens {
	tokens, _ := hclsyntax.LexConfig(text, name, hcl.InitialPos) // what is wrong, the parser has said
	return tokens
}

// formatOnce formats a text whose lines end in LF. Lines within heredocs are part of a value, or would look as if they
// were, and are taken as they were.
func formatOnce(name string, text []byte) ([]byte, bool) {
	before := bytes.Split(text, []byte("\n"))
	after := bytes.Split(withoutTail(name, hclwrite.Format(text)), []byte("\n"))
	if len(before) != len(after) {
		return nil, false
	}
	depth, first := 0, 0
	for _, t := range lex(name, text) {
		switch t.Type {
		case hclsyntax.TokenOHeredoc:
			if depth++; depth == 1 {
				first = t.Range.Start.Line // counted from 1: the line behind it
			}
		case hclsyntax.TokenCHeredoc:
			if depth--; depth == 0 {
				copy(after[first:t.Range.Start.Line], before[first:t.Range.Start.Line])
			}
		}
	}
	return bytes.Join(after, []byte("\n")), true
}

// withoutTail removes blanks behind the last token, of which the library thinks as of a line that goes on.
func withoutTail(name string, text []byte) []byte {
	end := 0
	for _, t := range lex(name, text) {
		if t.Type != hclsyntax.TokenEOF {
			end = t.Range.End.Byte
		}
	}
	return append(text[:end:end], bytes.Trim(text[end:], " \t")...)
}

// sameTokens reports whether two texts differ at most in what stands between their tokens.
func sameTokens(a, b hclsyntax.Tokens) bool {
	return slices.EqualFunc(a, b, func(a, b hclsyntax.Token) bool { return a.Type == b.Type && bytes.Equal(a.Bytes, b.Bytes) })
}

// withEnds gives the lines of text, which end in LF, the ends that the lines of src have, and its byte order mark.
func withEnds(src, text []byte) []byte {
	out := make([]byte, 0, len(text)+bytes.Count(src, []byte{'\r'})+len(byteOrderMark))
	if bytes.HasPrefix(src, byteOrderMark) {
		out = append(out, byteOrderMark...)
		src = src[len(byteOrderMark):]
	}
	for line := range bytes.Lines(text) {
		end := bytes.IndexByte(src, '\n')
		if end > 0 && src[end-1] == '\r' {
			line = append(slices.Clone(line[:len(line)-1]), "\r\n"...)
		}
		out = append(out, line...)
		src = src[end+1:]
	}
	return out
}

// formatExpression formats the text of one expression.
func formatExpression(text []byte) string {
	whole := append([]byte("x = "), text...)
	return strings.TrimSpace(strings.TrimPrefix(string(hclwrite.Format(whole)), "x = "))
}
