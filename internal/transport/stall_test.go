//go:build unix

package transport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

// minimalPath is an environment in which a shell finds its commands.
func minimalPath() []string { return []string{"PATH=" + os.Getenv("PATH")} }

// stalled fails unless err says that a line stopped after begun bytes.
func stalled(t *testing.T, err error, begun int64, after time.Duration) {
	t.Helper()
	var e *Error
	var stall *StallError
	if !errors.As(err, &e) || e.Op != "receive" || !errors.As(err, &stall) || *stall != (StallError{Where: "a line", After: after, Bytes: begun}) {
		t.Errorf("error %v (%T), want a stall after %d bytes", err, err, begun)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v passes for the end of a context", err)
	}
}

func TestLineThatStops(t *testing.T) {
	answer := string(resultLine("1"))
	for name, test := range map[string]struct {
		parts []string // written at once, each
		begun int
	}{
		"first byte":             {[]string{"{"}, 1},
		"half":                   {[]string{answer[:20]}, 20},
		"all but the line end":   {[]string{answer[:len(answer)-1]}, len(answer) - 1},
		"a CR":                   {[]string{"\r"}, 1},
		"behind a notification":  {[]string{`{"jsonrpc":"2.0","method":"a"}` + "\n" + answer[:7]}, 7},
		"byte by byte":           {strings.Split(answer[:9], ""), 9},
		"longer than the buffer": {[]string{strings.Repeat(" ", lineBuffer+3)}, lineBuffer + 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes(t, Limits{})
				first, _ := p.begin(t, t.Context(), call(1, "tools/call"))
				second, _ := p.begin(t, t.Context(), call(2, "tools/call"))
				for _, part := range test.parts {
					time.Sleep(10*time.Second - 1) // just not too long, each time
					p.out.Write([]byte(part))
				}
				begin := time.Now()
				for _, ended := range []<-chan outcome{first, second} {
					o := <-ended
					stalled(t, o.err, int64(test.begun), 10*time.Second)
					var e *Error
					if !errors.As(o.err, &e) || !e.Delivered {
						t.Errorf("Do = %#v, want it delivered", o.err)
					}
				}
				if took := time.Since(begin); took != 10*time.Second {
					t.Errorf("took %v, want the default of 10 s", took)
				}
				stalled(t, p.Err(), int64(test.begun), 10*time.Second)
				<-p.stopped
				if _, err := p.Do(t.Context(), call(3, "x")); err == nil {
					t.Error("the connection goes on")
				}
			})
		})
	}
}

func TestQuietConnectionIsLegal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{Idle: time.Second})
		slow := call(1, "subscriptions/listen")
		slow.Notify = func(*jsonrpc.Message) { time.Sleep(time.Hour) } // meanwhile a line waits, unfinished
		ended, _ := p.begin(t, t.Context(), slow)
		time.Sleep(24 * time.Hour)
		for _, end := range []string{"\n", "\r\n", "\n\n", "\n\r\n"} {
			p.out.Write([]byte(`{"jsonrpc":"2.0","method":"a"}` + end))
			time.Sleep(24 * time.Hour)
		}
		p.out.Write([]byte(`{"jsonrpc":"2.0","method":"a"}` + "\n" + `{"jsonrpc":"2.0",`))
		p.out.Write([]byte(`"id":1,"result":{}}` + "\n")) // taken when Notify returns
		good(t, <-ended, "1")
		time.Sleep(24 * time.Hour)
		if p.Err() != nil {
			t.Errorf("Err() = %v", p.Err())
		}
	})
}

func TestSlowLineIsLegal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{Idle: time.Second})
		ended, id := p.begin(t, t.Context(), call(1, "tools/call"))
		for _, b := range resultLine(id) {
			p.out.Write([]byte{b})
			time.Sleep(time.Second - 1)
		}
		good(t, <-ended, id)
	})
}

// TestProcessThatStopsWithinALine has a process behind the pipes: it is ended with the connection.
func TestProcessThatStopsWithinALine(t *testing.T) {
	s := startChild(t, StdioConfig{
		Command: "sh", Args: []string{"-c", `read line; echo thinking >&2; printf '{"jsonrpc":"2.0"'; exec sleep 3600`},
		Env: minimalPath(), Limits: Limits{Idle: 100 * time.Millisecond},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := s.Do(ctx, call(1, "tools/call"))
	stalled(t, err, int64(len(`{"jsonrpc":"2.0"`)), 100*time.Millisecond)
	var e *Error
	if !errors.As(err, &e) || !e.Delivered || e.Stderr != "thinking" {
		t.Errorf("Do = %#v, want it delivered and the end of stderr", err)
	}
	select {
	case <-s.stopped:
	case <-ctx.Done():
		t.Fatal("the process is not stopped")
	}
	if alive(s.proc.cmd.Process.Pid) {
		t.Error("the child is alive")
	}
}

// TestWhatWasWaitedFor ends the context of a call at each place where it can wait.
func TestWhatWasWaitedFor(t *testing.T) {
	ended := func(t *testing.T, err error, waiting string, delivered bool) {
		t.Helper()
		var e *EndedError
		if !errors.As(err, &e) || e.Waiting != waiting || e.Delivered != delivered || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Do = %v (%#v), want %q, delivered %v", err, err, waiting, delivered)
		}
	}
	for _, test := range []struct {
		says, waiting string
	}{
		{"", "an answer"},
		{`{"jsonrpc":"2.0","method":"a"}` + "\n", "an answer"},
		{`{"jsonrpc"`, "the rest of a line (10 bytes so far)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes(t, Limits{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			o, _ := p.begin(t, ctx, call(1, "tools/call"))
			fmt.Fprint(p.out, test.says)
			ended(t, (<-o).err, test.waiting, true)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Do(ctx, call(1, "tools/call")) // nobody reads, which such a stream does not tell
		ended(t, err, "the server to read the request", true)
	})
	t.Run("process", func(t *testing.T) {
		s := startChild(t, StdioConfig{Command: "sh", Args: []string{"-c", "read line; exec sleep 3600"}, Env: minimalPath()})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := s.Do(ctx, call(1, "tools/call"))
		ended(t, err, "an answer (the process is running)", true)
	})
	t.Run("process that does not read", func(t *testing.T) {
		s := startChild(t, StdioConfig{Command: "sh", Args: []string{"-c", "read line; exec sleep 3600"}, Env: minimalPath()})
		for _, size := range []int{0, 10, 1 << 20} { // the first is read, the second fits into the pipe, the third does not
			id := size + 1
			c := call(id, "tools/call")
			c.Body = body(id, "tools/call", `{"x":"`+strings.Repeat("a", size)+`"}`)
			// Long enough for a busy machine to start the shell, and then to begin the call.
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			_, err := s.Do(ctx, c)
			cancel()
			switch {
			case size == 0:
				ended(t, err, "an answer (the process is running)", true)
			case size < 1<<20 && runtime.GOOS == "linux":
				ended(t, err, "the server to read the request", true)
			case size == 1<<20:
				ended(t, err, "the server to read the request", false)
			}
		}
	})
}
