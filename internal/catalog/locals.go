package catalog

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxLocals bounds the length of a chain of locals, too.
const maxLocals = 10_000

type local struct {
	name   string
	rng    hcl.Range // of the name
	expr   hclsyntax.Expression
	needs  []string // other locals, sorted
	state  int      // 0 not visited, 1 on the path, 2 done
	failed bool     // its value could not be had, and that was reported
	secret bool
	ref    string // what a secret local stands for
	value  cty.Value
}

func (l *loader) declareLocals(b *hclsyntax.Block) {
	w := where{context: "locals"}
	for _, inner := range b.Body.Blocks {
		l.fail("catalog.unknown_block", "Block in locals", header(inner), w, "A locals block has arguments only: NAME = value.")
	}
	for _, a := range sortedAttributes(b.Body) {
		if !addr.ValidLabel(a.Name) {
			l.fail("catalog.labels", "Invalid name", a.NameRange, w, "The name of a local begins with a lower-case letter and has lower-case letters, digits and single underscores, at most %d characters.", addr.MaxLabelBytes)
			continue
		}
		if earlier := l.locals[a.Name]; earlier != nil {
			l.fail("catalog.duplicate", "Declared twice", a.NameRange, w, "local.%s was already declared at %s. Keep one of the two.", a.Name, place(earlier.rng))
			continue
		}
		x := &local{name: a.Name, rng: a.NameRange, expr: a.Expr}
		nodes(a.Expr, func(n hclsyntax.Node) {
			if t, ok := n.(*hclsyntax.ScopeTraversalExpr); ok && t.Traversal.RootName() == "local" {
				if name, ok := stepName(t.Traversal, 1); ok {
					x.needs = append(x.needs, name)
				}
			}
		})
		slices.Sort(x.needs)
		x.needs = slices.Compact(x.needs)
		l.locals[a.Name] = x
	}
	if len(l.locals) > maxLocals {
		l.fail("catalog.limit", "Too many locals", header(b), w, "There are more than %d locals.", maxLocals)
	}
}

// evaluateLocals evaluates the locals in the order of their references.
func (l *loader) evaluateLocals() {
	for _, name := range keys(l.locals) {
		l.evaluateLocal(l.locals[name], nil)
	}
}

func (l *loader) evaluateLocal(x *local, path []string) {
	path = append(path, "local."+x.name)
	switch x.state {
	case 2:
		return
	case 1:
		loop := path[slices.Index(path, "local."+x.name):]
		l.fail("catalog.cycle", "Locals refer to each other in a circle", x.rng, where{context: "locals"}, "%s", diag.Escape(strings.Join(loop, " -> ")+"."))
		return
	}
	x.state = 1
	x.value = cty.DynamicVal
	for _, n := range x.needs {
		if other := l.locals[n]; other != nil {
			l.evaluateLocal(other, path)
			x.failed = x.failed || other.failed || other.state == 1
		}
	}
	x.state = 2
	if x.failed {
		return
	}
	w := where{context: "locals"}
	v, u, ok := l.eval(x.expr, w, false)
	if !ok {
		x.failed = true
		return
	}
	x.value = v
	if u.secret() {
		x.secret = true
		x.ref = l.ref(x.expr, u, w)
		l.secrets = secretsIn(l.secrets, v, "local."+x.name)
	}
}
