package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
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
		if x.Name == "secret_file" && len(x.Args) == 1 {
			if path, _, ok := l.eval(x.Args[0], w, false); ok && !path.IsNull() && path.Type() == cty.String {
				return secretFileRef(asString(path))
			}
		}
	case *hclsyntax.TemplateExpr:
		if s, ok := l.refTemplate(x, w); ok {
			return s
		}
	}
	return l.refSource(e, u, w)
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

func quoteText(s string) string { return `"` + quoteInside(s) + `"` }

// sourceText is the source at r, formatted, with the texts and numbers inside of the secret ranges left out.
func (l *loader) sourceText(r hcl.Range, secret []hcl.Range) string {
	s := l.sources[r.Filename]
	if s == nil || s.hidden || r.End.Byte > len(s.text) {
		return "expression"
	}
	var text []byte
	at := r.Start.Byte
	for _, t := range s.lexed() {
		switch t.Type {
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit, hclsyntax.TokenNumberLit:
			if at <= t.Range.Start.Byte && t.Range.End.Byte <= r.End.Byte && within(secret, t.Range) {
				text = append(append(text, s.text[at:t.Range.Start.Byte]...), ellipsis...)
				at = t.Range.End.Byte
			}
		}
	}
	text = append(text, s.text[at:r.End.Byte]...)
	return formatExpression(text)
}

// quoteInside escapes s for the inside of a quoted text.
func quoteInside(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "${", "$${", "%{", "%%{").Replace(s)
}

// refSource is the expression as written, formatted, and what its names stand for.
func (l *loader) refSource(e hclsyntax.Expression, u *uses, w where) string {
	secret := hidden(e)
	text := l.sourceText(e.Range(), secret)
	shown := map[string]bool{}
	nodes(e, func(n hclsyntax.Node) {
		if t, ok := n.(*hclsyntax.ScopeTraversalExpr); ok && !within(secret, t.Range()) {
			name, _ := stepName(t.Traversal, 1)
			shown[t.Traversal.RootName()+"."+name] = true
		}
	})
	var given []string
	for _, n := range u.vars {
		if x := l.variables[n]; !x.sensitive && shown["var."+n] {
			if raw, err := jsonOf(x.value); err == nil {
				given = append(given, "var."+n+" = "+string(raw))
			}
		}
	}
	for _, n := range u.locals {
		x := l.locals[n]
		switch {
		case !shown["local."+n]:
		case x.secret:
			given = append(given, "local."+n+" = "+x.ref)
		default:
			if raw, err := jsonOf(x.value); err == nil {
				given = append(given, "local."+n+" = "+string(raw))
			}
		}
	}
	if len(u.read) == 0 {
		l.readFiles(u, w) // the expression may be a part of the one that was evaluated
	}
	if w.each != nil {
		for name, v := range map[string]cty.Value{"key": w.each.key, "value": w.each.value} {
			if raw, err := jsonOf(v); err == nil && shown["each."+name] {
				given = append(given, "each."+name+" = "+string(raw))
			}
		}
	}
	for _, f := range u.read {
		given = append(given, "file("+quoteText(f.Path)+") = "+f.Digest.String())
	}
	if len(given) > 0 {
		slices.Sort(given)
		given = slices.Compact(given)
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
		l.fail("catalog.type", "Wrong type", e.Range(), w, "%s is %s, want a text.%s", what, typeName(v), typeHint(what, v, "a text"))
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
