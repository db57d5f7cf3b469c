package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// call calls the tool with a peer that answers with the message, and returns the outcome and how often it was asked.
func call(t *testing.T, tool *Tool, message []byte, opts ...Option) (*Round[CallToolResult], int, error) {
	t.Helper()
	c, p := pipe(t, fixed(message), opts...)
	round, err := c.CallTool(t.Context(), &CallToolParams{Tool: tool})
	return round, strings.Count(p.Methods(), "tools/call"), err
}

func answer(result string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":7001,"result":` + result + `}`)
}

func TestCaseVariants(t *testing.T) {
	messages := files(t, casetest.Dir(t, "jsonrpc/case-variants"))
	c, _ := pipe(t, fixed(messages["a.json"]))
	_, err := c.SnapshotTools(t.Context())
	as[*ProtocolError](t, err)
	c, _ = pipe(t, fixed(bytes.Replace(messages["b.json"], []byte("7002"), []byte("7099"), 1)))
	if s, err := c.SnapshotTools(t.Context()); err != nil || len(s.Tools) != 1 {
		t.Errorf("b: %v, want the answer accepted", err)
	}
	if e := refusedList(t, messages["c.json"]); e.Path != "/resultType" {
		t.Errorf("c: %v, want resultType named", e)
	}
	tool := toolOf(t, messages["d.json"])
	if _, ok := tool.Member("Name"); tool.Name != "tide_table" || !ok {
		t.Errorf("d: tool is %q, Name kept %v", tool.Name, ok)
	}
	with, err := ComputeToolDigest(tool)
	without, err2 := ComputeToolDigest(mustTool(t, strings.Replace(string(tool.Raw()), `"Name":"berth_status",`, ``, 1)))
	if err != nil || err2 != nil || with == without {
		t.Errorf("d: digest is the same without Name (%v, %v)", err, err2)
	}
}

func TestContentUnions(t *testing.T) {
	want := map[string]string{
		"a.json": "/content/0/type", "b.json": "/content/0/type", "c.json": "/content/0/data", "d.json": "/content/0/mimeType",
		"e.json": "/content/0/resource", "f.json": "/content/0/text", "g.json": "/content/0/name",
	}
	for name, message := range files(t, casetest.Dir(t, "schema/content-unions")) {
		_, _, err := call(t, mustTool(t, tide), message)
		e := as[*ProtocolError](t, err)
		if e.Path != want[name] || e.Method != "tools/call" {
			t.Errorf("%s: %v, want path %q", name, err, want[name])
		}
		if strings.Contains(err.Error(), "AAA") {
			t.Errorf("%s: error %q holds the data", name, err)
		}
		if !Delivered(err) {
			t.Errorf("%s: Delivered is false for a call that was answered", name)
		}
	}
}

func TestContentMalformed(t *testing.T) {
	for _, test := range []struct{ block, path string }{
		{`null`, ""},
		{`{"type":"Text","text":"x"}`, "/type"},
		{`{"type":"text","Text":"x"}`, "/text"},
		{`{"type":"image","data":"SGVs\nbG8=","mimeType":"image/png"}`, "/data"},
		{`{"type":"image","data":"SGVsbG8=\r\n","mimeType":"image/png"}`, "/data"},
		{`{"type":"image","data":"SGVsbG9=","mimeType":"image/png"}`, "/data"},
		{`{"type":"image","data":"SGVsbG8","mimeType":"image/png"}`, "/data"},
		{`{"type":"audio","data":"_-8=","mimeType":"audio/wav"}`, "/data"},
		{`{"type":"audio","data":null,"mimeType":"audio/wav"}`, "/data"},
		{`{"type":"resource","resource":{"uri":"a"}}`, "/resource"},
		{`{"type":"resource","resource":{"text":"a"}}`, "/resource/uri"},
		{`{"type":"resource","resource":{"uri":"a","blob":"?"}}`, "/resource/blob"},
		{`{"type":"resource"}`, "/resource"},
		{`{"type":"resource_link","name":"a"}`, "/uri"},
		{`{"type":"resource_link","uri":"a","name":"a","size":1.5}`, "/size"},
		{`{"type":"text","text":"x","annotations":{"audience":["me"]}}`, "/annotations/audience/0"},
		{`{"type":"text","text":"x","annotations":{"priority":1.01}}`, "/annotations/priority"},
		{`{"type":"text","text":"x","annotations":{"lastModified":0}}`, "/annotations/lastModified"},
		{`{"type":"text","text":"x","annotations":null}`, "/annotations"},
		{`{"type":"text","text":"x","_meta":[]}`, "/_meta"},
	} {
		_, _, err := call(t, mustTool(t, tide), answer(`{"resultType":"complete","content":[`+test.block+`]}`))
		var e *ProtocolError
		if !errors.As(err, &e) || e.Path != "/content/0"+test.path {
			t.Errorf("%s: %v, want a *ProtocolError at /content/0%s", test.block, err, test.path)
		}
	}
}

func TestContentComplete(t *testing.T) {
	const result = `{"resultType":"complete","content":[{"type":"text","text":"a","annotations":{"audience":["user"],"priority":1,"lastModified":"x"},"z":1.0},` +
		`{"type":"image","data":"","mimeType":"image/png"},{"type":"audio","data":"SGVsbG8=","mimeType":"audio/wav"},` +
		`{"type":"resource_link","uri":"a:b","name":"n","size":3e0},{"type":"resource","resource":{"uri":"u","blob":""}},` +
		`{"type":"resource","resource":{"uri":"u","text":"","annotations":{"priority":7}}}],"structuredContent":null,"isError":false,` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":""}}}`
	round, _, err := call(t, mustTool(t, tide), answer(result))
	if err != nil {
		t.Fatal(err)
	}
	r := round.Complete
	if string(r.Raw()) != result || string(r.StructuredContent) != "null" || r.Err() != nil || r.ServerInfo.Name != "n" {
		t.Errorf("result = %+v", r)
	}
	if b := r.Content[0].(*TextContent); b.Text != "a" || *b.Annotations.Priority != 1 || !strings.HasSuffix(string(b.Raw()), `"z":1.0}`) {
		t.Errorf("text = %+v", b)
	}
	if b := r.Content[1].(*ImageContent); len(b.Data) != 0 || b.MIMEType != "image/png" {
		t.Errorf("image = %+v", b)
	}
	if b := r.Content[2].(*AudioContent); string(b.Data) != "Hello" {
		t.Errorf("audio = %+v", b)
	}
	if b := r.Content[3].(*ResourceLink); b.URI != "a:b" || *b.Size != 3 {
		t.Errorf("link = %+v", b)
	}
	if b := r.Content[4].(*EmbeddedResource); b.Resource.Blob == nil || b.Resource.Text != nil {
		t.Errorf("blob = %+v", b)
	}
	if b := r.Content[5].(*EmbeddedResource); *b.Resource.Text != "" || b.Resource.Blob != nil {
		t.Errorf("text resource = %+v", b)
	}
}

func TestStructuredMissing(t *testing.T) {
	messages := files(t, casetest.Dir(t, "schema/structured-missing"))
	_, _, err := call(t, toolOf(t, messages["tools-list.json"]), messages["response.json"])
	e := as[*SchemaError](t, err)
	if e.Tool != "probe" || !Delivered(err) {
		t.Errorf("SchemaError = %+v", e)
	}
	var tool *ToolError
	if errors.As(err, &tool) {
		t.Error("a schema error looks like isError")
	}
}

func TestEmptyContentWithStructure(t *testing.T) {
	messages := files(t, casetest.Dir(t, "schema/empty-content-with-structure"))
	tool := toolOf(t, messages["tools-list.json"])
	round, _, err := call(t, tool, messages["response.json"])
	if err != nil || string(round.Complete.StructuredContent) != `{"free":0}` || round.Complete.Content == nil {
		t.Errorf("CallTool = %+v, %v", round, err)
	}
	_, _, err = call(t, tool, messages["bad.json"])
	if e := as[*ProtocolError](t, err); e.Path != "/content" {
		t.Errorf("content missing: %v", err)
	}
}

func TestErrorResultAndOutputSchema(t *testing.T) {
	messages := files(t, casetest.Dir(t, "schema/error-result-and-outputschema"))
	tool := toolOf(t, messages["tools-list.json"])
	for _, name := range []string{"a.json", "b.json"} {
		round, _, err := call(t, tool, messages[name])
		if err != nil {
			t.Errorf("%s: %v, want the result", name, err)
			continue
		}
		text := round.Complete.Content[0].(*TextContent).Text
		e := as[*ToolError](t, round.Complete.Err())
		if !round.Complete.IsError || text == "" {
			t.Errorf("%s: result = %+v", name, round.Complete)
		}
		wantText(t, e, text)
	}
}

func TestOutputSchemaFails(t *testing.T) {
	_, _, err := call(t, mustTool(t, berth), answer(`{"resultType":"complete","content":[],"structuredContent":{"free":"many"}}`))
	if e := as[*SchemaError](t, err); e.Path != "/free" || e.Keyword != "type" || !e.Delivered {
		t.Errorf("SchemaError = %+v", e)
	}
	// One that cannot be used is found before anything is sent.
	tool := mustTool(t, `{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"$ref":"https://example.com/x"}}`)
	_, calls, err := call(t, tool, answer(`{"resultType":"complete","content":[]}`))
	if e := as[*SchemaError](t, err); e.Delivered || calls != 0 || Delivered(err) {
		t.Errorf("CallTool = %v after %d calls, want it refused before it is sent", err, calls)
	}
}

func TestArgumentsPassUnchanged(t *testing.T) {
	c, p := pipe(t, fixed(answer(`{"resultType":"complete","content":[]}`)))
	tool := mustTool(t, tide)
	for _, test := range []struct{ arguments, sent string }{
		{`{"b":1.0,"a":9007199254740993,"e":"\u00e9\/<","n":null,"x":1e400}`, `{"b":1.0,"a":9007199254740993,"e":"\u00e9\/<","n":null,"x":1e400}`},
		{` { } `, `{ }`},
		{"{\n\t\"a\": 1,\r\n\"b\":2}", "{ \t\"a\": 1,  \"b\":2}"},
	} {
		arguments := jsontext.Value(test.arguments)
		if _, err := c.CallTool(t.Context(), &CallToolParams{Tool: tool, Arguments: arguments}); err != nil {
			t.Fatal(err)
		}
		requests := p.Requests()
		if got, _ := requests[len(requests)-1].Params.Get("arguments"); string(got) != test.sent {
			t.Errorf("arguments went out as %q, want %q", got, test.sent)
		}
		if string(arguments) != test.arguments {
			t.Errorf("the caller's arguments became %q", arguments)
		}
	}
	if _, err := c.CallTool(t.Context(), &CallToolParams{Tool: tool}); err != nil {
		t.Fatal(err)
	}
	requests := p.Requests()
	if got, ok := requests[len(requests)-1].Params.Get("arguments"); ok {
		t.Errorf("absent arguments went out as %s", got)
	}
}

func TestCallRefusedBeforeSending(t *testing.T) {
	c, p := pipe(t, fixed(answer(`{"resultType":"complete","content":[]}`)))
	tool := mustTool(t, tide)
	renamed := *tool
	renamed.Name = "other"
	schema := *tool
	schema.InputSchema = jsontext.Value(`{"type":"object"}`)
	for name, params := range map[string]*CallToolParams{
		"nil":             nil,
		"no tool":         {},
		"array":           {Tool: tool, Arguments: jsontext.Value(`[]`)},
		"null":            {Tool: tool, Arguments: jsontext.Value(`null`)},
		"empty":           {Tool: tool, Arguments: jsontext.Value{}},
		"duplicate":       {Tool: tool, Arguments: jsontext.Value(`{"a":1,"\u0061":2}`)},
		"two":             {Tool: tool, Arguments: jsontext.Value(`{}{}`)},
		"surrogate":       {Tool: tool, Arguments: jsontext.Value(`{"a":"\ud800"}`)},
		"renamed":         {Tool: &renamed},
		"other schema":    {Tool: &schema},
		"invalid by hand": {Tool: &Tool{Name: "a"}},
		"log level":       {Tool: tool, Meta: RequestMeta{LogLevel: "loud"}},
		"timeout":         {Tool: tool, Meta: RequestMeta{Timeout: -1}},
		"capabilities":    {Tool: tool, Meta: RequestMeta{Capabilities: &ClientCapabilities{SamplingTools: true}}},
	} {
		_, err := c.CallTool(t.Context(), params)
		var e *RequestError
		if !errors.As(err, &e) || Delivered(err) {
			t.Errorf("%s: CallTool = %v, want a *RequestError", name, err)
		}
	}
	if got := p.Methods(); got != "server/discover" {
		t.Errorf("sent %q, want nothing", got)
	}
	byHand := &Tool{Name: "by hand", InputSchema: jsontext.Value(`{"type":"object"}`)}
	if _, err := c.CallTool(t.Context(), &CallToolParams{Tool: byHand}); err != nil {
		t.Errorf("CallTool with a definition made by hand = %v", err)
	}
}

func TestCallTimeouts(t *testing.T) {
	for _, test := range []struct{ set, option, want time.Duration }{
		{0, 0, time.Minute},
		{2 * time.Second, 0, 2 * time.Second},
		{0, 3 * time.Second, 3 * time.Second},
		{time.Hour, 0, MaxCallTimeout},
		{0, time.Hour, MaxCallTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, p := pipe(t, mcptest.Serve(func(*mcptest.Conn, mcptest.Request) {}), WithTimeouts(Timeouts{Call: test.option}))
			defer closed(t, c)
			start := time.Now()
			_, err := c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{Timeout: test.set}})
			if e := as[*TimeoutError](t, err); time.Since(start) != test.want || !e.Delivered || !Delivered(err) {
				t.Errorf("CallTool = %v after %s, want %s", err, time.Since(start), test.want)
			}
			synctest.Wait()
			requests := p.Requests()
			last := requests[len(requests)-1]
			if id, _ := last.Params.Get("requestId"); last.Method != "notifications/cancelled" || string(id) != requests[1].ID {
				t.Errorf("last message is %s, want a cancellation of %s", last.Raw, requests[1].ID)
			}
		})
	}
}

func TestContextWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			cancel()
			c.Close()
		}))
		defer closed(t, c)
		_, err := c.CallTool(ctx, &CallToolParams{Tool: mustTool(t, tide)})
		if !errors.Is(err, context.Canceled) || !Delivered(err) {
			t.Errorf("CallTool = %v, want the context's error", err)
		}
	})
}

func TestProgressAndLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			meta, _ := r.Params.Get("_meta")
			token, _ := meta.Get("progressToken")
			note := func(token, rest string) {
				c.Line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,` + rest + `}}`)
			}
			log := func(rest string) {
				c.Line(`{"jsonrpc":"2.0","method":"notifications/message","params":{` + rest + `}}`)
			}
			note(string(token), `"progress":0.5,"total":2,"message":"half"`)
			note(string(token), `"progress":0.5`)
			note(string(token), `"progress":0.25`)
			note(string(token), `"progress":"1"`)
			note(string(token), `"progress":1e400`)
			note(`"`+string(token)+`"`, `"progress":7`)
			note(`99`, `"progress":8`)
			note(string(token), `"progress":1,"message":"`+strings.Repeat("x", 2000)+`"`)
			log(`"level":"warning","data":{"a":1},"logger":"l"`)
			log(`"level":"info","data":"below"`)
			log(`"level":"loud","data":1`)
			log(`"level":"error"`)
			log(`"level":"error","data":null`)
			c.Result(r, `{"resultType":"complete","content":[]}`)
		}))
		defer closed(t, c)
		var notes []Progress
		var logs []LogMessage
		_, err := c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{
			LogLevel: LogWarning, OnLog: func(l LogMessage) { logs = append(logs, l) },
			OnProgress: func(p Progress) {
				time.Sleep(time.Second) // slower than the server
				notes = append(notes, p)
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if len(notes) != 2 || notes[0].Progress != 0.5 || *notes[0].Total != 2 || *notes[0].Message != "half" || notes[1].Progress != 1 || len(*notes[1].Message) != 1024 {
			t.Errorf("progress = %+v, want 0.5 and 1", notes)
		}
		if len(logs) != 2 || logs[0].Level != LogWarning || string(logs[0].Data) != `{"a":1}` || *logs[0].Logger != "l" || string(logs[1].Data) != "null" {
			t.Errorf("logs = %+v, want two", logs)
		}
		if c.Dropped() != 9 {
			t.Errorf("Dropped() = %d, want 9", c.Dropped())
		}
		meta, _ := p.Requests()[1].Params.Get("_meta")
		if level, _ := meta.Get(keyLogLevel); string(level) != `"warning"` {
			t.Errorf("logLevel = %s", level)
		}
	})
}

func TestNotificationsAreBoundedAndOptIn(t *testing.T) {
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		for i := range 150 {
			c.Line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, r.ID, i))
			c.Line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":1}}`)
		}
		c.Result(r, `{"resultType":"complete","content":[]}`)
	}))
	notes, logs := 0, 0
	meta := RequestMeta{OnProgress: func(Progress) { notes++ }, LogLevel: LogDebug, OnLog: func(LogMessage) { logs++ }}
	if _, err := c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, tide), Meta: meta}); err != nil {
		t.Fatal(err)
	}
	if notes != 100 || logs != 100 || c.Dropped() != 100 {
		t.Errorf("handed over %d notes and %d logs, dropped %d, want 100 of each", notes, logs, c.Dropped())
	}
	logs = 0
	if _, err := c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{OnLog: func(LogMessage) { logs++ }}}); err != nil {
		t.Fatal(err)
	}
	requests := p.Requests()
	meta2, _ := requests[len(requests)-1].Params.Get("_meta")
	if _, ok := meta2.Get(keyProgress); logs != 0 || ok {
		t.Errorf("%d logs and a token (%v) without asking for them", logs, ok)
	}
}

// modelcontextprotocol/go-sdk#967: what the types of a library do not have can be neither sent nor read.
func TestExtensionCall(t *testing.T) {
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Result(r, `{"resultType":"complete","x":1.0}`)
	}))
	got, err := c.Call(t.Context(), "com.example/tides", jsontext.Value(`{ "a":1.0 }`), RequestMeta{})
	if err != nil || string(got) != `{"resultType":"complete","x":1.0}` {
		t.Errorf("Call = %s, %v", got, err)
	}
	if raw := string(p.Requests()[1].Params); !strings.HasSuffix(raw, `}}, "a":1.0 }`) && !strings.HasSuffix(raw, `}, "a":1.0 }`) {
		t.Errorf("params = %s", raw)
	}
	if _, err := c.Call(t.Context(), "com.example/tides", jsontext.Value(`{ }`), RequestMeta{}); err != nil {
		t.Errorf("Call with empty params = %v", err)
	}
	before := p.Methods()
	for _, method := range []string{
		"", "tools/call", "tools/list", "server/discover", "resources/read", "prompts/get", "completion/complete",
		"subscriptions/listen", "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
		"tasks/get", "notifications/cancelled", "sampling/createMessage", "roots/list", "a b", "a\n", strings.Repeat("a", 257),
	} {
		_, err := c.Call(t.Context(), method, nil, RequestMeta{})
		as[*RequestError](t, err)
	}
	for _, params := range []string{`[]`, `null`, `{"_meta":{}}`, `{"a":1,"a":2}`, ``} {
		_, err := c.Call(t.Context(), "com.example/x", jsontext.Value(params), RequestMeta{})
		as[*RequestError](t, err)
	}
	if p.Methods() != before {
		t.Errorf("sent %q, want nothing more than %q", p.Methods(), before)
	}
}

func TestAnswersOutOfOrder(t *testing.T) {
	var held []mcptest.Request
	c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		if held = append(held, r); len(held) == 3 {
			for i := 2; i >= 0; i-- {
				name, _ := held[i].Params.Get("name")
				c.Result(held[i], `{"resultType":"complete","content":[{"type":"text","text":`+string(name)+`}]}`)
			}
		}
	}))
	done := make(chan error, 3)
	for _, name := range []string{"a", "b", "c"} {
		tool := mustTool(t, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
		go func() {
			round, err := c.CallTool(t.Context(), &CallToolParams{Tool: tool})
			if err == nil && round.Complete.Content[0].(*TextContent).Text != name {
				err = fmt.Errorf("call of %s was answered with %s", name, round.Complete.Raw())
			}
			done <- err
		}()
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
