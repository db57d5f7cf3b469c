package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
	"github.com/mcpcat-dev/mcpcat/internal/term"
)

// TestLearnedSecretsAreHidden: what comes up while a command runs is hidden on both streams and kept out of files.
func TestLearnedSecretsAreHidden(t *testing.T) {
	dir := t.TempDir()
	text := "server \"a\" {\n  http {\n    url = \"https://a.example/mcp\"\n    auth {\n      command = [\"token\"]\n    }\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cat, diags := catalog.Load(catalog.Options{Dir: dir})
	if cat == nil {
		t.Fatal(diags)
	}
	var out, errs bytes.Buffer
	a := &app{hidden: &hidden{}, Process: &term.Process{Stdout: &out, Stderr: &errs}}
	if err := a.hide(cat); err != nil {
		t.Fatal(err)
	}
	doc := []byte(`{"x":"printed-token"}`)
	if ref := a.hidden.inFile(doc); ref != "" {
		t.Errorf("%s is found before it is known", ref)
	}
	cat.Servers[0].Learn(secret.New("printed-token", "auth.command"))
	for _, w := range []interface{ Write([]byte) (int, error) }{a.out, a.err} {
		if _, err := w.Write([]byte("a printed-token\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.flush(); err != nil {
		t.Fatal(err)
	}
	if want := "a (sensitive)\n"; out.String() != want || errs.String() != want || a.hidden.inFile(doc) != "auth.command" {
		t.Errorf("%q, %q, %q", out.String(), errs.String(), a.hidden.inFile(doc))
	}
}
