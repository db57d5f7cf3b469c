package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// ownTool is a tool that a program has itself.
type ownTool ToolManifest

func (o *ownTool) Manifest() ToolManifest { return ToolManifest(*o) }
func (*ownTool) Execute(context.Context, jsontext.Value) (*CallToolResult, error) {
	return nil, errors.New("not called")
}

func TestRegistryRefuses(t *testing.T) {
	proxy := (&Client{}).Proxy(mustTool(t, tide))
	changed := mustTool(t, tide)
	changed.Name = "another"
	own := func(name, parameters, output string) *ownTool {
		o := &ownTool{Name: name, Parameters: jsontext.Value(parameters)}
		if output != "" {
			o.OutputSchema = jsontext.Value(output)
		}
		return o
	}
	for name, tools := range map[string][]Executable{
		"nil":                {nil},
		"nil proxy":          {(*ToolProxy)(nil)},
		"empty proxy":        {&ToolProxy{}},
		"proxy of no tool":   {(&Client{}).Proxy(nil)},
		"twice":              {proxy, proxy},
		"twice by two":       {proxy, (&Client{}).Proxy(mustTool(t, tide))},
		"twice, one our own": {proxy, own("tide_table", `{"type":"object"}`, "")},
		"invalid definition": {(&Client{}).Proxy(&Tool{Name: "a"})},
		"changed definition": {(&Client{}).Proxy(changed)},
		"no name":            {own("", `{"type":"object"}`, "")},
		"no parameters":      {own("a", "", "")},
		"no object":          {own("a", `true`, "")},
		"not of an object":   {own("a", `{"type":"string"}`, "")},
		"twice a member":     {own("a", `{"type":"object","type":"object"}`, "")},
		"more than a value":  {own("a", `{"type":"object"},"x":1`, "")},
		"bad output schema":  {own("a", `{"type":"object"}`, `[]`)},
	} {
		b := NewRegistryBuilder()
		for _, tool := range tools {
			b.Add(tool)
		}
		r, err := b.Build()
		as[*RequestError](t, err)
		if r != nil {
			t.Errorf("%s: Build = %v", name, r)
		}
	}
	var b RegistryBuilder
	b.Add(proxy)
	b.Add(own("Tide_Table", `{"type":"object"}`, `{"type":"array"}`))
	r, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	b.Add(nil) // the registry does not change
	if r.Tool("tide_table") != proxy || r.Tool("Tide_Table") == nil || r.Tool("tide") != nil || len(r.Tools()) != 2 {
		t.Errorf("registry = %+v", r)
	}
	r.Tools()[0] = nil
	if r.Tools()[0] != proxy {
		t.Error("the registry can be changed through Tools")
	}
}

func TestManifest(t *testing.T) {
	const definition = `{"name":"n","title":"T","description":"d","inputSchema":{"type":"object", "maximum":9007199254740993},` +
		`"outputSchema":{"type":"array"},"annotations":{"readOnlyHint":true}}`
	m := (&Client{}).Proxy(mustTool(t, definition)).Manifest()
	if m.Name != "n" || *m.Title != "T" || *m.Description != "d" || string(m.Parameters) != `{"type":"object", "maximum":9007199254740993}` ||
		string(m.OutputSchema) != `{"type":"array"}` || !*m.Annotations.ReadOnlyHint {
		t.Errorf("manifest = %+v", m)
	}
	if m := (&Client{}).Proxy(mustTool(t, tide)).Manifest(); m.OutputSchema != nil || m.Annotations != nil {
		t.Errorf("manifest = %+v, want neither output schema nor annotations", m)
	}
}

// TestExecute tells what can go wrong apart, each by its own type and no other.
func TestExecute(t *testing.T) {
	answers := map[string]func(*mcptest.Conn, mcptest.Request){
		"result": func(c *mcptest.Conn, r mcptest.Request) {
			c.Result(r, `{"resultType":"complete","content":[],"structuredContent":{"free":2}}`)
		},
		"tool": func(c *mcptest.Conn, r mcptest.Request) {
			c.Result(r, `{"resultType":"complete","content":[{"type":"text","text":"no berth"}],"isError":true}`)
		},
		"schema": func(c *mcptest.Conn, r mcptest.Request) {
			c.Result(r, `{"resultType":"complete","content":[],"structuredContent":{"free":"two"}}`)
		},
		"rpc":      func(c *mcptest.Conn, r mcptest.Request) { c.Error(r, `{"code":-32602,"message":"no such tool"}`) },
		"protocol": func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, `{"resultType":"complete"}`) },
		"input": func(c *mcptest.Conn, r mcptest.Request) {
			c.Result(r, `{"resultType":"input_required","requestState":"s"}`)
		},
		"transport": func(c *mcptest.Conn, _ mcptest.Request) { c.Close() },
	}
	for want, answer := range answers {
		handler := mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			if r.Method == methodToolsList {
				c.Result(r, page("", berth))
				return
			}
			answer(c, r)
		})
		overStdio, p := pipe(t, handler)
		overNet, q := overHTTP(t, handler)
		for c, peer := range map[*Client]*mcptest.Peer{overStdio: p, overNet: q} {
			for proxy, err := range c.GetTools(short(t)) {
				if err != nil {
					t.Fatal(err)
				}
				result, err := proxy.Execute(short(t), jsontext.Value(`{}`))
				if got := kindOf(err); got != want {
					t.Errorf("%s: Execute = %v (%s)", want, err, got)
				}
				if (err == nil) != (result != nil) {
					t.Errorf("%s: Execute = %v, %v", want, result, err)
				}
			}
			if got := peer.Methods(); got != "server/discover tools/list tools/call" {
				t.Errorf("%s: sent %q, want one call", want, got)
			}
		}
	}
	_, err := (&ToolProxy{Tool: mustTool(t, tide)}).Execute(t.Context(), nil)
	as[*RequestError](t, err)
}

// kindOf names the types of which err is.
func kindOf(err error) string {
	var (
		tool      *ToolError
		schema    *SchemaError
		rpc       *RPCError
		protocol  *ProtocolError
		input     *InputRequiredError
		transport *TransportError
	)
	var kinds []string
	for kind, is := range map[string]bool{
		"tool": errors.As(err, &tool), "schema": errors.As(err, &schema), "rpc": errors.As(err, &rpc), "protocol": errors.As(err, &protocol),
		"input": errors.As(err, &input), "transport": errors.As(err, &transport), "result": err == nil,
	} {
		if is {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return strings.Join(kinds, " ")
}

func TestGetToolsEndsWithTheError(t *testing.T) {
	c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) { c.Error(r, `{"code":-32603,"message":"m"}`) }))
	n := 0
	for proxy, err := range c.GetTools(t.Context()) {
		n++
		as[*RPCError](t, err)
		if proxy != nil {
			t.Errorf("a tool comes with the error: %v", proxy)
		}
	}
	if n != 1 {
		t.Errorf("%d elements, want the error alone", n)
	}
}
