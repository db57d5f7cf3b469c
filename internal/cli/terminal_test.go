//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

const terminalCatalog = `server "harbour" {
  stdio {
    command = "fakeserver"
    args    = ["../offer.json"]
  }
  tools = ["berth_status"]
}

agent "pilot" {
  tools = [server.harbour]
}
`

// screen is mcpcat under a pseudo terminal.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	mu   sync.Mutex
	text bytes.Buffer
	done chan struct{}
}

func onTerminal(t *testing.T, dir, state string, args ...string) *screen {
	t.Helper()
	path, err := exec.LookPath("mcpcat")
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, cmd: exec.Command(path, args...), done: make(chan struct{})}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "TERM=xterm", "NO_COLOR=")
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		buf := make([]byte, 4096)
		for {
			n, err := s.tty.Read(buf)
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return // EIO once the other side is closed
			}
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it has ended in a test that passed
		_ = s.tty.Close()
	})
	return s
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// wait waits until a text is on the screen.
func (s *screen) wait(text string) {
	s.t.Helper()
	for range 1000 {
		if strings.Contains(s.String(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("no %q on the screen:\n%s", text, s)
}

func (s *screen) enter(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.tty, text); err != nil {
		s.t.Fatal(err)
	}
}

// exit wants the program to end with a status.
func (s *screen) exit(want int) {
	s.t.Helper()
	stuck := time.AfterFunc(30*time.Second, func() { _ = s.cmd.Process.Kill() }) // the status then tells
	err := s.cmd.Wait()
	stuck.Stop()
	<-s.done
	var code *exec.ExitError
	switch {
	case err == nil && want == 0:
	case errors.As(err, &code) && code.ExitCode() == want:
	default:
		s.t.Fatalf("ended with %v, want status %d:\n%s", err, want, s)
	}
}

func terminalPlace(t *testing.T) (dir, state string) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "catalog")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"catalog/catalog.hcl": terminalCatalog,
		"offer.json":          `{"tools":[{"name":"berth_status","description":"Says whether a berth is free.","inputSchema":{"type":"object"}}]}`,
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, filepath.Join(root, "state")
}

// TestTerminal is the conversation with a person: the question of first contact, asked once and remembered, then the
// approval of a plan, where everything but yes means no.
func TestTerminal(t *testing.T) {
	dir, state := terminalPlace(t)

	s := onTerminal(t, dir, state, "apply")
	s.wait(`Only "yes" lets mcpcat start this command, now and later: `)
	if text := s.String(); !strings.Contains(text, `command    fakeserver`) || !strings.Contains(text, `args       ["../offer.json"]`) || strings.Contains(text, "asking servers") {
		t.Errorf("the question does not show the command, or came too late:\n%s", text)
	}
	s.enter("y\n")
	s.wait("not checked")
	s.wait(`Pin this? Only "yes" is accepted: `)
	s.enter("no\n")
	s.exit(2)
	if _, err := os.Stat(filepath.Join(dir, "catalog.lock.db")); err == nil {
		t.Error("a lock was written without approval")
	}

	s = onTerminal(t, dir, state, "plan")
	s.wait("now and later: ")
	s.enter("yes\n")
	s.wait("1 tool change, 1 server change")
	s.exit(0)
	if text := s.String(); !strings.Contains(text, "\x1b[32m") {
		t.Errorf("no colour on a terminal:\n%q", text)
	}

	s = onTerminal(t, dir, state, "-no-color", "apply")
	s.wait(`Pin this? Only "yes" is accepted: `)
	s.enter("yes\n")
	s.wait("Applied: 1 added")
	s.exit(0)
	if text := s.String(); strings.Contains(text, "now and later") || strings.Contains(text, "\x1b[32m") {
		t.Errorf("asked again, or coloured although -no-color:\n%q", text)
	}

	s = onTerminal(t, dir, state, "apply", "-auto-approve")
	s.wait("Nothing to apply")
	s.exit(0)
}

// TestTerminalInterrupt stops a question with the interrupt key. Nothing is written and nothing is remembered.
func TestTerminalInterrupt(t *testing.T) {
	dir, state := terminalPlace(t)
	s := onTerminal(t, dir, state, "plan")
	s.wait("now and later: ")
	s.enter("\x03")
	s.exit(130)
	if !strings.Contains(s.String(), "Interrupted") {
		t.Errorf("the interrupt is not told:\n%s", s)
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("something was remembered")
	}
	if err := s.cmd.Process.Signal(syscall.Signal(0)); err == nil {
		t.Error("the program is left")
	}
}
