package catalog

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
)

// maxLocals bounds the length of a chain of locals, too.
const maxLocals = 10_000

type local struct {
	name   string
	rng    hcl.Range // of the name
	expr   hclsyntax.Expression
	state  nodeState
	failed bool // its value could not be had, and that was reported
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
		l.locals[a.Name] = x
	}
	if len(l.locals) > maxLocals {
		l.fail("catalog.limit", "Too many locals", header(b), w, "There are more than %d locals.", maxLocals)
	}
}

// evaluate gives a local its value. It reports whether there is one.
func (l *loader) evaluate(x *local) bool {
	return l.visit("local."+x.name, x.rng, &x.state, &x.failed, func() bool {
		w := where{context: "locals"}
		v, u, ok := l.eval(x.expr, w, true)
		if !ok {
			return false
		}
		x.value = v
		if u.secret() {
			x.secret = true
			x.ref = l.ref(x.expr, u, w)
			l.secrets = secretsIn(l.secrets, v, "local."+x.name)
		}
		return true
	})
}
