package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/mcpheader"
)

// TestConnectionsAreUsedAgain: whatever the answer, as long as it is whole, the next call uses its connection.
func TestConnectionsAreUsedAgain(t *testing.T) {
	const js = `{"jsonrpc":"2.0","id":ID,"result":{}}`
	fail := `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"m"}}`
	whole := func(status, media, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: LENGTH\r\n\r\n%s", status, media, body)
	}
	for name, answer := range map[string]string{
		"JSON":                whole("200 OK", mediaJSON, js),
		"JSON in chunks":      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nHEX\r\n" + js + "\r\n0\r\n\r\n",
		"stream":              "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nHEX\r\n: c\n\ndata: " + js + "\n\n\r\n0\r\n\r\n",
		"stream with length":  whole("200 OK", mediaSSE, "data: "+js+"\n\n"),
		"hints first":         "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + whole("200 OK", mediaJSON, js),
		"error":               whole("200 OK", mediaJSON, fail),
		"400":                 whole("400 Bad Request", mediaJSON, fail),
		"404":                 whole("404 Not Found", mediaJSON, fail),
		"404 page":            whole("404 Not Found", "text/html", "<html>"),
		"401":                 whole("401 Unauthorized", "text/plain", "no"),
		"403":                 whole("403 Forbidden", mediaJSON, fail),
		"503":                 whole("503 Unavailable", "text/plain", strings.Repeat("later ", 10_000)),
		"202":                 whole("202 Accepted", "text/plain", ""),
		"no message":          whole("200 OK", mediaJSON, "[]"),
		"foreign id":          whole("200 OK", mediaJSON, `{"jsonrpc":"2.0","id":"x","result":{}}`),
		"redirect":            "HTTP/1.1 307 Go\r\nLocation: https://elsewhere.example/\r\nContent-Length: 2\r\n\r\ngo",
		"small body of a 302": "HTTP/1.1 302 Go\r\nLocation: /x\r\nContent-Length: 900\r\n\r\n" + strings.Repeat("g", 900),
	} {
		t.Run(name, func(t *testing.T) {
			srv := serveRaw(t, func(p *peer) {
				text := strings.ReplaceAll(answer, "ID", p.id())
				if _, body, ok := strings.Cut(text, "LENGTH\r\n\r\n"); ok {
					text = strings.Replace(text, "LENGTH", fmt.Sprint(len(body)), 1)
				}
				if _, body, ok := strings.Cut(text, "HEX\r\n"); ok {
					text = strings.Replace(text, "HEX", fmt.Sprintf("%x", strings.Index(body, "\r\n0\r\n")), 1)
				}
				io.WriteString(p, text)
				p.keep = true
			})
			h := srv.client(t)
			for id := 1; id <= 4; id++ {
				m, err := h.Do(t.Context(), call(id, "tools/list"))
				var e *Error
				switch {
				case strings.Contains(answer, js) && strings.Contains(answer, " 200 OK"):
					good(t, outcome{m, err}, fmt.Sprint(id))
				case err != nil && !errors.As(err, &e):
					t.Errorf("Do = %v", err)
				}
			}
			if n := len(srv.requests()); n != 4 || srv.conns != 1 {
				t.Errorf("%d requests on %d connections, want four on one", n, srv.conns)
			}
		})
	}
}

// TestOneConnectionOfHTTP2: all calls share it, also those at the same time.
func TestOneConnectionOfHTTP2(t *testing.T) {
	ours := newAuthority(t, "Ours")
	srv := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{ours.issue(t, nil)}}, true)
	var made atomic.Int32
	config := &tls.Config{RootCAs: ours.pool(), VerifyConnection: func(tls.ConnectionState) error { made.Add(1); return nil }}
	h := newClient(t, secured(srv.URL, config))
	m, err := h.Do(t.Context(), call(1, "x"))
	good(t, outcome{m, err}, "1")
	ended := make(chan outcome, 20)
	for id := 2; id <= 21; id++ {
		go func() { m, err := h.Do(t.Context(), call(id, "x")); ended <- outcome{m, err} }()
	}
	for range 20 {
		if o := <-ended; o.err != nil {
			t.Error(o.err)
		}
	}
	if n := made.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestNamesOnTheWire: what a server decodes of Mcp-Name and Mcp-Param is the value of the body, whatever it is, and each is
// one line.
func TestNamesOnTheWire(t *testing.T) {
	srv := serveRaw(t, func(p *peer) { p.result() })
	h := srv.client(t)
	values := []string{
		"tide_table", "", "a b", "a\tb", "\ta", "a\t", " a", "a ", "=?base64?=", "=?base64??=", "=?base64?YQ==?=", "=?BASE64?YQ==?=", "?=", "=?base64?",
		"潮汐", "a\r\nMcp-Method: x", "\x00", "\x7f", "a:b", "\"a\"", "é", "\u202e", strings.Repeat("n", 1024), "https://a.example/x?y=1#z", "0", "true",
	}
	for i, v := range values {
		c := call(i+1, "tools/call")
		c.Name, c.HasName = v, true
		c.Params = []Header{{Name: "Mcp-Param-Port", Value: mcpheader.Encode(v)}}
		m, err := h.Do(t.Context(), c)
		good(t, outcome{m, err}, fmt.Sprint(i+1))
		r := srv.requests()[i]
		for _, name := range []string{"Mcp-Name", "Mcp-Param-Port"} {
			lines := r.header[textproto.CanonicalMIMEHeaderKey(name)]
			if len(lines) != 1 {
				t.Errorf("%q: %d lines of %s", v, len(lines), name)
				continue
			}
			if got, err := mcpheader.Decode(lines[0]); err != nil || got != v {
				t.Errorf("%q: %s is %q, which stands for %q, %v", v, name, lines[0], got, err)
			}
		}
		if got := r.header["Mcp-Method"]; len(got) != 1 || got[0] != "tools/call" {
			t.Errorf("%q: Mcp-Method is %q", v, got)
		}
	}
	absent := call(99, "tools/list")
	if _, err := h.Do(t.Context(), absent); err != nil {
		t.Fatal(err)
	}
	last := srv.requests()[len(values)]
	for _, name := range []string{"Mcp-Name", "Mcp-Param-Port"} {
		if _, there := last.header[name]; there {
			t.Errorf("%s without a value is there", name)
		}
	}
}

// TestDecoratorsCannotReplaceProtocolHeaders: whatever the spelling, and whatever the values.
func TestDecoratorsCannotReplaceProtocolHeaders(t *testing.T) {
	srv := serveRaw(t, func(p *peer) { p.result() })
	for _, name := range []string{
		"MCP-Protocol-Version", "mcp-protocol-version", "Mcp-Method", "MCP-METHOD", "Mcp-Name", "mcp-name", "Mcp-Param-Port", "mcp-param-port", "Mcp-Session-Id",
		"Content-Type", "content-type", "Content-Length", "Accept", "ACCEPT", "Accept-Encoding", "Host", "host", "Transfer-Encoding", "Connection", "Proxy-Authorization",
	} {
		c := srv.config()
		c.Authorize = func(_ context.Context, h http.Header) error {
			h[name] = []string{"decorated"}
			return nil
		}
		call := &Call{ID: jsonrpc.IntID(1), Method: "tools/call", Name: "x", HasName: true, Params: []Header{{"Mcp-Param-Port", "north"}}, Body: body(1, "tools/call", `{"name":"x"}`)}
		_, err := newClient(t, c).Do(t.Context(), call)
		var e *Error
		if !errors.As(err, &e) || e.Op != "configure" || e.Delivered {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	if n := len(srv.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
