package mcp

import (
	"bytes"
	"context"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// results has a result for every method.
var results = map[string]string{
	"server/discover":          fullDiscover,
	"tools/list":               page("", tide),
	"tools/call":               `{"resultType":"complete","content":[]}`,
	"resources/list":           `{"resultType":"complete","resources":[],"ttlMs":0,"cacheScope":"private"}`,
	"resources/templates/list": `{"resultType":"complete","resourceTemplates":[],"ttlMs":0,"cacheScope":"private"}`,
	"resources/read":           `{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private"}`,
	"prompts/list":             `{"resultType":"complete","prompts":[],"ttlMs":0,"cacheScope":"private"}`,
	"prompts/get":              `{"resultType":"complete","messages":[]}`,
	"completion/complete":      `{"resultType":"complete","completion":{"values":[]}}`,
}

// answerAll answers every method; a subscription is acknowledged and left open.
func answerAll(c *mcptest.Conn, r mcptest.Request) {
	switch {
	case r.Method == methodListen:
		c.Stream()
		c.Event(ackOf(r.ID, `{}`))
		c.Wait()
	case results[r.Method] != "":
		c.Result(r, results[r.Method])
	}
}

// calls makes one request of each kind.
func calls(t *testing.T, c *Client, meta RequestMeta) map[string]func(context.Context) error {
	list := &ListParams{Meta: meta}
	return map[string]func(context.Context) error{
		"server/discover":          func(ctx context.Context) error { _, err := c.Discover(ctx); return err },
		"tools/list":               func(ctx context.Context) error { _, err := c.ListTools(ctx, list); return err },
		"resources/list":           func(ctx context.Context) error { _, err := c.ListResources(ctx, list); return err },
		"resources/templates/list": func(ctx context.Context) error { _, err := c.ListResourceTemplates(ctx, list); return err },
		"prompts/list":             func(ctx context.Context) error { _, err := c.ListPrompts(ctx, list); return err },
		"tools/call": func(ctx context.Context) error {
			_, err := c.CallTool(ctx, &CallToolParams{Tool: mustTool(t, tide), Meta: meta})
			return err
		},
		"resources/read": func(ctx context.Context) error {
			_, err := c.ReadResource(ctx, &ReadResourceParams{URI: "tide://north", Meta: meta})
			return err
		},
		"prompts/get": func(ctx context.Context) error {
			_, err := c.GetPrompt(ctx, &GetPromptParams{Name: "brief", Meta: meta})
			return err
		},
		"completion/complete": func(ctx context.Context) error {
			_, err := c.Complete(ctx, &CompleteParams{Ref: PromptRef{Name: "brief"}, Meta: meta})
			return err
		},
		"subscriptions/listen": func(ctx context.Context) error {
			s, err := c.Listen(ctx, SubscriptionFilter{})
			if err == nil {
				err = s.Close()
			}
			return err
		},
	}
}

// TestEveryMethodOnTheWire makes requests of every kind at once, with progress tokens, and looks at all that was sent:
// these methods and no other, each with _meta, no id and no token twice, no answer, over HTTP no notification and the
// headers of its method, over stdio no notification but cancelled.
func TestEveryMethodOnTheWire(t *testing.T) {
	overBoth(t, func(t *testing.T, connect connector) {
		c, p := connect(t, answerAll)
		const rounds = 3
		var wg sync.WaitGroup
		for range rounds {
			for method, call := range calls(t, c, RequestMeta{OnProgress: func(Progress) {}}) {
				wg.Go(func() {
					if err := call(short(t)); err != nil {
						t.Errorf("%s: %v", method, err)
					}
				})
			}
		}
		wg.Wait()
		closed(t, c)

		sent, ids, tokens := map[string]int{}, map[string]bool{}, map[string]bool{}
		for _, r := range p.Requests() {
			if r.Method == "notifications/cancelled" && r.Header == nil {
				continue
			}
			sent[r.Method]++
			message := strictjson.Value(r.Raw)
			for _, member := range []string{"result", "error"} {
				if _, ok := message.Get(member); ok {
					t.Errorf("sent an answer: %s", r.Raw)
				}
			}
			if r.ID == "" || ids[r.ID] {
				t.Errorf("%s has id %q, want one of its own", r.Method, r.ID)
			}
			ids[r.ID] = true
			meta, ok := r.Params.Get("_meta")
			if !ok {
				t.Errorf("%s has no _meta", r.Method)
			}
			for key, want := range map[string]string{keyVersion: `"2026-07-28"`, keyCapabilities: `{}`} {
				if v, _ := meta.Get(key); string(v) != want {
					t.Errorf("%s has %s = %s, want %s", r.Method, key, v, want)
				}
			}
			if _, ok := meta.Get(keyClientInfo); !ok {
				t.Errorf("%s does not say who asks", r.Method)
			}
			if token, ok := meta.Get(keyProgress); ok {
				if tokens[string(token)] {
					t.Errorf("%s has the progress token %s of another request", r.Method, token)
				}
				tokens[string(token)] = true
			}
			if r.Header != nil {
				wantHeaders(t, r)
			}
		}
		for method := range requestDefs {
			want := rounds
			if method == methodDiscover {
				want++
			}
			if sent[method] != want {
				t.Errorf("sent %s %d times, want %d", method, sent[method], want)
			}
			delete(sent, method)
		}
		if len(sent) > 0 {
			t.Errorf("sent what is no method of a client: %v", sent)
		}
		if len(tokens) != rounds*8 {
			t.Errorf("%d progress tokens, want %d", len(tokens), rounds*8)
		}
	})
}

// wantHeaders holds the headers of a POST against its body.
func wantHeaders(t *testing.T, r mcptest.Request) {
	t.Helper()
	want := map[string][]string{
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {r.Method}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Name": nil, "Mcp-Session-Id": nil, "Last-Event-Id": nil,
	}
	switch r.Method {
	case "tools/call":
		want["Mcp-Name"] = []string{"tide_table"}
	case "prompts/get":
		want["Mcp-Name"] = []string{"brief"}
	case "resources/read":
		want["Mcp-Name"] = []string{"tide://north"}
	}
	for name, values := range want {
		if got := r.Header.Values(name); !slices.Equal(got, values) {
			t.Errorf("%s: header %s is %q, want %q", r.Method, name, got, values)
		}
	}
}

// TestRetryOverHTTP plays a round over HTTP: the second request has an id and a progress token of its own, and its
// headers come from the same parameters again.
func TestRetryOverHTTP(t *testing.T) {
	const tool = `{"name":"pilot \u4e16","inputSchema":{"type":"object","properties":{"port":{"type":"string","x-mcp-header":"Port"}}}}`
	c, p := overHTTP(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		if _, ok := r.Params.Get("requestState"); ok {
			c.Result(r, results["tools/call"])
			return
		}
		c.Result(r, `{"resultType":"input_required","requestState":"s"}`)
	}))
	params := &CallToolParams{Tool: mustTool(t, tool), Arguments: jsontext.Value(`{"port":" n"}`), Meta: RequestMeta{OnProgress: func(Progress) {}}}
	round, err := c.CallTool(short(t), params)
	if err != nil {
		t.Fatal(err)
	}
	if params.Continue, err = round.InputRequired.Answer(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(short(t), params); err != nil {
		t.Fatal(err)
	}
	first, second := p.Requests()[1], p.Requests()[2]
	for _, r := range []mcptest.Request{first, second} {
		if got := r.Header.Get("Mcp-Name") + " " + r.Header.Get("Mcp-Param-Port"); got != "=?base64?cGlsb3Qg5LiW?= =?base64?IG4=?=" {
			t.Errorf("headers of request %s: %q", r.ID, got)
		}
		meta, _ := r.Params.Get("_meta")
		if token, _ := meta.Get(keyProgress); string(token) != r.ID {
			t.Errorf("progress token of request %s is %s", r.ID, token)
		}
	}
	if first.ID == second.ID {
		t.Error("the retry has the id of the request")
	}
}

// TestAnnotationsChangeNothing calls two tools that claim opposite things about themselves: the requests are the same.
func TestAnnotationsChangeNothing(t *testing.T) {
	c, p := pipe(t, answerAll)
	for _, hints := range []string{
		`{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"title":"Safe"}`,
		`{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`,
	} {
		tool := mustTool(t, `{"name":"tide_table","inputSchema":{"type":"object"},"annotations":`+hints+`}`)
		if _, err := c.CallTool(t.Context(), &CallToolParams{Tool: tool}); err != nil {
			t.Fatal(err)
		}
	}
	first, second := p.Requests()[1], p.Requests()[2]
	if got := bytes.Replace(second.Raw, []byte(`"id":`+second.ID), []byte(`"id":`+first.ID), 1); !bytes.Equal(first.Raw, got) {
		t.Errorf("sent\n%s\nand\n%s", first.Raw, second.Raw)
	}
}

// TestNothingElseIsFetched puts the address of a listener wherever a server can put one, and wants no connection: icons,
// web sites, references of schemas, links, resources, forms to visit are data.
func TestNothingElseIsFetched(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var came atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			_ = conn.Close()
		}
	})
	url := func(s string) string { return strings.ReplaceAll(s, "URL", "http://"+l.Addr().String()) }
	icons := `"icons":[{"src":"URL/i.png"},{"src":"javascript:alert(1)"},{"src":"file:///etc/passwd"}]`
	tool := `{"name":"a",` + icons + `,"inputSchema":{"type":"object","properties":{"x":{"$ref":"URL/s.json"}}},"_meta":{"com.example/at":"URL"}}`
	answers := map[string]string{
		"server/discover": strings.Replace(fullDiscover, `"ttlMs"`, `"instructions":"Read URL/doc.","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1","websiteUrl":"URL",`+icons+`}},"ttlMs"`, 1),
		"tools/list":      page("", tool),
		"tools/call":      `{"resultType":"complete","content":[{"type":"resource_link","uri":"URL/r","name":"r",` + icons + `},{"type":"text","text":"URL"}]}`,
		"resources/list":  `{"resultType":"complete","resources":[{"uri":"URL/r","name":"r",` + icons + `}],"ttlMs":0,"cacheScope":"private"}`,
		"resources/read":  `{"resultType":"complete","contents":[{"uri":"URL/r","text":"x"}],"ttlMs":0,"cacheScope":"private"}`,
		"prompts/get":     `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"URL/visit"}}}}`,
	}
	c, _ := pipe(t, func(c *mcptest.Conn, r mcptest.Request) {
		answer := answers[r.Method]
		if answer == "" {
			answer = results[r.Method]
		}
		c.Result(r, url(answer))
	}, WithCapabilities(ClientCapabilities{ElicitationURL: true}))
	s, err := c.SnapshotTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Tools) != 1 || s.Tools[0].Icons[1].Src != "javascript:alert(1)" {
		t.Errorf("tools = %+v, want the icons kept as data", s.Tools)
	}
	if _, err := c.CallTool(t.Context(), &CallToolParams{Tool: s.Tools[0]}); err != nil {
		t.Error(err)
	}
	resources, err := c.SnapshotResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadResource(t.Context(), &ReadResourceParams{URI: resources.Resources[0].URI}); err != nil {
		t.Error(err)
	}
	round, err := c.GetPromptRound(t.Context(), &GetPromptParams{Name: "brief"})
	if err != nil || round.InputRequired == nil {
		t.Fatalf("GetPromptRound = %+v, %v, want a round", round, err)
	}
	if _, err := round.InputRequired.Answer(map[string]jsontext.Value{"k": jsontext.Value(`{"action":"accept"}`)}); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if n := came.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// TestEmptyPageIsNotTheEnd lists three pages of which only the last has a tool.
func TestEmptyPageIsNotTheEnd(t *testing.T) {
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		switch cursor, ok := r.Params.Get("cursor"); {
		case !ok:
			c.Result(r, page(`,"nextCursor":"b"`))
		case string(cursor) == `"b"`:
			c.Result(r, page(`,"nextCursor":"a"`))
		default:
			c.Result(r, page("", tide))
		}
	}))
	s, err := c.SnapshotTools(t.Context())
	if err != nil || len(s.Pages) != 3 || len(s.Tools) != 1 {
		t.Errorf("snapshot = %+v, %v, want one tool on three pages", s, err)
	}
	n := 0
	for _, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Error(err)
		}
		n++
	}
	if got := strings.Count(p.Methods(), "tools/list"); n != 1 || got != 6 {
		t.Errorf("the iterator yielded %d tools, %d list requests in all, want 1 and 6", n, got)
	}
}

// TestPromptArgumentsAreData sends arguments that look like something else: each arrives as the string that it is.
func TestPromptArgumentsAreData(t *testing.T) {
	c, p := pipe(t, answerAll)
	arguments := map[string]string{
		`","name":"other`: `"},"name":"other","x":{"a":"`, "_meta": `{"progressToken":1}`, "": "\x00\x1b[31m\r\n\u2028", "inputResponses": "null",
	}
	if _, err := c.GetPrompt(t.Context(), &GetPromptParams{Name: "brief\n\"", Arguments: arguments}); err != nil {
		t.Fatal(err)
	}
	params := p.Requests()[1].Params
	if name, _ := params.Get("name"); string(name) != `"brief\n\""` {
		t.Errorf("name = %s", name)
	}
	sent, _ := params.Get("arguments")
	if got := texts(sent); !maps.Equal(got, arguments) {
		t.Errorf("arguments arrived as %q, want %q", got, arguments)
	}
	before := p.Methods()
	for _, bad := range []map[string]string{{"a": "\xff"}, {"\xff": "a"}} {
		_, err := c.GetPrompt(t.Context(), &GetPromptParams{Name: "brief", Arguments: bad})
		as[*RequestError](t, err)
	}
	if p.Methods() != before {
		t.Errorf("sent %q, want nothing more than %q", p.Methods(), before)
	}
}
