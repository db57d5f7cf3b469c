//go:build unix

package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
)

// pipes is a connection to a peer that the test plays.
type pipes struct {
	*Stdio
	in  *bufio.Reader // what the client writes
	out io.WriteCloser
}

func newPipes(t testing.TB, limits Limits) *pipes {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	p := &pipes{Stdio: NewPipe(r1, w2, limits, nil, nil, nil), in: bufio.NewReader(r2), out: w1}
	t.Cleanup(func() { p.Close() })
	return p
}

// begin starts a call and returns the request it has written.
func (p *pipes) begin(t testing.TB, ctx context.Context, c *Call) (<-chan outcome, string) {
	t.Helper()
	ended := make(chan outcome, 1)
	go func() {
		m, err := p.Do(ctx, c)
		ended <- outcome{m, err}
	}()
	return ended, rawID(t, readLine(t, p.in))
}

// deliver makes the two calls of the stdio cases, then has the server write text, cut by write.
func deliver(t *testing.T, text []byte, write func(io.Writer, []byte)) (discover, list outcome) {
	t.Helper()
	p := newPipes(t, Limits{})
	first, id1 := p.begin(t, t.Context(), call(1, "server/discover"))
	second, id2 := p.begin(t, t.Context(), call(2, "tools/list"))
	go write(p.out, casetest.WithIDs(text, id1, id2))
	discover, list = <-first, <-second
	return discover, list
}

func whole(w io.Writer, b []byte) { w.Write(b) }

func bytewise(w io.Writer, b []byte) {
	for i := range b {
		if _, err := w.Write(b[i : i+1]); err != nil {
			return
		}
	}
}

func TestCaseBannerBeforeFirstFrame(t *testing.T) {
	dir := casetest.Dir(t, "stdio/banner-before-first-frame")
	c := childConfig(t, "say:"+filepath.Join(dir, "stdout.bin"))
	rest := filepath.Join(t.TempDir(), "rest")
	c.Env = append(c.Env, "REST="+rest)
	s := startChild(t, c)
	begin := time.Now()
	_, err := s.Do(t.Context(), call(1, "server/discover"))
	var framing *FramingError
	if !errors.As(err, &framing) || !strings.Contains(err.Error(), "not a JSON-RPC message") || framing.Excerpt == "" {
		t.Fatalf("Do = %v, want a framing error that quotes the banner", err)
	}
	printable(t, err)
	<-s.stopped // without Close
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	if alive(s.proc.cmd.Process.Pid) {
		t.Error("the child is alive")
	}
	if more, err := os.ReadFile(rest); err == nil && len(more) > 0 {
		t.Errorf("the child was sent %q after the banner", more)
	}
}

func TestCaseBlankLines(t *testing.T) {
	text := casetest.Read(t, "stdio/blank-lines", "stdout.bin")
	discover, list := deliver(t, text, whole)
	good(t, discover, "1")
	good(t, list, "2")

	discover, _ = deliver(t, append([]byte("  \n"), text...), whole)
	var framing *FramingError
	if !errors.As(discover.err, &framing) {
		t.Errorf("a line of spaces gives %v, want a framing error", discover.err)
	}
}

func TestCaseBytewiseDelivery(t *testing.T) {
	dir := casetest.Dir(t, "stdio/bytewise-delivery")
	var got [2]string
	for i, write := range []func(io.Writer, []byte){whole, bytewise} {
		p := newPipes(t, Limits{})
		for n, file := range []string{"stdout-1.bin", "stdout-2.bin"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.ReplaceAll(text, []byte("7002"), []byte("7001"))
			ended, id := p.begin(t, t.Context(), call(n+1, "tools/list"))
			go write(p.out, casetest.WithIDs(text, id))
			got[i] = good(t, <-ended, id)
		}
	}
	if got[0] != got[1] || !strings.Contains(got[1], "\u2013") || !strings.Contains(got[1], "\u00f8") || !strings.Contains(got[1], "\U0001f30a") {
		t.Errorf("bytewise: %s\nin one piece: %s", got[1], got[0])
	}
}

func TestCaseCRLFFrames(t *testing.T) {
	dir := casetest.Dir(t, "stdio/crlf-frames")
	var results []string
	for _, file := range []string{"stdout.bin", "stdout-lf.bin"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		discover, list := deliver(t, text, whole)
		results = append(results, good(t, discover, "1")+good(t, list, "2"))
	}
	if results[0] != results[1] {
		t.Errorf("CRLF: %s\nLF: %s", results[0], results[1])
	}
}

func TestCaseLastFrameWithoutNewline(t *testing.T) {
	dir := casetest.Dir(t, "stdio/last-frame-without-newline")
	c := childConfig(t, "say-and-exit:"+filepath.Join(dir, "stdout.bin"))
	s := startChild(t, c)
	begin := time.Now()
	_, err := s.Do(t.Context(), call(1, "server/discover"))
	var exit *ExitError
	var framing *FramingError
	if !errors.As(err, &exit) || exit.Code != 0 || !errors.As(err, &framing) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Do = %v, want the exit within a message", err)
	}
	printable(t, err)
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %v", took)
	}
}

func TestCaseLineOf70KiB(t *testing.T) {
	text := casetest.Read(t, "stdio/line-of-70-kib", "stdout.bin")
	discover, list := deliver(t, text, whole)
	good(t, discover, "1")
	result := good(t, list, "2")
	if len(result) < 70<<10 {
		t.Errorf("result has %d bytes", len(result))
	}
	if limit := (Limits{}).withDefaults().MessageBytes; limit <= 1<<20 {
		t.Errorf("the default limit is %d", limit)
	}
}

func TestCasePrettyPrintedFrame(t *testing.T) {
	text := casetest.Read(t, "stdio/pretty-printed-frame", "stdout.bin")
	p := newPipes(t, Limits{})
	ended, id := p.begin(t, t.Context(), call(1, "server/discover"))
	go whole(p.out, casetest.WithIDs(text, id))
	o := <-ended
	var framing *FramingError
	if !errors.As(o.err, &framing) || framing.Excerpt != "{" {
		t.Errorf("Do = %v, want a framing error about the first line", o.err)
	}
	printable(t, o.err)
}

func TestCaseStringIDForInteger(t *testing.T) {
	text := bytes.TrimSpace(casetest.Read(t, "jsonrpc/string-id-for-integer", "response.json"))
	p := newPipes(t, Limits{})
	ended, id := p.begin(t, t.Context(), call(1, "tools/list"))
	go whole(p.out, append(casetest.WithIDs(text, id), '\n'))
	var foreign *ForeignIDError
	if o := <-ended; !errors.As(o.err, &foreign) || foreign.Got != `\"1\"` {
		t.Errorf("stdio: Do = %v, want a foreign id", o.err)
	}

	srv := serveRaw(t, func(p *peer) {
		p.answer("application/json", casetest.WithIDs(text, p.id()))
	})
	_, err := srv.client(t).Do(t.Context(), call(1, "tools/list"))
	foreign = nil
	if !errors.As(err, &foreign) || foreign.Want != "1" || foreign.Got != `\"1\"` {
		t.Errorf("HTTP: Do = %v, want a foreign id", err)
	}
}

// script copies a case's directory, so that its scripts may write beside themselves, and returns a start of one.
func script(t *testing.T, dir, file string) (StdioConfig, string) {
	t.Helper()
	tmp := t.TempDir()
	if err := os.CopyFS(tmp, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return StdioConfig{Command: "sh", Args: []string{filepath.Join(tmp, file)}, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmp}}, tmp
}

// mark3labs/mcp-go#956, mark3labs/mcp-go#963: nobody read the standard error of a child, which then stood still.
func TestCaseStderrFlood(t *testing.T) {
	c, _ := script(t, casetest.Dir(t, "stdio/stderr-flood"), "server.sh")
	s := startChild(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := s.Do(ctx, call(1, "server/discover")); err != nil {
		t.Fatal(err)
	}
	if n := len(s.StderrTail()); n > 64<<10 || n == 0 {
		t.Errorf("%d bytes of stderr kept, want some and at most 64 KiB", n)
	}
}

func TestCaseBadCommands(t *testing.T) {
	dir := casetest.Dir(t, "process/bad-commands")
	text, err := os.ReadFile(filepath.Join(dir, "commands.txt"))
	if err != nil {
		t.Fatal(err)
	}
	cwd := t.TempDir()
	if err := os.CopyFS(cwd, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"harbour-server-in-cwd", "not-executable.sh"} {
		mode := os.FileMode(0o644)
		if f == "harbour-server-in-cwd" {
			mode = 0o755
		}
		os.Remove(filepath.Join(cwd, f))
		if err := os.WriteFile(filepath.Join(cwd, f), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(cwd)
	commands := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(commands) != 6 {
		t.Fatalf("commands: %q", commands)
	}
	for _, path := range []string{os.Getenv("PATH"), "." + string(filepath.ListSeparator) + os.Getenv("PATH"), string(filepath.ListSeparator) + os.Getenv("PATH")} {
		t.Setenv("PATH", path)
		for _, command := range commands {
			begin := time.Now()
			s, err := StartStdio(t.Context(), StdioConfig{Command: command, Dir: cwd})
			if err == nil {
				s.Close()
				t.Errorf("%q started", command)
				continue
			}
			var e *Error
			if !errors.As(err, &e) || e.Op != "start" || !strings.Contains(err.Error(), `"`+command+`"`) {
				t.Errorf("%q: error %v, want one that names the command", command, err)
			}
			if time.Since(begin) > 2*time.Second {
				t.Errorf("%q took %v", command, time.Since(begin))
			}
		}
	}
	if _, err := os.Stat(filepath.Join(cwd, "injected")); err == nil {
		t.Error("a shell has run")
	}
}

func TestCaseCancelBeforeDelivery(t *testing.T) {
	pattern := casetest.Read(t, "process/cancel-before-delivery", "expected-stdin.bin")
	p := newPipes(t, Limits{})
	ended := make(chan outcome, 1)
	go func() {
		m, err := p.Do(t.Context(), call(1, "server/discover"))
		ended <- outcome{m, err}
	}()
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(strings.TrimSpace(string(pattern))).Match(line) {
		t.Errorf("first line %q does not match %q", line, pattern)
	}
	id := rawID(t, line)
	go whole(p.out, []byte(`{"jsonrpc":"2.0","id":`+id+`,"result":{}}`+"\n"))
	good(t, <-ended, id)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Do(ctx, call(2, "tools/call"))
	var e *Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
		t.Errorf("Do = %v, want the context's error alone", err)
	}
	go p.Close()
	if rest, err := io.ReadAll(p.in); err != nil || len(rest) > 0 {
		t.Errorf("after the discovery line %q was written (%v)", rest, err)
	}
}

func TestCaseEnvironmentLeak(t *testing.T) {
	t.Setenv("PARENT_ONLY_SECRET", "do-not-pass")
	c, dir := script(t, casetest.Dir(t, "process/environment-leak"), "server.sh")
	c.Env = append(c.Env, "HARBOUR_TOKEN=harbour-value")
	s := startChild(t, c)
	if _, err := s.Do(t.Context(), call(1, "server/discover")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	env, err := os.ReadFile(filepath.Join(dir, "env.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HARBOUR_TOKEN=harbour-value\n", "PATH=", "HOME="} {
		if !strings.Contains(string(env), want) {
			t.Errorf("the child's environment lacks %q: %s", want, env)
		}
	}
	if strings.Contains(string(env), "PARENT_ONLY_SECRET") || strings.Contains(string(env), "do-not-pass") {
		t.Errorf("the child's environment has the parent's secret: %s", env)
	}
}

func TestCaseExitBeforeAnswer(t *testing.T) {
	c, _ := script(t, casetest.Dir(t, "process/exit-before-answer"), "server.sh")
	s := startChild(t, c)
	begin := time.Now()
	ended := make(chan error, 3)
	for id := 1; id <= 3; id++ {
		go func() {
			_, err := s.Do(t.Context(), call(id, "tools/list"))
			ended <- err
		}()
	}
	for range 3 {
		err := <-ended
		var e *Error
		var exit *ExitError
		if !errors.As(err, &e) || !errors.As(err, &exit) || exit.Code != 3 || e.Stderr != "licence file is missing" {
			t.Errorf("Do = %v, want exit status 3 and the reason", err)
			continue
		}
		if !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "licence file is missing") {
			t.Errorf("error text %q", err)
		}
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %v", took)
	}
}

func TestCaseGracefulEOF(t *testing.T) {
	c, dir := script(t, casetest.Dir(t, "process/graceful-eof"), "server.sh")
	s := startChild(t, c)
	if _, err := s.Do(t.Context(), call(1, "server/discover")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := os.Stat(filepath.Join(dir, "flushed")); err != nil {
		t.Error("the server was not left the time to save its work")
	}
	if _, err := os.Stat(filepath.Join(dir, "signalled")); err == nil {
		t.Error("the server was sent a signal")
	}
	if text, code := s.proc.status(); code != 0 {
		t.Errorf("the server ended with %s", text)
	}
}

func TestCaseWrapperChain(t *testing.T) {
	source := casetest.Dir(t, "process/wrapper-chain")
	for _, working := range []bool{true, false} {
		c, dir := script(t, source, "wrapper.sh")
		c.Grace = 200 * time.Millisecond
		if !working {
			if err := os.WriteFile(filepath.Join(dir, "discover.bin"), []byte("no message\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := startChild(t, c)
		_, err := s.Do(t.Context(), call(1, "server/discover"))
		if working != (err == nil) {
			t.Fatalf("discovery through the wrapper: %v", err)
		}
		members := s.proc.tree
		begin := time.Now()
		s.Close()
		if took := time.Since(begin); took > c.Grace+2*time.Second {
			t.Errorf("Close took %v", took)
		}
		if left := survivors(members); left > 0 {
			t.Errorf("%d processes of the tree are alive", left)
		}
	}
}
