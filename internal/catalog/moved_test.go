package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const movedServers = `server "github" {
  http { url = "https://a.example/mcp" }
  tools = ["get_issue", "list_*"]
}
server "wiki" {
  for_each = toset(["eu", "us"])
  name     = "wiki-${each.key}"
  http { url = "https://${each.key}.example/mcp" }
  tools = ["search"]
}
`

func TestMoved(t *testing.T) {
	for _, c := range []struct{ hcl, want string }{
		{"moved {\n from = server.gh\n to = server.github\n}", "server.gh -> server.github"},
		{"moved {\n from = server.gh.tool.get_issue\n to = server.github.tool.get_issue\n}", "server.gh.tool.get_issue -> server.github.tool.get_issue"},
		{"moved {\n from = server.gh.tool[\"list_all\"]\n to = server.github.tool.list_all\n}", "server.gh.tool.list_all -> server.github.tool.list_all"},
		{"moved {\n from = server.old_wiki\n to = server.wiki[\"eu\"]\n}", `server.old_wiki -> server.wiki["eu"]`},
		{"moved {\n from = server.wiki[\"asia\"]\n to = server.github\n}", `server.wiki["asia"] -> server.github`},
		{"moved {\n from = server.docs\n to = server.wiki\n}", `server.docs["eu"] -> server.wiki["eu"] server.docs["us"] -> server.wiki["us"]`},
		{"moved {\n from = server.wiki[\"asia\"].tool.search\n to = server.wiki[\"us\"].tool.search\n}", `server.wiki["asia"].tool.search -> server.wiki["us"].tool.search`},
		{"removed {\n from = server.crm\n reason = \"Gone.\"\n}", "server.crm (Gone.)"},
		{"removed {\n from = server.github.resource[\"file:///x\"]\n}", `server.github.resource["file:///x"] ()`},
	} {
		got := accepted(t, one(movedServers+c.hcl+"\n"))
		var all []string
		for _, m := range got.Moved {
			all = append(all, fmt.Sprintf("%s -> %s", m.From, m.To))
		}
		for _, r := range got.Removed {
			all = append(all, fmt.Sprintf("%s (%s)", r.From, r.Reason))
		}
		if diff := cmp.Diff(c.want, strings.Join(all, " ")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.hcl, diff)
		}
	}
}

func TestMovedFaults(t *testing.T) {
	moved := func(from, to string) string { return "moved {\n from = " + from + "\n to = " + to + "\n}\n" }
	removed := func(from string) string { return "removed {\n from = " + from + "\n}\n" }
	for _, c := range []struct{ name, hcl, want string }{
		{"no to", "moved {\n from = server.a\n}\n", "needs to"},
		{"no from", "removed {\n reason = \"x\"\n}\n", "needs from"},
		{"a text", moved(`"server.a"`, "server.github"), "from must be the address of a server or an item"},
		{"computed", moved("server[local.x]", "server.github") + "locals {\n x = \"y\"\n}\n", "written out"},
		{"a toolset", removed("toolset.x"), "from must be the address"},
		{"no name", removed("server.a.tool"), "from must be the address"},
		{"too much", removed("server.a.tool.b.c"), "from must be the address"},
		{"no kind", removed("server.a.tol.b"), "from must be the address"},
		{"bad label", removed("server.A"), "from must be the address"},
		{"itself", moved("server.gh", "server.gh"), "from and to are both server.gh"},
		{"kinds", moved("server.gh", "server.github.tool.get_issue"), "from is a server and to a tool"},
		{"another name", moved("server.gh.tool.read", "server.github.tool.get_issue"), "A tool with another name is another one"},
		{"from declared", moved("server.github", `server.wiki["eu"]`), "server.github is still declared at catalog.hcl:1"},
		{"tool declared", moved("server.github.tool.get_issue", `server.wiki["eu"].tool.get_issue`), "still declared"},
		{"pattern declares", removed("server.github.tool.list_x"), "still declared"},
		{"instance declared", removed(`server.wiki["us"]`), "still declared at catalog.hcl:5"},
		{"all instances declared", removed("server.wiki"), "still declared at catalog.hcl:5"},
		{"to nothing", moved("server.gh", "server.githb"), "server.githb is not declared. The nearest server is server.github."},
		{"to no tool", moved("server.gh.tool.x", "server.github.tool.x"), "server.github.tool.x is not declared"},
		{"to no instance", moved("server.gh", `server.wiki["asia"]`), "is not declared"},
		{"moved twice", moved("server.gh", "server.github") + moved("server.gh", `server.wiki["eu"]`), "server.gh is moved twice, here and at catalog.hcl:11"},
		{"two to one", moved("server.gh", "server.github") + moved("server.hub", "server.github"), "Two things are moved to server.github, here and at catalog.hcl:11"},
		{"moved and removed", moved("server.gh", "server.github") + removed("server.gh"), "server.gh is removed here and moved at catalog.hcl:11"},
		{"removed twice", removed("server.gh") + removed("server.gh"), "server.gh is removed twice, here and at catalog.hcl:11"},
		{"with its server", moved("server.gh", "server.github") + moved("server.gh.tool.search", `server.wiki["eu"].tool.search`), "goes with its server, which is moved at catalog.hcl:11"},
		{"into a moved server", moved("server.gh", "server.github") + moved("server.hub.tool.get_issue", "server.github.tool.get_issue"), "is itself moved there at"},
		{"chain", moved("server.a", "server.b") + moved("server.b", "server.github"), "server.b is moved on at catalog.hcl:15"},
		{"circle", moved("server.a", "server.b") + moved("server.b", "server.a"), "server.a is moved on at catalog.hcl:11"},
		{"secret reason", "locals {\n t = env(\"HOME\", \"x\")\n}\nremoved {\n from = server.a\n reason = local.t\n}\n", "reason refers to local.t"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, one(movedServers+c.hcl), c.want) })
	}
}
