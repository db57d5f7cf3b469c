package catalog

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sessionCatalog = `
variable "token" {
  sensitive = true
}
variable "base" {
  default = "https://wiki.acme.example/"
}
variable "regions" {
  type    = set(string)
  default = ["us", "eu"]
}
variable "wiki" {
  type    = object({ space = optional(string, "ENG"), depth = number })
  default = { depth = 3 }
}
locals {
  orgs   = ["acme", "acme-labs"]
  header = "Bearer ${var.token}"
  mixed  = { plain = "p", hidden = var.token }
  deep   = jsondecode("[[[[[[[[[[1]]]]]]]]]]")
  chain  = [local.deep, { "a b" = local.deep, for = 1, x-y = 2 }]
  forged = { address = "server.github", name = "x", extra = true }
}
server "github" {
  http {
    url = "https://mcp.github.example/mcp"
    auth { bearer = var.token }
  }
  tools   = ["get_issue", "admin.list", "list_*"]
  prompts = ["triage"]
}
server "wiki" {
  for_each = var.regions
  name     = "wiki-${each.key}"
  http { url = "https://${each.key}.wiki.acme.example/mcp" }
  tools = ["search"]
}
toolset "triage" {
  tools = [server.github.tool.get_issue, server.wiki["eu"]]
}
agent "bot" {
  toolsets = [toolset.triage]
}
policy "writes" {
  on {
    title_changed = "deny"
  }
  rule "no_exec" {
    when     = change.action == "add"
    decision = "deny"
  }
}
`

func openSession(t *testing.T, text string, env map[string]string) *Session {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "motto.txt"), []byte("fail closed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, diags := Open(Options{Dir: dir, AllowMissingSecrets: true, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if s == nil {
		t.Fatal(diags.Error())
	}
	return s
}

// TestEvaluate compares what expressions are with how they are shown, as text and as JSON; "" is JSON that is not looked at.
func TestEvaluate(t *testing.T) {
	s := openSession(t, sessionCatalog, map[string]string{"MCPCAT_VAR_token": canary + "token"})
	long := strings.Repeat("x", 40)
	for _, c := range []struct{ expr, text, json string }{
		{`1 + 2`, `3`, `3`},
		{`0.1`, `0.1`, `0.1`},
		{`123456789012345678901234567890`, `123456789012345678901234567890`, `123456789012345678901234567890`},
		{`null`, `null`, `null`},
		{`!true`, `false`, `false`},
		{`var.base`, `"https://wiki.acme.example/"`, `"https://wiki.acme.example/"`},
		{`var.regions`, `toset(["eu", "us"])`, `["eu","us"]`},
		{`var.wiki`, `{ depth = 3, space = "ENG" }`, `{"depth":3,"space":"ENG"}`},
		{`path.catalog`, `"."`, `"."`},
		{`file("motto.txt")`, `"fail closed\n"`, `"fail closed\n"`},
		{`{}`, `{}`, `{}`},
		{`[]`, `[]`, `[]`},
		{`toset([])`, `toset([])`, `[]`},
		{`[for o in local.orgs : upper(o)]`, `["ACME", "ACME-LABS"]`, `["ACME","ACME-LABS"]`},
		{`"a\"b\\c\n\t$${x} %%{y}"`, `"a\"b\\c\n\t$${x} %%{y}"`, `"a\"b\\c\n\t${x} %{y}"`},
		{`jsondecode("\"\\u202e\\u0007\"")`, `"\u202E\u0007"`, ""},
		{`"##[error]stop"`, `"\u0023\u0023[error]stop"`, `"##[error]stop"`},
		{`{ "a b" = 1, for = 2, null = 3, x-y = 4, "1a" = 5 }`, `{ "1a" = 5, "a b" = 1, "for" = 2, "null" = 3, x-y = 4 }`, ""},
		{`["` + long + `", "` + long + `"]`, "[\n  \"" + long + "\",\n  \"" + long + "\",\n]", ""},
		{`{ a = ["` + long + `", "` + long + `"], b = 1 }`, "{\n  a = [\n    \"" + long + "\",\n    \"" + long + "\",\n  ]\n  b = 1\n}", ""},
		{`server.github`, `server.github`, `{"address":"server.github"}`},
		{`server.wiki`, `{ eu = server.wiki["eu"], us = server.wiki["us"] }`, `{"eu":{"address":"server.wiki[\"eu\"]"},"us":{"address":"server.wiki[\"us\"]"}}`},
		{`server.wiki["eu"].tool.search`, `server.wiki["eu"].tool.search`, `{"address":"server.wiki[\"eu\"].tool.search"}`},
		{`server.github.tool`, "{\n  \"admin.list\" = server.github.tool[\"admin.list\"]\n  get_issue    = server.github.tool.get_issue\n  \"list_*\"     = { pattern = \"list_*\" }\n}", ""},
		{`server.github.tool.get_issue.name`, `"get_issue"`, `"get_issue"`},
		{`[for s in server.wiki : s.tool.search]`, `[server.wiki["eu"].tool.search, server.wiki["us"].tool.search]`, ""},
		{`keys(server.github.prompt)`, `["triage"]`, `["triage"]`},
		{`toolset.triage`, `toolset.triage`, `{"address":"toolset.triage"}`},
		{`toolset.triage.tools`, `[server.github.tool.get_issue, server.wiki["eu"]]`, ""},
		{`local.chain`, `[[[[[[[[[[[1]]]]]]]]]], { "a b" = [[[[[[[[[[1]]]]]]]]]], "for" = 1, x-y = 2 }]`, ""},
		{`policy.writes`, `policy.writes`, `{"address":"policy.writes"}`},
		{`[policy.writes.on.title_changed, policy.default.on.title_changed]`, `["deny", "ask"]`, ""},
		{`policy.writes.rules`, `["no_exec"]`, ""},
		{"[\n  1,\n  2,\n]", `[1, 2]`, `[1,2]`},
	} {
		v, diags := s.Evaluate("expression", 1, c.expr)
		if diags.HasErrors() {
			t.Errorf("%s: %v", c.expr, diags)
			continue
		}
		if v.String() != c.text {
			t.Errorf("%s is shown as\n%s\nwant\n%s", c.expr, v, c.text)
		}
		if c.json == "" {
			continue
		}
		if raw, err := json.Marshal(v); err != nil || string(raw) != c.json {
			t.Errorf("%s is %s in JSON, %v, want %s", c.expr, raw, err, c.json)
		}
		// What is shown is an expression with the same value.
		again, diags := s.Evaluate("expression", 1, v.String())
		if diags.HasErrors() || again.String() != c.text {
			t.Errorf("%s, evaluated again, is %s, %v", c.text, again, diags)
		}
	}
}

// TestEvaluateSecret calls every function with every kind of secret. Whether there is a value, and which, makes no difference.
func TestEvaluateSecret(t *testing.T) {
	given := openSession(t, sessionCatalog, map[string]string{"MCPCAT_VAR_token": canary + "token", "TOKEN": canary + "env"})
	missing := openSession(t, sessionCatalog, nil)
	secrets := []string{
		"var.token", "local.header", "local.mixed", `local.mixed["plain"]`, `env("TOKEN")`, `env("TOKEN", "x")`, `env("PATH")`,
		`sensitive("` + canary + `x")`, `secret_file("/nothing/here")`, `length(var.token) > 3`, `var.token == "` + canary + `token"`,
		`true ? 1 : var.token`, `[for x in [1] : var.token]`, `{ (var.token) = 1 }`, `"${var.token}"`, `can(jsondecode(var.token))`,
	}
	names := slices.Sorted(maps.Keys(given.l.funcs))
	if len(names) < 50 {
		t.Fatalf("%d functions: the list is broken", len(names))
	}
	for _, name := range names {
		if name == "env" || name == "file" || name == "secret_file" {
			continue // their arguments may not be secret at all
		}
		for _, args := range []string{"(var.token)", "(local.mixed...)", `("x", var.token)`, `(var.token, "x", 1)`} {
			secrets = append(secrets, name+args)
		}
	}
	for _, expr := range secrets {
		for what, s := range map[string]*Session{"given": given, "missing": missing} {
			v, diags := s.Evaluate("expression", 1, expr)
			if len(diags) > 0 {
				t.Errorf("%s, secret %s: %v", expr, what, diags)
			}
			if v.Kind != ValueSensitive || v.String() != "(sensitive)" || v.Text != "" || v.Elements != nil {
				t.Errorf("%s, secret %s: %#v", expr, what, v)
			}
			if raw, err := json.Marshal(v); err == nil {
				t.Errorf("%s, secret %s: JSON %s", expr, what, raw)
			}
		}
	}
	if v, diags := given.Evaluate("expression", 1, `upper("shown")`); diags.HasErrors() || v.Text != "SHOWN" {
		t.Errorf("what is no secret is not shown: %v %v", v, diags)
	}
}

func TestEvaluateFaults(t *testing.T) {
	s := openSession(t, sessionCatalog, nil)
	before := len(s.Catalog.Servers)
	for _, c := range []struct{ expr, code, detail string }{
		{``, "catalog.hcl", "nothing to evaluate"},
		{`var.bases`, "catalog.reference", "Did you mean var.base?"},
		{`var`, "catalog.reference", "var.NAME"},
		{`policy.write`, "catalog.reference", "Did you mean policy.writes?"},
		{`policy`, "catalog.reference", "policy.NAME"},
		{`each.key`, "catalog.reference", "for_each only"},
		{`server.githb.tool.get_issue`, "catalog.reference", "Did you mean server.github.tool.get_issue?"},
		{`uper("x")`, "catalog.reference", `Did you mean "upper"?`},
		{`upper(1, 2)`, "catalog.expression", "upper"},
		{`1 +`, "catalog.expression", ""},
		{`a = 1`, "catalog.expression", ""},
		{"\"a\u202eb\"", "catalog.text", "cannot see"},
		{strings.Repeat("(", MaxDepth+1), "catalog.limit", "nested"},
		{strings.Repeat("x", MaxFileBytes+1), "catalog.limit", "larger"},
		{`[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a]]]`, "catalog.limit", "limits"},
		{`file("nothing.txt")`, "catalog.file", "no such file"},
		{`file("../outside")`, "catalog.file", "inside the catalog directory"},
	} {
		v, diags := s.Evaluate("expression", 7, c.expr)
		if !diags.HasErrors() || v.String() != "null" {
			t.Errorf("%.40q is %v", c.expr, v)
			continue
		}
		d := diags.Errors()[0]
		if d.Code != c.code || !strings.Contains(d.Detail, c.detail) || d.Range == nil || d.Range.File != "expression" || d.Range.Start.Line != 7 {
			t.Errorf("%.40q: %s %v at %v, want %s with %q in line 7", c.expr, d.Code, d.Detail, d.Range, c.code, c.detail)
		}
	}
	// The faults of one expression, and what it took, are no matter of the next.
	if v, diags := s.Evaluate("expression", 1, `length([for x in range(1000) : x])`); len(diags) > 0 || v.Text != "1000" {
		t.Errorf("after faults: %v %v", v, diags)
	}
	if len(s.Catalog.Servers) != before {
		t.Error("the catalog was changed")
	}
}
