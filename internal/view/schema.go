package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// node is a place in a schema at or beneath which something differs.
type node struct {
	name     string
	leaves   []*plan.Leaf // several where a value of an array went and another one came
	children []*node
}

func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	c := &node{name: name}
	n.children = append(n.children, c)
	return c
}

// schemaTree prints the leaves of one schema by property, with what is required folded into the property.
func (v *planView) schemaTree(top string, leaves []plan.Leaf, before, after strictjson.Value) {
	root := &node{name: top}
	for i := range leaves {
		n := root
		for _, seg := range foldRequired(&leaves[i]) {
			n = n.child(seg)
		}
		n.leaves = append(n.leaves, &leaves[i])
	}
	b, _ := before.Get(top)
	a, _ := after.Get(top)
	v.flow(strings.Repeat(" ", toolIndent), toolIndent, "", span{text: esc(top)})
	v.nodes(root, b, a, toolIndent+2, false)
}

// foldRequired is the path beneath the schema at which a leaf is shown. An entry of required belongs to the property that
// it names.
func foldRequired(l *plan.Leaf) []string {
	segs := strings.Split(strings.TrimPrefix(l.Path, "/"), "/")[1:]
	for i := range segs {
		segs[i] = unescapePointer(segs[i])
	}
	n := len(segs)
	if n < 2 || segs[n-2] != "required" || l.Op == "replace" || n >= 3 && segs[n-3] == "properties" {
		return segs
	}
	name, ok := strictjson.Value(l.After).Text()
	if l.Op == "remove" {
		name, ok = strictjson.Value(l.Before).Text()
	}
	if !ok {
		return segs
	}
	return append(slices.Clone(segs[:n-2]), "properties", name, "required")
}

// nodes prints the children of n. before and after are the values at n; inMap is true if the members there are
// properties and not keywords.
func (v *planView) nodes(n *node, before, after strictjson.Value, indent int, inMap bool) {
	slices.SortStableFunc(n.children, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	for _, c := range n.children {
		b, _ := step(before, c.name)
		a, _ := step(after, c.name)
		array := before.Kind() == strictjson.KindArray || after.Kind() == strictjson.KindArray
		if len(c.leaves) == 0 {
			name := c.name
			if array {
				name = "[" + name + "]"
			}
			v.branch("~", yellow, name, indent)
			v.nodes(c, b, a, indent+2, c.name == "properties" && !inMap)
			continue
		}
		rest := c.children
		for _, l := range c.leaves {
			if array && l.Op != "replace" {
				// Where a value stands in a set says nothing.
				symbol, color := opSymbol(l.Op)
				lead := []span{{text: strings.Repeat(" ", indent-2)}, {color, symbol}, {text: " "}}
				v.flow("", indent, leafComment(*l), append(lead, v.difference(*l)...)...)
				continue
			}
			rest = v.schemaLeaf(c.name, l, rest, indent, inMap)
		}
		if len(rest) > 0 {
			v.nodes(&node{name: c.name, children: rest}, b, a, indent+2, false)
		}
	}
	unchanged := 0
	for name, b := range before.Members() {
		a, ok := after.Get(name)
		if ok && strictjson.Equal(b, a) && !slices.ContainsFunc(n.children, func(c *node) bool { return c.name == name }) {
			unchanged++
		}
	}
	if unchanged > 0 && indent > toolIndent+2 {
		text := plural(unchanged, "unchanged keyword")
		if inMap {
			text = "1 unchanged property"
			if unchanged > 1 {
				text = fmt.Sprintf("%d unchanged properties", unchanged)
			}
		}
		v.flow(strings.Repeat(" ", indent), indent, "", span{faint, "(" + text + ")"})
	}
}

func step(v strictjson.Value, name string) (strictjson.Value, bool) {
	if v.Kind() == strictjson.KindObject {
		return v.Get(name)
	}
	i := 0
	for e := range v.Elements() {
		if fmt.Sprint(i) == name {
			return e, true
		}
		i++
	}
	return nil, false
}

func (v *planView) branch(symbol string, color style, name string, indent int) {
	v.flow("", indent, "", span{text: strings.Repeat(" ", indent-2)}, span{color, symbol}, span{text: " " + esc(name)})
}

// schemaLeaf prints one difference in a schema. A property that came or went is shown as a whole, with every keyword and
// with its entry of required, which is then taken out of children.
func (v *planView) schemaLeaf(name string, l *plan.Leaf, children []*node, indent int, inMap bool) []*node {
	symbol, color := opSymbol(l.Op)
	label := pad(esc(name), 12)
	comment := leafComment(*l)
	hang := indent + max(width(label), 1)
	lead := []span{{text: strings.Repeat(" ", indent-2)}, {color, symbol}, {text: " " + label}}
	value := strictjson.Value(firstOf(l.After, l.Before))
	switch {
	case name == "required" && l.Op != "replace" && value.Kind() == strictjson.KindString && !inMap:
		text := "no -> yes"
		if l.Op == "remove" {
			text = "yes -> no"
		}
		v.flow("", hang, comment, append(lead, span{text: text})...)
	case inMap && l.Op != "replace" && value.Kind() == strictjson.KindObject:
		head, rest := schemaHead(value)
		isRequired := func(c *node) bool {
			return c.name == "required" && len(c.leaves) == 1 && len(c.children) == 0 && c.leaves[0].Op == l.Op
		}
		if slices.ContainsFunc(children, isRequired) {
			head += ", required"
			children = slices.DeleteFunc(slices.Clone(children), isRequired)
		}
		v.flow("", hang, comment, append(lead, span{color, head})...)
		v.keywords(rest, indent+2)
	default:
		v.flow("", hang, comment, append(lead, v.difference(*l)...)...)
	}
	return children
}

func firstOf(a, b []byte) []byte {
	if len(a) > 0 && string(a) != "null" {
		return a
	}
	return b
}

type keyword struct {
	name  string
	value strictjson.Value
}

// schemaHead says what a schema is in a few words, and returns the keywords that the words do not say.
func schemaHead(schema strictjson.Value) (string, []keyword) {
	var rest []keyword
	head := "any"
	items := ""
	for name, val := range schema.Members() {
		switch name {
		case "type":
			if s, ok := val.Text(); ok {
				head = esc(s)
			} else {
				var types []string
				for e := range val.Elements() {
					s, _ := e.Text()
					types = append(types, esc(s))
				}
				head = strings.Join(types, " or ")
			}
			continue
		case "items":
			if inner, more := schemaHead(val); val.Kind() == strictjson.KindObject && len(more) == 0 {
				items = inner
				continue
			}
		}
		rest = append(rest, keyword{name, val})
	}
	if items != "" {
		head += " of " + items
	}
	return head, rest
}

// keywords prints the keywords of a schema in full, properties first and as a list.
func (p *printer) keywords(list []keyword, indent int) {
	rank := func(k keyword) int {
		switch {
		case k.name == "properties":
			return 0
		case k.name == "additionalProperties" && k.value.Kind() == strictjson.KindFalse:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(list, func(a, b keyword) int { return rank(a) - rank(b) })
	for _, k := range list {
		switch {
		case k.name == "properties" && k.value.Kind() == strictjson.KindObject:
			var required strictjson.Value
			for _, other := range list {
				if other.name == "required" {
					required = other.value
				}
			}
			p.properties(k.value, required, indent)
		case k.name == "required" && namesProperties(k.value, list):
			// stands with the properties
		case k.name == "additionalProperties" && k.value.Kind() == strictjson.KindFalse:
			p.flow(strings.Repeat(" ", indent), indent, "", span{text: "nothing else"})
		default:
			name := pad(esc(k.name), 12)
			p.flow(strings.Repeat(" ", indent)+name, indent+width(name), "", span{text: valueText(k.value)})
		}
	}
}

func namesProperties(required strictjson.Value, list []keyword) bool {
	for _, k := range list {
		if k.name != "properties" {
			continue
		}
		for e := range required.Elements() {
			name, ok := e.Text()
			if _, declared := k.value.Get(name); !ok || !declared {
				return false
			}
		}
		return required.Kind() == strictjson.KindArray
	}
	return false
}

func (p *printer) properties(props, required strictjson.Value, indent int) {
	need := map[string]bool{}
	for e := range required.Elements() {
		name, _ := e.Text()
		need[name] = true
	}
	widest := 0
	for name := range props.Members() {
		widest = max(widest, min(width(esc(name)), 24))
	}
	for name, schema := range props.Members() {
		head, rest := valueText(schema), []keyword(nil)
		if schema.Kind() == strictjson.KindObject {
			head, rest = schemaHead(schema)
		}
		if need[name] {
			head += ", required"
		}
		label := pad(esc(name), widest+2)
		p.flow(strings.Repeat(" ", indent)+label, indent+width(label), "", span{text: head})
		p.keywords(rest, indent+2)
	}
}

// members of a definition that have a form of their own; others are printed as JSON.
var definitionOrder = []string{"title", "description", "annotations", "inputSchema", "outputSchema"}

// definition prints a whole tool. Everything in it is shown.
func (p *printer) definition(def strictjson.Value) {
	for _, name := range definitionOrder {
		if val, ok := def.Get(name); ok {
			p.member(name, val)
		}
	}
	for name, val := range def.Members() {
		if name != "name" && !slices.Contains(definitionOrder, name) {
			p.member(name, val)
		}
	}
}

func (p *printer) member(name string, val strictjson.Value) {
	switch {
	case name == "annotations" && val.Kind() == strictjson.KindObject:
		var parts []string
		for hint, v := range val.Members() {
			parts = append(parts, esc(hint)+" = "+valueText(v))
		}
		p.row(name, span{text: strings.Join(parts, ", ")})
	case (name == "inputSchema" || name == "outputSchema") && val.Kind() == strictjson.KindObject:
		p.schema(name, val)
	default:
		p.row(esc(name), span{text: valueText(val)})
	}
}

func (p *printer) schema(name string, schema strictjson.Value) {
	head, rest := schemaHead(schema)
	if head == "object" && slices.ContainsFunc(rest, func(k keyword) bool { return k.name == "properties" }) {
		head = "object with"
	}
	p.row(name, span{text: head})
	p.keywords(rest, toolValue)
}
