package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// flat is a tool's inputSchema of about 1 KB, as servers write them.
var flat = []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` +
	`"owner":{"type":"string","description":"Owner of the repository","minLength":1,"maxLength":100},` +
	`"repo":{"type":"string","description":"Name of the repository","minLength":1,"maxLength":100},` +
	`"title":{"type":"string","description":"Title of the issue, shown in lists and notifications"},` +
	`"body":{"type":"string","description":"Text of the issue in Markdown; may be long"},` +
	`"labels":{"type":"array","items":{"type":"string"},"maxItems":20,"description":"Labels to set"},` +
	`"assignees":{"type":"array","items":{"type":"string"},"description":"Accounts to assign"},` +
	`"milestone":{"type":"integer","minimum":1,"description":"Number of a milestone"},` +
	`"state":{"type":"string","enum":["open","closed","draft"],"description":"State after the call"}},` +
	`"required":["owner","repo","title"],"additionalProperties":false}`)

var arguments = []byte(`{"owner":"harbour","repo":"pilotage","title":"Berth 9 is double booked","body":"Two arrivals at 14:30.",` +
	`"labels":["booking","urgent"],"assignees":["mara"],"milestone":3,"state":"open"}`)

// BenchmarkCompile compares Compile, its part before and after the compiler, and the compiler alone.
func BenchmarkCompile(b *testing.B) {
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Compile(flat); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bounds", func(b *testing.B) {
		s, err := Compile(flat)
		if err != nil {
			b.Fatal(err)
		}
		doc, _, err := decode(flat, maxSchemaDepth, maxSchemaNodes) // as the compiler alone must read it too
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := scan(doc); err != nil {
				b.Fatal(err)
			}
			if _, err := newGraph(s.compiled, nil, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("santhosh", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bare(b)
		}
	})
}

func bare(b *testing.B) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(flat)))
	if err != nil {
		b.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(location, doc); err != nil {
		b.Fatal(err)
	}
	s, err := c.Compile(location)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkValidate compares Validate with the validator alone, both from bytes.
func BenchmarkValidate(b *testing.B) {
	b.Run("validate", func(b *testing.B) {
		s, err := Compile(flat)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Validate(arguments); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("santhosh", func(b *testing.B) {
		s := bare(b)
		b.ReportAllocs()
		for b.Loop() {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(arguments)))
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Validate(v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("santhosh from a decoded value", func(b *testing.B) {
		s := bare(b)
		var v any
		dec := json.NewDecoder(strings.NewReader(string(arguments)))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Validate(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
