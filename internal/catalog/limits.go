package catalog

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// Limits of the text, checked on the tokens before the parser sees them: the parser and the evaluator recurse, and a
// stack that overflows cannot be recovered.
const (
	MaxDepth            = 64    // brackets of all kinds, template sequences and nested directives
	MaxPrefixOperators  = 8     // ! and - in a row
	MaxExpressionTokens = 20000 // in one expression
	MaxNestedFor        = 3     // each level multiplies the work
	MaxFactors          = 100   // multiplications and divisions in one expression: each may double the digits of a number
	MaxTokens           = 1_000_000
	MaxBlocks           = 50_000 // of all files together, and so the tokens: both take memory
	maxNumberBytes      = 400    // one number literal
	maxExponent         = 400    // of a number literal, either sign
)

// checkTokens checks the limits. expression tells that the whole text is one expression.
func (s *source) checkTokens(expression bool) (diag.Diagnostic, bool) {
	_, d, bad := s.countTokens(expression)
	return d, bad
}

// countTokens is checkTokens and counts the blocks.
func (s *source) countTokens(expression bool) (blocks int, d diag.Diagnostic, bad bool) {
	g := tokenGate{inExpr: expression}
	tokens := s.lexed()
	for i, t := range tokens {
		if msg := g.take(tokens, i); msg != "" {
			return 0, diag.Errorf("catalog.limit", "Catalog text exceeds a limit", "%s", msg).At(s.rangeOf(t.Range)), true
		}
		if t.Type == hclsyntax.TokenQuotedLit || t.Type == hclsyntax.TokenStringLit {
			if msg := checkLiteral(t.Bytes, t.Type == hclsyntax.TokenQuotedLit); msg != "" {
				return 0, diag.Errorf("catalog.text", "Character not allowed in a catalog", "%s", msg).At(s.rangeOf(t.Range)), true
			}
		}
	}
	return g.blocks, diag.Diagnostic{}, false
}

// tokenGate counts while tokens pass.
type tokenGate struct {
	open       []bool // one for each open bracket: it begins a for expression
	fors       int    // open for expressions
	directives []bool // one for each open template directive: it is a for
	prefix     int
	inExpr     bool
	exprDepth  int
	exprTokens int
	factors    int
	blocks     int
}

func (g *tokenGate) take(tokens hclsyntax.Tokens, i int) string {
	t := tokens[i]
	if g.inExpr {
		g.exprTokens++
		if g.exprTokens > MaxExpressionTokens {
			return "One expression has more than " + strconv.Itoa(MaxExpressionTokens) + " tokens. Split it with locals."
		}
	}
	switch t.Type {
	case hclsyntax.TokenBang, hclsyntax.TokenMinus:
		if g.prefix++; g.prefix > MaxPrefixOperators {
			return "More than " + strconv.Itoa(MaxPrefixOperators) + " operators stand in a row."
		}
	case hclsyntax.TokenNewline, hclsyntax.TokenComment:
	default:
		g.prefix = 0
	}
	switch t.Type {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp:
		g.blocks += count(t.Type == hclsyntax.TokenOBrace && !g.inExpr)
		isFor := (t.Type == hclsyntax.TokenOBrace || t.Type == hclsyntax.TokenOBrack) && next(tokens, i) == "for"
		return g.push(isFor)
	case hclsyntax.TokenTemplateControl:
		word := next(tokens, i)
		if word == "for" || word == "if" {
			g.directives = append(g.directives, word == "for")
			g.fors += count(word == "for")
		}
		if (word == "endfor" || word == "endif") && len(g.directives) > 0 {
			last := len(g.directives) - 1
			g.fors -= count(g.directives[last])
			g.directives = g.directives[:last]
		}
		return g.push(false)
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		if last := len(g.open) - 1; last >= 0 {
			g.fors -= count(g.open[last])
			g.open = g.open[:last]
		}
		if g.inExpr && len(g.open) < g.exprDepth {
			g.inExpr = false
		}
	case hclsyntax.TokenEqual:
		if !g.inExpr {
			g.inExpr, g.exprDepth, g.exprTokens, g.factors = true, len(g.open), 0, 0
		}
	case hclsyntax.TokenStar, hclsyntax.TokenSlash:
		splat := i > 0 && (tokens[i-1].Type == hclsyntax.TokenOBrack || tokens[i-1].Type == hclsyntax.TokenDot)
		if g.factors += count(!splat); g.factors > MaxFactors {
			return "One expression has more than " + strconv.Itoa(MaxFactors) + " multiplications and divisions. Split it with locals."
		}
	case hclsyntax.TokenNewline:
		if g.inExpr && len(g.open) == g.exprDepth {
			g.inExpr = false
		}
	case hclsyntax.TokenNumberLit:
		return checkNumber(t.Bytes)
	}
	return ""
}

func (g *tokenGate) push(isFor bool) string {
	g.open = append(g.open, isFor)
	g.fors += count(isFor)
	if len(g.open)+len(g.directives) > MaxDepth {
		return "Brackets are nested more than " + strconv.Itoa(MaxDepth) + " deep."
	}
	if g.fors > MaxNestedFor {
		return "More than " + strconv.Itoa(MaxNestedFor) + " for expressions are nested. Split them with locals."
	}
	return ""
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// next returns the identifier after token i, passing over line ends and comments, or "".
func next(tokens hclsyntax.Tokens, i int) string {
	for _, t := range tokens[i+1:] {
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			continue
		case hclsyntax.TokenIdent:
			return string(t.Bytes)
		}
		return ""
	}
	return ""
}

// checkNumber refuses numbers whose decimal text would be huge.
func checkNumber(b []byte) string {
	if len(b) > maxNumberBytes {
		return "A number has more than " + strconv.Itoa(maxNumberBytes) + " characters."
	}
	if i := bytes.IndexAny(b, "eE"); i >= 0 {
		if e, err := strconv.Atoi(string(b[i+1:])); err != nil || e > maxExponent || e < -maxExponent {
			return "The exponent of a number is beyond " + strconv.Itoa(maxExponent) + "."
		}
	}
	return ""
}

// checkLiteral looks at the characters that \u and \U stand for in quoted text, and at the beginning of the literal: a
// combining character there would be merged with what an interpolation puts before it.
func checkLiteral(lit []byte, quoted bool) string {
	text := string(lit)
	if quoted && (strings.Contains(text, `\u`) || strings.Contains(text, `\U`)) {
		text = unescapeUnicode(text)
		if _, r, ok := diag.Concealed(text); ok {
			return "An escape stands for a character that readers cannot see (U+" + strings.ToUpper(strconv.FormatInt(int64(r), 16)) + ")."
		}
		if !norm.NFC.IsNormalString(text) {
			return "A text with an escape is not in Unicode normal form C. Texts of the catalog language are brought into that form, so it would be changed."
		}
	}
	if text != "" && !norm.NFC.PropertiesString(text).BoundaryBefore() {
		return "A text begins with a combining character, which would change together with what stands before it."
	}
	return ""
}

// unescapeUnicode replaces \uXXXX and \UXXXXXXXX; other escapes stay, and so does what is not a valid escape.
func unescapeUnicode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		digits := map[byte]int{'u': 4, 'U': 8}[s[i+1]]
		if digits > 0 && i+2+digits <= len(s) {
			if v, err := strconv.ParseUint(s[i+2:i+2+digits], 16, 32); err == nil && utf8.ValidRune(rune(v)) {
				b.WriteRune(rune(v))
				i += 1 + digits
				continue
			}
		}
		b.WriteString(s[i : i+2])
		i++
	}
	return b.String()
}
