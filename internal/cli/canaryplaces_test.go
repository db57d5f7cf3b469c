package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// secretPlace is a place where a secret may stand, or a way in which it gets there. In its texts TOKEN stands for the secret
// itself and DIR for a directory beside the catalog's.
type secretPlace struct {
	name   string
	place  string // the argument it is about, by blocks and name
	odd    string // characters that the secret has beside letters and digits
	before string // blocks in front of the server
	// One of these makes the server: what is appended to the URL, lines of the http block, the value of env of a child, or a
	// vault behind a proxy with this user information.
	url, http, env, proxy string
	plain                 bool                                      // no variable is declared
	give                  func(p *echoPlace, token string) []string // in place of the environment; returns flags
	sent                  func(token string) string                 // what the server gets, if not the secret as it is
}

func header(expression string) string {
	return fmt.Sprintf("headers = { \"X-Canary\" = %s }\n", expression)
}

// secretPlaces are all places where secrets may stand, all ways in which they come, and what the language makes of them
// underway.
var secretPlaces = []secretPlace{
	{name: "bearer", place: "server http auth bearer", odd: `/"<&>+\%~:`, http: "auth {\n bearer = var.token\n }\n"},
	{name: "header", place: "server http headers", odd: ` "<&>/\%=`, http: header("var.token")},
	{name: "auth header", place: "server http auth value", odd: `/"<&>+\%~:`, http: "auth {\n header = \"X-Canary\"\n value = var.token\n }\n"},
	{name: "auth command", place: "server http auth command", odd: `/+~-._`, plain: true, http: "auth {\n command = [\"/bin/cat\", \"DIR/token\"]\n }\n", give: func(p *echoPlace, token string) []string {
		p.beside("token", token+"\n")
		return nil
	}},
	{name: "URL path", place: "server http url", odd: "-._~", url: "/${var.token}/mcp"},
	{name: "URL query", place: "server http url", odd: "-._~", url: "/mcp?k=${var.token}&x=1"},
	{name: "URL path, urlencode", place: "server http url", odd: ` /?#%&"`, url: "/${urlencode(var.token)}/mcp"},
	{name: "URL query, urlencode", place: "server http url", odd: ` &=+%/#"<`, url: "/mcp?k=${urlencode(var.token)}"},
	{name: "header, urlencode", place: "server http headers", odd: ` /"<&+:`, http: "headers = { \"X-Encoded\" = urlencode(var.token) }\n"},
	{name: "template", place: "server http headers", odd: `"/`, http: header(`"Token ${var.token} of ${path.catalog}"`)},
	{name: "environment of a child", place: "server stdio env", odd: "\t \"\\/<&>%'$\n", env: "{ CANARY = var.token }"},
	{name: "template of a child", place: "server stdio env", odd: `"'`, env: `{ CANARY = "postgres://me:${var.token}@host/db" }`},
	{name: "proxy password", place: "server http egress proxy", odd: `:/@?#%+& "`, proxy: "clerk:${urlencode(var.token)}"},
	{name: "proxy user", place: "server http egress proxy", odd: `:/@?#%+& "`, proxy: "${urlencode(var.token)}:${urlencode(var.token)}"},

	{name: "local", odd: `"/<`, before: "locals {\n key = \"Key ${var.token}\"\n twice = [local.key, \"x\"]\n}\n", http: header("local.twice[0]")},
	{name: "env", odd: `"/<`, plain: true, http: header(`env("KEY")`), give: func(p *echoPlace, token string) []string { p.env["KEY"] = token; return nil }},
	{name: "secret_file", odd: `"/<`, plain: true, http: header(`secret_file("token.key")`), give: func(p *echoPlace, token string) []string { p.file("token.key", token+"\n"); return nil }},
	{name: "secret_file beside", odd: `"/<`, plain: true, http: header(`secret_file("token")`), give: func(p *echoPlace, token string) []string {
		p.env["MCPCAT_SECRETS_DIR"] = filepath.Dir(p.beside("token", token))
		return nil
	}},
	{name: "sensitive", odd: `/<`, plain: true, http: header(`"Token ${sensitive("TOKEN")}"`)},
	{name: "-var", odd: `"/<`, http: header("var.token"), give: func(_ *echoPlace, token string) []string { return []string{"-var=token=" + token} }},
	{name: "-var-file", odd: `/<&`, http: header("var.token"), give: func(p *echoPlace, token string) []string {
		return []string{"-var-file=" + p.beside("values.hcl", "token = "+strconv.Quote(token)+"\n")}
	}},
	{name: "-var-file=-", odd: `/<&`, http: header("var.token"), give: func(p *echoPlace, token string) []string {
		p.stdin = "token = " + strconv.Quote(token) + "\n"
		return []string{"-var-file=-"}
	}},
	{name: "object", odd: `/<&`, before: "variable \"pair\" {\n type = object({ user = string, token = string })\n sensitive = true\n}\n", plain: true, http: header("var.pair.token"), give: func(p *echoPlace, token string) []string {
		p.env["MCPCAT_VAR_pair"] = "{ user = \"u\", token = " + strconv.Quote(token) + " }"
		return nil
	}},
	{name: "list", odd: `/<&`, before: "variable \"all\" {\n type = list(string)\n sensitive = true\n}\n", plain: true, http: header(`join("|", var.all)`), give: func(p *echoPlace, token string) []string {
		p.env["MCPCAT_VAR_all"] = "[\"x\", " + strconv.Quote(token) + "]"
		return nil
	}},
	{name: "jsondecode", odd: `/<`, http: header("jsondecode(var.token).a[0]"), give: func(p *echoPlace, token string) []string {
		b, err := json.Marshal(map[string]any{"a": []string{token}})
		if err != nil {
			p.t.Fatal(err)
		}
		p.env["MCPCAT_VAR_token"] = string(b)
		return nil
	}},
	{name: "jsonencode", odd: `/`, http: header("jsonencode({ key = var.token })")},
	{name: "upper", odd: `/<`, http: header("upper(var.token)"), sent: strings.ToUpper},
	{name: "substr", odd: `/<`, http: header("substr(var.token, 0, 15)"), sent: func(token string) string { return token[:15] }},
	{name: "sha256", http: header("sha256(var.token)"), sent: func(token string) string {
		sum := sha256.Sum256([]byte(token))
		return hex.EncodeToString(sum[:])
	}},
	{name: "try", odd: `/<`, http: header("try(var.token.missing, var.token)")},
	{name: "condition", odd: `/<`, http: header(`var.token == "x" ? "y" : var.token`)},
	{name: "for", odd: `/<`, http: header(`join("", [for x in [var.token] : x if x != ""])`)},
	{name: "merge", odd: `/<`, http: header(`merge({ a = "x" }, { b = var.token }).b`)},
}

// beside writes a file of the test's own that no command looks for in the catalog directory.
func (p *echoPlace) beside(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.other, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// catalogOf writes the catalog of one server that is given the secret there, and returns its label, the flags that its value
// needs, what makes it repeat all that it is sent, and what it was sent.
func (s *secretPlace) catalogOf(p *echoPlace, token string) (server string, flags []string, repeat func(), sent func() []byte) {
	t := p.t
	variable := "variable \"token\" {\n  type = string\n  sensitive = true\n}\n"
	if s.plain {
		variable = ""
	} else {
		p.env["MCPCAT_VAR_token"] = token
	}
	if s.give != nil {
		delete(p.env, "MCPCAT_VAR_token")
		flags = s.give(p, token)
	}
	block := ""
	switch {
	case s.env != "":
		server = "depot"
		record, mode := filepath.Join(t.TempDir(), "record"), p.file("mode.said", "")
		p.targets = map[string]string{server: "-- echochild " + mode + " " + record}
		block = fmt.Sprintf("stdio {\n command = \"echochild\"\n args = [%q, %q]\n env = %s\n}\n", mode, record, s.env)
		repeat = func() { p.file("mode.said", "notes") }
		sent = func() []byte {
			got, err := os.ReadFile(record)
			if err != nil {
				t.Error(err)
			}
			return got
		}
	case s.proxy != "":
		server = "vault"
		v := newVault(t, p)
		block = strings.Replace(v.block, "clerk:${urlencode(var.proxy)}", s.proxy, 1)
		repeat = func() { v.set(echoMode{notes: echoNotes}) }
		sent = func() []byte {
			v.proxy.mu.Lock()
			defer v.proxy.mu.Unlock()
			return []byte(strings.Join(v.proxy.heads, ""))
		}
	default:
		server = "office"
		office := newEchoOrigin(t, nil)
		p.targets = map[string]string{server: office.URL}
		url := office.URL + "/mcp"
		if s.url != "" {
			url = office.URL + s.url
		}
		block = fmt.Sprintf("http {\n url = \"%s\"\n%s egress {\n  allow_private = true\n }\n}\n", url, s.http)
		repeat = func() { office.set(echoMode{notes: echoNotes}) }
		sent = func() []byte { return []byte(office.received()) }
	}
	text := variable + s.before + fmt.Sprintf("server %q {\n%s\n tools = [\"berth\"]\n}\nagent \"pilot\" {\n tools = [server.%s]\n}\n", server, block, server)
	p.file("catalog.hcl", strings.NewReplacer("TOKEN", token, "DIR", p.other).Replace(text))
	return server, flags, repeat, sent
}

// TestSecretPlaces puts one random secret into each place where one may stand, in each way in which it may come there, has the
// server say it again in everything that is not pinned, and runs every command in every form with a trace. The server was sent
// it, and it is in no output and no file, in no spelling.
func TestSecretPlaces(t *testing.T) {
	covered := map[string]bool{}
	for _, s := range secretPlaces {
		covered[s.place] = true
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			token := newCanaries(t, map[string]string{"token": s.odd})["token"]
			p := emptyPlace(t)
			p.other, p.secret = t.TempDir(), token
			server, flags, repeat, sent := s.catalogOf(p, token)
			if code, _ := p.run(append([]string{"apply", "-contact=all", "-auto-approve"}, flags...)...); code != 0 {
				t.Fatalf("apply exited %d:\n%s", code, &p.out)
			}
			repeat()
			input := slices.Contains(flags, "-var-file=-")
			p.everyCommand(server, flags, func(c command) bool { return input && strings.HasPrefix(c.args, "serve -stdio") })
			for _, dir := range []string{"imported", "imported-too"} {
				if text, err := os.ReadFile(filepath.Join(p.dir, dir, "imported.catalog.hcl")); err != nil || !strings.Contains(string(text), `server "headers"`) {
					t.Errorf("import wrote %v %s", err, text)
				}
			}
			values := map[string][]byte{"the secret": []byte(token)}
			want := token
			if s.sent != nil {
				want = s.sent(token)
				values["what was made of it"] = []byte(want)
			}
			if newLeakSearch(map[string][]byte{"": []byte(want)}).in(sent()) == "" {
				t.Errorf("the server was not sent its secret, so nothing was tested; it got %q", sent())
			}
			p.clean(newLeakSearch(values))
			for _, shown := range []string{"server." + server, "berth", `"msg":"sent"`, "msg=received"} {
				if !strings.Contains(string(p.everything()), shown) {
					t.Errorf("the output does not even say %s: the search is broken", shown)
				}
			}
			if server != "vault" && !strings.Contains(string(p.everything()), mark) {
				t.Error("nothing of what the server repeats was shown, so nothing was tested")
			}
		})
	}
	// No server is contacted with OAuth, so none is sent this one.
	covered["server http auth oauth client_secret"] = true
	// Every argument of the language that may hold a secret is there.
	arguments(func(path []string, _ []*catalog.BlockType, a catalog.Argument) {
		if place := strings.Join(path, " "); a.Secret && !covered[place] {
			t.Errorf("%s may hold a secret: add it to secretPlaces", place)
		}
	})
}

// arguments calls each with every argument of the language.
func arguments(each func(path []string, blocks []*catalog.BlockType, a catalog.Argument)) {
	var walk func(path []string, above []*catalog.BlockType, blocks []*catalog.BlockType)
	walk = func(path []string, above []*catalog.BlockType, blocks []*catalog.BlockType) {
		for _, b := range blocks {
			path, above := append(slices.Clone(path), b.Type), append(slices.Clone(above), b)
			for _, a := range b.Arguments {
				each(append(slices.Clone(path), a.Name), above, a)
			}
			walk(path, above, b.Blocks)
		}
	}
	walk(nil, nil, catalog.Language())
}
