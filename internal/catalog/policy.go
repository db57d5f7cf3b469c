package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// DefaultPolicy is the name of the policy that holds where no other is named. It always exists: without a block of that
// name it has the defaults of Classes and no rules.
const DefaultPolicy = "default"

// Bounds of policies.
const (
	maxPolicies = 256
	maxRules    = 64 // of one policy, those it has from others counted
)

// Policy says how changes are judged.
type Policy struct {
	Name    string
	Extends string // name of the policy that holds where this one says nothing; "" for the defaults of Classes
	// On holds a decision for every class.
	On map[string]string
	// Rules are those of the policies it extends, then its own, in source order.
	Rules []*Rule
	Range diag.Range // of the block header; zero for the defaults
}

// defaultPolicy judges by the defaults of Classes.
func defaultPolicy() *Policy {
	p := &Policy{Name: DefaultPolicy, On: map[string]string{}}
	for _, c := range classes {
		p.On[c.Name] = c.Default
	}
	return p
}

// builtIn judges what no policy block judges. It is not modified.
var builtIn = defaultPolicy()

// BuiltIn reports whether p is no block of a catalog, but the defaults.
func (p *Policy) BuiltIn() bool { return p == builtIn }

// policyNode is a policy block and how far it has been read.
type policyNode struct {
	block   *hclsyntax.Block
	policy  *Policy // nil while it is not read, or if it is in error
	visited bool
}

// readPolicies reads all policy blocks.
func (l *loader) readPolicies(blocks []*hclsyntax.Block) {
	nodes := map[string]*policyNode{}
	for _, b := range blocks {
		nodes[b.Labels[0]] = &policyNode{block: b}
	}
	if len(blocks) > maxPolicies {
		l.fail("catalog.limit", "Too many policies", header(blocks[maxPolicies]), where{}, "There are %d policies, at most %d are allowed.", len(blocks), maxPolicies)
		return
	}
	for _, b := range blocks {
		if p := l.readPolicy(nodes, b.Labels[0], nil); p != nil {
			l.cat.Policies = append(l.cat.Policies, p)
		}
	}
	slices.SortFunc(l.cat.Policies, func(a, b *Policy) int { return strings.Compare(a.Name, b.Name) })
}

// checkPoliciesUsed warns of policies that judge nothing: nobody names them, nor a policy that extends them and is named.
func (l *loader) checkPoliciesUsed() {
	named := map[string]*Policy{}
	for _, p := range l.cat.Policies {
		named[p.Name] = p
	}
	used := map[string]bool{}
	use := func(name string) {
		for name != "" && !used[name] {
			used[name] = true
			if p := named[name]; p != nil {
				name = p.Extends
			} else {
				return
			}
		}
	}
	use(DefaultPolicy)
	for _, s := range l.cat.Servers {
		use(s.Policy)
		for _, t := range s.Tools {
			use(t.Policy)
		}
	}
	for _, b := range l.policies {
		if name := b.Labels[0]; !used[name] && named[name] != nil {
			hint := ""
			if nearest(name, []string{DefaultPolicy}) != "" {
				hint = " Did you mean \"default\", the name of the policy that holds wherever no other is named?"
			}
			l.warn("catalog.unused", "Policy judges nothing", header(b), where{context: blockName(b)},
				"No server and no tool names policy.%s, so it has no effect: write policy = policy.%s where it holds.%s", name, name, hint)
		}
	}
}

// readPolicy reads a policy and, before it, those that it extends. path are the names on the way to it.
func (l *loader) readPolicy(nodes map[string]*policyNode, name string, path []string) *Policy {
	n := nodes[name]
	if n.visited {
		return n.policy
	}
	n.visited = true
	b := n.block
	before := l.errors
	w := where{context: blockName(b)}
	c := l.contents(b.Body, w, policyBlock)
	p := defaultPolicy()
	p.Name, p.Range = name, l.rangeOf(header(b))
	if parent, ok := l.policyName(c, "extends", keys(nodes)); ok {
		p.Extends = parent
		path = append(path, name)
		if i := slices.Index(path, parent); i >= 0 {
			loop := append(slices.Clone(path[i:]), parent)
			l.fail("catalog.cycle", "Policies extend each other in a circle", c.exprRange("extends"), w, "policy.%s.", strings.Join(loop, " -> policy."))
			return nil
		}
		if nodes[parent] != nil {
			from := l.readPolicy(nodes, parent, path)
			if from == nil {
				return nil // reported there
			}
			for class, decision := range from.On {
				p.On[class] = decision
			}
			p.Rules = slices.Clone(from.Rules)
		}
	}
	if on := c.blocks["on"]; on != nil {
		oc := l.contents(on.Body, c.inside("on"), policyBlock.block("on"))
		for class := range oc.args {
			p.On[class] = oc.word(class, p.On[class])
		}
	}
	for _, inner := range c.repeated["rule"] {
		if r := l.readRule(inner, c.inside(blockName(inner)), name); r != nil {
			if i := slices.IndexFunc(p.Rules, func(x *Rule) bool { return x.Name == r.Name }); i >= 0 {
				l.fail("catalog.duplicate", "Rule declared twice", header(inner), w, "policy.%s has the rule %s from policy.%s at %s. A rule cannot be replaced, only added to: give this one another name.",
					name, r.Name, p.Rules[i].Policy, p.Rules[i].Range)
				continue
			}
			p.Rules = append(p.Rules, r)
		}
	}
	if len(p.Rules) > maxRules {
		l.fail("catalog.limit", "Too many rules", header(b), w, "The policy has %d rules, at most %d are allowed.", len(p.Rules), maxRules)
	}
	if l.errors == before {
		n.policy = p
	}
	return n.policy
}

// readPolicyRef reads an argument that names a policy and returns its name; "" if it is absent or in error.
func (l *loader) readPolicyRef(c *contents, name string) string {
	known := []string{DefaultPolicy}
	for _, b := range l.policies {
		known = append(known, b.Labels[0])
	}
	p, _ := l.policyName(c, name, known)
	return p
}

// policyName reads an argument that is a reference policy.NAME.
func (l *loader) policyName(c *contents, argument string, known []string) (string, bool) {
	a := c.args[argument]
	if a == nil {
		return "", false
	}
	r := a.Expr.Range()
	t, diags := hcl.AbsTraversalForExpr(a.Expr)
	name, ok := stepName(t, 1)
	if diags.HasErrors() || !ok || len(t) != 2 || t.RootName() != "policy" {
		l.fail("catalog.type", "Wrong type", r, c.w, "%s must be a reference to a policy: %s = policy.NAME, without quotes.", argument, argument)
		return "", false
	}
	if name != DefaultPolicy && !slices.Contains(known, name) {
		hint := ""
		if s := nearest(name, known); s != "" {
			hint = fmt.Sprintf(" Did you mean policy.%s?", s)
		}
		l.fail("catalog.reference", "Unknown reference", r, c.w, "There is no policy %s.%s", diag.Quote(name, maxShownWord), hint)
		return "", false
	}
	return name, true
}

// PolicySet is which policy judges what. The zero PolicySet judges everything by the defaults of Classes.
type PolicySet struct {
	policies map[string]*Policy
	used     map[string]string // names by the address of a server or item
}

// PolicySet returns the policies of the catalog and where it names them.
func (c *Catalog) PolicySet() *PolicySet {
	s := &PolicySet{policies: map[string]*Policy{}, used: map[string]string{}}
	for _, p := range c.Policies {
		s.policies[p.Name] = p
	}
	for _, srv := range c.Servers {
		if srv.Policy != "" {
			s.used[srv.Addr.String()] = srv.Policy
		}
		for _, t := range srv.Tools {
			if t.Policy != "" {
				s.used[addr.Item{Server: srv.Addr, Kind: addr.Tool, Name: t.Name}.String()] = t.Policy
			}
		}
	}
	return s
}

// Default returns the policy called default.
func (s *PolicySet) Default() *Policy { return s.named(DefaultPolicy) }

// Server returns the policy that judges changes of a server.
func (s *PolicySet) Server(a addr.Server) *Policy {
	if len(s.used) == 0 {
		return s.Default()
	}
	return s.named(s.used[a.String()])
}

// Item returns the policy that judges changes of an item: its own, or that of its server.
func (s *PolicySet) Item(i addr.Item) *Policy {
	if len(s.used) == 0 {
		return s.Default()
	}
	if name, ok := s.used[i.String()]; ok {
		return s.named(name)
	}
	return s.Server(i.Server)
}

func (s *PolicySet) named(name string) *Policy {
	if name == "" {
		name = DefaultPolicy
	}
	if p := s.policies[name]; p != nil {
		return p
	}
	return builtIn
}

// Posture returns the policies as the canonical JSON that the lock holds, resolved and without the places where they
// stand; nil if all is as by default.
//
//	{"policies":{"default":{"on":{"title_changed":"auto",…},"rules":{"no_exec":{"decision":"deny","when":"…"}}}},
//	 "used":{"server.github":"writes"}}
func (s *PolicySet) Posture() json.RawMessage {
	if len(s.policies) == 0 {
		return nil
	}
	return s.json(func(class, decision string) bool { return true })
}

// Brief is Posture with the decisions alone that are not the defaults, for people and for comparing. It is never nil.
func (s *PolicySet) Brief() json.RawMessage {
	return s.json(func(class, decision string) bool { return builtIn.On[class] != decision })
}

func (s *PolicySet) json(keep func(class, decision string) bool) json.RawMessage {
	policies := map[string]any{}
	for name, p := range s.policies {
		rules := map[string]ruleSource{}
		for _, r := range p.Rules {
			rules[r.Name] = r.source
		}
		on := map[string]string{}
		for class, decision := range p.On {
			if keep(class, decision) {
				on[class] = decision
			}
		}
		policies[name] = map[string]any{"on": on, "rules": rules}
	}
	return canonicalJSON(map[string]any{"policies": policies, "used": s.used})
}

// ParsePolicySet reads what PolicySet.Posture wrote; nil gives the defaults. Ranges are not part of it.
func ParsePolicySet(posture json.RawMessage) (*PolicySet, error) {
	s := &PolicySet{policies: map[string]*Policy{}, used: map[string]string{}}
	if posture == nil {
		return s, nil
	}
	if err := strictjson.CheckObject(posture, strictjson.Limits{}); err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	var doc struct {
		Policies map[string]struct {
			On    map[string]string     `json:"on"`
			Rules map[string]ruleSource `json:"rules"`
		} `json:"policies"`
		Used map[string]string `json:"used"`
	}
	if err := decodeStrictly(posture, &doc); err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	if len(doc.Policies) > maxPolicies {
		return nil, fmt.Errorf("policies: got %d, want at most %d", len(doc.Policies), maxPolicies)
	}
	for name, x := range doc.Policies {
		if !addr.ValidLabel(name) {
			return nil, fmt.Errorf("policies: %s is no name of a policy", diag.Quote(name, maxShownWord))
		}
		p := defaultPolicy() // a class that did not exist yet has its default
		p.Name = name
		for class, decision := range x.On {
			if _, known := p.On[class]; !known || !slices.Contains([]string{Auto, Ask, Deny}, decision) {
				return nil, fmt.Errorf("policy %s: no class and decision: %s = %s", name, diag.Quote(class, maxShownWord), diag.Quote(decision, maxShownWord))
			}
			p.On[class] = decision
		}
		if len(x.Rules) > maxRules {
			return nil, fmt.Errorf("policy %s: got %d rules, want at most %d", name, len(x.Rules), maxRules)
		}
		for _, rule := range keys(x.Rules) {
			r, err := compileRule(rule, x.Rules[rule])
			if err != nil {
				return nil, fmt.Errorf("policy %s: rule %s: %w", name, diag.Quote(rule, maxShownWord), err)
			}
			r.Policy = name
			p.Rules = append(p.Rules, r)
		}
		s.policies[name] = p
	}
	for address, name := range doc.Used {
		if s.policies[name] == nil && name != DefaultPolicy {
			return nil, fmt.Errorf("policies: %s is judged by a policy that is not there", diag.Quote(address, 0))
		}
		s.used[address] = name
	}
	return s, nil
}

// decodeStrictly decodes JSON that strictjson has checked and refuses members that doc does not have.
func decodeStrictly(src []byte, doc any) error {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	return dec.Decode(doc)
}
