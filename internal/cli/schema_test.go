package cli_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcat-dev/mcpcat/docs/schema"
)

// compiled returns the schema of a kind of document; of error where the kind has none, as for a command that prints no
// document but its errors.
var compiled = func() func(kind string) (*jsonschema.Schema, error) {
	var mu sync.Mutex
	cache := map[string]*jsonschema.Schema{}
	return func(kind string) (*jsonschema.Schema, error) {
		mu.Lock()
		defer mu.Unlock()
		if schema.Title(kind) == "" {
			kind = "error"
		}
		if s := cache[kind]; s != nil {
			return s, nil
		}
		text, err := schema.Of(kind)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		c := jsonschema.NewCompiler()
		c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is loaded
		if err := c.AddResource("mem:///"+kind, doc); err != nil {
			return nil, err
		}
		s, err := c.Compile("mem:///" + kind)
		if err == nil {
			cache[kind] = s
		}
		return s, err
	}
}()

// printed are the kinds of the documents with a result that a script has printed.
type (
	printed    map[string]bool
	printedKey struct{}
)

// checkDocument holds a document that a command printed against the schema of its kind. Other output passes.
func checkDocument(ts *testscript.TestScript, out string) {
	if !strings.HasPrefix(out, "{") {
		return
	}
	var doc map[string]any
	if json.Unmarshal([]byte(out), &doc) != nil || doc["format_version"] == nil {
		return
	}
	kind, _ := doc["kind"].(string)
	s, err := compiled(kind)
	ts.Check(err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
	ts.Check(err)
	if err := s.Validate(value); err != nil {
		ts.Fatalf("the document of kind %q does not follow docs/schema/%s.schema.json, or there is none:\n%s%v", kind, kind, out, err)
	}
	value.(map[string]any)["surplus"] = true
	if s.Validate(value) == nil {
		ts.Fatalf("docs/schema/%s.schema.json allows a member that is not ours", kind)
	}
	if kinds, ok := ts.Value(printedKey{}).(printed); ok && len(doc) > 3 {
		kinds[kind] = true
	}
}

// documents wants the script to have printed a document of every kind that has a schema.
func documents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: documents")
	}
	kinds := ts.Value(printedKey{}).(printed)
	for _, kind := range schema.Kinds() {
		if kind != "error" && !kinds[kind] {
			ts.Fatalf("no command printed a document of kind %q", kind)
		}
	}
}

// TestSchemaCatches shows that the check above bites.
func TestSchemaCatches(t *testing.T) {
	s, err := compiled("version")
	if err != nil {
		t.Fatal(err)
	}
	good := `{"format_version":"1.0","kind":"version","mcpcat_version":"1","protocol":"2026-07-28","lock_format":"1.0","plan_format":"1.0","go":"go1","platform":"a/b","diagnostics":[]}`
	for _, tt := range []struct {
		doc  string
		want bool
	}{
		{good, true},
		{strings.Replace(good, `"version"`, `"verify"`, 1), false},
		{strings.Replace(good, `"1.0"`, `"2.0"`, 1), false},
		{strings.Replace(good, `"go":"go1",`, ``, 1), false},
		{strings.Replace(good, `"go":"go1"`, `"go":1`, 1), false},
		{strings.Replace(good, `[]`, `[{"severity":"info","code":"x","summary":"x","detail":"x"}]`, 1), false},
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.doc))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Validate(v) == nil; got != tt.want {
			t.Errorf("accepted: %v, want %v: %s", got, tt.want, tt.doc)
		}
	}
	if !slices.Contains(schema.Kinds(), "plan") {
		t.Error("no kind plan")
	}
}
