package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// rawServer is a TCP listener that reads HTTP requests and leaves the answers to the test, byte for byte.
type rawServer struct {
	t    testing.TB
	addr string

	mu    sync.Mutex
	seen  []*seen
	conns int
}

// seen is a request as it came.
type seen struct {
	method, path string
	lines        []string // the header lines in order
	header       textproto.MIMEHeader
	body         []byte
}

// peer is the server's side of one request.
type peer struct {
	net.Conn
	t testing.TB
	*seen
	n    int  // of the request at this server, from 1
	keep bool // the connection is read for another request after the answer
}

func serveRaw(t testing.TB, handle func(*peer)) *rawServer {
	t.Helper()
	return serveOn(t, listenTCP(t), handle)
}

func listenTCP(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// serveOn is serveRaw on a listener, which it closes.
func serveOn(t testing.TB, ln net.Listener, handle func(*peer)) *rawServer {
	t.Helper()
	s := &rawServer{t: t, addr: ln.Addr().String()}
	var wg sync.WaitGroup
	open := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			open[c] = true
			s.mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				s.serve(c, handle)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		s.mu.Lock()
		for c := range open {
			c.Close()
		}
		s.mu.Unlock()
		wg.Wait()
	})
	return s
}

func (s *rawServer) serve(c net.Conn, handle func(*peer)) {
	in := bufio.NewReader(c)
	for {
		r, err := readRequest(in)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.seen = append(s.seen, r)
		n := len(s.seen)
		s.mu.Unlock()
		p := &peer{Conn: c, t: s.t, seen: r, n: n}
		handle(p)
		if !p.keep {
			return
		}
	}
}

func readRequest(in *bufio.Reader) (*seen, error) {
	tp := textproto.NewReader(in)
	first, err := tp.ReadLine()
	if err != nil {
		return nil, err
	}
	r := &seen{header: textproto.MIMEHeader{}}
	r.method, r.path, _ = strings.Cut(first, " ")
	r.path, _, _ = strings.Cut(r.path, " ")
	for {
		line, err := tp.ReadLine()
		if err != nil {
			return nil, err
		}
		if line == "" {
			break
		}
		r.lines = append(r.lines, line)
		name, value, _ := strings.Cut(line, ":")
		r.header.Add(name, strings.TrimSpace(value))
	}
	var n int
	fmt.Sscan(r.header.Get("Content-Length"), &n)
	r.body = make([]byte, n)
	_, err = io.ReadFull(in, r.body)
	return r, err
}

func (s *rawServer) requests() []*seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*seen{}, s.seen...)
}

func (s *rawServer) config() HTTPConfig {
	return HTTPConfig{URL: "http://" + s.addr + "/mcp?key=query-secret", AllowPrivate: true}
}

func (s *rawServer) client(t testing.TB) *HTTP { return newClient(t, s.config()) }

func newClient(t testing.TB, c HTTPConfig) *HTTP {
	t.Helper()
	h, err := NewHTTP(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// id is the raw id of the request.
func (p *peer) id() string {
	m, err := jsonrpc.Decode(p.body, strictjson.Limits{})
	if err != nil {
		p.t.Errorf("request body %q: %v", p.body, err)
		return "0"
	}
	return m.ID.Raw()
}

// answer sends a 200 with the body and its length, and keeps the connection.
func (p *peer) answer(media string, body []byte) {
	fmt.Fprintf(p, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", media, len(body), body)
	p.keep = true
}

// result answers with an empty result.
func (p *peer) result() {
	p.answer("application/json", []byte(`{"jsonrpc":"2.0","id":`+p.id()+`,"result":{}}`))
}

// streamHead sends the head of an SSE answer in chunks.
func (p *peer) streamHead() {
	io.WriteString(p, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
}

func (p *peer) chunk(b []byte) error {
	_, err := fmt.Fprintf(p, "%x\r\n%s\r\n", len(b), b)
	return err
}

// untilGone waits for the client to hang up.
func (p *peer) untilGone() { io.Copy(io.Discard, p.Conn) }

// withID puts the id of the request where a case's bytes have 7001.
func (p *peer) withID(b []byte) []byte { return bytes.ReplaceAll(b, []byte("7001"), []byte(p.id())) }

var (
	_ Conn = (*HTTP)(nil)
	_ Conn = (*Stdio)(nil)
)

func secretHeaders() http.Header {
	return http.Header{"Authorization": {"Bearer canary-secret-token"}}
}
