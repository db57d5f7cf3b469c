package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// serveStuck speaks HTTP/2 with one client: it lets the client send as much as it likes, stops reading at the first header
// of a request, and answers with the frames of data. So the client can write nothing more.
func serveStuck(t *testing.T, status, media, data string) HTTPConfig {
	t.Helper()
	ours := newAuthority(t, "Ours")
	ln := listenTCP(t)
	var wg sync.WaitGroup
	var open net.Conn
	wg.Go(func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		open = c
		p := &http2Peer{Conn: tls.Server(c, &tls.Config{Certificates: []tls.Certificate{ours.issue(t, nil)}, NextProtos: []string{"h2"}})}
		const most = "\x7f\xff\xff\xff"
		if _, err := io.ReadFull(p, make([]byte, 24)); err != nil || // the preface
			p.frame(frameSettings, 0, 0, []byte("\x00\x04"+most)) != nil || // SETTINGS_INITIAL_WINDOW_SIZE
			p.frame(8, 0, 0, []byte("\x7f\x00\x00\x00")) != nil { // WINDOW_UPDATE
			return
		}
		for {
			kind, flags, stream, _, err := p.next()
			switch {
			case err != nil:
				return
			case kind == frameSettings && flags&flagAck == 0:
				p.frame(frameSettings, flagAck, 0, nil)
			case kind == frameHeaders:
				time.Sleep(100 * time.Millisecond) // by then what the client sends has filled the buffers
				p.frame(frameHeaders, flagEndHeaders, stream, fields(":status", status, "content-type", media, "location", "https://else.example/"))
				for len(data) > 0 {
					n := min(len(data), 16<<10)
					p.frame(frameData, 0, stream, []byte(data[:n]))
					data = data[n:]
				}
				return
			}
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
		if open != nil {
			open.Close()
		}
	})
	return secured("https://"+ln.Addr().String(), &tls.Config{RootCAs: ours.pool()})
}

// TestAServerThatReadsNothingHoldsNoCall: over HTTP/2 neither the end of the context nor the error of what the server has
// sent waits for the server to read the rest of the request.
func TestAServerThatReadsNothingHoldsNoCall(t *testing.T) {
	var gaveUp atomic.Int32
	t.Cleanup(func() {
		if n := gaveUp.Load(); n > 1 {
			t.Errorf("%d calls lasted until their connection was given up, want none, and at most one", n)
		}
	})
	big := call(1, "tools/call")
	big.Body = body(1, "tools/call", `{"x":"`+strings.Repeat("x", 15<<20)+`"}`)
	for name, tt := range map[string]struct {
		status, media, data string
		patience            time.Duration
		want                any // a pointer to the type of the error, nil for the answer
	}{
		"a stream":         {"200", mediaSSE, ":\n", time.Second, new(*EndedError)},
		"a body":           {"200", mediaJSON, "{", time.Second, new(*EndedError)},
		"a broken stream":  {"200", mediaSSE, "data: x\n\n", time.Minute, new(*FramingError)},
		"a long event":     {"200", mediaSSE, "data: " + strings.Repeat("x", 4000), time.Minute, new(*LimitError)},
		"a long body":      {"200", mediaJSON, strings.Repeat(" ", 4000), time.Minute, new(*LimitError)},
		"another media":    {"200", "text/html", "<", time.Minute, new(*FramingError)},
		"an error":         {"500", "text/html", "<", time.Minute, new(*HTTPStatusError)},
		"a redirect":       {"307", "text/html", "<", time.Minute, new(*RedirectError)},
		"another's answer": {"200", mediaSSE, "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n", time.Minute, new(*ForeignIDError)},
		"an answer":        {"200", mediaSSE, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serveStuck(t, tt.status, tt.media, tt.data)
			c.Limits.MessageBytes = 3000
			h := newClient(t, c)
			ctx, cancel := context.WithTimeout(t.Context(), tt.patience)
			defer cancel()
			begin := time.Now()
			m, err := h.Do(ctx, big)
			took := time.Since(begin)
			if took > 8*time.Second {
				// Now and then net/http does not hand on the answer while the request is stuck. The connection is given up then.
				if took > pingAfter+pingTime+5*time.Second || !errors.As(err, new(*LostError)) {
					t.Errorf("Do took %v: %v", took, err)
				}
				gaveUp.Add(1)
				t.Logf("the connection was given up after %v", took)
				return
			}
			if tt.want == nil {
				good(t, outcome{m, err}, "1")
			} else if !errors.As(err, tt.want) {
				t.Errorf("Do = %v, want %T", err, tt.want)
			}
			begin = time.Now()
			h.Close()
			if took := time.Since(begin); took > 8*time.Second {
				t.Errorf("Close took %v", took)
			}
		})
	}
}
