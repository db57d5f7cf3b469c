package cli_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/gate"
)

var codeForm = regexp.MustCompile(`^(apply|catalog|contact|digest|endpoint|fmt|gate|graph|import|init|input|lock|name|plan|schema|serve|server|show|tool|variable|verify)\.[a-z_]+$`)

// notCodes look like codes and are none.
var notCodes = map[string]bool{"catalog.hcl": true, "plan.mcpplan": true, "p.mcpplan": true}

// TestCodesAreDocumented compares the diagnostic codes in the sources with docs/errors.md, in both directions.
func TestCodesAreDocumented(t *testing.T) {
	root := filepath.Join("..", "..")
	used := map[string]string{}
	for _, r := range []gate.Reason{gate.Drift, gate.NotPinned, gate.Missing, gate.Unverified, gate.Policy, gate.Identity, gate.Secret, gate.Lock, "catalog", "agent"} {
		used["gate."+string(r)] = "gate"
	}
	for _, dir := range []string{"internal", "gate", "mcp", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil && codeForm.MatchString(s) && !notCodes[s] {
						used[s] = path
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(root, "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z]+\\.[a-z_]+)`").FindAllStringSubmatch(string(b), -1) {
		documented[m[1]] = true
	}
	if len(used) < 50 {
		t.Fatalf("found %d codes in the sources, want many more: the search is broken", len(used))
	}
	for code, path := range used {
		if !documented[code] {
			t.Errorf("%s uses the code %s, which docs/errors.md does not have", path, code)
		}
	}
	for code := range documented {
		if used[code] == "" && !notCodes[code] && codeForm.MatchString(code) {
			t.Errorf("docs/errors.md has the code %s, which nothing uses", code)
		}
	}
}
