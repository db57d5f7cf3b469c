package proxy

import (
	"context"
	"encoding/json"
	"sort"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpcat-dev/mcpcat/gate"
)

func TestMain(m *testing.M) {
	if serveAsUpstream() {
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}

// fakeGate is a gate whose tools answer from a script.
type fakeGate struct {
	tools map[string]string // exposed name → definition
	call  func(ctx context.Context, r gate.Request) (*gate.Result, error)

	mu    sync.Mutex
	calls []gate.Request
}

func (g *fakeGate) Tools() []gate.Tool {
	var out []gate.Tool
	for name := range g.tools {
		t, _ := g.Lookup(name)
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

func (g *fakeGate) Lookup(name string) (gate.Tool, bool) {
	def, ok := g.tools[name]
	return gate.Tool{Name: name, Definition: json.RawMessage(def), Address: "server.x.tool." + name}, ok
}

func (g *fakeGate) Call(ctx context.Context, r gate.Request) (*gate.Result, error) {
	g.mu.Lock()
	g.calls = append(g.calls, r)
	g.mu.Unlock()
	if _, ok := g.tools[r.Name]; !ok {
		return nil, gate.ErrUnknownTool
	}
	return g.call(ctx, r)
}

func (g *fakeGate) made() []gate.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]gate.Request(nil), g.calls...)
}

const (
	plainTool  = `{"name":"a","inputSchema":{"type":"object"}}`
	regionTool = `{"name":"b","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},` +
		`"n":{"type":"integer","x-mcp-header":"N"}}}}`
	brokenTool = `{"name":"broken","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}`
	namedTool  = `{"name":"世界","inputSchema":{"type":"object"}}`

	info = `{"name":"mcpcat","version":"1.2.3"}`
	own  = `"_meta":{"io.modelcontextprotocol/serverInfo":` + info + `}`
	meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

func newFake() *fakeGate {
	return &fakeGate{
		tools: map[string]string{"a": plainTool, "b": regionTool, "broken": brokenTool, "世界": namedTool},
		call: func(context.Context, gate.Request) (*gate.Result, error) {
			return &gate.Result{Raw: json.RawMessage(`{"resultType":"complete","content":[]}`)}, nil
		},
	}
}

func newServer(g Gate) *Server { return New(Options{Gate: g, Version: "1.2.3"}) }
