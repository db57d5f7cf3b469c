package transport

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// childVar makes the test binary a process of a tree; its value says which one.
const childVar = "MCPCAT_TRANSPORT_TEST_CHILD"

func TestMain(m *testing.M) {
	switch role := os.Getenv(childVar); role {
	case "sleep":
		time.Sleep(2 * time.Minute)
		os.Exit(0)
	case "serve", "stubborn":
		if err := serveFamily(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		if role == "stubborn" {
			time.Sleep(2 * time.Minute)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveFamily starts processes and answers requests with their numbers.
func serveFamily() error {
	var pids []int
	for _, flags := range []uint32{0, windows.CREATE_NEW_PROCESS_GROUP, windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP} {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childVar+"=sleep")
		c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: flags}
		if err := c.Start(); err != nil {
			return err
		}
		pids = append(pids, c.Process.Pid)
	}
	answer, err := json.Marshal(pids)
	if err != nil {
		return err
	}
	answer = append(append([]byte(`{"pids":`), answer...), '}')
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		m, err := jsonrpc.Decode(line, strictjson.Limits{})
		if err != nil {
			return err
		}
		if m.Kind == jsonrpc.Request {
			os.Stdout.Write(append(jsonrpc.AppendResult(nil, m.ID, answer), '\n'))
		}
	}
}

func running(pid uint32) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, pid)
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	event, err := windows.WaitForSingleObject(h, 0)
	return err == nil && event == uint32(windows.WAIT_TIMEOUT)
}

func TestNothingOfATreeIsLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		role, status string
		end          func(s *Stdio)
	}{
		"close":               {"serve", "exit status 0", func(s *Stdio) { s.Close() }},
		"close of a stubborn": {"stubborn", "exit status 1", func(s *Stdio) { s.Close() }},
		"killed from outside": {"serve", "exit status 1", func(s *Stdio) { _ = s.proc.cmd.Process.Kill(); <-s.stopped }},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := StartStdio(t.Context(), StdioConfig{
				Command: os.Args[0],
				Env:     append(os.Environ(), childVar+"="+tt.role),
				Grace:   3 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			m, err := s.Do(t.Context(), call(1, "server/discover"))
			if err != nil {
				t.Fatal(err)
			}
			var answer struct{ PIDs []uint32 }
			if err := json.Unmarshal(m.Result, &answer); err != nil || len(answer.PIDs) != 3 {
				t.Fatalf("helpers: %s, %v", m.Result, err)
			}
			for _, pid := range answer.PIDs {
				if !running(pid) {
					t.Errorf("helper %d does not run before the end", pid)
				}
			}
			begin := time.Now()
			tt.end(s)
			t.Logf("the end took %v", time.Since(begin))
			for _, pid := range answer.PIDs {
				if running(pid) {
					t.Errorf("helper %d runs after the end", pid)
				}
			}
			if got, _ := s.proc.status(); got != tt.status {
				t.Errorf("the server ended with %q, want %q", got, tt.status)
			}
		})
	}
}

func TestProcessOutsideOfItsJobIsRefused(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childVar+"=sleep")
	c.SysProcAttr = sysProcAttr()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if _, err := newTree(c.Process, nil, roots{}, ""); err == nil || !strings.Contains(err.Error(), "job object") {
		t.Errorf("newTree of a process that cannot be assigned = %v, want an error", err)
	}
}
