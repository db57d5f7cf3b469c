package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on what a schema may cost when it is applied. A step is roughly what comparing two short strings costs.
const (
	maxInPlace = 10_000    // subschemas that one value may have to satisfy, all in-place applicators expanded
	maxSteps   = 2_000_000 // one validation: every evaluation of a subschema and what it looks at

	stepsPerEvaluation = 16
	stepsPerName       = 16  // for a member name that propertyNames looks at
	bytesOfRegex       = 200 // a byte of an instance that is read as a pattern counts as so many
)

// node is one compiled subschema with its edges and its price. The edges are those that the validator follows.
type node struct {
	sch *jsonschema.Schema

	inPlace    []*node          // applied to the same value
	properties map[string]*node // applied to the value of that member
	patterns   []*node          // patternProperties, possibly applied to every member
	rest       *node            // additionalProperties
	names      *node            // propertyNames
	prefix     []*node          // items by position
	items      *node            // the items behind prefix
	contains   *node
	leftover   []*node // unevaluatedProperties and unevaluatedItems

	// Steps of one evaluation without those of the children; spend says how they are put together.
	fixed    int
	perChild int
	perByte  int
	perName  int // like perByte, for every member name
	perDigit int
	multiple int // numberCost of multipleOf
	unique   bool

	state   int // of the depth-first searches: 0 new, 1 open, 2 done
	inCount int // subschema evaluations for one value, this one included
	depth   int // longest chain of in-place applicators
}

// graph is the cost model of one compiled schema.
type graph struct {
	nodes     map[*jsonschema.Schema]*node
	order     []*node
	root      *node
	anchors   map[string][]*node // dynamic anchors by name
	dynamic   bool
	uneval    bool
	recursive bool
	depth     int

	// Sums over the schema expanded to a tree; they are used while the schema is not recursive.
	tree tree
}

type tree struct{ count, fixed, perChild, perByte, unique int }

// newGraph models root. Dynamic holds every subschema with a $dynamicAnchor and whether it belongs to the root's
// resource: then a $dynamicRef always ends there, because the outermost anchor wins.
func newGraph(root *jsonschema.Schema, dynamic map[*jsonschema.Schema]bool, uneval bool) (*graph, error) {
	g := &graph{nodes: map[*jsonschema.Schema]*node{}, anchors: map[string][]*node{}, uneval: uneval}
	g.root = g.add(root)
	outermost := map[string]*node{}
	for sch, inRoot := range dynamic {
		n := g.add(sch)
		g.anchors[sch.DynamicAnchor] = append(g.anchors[sch.DynamicAnchor], n)
		if inRoot {
			outermost[sch.DynamicAnchor] = n
		}
	}
	for name, n := range outermost {
		g.anchors[name] = []*node{n}
	}
	for i := 0; i < len(g.order); i++ { // linking adds nodes
		n := g.order[i]
		if !strings.HasPrefix(n.sch.Location, location+"#") { // the compiler brings the meta-schemas along
			return nil, &UnsupportedError{Reason: "reference to a meta-schema, which is not in the document"}
		}
		g.link(n)
	}
	for _, n := range g.order {
		if d := n.sch.DynamicRef; d != nil {
			g.dynamic = true
			if d.Anchor != "" && d.Ref.DynamicAnchor == d.Anchor {
				n.inPlace = append(n.inPlace, g.anchors[d.Anchor]...)
			} else {
				n.inPlace = append(n.inPlace, g.nodes[d.Ref])
			}
		}
	}
	for _, n := range g.order {
		if err := n.expand(); err != nil {
			return nil, err
		}
		g.depth = max(g.depth, n.depth)
	}
	for _, n := range g.order {
		n.fixed += n.depth / 16
		n.state = 0
	}
	g.tree = g.total(g.root, map[*node]tree{})
	return g, nil
}

func (g *graph) add(sch *jsonschema.Schema) *node {
	if sch == nil {
		return nil
	}
	n := g.nodes[sch]
	if n == nil {
		n = &node{sch: sch}
		g.nodes[sch] = n
		g.order = append(g.order, n)
	}
	return n
}

// link sets the edges and prices of n. Draft-07 ignores the siblings of $ref; the compiler has left them out already.
func (g *graph) link(n *node) {
	s := n.sch
	n.fixed = stepsPerEvaluation
	if s.Bool != nil {
		return
	}
	inPlace := func(subs ...*jsonschema.Schema) {
		for _, sub := range subs {
			if sub != nil {
				n.inPlace = append(n.inPlace, g.add(sub))
			}
		}
	}
	inPlace(s.Ref, s.Not, s.If, s.Then, s.Else)
	inPlace(s.AllOf...)
	inPlace(s.AnyOf...)
	inPlace(s.OneOf...)
	if s.DynamicRef != nil {
		g.add(s.DynamicRef.Ref) // which edge it becomes is known when all anchors are
	}
	for _, sub := range s.DependentSchemas {
		inPlace(sub)
	}
	for _, dep := range s.Dependencies {
		switch dep := dep.(type) {
		case *jsonschema.Schema:
			inPlace(dep)
		case []string:
			n.fixed += len(dep)
		}
	}
	for _, dep := range s.DependentRequired {
		n.fixed += 1 + len(dep)
	}
	n.fixed += 2*len(s.Required) + len(s.Dependencies)/4 + len(s.DependentSchemas)/4

	if len(s.Properties) > 0 {
		n.properties = make(map[string]*node, len(s.Properties))
		for name, sub := range s.Properties {
			n.properties[name] = g.add(sub)
		}
	}
	for re, sub := range s.PatternProperties {
		n.patterns = append(n.patterns, g.add(sub))
		n.perName += programOf(re)
		n.perChild++
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		n.rest = g.add(sub)
	}
	if n.names = g.add(s.PropertyNames); n.names != nil {
		n.perChild += stepsPerName
	}
	n.contains = g.add(s.Contains)
	for _, sub := range s.PrefixItems {
		n.prefix = append(n.prefix, g.add(sub))
	}
	n.items = g.add(s.Items2020)
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		n.items = g.add(items)
	case []*jsonschema.Schema:
		for _, sub := range items {
			n.prefix = append(n.prefix, g.add(sub))
		}
	}
	if sub, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		n.items = g.add(sub)
	}
	for _, sub := range []*jsonschema.Schema{s.UnevaluatedProperties, s.UnevaluatedItems} {
		if sub != nil {
			n.leftover = append(n.leftover, g.add(sub))
		}
	}
	n.price(g)
}

// price sets what n itself looks at.
func (n *node) price(g *graph) {
	s := n.sch
	n.perChild += 4
	if g.uneval {
		n.perChild += 6 // the validator keeps a set of what is not yet evaluated
	}
	n.unique = s.UniqueItems
	values := []any{}
	if s.Enum != nil {
		values = append(values, s.Enum.Values...)
	}
	if s.Const != nil {
		values = append(values, *s.Const)
	}
	plain := 0
	for _, v := range values {
		switch v := v.(type) {
		case json.Number:
			n.perDigit++
			n.fixed += 4 + numberCost(v)/4
		case map[string]any, []any:
			size, digits := weigh(v)
			n.fixed += 2*size + digits/4
			n.perDigit += size
		default:
			plain++
		}
	}
	n.fixed += plain / 4
	if types := s.Types; types != nil && slices.Contains(types.ToStrings(), "integer") {
		n.perDigit++
	}
	if s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil {
		n.perDigit += 4
		n.fixed += 4
	}
	if s.MultipleOf != nil {
		n.multiple = 1 + (s.MultipleOf.Num().BitLen()+s.MultipleOf.Denom().BitLen())/3
	}
	if s.MinLength != nil || s.MaxLength != nil || s.Format != nil {
		n.perByte++
	}
	if s.Format != nil && s.Format.Name == "regex" {
		n.perByte += bytesOfRegex
	}
	if s.Pattern != nil {
		n.perByte += programOf(s.Pattern)
	}
}

func programOf(re jsonschema.Regexp) int {
	if p, ok := re.(*pattern); ok {
		return p.program
	}
	return maxProgram
}

// weigh counts the values in v and the numberCost of its numbers.
func weigh(v any) (size, digits int) {
	size = 1
	switch v := v.(type) {
	case json.Number:
		digits = numberCost(v)
	case map[string]any:
		for _, sub := range v {
			n, d := weigh(sub)
			size, digits = size+n, digits+d
		}
	case []any:
		for _, sub := range v {
			n, d := weigh(sub)
			size, digits = size+n, digits+d
		}
	}
	return size, digits
}

// expand counts the evaluations that one value can cause at n and refuses a chain of in-place applicators that comes
// back to itself: it would never end, and it says nothing.
func (n *node) expand() error {
	switch n.state {
	case 1:
		return &InvalidError{Pointer: pointerOf(n.sch.Location), Reason: "reference cycle that never reaches a smaller value"}
	case 2:
		return nil
	}
	n.state = 1
	n.inCount, n.depth = 1, 1
	for _, sub := range n.inPlace {
		if err := sub.expand(); err != nil {
			return err
		}
		n.depth = max(n.depth, sub.depth+1)
		if n.inCount += sub.inCount; n.inCount > maxInPlace {
			return &TooExpensiveError{What: "subschemas for one value", Limit: maxInPlace}
		}
	}
	n.state = 2
	return nil
}

func (n *node) children() []*node {
	out := slices.Concat(n.patterns, n.prefix, n.leftover)
	for _, sub := range n.properties {
		out = append(out, sub)
	}
	for _, sub := range []*node{n.rest, n.names, n.items, n.contains} {
		if sub != nil {
			out = append(out, sub)
		}
	}
	return out
}

// total sums the prices over the schema expanded to a tree, in which each place meets a value of the instance at most
// once. It marks a recursive schema, whose tree has no end.
func (g *graph) total(n *node, done map[*node]tree) tree {
	if t, ok := done[n]; ok {
		if n.state == 1 {
			g.recursive = true
		}
		return t
	}
	done[n] = tree{}
	n.state = 1
	t := tree{count: 1, fixed: n.fixed + n.perDigit*digitSteps(smallNumber), perChild: n.perChild, perByte: n.perByte + n.perName}
	if n.multiple > 0 {
		t.fixed = min(t.fixed+divisionSteps(n.multiple, smallNumber), maxSteps)
	}
	if n.unique {
		t.unique = 1
	}
	for _, sub := range slices.Concat(n.inPlace, n.children()) {
		u := g.total(sub, done)
		t.count = min(t.count+u.count, maxSteps)
		t.fixed = min(t.fixed+u.fixed, maxSteps)
		t.perChild = min(t.perChild+u.perChild, maxSteps)
		t.perByte = min(t.perByte+u.perByte, maxSteps)
		t.unique = min(t.unique+u.unique, maxSteps)
	}
	n.state = 2
	done[n] = t
	return t
}

// cheap says, from the sums alone, that no instance of this shape can cost more than maxSteps.
func (g *graph) cheap(sh shape) bool {
	if g.recursive || g.dynamic || sh.number > smallNumber {
		return false
	}
	perValue := g.tree.fixed + g.tree.perChild + 50*(sh.depth+1)*g.tree.unique + g.tree.count*sh.depth/2
	return perValue*sh.nodes+g.tree.perByte*(sh.strings/6+sh.nodes) <= maxSteps
}

// smallNumber is a numberCost up to which all numbers are priced alike in the sums.
const smallNumber = 24

// digitSteps prices reading or comparing one number as big.Rat.
func digitSteps(numberCost int) int { return 24 + numberCost/4 }

// divisionSteps prices a division of two numbers and the reduction of the quotient, which is quadratic.
func divisionSteps(a, b int) int { return 16 + (a+b)*(a+b)/4096 }

// meter walks an instance along the graph as the validator will, takes every branch, and counts steps.
type meter struct {
	g    *graph
	left int
}

// affordable says whether validating v costs at most maxSteps.
func (g *graph) affordable(v any) bool {
	m := meter{g: g, left: maxSteps}
	m.spend(g.root, v, 1)
	return m.left >= 0
}

// spend takes the steps of evaluating n on v, which stands at the given depth. It returns early once nothing is left,
// so it visits at most maxSteps pairs.
func (m *meter) spend(n *node, v any, depth int) {
	if n == nil || m.left < 0 {
		return
	}
	m.left -= n.fixed + depth/2 // a failure notes where it stands
	if n.sch.DynamicRef != nil {
		m.left -= depth * m.g.depth / 4
	}
	switch v := v.(type) {
	case string:
		m.left -= n.perByte * (1 + len(v)) / 6
	case json.Number:
		cost := numberCost(v)
		m.left -= n.perDigit * digitSteps(cost)
		if n.multiple > 0 {
			m.left -= divisionSteps(n.multiple, cost)
		}
	case map[string]any:
		m.object(n, v, depth)
	case []any:
		m.array(n, v, depth)
	}
	if n.perDigit > 1 && m.left >= 0 { // a container compared with the containers of enum
		switch v.(type) {
		case map[string]any, []any:
			size, digits := weigh(v)
			m.left -= n.perDigit * digitSteps(digits/size)
		}
	}
	for _, sub := range n.inPlace {
		m.spend(sub, v, depth)
	}
}

func (m *meter) object(n *node, obj map[string]any, depth int) {
	m.left -= n.perChild * len(obj)
	for name, v := range obj {
		if m.left < 0 {
			return
		}
		m.left -= n.perName * (1 + len(name)) / 6
		sub, known := n.properties[name]
		m.spend(sub, v, depth+1)
		if !known {
			m.spend(n.rest, v, depth+1)
		}
		for _, sub := range n.patterns {
			m.spend(sub, v, depth+1)
		}
		m.spend(n.names, name, depth+1)
		for _, sub := range n.leftover {
			m.spend(sub, v, depth+1)
		}
	}
}

func (m *meter) array(n *node, arr []any, depth int) {
	m.left -= n.perChild * len(arr)
	if n.unique {
		size, digits := weigh(arr)
		steps := 4*size + digits
		if len(arr) <= 20 {
			steps *= 10 // every pair is compared
		}
		m.left -= steps
	}
	for i, v := range arr {
		if m.left < 0 {
			return
		}
		if i < len(n.prefix) {
			m.spend(n.prefix[i], v, depth+1)
		} else {
			m.spend(n.items, v, depth+1)
		}
		m.spend(n.contains, v, depth+1)
		for _, sub := range n.leftover {
			m.spend(sub, v, depth+1)
		}
	}
}
