package importer_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"golang.org/x/tools/txtar"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/importer"
)

// words are the texts that the package itself writes.
var words = sync.OnceValues(func() (string, error) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, path := range append(paths, "../catalog/url.go", "../catalog/stdio.go", "../strictjson/parse.go", "../strictjson/string.go", "../strictjson/number.go") {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return "", err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					all.WriteString(s + "\n")
				}
			}
			return true
		})
	}
	return all.String(), nil
})

// FuzzImport: whatever comes in, there are errors, or there is a catalog that loads and is formatted, and neither it nor a
// remark holds a literal that was taken for a secret.
func FuzzImport(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no fixtures: %v", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file(txtar.Parse(b), "config.json"))
	}
	for _, s := range []string{
		`{"mcpServers":{"a":{"command":"x","args":["$${A:-b}","%%{a}","${","$","%{x}"],"env":{"A":"$${B}","C":"%{D}","K":"` + "\u00e9e\u0301" + `"}}}}`,
		`{"mcpServers":{"a":{"url":"https://a.example/${X}?k=${env:Y}&token=abcdefgh#f","headers":{"Authorization":"Bearer ${Z:-zzzzzzzz}-tail"}}}}`,
		`{"mcpServers":{"a":{"url":"${A:-https://u:p@h.example}/x"},"b":{"url":"${A:-http}://h.example/x"},"c":{"url":"https://0x7f.1/x"},"d":{"url":"https://[::1]:1/"}}}`,
		`{"mcpServers":{"a":{"command":"docker","args":["run","-eA=secret-secret","--env","B=${C}","-e","D","img:1"],"env":{"A":"other-secret"}}}}`,
		`{"servers":{"a":{"command":"swordfish","env":{"swordfish":"swordfish"},"description":"swordfish"}},"inputs":[{"id":"swordfish"}]}`,
		`{"mcpServers":{"a":{"command":"x","cwd":"~/x","args":["--token","${T}","a=b"],"timeout":7,"type":"http"},}}`,
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 0 && src[0] == 'G' {
			src = generated(src[1:])
		}
		check(t, dir, src)
	})
}

// TestGenerated holds the property of FuzzImport for configs that are made of the pieces that matter.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	imported := 0
	for range 1500 {
		program := make([]byte, 120)
		for i := range program {
			program[i] = byte(r.IntN(256))
		}
		src := generated(program)
		if check(t, dir, src) {
			imported++
		}
		if t.Failed() {
			t.Fatalf("%s", src)
		}
	}
	if imported < 500 {
		t.Errorf("%d of 1500 were imported: the test shows little", imported)
	}
}

// generated makes a client config of a program of bytes: each byte chooses one piece.
func generated(program []byte) []byte {
	next := func(n int) int {
		if len(program) == 0 {
			return 0
		}
		b := int(program[0])
		program = program[1:]
		return b % n
	}
	pieces := []string{
		"", "x", "swordfish", "hunter2hunter2", "ghp_0123456789abcdefABCDEF0123", "Bearer ", "bearer abcdef123456", "${A}", "${A:-b}", "${env:TOKEN:-0123456789abcdef}", "${input:one}", "${input:two}",
		"${workspaceFolder}", "${userHome}", "${pathSeparator}", "${x.y}", "${", "}", "$", "%{", "$${A}", "/", "/data/docs", "://", "https://", "http://", "h.example", "10.0.0.1", "localhost:80", "u:p@", "?", "&k=",
		"token=", "#f", "\"", "\\", "\n", "\u202e", "e\u0301", "\u00a0", "~/", `C:\Users`, " ", "--api-key", "--api-key=", "-e", "run", "docker", "npx", "-y", "pkg@1.2.3", "production", "debug", "true", "=", "A",
	}
	raw := func() string {
		var b strings.Builder
		for range 1 + next(4) {
			b.WriteString(pieces[next(len(pieces))])
		}
		return b.String()
	}
	quoted := func(text string) string {
		b, _ := json.Marshal(text) // a text always has a JSON form
		return string(b)
	}
	word := func() string { return quoted(raw()) }
	some := func() string { return quoted(raw() + "x") }
	name := func() string {
		return []string{`"A"`, `"TOKEN"`, `"LOG_LEVEL"`, `"Authorization"`, `"X-Api-Key"`, `"MODE"`, `"b c"`, `"content-type"`, word()}[next(9)]
	}
	pairs := func() string {
		var out []string
		for range next(4) {
			out = append(out, name()+":"+[]string{word(), word(), word(), "1", "null", "true"}[next(6)])
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	list := func() string {
		var out []string
		for range next(6) {
			out = append(out, word())
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	var servers []string
	for i := range 1 + next(3) {
		fields := []string{`"command":` + some(), `"args":` + list(), `"env":` + pairs()}
		if next(2) == 0 {
			fields = []string{`"url":` + []string{some(), quoted("https://h.example/" + raw())}[next(2)], `"headers":` + pairs()}
		}
		for range next(3) {
			fields = append(fields, []string{`"type":"http"`, `"type":"sse"`, `"cwd":` + some(), `"timeout":` + []string{"5", "-1", "1e9"}[next(3)], `"disabled":true`, `"description":` + word(), `"alwaysAllow":` + list(), `"odd":` + word()}[next(8)])
		}
		servers = append(servers, []string{`"s` + strconv.Itoa(i) + `"`, word()}[next(2)]+":{"+strings.Join(fields, ",")+"}")
	}
	if next(2) == 0 {
		return []byte(`{"servers":{` + strings.Join(servers, ",") + `},"inputs":[{"id":"one","description":` + word() + `}]}`)
	}
	return []byte(`{"mcpServers":{` + strings.Join(servers, ",") + `},}`)
}

// check holds the property for one config and reports whether it was imported.
func check(t *testing.T, dir string, src []byte) bool {
	t.Helper()
	own, err := words()
	if err != nil {
		t.Fatal(err)
	}
	r, list := importer.Import(src, importer.Options{Name: "config.json", Home: "/home/anna"})
	if (r == nil) != list.HasErrors() {
		t.Fatalf("result %v, diagnostics %s", r != nil, remarks(list))
	}
	for _, d := range list {
		if d.Code == "" || d.Summary == "" || d.Detail == "" || d.Range == nil {
			t.Errorf("a remark with an empty part: %+v", d)
		}
		if offset, _, bad := diag.Concealed(d.Detail + d.Summary); bad {
			t.Errorf("a remark with a concealed character at %d: %q", offset, d.Detail)
		}
	}
	if r == nil {
		return false
	}
	_, faults := loadIn(dir, r.Text)
	for _, d := range faults {
		// Warnings of what looks like a shell line, and of what stands behind an option whose value was left out.
		if d.Severity == diag.Error || d.Code != "catalog.command" && d.Code != "catalog.literal_credential" {
			t.Fatalf("the catalog does not load: %v\n%s", d, r.Text)
		}
	}
	if again := hclwrite.Format(r.Text); !bytes.Equal(again, r.Text) {
		t.Fatalf("not formatted:\n%s", r.Text)
	}
	told := remarks(list)
	for _, v := range r.Secrets() {
		value := v.Expose()
		if strings.TrimFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) != value {
			continue // another text with the quotes, escapes and references around it can look like it
		}
		if len(value) >= 8 && !strings.Contains(own, value) &&
			(strings.Contains(string(r.Text), value) || strings.Contains(told, value)) {
			t.Fatalf("%q is a secret and stands in\n%s\n%s", value, r.Text, told)
		}
	}
	return true
}
