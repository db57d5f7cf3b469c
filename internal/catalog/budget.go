package catalog

import (
	"math/big"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Limits of evaluation. for expressions and interpolations multiply what they are given, so what one catalog may do is
// counted over all its expressions.
const (
	maxSteps      = 1_000_000 // nodes of the syntax tree that for expressions and templates evaluate again and again
	stepCost      = 16        // of one evaluation of them, beside its nodes
	maxMatching   = 1 << 26   // bytes matched against states of regular expressions
	maxWorkBytes  = 64 << 20  // as workOf counts them
	maxValueBytes = 1 << 20   // one value
	maxElements   = 10_000    // of one value, nested ones counted
)

const exhaustedSummary = "Expression too large"

// budget is what is left of the limits.
type budget struct {
	steps, bytes int
	matching     int
	// topCost and topSteps are those of the expression metered last.
	topCost, topSteps int
	// items is what the values of servers and toolsets in the scope of the expression hold: they are large because servers
	// are, so values made of them may be as large beyond the limits.
	items measure
}

// newBudget is what one catalog may use, or one expression of the console.
func newBudget() *budget {
	return &budget{steps: maxSteps, bytes: maxWorkBytes, matching: maxMatching}
}

// metered evaluates an expression at the expense of a budget. The embedded expression makes it a node of the syntax
// tree.
type metered struct {
	hclsyntax.Expression
	b    *budget
	cost int // bytes of the variables that the expression names directly
	// steps are what one evaluation takes; 0 for an expression that is evaluated once, whose size the files bound.
	steps int
}

func (m *metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if m.b.steps -= m.steps; m.b.steps < 0 || !m.b.spend(m.cost) {
		return cty.DynamicVal, m.exhausted()
	}
	v, diags := m.Expression.Value(ctx)
	if good := !diags.HasErrors(); good && (!m.b.spend(m.b.workOf(v)) || m.b.matching < 0) || m.b.steps < 0 || m.b.bytes < 0 { // try and can hide errors
		return cty.DynamicVal, m.exhausted()
	}
	return v, diags
}

func (m *metered) exhausted() hcl.Diagnostics {
	r := m.Expression.Range()
	return hcl.Diagnostics{{
		Severity: hcl.DiagError, Summary: exhaustedSummary, Subject: &r,
		Detail: "Evaluating the catalog takes more than its limits of steps and memory. Write the values out, or make the collections smaller.",
	}}
}

// spend takes n bytes; false means that nothing is left.
func (b *budget) spend(n int) bool {
	b.bytes -= n
	return b.bytes >= 0
}

// meter puts metered expressions around the bodies of for expressions and the parts of templates below e. sizeOf gives
// the size of what a reference names.
func (b *budget) meter(e hclsyntax.Expression, sizeOf func(hcl.Traversal) int) {
	cost := func(e hclsyntax.Expression) (bytes, steps int) {
		n := 0
		steps = stepCost
		nodes(e, func(x hclsyntax.Node) {
			steps++
			if t, ok := x.(*hclsyntax.ScopeTraversalExpr); ok {
				n += sizeOf(t.Traversal)
			}
		})
		return n, steps
	}
	wrap := func(e hclsyntax.Expression) hclsyntax.Expression {
		if e == nil {
			return nil
		}
		if _, done := e.(*metered); done {
			return e
		}
		bytes, steps := cost(e)
		return &metered{Expression: e, b: b, cost: bytes, steps: steps}
	}
	var fors []*hclsyntax.ForExpr
	var templates []*hclsyntax.TemplateExpr
	nodes(e, func(n hclsyntax.Node) {
		switch n := n.(type) {
		case *hclsyntax.ForExpr:
			fors = append(fors, n)
		case *hclsyntax.TemplateExpr:
			templates = append(templates, n)
		}
	})
	for _, f := range fors {
		f.KeyExpr, f.ValExpr, f.CondExpr = wrap(f.KeyExpr), wrap(f.ValExpr), wrap(f.CondExpr)
	}
	for _, t := range templates {
		for i := range t.Parts {
			if _, literal := t.Parts[i].(*hclsyntax.LiteralValueExpr); !literal { // IsStringLiteral asks for the type
				t.Parts[i] = wrap(t.Parts[i])
			}
		}
	}
	b.topCost, b.topSteps = cost(e)
}

// valueSize is a measure of a value: bytes of text, and 16 for each value inside of it; a value beyond maxElements or with a number
// of more than a thousand digits counts as larger than every limit.
func valueSize(v cty.Value) int { return (&budget{}).sizeOf(v) }

// sizeOf is valueSize for a value that is made of what is in scope.
func (b *budget) sizeOf(v cty.Value) int {
	m := measure{most: maxElements + 2*b.items.elements}
	m.add(v)
	if m.elements > m.most || m.huge {
		return maxWorkBytes + 1
	}
	return max(m.bytes-2*b.items.bytes, 0)
}

// workOf is what handling a value costs: its size, and more for each value inside of it, as sorting, comparing and converting
// take.
func workOf(v cty.Value) int { return (&budget{}).workOf(v) }

func (b *budget) workOf(v cty.Value) int {
	m := measure{most: maxElements + 2*b.items.elements}
	m.add(v)
	if m.elements > m.most || m.huge {
		return maxWorkBytes + 1
	}
	return m.bytes + 112*(m.elements-1) + 640*m.ofSets
}

// works remembers workOf for values that have names: the elements of a set are sorted each time they are counted.
type works map[string]int

func (w works) of(name string, v cty.Value) int {
	n, known := w[name]
	if !known {
		n = workOf(v)
		w[name] = n
	}
	return n
}

type measure struct {
	bytes, elements int
	ofSets          int // elements that are sorted whenever they are looked at
	most            int // elements that are counted; 0: maxElements
	huge            bool
}

func (m *measure) add(v cty.Value) {
	if m.most == 0 {
		m.most = maxElements
	}
	if m.elements++; m.elements > m.most || m.huge {
		return
	}
	if m.elements > 1 {
		m.bytes += 16
	}
	if v == cty.NilVal || !v.IsKnown() || v.IsNull() {
		return
	}
	switch t := v.Type(); {
	case t == cty.String:
		m.bytes += len(asString(v))
	case t == cty.Number:
		// ctyNumber's exponent is in bits: 4096 of them are 1,234 digits.
		if e := numberOf(v).MantExp(new(big.Float)); e > 4096 || e < -4096 || numberOf(v).IsInf() {
			m.huge = true
		}
	case t.IsObjectType(), t.IsMapType(), t.IsTupleType(), t.IsListType(), t.IsSetType():
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			if t.IsObjectType() || t.IsMapType() {
				m.bytes += len(asString(k))
			}
			if t.IsSetType() {
				m.ofSets++
			}
			m.add(e)
			if m.elements > m.most || m.huge {
				return
			}
		}
	}
}
