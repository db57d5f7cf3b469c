package mcp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// elsewhere is another origin, which keeps what reaches it.
type elsewhere struct {
	net.Listener
	running sync.WaitGroup

	mu    sync.Mutex
	conns int
	got   strings.Builder
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &elsewhere{Listener: l}
	e.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.mu.Lock()
			e.conns++
			e.mu.Unlock()
			e.running.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(time.Second))
				b, _ := io.ReadAll(c)
				e.mu.Lock()
				defer e.mu.Unlock()
				e.got.Write(b)
			})
		}
	})
	t.Cleanup(func() { e.seen() })
	return e
}

// seen ends the listener and returns what has come.
func (e *elsewhere) seen() (conns int, got string) {
	_ = e.Close()
	e.running.Wait()
	return e.conns, e.got.String()
}

// TestRedirectsStayAtTheOrigin: with redirects allowed, whatever the status and wherever it points, nothing of a request
// leaves the origin. 307 and 308 to the same origin are followed, and what is sent there shows that the headers would
// have been sent to the others.
func TestRedirectsStayAtTheOrigin(t *testing.T) {
	const token, key = "Bearer canary-of-redirects", "canary-of-the-key"
	for _, allowed := range []int{0, 5} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			for location, same := range map[string]bool{
				"http://OTHER/mcp": false, "//OTHER/mcp": false, "https://OTHER/mcp": false, "http://localhost:PORT/mcp": false, "http://user@OWN/moved": false,
				"https://OWN/moved": false, "/moved": true, "http://OWN/moved": true, "/moved#f": true, "?moved": true, "/to-other": false,
			} {
				name := fmt.Sprintf("%d to %s with %d allowed", code, location, allowed)
				other := newElsewhere(t)
				_, port, _ := net.SplitHostPort(other.Addr().String())
				var last http.Header // of the requests, which come one after the other
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					var m struct {
						ID     json.RawMessage `json:"id"`
						Method string          `json:"method"`
					}
					_ = json.NewDecoder(r.Body).Decode(&m)
					last = r.Header.Clone()
					to := strings.NewReplacer("OTHER", other.Addr().String(), "PORT", port, "OWN", r.Host).Replace(location)
					result := mcptest.Discover
					switch {
					case m.Method == methodDiscover:
					case strings.Contains(r.RequestURI, "moved"):
						result = page("", tide)
					default:
						if r.URL.Path == "/to-other" {
							to = "http://" + other.Addr().String() + "/mcp"
						}
						w.Header().Set("Location", to)
						w.WriteHeader(code)
						return
					}
					w.Header().Set("Content-Type", "application/json")
					_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
				}))
				tr := NewStreamableHTTPTransport(server.URL + "/mcp")
				tr.AllowPrivate, tr.Redirects = true, allowed
				tr.Headers = http.Header{"X-Key": {key}}
				tr.Authorize = func(_ context.Context, h http.Header) error { h.Set("Authorization", token); return nil }
				c, err := Connect(short(t), tr)
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.ListTools(short(t), nil)
				closed(t, c)
				server.Close()
				if follow := same && code >= 307 && allowed > 0; follow != (err == nil) {
					t.Errorf("%s: %v", name, err)
				}
				if last.Get("Authorization") != token || last.Get("X-Key") != key {
					t.Errorf("%s: the canaries were not sent to the origin", name)
				}
				if conns, got := other.seen(); conns > 0 {
					t.Errorf("%s: %d connections to the other origin, which was sent %q", name, conns, got)
				}
			}
		}
	}
}

// plainBytes keeps what reaches a TLS server before it is decrypted.
type plainBytes struct {
	net.Listener
	mu  sync.Mutex
	got strings.Builder
}

func (p *plainBytes) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	return plainConn{c, p}, err
}

type plainConn struct {
	net.Conn
	p *plainBytes
}

func (c plainConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.got.Write(b[:n])
	return n, err
}

// TestRedirectKeepsTLS: a redirect from https to http at the same host and port is to another origin, and would send
// everything in the plain.
func TestRedirectKeepsTLS(t *testing.T) {
	const token = "Bearer canary-of-redirects"
	for location, same := range map[string]bool{"http://OWN/moved": false, "https://OWN/moved": true, "/moved": true} {
		var last string
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			_ = json.NewDecoder(r.Body).Decode(&m)
			last = r.Header.Get("Authorization")
			result := page("", tide)
			switch {
			case m.Method == methodDiscover:
				result = mcptest.Discover
			case r.URL.Path != "/moved":
				w.Header().Set("Location", strings.ReplaceAll(location, "OWN", r.Host))
				w.WriteHeader(http.StatusTemporaryRedirect)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}))
		wire := &plainBytes{Listener: server.Listener}
		server.Listener = wire
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		pool := x509.NewCertPool()
		pool.AddCert(server.Certificate())
		tr := NewStreamableHTTPTransport(server.URL + "/mcp")
		tr.AllowPrivate, tr.Redirects, tr.TLS = true, 3, &tls.Config{RootCAs: pool}
		tr.Headers = http.Header{"Authorization": {token}}
		c, err := Connect(short(t), tr)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.ListTools(short(t), nil)
		closed(t, c)
		server.Close()
		if same != (err == nil) || last != token {
			t.Errorf("%s: %v, the server was sent %q", location, err, last)
		}
		if got := wire.got.String(); strings.Contains(got, token) || strings.Contains(got, "POST ") || len(got) < 1000 {
			t.Errorf("%s: %d bytes on the wire, readable ones among them: %.300q", location, len(got), got)
		}
	}
}
