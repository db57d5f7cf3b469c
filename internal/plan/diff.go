package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// memberRank is the order in which the members of a tool are compared and shown. Others follow by name.
var memberRank = map[string]int{
	"name": 0, "title": 1, "description": 2, "inputSchema": 3, "outputSchema": 4, "annotations": 5, "icons": 6, "_meta": 7,
}

// diffTools returns the leaves between two definitions with different digests; there is at least one.
func diffTools(before, after strictjson.Value) []Leaf {
	b, a := members(before), members(after)
	keys := union(b, a)
	slices.SortStableFunc(keys, func(x, y string) int { return rankOf(x) - rankOf(y) })
	var leaves []Leaf
	for _, key := range keys {
		if !same(b[key], a[key]) {
			leaves = append(leaves, memberDiff(key, b[key], a[key])...)
		}
	}
	return leaves
}

func rankOf(member string) int {
	if r, ok := memberRank[member]; ok {
		return r
	}
	return len(memberRank)
}

func memberDiff(key string, before, after strictjson.Value) []Leaf {
	path := "/" + escapePointer(key)
	if len(path) > maxPointer {
		l := newLeaf("", UnknownChanged, before, after)
		l.Note = fmt.Sprintf("a member whose name has %d bytes", len(key))
		return []Leaf{l}
	}
	switch key {
	case "title":
		return []Leaf{newLeaf(path, TitleChanged, before, after)}
	case "description":
		return []Leaf{newLeaf(path, DescriptionChanged, before, after)}
	case "inputSchema":
		return schemaLeaves(path, before, after, true)
	case "outputSchema":
		return schemaLeaves(path, before, after, false)
	case "annotations":
		return hintLeaves(path, before, after)
	case "icons":
		return []Leaf{newLeaf(path, IconsChanged, before, after)}
	case "_meta":
		return metaLeaves(path, before, after)
	default:
		return []Leaf{newLeaf(path, UnknownChanged, before, after)}
	}
}

func newLeaf(path string, class Class, before, after strictjson.Value) Leaf {
	l := Leaf{
		Path: path, Op: opOf(before, after), Before: rawOrNull(before), After: rawOrNull(after),
		Class: class, Decision: decisionOf(class),
	}
	if b, ok := before.Text(); ok {
		if a, ok := after.Text(); ok {
			l.Words = words(b, a)
		}
	}
	return l
}

var null = json.RawMessage("null")

// rawOrNull is the canonical form of v, null if absent.
func rawOrNull(v strictjson.Value) json.RawMessage {
	if v.Kind() == strictjson.KindInvalid {
		return null
	}
	return json.RawMessage(canonicalText(v))
}

func schemaLeaves(path string, before, after strictjson.Value, input bool) []Leaf {
	if opOf(before, after) != "replace" {
		l := newLeaf(path, OutputChanged, before, after)
		if input {
			l.Class, l.Effect = InputUnclear, unclear
			l.Decision = decisionOf(l.Class)
		}
		return []Leaf{l}
	}
	var leaves []Leaf
	for _, s := range diffSchemas(path, before, after) {
		class := InputUnclear
		switch {
		case s.header, input && (mapsHeader(s.before) || mapsHeader(s.after)):
			class = HeaderMappingChanged
		case s.effect == text:
			class = SchemaTextChanged
		case !input:
			class = OutputChanged
		case s.effect == widens:
			class = InputWidened
		case s.effect == narrows:
			class = InputNarrowed
		}
		l := newLeaf(s.path, class, s.before, s.after)
		if s.effect != text {
			l.Effect = s.effect
		}
		leaves = append(leaves, l)
	}
	return leaves
}

// mapsHeader reports whether a schema that came or went as a whole sends an argument in a header.
func mapsHeader(v strictjson.Value) bool {
	for name, m := range v.Members() {
		if name == "x-mcp-header" || mapsHeader(m) {
			return true
		}
	}
	for e := range v.Elements() {
		if mapsHeader(e) {
			return true
		}
	}
	return false
}

// metaLeaves compares _meta member by member.
func metaLeaves(path string, before, after strictjson.Value) []Leaf {
	b, a := members(before), members(after)
	if !objects(before, after) || tooLong(path, b, a) {
		return []Leaf{newLeaf(path, MetaChanged, before, after)}
	}
	var leaves []Leaf
	for _, key := range union(b, a) {
		if !same(b[key], a[key]) {
			leaves = append(leaves, newLeaf(path+"/"+escapePointer(key), MetaChanged, b[key], a[key]))
		}
	}
	return leaves
}

// hints holds the value that the protocol gives to each absent hint, and the value that asks for less care.
var hints = map[string]struct{ absent, safer bool }{
	"readOnlyHint":    {absent: false, safer: true},
	"idempotentHint":  {absent: false, safer: true},
	"destructiveHint": {absent: true, safer: false},
	"openWorldHint":   {absent: true, safer: false},
}

// hintLeaves compares annotations member by member. An absent hint has the value that the protocol gives it, so taking
// destructiveHint = false away weakens.
func hintLeaves(path string, before, after strictjson.Value) []Leaf {
	isMap := func(v strictjson.Value) bool {
		return v.Kind() == strictjson.KindObject || v.Kind() == strictjson.KindInvalid
	}
	if !isMap(before) || !isMap(after) {
		return []Leaf{newLeaf(path, HintsChanged, before, after)}
	}
	var b, a map[string]strictjson.Value
	if before.Kind() == strictjson.KindObject {
		b = members(before)
	}
	if after.Kind() == strictjson.KindObject {
		a = members(after)
	}
	keys := union(b, a)
	if len(keys) == 0 || tooLong(path, b, a) {
		return []Leaf{newLeaf(path, HintsChanged, before, after)}
	}
	var leaves []Leaf
	for _, key := range keys {
		if !same(b[key], a[key]) {
			leaves = append(leaves, newLeaf(path+"/"+escapePointer(key), hintClass(key, b[key], a[key]), b[key], a[key]))
		}
	}
	return leaves
}

func hintClass(key string, before, after strictjson.Value) Class {
	if key == "title" {
		return TitleChanged
	}
	hint, known := hints[key]
	if !known {
		return UnknownChanged
	}
	b, okB := boolOr(before, hint.absent)
	a, okA := boolOr(after, hint.absent)
	switch {
	case !okB || !okA || b == a:
		return HintsChanged
	case a == hint.safer:
		return HintsRelaxed
	}
	return HintsWeakened
}

// classesOf lists the classes of leaves and flags in order of appearance, and the strictest decision.
func classesOf(first []Class, leaves []Leaf, flags []Flag) ([]Class, Decision) {
	classes := slices.Clone(first)
	decision := Auto
	for _, c := range first {
		decision = stricter(decision, decisionOf(c))
	}
	add := func(c Class, d Decision) {
		if !slices.Contains(classes, c) {
			classes = append(classes, c)
		}
		decision = stricter(decision, d)
	}
	for _, l := range leaves {
		add(l.Class, l.Decision)
	}
	for _, f := range flags {
		add(f.Class, f.Decision)
	}
	return classes, decision
}
