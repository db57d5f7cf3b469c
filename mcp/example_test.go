package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// harbour is a small server for the examples: it answers each request with the result of its method.
func harbour() mcp.Transport {
	results := map[string]string{
		"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`,
		"tools/list": `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[` +
			`{"name":"tide_table","description":"Lists high and low water.","inputSchema":{"type":"object"}},` +
			`{"name":"log_arrival","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}]}`,
		"tools/call": `{"resultType":"complete","content":[{"type":"text","text":"high 06:12, low 12:25"}]}`,
	}
	in, w := io.Pipe()
	r, out := io.Pipe()
	go func() {
		defer func() { _ = out.Close() }()
		d := jsontext.NewDecoder(in)
		for {
			request, err := d.ReadValue()
			if err != nil {
				return
			}
			_, id, _ := strings.Cut(string(request), `"id":`)
			id, _, _ = strings.Cut(id, ",")
			for method, result := range results {
				if strings.Contains(string(request), `"method":"`+method+`"`) {
					_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
				}
			}
		}
	}()
	return mcp.NewIOTransport(r, w)
}

func ExampleConnect() {
	ctx := context.Background()
	client, err := mcp.Connect(ctx, harbour()) // for example mcp.NewStdioTransport("harbour-server", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	fmt.Println(client.Discovery().SupportedVersions)
	// Output: [2026-07-28]
}

func ExampleClient_SnapshotTools() {
	ctx := context.Background()
	client, err := mcp.Connect(ctx, harbour())
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	snapshot, err := client.SnapshotTools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range snapshot.Tools {
		d, err := mcp.ComputeToolDigest(tool)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name, d)
	}
	// Output:
	// tide_table sha256:20b0d17c8e76f989555c9d5e4123e38396a28702f22aea9746c1b3092d3cd7e5
	// log_arrival sha256:b18f70cffbf0b2f404857649b8b361ceebbe97e76ad3af72f5c5014eb4ee7283
}

func ExampleClient_CallTool() {
	ctx := context.Background()
	client, err := mcp.Connect(ctx, harbour())
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	// A tool is called by a definition: the one that was reviewed, not the one that the server lists today.
	pinned, err := mcp.ParseTool([]byte(`{"name":"tide_table","inputSchema":{"type":"object"}}`))
	if err != nil {
		log.Fatal(err)
	}
	round, err := client.CallTool(ctx, &mcp.CallToolParams{Tool: pinned, Arguments: jsontext.Value(`{"harbour":"north"}`)})
	if err != nil {
		log.Fatal(err)
	}
	result, err := round.Result() // an *InputRequiredError if the server asks for something first
	if err != nil {
		log.Fatal(err)
	}
	for _, block := range result.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			fmt.Println(text.Text)
		}
	}
	// Output: high 06:12, low 12:25
}

func ExampleDelivered() {
	err := error(&mcp.TransportError{Method: "tools/call", Op: "receive", Delivered: true, Err: io.ErrUnexpectedEOF})
	fmt.Println(errors.Is(err, io.ErrUnexpectedEOF), mcp.Delivered(err))
	// Output: true true
}
