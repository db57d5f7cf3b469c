//go:build unix

package upstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// httpServer is a peer that answers, and a server block for it with more lines in its http block.
func httpServer(t *testing.T, more string) (*mcptest.Peer, string) {
	t.Helper()
	p := mcptest.HTTP(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Result(r, `{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`)
	}))
	return p, fmt.Sprintf("http {\n  url = %q\n  egress {\n    allow_private = true\n  }\n%s\n}", p.URL, more)
}

// script writes an executable shell script.
func script(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, "token")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAuthHeader(t *testing.T) {
	p, block := httpServer(t, "auth {\n header = \"X-Api-Key\"\n value = \"Key ${env(\"TOKEN\")}\"\n}")
	s, d := server(t, block)
	c, err := d.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, r := range p.Requests() {
		if got := r.Header["X-Api-Key"]; len(got) != 1 || got[0] != "Key s3cret-value" || r.Header["Authorization"] != nil {
			t.Errorf("header %q", r.Header)
		}
	}
	if !Redactor(s).Holds([]byte("it was s3cret-value")) {
		t.Error("the credential is no secret of the server")
	}
}

// TestTokenCommand: the command runs once for each connection, in the catalog directory and with the minimal environment; what
// it prints goes with every request and is a secret from then on.
func TestTokenCommand(t *testing.T) {
	t.Setenv("CANARY_OF_THIS_PROCESS", "1")
	p, block := httpServer(t, "auth {\n command = [\"./token\", \"two words\", \"$HOME\"]\n}")
	s, d := server(t, block)
	script(t, d.Dir, `echo "$# $1 $2 ${CANARY_OF_THIS_PROCESS:-none} $(pwd -P)" >> runs; printf 'tok-%s-abc\r\n' $(wc -l < runs | tr -d ' ')`)
	for n := 1; n <= 2; n++ {
		c, err := d.Connect(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.SnapshotTools(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		requests := p.Requests()
		for _, r := range requests[len(requests)-2:] {
			if got, want := strings.Join(r.Header["Authorization"], ","), fmt.Sprintf("Bearer tok-%d-abc", n); got != want {
				t.Errorf("%s of connection %d has %q, want %q", r.Method, n, got, want)
			}
		}
	}
	b, err := os.ReadFile(filepath.Join(d.Dir, "runs"))
	dir, err2 := filepath.EvalSymlinks(d.Dir)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if want := strings.Repeat("2 two words $HOME none "+dir+"\n", 2); string(b) != want {
		t.Errorf("runs:\n%swant\n%s", b, want)
	}
	if text := Redactor(s).RedactString("tok-1-abc tok-2-abc tok-3-abc"); text != secret.Mask+" "+secret.Mask+" tok-3-abc" {
		t.Errorf("redacted %q", text)
	}
}

// TestTokenCommandFails: no token, no request; and nothing of what was printed is said.
func TestTokenCommandFails(t *testing.T) {
	for name, test := range map[string]struct{ script, want, stderr string }{
		"another status":  {`echo s3cr3t-token; echo "cannot refresh s3cr3t-token" >&2; exit 3`, "ended with exit status 3", "cannot refresh (sensitive)"},
		"killed":          {`echo s3cr3t-token; kill -9 $$`, "ended with signal: killed", ""},
		"nothing":         {`:`, "printed nothing", ""},
		"an empty line":   {`echo`, "printed nothing", ""},
		"a blank":         {`echo "s3cr3t-token "`, "a blank", ""},
		"two lines":       {`printf 's3cr3t-token\n\n'`, "a line end within it", ""},
		"a header's end":  {`printf 's3cr3t-token\r\nX: y'`, "another character", ""},
		"too long":        {`head -c 8193 /dev/zero | tr '\0' a`, "printed 8193 bytes, want a token of at most 8192", ""},
		"far too long":    {`while :; do echo s3cr3t-token; done`, "more than 65536 bytes", ""},
		"it does not end": {`echo s3cr3t-token; trap '' TERM; sleep 100`, "did not end within 300ms", ""},
	} {
		// One after the other: while one is started, the script of another must not be open for writing.
		t.Run(name, func(t *testing.T) {
			p, block := httpServer(t, "auth {\n command = [\"./token\"]\n}")
			s, d := server(t, block+"\ntimeouts {\n connect = \"300ms\"\n}")
			if name != "it does not end" {
				s.Timeouts.Connect = 10 * time.Second
			}
			script(t, d.Dir, test.script)
			_, err := d.Connect(t.Context(), s)
			var e *TokenError
			if !errors.As(err, &e) || e.Command != "./token" || !strings.Contains(e.Reason, test.want) || e.Stderr != test.stderr {
				t.Fatalf("%#v, want a *TokenError with %q", err, test.want)
			}
			if said := fmt.Sprintf("%v %+v %s", err, e, e.Stderr); strings.Contains(said, "s3cr3t") || !strings.Contains(said, "server.harbour") {
				t.Errorf("it says %s", said)
			}
			if n := len(p.Requests()); n != 0 {
				t.Errorf("the server got %d requests", n)
			}
		})
	}

	// The just allowed twin of too long, and what has no line end.
	p, block := httpServer(t, "auth {\n command = [\"./token\"]\n}")
	s, d := server(t, block)
	script(t, d.Dir, `head -c 8192 /dev/zero | tr '\0' a`)
	c, err := d.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := p.Requests()[0].Header["Authorization"]; len(got) != 1 || got[0] != "Bearer "+strings.Repeat("a", 8192) {
		t.Error("a token of 8,192 bytes is not sent as it is")
	}

	// One that is not there.
	s, d = server(t, "http {\n url = \"https://harbour.example/mcp\"\n auth {\n command = [\"./nowhere\"]\n }\n}")
	var e *TokenError
	if _, err := d.Connect(t.Context(), s); !errors.As(err, &e) || !strings.Contains(e.Reason, "could not be started") {
		t.Errorf("no program: %v", err)
	}
}

func TestOAuthIsRefused(t *testing.T) {
	p, block := httpServer(t, "auth {\n oauth {}\n}")
	s, d := server(t, block)
	var lower *mcp.TransportError
	if _, err := d.Connect(t.Context(), s); !errors.As(err, &lower) || lower.Op != "configure" || !strings.Contains(err.Error(), "oauth") || len(p.Requests()) != 0 {
		t.Errorf("Connect = %v after %d requests", err, len(p.Requests()))
	}
}
