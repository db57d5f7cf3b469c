package catalog

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// Session is a loaded catalog in whose scope more expressions can be evaluated. It is not safe for concurrent use.
type Session struct {
	Catalog *Catalog

	l *loader
}

// Open is Load for whoever evaluates expressions afterwards. The Session is nil if the list has errors.
func Open(o Options) (*Session, diag.List) {
	l := newLoader(o)
	l.load()
	list := l.list()
	if list.HasErrors() {
		return nil, list
	}
	l.opts.Lookup = nil // what expressions from outside say of the environment is not evaluated, so nobody needs to look
	return &Session{Catalog: l.cat, l: l}, list
}

// Evaluate evaluates one expression in the scope of the catalog: var, local, path, server, toolset, policy and the functions. from
// names the text in diagnostics, where its first line has the number line, 1 or more. What is not in the scope of every
// expression, as each is not, cannot be used.
//
// An expression that refers to a secret is not evaluated: its Value is ValueSensitive whatever the secret is, and whether
// there is one. The text obeys the limits of a catalog file, and each expression may take the steps and the memory that a
// whole catalog may take. If the list has errors, the Value is the zero Value.
func (s *Session) Evaluate(from string, line int, text string) (Value, diag.List) {
	l := s.l
	l.diags, l.errors, l.dropped = nil, 0, 0
	l.budget = newBudget()
	l.texts, l.named = map[string]textFile{}, nil // files are read again, and what was read counts to no digest any more
	defer delete(l.sources, from)
	v, ok := l.evaluateText(from, line, text)
	list := l.list()
	if !ok || list.HasErrors() {
		return Value{}, list
	}
	return v, list
}

// evaluateText is Evaluate without what an expression before has left behind. It reports false after an error.
func (l *loader) evaluateText(from string, line int, text string) (Value, bool) {
	src := &source{name: from, text: normalise([]byte(text))}
	at := diag.Range{File: from, Start: diag.Pos{Line: line, Column: 1}, End: diag.Pos{Line: line, Column: 1}}
	if len(src.text) > MaxFileBytes {
		l.add(diag.Errorf("catalog.limit", "Expression too large", "The expression is larger than %d bytes.", MaxFileBytes).At(at))
		return Value{}, false
	}
	if d, bad := src.checkText(); bad {
		d.Range.Start.Line += line - 1
		d.Range.End.Line += line - 1
		l.add(d)
		return Value{}, false
	}
	if strings.TrimSpace(string(src.text)) == "" {
		l.add(diag.Errorf("catalog.hcl", "No expression", "There is nothing to evaluate. An expression is for example var.NAME or length(server.NAME.tool).").At(at))
		return Value{}, false
	}
	start := hcl.Pos{Line: line, Column: 1}
	src.tokens, _ = hclsyntax.LexExpression(src.text, from, start) // the parser reports the same again
	l.sources[from] = src
	if d, bad := src.checkTokens(true); bad {
		l.add(d)
		return Value{}, false
	}
	e, diags := hclsyntax.ParseExpression(src.text, from, start)
	if diags.HasErrors() {
		l.addHCL(diags, where{}, nil, false)
		return Value{}, false
	}
	w := where{policies: true, looking: true}
	u := l.uses(e, w, true)
	switch {
	case !u.ok:
		return Value{}, false
	case u.secret():
		return Value{Kind: ValueSensitive}, true
	}
	v, ok := l.evalUsing(e, w, u)
	if !ok {
		return Value{}, false
	}
	out, ok := plainValue(v)
	if !ok {
		l.fail("catalog.expression", "Value cannot be shown", e.Range(), where{}, "A part of the value is not known, or of a type that the language has no words for.")
	}
	return out, ok
}

// policy checks a reference policy.NAME.
func (v *useWalker) policy(t hcl.Traversal, r hcl.Range) {
	name, ok := stepName(t, 1)
	if !ok {
		v.fail(r, "catalog.reference", "Incomplete reference", "Write policy.NAME.")
		return
	}
	known := []string{DefaultPolicy}
	for _, p := range v.l.cat.Policies {
		known = append(known, p.Name)
	}
	if !slices.Contains(known, name) {
		v.unknown("policy", "policy", name, known, r)
		return
	}
	v.u.policies = append(v.u.policies, name)
}

// policyValue is the value of policy.NAME: its address, its decisions by class, and the names of its rules.
func (l *loader) policyValue(name string) cty.Value {
	p := builtIn
	for _, x := range l.cat.Policies {
		if x.Name == name {
			p = x
		}
	}
	on := map[string]cty.Value{}
	for class, decision := range p.On {
		on[class] = cty.StringVal(decision)
	}
	rules := []cty.Value{}
	for _, x := range p.Rules {
		rules = append(rules, cty.StringVal(x.Name))
	}
	return cty.ObjectVal(map[string]cty.Value{"address": cty.StringVal("policy." + name), "on": cty.ObjectVal(on), "rules": cty.TupleVal(rules)})
}
