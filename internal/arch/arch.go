// Package arch holds the drawing of docs/architecture.md as a table and reports every arrow that the table lacks.
//
// It is for the project's own tests, not for the product. Change the table, the drawing in docs/architecture.md and the
// package comments together.
package arch

import (
	"fmt"
	"go/ast"
	"go/types"
	"sort"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Module is the import path of the product.
const Module = "github.com/mcpcat-dev/mcpcat"

// arrows says which packages of the module each package may import, all paths relative to the module. Imports of tests
// are not counted: a test may look at any layer.
var arrows = map[string][]string{
	"cmd/mcpcat": {"internal/cli", "internal/term"},

	"internal/cli": {
		"docs/schema", "gate", "internal/addr", "internal/catalog", "internal/contact", "internal/diag", "internal/digest", "internal/gitrepo", "internal/importer", "internal/lock", "internal/lock/boltfile",
		"internal/observe", "internal/plan", "internal/proxy", "internal/secret", "internal/strictjson", "internal/surface", "internal/term", "internal/upstream",
		"internal/view",
	},
	"internal/view":    {"internal/addr", "internal/catalog", "internal/diag", "internal/digest", "internal/importer", "internal/lock", "internal/plan", "internal/strictjson", "internal/surface"},
	"internal/term":    {"internal/procs"},
	"internal/gitrepo": {"internal/procs"},
	"internal/contact": {"internal/catalog", "internal/digest", "internal/lock", "internal/strictjson"},

	"internal/observe":  {"internal/catalog", "internal/digest", "internal/strictjson", "internal/surface", "internal/upstream", "mcp"},
	"internal/importer": {"internal/addr", "internal/catalog", "internal/diag", "internal/secret", "internal/strictjson"},
	"internal/proxy":    {"gate", "internal/jsonrpc", "internal/mcpheader", "internal/strictjson"},

	"gate": {
		"internal/addr", "internal/catalog", "internal/digest", "internal/jsonrpc", "internal/lock", "internal/lock/boltfile", "internal/schema",
		"internal/secret", "internal/strictjson", "internal/upstream", "mcp",
	},

	"internal/plan": {
		"internal/addr", "internal/catalog", "internal/diag", "internal/digest", "internal/lock", "internal/schema", "internal/secret",
		"internal/strictjson", "internal/surface",
	},

	"internal/catalog":       {"internal/addr", "internal/diag", "internal/digest", "internal/schema", "internal/secret", "internal/strictjson"},
	"internal/lock":          {"internal/addr", "internal/diag", "internal/digest", "internal/strictjson"},
	"internal/lock/boltfile": {"internal/lock"},
	"internal/surface":       {"internal/addr", "internal/digest", "internal/strictjson"},
	"internal/addr":          {},
	"internal/diag":          {},
	"internal/secret":        {},

	"internal/upstream":   {"internal/catalog", "internal/diag", "internal/digest", "internal/secret", "internal/transport", "mcp"},
	"mcp":                 {"internal/digest", "internal/jsonrpc", "internal/mcpheader", "internal/schema", "internal/strictjson", "internal/transport"},
	"internal/transport":  {"internal/jsonrpc", "internal/mcpheader", "internal/procs", "internal/strictjson"},
	"internal/procs":      {},
	"internal/jsonrpc":    {"internal/strictjson"},
	"internal/mcpheader":  {"internal/strictjson"},
	"internal/schema":     {"internal/strictjson"},
	"internal/digest":     {"internal/strictjson"},
	"internal/strictjson": {},

	"docs/schema": {},

	"internal/arch":     {},
	"internal/casetest": {},
	"internal/mcptest":  {"internal/strictjson"},

	"internal/procs/procstest": {},
}

// owners says which packages may import a library; every other package of the module may not.
var owners = map[string][]string{
	"go.etcd.io/bbolt":                         {"internal/lock/boltfile"},
	"github.com/hashicorp/hcl/v2":              {"internal/catalog", "internal/importer"},
	"github.com/zclconf/go-cty":                {"internal/catalog"},
	"github.com/santhosh-tekuri/jsonschema/v6": {"internal/schema"},
	"github.com/tmaxmax/go-sse":                {"internal/transport"},
	"github.com/urfave/cli/v3":                 {"internal/cli"},
	"github.com/vbauerster/mpb/v8":             {"internal/term"},
	"golang.org/x/net":                         {"internal/upstream"}, // what the proxy variables of the environment mean
	"golang.org/x/tools":                       {"internal/arch"},
	"os/exec":                                  {"internal/transport", "internal/contact", "internal/gitrepo", "internal/procs/procstest"}, // contact looks a command up and starts none
	"github.com/modelcontextprotocol/go-sdk":   {},
	"github.com/mark3labs/mcp-go":              {},
}

// pure packages decide and do no input or output.
var pure = []string{"internal/strictjson", "internal/digest", "internal/jsonrpc", "internal/mcpheader", "internal/addr", "internal/diag", "internal/secret", "internal/surface", "internal/lock", "internal/plan", "internal/importer"}

var impure = []string{"os", "os/exec", "net", "net/http", "log", "time/tzdata", "syscall"}

// sessionless packages reach upstream servers through gate or observe alone. They may not name, hold or be handed a
// client, a transport or a function that makes one.
var sessionless = []string{"internal/proxy", "internal/cli"}

// Imports reports every import of the loaded packages that the tables do not allow, one line each, sorted.
func Imports(pkgs []*packages.Package) []string {
	var faults []string
	for _, p := range pkgs {
		from, ok := relative(p.PkgPath)
		if !ok {
			continue
		}
		allowed, known := arrows[from]
		if !known {
			faults = append(faults, fmt.Sprintf("%s is not in the drawing", from))
			continue
		}
		for path := range p.Imports {
			if to, own := relative(path); own {
				if !contains(allowed, to) {
					faults = append(faults, fmt.Sprintf("%s imports %s", from, to))
				}
				continue
			}
			for library, users := range owners {
				if (path == library || strings.HasPrefix(path, library+"/")) && !contains(users, from) {
					faults = append(faults, fmt.Sprintf("%s imports %s", from, path))
				}
			}
			if contains(pure, from) && contains(impure, path) {
				faults = append(faults, fmt.Sprintf("%s imports %s, but does no input or output", from, path))
			}
		}
	}
	sort.Strings(faults)
	return faults
}

// Sessions reports every use of an upstream session in the sessionless packages: an identifier of package mcp or
// internal/transport, or an expression whose type is one of theirs, however it was reached.
func Sessions(pkgs []*packages.Package) []string {
	seen := map[string]bool{}
	for _, p := range pkgs {
		from, ok := relative(p.PkgPath)
		if !ok || !contains(sessionless, from) {
			continue
		}
		note := func(n ast.Node, what string) {
			pos := p.Fset.Position(n.Pos())
			seen[fmt.Sprintf("%s:%d: uses %s", from, pos.Line, what)] = true
		}
		for id, obj := range p.TypesInfo.Uses {
			if session(obj.Pkg()) {
				note(id, obj.Pkg().Name()+"."+obj.Name())
			}
		}
		for expr, tv := range p.TypesInfo.Types {
			if name := sessionType(tv.Type); name != "" {
				note(expr, name)
			}
		}
	}
	faults := make([]string, 0, len(seen))
	for f := range seen {
		faults = append(faults, f)
	}
	sort.Strings(faults)
	return faults
}

func session(p *types.Package) bool {
	if p == nil {
		return false
	}
	path, ok := relative(p.Path())
	return ok && (path == "mcp" || path == "internal/transport")
}

func sessionType(t types.Type) string {
	for {
		switch u := t.(type) {
		case *types.Pointer:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		case *types.Chan:
			t = u.Elem()
		case *types.Map:
			t = u.Elem()
		case *types.Named:
			if session(u.Obj().Pkg()) {
				return u.Obj().Pkg().Name() + "." + u.Obj().Name()
			}
			return ""
		default:
			return ""
		}
	}
}

func relative(path string) (string, bool) {
	if path == Module {
		return ".", true
	}
	return strings.CutPrefix(path, Module+"/")
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}
