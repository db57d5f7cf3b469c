package mcptest

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// httpFault is what a faulty peer over HTTP does; the hooks that are nil are served well.
type httpFault struct {
	// named makes the peer's URL have a name that Names resolves, instead of an address.
	named bool
	// kept makes the answer before leave its connection open for the request of the step.
	kept bool
	// sse makes the answers before be streams of events.
	sse bool
	// before runs before the answer of the step before is written; at the first step, before the client knows the URL.
	before func(f *Faulty)
	// secure changes the TLS of the step's connection.
	secure func(c *tls.Config)
	// accept has the step's connection to itself.
	accept func(x *Exchange)
	// act has the request and writes the whole answer, header and all; answer is the message that should have been in it.
	act func(x *Exchange, r Request, answer string)
	// event is act behind the header of a stream of events; in an open subscription the acknowledgement has been sent.
	event func(x *Exchange, r Request, answer string)
}

// Faulty is a peer over HTTP that misbehaves, see StartFaulty.
type Faulty struct {
	URL string

	fault    Fault
	step     Step
	name     string // in URL, "" if it is an address
	listener net.Listener
	written  atomic.Int64
	stopped  chan struct{}
	wg       sync.WaitGroup

	mu       sync.Mutex
	lookup   func(query []byte) []byte // of name, nil for a good one
	reached  Step                      // the last step that was answered well
	fired    bool
	ended    bool
	conns    map[net.Conn]bool
	fillers  []net.Conn // the peer's own, see fill
	requests []Request
}

// StartFaulty starts a peer with the fault at the step on a loopback port; one without a Name is a good server
// over its transport. It ends with the test. Over TLS and HTTP/2 its certificate is signed by CertificateAuthority.
func StartFaulty(t testing.TB, f Fault, at Step) *Faulty {
	t.Helper()
	if f.Name != "" && (f.Over == OverStdio || !f.At(at)) {
		t.Fatalf("no fault %q over HTTP at step %q", f.Name, at)
	}
	p := &Faulty{fault: f, step: at, conns: map[net.Conn]bool{}, stopped: make(chan struct{})}
	var err error
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	host := p.listener.Addr().String()
	if f.http.named {
		p.name = names.add(t, p)
		_, port, _ := net.SplitHostPort(host)
		host = net.JoinHostPort(p.name, port)
	}
	p.URL = "http://" + host + "/mcp"
	if f.Over == OverTLS || f.Over == OverHTTP2 {
		p.URL = "https" + strings.TrimPrefix(p.URL, "http")
	}
	if at == StepDiscover && f.http.before != nil {
		f.http.before(p)
	}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Written is how many bytes the peer has handed to its sockets.
func (f *Faulty) Written() int64 { return f.written.Load() }

// Count is how many requests of the step came.
func (f *Faulty) Count(step Step) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.requests {
		if stepOf(r.Method) == step.request() {
			n++
		}
	}
	return n
}

// Open is how many connections of clients the peer has.
func (f *Faulty) Open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	open := len(f.conns)
	for c := range f.conns {
		for _, own := range f.fillers { // one of them may still have been accepted
			if c.RemoteAddr().String() == own.LocalAddr().String() {
				open--
			}
		}
	}
	return open
}

func (f *Faulty) close() {
	_ = f.listener.Close()
	names.remove(f.name)
	close(f.stopped)
	f.mu.Lock()
	f.ended = true
	for c := range f.conns {
		_ = c.Close()
	}
	for _, c := range f.fillers {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.wg.Wait()
}

func (f *Faulty) accept() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		if !f.enter(c) {
			return
		}
		f.wg.Go(func() {
			defer f.leave(c)
			f.serve(c)
		})
	}
}

func (f *Faulty) enter(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		_ = c.Close()
		return false
	}
	f.conns[c] = true
	return true
}

func (f *Faulty) leave(c net.Conn) {
	_ = c.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// due reports whether what happens now is for the fault, which nearly always happens once.
func (f *Faulty) due(want bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !want || (f.fired && !f.fault.always) {
		return false
	}
	f.fired = true
	return true
}

// next reports whether a new connection is for the request of the fault's step: each request has one of its own, unless
// the fault is about kept ones.
func (f *Faulty) next() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reached == f.step.request().before()
}

func (f *Faulty) note(r Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r)
}

// answered notes that the step is about to be answered well, and runs what comes before that.
func (f *Faulty) answered(step Step) {
	f.mu.Lock()
	if slices.Index(Steps, step) > slices.Index(Steps, f.reached) {
		f.reached = step
	}
	f.mu.Unlock()
	if step != "" && step == f.step.before() && f.fault.http.before != nil {
		f.fault.http.before(f)
	}
}

// serve takes one connection.
func (f *Faulty) serve(c net.Conn) {
	h := &f.fault.http
	x := &Exchange{f: f, raw: c, conn: c}
	if h.accept != nil && f.due(f.next()) {
		h.accept(x)
		return
	}
	if f.fault.Over == OverTLS || f.fault.Over == OverHTTP2 {
		config := serverTLS(f.fault.Over == OverHTTP2)
		if h.secure != nil && f.due(f.next()) {
			h.secure(config)
		}
		secure := tls.Server(c, config)
		x.conn = secure
		if secure.Handshake() != nil {
			return
		}
	}
	if f.fault.Over == OverHTTP2 {
		(&framed{x: x}).serve()
		return
	}
	in := bufio.NewReader(x.conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		x.in = in
		if f.fault.Big > 0 && stepOf(req.Header.Get("Mcp-Method")) == f.step && f.due(true) {
			x.Freeze()
			return
		}
		body, err := io.ReadAll(io.LimitReader(req.Body, 2*moreSocket))
		if err != nil {
			return
		}
		if !x.handle(parse(body, req.Header)) {
			return
		}
	}
}

// handle answers one request and reports whether the connection is left open for another one.
func (x *Exchange) handle(r Request) (kept bool) {
	f, h := x.f, &x.f.fault.http
	f.note(r)
	step := stepOf(r.Method)
	fault := (h.act != nil || h.event != nil) && step == f.step.request() && f.due(true)
	switch {
	case fault && h.event != nil:
		x.Stream()
		if f.step == StepEvents {
			x.Event(answer(r))
			h.event(x, r, respond(r.ID, result(r)))
			return false
		}
		h.event(x, r, answer(r))
		return false
	case fault:
		h.act(x, r, answer(r))
		return h.kept
	}
	f.answered(step)
	kept = h.kept && step == f.step.before()
	switch {
	case step == StepListen:
		x.Stream()
		x.Event(answer(r))
		x.Hold()
	case h.sse:
		x.Stream()
		x.Event(answer(r))
		x.EndBody()
	case kept:
		x.Send(head("Content-Type: application/json", "Content-Length: "+itoa(len(answer(r)))) + answer(r))
	default:
		x.Send(head("Content-Type: application/json", "Content-Length: "+itoa(len(answer(r))), "Connection: close") + answer(r))
	}
	return kept
}

// head is a header with status 200.
func head(lines ...string) string { return header("200 OK", lines...) }

func header(status string, lines ...string) string {
	return "HTTP/1.1 " + status + "\r\n" + strings.Join(append(lines, "", ""), "\r\n")
}

// Exchange is one connection of a faulty peer over HTTP.
type Exchange struct {
	f    *Faulty
	raw  net.Conn
	conn net.Conn // raw, or TLS over it
	in   *bufio.Reader
}

// Send writes raw bytes and reports whether the connection took them.
func (x *Exchange) Send(s string) bool {
	n, err := io.WriteString(x.conn, s)
	x.f.written.Add(int64(n))
	return err == nil
}

// Stream begins an answer that is a stream of events, in chunks.
func (x *Exchange) Stream() {
	x.Send(head("Content-Type: text/event-stream", "Transfer-Encoding: chunked", "Connection: close"))
}

// Body writes one chunk.
func (x *Exchange) Body(s string) bool {
	const hex = "0123456789abcdef"
	size, n := "", len(s)
	for ; n > 0; n /= 16 {
		size = hex[n%16:n%16+1] + size
	}
	return x.Send(size + "\r\n" + s + "\r\n")
}

// Event writes one message as an event.
func (x *Exchange) Event(message string) bool { return x.Body("data: " + message + "\n\n") }

// EndBody ends a body in chunks in good order.
func (x *Exchange) EndBody() { x.Send("0\r\n\r\n") }

// Hold keeps the connection open until the client closes it, taking in what it sends.
func (x *Exchange) Hold() { _, _ = io.Copy(io.Discard, x.conn) }

// Freeze keeps the connection open and reads nothing, until the client closes it (on Linux) or the peer ends.
func (x *Exchange) Freeze() {
	for x.Pause(20*time.Millisecond) && !hungUp(x.raw) {
	}
}

// Pause waits, and reports whether the peer is still there.
func (x *Exchange) Pause(d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-x.f.stopped:
		return false
	}
}

// Reset ends the connection with a TCP reset.
func (x *Exchange) Reset() {
	if c, ok := x.raw.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = x.raw.Close()
}

// Endless writes the same text again and again until the client has gone.
func (x *Exchange) Endless(send func(string) bool, s string) {
	s = strings.Repeat(s, 1+(8<<10)/len(s))
	for send(s) {
	}
}
