package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/schema"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Bounds of one narrowing.
const (
	maxNarrowed     = 256   // properties in set, in forbid, and constrained
	maxEnum         = 1_000 // values of one enum
	maxNarrowCount  = 1_000_000_000
	maxResultBytes  = 16 << 20
	maxPatternBytes = 4 << 10
)

// Input is how the arguments of a tool are narrowed. No property stands in two of Set, Forbid and Constrain, and no two
// properties are equal under NFKC and case folding. Values are canonical JSON.
type Input struct {
	Set       []SetProperty   // by name
	Forbid    []Property      // by name
	Constrain []Constraint    // by name
	Schema    json.RawMessage // a JSON Schema that compiles; nil: none
	Range     diag.Range      // of the block header
}

// Property is the name of an argument, byte for byte as the pinned schema has it.
type Property struct {
	Name  string
	Range diag.Range
}

// SetProperty is an argument that mcpcat sends and the agent neither sees nor sends.
type SetProperty struct {
	Property
	Value json.RawMessage
}

// Constraint is what one argument must be beside what the pinned schema says. It is required unless Optional. What is nil
// is not constrained. The whole is satisfiable as far as its keywords have one type and Const or every value of Enum meets
// the others.
type Constraint struct {
	Property
	Optional                       bool
	Type                           string            // what the keywords imply: string, number, array, or ""
	Enum                           []json.RawMessage // 1 to 1000, distinct, sorted by their canonical text
	Const                          json.RawMessage
	Pattern                        *string         // within the bounds of package schema
	Minimum, Maximum               json.RawMessage // numbers
	MinLength, MaxLength, MaxItems *int64
	Schema                         json.RawMessage
}

// Output is what is done to the results of a tool. At least one of the two is set.
type Output struct {
	MaxBytes       int64 // 0: no limit of its own
	DropStructured bool
	Range          diag.Range // of the block header
}

// readInput reads a block input. Nil: there is nothing to enforce, or it is in error.
func (l *loader) readInput(b *hclsyntax.Block, w where) *Input {
	before, outer := l.errors, w
	w.context += ", input"
	c := l.contents(b.Body, w, inputBlock)
	n := &Input{Range: l.rangeOf(header(b))}
	names := &propertyNames{l: l, w: c.w, first: map[string]namedProperty{}}
	n.Set = c.setProperties(names)
	if list, _ := c.texts("forbid", maxNarrowed, maxPropertyBytes); list != nil {
		for _, e := range list {
			if names.add("forbid", e.text, e.rng) {
				n.Forbid = append(n.Forbid, Property{e.text, l.rangeOf(e.rng)})
			}
		}
	}
	for _, inner := range c.repeated["constrain"] {
		name, r := inner.Labels[0], inner.LabelRanges[0]
		if !l.checkPlain("the name of a property", name, maxPropertyBytes, r, c.w) || !names.add("constrain", name, r) {
			continue
		}
		x := l.readConstraint(inner, c.inside(blockName(inner)))
		x.Property = Property{name, l.rangeOf(r)}
		n.Constrain = append(n.Constrain, x)
	}
	if k := len(c.repeated["constrain"]); k > maxNarrowed {
		l.fail("catalog.limit", "Too many blocks", header(b), c.w, "There are %d blocks constrain, at most %d are allowed.", k, maxNarrowed)
	}
	n.Schema = c.jsonSchema("schema")
	if l.errors > before {
		return nil
	}
	if len(n.Set)+len(n.Forbid)+len(n.Constrain) == 0 && n.Schema == nil {
		l.fail("catalog.value", "Nothing is narrowed", header(b), c.w, "The block has none of set, forbid, schema and constrain with a value. Leave it out.")
		return nil
	}
	slices.SortFunc(n.Set, func(a, b SetProperty) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(n.Forbid, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(n.Constrain, func(a, b Constraint) int { return strings.Compare(a.Name, b.Name) })
	l.notEnforced("input", header(b), outer)
	return n
}

// readOutput reads a block output. Nil: there is nothing to enforce, or it is in error.
func (l *loader) readOutput(b *hclsyntax.Block, w where) *Output {
	before, outer := l.errors, w
	w.context += ", output"
	c := l.contents(b.Body, w, outputBlock)
	o := &Output{Range: l.rangeOf(header(b))}
	o.MaxBytes, _ = c.size("max_bytes", 1, maxResultBytes)
	o.DropStructured = c.boolean("drop_structured", false)
	switch {
	case l.errors > before:
		return nil
	case o.MaxBytes == 0 && !o.DropStructured:
		l.fail("catalog.value", "Nothing is limited", header(b), c.w, "The block has neither max_bytes nor drop_structured = true. Leave it out.")
		return nil
	}
	l.notEnforced("output", header(b), outer)
	return o
}

// maxPropertyBytes bounds the name of an argument.
const maxPropertyBytes = 1024

type namedProperty struct {
	how, name string
	rng       hcl.Range
}

// propertyNames refuses two places that are about one property, and names that people and programs take for one.
type propertyNames struct {
	l     *loader
	w     where
	first map[string]namedProperty // by folded name
}

func (p *propertyNames) add(how, name string, r hcl.Range) bool {
	key := foldName(name)
	earlier, taken := p.first[key]
	switch {
	case name == "":
		p.l.fail("catalog.value", "Invalid property name", r, p.w, "A property in %s has an empty name.", how)
		return false
	case taken && earlier.name == name:
		p.l.fail("catalog.duplicate", "Property narrowed twice", r, p.w, "The property %s stands in %s and, at %s, in %s. Keep one of the two.",
			diag.Quote(name, maxShownWord), how, place(earlier.rng), earlier.how)
		return false
	case taken:
		p.l.fail("catalog.duplicate", "Two properties that look like one", r, p.w, "The property %s in %s and %s at %s in %s differ in case or in compatibility characters only. Keep the one that the tool has.",
			diag.Quote(name, maxShownWord), how, diag.Quote(earlier.name, maxShownWord), place(earlier.rng), earlier.how)
		return false
	}
	p.first[key] = namedProperty{how, name, r}
	return true
}

// foldName is equal for names that differ in case or compatibility characters only.
func foldName(s string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

// setProperties reads set.
func (c *contents) setProperties(names *propertyNames) []SetProperty {
	const name = "set"
	v, ok := c.value(name)
	if !ok {
		return nil
	}
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		c.wrongType(name, c.exprRange(name), v, "a map")
		return nil
	}
	if n := v.LengthInt(); n > maxNarrowed {
		c.l.fail("catalog.limit", "Map too large", c.exprRange(name), c.w, "%s has %d entries, at most %d are allowed.", name, n, maxNarrowed)
		return nil
	}
	ranges := c.keyRanges(name)
	var out []SetProperty
	for it := v.ElementIterator(); it.Next(); {
		k, x := it.Element()
		key := asString(k)
		r, written := ranges[key]
		if !written {
			r = c.exprRange(name)
		}
		if !c.l.checkPlain("a key of "+name, key, maxPropertyBytes, r, c.w) || !names.add(name, key, r) {
			continue
		}
		if raw, ok := c.json(fmt.Sprintf("%s[%s]", name, diag.Quote(key, maxShownWord)), x, r); ok {
			out = append(out, SetProperty{Property{key, c.l.rangeOf(r)}, raw})
		}
	}
	return out
}

// keyRanges returns the places of the keys of a map that is written out with plain keys.
func (c *contents) keyRanges(name string) map[string]hcl.Range {
	out := map[string]hcl.Range{}
	if o, ok := unmetered(c.args[name].Expr).(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range o.Items {
			key := item.KeyExpr
			if k, ok := key.(*hclsyntax.ObjectConsKeyExpr); ok {
				if word := hcl.ExprAsKeyword(k); word != "" {
					out[word] = k.Range()
					continue
				}
				key = k.Wrapped
			}
			if text, ok := literalText(unmetered(key)); ok {
				out[text] = key.Range()
			}
		}
	}
	return out
}

func (l *loader) readConstraint(b *hclsyntax.Block, w where) Constraint {
	before := l.errors
	c := l.contents(b.Body, w, inputBlock.block("constrain"))
	x := Constraint{Optional: c.boolean("optional", false)}
	x.Enum = c.enumValues()
	if v, ok := c.valueOrNull("const"); ok { // null is a value that may be the only one
		x.Const, _ = c.json("const", v, c.exprRange("const"))
	}
	x.Minimum, x.Maximum = c.limitNumber("minimum"), c.limitNumber("maximum")
	x.MinLength, x.MaxLength, x.MaxItems = c.count("min_length"), c.count("max_length"), c.count("max_items")
	if s, ok := c.text("pattern", maxPatternBytes); ok {
		x.Pattern = &s
		c.compiles("pattern", canonicalJSON(map[string]any{"pattern": s}))
	}
	x.Schema = c.jsonSchema("schema")
	if l.errors > before {
		return x
	}
	c.together(&x)
	if l.errors == before && x.Optional && len(x.keywords()) == 0 {
		l.fail("catalog.value", "Nothing is constrained", header(b), w, "The block says nothing but optional = true. Leave it out, or say what the argument must be.")
	}
	return x
}

// enumValues reads enum.
func (c *contents) enumValues() []json.RawMessage {
	const name = "enum"
	v, ok := c.value(name)
	if !ok {
		return nil
	}
	r := c.exprRange(name)
	if !isSequence(v.Type()) {
		c.wrongType(name, r, v, "a list of values")
		return nil
	}
	if n := v.LengthInt(); n == 0 || n > maxEnum {
		c.l.fail("catalog.value", "Wrong number of values", r, c.w, "%s has %d values, want 1 to %d.", name, n, maxEnum)
		return nil
	}
	ranges := elementRanges(unmetered(c.args[name].Expr))
	first := map[string]int{}
	var out []json.RawMessage
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		_, e := it.Element()
		if i < len(ranges) {
			r = ranges[i]
		}
		raw, ok := c.json(fmt.Sprintf("%s[%d]", name, i), e, r)
		if !ok {
			continue
		}
		if earlier, twice := first[string(raw)]; twice {
			c.l.fail("catalog.duplicate", "Value listed twice", r, c.w, "%s[%d] is equal to %s[%d]. Keep one of the two.", name, i, name, earlier)
			continue
		}
		first[string(raw)] = i
		out = append(out, raw)
	}
	slices.SortFunc(out, func(a, b json.RawMessage) int { return strings.Compare(string(a), string(b)) })
	return out
}

// limitNumber reads an argument that is a number, nil if it is absent.
func (c *contents) limitNumber(name string) json.RawMessage {
	v, ok := c.value(name)
	if !ok {
		return nil
	}
	if v.Type() != cty.Number {
		c.wrongType(name, c.exprRange(name), v, "a number")
		return nil
	}
	raw, _ := c.json(name, v, c.exprRange(name))
	return raw
}

// count reads an argument that counts something, nil if it is absent.
func (c *contents) count(name string) *int64 {
	n, ok := c.integer(name, 0, maxNarrowCount)
	if !ok {
		return nil
	}
	return &n
}

// together checks what the keywords of a constraint say of each other, and sets its Type.
func (c *contents) together(x *Constraint) {
	implied := []struct{ typ, by string }{}
	for _, k := range []struct {
		name, typ string
		set       bool
	}{
		{"pattern", "string", x.Pattern != nil},
		{"min_length", "string", x.MinLength != nil},
		{"max_length", "string", x.MaxLength != nil},
		{"minimum", "number", x.Minimum != nil},
		{"maximum", "number", x.Maximum != nil},
		{"max_items", "array", x.MaxItems != nil},
	} {
		if k.set {
			implied = append(implied, struct{ typ, by string }{k.typ, k.name})
		}
	}
	for _, k := range implied {
		if first := implied[0]; k.typ != first.typ {
			c.l.fail("catalog.value", "Constraints contradict each other", c.exprRange(k.by), c.w, "%s is about a value of type %s and %s (%s) about one of type %s: nothing is both.",
				k.by, k.typ, first.by, place(c.exprRange(first.by)), first.typ)
			return
		}
		x.Type = k.typ
	}
	if x.Enum != nil && x.Const != nil {
		c.l.fail("catalog.value", "Constraints contradict each other", c.exprRange("const"), c.w, "There is enum at %s as well. Keep one of the two.", place(c.exprRange("enum")))
		return
	}
	c.ordered("minimum", "maximum")
	c.ordered("min_length", "max_length")
	c.valuesMeet(x)
}

// ordered refuses a lower bound above the upper one.
func (c *contents) ordered(low, high string) {
	a, okA := c.value(low)
	b, okB := c.value(high)
	if okA && okB && numberOf(a).Cmp(numberOf(b)) > 0 {
		c.l.fail("catalog.value", "Constraints contradict each other", c.exprRange(low), c.w, "%s is greater than %s at %s, so that no value is allowed.", low, high, place(c.exprRange(high)))
	}
}

// valuesMeet refuses a listed value that the other keywords would refuse.
func (c *contents) valuesMeet(x *Constraint) {
	values, name := x.Enum, "enum"
	if x.Const != nil {
		values, name = []json.RawMessage{x.Const}, "const"
	}
	if values == nil {
		return
	}
	rest := *x
	rest.Enum, rest.Const = nil, nil
	compiled, err := schema.Compile(canonicalJSON(rest.keywords()))
	if err != nil {
		c.l.fail("catalog.value", "Constraint cannot be enforced", c.exprRange(name), c.w, "%s.", diag.Escape(err.Error()))
		return
	}
	for _, v := range values {
		if err := compiled.Validate(v); err != nil {
			keyword := "schema"
			var no *schema.ValidationError
			if errors.As(err, &no) {
				keyword = no.Keyword
			}
			c.l.fail("catalog.value", "Constraints contradict each other", c.exprRange(name), c.w, "A value of %s does not meet the rest of the block: %s.", name, diag.Quote(keyword, maxShownWord))
			return
		}
	}
}

// jsonSchema reads an argument that is a JSON Schema, nil if it is absent or in error.
func (c *contents) jsonSchema(name string) json.RawMessage {
	v, ok := c.value(name)
	if !ok {
		return nil
	}
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		c.wrongType(name, c.exprRange(name), v, "a map")
		return nil
	}
	raw, ok := c.json(name, v, c.exprRange(name))
	if !ok || !c.compiles(name, raw) {
		return nil
	}
	return raw
}

// compiles reports what package schema says against an argument.
func (c *contents) compiles(name string, text []byte) bool {
	_, err := schema.Compile(text)
	if err == nil {
		return true
	}
	var (
		unsupported *schema.UnsupportedError
		why         = err.Error()
	)
	if name == "pattern" && errors.As(err, &unsupported) {
		why = unsupported.Reason
	}
	c.l.fail("catalog.value", "Cannot be enforced", c.exprRange(name), c.w, "%s is not usable: %s. docs/schema-limits.md has the bounds.", name, diag.Escape(cutText(why, 512)))
	return false
}

// keywords is the constraint as a JSON Schema.
func (x *Constraint) keywords() map[string]any {
	m := x.posture("minLength", "maxLength", "maxItems")
	if x.Type != "" {
		m["type"] = x.Type
	}
	if x.Schema != nil {
		m["allOf"] = []json.RawMessage{x.Schema}
	}
	return m
}

// posture holds the keywords that are set, three of them by the given names.
func (x *Constraint) posture(minLength, maxLength, maxItems string) map[string]any {
	m := map[string]any{}
	if x.Enum != nil {
		m["enum"] = x.Enum
	}
	if x.Pattern != nil {
		m["pattern"] = *x.Pattern
	}
	for name, v := range map[string]json.RawMessage{"const": x.Const, "minimum": x.Minimum, "maximum": x.Maximum} {
		if v != nil {
			m[name] = v
		}
	}
	for name, v := range map[string]*int64{minLength: x.MinLength, maxLength: x.MaxLength, maxItems: x.MaxItems} {
		if v != nil {
			m[name] = *v
		}
	}
	return m
}

// Posture is the narrowing as canonical JSON, the same for every way of writing it. Nil has none.
func (n *Input) Posture() json.RawMessage {
	if n == nil {
		return nil
	}
	m := map[string]any{}
	if len(n.Set) > 0 {
		set := map[string]any{}
		for _, p := range n.Set {
			set[p.Name] = p.Value
		}
		m["set"] = set
	}
	if len(n.Forbid) > 0 {
		names := make([]string, len(n.Forbid))
		for i, p := range n.Forbid {
			names[i] = p.Name
		}
		m["forbid"] = names
	}
	if len(n.Constrain) > 0 {
		constrain := map[string]any{}
		for i := range n.Constrain {
			x := &n.Constrain[i]
			inner := x.posture("min_length", "max_length", "max_items")
			if x.Schema != nil {
				inner["schema"] = x.Schema
			}
			if x.Optional {
				inner["optional"] = true
			}
			constrain[x.Name] = inner
		}
		m["constrain"] = constrain
	}
	if n.Schema != nil {
		m["schema"] = n.Schema
	}
	return canonicalJSON(m)
}

// Posture is the limits on results as canonical JSON. Nil has none.
func (o *Output) Posture() json.RawMessage {
	if o == nil {
		return nil
	}
	m := map[string]any{}
	if o.MaxBytes > 0 {
		m["max_bytes"] = o.MaxBytes
	}
	if o.DropStructured {
		m["drop_structured"] = true
	}
	return canonicalJSON(m)
}

// canonicalJSON writes values that Load has checked.
func canonicalJSON(v any) json.RawMessage {
	src, err := json.Marshal(v)
	if err == nil {
		src, err = strictjson.AppendCanonical(nil, src, strictjson.Limits{})
	}
	if err != nil {
		panic("mcpcat: internal error: " + err.Error()) // texts and JSON that was checked have no other form
	}
	return src
}

// json returns a value as canonical JSON, numbers exactly and texts checked for what readers cannot see. What names it in
// messages.
func (c *contents) json(what string, v cty.Value, r hcl.Range) (json.RawMessage, bool) {
	before := c.l.errors
	src := c.appendJSON(nil, what, v, r)
	if c.l.errors > before {
		return nil, false
	}
	out, err := strictjson.AppendCanonical(nil, src, strictjson.Limits{})
	if err != nil {
		c.l.fail("catalog.value", "Value has no JSON", r, c.w, "%s: %s.", what, diag.Escape(err.Error()))
		return nil, false
	}
	return out, true
}

func (c *contents) appendJSON(b []byte, what string, v cty.Value, r hcl.Range) []byte {
	if v.IsNull() {
		return append(b, "null"...)
	}
	switch t := v.Type(); {
	case t == cty.Bool:
		return strconv.AppendBool(b, v.True())
	case t == cty.String:
		s := asString(v)
		c.l.checkPlain(what, s, maxValueBytes, r, c.w)
		return strictjson.AppendString(b, s)
	case t == cty.Number:
		text, ok := numberText(v)
		if !ok {
			c.l.fail("catalog.value", "Number is not exact", r, c.w, "%s is or holds a number of more than %d digits, which would be rounded.", what, maxDigits)
		}
		return append(b, text...)
	case isSequence(t):
		b = append(b, '[')
		for it := v.ElementIterator(); it.Next(); {
			if b[len(b)-1] != '[' {
				b = append(b, ',')
			}
			_, e := it.Element()
			b = c.appendJSON(b, what, e, r)
		}
		return append(b, ']')
	case t.IsObjectType(), t.IsMapType():
		b = append(b, '{')
		for it := v.ElementIterator(); it.Next(); {
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			k, e := it.Element()
			key := asString(k)
			c.l.checkPlain("a key of "+what, key, maxPropertyBytes, r, c.w)
			b = append(strictjson.AppendString(b, key), ':')
			b = c.appendJSON(b, what, e, r)
		}
		return append(b, '}')
	}
	c.wrongType(what, r, v, "a value that JSON has")
	return b
}

// maxDigits bounds the digits of a number that must be exact: the evaluator rounds to 512 bits, which are 154 digits.
const maxDigits = 150

// numberText writes a number exactly. false: the number was or may have been rounded.
func numberText(v cty.Value) (string, bool) {
	text := numberOf(v).Text('e', -1)
	digits, _, _ := strings.Cut(text, "e")
	return text, len(digits) <= maxDigits
}

// unmetered is an expression without the wrapper that it is evaluated with.
func unmetered(e hclsyntax.Expression) hclsyntax.Expression {
	if m, ok := e.(*metered); ok {
		return m.Expression
	}
	return e
}

// rangeOf is a place of a source as diagnostics have it.
func (l *loader) rangeOf(r hcl.Range) diag.Range { return l.sources[r.Filename].rangeOf(r) }
