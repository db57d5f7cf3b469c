package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childVar makes the test binary a server. Its value is the number of the process that started it.
const childVar = "MCPCAT_MCP_TEST_CHILD_OF"

// stock is what a test may leave no more of than there was: goroutines everywhere, descriptors and child processes on
// Linux.
type stock struct {
	t           *testing.T
	goroutines  goleak.Option
	descriptors map[string]int // by kind
	children    map[int]string // by number, with their names
}

func takeStock(t *testing.T) *stock {
	t.Helper()
	return &stock{t: t, goroutines: goleak.IgnoreCurrent(), descriptors: descriptors(t), children: children(t)}
}

// compare waits for what is on its way out, and fails for what stays.
func (s *stock) compare() {
	s.t.Helper()
	goleak.VerifyNone(s.t, s.goroutines)
	var more string
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		more = ""
		for kind, n := range descriptors(s.t) {
			if was := s.descriptors[kind]; n > was {
				more += fmt.Sprintf("\n%d descriptors of %s, there were %d", n, kind, was)
			}
		}
		for pid, name := range children(s.t) {
			if _, was := s.children[pid]; !was {
				more += fmt.Sprintf("\nprocess %d, %s", pid, name)
			}
		}
		if more == "" {
			return
		}
		if time.Now().After(end) {
			s.t.Errorf("left behind:%s", more)
			return
		}
	}
}

// descriptors counts the open descriptors of this process by what they are: files by name, the rest by kind. It is empty
// where there is no /proc.
func descriptors(t *testing.T) map[string]int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.HasPrefix(to, "/proc/") {
			continue // the directory that is being read
		}
		kind, _, _ := strings.Cut(to, "[")
		n[kind]++
	}
	return n
}

// children returns the child processes of this process, dead ones that nobody has reaped included, and all servers that
// it has started, also if they have lost their parent. It is empty where there is no /proc.
func children(t *testing.T) map[int]string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Fatalf("no processes in /proc: %v", err)
	}
	self := strconv.Itoa(os.Getpid())
	found := map[int]string{}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		name, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest) // state, parent
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(fields) < 2 {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ")) // of other users' it cannot be read
		if fields[1] == self || strings.Contains(string(environ), childVar+"="+self+"\x00") {
			found[pid] = name + ") " + fields[0]
		}
	}
	return found
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("not within 10 s: %s", what)
			return
		}
	}
}
