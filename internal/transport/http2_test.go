package transport

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

// Frame types and flags of HTTP/2 (RFC 9113 section 6).
const (
	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	framePing     = 6
	frameGoAway   = 7
	frameContinue = 9

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4
)

// http2Peer is the server's side of one connection of HTTP/2, frame by frame.
type http2Peer struct {
	net.Conn
	mu sync.Mutex
}

func (p *http2Peer) frame(kind, flags byte, stream uint32, payload []byte) error {
	head := make([]byte, 9, 9+len(payload))
	binary.BigEndian.PutUint32(head, uint32(len(payload))<<8|uint32(kind))
	head[4] = flags
	binary.BigEndian.PutUint32(head[5:], stream)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.Write(append(head, payload...))
	return err
}

// next returns the next frame.
func (p *http2Peer) next() (kind, flags byte, stream uint32, payload []byte, err error) {
	var head [9]byte
	if _, err = io.ReadFull(p, head[:]); err != nil {
		return
	}
	payload = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	_, err = io.ReadFull(p, payload)
	return head[3], head[4], binary.BigEndian.Uint32(head[5:]), payload, err
}

// fields is a header block without compression.
func fields(pairs ...string) []byte {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		b = append(b, 0)
		for _, s := range pairs[i : i+2] {
			if len(s) < 127 {
				b = append(b, byte(len(s)))
			} else {
				b = append(b, 127)
				n := len(s) - 127
				for n >= 128 {
					b = append(b, byte(n)|128)
					n >>= 7
				}
				b = append(b, byte(n))
			}
			b = append(b, s...)
		}
	}
	return b
}

func (p *http2Peer) answer(stream uint32, body []byte) {
	p.frame(frameHeaders, flagEndHeaders, stream, fields(":status", "200", "content-type", mediaJSON))
	p.frame(frameData, flagEndStream, stream, body)
}

// http2Server speaks HTTP/2 on 127.0.0.1; request is called, on the goroutine that reads the connection, with each request
// that has come whole.
type http2Server struct {
	url      string
	config   *tls.Config // for the client
	conns    atomic.Int32
	requests atomic.Int32
	resets   atomic.Int32 // streams that the client has reset
}

func serveHTTP2(t *testing.T, request func(p *http2Peer, n int, stream uint32, body []byte)) *http2Server {
	t.Helper()
	ours := newAuthority(t, "Ours")
	ln := listenTCP(t)
	s := &http2Server{url: "https://" + ln.Addr().String(), config: &tls.Config{RootCAs: ours.pool()}}
	config := &tls.Config{Certificates: []tls.Certificate{ours.issue(t, nil)}, NextProtos: []string{"h2"}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				s.serve(&http2Peer{Conn: tls.Server(c, config)}, request)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

func (s *http2Server) serve(p *http2Peer, request func(*http2Peer, int, uint32, []byte)) {
	preface := make([]byte, 24)
	if _, err := io.ReadFull(p, preface); err != nil || p.frame(frameSettings, 0, 0, nil) != nil {
		return
	}
	bodies := map[uint32][]byte{}
	for {
		kind, flags, stream, payload, err := p.next()
		if err != nil {
			return
		}
		switch kind {
		case frameSettings:
			if flags&flagAck == 0 {
				p.frame(frameSettings, flagAck, 0, nil)
			}
		case framePing:
			if flags&flagAck == 0 {
				p.frame(framePing, flagAck, 0, payload)
			}
		case frameReset:
			s.resets.Add(1)
		case frameData:
			bodies[stream] = append(bodies[stream], payload...)
			if flags&flagEndStream != 0 {
				request(p, int(s.requests.Add(1)), stream, bodies[stream])
			}
		}
	}
}

func (s *http2Server) client(t *testing.T) *HTTP { return newClient(t, secured(s.url, s.config)) }

// TestNothingIsSentAgainOverHTTP2: net/http would send a request again that the server has reset with PROTOCOL_ERROR, up
// to six times.
func TestNothingIsSentAgainOverHTTP2(t *testing.T) {
	for name, tt := range map[string]struct {
		end      func(p *http2Peer, stream uint32)
		requests int32
		text     string
	}{
		"protocol error": {func(p *http2Peer, s uint32) { p.frame(frameReset, 0, s, []byte{0, 0, 0, 1}) }, 1, "PROTOCOL_ERROR"},
		"internal error": {func(p *http2Peer, s uint32) { p.frame(frameReset, 0, s, []byte{0, 0, 0, 2}) }, 1, "INTERNAL_ERROR"},
		"cancel":         {func(p *http2Peer, s uint32) { p.frame(frameReset, 0, s, []byte{0, 0, 0, 8}) }, 1, "CANCEL"},
		"hang-up":        {func(p *http2Peer, _ uint32) { p.Close() }, 1, "unexpected EOF"},
		// It had the request: the stream is not above the last one that it names.
		"going away": {func(p *http2Peer, s uint32) {
			p.frame(frameGoAway, 0, 0, []byte{0, 0, 0, byte(s), 0, 0, 0, 2, 'c', 'a', 'n', 'a', 'r', 'y', 7})
			p.Close()
		}, 1, `debug=\"canary\\a\"`},
		// It has not, and says so; that is so twice.
		"refused":      {func(p *http2Peer, s uint32) { p.frame(frameReset, 0, s, []byte{0, 0, 0, 7}) }, 2, "REFUSED_STREAM"},
		"going before": {func(p *http2Peer, _ uint32) { p.frame(frameGoAway, 0, 0, []byte{0, 0, 0, 0, 0, 0, 0, 0}) }, 2, "GOAWAY"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serveHTTP2(t, func(p *http2Peer, _ int, stream uint32, _ []byte) { tt.end(p, stream) })
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := srv.client(t).Do(ctx, call(1, "tools/call"))
			var lost *LostError
			var e *Error
			if !errors.As(err, &lost) || lost.Where != "before the answer" || !errors.As(err, &e) || e.Op != "receive" || !e.Delivered || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Do = %v, want the answer lost with %q", err, tt.text)
			}
			printable(t, err)
			if n := srv.requests.Load(); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
}

// TestUntouchedRequestIsSentOnce: a server that goes away before it has looked at a request gets it on a new connection.
func TestUntouchedRequestIsSentOnce(t *testing.T) {
	srv := serveHTTP2(t, func(p *http2Peer, n int, stream uint32, body []byte) {
		if n == 1 {
			p.frame(frameGoAway, 0, 0, make([]byte, 8))
			return
		}
		p.answer(stream, []byte(`{"jsonrpc":"2.0","id":`+rawID(t, body)+`,"result":{}}`))
	})
	m, err := srv.client(t).Do(t.Context(), call(1, "tools/call"))
	good(t, outcome{m, err}, "1")
	if n := srv.requests.Load(); n != 2 || srv.conns.Load() != 2 {
		t.Errorf("%d requests on %d connections, want two on two", n, srv.conns.Load())
	}
}

// TestCancelResetsItsOwnStreamOnly: the other exchanges of the connection go on, and nothing is sent but the reset.
func TestCancelResetsItsOwnStreamOnly(t *testing.T) {
	arrived := make(chan struct{}, 8)
	release := make(chan struct{})
	srv := serveHTTP2(t, func(p *http2Peer, _ int, stream uint32, body []byte) {
		arrived <- struct{}{}
		id := rawID(t, body)
		p.frame(frameHeaders, flagEndHeaders, stream, fields(":status", "200", "content-type", mediaSSE))
		if id != "1" {
			go func() {
				<-release
				p.frame(frameData, flagEndStream, stream, []byte("data: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"result\":{}}\n\n"))
			}()
		}
	})
	h := srv.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan outcome, 1)
	go func() { m, err := h.Do(ctx, call(1, "tools/call")); first <- outcome{m, err} }()
	<-arrived // so that the others find its connection
	others := make(chan outcome, 4)
	for id := 2; id <= 5; id++ {
		go func() { m, err := h.Do(t.Context(), call(id, "tools/call")); others <- outcome{m, err} }()
		<-arrived
	}
	cancel()
	if o := <-first; !errors.Is(o.err, context.Canceled) {
		t.Errorf("Do = %v, want the context's error", o.err)
	}
	for begin := time.Now(); srv.resets.Load() == 0 && time.Since(begin) < 5*time.Second; {
		time.Sleep(time.Millisecond)
	}
	close(release)
	for range 4 {
		if o := <-others; o.err != nil || o.m.Kind != jsonrpc.Result {
			t.Errorf("another call: %+v, %v", o.m, o.err)
		}
	}
	if srv.conns.Load() != 1 || srv.requests.Load() != 5 || srv.resets.Load() != 1 {
		t.Errorf("%d connections, %d requests, %d resets, want 1, 5 and 1", srv.conns.Load(), srv.requests.Load(), srv.resets.Load())
	}
}

// TestStallsOverHTTP2 and what is waited for are as over HTTP/1.1.
func TestStallsOverHTTP2(t *testing.T) {
	released := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if rawID(t, text) == "2" {
			<-released
			return
		}
		w.Header().Set("Content-Type", mediaJSON)
		io.WriteString(w, `{"jsonrpc":`)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-released:
		}
	}))
	ours := newAuthority(t, "Ours")
	srv.TLS, srv.EnableHTTP2 = &tls.Config{Certificates: []tls.Certificate{ours.issue(t, nil)}}, true
	srv.StartTLS()
	defer srv.Close()
	defer close(released)
	c := secured(srv.URL, &tls.Config{RootCAs: ours.pool()})
	c.Limits.Idle = 100 * time.Millisecond
	h := newClient(t, c)
	_, err := h.Do(t.Context(), call(1, "tools/call"))
	var stall *StallError
	if !errors.As(err, &stall) || stall.Where != "a JSON body" || stall.Bytes != 11 {
		t.Errorf("Do = %v, want a stall after 11 bytes", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = h.Do(ctx, call(2, "tools/call"))
	var ended *EndedError
	if !errors.As(err, &ended) || ended.Waiting != "the header of the answer" || !ended.Delivered {
		t.Errorf("Do = %v, want the header waited for", err)
	}
}

// TestFloodsOverHTTP2: a server that floods the connection with frames ends the exchange, or the call's context does; then
// nothing is left, also when it reads nothing of what it is answered.
func TestFloodsOverHTTP2(t *testing.T) {
	// net/http writes a line for every frame that it does not know, without anything of the server's.
	defer log.SetOutput(log.Writer())
	log.SetOutput(io.Discard)
	k := strings.Repeat("k", 8000)
	for name, tt := range map[string]struct {
		again func(p *http2Peer, stream uint32) error
		want  any // a pointer to the type of the error, nil for the end of the call's context
		text  string
	}{
		"pings":    {func(p *http2Peer, _ uint32) error { return p.frame(framePing, 0, 0, make([]byte, 8)) }, nil, ""},
		"settings": {func(p *http2Peer, _ uint32) error { return p.frame(frameSettings, 0, 0, nil) }, nil, ""},
		"informational answers": {func(p *http2Peer, s uint32) error {
			return p.frame(frameHeaders, flagEndHeaders, s, fields(":status", "103", "link", k))
		}, new(*LimitError), "the header of the answer: more than 262144 bytes"},
		"small informational": {func(p *http2Peer, s uint32) error {
			return p.frame(frameHeaders, flagEndHeaders, s, fields(":status", "100"))
		}, new(*LimitError), "the header of the answer: more than 262144 bytes"},
		"empty data":     {func(p *http2Peer, s uint32) error { return p.frame(frameData, 0, s, nil) }, new(*FramingError), "PROTOCOL_ERROR"},
		"unknown frames": {func(p *http2Peer, s uint32) error { return p.frame(99, 0, s, []byte(k)) }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serveHTTP2(t, func(p *http2Peer, _ int, stream uint32, _ []byte) {
				for tt.again(p, stream) == nil { // and nothing is read any more
				}
			})
			h := srv.client(t)
			patience := 10 * time.Second
			if tt.want == nil {
				patience = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := h.Do(ctx, call(1, "tools/list"))
			var e *Error
			switch {
			case tt.want == nil && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("Do = %v, want the context's end", err)
			case tt.want != nil && (!errors.As(err, tt.want) || !errors.As(err, &e) || e.Op != "receive" || !strings.Contains(err.Error(), tt.text)):
				t.Errorf("Do = %v, want %T with %q", err, tt.want, tt.text)
			}
			begin := time.Now()
			h.Close()
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("Close took %v", took)
			}
		})
	}
	for name, answer := range map[string]func(p *http2Peer, stream uint32){
		"one header": func(p *http2Peer, s uint32) {
			block := fields(":status", "200", "content-type", mediaJSON, "k", strings.Repeat("k", 300_000))
			p.frame(frameHeaders, 0, s, block[:16_000])
			for block = block[16_000:]; len(block) > 16_000; block = block[16_000:] {
				p.frame(frameContinue, 0, s, block[:16_000])
			}
			p.frame(frameContinue, flagEndHeaders, s, block)
		},
		"continuations": func(p *http2Peer, s uint32) {
			p.frame(frameHeaders, 0, s, fields(":status", "200"))
			for p.frame(frameContinue, 0, s, fields("k", k)) == nil {
			}
		},
	} {
		srv := serveHTTP2(t, func(p *http2Peer, _ int, stream uint32, _ []byte) { answer(p, stream) })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := srv.client(t).Do(ctx, call(1, "tools/list"))
		var over *LimitError
		var framing *FramingError
		if !errors.As(err, &over) && !errors.As(err, &framing) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
		cancel()
	}
}
