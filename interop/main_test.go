//go:build unix

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bin is the directory with the programs that TestMain built.
var bin string

const (
	everything = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
	memory     = "github.com/modelcontextprotocol/go-sdk/examples/server/memory"

	// patience bounds every wait for a program. No test needs more than a small part of it.
	patience = 60 * time.Second
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of the time these tests wait for servers that do not answer: more of them fit than there are processors.
	if err := flag.Set("test.parallel", "12"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "mcpcat-interop-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin = dir
		if err := buildAll(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

func buildAll() error {
	if err := build("..", "-o", program("mcpcat"), "./cmd/mcpcat"); err != nil {
		return err
	}
	return build(filepath.Join("..", "testdata", "peers"), "-o", bin+string(filepath.Separator),
		"./cmd/harbour", "./cmd/odd", "./cmd/refclient", everything, memory)
}

func build(dir string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", strings.Join(args, " "), dir, err, out)
	}
	return nil
}

func program(name string) string { return filepath.Join(bin, name) }

// environment is what mcpcat runs with: the built programs on PATH, and a home that knows no earlier acceptance.
func environment(home string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH", name == "HOME", strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "MCPCAT_"):
		case strings.EqualFold(name, "http_proxy"), strings.EqualFold(name, "https_proxy"), strings.EqualFold(name, "all_proxy"):
		default:
			env = append(env, kv)
		}
	}
	return append(env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+home, "NO_COLOR=1")
}

// A place is a directory with a catalog, and the mcpcat that is run there.
type place struct {
	dir, home string
	mcpcat    string
}

// newPlace makes a directory whose catalog.hcl is catalog.
func newPlace(t *testing.T, catalog string) *place {
	t.Helper()
	p := &place{dir: t.TempDir(), home: t.TempDir(), mcpcat: program("mcpcat")}
	p.write(t, "catalog.hcl", catalog)
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(p.path(name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// read returns the bytes of a file, nil if there is none.
func (p *place) read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(p.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return b
}

// locked returns the bytes of lock and mirror.
func (p *place) locked(t *testing.T) [2]string {
	t.Helper()
	return [2]string{string(p.read(t, "catalog.lock.db")), string(p.read(t, "catalog.lock.txt"))}
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.mcpcat, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, environment(p.home), 5*time.Second
	return cmd
}

// An outcome is how a program ended.
type outcome struct {
	line           string
	exit           int
	stdout, stderr string
}

func (o outcome) String() string {
	return fmt.Sprintf("%s: exit status %d\n--- stdout\n%s\n--- stderr\n%s", o.line, o.exit, o.stdout, o.stderr)
}

// run runs mcpcat to its end, whatever that is.
func (p *place) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return finish(t, p.command(args...))
}

// must runs mcpcat and wants the exit status.
func (p *place) must(t *testing.T, exit int, args ...string) outcome {
	t.Helper()
	o := p.run(t, args...)
	if o.exit != exit {
		t.Fatalf("want exit status %d: %v", exit, o)
	}
	return o
}

// pin plans with first contact allowed and applies what was planned.
func (p *place) pin(t *testing.T) {
	t.Helper()
	p.must(t, 0, "plan", "-contact=all", "-out=pin.mcpplan")
	p.must(t, 0, "apply", "pin.mcpplan")
}

func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return ended(t, cmd, &stdout, &stderr)
}

// ended waits for a started program.
func ended(t *testing.T, cmd *exec.Cmd, stdout, stderr *bytes.Buffer) outcome {
	t.Helper()
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	line := filepath.Base(cmd.Path) + " " + strings.Join(cmd.Args[1:], " ")
	if !late.Stop() {
		t.Fatalf("%s: still running after %v\n--- stdout\n%s\n--- stderr\n%s", line, patience, stdout, stderr)
	}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		t.Fatalf("%s: %v", line, err)
	}
	return outcome{line, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// ask sends one request with the reference client and returns the exact bytes of the result.
func ask(t *testing.T, method, params string, server ...string) []byte {
	t.Helper()
	args := []string{method, params}
	if len(server) == 1 && strings.HasPrefix(server[0], "http://") {
		args = append([]string{"-url=" + server[0]}, args...)
	} else {
		args = append(append(args, "--"), server...)
	}
	cmd := exec.Command(program("refclient"), args...)
	cmd.Env = environment(t.TempDir())
	o := finish(t, cmd)
	if o.exit != 0 {
		t.Fatal(o)
	}
	return []byte(strings.TrimSuffix(o.stdout, "\n"))
}

// serveHTTP starts a server that writes "listening at ADDR" to standard error, and returns its URL. The server is
// killed when the test ends.
func serveHTTP(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(program(args[0]), args[1:]...)
	cmd.Env = environment(t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, addr, ok := strings.Cut(lines.Text(), "listening at "); ok {
			go io.Copy(io.Discard, stderr)
			return "http://" + addr
		}
	}
	t.Fatalf("%v ended without listening", args)
	return ""
}

// everythingHTTP starts the SDK's everything server over HTTP; it cannot tell its port, so one is chosen before.
func everythingHTTP(t *testing.T) string {
	t.Helper()
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		l.Close()
		cmd := exec.Command(program("everything-server"), "-http="+addr)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		go func() { cmd.Wait(); close(gone) }()
		t.Cleanup(func() {
			cmd.Process.Kill()
			<-gone
		})
		if listens(addr, gone) {
			return "http://" + addr
		}
	}
	t.Fatal("the everything server does not listen")
	return ""
}

// listens waits until something accepts connections at addr; false if the process is gone before.
func listens(addr string, gone <-chan struct{}) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		select {
		case <-gone:
			return false
		default:
		}
		if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			c.Close()
			return true
		}
	}
	return false
}

// alive says whether the process exists and has not ended. A zombie has ended.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) || syscall.Kill(pid, 0) == nil
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z"))
}

// eventually waits until ok is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within %v: %s", patience, what)
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// members decodes one JSON object and keeps each member's bytes.
func members(t *testing.T, object []byte) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(object, &m); err != nil {
		t.Fatalf("%v in %q", err, object)
	}
	return m
}
