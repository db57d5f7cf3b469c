package catalog

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

func TestExampleLoads(t *testing.T) {
	text, err := os.ReadFile("../../catalog.hcl.example")
	if err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, one(string(text)))
	env := map[string]string{"MCPCAT_VAR_github_token": "canary-g", "FILES_API_KEY": "canary-f", "LEDGER_KEY": "canary-l", "CALENDAR_SECRET": "canary-c"}
	c, list := Load(Options{Dir: dir, Version: "0.1.0", Lookup: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
	if len(list) > 0 {
		t.Fatalf("diagnostics: %v", list)
	}
	if a := c.Agent("support_bot"); a == nil || len(a.Tools) != 4 {
		t.Errorf("support_bot: %+v", a)
	}
	if s := c.Server(addr.Server{Label: "files"}); s == nil || s.Name != "handbook" || s.Stdio.Env[0].Value.Expose() != "canary-f" {
		t.Errorf("server.files: %+v", s)
	}
	if got := len(c.Secrets()); got < 2 {
		t.Errorf("%d secrets, want both", got)
	}
	if c.Server(addr.Server{Label: "none"}) != nil || c.Agent("none") != nil {
		t.Error("found what is not declared")
	}
}

// TestDocumentedSyntax loads every hcl fence of docs/language.md. A fence with a comment "error: CODE" on its first line
// must be refused with that code; the others must load.
func TestDocumentedSyntax(t *testing.T) {
	text, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	fences := regexp.MustCompile("(?ms)^```hcl\n(.*?)^```$").FindAllSubmatchIndex(text, -1)
	if len(fences) < 10 {
		t.Fatalf("docs/language.md has %d fences, want at least 10", len(fences))
	}
	if n := bytes.Count(text, []byte("```hcl")); n != len(fences) {
		t.Errorf("%d fences begin with ```hcl, %d were understood", n, len(fences))
	}
	fixtures := tlsFixtures(t)
	for _, f := range fences {
		body := string(text[f[2]:f[3]])
		line := bytes.Count(text[:f[0]], []byte("\n")) + 1
		files := one(body)
		files["texts/handbook.txt"] = "How we work.\n"
		files["tls/acme-ca.pem"], files["tls/mcpcat.pem"] = fixtures["tls/ca.pem"], fixtures["tls/chain.pem"]
		c, list := Load(Options{Dir: writeFiles(t, files), AllowMissingSecrets: true, Version: "0.1.0"})
		if code, isError := strings.CutPrefix(strings.SplitN(body, "\n", 2)[0], "# error: "); isError {
			if c != nil || !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == code }) {
				t.Errorf("docs/language.md:%d: got %v, want the error %s", line, list, code)
			}
			continue
		}
		if len(list) > 0 {
			t.Errorf("docs/language.md:%d: %v", line, list)
		}
	}
	l := &loader{budget: &budget{}}
	if names := "Functions: `" + strings.Join(keys(l.functions()), " ") + "`."; !strings.Contains(strings.Join(strings.Fields(string(text)), " "), names) {
		t.Errorf("docs/language.md does not say: %s", names)
	}
}

// TestDocumentedCodes holds docs/language.md against the codes that the sources use.
func TestDocumentedCodes(t *testing.T) {
	doc, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`"((?:catalog|variable|name|endpoint)\.[a-z_]+)"`)
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllSubmatch(src, -1) {
			if s := string(m[1]); s != "catalog.hcl" {
				used[s] = true
			}
		}
	}
	if len(used) < 20 {
		t.Fatalf("found %d codes", len(used))
	}
	for c := range used {
		if !bytes.Contains(doc, []byte("`"+c+"`")) {
			t.Errorf("docs/language.md does not list the code %s", c)
		}
	}
}

// TestValuesLeaveCtyInOnePlace looks for the methods that panic on unexpected values, or print them, outside val.go.
func TestValuesLeaveCtyInOnePlace(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch sel.Sel.Name {
			case "AsString", "AsBigFloat", "AsValueMap", "AsValueSlice", "GoString":
				if seen++; p != "val.go" {
					t.Errorf("%s uses %s", p, sel.Sel.Name)
				}
			}
			return true
		})
	}
	if seen == 0 {
		t.Error("found no use at all")
	}
}

func TestFilesThatAreNotRead(t *testing.T) {
	outside := writeFiles(t, map[string]string{"x.hcl": "# outside\n"})
	link := func(dir string) {
		if err := os.Symlink(filepath.Join(outside, "x.hcl"), filepath.Join(dir, "x.catalog.hcl")); err != nil {
			t.Skip(err)
		}
	}
	for name, prepare := range map[string]func(dir string){
		"link out of the directory": link,
		"directory":                 func(dir string) { _ = os.Mkdir(filepath.Join(dir, "x.catalog.hcl"), 0o755) },
		"not UTF-8":                 func(dir string) { _ = os.WriteFile(filepath.Join(dir, "x.catalog.hcl"), []byte("# \xff\n"), 0o644) },
		"NUL":                       func(dir string) { _ = os.WriteFile(filepath.Join(dir, "x.catalog.hcl"), []byte("# \x00\n"), 0o644) },
		"lone CR":                   func(dir string) { _ = os.WriteFile(filepath.Join(dir, "x.catalog.hcl"), []byte("# a\rb\n"), 0o644) },
	} {
		dir := writeFiles(t, one(""))
		prepare(dir)
		c, list := Load(Options{Dir: dir})
		if c != nil || len(list) != 1 || list[0].Range == nil || list[0].Range.File != "x.catalog.hcl" {
			t.Errorf("%s: %v, %v, want one error at x.catalog.hcl", name, c, list)
		}
	}
	dir := writeFiles(t, one(""))
	if err := os.WriteFile(filepath.Join(dir, "inside.hcl"), []byte("locals {\n  a = 1\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("inside.hcl", filepath.Join(dir, "y.catalog.hcl")); err != nil {
		t.Skip(err)
	}
	if c, list := Load(Options{Dir: dir}); c == nil {
		t.Errorf("a link inside the directory: %v", list)
	}
}

func TestConfigDigest(t *testing.T) {
	base := map[string]string{"catalog.hcl": "variable \"a\" {}\n", "catalog.vars.hcl": "a = 1\n"}
	digestOf := func(change map[string]string) string {
		files := map[string]string{}
		for k, v := range base {
			files[k] = v
		}
		for k, v := range change {
			files[k] = v
		}
		c, list := Load(Options{Dir: writeFiles(t, files)})
		if c == nil {
			t.Fatal(list)
		}
		return c.Digest.String()
	}
	want := digestOf(nil)
	for name, change := range map[string]map[string]string{
		"nothing":       {},
		"CR LF":         {"catalog.hcl": "variable \"a\" {}\r\n"},
		"BOM":           {"catalog.vars.hcl": "\ufeffa = 1\n"},
		"another file":  {"README.md": "x", ".x.catalog.hcl": "x"},
		"not a catalog": {"x.vars.hcl": "b = 1\n"},
	} {
		if got := digestOf(change); got != want {
			t.Errorf("%s: the digest changed", name)
		}
	}
	for name, change := range map[string]map[string]string{
		"comment":    {"catalog.hcl": "variable \"a\" {} #\n"},
		"value":      {"catalog.vars.hcl": "a = 2\n"},
		"new file":   {"x.catalog.hcl": ""},
		"other name": {"x.auto.vars.hcl": ""},
	} {
		if got := digestOf(change); got == want {
			t.Errorf("%s: the digest stayed", name)
		}
	}
}

// TestPlanned loads a catalog with the values that an earlier load recorded, and nothing else to take values from.
func TestPlanned(t *testing.T) {
	text := `
variable "token" { sensitive = true }
variable "regions" { type = set(string) }
variable "shape" {
  type    = object({ a = number, b = optional(string, "x") })
  default = { a = 1e2 }
}
variable "any" { default = [1, "a", { b = null }] }
variable "none" {
  type    = string
  default = null
}
server "a" {
  http {
    url = "https://${join("-", var.regions)}.example/${var.shape.b}/${length(var.any)}"
    auth { bearer = var.token }
  }
  tools = ["x"]
}
`
	dir := writeFiles(t, one(text))
	env := map[string]string{"MCPCAT_VAR_token": "canary-t", "MCPCAT_VAR_regions": `["us", "eu"]`}
	first, list := Load(Options{Dir: dir, Lookup: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
	if first == nil {
		t.Fatal(list)
	}
	raw, err := json.Marshal(first.Variables)
	if err != nil || strings.Contains(string(raw), canary) {
		t.Fatalf("%s, %v", raw, err)
	}
	var planned []VariableValue
	if err := json.Unmarshal(raw, &planned); err != nil {
		t.Fatal(err)
	}
	again, list := Load(Options{Dir: dir, Planned: planned})
	if again == nil {
		t.Fatal(list)
	}
	if dump(again) != dump(first) {
		t.Errorf("planned:\n%s\nfirst:\n%s", dump(again), dump(first))
	}
	for name, change := range map[string]func([]VariableValue) []VariableValue{
		"one is missing": func(p []VariableValue) []VariableValue { return p[1:] },
		"one more": func(p []VariableValue) []VariableValue {
			return append(p, VariableValue{Name: "new", Value: []byte("1")})
		},
		"no longer plain": func(p []VariableValue) []VariableValue { p[0].Sensitive, p[0].Value = true, nil; return p },
		"wrong type":      func(p []VariableValue) []VariableValue { p[2].Value = []byte("5"); return p },
		"no JSON":         func(p []VariableValue) []VariableValue { p[2].Value = []byte("["); return p },
	} {
		if c, _ := Load(Options{Dir: dir, Planned: change(slices.Clone(planned))}); c != nil {
			t.Errorf("%s: loaded", name)
		}
	}
	if c, _ := Load(Options{Dir: dir, Planned: []VariableValue{}}); c != nil {
		t.Error("no values at all: loaded")
	}
}

// TestEndpointByHand checks that a Server that was not loaded has an endpoint as well.
func TestEndpointByHand(t *testing.T) {
	s := &Server{Addr: addr.Server{Label: "a"}, HTTP: &HTTP{URL: Template{PlainText("https://a.example/mcp")}}}
	want := `{"egress":{"allow_private":false},"headers":{},"transport":"http","url":"https://a.example/mcp"}`
	if got := string(s.Endpoint()); got != want {
		t.Errorf("Endpoint = %s, want %s", got, want)
	}
	if s.EndpointDigest().IsZero() {
		t.Error("no digest")
	}
}

func TestVersionAllowed(t *testing.T) {
	for _, tt := range []struct {
		constraint, version string
		want                bool
	}{
		{">= 0.1.0, < 2.0.0", "0.1.0", true},
		{">= 0.1.0, < 2.0.0", "2.0.0", false},
		{">= 0.1.0, < 2.0.0", "v1.9.9-dev", true},
		{"~> 1.2", "1.9.0", true},
		{"~> 1.2", "2.0.0", false},
		{"~> 1.2.3", "1.2.9", true},
		{"~> 1.2.3", "1.3.0", false},
		{"1.2", "1.2.0", true},
		{"= 1.2.0", "1.2.1", false},
		{"!= 1.2.0", "1.2.1", true},
		{"> 1", "1.0.0", false},
		{"<= 1", "1.0.0", true},
		{">= 99", "", true},
	} {
		got, err := versionAllowed(tt.constraint, tt.version)
		if err != nil || got != tt.want {
			t.Errorf("versionAllowed(%q, %q) = %v, %v, want %v", tt.constraint, tt.version, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "latest", "=> 1", "~~ 1", ">=", "1,,2", "-1"} {
		if _, err := versionAllowed(bad, "1.0.0"); err == nil {
			t.Errorf("versionAllowed(%q) accepted", bad)
		}
	}
}

// TestUnsaved: a file that is not written yet is read with the others, in place of one of its name, also where there is none.
func TestUnsaved(t *testing.T) {
	server := func(label string) []byte {
		return []byte("server \"" + label + "\" {\n  stdio {\n    command = \"x\"\n  }\n}\n")
	}
	dir := writeFiles(t, one(string(server("a"))))
	load := func(dir string, unsaved ...UnsavedFile) (*Catalog, diag.List) {
		return Load(Options{Dir: dir, Unsaved: unsaved})
	}
	c, list := load(dir, UnsavedFile{"more.catalog.hcl", server("b")})
	if len(list) > 0 || len(c.Servers) != 2 || !slices.Equal(c.Files, []string{"catalog.hcl", "more.catalog.hcl"}) {
		t.Errorf("beside the file: %v", list)
	}
	if c, list := load(dir, UnsavedFile{"catalog.hcl", server("b")}); len(list) > 0 || len(c.Servers) != 1 || c.Servers[0].Addr.Label != "b" {
		t.Errorf("in place of the file: %v", list)
	}
	if _, list := load(dir, UnsavedFile{"more.catalog.hcl", server("a")}); len(list) != 1 || list[0].Code != "catalog.duplicate" ||
		list[0].Range.String() != "more.catalog.hcl:1" || !strings.Contains(list[0].Detail, "catalog.hcl:1") {
		t.Errorf("declared twice: %v", list)
	}
	if c, list := load(t.TempDir(), UnsavedFile{"more.catalog.hcl", server("a")}); len(list) > 0 || len(c.Servers) != 1 {
		t.Errorf("in an empty directory: %v", list)
	}
	if _, list := load(dir, UnsavedFile{"more.catalog.hcl", []byte("server {")}); !list.HasErrors() {
		t.Error("a broken file was accepted")
	}
}
