package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// realSchemas are those of published servers; testdata/schemas/README.md says where they come from.
func realSchemas(tb testing.TB) [][]byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "schemas", "real.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	if len(lines) < 500 {
		tb.Fatalf("%d schemas, want at least 500", len(lines))
	}
	return lines
}

// sample makes a value as large as a schema invites to: all properties, three of every element, texts of 40 bytes.
func sample(doc, schema any, depth int) any {
	obj, ok := schema.(map[string]any)
	if !ok || depth == 0 {
		return "leaf"
	}
	if ref, ok := obj["$ref"].(string); ok && strings.HasPrefix(ref, "#") {
		target, _ := lookup(doc, ref[1:])
		return sample(doc, target, depth-1)
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := obj[name].([]any); ok && len(list) > 0 {
			return sample(doc, list[0], depth-1)
		}
	}
	if values, ok := obj["enum"].([]any); ok && len(values) > 0 {
		return values[0]
	}
	if value, ok := obj["const"]; ok {
		return value
	}
	types, ok := obj["type"].([]any)
	if !ok {
		types = []any{obj["type"]}
	}
	switch types[0] {
	case "array":
		item := sample(doc, obj["items"], depth-1)
		return []any{item, item, item}
	case "integer", "number":
		return json.Number("12")
	case "boolean":
		return true
	case "null":
		return nil
	case "string":
		return strings.Repeat("text", 10)
	}
	value := map[string]any{}
	properties, _ := obj["properties"].(map[string]any)
	for name, sub := range properties {
		value[name] = sample(doc, sub, depth-1)
	}
	return value
}

// TestRealSchemasAreNotRefused compiles every schema and checks a large value under it.
func TestRealSchemasAreNotRefused(t *testing.T) {
	seen := map[string]bool{}
	conforming, largest := 0, 0
	for i, line := range realSchemas(t) {
		if seen[string(line)] {
			t.Errorf("line %d stands there twice", i+1)
		}
		seen[string(line)] = true
		s, err := Compile(line)
		if err != nil {
			t.Errorf("line %d: %v", i+1, err)
			continue
		}
		doc, _, err := decode(line, maxSchemaDepth, maxSchemaNodes)
		if err != nil {
			t.Fatal(err)
		}
		value, err := json.Marshal(sample(doc, doc, 10))
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(value))
		var bad *ValidationError
		switch err := s.Validate(value); {
		case err == nil:
			conforming++
		case !errors.As(err, &bad):
			t.Errorf("line %d on %d bytes: %v", i+1, len(value), err)
		}
	}
	t.Logf("%d of %d values conform, the largest has %d bytes", conforming, len(seen), largest)
	if conforming < len(seen)/2 { // the values are to be read, not refused at the first member
		t.Errorf("%d of %d values conform", conforming, len(seen))
	}
}

// TestRealSchemasHoldNoText looks for words that a server may have written.
func TestRealSchemasHoldNoText(t *testing.T) {
	neutral := regexp.MustCompile(`^[pv][0-9]+$`)
	var walk func(line int, v strictjson.Value, names bool)
	walk = func(line int, v strictjson.Value, names bool) {
		for name, sub := range v.Members() {
			switch {
			case names && !neutral.MatchString(name):
				t.Errorf("line %d: name %q", line, name)
			case slices.Contains([]string{"description", "title", "examples", "$comment"}, name):
				t.Errorf("line %d: keyword %s", line, name)
			case name == "enum" || name == "const" || name == "required":
				for s := range strictjson.Value("[" + string(sub) + "]").Elements() {
					texts(s, func(text string) {
						if !neutral.MatchString(text) {
							t.Errorf("line %d: %s has %q", line, name, text)
						}
					})
				}
			default:
				walk(line, sub, !names && (name == "properties" || name == "$defs" || name == "definitions"))
			}
		}
		for sub := range v.Elements() {
			walk(line, sub, false)
		}
	}
	for i, line := range realSchemas(t) {
		walk(i+1, line, false)
	}
}

func texts(v strictjson.Value, yield func(string)) {
	if s, ok := v.Text(); ok {
		yield(s)
	}
	for sub := range v.Elements() {
		texts(sub, yield)
	}
	for name, sub := range v.Members() {
		yield(name)
		texts(sub, yield)
	}
}

// BenchmarkRealSchemas compiles them all and prints how much of each bound they use.
func BenchmarkRealSchemas(b *testing.B) {
	lines := realSchemas(b)
	used := map[string][]int{}
	limits := map[string]int{
		"bytes": maxSchemaBytes, "subschemas": maxSubschemas, "bytes of pointers": maxPointerSum, "instructions in patterns": maxProgram,
		"steps in enums": maxEnumSteps, "subschemas for one value": maxInPlace, "steps for a large value": maxSteps, "µs to compile": 100_000,
	}
	for b.Loop() {
		clear(used)
		note := func(what string, n int) { used[what] = append(used[what], n) }
		for _, line := range lines {
			start := time.Now()
			s, err := Compile(line)
			if err != nil {
				b.Fatal(err)
			}
			note("µs to compile", int(time.Since(start).Microseconds()))
			doc, _, err := decode(line, maxSchemaDepth, maxSchemaNodes)
			if err != nil {
				b.Fatal(err)
			}
			found, err := scan(doc)
			if err != nil {
				b.Fatal(err)
			}
			inPlace := 0
			for _, n := range s.graph.order {
				inPlace = max(inPlace, n.inCount)
			}
			note("bytes", len(line))
			note("subschemas", found.subschemas)
			note("bytes of pointers", found.pointers)
			note("instructions in patterns", found.patterns.program)
			note("steps in enums", found.enums)
			note("subschemas for one value", inPlace)
			m := meter{g: s.graph, left: maxSteps}
			m.spend(s.graph.root, sample(doc, doc, 10), 1)
			note("steps for a large value", maxSteps-m.left)
		}
	}
	b.ReportMetric(float64(len(lines)), "schemas")
	for what, ns := range used {
		slices.Sort(ns)
		b.Logf("%-28s median %6d  95%% %6d  99%% %6d  most %6d  bound %d", what, ns[len(ns)/2], ns[len(ns)*95/100], ns[len(ns)*99/100], ns[len(ns)-1], limits[what])
	}
}
