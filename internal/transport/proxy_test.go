package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tunnels is an HTTP proxy that connects to one server, whatever it is asked for, and keeps what it is sent.
type tunnels struct {
	url string

	mu    sync.Mutex
	heads []string // the CONNECT requests
	bytes []byte   // everything that came from the client, in order of arrival
}

// serveProxy answers each CONNECT with answer, and if that is a success, connects to server.
func serveProxy(t *testing.T, server, answer string) *tunnels {
	t.Helper()
	p := &tunnels{}
	ln := listenTCP(t)
	p.url = "http://" + ln.Addr().String()
	var wg sync.WaitGroup
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			open = append(open, c)
			p.mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				p.serve(c, server, answer)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		p.mu.Lock()
		for _, c := range open {
			c.Close()
		}
		p.mu.Unlock()
		wg.Wait()
	})
	return p
}

func (p *tunnels) serve(c net.Conn, server, answer string) {
	in := bufio.NewReader(io.TeeReader(c, p))
	var head strings.Builder
	for !strings.HasSuffix(head.String(), "\r\n\r\n") {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		head.WriteString(line)
	}
	p.mu.Lock()
	p.heads = append(p.heads, head.String())
	p.mu.Unlock()
	io.WriteString(c, answer)
	if !strings.HasPrefix(answer, "HTTP/1.1 2") {
		return
	}
	to, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		io.Copy(to, in)
		to.Close()
	}()
	io.Copy(c, to)
}

func (p *tunnels) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes = append(p.bytes, b...)
	return len(b), nil
}

func (p *tunnels) seen() (heads []string, bytes string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.heads), string(p.bytes)
}

// through is a Proxy function; user is "user:password@" or nothing.
func (p *tunnels) through(user string) func(*url.URL) (*url.URL, error) {
	return func(*url.URL) (*url.URL, error) { return url.Parse(strings.Replace(p.url, "://", "://"+user, 1)) }
}

const established = "HTTP/1.1 200 Connection established\r\nX-Proxy: a\r\n\r\n"

// TestProxy: the name is the proxy's to resolve, the certificate is held against the server's name, and the proxy sees
// nothing but where to.
func TestProxy(t *testing.T) {
	ours := newAuthority(t, "Ours")
	cert := ours.issue(t, nil)
	trust := &tls.Config{RootCAs: ours.pool()}
	for _, h2 := range []bool{false, true} {
		srv := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{cert}}, h2)
		p := serveProxy(t, strings.TrimPrefix(srv.URL, "https://"), established)
		c := secured("https://tools.example", trust, pin(cert.Leaf))
		var asked []string
		c.AllowPrivate = false // neither the proxy's nor the name's address is held against it
		c.Proxy = func(u *url.URL) (*url.URL, error) {
			asked = append(asked, u.String())
			return p.through("harbour:canary-secret-password@")(u)
		}
		h := newClient(t, c)
		for id := 1; id <= 3; id++ {
			m, err := h.Do(t.Context(), call(id, "tools/list"))
			good(t, outcome{m, err}, fmt.Sprint(id))
		}
		heads, bytes := p.seen()
		auth := "Basic " + base64.StdEncoding.EncodeToString([]byte("harbour:canary-secret-password"))
		want := "CONNECT tools.example:443 HTTP/1.1\r\nHost: tools.example:443\r\nUser-Agent: mcpcat\r\nProxy-Authorization: " + auth + "\r\n\r\n"
		if len(heads) != 1 || heads[0] != want {
			t.Errorf("the proxy was asked %q, want %q", heads, want)
		}
		for _, secret := range []string{"canary-secret-token", "query-secret", "Authorization: Bearer", "Mcp-Method", "tools/list"} {
			if strings.Contains(bytes, secret) {
				t.Errorf("the proxy sees %q", secret)
			}
		}
		header := fmt.Sprint(srv.header.Load())
		if strings.Contains(header, "Proxy-") || strings.Contains(header, auth) || !strings.Contains(header, "canary-secret-token") {
			t.Errorf("the server got the header %s", header)
		}
		if len(asked) != 1 || asked[0] != c.URL {
			t.Errorf("the function was asked for %q, want the endpoint, once", asked)
		}
		c.Pins = [][32]byte{{1}}
		refusedTLS(t, c, TLSPin)
		c.Pins, c.TLS = nil, nil
		refusedTLS(t, c, TLSUntrusted)
		c = secured("https://other.example", trust)
		c.Proxy = p.through("")
		refusedTLS(t, c, TLSName)
		if heads, _ := p.seen(); strings.Contains(heads[len(heads)-1], "Proxy-Authorization") {
			t.Error("credentials without user information")
		}
	}
}

// TestProxiesThatRefuse: the error has the status and nothing of what the proxy says, in which credentials may stand.
func TestProxiesThatRefuse(t *testing.T) {
	const body = "\r\nX-Echo: canary-secret-password\r\n\r\nyou sent canary-secret-password"
	for name, tt := range map[string]struct {
		answer string
		status int
		text   string
	}{
		"407":            {"HTTP/1.1 407 canary-secret-password" + body, 407, "other credentials"},
		"403":            {"HTTP/1.1 403 Forbidden" + body, 403, "HTTP status 403"},
		"502":            {"HTTP/1.1 502 Bad" + body, 502, "HTTP status 502"},
		"302":            {"HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example" + body, 302, "HTTP status 302"},
		"no HTTP":        {"SSH-2.0 canary-secret-password\r\n\r\n", 0, "no HTTP"},
		"hang-up":        {"", 0, "hung up"},
		"cut":            {"HTTP/1.1 200 O", 0, "hung up"},
		"bytes behind":   {established + "\x16\x03\x03 canary-secret-password", 0, "behind its answer"},
		"too long":       {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("canary-secret-password ", 20_000) + "\r\n\r\n", 0, "its answer: more than 262144 bytes"},
		"informational":  {strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", 20_000), 0, "its answer: more than 262144 bytes"},
		"not even asked": {"HTTP/1.1 400 Bad Request" + body, 400, "HTTP status 400"},
	} {
		t.Run(name, func(t *testing.T) {
			p := serveProxy(t, "127.0.0.1:1", tt.answer)
			c := secured("https://tools.example", nil)
			c.Proxy = p.through("harbour:canary-secret-password@")
			_, err := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
			var connect *ConnectError
			var e *Error
			if !errors.As(err, &connect) || connect.Reason != ConnectProxy || connect.Status != tt.status || connect.Host != strings.TrimPrefix(p.url, "http://") ||
				!errors.As(err, &e) || e.Op != "connect" || e.Delivered || e.Status != 0 || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Do = %v (%+v), want the proxy named with %q", err, connect, tt.text)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), "secret") || strings.Contains(e.Error(), "elsewhere") {
					t.Errorf("%T says %v", e, e)
				}
			}
			printable(t, err)
		})
	}
	gone := secured("https://tools.example", nil)
	gone.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("http://u:canary-secret@127.0.0.1:1") }
	_, err := newClient(t, gone).Do(t.Context(), call(1, "x"))
	var connect *ConnectError
	if !errors.As(err, &connect) || connect.Reason != ConnectProxy || !strings.Contains(err.Error(), "nothing listens there") || strings.Contains(err.Error(), "secret") {
		t.Errorf("Do = %v, want the proxy refused", err)
	}
	silent := listenTCP(t) // the kernel takes the connection
	defer silent.Close()
	gone.Connect = 100 * time.Millisecond
	gone.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("http://" + silent.Addr().String()) }
	_, err = newClient(t, gone).Do(t.Context(), call(1, "x"))
	var late *TimeoutError
	if !errors.As(err, &late) || late.Waiting != "an answer of the proxy" || late.After != gone.Connect {
		t.Errorf("Do = %v, want a timeout of the proxy", err)
	}
}

// TestProxyThatDoesNotEndItsAnswer: the status is all that is waited for.
func TestProxyThatDoesNotEndItsAnswer(t *testing.T) {
	ln := listenTCP(t)
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := bufio.NewReader(c).ReadString('\n'); err == nil {
			io.WriteString(c, "HTTP/1.1 407 No\r\nContent-Length: 1000\r\n\r\nsome of it")
			io.Copy(io.Discard, c)
		}
	}()
	c := secured("https://tools.example", nil)
	c.Connect = time.Minute
	c.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("http://" + ln.Addr().String()) }
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := newClient(t, c).Do(ctx, call(1, "tools/list"))
	var connect *ConnectError
	if !errors.As(err, &connect) || connect.Status != 407 {
		t.Errorf("Do = %v, want the proxy's status", err)
	}
}

// TestAddressesBehindAProxy: what can be judged without resolving a name is judged before the proxy is asked.
func TestAddressesBehindAProxy(t *testing.T) {
	ours := newAuthority(t, "Ours")
	srv := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{ours.issue(t, nil)}}, false)
	for endpoint, want := range map[string][2]string{ // without and with private addresses allowed
		"https://10.0.0.1":              {"private", ""},
		"https://[::ffff:10.0.0.1]":     {"private", ""},
		"https://169.254.169.254":       {"link-local", "link-local"},
		"https://[::ffff:a9fe:a9fe]":    {"link-local", "link-local"},
		"https://[fd00:ec2::254]":       {"metadata", "metadata"},
		"https://0.0.0.0":               {"unspecified", "unspecified"},
		"https://[64:ff9b::a9fe:a9fe]":  {"link-local", "link-local"},
		"https://tools.example":         {"", ""},
		"https://[fe80::1%25eth0]:8443": {"link-local", "link-local"},
	} {
		for i, private := range []bool{false, true} {
			p := serveProxy(t, strings.TrimPrefix(srv.URL, "https://"), established)
			c := secured(endpoint, &tls.Config{RootCAs: ours.pool()})
			c.AllowPrivate, c.Proxy = private, p.through("")
			_, err := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
			got := ""
			var address *AddressError
			var name *TLSError
			switch {
			case errors.As(err, &address):
				got = address.Reason
			case errors.As(err, &name):
				got = name.Reason
			case err != nil:
				got = err.Error()
			}
			heads, _ := p.seen()
			if got != want[i] || (address != nil) != (len(heads) == 0) {
				t.Errorf("%s, private %v: %q after the proxy was asked %d times, want %q", endpoint, private, got, len(heads), want[i])
			}
		}
	}
	// A server on this machine is reached without the proxy, by whatever name.
	for _, host := range []string{"127.0.0.1", "localhost"} {
		c := secured("https://"+host+":"+strings.TrimPrefix(srv.URL, "https://127.0.0.1:"), &tls.Config{RootCAs: ours.pool()})
		c.Proxy = func(*url.URL) (*url.URL, error) { t.Error("a proxy for this machine"); return nil, nil }
		m, err := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
		good(t, outcome{m, err}, "1")
	}
	plain := serveRaw(t, func(p *peer) { p.result() })
	c := plain.config()
	c.Proxy = func(*url.URL) (*url.URL, error) { t.Error("a proxy for http://"); return nil, nil }
	m, err := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
	good(t, outcome{m, err}, "1")
	// The proxy may be anywhere but where credentials are handed out.
	for _, proxy := range []string{"http://169.254.169.254", "http://[fd00:ec2::254]:3128", "http://[fe80::1%25eth0]:1"} {
		c := secured("https://tools.example", nil)
		c.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse(proxy) }
		_, err := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
		var address *AddressError
		if !errors.As(err, &address) {
			t.Errorf("proxy %s: %v, want its address refused", proxy, err)
		}
	}
}

func TestProxyConfigurations(t *testing.T) {
	own := errors.New("invalid proxy address http://u:canary-secret@p")
	for text, choose := range map[string]func(*url.URL) (*url.URL, error){
		"http://":            func(*url.URL) (*url.URL, error) { return url.Parse("socks5://u:canary-secret@127.0.0.1:1080") },
		"does not begin":     func(*url.URL) (*url.URL, error) { return url.Parse("https://u:canary-secret@127.0.0.1") },
		"no host":            func(*url.URL) (*url.URL, error) { return url.Parse("http://u:canary-secret@") },
		"more than a host":   func(*url.URL) (*url.URL, error) { return url.Parse("http://127.0.0.1/canary-secret") },
		"more than a host a": func(*url.URL) (*url.URL, error) { return url.Parse("http://127.0.0.1?canary-secret") },
		"found none":         func(*url.URL) (*url.URL, error) { return nil, own },
		"is a number":        func(*url.URL) (*url.URL, error) { return url.Parse("http://u:canary-secret@0x7f.1:3128") },
	} {
		_, err := NewHTTP(HTTPConfig{URL: "https://tools.example", Proxy: choose})
		var e *Error
		if !errors.As(err, &e) || e.Op != "configure" || !strings.Contains(err.Error(), strings.TrimSuffix(text, " a")) || strings.Contains(err.Error(), "secret") {
			t.Errorf("NewHTTP = %v, want %q", err, text)
		}
		if text == "found none" && !errors.Is(err, own) {
			t.Errorf("the function's error is not found in %v", err)
		}
	}
	h := newClient(t, HTTPConfig{URL: "https://tools.example", Proxy: func(u *url.URL) (*url.URL, error) {
		u.Host = "elsewhere.example" // it is given a copy
		return nil, nil
	}})
	if h.proxy != nil || h.url.Host != "tools.example" {
		t.Errorf("proxy %v for %v, want none", h.proxy, h.url)
	}
}
