package mcp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// duties says how many rows docs/spec-coverage.md has of each kind: all that bind a client.
var duties = map[string]int{
	"AUTH": 22, "HDR": 19, "MSG": 15, "HTTP": 11, "MRTR": 10, "META": 9, "INP": 8, "SUB": 7, "STDIO": 6, "TOOL": 6, "RSLT": 5, "CONT": 5,
	"SCH": 5, "EXT": 4, "ERR": 4, "SSE": 4, "CANC": 4, "PAGE": 4, "PROMPT": 4, "DISC": 3, "CACHE": 3, "RES": 3, "VER": 2, "PROG": 2,
	"LOG": 2, "ICON": 2, "STATE": 1, "COMP": 1, "DEP": 1,
}

// untested are the rows that no test shows, each of which says why.
var untested = regexp.MustCompile(`^(AUTH-\d+ not yet: .+|ICON-2 not applicable: .+)$`)

var (
	dutyRow  = regexp.MustCompile(`^\| ([A-Z]+)-(\d+) \| ([^|]+\.) \| ([a-z][^| ]*) \| ([^|]+) \|$`)
	testName = regexp.MustCompile("^`(\\w+)\\.((?:Test|Fuzz)\\w+)`$")
	wireName = regexp.MustCompile("^`wire/([\\w-]+)`$")
)

// TestSpecCoverage holds docs/spec-coverage.md against the sources: as many rows as there are duties, each id once, each
// named test and fixture there.
func TestSpecCoverage(t *testing.T) {
	text, err := os.ReadFile("../docs/spec-coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	seen, count, tests := map[string]bool{}, map[string]int{}, map[string]map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| id ") {
			continue
		}
		m := dutyRow.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("no row: %s", line)
			continue
		}
		id := m[1] + "-" + m[2]
		if seen[id] {
			t.Errorf("%s stands there twice", id)
		}
		seen[id] = true
		count[m[1]]++
		if untested.MatchString(id + " " + m[5]) {
			continue
		}
		for shown := range strings.SplitSeq(m[5], ", ") {
			switch test, fixture := testName.FindStringSubmatch(shown), wireName.FindStringSubmatch(shown); {
			case test != nil:
				if tests[test[1]] == nil {
					tests[test[1]] = testsOf(t, test[1])
				}
				if !tests[test[1]][test[2]] {
					t.Errorf("%s: there is no %s", id, shown)
				}
			case fixture != nil:
				if _, err := os.Stat(filepath.Join("..", "testdata", "wire", fixture[1]+".txtar")); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			default:
				t.Errorf("%s: %q is neither a test nor a fixture", id, shown)
			}
		}
	}
	for area, want := range duties {
		if count[area] != want {
			t.Errorf("%d rows of %s, want %d", count[area], area, want)
		}
		delete(count, area)
	}
	if len(count) > 0 {
		t.Errorf("rows of unknown kinds: %v", count)
	}
}

// testsOf returns the tests and fuzz targets of a package: mcp, gate, or one under internal.
func testsOf(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	dir := filepath.Join("..", "internal", pkg)
	if pkg == "mcp" || pkg == "gate" {
		dir = filepath.Join("..", pkg)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("package %q has no tests: %v", pkg, err)
	}
	names := map[string]bool{}
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}
