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
	s := NewPipe(answers, w, Limits{}, nil, nil)
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
		<-p.stopped
		if rest, _ := io.ReadAll(p.in); len(rest) > 0 {
			t.Errorf("%q was written", rest)
		}
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
	s := NewPipe(answers, w, Limits{}, nil, nil)
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

func TestLineLimit(t *testing.T) {
	const limit = 1000
	frame := func(n int) []byte {
		head, tail := `{"jsonrpc":"2.0","id":1,"result":{"x":"`, `"}}`
		return []byte(head + strings.Repeat("a", n-len(head)-len(tail)) + tail)
	}
	for _, end := range []string{"\n", "\r\n"} {
		for n, ok := range map[int]bool{limit - 1: true, limit: true, limit + 1: false, limit + 2: false, 5 * limit: false} {
			p := newPipes(t, Limits{MessageBytes: limit})
			ended, _ := p.begin(t, t.Context(), call(1, "x"))
			go p.out.Write(append(frame(n), end...))
			o := <-ended
			var over *LimitError
			if ok != (o.err == nil) || (!ok && (!errors.As(o.err, &over) || over.Limit != limit)) {
				t.Errorf("a line of %d bytes and %q: %v", n, end, o.err)
			}
			if held := len(p.lines.buf); held > limit+2 {
				t.Errorf("the buffer has %d bytes, limit %d", held, limit)
			}
		}
	}
	// An endless line is refused at the limit, not at its end.
	p := newPipes(t, Limits{MessageBytes: limit})
	ended, _ := p.begin(t, t.Context(), call(1, "x"))
	written := make(chan int, 1)
	go func() {
		n, _ := p.out.Write(bytes.Repeat([]byte("a"), limit+1))
		written <- n
	}()
	var over *LimitError
	if o := <-ended; !errors.As(o.err, &over) {
		t.Errorf("an endless line: %v", o.err)
	}
	<-written
}

func TestDepthLimit(t *testing.T) {
	for depth, ok := range map[int]bool{3: false, 4: true} {
		p := newPipes(t, Limits{Depth: depth})
		ended, _ := p.begin(t, t.Context(), call(1, "x"))
		go p.out.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":[[]]}}` + "\n"))
		if o := <-ended; ok != (o.err == nil) || (!ok && !errors.Is(o.err, strictjson.ErrLimit)) {
			t.Errorf("depth 4 with a limit of %d: %v", depth, o.err)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\n\r\nccc"), uint64(1), 3)
	f.Add([]byte(strings.Repeat("x", 70_000)+"\ny\n"), uint64(2), 100_000)
	f.Add([]byte("abcd\r\n"), uint64(3), 4)
	f.Add([]byte("abcd\r\r\n"), uint64(3), 4)
	f.Fuzz(func(t *testing.T, text []byte, seed uint64, limit int) {
		limit = 1 + (limit&0x7fffffff)%200_000
		l := newLineReader(cutUp(text, seed), limit)
		for _, want := range bytes.SplitAfter(text, []byte("\n")) {
			whole := bytes.HasSuffix(want, []byte("\n"))
			line := bytes.TrimSuffix(want, []byte("\n"))
			if whole {
				line = bytes.TrimSuffix(line, []byte("\r"))
			}
			if whole && len(line) == 0 {
				continue
			}
			got, err := l.next()
			switch {
			case len(line) > limit && !(!whole && len(line) == limit+1 && line[limit] == '\r'):
				if err != errLineTooLong {
					t.Fatalf("a line of %d with limit %d: %v", len(line), limit, err)
				}
				return
			case whole:
				if err != nil || !bytes.Equal(got, line) {
					t.Fatalf("line %q, %v, want %q", got, err, line)
				}
			default:
				var partial *partialLine
				if len(line) > 0 != errors.As(err, &partial) || !errors.Is(err, io.EOF) {
					t.Fatalf("the end after %q: %v", line, err)
				}
			}
			if len(l.buf) > max(lineBuffer, limit+2) {
				t.Fatalf("the buffer has %d bytes with limit %d", len(l.buf), limit)
			}
		}
	})
}

func TestLinesStayWhatTheyWere(t *testing.T) {
	var text []byte
	var want []string
	for i := range 200 {
		line := strings.Repeat(fmt.Sprint(i%10), 1+i*i)
		want = append(want, line)
		text = append(append(text, line...), '\n')
	}
	l := newLineReader(bytes.NewReader(text), 1<<20)
	var got [][]byte
	for range want {
		line, err := l.next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	for i := range want {
		if string(got[i]) != want[i] {
			t.Fatalf("line %d was overwritten", i)
		}
	}
}

func TestTail(t *testing.T) {
	all := []byte(strings.Repeat("0123456789", 50))
	for _, step := range []int{1, 3, 7, 10, 64, 500} {
		keep := &tail{limit: 64}
		for b := all; len(b) > 0; {
			n := min(step, len(b))
			keep.Write(b[:n])
			b = b[n:]
		}
		if got, want := string(keep.Bytes()), string(all[len(all)-64:]); got != want {
			t.Errorf("in steps of %d: %q, want %q", step, got, want)
		}
	}
	keep := &tail{limit: 64}
	keep.Write([]byte("short"))
	if got := string(keep.Bytes()); got != "short" {
		t.Errorf("%q", got)
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("plain"), 256)
	f.Add([]byte("\x00\x1b[31m\u202e\U000e0041\xff\xfe\"\\"), 20)
	f.Add([]byte(strings.Repeat("日本", 200)), 256)
	f.Fuzz(func(t *testing.T, text []byte, limit int) {
		limit = (limit & 0x7fffffff) % 600
		for _, got := range []string{excerpt(text, limit), excerptEnd(text, limit)} {
			if len(got) > limit {
				t.Fatalf("%d bytes with a limit of %d: %q", len(got), limit, got)
			}
			for _, r := range got {
				if r < 0x20 || r == 0x7f || r == 0x202e || r == '\u200b' || (r >= 0xe0000 && r < 0xe1000) {
					t.Fatalf("%q has %U", got, r)
				}
			}
			if plain := string(text); len(plain) <= limit && strings.Trim(plain, "abcdefghijklmnopqrstuvwxyz") == "" && got != plain {
				t.Fatalf("%q became %q", plain, got)
			}
		}
	})
}
