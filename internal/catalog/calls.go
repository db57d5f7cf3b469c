package catalog

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// call looks at one call of a function: whether there is such a function, and what the calls that reach outside of the
// catalog are given. What they are given must be known without any secret.
func (v *useWalker) call(n *hclsyntax.FunctionCallExpr) {
	if _, known := v.l.funcs[n.Name]; !known {
		hint := ""
		if s := nearest(n.Name, append(keys(v.l.funcs), v.more...)); foreignFunctions[n.Name] != "" {
			hint = " " + foreignFunctions[n.Name]
		} else if s != "" {
			hint = fmt.Sprintf(" Did you mean %q?", s)
		}
		v.fail(n.NameRange, "catalog.reference", "Unknown function", "There is no function %s.%s", diag.Quote(n.Name, maxShownWord), hint)
		return
	}
	switch n.Name {
	case "env":
		v.envCall(n)
	case "file", "secret_file":
		v.fileCall(n)
	case "sensitive":
		v.u.secrets = append(v.u.secrets, "sensitive")
	}
}

func (v *useWalker) envCall(n *hclsyntax.FunctionCallExpr) {
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
	if !set && len(n.Args) == 1 {
		v.l.need(v.u.secrets[len(v.u.secrets)-1], name)
	}
	if !set && len(n.Args) == 1 && !v.l.opts.AllowMissingSecrets {
		v.fail(n.NameRange, "variable.missing", "Environment variable not set", "env(%q) has no value: set the environment variable %s, or give a default as second argument.", name, name)
	}
}

// fileUse is a call of file in an expression.
type fileUse struct {
	call *hclsyntax.FunctionCallExpr
	// bound tells that the path is made from the variable of a for expression.
	bound bool
}

func (v *useWalker) fileCall(n *hclsyntax.FunctionCallExpr) {
	if n.Name == "secret_file" {
		v.u.secrets = append(v.u.secrets, n.Name)
	}
	if len(n.Args) != 1 || n.ExpandFinal {
		v.fail(n.NameRange, "catalog.reference", "Wrong use of "+n.Name, "Write %s(\"PATH\").", n.Name)
		return
	}
	if ref, secret := v.secretIn(n.Args[0], nil); secret {
		v.fail(n.Args[0].Range(), "catalog.secret_place", "Secret not allowed here", "The path given to %s is made from %s. Which file is read must be known without any secret.", n.Name, ref)
		return
	}
	if n.Name == "secret_file" {
		return
	}
	use := fileUse{call: n}
	nodes(n.Args[0], func(n hclsyntax.Node) {
		if t, ok := n.(*hclsyntax.ScopeTraversalExpr); ok {
			use.bound = use.bound || v.bound[t.Traversal.RootName()]
		}
	})
	v.u.files = append(v.u.files, use)
}

// secretIn returns a reference that makes a part of the expression secret. Variables of for expressions are as secret as
// what they run over; seen holds those that were looked at.
func (v *useWalker) secretIn(e hclsyntax.Expression, seen []string) (ref string, secret bool) {
	nodes(e, func(n hclsyntax.Node) {
		if secret {
			return
		}
		switch n := n.(type) {
		case *hclsyntax.FunctionCallExpr:
			if n.Name == "env" || n.Name == "secret_file" || n.Name == "sensitive" {
				ref, secret = n.Name, true
			}
		case *hclsyntax.ScopeTraversalExpr:
			root := n.Traversal.RootName()
			if v.bound[root] && !slices.Contains(seen, root) {
				for _, over := range v.over[root] {
					if !secret {
						ref, secret = v.secretIn(over, append(seen, root))
					}
				}
				return
			}
			name, _ := stepName(n.Traversal, 1)
			switch x, y := v.l.variables[name], v.l.locals[name]; {
			case root == "var" && x != nil && x.sensitive, root == "local" && y != nil && v.l.evaluate(y) && y.secret:
				ref, secret = root+"."+name, true
			}
		}
	})
	return ref, secret
}

// readFiles reads what file is asked for in a secret expression, whatever the expression does with it: which files are part
// of the configuration digest must not depend on a secret.
func (l *loader) readFiles(u *uses, w where) bool {
	if !u.secret() {
		return true
	}
	for _, f := range u.files {
		arg := f.call.Args[0]
		if f.bound {
			l.fail("catalog.file", "Path made by a for expression", arg.Range(), w,
				"An expression that refers to a secret may not make the path of a file from the variable of a for expression. Put the for expression into a local of its own.")
			return false
		}
		v, _, ok := l.eval(arg, w, false)
		if !ok {
			return false
		}
		if v.IsNull() || v.Type() != cty.String {
			l.fail("catalog.type", "Wrong type", arg.Range(), w, "The path given to file is %s, want a text.", typeName(v))
			return false
		}
		read, err := l.readFile(asString(v))
		if err != nil {
			l.fail("catalog.file", "File cannot be read", arg.Range(), w, "%s.", upperFirst(err.Error()))
			return false
		}
		u.read = append(u.read, read)
	}
	return true
}

// hidden are the ranges of what is given to sensitive in an expression: values that nobody is shown.
func hidden(e hclsyntax.Expression) []hcl.Range {
	var out []hcl.Range
	nodes(e, func(n hclsyntax.Node) {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && call.Name == "sensitive" {
			for _, a := range call.Args {
				out = append(out, a.Range())
			}
		}
	})
	return out
}

func within(ranges []hcl.Range, r hcl.Range) bool {
	return slices.ContainsFunc(ranges, func(x hcl.Range) bool {
		return x.Filename == r.Filename && x.Start.Byte <= r.Start.Byte && r.End.Byte <= x.End.Byte
	})
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
