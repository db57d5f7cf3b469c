package catalog

import (
	"bytes"
	"regexp"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Shown returns a text in the catalog language for people to read who need not see its credentials: every literal that may
// be one is an ellipsis. That is a literal given to sensitive, or under a name such as token or authorization, one in the form of a known kind of
// token, the user information and the query of a URL, and any long run of letters and digits but a digest. Comments are
// treated alike. Line ends are LF, and there are as many lines as before. The text need not be well-formed. hidden tells that
// something was replaced.
func Shown(src []byte) (shown []byte, hidden bool) {
	text := normalise(src)
	var (
		out    []byte
		names  shownNames
		tokens = lex("", text)
	)
	end := 0
	for i, t := range tokens {
		out = append(out, text[end:t.Range.Start.Byte]...)
		end = t.Range.End.Byte
		names.take(tokens, i)
		switch t.Type {
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
			out = append(out, shownText(t.Bytes, names.secret() && !isName(tokens, i))...)
		case hclsyntax.TokenComment, hclsyntax.TokenInvalid, hclsyntax.TokenBadUTF8, hclsyntax.TokenQuotedNewline:
			out = append(out, secretPair.ReplaceAll(shownText(t.Bytes, false), []byte("$1"+ellipsis))...)
		case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit: // a credential without its quotes
			out = append(out, shownText(t.Bytes, false)...)
		default:
			out = append(out, t.Bytes...)
		}
	}
	out = append(out, text[end:]...)
	return out, !bytes.Equal(out, text)
}

var (
	secretURL  = regexp.MustCompile(`(://)[^/?#\s"]*@|(\?)[^\s"#]+`)
	secretPair = regexp.MustCompile(`(?i)((?:authorization|token|secret|passw(?:or)?d|passphrase|api[-_]?key|cookie|credential|private[-_]?key)[\w-]*["']?\s*[=:]\s*)\S.*`)
	longWord   = regexp.MustCompile(`(?:sha256[:/])?[A-Za-z0-9_+/=-]{20,}`)
)

// shownText replaces what looks like a credential, or all of a text but its line end.
func shownText(text []byte, whole bool) []byte {
	if whole {
		body := bytes.TrimRight(text, "\n")
		if len(bytes.TrimSpace(body)) == 0 {
			return text
		}
		return append([]byte(ellipsis), text[len(body):]...)
	}
	text = secretToken.ReplaceAll(text, []byte("${1}"+ellipsis))
	text = secretURL.ReplaceAllFunc(text, func(m []byte) []byte {
		if m[0] == '?' {
			return []byte("?" + ellipsis)
		}
		return []byte("://" + ellipsis + "@")
	})
	return longWord.ReplaceAllFunc(text, func(m []byte) []byte {
		digest := bytes.HasPrefix(m, []byte("sha256:")) || bytes.HasPrefix(m, []byte("sha256/"))
		if digest || !bytes.ContainsAny(m, "0123456789") || !bytes.ContainsFunc(m, isLetter) {
			return m
		}
		return []byte(ellipsis)
	})
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// isName reports whether a quoted literal is a label or the key of an object: a name, which is no secret.
func isName(tokens hclsyntax.Tokens, i int) bool {
	if i+2 >= len(tokens) || tokens[i+1].Type != hclsyntax.TokenCQuote {
		return false
	}
	switch tokens[i+2].Type {
	case hclsyntax.TokenEqual, hclsyntax.TokenColon, hclsyntax.TokenOBrace, hclsyntax.TokenOQuote:
		return true
	}
	return false
}

// shownNames follows the names under which a literal stands: its argument or key, and all blocks and objects around it.
type shownNames struct {
	last  string // the last name on this line
	label bool   // a name of the line says that what its block holds is secret
	now   bool   // the value that is being read has such a name
	depth int    // brackets within that value
	open  []bool // for each open brace: what it holds is secret
	paren int    // open parentheses
	call  int    // how many there were when sensitive( was read, 0 outside of it
}

func (n *shownNames) secret() bool {
	return n.now || n.call > 0 || len(n.open) > 0 && n.open[len(n.open)-1]
}

func (n *shownNames) take(tokens hclsyntax.Tokens, i int) {
	switch t := tokens[i]; t.Type {
	case hclsyntax.TokenIdent, hclsyntax.TokenQuotedLit:
		n.last = string(t.Bytes)
		n.label = n.label || secretName.MatchString(n.last)
	case hclsyntax.TokenEqual, hclsyntax.TokenColon:
		n.now, n.depth, n.label = secretName.MatchString(n.last), 0, false
	case hclsyntax.TokenOBrace:
		n.open = append(n.open, n.secret() || n.label)
		n.now, n.label = false, false
	case hclsyntax.TokenCBrace:
		if len(n.open) > 0 {
			n.open = n.open[:len(n.open)-1]
		}
		n.now, n.label = false, false
	case hclsyntax.TokenOParen:
		n.depth++
		n.paren++
		if n.call == 0 && i > 0 && string(tokens[i-1].Bytes) == "sensitive" {
			n.call = n.paren
		}
	case hclsyntax.TokenCParen:
		n.depth--
		if n.call == n.paren {
			n.call = 0
		}
		n.paren = max(n.paren-1, 0)
	case hclsyntax.TokenOBrack, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		n.depth++
	case hclsyntax.TokenCBrack, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		n.depth--
	case hclsyntax.TokenNewline, hclsyntax.TokenComma:
		if n.depth <= 0 {
			n.now, n.label = false, false
		}
	}
}
