package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpcat-dev/mcpcat/gate"
)

// agent is the other end of Serve.
type agent struct {
	in    *io.PipeWriter
	mu    sync.Mutex
	out   bytes.Buffer
	ended chan error
}

func (a *agent) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out.Write(p)
}

func (a *agent) send(lines ...string) {
	for _, l := range lines {
		_, _ = io.WriteString(a.in, l+"\n")
	}
	synctest.Wait()
}

// take returns the lines that came since the last take.
func (a *agent) take() []string {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	text := a.out.String()
	a.out.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func start(ctx context.Context, s *Server) *agent {
	r, w := io.Pipe()
	a := &agent{in: w, ended: make(chan error, 1)}
	go func() { a.ended <- s.Serve(ctx, r, a) }()
	return a
}

// blackwell-systems/agent-lsp#14: one malformed frame ended the session.
func TestStdio(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + meta + `}}`
	cases := []struct{ name, line, want string }{
		{"discover", `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + meta + `}}`, `{"jsonrpc":"2.0","id":"d","result":{"resultType":"complete","supportedVersions":["2026-07-28"]`},
		{"list has what HTTP withholds", list, brokenTool},
		{"call", call("7", "broken", ""), `"id":7,"result"`},
		{"line end of Windows", list + "\r", `"id":7,"result"`},
		{"garbage", `hello`, `{"jsonrpc":"2.0","error":{"code":-32700`},
		{"batch", `[` + list + `]`, `{"jsonrpc":"2.0","error":{"code":-32600`},
		{"duplicate", strings.Replace(list, `"id":7`, `"id":7,"id":7`, 1), `{"jsonrpc":"2.0","error":{"code":-32600`},
		{
			"initialize", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`,
			`{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"unsupported protocol version: this server speaks 2026-07-28","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`,
		},
		{"version", strings.Replace(list, "2026-07-28", "2025-11-25", 1), `"code":-32022`},
		{"no meta", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `"code":-32602`},
		{"no capabilities", strings.Replace(list, `,"io.modelcontextprotocol/clientCapabilities":{}`, ``, 1), `"code":-32602`},
		{"ping", strings.Replace(list, "tools/list", "ping", 1), `"code":-32601`},
		{"listen", strings.Replace(list, "tools/list", "subscriptions/listen", 1), `"code":-32601`},
		{"unknown tool", call("7", "nobody", ""), `"code":-32602`},
		{"empty line", ``, ``},
		{"lone CR", "\r", ``},
		{"answer", `{"jsonrpc":"2.0","id":7,"result":{}}`, ``},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
		{"cancel of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, ``},
		{"malformed cancel", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, ``},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := start(t.Context(), newServer(newFake()))
				a.send(c.line)
				got := a.take()
				if c.want == "" && len(got) != 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
					t.Errorf("got %q, want %s", got, c.want)
				}
				// The connection goes on after all of them.
				a.send(list)
				if got := a.take(); len(got) != 1 || !strings.Contains(got[0], `"id":7,"result"`) {
					t.Errorf("afterwards: %q", got)
				}
				a.in.Close()
				if err := <-a.ended; err != nil {
					t.Errorf("Serve = %v", err)
				}
			})
		})
	}
}

// TestStdioCalls runs calls side by side: one is cancelled, one has the id of another, one is still running at the end.
func TestStdioCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFake()
		release := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{}), "世界": make(chan struct{})}
		ended := map[string]error{}
		var mu sync.Mutex
		g.call = func(ctx context.Context, r gate.Request) (*gate.Result, error) {
			select {
			case <-release[r.Name]:
				return &gate.Result{Raw: json.RawMessage("{\"resultType\":\"complete\",\n\"content\":[]\r\n}")}, nil
			case <-ctx.Done():
				mu.Lock()
				defer mu.Unlock()
				ended[r.Name] = ctx.Err()
				return nil, ctx.Err()
			}
		}
		a := start(t.Context(), newServer(g))
		a.send(call("1", "a", ""), call(`"1"`, "b", ""), call("2", "世界", ""), call("1", "a", ""))
		if got := a.take(); len(got) != 1 || !strings.HasPrefix(got[0], `{"jsonrpc":"2.0","error":{"code":-32600`) {
			t.Fatalf("a second request with a pending id: %q", got)
		}
		if n := len(g.made()); n != 3 {
			t.Fatalf("the gate was called %d times, want 3", n)
		}
		a.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`)
		if got := a.take(); got != nil || ended["b"] == nil || ended["a"] != nil {
			t.Fatalf("after the cancel: %q, ended %v", got, ended)
		}
		close(release["a"])
		if got, want := a.take(), `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete", "content":[]  ,`+own+`}}`; len(got) != 1 || got[0] != want {
			t.Fatalf("the first call: %q, want %s", got, want)
		}
		a.in.Close()
		if err := <-a.ended; err != nil {
			t.Errorf("Serve = %v", err)
		}
		if got := a.take(); got != nil || ended["世界"] == nil {
			t.Errorf("at the end: %q, ended %v", got, ended)
		}
	})
}

func TestStdioLongLine(t *testing.T) {
	var out bytes.Buffer
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + meta + `}}` + "\n"
	in := io.MultiReader(strings.NewReader(`{"x":"`), io.LimitReader(endless{}, MaxMessageBytes), strings.NewReader("\"}\n"), strings.NewReader(list), strings.NewReader(list[:20]))
	if err := newServer(newFake()).Serve(context.Background(), in, &out); err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(&out)
	s.Buffer(nil, 1<<20)
	var got []string
	for s.Scan() {
		got = append(got, s.Text())
	}
	if len(got) != 2 || !strings.Contains(got[0], "16 MiB") || !strings.Contains(got[1], `"id":7,"result"`) {
		t.Errorf("got %q", got)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestStdioEndsWithContextAndWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := start(ctx, newServer(newFake()))
		synctest.Wait()
		cancel()
		if err := <-a.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve = %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		broken := errors.New("broken pipe")
		ended := make(chan error, 1)
		go func() { ended <- newServer(newFake()).Serve(t.Context(), r, failing{broken}) }()
		_, _ = io.WriteString(w, "garbage\n")
		if err := <-ended; !errors.Is(err, broken) {
			t.Errorf("Serve = %v, want %v", err, broken)
		}
	})
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
