package catalog

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// proxied loads a server whose egress block has this proxy.
func proxied(t *testing.T, proxy string, env map[string]string) *Server {
	t.Helper()
	text := "server \"a\" {\n  http {\n    url = \"https://a.example/mcp\"\n    egress {\n      proxy = " + proxy + "\n    }\n  }\n}\n"
	c, list := Load(Options{Dir: writeFiles(t, one(text)), Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if c == nil {
		t.Fatal(list)
	}
	// What the server's block hides, the catalog hides everywhere.
	all := secret.NewRedactor(c.Secrets()...)
	for _, v := range c.Servers[0].Secrets() {
		if value := v.Expose(); len(value) >= secret.MinRedacted && !all.Holds([]byte(value)) {
			t.Errorf("%s: the catalog does not hide the value of %s", proxy, v.Ref())
		}
	}
	return c.Servers[0]
}

// TestProxyCredentialsAreSecrets: what a proxy is given is hidden as it is written in the URL, as it is meant, and as it
// is sent, in base64 behind the user name. It stays hidden when the environment names the proxy in a way that cannot be
// used.
func TestProxyCredentialsAreSecrets(t *testing.T) {
	for _, test := range []struct {
		proxy, value string
		hidden       []string
	}{
		{`"http://alice:${env("PW")}@proxy.example:3128"`, "pa%2Fss-canary", []string{"pa%2Fss-canary", "pa/ss-canary", "alice:pa/ss-canary"}},
		{`"http://alice:x${env("PW")}@proxy.example:3128"`, "y-canary", []string{"y-canary", "alice:xy-canary"}},
		{`"http://${env("PW")}@proxy.example:3128"`, "alice:pw-canary", []string{"pw-canary", "alice:pw-canary"}},
		{`"http://${env("PW")}@proxy.example:3128"`, "token-canary", []string{"token-canary", "token-canary:"}},
		{`"environment"`, "http://alice:pw-canary@proxy.example:3128", []string{"pw-canary", "alice:pw-canary"}},
		{`"environment"`, "alice:pw%2Dcanary@proxy.example:3128", []string{"pw-canary", "alice:pw-canary"}},
		{`"environment"`, "http://token-canary@proxy.example", []string{"token-canary"}},
		{`"environment"`, "socks5://alice:pw-canary@proxy.example:1080", []string{"pw-canary"}},
		{`"environment"`, "http://alice:pw-canary@proxy example:3128", []string{"pw-canary"}},
		{`"environment"`, "http://al%zzice:pw-canary@proxy.example:3128", []string{"pw-canary"}},
		{`"environment"`, "token-canary@proxy example", []string{"token-canary"}},
	} {
		env := map[string]string{"PW": test.value, "HTTPS_PROXY": test.value}
		r := secret.NewRedactor(proxied(t, test.proxy, env).Secrets()...)
		for _, text := range test.hidden {
			for _, form := range []string{text, base64.StdEncoding.EncodeToString([]byte(text))} {
				if got := r.RedactString("[" + form + "]"); strings.Contains(got, "canary") || got == "["+form+"]" {
					t.Errorf("proxy %s, value %q: %q becomes %q", test.proxy, test.value, form, got)
				}
			}
		}
	}
	for _, value := range []string{"", "http://proxy.example:3128", "proxy.example"} {
		if got := proxied(t, `"environment"`, map[string]string{"HTTPS_PROXY": value}).Secrets(); len(got) > 0 {
			t.Errorf("HTTPS_PROXY=%q has %d secrets, want none", value, len(got))
		}
	}
	// The environment does not matter where the catalog does not say so.
	if got := proxied(t, `null`, map[string]string{"HTTPS_PROXY": "http://a:pw-canary@proxy.example:1"}).Secrets(); len(got) > 0 {
		t.Errorf("%d secrets without a proxy", len(got))
	}
}

func TestProxyVariables(t *testing.T) {
	for _, test := range []struct {
		env           map[string]string
		proxy, except string
	}{
		{map[string]string{}, "", ""},
		{map[string]string{"HTTPS_PROXY": "A", "https_proxy": "B", "NO_PROXY": "C", "no_proxy": "D"}, "A", "C"},
		{map[string]string{"HTTPS_PROXY": "", "https_proxy": "B", "NO_PROXY": "", "no_proxy": "D"}, "B", "D"},
		{map[string]string{"HTTP_PROXY": "A", "http_proxy": "A", "ALL_PROXY": "A"}, "", ""},
	} {
		proxy, except := ProxyVariables(func(name string) (string, bool) { v, ok := test.env[name]; return v, ok })
		if proxy != test.proxy || except != test.except {
			t.Errorf("%v: %q %q, want %q %q", test.env, proxy, except, test.proxy, test.except)
		}
	}
	if proxy, except := ProxyVariables(nil); proxy != "" || except != "" {
		t.Errorf("no environment: %q %q", proxy, except)
	}
}

func TestParseProxy(t *testing.T) {
	for text, want := range map[string]string{
		"http://proxy.example:3128":          "http://proxy.example:3128",
		"proxy.example:3128":                 "http://proxy.example:3128",
		"alice:pw@proxy.example:3128":        "http://alice:pw@proxy.example:3128",
		"http://alice:pw@proxy.example:3128": "http://alice:pw@proxy.example:3128",
		"proxy.example":                      "http://proxy.example",
		"http://[::1]:3128":                  "http://[::1]:3128",
	} {
		if u, err := ParseProxy(text); err != nil || u.String() != want {
			t.Errorf("ParseProxy(%q) = %v, %v, want %s", text, u, err, want)
		}
	}
	for _, text := range []string{"socks5://canary:1080", "https://canary:3128", "http://", "http://:3128", "http://canary canary", "http://u:canary%zz@x:1", "%zz", ""} {
		if u, err := ParseProxy(text); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("ParseProxy(%q) = %v, %v, want an error without the text", text, u, err)
		}
	}
}

// TestProxyRefs: a password is named where people are asked whether the server may be contacted.
func TestProxyRefs(t *testing.T) {
	s := proxied(t, `"http://alice:${env("PW")}@proxy.example:3128"`, map[string]string{"PW": "pw-canary"})
	if refs := s.SecretRefs(); !slices.Equal(refs, []string{`env("PW")`}) {
		t.Errorf("references %q", refs)
	}
}
