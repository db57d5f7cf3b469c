package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/schema"
)

// narrowing reads the first block input or output of a catalog whose text is locals and such blocks, as the block of a tool
// holds them.
func narrowing(t *testing.T, text string) (*Input, *Output, *loader) {
	t.Helper()
	l := newLoader(Options{Dir: writeFiles(t, one(text))})
	catalogs, _ := l.files()
	if len(catalogs) != 1 {
		t.Fatalf("%d catalogs: %v", len(catalogs), l.diags)
	}
	w := where{context: `server "a", tool "b"`, address: "server.a.tool.b"}
	var in *Input
	var out *Output
	for _, b := range catalogs[0].body.Blocks {
		switch b.Type {
		case "variable":
			l.declareVariable(b)
			l.values(nil)
		case "input":
			in = l.readInput(b, w)
		case "output":
			out = l.readOutput(b, w)
		}
	}
	return in, out, l
}

func TestNarrowing(t *testing.T) {
	for _, c := range []struct{ hcl, want string }{
		{`set = { scope = "open", n = 1.50, "a b" = [1, null, { x = true }] }`, `{"set":{"a b":[1,null,{"x":true}],"n":1.5,"scope":"open"}}`},
		{`forbid = ["b", "a"]`, `{"forbid":["a","b"]}`},
		{`schema = { minProperties = 1 }`, `{"schema":{"minProperties":1}}`},
		{`constrain "a" { enum = ["y", "x", 1] }`, `{"constrain":{"a":{"enum":["x","y",1]}}}`},
		{`constrain "a" { const = null }`, `{"constrain":{"a":{"const":null}}}`},
		{`constrain "a" { const = 9007199254740993 }`, `{"constrain":{"a":{"const":9.007199254740993e+15}}}`},
		{`constrain "a" { const = 0.1 }`, `{"constrain":{"a":{"const":0.1}}}`},
		{`constrain "a" { enum = [1e300, 0.30000000000000001] }`, `{"constrain":{"a":{"enum":[1e+300,3.0000000000000001e-1]}}}`},
		{"constrain \"a\" {\n pattern = \"^[a-z]{1,40}$\"\n min_length = 1\n max_length = 40\n optional = true\n}", `{"constrain":{"a":{"max_length":40,"min_length":1,"optional":true,"pattern":"^[a-z]{1,40}$"}}}`},
		{"constrain \"a\" {\n minimum = -1.5\n maximum = -1.5\n}", `{"constrain":{"a":{"maximum":-1.5,"minimum":-1.5}}}`},
		{"constrain \"a\" {\n max_items = 0\n schema = { items = { type = \"string\" } }\n}", `{"constrain":{"a":{"max_items":0,"schema":{"items":{"type":"string"}}}}}`},
		{"constrain \"Name\" {\n}\n constrain \"nom\" {\n enum = [\"x\"]\n min_length = 1\n}", `{"constrain":{"Name":{},"nom":{"enum":["x"],"min_length":1}}}`},
	} {
		in, _, l := narrowing(t, "input {\n "+c.hcl+"\n}\n")
		if l.errors > 0 || in == nil {
			t.Errorf("%s: %v", c.hcl, l.diags)
			continue
		}
		if got := string(in.Posture()); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.hcl, got, c.want)
		}
		if len(l.cat.unsupported) != 1 {
			t.Errorf("%s: %v, want one entry that says it is not enforced", c.hcl, l.cat.unsupported)
		}
	}
	_, out, l := narrowing(t, "output {\n max_bytes = \"64KiB\"\n drop_structured = true\n}\n")
	if l.errors > 0 || string(out.Posture()) != `{"drop_structured":true,"max_bytes":65536}` || len(l.cat.unsupported) != 1 {
		t.Errorf("output: %s, %v", out.Posture(), l.diags)
	}
}

// Numbers that meet a double exactly are written as RFC 8785 has them, so the two values of one literal must be told apart.
func TestNarrowedNumbersAreNotRounded(t *testing.T) {
	in, _, l := narrowing(t, "input {\n constrain \"n\" {\n  maximum = 9007199254740993\n }\n}\n")
	if l.errors > 0 {
		t.Fatal(l.diags)
	}
	s, err := schema.Compile(canonicalJSON(in.Constrain[0].keywords()))
	if err != nil {
		t.Fatal(err)
	}
	if s.Validate([]byte("9007199254740993")) != nil || s.Validate([]byte("9007199254740994")) == nil {
		t.Error("the bound was rounded")
	}
}

func TestNarrowingFaults(t *testing.T) {
	inside := func(text string) string { return "input {\n constrain \"a\" {\n" + text + "\n }\n}\n" }
	for _, c := range []struct{ name, hcl, code, want string }{
		{"nothing", "input {\n}\n", "catalog.value", "has none of set"},
		{"nothing constrained", inside("optional = true"), "catalog.value", "nothing but optional"},
		{"unknown argument", inside("maxlength = 1"), "catalog.unknown_argument", `Did you mean "max_length"?`},
		{"unknown block", "input {\n constraint \"a\" {}\n}\n", "catalog.unknown_block", `Did you mean "constrain"?`},
		{"set is a list", "input {\n set = [1]\n}\n", "catalog.type", "set is a list, want a map"},
		{"set and forbid", "input {\n set = { a = 1 }\n forbid = [\"a\"]\n}\n", "catalog.duplicate", `"a" stands in forbid and, at catalog.hcl:2, in set`},
		{"set and constrain", "input {\n set = {\n  \"a\" = 1\n }\n constrain \"a\" {}\n}\n", "catalog.duplicate", "at catalog.hcl:3, in set"},
		{"forbid twice", "input {\n forbid = [\"a\",\n\"a\"]\n}\n", "catalog.duplicate", "at catalog.hcl:2, in forbid"},
		{"constrain twice", "input {\n constrain \"a\" {}\n constrain \"a\" {}\n}\n", "catalog.duplicate", "catalog.hcl:2"},
		{"case", "input {\n set = { Owner = 1 }\n forbid = [\"owner\"]\n}\n", "catalog.duplicate", `"Owner" at catalog.hcl:2 in set differ in case`},
		{"compatibility", "input {\n forbid = [\"ﬁle\", \"file\"]\n}\n", "catalog.duplicate", "compatibility characters"},
		{"empty name", "input {\n forbid = [\"\"]\n}\n", "catalog.value", "empty name"},
		{"secret", "variable \"t\" {\n type = string\n sensitive = true\n}\ninput {\n set = { a = var.t }\n}\n", "catalog.secret_place", "var.t"},
		{"secret in enum", "variable \"t\" {\n type = string\n sensitive = true\n}\n" + inside("enum = [var.t]"), "catalog.secret_place", "var.t"},
		{"empty enum", inside("enum = []"), "catalog.value", "0 values, want 1 to 1000"},
		{"long enum", inside("enum = [" + strings.Repeat("1,", 1001) + "]"), "catalog.value", "1001 values"},
		{"enum is a text", inside("enum = \"x\""), "catalog.type", "enum is a text, want a list"},
		{"equal values", inside("enum = [1, 2, 1.0]"), "catalog.duplicate", "enum[2] is equal to enum[0]"},
		{"both", inside("enum = [1]\nconst = 1"), "catalog.value", "There is enum at catalog.hcl:3"},
		{"two types", inside("pattern = \"x\"\nmaximum = 1"), "catalog.value", "maximum is about a value of type number and pattern (catalog.hcl:3)"},
		{"order", inside("minimum = 2\nmaximum = 1.5"), "catalog.value", "minimum is greater than maximum"},
		{"order of lengths", inside("min_length = 2\nmax_length = 1"), "catalog.value", "min_length is greater"},
		{"minimum is a text", inside("minimum = \"1\""), "catalog.type", "minimum is a text, want a number"},
		{"negative", inside("max_items = -1"), "catalog.value", "whole number from 0"},
		{"fraction", inside("min_length = 1.5"), "catalog.value", "whole number"},
		{"rounded", inside("minimum = 1/3"), "catalog.value", "more than 150 digits"},
		{"look-around", inside("pattern = \"(?=x)\""), "catalog.value", "RE2"},
		{"costly", inside("pattern = \"(a{1,1000}){1,1000}\""), "catalog.value", "pattern is not usable"},
		{"bad schema", inside("schema = { type = \"strin\" }"), "catalog.value", "schema is not usable"},
		{"remote schema", "input {\n schema = { \"$ref\" = \"https://one.example/s\" }\n}\n", "catalog.value", "leaves the document"},
		{"enum against pattern", inside("enum = [\"ab\", \"c\"]\npattern = \"^a\""), "catalog.value", `does not meet the rest of the block: "pattern"`},
		{"const of another type", inside("const = 1\nmax_length = 4"), "catalog.value", `"type"`},
		{"enum against schema", inside("enum = [1]\nschema = { multipleOf = 2 }"), "catalog.value", `"multipleOf"`},
		{"no output", "output {\n drop_structured = false\n}\n", "catalog.value", "neither max_bytes"},
		{"no unit", "output {\n max_bytes = \"100\"\n}\n", "catalog.value", "with a unit"},
		{"too large", "output {\n max_bytes = \"17MiB\"\n}\n", "catalog.value", "max_bytes is 17MiB, want 1B to 16MiB"},
		{"zero", "output {\n max_bytes = \"0B\"\n}\n", "catalog.value", "want 1B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, out, l := narrowing(t, c.hcl)
			if in != nil || out != nil || len(l.cat.unsupported) > 0 {
				t.Error("it was read")
			}
			found := false
			for _, d := range l.diags {
				if d.Range == nil || d.Range.Start.Line == 0 {
					t.Errorf("no place: %v", d)
				}
				found = found || d.Code == c.code && strings.Contains(d.Detail, c.want)
			}
			if !found {
				t.Errorf("no %s with %q: %v", c.code, c.want, l.diags)
			}
		})
	}
}

// Just allowed, beside the faults above.
func TestNarrowingBounds(t *testing.T) {
	list := make([]int, maxEnum)
	for i := range list {
		list[i] = i
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	in, _, l := narrowing(t, "input {\n constrain \"a\" {\n enum = "+string(raw)+"\n }\n}\n")
	if l.errors > 0 || len(in.Constrain[0].Enum) != maxEnum {
		t.Errorf("%v", l.diags)
	}
	_, out, l := narrowing(t, "output {\n max_bytes = \"16MiB\"\n}\n")
	if l.errors > 0 || out.MaxBytes != 16<<20 {
		t.Errorf("%v", l.diags)
	}
}
