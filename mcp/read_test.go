package mcp

import (
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

const readFront = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[`

func TestReadResource(t *testing.T) {
	const result = readFront + `{"uri":"file:///a","text":"","mimeType":"text/plain","z":1.0},{"uri":"other:b","blob":"SGVsbG8=","_meta":{"k":1}},` +
		`{"uri":"u","blob":""}],"x":[null],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}`
	both(t, func() mcptest.Handler { return answering(strings.Replace(result, `"ttlMs":0`, `"ttlMs":3e5`, 1)) }, func(t *testing.T, c *Client, p *mcptest.Peer) {
		const uri = "file:///ship's log/æ%20=?base64?"
		r, err := c.ReadResource(short(t), &ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(err)
		}
		if r.TTLMs != 300000 || r.TTL != 5*time.Minute || r.CacheScope != CachePrivate || r.ServerInfo.Name != "n" || len(r.Contents) != 3 {
			t.Errorf("result = %+v", r)
		}
		if a := r.Contents[0]; a.URI != "file:///a" || *a.Text != "" || a.Blob != nil || *a.MIMEType != "text/plain" || !strings.HasSuffix(string(a.Raw()), `"z":1.0}`) {
			t.Errorf("text = %+v", a)
		}
		if b := r.Contents[1]; b.Text != nil || string(b.Blob) != "Hello" || string(b.Meta) != `{"k":1}` {
			t.Errorf("blob = %+v", b)
		}
		if b := r.Contents[2]; b.Blob == nil || len(b.Blob) != 0 {
			t.Errorf("empty blob = %+v", b)
		}
		if x, ok := r.Member("x"); !ok || string(x) != "[null]" {
			t.Errorf("unknown member = %s", x)
		}
		got := p.Requests()[1]
		v, _ := got.Params.Get("uri")
		if text, _ := v.Text(); got.Method != "resources/read" || text != uri {
			t.Errorf("asked %s for %s", got.Method, v)
		}
		if _, has := got.Params.Get("requestState"); has {
			t.Error("a first request carries a state")
		}
		if got.Header != nil {
			want := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(uri)) + "?="
			equal(t, "Mcp-Name", got.Header.Values("Mcp-Name"), []string{want})
			equal(t, "Mcp-Method", got.Header.Values("Mcp-Method"), []string{"resources/read"})
		}
	})
}

func TestReadResourceRefused(t *testing.T) {
	good := func(contents string) string { return readFront + contents + "]}" }
	for _, test := range []struct{ result, path string }{
		{good(`{"uri":"u","text":"a","blob":""}`), "/contents/0"},
		{good(`{"uri":"u"}`), "/contents/0"},
		{good(`{"uri":"u","text":null}`), "/contents/0/text"},
		{good(`{"uri":"u","text":"a","mimeType":null}`), "/contents/0/mimeType"},
		{good(`{"text":"a"}`), "/contents/0/uri"},
		{good(`{"URI":"u","text":"a"}`), "/contents/0/uri"},
		{good(`{"uri":"u","text":"a"},{"uri":"u","blob":"A"}`), "/contents/1/blob"},
		{good(`{"uri":"u","blob":"SGVs\nbG8="}`), "/contents/0/blob"},
		{good(`{"uri":"u","blob":"SGVsbG9="}`), "/contents/0/blob"},
		{good(`{"uri":"u","blob":"SGVsbG8"}`), "/contents/0/blob"},
		{good(`{"uri":"u","blob":"_-8="}`), "/contents/0/blob"},
		{good(`{"uri":"u","blob":{}}`), "/contents/0/blob"},
		{good(`null`), "/contents/0"},
		{good(`{"uri":"u","text":"a","_meta":null}`), "/contents/0/_meta"},
		{strings.Replace(good(``), `"contents":[]`, `"contents":{}`, 1), "/contents"},
		{strings.Replace(good(``), `"contents":[]`, `"content":[]`, 1), "/contents"},
		{strings.Replace(good(``), `"ttlMs":0,`, ``, 1), "/ttlMs"},
		{strings.Replace(good(``), `"ttlMs":0`, `"ttlMs":null`, 1), "/ttlMs"},
		{strings.Replace(good(``), `"ttlMs":0`, `"ttlMs":-1`, 1), "/ttlMs"},
		{strings.Replace(good(``), `"ttlMs":0`, `"ttlMs":1.5`, 1), "/ttlMs"},
		{strings.Replace(good(``), `"cacheScope":"private",`, ``, 1), "/cacheScope"},
		{strings.Replace(good(``), `"private"`, `"PRIVATE"`, 1), "/cacheScope"},
		{strings.Replace(good(``), `"complete"`, `"done"`, 1), "/resultType"},
		{strings.Replace(good(``), `"resultType":"complete",`, ``, 1), "/resultType"},
		{`{"resultType":"input_required"}`, ""},
		{`{"resultType":"input_required","requestState":null}`, "/requestState"},
		{`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`, "/inputRequests/a/method"},
	} {
		c, p := pipe(t, answering(test.result))
		_, err := c.ReadResourceRound(t.Context(), &ReadResourceParams{URI: "a:b"})
		if e := as[*ProtocolError](t, err); e.Path != test.path || e.Method != "resources/read" || !Delivered(err) {
			t.Errorf("%s: %v, want path %q", test.result, err, test.path)
		}
		if strings.Contains(err.Error(), "SGVs") {
			t.Errorf("error %q holds the data", err)
		}
		if len(sent(p)) != 1 {
			t.Errorf("sent %q", p.Methods())
		}
		if !strings.Contains(test.result, "input_required") {
			_, err = ParseReadResourceResult([]byte(test.result))
			if e := as[*ProtocolError](t, err); e.Path != test.path {
				t.Errorf("ParseReadResourceResult(%s) = %v", test.result, err)
			}
		}
	}
	if _, err := ParseReadResourceResult([]byte(`{"resultType":"input_required","requestState":""}`)); err == nil {
		t.Error("ParseReadResourceResult takes an interim result")
	}
	if r, err := ParseReadResourceResult([]byte(" " + good("") + "\n")); err != nil || r.Contents == nil || len(r.Contents) != 0 {
		t.Errorf("ParseReadResourceResult = %+v, %v", r, err)
	}
}

const promptFront = `{"resultType":"complete","messages":[`

func TestGetPrompt(t *testing.T) {
	// Members of the names of cache hints mean nothing here, whatever they hold.
	const result = promptFront + `{"role":"user","content":{"type":"text","text":"a"},"z":0},{"role":"assistant","content":{"type":"resource",` +
		`"resource":{"uri":"u","blob":"AA=="}}}],"description":"D","ttlMs":-1,"cacheScope":7}`
	both(t, func() mcptest.Handler { return answering(result) }, func(t *testing.T, c *Client, p *mcptest.Peer) {
		arguments := map[string]string{"zebra": "1", "alpha": "<\"é\u2028>", "": ""}
		params := &GetPromptParams{Name: " pilot 世", Arguments: maps.Clone(arguments)}
		r, err := c.GetPrompt(short(t), params)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(params.Arguments, arguments) {
			t.Error("the parameters were changed")
		}
		if len(r.Messages) != 2 || r.Messages[0].Role != "user" || r.Messages[0].Content.(*TextContent).Text != "a" || *r.Description != "D" ||
			r.Messages[1].Role != "assistant" || len(r.Messages[1].Content.(*EmbeddedResource).Resource.Blob) != 1 || string(r.Raw()) != result ||
			string(r.Messages[0].Raw()) != `{"role":"user","content":{"type":"text","text":"a"},"z":0}` {
			t.Errorf("result = %+v", r)
		}
		for _, nothing := range []map[string]string{nil, {}} {
			if _, err := c.GetPrompt(short(t), &GetPromptParams{Name: "p", Arguments: nothing}); err != nil {
				t.Fatal(err)
			}
		}
		requests := p.Requests()[1:]
		if v, _ := requests[0].Params.Get("arguments"); string(v) != `{"":"","alpha":"<\"é`+"\u2028"+`>","zebra":"1"}` {
			t.Errorf("arguments were sent as %s", v)
		}
		if v, has := requests[1].Params.Get("arguments"); has {
			t.Errorf("no arguments were sent as %s", v)
		}
		if v, _ := requests[2].Params.Get("arguments"); string(v) != "{}" {
			t.Errorf("empty arguments were sent as %s", v)
		}
		if h := requests[0].Header; h != nil {
			equal(t, "Mcp-Name", h.Values("Mcp-Name"), []string{"=?base64?IHBpbG90IOS4lg==?="})
		}
	})
}

func TestGetPromptRefused(t *testing.T) {
	text := `{"type":"text","text":"a"}`
	for _, test := range []struct{ result, path string }{
		{promptFront + `{"role":"system","content":` + text + `}]}`, "/messages/0/role"},
		{promptFront + `{"role":null,"content":` + text + `}]}`, "/messages/0/role"},
		{promptFront + `{"content":` + text + `}]}`, "/messages/0/role"},
		{promptFront + `{"role":"user"}]}`, "/messages/0/content"},
		{promptFront + `{"role":"user","content":[` + text + `]}]}`, "/messages/0/content"},
		{promptFront + `{"role":"user","content":{"type":"tool_use","text":"a"}}]}`, "/messages/0/content/type"},
		{promptFront + `{"role":"user","content":{"type":"image","data":"A","mimeType":"m"}}]}`, "/messages/0/content/data"},
		{promptFront + `{"role":"user","content":` + text + `},[]]}`, "/messages/1"},
		{promptFront + `],"description":null}`, "/description"},
		{promptFront + `],"_meta":1}`, "/_meta"},
		{`{"resultType":"complete","messages":{}}`, "/messages"},
		{`{"resultType":"complete"}`, "/messages"},
		{`{"messages":[]}`, "/resultType"},
		{`{"resultType":"input_required","inputRequests":{"a":{"method":"tools/call","params":{}}}}`, "/inputRequests/a/method"},
	} {
		c, _ := pipe(t, answering(test.result))
		_, err := c.GetPromptRound(t.Context(), &GetPromptParams{Name: "p"})
		if e := as[*ProtocolError](t, err); e.Path != test.path || e.Method != "prompts/get" {
			t.Errorf("%s: %v, want path %q", test.result, err, test.path)
		}
	}
}

// TestRoundsOfReadAndGet answers a round, with the state of that round and no other.
func TestRoundsOfReadAndGet(t *testing.T) {
	const state = `"a\/\ud83d\ude00<\u0000"`
	ask := `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":` +
		`{"type":"object","properties":{}}}}},"requestState":` + state + `}`
	rounds := []string{ask, `{"resultType":"input_required","requestState":""}`, `{"resultType":"input_required","inputRequests":{}}`}
	done := map[string]string{"resources/read": readFront + `]}`, "prompts/get": promptFront + `]}`}
	both(t, func() mcptest.Handler {
		var calls atomic.Int64
		return offering(func(c *mcptest.Conn, r mcptest.Request) {
			n := calls.Add(1) % 4
			if n == 0 {
				c.Result(r, done[r.Method])
				return
			}
			c.Result(r, rounds[n-1])
		})
	}, func(t *testing.T, c *Client, p *mcptest.Peer) {
		meta := RequestMeta{Capabilities: &ClientCapabilities{ElicitationForm: true}, OnProgress: func(Progress) {}}
		next := func(r *InputRequired, n int) *Continuation {
			t.Helper()
			if r == nil {
				t.Fatalf("round %d is complete", n)
			}
			responses := map[string]jsontext.Value{}
			if n == 0 {
				responses["k"] = jsontext.Value(`{"action":"cancel"}`)
			}
			answer, err := r.Answer(responses)
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		read := &ReadResourceParams{URI: "a:b", Meta: meta}
		for n := range 4 {
			round, err := c.ReadResourceRound(short(t), read)
			if err != nil {
				t.Fatal(err)
			}
			if n < 3 {
				read.Continue = next(round.InputRequired, n)
			} else if round.Complete == nil || round.InputRequired != nil {
				t.Errorf("last round = %+v", round)
			}
		}
		get := &GetPromptParams{Name: "p", Arguments: map[string]string{"a": "b"}, Meta: meta}
		for n := range 4 {
			round, err := c.GetPromptRound(short(t), get)
			if err != nil {
				t.Fatal(err)
			}
			if n < 3 {
				get.Continue = next(round.InputRequired, n)
			} else if round.Complete == nil {
				t.Errorf("last round = %+v", round)
			}
		}
		ids := map[string]bool{}
		for i, r := range p.Requests()[1:] {
			responses, hasResponses := r.Params.Get("inputResponses")
			got, hasState := r.Params.Get("requestState")
			wantState := []string{"", state, `""`, ""}[i%4]
			wantResponses := []string{"", `{"k":{"action":"cancel"}}`, "", "{}"}[i%4]
			if string(got) != wantState || hasState != (wantState != "") || string(responses) != wantResponses || hasResponses != (wantResponses != "") {
				t.Errorf("request %d carries responses %s and state %s, want %s and %s", i, responses, got, wantResponses, wantState)
			}
			if ids[r.ID] {
				t.Errorf("request %d has the id %s of another one", i, r.ID)
			}
			ids[r.ID] = true
			progress, _ := r.Params.Get("_meta")
			if token, _ := progress.Get("progressToken"); string(token) != r.ID {
				t.Errorf("request %d has the progress token %s, want a fresh one", i, token)
			}
			if name := map[bool]string{true: "a:b", false: "p"}[i < 4]; r.Header != nil && r.Header.Get("Mcp-Name") != name {
				t.Errorf("request %d has Mcp-Name %q", i, r.Header.Get("Mcp-Name"))
			}
		}
	})
	c, p := pipe(t, answering(rounds[1]))
	_, err := c.ReadResource(t.Context(), &ReadResourceParams{URI: "a:b"})
	if e := as[*InputRequiredError](t, err); string(e.Required.State) != `""` {
		t.Errorf("ReadResource = %+v", e.Required)
	}
	_, err = c.GetPrompt(t.Context(), &GetPromptParams{Name: "p"})
	as[*InputRequiredError](t, err)
	equal(t, "sent", sent(p), []string{"resources/read", "prompts/get"})
}

func TestRequestsThatAreNotSent(t *testing.T) {
	c, p := pipe(t, answering(`{}`))
	bad := "a\xff"
	for name, err := range map[string]error{
		"no params":         second(c.ReadResourceRound(t.Context(), nil)),
		"empty uri":         second(c.ReadResourceRound(t.Context(), &ReadResourceParams{})),
		"uri not UTF-8":     second(c.ReadResource(t.Context(), &ReadResourceParams{URI: bad})),
		"long uri":          second(c.ReadResource(t.Context(), &ReadResourceParams{URI: strings.Repeat("u", 8<<10+1)})),
		"no prompt params":  second(c.GetPromptRound(t.Context(), nil)),
		"no name":           second(c.GetPrompt(t.Context(), &GetPromptParams{})),
		"name not UTF-8":    second(c.GetPrompt(t.Context(), &GetPromptParams{Name: bad})),
		"long name":         second(c.GetPrompt(t.Context(), &GetPromptParams{Name: strings.Repeat("n", 1<<10+1)})),
		"argument not UTF8": second(c.GetPrompt(t.Context(), &GetPromptParams{Name: "p", Arguments: map[string]string{"a": bad}})),
		"key not UTF-8":     second(c.GetPrompt(t.Context(), &GetPromptParams{Name: "p", Arguments: map[string]string{bad: ""}})),
		"no completion":     second(c.Complete(t.Context(), nil)),
		"no ref":            second(c.Complete(t.Context(), &CompleteParams{})),
		"nil prompt ref":    second(c.Complete(t.Context(), &CompleteParams{Ref: (*PromptRef)(nil)})),
		"nil resource ref":  second(c.Complete(t.Context(), &CompleteParams{Ref: (*ResourceRef)(nil)})),
		"empty prompt ref":  second(c.Complete(t.Context(), &CompleteParams{Ref: PromptRef{}})),
		"empty ref":         second(c.Complete(t.Context(), &CompleteParams{Ref: &ResourceRef{}})),
		"value not UTF-8":   second(c.Complete(t.Context(), &CompleteParams{Ref: PromptRef{"p"}, Argument: CompletionArgument{"a", bad}})),
		"argument's name":   second(c.Complete(t.Context(), &CompleteParams{Ref: PromptRef{"p"}, Argument: CompletionArgument{bad, ""}})),
		"context not UTF-8": second(c.Complete(t.Context(), &CompleteParams{Ref: PromptRef{"p"}, Context: map[string]string{"a": bad}})),
		"metadata":          second(c.Complete(t.Context(), &CompleteParams{Ref: PromptRef{"p"}, Meta: RequestMeta{LogLevel: "loud"}})),
	} {
		var e *RequestError
		if !errors.As(err, &e) || Delivered(err) || strings.Contains(err.Error(), "\xff") {
			t.Errorf("%s: %v, want a *RequestError", name, err)
		}
	}
	if got := sent(p); len(got) != 0 {
		t.Errorf("sent %q", got)
	}
	if err := second(c.ReadResource(t.Context(), &ReadResourceParams{URI: strings.Repeat("u", 8<<10)})); errors.As(err, new(*RequestError)) {
		t.Errorf("URI of 8 KiB: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestNoHiddenCaching holds that hints are hints: two equal calls under a ttlMs of an hour are two requests, and when a
// hint has expired nothing happens by itself.
func TestNoHiddenCaching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hints = `"resultType":"complete","ttlMs":3600000,"cacheScope":"public"`
		results := map[string]string{
			"server/discover": `{` + hints + `,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}}}`,
			"resources/read":  `{` + hints + `,"contents":[]}`,
		}
		for _, l := range lists() {
			results[l.method] = strings.Replace(l.page("", l.item("a:1", "")), `"ttlMs":0`, `"ttlMs":3600000`, 1)
		}
		c, p := pipe(t, func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, results[r.Method]) })
		ask := func() {
			for _, l := range lists() {
				s, err := l.snapshot(t.Context(), c)
				if err != nil || s.TTL != time.Hour {
					t.Fatalf("%s: ttl %s, %v", l.name, s.TTL, err)
				}
			}
			r, err := c.ReadResource(t.Context(), &ReadResourceParams{URI: "a:1"})
			if err != nil || r.TTL != time.Hour {
				t.Fatalf("read: %+v, %v", r, err)
			}
			if d, err := c.Discover(t.Context()); err != nil || d.TTL != time.Hour {
				t.Fatalf("discover: %+v, %v", d, err)
			}
		}
		ask()
		once := len(sent(p))
		ask()
		got := sent(p)
		if once != 6 || len(got) != 12 {
			t.Errorf("sent %d and then %d requests, want 6 and 12", once, len(got))
		}
		for _, method := range slices.Sorted(maps.Keys(results)) {
			if n := count(got, method); n != 2 {
				t.Errorf("sent %s %d times, want twice", method, n)
			}
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if n := len(sent(p)); n != 12 {
			t.Errorf("sent %d requests after the hints had expired", n-12)
		}
	})
}
