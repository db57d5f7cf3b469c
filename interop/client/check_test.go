//go:build unix

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// maxRounds is how often these tests answer a server that asks for input in one call.
const maxRounds = 8

// declared are the capabilities of a client that can answer every kind of input request.
var declared = mcp.ClientCapabilities{ElicitationForm: true, Sampling: true, Roots: true}

// snapshot reads the tools in three ways, which must agree: as a whole, page by page and one by one.
func snapshot(t *testing.T, client *mcp.Client) *mcp.ToolsSnapshot {
	t.Helper()
	ctx := within(t)
	whole, err := client.SnapshotTools(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var pages []*mcp.ToolsPage
	for cursor := (*string)(nil); ; {
		page, err := client.ListTools(ctx, &mcp.ListParams{Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
		if cursor = page.NextCursor; cursor == nil {
			break
		}
	}
	joined, err := mcp.NewToolsSnapshot(pages...)
	if err != nil {
		t.Fatal(err)
	}
	var one []*mcp.Tool
	for tool, err := range client.Tools(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		one = append(one, tool)
	}
	if len(whole.Tools) == 0 {
		t.Fatal("no tools are listed")
	}
	for i, got := range [][]*mcp.Tool{joined.Tools, one} {
		if !slices.EqualFunc(whole.Tools, got, func(a, b *mcp.Tool) bool { return string(a.Raw()) == string(b.Raw()) }) {
			t.Errorf("%s gives %q, the snapshot has %q", []string{"page by page", "one by one"}[i], names(got), names(whole.Tools))
		}
	}
	a, b := digest(t, whole), digest(t, joined)
	if a != b {
		t.Errorf("digest of the snapshot is %v, of the pages put together %v", a, b)
	}
	if len(whole.Excluded) > 0 {
		t.Errorf("excluded: %v", whole.Excluded)
	}
	return whole
}

func digest(t *testing.T, s mcp.Snapshot) mcp.SnapshotDigest {
	t.Helper()
	d, err := mcp.ComputeSnapshotDigest(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func names(tools []*mcp.Tool) []string {
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

// sameNames wants exactly these names, in whatever order.
func sameNames(t *testing.T, what string, got, want []string) {
	t.Helper()
	less := func(s []string) []string { s = slices.Clone(s); slices.Sort(s); return s }
	if diff := cmp.Diff(less(want), less(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// desk calls the tools of one snapshot.
type desk struct {
	client *mcp.Client
	tools  *mcp.ToolsSnapshot
}

func newDesk(t *testing.T, client *mcp.Client) desk {
	t.Helper()
	return desk{client, snapshot(t, client)}
}

func (d desk) tool(t *testing.T, name string) *mcp.Tool {
	t.Helper()
	tool := d.tools.Tool(name)
	if tool == nil {
		t.Fatalf("tool %q is not listed", name)
	}
	return tool
}

// round makes one round of a call; arguments "" are none.
func (d desk) round(t *testing.T, ctx context.Context, name, arguments string, meta mcp.RequestMeta) (*mcp.Round[mcp.CallToolResult], error) {
	t.Helper()
	params := &mcp.CallToolParams{Tool: d.tool(t, name), Meta: meta}
	if arguments != "" {
		params.Arguments = jsontext.Value(arguments)
	}
	return d.client.CallTool(ctx, params)
}

// result calls a tool that needs no input and gives a result, be it one of failure.
func (d desk) result(t *testing.T, name, arguments string, meta mcp.RequestMeta) *mcp.CallToolResult {
	t.Helper()
	round, err := d.round(t, within(t), name, arguments, meta)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	result, err := round.Result()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result
}

// call calls a tool and wants it to succeed.
func (d desk) call(t *testing.T, name, arguments string) *mcp.CallToolResult {
	t.Helper()
	result := d.result(t, name, arguments, mcp.RequestMeta{})
	if err := result.Err(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result
}

// text calls a tool and wants one block of text.
func (d desk) text(t *testing.T, name, arguments string) string {
	t.Helper()
	return only[*mcp.TextContent](t, d.call(t, name, arguments)).Text
}

// fails calls a tool and wants it to report an error that says so.
func (d desk) fails(t *testing.T, name, arguments, says string) {
	t.Helper()
	result := d.result(t, name, arguments, mcp.RequestMeta{})
	var failed *mcp.ToolError
	if !errors.As(result.Err(), &failed) || failed.Result != result {
		t.Fatalf("%s: got %v and %s, want a *ToolError", name, result.Err(), result.Raw())
	}
	if got := only[*mcp.TextContent](t, result).Text; !strings.Contains(got, says) {
		t.Errorf("%s says %q, want %q in it", name, got, says)
	}
}

// only returns the only block of a result, which must be of that type.
func only[B mcp.ContentBlock](t *testing.T, result *mcp.CallToolResult) B {
	t.Helper()
	if len(result.Content) != 1 {
		t.Fatalf("got %d blocks in %s, want 1", len(result.Content), result.Raw())
	}
	return block[B](t, result.Content[0])
}

func block[B mcp.ContentBlock](t *testing.T, c mcp.ContentBlock) B {
	t.Helper()
	b, ok := c.(B)
	if !ok {
		t.Fatalf("got a block of type %T: %s", c, c.Raw())
	}
	return b
}

// answered calls a tool, answers the rounds with the answers of their keys, and returns the text and the number of rounds.
// What is asked for in a round must be exactly the keys in asked.
func (d desk) answered(t *testing.T, name, arguments string, answers map[string]string, asked ...[]string) string {
	t.Helper()
	ctx := within(t)
	params := &mcp.CallToolParams{Tool: d.tool(t, name), Arguments: jsontext.Value(arguments)}
	for n := range maxRounds {
		round, err := d.client.CallTool(ctx, params)
		if err != nil {
			t.Fatalf("%s, round %d: %v", name, n+1, err)
		}
		if round.InputRequired == nil {
			if n != len(asked) {
				t.Errorf("%s: complete after %d rounds, want %d", name, n, len(asked))
			}
			return only[*mcp.TextContent](t, round.Complete).Text
		}
		if n >= len(asked) {
			t.Fatalf("%s: asks for more in round %d: %s", name, n+1, round.InputRequired.Raw())
		}
		params.Continue = answer(t, fmt.Sprintf("%s, round %d", name, n+1), round.InputRequired, answers, asked[n])
	}
	t.Fatalf("%s: no result after %d rounds", name, maxRounds)
	return ""
}

// answer answers a round, which must ask for exactly these keys.
func answer(t *testing.T, what string, required *mcp.InputRequired, answers map[string]string, asked []string) *mcp.Continuation {
	t.Helper()
	var keys []string
	responses := map[string]jsontext.Value{}
	for key := range required.Requests {
		keys = append(keys, key)
		responses[key] = jsontext.Value(answers[key])
	}
	sameNames(t, what+" asks for", keys, asked)
	next, err := required.Answer(responses)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return next
}

// refused wants an answer of the server with that code and a message that says so.
func refused(t *testing.T, what string, err error, code int64, says string) *mcp.RPCError {
	t.Helper()
	var rpc *mcp.RPCError
	if !errors.As(err, &rpc) || rpc.Code != code || !strings.Contains(rpc.Message, says) {
		t.Fatalf("%s: got %v, want an *RPCError with code %d and %q in its message", what, err, code, says)
	}
	if !mcp.Delivered(err) {
		t.Errorf("%s: an answer came, yet Delivered is false", what)
	}
	return rpc
}
