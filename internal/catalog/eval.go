package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// rootState says what the first word of a reference is.
type rootState int

const (
	rootUnknown rootState = iota
	rootUsable
	rootItem   // usable in locals, toolsets and agents only
	rootEach   // usable under for_each only
	rootPolicy // usable in policy and extends only, which read it themselves
	rootChange // usable in rules only, likewise
)

// scopeRoots are the words that references begin with.
var scopeRoots = map[string]rootState{
	"var": rootUsable, "local": rootUsable, "path": rootUsable, "server": rootItem, "toolset": rootItem,
	"each": rootEach, "policy": rootPolicy, "change": rootChange,
}

// uses is what the syntax tree of one expression refers to.
type uses struct {
	vars, locals []string // sorted, each once
	servers      []string // labels
	toolsets     []string
	policies     []string
	env          []string // names given to env()
	secrets      []string // the references that make the expression secret, as people write them
	files        []fileUse
	read         []*File // what a secret expression has from file
	ok           bool    // every reference and function exists
}

func (u *uses) secret() bool { return len(u.secrets) > 0 }

// uses analyses an expression and reports what it refers to wrongly. Secrecy is decided here, by reference and before
// anything is evaluated: marks on values get lost in functions such as can.
func (l *loader) uses(e hclsyntax.Expression, w where, servers bool) *uses {
	return l.walk(e, w, servers, (*useWalker).node)
}

func (v *useWalker) node(n hclsyntax.Node) {
	switch n := n.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		v.traversal(n.Traversal)
	case *hclsyntax.FunctionCallExpr:
		v.call(n)
	}
}

// walk shows visit every node of an expression, once the variables of its for expressions are known.
func (l *loader) walk(e hclsyntax.Expression, w where, servers bool, visit func(*useWalker, hclsyntax.Node)) *uses {
	v := &useWalker{l: l, w: w, servers: servers, u: &uses{ok: true}, bound: map[string]bool{}, over: map[string][]hclsyntax.Expression{}}
	nodes(e, func(n hclsyntax.Node) {
		if f, ok := n.(*hclsyntax.ForExpr); ok {
			v.bind(f.KeyVar, f)
			v.bind(f.ValVar, f)
		}
	})
	nodes(e, func(n hclsyntax.Node) {
		switch n := n.(type) {
		case *hclsyntax.ObjectConsExpr:
			v.u.ok = v.l.distinctKeys(n, w) && v.u.ok
		case *hclsyntax.IndexExpr:
			if t, ok := n.Collection.(*hclsyntax.ScopeTraversalExpr); ok {
				v.indexed = append(v.indexed, t.Traversal.SourceRange())
			}
		}
		visit(v, n)
	})
	u := v.u
	for _, s := range []*[]string{&u.vars, &u.locals, &u.servers, &u.toolsets, &u.policies, &u.env, &u.secrets} {
		slices.Sort(*s)
		*s = slices.Compact(*s)
	}
	return u
}

// nodes visits the tree below e, looking through the wrappers that meter evaluates with.
func nodes(e hclsyntax.Node, visit func(hclsyntax.Node)) {
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics { // visit reports nothing through it
		if m, ok := n.(*metered); ok {
			n = m.Expression
		}
		visit(n)
		return nil
	})
}

type useWalker struct {
	l       *loader
	w       where
	servers bool
	u       *uses
	bound   map[string]bool                   // variables of for expressions
	over    map[string][]hclsyntax.Expression // what they run over
	more    []string                          // functions beside those of the catalog
	indexed []hcl.Range                       // references of which an element is chosen by a computed name
}

func (v *useWalker) fail(r hcl.Range, code, summary, format string, args ...any) {
	v.u.ok = false
	v.l.fail(code, summary, r, v.w, format, args...)
}

// distinctKeys reports a key that is written out twice in an object: the HCL library takes the last one quietly.
func (l *loader) distinctKeys(o *hclsyntax.ObjectConsExpr, w where) bool {
	good := true
	first := map[string]hcl.Range{}
	for _, item := range o.Items {
		key, ok := writtenKey(item.KeyExpr)
		if !ok {
			continue
		}
		r := item.KeyExpr.Range()
		if earlier, twice := first[key]; twice {
			good = false // the key is not shown: the object may be the value of a secret
			l.fail("catalog.duplicate", "Key written twice", r, w, "This key was already written at %s. Keep one of the two.", place(earlier))
			continue
		}
		first[key] = r
	}
	return good
}

// writtenKey is the key of an object that is a name or a text without interpolation.
func writtenKey(e hclsyntax.Expression) (string, bool) {
	k, ok := e.(*hclsyntax.ObjectConsKeyExpr)
	if !ok {
		return "", false
	}
	if name := hcl.ExprAsKeyword(k.Wrapped); name != "" && !k.ForceNonLiteral {
		return name, true
	}
	return literalText(k.Wrapped)
}

func (v *useWalker) bind(name string, f *hclsyntax.ForExpr) {
	if name == "" {
		return
	}
	if scopeRoots[name] != rootUnknown {
		v.fail(f.OpenRange, "catalog.reference", "Variable hides a name of the language", "A for expression may not call its variable %q.", name)
	}
	v.bound[name] = true
	v.over[name] = append(v.over[name], f.CollExpr)
}

func (v *useWalker) traversal(t hcl.Traversal) {
	root := t.RootName()
	r := t.SourceRange()
	if v.bound[root] && scopeRoots[root] == rootUnknown {
		return
	}
	switch state := scopeRoots[root]; {
	case state == rootPolicy && v.w.policies:
		v.policy(t, r)
	case state == rootPolicy:
		v.fail(r, "catalog.reference", "Reference not allowed here", "References to policies belong into policy and extends, and stand there alone: policy = policy.NAME.")
	case state == rootChange:
		v.fail(r, "catalog.reference", "Reference not allowed here", "change has a meaning in when and message of a rule only.")
	case state == rootUnknown:
		roots := []string{"var", "local", "path", "server", "toolset", "each"}
		v.fail(r, "catalog.reference", "Unknown reference", "A reference begins with %s or %s; a text needs quotes.%s", strings.Join(roots[:5], ", "), roots[5], v.rootHint(root, roots))
	case state == rootItem && !v.servers:
		v.fail(r, "catalog.reference", "Reference not allowed here", "References to servers and toolsets belong into agents, toolsets and locals.")
	case state == rootItem && root == "server":
		v.server(t, r)
	case state == rootItem:
		v.toolset(t, r)
	case state == rootEach && v.w.each == nil:
		v.fail(r, "catalog.reference", "Reference not allowed here", "each.key and each.value have a meaning in a server with for_each only.")
	case state == rootEach:
		if name, ok := stepName(t, 1); !ok || name != "key" && name != "value" {
			v.fail(r, "catalog.reference", "Unknown reference", "Write each.key or each.value.")
		}
	default:
		name, ok := stepName(t, 1)
		if !ok {
			v.fail(r, "catalog.reference", "Incomplete reference", "Write one name behind the word: %s.NAME.", root)
			return
		}
		v.named(root, name, r)
	}
}

// named is a reference to var.name, local.name or path.name.
func (v *useWalker) named(root, name string, r hcl.Range) {
	switch root {
	case "var":
		x := v.l.variables[name]
		if x == nil {
			v.unknown("variable", root, name, keys(v.l.variables), r)
			return
		}
		if !v.w.checking && !v.l.validated(x) {
			v.u.ok = false
			return
		}
		v.u.vars = append(v.u.vars, name)
		if x.sensitive {
			v.u.secrets = append(v.u.secrets, "var."+name)
		}
	case "local":
		x := v.l.locals[name]
		if x == nil {
			v.unknown("local", root, name, keys(v.l.locals), r)
			return
		}
		if !v.l.evaluate(x) {
			v.u.ok = false
			return
		}
		v.u.locals = append(v.u.locals, name)
		if x.secret {
			v.u.secrets = append(v.u.secrets, "local."+name)
		}
	case "path":
		if name != "catalog" {
			v.unknown("path", root, name, []string{"catalog"}, r)
		}
	}
}

func (v *useWalker) unknown(what, root, name string, known []string, r hcl.Range) {
	hint := ""
	switch s := nearest(name, known); {
	case s != "":
		hint = fmt.Sprintf(" Did you mean %s.%s?", root, s)
	case root == "path":
		hint = " path.catalog is the catalog directory, and the paths of files are relative to it already."
	case len(known) == 0:
		hint = " None is declared."
	case len(known) <= 10:
		hint = " Declared: " + strings.Join(known, ", ") + "."
	}
	v.fail(r, "catalog.reference", "Unknown reference", "There is no %s %s.%s", what, diag.Quote(name, maxShownWord), hint)
}

// stepName returns the name in step i of a traversal, written as .name or ["name"].
func stepName(t hcl.Traversal, i int) (string, bool) {
	if i >= len(t) {
		return "", false
	}
	switch s := t[i].(type) {
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && s.Key.IsKnown() && !s.Key.IsNull() {
			return asString(s.Key), true
		}
	}
	return "", false
}

// eval analyses and evaluates an expression. Values of variables and locals that it does not name are not in its scope.
func (l *loader) eval(e hclsyntax.Expression, w where, servers bool) (cty.Value, *uses, bool) {
	u := l.uses(e, w, servers)
	if !u.ok {
		return cty.NilVal, u, false
	}
	v, ok := l.evalUsing(e, w, u)
	return v, u, ok
}

func (l *loader) evalUsing(e hclsyntax.Expression, w where, u *uses) (cty.Value, bool) {
	if !l.readFiles(u, w) {
		return cty.NilVal, false
	}
	vars := map[string]cty.Value{}
	for _, n := range u.vars {
		vars[n] = l.variables[n].value
	}
	locals := map[string]cty.Value{}
	for _, n := range u.locals {
		locals[n] = l.locals[n].value
	}
	scope := map[string]cty.Value{
		"var": cty.ObjectVal(vars), "local": cty.ObjectVal(locals),
		"path": cty.ObjectVal(map[string]cty.Value{"catalog": cty.StringVal(".")}),
	}
	for root, v := range l.itemScope(u) {
		scope[root] = v
	}
	items := measure{most: maxWorkBytes}
	items.add(scope["server"])
	items.add(scope["toolset"])
	l.budget.items = items
	defer func() { l.budget.items = measure{} }()
	if len(u.policies) > 0 {
		scope["policy"] = scopeOf(u.policies, l.policyValue)
	}
	if w.each != nil {
		scope["each"] = cty.ObjectVal(map[string]cty.Value{"key": w.each.key, "value": w.each.value})
	}
	if l.budget.bytes < 0 || l.budget.steps < 0 { // measuring what e refers to would take long, too
		l.addHCL((&metered{Expression: e}).exhausted(), w, e, u.secret())
		return cty.NilVal, false
	}
	l.budget.meter(e, func(t hcl.Traversal) int {
		name, _ := stepName(t, 1)
		switch t.RootName() {
		case "var":
			return l.works.of("var."+name, vars[name])
		case "local":
			return l.works.of("local."+name, locals[name])
		case "each":
			return workOf(w.each.value)
		}
		return 1
	})
	l.envAllowed = u.env
	ctx := &hcl.EvalContext{Variables: scope, Functions: l.funcs}
	top := &metered{Expression: e, b: l.budget, cost: l.budget.topCost}
	if w.each != nil { // it is evaluated for each element
		top.steps = l.budget.topSteps / 4
	}
	v, diags := top.Value(ctx)
	if diags.HasErrors() {
		l.addHCL(diags, w, e, u.secret())
		return cty.NilVal, false
	}
	if size := l.budget.sizeOf(v); size > maxValueBytes {
		l.fail("catalog.limit", "Value too large", e.Range(), w, "The value is larger than %d bytes or has more than %d elements.", maxValueBytes, maxElements)
		return cty.NilVal, false
	}
	return v, true
}

// itemScope is the scope of references to items.
func (l *loader) itemScope(u *uses) map[string]cty.Value {
	scope := map[string]cty.Value{}
	if len(u.servers) > 0 {
		scope["server"] = scopeOf(u.servers, func(n string) cty.Value { return l.servers[n].value })
	}
	if len(u.toolsets) > 0 {
		scope["toolset"] = scopeOf(u.toolsets, func(n string) cty.Value { return l.toolsets[n].value })
	}
	return scope
}

// scopeOf is an object of the values of the names that an expression refers to.
func scopeOf(names []string, value func(string) cty.Value) cty.Value {
	out := map[string]cty.Value{}
	for _, n := range names {
		out[n] = value(n)
	}
	return cty.ObjectVal(out)
}
