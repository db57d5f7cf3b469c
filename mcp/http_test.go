package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// overHTTP connects to a scripted peer over HTTP.
func overHTTP(t *testing.T, h mcptest.Handler) (*Client, *mcptest.Peer) {
	t.Helper()
	p := mcptest.HTTP(t, h)
	holdToSpec(t, p)
	tr := NewStreamableHTTPTransport(p.URL)
	tr.AllowPrivate = true
	c, err := Connect(short(t), tr)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() { closed(t, c) })
	return c, p
}

// modelcontextprotocol/python-sdk#3483: a list that has become old makes headers wrong. Nothing is listed or sent again here:
// whoever called holds the definition.
func TestHeaderMismatchAnswer(t *testing.T) {
	dir := casetest.Dir(t, "headers/header-mismatch-answer")
	for _, name := range []string{"a", "b", "c", "d"} {
		raw, err := os.ReadFile(filepath.Join(dir, name+".http"))
		if err != nil {
			t.Fatal(err)
		}
		c, p := overHTTP(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			_, _ = c.Write(casetest.WithIDs(raw, r.ID))
		}))
		_, err = c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, tide)})
		var mismatch *HeaderMismatchError
		var rpc *RPCError
		typed := errors.As(err, &mismatch)
		switch name {
		case "a":
			if !typed || mismatch.RPC.Code != -32020 {
				t.Errorf("a: %v, want a *HeaderMismatchError", err)
			}
		case "b", "c":
			if errors.As(err, &rpc) || typed {
				t.Errorf("%s: %v looks like an answer to the call", name, err)
			}
			if e := as[*TransportError](t, err); e.Status != 400 || e.RPC == nil || e.RPC.Code != -32020 {
				t.Errorf("%s: %+v, want status 400 and the code", name, e)
			}
			wantText(t, err, "400", "-32020", "Header mismatch")
		case "d":
			if !errors.As(err, &rpc) || rpc.Code != -32020 || rpc.Message != "Header mismatch" {
				t.Errorf("d: %v, want the error as received", err)
			}
		}
		if got := p.Methods(); got != "server/discover tools/call" {
			t.Errorf("%s: sent %q, want one call", name, got)
		}
	}
}

func TestHTTPExcludesBadAnnotations(t *testing.T) {
	const bad = `{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}`
	const escaped = `{"name":"sly","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-\u0068eader":"A"}}}}`
	c, _ := overHTTP(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, page("", tide, bad, escaped, berth)) }))
	s, err := c.SnapshotTools(short(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Tools) != 2 || s.Tools[1].Name != "berth_status" {
		t.Errorf("snapshot has %d tools, want the valid siblings", len(s.Tools))
	}
	if len(s.Excluded) != 2 || s.Excluded[0].Name != "bad" || s.Excluded[0].Reason == "" || string(s.Excluded[0].Definition) != bad || s.Excluded[1].Name != "sly" {
		t.Errorf("excluded = %+v", s.Excluded)
	}
	_, err = c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, bad)})
	as[*RequestError](t, err)
}

func TestHTTPHeaders(t *testing.T) {
	const tool = `{"name":"pilot \u4e16","inputSchema":{"type":"object","properties":{"port":{"type":"string","x-mcp-header":"Port"},` +
		`"voyage":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"ok":{"type":"boolean","x-mcp-header":"Ok"}}}}`
	c, p := overHTTP(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Result(r, `{"resultType":"complete","content":[]}`)
	}))
	_, err := c.CallTool(short(t), &CallToolParams{
		Tool: mustTool(t, tool), Arguments: jsontext.Value(`{"port":" north","voyage":{"n":1e3},"ok":null}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	h := p.Requests()[1].Header
	for name, want := range map[string][]string{
		"Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method":           {"tools/call"},
		"Mcp-Name":             {"=?base64?cGlsb3Qg5LiW?="},
		"Mcp-Param-Port":       {"=?base64?IG5vcnRo?="},
		"Mcp-Param-N":          {"1000"},
		"Mcp-Param-Ok":         nil,
	} {
		if got := h.Values(name); !slices.Equal(got, want) {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	_, err = c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, tool), Arguments: jsontext.Value(`{"port":7}`)})
	as[*RequestError](t, err)
	if h := p.Requests()[0].Header; h.Get("Mcp-Name") != "" || h.Get("Mcp-Method") != "server/discover" {
		t.Errorf("headers of server/discover = %v", h)
	}
}

func TestHTTPAnswersToDiscover(t *testing.T) {
	raw := func(status, contentType, body string) mcptest.Handler {
		return func(c *mcptest.Conn, r mcptest.Request) {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Type: %s\r\nConnection: close\r\n\r\n%s", status, contentType, strings.ReplaceAll(body, "@ID@", r.ID))
		}
	}
	for _, test := range []struct {
		name     string
		h        mcptest.Handler
		want     any
		versions []string
	}{
		{"not initialized", raw("400 Bad Request", "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`), &LegacyServerError{}, nil},
		{"session", raw("400 Bad Request", "application/json", `{"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null,"jsonrpc":"2.0"}`), &LegacyServerError{}, nil},
		{"supergateway", raw("404 Not Found", "application/json", `{"jsonrpc":"2.0","id":@ID@,"error":{"code":-32601,"message":"Method not found"}}`), &LegacyServerError{}, nil},
		{"go-sdk", raw("400 Bad Request", "text/plain; charset=utf-8", "Bad Request: Unsupported protocol version (supported versions: 2025-11-25,2025-06-18)\n"), &LegacyServerError{}, []string{"2025-11-25", "2025-06-18"}},
		{"mcp-go", raw("404 Not Found", "text/plain", "Invalid session ID\n"), &LegacyServerError{}, nil},
		{"sse only", raw("404 Not Found", "text/html", "<pre>Cannot POST /sse</pre>"), &NotMCPError{}, nil},
		{"web page", raw("200 OK", "text/html", "<html>"), &NotMCPError{}, nil},
		{"plain 404", raw("404 Not Found", "text/plain", "404 page not found\n"), &NotMCPError{}, nil},
		{"unauthorized", raw("401 Unauthorized", "text/plain", "no"), &AuthError{}, nil},
		{"unavailable", raw("503 Service Unavailable", "text/plain", "later"), &TransportError{}, nil},
		{"stateful go-sdk", raw("200 OK", "text/event-stream", `data: {"jsonrpc":"2.0","id":@ID@,"result":{"resultType":"complete","supportedVersions":["2025-11-25"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}}`+"\n\n"), &LegacyServerError{}, []string{"2025-11-25"}},
	} {
		p := mcptest.HTTP(t, test.h)
		tr := NewStreamableHTTPTransport(p.URL)
		tr.AllowPrivate = true
		c, err := Connect(short(t), tr)
		if err == nil {
			closed(t, c)
			t.Errorf("%s: Connect succeeded", test.name)
			continue
		}
		var got any
		var legacy *LegacyServerError
		var not *NotMCPError
		var auth *AuthError
		var low *TransportError
		switch {
		case errors.As(err, &legacy):
			got = &LegacyServerError{}
			if !slices.Equal(legacy.Versions, test.versions) {
				t.Errorf("%s: Versions = %q, want %q", test.name, legacy.Versions, test.versions)
			}
		case errors.As(err, &not):
			got = &NotMCPError{}
		case errors.As(err, &auth):
			got = &AuthError{}
		case errors.As(err, &low):
			got = &TransportError{}
		}
		if fmt.Sprintf("%T", got) != fmt.Sprintf("%T", test.want) {
			t.Errorf("%s: Connect = %T %v, want %T", test.name, err, err, test.want)
		}
		if p.Methods() != "server/discover" {
			t.Errorf("%s: sent %q, want one request", test.name, p.Methods())
		}
	}
}

// TestChallenges: the challenge is data, the error of the body is said, and no id makes an answer of it.
func TestChallenges(t *testing.T) {
	for _, status := range []int{401, 403} {
		p := mcptest.HTTP(t, func(c *mcptest.Conn, r mcptest.Request) {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 %d No\r\nWWW-Authenticate: Bearer realm=\"a\"\r\nWWW-Authenticate: Basic\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"+
				`{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"no \u0007bell for you"}}`, status, r.ID)
		})
		tr := NewStreamableHTTPTransport(p.URL)
		tr.AllowPrivate, tr.Headers = true, http.Header{"Authorization": {"Bearer t0k3n-t0k3n"}}
		_, err := Connect(short(t), tr)
		e := as[*AuthError](t, err)
		if e.Status != status || e.Challenge != `Bearer realm="a", Basic` || e.RPC == nil || e.RPC.Code != -32001 || !Delivered(err) {
			t.Errorf("AuthError = %+v", e)
		}
		wantText(t, err, fmt.Sprintf("HTTP status %d", status), `error -32001: "no \abell for`)
		if strings.Contains(err.Error(), "realm") {
			t.Errorf("the text has the challenge: %v", err)
		}
	}
}

func TestHTTPAddresses(t *testing.T) {
	p := mcptest.HTTP(t, mcptest.Serve(nil))
	_, err := Connect(short(t), NewStreamableHTTPTransport(p.URL))
	if e := as[*AddressError](t, err); e.Reason != "loopback" || Delivered(err) {
		t.Errorf("AddressError = %+v", e)
	}
	_, err = Connect(short(t), NewStreamableHTTPTransport("http://mcp.example/mcp"))
	if e := as[*AddressError](t, err); e.Reason != "plaintext" {
		t.Errorf("AddressError = %+v", e)
	}
	if got := p.Methods(); got != "" {
		t.Errorf("sent %q, want nothing", got)
	}
	_, err = Connect(short(t), NewStreamableHTTPTransport("://"))
	if e := as[*TransportError](t, err); e.Op != "configure" {
		t.Errorf("TransportError = %+v", e)
	}
}

func TestHTTPAuthorize(t *testing.T) {
	p := mcptest.HTTP(t, mcptest.Serve(nil))
	tr := NewStreamableHTTPTransport(p.URL)
	tr.AllowPrivate = true
	tr.Authorize = func(_ context.Context, h http.Header) error {
		h.Set("Authorization", "Bearer t")
		return nil
	}
	c, err := Connect(short(t), tr)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, c)
	if got := p.Requests()[0].Header.Get("Authorization"); got != "Bearer t" {
		t.Errorf("Authorization = %q", got)
	}
	tr.Authorize = func(context.Context, http.Header) error { return io.ErrNoProgress }
	_, err = Connect(short(t), tr)
	if !errors.Is(err, io.ErrNoProgress) || len(p.Requests()) != 1 {
		t.Errorf("Connect = %v after %d requests, want nothing sent", err, len(p.Requests()))
	}
}
