package catalog

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// glance is the language as docs/language.md shows it: a line for each argument with its type or values and its default.
func glance() string {
	var b strings.Builder
	var write func(list []*BlockType, indent string)
	write = func(list []*BlockType, indent string) {
		for _, t := range list {
			head := indent + t.Type
			for _, l := range t.Labels {
				head += " " + l
			}
			head += " {"
			if t.Repeated {
				head = pad(head, 30) + "# any number"
			}
			fmt.Fprintln(&b, head)
			if t.AnyArgument {
				fmt.Fprintln(&b, pad(indent+"  NAME", 30)+"any")
			}
			for _, a := range t.Arguments {
				kind := a.Type
				if a.Values != nil {
					quoted := make([]string, len(a.Values))
					for i, v := range a.Values {
						quoted[i] = strconv.Quote(v)
					}
					kind = strings.Join(quoted, " | ")
				}
				if strings.HasPrefix(a.Type, "list") && a.Values != nil {
					kind = "list of " + kind
				}
				line := pad(indent+"  "+a.Name, 30) + kind
				switch {
				case a.Required:
					line += ", needed"
				case a.Default != "":
					line += ", default " + a.Default
				}
				fmt.Fprintln(&b, line)
			}
			write(t.Blocks, indent+"  ")
			fmt.Fprintln(&b, indent+"}")
		}
	}
	write(Language(), "")
	return b.String()
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(n-len(s), 1)) }

// TestLanguageAtAGlance holds the reference in docs/language.md against the language; -update writes it.
func TestLanguageAtAGlance(t *testing.T) {
	const file, begin, end = "../../docs/language.md", "## The language at a glance\n", "\n```\n"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	text, rest2, ok2 := strings.Cut(rest, "```text\n")
	got, tail, ok3 := strings.Cut(rest2, end)
	if !ok || !ok2 || !ok3 {
		t.Fatalf("docs/language.md has no block of text behind %q", begin)
	}
	if want := strings.TrimSuffix(glance(), "\n"); *update {
		if err := os.WriteFile(file, []byte(head+begin+text+"```text\n"+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("docs/language.md is not what the language is: go test ./internal/catalog -run AtAGlance -update")
	}
}
