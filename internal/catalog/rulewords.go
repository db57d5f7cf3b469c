package catalog

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// actionWords and kindWords are what change.action and change.kind may be.
var (
	actionWords = []string{"add", "change", "move", "remove"}
	kindWords   = []string{"agent", "gate", "policy", "prompt", "resource", "resource_template", "server", "tool"}
)

// compared looks at the texts with which a rule compares what has few values. A misspelt one would never be equal, and the
// rule would hold for nothing or for everything: an unknown action, kind or class is an error, an unknown agent or server,
// which may be one that is gone, a warning.
func (v *useWalker) compared(n hclsyntax.Node) {
	switch n := n.(type) {
	case *hclsyntax.BinaryOpExpr:
		if n.Op == hclsyntax.OpEqual || n.Op == hclsyntax.OpNotEqual {
			v.words(n.LHS, n.RHS)
			v.words(n.RHS, n.LHS)
		}
	case *hclsyntax.FunctionCallExpr:
		if (n.Name == "contains" || n.Name == "setintersection" || n.Name == "setsubtract") && len(n.Args) == 2 {
			v.words(n.Args[0], n.Args[1])
			v.words(n.Args[1], n.Args[0])
		}
	}
}

// words checks the texts that are written out in with, if what is an attribute of change that has few values.
func (v *useWalker) words(what, with hclsyntax.Expression) {
	attribute := v.attribute(what)
	if attribute == "" {
		return
	}
	if t, ok := bare(with).(*hclsyntax.TupleConsExpr); ok {
		for _, e := range t.Exprs {
			v.word(attribute, e)
		}
		return
	}
	v.word(attribute, with)
}

func (v *useWalker) word(attribute string, e hclsyntax.Expression) {
	text, ok := literalText(bare(e))
	if !ok {
		return
	}
	var known []string
	switch attribute {
	case "action":
		known = actionWords
	case "kind":
		known = kindWords
	case "classes":
		for _, c := range classes {
			known = append(known, c.Name)
		}
	case "agents":
		known = v.l.agentNames
	case "server label":
		known = keys(v.l.servers)
	}
	if slices.Contains(known, text) {
		return
	}
	hint := ""
	if near := nearest(text, known); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	} else if attribute == "action" || attribute == "kind" {
		hint = suggest(text, nil, known)
	}
	shown := diag.Quote(text, maxShownWord)
	switch attribute {
	case "agents", "server label":
		what := map[string]string{"agents": "agent", "server label": "server"}[attribute]
		v.l.warn("catalog.reference", "Rule about something that is not declared", e.Range(), v.w, "No %s %s is declared, so this holds only for one that goes.%s", what, shown, hint)
	default:
		v.fail(e.Range(), "catalog.value", "Invalid value", "change.%s is never %s, so the comparison always has the same result.%s", attribute, shown, hint)
	}
}

// attribute is the name behind change, if e is such a reference, an element of one, or the variable of a for expression over
// one; otherwise "".
func (v *useWalker) attribute(e hclsyntax.Expression) string {
	switch e := bare(e).(type) {
	case *hclsyntax.FunctionCallExpr:
		if e.Name == "toset" && len(e.Args) == 1 {
			return v.attribute(e.Args[0])
		}
	case *hclsyntax.ScopeTraversalExpr:
		root := e.Traversal.RootName()
		if over := v.over[root]; len(over) == 1 && len(e.Traversal) == 1 {
			if t, ok := bare(over[0]).(*hclsyntax.ScopeTraversalExpr); ok && t.Traversal.RootName() == "change" {
				return v.attribute(t)
			}
			return ""
		}
		if root != "change" {
			return ""
		}
		name, _ := stepName(e.Traversal, 1)
		if part, ok := stepName(e.Traversal, 2); ok {
			name += " " + part
		}
		if slices.Contains([]string{"action", "kind", "classes", "agents", "server label"}, name) {
			return name
		}
	}
	return ""
}

// bare is an expression without parentheses.
func bare(e hclsyntax.Expression) hclsyntax.Expression {
	for {
		switch x := e.(type) {
		case *metered:
			e = x.Expression
		case *hclsyntax.ParenthesesExpr:
			e = x.Expression
		default:
			return e
		}
	}
}
