//go:build unix

package client

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// patience bounds every wait. No test needs more than a small part of it.
const patience = 60 * time.Second

// bin is the directory with the programs that TestMain built: those of the Go SDK in go-sdk, those of mcp-go in mcp-go.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of the time these tests wait for servers.
	if err := flag.Set("test.parallel", "12"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "mcpcat-client-")
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
	const sdk = "github.com/modelcontextprotocol/go-sdk/"
	err := build("peers", "go-sdk", "./cmd/harbour", sdk+"conformance/everything-server", sdk+"examples/server/everything",
		sdk+"examples/server/memory", sdk+"examples/server/toolschemas")
	if err != nil {
		return err
	}
	const mcpgo = "github.com/mark3labs/mcp-go/examples/"
	return build("peers-mcpgo", "mcp-go", mcpgo+"everything", mcpgo+"conformance", "./cmd/ferry")
}

// build builds packages of the module in testdata into a directory of bin.
func build(module, dir string, packages ...string) error {
	out := filepath.Join(bin, dir)
	if err := os.Mkdir(out, 0o700); err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{"build", "-o", out + string(filepath.Separator)}, packages...)...)
	cmd.Dir = filepath.Join("..", "..", "testdata", module)
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", cmd.Dir, err, b)
	}
	return nil
}

func program(name string) string { return filepath.Join(bin, filepath.FromSlash(name)) }

// node returns the pinned node, after installing what conformance pins.
var node = sync.OnceValues(func() (string, error) {
	cmd := exec.Command(filepath.Join("..", "..", "conformance", "install.sh"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd.Path, err, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
})

// A peer is a server in one transport.
type peer struct {
	name      string
	transport func(*testing.T) mcp.Transport
}

// overStdio is a peer that is a child of the client.
func overStdio(command string, args ...string) peer {
	return peer{"stdio", func(*testing.T) mcp.Transport { return mcp.NewStdioTransport(command, args) }}
}

// overHTTP is a peer at a URL.
func overHTTP(url string) peer {
	return peer{"http", func(*testing.T) mcp.Transport {
		transport := mcp.NewStreamableHTTPTransport(url)
		transport.AllowPrivate = true
		return transport
	}}
}

// each runs the test over every transport, in parallel.
func each(t *testing.T, peers []peer, test func(*testing.T, peer)) {
	t.Helper()
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// connect connects to the peer. The client is closed when the test ends.
func (p peer) connect(t *testing.T, opts ...mcp.Option) *mcp.Client {
	t.Helper()
	client, err := mcp.Connect(within(t), p.transport(t), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return client
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// start starts a server that is killed when the test ends. Its standard error goes to stderr if that is not nil.
func start(t *testing.T, cmd *exec.Cmd, stderr io.Writer) (gone <-chan struct{}) {
	t.Helper()
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	return ended
}

// announced starts a server that writes "listening at ADDR" to standard error, and returns ADDR.
func announced(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	r, w := io.Pipe()
	gone := start(t, cmd, w)
	go func() { <-gone; w.Close() }()
	lines := bufio.NewScanner(r)
	var said strings.Builder
	for lines.Scan() {
		if _, addr, ok := strings.Cut(lines.Text(), "listening at "); ok {
			go io.Copy(io.Discard, r)
			return addr
		}
		fmt.Fprintln(&said, lines.Text())
	}
	t.Fatalf("%v ended without listening\n%s", cmd.Args, &said)
	return ""
}

// atPort starts a server that is told where to listen and does not say where it does. A port that was free a moment ago may
// be taken, so that is tried again.
func atPort(t *testing.T, command func(addr string) *exec.Cmd) string {
	t.Helper()
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		l.Close()
		if listens(addr, start(t, command(addr), nil)) {
			return addr
		}
	}
	t.Fatal("the server does not listen")
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
