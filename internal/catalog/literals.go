package catalog

import (
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxLiteralWarnings is how many places with credentials are reported.
const maxLiteralWarnings = 20

var (
	secretName  = regexp.MustCompile(`(?i)(authorization|bearer|token|secret|passw|api[-_]?key|cookie|credential|private[-_]?key)`)
	secretValue = regexp.MustCompile(`(?i)^((bearer|basic|token)\s+\S{6,}|(ghp_|gho_|ghs_|github_pat_|glpat-|sk-|xox[abpr]-|AKIA|eyJ)\S{10,})`)
	secretToken = regexp.MustCompile(`(?i)\b((?:bearer|basic|token)\s+)[^\s"]{6,}|(?:ghp_|gho_|ghs_|github_pat_|glpat-|sk-|xox[abpr]-|AKIA|eyJ)[^\s"]{10,}`)

	// issuedToken is a token that says itself what it is, tokenMarks what every one of them has.
	issuedToken = regexp.MustCompile(`(^|[^A-Za-z0-9])((gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|npm_|pypi-|hf_|AKIA|ASIA|AIza)[A-Za-z0-9_-]{12,}|sk-[A-Za-z0-9_-]{7,}[0-9][A-Za-z0-9_-]{7,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})|-----BEGIN [A-Z ]*PRIVATE KEY-----`)
	tokenMarks  = []string{"gh", "glpat-", "xox", "npm_", "pypi-", "hf_", "AKIA", "ASIA", "AIza", "sk-", "eyJ", "-----BEGIN "}
	// credential is what stands behind the scheme of an Authorization header.
	credential  = regexp.MustCompile(`(?i)(^|[^a-z])(bearer|basic|token)\s+[A-Za-z0-9+/_.~-]*[0-9][A-Za-z0-9+/_.~-]*=*`)
	urlUserInfo = regexp.MustCompile(`://[^/?#\s:@]*:[^/?#\s@]+@`)
	queryName   = regexp.MustCompile(`(?i)[?&][a-z0-9_.-]*(token|secret|passw|api[-_]?key|access[-_]?key|signature|credential)[a-z0-9_.-]*=[^&#\s]{6,}`)
	option      = regexp.MustCompile(`(?i)^--?[a-z0-9-]*(token|secret|passw|api-?key|credential|private-?key)[a-z0-9-]*(=|$)`)
	// elsewhere ends the names of what is not a secret itself but says where one is.
	elsewhere = regexp.MustCompile(`(?i)[-_](file|path|dir|name|names|env|url|uri|endpoint|type|id|ttl|header)s?$`)
)

// warnLiteral warns about a value that stands in the catalog and looks like a credential. It does not show the line.
func (l *loader) warnLiteral(e mapEntry, w where) {
	v := e.value.plain
	if e.value.Secret() || l.literals[e.valueRange] || !secretValue.MatchString(v) && !looksIssued(v) && (!secretName.MatchString(e.key) || len(v) < 6) {
		return
	}
	l.literals[e.valueRange] = true
	l.warn("catalog.literal_credential", "Credential in the catalog", e.keyRange, w,
		"The value of %s looks like a credential and stands in the catalog, where everybody reads it. Use a variable with sensitive = true, or env(\"NAME\").", diag.Quote(e.key, 256))
}

// warnLiterals looks at every text of the files for what looks like a credential, whatever it is used for.
func (l *loader) warnLiterals(files []*source) {
	for _, f := range files {
		w := literalWalker{l: l}
		w.body(f.body, where{})
	}
}

type literalWalker struct {
	l *loader
	w where
}

func (x *literalWalker) body(b *hclsyntax.Body, w where) {
	x.w = w
	for _, a := range sortedAttributes(b) {
		o, isMap := a.Expr.(*hclsyntax.ObjectConsExpr)
		if !isMap || a.Name != "headers" && a.Name != "env" {
			x.named(a.Name, a.Expr)
			x.expression(a.Expr)
			continue
		}
		for _, item := range o.Items { // what is written out is looked at with its name, by warnLiteral
			if _, plain := literalText(item.ValueExpr); !plain {
				x.expression(item.ValueExpr)
			}
		}
	}
	for _, inner := range b.Blocks {
		at := w
		if w == (where{}) && findBlock(language, inner.Type) != nil {
			at = where{context: inner.Type}
			if len(inner.Labels) == 1 && addr.ValidLabel(inner.Labels[0]) {
				at.context = blockName(inner)
			}
			// A secret variable with a default is an error already, and a variable is called what it holds.
			if inner.Type == "variable" && len(inner.Labels) == 1 {
				if d := inner.Body.Attributes["default"]; d != nil {
					x.w = at
					x.named(inner.Labels[0], d.Expr)
				}
			}
		}
		x.body(inner.Body, at)
	}
}

// expression looks at the texts of an expression by themselves, and at those that a key or an option gives a meaning.
func (x *literalWalker) expression(e hclsyntax.Expression) {
	nodes(e, func(n hclsyntax.Node) {
		switch n := n.(type) {
		case *hclsyntax.TemplateExpr:
			for _, p := range n.Parts {
				if lit, ok := p.(*hclsyntax.LiteralValueExpr); ok && lit.Val.Type() == cty.String && !lit.Val.IsNull() && looksIssued(asString(lit.Val)) {
					x.report(n.Range())
				}
			}
		case *hclsyntax.ObjectConsExpr:
			for _, item := range n.Items {
				x.named(keyName(item), item.ValueExpr)
			}
		case *hclsyntax.TupleConsExpr:
			for i, e := range n.Exprs {
				text, _ := literalText(e)
				name, value, given := strings.Cut(text, "=")
				if !option.MatchString(text) || elsewhere.MatchString(name) {
					continue
				}
				if !given && i+1 < len(n.Exprs) {
					e = n.Exprs[i+1]
					value, _ = literalText(e)
				}
				if len(value) >= 6 && !strings.HasPrefix(value, "-") && !isPlace(value) {
					x.report(e.Range())
				}
			}
		}
	})
}

// keyName is the key of an item if it is written out.
func keyName(item hclsyntax.ObjectConsItem) string {
	if key := hcl.ExprAsKeyword(item.KeyExpr); key != "" {
		return key
	}
	key := ""
	if k, ok := item.KeyExpr.(*hclsyntax.ObjectConsKeyExpr); ok {
		key, _ = literalText(k.Wrapped)
	}
	return key
}

// named looks at a text that stands behind a name.
func (x *literalWalker) named(name string, e hclsyntax.Expression) {
	value, ok := literalText(e)
	if ok && secretName.MatchString(name) && !elsewhere.MatchString(name) && len(value) >= 8 && strings.ContainsAny(value, "0123456789") &&
		!strings.ContainsAny(value, " \n\t") && !isPlace(value) {
		x.report(e.Range())
	}
}

// isPlace reports whether a text says where something is.
func isPlace(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "$") || strings.Contains(s, "://")
}

func looksIssued(s string) bool {
	if strings.Contains(s, "://") && (urlUserInfo.MatchString(s) || queryName.MatchString(s)) {
		return true
	}
	for _, m := range tokenMarks {
		if strings.Contains(s, m) {
			if issuedToken.MatchString(s) {
				return true
			}
			break
		}
	}
	for _, m := range credential.FindAllString(s, 4) {
		if len(m) >= len("token ")+16 {
			return true
		}
	}
	return false
}

func (x *literalWalker) report(r hcl.Range) {
	if x.l.literals[r] || len(x.l.literals) >= maxLiteralWarnings {
		return
	}
	x.l.literals[r] = true
	x.l.warn("catalog.literal_credential", "Credential in the catalog", r, x.w,
		"The text here looks like a credential and stands in the catalog directory, where everybody reads it. Take it out and make it invalid where it was issued; then use a variable with sensitive = true, env(\"NAME\") or secret_file(\"PATH\").")
}
