package catalog

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// The shared cases were written before the grammar, with placeholder names. Each test loads the shared bytes where
// their situation survives, and the same situation in the grammar as it is.

// load writes files into a directory and loads it, with the diagnostics as people see them.
func load(t *testing.T, files map[string]string) (*Catalog, diag.List, string) {
	t.Helper()
	c, list := Load(Options{Dir: writeFiles(t, files)})
	return c, list, rendered(t, nil, list)
}

// refused checks that the diagnostics are errors with a place and contain the texts.
func refused(t *testing.T, files map[string]string, wants ...string) {
	t.Helper()
	c, list, text := load(t, files)
	if c != nil || !list.HasErrors() {
		t.Errorf("loaded, want an error with %q", wants)
		return
	}
	for _, d := range list.Errors() {
		if d.Range == nil || d.Range.Start.Line == 0 {
			t.Errorf("no place: %v", d)
		}
	}
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the diagnostics do not contain %q:\n%s", want, text)
		}
	}
}

func accepted(t *testing.T, files map[string]string) *Catalog {
	t.Helper()
	c, _, text := load(t, files)
	if c == nil {
		t.Fatalf("refused:\n%s", text)
	}
	return c
}

func one(text string) map[string]string { return map[string]string{"catalog.hcl": text} }

func TestCaseCommandIsNotAShellLine(t *testing.T) {
	shared := string(casetest.Read(t, "catalog/command-is-not-a-shell-line", "catalog.hcl"))
	_, line, _ := strings.Cut(shared, `["./harbour-server", `)
	args, _, found := strings.Cut(line, "\n")
	if !found {
		t.Fatalf("unexpected case: %s", shared)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := accepted(t, one("server \"harbour\" {\n stdio {\n  command = \""+filepath.ToSlash(exe)+"\"\n  args = ["+args+"\n }\n}\n"))
	s := c.Servers[0].Stdio

	dir := t.TempDir()
	out := filepath.Join(dir, "args")
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir = dir
	cmd.Env = []string{"MCPCAT_CATALOG_ARGS=" + out}
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if want := "--note\n$(touch pwned); echo `id` && true"; string(got) != want {
		t.Errorf("the command got %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a shell ran the argument")
	}
}

func TestCaseCRLFHeredoc(t *testing.T) {
	lf := casetest.Read(t, "catalog/crlf-heredoc", "catalog-lf.hcl")
	crlf := casetest.Read(t, "catalog/crlf-heredoc", "catalog-crlf.hcl")
	if bytes.Equal(lf, crlf) || !bytes.Equal(normalise(crlf), lf) {
		t.Fatal("the two files do not differ in their line ends alone")
	}
	_, a, textA := load(t, one(string(lf)))
	_, b, textB := load(t, one(string(crlf)))
	if diff := cmp.Diff(a, b); diff != "" || textA != textB {
		t.Errorf("diagnostics of the shared files (-lf +crlf)\n%s", diff)
	}

	text := "locals {\n  note = <<EOT\nOperated by the port office.\nAsk before changing.\nEOT\n}\n" +
		"server \"harbour\" {\n  description = local.note\n  stdio {\n    command = \"./harbour-server\"\n    args = [local.note]\n  }\n}\n"
	c1 := accepted(t, one(text))
	c2 := accepted(t, one(strings.ReplaceAll(text, "\n", "\r\n")))
	if dump(c1) != dump(c2) || c1.Digest != c2.Digest || c1.Servers[0].Description != c2.Servers[0].Description {
		t.Errorf("LF and CR LF differ:\n%s\n%s", dump(c1), dump(c2))
	}
	if want := "Operated by the port office.\nAsk before changing.\n"; c2.Servers[0].Description != want {
		t.Errorf("description %q, want %q", c2.Servers[0].Description, want)
	}
}

func TestCaseEmptyCatalogDirectory(t *testing.T) {
	comments := string(casetest.Read(t, "catalog/empty-catalog-directory", "catalog.hcl"))
	for name, dir := range map[string]string{
		"empty":    t.TempDir(),
		"mistyped": filepath.Join(t.TempDir(), "catlog"),
		"no match": writeFiles(t, map[string]string{"catalog.hcl.example": comments, ".catalog.hcl": comments, "catalog.lock.db": "x"}),
	} {
		if c, list := Load(Options{Dir: dir}); c != nil || len(list) != 1 || list[0].Code != "catalog.none" {
			t.Errorf("%s: %v, %v, want the error catalog.none", name, c, list)
		}
	}
	if c := accepted(t, one(comments)); len(c.Servers)+len(c.Agents) != 0 {
		t.Errorf("comments declare something: %s", dump(c))
	}
}

func TestCaseMergeConflictMarkers(t *testing.T) {
	shared := string(casetest.Read(t, "catalog/merge-conflict-markers", "catalog.hcl"))
	refused(t, one(shared), "Unresolved merge conflict", "on catalog.hcl line 3")
	refused(t, one("#\n>>>>>>> pilot\n"), "on catalog.hcl line 2")
	accepted(t, one("# <<<<<<< not at the beginning\n"))
}

func TestCaseNullValues(t *testing.T) {
	for _, file := range []string{"a.hcl", "c.hcl", "d.hcl"} {
		refused(t, one(string(casetest.Read(t, "catalog/null-values", file))), "on catalog.hcl line")
	}
	server := func(inner string) map[string]string {
		return one("server \"harbour\" {\n  " + inner + "\n}\n")
	}
	http := func(inner string) map[string]string { return server("http {\n" + inner + "\n}") }
	stdio := func(inner string) map[string]string { return server("stdio {\n" + inner + "\n}") }
	refused(t, http("url = null"), "on catalog.hcl line 3", "url is null")
	refused(t, stdio("command = null"), "on catalog.hcl line 3", "command is null")
	refused(t, stdio("command = \"x\"\nargs = [null]"), "on catalog.hcl line 4", "args[0] is null")
	refused(t, stdio("command = \"x\"\nenv = { TOKEN = null }"), "on catalog.hcl line 4", `env["TOKEN"] is null`)
	with := accepted(t, http("url = \"https://one.example/mcp\"\nheaders = null"))
	without := accepted(t, http("url = \"https://one.example/mcp\"\n"))
	if dump(with) != dump(without) {
		t.Errorf("headers = null differs from no headers:\n%s\n%s", dump(with), dump(without))
	}
}

func TestCaseRepeatedArgument(t *testing.T) {
	a := string(casetest.Read(t, "catalog/repeated-argument", "a.hcl"))
	refused(t, one(a), "Attribute redefined", "on catalog.hcl line 4", "catalog.hcl:3")
	b := string(casetest.Read(t, "catalog/repeated-argument", "b.hcl"))
	refused(t, one(b), "on catalog.hcl line 3", `"comand"`)
	c := string(casetest.Read(t, "catalog/repeated-argument", "c.hcl"))
	refused(t, one(c), "on catalog.hcl line 1", `no block type "tols"`)
	refused(t, one("server \"harbour\" {\n  stdio {\n    comand = \"./harbour-server\"\n  }\n}\n"), "on catalog.hcl line 3", `Did you mean "command"?`)
	refused(t, one("servr \"tides\" {\n}\n"), `Did you mean "server"?`)
}

func TestCaseSameLabelInTwoFiles(t *testing.T) {
	a := string(casetest.Read(t, "catalog/same-label-in-two-files", "a.hcl"))
	b := string(casetest.Read(t, "catalog/same-label-in-two-files", "b.hcl"))
	refused(t, map[string]string{"a.catalog.hcl": a, "b.catalog.hcl": b}, "Declared twice", "on b.catalog.hcl line 1", "a.catalog.hcl:1")
	c := string(casetest.Read(t, "catalog/same-label-in-two-files", "c.hcl"))
	refused(t, one(c), "on catalog.hcl line")
	// What c.hcl is about, a tool declared twice, in the grammar as it is.
	refused(t, one("server \"harbour\" {\n  http { url = \"https://one.example/mcp\" }\n  tools = [\n    \"tides\",\n    \"tides\",\n  ]\n}\n"),
		"Tool listed twice", "on catalog.hcl line 5", "catalog.hcl:4")
}

func TestCaseSecretNextToATypeError(t *testing.T) {
	a := string(casetest.Read(t, "catalog/secret-next-to-a-type-error", "a.hcl"))
	b := string(casetest.Read(t, "catalog/secret-next-to-a-type-error", "b.hcl"))
	grammar := func(inner string) string {
		return "server \"harbour\" {\n  http {\n    url = \"https://one.example/mcp\"\n" + inner + "  }\n" + "}\n"
	}
	for name, text := range map[string]string{
		"timeout_ms": a, "headers": b,
		"call":       "server \"harbour\" {\n  http { url = \"https://one.example/mcp\" }\n  timeouts {\n    call = \"Bearer tok-4e0b\"\n  }\n}\n",
		"headers[0]": grammar("    headers = [\"Authorization: Bearer tok-9d2c\"]\n"),
		"bearer":     grammar("    auth {\n      bearer = [\"tok-9d2c\"]\n    }\n"),
		"allow":      grammar("    egress {\n      allow_private = \"tok-9d2c\"\n    }\n"),
		"url":        "server \"harbour\" {\n  http {\n    url = {\n      a = \"tok-9d2c\"\n    }\n  }\n}\n",
	} {
		refused(t, one(text), "on catalog.hcl line")
		_, list, shown := load(t, one(text))
		shown += list.Error()
		for _, secret := range []string{"tok-4e0b", "tok-9d2c"} {
			if strings.Contains(shown, secret) {
				t.Errorf("%s: %s is printed:\n%s", name, secret, shown)
			}
		}
	}
	refused(t, one(grammar("    headers = [\"x\"]\n")), "on catalog.hcl line 4", "headers is a list")
}

func TestCaseUTF8BOM(t *testing.T) {
	shared := string(casetest.Read(t, "catalog/utf8-bom", "catalog.hcl"))
	const bom = "\ufeff"
	if !strings.HasPrefix(shared, bom) {
		t.Fatal("the case has no byte order mark")
	}
	_, a, textA := load(t, one(shared))
	_, b, textB := load(t, one(strings.TrimPrefix(shared, bom)))
	if diff := cmp.Diff(a, b); diff != "" || textA != textB {
		t.Errorf("diagnostics (-with +without)\n%s", diff)
	}
	text := "server \"harbour\" {\n  stdio {\n    command = \"./harbour-server\"\n  }\n  tools = [\"tide_table\"]\n}\n"
	with, without := accepted(t, one(bom+text)), accepted(t, one(text))
	if dump(with) != dump(without) || with.Digest != without.Digest {
		t.Errorf("with a byte order mark:\n%s\nwithout:\n%s", dump(with), dump(without))
	}
	if c := accepted(t, one(bom)); len(c.Servers) != 0 {
		t.Error("a byte order mark alone declares a server")
	}
	refused(t, one(text+bom), "U+FEFF")
}
