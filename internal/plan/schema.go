package plan

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Effects of a schema leaf.
const (
	widens  = "widens"
	narrows = "narrows"
	unclear = "unclear"
	text    = "text"
)

// Bounds of one tool's comparison. Beyond them the whole value around is one leaf of unclear effect, with both values in
// full: less fine, nothing lost.
const (
	maxPointer = 1 << 10 // bytes of one JSON Pointer
	maxLeaves  = 2000
)

// schemaDiff compares two JSON Schemas keyword by keyword.
//
// A schema is a conjunction of its keywords, so where only one keyword differs its effect is the effect of the whole:
// a larger maximum widens, a new required entry narrows. That holds beneath properties, items and additionalProperties.
// Beneath anything else, in a schema that other parts point into, and for keywords not listed here, the effect is
// unclear, which is treated like widens.
type schemaDiff struct {
	leaves []schemaLeaf
	over   bool
}

type schemaLeaf struct {
	path, op, effect string
	before, after    strictjson.Value // empty: absent
	header           bool             // an x-mcp-header annotation
}

// diffSchemas returns the leaves between two schemas, which are not Equal. Pointers begin with at.
func diffSchemas(at string, before, after strictjson.Value) []schemaLeaf {
	d := &schemaDiff{}
	d.schema(at, before, after, pointsInside(before) || pointsInside(after))
	if d.over || len(d.leaves) == 0 {
		d.leaves = nil
		d.leaf(at, before, after, unclear)
	}
	return d.leaves
}

func (d *schemaDiff) leaf(path string, before, after strictjson.Value, effect string) {
	if len(d.leaves) >= maxLeaves {
		d.over = true
		return
	}
	d.leaves = append(d.leaves, schemaLeaf{path: path, op: opOf(before, after), before: before, after: after, effect: effect})
}

func opOf(before, after strictjson.Value) string {
	switch {
	case before.Kind() == strictjson.KindInvalid:
		return "add"
	case after.Kind() == strictjson.KindInvalid:
		return "remove"
	}
	return "replace"
}

// schema compares two schemas at a pointer. With murky set every effect beneath is unclear.
func (d *schemaDiff) schema(at string, before, after strictjson.Value, murky bool) {
	if d.over || strictjson.Equal(before, after) {
		return
	}
	if before.Kind() != strictjson.KindObject || after.Kind() != strictjson.KindObject {
		d.leaf(at, before, after, boolEffect(before, after, murky))
		return
	}
	b, a := members(before), members(after)
	for _, open := range []map[string]strictjson.Value{b, a} {
		if _, ok := open["unevaluatedProperties"]; ok {
			murky = true // what it reaches depends on the keywords beside it
		}
	}
	if tooLong(at, b, a) {
		d.leaf(at, before, after, unclear)
		return
	}
	for _, key := range union(b, a) {
		if !same(b[key], a[key]) {
			d.keyword(at+"/"+escapePointer(key), key, b, a, murky)
		}
	}
}

func (d *schemaDiff) keyword(at, key string, b, a map[string]strictjson.Value, murky bool) {
	before, after := b[key], a[key]
	switch key {
	case "properties":
		if objects(before, after) {
			d.properties(at, before, after, closed(b) && closed(a), murky)
			return
		}
	case "required":
		if d.set(at, before, after, narrows, widens, murky) {
			return
		}
	case "enum":
		if before.Kind() == strictjson.KindArray && after.Kind() == strictjson.KindArray && d.set(at, before, after, widens, narrows, murky) {
			return
		}
		if before.Kind() == strictjson.KindInvalid || after.Kind() == strictjson.KindInvalid {
			d.leaf(at, before, after, muddy(presence(before), murky))
			return
		}
	case "items", "additionalProperties":
		if (before.Kind() != strictjson.KindInvalid || after.Kind() != strictjson.KindInvalid) &&
			schemaOrAbsent(before) && schemaOrAbsent(after) {
			if objects(before, after) {
				d.schema(at, before, after, murky)
			} else {
				d.leaf(at, before, after, boolEffect(before, after, murky))
			}
			return
		}
	case "$defs", "definitions":
		if objects(before, after) {
			d.properties(at, before, after, false, true)
			return
		}
	case "anyOf", "oneOf", "allOf", "prefixItems":
		if d.list(at, before, after) {
			return
		}
	}
	leaf := keywordEffect(key, before, after)
	if leaf != text {
		leaf = muddy(leaf, murky)
	}
	d.leaf(at, before, after, leaf)
	if key == "x-mcp-header" && len(d.leaves) > 0 {
		d.leaves[len(d.leaves)-1].header = true
	}
}

// properties compares two maps of schemas. A property that is added to a closed object makes it accept more. An object
// that is open accepts any property already; adding one still invites the model to send it, and taking one away lifts
// whatever its schema asked for.
func (d *schemaDiff) properties(at string, before, after strictjson.Value, closed, murky bool) {
	b, a := members(before), members(after)
	if tooLong(at, b, a) {
		d.leaf(at, before, after, unclear)
		return
	}
	for _, name := range union(b, a) {
		bv, inB := b[name]
		av, inA := a[name]
		path := at + "/" + escapePointer(name)
		switch {
		case inB && inA:
			d.schema(path, bv, av, murky)
		case inA:
			d.leaf(path, nil, av, muddy(widens, murky))
		case closed:
			d.leaf(path, bv, nil, muddy(narrows, murky))
		default:
			d.leaf(path, bv, nil, unclear)
		}
	}
}

// list compares two arrays of schemas of one length, element by element, all unclear.
func (d *schemaDiff) list(at string, before, after strictjson.Value) bool {
	if before.Kind() != strictjson.KindArray || after.Kind() != strictjson.KindArray {
		return false
	}
	b, a := slices.Collect(before.Elements()), slices.Collect(after.Elements())
	if len(a) != len(b) || len(at)+8 > maxPointer {
		return false
	}
	for i := range b {
		d.schema(at+"/"+strconv.Itoa(i), b[i], a[i], true)
	}
	return true
}

// set compares two arrays as sets of values, an absent array being empty. It reports false when that is not what they
// are. An equal set in another order is a matter of text: models read it.
func (d *schemaDiff) set(at string, before, after strictjson.Value, onAdd, onRemove string, murky bool) bool {
	for _, v := range []strictjson.Value{before, after} {
		if k := v.Kind(); k != strictjson.KindArray && k != strictjson.KindInvalid {
			return false
		}
	}
	if len(at)+8 > maxPointer {
		return false
	}
	b, inB := elements(before)
	a, inA := elements(after)
	n := len(d.leaves)
	for i, e := range b {
		if !inA[e.canonical] {
			d.leaf(at+"/"+strconv.Itoa(i), e.value, nil, muddy(onRemove, murky))
		}
	}
	for i, e := range a {
		if !inB[e.canonical] {
			d.leaf(at+"/"+strconv.Itoa(i), nil, e.value, muddy(onAdd, murky))
		}
	}
	if len(d.leaves) == n && !d.over {
		d.leaf(at, before, after, text)
	}
	return true
}

type element struct {
	value     strictjson.Value
	canonical string
}

func elements(v strictjson.Value) (list []element, set map[string]bool) {
	set = map[string]bool{}
	if v.Kind() != strictjson.KindArray {
		return nil, set
	}
	for e := range v.Elements() {
		c := canonicalText(e)
		list, set[c] = append(list, element{e, c}), true
	}
	return list, set
}

// keywordEffect is the effect of one keyword, beside those that have their own comparison.
func keywordEffect(key string, before, after strictjson.Value) string {
	switch key {
	case "title", "description", "examples", "default", "$comment", "deprecated", "readOnly", "writeOnly":
		return text
	case "x-mcp-header":
		return widens // data moves to a header
	case "type":
		return typeEffect(before, after)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return boundEffect(before, after, widens, narrows)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return boundEffect(before, after, narrows, widens)
	case "pattern", "const", "multipleOf":
		return presence(before, after)
	case "uniqueItems":
		b, okB := boolOr(before, false)
		a, okA := boolOr(after, false)
		switch {
		case !okA || !okB:
			return unclear
		case b == a:
			return text
		case a:
			return narrows
		}
		return widens
	}
	return unclear
}

// presence is the effect of a constraint that came or went; unclear when it was replaced. With one argument the
// question is only whether it was there before.
func presence(before strictjson.Value, after ...strictjson.Value) string {
	switch {
	case before.Kind() == strictjson.KindInvalid:
		return narrows
	case len(after) == 0 || after[0].Kind() == strictjson.KindInvalid:
		return widens
	}
	return unclear
}

func boundEffect(before, after strictjson.Value, larger, smaller string) string {
	for _, v := range []strictjson.Value{before, after} {
		if k := v.Kind(); k != strictjson.KindNumber && k != strictjson.KindInvalid {
			return unclear
		}
	}
	if opOf(before, after) != "replace" {
		return presence(before, after)
	}
	b, okB := before.Number()
	a, okA := after.Number()
	if !okA || !okB {
		return unclear
	}
	if compareNumbers(a, b) > 0 {
		return larger
	}
	return smaller
}

// typeEffect compares type, a name or an array of names; an integer is a number, and absence is every type.
func typeEffect(before, after strictjson.Value) string {
	if opOf(before, after) != "replace" {
		return presence(before, after)
	}
	b, okB := typeNames(before)
	a, okA := typeNames(after)
	if !okB || !okA {
		return unclear
	}
	covers := func(outer, inner map[string]bool) bool {
		for t := range inner {
			if !outer[t] && (t != "integer" || !outer["number"]) {
				return false
			}
		}
		return true
	}
	switch wider, narrower := covers(a, b), covers(b, a); {
	case wider && narrower:
		return text
	case wider:
		return widens
	case narrower:
		return narrows
	}
	return unclear
}

func typeNames(v strictjson.Value) (map[string]bool, bool) {
	names := map[string]bool{}
	add := func(v strictjson.Value) bool {
		s, ok := v.Text()
		switch s {
		case "null", "boolean", "object", "array", "number", "integer", "string":
			names[s] = true
			return ok
		}
		return false
	}
	if v.Kind() != strictjson.KindArray {
		return names, add(v)
	}
	for e := range v.Elements() {
		if !add(e) {
			return nil, false
		}
	}
	return names, true
}

// boolEffect compares schemas of which one is true, false or absent (which is true).
func boolEffect(before, after strictjson.Value, murky bool) string {
	open := func(v strictjson.Value) bool {
		return v.Kind() == strictjson.KindInvalid || v.Kind() == strictjson.KindTrue
	}
	shut := func(v strictjson.Value) bool { return v.Kind() == strictjson.KindFalse }
	switch {
	case open(before) && open(after):
		return text
	case open(after) && schemaOrAbsent(before), shut(before) && schemaOrAbsent(after):
		return muddy(widens, murky)
	case open(before) && schemaOrAbsent(after), shut(after) && schemaOrAbsent(before):
		return muddy(narrows, murky)
	}
	return unclear
}

// muddy is effect, or unclear in a place whose surroundings decide.
func muddy(effect string, murky bool) string {
	if murky {
		return unclear
	}
	return effect
}

func schemaOrAbsent(v strictjson.Value) bool {
	switch v.Kind() {
	case strictjson.KindInvalid, strictjson.KindObject, strictjson.KindTrue, strictjson.KindFalse:
		return true
	}
	return false
}

func closed(schema map[string]strictjson.Value) bool {
	_, patterns := schema["patternProperties"]
	return schema["additionalProperties"].Kind() == strictjson.KindFalse && !patterns
}

// pointsInside reports whether some reference leads anywhere but to a definition, so that a part that looks like a plain
// property may also serve elsewhere, under a not for example.
func pointsInside(v strictjson.Value) bool {
	switch v.Kind() {
	case strictjson.KindObject:
		for name, m := range v.Members() {
			if ref, ok := m.Text(); ok && (name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef") &&
				!strings.HasPrefix(ref, "#/$defs/") && !strings.HasPrefix(ref, "#/definitions/") {
				return true
			}
			if pointsInside(m) {
				return true
			}
		}
	case strictjson.KindArray:
		for e := range v.Elements() {
			if pointsInside(e) {
				return true
			}
		}
	}
	return false
}

func members(v strictjson.Value) map[string]strictjson.Value {
	return maps.Collect(v.Members())
}

func union(b, a map[string]strictjson.Value) []string {
	keys := slices.Collect(maps.Keys(b))
	for k := range a {
		if _, ok := b[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// tooLong reports whether the pointer of a differing member would pass maxPointer.
func tooLong(at string, b, a map[string]strictjson.Value) bool {
	for _, key := range union(b, a) {
		if len(at)+len(key)+8 > maxPointer && !same(b[key], a[key]) {
			return true
		}
	}
	return false
}

func objects(b, a strictjson.Value) bool {
	return b.Kind() == strictjson.KindObject && a.Kind() == strictjson.KindObject
}

// same is Equal that knows absence.
func same(b, a strictjson.Value) bool {
	if b.Kind() == strictjson.KindInvalid || a.Kind() == strictjson.KindInvalid {
		return b.Kind() == a.Kind()
	}
	return strictjson.Equal(b, a)
}

func boolOr(v strictjson.Value, absent bool) (value, ok bool) {
	if v.Kind() == strictjson.KindInvalid {
		return absent, true
	}
	return v.Bool()
}

func escapePointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}

// canonicalText is the canonical form of a value that was checked.
func canonicalText(v strictjson.Value) string {
	b, err := strictjson.AppendCanonical(nil, v, limits)
	if err != nil {
		panic("mcpcat: internal error: checked JSON has no canonical form: " + err.Error())
	}
	return string(b)
}
