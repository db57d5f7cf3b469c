package casetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// TestClaims compares the cases on disk with the claims in the sources: a case is named by exactly one test file that
// imports this package, or it stands in unclaimed.txt.
func TestClaims(t *testing.T) {
	cases := map[string]bool{}
	matches, err := filepath.Glob(filepath.Join(Root(), "*", "*", "case.md"))
	if err != nil || len(matches) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	for _, m := range matches {
		rel, err := filepath.Rel(Root(), filepath.Dir(m))
		if err != nil {
			t.Fatal(err)
		}
		cases[filepath.ToSlash(rel)] = true
	}

	claims := map[string][]string{}
	repo := filepath.Join(Root(), "..", "..")
	err = filepath.WalkDir(repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || (strings.HasPrefix(d.Name(), ".") && path != repo)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		for _, name := range claimsIn(t, path, cases) {
			claims[name] = append(claims[name], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	listed := readList(t)
	var unclaimed []string
	for name := range cases {
		switch n := len(claims[name]); {
		case n > 1:
			t.Errorf("case %s is claimed by %d test files, want one: %s", name, n, strings.Join(claims[name], ", "))
		case n == 0:
			unclaimed = append(unclaimed, name)
		}
	}
	sort.Strings(unclaimed)
	if got, want := strings.Join(unclaimed, "\n"), strings.Join(listed, "\n"); got != want {
		for _, name := range unclaimed {
			if !contains(listed, name) {
				t.Errorf("case %s is claimed by no test", name)
			}
		}
		for _, name := range listed {
			if !contains(unclaimed, name) {
				t.Errorf("case %s stands in unclaimed.txt, but a test claims it or it does not exist: take the line out", name)
			}
		}
	}

	if marks := os.Getenv("MCPCAT_CASE_RAN"); marks != "" {
		for name := range cases {
			if len(claims[name]) == 0 {
				continue
			}
			if _, err := os.Stat(filepath.Join(marks, strings.ReplaceAll(name, "/", "__"))); err != nil {
				t.Errorf("case %s is claimed in %s, but no test that ran used it", name, claims[name][0])
			}
		}
	}
}

func claimsIn(t *testing.T, path string, cases map[string]bool) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imports := false
	for _, im := range file.Imports {
		imports = imports || strings.HasSuffix(im.Path.Value, `/internal/casetest"`)
	}
	if !imports {
		return nil
	}
	seen := map[string]bool{}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if s, err := strconv.Unquote(lit.Value); err == nil && cases[s] && !seen[s] {
			seen[s] = true
			names = append(names, s)
		}
		return true
	})
	return names
}

func readList(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(Root(), "unclaimed.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

func contains(list []string, s string) bool {
	i := sort.SearchStrings(list, s)
	return i < len(list) && list[i] == s
}

func TestWithIDs(t *testing.T) {
	got := string(WithIDs([]byte(`{"id":7001,"x":"7001","y":7002,"z":7099}`), "12", `"ab"`))
	if want := `{"id":12,"x":"12","y":"ab","z":7099}`; got != want {
		t.Errorf("WithIDs = %s, want %s", got, want)
	}
}
