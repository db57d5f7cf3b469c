package catalog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// childDir names the environment variable that makes the test binary load a catalog and print the codes of its errors.
const childDir = "MCPCAT_CATALOG_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
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

// child loads a catalog directory, with the file value as -var if there is one, formats its files, and prints the errors of
// loading and then its largest memory in KiB.
func child(dir string) {
	o := Options{Dir: dir, Lookup: os.LookupEnv}
	if value, err := os.ReadFile(filepath.Join(dir, "value")); err == nil {
		o.Vars = []VarSource{{Name: "x", Value: string(value)}}
	}
	_, list := Load(o)
	for _, d := range list.Errors() {
		fmt.Println(d.Code, d.Detail)
	}
	var shown strings.Builder
	if err := diag.Write(&shown, list, diag.WriteOptions{}); err != nil || shown.Len() > 100_000 {
		fmt.Println("shown", shown.Len(), err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.hcl"))
	if err != nil {
		fmt.Println("glob", err)
	}
	if len(paths) > 2 {
		paths = nil // one file is formatted at a time
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			fmt.Println("read", err)
		}
		if len(text) <= MaxFileBytes {
			Format(filepath.Base(p), text)
		}
	}
	status, _ := os.ReadFile("/proc/self/status") // Linux alone has it
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(peak)
	if len(fields) == 0 {
		fields = []string{"0"}
	}
	fmt.Println("peak", fields[0])
}

// inChild loads files in a process of its own and returns what it printed, without the memory that it took.
func inChild(t *testing.T, files map[string]string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), slowdown*20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = []string{childDir + "=" + writeFiles(t, files)}
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
	text, peak, _ := strings.Cut(string(out), "peak ")
	if kib, err := strconv.Atoi(strings.TrimSpace(peak)); err != nil || slowdown == 1 && kib > 256<<10 {
		t.Errorf("took %s KiB of memory, want at most 256 MiB", strings.TrimSpace(peak))
	}
	return text
}

func times(s string, n int) string { return strings.Repeat(s, n) }

// TestHostileTexts loads texts that overflow the stack of the parser or the evaluator, or run for minutes, if they get
// there. Each runs in a process of its own, because such a failure takes the process with it.
func TestHostileTexts(t *testing.T) {
	skipUnderRace(t)
	local := func(expr string) string { return "locals {\n  a = " + expr + "\n}\n" }
	nestedFor := func(n int) string {
		return times("[for x in [1,2,3,4,5,6,7,8,9,10] : ", n) + "1" + times("]", n)
	}
	nest := func(open, inner, shut string, n int) string { return times(open, n) + inner + times(shut, n) }
	row := "[" + times("1,", 4000) + "1]"
	for name, text := range map[string]string{
		"parentheses":           local(nest("(", "1", ")", 100_000)),
		"parentheses open":      local(times("(", 250_000)),
		"brackets":              local(nest("[", "1", "]", 100_000)),
		"braces":                local(nest("{a=", "1", "}", 60_000)),
		"templates":             local(nest(`"${`, "1", `}"`, 43_000)),
		"templates open":        local(`"` + times("${", 120_000)),
		"directives":            local(`"` + times("%{if true}", 25_000) + `"`),
		"directives in heredoc": local("<<E\n" + times("%{if true}a\n", 20_000) + "E\n"),
		"exclamation":           local(times("!", 250_000) + "true"),
		"minus":                 local(times("-", 250_000) + "1"),
		"minus with blanks":     local(times("- ", 120_000) + "1"),
		"minus in parentheses":  local(nest("-(", "1", ")", 80_000)),
		"blocks":                times("a {\n", 40_000) + times("}\n", 40_000),
		"junk":                  times("(", 250_000),
		"sum":                   local("1" + times("+1", 120_000)),
		"conjunction":           local("true" + times("&&true", 40_000)),
		"comparisons":           local("1" + times("==1", 60_000)),
		"conditionals":          local(times("true?1:", 35_000) + "1"),
		"conditionals inside":   local(nest("true?", "1", ":1", 30_000)),
		"calls":                 local(nest("upper(", `"x"`, ")", 30_000)),
		"calls of try":          local(nest("try(", "1", ")", 40_000)),
		"indexes":               local("var.x" + times("[0]", 80_000)),
		"attributes":            local("var.x" + times(".a", 100_000)),
		"splats":                local("var.x" + times("[*]", 80_000)),
		"attribute splats":      local("var.x" + times(".*", 100_000)),
		"nested for":            local(nestedFor(6)),
		"nested for in object":  local(nest("{for x in [1] : x => ", "1", "}", 4)),
		"nested for directive":  local(`"` + nest("%{for x in [1]}", "", "%{endfor}", 4) + `"`),
		"nested for in if":      local(nest("[for x in [1] : x if [", "1", "]==[1]]", 4)),
		"for in for in for":     local(nest("[for x in ", "[1]", " : x]", 4)),
		"exponent":              local(`"${1e999999999}"`),
		"digits":                local(times("9", 200_000)),
		"factors":               local("true ? 1e400" + times("*1e400", 9000) + ` : "x"`),
		"key of digits":         local("{ (1e400" + times("*1e400", 9000) + ") = 1 }"),
		"doubling":              "locals {\n  a0 = \"xxxxxxxxxxxxxxxx\"\n" + doubling(40) + "}\n",
		"squares":               "locals {\n  a0 = 1e400\n" + squares(40) + "}\n",
		"tuples":                "locals {\n  a0 = [1, 2]\n" + strings.NewReplacer(`"${`, "[", `}${`, ", ", `}"`, "]").Replace(doubling(40)) + "}\n",
		"heavy body":            local("[for i in range(1000) : [for j in range(90) : 1" + times("+1", 9000) + "]]"),
		"comparing literals":    local("[for i in range(1000) : " + row + " == " + row + "]"),
		"sorting":               "locals {\n  a = [for i in range(1000) : \"x${i}\"]\n  b = [for i in range(1000) : sort(local.a)]\n}\n",
		"sets":                  "locals {\n  a = toset([for i in range(1000) : \"x${i}\"])\n" + numbered(3000, "b%d = setsubtract(local.a, toset([\"x1\"]))\n") + "}\n",
		"for over ranges":       local("[for a in range(1000) : [for b in range(1000) : 1]]"),
		"regular expressions":   local(`[for i in range(1000) : regexall("(a?){500}a{400}", "` + times("a", 20000) + `")]`),
		"references":            "locals {\n  a = [for i in range(1000) : \"xxxxxxxxx\"]\n  b = [" + times("local.a,", 4000) + "]\n}\n",
		"types":                 "variable \"x\" {\n  type = " + nest("list(", "any", ")", 30_000) + "\n}\n",
		"types of objects":      "variable \"x\" {\n  type = " + nest("object({a=", "any", "})", 15_000) + "\n}\n",
		"default in a type":     "variable \"x\" {\n  type = object({ a = optional(list(any), [for a in " + row + " : [for b in " + row + " : 1]]) })\n}\n",
		"file":                  "#" + times("x", MaxFileBytes),
		"unknown arguments":     "server \"a\" {\n" + numbered(20_000, "a%d = 1\n") + "}\n",
		"unknown references":    "locals {\n" + numbered(9_000, "a%d = x\n") + "}\n",
		"blocks again":          times("server \"a\" {}\n", 17_000),
		"blocks of servers":     numbered(9_000, "server \"a%d\" {}\n"),
		"small blocks":          times("a{}\n", 60_000),
		"chain of locals":       "locals {\n" + numbered(9_000, "a%d = local.a%d\n") + "a9000 = 1\n}\n",
		"many locals":           "locals {\n" + numbered(10_001, "a%d = 1\n") + "}\n",
		"conflicts":             times("<<<<<<<\n", 30_000),
		"comments":              times("#\n", 131_000),
		"lines":                 times("\n", 262_000),
		"long line":             "locals { a = [" + times("[], ", 4_000) + "] }",
		"long text":             local(`"` + times("x", 262_000) + `"`),
		"long name":             local(times("x", 262_000)),
		"escapes":               local(`"` + times(`\"`, 130_000) + `"`),
		"quotes":                times(`"`, 131_000),
		"heredocs":              times("a = <<E\n", 30_000),
		"repeated arguments":    "locals {\n" + times("a = 1\n", 40_000) + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(text) > MaxFileBytes && name != "file" {
				t.Fatalf("the text has %d bytes and tests the size limit only", len(text))
			}
			out := inChild(t, one(text))
			code, _, _ := strings.Cut(out, " ")
			want := "catalog.limit"
			if other, ok := map[string]string{
				"file": "catalog.read", "unknown arguments": "catalog.unknown_argument", "unknown references": "catalog.reference",
				"blocks again": "catalog.duplicate", "chain of locals": "", "conflicts": "catalog.merge_conflict", "blocks of servers": "catalog.transport",
				"comments": "", "lines": "", "long line": "", "long text": "", "escapes": "", "long name": "catalog.reference", "quotes": "catalog.expression",
				"repeated arguments": "catalog.expression", "default in a type": "catalog.reference", "regular expressions": "catalog.expression",
			}[name]; ok {
				want = other
			}
			if code != want {
				t.Errorf("first error is %.300q, want code %s", out, want)
			}
			if n := strings.Count(out, "\n"); n > maxDiagnostics+1 {
				t.Errorf("%d diagnostics, want at most %d", n, maxDiagnostics+1)
			}
		})
	}
}

// TestHostileValues gives texts of the same kind as value of a variable, which is not bounded by the size of a file.
func TestHostileValues(t *testing.T) {
	for name, text := range map[string]string{
		"parentheses": times("(", 400_000) + "1" + times(")", 400_000), "brackets": times("[", 1_000_000), "exclamation": times("!", 1_000_000) + "true",
		"sum": "[1" + times("+1", 500_000) + "]", "conditionals": "[" + times("true?1:", 140_000) + "1]", "templates": times(`"${`, 300_000),
		"for": times("[for x in [1,2,3,4,5,6,7,8,9] : ", 4) + "1" + times("]", 4), "elements": "[" + times("1,", 9_000) + "[" + times("1,", 9_000) + "]]",
		"too long": "[" + times("1,", 600_000) + "]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := inChild(t, map[string]string{"catalog.hcl": "variable \"x\" {\n  type = list(any)\n}\n", "value": text})
			if code, _, _ := strings.Cut(out, " "); code != "catalog.limit" && !(name == "too long" && code == "catalog.text") {
				t.Errorf("first error is %.300q, want code catalog.limit", out)
			}
		})
	}
}

// TestHostileDirectory loads many files that are each within their limits.
func TestHostileDirectory(t *testing.T) {
	skipUnderRace(t)
	for name, text := range map[string]string{"lines": times("\n", 262_000), "blocks": times("a{}\n", 30_000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for i := range MaxFiles - 1 {
				files[fmt.Sprintf("f%d.catalog.hcl", i)] = text
			}
			if out := inChild(t, files); !strings.Contains(out, "catalog.limit The files have more than") {
				t.Errorf("first error is %.300q, want the limit of all files", out)
			}
		})
	}
}

// TestLargeCatalog: a catalog as large as anybody has loads within the same limits.
func TestLargeCatalog(t *testing.T) {
	files := map[string]string{}
	for f := range 10 {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, "server \"s%d_%d\" {\n  http {\n    url = \"https://s%d.example/mcp\"\n    headers = {\n      X-A = \"${local.a}-%d\"\n    }\n  }\n  tools = [\n", f, i, i, i)
			for j := range 50 {
				fmt.Fprintf(&b, "    \"tool_%d\",\n", j)
			}
			b.WriteString("  ]\n}\n")
		}
		files[fmt.Sprintf("f%d.catalog.hcl", f)] = b.String()
	}
	files["catalog.hcl"] = "locals {\n  a = \"x\"\n  r = [for i in range(400) : \"r${i}\"]\n}\nserver \"many\" {\n  for_each = toset(local.r)\n  name = \"many-${each.key}\"\n" +
		"  http {\n    url = \"https://${each.key}.example/mcp\"\n    headers = {\n      A = each.value\n      B = \"${local.a}/${each.key}\"\n    }\n  }\n  tools = [\n" + numbered(50, "    \"tool_%d\",\n") + "  ]\n}\n"
	c, list := Load(Options{Dir: writeFiles(t, files)})
	if c == nil || len(c.Servers) != 800 {
		t.Fatal(list)
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
		{"factors", local("1" + times("*1", MaxFactors)), local("1" + times("*1", MaxFactors+1))},
		{"conditionals", local(times("true?1:", 4999) + "1"), local(times("true?1:", 5000) + "1")},
		{"indexes", local(times("[", depth) + "1" + times("]", depth) + times("[0]", depth)), local("[1]" + times("[0]", 7000))},
		{"attributes", local("{a=1}.a"), local("{a=1}" + times(".a", 10_000))},
		{"calls", local(times("upper(", depth-1) + `"x"` + times(")", depth-1)), local(times("upper(", depth) + `"x"` + times(")", depth))},
		{"calls of try", local(times("try(", depth) + "1" + times(")", depth)), local(times("try(", depth+1) + "1" + times(")", depth+1))},
		{"pattern", local(`regex("` + times("a?", 500) + `", "")`), local(`regex("` + times("a?", 501) + `", "")`)},
		{"elements", local("[" + times("1,", 9_998) + "1]"), local("[" + times("1,", 9_999) + "1]")},
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

func writeFiles(t testing.TB, files map[string]string) string {
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

// TestLargeServers declares about as many tools as an expression can make, and refers to all of them in every way.
func TestLargeServers(t *testing.T) {
	skipUnderRace(t)
	const tools = 9_900
	head := `
server "a" {
  http { url = "https://a.example/mcp" }
  tools = flatten([for i in range(99) : [for j in range(100) : "tool_${i}_${j}"]])
}
toolset "all" {
  tools = [server.a]
}
`
	for _, list := range []string{
		"[server.a]", "[server.a.tool.tool_1_1, server.a]", "concat([server.a])", "[for t in server.a.tool : t]",
		"concat(toolset.all.tools, [])", "[for s in [server.a] : s]",
	} {
		c := loadText(t, head+"agent \"b\" {\n  tools = "+list+"\n}\n")
		if n := len(c.Agent("b").Tools); n != tools {
			t.Errorf("tools = %s gives %d tools, want %d", list, n, tools)
		}
	}
	many := head
	for i := range 20 {
		many += fmt.Sprintf("agent \"b%d\" {\n  toolsets = [toolset.all]\n  tools = [server.a]\n}\ntoolset \"t%d\" {\n  tools = [server.a]\n}\n", i, i)
	}
	if c := loadText(t, many); len(c.Agents) != 20 || len(c.Agents[0].Tools) != tools {
		t.Errorf("%d agents", len(c.Agents))
	}
}

// TestManyItems is one below and one above what a catalog may declare and give away.
func TestManyItems(t *testing.T) {
	skipUnderRace(t)
	text := func(instances, tools, agents int) string {
		names := make([]string, tools)
		for i := range names {
			names[i] = fmt.Sprintf("%q", fmt.Sprintf("t%d", i))
		}
		s := fmt.Sprintf("server \"a\" {\n  for_each = toset([for i in range(%d) : \"k${i}\"])\n  name = \"a-${each.key}\"\n  http { url = \"https://a.example/mcp\" }\n  tools = [%s]\n}\n", instances, strings.Join(names, ","))
		for i := range agents {
			s += fmt.Sprintf("agent \"b%d\" {\n  tools = [server.a]\n}\n", i)
		}
		return s
	}
	load := func(text string) string {
		_, list := Load(Options{Dir: writeFiles(t, one(text))})
		if err := list.Err(); err != nil {
			return err.Error()
		}
		return ""
	}
	for _, tt := range []struct {
		text string
		want string
	}{
		{text(400, 500, 0), ""},
		{strings.Replace(text(400, 500, 0), "  tools = [", "  prompts = [\"p\"]\n  tools = [", 1), "more than 200000 items"},
		{text(200, 500, 5), ""},
		{text(200, 500, 5) + "agent \"c\" {\n  tools = [server.a[\"k0\"].tool.t0]\n}\n", "more than 500000 items"},
	} {
		if got := strings.ToLower(load(tt.text)); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%.60s…: got %.200s, want %q", tt.text, got, tt.want)
		}
	}
}

// skipUnderRace leaves out what takes long in one goroutine, in which the race detector has nothing to find.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if slowdown > 1 {
		t.Skip("one goroutine: nothing for the race detector")
	}
}

// TestDeclaredLimits is one at and one above each limit of servers and agents.
func TestDeclaredLimits(t *testing.T) {
	server := func(lines string) string {
		return "server \"a\" {\n  http { url = \"https://a.example/mcp\" }\n" + lines + "\n}\n"
	}
	agent := func(line string) string { return server("") + "agent \"b\" {\n  " + line + "\n}\n" }
	for name, tt := range map[string]struct {
		text func(n int) string
		most int
	}{
		"instances": {func(n int) string {
			return server(fmt.Sprintf("name = \"a-${each.key}\"\n for_each = toset([%s])", numbered(n, `"t%d",`)))
		}, maxInstances},
		"key": {func(n int) string {
			return server(fmt.Sprintf("name = \"a-x\"\n for_each = { %s = 1 }", strings.Repeat("x", n)))
		}, 128},
		"patterns": {func(n int) string {
			return server("tools = [" + strings.ReplaceAll(numbered(n, `"t%d",`), "\",", "*\",") + "]")
		}, maxPatterns},
		"as": {func(n int) string {
			return server(fmt.Sprintf("tool \"t\" { as = %q }", strings.Repeat("x", n)))
		}, maxExposedBytes},
		"tool name":   {func(n int) string { return server(fmt.Sprintf("tool %q {}", strings.Repeat("x", n))) }, 1024},
		"rate":        {func(n int) string { return agent(fmt.Sprintf("rate = \"%d/1m\"", n)) }, maxRate},
		"concurrency": {func(n int) string { return agent(fmt.Sprintf("concurrency = %d", n)) }, maxAgentConcurrency},
	} {
		t.Run(name, func(t *testing.T) {
			for n, good := range map[int]bool{tt.most: true, tt.most + 1: false} {
				_, list := Load(Options{Dir: writeFiles(t, one(tt.text(n)))})
				// A key that is no part of the name is another fault, which both have.
				faults := 0
				for _, d := range list {
					if d.Severity == diag.Error && d.Summary != "Name without the key" {
						faults++
					}
				}
				if (faults == 0) != good {
					t.Errorf("%d: %v", n, list)
				}
			}
		})
	}
}
