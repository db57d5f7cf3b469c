package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// fullDiscover is an answer to server/discover that declares everything that this revision knows.
const fullDiscover = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},` +
	`"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}},"ttlMs":0,"cacheScope":"private"}`

// TestWireFixtures drives the client through every fixture over both transports: it must send exactly what the fixture
// says, and make of the answer what the fixture says.
func TestWireFixtures(t *testing.T) {
	for _, f := range readFixtures(t) {
		for _, over := range []string{"stdio", "http"} {
			t.Run(f.name+"/"+over, func(t *testing.T) { f.run(t, over) })
		}
	}
}

func (f *fixture) run(t *testing.T, over string) {
	steps := f.steps
	if method(steps[0].client) != methodDiscover {
		steps = append([]step{{server: []string{`{"jsonrpc":"2.0","id":1,"result":` + fullDiscover + `}`}}}, steps...)
	}
	if over == "http" {
		// There a request is cancelled by closing its answer, and no notification is ever sent.
		for len(steps) > 0 && method(steps[len(steps)-1].client) == "notifications/cancelled" {
			steps = steps[:len(steps)-1]
		}
	}
	s := &script{steps: steps, over: over, cancelled: make(chan struct{})}
	c, err := s.connect(t)
	d := &drive{c: c, tool: f.tool}
	if c != nil {
		t.Cleanup(func() { closed(t, c) })
		d.result = c.Discovery().Raw()
		for _, step := range f.steps {
			if name := method(step.client); err == nil && name != methodDiscover && name != "notifications/cancelled" {
				ctx, cancel := context.WithCancel(short(t))
				if f.keys["then"] == "cancel" {
					s.whenSent(cancel)
				}
				err = d.request(ctx, strictjson.Value(step.client))
				cancel()
			}
		}
	}
	f.judge(t, over, d, err)
	s.finish(t, over == "stdio")
}

// judge compares what came of the fixture with what it says.
func (f *fixture) judge(t *testing.T, over string, d *drive, err error) {
	verdict := f.keys["client"]
	if own := f.keys["client over "+over]; own != "" {
		verdict = own
	}
	word, what, _ := strings.Cut(verdict, " ")
	switch word {
	case "accepts":
		if err != nil {
			t.Fatalf("error is %T (%v), want the answer accepted", err, err)
		}
		last := f.steps[len(f.steps)-1]
		v, _ := strictjson.Value(last.server[len(last.server)-1]).Get("result")
		if d.subscription != nil {
			d.wantEvents(t, last.server)
		} else if string(d.result) != string(v) {
			t.Errorf("result is kept as\n%s\nwant the bytes received\n%s", d.result, v)
		}
		if n := d.c.Dropped(); n != 0 {
			t.Errorf("%d notifications were dropped", n)
		}
	case "ends":
		if got := d.subscription.Outcome(); string(got) != what {
			t.Errorf("subscription ended as %q (%v), want %q", got, err, what)
		}
	case "drops":
		if n := strconv.FormatUint(d.c.Dropped(), 10); err != nil || n != what {
			t.Errorf("%s notifications were dropped, error is %v, want %s dropped and the answer accepted", n, err, what)
		}
	case "refuses":
		var e *ProtocolError
		if !errors.As(err, &e) {
			t.Fatalf("error is %T (%v), want a *ProtocolError", err, err)
		}
		if path, _, _ := strings.Cut(what, ","); e.Path != strings.TrimPrefix(path, "it") {
			t.Errorf("refused at %q (%v), want %q", e.Path, err, what)
		}
	case "returns":
		for e := err; ; e = errors.Unwrap(e) {
			if e == nil {
				t.Fatalf("error is %T (%v), want %s", err, err, what)
			}
			if fmt.Sprintf("%T", e) == what {
				return
			}
		}
	default:
		t.Fatalf("client: %q is no verdict", verdict)
	}
}

// script is the server of a fixture.
type script struct {
	over      string
	cancelled chan struct{}

	mu     sync.Mutex
	onSent func() // called when the next request has come and its answers are sent
	steps  []step
	done   int
	faults []string
	sent   [][]byte
}

func (s *script) connect(t *testing.T) (*Client, error) {
	opts := []Option{WithClientInfo(Implementation{Name: "harbourmaster", Version: "1"})}
	if s.over == "stdio" {
		p := mcptest.Pipe(t, s.handle)
		return Connect(short(t), NewIOTransport(p.R, p.W), opts...)
	}
	p := mcptest.HTTP(t, s.handle)
	tr := NewStreamableHTTPTransport(p.URL)
	tr.AllowPrivate = true
	return Connect(short(t), tr, opts...)
}

func (s *script) whenSent(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onSent = f
}

func (s *script) handle(c *mcptest.Conn, r mcptest.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, r.Raw)
	if s.done == len(s.steps) {
		s.faults = append(s.faults, fmt.Sprintf("sent more than the fixture has: %s", r.Raw))
		return
	}
	step := s.steps[s.done]
	s.done++
	if step.client != "" && step.client != string(r.Raw) {
		s.faults = append(s.faults, fmt.Sprintf("sent\n%s\nwant\n%s", r.Raw, step.client))
	}
	switch {
	case s.over == "stdio":
		for _, message := range step.server {
			c.Line(message)
		}
	case len(step.server) == 1 && (r.Method != methodListen || strings.Contains(step.server[0], `"error"`)):
		_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n%s", status(step.server[0]), step.server[0])
	default:
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
		for _, message := range step.server {
			_, _ = io.WriteString(c, "data: "+message+"\n\n")
		}
	}
	if onSent := s.onSent; onSent != nil {
		s.onSent = nil
		onSent()
		if s.over == "http" {
			<-s.cancelled // the stream stays open until the client has left
		}
	}
}

// finish ends the server and reports what it saw. With all set it waits until the client has sent what the fixture has.
func (s *script) finish(t *testing.T, all bool) {
	close(s.cancelled)
	behind := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.done < len(s.steps)
	}
	for end := time.Now().Add(2 * time.Second); all && !t.Failed() && behind() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range s.faults {
		t.Error(fault)
	}
	if all && s.done != len(s.steps) && !t.Failed() {
		t.Errorf("the client sent %d messages, the fixture has %d", s.done, len(s.steps))
	}
}

// status is the HTTP status that the specification has for an answer.
func status(message string) string {
	e, ok := strictjson.Value(message).Get("error")
	_, result := strictjson.Value(message).Get("result")
	code, _ := e.Get("code")
	switch {
	case !ok || result:
		return "200 OK"
	case string(code) == "-32601":
		return "404 Not Found"
	case string(code) == "-32602" || string(code) == "-32603":
		return "200 OK"
	}
	return "400 Bad Request"
}

// drive calls the client the way that makes it send a given message.
type drive struct {
	c      *Client
	tool   string
	round  *InputRequired // of the last call, if it was not complete
	result jsontext.Value // of the last call, as received

	subscription *Subscription
	events       []SubscriptionEvent
}

// listen subscribes and returns once the subscription has ended.
func (d *drive) listen(ctx context.Context, params strictjson.Value) error {
	want, _ := params.Get("notifications")
	flag := func(name string) bool { v, _ := want.Get(name); b, _ := v.Bool(); return b }
	filter := SubscriptionFilter{
		ToolsListChanged: flag("toolsListChanged"), PromptsListChanged: flag("promptsListChanged"), ResourcesListChanged: flag("resourcesListChanged"),
	}
	uris, _ := want.Get("resourceSubscriptions")
	for uri := range uris.Elements() {
		text, _ := uri.Text()
		filter.ResourceSubscriptions = append(filter.ResourceSubscriptions, text)
	}
	s, err := d.c.Listen(ctx, filter)
	if err != nil {
		return err
	}
	d.subscription = s
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // one that does not end by itself is a fault, and ends too
	defer stop()
	for e := range s.Events() {
		d.events = append(d.events, e)
	}
	<-s.Done()
	return s.Err()
}

// wantEvents compares the events with the changes among the messages.
func (d *drive) wantEvents(t *testing.T, messages []string) {
	var want []string
	for _, message := range messages {
		if name := method(message); strings.HasSuffix(name, "/list_changed") || strings.HasSuffix(name, "/updated") {
			params, _ := strictjson.Value(message).Get("params")
			want = append(want, string(params))
		}
	}
	var got []string
	for _, e := range d.events {
		got = append(got, string(e.Raw()))
	}
	if !slices.Equal(got, want) {
		t.Errorf("events are %q, want %q", got, want)
	}
	if got := d.subscription.Outcome(); got != SubscriptionEnded {
		t.Errorf("subscription ended as %q, want %q", got, SubscriptionEnded)
	}
}

// request makes the call that sends the message.
func (d *drive) request(ctx context.Context, message strictjson.Value) error {
	params, _ := message.Get("params")
	meta := requestMeta(params)
	continued, err := d.answer(params)
	if err != nil {
		return err
	}
	get := func(name string) string { v, _ := params.Get(name); s, _ := v.Text(); return s }
	var cursor *string
	if v, ok := params.Get("cursor"); ok {
		s, _ := v.Text()
		cursor = &s
	}
	switch name := method(string(message)); name {
	case methodToolsList:
		page, err := d.c.ListTools(ctx, &ListParams{Cursor: cursor, Meta: meta})
		return kept(d, page, err)
	case methodToolsCall:
		definition := d.tool
		if definition == "" {
			definition = `{"name":` + string(strictjson.AppendString(nil, get("name"))) + `,"inputSchema":{"type":"object"}}`
		}
		tool, err := ParseTool([]byte(definition))
		if err != nil {
			return err
		}
		arguments, _ := params.Get("arguments")
		round, err := d.c.CallTool(ctx, &CallToolParams{Tool: tool, Arguments: jsontext.Value(arguments), Meta: meta, Continue: continued})
		return keptRound(d, round, err)
	case methodListen:
		return d.listen(ctx, params)
	case "resources/list":
		page, err := d.c.ListResources(ctx, &ListParams{Cursor: cursor, Meta: meta})
		return kept(d, page, err)
	case "resources/templates/list":
		page, err := d.c.ListResourceTemplates(ctx, &ListParams{Cursor: cursor, Meta: meta})
		return kept(d, page, err)
	case "prompts/list":
		page, err := d.c.ListPrompts(ctx, &ListParams{Cursor: cursor, Meta: meta})
		return kept(d, page, err)
	case "resources/read":
		round, err := d.c.ReadResourceRound(ctx, &ReadResourceParams{URI: get("uri"), Meta: meta, Continue: continued})
		return keptRound(d, round, err)
	case "prompts/get":
		arguments, _ := params.Get("arguments")
		round, err := d.c.GetPromptRound(ctx, &GetPromptParams{Name: get("name"), Arguments: texts(arguments), Meta: meta, Continue: continued})
		return keptRound(d, round, err)
	case "completion/complete":
		r, err := d.c.Complete(ctx, completion(params, meta))
		return kept(d, r, err)
	default:
		members := ""
		for key, v := range params.Members() {
			if key != "_meta" {
				members += `,"` + key + `":` + string(v)
			}
		}
		d.result, err = d.c.Call(ctx, name, jsontext.Value(`{`+strings.TrimPrefix(members, ",")+`}`), meta)
		return err
	}
}

// completion is the CompleteParams that make a request have the params.
func completion(params strictjson.Value, meta RequestMeta) *CompleteParams {
	ref, _ := params.Get("ref")
	argument, _ := params.Get("argument")
	known, _ := params.Get("context")
	known, _ = known.Get("arguments")
	p := &CompleteParams{Context: texts(known), Meta: meta}
	p.Argument.Name, p.Argument.Value = texts(argument)["name"], texts(argument)["value"]
	if name, ok := texts(ref)["name"]; ok {
		p.Ref = PromptRef{Name: name}
	} else {
		p.Ref = ResourceRef{URI: texts(ref)["uri"]}
	}
	return p
}

// texts are the members of an object of strings, nil if there is no object.
func texts(object strictjson.Value) map[string]string {
	if object.Kind() != strictjson.KindObject {
		return nil
	}
	out := map[string]string{}
	for name, v := range object.Members() {
		out[name], _ = v.Text()
	}
	return out
}

// kept notes the bytes of a result.
func kept(d *drive, r interface{ Raw() jsontext.Value }, err error) error {
	if err == nil {
		d.result = r.Raw()
	}
	return err
}

func keptRound[T any](d *drive, round *Round[T], err error) error {
	d.round = nil
	if err != nil {
		return err
	}
	if d.round = round.InputRequired; d.round != nil {
		return kept(d, d.round, nil)
	}
	return kept(d, any(round.Complete).(interface{ Raw() jsontext.Value }), nil)
}

// answer answers the last round with the inputResponses of the message, if it carries on one.
func (d *drive) answer(params strictjson.Value) (*Continuation, error) {
	if d.round == nil {
		return nil, nil
	}
	responses := map[string]jsontext.Value{}
	v, _ := params.Get("inputResponses")
	for key, response := range v.Members() {
		responses[key] = jsontext.Value(response)
	}
	return d.round.Answer(responses)
}

// requestMeta is the RequestMeta that makes a request have the _meta of params.
func requestMeta(params strictjson.Value) RequestMeta {
	var m RequestMeta
	meta, _ := params.Get("_meta")
	for key, v := range meta.Members() {
		text, _ := v.Text()
		switch key {
		case keyVersion, keyClientInfo:
		case keyCapabilities:
			m.Capabilities = capabilities(v)
		case keyLogLevel:
			m.LogLevel = LogLevel(text)
			m.OnLog = func(LogMessage) {}
		case keyProgress:
			m.OnProgress = func(Progress) {}
		default:
			if m.Extra == nil {
				m.Extra = map[string]jsontext.Value{}
			}
			m.Extra[key] = jsontext.Value(v)
		}
	}
	return m
}

// capabilities reads what ClientCapabilities writes.
func capabilities(v strictjson.Value) *ClientCapabilities {
	has := func(path ...string) bool {
		at := v
		for _, name := range path {
			m, ok := at.Get(name)
			if !ok {
				return false
			}
			at = m
		}
		return true
	}
	return &ClientCapabilities{
		ElicitationForm: has("elicitation", "form"), ElicitationURL: has("elicitation", "url"), Roots: has("roots"),
		Sampling: has("sampling"), SamplingTools: has("sampling", "tools"), SamplingContext: has("sampling", "context"),
	}
}
