package catalog

import (
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// TestSecretsInOtherSpellings: what a server is given may be a spelling of a secret of the catalog. It knows both, and may
// say either.
func TestSecretsInOtherSpellings(t *testing.T) {
	const odd, plain = `od"d/val ue&canary`, "plain-canary"
	values := map[string]string{"ODD": odd, "PLAIN": plain, "ENCODED": "enc%6Fded/c%61nary", "OTHER": "another-canary"}
	for block, hidden := range map[string][]string{
		`http { url = "https://a.example/${urlencode(env("ODD"))}/mcp" }`:                                                  {odd},
		`http { url = "https://a.example/mcp?k=${urlencode(env("ODD"))}" }`:                                                {odd},
		`http { url = "https://a.example/mcp?k=${env("ENCODED")}" }`:                                                       {"enc%6Fded/c%61nary", "encoded/canary"},
		"http {\n url = \"https://a.example/mcp\"\n headers = { X = \"Key ${urlencode(env(\"ODD\"))}\" }\n}":               {odd},
		"http {\n url = \"https://a.example/mcp\"\n headers = { X = jsonencode({ k = env(\"ODD\") }) }\n}":                 {odd},
		"http {\n url = \"https://a.example/mcp\"\n headers = { X = \"a ${env(\"PLAIN\")} b\" }\n}":                        {plain, "a plain-canary b"},
		"stdio {\n command = \"/bin/server\"\n env = { C = \"{\\\"k\\\":${jsonencode(env(\"ODD\"))}}\" }\n}":               {odd},
		"stdio {\n command = \"/bin/server\"\n env = { C = \"postgres://me:${urlencode(env(\"ODD\"))}@db\" }\n}":           {odd},
		"http {\n url = \"https://a.example/mcp\"\n auth {\n bearer = urlencode(env(\"ODD\"))\n }\n}":                      {odd},
		"http {\n url = \"https://a.example/mcp\"\n egress {\n proxy = \"http://u:${urlencode(env(\"ODD\"))}@p:1\"\n }\n}": {odd},
	} {
		text := "locals {\n unused = env(\"OTHER\")\n}\nserver \"a\" {\n" + block + "\n}\n"
		c, list := Load(Options{Dir: writeFiles(t, one(text)), Lookup: func(name string) (string, bool) { v, ok := values[name]; return v, ok }})
		if c == nil {
			t.Fatalf("%s\n%v", text, list)
		}
		server, all := secret.NewRedactor(c.Servers[0].Secrets()...), secret.NewRedactor(c.Secrets()...)
		for _, value := range hidden {
			if !server.Holds([]byte("["+value+"]")) || !all.Holds([]byte("["+value+"]")) {
				t.Errorf("%s: %q is hidden in what the server says: %v, everywhere: %v", block, value, server.Holds([]byte(value)), all.Holds([]byte(value)))
			}
		}
		if server.Holds([]byte("another-canary")) {
			t.Errorf("%s: a secret that the server is not given is withheld in what it says", block)
		}
	}
}
