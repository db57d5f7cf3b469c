package mcp_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// parsed returns the package's documentation, with the examples of its tests.
func parsed(t *testing.T) *doc.Package {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, "github.com/mcpcat-dev/mcpcat/mcp")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exported calls each with every exported identifier and what is written about it.
func exported(p *doc.Package, each func(name, text string)) {
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, spec := range v.Decl.Specs {
				s := spec.(*ast.ValueSpec)
				for _, name := range s.Names {
					if name.IsExported() {
						each(name.Name, v.Doc+s.Doc.Text()+s.Comment.Text())
					}
				}
			}
		}
	}
	funcs := func(prefix string, list []*doc.Func) {
		for _, f := range list {
			each(prefix+f.Name, f.Doc)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs("", p.Funcs)
	for _, typ := range p.Types {
		each(typ.Name, typ.Doc)
		values(typ.Consts)
		values(typ.Vars)
		funcs("", typ.Funcs)
		funcs(typ.Name+".", typ.Methods)
	}
}

var docLink = regexp.MustCompile(`\[[A-Z]\w*(\.[A-Z]\w*)?\]`)

// TestEverythingIsDocumented wants a sentence about every exported identifier that begins as godoc has it.
func TestEverythingIsDocumented(t *testing.T) {
	p := parsed(t)
	if len(p.Doc) < 500 {
		t.Errorf("the package comment has %d bytes", len(p.Doc))
	}
	broken := func(name, text string) {
		for _, l := range docLink.FindAllString(string(p.Text(text)), -1) { // those that lead somewhere lose their brackets
			t.Errorf("%s: %s leads nowhere", name, l)
		}
	}
	broken("package comment", p.Doc)
	n := 0
	exported(p, func(name, text string) {
		n++
		broken(name, text)
		short := name[strings.LastIndexByte(name, '.')+1:]
		if strings.TrimSpace(text) == "" {
			t.Errorf("%s is not documented", name)
		} else if ast.IsExported(short) && strings.Contains(name, ".") && !strings.HasPrefix(text, short+" ") {
			t.Errorf("the comment of %s begins %.40q", name, text)
		}
	})
	if n < 200 {
		t.Errorf("%d identifiers were found", n)
	}
}

// TestExamples wants examples that are run, of all that the guide is about.
func TestExamples(t *testing.T) {
	got := map[string]bool{}
	for _, e := range examples(t) {
		if e.Output == "" {
			t.Errorf("Example%s has no output", e.Name)
		}
		got[e.Name] = true
	}
	for _, want := range []string{
		"Connect", "NewStreamableHTTPTransport", "Client_Discovery", "Client_Tools", "Client_ListTools", "Client_SnapshotTools", "Client_CallTool",
		"Client_CallTool_round", "Client_ReadResource", "Client_GetPrompt", "Client_Complete", "Client_Listen", "Client_Call", "RegisterExtension",
		"NewRegistryBuilder", "ComputeSnapshotDigest", "RequestMeta", "TimeoutError", "ProtocolError", "Delivered", "WithLimits",
	} {
		if !got[want] {
			t.Errorf("there is no Example%s", want)
		}
	}
}

// examples returns the examples of the package.
func examples(t *testing.T) []*doc.Example {
	t.Helper()
	p := parsed(t)
	all := append([]*doc.Example(nil), p.Examples...)
	for _, f := range p.Funcs {
		all = append(all, f.Examples...)
	}
	for _, typ := range p.Types {
		all = append(all, typ.Examples...)
		for _, f := range append(append([]*doc.Func(nil), typ.Funcs...), typ.Methods...) {
			all = append(all, f.Examples...)
		}
	}
	return all
}

// bodies returns the lines of the bodies of all examples of the package, without their common indentation, by name.
func bodies(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("example*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Example") {
				body := string(src[fset.Position(fn.Body.Lbrace).Offset+1 : fset.Position(fn.Body.Rbrace).Offset])
				out[fn.Name.Name] = strings.ReplaceAll(body, "\n\t", "\n")
			}
		}
	}
	return out
}

var (
	goBlock = regexp.MustCompile("(?s)(?:<!-- (Example\\w*) -->\n)?```go\n(.*?)```")
	link    = regexp.MustCompile(`\]\(([^):#]+)\)`)
)

// TestGuide holds docs/mcp.md against the examples, which the tests run: each piece of code stands in the one that is
// named above it, line for line. What it links to is there.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	code := bodies(t)
	blocks := goBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 12 {
		t.Errorf("%d pieces of code, want at least 12", len(blocks))
	}
	for _, b := range blocks {
		if name, snippet := b[1], b[2]; name == "" || !strings.Contains(code[name], "\n"+snippet) {
			t.Errorf("this does not stand in %q:\n%s", name, snippet)
		}
	}
	exported(parsed(t), func(name, _ string) {
		receiver, want, isMethod := strings.Cut(name, ".")
		switch {
		case isMethod && (receiver == "Client" || receiver == "Subscription"):
		case !isMethod && (strings.HasSuffix(name, "Error") && name != "LogError" || strings.HasPrefix(name, "With") || strings.HasPrefix(name, "New")):
			want = name
		default:
			return
		}
		if !regexp.MustCompile(`\b` + want + `\b`).Match(text) {
			t.Errorf("the guide does not name %s", name)
		}
	})
	for _, l := range link.FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join("..", "docs", l[1])); err != nil {
			t.Errorf("link: %v", err)
		}
	}
}
