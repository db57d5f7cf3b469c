//go:build unix

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A served agent is reached over one of the two transports of mcpcat serve.
type served struct {
	transport string
	session   *mcp.ClientSession
	// raw sends one request with the reference client and returns the exact bytes of the result.
	raw func(method, params string) []byte
	// stop ends the serve and returns how it ended.
	stop func() outcome
}

// serveBoth runs f with the agent of p served over stdio and over HTTP.
func serveBoth(t *testing.T, p func(t *testing.T) *place, agent string, f func(t *testing.T, p *place, s served)) {
	t.Helper()
	for _, c := range []struct {
		transport string
		serve     func(*testing.T, *place, string) served
	}{
		{"stdio", serveStdio},
		{"http", serveListen},
	} {
		t.Run(c.transport, func(t *testing.T) {
			t.Parallel()
			at := p(t)
			f(t, at, c.serve(t, at, agent))
		})
	}
}

func serveStdio(t *testing.T, p *place, agent string) served {
	t.Helper()
	var stderr bytes.Buffer
	cmd := p.command("serve", "-agent="+agent, "-stdio")
	cmd.Stderr = &stderr
	session := connect(t, &mcp.CommandTransport{Command: cmd})
	return served{
		transport: "stdio",
		session:   session,
		raw: func(method, params string) []byte {
			t.Helper()
			ref := exec.Command(program("refclient"), method, params, "--", p.mcpcat, "serve", "-agent="+agent, "-stdio")
			ref.Dir, ref.Env = p.dir, environment(p.home)
			o := finish(t, ref)
			if o.exit != 0 {
				t.Fatal(o)
			}
			return bytes.TrimSuffix([]byte(o.stdout), []byte("\n"))
		},
		stop: func() outcome {
			t.Helper()
			if err := session.Close(); err != nil {
				t.Fatalf("closing: %v\n--- stderr\n%s", err, &stderr)
			}
			return outcome{"mcpcat serve -stdio", cmd.ProcessState.ExitCode(), "", stderr.String()}
		},
	}
}

func serveListen(t *testing.T, p *place, agent string) served {
	t.Helper()
	var stdout bytes.Buffer
	stderr := &serveLog{url: make(chan string, 1)}
	cmd := p.command("serve", "-agent="+agent, "-listen=127.0.0.1:0")
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-gone
	})
	var url string
	select {
	case url = <-stderr.url:
	case <-gone:
	case <-time.After(patience):
		cmd.Process.Kill()
		<-gone
	}
	if url == "" {
		t.Fatalf("serve does not listen\n--- stdout\n%s\n--- stderr\n%s", &stdout, stderr)
	}
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1})
	return served{
		transport: "http",
		session:   session,
		raw: func(method, params string) []byte {
			t.Helper()
			return ask(t, method, params, url)
		},
		stop: func() outcome {
			t.Helper()
			session.Close()
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			select {
			case <-gone:
			case <-time.After(patience):
				t.Fatalf("serve goes on after SIGINT\n--- stderr\n%s", stderr)
			}
			return outcome{"mcpcat serve -listen", cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
		},
	}
}

// serveLog keeps what serve logs and hands on the address that it says it serves.
type serveLog struct {
	mu   sync.Mutex
	text bytes.Buffer
	url  chan string
}

var serving = regexp.MustCompile(`(?m)msg=serving url=(\S+) `)

func (l *serveLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	if m := serving.FindSubmatch(l.text.Bytes()); m != nil {
		select {
		case l.url <- string(m[1]):
		default: // it was handed on before
		}
	}
	return len(b), nil
}

func (l *serveLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func connect(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(within(t), transport, nil)
	if err != nil {
		t.Fatalf("the SDK's client does not connect: %v", err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func listed(t *testing.T, session *mcp.ClientSession) []*mcp.Tool {
	t.Helper()
	var tools []*mcp.Tool
	for tool, err := range session.Tools(within(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	slices.SortFunc(tools, func(a, b *mcp.Tool) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return tools
}

// TestServe lets the SDK's client list and call through mcpcat serve: it sees what it would see on the server itself,
// restricted to the agent's tools.
func TestServe(t *testing.T) {
	t.Parallel()
	direct := connect(t, &mcp.CommandTransport{Command: exec.Command(program("everything-server"))})
	var want []*mcp.Tool
	for _, tool := range listed(t, direct) {
		if slices.ContainsFunc(contentKinds, func(k struct{ tool, args, holds string }) bool { return k.tool == tool.Name }) {
			want = append(want, tool)
		}
	}
	if len(want) != len(contentKinds) {
		t.Fatalf("the server has %d of %d tools", len(want), len(contentKinds))
	}
	upstream := definitions(t, ask(t, "tools/list", "{}", program("everything-server")))

	pinned := func(t *testing.T) *place {
		p := newPlace(t, everythingCatalog(everythingStdio))
		p.pin(t)
		return p
	}
	serveBoth(t, pinned, "suite", func(t *testing.T, p *place, s served) {
		if got := s.session.InitializeResult().ProtocolVersion; got != "2026-07-28" {
			t.Errorf("the SDK's client speaks %q with serve, want %q", got, "2026-07-28")
		}
		if diff := cmp.Diff(want, listed(t, s.session)); diff != "" {
			t.Errorf("tools differ from the server's own (-server +serve):\n%s", diff)
		}
		for _, k := range contentKinds {
			params := &mcp.CallToolParams{Name: k.tool, Arguments: json.RawMessage(k.args)}
			want, err := direct.CallTool(within(t), params)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.session.CallTool(within(t), params)
			if err != nil {
				t.Errorf("%s: %v", k.tool, err)
				continue
			}
			got.Meta, want.Meta = nil, nil // serve names itself there
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(mcp.CallToolResult{})); diff != "" {
				t.Errorf("%s: result differs from the server's own (-server +serve):\n%s", k.tool, diff)
			}
		}

		// The SDK decodes what it gets; the reference client sees the bytes.
		got := definitions(t, s.raw("tools/list", "{}"))
		if len(got) != len(contentKinds) {
			t.Errorf("serve lists %d tools, want %d", len(got), len(contentKinds))
		}
		for name, definition := range got {
			if compact(t, upstream[name]) != string(definition) {
				t.Errorf("%s: serve lists\n%s\nwant the server's bytes\n%s", name, definition, compact(t, upstream[name]))
			}
		}
		for _, k := range contentKinds {
			if s.transport == "http" && k.tool == "test_x_mcp_header" {
				continue // the reference client sends no Mcp-Param header
			}
			params := fmt.Sprintf(`{"name":%q,"arguments":%s}`, k.tool, k.args)
			want := members(t, ask(t, "tools/call", params, program("everything-server")))
			got := members(t, s.raw("tools/call", params))
			delete(want, "_meta")
			delete(got, "_meta")
			for name := range want {
				if string(got[name]) != string(want[name]) {
					t.Errorf("%s: %s through serve is\n%s\nwant the server's bytes\n%s", k.tool, name, got[name], want[name])
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s: the result through serve has %d members besides _meta, want %d", k.tool, len(got), len(want))
			}
		}
		if o := s.stop(); o.exit != 0 && s.transport == "stdio" {
			t.Errorf("serve after its agent left: %v", o)
		}
	})
}

// TestServePrefixed checks the names of an agent that takes tools of two servers, and that what it may not use is
// neither listed nor called.
func TestServePrefixed(t *testing.T) {
	t.Parallel()
	pinned := func(t *testing.T) *place {
		p := newPlace(t, `
server "harbour" {
  stdio {
    command = "harbour"
    args    = ["-calls=harbour.calls"]
  }
  tools = ["berth_status", "close_gate", "list_berths", "log_arrival", "tide_table"]
}

server "memory" {
  stdio {
    command = "memory"
  }
  tools = ["create_entities", "read_graph"]
}

agent "clerk" {
  tools = [
    server.harbour.tool.list_berths,
    server.harbour.tool.log_arrival,
    server.memory.tool.read_graph,
    server.memory.tool.create_entities,
  ]
}
`)
		p.pin(t)
		return p
	}
	serveBoth(t, pinned, "clerk", func(t *testing.T, p *place, s served) {
		var names []string
		for _, tool := range listed(t, s.session) {
			names = append(names, tool.Name)
		}
		if diff := cmp.Diff([]string{"harbour__list_berths", "harbour__log_arrival", "memory__create_entities", "memory__read_graph"}, names); diff != "" {
			t.Errorf("names differ (-want +got):\n%s", diff)
		}
		call := func(name, args string) (*mcp.CallToolResult, error) {
			return s.session.CallTool(within(t), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
		}
		// One process serves the session: what the first call wrote the second finds.
		if _, err := call("memory__create_entities", `{"entities":[{"name":"Marjatta","entityType":"ship","observations":["draws 6 m"]}]}`); err != nil {
			t.Fatal(err)
		}
		res, err := call("memory__read_graph", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(res.StructuredContent); err != nil || !bytes.Contains(b, []byte("draws 6 m")) {
			t.Errorf("read_graph gives %s (%v), want the entity that was created", b, err)
		}
		if _, err := call("harbour__list_berths", `{}`); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"harbour__close_gate", "close_gate", "harbour__tide_table", "memory__delete_entities", "HARBOUR__list_berths"} {
			if code := rpcCode(call(name, `{"reason":"x","date":"2026-10-01"}`)); code != -32602 {
				t.Errorf("%s: code %d, want -32602", name, code)
			}
		}
		// Arguments that fail the schema are a tool error, and the server never sees them.
		if res, err := call("harbour__log_arrival", `{"ship":"Aallotar","berth":"Z9"}`); err != nil || !res.IsError {
			t.Errorf("bad arguments give %+v, %v; want a result with isError", res, err)
		}
		s.stop()
		if got, want := received(t, p), []string{"list_berths {}"}; !slices.Equal(got, want) {
			t.Errorf("the server received %q, want %q", got, want)
		}
	})
}

// TestServeTogether makes many calls at once: each answer belongs to its question.
func TestServeTogether(t *testing.T) {
	t.Parallel()
	direct := connect(t, &mcp.CommandTransport{Command: exec.Command(program("harbour"))})
	params := func(day int) *mcp.CallToolParams {
		return &mcp.CallToolParams{Name: "tide_table", Arguments: json.RawMessage(fmt.Sprintf(`{"date":"2026-10-%02d"}`, day))}
	}
	var want [32]string
	for day := 1; day < len(want); day++ {
		want[day] = said(direct.CallTool(within(t), params(day)))
	}
	if want[1] == "" || want[1] == want[2] {
		t.Fatalf("the server answers %q and %q", want[1], want[2])
	}
	pinned := func(t *testing.T) *place { return harbourPlace(t, program("mcpcat")) }
	serveBoth(t, pinned, "clerk", func(t *testing.T, p *place, s served) {
		ctx := within(t)
		var wg sync.WaitGroup
		for day := 1; day < len(want); day++ {
			wg.Go(func() {
				if got := said(s.session.CallTool(ctx, params(day))); got != want[day] {
					t.Errorf("day %d: got %q, want %q", day, got, want[day])
				}
			})
		}
		wg.Wait()
		s.stop()
		if got := len(received(t, p)); got != len(want)-1 {
			t.Errorf("the server received %d calls, want %d", got, len(want)-1)
		}
	})
}

// said is the text of a result, or what went wrong.
func said(res *mcp.CallToolResult, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	if len(res.Content) == 1 && !res.IsError {
		if text, ok := res.Content[0].(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return fmt.Sprintf("unexpected: %+v", res)
}

// definitions takes the tools out of a tools/list result.
func definitions(t *testing.T, result []byte) map[string]json.RawMessage {
	t.Helper()
	var r struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		t.Fatalf("%v in %q", err, result)
	}
	tools := map[string]json.RawMessage{}
	for _, definition := range r.Tools {
		var name string
		if err := json.Unmarshal(members(t, definition)["name"], &name); err != nil {
			t.Fatal(err)
		}
		tools[name] = definition
	}
	return tools
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return b.String()
}

// callFirst calls the first tool of cmd/odd by its exposed name.
var callFirst = &mcp.CallToolParams{Name: "good__first", Arguments: json.RawMessage(`{}`)}
