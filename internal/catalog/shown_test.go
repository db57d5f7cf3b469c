package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/rogpeppe/go-internal/txtar"
)

// nameArguments hold names that diagnostics have to say: of tools, servers, hosts' variables, files.
var nameArguments = []string{
	"tools", "prompts", "resources", "resource_templates", "deny", "toolsets", "as", "name", "names", "inherit_env", "for_each", "path", "mirror",
	"ca_file", "client_cert_file", "client_key_file", "required_version", "protocol", "forbid", "enum", "error_message", "files", "allow_hosts", "scopes", "header",
}

// valueTexts are the indexes of the tokens that are texts in the place of values: no labels, no keys, no names.
func valueTexts(tokens hclsyntax.Tokens) []int {
	var out []int
	argument, depth, at := "", 0, 0
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen:
			if depth--; depth < at {
				argument = ""
			}
		case hclsyntax.TokenEqual:
			if i > 0 && tokens[i-1].Type == hclsyntax.TokenIdent && (argument == "" || depth <= at) {
				argument, at = string(tokens[i-1].Bytes), depth
			}
		case hclsyntax.TokenNewline:
			if depth <= at {
				argument = ""
			}
		case hclsyntax.TokenStringLit:
			if argument != "" && !slices.Contains(nameArguments, argument) {
				out = append(out, i)
			}
		case hclsyntax.TokenQuotedLit:
			key := i+2 < len(tokens) && tokens[i+1].Type == hclsyntax.TokenCQuote &&
				(tokens[i+2].Type == hclsyntax.TokenEqual || tokens[i+2].Type == hclsyntax.TokenColon)
			index := i > 1 && tokens[i-1].Type == hclsyntax.TokenOQuote && tokens[i-2].Type == hclsyntax.TokenOBrack && i > 2 &&
				(tokens[i-3].Type == hclsyntax.TokenIdent || tokens[i-3].Type == hclsyntax.TokenCBrack)
			call := i > 2 && tokens[i-2].Type == hclsyntax.TokenOParen && string(tokens[i-3].Bytes) == "env"
			if argument != "" && !slices.Contains(nameArguments, argument) && !key && !index && !call {
				out = append(out, i)
			}
		}
	}
	return out
}

// planted returns the text with what stands at the tokens replaced, and without the tokens that are dropped.
func planted(tokens hclsyntax.Tokens, text []byte, with map[int]string, drop map[int]bool) string {
	var b strings.Builder
	end := 0
	for i, t := range tokens {
		b.Write(text[end:t.Range.Start.Byte])
		end = t.Range.End.Byte
		if s, ok := with[i]; ok {
			if strings.HasSuffix(string(t.Bytes), "\n") {
				s += "\n"
			}
			b.WriteString(s)
		} else if !drop[i] {
			b.Write(t.Bytes)
		}
	}
	return b.String()
}

// scripts are the catalogs of testdata/load.
func scripts(t testing.TB) [][]byte {
	paths, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if f.Name == "catalog.hcl" && !bytes.Contains(f.Data, []byte("for_each")) { // keys are part of addresses
				out = append(out, f.Data)
			}
		}
	}
	for i, form := range faultyForms {
		for _, value := range []string{`"x"`, `var.public`, `local.literal`} {
			expr := strings.NewReplacer("%%", "%", "%s", value, "%[1]s", value).Replace(form)
			out = append(out, fmt.Appendf(nil, "variable \"public\" {\n  default = \"x\"\n}\nlocals {\n  literal = \"x\"\n  bad%d = %s\n}\n", i, expr))
		}
	}
	return out
}

// plant loads a catalog in which some texts are tokens that nobody may be shown, and some other tokens are missing. It
// returns how many diagnostics there were and the token that one of them contains.
func plant(t testing.TB, text []byte, r *rand.Rand) (diagnostics int, leak string) {
	text = normalise(text)
	tokens, _ := hclsyntax.LexConfig(text, "catalog.hcl", hcl.InitialPos)
	texts := valueTexts(tokens)
	with, drop := map[int]string{}, map[int]bool{}
	forms := []string{"qxzzy-%x", "ghp_qxzzy%xqxzzy", "qxzzy %x text", "http://u:qxzzy%x@h/", "qxzzy%x", "[qxzzy%x", "qxzzy%x\\\"y", "%%s qxzzy%x"}
	for _, i := range texts {
		if r.IntN(2) == 0 {
			with[i] = fmt.Sprintf(forms[r.IntN(len(forms))], r.Uint32())
		}
	}
	for range r.IntN(3) {
		drop[r.IntN(len(tokens))] = true
	}
	changed := planted(tokens, text, with, drop)
	_, list := Load(Options{
		Dir: writeFiles(t, one(changed)), AllowMissingSecrets: true,
		Lookup: func(name string) (string, bool) { return "qxzzy-value", strings.HasPrefix(name, "MCPCAT_VAR_t") },
	})
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.ToLower(string(raw) + list.Error() + rendered(t, nil, list))
	if i := strings.Index(shown, "qxzzy"); i >= 0 {
		return len(list), fmt.Sprintf("%.300s\n%s", shown[max(0, i-100):], changed)
	}
	return len(list), ""
}

// TestDiagnosticsShowNoTexts plants tokens into the texts of every catalog of testdata.
func TestDiagnosticsShowNoTexts(t *testing.T) {
	if names := valueTexts(lexed(`a "x" { b = "y" }` + "\n" + `tools = ["z"]` + "\n" + `c = { "k" = "v" }` + "\n")); len(names) != 2 {
		t.Fatalf("found %d texts, want y and v", len(names))
	}
	total := 0
	for i, text := range scripts(t) {
		n, leak := plant(t, text, rand.New(rand.NewPCG(1, uint64(i))))
		total += n
		if leak != "" {
			t.Errorf("catalog %d: a text is shown: %s", i, leak)
		}
	}
	if total < 500 {
		t.Errorf("%d diagnostics, want at least 500", total)
	}
}

func lexed(text string) hclsyntax.Tokens {
	tokens, _ := hclsyntax.LexConfig([]byte(text), "", hcl.InitialPos)
	return tokens
}

// FuzzDiagnosticsShowNoTexts is the same with other random numbers.
func FuzzDiagnosticsShowNoTexts(f *testing.F) {
	all := scripts(f)
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, which, seed uint64) {
		if _, leak := plant(t, all[which%uint64(len(all))], rand.New(rand.NewPCG(2, seed))); leak != "" {
			t.Fatalf("a text is shown: %s", leak)
		}
	})
}
