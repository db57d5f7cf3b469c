package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"golang.org/x/text/unicode/norm"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// Bounds of a rule, and of one evaluation of it.
const (
	maxRuleBytes      = 16 << 10 // of when, and of message
	maxMessageBytes   = 1 << 10  // of the message as it is shown
	maxJudgedBytes    = 64 << 10 // of a title or description that a rule is asked about
	maxRuleSteps      = 100_000
	maxRuleWork       = 8 << 20
	maxRuleMatching   = 1 << 24 // bytes matched against instructions of patterns
	maxMatchBytes     = 1 << 10 // a pattern of matches
	maxMatchProgram   = 2_000   // its instructions
	maxMatchPatterns  = 64      // kept compiled for a rule
	ruleNotEvaluated  = "The condition of the rule cannot be evaluated for this change, so the change is denied."
	messageNotWritten = "The message of the rule cannot be written for this change."
)

// Rule is a condition over a change, and the decision if it holds. A rule only makes a decision stricter. Its methods may be
// used by several goroutines.
type Rule struct {
	Name     string
	Policy   string // that declares it
	Decision string // Ask or Deny
	Range    diag.Range

	source        ruleSource
	mu            sync.Mutex // of what follows
	l             *loader    // functions and the budget
	when, message hclsyntax.Expression
	scope         map[string]cty.Value
}

// ruleSource is a rule as the lock holds it: what is compiled, and nothing else.
type ruleSource struct {
	Decision string `json:"decision"`
	When     string `json:"when"`
	Message  string `json:"message,omitempty"` // an expression, too
	// Values are those of the variables and locals that the two name, with their types.
	Values map[string]json.RawMessage `json:"values,omitempty"`
}

// RuleChange is what a rule may know of a change. Texts of servers are as they were received.
type RuleChange struct {
	Action  string // add, change, remove or move
	Kind    string // tool, prompt, resource, resource_template, server, agent, gate or policy
	Address string // of the item or server; agent.NAME; "gate" or "policy" for the settings of the catalog
	Classes []string
	Server  RuleServer // empty for agents and settings
	Tool    RuleTool   // the item, whatever its kind; empty for all else
	Agents  []string   // that have the item before or after the change; the agent itself
}

// RuleServer is the server of a change as the catalog declares it.
type RuleServer struct{ Name, Label, Address, Key string }

// RuleTool is what the new definition of an item says, or the pinned one if it is removed.
type RuleTool struct{ Name, Title, Description string }

// Reason is why a change is judged as it is: a class of it, or a rule.
type Reason struct {
	Policy   string
	Class    string // "" for a rule
	Rule     string // "" for a class
	Message  string // of the rule, at most 1 KiB, with texts of the server: escape it before it is shown
	Decision string
	Range    diag.Range // of the rule, or of the policy
}

// Decide judges a change: the strictest decision about its classes, made stricter by rules. The reasons are those of the
// decision itself, classes first, in the order of the change and the policy. A class that nobody knows is denied, and so is
// a change that a rule cannot be evaluated for. Each rule is asked about the texts as they are, and without invisible
// characters and in compatibility form (NFKC); either may make it hold.
func (p *Policy) Decide(c RuleChange) (decision string, reasons []Reason) {
	var all []Reason
	for _, class := range c.Classes {
		d, known := p.On[class]
		if !known {
			d = Deny
		}
		all = append(all, Reason{Policy: p.Name, Class: class, Decision: d, Range: p.Range})
	}
	for _, r := range p.Rules {
		if d, message, holds := r.judge(c); holds {
			all = append(all, Reason{Policy: p.Name, Rule: r.Name, Message: message, Decision: d, Range: r.Range})
		}
	}
	decision = Auto
	for _, r := range all {
		if strictness(r.Decision) > strictness(decision) {
			decision = r.Decision
		}
	}
	return decision, slices.DeleteFunc(all, func(r Reason) bool { return r.Decision != decision })
}

func strictness(decision string) int { return slices.Index([]string{Auto, Ask, Deny}, decision) }

// judge evaluates the rule for a change.
func (r *Rule) judge(c RuleChange) (decision, message string, holds bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(c.Tool.Title) > maxJudgedBytes || len(c.Tool.Description) > maxJudgedBytes {
		return Deny, ruleNotEvaluated, true
	}
	variants := []cty.Value{c.value(func(s string) string { return s }), c.value(visible)}
	if variants[0].RawEquals(variants[1]) {
		variants = variants[:1]
	}
	for _, change := range variants {
		v, err := r.evaluate(r.when, change)
		if err != nil || v.IsNull() || !v.IsKnown() || v.Type() != cty.Bool {
			return Deny, ruleNotEvaluated, true
		}
		if v.True() {
			return r.Decision, r.text(change), true
		}
	}
	return "", "", false
}

// text writes the message.
func (r *Rule) text(change cty.Value) string {
	if r.message == nil {
		return ""
	}
	v, err := r.evaluate(r.message, change)
	if err != nil || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return messageNotWritten
	}
	return cutText(asString(v), maxMessageBytes)
}

var errRule = errors.New("the rule cannot be evaluated")

// evaluate computes an expression within a budget of its own. What a stranger wrote is in change, so a panic of the
// libraries is an error like every other.
func (r *Rule) evaluate(e hclsyntax.Expression, change cty.Value) (v cty.Value, err error) {
	defer func() {
		if recover() != nil {
			v, err = cty.NilVal, errRule
		}
	}()
	v, diags := r.l.evalRule(e, r.scope, change)
	if diags.HasErrors() {
		return cty.NilVal, errRule
	}
	return v, nil
}

// evalRule computes an expression of a rule with a new budget.
func (l *loader) evalRule(e hclsyntax.Expression, scope map[string]cty.Value, change cty.Value) (cty.Value, hcl.Diagnostics) {
	*l.budget = budget{steps: maxRuleSteps, bytes: maxRuleWork, matching: maxRuleMatching}
	l.budget.meter(e, func(t hcl.Traversal) int {
		name, _ := stepName(t, 1)
		root := scope[t.RootName()]
		if t.RootName() == "change" {
			root = change
		}
		if root != cty.NilVal && root.Type().IsObjectType() && root.Type().HasAttribute(name) {
			return valueSize(root.GetAttr(name))
		}
		return 1
	})
	vars := map[string]cty.Value{"change": change}
	for name, v := range scope {
		vars[name] = v
	}
	return (&metered{Expression: e, b: l.budget, cost: l.budget.topCost}).Value(&hcl.EvalContext{Variables: vars, Functions: l.funcs})
}

// visible is s without what a reader cannot see, compatibility characters replaced by what they stand for.
func visible(s string) string {
	return norm.NFKC.String(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s))
}

// value is the change as expressions see it, texts passed through f.
func (c RuleChange) value(f func(string) string) cty.Value {
	text := func(s string) cty.Value { return cty.StringVal(f(s)) }
	texts := func(list []string) cty.Value {
		if len(list) == 0 {
			return cty.ListValEmpty(cty.String)
		}
		out := make([]cty.Value, len(list))
		for i, s := range list {
			out[i] = text(s)
		}
		return cty.ListVal(out)
	}
	address := c.Address
	if item, err := addr.ParseItem(address); err == nil { // in which the name is escaped
		item.Name = f(item.Name)
		address = item.String()
	}
	return cty.ObjectVal(map[string]cty.Value{
		"action": text(c.Action), "kind": text(c.Kind), "address": text(address),
		"classes": texts(c.Classes), "agents": texts(c.Agents),
		"server": cty.ObjectVal(map[string]cty.Value{
			"name": text(c.Server.Name), "label": text(c.Server.Label), "address": text(c.Server.Address), "key": text(c.Server.Key),
		}),
		"tool": cty.ObjectVal(map[string]cty.Value{
			"name": text(c.Tool.Name), "title": text(c.Tool.Title), "description": text(c.Tool.Description),
		}),
	})
}

// changeType is the type of change in a rule.
var changeType = RuleChange{}.value(func(s string) string { return s }).Type()

// compileRule parses a rule. Load has checked it; the lock may hold anything.
func compileRule(name string, src ruleSource) (*Rule, error) {
	if src.Decision != Ask && src.Decision != Deny || !addr.ValidLabel(name) {
		return nil, errors.New("it has no name, or no decision ask or deny")
	}
	r := &Rule{Name: name, Decision: src.Decision, source: src, l: ruleLoader()}
	values := map[string]map[string]cty.Value{"var": {}, "local": {}}
	for ref, raw := range src.Values {
		root, name, _ := strings.Cut(ref, ".")
		if values[root] == nil {
			return nil, fmt.Errorf("unknown value %s", diag.Quote(ref, maxShownWord))
		}
		v, err := ctyjson.Unmarshal(raw, cty.DynamicPseudoType)
		if err != nil {
			return nil, fmt.Errorf("value of %s is not readable", diag.Quote(ref, maxShownWord))
		}
		values[root][name] = v
	}
	r.scope = map[string]cty.Value{"var": cty.ObjectVal(values["var"]), "local": cty.ObjectVal(values["local"])}
	var err error
	if r.when, err = r.parse(src.When, cty.Bool); err != nil {
		return nil, fmt.Errorf("when: %w", err)
	}
	if src.Message != "" {
		if r.message, err = r.parse(src.Message, cty.String); err != nil {
			return nil, fmt.Errorf("message: %w", err)
		}
	}
	return r, nil
}

// parse reads an expression of a rule and checks its type.
func (r *Rule) parse(text string, want cty.Type) (hclsyntax.Expression, error) {
	s := &source{text: []byte(text)}
	if len(text) > maxRuleBytes {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), maxRuleBytes)
	}
	s.tokens, _ = hclsyntax.LexExpression(s.text, "", hcl.InitialPos)
	if d, bad := s.checkTokens(true); bad {
		return nil, errors.New(d.Detail)
	}
	e, diags := hclsyntax.ParseExpression(s.text, "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, errors.New("it is no expression on one line")
	}
	v, err := r.evaluate(e, cty.UnknownVal(changeType))
	if err != nil || v.IsNull() || v.Type() != want && v.Type() != cty.DynamicPseudoType {
		return nil, errors.New("it cannot be evaluated to what a rule needs")
	}
	return e, nil
}

// ruleLoader has the functions of rules: those of the catalog without the ones that swallow errors, without the ones that
// read something, because a rule in a lock must mean what it meant, and with matches in place of those whose patterns have
// no bound.
func ruleLoader() *loader {
	l := newLoader(Options{})
	for _, name := range notInRules {
		delete(l.funcs, name)
	}
	l.funcs["matches"] = l.bounded(l.matchesFunc(), nil)
	return l
}

var notInRules = []string{"can", "try", "regex", "regexall", "env", "file", "secret_file", "sensitive"}

// matchesFunc is matches(pattern, text): whether a part of text matches, in the syntax of RE2.
func (l *loader) matchesFunc() function.Function {
	compiled := map[string]match{}
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "pattern", Type: cty.String, AllowUnknown: true}, {Name: "text", Type: cty.String, AllowUnknown: true}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !args[0].IsKnown() {
				return cty.UnknownVal(cty.Bool), nil
			}
			pattern := asString(args[0])
			m, ok := compiled[pattern]
			if !ok {
				var err error
				if m, err = compileMatch(pattern); err != nil {
					return cty.DynamicVal, function.NewArgError(0, err)
				}
				if len(compiled) < maxMatchPatterns {
					compiled[pattern] = m
				}
			}
			if !args[1].IsKnown() {
				return cty.UnknownVal(cty.Bool), nil
			}
			text := asString(args[1])
			if l.budget.matching -= m.states * (len(text) + 1); l.budget.matching < 0 {
				return cty.DynamicVal, errors.New("matching takes too long")
			}
			return cty.BoolVal(m.MatchString(text)), nil
		},
	})
}

// match is a compiled pattern and the number of its instructions.
type match struct {
	*regexp.Regexp
	states int
}

func compileMatch(pattern string) (match, error) {
	if len(pattern) > maxMatchBytes {
		return match{}, fmt.Errorf("the pattern has %d bytes, at most %d are allowed", len(pattern), maxMatchBytes)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		reason := "it is malformed"
		if se := (*syntax.Error)(nil); errors.As(err, &se) {
			reason = string(se.Code) // the text of the error repeats the pattern
		}
		return match{}, fmt.Errorf("the pattern is not a regular expression: %s", reason)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxMatchProgram {
		return match{}, fmt.Errorf("the pattern takes more than %d instructions", maxMatchProgram)
	}
	re, err := regexp.Compile(pattern)
	return match{re, len(prog.Inst)}, err
}

// readRule reads a block rule. Nil: it is in error.
func (l *loader) readRule(b *hclsyntax.Block, w where, policy string) *Rule {
	before := l.errors
	c := l.contents(b.Body, w, policyBlock.block("rule"))
	src := ruleSource{Values: map[string]json.RawMessage{}}
	for _, need := range []string{"when", "decision"} {
		if c.args[need] == nil {
			l.fail("catalog.missing", "Missing argument", b.Body.MissingItemRange(), w, "The block needs %s.", need)
		}
	}
	src.Decision = c.word("decision", "")
	src.When = c.ruleExpression("when", cty.Bool, src.Values)
	src.Message = c.ruleExpression("message", cty.String, src.Values)
	if l.errors > before {
		return nil
	}
	r, err := compileRule(b.Labels[0], src)
	if err != nil {
		l.fail("catalog.value", "Rule cannot be recorded", header(b), w, "%s. Write when and message as plain expressions on one line, or in parentheses.", diag.Escape(err.Error()))
		return nil
	}
	r.Policy, r.Range = policy, l.rangeOf(header(b))
	return r
}

// ruleExpression checks an expression of a rule and returns it as the lock holds it. What it needs of variables and locals
// goes into values.
func (c *contents) ruleExpression(name string, want cty.Type, values map[string]json.RawMessage) string {
	a := c.args[name]
	if a == nil {
		return ""
	}
	l, r := c.l, a.Expr.Range()
	u := l.walk(a.Expr, c.w, false, (*useWalker).ruleNode)
	if !u.ok || !l.public(name, r, c.w, u) {
		return ""
	}
	scope := map[string]map[string]cty.Value{"var": {}, "local": {}}
	record := func(root, n string, v cty.Value) {
		raw, err := ctyjson.Marshal(v, cty.DynamicPseudoType)
		if err != nil {
			l.fail("catalog.value", "Value cannot be recorded", r, c.w, "%s.%s is not known, so a rule cannot use it.", root, n)
			return
		}
		scope[root][n], values[root+"."+n] = v, raw
	}
	before := l.errors
	for _, n := range u.vars {
		record("var", n, l.variables[n].value)
	}
	for _, n := range u.locals {
		record("local", n, l.locals[n].value)
	}
	if l.errors > before {
		return ""
	}
	text := l.expressionText(r)
	v, diags := ruleLoader().evalRule(a.Expr, map[string]cty.Value{"var": cty.ObjectVal(scope["var"]), "local": cty.ObjectVal(scope["local"])}, cty.UnknownVal(changeType))
	if diags.HasErrors() {
		l.addHCL(diags, c.w, a.Expr, false)
		return ""
	}
	if v.IsNull() || v.Type() != want && v.Type() != cty.DynamicPseudoType {
		c.wrongType(name, r, v, map[bool]string{true: "true or false", false: "a text"}[want == cty.Bool])
		return ""
	}
	if v.IsKnown() && want == cty.String && !l.checkPlain(name, asString(v), maxMessageBytes, r, c.w) {
		return ""
	}
	return text
}

// expressionText is the source of an expression, formatted.
func (l *loader) expressionText(r hcl.Range) string {
	s := l.sources[r.Filename]
	return string(bytes.TrimSpace(bytes.TrimPrefix(hclwrite.Format(append([]byte("x = "), s.text[r.Start.Byte:r.End.Byte]...)), []byte("x = "))))
}

// ruleNode is node for an expression of a rule, in which change has a meaning and fewer functions exist.
func (v *useWalker) ruleNode(n hclsyntax.Node) {
	v.more = []string{"matches"}
	v.compared(n)
	switch n := n.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		switch root := n.Traversal.RootName(); {
		case root == "change":
			v.change(n.Traversal)
		case root == "var" || root == "local" || v.bound[root]:
			v.traversal(n.Traversal)
		default:
			hint := ""
			if s := nearest(root, []string{"change", "var", "local"}); s != "" {
				hint = fmt.Sprintf(" Did you mean %q?", s)
			}
			v.fail(n.Traversal.SourceRange(), "catalog.reference", "Unknown reference", "In a rule a reference begins with change, var or local; a text needs quotes.%s", hint)
		}
	case *hclsyntax.FunctionCallExpr:
		switch {
		case n.Name == "matches":
		case slices.Contains(notInRules[:4], n.Name):
			v.fail(n.NameRange, "catalog.reference", "Function not allowed here",
				"A rule has no function %q: a condition that cannot be evaluated denies the change. Write matches(PATTERN, TEXT) to ask whether a text matches.", n.Name)
		case slices.Contains(notInRules, n.Name):
			v.fail(n.NameRange, "catalog.reference", "Function not allowed here", "A rule has no function %q, because it must mean the same later. Put the value into a local.", n.Name)
		default:
			v.call(n)
		}
	}
}

// change checks a reference change.NAME or change.NAME.NAME against the attributes that there are.
func (v *useWalker) change(t hcl.Traversal) {
	typ, path := changeType, "change"
	for i := 1; typ.IsObjectType(); i++ {
		known := make([]string, 0, 8)
		for name := range typ.AttributeTypes() {
			known = append(known, name)
		}
		slices.Sort(known)
		name, ok := stepName(t, i)
		if !ok {
			v.fail(t.SourceRange(), "catalog.reference", "Incomplete reference", "Write one name behind %s: %s.", path, strings.Join(known, ", "))
			return
		}
		if !typ.HasAttribute(name) {
			v.fail(t.SourceRange(), "catalog.reference", "Unknown reference", "There is no %s.%s.%s", path, diag.Escape(name), suggest(name, known, known))
			return
		}
		typ, path = typ.AttributeType(name), path+"."+name
	}
}
