//go:build unix

package transport

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCommandsThatCannotStart(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := file("script", "#!/bin/sh\n", 0o755)
	tests := []struct {
		name string
		c    StdioConfig
		want string
		is   error
	}{
		{"nowhere in PATH", StdioConfig{Command: "no-such-server"}, "not found in $PATH", exec.ErrNotFound},
		{"missing", StdioConfig{Command: filepath.Join(dir, "none")}, "no such file", fs.ErrNotExist},
		{"missing in Dir", StdioConfig{Command: "./none", Dir: dir}, "no such file", fs.ErrNotExist},
		{"a directory", StdioConfig{Command: dir}, "is a directory", syscall.EISDIR},
		{"not executable", StdioConfig{Command: file("plain", "#!/bin/sh\n", 0o644)}, "permission denied", fs.ErrPermission},
		{"no interpreter", StdioConfig{Command: file("node", "#! /no/such/node --x\nx", 0o755)}, `its first line asks for the interpreter "/no/such/node": no such file`, fs.ErrNotExist},
		{"a script with CRLF", StdioConfig{Command: file("crlf", "#!/bin/sh\r\n", 0o755)}, `interpreter "/bin/sh\r"`, fs.ErrNotExist},
		{"an interpreter that is none", StdioConfig{Command: file("tmp", "#!"+dir, 0o755)}, `the interpreter "` + dir + `" that its first line asks for: permission denied`, fs.ErrPermission},
		{"no program", StdioConfig{Command: file("text", "harbour\n", 0o755)}, "neither a program for this machine nor a script", syscall.ENOEXEC},
		{"empty", StdioConfig{Command: file("empty", "", 0o755)}, "neither a program", syscall.ENOEXEC},
		{"a long argument", StdioConfig{Command: script, Args: []string{strings.Repeat("x", 8<<20)}}, "arguments and environment have 83", syscall.E2BIG},
		{"a long environment", StdioConfig{Command: script, Env: []string{"A=" + strings.Repeat("x", 8<<20)}}, "arguments and environment have 83", syscall.E2BIG},
		{"a NUL in an argument", StdioConfig{Command: script, Args: []string{"a", "b\x00c"}}, "a NUL byte in argument 2", nil},
		{"a NUL in the environment", StdioConfig{Command: script, Env: []string{"TOKEN=s3cret\x00"}}, `a NUL byte in the environment variable "TOKEN"`, nil},
		{"a NUL in the command", StdioConfig{Command: "a\x00b"}, "a NUL byte in the command", nil},
		{"no working directory", StdioConfig{Command: script, Dir: filepath.Join(dir, "none")}, `its working directory "` + filepath.Join(dir, "none") + `": no such file`, fs.ErrNotExist},
		{"a file as working directory", StdioConfig{Command: script, Dir: script}, `its working directory "` + script + `": not a directory`, syscall.ENOTDIR},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(children(t))
			s, err := StartStdio(t.Context(), tt.c)
			if err == nil {
				s.Close()
				t.Fatal("it started")
			}
			var e *Error
			named := strings.ReplaceAll(tt.c.Command, "\x00", `\x00`)
			if !errors.As(err, &e) || e.Op != "start" || !strings.Contains(err.Error(), `"`+named+`": `) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%.300v, want the command and %q", err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%.300v is not %v", err, tt.is)
			}
			if len(err.Error()) > 1000 || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error shows arguments or environment: %.2000v", err)
			}
			printable(t, err)
			if after := children(t); len(after) > before {
				t.Errorf("children left: %q", after)
			}
		})
	}
}

// children returns what stands in /proc of the children of this process, dead or alive; none where there is no /proc.
func children(t *testing.T) (stats []string) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range tasks {
		b, err := os.ReadFile(path)
		if err == nil { // a thread may have ended
			stats = append(stats, strings.Fields(string(b))...)
		}
	}
	return stats
}

// TestCommandIsResolvedOnce: the file that was found is the one that runs, by its whole path, and the program is told the
// name that it was called by.
func TestCommandIsResolvedOnce(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{bin, filepath.Join(dir, "sub"), dir} {
		if err := os.Symlink("/bin/sh", filepath.Join(place, "harbour-server")); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+dir)
	t.Chdir(dir)
	for _, tt := range []struct{ command, dir, want string }{
		{"harbour-server", "", filepath.Join(bin, "harbour-server")},
		{"harbour-server", filepath.Join(dir, "sub"), filepath.Join(bin, "harbour-server")},
		{"./harbour-server", "", filepath.Join(dir, "harbour-server")},
		{"./harbour-server", filepath.Join(dir, "sub"), filepath.Join(dir, "sub", "harbour-server")},
		{"sub/harbour-server", "", filepath.Join(dir, "sub", "harbour-server")},
		{filepath.Join(dir, "harbour-server"), filepath.Join(dir, "sub"), filepath.Join(dir, "harbour-server")},
	} {
		s := startChild(t, StdioConfig{Command: tt.command, Args: []string{"-c", `echo "$0 in $(pwd)" >&2; read x`, tt.command}, Dir: tt.dir, Env: []string{"PATH=/bin:/usr/bin"}})
		if s.proc.cmd.Path != tt.want || s.proc.cmd.Args[0] != tt.command {
			t.Errorf("%q in %q runs %q as %q, want %q", tt.command, tt.dir, s.proc.cmd.Path, s.proc.cmd.Args[0], tt.want)
		}
		s.Close()
	}
}

// TestStopOrder: stdin is closed, SIGTERM comes Grace later, and SIGKILL to a server that survives that.
func TestStopOrder(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	s := startChild(t, StdioConfig{
		Command: "sh",
		Args: []string{"-c", `trap 'echo term >>"$0"' TERM; read x; echo "$x" | sed 's/"method".*/"result":{}}/'
			while read x; do :; done; echo eof >>"$0"; while :; do sleep 0.02; done`, log},
		Env:   []string{"PATH=" + os.Getenv("PATH")},
		Grace: 300 * time.Millisecond,
	})
	if _, err := s.Do(t.Context(), call(1, "server/discover")); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	s.Close()
	took := time.Since(begin)
	b, err := os.ReadFile(log)
	if err != nil || string(b) != "eof\nterm\n" {
		t.Errorf("the server saw %q, %v, want the end of its input and then SIGTERM, once", b, err)
	}
	if text, _ := s.proc.status(); text != "signal: killed" {
		t.Errorf("the server ended with %q", text)
	}
	if took < 300*time.Millisecond+termTime || took > 7*time.Second {
		t.Errorf("Close took %v, want a little more than the times of its steps", took)
	}
}

// TestEscapedGrandchildHoldsNothingUp: a process that is not found, and writes into the pipe of a server that has ended,
// holds up neither the calls nor Close, and takes nothing away from what the server has said.
func TestEscapedGrandchildHoldsNothingUp(t *testing.T) {
	list := filepath.Join(t.TempDir(), "pid")
	s := startChild(t, StdioConfig{
		Command: "sh",
		Args: []string{"-c", `(setsid env -i sh -c 'echo $$ >"$0"; while :; do echo noise >&2; sleep 0.01; done' "$0" &)
			while ! [ -s "$0" ]; do sleep 0.01; done; read x; echo last words >&2; exit 3`, list},
		Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := s.Do(ctx, call(1, "server/discover"))
	b, readErr := os.ReadFile(list)
	if readErr != nil {
		t.Fatal(readErr)
	}
	pid, readErr := strconv.Atoi(strings.TrimSpace(string(b)))
	if readErr != nil {
		t.Fatal(readErr)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("Do = %v, want exit status 3", err)
	}
	begin := time.Now()
	s.Close()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
	if tail := string(s.StderrTail()); !strings.Contains(tail, "last words\n") || !strings.Contains(tail, "noise\n") {
		t.Errorf("stderr: %q, want what the server and the grandchild have written", tail)
	}
	// Nobody reads any more: a writer learns that and ends, as in any pipeline.
	for end := time.Now().Add(5 * time.Second); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the grandchild still writes")
		}
	}
}
