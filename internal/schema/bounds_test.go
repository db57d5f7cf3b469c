package schema

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// literals is a schema with patterns of these lengths and as many instructions.
func literals(lengths ...int) string {
	return `{"patternProperties":{` + joined(len(lengths), func(i int) string {
		return `"` + strings.Repeat(string(rune('a'+i)), lengths[i]) + `":true`
	}) + `}}`
}

// TestSchemaBounds has a schema at each bound and its neighbour one step beyond.
func TestSchemaBounds(t *testing.T) {
	for _, c := range []struct {
		what  string
		limit int
		at    func(n int) string
	}{
		{"schema bytes", maxSchemaBytes, func(n int) string { return `{"title":"` + strings.Repeat("x", n-len(`{"title":""}`)) + `"}` }},
		{"levels of nesting", maxSchemaDepth, func(n int) string { return nest(`{"not":`, `{}`, `}`, n-1) }},
		{"values in a schema", maxSchemaNodes, func(n int) string { return `{"default":[` + joined(n-3, func(int) string { return `1` }) + `]}` }},
		{"digits in the schema's numbers", maxNumberSum, func(n int) string {
			return `{"default":[` + joined(39, func(int) string { return `1e9999` }) + fmt.Sprintf(`,1e%d]}`, n-39*(6+9999)-6)
		}},
		{"subschemas", maxSubschemas, func(n int) string { return `{"properties":{` + numbered(1000, n-1, `"p%d":true`) + `}}` }},
		{"bytes in the pointers to subschemas", maxPointerSum, func(n int) string {
			const long, children = 494, 1000
			n -= len("/properties/") + long + children*(len("/properties//properties/p")+long+4)
			return `{"properties":{"` + strings.Repeat("x", long) + `":{"properties":{` + numbered(1000, children, `"p%d":true`) + `}},` +
				`"` + strings.Repeat("y", n-len("/properties/")) + `":true}}`
		}},
		{"identifiers and anchors in a schema", maxResources, func(n int) string { return `{"$defs":{` + numbered(0, n, `"a%d":{"$anchor":"a%[1]d"}`) + `}}` }},
		{"bytes in an identifier", maxURI, func(n int) string {
			return `{"$id":"https://x.example/` + strings.Repeat("x", n-len("https://x.example/")) + `"}`
		}},
		{"bytes in a reference", maxURI, func(n int) string {
			name := strings.Repeat("x", n-len("#/$defs/"))
			return `{"$ref":"#/$defs/` + name + `","$defs":{"` + name + `":true}}`
		}},
		{"steps in comparing the values of enums", maxEnumSteps, func(n int) string {
			k := n * 8 / 9
			for k+k/8 < n {
				k++
			}
			return `{"enum":[` + joined(k, func(int) string { return `1` }) + `]}`
		}},
		{"bytes in a pattern", maxPatternBytes, func(n int) string { return literals(n) }},
		{"bytes of patterns", maxPatternTotal, func(n int) string {
			escaped := strings.Repeat(`\\u{000041}`, (maxPatternBytes-6)/len(`\u{000041}`)) // ten bytes for one instruction
			more := ""
			if n > maxPatternTotal {
				more = `,"` + strings.Repeat("z", n-maxPatternTotal) + `":true`
			}
			return `{"patternProperties":{` + numbered(100_000, maxPatternTotal/maxPatternBytes, `"`+escaped+`%d":true`) + more + `}}`
		}},
		{"instructions in patterns", maxProgram, func(n int) string { return literals(4000, 4000, n-8000) }},
		{"subschemas for one value", maxInPlace, func(n int) string {
			const refs, each = 99, 99 // a reference, the definition, and what that applies in place
			return `{"allOf":[` + joined(refs, func(int) string { return `{"$ref":"#/$defs/a"}` }) + `,` + joined(n-1-refs*each, func(int) string { return `true` }) +
				`],"$defs":{"a":{"allOf":[` + joined(each-2, func(int) string { return `true` }) + `]}}}`
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			if _, err := Compile([]byte(c.at(c.limit))); err != nil {
				t.Errorf("Compile at the bound of %d: %v", c.limit, err)
			}
			_, err := Compile([]byte(c.at(c.limit + 1)))
			var got *TooExpensiveError
			if !errors.As(err, &got) || got.What != c.what || got.Limit != int64(c.limit) {
				t.Errorf("Compile beyond the bound of %d: %v, want a TooExpensiveError about %q", c.limit, err, c.what)
			}
		})
	}
}

// TestFarTargets is apart because each reference makes two subschemas: 223 x 446 is below the bound, 224 x 448 above. For
// draft-07 the schemas in $defs are such places too, and a real server uses a bit less than the bound.
func TestFarTargets(t *testing.T) {
	at := func(n int) []byte {
		return []byte(`{"x":{` + numbered(0, n, `"y%d":true`) + `},"allOf":[` + numbered(0, n, `{"$ref":"#/x/y%d"}`) + `]}`)
	}
	old := func(n int) []byte {
		return []byte(`{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{` + numbered(0, n, `"y%d":true`) + `},"allOf":[` + numbered(0, n, `{"$ref":"#/$defs/y%d"}`) + `]}`)
	}
	for _, at := range []func(int) []byte{at, old} {
		if _, err := Compile(at(223)); err != nil {
			t.Errorf("%.60s, 223 references: %v", at(223), err)
		}
		var got *TooExpensiveError
		if _, err := Compile(at(224)); !errors.As(err, &got) || got.What != "references to places that are no subschemas" {
			t.Errorf("%.60s, 224 references: %v, want a TooExpensiveError", at(224), err)
		}
	}
}

// TestInstanceBounds does the same for values.
func TestInstanceBounds(t *testing.T) {
	number := func(size int, exp string) string { // 0.000…001e20000, whose value is small enough for the strict door
		return "0." + strings.Repeat("0", size-len("0.1e")-len(exp)) + "1e" + exp
	}
	for _, c := range []struct{ what, at, beyond string }{
		{"values in an instance", `[` + strings.Repeat("1,", maxInstanceNodes-2) + `1]`, `[` + strings.Repeat("1,", maxInstanceNodes-1) + `1]`},
		{"levels of nesting", nest("[", "", "]", maxInstanceDepth), nest("[", "", "]", maxInstanceDepth+1)},
		{"significant digits in a number", strings.Repeat("7", 400), strings.Repeat("7", 401)},
		{"decimal places before or behind the point of a number", "1e10000", "1e10001"},
		{"digits in a number", number(maxNumberBytes, "12000"), number(maxNumberBytes+1, "12000")},
		{"digits in a number", number(maxNumberBytes, "20000"), number(maxNumberBytes, "20001")},
	} {
		s, err := Compile([]byte(`true`))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate([]byte(c.at)); err != nil {
			t.Errorf("%s, at the bound: %v", c.what, err)
		}
		var got *TooExpensiveError
		if err := s.Validate([]byte(c.beyond)); !errors.As(err, &got) || got.What != c.what {
			t.Errorf("%s, beyond the bound: %v, want a TooExpensiveError", c.what, err)
		}
	}
}

// TestStepBound finds the longest array that may be checked and wants the steps for it to be all that there are but less
// than one element takes.
func TestStepBound(t *testing.T) {
	for _, schema := range []string{
		`{"items":{"type":"string","minLength":1}}`, `{"items":{"anyOf":[{"type":"string"},{"type":"integer"}]}}`,
		`{"items":{"pattern":"^(a|b)*c"}}`, `{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"enum":["a","b"]}}}`,
	} {
		s, err := Compile([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		left := func(n int) int {
			m := meter{g: s.graph, left: maxSteps}
			m.spend(s.graph.root, slices.Repeat([]any{"abc"}, n), 1)
			return m.left
		}
		instance := func(n int) []byte { return []byte(`[` + joined(n, func(int) string { return `"abc"` }) + `]`) }
		n := 1
		for step := 1 << 16; step > 0; step /= 2 {
			if left(n+step) >= 0 {
				n += step
			}
		}
		if each := left(10) - left(11); left(n) < 0 || left(n) >= each {
			t.Fatalf("%s: %d steps left for %d elements of %d steps", schema, left(n), n, each)
		}
		var refused *TooExpensiveError
		if err := s.Validate(instance(n)); errors.As(err, &refused) {
			t.Errorf("%s: %d elements: %v, want a verdict", schema, n, err)
		}
		if err := s.Validate(instance(n + 1)); !errors.As(err, &refused) || refused.What != "steps in one validation" {
			t.Errorf("%s: %d elements: %v, want a TooExpensiveError", schema, n+1, err)
		}
	}
}

// TestBoundsAreDocumented looks for every bound in its row of docs/schema-limits.md.
func TestBoundsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema-limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	grouped := func(n int) string {
		s := fmt.Sprint(n)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	}
	for row, bounds := range map[string][]int{
		"size":                     {maxSchemaBytes},
		"nesting of the JSON text": {maxSchemaDepth},
		"values in the JSON text, names included":      {maxSchemaNodes},
		"digits of all numbers, exponents written out": {maxNumberSum},
		"subschemas":                             {maxSubschemas},
		"pointers to all subschemas together":    {maxPointerSum},
		"`$id`, `$anchor`, `$dynamicAnchor`":     {maxResources},
		"one `$id` or reference":                 {maxURI},
		"comparisons among the values of `enum`": {maxEnumSteps},
		"references to places where the dialect has no schema, times subschemas": {maxFarTargets},
		"one pattern":              {maxPatternBytes},
		"all patterns":             {maxPatternTotal, maxProgram},
		"subschemas for one value": {maxInPlace},
		"values, names included":   {maxInstanceNodes},
		"nesting":                  {maxInstanceDepth},
		"one number":               {strictjson.MaxDigits, strictjson.MaxExponent, maxNumberBytes},
		"steps":                    {maxSteps},
	} {
		_, cell, ok := strings.Cut(string(doc), "\n| "+row+" | ")
		cell, _, _ = strings.Cut(cell, " |")
		for _, n := range bounds {
			if !ok || !strings.Contains(cell, grouped(n)) {
				t.Errorf("row %q says %q, want %s", row, cell, grouped(n))
			}
		}
	}
	if kept := fmt.Sprintf("at most %s and an estimated %d MiB", grouped(maxCached), maxCachedBytes>>20); !strings.Contains(string(doc), kept) {
		t.Errorf("docs/schema-limits.md does not say %q", kept)
	}
}
