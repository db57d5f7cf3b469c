package catalog

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/rogpeppe/go-internal/txtar"
)

// written is a catalog that stands somewhere in the repository.
type written struct {
	where string
	file  string
	text  []byte
}

// replace writes the file again, with another text.
func (w written) replace(t *testing.T, text []byte) {
	t.Helper()
	b, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.file, bytes.Replace(b, w.text, text, 1), 0o644); err != nil {
		t.Fatal(err)
	}
}

var hclBlock = regexp.MustCompile("(?ms)^```hcl\n(.*?)^```$")

// repository finds every catalog of the repository: files, blocks in Markdown, and parts of txtar archives.
func repository(t testing.TB) (all []written, kinds map[string]int) {
	t.Helper()
	kinds = map[string]int{}
	root := filepath.Join("..", "..")
	add := func(kind, path, where string, text []byte) {
		kinds[kind]++
		all = append(all, written{where, path, text})
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (name == ".git" || name == "node_modules" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		ext := filepath.Ext(name)
		if ext != ".hcl" && ext != ".example" && ext != ".md" && ext != ".txtar" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case ext == ".hcl", strings.HasSuffix(name, ".hcl.example"):
			add("file", path, name, b)
		case ext == ".md":
			for _, m := range hclBlock.FindAllSubmatchIndex(b, -1) {
				if text := b[m[2]:m[3]]; !bytes.HasPrefix(text, []byte("# error:")) {
					add("block", path, fmt.Sprintf("%s:%d", name, bytes.Count(b[:m[2]], []byte("\n"))+1), text)
				}
			}
		case ext == ".txtar":
			for _, f := range txtar.Parse(b).Files {
				if strings.HasSuffix(f.Name, ".hcl") {
					add("part", path, name+"/"+f.Name, f.Data)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, kinds
}

// untidy is where catalogs stand that must not be formatted: the stories about fmt.
const untidy = "internal/cli/testdata/script/fmt-"

func TestFormatRepository(t *testing.T) {
	all, kinds := repository(t)
	for kind, least := range map[string]int{"file": 10, "block": 10, "part": 40} {
		if kinds[kind] < least {
			t.Errorf("found %d catalogs of the kind %s, want %d at least: the search is broken", kinds[kind], kind, least)
		}
	}
	formatted := 0
	for _, w := range all {
		out, diags := Format(w.where, w.text)
		if diags.HasErrors() {
			continue // for tests of what is not well-formed
		}
		if again, _ := Format(w.where, out); !bytes.Equal(again, out) {
			t.Errorf("%s: formatting what was formatted changes it", w.where)
		}
		checkKept(t, w.where, w.text, out)
		switch tidy := bytes.Equal(out, w.text); {
		case tidy, strings.HasPrefix(w.where, untidy):
		case *update:
			w.replace(t, out)
		default:
			t.Errorf("%s is not formatted: go test ./internal/catalog -run TestFormatRepository -update mends it", w.where)
		}
		formatted++
		flat := deindent(w.text)
		back, diags := Format(w.where, flat)
		if diags.HasErrors() {
			t.Errorf("%s without indentation: %v", w.where, diags)
		} else if !bytes.Equal(back, out) {
			t.Errorf("%s without indentation is formatted to\n%s\nwant\n%s", w.where, back, out)
		}
	}
	if formatted < 60 {
		t.Errorf("%d catalogs are well-formed, want many more", formatted)
	}
}

// checkKept wants comments, lines and the lines of heredocs of two texts to be the same.
func checkKept(t testing.TB, where string, before, after []byte) {
	t.Helper()
	a, b := lex("a", before), lex("b", after)
	if !slices.Equal(kept(a), kept(b)) {
		t.Errorf("%s: comments or texts were changed:\n%q\n%q", where, kept(a), kept(b))
	}
	if bytes.Count(before, []byte("\n")) != bytes.Count(after, []byte("\n")) || bytes.Count(before, []byte("\r\n")) != bytes.Count(after, []byte("\r\n")) {
		t.Errorf("%s: lines were added, removed or ended otherwise", where)
	}
}

// kept lists what a formatter must not touch.
func kept(tokens hclsyntax.Tokens) []string {
	var out []string
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenComment, hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit, hclsyntax.TokenCHeredoc, hclsyntax.TokenOHeredoc:
			out = append(out, string(t.Bytes))
		}
	}
	return out
}

// deindent removes the blanks at the beginning of each line that is not within a heredoc or a comment of several lines.
func deindent(text []byte) []byte {
	inside := map[int]bool{}
	open := 0
	for _, t := range lex("", text) {
		switch t.Type {
		case hclsyntax.TokenOHeredoc:
			open = t.Range.Start.Line
		case hclsyntax.TokenCHeredoc:
			for n := open + 1; n <= t.Range.Start.Line; n++ {
				inside[n] = true
			}
		case hclsyntax.TokenComment:
			if bytes.HasPrefix(t.Bytes, []byte("/*")) {
				for n := t.Range.Start.Line + 1; n <= t.Range.End.Line; n++ {
					inside[n] = true
				}
			}
		}
	}
	var out []byte
	n := 0
	for line := range bytes.Lines(text) {
		if n++; !inside[n] {
			line = bytes.TrimLeft(line, " \t")
		}
		out = append(out, line...)
	}
	return out
}

func TestFormat(t *testing.T) {
	const bom = "\xef\xbb\xbf"
	tests := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"no line end", "a=1", "a = 1"},
		{"blanks alone", "  \n\t\n  ", "\n\n"},
		{"columns", "server \"a\" {\nname=\"x\"   # one\n  description =  \"y\" # two\n}\n", "server \"a\" {\n  name        = \"x\" # one\n  description = \"y\" # two\n}\n"},
		{"tabs", "server \"a\" {\n\thttp {\n\t\turl = \"u\"\t\n\t}\n}\n", "server \"a\" {\n  http {\n    url = \"u\"\n  }\n}\n"},
		{"byte order mark", bom + "a=1\n", bom + "a = 1\n"},
		{"byte order mark alone", bom, bom},
		{"CR LF", "a=1\r\nbc=2\r\n", "a  = 1\r\nbc = 2\r\n"},
		{"CR LF and LF", "a=1\r\nbc=2\n\r\nd=3", "a  = 1\r\nbc = 2\n\r\nd = 3"},
		{"CR LF and a byte order mark", bom + "\r\na=1\r\n", bom + "\r\na = 1\r\n"},
		{"comments", "#a\n  //  b\n/*  c\n d  */\nx=1 /* e */\n", "#a\n//  b\n/*  c\n d  */\nx = 1 /* e */\n"},
		{"comment at the end", "x=1 # last", "x = 1 # last"},
		{"heredoc", "locals {\nx=<<EOT\n  a  \n\tb\n\n ${ local.y   }\nEOT\ny=1\n}\n", "locals {\n  x = <<EOT\n  a  \n\tb\n\n ${ local.y   }\nEOT\n  y = 1\n}\n"},
		{"indented heredoc", "locals {\n      x=<<-EOT\n        a\n      EOT\n}\n", "locals {\n  x = <<-EOT\n        a\n      EOT\n}\n"},
		{"heredoc with CR LF", "locals {\r\nx=<<EOT\r\n  a  \r\nEOT\r\n}\r\n", "locals {\r\n  x = <<EOT\r\n  a  \r\nEOT\r\n}\r\n"},
		{"heredoc in a heredoc", "x=<<A\n ${<<B\n   b\n B\n  }\nA\n", "x = <<A\n ${<<B\n   b\n B\n  }\nA\n"},
		{"heredocs in a list", "x=[<<A\n a\nA\n,<<B\n b\nB\n]\ny=1\n", "x = [<<A\n a\nA\n  , <<B\n b\nB\n]\ny = 1\n"},
		{"texts", "x=\"  ${ a }  %{ if b }y%{ endif }\"\n", "x = \"  ${a}  %{if b}y%{endif}\"\n"},
		{"reference", "x=[ server.wiki[ \"eu\" ].tool[\"a.b\"] ]\n", "x = [server.wiki[\"eu\"].tool[\"a.b\"]]\n"},
		{"wide characters", "ä=1\nbcd=2\n", "ä   = 1\nbcd = 2\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, diags := Format("f.hcl", []byte(tt.in))
			if diags.HasErrors() || got == nil || string(got) != tt.want {
				t.Fatalf("Format = %q, %v, want %q", got, diags, tt.want)
			}
			again, diags := Format("f.hcl", got)
			if diags.HasErrors() || !bytes.Equal(again, got) {
				t.Errorf("again: %q, %v", again, diags)
			}
			checkKept(t, tt.name, []byte(tt.in), got)
		})
	}
}

func TestFormatRefuses(t *testing.T) {
	tests := []struct{ name, in, code, place string }{
		{"syntax", "a = 1\nb = \n", "catalog.expression", "f.hcl:2"},
		{"open block", "server \"a\" {\n", "catalog.expression", "f.hcl:1"},
		{"merge conflict", "a = 1\n<<<<<<< ours\nb=1\n=======\nb=2\n>>>>>>> theirs\n", "catalog.merge_conflict", "f.hcl:2"},
		{"merge conflict in a heredoc", "a = <<E\n>>>>>>> theirs\nE\n", "catalog.merge_conflict", "f.hcl:2"},
		{"concealed", "a = \"x\u202ey\"\n", "catalog.text", "f.hcl:1"},
		{"lone CR", "a = 1\rb = 2\n", "catalog.text", "f.hcl:1"},
		{"not UTF-8", "a = \"\xff\"\n", "catalog.text", "f.hcl:1"},
		{"deep", "a = " + strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), "catalog.limit", "f.hcl:1"},
		{"very deep", "a = " + strings.Repeat("(", 100_000), "catalog.limit", "f.hcl:1"},
		{"too large", strings.Repeat("a", MaxFileBytes+1), "catalog.limit", "f.hcl:0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, diags := Format("f.hcl", []byte(tt.in))
			if got != nil || !diags.HasErrors() {
				t.Fatalf("Format = %q, %v, want a refusal", got, diags)
			}
			if d := diags.Errors()[0]; d.Code != tt.code || d.Range == nil || d.Range.String() != tt.place {
				t.Errorf("refused with %s at %v (%s), want %s at %s", d.Code, d.Range, d.Detail, tt.code, tt.place)
			}
		})
	}
	fits := "a = " + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	if _, diags := Format("f.hcl", []byte(fits)); diags.HasErrors() {
		t.Errorf("the depth just allowed: %v", diags)
	}
	largest := strings.Repeat("#\n", MaxFileBytes/2)
	if out, diags := Format("f.hcl", []byte(largest)); diags.HasErrors() || string(out) != largest {
		t.Errorf("the largest text: %v", diags)
	}
}

// FuzzFormat wants every text to be refused, or to come out with the same tokens, lines and heredocs and to stay as it is
// from then on.
func FuzzFormat(f *testing.F) {
	all, _ := repository(f)
	for _, w := range all {
		f.Add(w.text)
	}
	for _, s := range []string{
		"x=[<<A\n a\nA\n,<<B\n b\nB\n]\n", "\xef\xbb\xbfa=1\r\nb=<<-E\r\n x\r\n  E\r\n", "a=1 /* b\n c */ d=2", "x = \"%{ for a in b ~}${ a }%{ endfor }\"",
		"x = <<A\n${<<B\n  b\nB\n}\nA\n", "a{b{c=1}}", "a=!-1", "a = b ? c : -d", "/*\n*/a=1\n", "a = {\n\"b\"=1, c:2\n}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		out, diags := Format("f.hcl", src)
		if diags.HasErrors() {
			if out != nil {
				t.Fatalf("refused, and %q came out", out)
			}
			for _, d := range diags {
				if d.Code == "catalog.format" {
					t.Errorf("well-formed, and not formatted: %q", src)
				}
			}
			return
		}
		if !sameTokens(lex("a", normalise(src)), lex("a", normalise(out))) {
			t.Errorf("%q has other tokens than %q", out, src)
		}
		again, diags := Format("f.hcl", out)
		if diags.HasErrors() || !bytes.Equal(again, out) {
			t.Errorf("%q was formatted to %q, and that to %q (%v)", src, out, again, diags)
		}
		checkKept(t, "text", src, out)
		if !bytes.Equal(withoutBlanks(src), withoutBlanks(out)) {
			t.Errorf("%q differs from %q by more than blanks", out, src)
		}
	})
}

func withoutBlanks(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, b)
}
