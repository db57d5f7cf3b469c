package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
)

const graphCatalog = `
server "github" {
  http { url = "https://mcp.github.example/mcp" }
  tools   = ["get_issue", "list_*", "search"]
  prompts = ["triage"]
  tool "gone" { enabled = false }
}
server "off" {
  enabled = false
  http { url = "https://off.example/mcp" }
  tools = ["x"]
}
server "wiki" {
  for_each = toset(["eu", "us"])
  name     = "wiki-${each.key}"
  http { url = "https://${each.key}.wiki.example/mcp" }
  tools = ["search"]
}
toolset "all" {
  tools   = [server.github, server.off]
  prompts = [server.github]
}
toolset "unused" {
  tools = [server.wiki["us"].tool.search]
}
agent "bot" {
  toolsets = [toolset.all]
  tools    = [server.wiki["eu"], server.github.tool.search]
  deny     = [server.github.tool.get_issue, server.github.prompt.triage]
}
agent "ops" {
  names = "plain"
  tools = [server.github.tool.gone]
}
`

func graphText(g Graph) []string {
	var out []string
	for _, n := range g.Nodes {
		out = append(out, n.Kind+" "+n.ID)
	}
	for _, e := range g.Edges {
		out = append(out, fmt.Sprintf("%s -%s> %s", e.From, e.Kind, e.To))
	}
	return out
}

func TestGraph(t *testing.T) {
	c := loadText(t, graphCatalog)
	whole := []string{
		"agent agent.bot", "agent agent.ops", "toolset toolset.all", "toolset toolset.unused",
		"tool server.github.tool.get_issue", "tool server.github.tool.search", `tool server.wiki["eu"].tool.search`, `tool server.wiki["us"].tool.search`,
		"prompt server.github.prompt.triage", `pattern server.github.tool "list_*"`,
		"server server.github", `server server.wiki["eu"]`, `server server.wiki["us"]`,
		"agent.bot -has> toolset.all", "agent.bot -denied> server.github.tool.get_issue", "agent.bot -has> server.github.tool.search",
		`agent.bot -has> server.wiki["eu"].tool.search`, "agent.bot -denied> server.github.prompt.triage",
		"toolset.all -has> server.github.tool.get_issue", "toolset.all -has> server.github.tool.search", "toolset.all -has> server.github.prompt.triage",
		`toolset.all -has> server.github.tool "list_*"`, `toolset.unused -has> server.wiki["us"].tool.search`,
		"server.github.tool.get_issue -of> server.github", "server.github.tool.search -of> server.github",
		`server.wiki["eu"].tool.search -of> server.wiki["eu"]`, `server.wiki["us"].tool.search -of> server.wiki["us"]`,
		"server.github.prompt.triage -of> server.github", `server.github.tool "list_*" -of> server.github`,
	}
	g, diags := c.Graph(nil, nil)
	if diff := cmp.Diff(whole, graphText(g)); diff != "" || len(diags) > 0 {
		t.Errorf("%v (-want +got):\n%s", diags, diff)
	}
	for range 5 {
		if again, _ := c.Graph(nil, nil); !cmp.Equal(again, g) {
			t.Fatal("the order is not stable")
		}
	}

	// One agent, and what it leads to.
	g, _ = c.Graph([]string{"ops"}, nil)
	if diff := cmp.Diff([]string{"agent agent.ops"}, graphText(g)); diff != "" {
		t.Errorf("ops (-want +got):\n%s", diff)
	}
	g, _ = c.Graph([]string{"bot"}, nil)
	if text := strings.Join(graphText(g), "\n"); strings.Contains(text, "unused") || strings.Contains(text, `wiki["us"]`) || !strings.Contains(text, "agent.bot -has> toolset.all") {
		t.Errorf("bot:\n%s", text)
	}

	// What is known of a server stands in place of its patterns. What cannot be exposed is said.
	g, diags = c.Graph([]string{"bot"}, func(s addr.Server, k addr.Kind) []string {
		if s.Label == "github" && k == addr.Tool {
			return []string{"get_issue", "list_issues", "list_x.bad", "search", "other"}
		}
		return nil
	})
	text := graphText(g)
	for _, want := range []string{
		"tool server.github.tool.list_issues", "toolset.all -has> server.github.tool.list_issues", "server.github.tool.list_issues -of> server.github",
		`agent.bot -withheld> server.github.tool["list_x.bad"]`,
	} {
		if !slices.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, strings.Join(text, "\n"))
		}
	}
	if all := strings.Join(text, "\n"); strings.Contains(all, "list_*") || strings.Contains(all, "other") || len(diags) != 1 {
		t.Errorf("%v\n%s", diags, all)
	}
}

// TestGraphDenied denies a whole server, patterns and all.
func TestGraphDenied(t *testing.T) {
	c := loadText(t, `
server "files" {
  http { url = "https://files.example/mcp" }
  tools = ["read", "list_*"]
}
agent "bot" {
  tools = [server.files]
  deny  = [server.files]
}
`)
	g, _ := c.Graph(nil, nil)
	want := []string{
		"agent agent.bot", "tool server.files.tool.read", `pattern server.files.tool "list_*"`, "server server.files",
		"agent.bot -denied> server.files.tool.read", `agent.bot -denied> server.files.tool "list_*"`,
		"server.files.tool.read -of> server.files", `server.files.tool "list_*" -of> server.files`,
	}
	if diff := cmp.Diff(want, graphText(g)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGraphTooLarge gives every one of many agents all tools.
func TestGraphTooLarge(t *testing.T) {
	build := func(tools, agents int) *Catalog {
		var b strings.Builder
		b.WriteString("server \"s\" {\n  http { url = \"https://s.example/mcp\" }\n  tools = [for i in range(1000) : \"t${i}\" if i < " + fmt.Sprint(tools) + "]\n}\n")
		for i := range agents {
			fmt.Fprintf(&b, "agent \"a%d\" {\n  tools = [server.s]\n}\n", i)
		}
		return loadText(t, b.String())
	}
	if g, diags := build(999, 99).Graph(nil, nil); diags.HasErrors() || len(g.Edges) != 999*100 {
		t.Errorf("%d edges: %v", len(g.Edges), diags)
	}
	if g, diags := build(1000, 100).Graph(nil, nil); !diags.HasErrors() || len(g.Edges) > 0 || diags[0].Code != "graph.large" {
		t.Errorf("%d edges: %v", len(g.Edges), diags)
	}
}
