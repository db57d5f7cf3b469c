//go:build unix

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// The tests of this file are named for faults that other implementations have had, with the public thread of each.
// Further tests that show such faults away stand with their subject and cite the thread too.

// modelcontextprotocol/go-sdk#1259: a request that was cancelled is answered all the same. What then comes is dropped, and
// the connection goes on.
func TestCancelledRequestIsAnswered(t *testing.T) {
	for name, late := range map[string]string{
		"a result": `{"jsonrpc":"2.0","id":ID,"result":{}}`,
		"an error": `{"jsonrpc":"2.0","id":ID,"error":{"code":-32800,"message":"cancelled"}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes(t, Limits{})
			ctx, cancel := context.WithCancel(t.Context())
			ended, id := p.begin(t, ctx, call(1, "tools/call"))
			synctest.Wait()
			cancel()
			if o := <-ended; !errors.Is(o.err, context.Canceled) {
				t.Errorf("Do = %v", o.err)
			}
			readLine(t, p.in) // the notice
			next, nextID := p.begin(t, t.Context(), call(2, "tools/call"))
			go func() {
				fmt.Fprintf(p.out, "%s\n", strings.ReplaceAll(late, "ID", id))
				p.out.Write(resultLine(nextID))
			}()
			good(t, <-next, nextID)
			if p.Err() != nil {
				t.Errorf("%s after the end of its call: %v", name, p.Err())
			}
			p.Close()
		})
	}
}

// modelcontextprotocol/go-sdk#1150, modelcontextprotocol/go-sdk#1183: a peer that takes its time with what it is sent delays
// the end of a cancelled call, or Close, by as much.
func TestSlowPeerDelaysNeitherCancelNorClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		ctx, cancel := context.WithCancel(t.Context())
		ended, _ := p.begin(t, ctx, call(1, "tools/call"))
		other, _ := p.begin(t, t.Context(), call(2, "tools/call"))
		synctest.Wait()
		begin := time.Now()
		cancel() // and nobody reads the notice
		if o := <-ended; !errors.Is(o.err, context.Canceled) || time.Since(begin) > 0 {
			t.Errorf("Do = %v after %v, want the context's error at once", o.err, time.Since(begin))
		}
		p.Close()
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("Close took %v", took)
		}
		if o := <-other; !errors.Is(o.err, ErrClosed) {
			t.Errorf("Do = %v, want ErrClosed", o.err)
		}
	})
}

// modelcontextprotocol/go-sdk#1178, modelcontextprotocol/go-sdk#1253: ids that pass through floating point lose digits, and
// then belong to another request or to none. Here an id is the token that it was.
func TestIDsKeepEveryDigit(t *testing.T) {
	near := map[string][]string{
		`9007199254740993`: {`9007199254740992`, `9007199254740994`, `9007199254740993.0`, `9.007199254740993e15`, `"9007199254740993"`},
		`1`:                {`1.0`, `1.5`, `1e0`, `"1"`, `-1`},
		`"a"`:              {`"A"`, `"\u0061"`, `"a "`},
	}
	for raw, others := range near {
		id, err := jsonrpc.ParseID(strictjson.Value(raw))
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range append(others, raw) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes(t, Limits{})
				ended, _ := p.begin(t, t.Context(), &Call{ID: id, Method: "x", Body: jsonrpc.AppendRequest(nil, id, "x", nil)})
				go p.out.Write([]byte(`{"jsonrpc":"2.0","id":` + answer + `,"result":{}}` + "\n"))
				if o := <-ended; (o.err == nil) != (answer == raw) {
					t.Errorf("an answer to %s for a request %s: %v", answer, raw, o.err)
				}
				p.Close()
			})
		}
		synctest.Test(t, func(t *testing.T) {
			p := newPipes(t, Limits{})
			ctx, cancel := context.WithCancel(t.Context())
			p.begin(t, ctx, &Call{ID: id, Method: "x", Body: jsonrpc.AppendRequest(nil, id, "x", nil)})
			synctest.Wait()
			cancel()
			if got := string(readLine(t, p.in)); !strings.Contains(got, `"requestId":`+raw+`}`) {
				t.Errorf("the cancellation of %s says %s", raw, got)
			}
			p.Close()
		})
	}
}

// modelcontextprotocol/go-sdk#793, modelcontextprotocol/go-sdk#984, modelcontextprotocol/go-sdk#1205,
// modelcontextprotocol/python-sdk#3332: a message of some size, here 1 MiB, is lost without a word, because a buffer has a
// limit of its own. Here there is one limit for every form of a message, 16 MiB unless it is set, and one error.
func TestMessagesOfAnySizeUpToTheLimit(t *testing.T) {
	const limit = 16 << 20
	over := func(name string, n int, err error) {
		t.Helper()
		var e *LimitError
		if (n > limit) != (err != nil) || (err != nil && (!errors.As(err, &e) || e.Limit != limit)) {
			t.Errorf("%s of %d bytes: %v", name, n, err)
		}
	}
	for _, n := range []int{1 << 20, 1<<20 + 1, limit - 1, limit, limit + 1} {
		text := padded(n)
		p := newPipes(t, Limits{})
		ended, _ := p.begin(t, t.Context(), call(1, "x"))
		go p.out.Write(append(text, '\n'))
		o := <-ended
		over("a line", n, o.err)
		p.Close()

		srv := serveRaw(t, func(p *peer) { p.answer("application/json", text) })
		_, err := srv.client(t).Do(t.Context(), call(1, "x"))
		over("a body", n, err)

		event := append(append([]byte("data: "), padded(n-len("data: \n"))...), "\n\n"...)
		srv = serveRaw(t, func(p *peer) { p.answer("text/event-stream", event) })
		_, err = srv.client(t).Do(t.Context(), call(1, "x"))
		over("an event", n, err)
	}
}

// modelcontextprotocol/typescript-sdk#771: a large event costs 10 to 40 times its size. Here memory grows by doubling, and
// what is then handed on is a part of it.
func TestMemoryOfALargeEvent(t *testing.T) {
	const size = 8 << 20
	answers := map[string][]byte{
		"application/json":  padded(size),
		"text/event-stream": append(append([]byte("data: "), padded(size)...), "\n\n"...),
	}
	for media, text := range answers {
		head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", media, len(text))
		srv := serveRaw(t, func(p *peer) {
			p.Write(head)
			p.Write(text)
		})
		h := srv.client(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := h.Do(t.Context(), call(1, "x"))
		runtime.ReadMemStats(&after)
		if err != nil || len(m.Result) < size-100 {
			t.Fatalf("%s: %v", media, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 6*size {
			t.Errorf("%s: %d bytes were allocated for an answer of %d", media, n, size)
		} else {
			t.Logf("%s: %.1f times its size", media, float64(n)/size)
		}
	}
}

// topcheer/ggcode#716: an event stream is read to its end behind the answer, so a call lasts for as long as the server
// keeps the stream. Here the answer is the end, and the stream is closed.
func TestStreamIsReadToTheAnswerOnly(t *testing.T) {
	gone := make(chan struct{})
	srv := serveRaw(t, func(p *peer) {
		defer close(gone)
		p.streamHead()
		p.chunk([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":" + p.id() + ",\"result\":{}}\n\n"))
		for p.chunk([]byte(": and on\n\n")) == nil {
			time.Sleep(time.Millisecond)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	m, err := srv.client(t).Do(ctx, call(1, "x"))
	good(t, outcome{m, err}, "1")
	if ctx.Err() != nil {
		t.Error("Do returned with the end of its context only")
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the stream is open behind its answer")
	}
}

// mark3labs/mcp-go#779: the reading of an event stream goes on when the call's context has ended.
func TestContextEndsWithinAnEventStream(t *testing.T) {
	for name, begun := range map[string]string{
		"before an event": "",
		"a comment":       ": here\n",
		"within a line":   "data: {\"jsonrpc\":",
		"within an event": "data: {\ndata: \"jsonrpc\":\"2.0\"\n",
	} {
		srv := serveRaw(t, func(p *peer) {
			p.streamHead()
			if begun != "" {
				p.chunk([]byte(begun))
			}
			p.untilGone()
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := srv.client(t).Do(ctx, call(1, "x"))
			ended <- err
		}()
		for len(srv.requests()) == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond) // so that most of the time the beginning has been read
		cancel()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: Do = %v", name, err)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: Do does not return", name)
		}
	}
}

// ferro-labs/ai-gateway#418: a server that writes no line end makes its reader keep everything.
func TestLineWithoutEndIsNotKept(t *testing.T) {
	const limit = 1 << 20
	stream := &io.LimitedReader{R: letters{}, N: 64 * limit}
	l := newLineReader(stream, limit)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := l.next()
	runtime.ReadMemStats(&after)
	if err != errLineTooLong || 64*limit-stream.N > limit+2 {
		t.Errorf("next() = %v after %d bytes", err, 64*limit-stream.N)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4*limit || len(l.buf) > limit+2 {
		t.Errorf("%d bytes were allocated, %d are kept, with a limit of %d", n, len(l.buf), limit)
	}
}

// letters is a stream without a line end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// mark3labs/mcp-go#783, modelcontextprotocol/java-sdk#937: Close waits for a server that does not end, for ever.
func TestCloseOfAServerThatDoesNotEnd(t *testing.T) {
	for _, role := range []string{"stubborn", "deaf"} {
		c := childConfig(t, role)
		c.Grace = 50 * time.Millisecond
		s := startChild(t, c)
		if role == "stubborn" { // once it has answered, it ignores what asks it to end
			if _, err := s.Do(t.Context(), call(1, "x")); err != nil {
				t.Fatal(err)
			}
		}
		closed := make(chan struct{})
		go func() { s.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: Close does not return", role)
		}
		if alive(s.proc.cmd.Process.Pid) {
			t.Errorf("%s: the child is alive", role)
		}
	}
	// Over HTTP, with calls in flight that the server neither answers nor reads.
	srv := serveRaw(t, func(p *peer) { p.untilGone() })
	h := srv.client(t)
	ended := make(chan error, 1)
	go func() { _, err := h.Do(t.Context(), call(1, "x")); ended <- err }()
	for len(srv.requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	h.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, ErrClosed) {
			t.Errorf("Do = %v, want ErrClosed", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the call does not return")
	}
}
