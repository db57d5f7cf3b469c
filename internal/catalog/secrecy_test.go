package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// secretForms are ways to make something of a secret. Each refers to one, and says nothing of it in its own text.
var secretForms = []string{
	`var.token`, `(var.token)`, `var["token"]`, `"${var.token}"`, `"x${var.token}"`, `"x${"y${var.token}"}"`,
	"<<EOT\nx ${var.token}\nEOT\n", "<<-EOT\n  x ${var.token}\n  EOT\n",
	`upper(var.token)`, `trimspace(lower(upper(var.token)))`, `substr(var.token, 0, 1)`, `sha256(var.token)`, `urlencode(var.token)`,
	`tostring(strlen(var.token))`, `tostring(length(var.list))`, `length(var.list) > 100 ? "a" : "b"`,
	`can(regex("x", var.token)) ? "a" : "b"`, `tostring(can(var.token.x))`, `try(var.token, "x")`, `try("x", var.token)`, `try(var.token.x, "y")`,
	`var.token == "x" ? "a" : "b"`, `true ? "a" : var.token`, `false ? var.token : "a"`, `tostring(var.token == "x" && true)`,
	`tostring(!(var.token == "x"))`, `tostring(var.n + 1)`, `tostring(-var.n)`,
	`{ a = "x", b = var.token }["a"]`, `{ a = "x", b = var.token }.a`, `{ (var.token) = "x", other = "y" }["other"]`, `["x", var.token][0]`,
	`lookup({ a = "x" }, var.token, "none")`, `try({ a = "x" }[var.token], "none")`, `try(["a", "b"][var.n], "none")`,
	`join(",", [for x in var.list : "y"])`, `join(",", [for x in ["a"] : x if x != var.token])`, `join(",", [for i, x in var.list : i])`,
	`join(",", keys({ for x in var.list : x => "y" }))`, `join(",", [for x in ["a"] : "${x}${var.token}"])`, `join(",", keys(var.map))`,
	`join(",", var.list[*])`, `join(",", var.list)`, `join(",", [for o in [{ a = var.token }] : "x"])`, `join(",", [{ a = var.token }][*].a)`,
	`"%{if var.token == "x"}a%{else}b%{endif}"`, `"%{for x in var.list}y%{endfor}"`, `"%{if true}a%{else}${var.token}%{endif}"`,
	`jsonencode({ a = 1, b = var.token })`, `jsonencode([var.map])`, `format("%s", var.token)`, `format("%d", var.n)`, `replace("x", "x", var.token)`,
	`element(concat(["x"], var.list), 0)`, `merge({ a = "x" }, var.map)["a"]`, `coalesce("x", var.token)`, `tostring(contains(["x"], var.token))`,
	`local.secret`, `local.derived`, `local.flag ? "a" : "b"`, `tostring(local.count)`, `local.shape.plain`, `join(",", local.names)`, `local.deep`,
	`env("KEY")`, `env("ABSENT", "x")`, `upper(env("KEY"))`, `env("KEY") == "x" ? "a" : "b"`,
	`secret_file("key.txt")`, `tostring(strlen(secret_file("key.txt")))`, `sensitive("x")`, `sensitive(5) == 5 ? "a" : "b"`, `"${sensitive("x")}"`,
	`can(sensitive("x")) ? "a" : "b"`, `{ a = "x", b = sensitive(1) }.a`,
}

const secretScope = `
variable "token" { sensitive = true }
variable "n" {
  type      = number
  sensitive = true
}
variable "list" {
  type      = list(string)
  sensitive = true
}
variable "map" {
  type      = map(string)
  sensitive = true
}
locals {
  secret  = var.token
  derived = upper(local.secret)
  flag    = can(regex("^x", local.derived))
  count   = length(var.list)
  shape   = { plain = "x", secret = var.token }
  names   = keys(local.shape)
  deep    = "${local.names[0]}"
}
`

func secretOptions(t *testing.T, server string) Options {
	env := map[string]string{
		"MCPCAT_VAR_token": "canary-token", "MCPCAT_VAR_n": "1", "MCPCAT_VAR_list": `["canary-one", "canary-two"]`,
		"MCPCAT_VAR_map": `{ a = "canary-value", canary-key = "x" }`, "KEY": "canary-env",
	}
	return Options{
		Dir:    writeFiles(t, map[string]string{"catalog.hcl": secretScope + server, "key.txt": "canary-file\n"}),
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

// TestSecrecyByReference puts each form where secrets may stand and where they may not.
func TestSecrecyByReference(t *testing.T) {
	if len(secretForms) < 60 {
		t.Fatal("forms are missing")
	}
	for i, form := range secretForms {
		server := func(inner string) string { return "server \"a\" {\n" + inner + "\n}\n" }
		c, list := Load(secretOptions(t, server("  stdio {\n    command = \"x\"\n    env = {\n      V = "+form+"\n    }\n  }")))
		if c == nil {
			t.Errorf("%s in env: %v", form, list)
		} else {
			if v := c.Servers[0].Stdio.Env[0].Value; !v.Secret() {
				t.Errorf("%s in env is public", form)
			}
			raw, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			shown := dump(c) + list.Error() + string(raw) + fmt.Sprintf("%v %+v", c.Servers[0], c.Servers[0].Stdio)
			if strings.Contains(strings.ToLower(shown), canary) {
				t.Errorf("%s in env shows a secret: %s", form, shown)
			}
		}
		for name, inner := range map[string]string{
			"description": "  description = %s\n  stdio {\n    command = \"x\"\n  }",
			"args":        "  stdio {\n    command = \"x\"\n    args = [%s]\n  }",
			"tools":       "  stdio {\n    command = \"x\"\n  }\n  tools = [%s]",
			"key":         "  stdio {\n    command = \"x\"\n    env = {\n      (%s) = \"x\"\n    }\n  }",
			"host":        "  http {\n    url = \"https://${%s}.example/mcp\"\n  }",
			"timeout":     "  stdio {\n    command = \"x\"\n  }\n  timeouts {\n    call = %s\n  }",
		} {
			if name != "description" && name != "host" && i%4 > 0 || strings.HasPrefix(form, "<<") && name != "description" {
				continue
			}
			c, list := Load(secretOptions(t, server(fmt.Sprintf(inner, form))))
			refused := false
			for _, d := range list.Errors() {
				refused = refused || d.Code == "catalog.secret_place"
			}
			if c != nil || !refused {
				t.Errorf("%s in %s: %v, want the error catalog.secret_place", form, name, list)
			}
			if text := rendered(t, nil, list) + list.Error(); strings.Contains(strings.ToLower(text), canary) {
				t.Errorf("%s in %s shows a secret: %s", form, name, text)
			}
		}
	}
}

// TestPublicForms are the twins: what only looks like a secret is public.
func TestPublicForms(t *testing.T) {
	for _, form := range []string{
		`"var.token"`, `"$${var.token}"`, `join(",", [for token in ["a"] : token])`, `{ token = "x" }.token`, `local.plain`, `"${local.plain}"`,
		`file("key.txt")`, `try(local.plain, "x")`, `tostring(can(local.plain))`, `{ sensitive = "x" }.sensitive`,
	} {
		c, list := Load(secretOptions(t, "locals {\n  plain = \"x\"\n}\nserver \"a\" {\n  description = "+form+"\n  stdio {\n    command = \"x\"\n  }\n}\n"))
		if c == nil {
			t.Errorf("%s: %v", form, list)
		}
	}
}

// faultyForms fail when they are evaluated, with a message of a library that knows the value.
var faultyForms = []string{
	`jsondecode(%s)`, `tonumber(%s)`, `tobool(%s)`, `regex(%s, "x")`, `regex("(%s", "x")`, `regexall("[%s", "x")`, `lookup({}, %s)`, `{ a = 1 }[%s]`, `[1][%s]`,
	`%s + 1`, `%s && true`, `!%s`, `-%s`, `%s.x`, `%s.x.y`, `%s[0]`, `%s[*].x`, `element([], %s)`, `[for x in %s : x]`, `{ for x in [1, 2] : %s => x }`,
	`{ for x in [%s, %[1]s] : x => 1 }`, `tolist(%s)`, `tomap(%s)`, `toset(%s)`, `format(%s)`, `format("%%d", %s)`, `format("%%q %%!", %s)`, `join(%s, 5)`,
	`split(%s)`, `zipmap([%s], [])`, `slice([%s], 5, 9)`, `range(%s)`, `min(%s)`, `abs(%s)`, `merge(%s)`, `keys(%s)`, `values(%s)`, `flatten(%s)`, `sort(%s)`,
	`sort([null, %s])`, `reverse(%s)`, `setunion(%s)`, `concat(%s)`, `contains(%s, 1)`, `length(%s)`, `substr(%s, "a", 1)`, `alltrue(%s)`, `alltrue([%s])`,
	`true ? [%s] : { a = 1 }`, `%s ? 1 : 2`, `"${[%s]}"`, `"%%{if %s}x%%{endif}"`, `"%%{for x in %s}x%%{endfor}"`, `{ a = { (%s) = 1 } }.a.b`, `{ ([%s]) = 1 }`,
	`try(tonumber(%s))`, `tonumber(upper(%s))`, `tonumber("${%s}x")`, `jsondecode("{\"${%s}\": }")`, `jsondecode("[${%s}]")`, `file(%s)`, `tonumber(trimsuffix(%s, "1"))`,
	`%s / 0`, `tonumber(local.literal)`, `{ for x in ["a", "a"] : "${x}${%s}" => 1 }`, `upper(%s, 1)`, `upper([%s])`, `nothere(%s)`, `[%s].x`,
}

// TestFaultsShowNoValues: an expression that fails tells about neither a secret nor a literal, nor what was made of them.
func TestFaultsShowNoValues(t *testing.T) {
	faults := 0
	for _, form := range faultyForms {
		for _, value := range []string{`var.token`, `local.derived`, `"canary-literal-1"`, `local.literal`, `var.public`, `upper(local.literal)`} {
			expr := strings.ReplaceAll(form, "%%", "\x00")
			expr = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(expr, "%[1]s", value), "%s", value), "\x00", "%")
			text := "locals {\n  literal = \"canary-literal-1\"\n  bad = " + expr + "\n}\nvariable \"public\" { default = \"canary-default\" }\n"
			c, list := Load(secretOptions(t, text))
			if c == nil {
				faults++
			}
			raw, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			shown := strings.ToLower(rendered(t, nil, list) + list.Error() + string(raw))
			if strings.Contains(shown, canary) || strings.Contains(shown, "literal-1") {
				t.Errorf("%s shows a value: %s", expr, shown)
			}
		}
	}
	if faults < len(faultyForms)*4 {
		t.Errorf("%d expressions fail, want nearly all of %d", faults, len(faultyForms)*6)
	}
}

// TestScrubSays is the positive control: what is no value stays readable.
func TestScrubSays(t *testing.T) {
	_, list := Load(Options{Dir: writeFiles(t, one(`locals {
  a = { one = 1 }.two
  b = upper()
  c = tonumber("x")
}
`))})
	text := list[0].Detail + list[1].Detail + list[2].Detail
	for _, want := range []string{`an attribute named "two"`, `Function "upper" expects 1 argument(s). Missing value for "str"`, `cannot convert "…" to number`} {
		if !strings.Contains(text, want) {
			t.Errorf("the diagnostics do not contain %q: %v", want, []diag.Diagnostic(list))
		}
	}
}
