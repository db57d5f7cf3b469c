package catalog

import (
	"bytes"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxShownWord is the longest identifier that a snippet shows.
const maxShownWord = 63

// maxSnippet is about how many bytes a snippet has at most.
const maxSnippet = 256

func (s *source) rangeOf(r hcl.Range) diag.Range {
	return diag.Range{
		File:  s.name,
		Start: diag.Pos{Line: r.Start.Line, Column: r.Start.Column},
		End:   diag.Pos{Line: r.End.Line, Column: r.End.Column},
	}
}

// snippet returns a line of the source without what may be a pasted credential: argument names, block headers with
// their labels, references and operators stay; texts, comments, unknown words and whatever the lexer could not name
// become an ellipsis.
func (s *source) snippet(line int) string {
	if s.hidden {
		return ""
	}
	var on []hclsyntax.Token
	for _, t := range s.lexed() {
		if t.Range.Start.Line > line {
			break
		}
		if t.Range.Start.Line == line && t.Type != hclsyntax.TokenNewline && t.Type != hclsyntax.TokenComment && t.Type != hclsyntax.TokenEOF {
			on = append(on, t)
		}
	}
	if len(on) == 0 {
		return ""
	}
	if s.values {
		if !s.broken && len(on) > 1 && on[0].Type == hclsyntax.TokenIdent && on[1].Type == hclsyntax.TokenEqual && len(on[0].Bytes) <= maxShownWord {
			return string(on[0].Bytes) + " = " + ellipsis
		}
		return ellipsis
	}
	p := printer{header: isHeader(on), broken: s.broken}
	// The lexer reports columns in grapheme clusters; the gap between two tokens is made of blanks only, so byte
	// distances are right.
	lineStart := bytes.LastIndexByte(s.text[:on[0].Range.Start.Byte], '\n') + 1
	end := lineStart
	for i, t := range on {
		if gap := t.Range.Start.Byte - end; gap > 0 {
			p.b.WriteString(strings.Repeat(" ", min(gap, 40)))
		}
		p.token(on, i)
		end = t.Range.End.Byte
		if p.b.Len() > maxSnippet {
			p.hide()
			break
		}
	}
	return p.b.String()
}

// isHeader reports whether the line begins a block: a word, then a label or a brace.
func isHeader(on []hclsyntax.Token) bool {
	if len(on) < 2 || on[0].Type != hclsyntax.TokenIdent {
		return false
	}
	switch on[1].Type {
	case hclsyntax.TokenOQuote, hclsyntax.TokenOBrace, hclsyntax.TokenIdent:
		return true
	}
	return false
}

type printer struct {
	b       strings.Builder
	header  bool
	chained bool // the last word belongs to a reference that is shown
	// broken tells that where texts begin and end is not certain, so only words of the language are shown.
	broken bool
	items  bool // to items of servers
}

// Ellipsis stands for texts that are not shown.
const Ellipsis = "…"

const ellipsis = Ellipsis

func (p *printer) hide() {
	if !strings.HasSuffix(p.b.String(), ellipsis) {
		p.b.WriteString(ellipsis)
	}
}

func (p *printer) token(on []hclsyntax.Token, i int) {
	t := on[i]
	switch t.Type {
	case hclsyntax.TokenIdent:
		p.word(on, i)
		return
	case hclsyntax.TokenDot:
		p.b.WriteByte('.')
		return // keeps chained
	case hclsyntax.TokenQuotedLit:
		if p.header && !p.broken && addr.ValidLabel(string(t.Bytes)) {
			p.b.Write(t.Bytes)
		} else {
			p.hide()
		}
	case hclsyntax.TokenOBrace:
		p.header = false // what follows on the line is the body of the block
		p.b.WriteByte('{')
	case hclsyntax.TokenOHeredoc:
		p.b.WriteString("<<" + ellipsis)
	case hclsyntax.TokenNumberLit:
		if p.broken {
			p.hide()
		} else {
			p.b.Write(t.Bytes)
		}
	case hclsyntax.TokenCBrace, hclsyntax.TokenOBrack,
		hclsyntax.TokenCBrack, hclsyntax.TokenOParen, hclsyntax.TokenCParen, hclsyntax.TokenOQuote, hclsyntax.TokenCQuote,
		hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenPercent,
		hclsyntax.TokenEqual, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan,
		hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq, hclsyntax.TokenAnd,
		hclsyntax.TokenOr, hclsyntax.TokenBang, hclsyntax.TokenComma, hclsyntax.TokenEllipsis, hclsyntax.TokenFatArrow,
		hclsyntax.TokenQuestion, hclsyntax.TokenColon, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl,
		hclsyntax.TokenTemplateSeqEnd:
		p.b.Write(t.Bytes)
	default:
		p.hide()
	}
	p.chained = false
}

// word shows the words of the language, argument names, references that begin with a root of the scope, function names,
// and short lower-case words such as the variables of a for expression.
func (p *printer) word(on []hclsyntax.Token, i int) {
	w := string(on[i].Bytes)
	follows := func(t hclsyntax.TokenType) bool { return i+1 < len(on) && on[i+1].Type == t }
	after := func(t hclsyntax.TokenType) bool { return i > 0 && on[i-1].Type == t }
	shown := false
	switch {
	case len(w) > maxShownWord:
	case p.broken:
		shown = languageWords()[w]
	case p.chained && after(hclsyntax.TokenDot):
		shown = p.items || addr.ValidLabel(w) // only items have names of servers' own
	case scopeRoots[w] != 0 && follows(hclsyntax.TokenDot):
		shown = true
		p.chained, p.items = true, scopeRoots[w] == rootItem
	case p.header && i == 0, i == 0 && follows(hclsyntax.TokenEqual), follows(hclsyntax.TokenEqual),
		follows(hclsyntax.TokenOParen):
		shown = true
	default:
		shown = shortWord(w)
	}
	if !shown {
		p.hide()
		p.chained = false
		return
	}
	p.b.WriteString(w)
}

// languageWords are the words of the grammar, of types and templates, the roots of references and the functions.
func languageWords() map[string]bool {
	wordsOnce.Do(func() {
		wordsOfAll = map[string]bool{}
		for _, list := range [][]string{typeWords, templateWords, keys(scopeRoots), keys((&loader{budget: &budget{}}).functions())} {
			for _, w := range list {
				wordsOfAll[w] = true
			}
		}
		addWords(wordsOfAll, language)
	})
	return wordsOfAll
}

// A variable that is initialised with them would be in a circle with the functions.
var (
	wordsOnce  sync.Once
	wordsOfAll map[string]bool
)

func addWords(words map[string]bool, types []*BlockType) {
	for _, t := range types {
		words[t.Type] = true
		for _, a := range t.argumentNames() {
			words[a] = true
		}
		addWords(words, t.Blocks)
	}
}

var templateWords = []string{"true", "false", "null", "if", "else", "endif", "for", "in", "endfor", "heredoc"}

func shortWord(w string) bool {
	if len(w) > 16 {
		return false
	}
	for i := range len(w) {
		if c := w[i]; !(c >= 'a' && c <= 'z' || c == '_') {
			return false
		}
	}
	return true
}
