package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// maxRefBytes bounds the reference of a secret, which is recorded and shown.
const maxRefBytes = 2048

// ref says where a secret comes from, without its value and so that everything that decides the value, but the secret
// itself, is in it: var.token, env("NAME"), "Bearer ${var.token}", or the expression with the values and references
// that it uses behind it.
func (l *loader) ref(e hclsyntax.Expression, u *uses, w where) string {
	r := l.refText(e, u, w)
	if len(r) > maxRefBytes {
		l.fail("catalog.limit", "Secret expression too long", e.Range(), w, "The expression of a secret takes more than %d bytes to record. Put the whole value into one sensitive variable.", maxRefBytes)
		return ""
	}
	return r
}

func (l *loader) refText(e hclsyntax.Expression, u *uses, w where) string {
	switch x := e.(type) {
	case *metered:
		return l.refText(x.Expression, u, w)
	case *hclsyntax.ParenthesesExpr:
		return l.refText(x.Expression, u, w)
	case *hclsyntax.TemplateWrapExpr:
		return l.refText(x.Wrapped, u, w)
	case *hclsyntax.ScopeTraversalExpr:
		name, ok := stepName(x.Traversal, 1)
		if ok && len(x.Traversal) == 2 {
			if loc := l.locals[name]; x.Traversal.RootName() == "local" && loc != nil {
				return loc.ref
			}
			return x.Traversal.RootName() + "." + name
		}
	case *hclsyntax.FunctionCallExpr:
		if x.Name == "env" && len(x.Args) == 1 && len(u.env) > 0 {
			name, _ := literalText(x.Args[0]) // checked by uses
			return fmt.Sprintf("env(%q)", name)
		}
	case *hclsyntax.TemplateExpr:
		if s, ok := l.refTemplate(x, w); ok {
			return s
		}
	}
	return l.refSource(e, u)
}

// refTemplate writes a template with its plain parts evaluated.
func (l *loader) refTemplate(t *hclsyntax.TemplateExpr, w where) (string, bool) {
	var b strings.Builder
	b.WriteByte('"')
	for _, part := range t.Parts {
		pu := l.uses(part, w, false)
		if !pu.ok {
			return "", false
		}
		if pu.secret() {
			b.WriteString("${" + l.refText(part, pu, w) + "}")
			continue
		}
		v, ok := l.evalUsing(part, w, pu)
		if !ok {
			return "", false
		}
		s, err := convert.Convert(v, cty.String)
		if err != nil || s.IsNull() {
			return "", false
		}
		b.WriteString(quoteInside(asString(s)))
	}
	b.WriteByte('"')
	return b.String(), true
}

// quoteInside escapes s for the inside of a quoted text.
func quoteInside(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "${", "$${", "%{", "%%{").Replace(s)
}

// refSource is the expression as written, formatted, and what its names stand for.
func (l *loader) refSource(e hclsyntax.Expression, u *uses) string {
	r := e.Range()
	text := "expression"
	if s := l.sources[r.Filename]; s != nil && !s.hidden && r.End.Byte <= len(s.text) {
		text = strings.TrimSpace(strings.TrimPrefix(string(hclwrite.Format(append([]byte("x = "), s.text[r.Start.Byte:r.End.Byte]...))), "x = "))
	}
	var given []string
	for _, n := range u.vars {
		if x := l.variables[n]; !x.sensitive {
			if raw, err := jsonOf(x.value); err == nil {
				given = append(given, "var."+n+" = "+string(raw))
			}
		}
	}
	for _, n := range u.locals {
		x := l.locals[n]
		if x.secret {
			given = append(given, "local."+n+" = "+x.ref)
		} else if raw, err := jsonOf(x.value); err == nil {
			given = append(given, "local."+n+" = "+string(raw))
		}
	}
	if len(given) > 0 {
		slices.Sort(given)
		text += " where " + strings.Join(given, ", ")
	}
	return text
}

// mayBeSecret evaluates an expression whose value may be secret, to a text. What names it in messages.
func (l *loader) mayBeSecret(e hclsyntax.Expression, what string, maxBytes int, w where) (Text, bool) {
	v, u, ok := l.eval(e, w, false)
	if !ok {
		return Text{}, false
	}
	if v.IsNull() {
		l.fail("catalog.null", "Null not allowed", e.Range(), w, "%s is null. Leave it out, or give it a text.", what)
		return Text{}, false
	}
	if u.secret() && !v.IsKnown() {
		return SecretText(secret.New("", l.ref(e, u, w))), true
	}
	if v.Type() != cty.String {
		l.fail("catalog.type", "Wrong type", e.Range(), w, "%s is %s, want a text.", what, typeName(v))
		return Text{}, false
	}
	s := asString(v)
	if !u.secret() {
		return PlainText(s), l.checkPlain(what, s, maxBytes, e.Range(), w)
	}
	if len(s) > maxBytes {
		l.fail("catalog.limit", "Value too large", e.Range(), w, "%s has more than %d bytes.", what, maxBytes)
		return Text{}, false
	}
	x := secret.New(s, l.ref(e, u, w))
	l.secrets = append(l.secrets, x)
	return SecretText(x), true
}
