package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/procs/procstest"
)

// serverArg makes the test binary an MCP server: serverArg MODE TOKEN LIST KINDS.
const serverArg = "mcpcat-test-server"

// programVar makes the test binary mcpcat.
const programVar = "MCPCAT_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(programVar) != "":
		main()
	case len(os.Args) == 6 && os.Args[1] == serverArg:
		if err := server(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// server starts its helpers at the first request and then answers, in its mode.
func server(mode, token, list, kinds string) error {
	in := bufio.NewReader(os.Stdin)
	for spawned := false; ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && mode == "stubborn" {
			time.Sleep(time.Hour)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !spawned && kinds != "" {
			if err := procstest.Spawn(token, list, strings.Split(kinds, ",")...); err != nil {
				return err
			}
		}
		spawned = true
		switch mode {
		case "rubbish":
			fmt.Println("harbour master's office, good morning")
			continue
		case "stubborn":
			signal.Ignore(syscall.SIGTERM)
			fallthrough
		case "silent":
			if err := os.WriteFile(list+".ready", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
				return err
			}
			continue
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if len(m.ID) == 0 {
			continue
		}
		result := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}}}`
		switch m.Method {
		case "tools/list":
			result = `{"resultType":"complete","tools":[{"name":"moor","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`
		case "tools/call":
			// A helper that loses its parent and ends soon.
			if err := exec.Command("sh", "-c", "setsid sleep 0.01 &").Run(); err != nil {
				return err
			}
			result = `{"resultType":"complete","content":[{"type":"text","text":"moored"}]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// family is one mcpcat and what its server leaves behind.
type family struct {
	t           *testing.T
	token, list string
	dir         string
}

var families int

func newFamily(t *testing.T) *family {
	dir := t.TempDir()
	f := &family{t: t, token: fmt.Sprintf("m%d.%d", os.Getpid(), families), list: filepath.Join(dir, "list"), dir: dir}
	families++
	t.Cleanup(func() { procstest.End(f.token) })
	return f
}

// server is the command line of a server.
func (f *family) server(mode string, kinds ...string) []string {
	return []string{os.Args[0], serverArg, mode, f.token, f.list, strings.Join(kinds, ",")}
}

// mcpcat is a command of the program that is to end within a minute.
func (f *family) mcpcat(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	f.t.Cleanup(cancel)
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Dir = f.dir
	c.Env = append(os.Environ(), programVar+"=1", "XDG_STATE_HOME="+f.dir, "GORACE=atexit_sleep_ms=0")
	return c
}

// gone fails unless nothing of the family is alive, or a zombie.
func (f *family) gone() {
	f.t.Helper()
	if alive, zombies := procstest.Find(f.token); len(alive)+len(zombies) > 0 {
		f.t.Errorf("alive after mcpcat has ended: %q; zombies: %q", alive, zombies)
	}
}

// ready waits for a server that answers nothing and returns its number.
func (f *family) ready() int {
	f.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if b, err := os.ReadFile(f.list + ".ready"); err == nil && len(b) > 0 {
			pid, err := strconv.Atoi(string(b))
			if err != nil {
				f.t.Fatal(err)
			}
			return pid
		}
	}
	f.t.Fatal("the server did not become ready")
	return 0
}

func status(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

func TestNothingIsLeftAtTheEnd(t *testing.T) {
	for _, tt := range []struct {
		mode string
		want int
	}{{"good", 0}, {"rubbish", 1}} {
		t.Run(tt.mode, func(t *testing.T) {
			f := newFamily(t)
			out, err := f.mcpcat(append([]string{"discover", "--timeout=1m", "--"}, f.server(tt.mode, procstest.All...)...)...).CombinedOutput()
			if got := status(t, err); got != tt.want {
				t.Errorf("exit status %d, want %d\n%s", got, tt.want, out)
			}
			if list, err := os.ReadFile(f.list); err != nil || strings.Count(string(list), "\n") != procstest.Count(procstest.All...) {
				t.Errorf("helpers that were there: %q, %v\n%s", list, err, out)
			}
			f.gone()
		})
	}
}

// TestNothingIsLeftOfTwo: what has nothing left by which one of two servers is known as its origin outlives both, and not
// mcpcat.
func TestNothingIsLeftOfTwo(t *testing.T) {
	a, b := newFamily(t), newFamily(t)
	var catalog strings.Builder
	for i, f := range []*family{a, b} {
		args, err := json.Marshal(f.server("good", procstest.Few...)[1:])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&catalog, "server \"quay%d\" {\n  stdio {\n    command = %q\n    args = %s\n  }\n  tools = [\"moor\"]\n}\n", i, os.Args[0], args)
	}
	if err := os.WriteFile(filepath.Join(a.dir, "catalog.hcl"), []byte(catalog.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := a.mcpcat("plan", "-contact=all").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	a.gone()
	b.gone()
}

func TestNothingIsLeftAfterASignal(t *testing.T) {
	for _, tt := range []struct {
		name, mode string
		signals    []syscall.Signal
		within     time.Duration
	}{
		{"interrupt", "silent", []syscall.Signal{syscall.SIGINT}, 10 * time.Second},
		{"termination", "silent", []syscall.Signal{syscall.SIGTERM}, 10 * time.Second},
		{"hang-up", "silent", []syscall.Signal{syscall.SIGHUP}, 10 * time.Second},
		{"interrupt, stubborn server", "stubborn", []syscall.Signal{syscall.SIGINT}, 15 * time.Second},
		// The second one does not wait for the server, which would take three seconds.
		{"second interrupt", "stubborn", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 2500 * time.Millisecond},
		{"second termination", "stubborn", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 2500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if signal.Ignored(tt.signals[0]) {
				t.Skipf("%v is ignored here, as nohup does, and so mcpcat ignores it", tt.signals[0])
			}
			f := newFamily(t)
			c := f.mcpcat(append([]string{"discover", "--timeout=1m", "--"}, f.server(tt.mode, procstest.Few...)...)...)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			f.ready()
			if alive, _ := procstest.Find(f.token); len(alive) != len(procstest.Few) {
				t.Fatalf("helpers before the end: %q, want %q", alive, procstest.Few)
			}
			begin := time.Now()
			for i, s := range tt.signals {
				if i > 0 {
					time.Sleep(100 * time.Millisecond) // two at once are one
				}
				if err := c.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			if got := status(t, c.Wait()); got != 130 {
				t.Errorf("exit status %d, want 130", got)
			}
			if took := time.Since(begin); took > tt.within {
				t.Errorf("the end took %v", took)
			}
			f.gone()
		})
	}
}

func TestNothingIsLeftOfAKilledServer(t *testing.T) {
	f := newFamily(t)
	c := f.mcpcat(append([]string{"discover", "--timeout=1m", "--"}, f.server("silent", procstest.Few...)...)...)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(f.ready(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := status(t, c.Wait()); got != 1 || !strings.Contains(out.String(), "signal: killed") {
		t.Errorf("exit status %d, want 1 and how the server ended\n%s", got, out.String())
	}
	f.gone()
}

// serve starts mcpcat serve for an agent that may call one tool, and returns its standard input and output.
func (f *family) serve(kinds ...string) (c *exec.Cmd, in io.WriteCloser, out io.ReadCloser) {
	f.t.Helper()
	args, err := json.Marshal(f.server("good", kinds...)[1:])
	if err != nil {
		f.t.Fatal(err)
	}
	catalog := fmt.Sprintf("server \"quay\" {\n  stdio {\n    command = %q\n    args = %s\n  }\n  tools = [\"moor\"]\n}\nagent \"pilot\" {\n  tools = [server.quay]\n}\n", os.Args[0], args)
	if err := os.WriteFile(filepath.Join(f.dir, "catalog.hcl"), []byte(catalog), 0o600); err != nil {
		f.t.Fatal(err)
	}
	for _, args := range [][]string{{"plan", "-contact=all", "-out=p"}, {"apply", "p"}} {
		if text, err := f.mcpcat(args...).CombinedOutput(); err != nil {
			f.t.Fatalf("%q: %v\n%s", args, err, text)
		}
	}
	f.gone()
	if err := os.RemoveAll(f.list); err != nil {
		f.t.Fatal(err)
	}
	c = f.mcpcat("serve", "-agent=pilot", "-stdio")
	if in, err = c.StdinPipe(); err != nil {
		f.t.Fatal(err)
	}
	if out, err = c.StdoutPipe(); err != nil {
		f.t.Fatal(err)
	}
	var log strings.Builder
	c.Stderr = &log
	f.t.Cleanup(func() {
		if f.t.Failed() {
			f.t.Log(log.String())
		}
	})
	if err := c.Start(); err != nil {
		f.t.Fatal(err)
	}
	return c, in, out
}

const callLine = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"quay__moor","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"

// TestOrphansAreReapedWhileServing: a server that daemonises a helper at each call leaves no zombie with mcpcat.
func TestOrphansAreReapedWhileServing(t *testing.T) {
	f := newFamily(t)
	c, in, out := f.serve(procstest.Cleared, procstest.Daemon)
	answers := bufio.NewReader(out)
	const calls = 20
	for id := range calls {
		if _, err := fmt.Fprintf(in, callLine, id+1); err != nil {
			t.Fatal(err)
		}
		if answer, err := answers.ReadString('\n'); err != nil || !strings.Contains(answer, "moored") {
			t.Fatalf("answer %q, %v", answer, err)
		}
	}
	var zombies, adopted []string
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		zombies, adopted = children(t, c.Process.Pid)
		if len(zombies) == 0 && len(adopted) <= 3 || time.Now().After(end) {
			break
		}
	}
	if len(zombies) > 0 || len(adopted) != 3 { // the server and the two helpers that stay
		t.Errorf("children of mcpcat: alive %q, zombies %q, want the server and two helpers", adopted, zombies)
	}
	in.Close()
	if got := status(t, c.Wait()); got != 0 {
		t.Errorf("exit status %d, want 0", got)
	}
	f.gone()
}

// children returns the children of a process, by name.
func children(t *testing.T, parent int) (zombies, alive []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		name, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(parent) {
			continue
		}
		if fields[0] == "Z" {
			zombies = append(zombies, name)
		} else {
			alive = append(alive, name)
		}
	}
	return zombies, alive
}

// TestNothingIsLeftWhenTheAgentGoesAway: an answer that nobody reads does not end mcpcat where it stands.
func TestNothingIsLeftWhenTheAgentGoesAway(t *testing.T) {
	f := newFamily(t)
	c, in, out := f.serve(procstest.Few...)
	answers := bufio.NewReader(out)
	fmt.Fprintf(in, callLine, 1)
	if answer, err := answers.ReadString('\n'); err != nil || !strings.Contains(answer, "moored") {
		t.Fatalf("answer %q, %v", answer, err)
	}
	out.Close()
	fmt.Fprintf(in, callLine, 2)
	if got := status(t, c.Wait()); got != 1 {
		t.Errorf("exit status %d, want 1", got)
	}
	in.Close()
	f.gone()
}
