//go:build unix

package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

const floodLine = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"high water"}}`

// TestFloodWithASlowNotify has a caller that is slow with each of many notifications: it gets all of them, in order, before
// its answer, and meanwhile the server is not read ahead of by more than a buffer.
func TestFloodWithASlowNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		const many = 5000
		var heard, written atomic.Int64
		c := call(1, "tools/call")
		c.Notify = func(m *jsonrpc.Message) {
			time.Sleep(time.Millisecond)
			if v, _ := m.Params.Get("n"); string(v) != fmt.Sprint(heard.Load()) {
				t.Errorf("notification %d is %s", heard.Load(), v)
			}
			heard.Add(1)
			if ahead := (written.Load() - heard.Load()) * int64(len(floodLine)); ahead > 2*lineBuffer {
				t.Errorf("%d bytes were read ahead", ahead)
			}
		}
		c.Answered = func(*jsonrpc.Message) {
			if heard.Load() != many {
				t.Errorf("answered after %d notifications, want %d", heard.Load(), many)
			}
		}
		slow, _ := p.begin(t, t.Context(), c)
		other, _ := p.begin(t, t.Context(), call(2, "tools/call"))
		begin := time.Now()
		go func() {
			for i := range many {
				fmt.Fprintf(p.out, `{"jsonrpc":"2.0","method":"a","params":{"n":%d,"text":"%s"}}`+"\n", i, strings.Repeat("x", 60))
				written.Add(1)
			}
			p.out.Write(append(resultLine("1"), resultLine("2")...))
		}()
		good(t, <-slow, "1")
		good(t, <-other, "2")
		if took := time.Since(begin); took != many*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// TestEndlessFlood has a server that sends valid notifications and nothing else: calls end when their time is over, and
// Close ends the connection.
func TestEndlessFlood(t *testing.T) {
	flooded := func(t *testing.T, s *Stdio) {
		t.Helper()
		soon := func(what string, f func()) {
			t.Helper()
			done := make(chan struct{})
			go func() { f(); close(done) }()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatalf("%s is held by the flood", what)
			}
		}
		ended := func(err error, want error) {
			t.Helper()
			var e *EndedError
			if !errors.As(err, &e) || !errors.Is(err, want) {
				t.Errorf("Do = %v, want %v", err, want)
			}
		}
		var heard atomic.Int64
		listening := func(id int) *Call {
			c := call(id, "tools/call")
			c.Notify = func(*jsonrpc.Message) { heard.Add(1) }
			return c
		}
		soon("a timeout", func() {
			c := listening(1)
			c.Timeout = 30 * time.Millisecond
			_, err := s.Do(t.Context(), c)
			ended(err, context.DeadlineExceeded)
		})
		soon("a cancellation", func() {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(30*time.Millisecond, cancel)
			_, err := s.Do(ctx, listening(2))
			ended(err, context.Canceled)
		})
		if heard.Load() == 0 {
			t.Error("there was no flood")
		}
		third := make(chan error, 1)
		go func() {
			_, err := s.Do(t.Context(), listening(3))
			third <- err
		}()
		for n := heard.Load(); heard.Load() == n; { // until the third hears it
			runtime.Gosched()
		}
		soon("Close", func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		})
		if err := <-third; !errors.Is(err, ErrClosed) {
			t.Errorf("Do = %v, want %v", err, ErrClosed)
		}
	}
	flood := bytes.Repeat([]byte(floodLine+"\n"), 100)
	for name, connect := range map[string]func(testing.TB, Limits) *pipes{"streams": newPipes, "files": filePipes} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, Limits{})
			go io.Copy(io.Discard, p.in)
			go func() {
				for {
					if _, err := p.out.Write(flood); err != nil {
						return
					}
				}
			}()
			flooded(t, p.Stdio)
		})
	}
	t.Run("process", func(t *testing.T) {
		s := startChild(t, StdioConfig{Command: "yes", Args: []string{floodLine}, Env: minimalPath(), Grace: 50 * time.Millisecond})
		flooded(t, s)
		if alive(s.proc.cmd.Process.Pid) {
			t.Error("the child is alive")
		}
	})
}

// TestProcessWithAnEndlessLine is stopped at the limit: its memory is that of a line, however much it writes.
func TestProcessWithAnEndlessLine(t *testing.T) {
	const limit = 1 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := startChild(t, StdioConfig{Command: "sh", Args: []string{"-c", `read line; tr '\0' a </dev/zero`}, Env: minimalPath(), Limits: Limits{MessageBytes: limit}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := s.Do(ctx, call(1, "tools/call"))
	var over *LimitError
	if !errors.As(err, &over) || over.Limit != limit || over.What != "a line on stdout" {
		t.Errorf("Do = %v, want the limit", err)
	}
	select {
	case <-s.stopped:
	case <-ctx.Done():
		t.Fatal("the process is not stopped")
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4*limit {
		t.Errorf("%d bytes were allocated, limit %d", used, limit)
	}
}
