package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// grant is one entry of a list of references: an item, or a server for everything of the list's kind that is declared on
// it, what its patterns match included.
type grant struct {
	server  addr.Server
	kind    addr.Kind
	name    string // "" for a server
	at      diag.Range
	toolset string // of an agent's grant: the toolset that it comes from; "" if the agent names it itself
}

func (g grant) item() addr.Item { return addr.Item{Server: g.server, Kind: g.kind, Name: g.name} }

// readGrants evaluates a list of references to items of one kind, or to servers.
func (l *loader) readGrants(c *contents, k addr.Kind) []grant {
	what := strings.ReplaceAll(string(k), "_", " ")
	return l.grantList(c, listName(k), func(g *grants, e cty.Value, at hcl.Range, i int) {
		if !g.takeItem(e, at, i, k) && !g.takeServer(e, at, k) {
			g.wrong(e, at, i, "a reference to a "+what+" or a server")
		}
	})
}

// readDeny evaluates deny: references to items of every kind, and to servers and toolsets for everything of them.
func (l *loader) readDeny(c *contents) []grant {
	return l.grantList(c, "deny", func(g *grants, e cty.Value, at hcl.Range, i int) {
		if g.takeItem(e, at, i, "") || g.takeToolset(e, at) {
			return
		}
		found := false
		for _, k := range kinds {
			found = g.takeServer(e, at, k) || found
		}
		if !found {
			g.wrong(e, at, i, "a reference to an item, a server or a toolset")
		}
	})
}

// readToolsets evaluates the list of toolsets of an agent: their names, and everything of them.
func (l *loader) readToolsets(c *contents) (names []string, all []grant) {
	all = l.grantList(c, "toolsets", func(g *grants, e cty.Value, at hcl.Range, i int) {
		if !g.takeToolset(e, at) {
			g.wrong(e, at, i, "a reference to a toolset")
			return
		}
		names = append(names, l.toolsetOf(e).Name)
	})
	slices.Sort(names)
	return slices.Compact(names), all
}

// grantList evaluates a list of references and takes its elements.
func (l *loader) grantList(c *contents, name string, take func(g *grants, e cty.Value, at hcl.Range, i int)) []grant {
	a := c.args[name]
	if a == nil {
		return nil
	}
	v, ok := l.references(c, name, a)
	if !ok {
		c.broken = true
		return nil
	}
	if v.IsNull() {
		return nil
	}
	c.lists[name] = v
	g := &grants{l: l, c: c, name: name, expr: a.Expr}
	g.each(v, func(e cty.Value, at hcl.Range, i int) { take(g, e, at, i) })
	return g.list
}

// references evaluates a list in which references to servers and toolsets may stand; it may be null.
func (l *loader) references(c *contents, name string, a *hclsyntax.Attribute) (cty.Value, bool) {
	if t, ok := a.Expr.(*hclsyntax.TupleConsExpr); ok {
		values := make([]cty.Value, len(t.Exprs))
		good := true
		for i, e := range t.Exprs {
			values[i], ok = l.reference(c, name, e)
			good = good && ok
		}
		return cty.TupleVal(values), good
	}
	v, ok := l.evalPublic(name, a.Expr, c.w, true)
	if !ok {
		return cty.NilVal, false
	}
	if !c.notNull(name, v) {
		return cty.NilVal, false
	}
	if !v.IsNull() && !isSequence(v.Type()) {
		c.wrongType(name, a.Expr.Range(), v, "a list of references")
		return cty.NilVal, false
	}
	return v, true
}

// reference evaluates one element of a list of references. One that is a reference and nothing else is looked up: a server is
// as large as it is, and that is no work.
func (l *loader) reference(c *contents, name string, e hclsyntax.Expression) (cty.Value, bool) {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok || scopeRoots[t.Traversal.RootName()] != rootItem {
		return l.evalPublic(name, e, c.w, true)
	}
	u := l.uses(e, c.w, true)
	if !u.ok {
		return cty.NilVal, false
	}
	v, diags := t.Traversal.TraverseAbs(&hcl.EvalContext{Variables: l.itemScope(u)})
	if diags.HasErrors() {
		l.addHCL(diags, c.w, e, false)
		return cty.NilVal, false
	}
	return v, true
}

// grants collects the entries of one list.
type grants struct {
	l    *loader
	c    *contents
	name string
	expr hclsyntax.Expression
	list []grant
}

// each calls f for every element with its place.
func (g *grants) each(v cty.Value, f func(e cty.Value, at hcl.Range, i int)) {
	ranges := elementRanges(g.expr)
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		_, e := it.Element()
		at := g.expr.Range()
		if i < len(ranges) {
			at = ranges[i]
		}
		f(e, at, i)
	}
	if i > maxTools {
		g.l.fail("catalog.limit", "List too long", g.expr.Range(), g.c.w, "%s has %d entries, at most %d are allowed.", g.name, i, maxTools)
	}
}

func (g *grants) wrong(e cty.Value, at hcl.Range, i int, want string) {
	hint := ""
	switch {
	case !e.IsNull() && e.Type() == cty.String:
		hint = " Write the reference without quotes."
	case !e.IsNull() && isSequence(e.Type()):
		hint = " Join lists with concat(…)."
	case !e.IsNull() && e.Type().IsObjectType() && e.Type().HasAttribute(patternAttribute):
		g.l.fail("catalog.reference", "Patterns cannot be referred to", at, g.c.w, "%s[%d] is a pattern, and what it matches is not known before the server is asked. Refer to the whole server for everything.", g.name, i)
		return
	case !e.IsNull() && e.Type().IsObjectType():
		hint = " For everything of a server write server.LABEL, for one item server.LABEL.tool.NAME."
	}
	if address, ok := addressOf(e); ok {
		hint = ""
		if t := g.l.toolsetOf(e); t != nil {
			hint = fmt.Sprintf(" Name it in toolsets, or take its list: %s = toolset.%s.%s.", g.name, t.Name, g.name)
		}
		g.l.fail("catalog.reference", "Wrong kind of reference", at, g.c.w, "%s[%d] refers to %s, want %s.%s", g.name, i, diag.Escape(cutText(address, 256)), want, hint)
		return
	}
	g.l.fail("catalog.type", "Wrong type", at, g.c.w, "%s[%d] is %s, want %s.%s", g.name, i, typeName(e), want, hint)
}

// takeItem adds the item that e refers to. It reports false if e refers to no item; kind "" takes every kind.
func (g *grants) takeItem(e cty.Value, at hcl.Range, i int, kind addr.Kind) bool {
	address, ok := addressOf(e)
	if !ok {
		return false
	}
	item, err := addr.ParseItem(address)
	if err != nil {
		return false
	}
	if s := g.l.find(item.Server); s == nil || !s.has(item.Kind, item.Name) {
		g.l.fail("catalog.reference", "Unknown reference", at, g.c.w, "%s[%d] does not refer to something that is declared.", g.name, i)
		return true
	}
	if kind != "" && item.Kind != kind {
		g.l.fail("catalog.reference", "Wrong kind of reference", at, g.c.w, "%s is a %s. List it in %s.", diag.Escape(item.String()), strings.ReplaceAll(string(item.Kind), "_", " "), listName(item.Kind))
		return true
	}
	g.list = append(g.list, grant{server: item.Server, kind: item.Kind, name: item.Name, at: g.l.rangeOf(at)})
	return true
}

// takeServer adds everything of one kind on the server that e refers to, or on all servers of a for_each.
func (g *grants) takeServer(e cty.Value, at hcl.Range, kind addr.Kind) bool {
	servers := g.l.serversOf(e)
	for _, s := range servers {
		g.list = append(g.list, grant{server: s, kind: kind, at: g.l.rangeOf(at)})
	}
	return servers != nil
}

// takeToolset adds the entries of the toolset that e refers to.
func (g *grants) takeToolset(e cty.Value, at hcl.Range) bool {
	t := g.l.toolsetOf(e)
	if t == nil {
		return false
	}
	for _, x := range t.grants {
		x.at, x.toolset = g.l.rangeOf(at), t.Name
		g.list = append(g.list, x)
	}
	return true
}

// serversOf returns the servers that an object of the scope stands for, nil if it is none.
func (l *loader) serversOf(e cty.Value) []addr.Server {
	if address, ok := addressOf(e); ok {
		s, err := addr.ParseServer(address)
		if err != nil || l.find(s) == nil {
			return nil
		}
		return []addr.Server{s}
	}
	if e != cty.NilVal && e.Type().Equals(noInstances.Type()) && !e.IsNull() {
		return []addr.Server{} // no server, and no mistake
	}
	if e.IsNull() || !e.IsKnown() || !e.Type().IsObjectType() || e.LengthInt() == 0 {
		return nil
	}
	var out []addr.Server
	for it := e.ElementIterator(); it.Next(); {
		_, x := it.Element()
		address, ok := addressOf(x)
		s, err := addr.ParseServer(address)
		if !ok || err != nil || !s.HasKey || l.find(s) == nil {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// addressOf returns the address of an object of the scope.
func addressOf(v cty.Value) (string, bool) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() || !v.Type().HasAttribute("address") {
		return "", false
	}
	a := v.GetAttr("address")
	if a.IsNull() || !a.IsKnown() || a.Type() != cty.String {
		return "", false
	}
	return asString(a), true
}
