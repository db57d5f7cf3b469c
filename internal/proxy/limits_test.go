package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestDeclaredBodiesCostNothing opens many connections that say that 16 MiB will come and send one byte of it: what is
// allocated follows what has arrived.
func TestDeclaredBodiesCostNothing(t *testing.T) {
	s := newServer(newFake())
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	const conns = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range conns {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", MaxMessageBytes); err != nil {
			t.Fatal(err)
		}
	}
	// The handlers have begun to read when a later request on another connection was answered; then some time for the rest.
	if status, _, _ := exchange(t, s, post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	time.Sleep(200 * time.Millisecond)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > conns*100<<10 {
		t.Errorf("%d declared bodies of 16 MiB allocated %d bytes, want at most 100 KiB each", conns, got)
	}
	if left := s.bodies.left.Load(); left != maxBodies {
		t.Errorf("they took %d bytes of the budget", maxBodies-left)
	}
}

// padded is a good request of n bytes.
func padded(n int) string {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	return body + strings.Repeat(" ", n-len(body))
}

// TestBodyBudget: while large bodies fill the budget a further one is told to come again, a small one is served, and when
// they are gone the large one is served too.
func TestBodyBudget(t *testing.T) {
	s := newServer(newFake())
	const room = 1 << 20
	s.bodies.left.Store(room)
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	send := func(body io.Reader, length int64) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+Path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		for name, value := range map[string]string{"Content-Type": "application/json", versionHeader: Version, methodHeader: methodList} {
			r.Header.Set(name, value)
		}
		res, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		if (res.Header.Get("Retry-After") != "") != (res.StatusCode == http.StatusServiceUnavailable) {
			t.Errorf("status %d with Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
		}
		return res.StatusCode
	}
	whole := func(n int) int { return send(strings.NewReader(padded(n)), int64(n)) }
	if got := whole(room + freeBody); got != http.StatusOK {
		t.Errorf("a body that just fits: status %d", got)
	}
	if got := whole(room + freeBody + 1); got != http.StatusServiceUnavailable {
		t.Errorf("a body of one byte too many: status %d, want 503", got)
	}
	if got := send(bytes.NewReader([]byte(padded(room/2))), -1); got != http.StatusOK {
		t.Errorf("a body without a length: status %d", got)
	}

	// One that stops half-way holds its part.
	pr, pw := io.Pipe()
	first := make(chan int)
	go func() { first <- send(pr, room) }()
	text := padded(room)
	if _, err := io.WriteString(pw, text[:room*3/4]); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); s.bodies.left.Load() > room/4 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := whole(room / 2); got != http.StatusServiceUnavailable {
		t.Errorf("a large body beside one that is arriving: status %d, want 503", got)
	}
	if got := whole(freeBody); got != http.StatusOK {
		t.Errorf("a small body beside it: status %d", got)
	}
	_, _ = io.WriteString(pw, text[room*3/4:])
	pw.Close()
	if got := <-first; got != http.StatusOK {
		t.Errorf("the one that was arriving: status %d", got)
	}
	if got := whole(room / 2); got != http.StatusOK {
		t.Errorf("a large body afterwards: status %d", got)
	}
	for deadline := time.Now().Add(10 * time.Second); s.bodies.left.Load() != room; {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes were not given back", room-s.bodies.left.Load())
		}
		time.Sleep(time.Millisecond)
	}
}

// TestLimit: one connection more than the limit is closed at once, those within it work, and one that ends makes room.
func TestLimit(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &limitListener{Listener: inner, max: 3}
	srv := HTTPServer(newServer(newFake()).Handler())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	defer func() {
		_ = srv.Close()
		<-served
	}()
	request := post(padded(500))
	try := func(c net.Conn) bool {
		t.Helper()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.WriteString(c, request); err != nil {
			return false
		}
		buf := make([]byte, 16)
		n, err := c.Read(buf)
		return err == nil && strings.HasPrefix(string(buf[:n]), "HTTP/1.1 200")
	}
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	var open []net.Conn
	for i := range 3 {
		open = append(open, dial())
		if !try(open[i]) {
			t.Fatalf("connection %d is not served", i+1)
		}
	}
	if try(dial()) {
		t.Error("a fourth connection is served")
	}
	open[0].Close()
	for deadline := time.Now().Add(10 * time.Second); !try(dial()); {
		if time.Now().After(deadline) {
			t.Fatal("a connection that ended makes no room")
		}
		time.Sleep(time.Millisecond)
	}
	if MaxConns < 2 || Limit(inner).(*limitListener).max != MaxConns {
		t.Error("Limit does not have the documented limit")
	}
}
