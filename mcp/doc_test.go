package mcp_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
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

// TestEverythingIsDocumented wants a sentence about every exported identifier that begins as godoc has it.
func TestEverythingIsDocumented(t *testing.T) {
	p := parsed(t)
	if len(p.Doc) < 500 {
		t.Errorf("the package comment has %d bytes", len(p.Doc))
	}
	n := 0
	exported(p, func(name, text string) {
		n++
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
