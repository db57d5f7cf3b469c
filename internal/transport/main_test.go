//go:build unix

package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/procs/procstest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// childVar makes the test binary a server process; its value says which one.
const childVar = "MCPCAT_TRANSPORT_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVar); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m)
}

// child answers every request with its params, in the role's own way.
func child(role string) int {
	name, arg, _ := strings.Cut(role, ":")
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	switch name {
	case "serve":
	case "stubborn": // ends neither at EOF nor when asked
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		serve(in)
		time.Sleep(time.Hour)
	case "descendants", "descendants-stubborn": // starts helpers: token, list of those there, kinds
		a := strings.Split(arg, ":")
		if err := procstest.Spawn(a[0], a[1], strings.Split(a[2], ",")...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if name == "descendants-stubborn" {
			signal.Ignore(syscall.SIGTERM)
			serve(in)
			time.Sleep(time.Hour)
		}
	case "outsider": // may not signal the process whose number is arg
		if err := outsider(arg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	case "deaf": // never reads
		time.Sleep(time.Hour)
	case "closer": // closes stdout and stays
		os.Stdout.Close()
		time.Sleep(time.Hour)
	case "sleep":
		time.Sleep(time.Hour)
	case "floor": // as little as a server can do
		floor(in)
		return 0
	case "http-floor":
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 1
		}
		fmt.Println(ln.Addr())
		go http.Serve(ln, http.HandlerFunc(httpFloor))
		io.Copy(io.Discard, in)
		return 0
	case "say", "say-and-exit": // answers the first request with a file, whatever is in it, and keeps what else it is sent
		line, _ := in.ReadBytes('\n')
		m, err := jsonrpc.Decode(line, strictjson.Limits{})
		text, err2 := os.ReadFile(arg)
		if err != nil || err2 != nil {
			return 1
		}
		os.Stdout.Write(bytes.ReplaceAll(text, []byte("7001"), []byte(m.ID.Raw())))
		if name == "say-and-exit" {
			return 0
		}
		rest, _ := io.ReadAll(in)
		os.WriteFile(os.Getenv("REST"), rest, 0o600)
		return 0
	case "last-words": // ends with a message on stderr
		in.ReadBytes('\n')
		fmt.Fprint(os.Stderr, arg)
		return 3
	}
	serve(in)
	return 0
}

func serve(in *bufio.Reader) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Decode(line, strictjson.Limits{})
		if err != nil {
			fmt.Fprintln(os.Stderr, "bad request:", err)
			os.Exit(4)
		}
		if m.Kind == jsonrpc.Request {
			result := []byte(m.Params)
			if result == nil {
				result = []byte("{}")
			}
			os.Stdout.Write(append(jsonrpc.AppendResult(nil, m.ID, result), '\n'))
		}
	}
}

// floorID is the id token of a request of the benchmarks, where id is the second member.
func floorID(line []byte) []byte {
	line = line[len(`{"jsonrpc":"2.0","id":`):]
	return line[:bytes.IndexByte(line, ',')]
}

func floorAnswer(dst, id []byte) []byte {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
	return append(append(dst, floorResult...), '}')
}

const floorResult = `{"resultType":"complete","content":[{"type":"text","text":"High water at Harbour 7 is at 14:05 and low water at 20:17."}],"isError":false}`

func floor(in *bufio.Reader) {
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	var answer []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		answer = append(floorAnswer(answer[:0], floorID(line)), '\n')
		out.Write(answer)
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

func httpFloor(w http.ResponseWriter, r *http.Request) {
	request, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer := floorAnswer(nil, floorID(request))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
	w.Write(answer)
}

// childConfig starts this test binary in the role.
func childConfig(t testing.TB, role string) StdioConfig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Built with -race a program waits a second before it exits, which here would count as the child's slowness.
	return StdioConfig{Command: self, Env: append(os.Environ(), childVar+"="+role, "GORACE=atexit_sleep_ms=0")}
}

func startChild(t testing.TB, c StdioConfig) *Stdio {
	t.Helper()
	s, err := StartStdio(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// readLine reads one line of what a client has written.
func readLine(t testing.TB, r *bufio.Reader) []byte {
	t.Helper()
	line, err := r.ReadBytes('\n')
	if err != nil {
		t.Fatalf("reading a request: %v (got %q)", err, line)
	}
	return bytes.TrimSuffix(line, []byte("\n"))
}
