package importer_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"golang.org/x/tools/txtar"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/importer"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

func file(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// load is the catalog of a text, without the values of its secrets.
func load(t *testing.T, text []byte) (*catalog.Catalog, diag.List) {
	t.Helper()
	return loadIn(t.TempDir(), text)
}

func loadIn(dir string, text []byte) (*catalog.Catalog, diag.List) {
	return catalog.Load(catalog.Options{Dir: dir, AllowMissingSecrets: true, Unsaved: []catalog.UnsavedFile{{Name: "imported.catalog.hcl", Text: text}}})
}

func remarks(list diag.List) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString(string(d.Severity) + " " + d.Code + " " + d.Range.String() + " " + d.Address + "\n    " + d.Detail + "\n")
	}
	return b.String()
}

// TestFixtures imports client configs of every kind. What comes out is a catalog that loads.
func TestFixtures(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 6 {
		t.Fatalf("%d fixtures, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			o := importer.Options{Name: "config.json", Home: "/home/anna"}
			r, list := importer.Import(file(a, "config.json"), o)
			if r == nil {
				t.Fatalf("not imported:\n%s", remarks(list))
			}
			want := &txtar.Archive{Comment: a.Comment, Files: []txtar.File{
				{Name: "config.json", Data: file(a, "config.json")}, {Name: "want.hcl", Data: r.Text}, {Name: "want.txt", Data: []byte(remarks(list))},
			}}
			if *update {
				if err := os.WriteFile(path, txtar.Format(want), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(txtar.Format(a)), string(txtar.Format(want))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			c, faults := load(t, r.Text)
			if len(faults) > 0 {
				t.Fatalf("the catalog does not load: %v\n%s", faults, r.Text)
			}
			if len(c.Servers) != len(r.Servers) {
				t.Errorf("%d servers in the catalog, %d imported", len(c.Servers), len(r.Servers))
			}
			if again := hclwrite.Format(r.Text); !bytes.Equal(again, r.Text) {
				t.Error("the text is not formatted")
			}
			if len(r.Secrets()) == 0 && !strings.Contains(path, "windows") {
				t.Error("no secret was found: the test shows nothing")
			}
			for _, v := range r.Secrets() {
				if len(v.Expose()) >= 6 && (bytes.Contains(r.Text, []byte(v.Expose())) || strings.Contains(remarks(list), v.Expose())) {
					t.Errorf("%q is in what came out", v.Expose())
				}
			}
		})
	}
}

// TestUses: what each variable is to be set to is said in words that name the place.
func TestUses(t *testing.T) {
	r, list := importer.Import([]byte(`{"servers":{"h":{"url":"https://h.example/mcp?key=abcdef","headers":{"Authorization":"Bearer tok-abc-123456","X-Id":"seventeen 17"}},
		"s":{"command":"x","env":{"ID":"eighteen 18","IN":"${input:id}"}}},"inputs":[{"id":"id"}]}`), importer.Options{Name: "c"})
	if r == nil {
		t.Fatal(remarks(list))
	}
	want := []importer.Variable{
		{Name: "h_key", Use: `url parameter "key" of server.h`},
		{Name: "h_token", Use: "bearer token of server.h"},
		{Name: "h_x_id", Use: `header "X-Id" of server.h`},
		{Name: "s_id", Use: `env "ID" of server.s`},
		{Name: "id", Use: `input "id"`},
	}
	if diff := cmp.Diff(want, r.Variables); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
