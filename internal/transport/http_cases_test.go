package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

// fed makes one call to a server that answers every request with the bytes of a case's file.
func fed(t *testing.T, dir, file string) (outcome, *rawServer) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	srv := serveRaw(t, func(p *peer) { p.Write(p.withID(text)) })
	c := srv.config()
	c.Headers = secretHeaders()
	m, err := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
	if err != nil {
		printable(t, err)
		for _, secret := range []string{"canary-secret-token", "query-secret"} {
			if strings.Contains(fmt.Sprintf("%v %+v %q", err, err, err), secret) {
				t.Errorf("%s: the error shows %s: %v", file, secret, err)
			}
		}
	}
	for _, r := range srv.requests() {
		if r.method != "POST" {
			t.Errorf("%s: a %s was sent", file, r.method)
		}
	}
	if n := len(srv.requests()); n != 1 {
		t.Errorf("%s: %d requests, want one", file, n)
	}
	return outcome{m, err}, srv
}

func TestCaseAddressSpellings(t *testing.T) {
	table := string(casetest.Read(t, "http/address-spellings", "addresses.tsv"))
	verdict := func(spelling string, private bool) string {
		if u, err := url.Parse("https://[" + spelling + "]/"); err == nil && strings.Contains(spelling, ":") {
			spelling = u.Hostname()
		}
		if strings.HasPrefix(spelling, "localhost") {
			// A name is judged by what it resolves to, when that is dialled.
			h := newClient(t, HTTPConfig{URL: "https://" + spelling + ":9/", AllowPrivate: private})
			_, err := h.Do(t.Context(), call(1, "x"))
			var refused *AddressError
			if errors.As(err, &refused) {
				return refused.Reason
			}
			return "allowed"
		}
		a, err := netip.ParseAddr(spelling)
		if err != nil {
			t.Fatalf("%q: %v", spelling, err)
		}
		err = checkAddress(netip.AddrPortFrom(a, 443).String(), private, false)
		var refused *AddressError
		if errors.As(err, &refused) {
			return refused.Reason
		}
		return "allowed"
	}
	// What the plain form of a class gives, without and with private addresses allowed.
	want := map[string][2]string{
		"loopback": {"loopback", "allowed"}, "private": {"private", "allowed"}, "public": {"allowed", "allowed"},
		"link-local": {"link-local", "link-local"}, "unspecified": {"unspecified", "unspecified"}, "multicast": {"multicast", "multicast"},
	}
	rows := strings.Split(strings.TrimSpace(table), "\n")
	if len(rows) != 21 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		spelling, class, _ := strings.Cut(row, "\t")
		if got := [2]string{verdict(spelling, false), verdict(spelling, true)}; got != want[class] {
			t.Errorf("%s (%s): %v, want %v", spelling, class, got, want[class])
		}
	}
}

func TestCaseHTMLWith200(t *testing.T) {
	o, _ := fed(t, casetest.Dir(t, "http/html-with-200"), "response.http")
	var e *Error
	if o.err == nil || !errors.As(o.err, &e) || e.Status != 200 || !strings.Contains(o.err.Error(), "200") || !strings.Contains(o.err.Error(), "text/html") {
		t.Errorf("Do = %v, want an error that names 200 and text/html", o.err)
	}
	if strings.Contains(o.err.Error(), "Sign in") {
		t.Errorf("the page is printed: %v", o.err)
	}
}

func TestCaseJSONRPCErrorWith200(t *testing.T) {
	o, _ := fed(t, casetest.Dir(t, "http/jsonrpc-error-with-200"), "response.http")
	if o.err != nil || o.m.Kind != jsonrpc.Failure || o.m.Err.Code != -32602 || o.m.Err.Message != "Unknown tool: tide_tabel" || string(o.m.Err.Data) != `{"hint":"tide_table"}` {
		t.Errorf("Do = %+v, %v", o.m, o.err)
	}
}

func TestCaseMediaTypeParameters(t *testing.T) {
	dir := casetest.Dir(t, "http/media-type-parameters")
	var first string
	for i, file := range []string{"a.http", "b.http", "c.http"} {
		o, _ := fed(t, dir, file)
		result := good(t, o, "1")
		if i == 0 {
			first = result
		}
		if result != first {
			t.Errorf("%s: %s\na.http: %s", file, result, first)
		}
	}
	for _, file := range []string{"bad-1.http", "bad-2.http"} {
		o, _ := fed(t, dir, file)
		var framing *FramingError
		if !errors.As(o.err, &framing) || !strings.Contains(o.err.Error(), "media type") {
			t.Errorf("%s: %v, want the media type refused", file, o.err)
		}
	}
}

func TestCaseNoContentType(t *testing.T) {
	o, _ := fed(t, casetest.Dir(t, "http/no-content-type"), "response.http")
	var framing *FramingError
	if !errors.As(o.err, &framing) || !strings.Contains(o.err.Error(), "without a Content-Type") {
		t.Errorf("Do = %v, want an error about the missing media type", o.err)
	}
}

// googleapis/mcp-toolbox#3588: a 404 that answers an unknown method was taken for a wrong address.
func TestCaseNotFoundTwoKinds(t *testing.T) {
	dir := casetest.Dir(t, "http/not-found-two-kinds")
	a, _ := fed(t, dir, "a.http")
	if a.err != nil || a.m.Kind != jsonrpc.Failure || a.m.Err.Code != jsonrpc.CodeMethodNotFound {
		t.Errorf("a: %+v, %v", a.m, a.err)
	}
	b, _ := fed(t, dir, "b.http")
	var status *HTTPStatusError
	if !errors.As(b.err, &status) || status.Status != 404 || status.ContentType != "text/html" || status.RPC != nil {
		t.Errorf("b: %v, want an HTTP error 404", b.err)
	}
}

func TestCaseRedirectsThatChangeTheMethod(t *testing.T) {
	dir := casetest.Dir(t, "http/redirect-301-302-303")
	for file, code := range map[string]int{"a.http": 301, "b.http": 302, "c.http": 303} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.Replace(text, []byte("Location: /mcp/"), []byte("Location: /mcp/?code=query-secret#x"), 1)
		srv := serveRaw(t, func(p *peer) { p.Write(text) })
		c := srv.config()
		c.Redirects = 5
		_, err = newClient(t, c).Do(t.Context(), call(1, "tools/list"))
		var refused *RedirectError
		if !errors.As(err, &refused) || refused.Status != code || refused.Location != "http://"+srv.addr+"/mcp/" {
			t.Errorf("%s: %v, want a refused %d to /mcp/", file, err, code)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the query: %v", file, err)
		}
		if n := len(srv.requests()); n != 1 {
			t.Errorf("%s: %d requests", file, n)
		}
	}
}

func TestCaseRedirect308SameOrigin(t *testing.T) {
	dir := casetest.Dir(t, "http/redirect-308-same-origin")
	var hop [2][]byte
	for i, file := range []string{"hop-1.http", "hop-2.http"} {
		var err error
		if hop[i], err = os.ReadFile(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	srv := serveRaw(t, func(p *peer) {
		if strings.HasPrefix(p.path, "/mcp?") || p.path == "/mcp" {
			p.Write(hop[0])
			return
		}
		p.Write(p.withID(hop[1]))
	})
	c := srv.config()
	c.Headers = secretHeaders()
	c.Redirects = 1
	m, err := newClient(t, c).Do(t.Context(), &Call{ID: jsonrpc.IntID(1), Method: "tools/call", Name: "x", HasName: true, Body: body(1, "tools/call", `{"name":"x"}`)})
	good(t, outcome{m, err}, "1")
	r := srv.requests()
	if len(r) != 2 || r[1].path != "/mcp/" || r[1].method != "POST" || !bytes.Equal(r[0].body, r[1].body) || strings.Join(r[0].lines, "\n") != strings.Join(r[1].lines, "\n") {
		t.Errorf("requests %+v", r)
	}

	c.Redirects = 0
	_, err = newClient(t, c).Do(t.Context(), call(2, "tools/list"))
	var refused *RedirectError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("without redirects: %v", err)
	}

	loop := serveRaw(t, func(p *peer) {
		to := "/mcp"
		if p.n%2 == 1 {
			to = "/mcp/"
		}
		fmt.Fprintf(p, "HTTP/1.1 308 Permanent Redirect\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", to)
		p.keep = true
	})
	c = loop.config()
	c.Redirects = 5
	_, err = newClient(t, c).Do(t.Context(), call(3, "tools/list"))
	refused = nil
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "more than 5") {
		t.Errorf("loop: %v", err)
	}
	if n := len(loop.requests()); n != 6 {
		t.Errorf("loop: %d requests, want the first and five redirects", n)
	}
}

// TestOriginOfARedirect: another spelling of the origin is no other name to connect to.
func TestOriginOfARedirect(t *testing.T) {
	h := newClient(t, HTTPConfig{URL: "https://tools.dock.example/mcp", Redirects: 1})
	for location, want := range map[string]string{
		"/x?y": "https://tools.dock.example/x?y", "HTTPS://Tools.Dock.EXAMPLE:443/x#z": "https://tools.dock.example/x",
		"https://tools.doc\u212a.example/x": "https://tools.dock.example/x", // the sign of the kelvin, which is a k in lower case
		"https://tools.dock.example:444/x":  "", "https://tools.dock.example.:443/x": "", "http://tools.dock.example:443/x": "",
		"https://user@tools.dock.example/x": "", "//dock.example/x": "", "https:///x": "", "https:x": "",
	} {
		x := &exchange{Context: t.Context(), h: h, call: call(1, "x")}
		to, err := x.redirect(&http.Response{StatusCode: 307, Header: http.Header{"Location": {location}}}, h.url, 0)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q: to %v, want it refused", location, to)
		case want != "" && (err != nil || to.String() != want):
			t.Errorf("%q: to %v, %v, want %s", location, to, err, want)
		}
	}
}

func TestCaseRequestShape(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(string(casetest.Read(t, "http/request-shape", "expected-request.txt"))), "\n")
	if len(lines) != 9 {
		t.Errorf("%d requirements, 9 are checked here", len(lines))
	}
	srv := serveRaw(t, func(p *peer) { p.result() })
	h := srv.client(t)
	calls := []*Call{
		call(1, "server/discover"), call(2, "tools/list"),
		{ID: jsonrpc.IntID(3), Method: "tools/call", Name: "潮汐", HasName: true, Params: []Header{{"Mcp-Param-Port", "north"}}, Body: body(3, "tools/call", `{"name":"潮汐","arguments":{"port":"north"}}`)},
		{ID: jsonrpc.IntID(4), Method: "resources/read", Name: "file:///x", HasName: true, Body: body(4, "resources/read", `{"uri":"file:///x"}`)},
	}
	for _, c := range calls {
		if _, err := h.Do(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range srv.requests() {
		c := calls[i]
		if r.method != "POST" || !bytes.Equal(r.body, c.Body) {
			t.Errorf("request %d: %s with body %s", i, r.method, r.body)
		}
		want := map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Accept-Encoding": "identity",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": c.Method,
		}
		if c.HasName {
			want["Mcp-Name"] = c.Name
		}
		for _, p := range c.Params {
			want[p.Name] = p.Value
		}
		if c.Name == "潮汐" {
			want["Mcp-Name"] = "=?base64?5r2u5rGQ?="
		}
		got := map[string]string{}
		for _, line := range r.lines {
			name, value, _ := strings.Cut(line, ": ")
			if _, twice := got[name]; twice {
				t.Errorf("request %d: %s twice", i, name)
			}
			got[name] = value
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("request %d: %s is %q, want %q", i, name, got[name], value)
			}
		}
		for _, name := range []string{"Last-Event-ID", "Mcp-Session-Id"} {
			if r.header.Get(name) != "" {
				t.Errorf("request %d has %s", i, name)
			}
		}
		if !c.HasName && r.header.Get("Mcp-Name") != "" {
			t.Errorf("request %d has an Mcp-Name", i)
		}
	}
	if srv.conns != 1 {
		t.Errorf("%d TCP connections, want one", srv.conns)
	}
}

func TestCaseServiceUnavailable(t *testing.T) {
	o, _ := fed(t, casetest.Dir(t, "http/service-unavailable"), "response.http")
	var status *HTTPStatusError
	if !errors.As(o.err, &status) || status.Status != 503 || !strings.Contains(o.err.Error(), "503") {
		t.Errorf("Do = %v, want a 503", o.err)
	}
}

func TestCaseTrickle(t *testing.T) {
	dir := casetest.Dir(t, "http/trickle")
	text, err := os.ReadFile(filepath.Join(dir, "body.json"))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	srv := serveRaw(t, func(p *peer) {
		defer close(gone)
		fmt.Fprint(p, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
		hungUp := make(chan struct{})
		go func() {
			p.untilGone()
			close(hungUp)
		}()
		for _, b := range p.withID(text) {
			p.Write([]byte{b})
			select {
			case <-hungUp:
				return
			case <-time.After(2 * time.Second):
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err = srv.client(t).Do(ctx, call(1, "tools/list"))
	deadline, _ := ctx.Deadline()
	if late := time.Since(deadline); late > 500*time.Millisecond {
		t.Errorf("returned %v after the deadline", late)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Do = %v, want the context's error", err)
	}
	select {
	case <-gone:
	case <-time.After(time.Second):
		t.Error("the connection is open")
	}
}

func TestCaseTwoDocuments(t *testing.T) {
	o, _ := fed(t, casetest.Dir(t, "http/two-documents"), "response.http")
	var framing *FramingError
	if !errors.As(o.err, &framing) {
		t.Errorf("Do = %v, want a framing error", o.err)
	}
}

func TestCaseUnauthorizedOnce(t *testing.T) {
	begin := time.Now()
	o, _ := fed(t, casetest.Dir(t, "http/unauthorized-once"), "response.http")
	var challenge *ChallengeError
	if !errors.As(o.err, &challenge) || challenge.Status != 401 || !strings.Contains(o.err.Error(), "401") {
		t.Fatalf("Do = %v, want a 401", o.err)
	}
	if want := `Bearer realm="harbour", error="invalid_token"`; challenge.Challenge != want {
		t.Errorf("challenge %q, want %q", challenge.Challenge, want)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestCaseErrorWithoutID(t *testing.T) {
	o, _ := fed(t, casetest.Dir(t, "jsonrpc/error-without-id"), "response.http")
	var status *HTTPStatusError
	if !errors.As(o.err, &status) || status.Status != 400 || status.RPC == nil || status.RPC.Code != jsonrpc.CodeParse {
		t.Fatalf("Do = %+v, %v, want an HTTP error with the code inside", o.m, o.err)
	}
	for _, part := range []string{"400", "-32700", "Parse error"} {
		if !strings.Contains(o.err.Error(), part) {
			t.Errorf("error %q lacks %s", o.err, part)
		}
	}
}

// mark3labs/mcp-go v1.2.1 lets the function for headers replace the protocol's own.
func TestCaseDecoratorCannotOverride(t *testing.T) {
	attempts := strings.Split(strings.TrimSpace(string(casetest.Read(t, "headers/decorator-cannot-override", "attempts.txt"))), "\n")
	srv := serveRaw(t, func(p *peer) { p.result() })
	tried := 0
	for _, attempt := range attempts {
		what, verdict, _ := strings.Cut(attempt, "\t")
		name, value, ok := strings.Cut(what, ": ")
		if !ok {
			continue // URL, method and body cannot be reached from a header
		}
		tried++
		set := func(h http.Header) { h[name] = []string{value} }
		dynamic := srv.config()
		dynamic.Authorize = func(_ context.Context, h http.Header) error { set(h); return nil }
		before := len(srv.requests())
		_, err := newClient(t, dynamic).Do(t.Context(), call(1, "tools/list"))
		fixed := srv.config()
		fixed.Headers = http.Header{}
		set(fixed.Headers)
		_, fixedErr := NewHTTP(fixed)
		after := srv.requests()[before:]
		if verdict == "keep" {
			if err != nil || fixedErr != nil || len(after) != 1 || after[0].header.Get(name) != value {
				t.Errorf("%s: %v, %v, requests %+v", what, err, fixedErr, after)
			}
			continue
		}
		for _, err := range []error{err, fixedErr} {
			var e *Error
			if !errors.As(err, &e) || e.Op != "configure" || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v, want it refused by name", what, err)
			}
		}
		if len(after) != 0 {
			t.Errorf("%s: a request was sent", what)
		}
	}
	if tried != 10 {
		t.Errorf("%d attempts by header, want 10", tried)
	}
}

func TestCaseTokenWithNewline(t *testing.T) {
	dir := casetest.Dir(t, "headers/token-with-newline")
	srv := serveRaw(t, func(p *peer) { p.result() })
	for file, want := range map[string]string{"token.txt": "line end", "token-nul.txt": "no header may have", "token-empty.txt": "empty"} {
		token, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		c := srv.config()
		c.Headers = http.Header{"Authorization": {string(token)}}
		_, err = NewHTTP(c)
		c = srv.config()
		c.Authorize = func(_ context.Context, h http.Header) error { h.Set("Authorization", string(token)); return nil }
		_, err2 := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
		for _, err := range []error{err, err2} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Authorization") {
				t.Errorf("%s: %v, want %q about Authorization", file, err, want)
				continue
			}
			if text := strings.Trim(string(token), "\n\x00"); len(text) > 0 && strings.Contains(err.Error(), text[:min(len(text), 6)]) {
				t.Errorf("%s: the error shows the token: %v", file, err)
			}
		}
	}
	if n := len(srv.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
