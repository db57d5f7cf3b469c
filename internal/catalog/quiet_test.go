package catalog

import (
	"fmt"
	"strings"
	"testing"
)

// What is written and would have no effect is an error or a warning: a person believes that it holds.

const quietServer = `server "files" {
  http {
    url = "https://files.example/mcp"
  }
  tools = ["get", "delete_*"]
}
`

func TestDenyOfNothingIsRefused(t *testing.T) {
	for deny, want := range map[string]string{
		`[server.files.tool]`:       `has the pattern "delete_*"`,
		`values(server.files.tool)`: "Write server.files for everything",
		`[for n, t in server.files.tool : t if startswith(n, "delete")]`: "Patterns cannot be referred to",
		`[for s in [server.files] : s.tool]`:                             "deny[0] is a map",
		`values([server.files][0].tool)`:                                 "is a pattern",
		`[server.files.prompt]`:                                          "deny[0] is a map",
		`[{}]`:                                                           "deny[0] is a map",
		`[{ adress = "server.files" }]`:                                  "deny[0] is a map",
	} {
		refused(t, one(quietServer+"agent \"bot\" {\n  tools = [server.files]\n  deny = "+deny+"\n}\n"), want)
	}
}

func TestOneToolIsChosenBesidePatterns(t *testing.T) {
	c := accepted(t, one(quietServer+`agent "bot" {
  tools = [for n in ["get"] : server.files.tool[n]]
}
`))
	if got := len(c.Agents[0].Tools); got != 1 {
		t.Errorf("the agent has %d tools, want 1", got)
	}
}

func TestEmptyForEachInLists(t *testing.T) {
	accepted(t, one(`server "wiki" {
  for_each = toset([])
  name     = "wiki-${each.key}"
  http {
    url = "https://wiki.example/mcp"
  }
  tools = ["search"]
}

locals {
  all = server.wiki
}

agent "bot" {
  tools = concat([server.wiki, local.all], values(server.wiki)[*].tool.search, [for s in server.wiki : s.tool.search])
  deny  = [server.wiki]
}
`))
}

func TestKeyTwiceIsRefused(t *testing.T) {
	const server = "server \"files\" {\n  http {\n    url = \"https://files.example/mcp\"\n  }\n}\n"
	for what, text := range map[string]string{
		"local":          "locals {\n  m = {\n    eu = 1\n    \"eu\" = 2\n  }\n}\n",
		"nested":         "locals {\n  m = [{ a = { eu = 1, eu = 2 } }]\n}\n",
		"headers":        strings.Replace(server, "url", "headers = ({ \"X-A\" = \"1\", \"X-A\" = \"2\" })\n    url", 1),
		"default":        "variable \"v\" {\n  default = { eu = 1, eu = 2 }\n}\n",
		"type":           "variable \"v\" {\n  type = object({ eu = string, eu = number })\n  default = { eu = 1 }\n}\n",
		"type's default": "variable \"v\" {\n  type = object({ m = optional(map(string), { eu = 1, eu = 2 }) })\n  default = {}\n}\n",
	} {
		t.Run(what, func(t *testing.T) {
			if what != "headers" {
				text += server
			}
			refused(t, one(text), "Key written twice", "already written at catalog.hcl:")
		})
	}
	given := map[string]string{"catalog.hcl": "variable \"v\" {\n  type = map(string)\n}\n" + server, "catalog.vars.hcl": "v = { eu = 1, eu = 2 }\n"}
	refused(t, given, "already written at catalog.vars.hcl:1")
}

func TestConsoleMatchesPatterns(t *testing.T) {
	s, list := Open(Options{Dir: writeFiles(t, one(quietServer))})
	if s == nil {
		t.Fatal(list)
	}
	for text, want := range map[string]string{
		`regex("e", "eu")`: `"e"`, `can(regex("e", "eu"))`: "true", `length(regexall("[a-z]", "eu"))`: "2",
	} {
		if v, list := s.Evaluate("expression 1", 1, text); list.HasErrors() || v.String() != want {
			t.Errorf("%s is %s, want %s (%v)", text, v, want, list)
		}
	}
}

// can and try hide errors, but not that the work of the catalog is used up: what they say would be wrong.
func TestExhaustedMatchingIsNotHidden(t *testing.T) {
	text := fmt.Sprintf("locals {\n  big = join(\"\", [for i in range(1000) : %q])\n", strings.Repeat("a", 500))
	for i := range 10 {
		text += fmt.Sprintf("  none_%d = !can(regex(\"(a|b|c|d|e|f){100}$\", local.big))\n", i)
	}
	refused(t, one(text+"}\n"+quietServer), "limits of steps and memory")
}

func TestRuleComparesWithWhatNeverIs(t *testing.T) {
	policy := func(when string) string {
		return quietServer + "agent \"bot\" {\n  tools = [server.files]\n}\npolicy \"default\" {\n  rule \"r\" {\n    when = " + when + "\n    decision = \"deny\"\n  }\n}\n"
	}
	for when, want := range map[string]string{
		`change.action == "delete"`:                                  "change.action is never \"delete\"",
		`"chnge" == (change.action)`:                                 `"change"?`,
		`change.kind != "tools"`:                                     `"tool"?`,
		`contains(["tool", "promt"], change.kind)`:                   `"prompt"?`,
		`contains(change.classes, "tool_aded")`:                      `"tool_added"?`,
		`anytrue([for c in change.classes : c == "input_widend"])`:   `Did you mean "input_widened"?`,
		`change.classes[0] == "input_widend"`:                        `Did you mean "input_widened"?`,
		`length(setintersection(change.classes, ["tool_aded"])) > 0`: `"tool_added"?`,
	} {
		refused(t, one(policy(when)), want)
	}
	for when, want := range map[string]string{
		`contains(change.agents, "bto")`:                                 `"bot"?`,
		`change.server.label == "file"`:                                  `"files"?`,
		`contains(change.agents, "bot")`:                                 "",
		`change.action == "add" && contains(["tool"], change.kind)`:      "",
		`change.tool.name == "delete" || change.server.name == "nobody"`: "",
	} {
		c, list, text := load(t, one(policy(when)))
		if c == nil || (want == "") != (len(list) == 0) || !strings.Contains(text, want) {
			t.Errorf("%s: got %q, want a warning with %q", when, text, want)
		}
	}
}

func TestPolicyThatJudgesNothing(t *testing.T) {
	text := strings.Replace(quietServer, "http {", "policy = policy.used\n  http {", 1) + `policy "defualt" {
  on {
    tool_added = "deny"
  }
}
policy "base" {}
policy "used" {
  extends = policy.base
}
`
	c, list, out := load(t, one(text))
	if c == nil || len(list) != 1 || list[0].Code != "catalog.unused" || !strings.Contains(out, `Did you mean "default"`) {
		t.Errorf("got %v", out)
	}
}

func TestFilesBesideTheCatalogAreNamed(t *testing.T) {
	files := one(quietServer)
	for _, name := range []string{"policy.hcl", "Deny.Catalog.hcl", "auto.vars.hcl", "X.AUTO.VARS.HCL", "prod.vars.hcl", ".hidden.hcl", "notes.md", "catalog.hcl.example"} {
		files[name] = "not HCL\n"
	}
	c, list, _ := load(t, files)
	if c == nil || len(list) != 1 || list[0].Code != "catalog.unread" {
		t.Fatalf("got %v", list)
	}
	if want := `"Deny.Catalog.hcl", "X.AUTO.VARS.HCL", "auto.vars.hcl", "policy.hcl".`; !strings.Contains(list[0].Detail, want) {
		t.Errorf("got %s, want %s", list[0].Detail, want)
	}
}

func TestToolsetInAListOfTools(t *testing.T) {
	refused(t, one(quietServer+"toolset \"t\" {\n  tools = [server.files]\n}\nagent \"bot\" {\n  tools = [toolset.t]\n}\n"),
		"tools = toolset.t.tools.")
}
