package mcp_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// restless is a server for the example: its tools change while they are listed for the first time, and it ends the
// subscription when they have been listed again.
func restless() mcp.Transport {
	const meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":2}`
	answers := map[string]string{
		"server/discover": `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],` +
			`"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"public"}}`,
		"subscriptions/listen": `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + meta + `,"notifications":{"toolsListChanged":true}}}`,
		`"id":3,`: `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + meta + `}}` + "\n" +
			`{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[]}}`,
		`"id":4,`: `{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"tide_table","inputSchema":{"type":"object"}}]}}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete",` + meta + `}}`,
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
			for mark, answer := range answers {
				if strings.Contains(string(request), mark) {
					_, _ = fmt.Fprintln(out, answer)
				}
			}
		}
	}()
	return mcp.NewIOTransport(r, w)
}

// A host that keeps up with a server's tools remembers the generation, lists, and waits until the generation is another
// one. The channel only wakes it: what it has no room for is counted all the same.
func ExampleClient_Listen() {
	ctx := context.Background()
	client, err := mcp.Connect(ctx, restless())
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	sub, err := client.Listen(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = sub.Close() }()
	fmt.Printf("tools %v, prompts %v\n", sub.Effective().ToolsListChanged, sub.Effective().PromptsListChanged)
	for open := true; open; {
		seen := sub.Generation(mcp.ChangeTools)
		snapshot, err := client.SnapshotTools(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("change %d: %d tools\n", seen, len(snapshot.Tools))
		for open && sub.Generation(mcp.ChangeTools) == seen {
			_, open = <-sub.Events()
		}
	}
	fmt.Printf("%s, error %v\n", sub.Outcome(), sub.Err())
	// Output:
	// tools true, prompts false
	// change 0: 0 tools
	// change 1: 1 tools
	// ended, error <nil>
}
