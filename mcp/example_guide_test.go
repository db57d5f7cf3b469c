package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// office is a server for the examples that has something of everything.
func office() mcp.Transport {
	in, w := io.Pipe()
	r, out := io.Pipe()
	go func() {
		defer func() { _ = out.Close() }()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			for _, line := range officeAnswers(lines.Bytes()) {
				_, _ = fmt.Fprintln(out, line)
			}
		}
	}()
	return mcp.NewIOTransport(r, w)
}

// officeAnswers is what the office says to one message.
func officeAnswers(message []byte) []string {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name         string         `json:"name"`
			Cursor       *string        `json:"cursor"`
			RequestState *string        `json:"requestState"`
			Arguments    map[string]any `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(message, &request); err != nil || request.ID == nil {
		return nil
	}
	id, hints := string(request.ID), `,"ttlMs":60000,"cacheScope":"private"`
	note := func(method, params string) string {
		return `{"jsonrpc":"2.0","method":"notifications/` + method + `","params":` + params + `}`
	}
	answer := func(result string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":` + result + `}}`
	}
	switch request.Method {
	case "server/discover":
		return []string{answer(`"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{},` +
			`"completions":{},"extensions":{"com.example/pilots":{"zones":["north"]}}},"instructions":"Ask before you berth."` + hints)}
	case "tools/list":
		if request.Params.Cursor == nil {
			return []string{answer(`"complete","tools":[{"name":"tide_table","inputSchema":{"type":"object"}}],"nextCursor":"2"` + hints)}
		}
		return []string{answer(`"complete","tools":[{"name":"book_berth","inputSchema":{"type":"object"}}]` + hints)}
	case "resources/list":
		return []string{answer(`"complete","resources":[{"uri":"tide://north","name":"north","mimeType":"text/plain"}]` + hints)}
	case "resources/read":
		return []string{answer(`"complete","contents":[{"uri":"tide://north","text":"high 06:12"}]` + hints)}
	case "prompts/list":
		return []string{answer(`"complete","prompts":[{"name":"brief","arguments":[{"name":"ship","required":true}]}]` + hints)}
	case "prompts/get":
		return []string{answer(`"complete","messages":[{"role":"user","content":{"type":"text","text":"Brief the pilot of Aurora."}}]`)}
	case "completion/complete":
		return []string{answer(`"complete","completion":{"values":["Aurora","Aurelia"],"hasMore":false}`)}
	case "subscriptions/listen":
		meta := `"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}`
		return []string{
			note("subscriptions/acknowledged", `{`+meta+`,"notifications":{"toolsListChanged":true}}`),
			note("tools/list_changed", `{`+meta+`}`),
			answer(`"complete",` + meta),
		}
	case "com.example/pilots.next":
		return []string{answer(`"complete","pilot":"Ada"`)}
	case "tools/call":
		switch {
		case request.Params.Name == "slow":
			return nil
		case request.Params.Name == "survey":
			return []string{
				note("progress", `{"progressToken":`+id+`,"progress":1,"total":2}`),
				note("message", `{"level":"warning","data":"shallow"}`),
				note("progress", `{"progressToken":`+id+`,"progress":2,"total":2}`),
				answer(`"complete","content":[]`),
			}
		case request.Params.Name == "book_berth" && request.Params.RequestState == nil:
			return []string{answer(`"input_required","inputRequests":{"which":{"method":"elicitation/create","params":{"message":"Which berth?",` +
				`"requestedSchema":{"type":"object","properties":{"berth":{"type":"integer"}}}}}},"requestState":"b1"`)}
		case request.Params.Name == "broken":
			return []string{answer(`"complete","content":[{"type":"hologram"}]`)}
		case request.Params.Name == "unknown":
			return []string{`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32602,"message":"Unknown tool: unknown"}}`}
		case request.Params.Arguments["harbour"] == "nowhere":
			return []string{answer(`"complete","isError":true,"content":[{"type":"text","text":"no such harbour"}]`)}
		}
		return []string{answer(`"complete","content":[{"type":"text","text":"done"}]`)}
	}
	return []string{`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"Method not found"}}`}
}

// connect connects to the office.
func connect() *mcp.Client {
	client, err := mcp.Connect(context.Background(), office())
	if err != nil {
		log.Fatal(err)
	}
	return client
}

// tool is the definition that was reviewed, of a tool that takes anything.
func tool(name string) *mcp.Tool {
	definition, err := mcp.ParseTool([]byte(`{"name":"` + name + `","inputSchema":{"type":"object"}}`))
	if err != nil {
		log.Fatal(err)
	}
	return definition
}

func ExampleNewStreamableHTTPTransport() {
	// A server for this example; a real one is named by its https URL.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer t0k3n" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, officeAnswers(body)[0])
	}))
	defer server.Close()

	transport := mcp.NewStreamableHTTPTransport(server.URL)
	transport.AllowPrivate = true // this machine; without it only public addresses are spoken to
	transport.Authorize = func(_ context.Context, h http.Header) error {
		h.Set("Authorization", "Bearer t0k3n") // asked for before every request
		return nil
	}
	client, err := mcp.Connect(context.Background(), transport)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	fmt.Println(*client.Discovery().Instructions)
	// Output: Ask before you berth.
}

func ExampleClient_Discovery() {
	client := connect()
	defer func() { _ = client.Close() }()
	d := client.Discovery()
	fmt.Println(d.SupportedVersions, d.TTL, d.CacheScope)
	if d.Capabilities.Tools != nil {
		fmt.Println("tools, announcing changes:", d.Capabilities.Tools.ListChanged)
	}
	fmt.Println(string(d.Capabilities.Extensions["com.example/pilots"]))
	// Output:
	// [2026-07-28] 1m0s private
	// tools, announcing changes: true
	// {"zones":["north"]}
}

func ExampleClient_Tools() {
	client := connect()
	defer func() { _ = client.Close() }()
	for tool, err := range client.Tools(context.Background()) {
		if err != nil {
			log.Fatal(err) // comes last, and without a tool
		}
		fmt.Println(tool.Name)
	}
	// Output:
	// tide_table
	// book_berth
}

func ExampleClient_ListTools() {
	client := connect()
	defer func() { _ = client.Close() }()
	var params mcp.ListParams
	for {
		page, err := client.ListTools(context.Background(), &params)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(page.Tools[0].Name, page.TTL)
		if page.NextCursor == nil { // an empty cursor is a cursor
			break
		}
		params.Cursor = page.NextCursor
	}
	// Output:
	// tide_table 1m0s
	// book_berth 1m0s
}

func ExampleClient_CallTool_round() {
	ctx := context.Background()
	client := connect()
	defer func() { _ = client.Close() }()
	params := &mcp.CallToolParams{
		Tool: tool("book_berth"),
		Meta: mcp.RequestMeta{Capabilities: &mcp.ClientCapabilities{ElicitationForm: true}},
	}
	for range 3 { // the host says how often a server may ask
		round, err := client.CallTool(ctx, params)
		if err != nil {
			log.Fatal(err)
		}
		if round.Complete != nil {
			fmt.Println("complete:", round.Complete.Content[0].(*mcp.TextContent).Text)
			return
		}
		answers := map[string]jsontext.Value{}
		for key, request := range round.InputRequired.Requests {
			fmt.Println(key, request.Method)
			answers[key] = jsontext.Value(`{"action":"accept","content":{"berth":4}}`) // from a person
		}
		if params.Continue, err = round.InputRequired.Answer(answers); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// which elicitation/create
	// complete: done
}

func ExampleClient_ReadResource() {
	ctx := context.Background()
	client := connect()
	defer func() { _ = client.Close() }()
	for resource, err := range client.Resources(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		result, err := client.ReadResource(ctx, &mcp.ReadResourceParams{URI: resource.URI})
		if err != nil {
			log.Fatal(err) // an *mcp.InputRequiredError if the server asks for something first
		}
		for _, c := range result.Contents {
			if c.Text != nil { // otherwise Blob
				fmt.Println(c.URI, *c.Text)
			}
		}
	}
	// Output: tide://north high 06:12
}

func ExampleClient_GetPrompt() {
	ctx := context.Background()
	client := connect()
	defer func() { _ = client.Close() }()
	prompt, err := client.GetPrompt(ctx, &mcp.GetPromptParams{Name: "brief", Arguments: map[string]string{"ship": "Aurora"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range prompt.Messages {
		if text, ok := m.Content.(*mcp.TextContent); ok {
			fmt.Println(m.Role+":", text.Text)
		}
	}
	// Output: user: Brief the pilot of Aurora.
}

func ExampleClient_Complete() {
	client := connect()
	defer func() { _ = client.Close() }()
	completion, err := client.Complete(context.Background(), &mcp.CompleteParams{
		Ref:      mcp.PromptRef{Name: "brief"},
		Argument: mcp.CompletionArgument{Name: "ship", Value: "Au"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(completion.Values)
	// Output: [Aurora Aurelia]
}

func ExampleSubscription() {
	ctx := context.Background()
	client := connect()
	defer func() { _ = client.Close() }()
	subscription, err := client.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = subscription.Close() }()
	fmt.Println("prompts too:", subscription.Effective().PromptsListChanged)
	for event := range subscription.Events() {
		fmt.Println(event.Kind, subscription.Generation(event.Kind)) // list again
	}
	fmt.Println(subscription.Outcome(), subscription.Err())
	// Output:
	// prompts too: false
	// tools 1
	// ended <nil>
}

func ExampleClient_Call() {
	client := connect()
	defer func() { _ = client.Close() }()
	result, err := client.Call(context.Background(), "com.example/pilots.next", jsontext.Value(`{"zone":"north"}`), mcp.RequestMeta{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(result))
	// Output: {"resultType":"complete","pilot":"Ada"}
}

func ExampleRequestMeta() {
	client := connect()
	defer func() { _ = client.Close() }()
	_, err := client.CallTool(context.Background(), &mcp.CallToolParams{Tool: tool("survey"), Meta: mcp.RequestMeta{
		OnProgress: func(p mcp.Progress) { fmt.Println("progress", p.Progress, "of", *p.Total) },
		LogLevel:   mcp.LogWarning,
		OnLog:      func(m mcp.LogMessage) { fmt.Println(m.Level, string(m.Data)) },
		Timeout:    10 * time.Second,
	}})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// progress 1 of 2
	// warning "shallow"
	// progress 2 of 2
}

func ExampleTimeoutError() {
	client := connect()
	defer func() { _ = client.Close() }()
	_, err := client.CallTool(context.Background(), &mcp.CallToolParams{
		Tool: tool("slow"), Meta: mcp.RequestMeta{Timeout: 20 * time.Millisecond},
	})
	var timeout *mcp.TimeoutError
	if errors.As(err, &timeout) {
		fmt.Println(err, "- delivered:", mcp.Delivered(err)) // so the call may have had effect
	}
	// Output: tools/call: no answer within 20ms: waited for an answer - delivered: true
}

func ExampleProtocolError() {
	client := connect()
	defer func() { _ = client.Close() }()
	for _, name := range []string{"broken", "unknown", "tide_table"} {
		round, err := client.CallTool(context.Background(), &mcp.CallToolParams{
			Tool: tool(name), Arguments: jsontext.Value(`{"harbour":"nowhere"}`),
		})
		if err == nil {
			err = round.Complete.Err() // the tool itself failed
		}
		var (
			protocol *mcp.ProtocolError
			answer   *mcp.RPCError
			failed   *mcp.ToolError
		)
		switch {
		case errors.As(err, &protocol):
			fmt.Println("the server broke the protocol at", protocol.Path)
		case errors.As(err, &answer):
			fmt.Println("the server said no:", answer.Code, answer.Message)
		case errors.As(err, &failed):
			fmt.Println(err)
		}
	}
	// Output:
	// the server broke the protocol at /content/0/type
	// the server said no: -32602 Unknown tool: unknown
	// tool reported an error: "no such harbour"
}

func ExampleComputeSnapshotDigest() {
	ctx := context.Background()
	client := connect()
	defer func() { _ = client.Close() }()
	first, err := client.SnapshotTools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	second, err := client.SnapshotTools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	a, err := mcp.ComputeSnapshotDigest(first)
	if err != nil {
		log.Fatal(err)
	}
	b, err := mcp.ComputeSnapshotDigest(*second) // a value and a pointer have the same digest
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(a.String()), a == b)
	// Output: 64 true
}

func ExampleWithLimits() {
	client, err := mcp.Connect(context.Background(), office(),
		mcp.WithClientInfo(mcp.Implementation{Name: "harbourmaster", Version: "1"}),
		mcp.WithLimits(mcp.Limits{Items: 1}), // the rest as documented
		mcp.WithTimeouts(mcp.Timeouts{Call: 5 * time.Second}))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	_, err = client.SnapshotTools(context.Background())
	fmt.Println(errors.Is(err, mcp.ErrLimit), strings.Contains(err.Error(), "more than 1 items"))
	// Output: true true
}

func ExampleWithTrace() {
	client, err := mcp.Connect(context.Background(), office(), mcp.WithName("office"), mcp.WithTrace(func(e mcp.TraceEvent) {
		fmt.Println(e.Server, e.Kind, e.Method, e.ID) // e.Text is the message
	}))
	if err != nil {
		log.Fatal(err)
	}
	_ = client.Close()
	// Output:
	// office sent server/discover 1
	// office received server/discover 1
}
