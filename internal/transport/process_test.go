//go:build unix

package transport

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestChildRoundTrip(t *testing.T) {
	s := startChild(t, childConfig(t, "serve"))
	for id := 1; id <= 3; id++ {
		c := call(id, "tools/list")
		c.Body = body(id, "tools/list", `{"n":`+strconv.Itoa(id)+`}`)
		m, err := s.Do(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(m.Result), `{"n":`+strconv.Itoa(id)+`}`; got != want || m.ID != c.ID {
			t.Errorf("answer to %d = id %s, %s, want %s", id, m.ID, got, want)
		}
	}
	if s.Err() != nil {
		t.Errorf("Err() = %v before the end", s.Err())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Err(); !errors.Is(err, ErrClosed) {
		t.Errorf("Err() = %v, want ErrClosed", err)
	}
	if text, code := s.proc.status(); code != 0 {
		t.Errorf("the child ended with %s, want an end by itself", text)
	}
	if _, err := s.Do(t.Context(), call(9, "x")); !errors.Is(err, ErrClosed) {
		t.Errorf("Do after Close = %v, want ErrClosed", err)
	}
}

// alive tells a running process from a dead one that nobody has reaped yet.
func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest != "" && rest[0] != 'Z' && rest[0] != 'X'
}

func TestStubbornChildIsKilled(t *testing.T) {
	c := childConfig(t, "stubborn")
	c.Grace = 50 * time.Millisecond
	s := startChild(t, c)
	if _, err := s.Do(t.Context(), call(1, "server/discover")); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	s.Close()
	if took := time.Since(begin); took > c.Grace+termTime+time.Second {
		t.Errorf("Close took %v", took)
	}
	if text, _ := s.proc.status(); text != "signal: killed" {
		t.Errorf("the child ended with %q, want killed", text)
	}
}

func TestStuckWriteDoesNotHoldTheCaller(t *testing.T) {
	s := startChild(t, childConfig(t, "deaf"))
	big := call(1, "tools/call")
	big.Body = body(1, "tools/call", `{"x":"`+strings.Repeat("a", 4<<20)+`"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := s.Do(ctx, big)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Do = %v, want the context's error", err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("Do took %v", took)
	}
	<-s.Done()
	var e *Error
	if !errors.As(s.Err(), &e) || e.Op != "send" || !strings.Contains(e.Error(), "only a part") {
		t.Errorf("Err() = %v, want that a message was cut", s.Err())
	}
}

func TestStderrInErrors(t *testing.T) {
	s := startChild(t, childConfig(t, "last-words:"+strings.Repeat("x", 70_000)+"\x1b[2J\u202ereason\n"))
	_, err := s.Do(t.Context(), call(1, "x"))
	var e *Error
	if !errors.As(err, &e) || e.Op != "exit" || len(e.Stderr) > 256 || !strings.HasSuffix(e.Stderr, `xx\x1b[2J\u202ereason`) || !strings.HasPrefix(e.Stderr, "…") {
		t.Errorf("Do = %v, want the escaped end of stderr", err)
	}
	printable(t, err)
	if n := len(s.StderrTail()); n != 64<<10 {
		t.Errorf("%d bytes of stderr kept, want 64 KiB", n)
	}
}

func TestChildThatClosesItsOutput(t *testing.T) {
	s := startChild(t, childConfig(t, "closer"))
	begin := time.Now()
	_, err := s.Do(t.Context(), call(1, "x"))
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Status != "" || !strings.Contains(err.Error(), "closed its output") {
		t.Errorf("Do = %v, want that stdout was closed", err)
	}
	<-s.stopped
	if alive(s.proc.cmd.Process.Pid) || time.Since(begin) > 3*time.Second {
		t.Errorf("the child is alive, or it took %v", time.Since(begin))
	}
}

func TestExitIsNotHeldUpByAGrandchild(t *testing.T) {
	// The shell ends at once; what it leaves behind has the pipes.
	s := startChild(t, StdioConfig{Command: "sh", Args: []string{"-c", "sleep 100 & exit 5"}, Env: []string{"PATH=" + os.Getenv("PATH")}})
	begin := time.Now()
	_, err := s.Do(t.Context(), call(1, "x"))
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Code != 5 {
		t.Errorf("Do = %v, want exit status 5", err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %v", took)
	}
	s.Close()
	if left := survivors(s.proc.tree); left > 0 {
		t.Errorf("%d processes left", left)
	}
}

func TestStartEnvironment(t *testing.T) {
	t.Setenv("CANARY", "from the parent")
	for _, env := range [][]string{nil, {"A=b"}} {
		s := startChild(t, StdioConfig{Command: "sh", Args: []string{"-c", `/usr/bin/env >&2; read x`}, Env: env})
		var got string
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && !strings.Contains(got, "MCPCAT_PROCESS_TREE"); time.Sleep(time.Millisecond) {
			got = string(s.StderrTail())
		}
		s.Close()
		if strings.Contains(got, "CANARY") || (env != nil) != strings.Contains(got, "A=b\n") {
			t.Errorf("with %q the child's environment is %q", env, got)
		}
	}
}
