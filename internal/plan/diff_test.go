package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// leavesOf renders the leaves between two definitions, one line each.
func leavesOf(t testing.TB, before, after string) []string {
	t.Helper()
	for _, s := range []string{before, after} {
		if err := strictjson.CheckObject([]byte(s), strictjson.Limits{}); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	var out []string
	for _, l := range diffTools(strictjson.Value(before), strictjson.Value(after)) {
		line := l.Op + " " + l.Path + " " + string(l.Class)
		if l.Effect != "" {
			line += " " + l.Effect
		}
		out = append(out, line)
	}
	return out
}

func TestSchemaClasses(t *testing.T) {
	const w, n, u, x = "input_widened widens", "input_narrowed narrows", "input_unclear unclear", "schema_text_changed"
	tests := []struct {
		name, before, after string
		want                []string
	}{
		{"property added to a closed object", `{"properties":{},"additionalProperties":false}`, `{"properties":{"a":{}},"additionalProperties":false}`, []string{"add /properties/a " + w}},
		{"property added to an open object", `{"properties":{}}`, `{"properties":{"a":{}}}`, []string{"add /properties/a " + w}},
		{"property removed from a closed object", `{"properties":{"a":{}},"additionalProperties":false}`, `{"properties":{},"additionalProperties":false}`, []string{"remove /properties/a " + n}},
		{"property removed from an open object", `{"properties":{"a":{"maximum":1}}}`, `{"properties":{}}`, []string{"remove /properties/a " + u}},
		{"all properties gone", `{"properties":{"a":{}}}`, `{}`, []string{"remove /properties " + u}},
		{"enum value added", `{"enum":["a"]}`, `{"enum":["a","b"]}`, []string{"add /enum/1 " + w}},
		{"enum value removed", `{"enum":["a","b"]}`, `{"enum":["b"]}`, []string{"remove /enum/0 " + n}},
		{"enum exchanged", `{"enum":["a"]}`, `{"enum":["b"]}`, []string{"remove /enum/0 " + n, "add /enum/0 " + w}},
		{"enum in another order", `{"enum":["a","b"]}`, `{"enum":["b","a"]}`, []string{"replace /enum " + x}},
		{"enum comes", `{}`, `{"enum":["a"]}`, []string{"add /enum " + n}},
		{"enum goes", `{"enum":["a"]}`, `{}`, []string{"remove /enum " + w}},
		{"enum 1 and 1.0", `{"enum":[1]}`, `{"enum":[1.0]}`, nil},
		{"maximum up", `{"maximum":30}`, `{"maximum":100}`, []string{"replace /maximum " + w}},
		{"maximum up beyond doubles", `{"maximum":9007199254740992}`, `{"maximum":9007199254740993}`, []string{"replace /maximum " + w}},
		{"minimum up", `{"minimum":-2}`, `{"minimum":-1.5}`, []string{"replace /minimum " + n}},
		{"minLength down", `{"minLength":3}`, `{"minLength":0}`, []string{"replace /minLength " + w}},
		{"maxItems comes", `{}`, `{"maxItems":3}`, []string{"add /maxItems " + n}},
		{"exclusiveMaximum as a boolean", `{"exclusiveMaximum":true}`, `{"exclusiveMaximum":5}`, []string{"replace /exclusiveMaximum " + u}},
		{"required entry added", `{"required":["a"]}`, `{"required":["a","b"]}`, []string{"add /required/1 " + n}},
		{"required entry dropped", `{"required":["a","b"]}`, `{"required":["b"]}`, []string{"remove /required/0 " + w}},
		{"required goes", `{"required":["a"]}`, `{}`, []string{"remove /required/0 " + w}},
		{"required in another order", `{"required":["a","b"]}`, `{"required":["b","a"]}`, []string{"replace /required " + x}},
		{"type added", `{"type":"string"}`, `{"type":["string","null"]}`, []string{"replace /type " + w}},
		{"type removed", `{"type":["string","null"]}`, `{"type":"string"}`, []string{"replace /type " + n}},
		{"type exchanged", `{"type":"string"}`, `{"type":"object"}`, []string{"replace /type " + u}},
		{"integer to number", `{"type":"integer"}`, `{"type":"number"}`, []string{"replace /type " + w}},
		{"number to integer", `{"type":"number"}`, `{"type":"integer"}`, []string{"replace /type " + n}},
		{"type as a list", `{"type":"string"}`, `{"type":["string"]}`, []string{"replace /type " + x}},
		{"unknown type", `{"type":"string"}`, `{"type":"file"}`, []string{"replace /type " + u}},
		{"object opened", `{"additionalProperties":false}`, `{}`, []string{"remove /additionalProperties " + w}},
		{"object closed", `{}`, `{"additionalProperties":false}`, []string{"add /additionalProperties " + n}},
		{"object opened to a schema", `{"additionalProperties":false}`, `{"additionalProperties":{"type":"string"}}`, []string{"replace /additionalProperties " + w}},
		{"additionalProperties true said", `{}`, `{"additionalProperties":true}`, []string{"add /additionalProperties " + x}},
		{"items bound relaxed", `{"items":{"maxLength":3}}`, `{"items":{"maxLength":4}}`, []string{"replace /items/maxLength " + w}},
		{"items as an array", `{"items":{}}`, `{"items":[{}]}`, []string{"replace /items " + u}},
		{"pattern dropped", `{"pattern":"^a$"}`, `{}`, []string{"remove /pattern " + w}},
		{"pattern changed", `{"pattern":"^a$"}`, `{"pattern":"^b$"}`, []string{"replace /pattern " + u}},
		{"format", `{"format":"uri"}`, `{}`, []string{"remove /format " + u}},
		{"uniqueItems", `{"uniqueItems":true}`, `{"uniqueItems":false}`, []string{"replace /uniqueItems " + w}},
		{"uniqueItems said", `{}`, `{"uniqueItems":false}`, []string{"add /uniqueItems " + x}},
		{"const", `{"const":1}`, `{"const":2}`, []string{"replace /const " + u}},
		{"text", `{"description":"a","default":1}`, `{"description":"b"}`, []string{"remove /default " + x, "replace /description " + x}},
		{"anyOf element", `{"anyOf":[{"maximum":1},{}]}`, `{"anyOf":[{"maximum":2},{}]}`, []string{"replace /anyOf/0/maximum " + u}},
		{"anyOf longer", `{"anyOf":[{}]}`, `{"anyOf":[{},{}]}`, []string{"replace /anyOf " + u}},
		{"under not", `{"not":{"maximum":1}}`, `{"not":{"maximum":2}}`, []string{"replace /not " + u}},
		{"definition", `{"$defs":{"a":{"maximum":1}}}`, `{"$defs":{"a":{"maximum":2}}}`, []string{"replace /$defs/a/maximum " + u}},
		{"reference", `{"$ref":"#/$defs/a"}`, `{"$ref":"#/$defs/b"}`, []string{"replace /$ref " + u}},
		{"dialect", `{"$schema":"a"}`, `{"$schema":"b"}`, []string{"replace /$schema " + u}},
		{"unknown keyword", `{}`, `{"x-any":1}`, []string{"add /x-any " + u}},
		{"beside unevaluatedProperties", `{"unevaluatedProperties":false,"properties":{}}`, `{"unevaluatedProperties":false,"properties":{"a":{}}}`, []string{"add /properties/a " + u}},
		{
			"a property that serves elsewhere",
			`{"properties":{"a":{"maximum":2}},"not":{"$ref":"#/properties/a"}}`, `{"properties":{"a":{"maximum":1}},"not":{"$ref":"#/properties/a"}}`,
			[]string{"replace /properties/a/maximum " + u},
		},
		{"a property called $ref", `{"properties":{"$ref":{"maximum":2}}}`, `{"properties":{"$ref":{"maximum":3}}}`, []string{"replace /properties/$ref/maximum " + w}},
		{"a property called enum", `{"properties":{"enum":{"type":"string"}}}`, `{"properties":{"enum":{}}}`, []string{"remove /properties/enum/type " + w}},
		{"name with slash and tilde", `{"properties":{}}`, `{"properties":{"a/b~c":{}}}`, []string{"add /properties/a~1b~0c " + w}},
		{"schema true to false", `{"properties":{"a":true}}`, `{"properties":{"a":false}}`, []string{"replace /properties/a " + n}},
		{"schema to a number", `{"properties":{"a":{}}}`, `{"properties":{"a":1}}`, []string{"replace /properties/a " + u}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := leavesOf(t, `{"name":"t","inputSchema":`+tt.before+`}`, `{"name":"t","inputSchema":`+tt.after+`}`)
			var want []string
			for _, s := range tt.want {
				want = append(want, strings.Replace(s, " /", " /inputSchema/", 1))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestToolClasses(t *testing.T) {
	const schema = `"inputSchema":{"type":"object"}`
	tests := []struct {
		name, before, after string
		want                []string
	}{
		{"title comes", `{}`, `{"title":"a"}`, []string{"add /title title_changed"}},
		{"description", `{"description":"a"}`, `{"description":"b"}`, []string{"replace /description description_changed"}},
		{"description null", `{}`, `{"description":null}`, []string{"add /description description_changed"}},
		{"no input schema any more", `{` + schema + `}`, `{}`, []string{"remove /inputSchema input_unclear unclear"}},
		{"input schema true", `{` + schema + `}`, `{"inputSchema":true}`, []string{"replace /inputSchema input_widened widens"}},
		{"output schema", `{"outputSchema":{"type":"object"}}`, `{"outputSchema":{}}`, []string{"remove /outputSchema/type output_changed widens"}},
		{"output schema comes", `{}`, `{"outputSchema":{}}`, []string{"add /outputSchema output_changed"}},
		{"header", `{"inputSchema":{"properties":{"a":{}}}}`, `{"inputSchema":{"properties":{"a":{"x-mcp-header":"A"}}}}`, []string{"add /inputSchema/properties/a/x-mcp-header header_mapping_changed widens"}},
		{"property with a header", `{"inputSchema":{"properties":{}}}`, `{"inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, []string{"add /inputSchema/properties/a header_mapping_changed widens"}},
		{"readOnlyHint true to absent", `{"annotations":{"readOnlyHint":true}}`, `{"annotations":{}}`, []string{"remove /annotations/readOnlyHint hints_weakened"}},
		{"readOnlyHint absent to false", `{"annotations":{}}`, `{"annotations":{"readOnlyHint":false}}`, []string{"add /annotations/readOnlyHint hints_changed"}},
		{"destructiveHint absent to false", `{"annotations":{}}`, `{"annotations":{"destructiveHint":false}}`, []string{"add /annotations/destructiveHint hints_relaxed"}},
		{"openWorldHint false to true", `{"annotations":{"openWorldHint":false}}`, `{"annotations":{"openWorldHint":true}}`, []string{"replace /annotations/openWorldHint hints_weakened"}},
		{"idempotentHint false to true", `{"annotations":{"idempotentHint":false}}`, `{"annotations":{"idempotentHint":true}}`, []string{"replace /annotations/idempotentHint hints_relaxed"}},
		{"hint that is no boolean", `{"annotations":{"readOnlyHint":true}}`, `{"annotations":{"readOnlyHint":"yes"}}`, []string{"replace /annotations/readOnlyHint hints_changed"}},
		{"title among annotations", `{"annotations":{"title":"a"}}`, `{"annotations":{"title":"b"}}`, []string{"replace /annotations/title title_changed"}},
		{"unknown annotation", `{"annotations":{}}`, `{"annotations":{"x":1}}`, []string{"add /annotations/x unknown_changed"}},
		{"annotations come empty", `{}`, `{"annotations":{}}`, []string{"add /annotations hints_changed"}},
		{"annotations come", `{}`, `{"annotations":{"readOnlyHint":true}}`, []string{"add /annotations/readOnlyHint hints_relaxed"}},
		{"annotations are no object", `{"annotations":{}}`, `{"annotations":[]}`, []string{"replace /annotations hints_changed"}},
		{"icons", `{"icons":[]}`, `{"icons":[{"src":"a"}]}`, []string{"replace /icons icons_changed"}},
		{"_meta member", `{"_meta":{"a":1,"b":1}}`, `{"_meta":{"a":2,"b":1}}`, []string{"replace /_meta/a meta_changed"}},
		{"unknown members", `{"zeta":1}`, `{"alpha":1}`, []string{"add /alpha unknown_changed", "remove /zeta unknown_changed"}},
		{"a member of another case", `{"description":"a"}`, `{"description":"a","Description":"b"}`, []string{"add /Description unknown_changed"}},
		{"a member with a long name", `{}`, `{"` + strings.Repeat("n", 2000) + `":1}`, []string{"add  unknown_changed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, leavesOf(t, tt.before, tt.after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A definition that differs in thousands of places, or far down behind long names, gives few leaves that hold everything.
func TestDiffIsBounded(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"name":"t","inputSchema":{"enum":[`)
		for i := range 3000 {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(canonicalText(number(int64(i + n))))
		}
		b.WriteString("]}}")
		return b.String()
	}
	if got := leavesOf(t, many(0), many(10000)); len(got) != 1 || got[0] != "replace /inputSchema input_unclear unclear" {
		t.Errorf("6,000 differences give %d leaves, want one for the schema", len(got))
	}
	if got := leavesOf(t, many(0), many(900)); len(got) != 1800 {
		t.Errorf("1,800 differences give %d leaves", len(got))
	}
	name := strings.Repeat("n", 300)
	deep := func(leaf string) string {
		return `{"inputSchema":` + strings.Repeat(`{"properties":{"`+name+`":`, 8) + leaf + strings.Repeat(`}}`, 8) + `}`
	}
	got := leavesOf(t, deep(`{"maximum":1}`), deep(`{"maximum":2}`))
	if len(got) != 1 || len(got[0]) > maxPointer+64 || !strings.HasSuffix(got[0], "input_unclear unclear") {
		t.Errorf("a difference behind long names gives %d leaves, first of %d bytes", len(got), len(got[0]))
	}
}

func TestCompareNumbers(t *testing.T) {
	rising := []string{"-1e+400", "-10", "-1.5", "-1", "-1e-400", "0", "1e-400", "0.1", "1", "1.5", "9007199254740992", "9.007199254740993e+15", "1e+300", "1e+301"}
	for i, a := range rising {
		for j, b := range rising {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := compareNumbers(a, b); got != want {
				t.Errorf("compareNumbers(%s, %s) = %d, want %d", a, b, got, want)
			}
		}
	}
	for _, zero := range []string{"-0", "0.0", "0e5"} {
		if compareNumbers(zero, "0") != 0 {
			t.Errorf("%s is not zero", zero)
		}
	}
}

func TestWords(t *testing.T) {
	tests := []struct {
		before, after, want string
	}{
		{"Returns 30.", "Returns 100.", "Returns [-30-]{+100+}."},
		{"in one repository. Returns at most 30 results.", "in one repository or organisation. Returns at most 100 results, newest first.", "in one repository{+ or organisation+}. Returns at most [-30-]{+100+} results{+, newest first+}."},
		{"a b c", "x y c", "[-a b-]{+x y+} c"},
		{"", "a", "{+a+}"},
		{"naïve", "naive", "[-naïve-]{+naive+}"},
		{"as of 10:41:07", "as of 10:41:09", "as of 10:41:[-07-]{+09+}"},
		{"v1", "v2", "[-v1-]{+v2+}"},
	}
	for _, tt := range tests {
		if got := marked(words(tt.before, tt.after)); got != tt.want {
			t.Errorf("words(%q, %q) = %s, want %s", tt.before, tt.after, got, tt.want)
		}
	}
}

func marked(words []Word) string {
	var b strings.Builder
	for _, w := range words {
		switch w.Op {
		case "-":
			b.WriteString("[-" + w.Text + "-]")
		case "+":
			b.WriteString("{+" + w.Text + "+}")
		default:
			b.WriteString(w.Text)
		}
	}
	return b.String()
}

// FuzzWords: the words give both texts back, no word is empty, and neighbours differ in kind.
func FuzzWords(f *testing.F) {
	for _, s := range [][2]string{{"a b", "a c"}, {"", "x"}, {"one. two. three.", "one. 2. three!"}, {strings.Repeat("a ", 500), strings.Repeat("b a ", 400)}, {"\xff", "\xfe"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		var b, a strings.Builder
		last := ""
		for _, w := range words(before, after) {
			if w.Text == "" {
				t.Fatalf("words(%q, %q) holds an empty word", before, after)
			}
			if w.Op == last {
				t.Fatalf("words(%q, %q) holds two %q in a row", before, after, w.Op)
			}
			last = w.Op
			if w.Op != "+" {
				b.WriteString(w.Text)
			}
			if w.Op != "-" {
				a.WriteString(w.Text)
			}
		}
		if b.String() != before || a.String() != after {
			t.Fatalf("words(%q, %q) give %q and %q", before, after, b.String(), a.String())
		}
	})
}

// FuzzDiff: two definitions have leaves exactly when they differ, every leaf has a class with a decision, and swapping
// the definitions swaps additions and removals.
func FuzzDiff(f *testing.F) {
	f.Add(`{"inputSchema":{"maximum":1,"properties":{"a":{"type":"string"}}}}`, `{"inputSchema":{"maximum":2,"required":["a"]}}`)
	f.Add(`{"annotations":{"readOnlyHint":true},"title":"a"}`, `{"annotations":{"title":"b"},"_meta":{}}`)
	f.Add(`{"inputSchema":{"anyOf":[{},true],"$defs":{"a":{"enum":[1]}}}}`, `{"inputSchema":{"anyOf":[{},{"not":{}}],"$defs":{"a":{"enum":[2,1]}}}}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, s := range []string{before, after} {
			if strictjson.CheckObject([]byte(s), strictjson.Limits{}) != nil || strings.TrimSpace(s) != s {
				return
			}
		}
		b, a := strictjson.Value(before), strictjson.Value(after)
		there, back := diffTools(b, a), diffTools(a, b)
		if strictjson.Equal(b, a) != (len(there) == 0) {
			t.Fatalf("%s, %s: %d leaves", before, after, len(there))
		}
		count := func(leaves []Leaf, op string) int {
			n := 0
			for _, l := range leaves {
				if _, known := classDecisions[l.Class]; !known {
					t.Fatalf("class %q has no decision", l.Class)
				}
				if l.Op == op {
					n++
				}
			}
			return n
		}
		if count(there, "add") != count(back, "remove") || count(there, "remove") != count(back, "add") {
			t.Fatalf("%s, %s: the way back is another one", before, after)
		}
	})
}

func TestEveryClassHasADecision(t *testing.T) {
	if d := decisionOf("tool_teleported"); d != Deny {
		t.Errorf("an unknown class is decided %q, want deny", d)
	}
	if d := stricter("", Auto); d == Auto {
		t.Error("an empty decision counts as auto")
	}
}
