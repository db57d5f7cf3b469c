package mcp_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// overTLS is a server with a certificate of its own authority, for 127.0.0.1 and example.com.
func overTLS(t *testing.T) (srv *httptest.Server, trust *tls.Config, pin [sha256.Size]byte) {
	t.Helper()
	srv = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		_, id, _ := strings.Cut(string(text), `"id":`)
		id, _, _ = strings.Cut(id, ",")
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, mcptest.Discover)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	return srv, &tls.Config{RootCAs: pool}, sha256.Sum256(srv.Certificate().RawSubjectPublicKeyInfo)
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestConnectionOptions: what HTTPTransport says of TLS, pins and the proxy is what a connection is made with.
func TestConnectionOptions(t *testing.T) {
	srv, trust, pin := overTLS(t)
	connect := func(tr *mcp.HTTPTransport) error {
		c, err := mcp.Connect(within(t), tr, mcp.WithName("server.harbour"))
		if err == nil {
			err = c.Close()
		}
		return err
	}
	good := func() *mcp.HTTPTransport {
		return &mcp.HTTPTransport{URL: srv.URL, AllowPrivate: true, TLS: trust, Pins: [][sha256.Size]byte{{1}, pin}}
	}
	if err := connect(good()); err != nil {
		t.Fatal(err)
	}
	for reason, change := range map[string]func(*mcp.HTTPTransport){
		"untrusted": func(tr *mcp.HTTPTransport) { tr.TLS = nil },
		"pin":       func(tr *mcp.HTTPTransport) { tr.Pins = tr.Pins[:1] },
		"name": func(tr *mcp.HTTPTransport) {
			tr.TLS = trust.Clone()
			tr.TLS.ServerName = "other.example"
		},
	} {
		tr := good()
		change(tr)
		err := connect(tr)
		var refused *mcp.TLSError
		var te *mcp.TransportError
		if !errors.As(err, &refused) || refused.Reason != reason || refused.Host != strings.TrimPrefix(srv.URL, "https://") ||
			!errors.As(err, &te) || te.Op != "connect" || mcp.Delivered(err) || !strings.HasPrefix(err.Error(), "server.harbour: server/discover: TLS with ") {
			t.Errorf("Connect = %v, want a TLSError with reason %q that names the server", err, reason)
		}
	}
	tr := good()
	tr.TLS = &tls.Config{InsecureSkipVerify: true}
	var te *mcp.TransportError
	if err := connect(tr); !errors.As(err, &te) || te.Op != "configure" || mcp.Delivered(err) {
		t.Errorf("Connect without verification = %v, want it refused", err)
	}

	// Through a proxy, which connects to the server whatever it is asked for.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	asked := make(chan string, 4)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				head := make([]byte, 4096)
				n, err := c.Read(head)
				if err != nil {
					return
				}
				asked <- string(head[:n])
				up, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "https://"))
				if err != nil {
					return
				}
				defer up.Close()
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
				go func() { _, _ = io.Copy(up, c); up.Close() }()
				_, _ = io.Copy(c, up)
			}()
		}
	}()
	tr = good()
	tr.URL, tr.AllowPrivate = "https://example.com/mcp", false
	tr.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("http://user:secret@" + ln.Addr().String()) }
	if err := connect(tr); err != nil {
		t.Fatal(err)
	}
	if head := <-asked; !strings.HasPrefix(head, "CONNECT example.com:443 HTTP/1.1\r\n") || !strings.Contains(head, "Proxy-Authorization: Basic ") {
		t.Errorf("the proxy was asked %q", head)
	}
	tr.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("http://user:secret@127.0.0.1:1") }
	err = connect(tr)
	var refused *mcp.ConnectError
	if !errors.As(err, &refused) || refused.Reason != "proxy" || refused.Host != "127.0.0.1:1" || strings.Contains(err.Error(), "secret") {
		t.Errorf("Connect = %v, want the proxy named", err)
	}
}

// TestConnectionErrors has a connection go wrong in every way, and finds each by its type.
func TestConnectionErrors(t *testing.T) {
	raw := func(said string) func(*testing.T) mcp.Transport {
		return func(t *testing.T) mcp.Transport {
			p := mcptest.HTTP(t, func(c *mcptest.Conn, _ mcptest.Request) {
				_, _ = io.WriteString(c, said)
				if strings.HasSuffix(said, "...") {
					c.Wait()
				}
			})
			return &mcp.HTTPTransport{URL: p.URL, AllowPrivate: true}
		}
	}
	script := func(text string) func(*testing.T) mcp.Transport {
		return func(t *testing.T) mcp.Transport {
			path := filepath.Join(t.TempDir(), "server")
			if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
				t.Fatal(err)
			}
			return mcp.NewStdioTransport(path, nil)
		}
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n"
	const stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	lost := func(where string) func(error) bool {
		return func(err error) bool {
			var e *mcp.LostError
			var te *mcp.TransportError
			return errors.As(err, &e) && e.Where == where && errors.Is(err, io.ErrUnexpectedEOF) && errors.As(err, &te) && te.Op == "receive" && mcp.Delivered(err)
		}
	}
	stalled := func(where string, bytes int64) func(error) bool {
		return func(err error) bool {
			var e *mcp.StallError
			return errors.As(err, &e) && e.Method == "server/discover" && e.Where == where && e.Bytes == bytes && e.After == 200*time.Millisecond &&
				mcp.Delivered(err) && e.Timeout() && !errors.Is(err, context.DeadlineExceeded)
		}
	}
	late := func(waiting string) func(error) bool {
		return func(err error) bool {
			var e *mcp.TimeoutError
			return errors.As(err, &e) && e.Op == "server/discover" && e.Waiting == waiting && mcp.Delivered(err) && errors.Is(err, context.DeadlineExceeded)
		}
	}
	for name, tt := range map[string]struct {
		transport func(*testing.T) mcp.Transport
		found     func(error) bool
		text      string
	}{
		"nobody there": {func(*testing.T) mcp.Transport {
			return &mcp.HTTPTransport{URL: "http://127.0.0.1:1/", AllowPrivate: true}
		}, func(err error) bool {
			var e *mcp.ConnectError
			return errors.As(err, &e) && e.Reason == "refused" && e.Host == "127.0.0.1:1" && !mcp.Delivered(err)
		}, `connection to "127.0.0.1:1" refused: nothing listens there`},
		"no TLS": {func(t *testing.T) mcp.Transport {
			plain := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(plain.Close)
			return &mcp.HTTPTransport{URL: strings.Replace(plain.URL, "http:", "https:", 1), AllowPrivate: true}
		}, func(err error) bool {
			var e *mcp.TLSError
			return errors.As(err, &e) && e.Reason == "not tls" && !mcp.Delivered(err)
		}, "does not speak TLS"},
		"hangs up":            {raw(""), lost("before the answer"), "connection lost before the answer (the request may have had effect): unexpected EOF"},
		"cut header":          {raw("HTTP/1.1 200 OK\r\nContent-"), lost("in the header"), "connection lost in the header"},
		"cut body":            {raw(head + "{"), lost("in a JSON body"), "connection lost in a JSON body"},
		"cut stream":          {raw(stream + ": x\n\n"), lost("on an event stream"), "the stream ended before the response"},
		"stalled body":        {raw(head + "{..."), stalled("a JSON body", 4), "the server stopped within a JSON body: nothing came for 200ms after 4 bytes"},
		"stalled event":       {raw(stream + "data: {..."), stalled("an event", 10), "stopped within an event"},
		"stalled line":        {script("printf '{\"jsonrpc'\nread line\nread line\n"), stalled("a line", 9), "stopped within a line"},
		"silent over HTTP":    {raw("HTTP/1.1 103 Early Hints\r\n\r\n..."), late("the header of the answer"), "no answer within 1s: waited for the header of the answer"},
		"silent stream":       {raw(stream + ": ..."), late("an answer on an open event stream (0 events so far)"), "waited for an answer on an open event stream"},
		"silent process":      {script("read line\nread line\n"), late("an answer (the process is running)"), "the process is running"},
		"process that ends":   {script("read line\necho broken >&2\nexit 3\n"), exited(3, "exit status 3"), "server exited during server/discover (exit status 3)"},
		"process that closes": {script("exec >&-\nread line\nread line\n"), exited(-1, ""), "server closed its output during server/discover"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := mcp.Connect(within(t), tt.transport(t), mcp.WithName("server.harbour"),
				mcp.WithTimeouts(mcp.Timeouts{Discover: time.Second, Idle: 200 * time.Millisecond}))
			if err == nil {
				_ = c.Close()
			}
			var named *mcp.ServerError
			if !tt.found(err) || !errors.As(err, &named) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Connect = %v (%T), want the error of its kind with %q", err, errors.Unwrap(err), tt.text)
			}
		})
	}
}

func exited(code int, status string) func(error) bool {
	return func(err error) bool {
		var e *mcp.ExitError
		var te *mcp.TransportError
		return errors.As(err, &e) && e.Code == code && e.Status == status && errors.As(err, &te) && (code < 0 || te.Stderr == "broken")
	}
}
