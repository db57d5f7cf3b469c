package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestFloods has a server send without end what is no answer. Each is refused by itself or ends with the call's time, and
// what it leaves in memory is bounded.
func TestFloods(t *testing.T) {
	const asJSON = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	const asStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	k := strings.Repeat("k", 1000)
	for name, tt := range map[string]struct {
		head, again string
		want        any // a pointer to the type of the error, nil for the end of the call's context
		text        string
	}{
		"informational answers": {"", "HTTP/1.1 103 Early Hints\r\nLink: " + k + "\r\n\r\n", new(*LimitError), "the header of the answer: more than 262144 bytes"},
		"small informational":   {"", "HTTP/1.1 100 Continue\r\n\r\n", new(*LimitError), "the header of the answer: more than 262144 bytes"},
		"header fields":         {"HTTP/1.1 200 OK\r\n", "K:\r\n", new(*LimitError), "the header of the answer: more than 262144 bytes"},
		"one header field":      {"HTTP/1.1 200 OK\r\nK: ", k, new(*LimitError), "the header of the answer: more than 262144 bytes"},
		"status line":           {"HTTP/1.1 200 ", k, new(*LimitError), "the header of the answer: more than 262144 bytes"},
		"chunk extensions":      {asJSON, "1;k=" + k + "\r\n \r\n", new(*FramingError), "too much non-data"},
		"one chunk extension":   {asJSON + "1;k=", k, new(*FramingError), "header line too long"},
		"chunk length":          {asJSON + "00000000000000000000001\r\n", " \r\n", new(*FramingError), "chunk length too large"},
		"trailer":               {asJSON + "2\r\n{}\r\n0\r\n", "K: " + k + "\r\n", new(*FramingError), "trailer"},
		"white space":           {asJSON, "400\r\n" + strings.Repeat(" ", 1024) + "\r\n", new(*LimitError), "a JSON body: more than 1048576 bytes"},
		"one event":             {asStream, "400\r\ndata:" + strings.Repeat(" ", 1018) + "\n\r\n", new(*LimitError), "an event: more than 1048576 bytes"},
		"fields of an event":    {asStream, "400\r\nid:" + strings.Repeat(" ", 1020) + "\n\r\n", new(*LimitError), "an event: more than 1048576 bytes"},
		"empty events":          {asStream, "6\r\nid: 1\n\r\n1\r\n\n\r\n", new(*LimitError), "an event stream: more than 10000 events"},
		"blank lines":           {asStream, "400\r\n" + strings.Repeat("\n", 1024) + "\r\n", nil, ""},
		"comments":              {asStream, "400\r\n:" + strings.Repeat("c", 1022) + "\n\r\n", nil, ""},
		"one comment":           {asStream + "1\r\n:\r\n", "400\r\n" + strings.Repeat("c", 1024) + "\r\n", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serveRaw(t, func(p *peer) {
				io.WriteString(p, tt.head)
				for many := strings.Repeat(tt.again, 1+64<<10/len(tt.again)); ; {
					if _, err := io.WriteString(p, many); err != nil {
						return
					}
				}
			})
			c := srv.config()
			c.Limits.MessageBytes = 1 << 20
			h := newClient(t, c)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if tt.want == nil {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
			}
			defer cancel()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := h.Do(ctx, call(1, "tools/list"))
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
				t.Errorf("%d bytes more in use", grown)
			}
			var e *Error
			switch {
			case tt.want == nil:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Do = %v, want the context's end", err)
				}
			case !errors.As(err, tt.want) || !errors.As(err, &e) || e.Op != "receive" || !e.Delivered || !strings.Contains(err.Error(), tt.text):
				t.Errorf("Do = %v, want %T with %q", err, tt.want, tt.text)
			}
			if err != nil {
				printable(t, err)
			}
		})
	}
}

// TestBytesBehindTheAnswer: what a server sends behind a whole answer does not hurt the answer, and is printed nowhere.
// net/http writes it to the log of the program.
func TestBytesBehindTheAnswer(t *testing.T) {
	var logged lockedBuffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&logged)
	const js = `{"jsonrpc":"2.0","id":1,"result":{}}`
	ours := newAuthority(t, "Ours")
	secure := &tls.Config{Certificates: []tls.Certificate{ours.issue(t, nil)}}
	for name, said := range map[string]string{
		"length":         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(js)) + "\r\n\r\n" + js,
		"chunks":         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x;k=v\r\n%s\r\n0\r\nTrailer: x\r\n\r\n", len(js), js),
		"after a hint":   "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " + fmt.Sprint(len(js)) + "\r\n\r\n" + js,
		"without a body": "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
		"no content":     "HTTP/1.1 204 No Content\r\n\r\n",
		"refusal":        "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno",
		"stream":         "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\ndata:%s\n\n\r\n0\r\n\r\n", len(js)+7, js),
	} {
		for _, behind := range []string{"you sent canary-secret-token", "\r\n\x00", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"} {
			for _, over := range []string{"http", "https"} {
				for _, late := range []time.Duration{0, 5 * time.Millisecond} {
					ln := listenTCP(t)
					if over == "https" {
						ln = tls.NewListener(ln, secure)
					}
					gone := make(chan struct{})
					srv := serveOn(t, ln, func(p *peer) {
						if late == 0 {
							io.WriteString(p, said+behind)
						} else {
							io.WriteString(p, said)
							time.Sleep(late)
							io.WriteString(p, behind)
						}
						p.untilGone()
						close(gone)
					})
					c := secured(over+"://"+srv.addr, &tls.Config{RootCAs: ours.pool()})
					m, err := newClient(t, c).Do(t.Context(), call(1, "x"))
					if strings.Contains(said, js) {
						good(t, outcome{m, err}, "1")
					} else if err == nil || strings.Contains(err.Error(), "secret") {
						t.Errorf("%s: Do = %v, %v", name, m, err)
					}
					select {
					case <-gone:
					case <-time.After(5 * time.Second):
						t.Errorf("%s, %s, %q: the connection is kept", name, over, behind)
					}
				}
			}
		}
	}
	// A server that speaks before it is asked.
	ln := listenTCP(t)
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err == nil {
			io.WriteString(c, "SSH-2.0-canary-secret-token\r\n")
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	c := secured("http://"+ln.Addr().String(), nil)
	_, err := newClient(t, c).Do(t.Context(), call(1, "x"))
	var framing *FramingError
	if !errors.As(err, &framing) || strings.Contains(err.Error(), "secret") {
		t.Errorf("Do = %v, want an error about what was not asked for", err)
	}
	if text := logged.String(); text != "" {
		t.Errorf("in the program's log: %s", text)
	}
}

// TestCutSecret: a body that repeats a token and is cut within it, by the server or by a limit, does not show a part of it.
func TestCutSecret(t *testing.T) {
	const said = "you sent Bearer canary-secret-token"
	for name, tt := range map[string]struct {
		answer string
		limit  int
	}{
		"by the server": {"HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\n" + said[:len(said)-2], 0},
		"in chunks":     {"HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + said[:len(said)-2], 0},
		"by the limit":  {"HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\n\r\n" + said, len(said) - 2},
		"other status":  {"HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\n" + said[:len(said)-2], 0},
	} {
		srv := serveRaw(t, func(p *peer) { io.WriteString(p, tt.answer) })
		c := srv.config()
		c.Headers, c.Limits.ErrorBytes = secretHeaders(), tt.limit
		_, err := newClient(t, c).Do(t.Context(), call(1, "x"))
		if err == nil || !strings.Contains(err.Error(), "you sent") || strings.Contains(err.Error(), "canary") {
			t.Errorf("cut %s: %v", name, err)
		}
	}
	long := bytes.Repeat([]byte("x"), 300_000)
	if got := withoutLastWord(long); len(got) != len(long)-maxWord {
		t.Errorf("%d bytes of %d are left", len(got), len(long))
	}
}

// lockedBuffer takes writes of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// FuzzAnswerEnd holds the end of an answer, however it is cut, against where net/http stops reading it, if that keeps the
// connection.
func FuzzAnswerEnd(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcSURPLUS",
		"HTTP/1.1 200 OK\nContent-Length:3\nContent-Length: 3\n\nabcSURPLUS",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 9\r\n\r\n3;x=y\r\nabc\r\n0a \r\n0123456789\r\n0\r\nA: b\r\n\r\nSURPLUS",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\nSURPLUS",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabcSURPLUS",
		"HTTP/1.1 304 Not Modified\r\n\r\nSURPLUS", "HTTP/1.1 200 OK\r\n\r\nuntil the end",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + strings.Repeat("k", 300) + ": v\r\n\r\nSURPLUS",
	} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		in := bufio.NewReader(bytes.NewReader(text))
		var resp *http.Response
		for {
			var err error
			if resp, err = http.ReadResponse(in, &http.Request{Method: http.MethodPost}); err != nil {
				return
			}
			if resp.StatusCode < 100 || resp.StatusCode > 199 || resp.StatusCode == 101 {
				break
			}
		}
		if resp.Close || resp.StatusCode < 200 {
			return
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return
		}
		rest, _ := io.ReadAll(in)
		want := len(text) - len(rest)
		a, got := answerEnd{}, 0
		for _, piece := range *cutUp(text, seed) {
			n := a.take(piece)
			if got += n; a.folded {
				return
			}
			if n < len(piece) {
				break
			}
		}
		if got != want || a.part != partDone {
			t.Fatalf("%q: the answer ends at %d in part %d, want %d", text, got, a.part, want)
		}
	})
}

// FuzzHTTPAnswers: whatever a server answers, and however it is cut, is the answer or an error of a known type, whose text
// can be printed and has nothing of what was sent in a header.
func FuzzHTTPAnswers(f *testing.F) {
	for _, s := range []string{
		"", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n2c\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n\r\n0\r\n\r\n",
		"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 401 canary-secret-token\r\nWWW-Authenticate: canary-secret-token\r\nContent-Length: 3\r\n\r\nno",
		"HTTP/1.1 200 OK\r\nContent-Type: canary-secret-token\r\nContent-Encoding: x\r\n\r\n", "HTTP/1.1 307 Go\r\nLocation: /canary-secret-token\r\n\r\n",
		"HTTP/2.0 200 OK\r\nA:b\r\n c\r\n\r\n", "HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\ncanary-secret-token",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: canary-secret-token\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\ncanary-secret-token\r\n",
	} {
		f.Add([]byte(s), uint64(1))
	}
	defer log.SetOutput(log.Writer())
	log.SetOutput(io.Discard)
	f.Fuzz(func(t *testing.T, said []byte, seed uint64) {
		ours, theirs := net.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			defer theirs.Close()
			if _, err := readRequest(bufio.NewReader(theirs)); err != nil {
				return
			}
			for _, piece := range *cutUp(said, seed) {
				if _, err := theirs.Write(piece); err != nil {
					return
				}
			}
		})
		defer wg.Wait()
		h := newClient(t, HTTPConfig{URL: "http://127.0.0.1/", AllowPrivate: true, Headers: secretHeaders()})
		h.pool.Load().DialContext = func(context.Context, string, string) (net.Conn, error) {
			c, err := h.known(ours)
			return newHTTP1Conn(c), err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := h.Do(ctx, call(1, "tools/list"))
		h.Close()
		if err == nil {
			return
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%q: %T %v", said, err, err)
		}
		switch e.Err.(type) {
		case *FramingError, *ForeignIDError, *HTTPStatusError, *ChallengeError, *RedirectError, *LimitError, *LostError:
		default:
			t.Fatalf("%q: %T %v", said, e.Err, e.Err)
		}
		printable(t, err)
		if text := err.Error(); strings.Contains(text, "canary-secret-token") || len(text) > 900 {
			t.Fatalf("%q: %s", said, text)
		}
	})
}
