package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpcat-dev/mcpcat/internal/cli"
	"github.com/mcpcat-dev/mcpcat/internal/term"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mcpcat":     runProgram,
		"fakeserver": fakeServer,
		"echochild":  echoChild,
	})
}

// runProgram is cmd/mcpcat.
func runProgram() { os.Exit(term.Run(cli.Main)) }

// TestScript runs every story under testdata/script.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/.state")
			e.Setenv("NO_COLOR", "1")
			e.Values[printedKey{}] = printed{}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"same":      same,
			"flip":      flip,
			"converse":  converse,
			"documents": documents,
		},
	})
}

// exits STATUS COMMAND ARGS... runs a command and wants exactly that exit status. A document on standard output must follow
// the schema of its kind.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARGUMENTS]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var code interface{ ExitCode() int }
		if !asExit(err, &code) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = code.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exited %d, want %d", strings.Join(args[1:], " "), got, want)
	}
	checkDocument(ts, ts.ReadFile("stdout"))
}

func asExit(err error, into *interface{ ExitCode() int }) bool {
	for err != nil {
		if c, ok := err.(interface{ ExitCode() int }); ok {
			*into = c
			return true
		}
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return false
		}
		err = u.Unwrap()
	}
	return false
}

// same A B wants two files with equal bytes; ! same A B wants them to differ.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same FILE FILE")
	}
	if equal := ts.ReadFile(args[0]) == ts.ReadFile(args[1]); equal == neg {
		ts.Fatalf("%s and %s: equal bytes: %v", args[0], args[1], equal)
	}
}

// flip FILE OFFSET flips one bit of a file; a negative offset counts from the end.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE OFFSET")
	}
	b := []byte(ts.ReadFile(args[0]))
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

// converse REQUESTS ANSWERS COMMAND ARGS... starts a server on its standard input and output, sends the requests one after
// the other, each once the one before is answered, writes the answers to a file and wants the server to end by itself
// with status 0 when its input ends.
func converse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: converse REQUESTS ANSWERS COMMAND [ARGUMENTS]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	path, err := exec.LookPath(args[2])
	ts.Check(err)
	cmd := exec.CommandContext(ctx, path, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "NO_COLOR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	ts.Check(cmd.Start())
	lines := bufio.NewReader(out)
	var answers strings.Builder
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if _, err := io.WriteString(in, line); err != nil {
			ts.Fatalf("%v\n%s", err, stderr.String())
		}
		answer, err := lines.ReadString('\n')
		if err != nil {
			ts.Fatalf("after %d answers: %v\n%s", strings.Count(answers.String(), "\n"), err, stderr.String())
		}
		answers.WriteString(answer)
	}
	ts.Check(in.Close())
	if err := cmd.Wait(); err != nil {
		ts.Fatalf("%v\n%s", err, stderr.String())
	}
	ts.Logf("%s%s", answers.String(), stderr.String())
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(answers.String()), 0o644))
}

// offer is what fakeserver serves. It is read anew for each request, so that a script changes a server by replacing the
// file.
type offer struct {
	Discover json.RawMessage            `json:"discover"` // result of server/discover; absent: a good one
	Tools    []json.RawMessage          `json:"tools"`    // definitions of one page
	Result   json.RawMessage            `json:"result"`   // result of tools/list, in place of tools
	Calls    map[string]json.RawMessage `json:"calls"`    // result of tools/call by name
	Raw      string                     `json:"raw"`      // written to standard output at the first request
	Unstable bool                       `json:"unstable"` // each list has another description
	Legacy   bool                       `json:"legacy"`
	Silent   bool                       `json:"silent"`
	Exit     *int                       `json:"exit"`
}

// fakeServer is a stdio MCP server: fakeserver OFFER [CALLS]. Each tools/call is written to the file CALLS.
func fakeServer() {
	in := bufio.NewReader(os.Stdin)
	if len(os.Args) > 2 {
		if err := appendLine(os.Args[2], "start"); err != nil {
			fail(err)
		}
	}
	for walks := 0; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			fail(err)
		}
		if len(m.ID) == 0 {
			continue
		}
		var o offer
		b, err := os.ReadFile(os.Args[1])
		if err != nil {
			fail(err)
		}
		if err := json.Unmarshal(b, &o); err != nil {
			fail(err)
		}
		switch {
		case o.Exit != nil:
			fmt.Fprintln(os.Stderr, "fakeserver: cannot open the harbour master's book")
			os.Exit(*o.Exit)
		case o.Silent:
			continue
		case o.Raw != "":
			fmt.Print(o.Raw)
			continue
		case o.Legacy:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
			continue
		}
		switch m.Method {
		case "server/discover":
			d := o.Discover
			if d == nil {
				d = json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.0.0"}}}`)
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, compact(d))
		case "tools/list":
			walks++
			result := o.Result
			if result == nil {
				defs := make([]string, len(o.Tools))
				for i, d := range o.Tools {
					defs[i] = compact(d)
					if o.Unstable {
						defs[i] = strings.Replace(defs[i], `"description": "`, fmt.Sprintf(`"description": "%d `, walks), 1)
					}
				}
				result = json.RawMessage(fmt.Sprintf(`{"resultType":"complete","tools":[%s],"ttlMs":0,"cacheScope":"private"}`, strings.Join(defs, ",")))
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, compact(result))
		case "tools/call":
			if len(os.Args) > 2 {
				if err := appendLine(os.Args[2], "call "+m.Params.Name+" "+string(m.Params.Arguments)); err != nil {
					fail(err)
				}
			}
			r, ok := o.Calls[m.Params.Name]
			if !ok {
				r = json.RawMessage(`{"resultType":"complete","content":[{"type":"text","text":"done"}]}`)
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, compact(r))
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "fakeserver:", err)
	os.Exit(9)
}

// compact takes line ends out of a JSON text without changing anything else that matters here.
func compact(b json.RawMessage) string {
	return strings.NewReplacer("\n", " ", "\r", " ").Replace(string(b))
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, line); err != nil {
		return err
	}
	return f.Close()
}
