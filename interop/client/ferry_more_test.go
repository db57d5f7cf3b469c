//go:build unix

package client

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// TestFerryOtherThings uses what the ferry offices offer beside tools.
func TestFerryOtherThings(t *testing.T) {
	t.Parallel()
	for sdk, open := range map[string]func(*testing.T) ferry{"mcp-go": mcpGoFerry, "typescript": typeScriptFerry} {
		t.Run(sdk, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			each(t, f.peers, func(t *testing.T, p peer) {
				client := p.connect(t)
				f.resources(t, client)
				f.prompts(t, client)
				f.completions(t, client)
				f.subscriptions(t, client, p.name)
			})
		})
	}
}

func (f ferry) resources(t *testing.T, client *mcp.Client) {
	sameNames(t, "resources", resources(t, client), []string{"ferry://notice", "ferry://photo"})
	templates, err := client.SnapshotResourceTemplates(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "ferry://berth/{id}" || *templates.ResourceTemplates[0].Description != "One berth." {
		t.Errorf("got templates %+v", templates.ResourceTemplates)
	}
	notice, err := client.ReadResource(within(t), &mcp.ReadResourceParams{URI: "ferry://notice"})
	if err != nil {
		t.Fatal(err)
	}
	if len(notice.Contents) != 1 || notice.Contents[0].Text == nil || *notice.Contents[0].Text != warning || notice.TTLMs != 60_000 || notice.CacheScope != mcp.CachePublic {
		t.Errorf("got %s", notice.Raw())
	}
	if c := readOne(t, client, "ferry://photo"); !bytes.Equal(c.Blob, decoded(t, pixel)) {
		t.Errorf("got %s", c.Raw())
	}
	if c := readOne(t, client, "ferry://berth/12"); c.URI != "ferry://berth/12" || *c.Text != "berth 12 is free" {
		t.Errorf("got %s", c.Raw())
	}
	_, err = client.ReadResource(within(t), &mcp.ReadResourceParams{URI: "ferry://no-such"})
	refused(t, "a resource that is not there", err, -32602, "")
}

func (f ferry) prompts(t *testing.T, client *mcp.Client) {
	listed := prompts(t, client)
	sameNames(t, "prompts", promptNames(listed), []string{"greeting", "route"})
	route := listed.Prompt("route")
	if route == nil || len(route.Arguments) != 2 || route.Arguments[1].Name != "to" || !*route.Arguments[0].Required || *route.Title != "Route" {
		t.Errorf("got %+v", route)
	}
	messages(t, client, "greeting", nil, 1)
	m := messages(t, client, "route", map[string]string{"from": "Aura", "to": "Åbo"}, 2)
	if got := block[*mcp.TextContent](t, m[0].Content).Text; got != "From Aura to Åbo." || m[0].Role != "user" || m[1].Role != "assistant" {
		t.Errorf("got %s and %s", m[0].Raw(), m[1].Raw())
	}
	if r := block[*mcp.EmbeddedResource](t, m[1].Content).Resource; *r.Text != warning {
		t.Errorf("got %s", r.Raw())
	}
	_, err := client.GetPrompt(within(t), &mcp.GetPromptParams{Name: "no-such"})
	refused(t, "a prompt that is not there", err, -32602, "")
}

func (f ferry) completions(t *testing.T, client *mcp.Client) {
	for _, c := range []struct {
		ref      mcp.CompletionRef
		argument mcp.CompletionArgument
		context  map[string]string
		want     []string
	}{
		{mcp.PromptRef{Name: "route"}, mcp.CompletionArgument{Name: "from", Value: "k"}, nil, []string{"Korppoo", "Kustavi"}},
		{mcp.PromptRef{Name: "route"}, mcp.CompletionArgument{Name: "to", Value: "K"}, map[string]string{"from": "Kustavi"}, []string{"Korppoo"}},
		{mcp.PromptRef{Name: "route"}, mcp.CompletionArgument{Name: "from", Value: "x"}, nil, nil},
		{mcp.ResourceRef{URI: "ferry://berth/{id}"}, mcp.CompletionArgument{Name: "id", Value: "1"}, nil, []string{"1", "10"}},
	} {
		got, err := client.Complete(within(t), &mcp.CompleteParams{Ref: c.ref, Argument: c.argument, Context: c.context})
		if err != nil {
			t.Errorf("%+v %+v: %v", c.ref, c.argument, err)
			continue
		}
		if diff := cmp.Diff(c.want, slices.Clip(append([]string(nil), got.Values...))); diff != "" {
			t.Errorf("%+v %+v (-want +got):\n%s", c.ref, c.argument, diff)
		}
	}
}

func (f ferry) subscriptions(t *testing.T, client *mcp.Client, transport string) {
	d := newDesk(t, client)
	sub, err := client.Listen(within(t), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"ferry://notice"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := sub.Effective(); !got.ToolsListChanged || !slices.Equal(got.ResourceSubscriptions, []string{"ferry://notice"}) {
		t.Errorf("got effective filter %+v", got)
	}
	d.call(t, "rename", "")
	switch {
	case f.sdk == "mcp-go" && transport == "stdio":
		// On stdio mcp-go announces changes without the subscription that they belong to. That ends the subscription, not
		// the connection.
		<-sub.Done()
		var broken *mcp.ProtocolError
		if sub.Outcome() != mcp.SubscriptionViolated || !errors.As(sub.Err(), &broken) {
			t.Errorf("got outcome %q and %v, want a *ProtocolError", sub.Outcome(), sub.Err())
		}
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
	case f.sdk == "mcp-go": // it acknowledges subscriptions to resources, and cannot broadcast their updates
		awaitChange(t, sub, mcp.ChangeTools, "")
		closed(t, sub)
	default:
		awaitChange(t, sub, mcp.ChangeTools, "")
		awaitChange(t, sub, mcp.ChangeResourceContent, "ferry://notice")
		closed(t, sub)
	}
	d.call(t, "photo", "")

	// Where nothing is asked for there is nothing to wait for. mcp-go leaves it to chance whether the end or the
	// acknowledgement of such a subscription comes first; the other ends it in good order over HTTP, and waits on stdio.
	if f.sdk == "mcp-go" {
		return
	}
	empty, err := client.Listen(within(t), mcp.SubscriptionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if transport == "http" {
		<-empty.Done()
		if empty.Outcome() != mcp.SubscriptionEnded || empty.Err() != nil {
			t.Errorf("got outcome %q and %v, want a graceful end", empty.Outcome(), empty.Err())
		}
		return
	}
	if empty.Outcome() != mcp.SubscriptionLive {
		t.Errorf("got outcome %q", empty.Outcome())
	}
	closed(t, empty)
}
