package catalog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// childDir names the environment variable that makes the test binary load a catalog and print the codes of its errors.
const childDir = "MCPCAT_CATALOG_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		_, list := Load(Options{Dir: dir, Lookup: os.LookupEnv})
		for _, d := range list.Errors() {
			fmt.Println(d.Code, d.Detail)
		}
		os.Exit(0)
	}
	if out := os.Getenv("MCPCAT_CATALOG_ARGS"); out != "" {
		// A command started as a catalog says: it writes its arguments down.
		if err := os.WriteFile(out, []byte(strings.Join(os.Args[1:], "\n")), 0o644); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func times(s string, n int) string { return strings.Repeat(s, n) }

// TestHostileTexts loads texts that overflow the stack of the parser or the evaluator, or run for minutes, if they get
// there. Each runs in a process of its own, because such a failure takes the process with it.
func TestHostileTexts(t *testing.T) {
	local := func(expr string) string { return "locals {\n  a = " + expr + "\n}\n" }
	nestedFor := func(n int) string {
		return times("[for x in [1,2,3,4,5,6,7,8,9,10] : ", n) + "1" + times("]", n)
	}
	for name, text := range map[string]string{
		"parentheses":          local(times("(", 100_000) + "1" + times(")", 100_000)),
		"parentheses open":     local(times("(", 250_000)),
		"brackets":             local(times("[", 100_000) + "1" + times("]", 100_000)),
		"braces":               local(times("{a=", 60_000) + "1" + times("}", 60_000)),
		"templates":            local(times(`"${`, 43_000) + "1" + times(`}"`, 43_000)),
		"directives":           local(`"` + times("%{if true}", 25_000) + `"`),
		"exclamation":          local(times("!", 250_000) + "true"),
		"minus":                local(times("-", 250_000) + "1"),
		"minus with blanks":    local(times("- ", 120_000) + "1"),
		"blocks":               times("a {\n", 40_000) + times("}\n", 40_000),
		"junk":                 times("(", 250_000),
		"sum":                  local("1" + times("+1", 120_000)),
		"conditionals":         local(times("true?1:", 35_000) + "1"),
		"indexes":              local("var.x" + times("[0]", 80_000)),
		"splats":               local("var.x" + times("[*]", 80_000)),
		"nested for":           local(nestedFor(6)),
		"nested for in object": local(times("{for x in [1] : x => ", 4) + "1" + times("}", 4)),
		"nested for directive": local(`"` + times("%{for x in [1]}", 4) + times("%{endfor}", 4) + `"`),
		"exponent":             local(`"${1e999999999}"`),
		"digits":               local(times("9", 200_000)),
		"doubling":             "locals {\n  a0 = \"xxxxxxxxxxxxxxxx\"\n" + doubling(40) + "}\n",
		"squares":              "locals {\n  a0 = 1e400\n" + squares(40) + "}\n",
		"file":                 "#" + times("x", MaxFileBytes),
		"unknown arguments":    "server \"a\" {\n" + numbered(20_000, "a%d = 1\n") + "}\n",
		"unknown references":   "locals {\n" + numbered(9_000, "a%d = x\n") + "}\n",
		"blocks again":         times("server \"a\" {}\n", 17_000),
		"chain of locals":      "locals {\n" + numbered(9_000, "a%d = local.a%d\n") + "a9000 = 1\n}\n",
		"many locals":          "locals {\n" + numbered(10_001, "a%d = 1\n") + "}\n",
		"conflicts":            times("<<<<<<<\n", 30_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if len(text) > MaxFileBytes && name != "file" {
				t.Fatalf("the text has %d bytes and tests the size limit only", len(text))
			}
			if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), slowdown*20*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, exe)
			cmd.Env = []string{childDir + "=" + dir}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			begin := time.Now()
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("child: %v\n%.500s", err, stderr.String())
			}
			used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			if used > slowdown*2*time.Second {
				t.Errorf("took %s of processor time, %s in all, want at most 2s", used, time.Since(begin))
			}
			code, _, _ := strings.Cut(string(out), " ")
			want := "catalog.limit"
			if other, ok := map[string]string{
				"file": "catalog.read", "unknown arguments": "catalog.unknown_argument", "unknown references": "catalog.reference",
				"blocks again": "catalog.duplicate", "chain of locals": "", "conflicts": "catalog.merge_conflict",
			}[name]; ok {
				want = other
			}
			if code != want {
				t.Errorf("first error is %.300q, want code %s", out, want)
			}
			if n := bytes.Count(out, []byte("\n")); n > maxDiagnostics+1 {
				t.Errorf("%d diagnostics, want at most %d", n, maxDiagnostics+1)
			}
		})
	}
}

// numbered repeats a line with its number and the next.
func numbered(n int, line string) string {
	var b strings.Builder
	for i := range n {
		args := []any{i, i + 1}
		fmt.Fprintf(&b, line, args[:strings.Count(line, "%d")]...)
	}
	return b.String()
}

func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  a%d = \"${local.a%d}${local.a%d}\"\n", i+1, i, i)
	}
	return b.String()
}

func squares(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  a%d = local.a%d * local.a%d\n", i+1, i, i)
	}
	return b.String()
}

// TestLimitsExactly loads what is just allowed and what is one more.
func TestLimitsExactly(t *testing.T) {
	local := func(expr string) map[string]string {
		return map[string]string{"catalog.hcl": "locals {\n  a = " + expr + "\n}\n"}
	}
	nested := func(n int) map[string]string {
		return local(times("[for x in [1] : ", n) + "1" + times("]", n))
	}
	files := func(n int) map[string]string {
		m := map[string]string{"catalog.hcl": ""}
		for i := range n - 1 {
			m[fmt.Sprintf("f%d.catalog.hcl", i)] = ""
		}
		return m
	}
	// Within the braces of the locals block.
	const depth = MaxDepth - 1
	for _, tt := range []struct {
		name          string
		fine, refused map[string]string
	}{
		{"depth", local(times("(", depth) + "1" + times(")", depth)), local(times("(", depth+1) + "1" + times(")", depth+1))},
		{"prefix operators", local(times("!", MaxPrefixOperators) + "true"), local(times("!", MaxPrefixOperators+1) + "true")},
		// n numbers take 2n-1 tokens, and the end of the line one.
		{"tokens", local("1" + times("+1", MaxExpressionTokens/2-1)), local("1" + times("+1", MaxExpressionTokens/2))},
		{"nested for", nested(MaxNestedFor), nested(MaxNestedFor + 1)},
		{"files", files(MaxFiles), files(MaxFiles + 1)},
		{"file size", map[string]string{"catalog.hcl": "#" + times("x", MaxFileBytes-1)}, map[string]string{"catalog.hcl": "#" + times("x", MaxFileBytes)}},
		{"value size", local(`join("", [for i in range(1000) : "` + times("x", 1030) + `"])`), local(`join("", [for i in range(1000) : "` + times("x", 1049) + `"])`)},
		{"range", local("range(1000)"), local("range(1001)")},
		{"exponent", local("1e400"), local("1e401")},
		{"digits", local(times("9", 400)), local(times("9", 401))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, list := Load(Options{Dir: writeFiles(t, tt.fine)}); list.HasErrors() {
				t.Errorf("just allowed: %v", list)
			}
			if _, list := Load(Options{Dir: writeFiles(t, tt.refused)}); !list.HasErrors() {
				t.Error("one more: no error")
			}
		})
	}
}

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// FuzzLoad feeds any text as a catalog: Load answers with a catalog or with errors, never with both or neither, and
// loading the same text again gives the same.
func FuzzLoad(f *testing.F) {
	example, err := os.ReadFile("../../catalog.hcl.example")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	f.Add(`server "a" { http { url = "https://${env("X")}/" } }`)
	f.Add("locals {\n a = [for x in range(3) : \"%{if x > 1}${x}%{endif}\"]\n}")
	f.Fuzz(func(t *testing.T, text string) {
		dir := writeFiles(t, map[string]string{"catalog.hcl": text})
		o := Options{Dir: dir, AllowMissingSecrets: true}
		c, list := Load(o)
		if (c == nil) != list.HasErrors() {
			t.Fatalf("catalog %v with %v", c, list)
		}
		c2, list2 := Load(o)
		if dump(c) != dump(c2) || list.Error() != list2.Error() || len(list) != len(list2) {
			t.Fatalf("loading twice: %v, then %v", list, list2)
		}
	})
}
