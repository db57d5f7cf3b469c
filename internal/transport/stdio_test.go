//go:build unix

package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func resultLine(id string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{"for":` + id + "}}\n")
}

func TestAnswersInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		const n = 64
		var ended [n]<-chan outcome
		var ids [n]string
		for i := range n {
			ended[i], ids[i] = p.begin(t, t.Context(), call(i+1, "tools/call"))
		}
		go func() {
			for i := n - 1; i >= 0; i-- {
				p.out.Write(resultLine(ids[i]))
			}
		}()
		for i := range n {
			o := <-ended[i]
			if got := good(t, o, ids[i]); got != `{"for":`+ids[i]+`}` {
				t.Errorf("call %s got %s", ids[i], got)
			}
		}
		p.Close()
	})
}

// TestViolationsEndTheConnection has the server answer a call in a way that it may not.
//
// mark3labs/mcp-go v1.2.1 takes the answer to any id for its own.
func TestViolationsEndTheConnection(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want any
		text string
	}{
		"another id":         {`{"jsonrpc":"2.0","id":2,"result":{}}`, new(*ForeignIDError), "answer to id 2"},
		"string id":          {`{"jsonrpc":"2.0","id":"1","result":{}}`, new(*ForeignIDError), "which no request has"},
		"error without id":   {`{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse\u001b error"}}`, new(*ForeignIDError), `without an id: JSON-RPC error -32700 "Parse\x1b error"`},
		"error with null id": {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, new(*ForeignIDError), "without an id"},
		"request":            {`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, new(*FramingError), "may not"},
		"echo":               {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, new(*FramingError), "sent the request back"},
		"batch":              {`[{"jsonrpc":"2.0","id":1,"result":{}}]`, new(*FramingError), "batch"},
		"duplicate member":   {`{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`, new(*FramingError), "duplicate"},
		"two on a line":      {`{"jsonrpc":"2.0","id":1,"result":{}}{}`, new(*FramingError), "not a JSON-RPC message"},
		"text":               {"\x1b[31mlistening on " + strings.Repeat("\u202e", 300), new(*FramingError), `\x1b[31mlistening`},
		"byte order mark":    {"\ufeff" + `{"jsonrpc":"2.0","id":1,"result":{}}`, new(*FramingError), "not a JSON-RPC message"},
		"bad UTF-8":          {`{"jsonrpc":"2.0","id":1,"result":{"a":"` + "\xff" + `"}}`, new(*FramingError), `\xff`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes(t, Limits{})
				ended, _ := p.begin(t, t.Context(), call(1, "tools/call"))
				go p.out.Write([]byte(test.line + "\n"))
				o := <-ended
				var e *Error
				if !errors.As(o.err, test.want) || !errors.As(o.err, &e) || !e.Delivered || e.Op != "receive" || !strings.Contains(o.err.Error(), test.text) {
					t.Errorf("Do = %v (%T), want %T with %q", o.err, o.err, test.want, test.text)
				}
				var framing *FramingError
				if errors.As(o.err, &framing) && framing.Echo != (name == "echo") {
					t.Errorf("Echo = %v", framing.Echo)
				}
				printable(t, o.err)
				<-p.Done()
				if _, err := p.Do(t.Context(), call(5, "x")); err == nil || err.Error() != p.Err().Error() {
					t.Errorf("the next Do = %v, want %v", err, p.Err())
				}
				if rest, _ := io.ReadAll(p.in); len(rest) > 0 {
					t.Errorf("%q was written afterwards", rest)
				}
			})
		})
	}
}

func TestCatIsNotAServer(t *testing.T) {
	path, err := exec.LookPath("cat")
	if err != nil {
		t.Skip("no cat")
	}
	s := startChild(t, StdioConfig{Command: path})
	_, err = s.Do(t.Context(), call(1, "server/discover"))
	var framing *FramingError
	if !errors.As(err, &framing) || !framing.Echo {
		t.Errorf("Do = %v, want an echo", err)
	}
}

func TestSecondAnswerEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		ended, id := p.begin(t, t.Context(), call(1, "tools/call"))
		go func() {
			p.out.Write(resultLine(id))
			p.out.Write(resultLine(id))
		}()
		good(t, <-ended, id)
		<-p.Done()
		var foreign *ForeignIDError
		if !errors.As(p.Err(), &foreign) {
			t.Errorf("Err() = %v", p.Err())
		}
	})
}

func TestCancellation(t *testing.T) {
	id, err := jsonrpc.ParseID(strictjson.Value(`"a\u002fb"`))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		c := &Call{ID: id, Method: "tools/call", Body: jsonrpc.AppendRequest(nil, id, "tools/call", []byte("{}"))}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ended, _ := p.begin(t, ctx, c)
		// Nobody reads the notice yet, and the caller returns all the same.
		begin := time.Now()
		if o := <-ended; !errors.Is(o.err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
			t.Errorf("Do = %v after %v", o.err, time.Since(begin))
		}
		if got, want := string(readLine(t, p.in)), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a\u002fb"}}`; got != want {
			t.Errorf("notice %s, want %s", got, want)
		}
		if _, err := p.Do(t.Context(), c); err == nil || !strings.Contains(err.Error(), "cancelled call") {
			t.Errorf("the id can be used again: %v", err)
		}
		// Its late answer is dropped, and the connection goes on.
		again, next := p.begin(t, t.Context(), call(2, "tools/call"))
		go func() {
			p.out.Write([]byte(`{"jsonrpc":"2.0","id":"a\u002fb","result":{}}` + "\n"))
			p.out.Write(resultLine(next))
		}()
		good(t, <-again, next)
		if p.Err() != nil {
			t.Errorf("Err() = %v", p.Err())
		}
	})
}

func (l *lineWriter) isBusy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy
}

func TestCancelledInTheQueueSendsNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	answers, answer := io.Pipe()
	defer answer.Close()
	s := NewPipe(answers, w, Limits{}, nil, nil, nil)
	defer s.Close()
	big := call(1, "tools/call")
	big.Body = body(1, "tools/call", `{"x":"`+strings.Repeat("a", 1<<20)+`"}`)
	first := make(chan outcome, 1)
	go func() {
		m, err := s.Do(t.Context(), big)
		first <- outcome{m, err}
	}()
	for !s.out.isBusy() { // until it holds the writer
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := s.Do(ctx, call(2, "tools/call")); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > time.Second {
		t.Errorf("Do in the queue = %v after %v", err, time.Since(begin))
	}
	in := bufio.NewReader(r)
	if line := readLine(t, in); !bytes.Equal(line, big.Body) {
		t.Errorf("the first request has %d bytes, want %d", len(line), len(big.Body))
	}
	third := make(chan outcome, 1)
	go func() {
		m, err := s.Do(t.Context(), call(3, "tools/call"))
		third <- outcome{m, err}
	}()
	if id := rawID(t, readLine(t, in)); id != "3" {
		t.Errorf("the next line has id %s, want 3", id)
	}
	go func() { answer.Write(resultLine("1")); answer.Write(resultLine("3")) }()
	good(t, <-first, "1")
	good(t, <-third, "3")
}

func TestStuckWriteOnAPipeThatCannotBeCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := p.Do(ctx, call(1, "tools/call")); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second+writeMoment {
			t.Errorf("Do = %v after %v", err, time.Since(begin))
		}
		<-p.Done()
		if took := time.Since(begin); took != time.Second+writeMoment+writeGrace || !errors.Is(p.Err(), errCalledOff) {
			t.Errorf("the connection ended with %v after %v", p.Err(), took)
		}
		<-p.stopped
		if rest, _ := io.ReadAll(p.in); len(rest) > 0 {
			t.Errorf("%q was written", rest)
		}
	})
}

// TestSlowWriteOnAPipeThatCannotBeCalledOff has a reader that is slow and not stuck: the caller does not wait for it, the
// server is told of the end, and the connection goes on.
func TestSlowWriteOnAPipeThatCannotBeCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Do(ctx, call(1, "tools/call"))
		var ended *EndedError
		if !errors.As(err, &ended) || !ended.Delivered || ended.Waiting != "the server to read the request" {
			t.Errorf("Do = %v, want an end after which the request may be delivered", err)
		}
		time.Sleep(writeGrace - 1)
		if id := rawID(t, readLine(t, p.in)); id != "1" {
			t.Errorf("the first line has id %s", id)
		}
		if line, want := string(readLine(t, p.in)), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`; line != want {
			t.Errorf("then came %s, want %s", line, want)
		}
		p.out.Write(resultLine("1")) // late, and dropped
		time.Sleep(time.Hour)
		second, id := p.begin(t, t.Context(), call(2, "tools/call"))
		p.out.Write(resultLine(id))
		good(t, <-second, "2")
	})
}

func TestLateAnswersAreBounded(t *testing.T) {
	c := newCalls()
	for i := range 3 * lateAnswers {
		c.forget(jsonrpc.IntID(int64(i)))
	}
	if len(c.cancelled) != lateAnswers || len(c.order) != lateAnswers {
		t.Errorf("%d and %d ids kept, want %d", len(c.cancelled), len(c.order), lateAnswers)
	}
	for i := 2 * lateAnswers; i < 3*lateAnswers; i++ {
		if _, ok := c.cancelled[jsonrpc.IntID(int64(i))]; !ok {
			t.Fatalf("id %d, one of the latest, is forgotten", i)
		}
	}
}

func TestCloseEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		ended, _ := p.begin(t, t.Context(), call(1, "tools/call"))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { p.Close() })
		}
		o := <-ended
		var e *Error
		if !errors.Is(o.err, ErrClosed) || !errors.As(o.err, &e) || !e.Delivered {
			t.Errorf("Do = %v, want ErrClosed", o.err)
		}
		wg.Wait()
	})
}

func TestContextWinsOverTheConnection(t *testing.T) {
	for range 50 { // both have happened when the call looks, and it looks at one of them first
		synctest.Test(t, func(t *testing.T) {
			p := newPipes(t, Limits{})
			ctx, cancel := context.WithCancel(t.Context())
			ended, _ := p.begin(t, ctx, call(1, "tools/call"))
			synctest.Wait() // it waits for its answer
			cancel()
			p.out.Close()
			if o := <-ended; !errors.Is(o.err, context.Canceled) {
				t.Errorf("Do = %v, want the context's error", o.err)
			}
		})
	}
}

func TestNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		note := func(n int) []byte {
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":%d}}`+"\n", n)
		}
		var got [2][]string
		var over [2]bool
		start := func(i int) <-chan outcome {
			c := call(i+1, "tools/call")
			c.Notify = func(m *jsonrpc.Message) {
				if over[i] {
					t.Errorf("call %d was notified after it had ended", i+1)
				}
				v, _ := m.Params.Get("progress")
				got[i] = append(got[i], string(v))
			}
			ended, _ := p.begin(t, t.Context(), c)
			return ended
		}
		first, second := start(0), start(1)
		p.out.Write(note(1))
		p.out.Write(note(2))
		p.out.Write(resultLine("1"))
		good(t, <-first, "1")
		over[0] = true
		p.out.Write(note(3))
		p.out.Write(resultLine("2"))
		good(t, <-second, "2")
		over[1] = true
		p.out.Write(note(4))
		if a, b := strings.Join(got[0], " "), strings.Join(got[1], " "); a != "1 2" || b != "1 2 3" {
			t.Errorf("notifications %q and %q, want %q and %q", a, b, "1 2", "1 2 3")
		}
	})
}

func TestNotifyIsNotCalledAfterTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		release := make(chan struct{})
		slow := call(1, "x")
		slow.Notify = func(*jsonrpc.Message) { <-release }
		first, _ := p.begin(t, t.Context(), slow)
		other := call(2, "x")
		other.Notify = func(*jsonrpc.Message) { t.Error("notified after the end") }
		ctx, cancel := context.WithCancel(t.Context())
		second, _ := p.begin(t, ctx, other)
		synctest.Wait()
		p.out.Write([]byte(`{"jsonrpc":"2.0","method":"x"}` + "\n"))
		synctest.Wait() // the notification is with the first call
		cancel()
		if o := <-second; !errors.Is(o.err, context.Canceled) {
			t.Errorf("Do = %v", o.err)
		}
		close(release)
		readLine(t, p.in) // the notice
		p.out.Write(resultLine("1"))
		good(t, <-first, "1")
	})
}

func TestWriteThatHasNotBegunIsCalledOff(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	filled, err := w.Write(make([]byte, 1<<20)) // until the pipe is full
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	answers, answer := io.Pipe()
	s := NewPipe(answers, w, Limits{}, nil, nil, nil)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Do(ctx, call(1, "x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Do = %v", err)
	}
	if s.Err() != nil {
		t.Fatalf("Err() = %v, though nothing was written", s.Err())
	}
	in := bufio.NewReader(r)
	if _, err := io.CopyN(io.Discard, in, int64(filled)); err != nil {
		t.Fatal(err)
	}
	go func() {
		if id := rawID(t, readLine(t, in)); id != "2" {
			t.Errorf("the next line has id %s", id)
		}
		answer.Write(resultLine("2"))
	}()
	m, err := s.Do(t.Context(), call(2, "x"))
	good(t, outcome{m, err}, "2")
}

func TestLocalFaults(t *testing.T) {
	p := newPipes(t, Limits{})
	newline := call(1, "x")
	newline.Body = []byte("{\n}")
	for name, c := range map[string]*Call{"newline": newline, "id": {Method: "x", Body: []byte("{}")}} {
		var e *Error
		if _, err := p.Do(t.Context(), c); !errors.As(err, &e) || e.Op != "configure" || e.Delivered || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.begin(t, t.Context(), call(1, "x"))
	if _, err := p.Do(t.Context(), call(1, "x")); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("an id used twice: %v", err)
	}
}
