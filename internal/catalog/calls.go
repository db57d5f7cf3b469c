package catalog

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

var laterFunctions = []string{"file", "secret_file", "sensitive"}

func (v *useWalker) call(n *hclsyntax.FunctionCallExpr) {
	if _, known := v.l.funcs[n.Name]; !known {
		if slices.Contains(laterFunctions, n.Name) {
			v.fail(n.NameRange, "catalog.unsupported", "Function not supported", "The function %q is not supported by this version of mcpcat.", n.Name)
			return
		}
		hint := ""
		if s := nearest(n.Name, keys(v.l.funcs)); s != "" {
			hint = fmt.Sprintf(" Did you mean %q?", s)
		}
		v.fail(n.NameRange, "catalog.reference", "Unknown function", "There is no function %s.%s", diag.Quote(n.Name, maxShownWord), hint)
		return
	}
	if n.Name != "env" {
		return
	}
	v.u.secrets = append(v.u.secrets, "env")
	if len(n.Args) < 1 || len(n.Args) > 2 || n.ExpandFinal {
		v.fail(n.NameRange, "catalog.reference", "Wrong use of env", "Write env(\"NAME\") or env(\"NAME\", DEFAULT).")
		return
	}
	name, ok := literalText(n.Args[0])
	if !ok || !validEnvName(name) {
		v.fail(n.Args[0].Range(), "catalog.reference", "Wrong use of env",
			"The name of the environment variable must be written out as a text of letters, digits and underscores, so that it is known without evaluating anything.")
		return
	}
	v.u.secrets[len(v.u.secrets)-1] = fmt.Sprintf("env(%q)", name)
	v.u.env = append(v.u.env, name)
	value, set := v.l.lookup(name)
	if set && (!faithful(value) || len(value) > maxValueBytes) {
		v.fail(n.NameRange, "catalog.text", "Value cannot be kept", "The environment variable %s holds more than %d bytes, bytes that are not UTF-8, or characters that are not in Unicode normal form C.", name, maxValueBytes)
	}
	if !set && len(n.Args) == 1 && !v.l.opts.AllowMissingSecrets {
		v.fail(n.NameRange, "variable.missing", "Environment variable not set", "env(%q) has no value: set the environment variable %s, or give a default as second argument.", name, name)
	}
}

// literalText returns the value of a quoted text without interpolation.
func literalText(e hclsyntax.Expression) (string, bool) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() {
		if ok && len(t.Parts) == 0 {
			return "", true
		}
		return "", false
	}
	v, diags := t.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String {
		return "", false
	}
	return asString(v), true
}

func validEnvName(s string) bool {
	if s == "" || len(s) > 255 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}

func (l *loader) lookup(name string) (string, bool) {
	if l.opts.Lookup == nil {
		return "", false
	}
	return l.opts.Lookup(name)
}
