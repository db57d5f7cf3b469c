package catalog

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxMessage is the longest error_message in bytes.
const maxMessage = 1024

// validation is one condition that the value of a variable must meet.
type validation struct {
	condition, message hclsyntax.Expression
	w                  where
}

func (l *loader) declareValidation(x *variable, b *hclsyntax.Block, t *BlockType) {
	w := where{context: x.w.context + ", validation", checking: true}
	c := l.contents(b.Body, w, t)
	v := &validation{w: w}
	for name, e := range map[string]*hclsyntax.Expression{"condition": &v.condition, "error_message": &v.message} {
		if a := c.args[name]; a != nil {
			*e = a.Expr
		} else if b.Body.Attributes[name] == nil {
			l.fail("catalog.missing", "Missing argument", c.body.MissingItemRange(), w, "The block needs %s.", name)
		}
	}
	if v.condition != nil && v.message != nil {
		x.validations = append(x.validations, v)
	}
}

// validated checks the conditions of a variable once, before anything but conditions has its value. It reports whether the
// value is good.
func (l *loader) validated(x *variable) bool {
	return len(x.validations) == 0 || l.visit("var."+x.name, x.rng, &x.state, &x.failed, func() bool {
		good := true
		for _, v := range x.validations {
			good = l.check(x, v) && good
		}
		return good
	})
}

// check decides one condition. One that needs a secret which is missing is not decided; that is a warning.
func (l *loader) check(x *variable, v *validation) bool {
	r := v.condition.Range()
	result, u, ok := l.eval(v.condition, v.w, false)
	if !ok {
		return false
	}
	if !slices.Contains(u.vars, x.name) {
		l.fail("catalog.reference", "Condition about something else", r, v.w, "The condition does not refer to var.%s, so it cannot tell whether that is good.", x.name)
		return false
	}
	message, ok := l.validationMessage(v)
	switch {
	case !ok:
		return false
	case !result.IsNull() && !result.IsKnown() && u.secret():
		l.warn("variable.unchecked", "Condition not checked", r, v.w, "The condition needs %s, which has no value here. It is checked where there is one.", diag.Escape(u.secrets[0]))
		return true
	case result.IsNull() || !result.IsKnown() || result.Type() != cty.Bool:
		l.fail("catalog.type", "Wrong type", r, v.w, "condition is %s, want true or false.", typeName(result))
		return false
	case result.True():
		return true
	}
	l.fail("variable.invalid", "Invalid value of a variable", r, v.w, "%s\n\nThe value of var.%s, from %s, does not meet this condition.", diag.EscapeLines(message), x.name, x.sourceName(x.source))
	return false
}

// validationMessage is what a validation says. It is known before it is needed, so that a mistake in it shows.
func (l *loader) validationMessage(v *validation) (string, bool) {
	r := v.message.Range()
	m, ok := l.evalPublic("error_message", v.message, v.w, false)
	if !ok {
		return "", false
	}
	if m.IsNull() || m.Type() != cty.String || asString(m) == "" {
		l.fail("catalog.type", "Wrong type", r, v.w, "error_message is %s, want a text that says what is wrong and what would be right.", emptyOr(m))
		return "", false
	}
	return asString(m), l.checkPlain("error_message", asString(m), maxMessage, r, v.w)
}

func emptyOr(v cty.Value) string {
	if !v.IsNull() && v.Type() == cty.String {
		return "empty"
	}
	return typeName(v)
}
