package upstream

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

func server(t *testing.T, block string) (*catalog.Server, Dialer) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte("server \"harbour\" {\n"+block+"\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"TOKEN": "s3cret-value", "LANG": "de_DE.UTF-8", "OTHER": "x"}[name]
		return v, ok
	}
	cat, diags := catalog.Load(catalog.Options{Dir: dir, Lookup: lookup})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return cat.Servers[0], Dialer{Dir: dir, Lookup: lookup, Version: "1"}
}

// TestEnvironment: a child gets the declared variables and the inherited ones, and nothing else of this process.
func TestEnvironment(t *testing.T) {
	t.Setenv("CANARY_OF_THIS_PROCESS", "1")
	s, d := server(t, "  stdio {\n    command = \"harbour\"\n    env = {\n      API_KEY = env(\"TOKEN\")\n      LEVEL = \"warn\"\n    }\n    inherit_env = [\"LANG\", \"MISSING\"]\n  }")
	tr, err := d.Transport(s)
	if err != nil {
		t.Fatal(err)
	}
	stdio := tr.(*mcp.StdioTransport)
	if want := []string{"LANG=de_DE.UTF-8", "API_KEY=s3cret-value", "LEVEL=warn"}; !slices.Equal(stdio.Env, want) {
		t.Errorf("environment = %q, want %q", stdio.Env, want)
	}
	if stdio.Dir != d.Dir {
		t.Errorf("working directory = %q, want the catalog's %q", stdio.Dir, d.Dir)
	}

	s, d = server(t, "  stdio {\n    command = \"harbour\"\n    inherit_env = []\n  }")
	if tr, err = d.Transport(s); err != nil {
		t.Fatal(err)
	}
	// Not nil: that would mean the default set.
	if env := tr.(*mcp.StdioTransport).Env; env == nil || len(env) != 0 {
		t.Errorf("environment = %#v, want an empty one", env)
	}

	s, d = server(t, "  stdio {\n    command = \"harbour\"\n  }")
	if tr, err = d.Transport(s); err != nil {
		t.Fatal(err)
	}
	for _, v := range tr.(*mcp.StdioTransport).Env {
		if strings.HasPrefix(v, "CANARY") {
			t.Errorf("the child inherits %s", v)
		}
	}
}

func TestCommand(t *testing.T) {
	abs := filepath.Join(t.TempDir(), "tool")
	for command, want := range map[string]string{"harbour": "harbour", "./bin/harbour": "DIR/bin/harbour", "../harbour": "UP/harbour", abs: abs} {
		s, d := server(t, "  stdio {\n    command = \""+command+"\"\n  }")
		want = strings.NewReplacer("DIR", d.Dir, "UP", filepath.Dir(d.Dir)).Replace(want)
		if got := d.Command(s.Stdio); got != want {
			t.Errorf("Command(%q) = %q, want %q", command, got, want)
		}
	}
}

func TestHTTP(t *testing.T) {
	s, d := server(t, "  http {\n    url = \"https://harbour.example/mcp\"\n    headers = {\n      X-Trace = \"on\"\n    }\n    auth {\n      bearer = env(\"TOKEN\")\n    }\n  }")
	tr, err := d.Transport(s)
	if err != nil {
		t.Fatal(err)
	}
	h := tr.(*mcp.HTTPTransport)
	if h.URL != "https://harbour.example/mcp" || h.AllowPrivate || h.Redirects != 0 {
		t.Errorf("transport = %+v", h)
	}
	header := http.Header{}
	if err := h.Authorize(t.Context(), header); err != nil {
		t.Fatal(err)
	}
	if header.Get("Authorization") != "Bearer s3cret-value" || header.Get("X-Trace") != "on" || len(header) != 2 {
		t.Errorf("headers = %v", header)
	}

	s, d = server(t, "  http {\n    url = \"https://harbour.example/mcp\"\n  }")
	if tr, err = d.Transport(s); err != nil {
		t.Fatal(err)
	}
	if tr.(*mcp.HTTPTransport).Authorize != nil {
		t.Error("something is added to the requests of a server without headers and auth")
	}
	if _, err := d.Transport(&catalog.Server{}); err == nil {
		t.Error("a server without a transport has one")
	}
}
