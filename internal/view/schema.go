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

// wholeSchema prints a schema that came, went or differs in a way that is shown as a whole.
func (v *planView) wholeSchema(top string, l *plan.Leaf) {
	symbol, color := opSymbol(l.Op)
	v.flow("", toolIndent, leafComment(*l), span{text: strings.Repeat(" ", toolIndent-2)}, span{color, symbol}, span{text: " " + esc(top)})
	v.sides(top, l, toolIndent, true)
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
			v.nodes(c, b, a, indent+2, slices.Contains(schemaMaps, c.name) && !inMap)
			continue
		}
		rest := c.children
		for _, l := range c.leaves {
			schemas := array && slices.Contains(schemaLists, n.name)
			if array && l.Op != "replace" {
				// Where a value stands in a set says nothing.
				symbol, color := opSymbol(l.Op)
				lead := []span{{text: strings.Repeat(" ", indent-2)}, {color, symbol}, {text: " "}}
				if value := strictjson.Value(firstOf(l.After, l.Before)); schemas && value.Kind() == strictjson.KindObject {
					head, more := schemaHead(value)
					v.flow("", indent, leafComment(*l), append(lead, span{color, head})...)
					v.keywords(more, indent+2, 0)
					continue
				}
				v.flow("", indent, leafComment(*l), append(lead, v.difference(*l)...)...)
				continue
			}
			rest = v.schemaLeaf(c.name, l, rest, indent, inMap || schemas)
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
	case l.Op != "replace" && value.Kind() == strictjson.KindObject && (inMap || isSchemaPlace(name, value)):
		head, rest := schemaHead(value)
		isRequired := func(c *node) bool {
			return c.name == "required" && len(c.leaves) == 1 && len(c.children) == 0 && c.leaves[0].Op == l.Op
		}
		if slices.ContainsFunc(children, isRequired) {
			head += ", required"
			children = slices.DeleteFunc(slices.Clone(children), isRequired)
		}
		v.flow("", hang, comment, append(lead, span{color, head})...)
		v.keywords(rest, indent+2, 0)
	case l.Op != "replace" && isTree(name, value) && !inMap:
		v.flow("", hang, comment, append(lead[:2:2], span{text: " " + esc(name)})...)
		v.held(name, value, indent+2)
	case (inMap || isTree(name, strictjson.Value(l.Before)) || isTree(name, strictjson.Value(l.After))) && large(l):
		// Both as trees, one beneath the other.
		v.flow("", hang, comment, append(lead[:2:2], span{text: " " + esc(name)})...)
		v.sides(name, l, indent+2, inMap)
	default:
		v.flow("", hang, comment, append(lead, v.difference(*l)...)...)
	}
	return children
}

// isSchemaPlace reports whether an object under the keyword is one schema.
func isSchemaPlace(keyword string, v strictjson.Value) bool {
	return v.Kind() == strictjson.KindObject && slices.Contains(schemaKeywords, keyword)
}

// large reports whether a replaced value is too much for one line.
func large(l *plan.Leaf) bool { return len(l.Before) > 60 || len(l.After) > 60 }

// sides prints the old and the new value of a leaf as trees.
func (v *planView) sides(name string, l *plan.Leaf, indent int, schema bool) {
	for _, side := range []struct {
		op    string
		value strictjson.Value
	}{{"remove", strictjson.Value(l.Before)}, {"add", strictjson.Value(l.After)}} {
		symbol, color := opSymbol(side.op)
		lead := []span{{text: strings.Repeat(" ", indent)}, {color, symbol}, {text: " "}}
		switch {
		case side.value.Kind() == strictjson.KindNull:
		case side.value.Kind() == strictjson.KindObject && (schema || isSchemaPlace(name, side.value)):
			head, rest := schemaHead(side.value)
			v.flow("", indent+4, "", append(lead, span{color, head})...)
			v.keywords(rest, indent+4, 0)
		case isTree(name, side.value):
			v.flow("", indent+4, "", append(lead, span{text: esc(name)})...)
			v.held(name, side.value, indent+4)
		default:
			v.flow("", indent+4, "", append(lead, span{color, valueText(side.value)})...)
		}
	}
}

// held prints the schemas that a list or a map holds.
func (v *planView) held(name string, value strictjson.Value, indent int) {
	if value.Kind() == strictjson.KindArray {
		for e := range value.Elements() {
			v.subschema(strings.Repeat(" ", indent)+"- ", e, indent+4, 0)
		}
		return
	}
	v.properties(value, nil, indent, 0)
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

// Keywords whose values are schemas: one, a list of them, or a map of them by name.
var (
	schemaKeywords = []string{
		"items", "additionalItems", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties",
	}
	schemaLists = []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"}
	schemaMaps  = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// maxTree is how many schemas within one another are printed as a tree. What is deeper is printed as JSON: nothing is
// left out.
const maxTree = 12

// isTree reports whether a value of the keyword is printed as a tree.
func isTree(keyword string, v strictjson.Value) bool {
	switch v.Kind() {
	case strictjson.KindObject:
		return slices.Contains(schemaKeywords, keyword) || slices.Contains(schemaMaps, keyword)
	case strictjson.KindArray:
		return slices.Contains(schemaLists, keyword)
	}
	return false
}

// keywords prints the keywords of a schema in full, properties first and as a list, schemas within it as trees.
func (p *printer) keywords(list []keyword, indent, depth int) {
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
		name := pad(esc(k.name), 12)
		at := strings.Repeat(" ", indent)
		switch {
		case k.name == "properties" && k.value.Kind() == strictjson.KindObject && depth < maxTree:
			var required strictjson.Value
			for _, other := range list {
				if other.name == "required" {
					required = other.value
				}
			}
			p.properties(k.value, required, indent, depth)
		case k.name == "required" && depth < maxTree && namesProperties(k.value, list):
			// stands with the properties
		case k.name == "additionalProperties" && k.value.Kind() == strictjson.KindFalse:
			p.flow(at, indent, "", span{text: "nothing else"})
		case depth < maxTree && isTree(k.name, k.value):
			p.subschemas(k.name, k.value, indent, depth)
		default:
			p.flow(at+name, indent+width(name), "", span{text: valueText(k.value)})
		}
	}
}

// subschemas prints the schemas that one keyword holds.
func (p *printer) subschemas(keyword string, v strictjson.Value, indent, depth int) {
	at := strings.Repeat(" ", indent)
	name := pad(esc(keyword), 12)
	switch {
	case v.Kind() == strictjson.KindArray:
		p.flow(at, indent, "", span{text: esc(keyword)})
		for e := range v.Elements() {
			p.subschema(strings.Repeat(" ", indent+2)+"- ", e, indent+6, depth)
		}
	case slices.Contains(schemaMaps, keyword):
		p.flow(at, indent, "", span{text: esc(keyword)})
		p.properties(v, nil, indent+2, depth)
	default:
		p.subschema(at+name, v, indent+2, depth)
	}
}

// subschema prints one schema behind a label, its keywords beneath.
func (p *printer) subschema(label string, schema strictjson.Value, indent, depth int) {
	if schema.Kind() != strictjson.KindObject {
		p.flow(label, width(label), "", span{text: valueText(schema)})
		return
	}
	head, rest := schemaHead(schema)
	p.flow(label, width(label), "", span{text: head})
	p.keywords(rest, indent, depth+1)
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

func (p *printer) properties(props, required strictjson.Value, indent, depth int) {
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
		p.keywords(rest, indent+2, depth+1)
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
	p.keywords(rest, toolValue, 0)
}
