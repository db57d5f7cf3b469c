package mcp

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcpheader"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// The tests of this file are named for faults that other implementations have had, with the public thread of each.
// Further tests that show such faults away stand with their subject and cite the thread too.

// modelcontextprotocol/go-sdk#1177: servers of older revisions end their process at a first message that is not
// initialize. The error says during what the server ended, how, and what it said last.
//
// modelcontextprotocol/typescript-sdk#2514: to find that out, a second process is started. Here there is one process for
// one connection, and it is not started again.
func TestServerThatEndsAtDiscovery(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	tr := NewStdioTransport("sh", []string{"-c", `echo started >>"$STARTS"; read line; echo "expected initialize" >&2; exit 3`})
	tr.Env = append(MinimalEnv(), "STARTS="+starts)
	_, err := Connect(short(t), tr)
	e := as[*TransportError](t, err)
	if e.Op != "exit" || !e.Delivered || !strings.Contains(e.Stderr, "expected initialize") {
		t.Errorf("TransportError = %+v", e)
	}
	if exit := as[*ExitError](t, err); exit.Code != 3 {
		t.Errorf("ExitError = %+v", exit)
	}
	wantText(t, err, "server exited during server/discover (exit status 3)")
	if b, err := os.ReadFile(starts); err != nil || string(b) != "started\n" {
		t.Errorf("starts: %q, %v, want one", b, err)
	}
}

// modelcontextprotocol/typescript-sdk#2514: the process that answers the discovery is the one that is called.
func TestOneProcessForDiscoveryAndCalls(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	script := `echo started >>"$STARTS"
answer() { read line; printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
answer 1 '` + mcptest.Discover + `'
answer 2 '` + page("", tide) + `'
answer 3 '{"resultType":"complete","content":[{"type":"text","text":"'$$'"}]}'
answer 4 '{"resultType":"complete","content":[{"type":"text","text":"'$$'"}]}'
read line`
	tr := NewStdioTransport("sh", []string{"-c", script})
	tr.Env = append(MinimalEnv(), "STARTS="+starts)
	c, err := Connect(short(t), tr)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, c)
	alive(t, c)
	var pids []string
	for range 2 {
		round, err := c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, tide)})
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, round.Complete.Content[0].(*TextContent).Text)
	}
	if b, err := os.ReadFile(starts); err != nil || string(b) != "started\n" || pids[0] != pids[1] {
		t.Errorf("starts: %q, %v, the calls were answered by processes %q", b, err, pids)
	}
}

// modelcontextprotocol/go-sdk#1014, modelcontextprotocol/csharp-sdk#1766, modelcontextprotocol/csharp-sdk#1799,
// modelcontextprotocol/csharp-sdk#1848: whatever goes wrong with the discovery, clients take up an older revision, or get
// lost on the way there. Here one request is sent, and its failure is the failure to connect.
func TestNoFallbackToInitialize(t *testing.T) {
	object := func(s string) mcptest.Handler { return func(c *mcptest.Conn, r mcptest.Request) { c.Error(r, s) } }
	raw := func(s string) mcptest.Handler {
		return func(c *mcptest.Conn, _ mcptest.Request) { _, _ = io.WriteString(c, "HTTP/1.1 "+s) }
	}
	answers := map[string]mcptest.Handler{
		"unknown method":  object(`{"code":-32601,"message":"Method not found"}`),
		"invalid params":  object(`{"code":-32602,"message":"missing _meta"}`),
		"internal":        object(`{"code":-32603,"message":"oops"}`),
		"zero":            object(`{"code":0,"message":"invalid during session initialization"}`),
		"not initialized": object(`{"code":-32000,"message":"Server not initialized"}`),
		"version":         object(`{"code":-32022,"message":"no","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}`),
		"newer version":   object(`{"code":-32022,"message":"no","data":{"supported":["2027-01-01"],"requested":"2026-07-28"}}`),
		"older versions":  result(`{"resultType":"complete","supportedVersions":["2025-11-25"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`),
		"no result type":  result(`{"supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`),
		"of initialize":   result(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"n","version":"1"}}`),
		"empty":           result(`{}`),
		"text":            func(c *mcptest.Conn, _ mcptest.Request) { c.Line("ready") },
		"end":             func(c *mcptest.Conn, _ mcptest.Request) { c.Close() },
		"nothing":         func(c *mcptest.Conn, _ mcptest.Request) { c.Wait() },
	}
	overHTTPOnly := map[string]mcptest.Handler{
		"400": raw("400 Bad Request\r\nContent-Type: text/plain\r\n\r\nUnsupported protocol version (supported versions: 2025-11-25)"),
		"404": raw("404 Not Found\r\nContent-Type: text/plain\r\n\r\nInvalid session ID"),
		"405": raw("405 Method Not Allowed\r\nAllow: GET\r\nContent-Length: 0\r\n\r\n"),
		"401": raw("401 Unauthorized\r\nContent-Length: 0\r\n\r\n"),
		"500": raw("500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"),
		"307": raw("307 Temporary Redirect\r\nLocation: /sse\r\nContent-Length: 0\r\n\r\n"),
	}
	run := func(name, over string, h mcptest.Handler) {
		var p *mcptest.Peer
		var tr Transport
		if over == "http" {
			p = mcptest.HTTP(t, h)
			own := NewStreamableHTTPTransport(p.URL)
			own.AllowPrivate = true
			tr = own
		} else {
			p = mcptest.Pipe(t, h)
			tr = NewIOTransport(p.R, p.W)
		}
		timeouts := Timeouts{}
		if name == "nothing" {
			timeouts.Discover = 50 * time.Millisecond
		}
		c, err := Connect(short(t), tr, WithTimeouts(timeouts))
		if err == nil {
			closed(t, c)
			t.Errorf("%s over %s: Connect succeeded", name, over)
		}
		time.Sleep(5 * time.Millisecond) // for what must not be
		if got := strings.TrimSuffix(p.Methods(), " "+noteCancelled); got != "server/discover" {
			t.Errorf("%s over %s: sent %q", name, over, got)
		}
	}
	for name, h := range answers {
		run(name, "stdio", h)
		run(name, "http", h)
	}
	for name, h := range overHTTPOnly {
		run(name, "http", h)
	}
}

// modelcontextprotocol/go-sdk#1283: a subscription that has ended cannot be made again on the same connection.
func TestListenAgainAfterTheEnd(t *testing.T) {
	endings := map[string]struct {
		end  func(c *mcptest.Conn, r mcptest.Request)
		want SubscriptionOutcome
	}{
		"by the server": {func(c *mcptest.Conn, r mcptest.Request) { c.Event(endOf(r.ID)) }, SubscriptionEnded},
		"by an error": {func(c *mcptest.Conn, r mcptest.Request) {
			c.Event(`{"jsonrpc":"2.0","id":` + r.ID + `,"error":{"code":-32603,"message":"m"}}`)
		}, SubscriptionRefused},
		"by a violation": {func(c *mcptest.Conn, r mcptest.Request) {
			c.Event(changeOf(`"other"`, noteToolsChanged, ""))
			c.Event(ackOf(r.ID, `{}`))
		}, SubscriptionViolated},
		"by a loss":    {func(c *mcptest.Conn, r mcptest.Request) { c.Close() }, SubscriptionLost},
		"by this side": {nil, SubscriptionClosed},
	}
	overBoth(t, func(t *testing.T, connect connector) {
		for name, ending := range endings {
			var n int
			var mu sync.Mutex
			over := ""
			c, _ := connect(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
				if r.Method != methodListen {
					return
				}
				mu.Lock()
				n++
				first := n == 1
				mu.Unlock()
				c.Stream()
				c.Event(ackOf(r.ID, `{"toolsListChanged":true}`))
				switch {
				case !first:
					c.Event(changeOf(r.ID, noteToolsChanged, ""))
				case ending.end != nil:
					ending.end(c, r)
				}
				c.Wait()
			}))
			if c.kind.lines {
				over = "stdio"
			}
			if over == "stdio" && ending.want == SubscriptionLost {
				continue // with the stream the connection is lost
			}
			s := listen(t, c, toolsOnly)
			if ending.end == nil {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			ends(t, s, ending.want)
			again := listen(t, c, toolsOnly)
			select {
			case e, open := <-again.Events():
				if !open || e.Kind != ChangeTools {
					t.Errorf("%s: event %+v, %v", name, e, again.Err())
				}
			case <-time.After(5 * time.Second):
				t.Errorf("%s: no event on the second subscription", name)
			}
		}
	})
}

// modelcontextprotocol/go-sdk#1144, modelcontextprotocol/go-sdk#1145: the answers of a round were written into the caller's
// parameters, and went out again with the next call that used them.
func TestParamsAreNotWrittenTo(t *testing.T) {
	c, p := pipe(t, func(c *mcptest.Conn, r mcptest.Request) {
		if _, ok := r.Params.Get("requestState"); !ok && r.Method != methodDiscover {
			c.Result(r, `{"resultType":"input_required","requestState":"s","inputRequests":{"k":`+askRoots+`}}`)
			return
		}
		answerAll(c, r)
	}, WithCapabilities(ClientCapabilities{Roots: true}))
	meta := func() RequestMeta {
		return RequestMeta{Extra: map[string]jsontext.Value{"com.example/x": jsontext.Value("{\n}")}, Capabilities: &ClientCapabilities{Roots: true}, LogLevel: LogDebug}
	}
	call := func() *CallToolParams {
		return &CallToolParams{Tool: mustTool(t, tide), Arguments: jsontext.Value("{\n\"harbour\" : \"n\"\r\n}"), Meta: meta()}
	}
	prompt := func() *GetPromptParams {
		return &GetPromptParams{Name: "brief", Arguments: map[string]string{"a": "b"}, Meta: meta()}
	}
	read := func() *ReadResourceParams { return &ReadResourceParams{URI: "tide://north", Meta: meta()} }
	shared, sharedPrompt, sharedRead := call(), prompt(), read()
	answers := map[string]jsontext.Value{"k": jsontext.Value(`{"roots":[]}`)}
	var wg sync.WaitGroup
	for range 8 { // all with the same parameters
		wg.Go(func() {
			first, err := c.CallTool(t.Context(), shared)
			if err != nil || first.InputRequired == nil {
				t.Errorf("first call: %+v, %v", first, err)
				return
			}
			own := *shared
			if own.Continue, err = first.InputRequired.Answer(answers); err != nil {
				t.Error(err)
				return
			}
			if round, err := c.CallTool(t.Context(), &own); err != nil || round.Complete == nil {
				t.Errorf("second call: %+v, %v", round, err)
			}
			if _, err := c.GetPromptRound(t.Context(), sharedPrompt); err != nil {
				t.Error(err)
			}
			if _, err := c.ReadResourceRound(t.Context(), sharedRead); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, want := range []any{call(), prompt(), read()} {
		if got := []any{shared, sharedPrompt, sharedRead}[i]; !sameFields(got, want) {
			t.Errorf("parameters were changed: %+v, want %+v", got, want)
		}
	}
	if want := `{"k":{"roots":[]}}`; string(answers["k"]) != `{"roots":[]}` || len(answers) != 1 {
		t.Errorf("the answers were changed: %s, want %s", answers["k"], want)
	}
	before := len(p.Requests())
	if round, err := c.CallTool(t.Context(), shared); err != nil || round.InputRequired == nil {
		t.Fatalf("a call with the first parameters again: %+v, %v", round, err)
	}
	sent := p.Requests()[before].Params
	for _, name := range []string{"inputResponses", "requestState"} {
		if v, ok := sent.Get(name); ok {
			t.Errorf("a new call carries %s %s of an earlier one", name, v)
		}
	}
}

// sameFields compares parameters but for their tool, which is compared by its bytes.
func sameFields(a, b any) bool {
	if call, ok := a.(*CallToolParams); ok {
		x, y := *call, *b.(*CallToolParams)
		same := string(x.Tool.Raw()) == string(y.Tool.Raw())
		x.Tool, y.Tool = nil, nil
		return same && reflect.DeepEqual(x, y)
	}
	return reflect.DeepEqual(a, b)
}

// modelcontextprotocol/go-sdk#1243, modelcontextprotocol/go-sdk#1246, modelcontextprotocol/typescript-sdk#2327,
// modelcontextprotocol/typescript-sdk#2328: names that a header cannot hold were sent as they are. Inspector
// (modelcontextprotocol/inspector#1938) sent no Mcp-Name at all.
func TestNameHeaderOfEveryName(t *testing.T) {
	c, p := overHTTP(t, answerAll)
	for _, name := range []string{
		"plain", "customized greeting 1", "a/b?c#d", " leading", "trailing ", "tab\tinside", "\ttab", "a\r\nX-Injected: 1", "nul\x00", "del\x7f",
		"\u4e16\u754c", "\u00e9", "e\u0301", "\U0001f30a", "\u2028", "=?base64?eA==?=", "=?base64??=", "=?base64?=", "=?BASE64?eA==?=", "\u202e",
	} {
		quoted := jsonText(name)
		calls := map[string]func() error{
			methodToolsCall: func() error {
				_, err := c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, `{"name":`+quoted+`,"inputSchema":{"type":"object"}}`)})
				return err
			},
			methodPromptsGet: func() error {
				_, err := c.GetPrompt(short(t), &GetPromptParams{Name: name})
				return err
			},
			methodResourcesRead: func() error {
				_, err := c.ReadResource(short(t), &ReadResourceParams{URI: name})
				return err
			},
		}
		for method, call := range calls {
			before := len(p.Requests())
			if err := call(); err != nil {
				t.Errorf("%s of %q: %v", method, name, err)
			}
			sent := p.Requests()[before:]
			if len(sent) != 1 {
				t.Errorf("%s of %q: %d requests", method, name, len(sent))
				continue
			}
			values := sent[0].Header.Values("Mcp-Name")
			if len(values) != 1 || sent[0].Header.Get("X-Injected") != "" {
				t.Errorf("%s of %q: Mcp-Name = %q", method, name, values)
				continue
			}
			got, err := mcpheader.Decode(values[0])
			if err != nil || got != name || strings.IndexFunc(values[0], func(r rune) bool { return r > '~' || (r < ' ' && r != '\t') }) >= 0 {
				t.Errorf("%s of %q: Mcp-Name = %q, which says %q (%v)", method, name, values[0], got, err)
			}
		}
	}
}

// modelcontextprotocol/go-sdk#683, modelcontextprotocol/go-sdk#1117: after one HTTP exchange that failed, all others of the
// client fail too. Here an exchange is nobody else's business.
func TestFailedExchangePoisonsNothing(t *testing.T) {
	failures := map[string]string{
		"429":       "HTTP/1.1 429 X\r\nRetry-After: 60\r\nConnection: close\r\n\r\n",
		"400 rpc":   "HTTP/1.1 400 X\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"error\":{\"code\":-32021,\"message\":\"m\",\"data\":{\"requiredCapabilities\":{\"roots\":{}}}}}",
		"404 rpc":   "HTTP/1.1 404 X\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"error\":{\"code\":-32601,\"message\":\"m\"}}",
		"503":       "HTTP/1.1 503 X\r\nConnection: close\r\n\r\n",
		"half":      "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"jsonrpc\"",
		"foreign":   "HTTP/1.1 200 X\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}",
		"too much":  "HTTP/1.1 200 X\r\nContent-Type: application/json\r\n\r\n" + strings.Repeat(" ", 70<<10),
		"too many":  "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\n" + strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", 20_000),
		"hang-up":   "",
		"head only": "HTTP/1.1 200 X\r\n",
	}
	for name, raw := range hostileHTTP {
		failures[name] = raw
	}
	failing := ""
	var mu sync.Mutex
	p := mcptest.HTTP(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == methodToolsList {
			c.Result(r, page("", tide))
			return
		}
		_, _ = io.WriteString(c, strings.ReplaceAll(failing, "ID", r.ID))
	}))
	tr := NewStreamableHTTPTransport(p.URL)
	tr.AllowPrivate = true
	c, err := Connect(short(t), tr, WithLimits(Limits{MessageBytes: 64 << 10}))
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, c)
	for name, raw := range failures {
		mu.Lock()
		failing = raw
		mu.Unlock()
		if _, err := c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, tide)}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if c.Err() != nil {
			t.Fatalf("%s: the client has ended: %v", name, c.Err())
		}
		alive(t, c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.ListTools(ctx, nil); err == nil {
		t.Error("a call whose context has ended")
	}
	alive(t, c)
	if got, want := len(p.Requests()), 2+2*len(failures); got != want {
		t.Errorf("%d requests, want %d: nothing is sent again", got, want)
	}
}

// modelcontextprotocol/go-sdk#805 (GHSA-wvj2-96wp-fq3f): members are found whatever their case, so that two readers of one
// message read two messages. segmentio/encoding#161 (GHSA-q382-vc8q-7jhj): a name that ends with NUL is taken for the name
// without. Here a name is its characters.
func TestMembersOfOtherSpellingsAreOthers(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[` + tide + `]}}`
	hostile := map[string]string{
		"jsonrpc": `"1.0"`, "id": `"other"`, "result": `{}`, "resultType": `"input_required"`, "ttlMs": `-1`, "cacheScope": `"all"`, "tools": `[` + berth + `]`,
		"name": `"berth_status"`, "inputSchema": `{"type":"array"}`, "description": `"Lists nothing."`,
	}
	variants := func(name string) []string {
		return []string{strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], name + `\u0000`, name + ` `, strings.NewReplacer("s", "\u017f", "k", "\u212a").Replace(name)}
	}
	list := func(message string) (*ToolsSnapshot, error) {
		c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) { c.Line(strings.ReplaceAll(message, "ID", r.ID)) }))
		return c.SnapshotTools(short(t))
	}
	for name, value := range hostile {
		exact := `"` + name + `":`
		if !strings.Contains(good, exact) {
			t.Fatalf("no %s in the message", exact)
		}
		for _, variant := range variants(name) {
			if variant == name {
				continue
			}
			other := `"` + variant + `":`
			if s, err := list(strings.Replace(good, exact, other, 1)); err == nil && name != "description" {
				t.Errorf("%s is taken for %s: %s", other, exact, s.Tools[0].Raw())
			} else if err == nil && s.Tools[0].Description != nil {
				t.Errorf("%s is taken for %s", other, exact)
			}
			for _, beside := range []string{other + value + `,` + exact, exact} {
				message := strings.Replace(good, exact, beside, 1)
				if beside == exact { // behind it
					message = strings.Replace(good, `{"name"`, `{`+other+value+`,"name"`, 1)
				}
				s, err := list(message)
				envelope := name == "jsonrpc" || name == "id" || name == "result"
				if err != nil && envelope && beside != exact {
					continue // a message with a member that no message has
				}
				if err != nil || len(s.Tools) != 1 || s.Tools[0].Name != "tide_table" || *s.Tools[0].Description != "Lists high and low water." {
					t.Errorf("%s beside %s: %v", other, exact, err)
				}
			}
		}
	}
	// A cursor of another spelling is none, so there is no second page.
	for _, variant := range variants("nextCursor") {
		if s, err := list(strings.Replace(good, `"ttlMs"`, `"`+variant+`":"2","ttlMs"`, 1)); variant != "nextCursor" && (err != nil || len(s.Pages) != 1) {
			t.Errorf("%q is taken for a cursor: %v", variant, err)
		}
	}
}

// modelcontextprotocol/python-sdk#3332: an event of more than 1 MiB ended the server without a word. Here it is an answer,
// and one beyond the limit is the error of its own call, which names the limit.
func TestLargeEventIsAnAnswerOrAnError(t *testing.T) {
	for _, over := range []int{0, 1 << 20} {
		p := mcptest.HTTP(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			size := 3 << 19
			if r.Method == methodToolsList {
				c.Result(r, page("", tide))
				return
			}
			c.Stream()
			c.Event(`{"jsonrpc":"2.0","id":` + r.ID + `,"result":{"resultType":"complete","content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}}`)
		}))
		tr := NewStreamableHTTPTransport(p.URL)
		tr.AllowPrivate = true
		c, err := Connect(short(t), tr, WithLimits(Limits{MessageBytes: over}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, tide)})
		if over == 0 && err != nil {
			t.Errorf("1.5 MiB in one event: %v", err)
		}
		if over > 0 {
			if e := as[*LimitError](t, err); e.Max != int64(over) || e.Method != methodToolsCall {
				t.Errorf("LimitError = %+v", e)
			}
			wantText(t, err, methodToolsCall, fmt.Sprint(over))
		}
		alive(t, c)
		closed(t, c)
	}
}
