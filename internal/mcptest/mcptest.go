// Package mcptest is an MCP server for tests that says exactly what it is told to, well-formed or not.
//
// It is for tests of the client only: it checks nothing, knows no defaults beside an answer to server/discover, and keeps
// every request it saw, byte for byte. Pipe speaks over a pair of in-memory streams and works in a testing/synctest
// bubble; HTTP is a bare TCP listener on the loopback address that writes raw bytes.
//
// Beside these scripted peers there are faulty ones, which serve a session well and misbehave at one step of it, on
// request: Faults lists the ways, Child and ChildArgs make a test binary such a server over stdio, and StartFaulty starts
// one over HTTP/1.1, TLS or HTTP/2. In the drawing it stands beside the test files that use it, on strictjson.
package mcptest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Discover is a good result of server/discover.
const Discover = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},` +
	`"ttlMs":60000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"harbour","version":"1"}}}`

// Request is one request or notification as the peer received it.
type Request struct {
	ID     string // the raw token, "" for a notification
	Method string
	Params strictjson.Value
	Raw    []byte      // the line or the body
	Header http.Header // nil over a pipe
}

// Conn is where a handler writes to: the stream of a pipe, or one HTTP connection.
type Conn struct {
	mu sync.Mutex
	w  io.WriteCloser

	http bool
}

// Write writes raw bytes.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.Write(p)
}

// Line writes one message: as a line over a pipe, as a whole answer with status 200 over HTTP. Errors are the client's to
// notice.
func (c *Conn) Line(message string) {
	if c.http {
		message = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + message
	} else {
		message += "\n"
	}
	_, _ = io.WriteString(c, message)
}

// Result answers the request r with a result.
func (c *Conn) Result(r Request, result string) {
	c.Line(`{"jsonrpc":"2.0","id":` + r.ID + `,"result":` + result + `}`)
}

// Error answers the request r with an error object.
func (c *Conn) Error(r Request, object string) {
	c.Line(`{"jsonrpc":"2.0","id":` + r.ID + `,"error":` + object + `}`)
}

// IsHTTP reports whether c is a connection over HTTP.
func (c *Conn) IsHTTP() bool { return c.http }

// Stream begins an answer that is a stream of events, over HTTP; over a pipe, which is one, it does nothing.
func (c *Conn) Stream() {
	if c.http {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
	}
}

// Event writes one message into the stream that Stream has begun.
func (c *Conn) Event(message string) {
	if c.http {
		_, _ = io.WriteString(c, "data: "+message+"\n\n")
		return
	}
	c.Line(message)
}

// Wait returns when the client has closed its end of the connection, over HTTP; over a pipe it returns at once.
func (c *Conn) Wait() {
	if r, ok := c.w.(io.Reader); ok {
		_, _ = io.Copy(io.Discard, r)
	}
}

// Close ends the stream.
func (c *Conn) Close() { _ = c.w.Close() }

// Handler answers one request. It runs on the peer's reading goroutine over a pipe, so that requests are handled in order,
// and on the connection's over HTTP.
type Handler func(c *Conn, r Request)

// Peer is a running server.
type Peer struct {
	R   io.ReadCloser  // what the client reads from, over a pipe
	W   io.WriteCloser // what the client writes to
	URL string         // over HTTP

	mu       sync.Mutex
	requests []Request
	wg       sync.WaitGroup
}

// Requests returns what was received so far.
func (p *Peer) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.requests...)
}

// Methods returns the methods received so far, joined by blanks.
func (p *Peer) Methods() string {
	var methods []string
	for _, r := range p.Requests() {
		methods = append(methods, r.Method)
	}
	return strings.Join(methods, " ")
}

func (p *Peer) note(raw []byte, h http.Header) Request {
	r := parse(raw, h)
	p.mu.Lock()
	p.requests = append(p.requests, r)
	p.mu.Unlock()
	return r
}

// Pipe starts a peer over in-memory streams. It ends when the client closes W, and the test waits for that.
func Pipe(t testing.TB, h Handler) *Peer {
	in, w := io.Pipe()
	r, out := io.Pipe()
	p := &Peer{R: r, W: w}
	conn := &Conn{w: out}
	p.wg.Go(func() {
		defer func() { _ = out.Close() }()
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			h(conn, p.note(bytes.TrimSuffix(line, []byte("\n")), nil))
		}
	})
	t.Cleanup(func() {
		_ = w.Close()
		_ = r.Close()
		p.wg.Wait()
	})
	return p
}

// HTTP starts a peer on a loopback port. Every connection carries one request.
func HTTP(t testing.TB, h Handler) *Peer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Peer{URL: "http://" + l.Addr().String() + "/mcp"}
	p.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(conn, h) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *Peer) serve(conn net.Conn, h Handler) {
	defer func() { _ = conn.Close() }()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, 16<<20))
	if err != nil {
		return
	}
	h(&Conn{w: conn, http: true}, p.note(body, req.Header))
}

// Serve is a handler that answers server/discover with Discover and everything else with h.
func Serve(h Handler) Handler {
	return func(c *Conn, r Request) {
		if r.Method == "server/discover" {
			c.Result(r, Discover)
			return
		}
		h(c, r)
	}
}
