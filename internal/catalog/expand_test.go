package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
)

func TestPatternMatch(t *testing.T) {
	tests := []struct {
		pattern   string
		yes, not_ []string
	}{
		{"*", []string{"", "a", "*", "\n"}, nil},
		{"list_*", []string{"list_", "list_x", "list_*"}, []string{"list", "xlist_a", "List_a"}},
		{"*_search", []string{"_search", "a_search", "_search_search"}, []string{"search", "_searches"}},
		{"a*b*c", []string{"abc", "aXbYc", "abbc", "abcbc"}, []string{"ab", "acb", "abcd", "ac"}},
		{"aa*aa", []string{"aaaa", "aaXaa"}, []string{"aaa", "aa"}},
		{"plain", []string{"plain"}, []string{"plai", "plain_"}},
	}
	for _, tt := range tests {
		p := Pattern{Text: tt.pattern}
		for _, s := range tt.yes {
			if !p.Match(s) {
				t.Errorf("%q does not match %q", tt.pattern, s)
			}
		}
		for _, s := range tt.not_ {
			if p.Match(s) {
				t.Errorf("%q matches %q", tt.pattern, s)
			}
		}
	}
}

// loadText loads a catalog of one file that has no errors.
func loadText(t *testing.T, text string) *Catalog {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c, list := Load(Options{Dir: dir})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestExpand gives patterns names to match: what cannot be exposed, or would take a name away, is left out with a warning,
// and the catalog that was expanded stays as it was.
func TestExpand(t *testing.T) {
	c := loadText(t, `
server "a" {
  http { url = "https://a.example/mcp" }
  tools   = ["get", "list_*", "none_*"]
  prompts = ["p_*"]
  tool "write" { as = "a__list_taken" }
}
server "b" {
  http { url = "https://b.example/mcp" }
  tools = ["*"]
}
server "off" {
  enabled = false
  http { url = "https://off.example/mcp" }
  tools = ["*"]
}
server "quiet" {
  http { url = "https://quiet.example/mcp" }
  tools = ["*"]
}
agent "prefixed" {
  tools   = [server.a, server.off, server.quiet]
  prompts = [server.a]
  deny    = [server.b]
}
agent "plain" {
  names = "plain"
  tools = [server.a, server.b]
}
agent "one" {
  tools = [server.a.tool.get]
}
`)
	before := dump(c)
	offered := map[string][]string{
		"server.a tool":   {"list_x", "get", "list_taken", "list_X", "delete_all", "list_\u202e", "list_" + strings.Repeat("y", 70), "list_both"},
		"server.a prompt": {"p_1", "q"},
		"server.b tool":   {"get", "list_both", "mine"},
		"server.off tool": {"x"},
	}
	x, list := c.Expand(func(s addr.Server, k addr.Kind) []string { return offered[fmt.Sprint(s, " ", k)] })
	if list.HasErrors() {
		t.Errorf("errors: %v", list)
	}
	if dump(c) != before {
		t.Error("the catalog that was expanded has changed")
	}
	var names []string
	for _, d := range x.Server(addr.Server{Label: "a"}).Tools {
		names = append(names, d.Name)
	}
	if got, want := fmt.Sprintf("%q", names), fmt.Sprintf("%q", []string{"get", "list_X", "list_both", "list_taken", "list_x", "list_" + strings.Repeat("y", 70), "list_\u202e", "write"}); got != want {
		t.Errorf("declared %s, want %s", got, want)
	}
	exposed := func(agent string) string {
		var out []string
		for _, k := range kinds {
			for _, e := range *x.Agent(agent).exposedTo(k) {
				out = append(out, e.Name)
			}
		}
		return strings.Join(out, " ")
	}
	// list_x and list_X take each other's name, write has that of list_taken, and get and list_both are on two servers.
	for agent, want := range map[string]string{
		"prefixed": "a__get a__list_both a__list_taken a__p_1",
		"plain":    "a__list_taken get list_taken list_" + strings.Repeat("y", 70) + " mine",
		"one":      "a__get",
	} {
		if got := exposed(agent); got != want {
			t.Errorf("agent %s has %q, want %q", agent, got, want)
		}
	}
	if item := x.Agent("prefixed").Tools[2].Item; item.Name != "write" {
		t.Errorf("a__list_taken is %s, want the tool that is written out", item)
	}
	var text strings.Builder
	for _, d := range list {
		fmt.Fprintln(&text, d.Code, d.Detail)
		if strings.ContainsRune(d.Detail, '\u202e') {
			t.Errorf("a warning holds a character that hides: %q", d.Detail)
		}
	}
	for _, want := range []string{"none_*", "name.long", "name.changed", "neither is exposed", `list_\u202E`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the warnings do not hold %q:\n%s", want, text.String())
		}
	}
	for _, not := range []string{"server.quiet", "server.off"} {
		if strings.Contains(text.String(), not) {
			t.Errorf("a warning is about %s, of which nothing is known:\n%s", not, text.String())
		}
	}
	if y, none := x.Expand(func(addr.Server, addr.Kind) []string { return []string{"zzz"} }); y.Server(addr.Server{Label: "a"}) == nil || len(none) != 0 {
		t.Errorf("a second expansion warns: %v", none)
	}
}

// A server must not be able to fill a plan with warnings.
func TestWarningsOfMatchesAreFew(t *testing.T) {
	c := accepted(t, one(`server "files" {
  http {
    url = "https://files.example/mcp"
  }
  tools = ["*"]
}

agent "bot" {
  tools = [server.files]
}
`))
	var names []string
	for i := range 3000 {
		names = append(names, fmt.Sprintf("list.%d", i), strings.Repeat("x", 70)+strconv.Itoa(i), fmt.Sprintf("Get_%d", i), fmt.Sprintf("get_%d", i))
	}
	x, list := c.Expand(func(_ addr.Server, k addr.Kind) []string {
		if k == addr.Tool {
			return names
		}
		return nil
	})
	if len(x.Agents[0].Tools) != 0 {
		t.Errorf("the agent has %d tools, want none", len(x.Agents[0].Tools))
	}
	text := ""
	for _, d := range list {
		text += d.Code + ": " + d.Detail + "\n"
	}
	if len(list) != 3*(maxWarned+1) || !strings.Contains(text, "name.changed: 2995 more that patterns match") {
		t.Errorf("got %d warnings, want %d:\n%.2000s", len(list), 3*(maxWarned+1), text)
	}
}
