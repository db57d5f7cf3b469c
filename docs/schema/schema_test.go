package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestSchemas(t *testing.T) {
	kinds := Kinds()
	if len(kinds) < 15 {
		t.Fatalf("%d kinds, want all: %v", len(kinds), kinds)
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			b, err := Of(kind)
			if err != nil {
				t.Fatal(err)
			}
			if Title(kind) == "" || !strings.HasPrefix(Title(kind), "mcpcat ") {
				t.Errorf("title = %q", Title(kind))
			}
			if bytes.Contains(b, []byte(".schema.json#")) {
				t.Error("it refers to another file")
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			c := jsonschema.NewCompiler()
			c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is loaded
			if err := c.AddResource("mem:///"+kind, doc); err != nil {
				t.Fatal(err)
			}
			s, err := c.Compile("mem:///" + kind)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range open("", doc) {
				t.Error(fault)
			}
			for _, bad := range []string{`{}`, `[]`, `{"format_version":"1.0","kind":"` + kind + `","diagnostics":[]}`, `{"format_version":"1.0","kind":"` + kind + `","diagnostics":[{"severity":"error","code":"x","summary":"","detail":""}],"extra":1}`} {
				v, _ := jsonschema.UnmarshalJSON(strings.NewReader(bad))
				if s.Validate(v) == nil {
					t.Errorf("accepts %s", bad)
				}
			}
			failed, _ := jsonschema.UnmarshalJSON(strings.NewReader(`{"format_version":"1.0","kind":"` + kind + `","diagnostics":[{"severity":"error","code":"x","summary":"","detail":""}]}`))
			if err := s.Validate(failed); err != nil {
				t.Errorf("refuses the document of a command that could not run: %v", err)
			}
			var again bytes.Buffer
			raw, err := files.ReadFile(kind + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Indent(&again, raw, "", "  "); err != nil || !bytes.Equal(again.Bytes(), raw) {
				t.Errorf("the file is not indented by two spaces (%v)", err)
			}
		})
	}
	if _, err := Of("nosuch"); err == nil {
		t.Error("a schema of no kind")
	}
	if Title("nosuch") != "" {
		t.Error("a title of no kind")
	}
}

// open names the objects of a schema that list their members and allow others.
func open(at string, v any) []string {
	var faults []string
	switch v := v.(type) {
	case map[string]any:
		_, lists := v["properties"]
		if closed, ok := v["additionalProperties"].(bool); lists && v["type"] == "object" && (!ok || closed) {
			faults = append(faults, fmt.Sprintf("%s is not closed", at))
		}
		if lists && v["type"] == "object" {
			for _, name := range required(v) {
				if _, ok := v["properties"].(map[string]any)[name]; !ok {
					faults = append(faults, fmt.Sprintf("%s requires %s, which it does not have", at, name))
				}
			}
		}
		for name, e := range v {
			faults = append(faults, open(at+"/"+name, e)...)
		}
	case []any:
		for i, e := range v {
			faults = append(faults, open(fmt.Sprintf("%s/%d", at, i), e)...)
		}
	}
	slices.Sort(faults)
	return faults
}

func required(v map[string]any) []string {
	var out []string
	list, _ := v["required"].([]any)
	for _, e := range list {
		out = append(out, e.(string))
	}
	return out
}
