package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestWhatIsWaitedFor has the context of a call end at every stage of it.
func TestWhatIsWaitedFor(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n"
	note := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"
	raw := func(said string) func(*testing.T) HTTPConfig {
		return func(t *testing.T) HTTPConfig {
			return serveRaw(t, func(p *peer) {
				io.WriteString(p, said)
				p.untilGone()
			}).config()
		}
	}
	silent := func(t *testing.T) string { // the kernel takes the connection, and nobody reads from it
		ln := listenTCP(t)
		t.Cleanup(func() { ln.Close() })
		return ln.Addr().String()
	}
	for name, tt := range map[string]struct {
		config    func(*testing.T) HTTPConfig
		waiting   string
		delivered bool
	}{
		"name": {func(*testing.T) HTTPConfig {
			return HTTPConfig{URL: "https://tools.example/", Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}}
		}, "a connection", false},
		"handshake": {func(t *testing.T) HTTPConfig { return secured("https://"+silent(t), nil) }, "the TLS handshake", false},
		"proxy": {func(t *testing.T) HTTPConfig {
			c := secured("https://tools.example", nil)
			c.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("http://" + silent(t)) }
			return c
		}, "an answer of the proxy", false},
		"request":       {func(t *testing.T) HTTPConfig { return HTTPConfig{URL: "http://" + silent(t) + "/", AllowPrivate: true} }, "the server to read the request", true},
		"header":        {raw(""), "the header of the answer", true},
		"in the header": {raw("HTTP/1.1 200 OK\r\nContent-Ty"), "the header of the answer", true},
		"hints":         {raw("HTTP/1.1 103 Early Hints\r\n\r\n"), "the header of the answer", true},
		"body":          {raw(head), "a JSON body", true},
		"in the body":   {raw(head + `{"jsonrpc`), "the rest of a JSON body (9 bytes so far)", true},
		"stream":        {raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n"), "an answer on an open event stream (0 events so far)", true},
		"events":        {raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + note + note + note), "an answer on an open event stream (3 events so far)", true},
		"event":         {raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + note + "data: {"), "the rest of an event (7 bytes so far)", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := call(1, "tools/list")
			if name == "request" {
				c.Body = append(c.Body, bytes.Repeat([]byte(" "), 8<<20)...)
			}
			h := newClient(t, tt.config(t))
			var err error
			var ended *EndedError
			for _, patience := range []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second} { // on a busy machine it takes longer to get there
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				_, err = h.Do(ctx, c)
				cancel()
				if errors.As(err, &ended) && ended.Waiting == tt.waiting {
					break
				}
			}
			if ended == nil || ended.Waiting != tt.waiting || ended.Delivered != tt.delivered || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Do = %v (%+v), want %q waited for", err, ended, tt.waiting)
			}
		})
	}
}

// TestConnectTimeouts: the steps of connecting have a time of their own, which is not the call's.
func TestConnectTimeouts(t *testing.T) {
	c := HTTPConfig{URL: "https://tools.example/", Connect: 50 * time.Millisecond, Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}}
	_, err := newClient(t, c).Do(t.Context(), call(1, "x"))
	var late *TimeoutError
	var e *Error
	if !errors.As(err, &late) || late.Waiting != "a connection" || late.After != c.Connect || !errors.As(err, &e) || e.Op != "connect" || e.Delivered {
		t.Errorf("Do = %v, want a timeout of the connection", err)
	}
}

// TestWaitsForAConnection: the number of connections is bounded, and a call that finds none free waits for one.
func TestWaitsForAConnection(t *testing.T) {
	release := make(chan struct{})
	srv := serveRaw(t, func(p *peer) {
		if p.id() != "9" {
			<-release
		}
		p.result()
	})
	c := srv.config()
	c.Limits.Connections = 2
	h := newClient(t, c)
	held := make(chan outcome, 2)
	for id := 1; id <= 2; id++ {
		go func() { m, err := h.Do(t.Context(), call(id, "x")); held <- outcome{m, err} }()
	}
	for len(srv.requests()) < 2 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := h.Do(ctx, call(3, "x"))
	var ended *EndedError
	if !errors.As(err, &ended) || ended.Waiting != "a connection" || ended.Delivered || len(srv.requests()) != 2 {
		t.Errorf("Do = %v with %d requests, want a connection waited for", err, len(srv.requests()))
	}
	waits := make(chan outcome, 1)
	go func() { m, err := h.Do(t.Context(), call(9, "x")); waits <- outcome{m, err} }()
	close(release)
	for range 2 {
		if o := <-held; o.err != nil {
			t.Error(o.err)
		}
	}
	good(t, <-waits, "9")
	if srv.conns != 2 {
		t.Errorf("%d connections, want 2", srv.conns)
	}
}

const idle = 80 * time.Millisecond

// TestStalls: a message that has begun and pauses ends the exchange, and no other.
func TestStalls(t *testing.T) {
	const asJSON, asStream = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	for name, tt := range map[string]struct {
		said  string
		where string
		bytes int64
	}{
		"body":                    {asJSON + "Content-Length: 99\r\n\r\n{\"jsonrpc\"", "a JSON body", 10},
		"body in chunks":          {asJSON + "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"j\r\n4\r\nson", "a JSON body", 6},
		"whole body without end":  {asJSON + "Transfer-Encoding: chunked\r\n\r\n27\r\n{\"jsonrpc\":\"2.0\",\"id\":7001,\"result\":{}\r\n", "a JSON body", 39},
		"chunk that is cut":       {asJSON + "Transfer-Encoding: chunked\r\n\r\nff\r\n{\"jsonrpc\"", "a JSON body", 10},
		"event in a cut chunk":    {asStream + "Transfer-Encoding: chunked\r\n\r\nff\r\ndata: {", "an event", 7},
		"event":                   {asStream + "\r\ndata: {", "an event", 7},
		"event without its end":   {asStream + "\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":7001,\"result\":{}}\n", "an event", 46},
		"event, second line":      {asStream + "\r\ndata: {\ndata", "an event", 12},
		"event, comment inside":   {asStream + "\r\ndata: {\n: alive", "an event", 8},
		"event after another":     {asStream + "\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\nid: 1\n", "an event", 6},
		"event with a byte order": {asStream + "\r\n\ufeffdata", "an event", 4},
	} {
		for _, method := range []string{"tools/list", methodListen} {
			if method == methodListen && !strings.HasPrefix(name, "event") {
				continue
			}
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				srv := serveRaw(t, func(p *peer) {
					if p.id() == "2" {
						time.Sleep(3 * idle)
						p.result()
						return
					}
					p.Write([]byte(tt.said))
					p.untilGone()
				})
				c := srv.config()
				c.Limits.Idle = idle
				h := newClient(t, c)
				other := make(chan outcome, 1)
				go func() { m, err := h.Do(t.Context(), call(2, "x")); other <- outcome{m, err} }()
				_, err := h.Do(t.Context(), call(1, method))
				var stall *StallError
				var e *Error
				if !errors.As(err, &stall) || *stall != (StallError{Where: tt.where, After: idle, Bytes: tt.bytes}) ||
					!errors.As(err, &e) || e.Op != "receive" || e.Status != 200 || !e.Delivered || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Do = %v (%+v), want a stall within %s after %d bytes", err, stall, tt.where, tt.bytes)
				}
				good(t, <-other, "2")
			})
		}
	}
}

// TestPausesThatAreNoStalls: between messages a server may be silent, and whatever comes is life.
func TestPausesThatAreNoStalls(t *testing.T) {
	const idle = 400 * time.Millisecond // far above what a busy machine adds to a pause
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	note := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"
	chunked := func(p *peer, media string, pause time.Duration, parts ...string) {
		fmt.Fprintf(p, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n", media)
		for _, part := range parts {
			time.Sleep(pause)
			if p.chunk([]byte(part)) != nil {
				return
			}
		}
		io.WriteString(p, "0\r\n\r\n")
	}
	for name, serve := range map[string]func(*peer){
		"between events": func(p *peer) { chunked(p, mediaSSE, idle*3/2, note, note, "data: "+answer+"\n\n") },
		"after blank lines": func(p *peer) {
			chunked(p, mediaSSE, idle*3/2, "\n", ": comment\n", ": and half", " a comment\r", "\ndata: "+answer+"\n\n")
		},
		"half a byte order":  func(p *peer) { chunked(p, mediaSSE, idle*3/2, "\xef\xbb", "\xbfdata: "+answer+"\n\n") },
		"before the body":    func(p *peer) { chunked(p, mediaJSON, idle*3/2, answer) },
		"a trickle of body":  func(p *peer) { chunked(p, mediaJSON, idle/4, pieces(answer)...) },
		"a trickle of event": func(p *peer) { chunked(p, mediaSSE, idle/4, pieces("data:"+answer+"\n\n")...) },
		"a trickle of a chunk": func(p *peer) {
			fmt.Fprintf(p, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", len(answer))
			for _, b := range pieces(answer) {
				time.Sleep(idle / 4)
				io.WriteString(p, b)
			}
			io.WriteString(p, "\r\n0\r\n\r\n")
		},
		"comments in an event": func(p *peer) {
			chunked(p, mediaSSE, idle/2, "data: {\"jsonrpc\":\"2.0\",\n", ":", ":", "\n", ": x\n", ": x\n", ": x\n", "data: \"id\":1,\"result\":{}}\n\n")
		},
	} {
		for _, method := range []string{"tools/list", methodListen} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				c := serveRaw(t, serve).config()
				c.Limits.Idle = idle
				m, err := newClient(t, c).Do(t.Context(), call(1, method))
				good(t, outcome{m, err}, "1")
			})
		}
	}
}

// TestTrickleIsBoundedByTheTotal: a server that sends a comment for ever is alive, and does not answer.
func TestTrickleIsBoundedByTheTotal(t *testing.T) {
	srv := serveRaw(t, func(p *peer) {
		p.streamHead()
		for p.chunk([]byte(": alive\n")) == nil {
			time.Sleep(idle / 8)
		}
	})
	c := srv.config()
	c.Limits.Idle = idle
	ctx, cancel := context.WithTimeout(t.Context(), 4*idle)
	defer cancel()
	_, err := newClient(t, c).Do(ctx, call(1, "tools/list"))
	var ended *EndedError
	if !errors.As(err, &ended) || ended.Waiting != "an answer on an open event stream (0 events so far)" {
		t.Errorf("Do = %v, want the context's end", err)
	}
}

// pieces cuts s into eight.
func pieces(s string) []string {
	var list []string
	for n := 8; n > 0; n-- {
		k := len(s) / n
		list, s = append(list, s[:k]), s[k:]
	}
	return list
}
