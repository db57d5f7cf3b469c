package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
)

const policyServer = "server \"a\" {\n http { url = \"https://a.example/mcp\" }\n tools = [\"x\"]\n}\n"

func TestPolicies(t *testing.T) {
	c := accepted(t, one(`
locals {
  strict = "deny"
}
policy "writes" {
  extends = policy.default
  on {
    title_changed = local.strict
  }
  rule "second" {
    when     = change.kind == "tool"
    decision = "ask"
  }
}
policy "default" {
  on {
    title_changed    = "auto"
    tool_added       = "auto"
    concealed_text   = "ask"
  }
  rule "first" {
    when     = false
    decision = "deny"
  }
}
server "a" {
  http { url = "https://a.example/mcp" }
  policy = policy.writes
  tools  = ["x"]
  tool "y" {
    policy = policy.default
  }
}
server "b" {
  http { url = "https://b.example/mcp" }
  tools = ["x"]
}
`))
	set := c.PolicySet()
	again, err := ParsePolicySet(set.Posture())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(set.Posture()), string(again.Posture())); diff != "" {
		t.Errorf("the posture that was read back (-want +got)\n%s", diff)
	}
	item := func(server, name string) addr.Item {
		return addr.Item{Server: addr.Server{Label: server}, Kind: addr.Tool, Name: name}
	}
	for name, s := range map[string]*PolicySet{"catalog": set, "lock": again} {
		if got := s.Item(item("a", "x")).Name + s.Item(item("a", "y")).Name + s.Item(item("b", "x")).Name + s.Server(addr.Server{Label: "a"}).Name + s.Default().Name; got != "writesdefaultdefaultwritesdefault" {
			t.Errorf("%s: policies %s", name, got)
		}
		writes := s.Server(addr.Server{Label: "a"})
		if writes.On["title_changed"] != Deny || writes.On["tool_added"] != Auto || writes.On["concealed_text"] != Ask || writes.On["input_widened"] != Ask {
			t.Errorf("%s: %v", name, writes.On)
		}
		if len(writes.Rules) != 2 || writes.Rules[0].Name != "first" || writes.Rules[1].Name != "second" {
			t.Errorf("%s: rules %v", name, writes.Rules)
		}
	}
	if c := accepted(t, one(policyServer)); c.PolicySet().Posture() != nil || !c.PolicySet().Default().BuiltIn() || again.Default().BuiltIn() {
		t.Errorf("a catalog without policies has the posture %s", c.PolicySet().Posture())
	}
}

func TestPolicyFaults(t *testing.T) {
	const secretLocal = "locals {\n t = env(\"HOME\", \"x\")\n}\n"
	policy := func(inner string) string { return policyServer + "policy \"p\" {\n" + inner + "\n}\n" }
	rule := func(when string) string {
		return policy("rule \"r\" {\n when = " + when + "\n decision = \"deny\"\n}")
	}
	for _, c := range []struct{ name, hcl, want string }{
		{"unknown class", policy("on {\n tool_aded = \"ask\"\n}"), `Did you mean "tool_added"?`},
		{"unknown decision", policy("on {\n tool_added = \"asks\"\n}"), `tool_added must be "auto" or "ask" or "deny". Did you mean "ask"?`},
		{"never auto", policy("on {\n endpoint_changed = \"auto\"\n}"), `endpoint_changed must be "ask" or "deny"`},
		{"concealed to auto", policy("on {\n concealed_text = \"auto\"\n}"), `concealed_text must be "ask" or "deny"`},
		{"secret", secretLocal + policy("on {\n tool_added = local.t\n}"), "tool_added refers to local.t"},
		{"extends a text", policy("extends = \"default\""), "must be a reference to a policy"},
		{"extends nothing", policy("extends = policy.pq"), "Did you mean policy.p?"},
		{"extends itself", policy("extends = policy.p"), "policy.p -> policy.p."},
		{"a circle", policy("extends = policy.q") + "policy \"q\" {\n extends = policy.p\n}\n", "policy.p -> policy.q -> policy.p."},
		{"server names nothing", "server \"a\" {\n http { url = \"https://a.example/mcp\" }\n policy = policy.writs\n}\npolicy \"writes\" {}\n", "Did you mean policy.writes?"},
		{"policy elsewhere", "locals {\n x = policy.p\n}\n" + policy(""), "References to policies belong into policy and extends"},
		{"change elsewhere", "locals {\n x = change.action\n}\n" + policy(""), "change has a meaning in when and message"},
		{"rule twice", policy("extends = policy.q\nrule \"r\" {\n when = true\n decision = \"ask\"\n}") + "policy \"q\" {\n rule \"r\" {\n when = true\n decision = \"ask\"\n}\n}\n", "policy.p has the rule r from policy.q at catalog.hcl:"},
		{"no when", policy("rule \"r\" {\n decision = \"ask\"\n}"), "needs when"},
		{"no decision", policy("rule \"r\" {\n when = true\n}"), "needs decision"},
		{"loosens", policy("rule \"r\" {\n when = true\n decision = \"auto\"\n}"), `decision must be "ask" or "deny"`},
		{"unknown attribute", rule(`change.tools.name == "x"`), `There is no change.tools. Did you mean "tool"?`},
		{"unknown inner attribute", rule(`change.tool.nam == "x"`), `There is no change.tool.nam. Did you mean "name"?`},
		{"whole", rule(`change == "x"`), "Write one name behind change: action, address"},
		{"incomplete", rule(`change.tool == "x"`), "Write one name behind change.tool: description, name, title"},
		{"computed name", rule(`change[local.x] == "x"`) + "locals {\n x = \"y\"\n}\n", "Write one name behind change"},
		{"can", rule(`can(regex("x", change.tool.name))`), `A rule has no function "regex"`},
		{"try", rule(`try(change.tool.name == "x", false)`), `A rule has no function "try"`},
		{"env", rule(`env("HOME") == "x"`), `A rule has no function "env"`},
		{"file", rule(`file("x") == "x"`), `A rule has no function "file"`},
		{"unknown function", rule(`match("x", change.tool.name)`), "There is no function"},
		{"server", rule(`server.a.address == change.server.address`), "In a rule a reference begins with change, var or local"},
		{"secret in a rule", secretLocal + rule("change.tool.name == local.t"), "when refers to local.t"},
		{"a text", rule(`change.tool.name`), "when is a text, want true or false"},
		{"null", rule(`null`), "when is null"},
		{"a list for a text", rule(`matches("x", change.classes)`), "string required"},
		{"bad pattern", rule(`matches("(", change.tool.name)`), "not a regular expression: missing"},
		{"large pattern", rule(`matches("a{1000}b{1000}", change.tool.name)`), "more than 2000 instructions"},
		{"message is a list", policy("rule \"r\" {\n when = true\n decision = \"ask\"\n message = [change.action]\n}"), "message is a list, want a text"},
		{"message is long", policy("rule \"r\" {\n when = true\n decision = \"ask\"\n message = \"" + strings.Repeat("x", 1025) + "\"\n}"), "at most 1024"},
		{"heredoc", policy("rule \"r\" {\n when = true\n decision = \"ask\"\n message = <<EOT\nx\nEOT\n}"), "on one line"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, one(c.hcl), c.want) })
	}
}

// ruled returns the policy of a catalog with one rule.
func ruled(t *testing.T, when, message string) *Policy {
	t.Helper()
	text := "variable \"word\" {\n default = \"drop\"\n}\nlocals {\n words = toset([\"exec\", \"eval\"])\n}\npolicy \"default\" {\n rule \"r\" {\n when = " + when + "\n decision = \"deny\"\n"
	if message != "" {
		text += "message = " + message + "\n"
	}
	c, list := Load(Options{Dir: writeFiles(t, one(text+" }\n}\n"))})
	if c == nil {
		t.Fatalf("%s: %v", when, list)
	}
	again, err := ParsePolicySet(c.PolicySet().Posture())
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	return again.Default()
}

func TestRules(t *testing.T) {
	base := RuleChange{
		Action: "add", Kind: "tool", Address: "server.a.tool.run_exec", Classes: []string{"title_changed", "tool_added"}, Agents: []string{"clerk"},
		Server: RuleServer{Name: "Alpha", Label: "a", Address: "server.a"},
		Tool:   RuleTool{Name: "run_exec", Title: "Run", Description: "Runs a program."},
	}
	with := func(f func(*RuleChange)) RuleChange { c := base; f(&c); return c }
	named := func(s string) RuleChange { return with(func(c *RuleChange) { c.Tool.Name = s }) }
	for _, c := range []struct {
		when   string
		change RuleChange
		want   string
	}{
		{`matches("exec", change.tool.name)`, base, Deny},
		{`matches("^exec", change.tool.name)`, base, Ask},
		{`change.action != "remove" && matches("(?i)EXEC|shell", change.tool.name)`, base, Deny},
		{`change.action == "remove"`, base, Ask},
		{`change.kind == "tool" && change.address == "server.a.tool.run_exec"`, base, Deny},
		{`contains(change.classes, "tool_added") && contains(change.agents, "clerk")`, base, Deny},
		{`contains(change.classes, "tool_removed")`, base, Ask},
		{`change.server.name == "Alpha" && change.server.label == "a" && change.server.address == "server.a" && change.server.key == ""`, base, Deny},
		{`change.tool.title == "Run" && startswith(change.tool.description, "Runs")`, base, Deny},
		{`anytrue([for w in local.words : matches(w, change.tool.name)])`, base, Deny},
		{`anytrue([for w in local.words : matches(w, change.tool.name)])`, named("list"), Ask},
		{`contains(local.words, change.tool.name)`, named("eval"), Deny},
		{`change.tool.name == var.word`, named("drop"), Deny},
		{`length(change.agents) > 0`, with(func(c *RuleChange) { c.Agents = nil }), Ask},

		// What cannot be evaluated is denied.
		{`tonumber(change.tool.name) > 3`, base, Deny},
		{`tonumber(change.tool.name) > 3`, named("2"), Ask},
		{`change.classes[5] == "tool_added"`, base, Deny},
		{`[for x in change.classes : true][0]`, base, Deny},
		{`[for x in change.classes : "x"][0]`, base, Deny},
		{`!alltrue([for a in change.classes : alltrue([for b in range(1000) : change.tool.name != "x"])])`, base, Ask},
		{`!alltrue([for a in change.classes : alltrue([for b in range(1000) : change.tool.name != "x"])])`, with(func(c *RuleChange) { c.Classes = strings.Split(strings.Repeat("tool_added ", 20)+"tool_added", " ") }), Deny},

		// Spellings that look alike or are read alike do not dodge a rule.
		{`matches("exec", change.tool.name)`, named("e\u200bxec"), Deny},
		{`matches("exec", change.tool.name)`, named("\uff45xec"), Deny},
		{`matches("exec", change.tool.name)`, named("e\U000e0078x\u2060ec"), Deny},
		{`matches("exec", change.tool.name)`, named("ex\u00adec"), Deny},
		{`change.tool.name == "caf\u00e9"`, named("cafe\u0301"), Deny},
		{`!startswith(change.tool.name, "safe_")`, named("s\u200bafe_exec"), Deny},
		{`!startswith(change.tool.name, "safe_")`, named("safe_read"), Ask},
		{`matches("exec", change.address)`, with(func(c *RuleChange) { c.Address = `server.a.tool["e\u200bxec"]` }), Deny},
		{`change.address == "server.a.tool.run_exec"`, with(func(c *RuleChange) { c.Address = `server.a.tool["run_e\u200Bxec"]` }), Deny},
		{`matches("exec", change.address)`, with(func(c *RuleChange) { c.Address = `server.a.tool["e\u200bx"]` }), Ask},

		// Hostile sizes and texts.
		{`matches("(a+)+$", change.tool.description)`, with(func(c *RuleChange) { c.Tool.Description = strings.Repeat("a", maxJudgedBytes-1) + "!" }), Ask},
		{`matches("x", change.tool.description)`, with(func(c *RuleChange) { c.Tool.Description = strings.Repeat("a", maxJudgedBytes+1) }), Deny},
		{`matches("x", change.tool.title)`, with(func(c *RuleChange) { c.Tool.Title = strings.Repeat("\ufdfa", maxJudgedBytes/3) }), Ask},
		{`change.tool.name == "x"`, named("${change.action}\x00\xff%{ if }"), Ask},
		{`matches(change.tool.name, change.tool.description)`, named("("), Deny},
	} {
		p := ruled(t, c.when, "")
		got, reasons := p.Decide(c.change)
		if got != c.want {
			t.Errorf("%s\n  with %.80q: %s, want %s", c.when, c.change.Tool.Name, got, c.want)
		}
		if got == Deny && (len(reasons) != 1 || reasons[0].Rule != "r") {
			t.Errorf("%s: reasons %+v", c.when, reasons)
		}
	}
	if got, _ := defaultPolicy().Decide(RuleChange{Classes: []string{"nobody_knows"}}); got != Deny {
		t.Errorf("an unknown class is %s", got)
	}
}

func TestRuleMessages(t *testing.T) {
	change := RuleChange{Action: "add", Server: RuleServer{Name: "Alpha"}, Tool: RuleTool{Name: "x", Description: strings.Repeat("é", 2000)}}
	for _, c := range []struct{ message, want string }{
		{`"Tools that run code may not join ${change.server.name}."`, "Tools that run code may not join Alpha."},
		{`change.tool.description`, strings.Repeat("é", 512) + ellipsis},
		{`"a ${tonumber(change.tool.name)}"`, messageNotWritten},
		{``, ""},
	} {
		_, reasons := ruled(t, "true", c.message).Decide(change)
		if len(reasons) != 1 || reasons[0].Message != c.want {
			t.Errorf("%s: %+v, want %q", c.message, reasons, c.want)
		}
	}
	_, reasons := ruled(t, "tonumber(change.tool.name) > 1", `"x"`).Decide(change)
	if len(reasons) != 1 || reasons[0].Message != ruleNotEvaluated {
		t.Errorf("%+v, want %q", reasons, ruleNotEvaluated)
	}
}

// A lock is checked elsewhere; what it cannot hold is still refused here.
func TestPolicySetFaults(t *testing.T) {
	for _, c := range []struct{ posture, want string }{
		{`[]`, "policies"},
		{`{"policies":{},"used":{},"more":1}`, "unknown field"},
		{`{"policies":{"P":{"on":{},"rules":{}}},"used":{}}`, "no name of a policy"},
		{`{"policies":{"p":{"on":{"tool_aded":"ask"},"rules":{}}},"used":{}}`, "no class"},
		{`{"policies":{"p":{"on":{"tool_added":"maybe"},"rules":{}}},"used":{}}`, "no class"},
		{`{"policies":{"p":{"on":{},"rules":{"r":{"decision":"auto","when":"true"}}}},"used":{}}`, "no decision"},
		{`{"policies":{"p":{"on":{},"rules":{"r":{"decision":"ask","when":"env(\"HOME\") == \"\""}}}},"used":{}}`, "when"},
		{`{"policies":{"p":{"on":{},"rules":{"r":{"decision":"ask","when":"change.nothing"}}}},"used":{}}`, "when"},
		{`{"policies":{"p":{"on":{},"rules":{"r":{"decision":"ask","when":"` + strings.Repeat("(", 100_000) + `"}}}},"used":{}}`, "when"},
		{`{"policies":{"p":{"on":{},"rules":{"r":{"decision":"ask","when":"true","values":{"env.x":{"value":1,"type":"number"}}}}}},"used":{}}`, "unknown value"},
		{`{"policies":{"p":{"on":{},"rules":{"r":{"decision":"ask","when":"true","values":{"var.x":1}}}}},"used":{}}`, "not readable"},
		{`{"policies":{},"used":{"server.a":"p"}}`, "not there"},
	} {
		if _, err := ParsePolicySet([]byte(c.posture)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s: %v, want %q", c.posture, err, c.want)
		}
	}
}

// FuzzRule: rules never panic, and no rule makes a decision milder.
func FuzzRule(f *testing.F) {
	f.Add(`matches("exec", change.tool.name)`, "exec", "x")
	f.Add(`tonumber(change.tool.name) > 1`, "\xff\x00", "\u202e")
	f.Add(`change.classes[0] == "x" ? true : null`, "", "")
	f.Fuzz(func(t *testing.T, when, name, text string) {
		r, err := compileRule("r", ruleSource{Decision: Ask, When: when, Message: `"${change.tool.name}"`})
		if err != nil {
			return
		}
		p := defaultPolicy()
		for _, class := range [][]string{{"cache_changed"}, {"tool_added"}, {"concealed_text"}, nil} {
			c := RuleChange{Action: name, Classes: class, Tool: RuleTool{Name: name, Title: text, Description: text + name}, Agents: []string{text}}
			p.Rules = nil
			without, _ := p.Decide(c)
			p.Rules = []*Rule{r}
			with, reasons := p.Decide(c)
			if strictness(with) < strictness(without) {
				t.Errorf("%q makes %s of %s", when, with, without)
			}
			for _, x := range reasons {
				if len(x.Message) > maxMessageBytes+len(ellipsis) {
					t.Errorf("the message has %d bytes", len(x.Message))
				}
			}
		}
	})
}

// A text of a server can make a rule take long. What it may take is bounded, and the change is denied.
func TestRuleMatchingIsBounded(t *testing.T) {
	p := ruled(t, `matches("(a|b|c|d|e|f|g){200}x$", change.tool.description)`, `"no"`)
	for text, want := range map[string]string{
		strings.Repeat("abcdefg", 500):  Ask,
		strings.Repeat("abcdefg", 9000): Deny,
	} {
		start := time.Now()
		got, _ := p.Decide(RuleChange{Action: "add", Kind: "tool", Classes: []string{"tool_added"}, Tool: RuleTool{Name: "get", Description: text}})
		if took := time.Since(start); got != want || took > 5*time.Second {
			t.Errorf("a description of %d bytes: %s after %v, want %s", len(text), got, took, want)
		}
	}
}
