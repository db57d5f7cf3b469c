package cli_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// secretForms are expressions that make something of a secret, as people may try to get it past the rule.
var secretForms = []string{
	`var.token`, `"x${var.token}y"`, `[var.token]`, `{ a = var.token }`, `{ (var.token) = "x" }`, `local.made`, `can(regex("^T", var.token))`, `try(var.token, "x")`,
	`strlen(var.token)`, `length([var.token])`, `var.token == "x"`, `{ x = 1 }[var.token]`, `try({ x = 1 }[var.token], 2)`, `jsondecode(var.token)`, `[for x in [var.token] : x]`,
	`var.token != "" ? "a" : "b"`, `upper(var.token)`, `sha256(var.token)`, `substr(var.token, 0, 1)`, `sensitive("TOKEN")`, `env("KEY")`, `secret_file("token.key")`,
	`lookup({ a = "b" }, var.token, "c")`, `contains(["x"], var.token)`, `coalesce(var.token, "x")`, `keys({ (var.token) = 1 })`, `regex("x", var.token)`, `tonumber(var.token)`,
}

// neighbours are values of arguments without which a block is refused for that.
var neighbours = map[string]string{
	"condition": "var.one != 1", "error_message": `"m"`, "when": "true", "decision": `"ask"`, "from": "server.two", "to": "server.three", "url": `"https://a.example/mcp"`, "command": `"x"`,
}

// beside are arguments that others have to stand beside.
var beside = map[string]string{"header": "value = var.token\n", "max_age": "recheck = \"list_changed\"\n"}

// inBlocks is the text of an argument within its blocks, with what else they need.
func inBlocks(blocks []*catalog.BlockType, argument, value string) string {
	text := fmt.Sprintf("%s = %s\n", argument, value)
	for i := len(blocks) - 1; i >= 0; i-- {
		for _, a := range blocks[i].Arguments {
			if a.Required && (i < len(blocks)-1 || a.Name != argument) {
				text += fmt.Sprintf("%s = %s\n", a.Name, neighbours[a.Name])
			}
		}
		if blocks[i].Type == "agent" && i < len(blocks)-1 {
			text += "tools = [server.two.tool.berth]\n"
		}
		var labels strings.Builder
		for _, l := range blocks[i].Labels {
			name := "one"
			if l == "ADDRESS" {
				name = "server.two.tool.berth"
			}
			fmt.Fprintf(&labels, " %q", name)
		}
		if i == len(blocks)-1 {
			text += beside[argument]
		}
		text = blocks[i].Type + labels.String() + " {\n" + text + "}\n"
	}
	return text
}

// codes of the diagnostics of a document.
func codes(t *testing.T, document string) []string {
	t.Helper()
	var doc struct {
		Diagnostics []struct{ Code, Severity string }
	}
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatalf("%v: %.300s", err, document)
	}
	var list []string
	for _, d := range doc.Diagnostics {
		if d.Severity == "error" {
			list = append(list, d.Code)
		}
	}
	return list
}

const secretToken = "variable \"token\" {\n  sensitive = true\n}\nlocals {\n  made = \"m${var.token}\"\n}\nserver \"two\" {\n  stdio {\n    command = \"echochild\"\n  }\n  tools = [\"berth\"]\n}\n"

// TestSecretsElsewhere puts a secret, and what can be made of one, into every argument of the language that may hold none. Each
// is refused by its code, and nothing of the secret is said.
func TestSecretsElsewhere(t *testing.T) {
	token := newCanaries(t, map[string]string{"token": ""})["token"]
	search := newLeakSearch(map[string][]byte{"the secret": []byte(token)})
	seen, unclear := map[string]int{}, map[string]bool{}
	arguments(func(path []string, blocks []*catalog.BlockType, a catalog.Argument) {
		if a.Secret {
			return
		}
		where := strings.Join(path, " ")
		for i, form := range secretForms {
			p := emptyPlace(t)
			p.env["MCPCAT_VAR_token"], p.env["KEY"] = token, token
			p.env["MCPCAT_VAR_one"] = "1"
			p.file("token.key", token)
			p.file("catalog.hcl", secretToken+strings.ReplaceAll(inBlocks(blocks, a.Name, form), "TOKEN", token))
			want := []string{"catalog.secret_place"}
			switch {
			case where == "variable validation condition": // may be about a secret; it is about var.one here
				want = append(want, "catalog.reference", "catalog.expression", "catalog.type")
			case strings.HasPrefix(where, "policy rule"): // of which most functions are no part
				want = append(want, "catalog.reference")
			case a.Literal: // no reference and no function is understood there
				want = []string{"catalog.expression", "catalog.reference", "catalog.type", "catalog.value", "catalog.labels"}
			case strings.Contains(a.Type, "reference"): // what names nothing is refused before
				want = append(want, "catalog.reference", "catalog.type")
			}
			code, out := p.run("validate", "-json")
			got := codes(t, out)
			if code != 1 || !slices.ContainsFunc(want, func(w string) bool { return slices.Contains(got, w) }) {
				// What else the block needs is not there. That may be so for a few arguments: see neighbours.
				unclear[where] = true
				if code != 1 || len(got) == 0 || len(unclear) > 5 {
					t.Errorf("%s = %s: validate exited %d with %q, want one of %q; unclear are %v:\n%s", where, form, code, got, want, slices.Sorted(maps.Keys(unclear)), out)
				}
			}
			for _, w := range want {
				if slices.Contains(got, w) {
					seen[w]++
				}
			}
			p.run("validate")
			if i%5 == 0 { // these say the same
				p.run("plan", "-contact=none", "-log-level=trace")
				p.run("fmt", "-check", "-diff")
			}
			p.clean(search)
		}
	})
	if seen["catalog.secret_place"] < 500 {
		t.Errorf("refused for what they are were only %d", seen["catalog.secret_place"])
	}
	t.Logf("%v; unclear are %v", seen, slices.Sorted(maps.Keys(unclear)))
}

// secretMistake is a catalog, or a command line, in which something is wrong near a secret.
type secretMistake struct {
	name    string
	catalog string // TOKEN stands for the secret, which may begin with a digit
	code    string // of an error, or of a warning
	value   string // of the variable in the environment, TOKEN if empty
	flags   string
	files   map[string]string
	// read says that the catalog loads and holds the secret as a plain text, which everybody reads who reads the catalog: only
	// commands that do not show what is pinned are run.
	read bool
}

const tokenVariable = "variable \"token\" {\n  sensitive = true\n}\n"

// one is a server with lines of its http block.
func one(http string) string {
	return tokenVariable + "server \"one\" {\n  http {\n    url = \"https://a.example/mcp\"\n    " + http + "\n  }\n  tools = [\"berth\"]\n}\n"
}

func child(stdio string) string {
	return tokenVariable + "server \"one\" {\n  stdio {\n    command = \"echochild\"\n    " + stdio + "\n  }\n  tools = [\"berth\"]\n}\n"
}

func at(url string) string {
	return tokenVariable + "server \"one\" {\n  http {\n    url = " + url + "\n  }\n}\n"
}

var secretMistakes = []secretMistake{
	{name: "host", catalog: at(`"https://${var.token}.example/mcp"`), code: "catalog.secret_place"},
	{name: "port", catalog: at(`"https://a.example:${var.token}/mcp"`), code: "catalog.secret_place"},
	{name: "scheme", catalog: at(`"${var.token}://a.example/mcp"`), code: "catalog.secret_place"},
	{name: "URL", catalog: at("var.token"), code: "catalog.secret_place"},
	{name: "user information", catalog: at(`"https://me:${var.token}@a.example/mcp"`), code: "catalog.secret_place"},
	{name: "fragment", catalog: at(`"https://a.example/mcp#${var.token}"`), code: "endpoint.url"},
	{name: "literal user information", catalog: at(`"https://me:TOKEN@a.example/mcp"`), code: "endpoint.url"},
	{name: "computed headers", catalog: one(`headers = merge({ a = "b" }, { c = var.token })`), code: "catalog.secret_place"},
	{name: "name of a header", catalog: one(`headers = { (var.token) = "x" }`), code: "catalog.secret_place"},
	{name: "name of a variable", catalog: child(`env = { "${var.token}" = "x" }`), code: "catalog.secret_place"},
	{name: "bearer literal", catalog: one(`auth {
      bearer = "TOKEN"
    }`), code: "catalog.secret_needed"},
	{name: "proxy literal", catalog: one(`egress {
      proxy = "http://me:TOKEN@proxy.example:3128"
    }`), code: "catalog.secret_needed"},
	{name: "proxy host", catalog: one(`egress {
      proxy = "http://me:x@${var.token}:3128"
    }`), code: "catalog.secret_place"},
	{name: "file", catalog: one(`headers = { X = file(var.token) }`), code: "catalog.secret_place"},
	{name: "secret_file", catalog: one(`headers = { X = secret_file(var.token) }`), code: "catalog.secret_place"},
	{name: "env", catalog: one(`headers = { X = env(var.token) }`), code: "catalog.reference"},
	{name: "index of a server", catalog: child("") + "agent \"a\" {\n  tools = [server[var.token]]\n}\n", code: "catalog.reference"},
	{name: "index of a tool", catalog: child("") + "agent \"a\" {\n  tools = [server.one.tool[var.token]]\n}\n", code: "catalog.secret_place"},

	{name: "jsondecode", catalog: one(`headers = { X = jsondecode(var.token) }`), code: "catalog.expression"},
	{name: "sum", catalog: one(`headers = { X = var.token + 1 }`), code: "catalog.expression"},
	{name: "attribute", catalog: one(`headers = { X = var.token.xTOKEN }`), code: "catalog.expression"},
	{name: "index", catalog: one(`headers = { X = { a = "b" }[var.token] }`), code: "catalog.expression"},
	{name: "regex", catalog: one(`headers = { X = regex("^x$", var.token) }`), code: "catalog.expression"},
	{name: "tonumber", catalog: one(`headers = { X = tonumber(var.token) }`), code: "catalog.expression"},
	{name: "format", catalog: one(`headers = { X = format("%d", var.token) }`), code: "catalog.expression"},
	{name: "range", catalog: one(`headers = { X = join("", range(var.token)) }`), code: "catalog.expression"},
	{name: "list in a header", catalog: one(`headers = { X = [var.token] }`), code: "catalog.type"},
	{name: "object in a header", catalog: one(`headers = { X = { (var.token) = 1 } }`), code: "catalog.type"},
	{name: "null in a header", catalog: one(`headers = { X = var.token == "x" ? "y" : null }`), code: "catalog.null"},
	{name: "line end in a header", catalog: one(`headers = { X = var.token }`), value: "TOKEN\nTOKEN", code: "catalog.value"},
	{name: "line end in a bearer", catalog: one("auth {\n      bearer = var.token\n    }"), value: "TOKEN\nTOKEN", code: "catalog.value"},
	{name: "empty part of a URL", catalog: at(`"https://a.example/${var.token}/mcp"`), value: "../TOKEN", code: "endpoint.url"},

	{name: "number", catalog: "variable \"token\" {\n  type = number\n  sensitive = true\n}\n" + child(""), code: "catalog.duplicate"},
	{name: "wrong number", catalog: strings.Replace(child(""), "sensitive", "type = number\n  sensitive", 1), code: "catalog.type"},
	{name: "wrong list", catalog: strings.Replace(child(""), "sensitive", "type = list(string)\n  sensitive", 1), value: `["TOKEN", TOKEN`, code: "catalog.expression"},
	{name: "wrong object", catalog: strings.Replace(child(""), "sensitive", "type = object({ a = string })\n  sensitive", 1), value: `{ b = "TOKEN" }`, code: "catalog.type"},
	{name: "reference in a value", catalog: strings.Replace(child(""), "sensitive", "type = list(string)\n  sensitive", 1), value: `[xTOKEN]`, code: "catalog.reference"},
	{name: "null", catalog: strings.Replace(child(""), "sensitive", "nullable = false\n  sensitive", 1), flags: "-var-file=DIR/null.hcl", files: map[string]string{"null.hcl": "token = null # TOKEN\n"}, code: "variable.null"},
	{name: "broken file of values", catalog: child(""), flags: "-var-file=DIR/broken.hcl", files: map[string]string{"broken.hcl": "token = \"TOKEN\n"}, code: "catalog.expression"},
	{name: "file of values without a name", catalog: child(""), flags: "-var-file=DIR/broken.hcl", files: map[string]string{"broken.hcl": "TOKEN\n"}, code: "catalog.expression"},
	{name: "file of other values", catalog: child(""), flags: "-var-file=DIR/other.hcl", files: map[string]string{"other.hcl": "tokin = \"TOKEN\"\n"}, code: "variable.undeclared"},
	{name: "value in the catalog directory", catalog: child(""), files: map[string]string{"catalog.vars.hcl": "token = \"TOKEN\"\n"}, code: "variable.exposed"},
	{name: "default", catalog: strings.Replace(child(""), "sensitive", "default = \"TOKEN\"\n  sensitive", 1), code: "variable.exposed"},
	{name: "-var without a name", catalog: child(""), flags: "-var=TOKEN", code: "usage"},
	{name: "-var of a value with =", catalog: child(""), flags: "-var=TOKEN==", code: "variable.undeclared"},
	{name: "-var misspelt", catalog: child(""), flags: "-var=tokin=TOKEN", code: "variable.undeclared"},
	{name: "-var", catalog: child(""), flags: "-var=token=TOKEN", code: "variable.flag"},

	{name: "condition", catalog: strings.Replace(child(""), "sensitive = true\n", "sensitive = true\n  validation {\n    condition = var.token == \"x\"\n    error_message = \"no\"\n  }\n", 1), code: "variable.invalid"},
	{name: "condition that fails", catalog: strings.Replace(child(""), "sensitive = true\n", "sensitive = true\n  validation {\n    condition = jsondecode(var.token) == 1\n    error_message = \"no\"\n  }\n", 1), code: "catalog.expression"},
	{name: "error_message", catalog: strings.Replace(child(""), "sensitive = true\n", "sensitive = true\n  validation {\n    condition = var.token == \"x\"\n    error_message = \"not ${var.token}\"\n  }\n", 1), code: "catalog.secret_place"},
	{name: "unterminated", catalog: one(`headers = { X = "TOKEN }`), code: "catalog.expression"},
	{name: "without quotes", catalog: one(`headers = { X = xTOKEN }`), code: "catalog.reference"},
	{name: "unknown argument", catalog: one(`bearer = "TOKEN"`), code: "catalog.unknown_argument"},
	{name: "unknown block", catalog: one("auht {\n bearer = \"TOKEN\"\n }"), code: "catalog.unknown_block"},
	{name: "argument twice", catalog: one("headers = { X = \"TOKEN\" }\nheaders = { Y = \"TOKEN\" }"), code: "catalog.expression"},
	{name: "null literal", catalog: one(`headers = { X = ["TOKEN"] }`), code: "catalog.type"},
	{name: "comment", catalog: one("headers = { X = } # TOKEN"), code: "catalog.expression"},

	{name: "literal header", catalog: one(`headers = { Authorization = "Bearer TOKEN" }`), code: "catalog.literal_credential", read: true},
	{name: "literal environment", catalog: child(`env = { API_KEY = "TOKEN" }`), code: "catalog.literal_credential", read: true},
	{name: "literal form", catalog: child(`env = { MODE = "ghp_TOKEN" }`), code: "catalog.literal_credential", read: true},
	{name: "literal query", catalog: at(`"https://a.example/mcp?api_key=TOKEN"`), code: "catalog.literal_credential", read: true},
	{name: "literal path", catalog: at(`"https://a.example/ghp_TOKEN/mcp"`), code: "catalog.literal_credential", read: true},
	{name: "literal argument", catalog: child(`args = ["--token", "ghp_TOKEN"]`), code: "catalog.literal_credential", read: true},
	{name: "literal option", catalog: child(`args = ["--api-key=TOKEN"]`), code: "catalog.literal_credential", read: true},
	{name: "literal description", catalog: strings.Replace(child(""), "  stdio", "  description = \"use ghp_TOKEN\"\n  stdio", 1), code: "catalog.literal_credential", read: true},
}

// TestSecretMistakes: what is wrong near a secret is said by its code, and nothing of the secret.
func TestSecretMistakes(t *testing.T) {
	for _, m := range secretMistakes {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			token := newCanaries(t, map[string]string{"token": "7"})["token"]
			p := emptyPlace(t)
			p.other, p.secret = t.TempDir(), token
			fill := strings.NewReplacer("TOKEN", token, "DIR", p.other).Replace
			p.file("catalog.hcl", fill(m.catalog))
			for name, text := range m.files {
				if name == "catalog.vars.hcl" {
					p.file(name, fill(text))
				} else {
					p.beside(name, fill(text))
				}
			}
			if !strings.Contains(m.flags, "-var=token") {
				p.env["MCPCAT_VAR_token"] = fill(cmp.Or(m.value, "TOKEN"))
			}
			flags := strings.Fields(fill(m.flags))
			code, out := p.run(append([]string{"validate", "-json"}, flags...)...)
			warning := m.read || m.code == "variable.flag"
			if (code == 0) != warning || !strings.Contains(out, fmt.Sprintf("%q", m.code)) {
				t.Errorf("validate exited %d, want %s:\n%s", code, m.code, out)
			}
			p.everyCommand("one", flags, func(c command) bool {
				name, _, _ := strings.Cut(c.args, " ")
				return m.read && slices.Contains([]string{"plan", "apply", "verify", "show", "lock", "call", "serve"}, name)
			})
			p.clean(newLeakSearch(map[string][]byte{"the secret": []byte(token)}))
		})
	}
}
