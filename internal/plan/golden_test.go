package plan_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

var update = flag.Bool("update", false, "rewrite want.txt and want.json of testdata/plan")

// TestGolden makes one plan for each file of testdata/plan and compares its text and its document.
//
// catalog.hcl is the catalog and observed.json what its servers answer, by address. pinned.json, if there, is what they
// answered when the lock was made, and pinned.hcl the catalog of that time if it was another one. Files that end in .pem
// lie beside the catalog, those that begin with pinned- did so under the rest of their name at that time. Every plan is also
// encoded, decoded, checked against the published schema and, where nothing forbids it, applied.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../../testdata/plan/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	schema := planSchema(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			section := map[string]string{}
			var now, before []txtar.File
			for _, f := range ar.Files {
				section[f.Name] = string(f.Data)
				if strings.HasSuffix(f.Name, ".pem") {
					if name, ok := strings.CutPrefix(f.Name, "pinned-"); ok {
						before = append(before, txtar.File{Name: name, Data: f.Data})
					} else {
						now = append(now, f)
					}
				}
			}
			cat, diags := load(t, section["catalog.hcl"], now...)
			var base *lock.Lock
			if src, ok := section["pinned.json"]; ok {
				then := cat
				if hcl, ok := section["pinned.hcl"]; ok {
					then, _ = load(t, hcl, before...)
				}
				base = pinned(t, then, offers(t, src))
			}
			p, err := plan.Make(plan.Input{
				Catalog: cat, Base: base, LockName: cat.Lock, Version: "0.1.0", Diagnostics: diags,
				Observed: observe(t, cat, offers(t, section["observed.json"])),
			})
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := p.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{"want.txt": textOf(t, p), "want.json": indented(t, encoded)}
			if *update {
				rewrite(t, file, ar, got)
				return
			}
			for _, name := range []string{"want.txt", "want.json"} {
				if diff := cmp.Diff(section[name], got[name]); diff != "" {
					t.Errorf("%s (-want +got, -update rewrites):\n%s", name, diff)
				}
			}
			validate(t, schema, encoded)
			roundTrip(t, p, encoded)
			if p.Blocked() == nil {
				next := apply(t, p, base, cat)
				again := makePlan(t, cat, next, offers(t, section["observed.json"]))
				if again.HasChanges() {
					t.Errorf("a second plan has changes:\n%s", textOf(t, again))
				}
			}
		})
	}
}

func textOf(t testing.TB, p *plan.Plan) string {
	t.Helper()
	var b bytes.Buffer
	if err := view.Text(&b, p, view.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func indented(t testing.TB, b []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n"
}

func rewrite(t testing.TB, file string, ar *txtar.Archive, got map[string]string) {
	t.Helper()
	var files []txtar.File
	for _, f := range ar.Files {
		if _, ok := got[f.Name]; !ok {
			files = append(files, f)
		}
	}
	for _, name := range []string{"want.txt", "want.json"} {
		files = append(files, txtar.File{Name: name, Data: []byte(got[name])})
	}
	ar.Files = files
	if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

// roundTrip reads the document back and checks that it prints the same.
func roundTrip(t testing.TB, p *plan.Plan, encoded []byte) {
	t.Helper()
	back, err := plan.Decode(append(bytes.Clone(encoded), '\n'))
	if err != nil {
		t.Fatalf("Decode(Encode(p)): %v", err)
	}
	again, err := back.Encode()
	if err != nil || !bytes.Equal(again, encoded) {
		t.Errorf("Encode(Decode(b)) is not b (%v)", err)
	}
	if diff := cmp.Diff(textOf(t, p), textOf(t, back)); diff != "" {
		t.Errorf("the plan that was read back prints otherwise:\n%s", diff)
	}
}

func planSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("../../docs/schema/plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plan.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t testing.TB, s *jsonschema.Schema, b []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("the document does not follow docs/schema/plan.schema.json: %v", err)
	}
}

// The schema refuses documents that are not plans, so that its approval above means something.
func TestSchemaRefuses(t *testing.T) {
	cat, _ := load(t, harbourHCL)
	src := string(encode(t, makePlan(t, cat, nil, harbour(berth, arrival))))
	schema := planSchema(t)
	validate(t, schema, []byte(src))
	for _, change := range [][2]string{
		{`{"agents"`, `{"extra":1,"agents"`},
		{`"kind":"plan"`, `"kind":"verify"`},
		{`"action":"add","address"`, `"action":"change","address"`},
		{`"decision":"ask"`, `"decision":"maybe"`},
		{`"digest":"sha256:`, `"digest":"sha1:`},
		{`"class":"server_added"`, `"class":"server_moved"`},
		{`"complete":true,`, ``},
		{`"status":"checked"`, `"status":"refused"`},
	} {
		edited := strings.Replace(src, change[0], change[1], 1)
		if edited == src {
			t.Fatalf("the document does not hold %s", change[0])
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(edited))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(doc) == nil {
			t.Errorf("the schema accepts %s for %s", change[1], change[0])
		}
	}
}
