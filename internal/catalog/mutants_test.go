package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

const exampleFile = "../../catalog.hcl.example"

func exampleText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// uncommented brings in the arguments that stand in the example as comments, because the files that they name are not there.
func uncommented(text string) string {
	return regexp.MustCompile(`(?m)^(\s*)# (\w+\s*= )`).ReplaceAllString(text, "$1$2")
}

// withFiles is a directory with the files that the example names.
func withFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tls"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"acme-ca.pem", "mcpcat.pem"} {
		if err := os.WriteFile(filepath.Join(dir, "tls", name), []byte(tlsFixtures(t)["tls/chain.pem"]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// loadExample loads a text that is near catalog.hcl.example, in the file catalog.hcl of dir.
func loadExample(t *testing.T, dir, text string) (*Catalog, diag.List) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return loadExampleDir(dir)
}

func loadExampleDir(dir string) (*Catalog, diag.List) {
	return Load(Options{Dir: dir, AllowMissingSecrets: true, Version: "0.1.0"})
}

// site is a word of the example that can be misspelt.
type site struct {
	what string
	rng  hcl.Range // of the word
	word string
}

// sites finds every block type, argument, fixed value, reference and function of a catalog.
func sites(t *testing.T, text string) []site {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(text), "catalog.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	s := &siteFinder{text: text}
	s.body(file.Body.(*hclsyntax.Body), &BlockType{Blocks: language})
	return s.found
}

type siteFinder struct {
	text  string
	found []site
}

func (s *siteFinder) add(what string, r hcl.Range) {
	s.found = append(s.found, site{what, r, s.text[r.Start.Byte:r.End.Byte]})
}

func (s *siteFinder) body(b *hclsyntax.Body, typ *BlockType) {
	for _, a := range sortedAttributes(b) {
		if !typ.AnyArgument {
			s.add("argument", a.NameRange)
		}
		if typ != movedBlock && typ != removedBlock || a.Name != "from" { // what is not declared any more has no right spelling
			s.expression(a.Expr)
		}
		arg := typ.argument(a.Name)
		if arg == nil {
			continue
		}
		values := arg.Values
		switch a.Name {
		case "recheck":
			values = []string{RecheckEachCall, "list_changed"}
		case "proxy":
			values = []string{"environment"}
		}
		nodes(a.Expr, func(n hclsyntax.Node) {
			if e, ok := n.(*hclsyntax.TemplateExpr); ok {
				if word, ok := literalText(e); ok && slices.Contains(values, word) && word != Protocol {
					r := e.Range()
					s.add("value", hcl.Range{Filename: r.Filename, Start: after(r.Start, 1), End: after(r.Start, 1+len(word))})
				}
			}
		})
	}
	for _, inner := range b.Blocks {
		s.add("block", inner.TypeRange)
		if t := typ.block(inner.Type); t != nil {
			s.body(inner.Body, t)
		}
	}
}

func after(p hcl.Pos, n int) hcl.Pos {
	return hcl.Pos{Line: p.Line, Column: p.Column + n, Byte: p.Byte + n}
}

// expression finds references and functions. The variables of for expressions are the author's own.
func (s *siteFinder) expression(e hclsyntax.Expression) {
	bound := map[string]bool{}
	nodes(e, func(n hclsyntax.Node) {
		if f, ok := n.(*hclsyntax.ForExpr); ok {
			bound[f.KeyVar], bound[f.ValVar] = true, true
		}
	})
	keyWords := map[hclsyntax.Node]bool{} // words that are keys of maps
	nodes(e, func(n hclsyntax.Node) {
		switch n := n.(type) {
		case *hclsyntax.ObjectConsKeyExpr:
			keyWords[n.Wrapped] = true
		case *hclsyntax.FunctionCallExpr:
			s.add("function", n.NameRange)
		case *hclsyntax.ScopeTraversalExpr:
			if bound[n.Traversal.RootName()] || keyWords[n] {
				return
			}
			for _, step := range n.Traversal {
				switch step := step.(type) {
				case hcl.TraverseRoot:
					s.add("reference", step.SrcRange)
				case hcl.TraverseAttr:
					r := step.SrcRange
					s.add("reference", hcl.Range{Filename: r.Filename, Start: after(r.Start, 1), End: r.End}) // behind the dot
				case hcl.TraverseIndex:
					if r := step.SrcRange; step.Key.Type() == cty.String && s.text[r.Start.Byte+1] == '"' {
						s.add("reference", hcl.Range{
							Filename: r.Filename, Start: after(r.Start, 2),
							End: hcl.Pos{Line: r.End.Line, Column: r.End.Column - 2, Byte: r.End.Byte - 2},
						})
					}
				}
			}
		}
	})
}

// misspellings are what fingers make of a word: a letter left out, twice, or exchanged with its neighbour.
func misspellings(word string) []string {
	i := len(word) / 2
	out := []string{word[:i] + word[min(i+1, len(word)):], word[:i] + word[i:min(i+1, len(word))] + word[i:]}
	for ; i > 0; i-- {
		if word[i] != word[i-1] {
			out = append(out, word[:i-1]+word[i:i+1]+word[i-1:i]+word[i+1:])
			break
		}
	}
	return out
}

// TestMisspellings misspells every word of catalog.hcl.example in turn. No mutant loads, and each is reported at the word
// with the right one.
func TestMisspellings(t *testing.T) {
	text := uncommented(exampleText(t))
	dir := withFiles(t)
	if _, list := loadExample(t, dir, text); list.HasErrors() {
		t.Fatalf("the example does not load: %v", list)
	}
	mutants := 0
	for _, s := range sites(t, text) {
		for _, wrong := range misspellings(s.word) {
			if wrong == "" || wrong == s.word {
				continue
			}
			mutants++
			if slowdown > 1 && mutants%16 != 0 { // it finds nothing in one goroutine, and takes ten times as long
				continue
			}
			name := fmt.Sprintf("line %d, %s %s as %s", s.rng.Start.Line, s.what, s.word, wrong)
			c, list := loadExample(t, dir, text[:s.rng.Start.Byte]+wrong+text[s.rng.End.Byte:])
			if c != nil {
				t.Errorf("%s: the catalog loads", name)
				continue
			}
			if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Severity == diag.Error && s.within(d) }) {
				t.Errorf("%s: no error points at the word: %v", name, list)
			} else if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool {
				return d.Severity == diag.Error && s.within(d) && strings.Contains(d.Detail, s.word)
			}) {
				t.Errorf("%s: no error says the right word: %v", name, list)
			}
		}
	}
	t.Logf("%d mutants", mutants)
	if mutants < 1000 {
		t.Errorf("%d mutants, want at least 1000", mutants)
	}
}

// within reports whether a diagnostic points at the word, or at the expression around it on its line.
func (s site) within(d diag.Diagnostic) bool {
	return d.Range != nil && d.Range.Start.Line == s.rng.Start.Line && d.Range.Start.Column <= s.rng.Start.Column &&
		(d.Range.End.Line > s.rng.Start.Line || d.Range.End.Column > s.rng.Start.Column)
}

// TestExampleIsComplete wants every block and every argument of the language in catalog.hcl.example.
func TestExampleIsComplete(t *testing.T) {
	file, diags := hclsyntax.ParseConfig([]byte(uncommented(exampleText(t))), "catalog.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	seen := map[*BlockType]map[string]bool{} // a type may stand in several places
	var walk func(b *hclsyntax.Body, typ *BlockType)
	walk = func(b *hclsyntax.Body, typ *BlockType) {
		if seen[typ] == nil {
			seen[typ] = map[string]bool{}
		}
		for name := range b.Attributes {
			seen[typ][name] = true
		}
		for _, inner := range b.Blocks {
			seen[typ][inner.Type] = true
			walk(inner.Body, typ.block(inner.Type))
		}
	}
	top := &BlockType{Blocks: language}
	walk(file.Body.(*hclsyntax.Body), top)
	var want func(b *BlockType, path string)
	want = func(b *BlockType, path string) {
		for _, a := range b.Arguments {
			if !seen[b][a.Name] {
				t.Errorf("the example has no argument %s%s", path, a.Name)
			}
		}
		for _, inner := range b.Blocks {
			if !seen[b][inner.Type] {
				t.Errorf("the example has no block %s%s", path, inner.Type)
			} else {
				want(inner, path+inner.Type+".")
			}
		}
	}
	want(top, "")
}

// equalCatalogs are what two catalogs must have in common to mean the same: everything but the places of declarations and
// the files themselves.
var equalCatalogs = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmpopts.IgnoreTypes(diag.Range{}, diag.List{}),
	cmpopts.IgnoreFields(Catalog{}, "Dir", "Files", "Digest"),
	cmp.Comparer(func(a, b digest.Digest) bool { return a == b }),
	cmp.Comparer(func(a, b secret.String) bool { return a.Ref() == b.Ref() && a.Expose() == b.Expose() }),
	cmp.Comparer(func(a, b *Rule) bool {
		return a.Name == b.Name && a.Policy == b.Policy && a.Decision == b.Decision && cmp.Equal(a.source, b.source, cmpopts.EquateEmpty())
	}),
	cmpopts.EquateEmpty(),
}

// TestNeutralEdits changes the example in ways that mean nothing. Each of them loads, with an equal result.
func TestNeutralEdits(t *testing.T) {
	text := exampleText(t)
	want, list := loadExample(t, t.TempDir(), text)
	if want == nil {
		t.Fatal(list)
	}
	replace := func(pairs ...string) func(string) string {
		return func(s string) string {
			for i := 0; i < len(pairs); i += 2 {
				if !strings.Contains(s, pairs[i]) {
					t.Errorf("the example does not hold %q", pairs[i])
				}
				s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
			}
			return s
		}
	}
	edits := map[string]func(string) string{
		"nothing":                       func(s string) string { return s },
		"CR LF":                         func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"byte order mark":               func(s string) string { return "\ufeff" + s },
		"byte order mark and CR LF":     func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") },
		"no indentation":                func(s string) string { return eachLine(s, func(l string) string { return strings.TrimLeft(l, " ") }) },
		"tabs":                          func(s string) string { return strings.ReplaceAll(s, "  ", "\t") },
		"blanks behind lines":           func(s string) string { return strings.ReplaceAll(s, "\n", "  \n") },
		"blank lines":                   func(s string) string { return strings.ReplaceAll(s, "\n", "\n\n") },
		"no line end at the end":        func(s string) string { return strings.TrimRight(s, "\n") },
		"comments between all lines":    func(s string) string { return strings.ReplaceAll(s, "\n", "\n# between\n") },
		"// comments":                   func(s string) string { return strings.ReplaceAll(s, "\n", "\n// between\n") },
		"block comments":                func(s string) string { return strings.ReplaceAll(s, "\n", "\n/* be\ntween */\n") },
		"comments behind braces":        func(s string) string { return strings.ReplaceAll(s, "{\n", "{ # behind\n") },
		"no comments":                   withoutComments,
		"blanks around equals signs":    func(s string) string { return strings.ReplaceAll(s, " = ", "   =\t") },
		"formatted":                     formatted(t),
		"blocks in reverse":             func(s string) string { return strings.Join(reversed(topLevel(t, s)), "\n") },
		"blocks sorted":                 func(s string) string { b := topLevel(t, s); slices.Sort(b); return strings.Join(b, "\n") },
		"locals first":                  func(s string) string { return strings.Join(first(topLevel(t, s), "locals"), "\n") },
		"agents first":                  func(s string) string { return strings.Join(first(topLevel(t, s), "agent"), "\n") },
		"one file a block":              nil,
		"arguments in reverse":          func(s string) string { return reverseArguments(t, s) },
		"locals renamed":                replace("wiki_url", "where_the_wiki_is"),
		"locals in two blocks":          replace("\nlocals {\n", "\nlocals {\n  unused_before = 1\n}\n\nlocals {\n"),
		"a local for a text":            replace(`"https://mcp.github.example/mcp"`, "local.somewhere_else", "\nlocals {\n", "\nlocals {\n  somewhere_else = \"https://mcp.github.example/mcp\"\n"),
		"a chain of locals":             replace(`"https://mcp.github.example/mcp"`, "local.zz", "\nlocals {\n", "\nlocals {\n  zz = local.aa\n  aa = \"${local.mm}/mcp\"\n  mm = \"https://mcp.github.example\"\n"),
		"templates around references":   replace("= var.regions #", "= \"${var.regions}\" #", "= local.orgs\n", "= \"${local.orgs}\"\n"),
		"brackets for dots":             replace("[server.github.tool.search_issues,", `[server.github.tool["search_issues"],`, "server.wiki[\"eu\"].tool.search", `server["wiki"]["eu"]["tool"].search`),
		"parentheses":                   replace("= var.regions #", "= (var.regions) #", "= true #", "= (true) #"),
		"defaults written out":          replace("\nagent \"support_bot\" {\n", "\nagent \"support_bot\" {\n  names = \"prefixed\"\n"),
		"numbers in another form":       replace("= 64\n", "= 6.4e1\n"),
		"lists over several lines":      func(s string) string { return strings.ReplaceAll(s, `", "`, "\",\n\"") },
		"commas behind the last":        func(s string) string { return strings.ReplaceAll(s, "\"]\n", "\",]\n") },
		"lists in reverse":              func(s string) string { return eachLine(s, reverseTools) },
		"escapes for characters":        replace("mcp.github.example", `mcp.\u0067ithub.example`),
		"a heredoc for a text":          replace("  description = \"Issue tracker.\"\n", "  description = trimspace(<<-EOT\n    Issue tracker.\n  EOT\n  )\n"),
		"a file of values for defaults": nil,
	}
	if len(edits) < 30 {
		t.Errorf("%d edits, want at least 30", len(edits))
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var got *Catalog
			var list diag.List
			switch {
			case edit != nil:
				got, list = loadExample(t, dir, edit(text))
			case name == "one file a block":
				for i, b := range topLevel(t, text) {
					if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.catalog.hcl", i)), []byte(b), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				got, list = loadExampleDir(dir)
			default:
				if err := os.WriteFile(filepath.Join(dir, "catalog.vars.hcl"), []byte("wiki = { base_url = \"https://wiki.acme.example\" }\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				if got, list = loadExample(t, dir, text); got != nil {
					for i := range got.Variables {
						if got.Variables[i].Name == "wiki" {
							got.Variables[i].Source = fromDefault
						}
					}
				}
			}
			if got == nil {
				t.Fatal(list)
			}
			if diff := cmp.Diff(want, got, equalCatalogs); diff != "" {
				t.Errorf("(-example +edited)\n%s", diff)
			}
		})
	}
}

func eachLine(s string, f func(string) string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = f(lines[i])
	}
	return strings.Join(lines, "\n")
}

func withoutComments(s string) string {
	tokens, _ := hclsyntax.LexConfig([]byte(s), "catalog.hcl", hcl.InitialPos)
	var b strings.Builder
	end := 0
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenComment {
			b.WriteString(s[end:t.Range.Start.Byte])
			end = t.Range.End.Byte
			if strings.HasSuffix(string(t.Bytes), "\n") {
				b.WriteByte('\n')
			}
		}
	}
	return b.String() + s[end:]
}

func formatted(t *testing.T) func(string) string {
	return func(s string) string {
		out, list := Format("catalog.hcl", []byte(s))
		if list.HasErrors() {
			t.Fatal(list)
		}
		return string(out)
	}
}

// topLevel cuts a catalog into its blocks, each with the comments behind its lines.
func topLevel(t *testing.T, s string) []string {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(s), "catalog.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var out []string
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		out = append(out, s[b.Range().Start.Byte:b.Body.SrcRange.End.Byte]+"\n")
	}
	return out
}

func reversed(list []string) []string {
	slices.Reverse(list)
	return list
}

// first moves the blocks of one type to the front.
func first(list []string, typ string) []string {
	slices.SortStableFunc(list, func(a, b string) int {
		switch x, y := strings.HasPrefix(a, typ+" "), strings.HasPrefix(b, typ+" "); {
		case x && !y:
			return -1
		case y && !x:
			return 1
		}
		return 0
	})
	return list
}

// reverseArguments writes the arguments and blocks inside every top-level block in reverse.
func reverseArguments(t *testing.T, s string) string {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(s), "catalog.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var out strings.Builder
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		var ranges []hcl.Range
		for _, a := range b.Body.Attributes {
			ranges = append(ranges, a.SrcRange)
		}
		for _, inner := range b.Body.Blocks {
			ranges = append(ranges, hcl.RangeBetween(inner.TypeRange, inner.CloseBraceRange))
		}
		slices.SortFunc(ranges, func(a, b hcl.Range) int { return b.Start.Byte - a.Start.Byte })
		out.WriteString(s[b.TypeRange.Start.Byte:b.OpenBraceRange.End.Byte] + "\n")
		for _, r := range ranges {
			out.WriteString(s[r.Start.Byte:r.End.Byte] + "\n")
		}
		out.WriteString("}\n")
	}
	return out.String()
}

// reverseTools reverses the list of a line that declares tools.
func reverseTools(line string) string {
	head, rest, ok := strings.Cut(line, "tools = [\"")
	list, tail, closed := strings.Cut(rest, "\"]")
	if !ok || !closed {
		return line
	}
	return head + "tools = [\"" + strings.Join(reversed(strings.Split(list, `", "`)), `", "`) + "\"]" + tail
}
