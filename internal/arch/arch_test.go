package arch

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const (
	importsMode = packages.NeedName | packages.NeedFiles | packages.NeedImports
	// Without NeedDeps the types of imported packages come from the build cache.
	typesMode = importsMode | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax
)

func load(t *testing.T, mode packages.LoadMode, overlay map[string][]byte, patterns ...string) []*packages.Package {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	abs := map[string][]byte{}
	for name, src := range overlay {
		abs[filepath.Join(root, filepath.FromSlash(name))] = src
	}
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Dir: root, Overlay: abs}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			t.Fatalf("%s: %v", p.PkgPath, e)
		}
	}
	if len(pkgs) == 0 {
		t.Fatal("no packages loaded")
	}
	return pkgs
}

func TestDrawing(t *testing.T) {
	for _, fault := range Imports(load(t, importsMode, nil, "./...")) {
		t.Error(fault)
	}
	var patterns []string
	for _, p := range sessionless {
		patterns = append(patterns, "./"+p)
	}
	for _, fault := range Sessions(load(t, typesMode, nil, patterns...)) {
		t.Error(fault)
	}
}

// TestDrawingCatches adds faulty files, which exist for the loader alone, and wants each fault named: the checks above bite.
func TestDrawingCatches(t *testing.T) {
	tests := []struct{ name, file, src, want string }{
		{
			"proxy imports the client", "internal/proxy/archfault1.go",
			`package proxy
import "github.com/mcpcat-dev/mcpcat/mcp"
var _ = mcp.Connect`,
			"internal/proxy imports mcp",
		},
		{
			"proxy uses a connecting function", "internal/proxy/archfault2.go",
			`package proxy
import "github.com/mcpcat-dev/mcpcat/mcp"
var _ = mcp.NewStdioTransport`,
			"uses mcp.NewStdioTransport",
		},
		{
			"proxy holds a client", "internal/proxy/archfault3.go",
			`package proxy
import m "github.com/mcpcat-dev/mcpcat/mcp"
type archFault struct{ c *m.Client }`,
			"uses mcp.Client",
		},
		{
			"proxy imports a transport", "internal/proxy/archfault4.go",
			`package proxy
import _ "github.com/mcpcat-dev/mcpcat/internal/transport"`,
			"internal/proxy imports internal/transport",
		},
		{
			"bbolt outside its door", "internal/lock/archfault5.go",
			`package lock
import _ "go.etcd.io/bbolt"`,
			"internal/lock imports go.etcd.io/bbolt",
		},
		{
			"input and output in a pure package", "internal/plan/archfault6.go",
			`package plan
import _ "os"`,
			"internal/plan imports os",
		},
		{
			"an arrow upwards", "internal/strictjson/archfault7.go",
			`package strictjson
import _ "github.com/mcpcat-dev/mcpcat/internal/addr"`,
			"internal/strictjson imports internal/addr",
		},
	}
	overlay, patterns := map[string][]byte{}, []string{}
	for _, tt := range tests {
		overlay[tt.file] = []byte(tt.src)
		patterns = append(patterns, "./"+path.Dir(tt.file))
	}
	pkgs := load(t, typesMode, overlay, patterns...)
	faults := append(Imports(pkgs), Sessions(pkgs)...)
	for _, tt := range tests {
		if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, tt.want) }) {
			t.Errorf("%s: faults = %q, want one with %q", tt.name, faults, tt.want)
		}
	}
}

// TestTableIsExact keeps the table from allowing arrows that nothing uses any more.
func TestTableIsExact(t *testing.T) {
	used := map[string]bool{}
	for _, p := range load(t, importsMode, nil, "./...") {
		from, _ := relative(p.PkgPath)
		used[from] = true
		for path := range p.Imports {
			if to, own := relative(path); own {
				used[from+" -> "+to] = true
			}
		}
	}
	for from, tos := range arrows {
		if !used[from] {
			t.Errorf("the table names %s, which does not exist", from)
		}
		for _, to := range tos {
			if !used[from+" -> "+to] {
				t.Errorf("the table allows %s -> %s, which nothing uses", from, to)
			}
		}
	}
}
