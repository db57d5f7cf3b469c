package catalog

import (
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxDetail is how much of what the HCL library says is kept.
const maxDetail = 1024

// scrub takes values out of what the HCL library says about expressions that are not secret: a literal may be a credential
// that was pasted, and a value may be made from one. The library puts values in quotes; quoted words stay if they are words
// of the language or names that are written in the catalog.
func (l *loader) scrub(detail string, about ...hcl.Expression) string {
	known := l.words()
	var b strings.Builder
	for rest := detail; rest != ""; {
		i := strings.IndexAny(rest, "\"`")
		if i < 0 || b.Len() > maxDetail {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		text, after := quotedPart(rest[i:])
		if !known[text] && !punctuation.MatchString(text) {
			text = ellipsis
		}
		b.WriteString(rest[i:i+1] + text + rest[i:i+1])
		rest = after
	}
	detail = cutText(b.String(), 8*maxDetail)
	for _, x := range about {
		e, ok := x.(hclsyntax.Expression)
		if !ok || e == nil {
			continue
		}
		nodes(e, func(n hclsyntax.Node) {
			lit, ok := n.(*hclsyntax.LiteralValueExpr)
			if !ok || lit.Val.IsNull() || lit.Val.Type() != cty.String {
				return
			}
			if text := asString(lit.Val); len(text) >= 3 && !known[text] {
				written := strconv.Quote(text)
				detail = strings.ReplaceAll(detail, text, ellipsis)
				detail = strings.ReplaceAll(detail, written[1:len(written)-1], ellipsis)
			}
		})
	}
	return diag.Escape(cutText(detail, maxDetail))
}

// punctuation is what the library quotes of the grammar.
var punctuation = regexp.MustCompile(`^[^\pL\pN]{1,3}$`)

// quotedPart splits a text that begins with a quote behind the quote that ends it. A quote that does not end takes all.
func quotedPart(s string) (text, rest string) {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0]:
			return s[1:i], s[i+1:]
		}
	}
	return s[1:], ""
}

// words are the quoted words that scrub leaves: names of the language, of functions and their parameters, and the names
// that stand in the catalog as argument or attribute and that snippets show as well.
func (l *loader) words() map[string]bool {
	if l.known != nil {
		return l.known
	}
	l.known = maps.Clone(languageWords())
	for name, f := range l.funcs {
		l.known[name] = true
		params := f.Params()
		if p := f.VarParam(); p != nil {
			params = append(params[:len(params):len(params)], *p)
		}
		for _, p := range params {
			l.known[p.Name] = true
		}
	}
	for _, s := range l.sources {
		if s.hidden || s.values || s.broken {
			continue
		}
		tokens := s.lexed()
		for i, t := range tokens {
			if t.Type != hclsyntax.TokenIdent || len(t.Bytes) > maxShownWord {
				continue
			}
			is := func(j int, types ...hclsyntax.TokenType) bool {
				for _, want := range types {
					if j >= 0 && j < len(tokens) && tokens[j].Type == want {
						return true
					}
				}
				return false
			}
			if is(i+1, hclsyntax.TokenEqual, hclsyntax.TokenOParen, hclsyntax.TokenDot) || is(i-1, hclsyntax.TokenDot) || shortWord(string(t.Bytes)) {
				l.known[string(t.Bytes)] = true
			}
		}
	}
	return l.known
}

// simpleRef is a reference without any text of the catalog.
var simpleRef = regexp.MustCompile(`^(var\.[a-z0-9_]+|env\("[A-Za-z0-9_]+"\))$`)

// shownRef names a secret in a message: by its reference, or as a secret where the reference repeats texts of the catalog.
func shownRef(t Text) string {
	if simpleRef.MatchString(t.Ref()) {
		return t.Ref()
	}
	return "the secret"
}
