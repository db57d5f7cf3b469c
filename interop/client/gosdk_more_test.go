//go:build unix

package client

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// TestGoSDKOtherThings uses what the SDK's conformance server offers beside tools.
func TestGoSDKOtherThings(t *testing.T) {
	t.Parallel()
	each(t, goSDK(t, "everything-server"), func(t *testing.T, p peer) {
		client := p.connect(t, mcp.WithCapabilities(declared))
		everythingResources(t, client)
		everythingPrompts(t, client)
		everythingSubscriptions(t, client)
	})
}

func everythingResources(t *testing.T, client *mcp.Client) {
	listed := resources(t, client)
	sameNames(t, "resources", listed, []string{"test://static-binary", "test://static-text", "test://watched-resource"})
	templates, err := client.SnapshotResourceTemplates(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "test://template/{id}/data" {
		t.Errorf("got templates %+v", templates.ResourceTemplates)
	}
	digest(t, templates)

	if c := readOne(t, client, "test://static-text"); c.Text == nil || *c.Text != "This is the content of the static text resource." {
		t.Errorf("got %s", c.Raw())
	}
	if c := readOne(t, client, "test://static-binary"); !bytes.Equal(c.Blob, decoded(t, pixel)) || *c.MIMEType != "image/png" {
		t.Errorf("got %s", c.Raw())
	}
	if c := readOne(t, client, "test://template/ab%20c/data"); c.URI != "test://template/ab%20c/data" || c.Text == nil {
		t.Errorf("got %s", c.Raw())
	}
	_, err = client.ReadResource(within(t), &mcp.ReadResourceParams{URI: "test://no-such"})
	if rpc := refused(t, "a resource that is not there", err, -32602, ""); !strings.Contains(string(rpc.Data), "test://no-such") {
		t.Errorf("a resource that is not there: data is %s, want its URI", rpc.Data)
	}
}

func everythingPrompts(t *testing.T, client *mcp.Client) {
	listed := prompts(t, client)
	sameNames(t, "prompts", promptNames(listed), strings.Fields(`test_input_required_result_prompt test_prompt_with_arguments
		test_prompt_with_embedded_resource test_prompt_with_image test_simple_prompt`))
	arguments := listed.Prompt("test_prompt_with_arguments").Arguments
	if len(arguments) != 2 || arguments[0].Name != "arg1" || arguments[0].Required == nil || !*arguments[0].Required {
		t.Errorf("got arguments %+v", arguments)
	}

	if m := messages(t, client, "test_simple_prompt", nil, 1); m[0].Role != "user" || block[*mcp.TextContent](t, m[0].Content).Text == "" {
		t.Errorf("got %s", m[0].Raw())
	}
	m := messages(t, client, "test_prompt_with_arguments", map[string]string{"arg1": `"ä"`, "arg2": ""}, 1)
	if got, want := block[*mcp.TextContent](t, m[0].Content).Text, `Prompt with arguments: arg1='"ä"', arg2=''`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m = messages(t, client, "test_prompt_with_embedded_resource", map[string]string{"resourceUri": "test://x"}, 2)
	if r := block[*mcp.EmbeddedResource](t, m[0].Content).Resource; r.URI != "test://x" {
		t.Errorf("got %s", r.Raw())
	}
	m = messages(t, client, "test_prompt_with_image", nil, 2)
	block[*mcp.ImageContent](t, m[0].Content)
	_, err := client.GetPrompt(within(t), &mcp.GetPromptParams{Name: "no_such_prompt"})
	refused(t, "a prompt that is not there", err, -32602, "no_such_prompt")

	// A prompt that asks first.
	params := &mcp.GetPromptParams{Name: "test_input_required_result_prompt"}
	var required *mcp.InputRequiredError
	if _, err := client.GetPrompt(within(t), params); !errors.As(err, &required) {
		t.Fatalf("got %v, want an *InputRequiredError", err)
	}
	params.Continue = answer(t, params.Name, required.Required, answers, []string{"user_context"})
	round, err := client.GetPromptRound(within(t), params)
	if err != nil {
		t.Fatal(err)
	}
	if got := block[*mcp.TextContent](t, round.Complete.Messages[0].Content).Text; got != "Context: harbour" {
		t.Errorf("got %q", got)
	}

	// This server completes nothing, and says so.
	values, err := client.Complete(within(t), &mcp.CompleteParams{
		Ref:      mcp.PromptRef{Name: "test_prompt_with_arguments"},
		Argument: mcp.CompletionArgument{Name: "arg1", Value: "a"},
		Context:  map[string]string{"arg2": "b"},
	})
	if err != nil || values.Values == nil || len(values.Values) != 0 {
		t.Errorf("got %+v, %v, want no values", values, err)
	}
}

func everythingSubscriptions(t *testing.T, client *mcp.Client) {
	d := newDesk(t, client)
	sub, err := client.Listen(within(t), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"test://watched-resource"}})
	if err != nil {
		t.Fatal(err)
	}
	effective := sub.Effective()
	if !effective.ToolsListChanged || effective.PromptsListChanged || !slices.Equal(effective.ResourceSubscriptions, []string{"test://watched-resource"}) {
		t.Errorf("got effective filter %+v", effective)
	}
	other, err := client.Listen(within(t), mcp.SubscriptionFilter{PromptsListChanged: true})
	if err != nil {
		t.Fatal(err)
	}
	d.call(t, "test_trigger_tool_change", "")
	awaitChange(t, sub, mcp.ChangeTools, "")
	d.call(t, "test_trigger_prompt_change", "")
	awaitChange(t, other, mcp.ChangePrompts, "")
	awaitChange(t, sub, mcp.ChangeResourceContent, "test://watched-resource") // every three seconds
	if sub.Generation(mcp.ChangePrompts) != 0 || other.Generation(mcp.ChangeTools) != 0 {
		t.Error("a subscription was told what it did not ask for")
	}
	if sub.ResourceGeneration("test://watched-resource") == 0 {
		t.Error("an update was not counted")
	}
	after, err := client.SnapshotTools(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if after.Tool("__transient_tool_for_list_changed") == nil || digest(t, after) == digest(t, d.tools) {
		t.Errorf("after the change there are %q", names(after.Tools))
	}
	closed(t, sub)
	closed(t, other)
	d.text(t, "test_simple_text", "")
}

// resources lists the resources in three ways, which must agree, and returns their URIs.
func resources(t *testing.T, client *mcp.Client) []string {
	t.Helper()
	whole, err := client.SnapshotResources(within(t))
	if err != nil {
		t.Fatal(err)
	}
	var uris, again []string
	for _, r := range whole.Resources {
		uris = append(uris, r.URI)
		parsed, err := mcp.ParseResource(r.Raw())
		if err != nil {
			t.Fatal(err)
		}
		a, errA := mcp.ComputeResourceDigest(r)
		b, errB := mcp.ComputeResourceDigest(parsed)
		if errA != nil || errB != nil || a != b {
			t.Errorf("digest of %s as listed is %v (%v), as parsed %v (%v)", r.URI, a, errA, b, errB)
		}
	}
	for r, err := range client.Resources(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		again = append(again, r.URI)
	}
	joined, err := mcp.NewResourcesSnapshot(whole.Pages...)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := digest(t, whole), digest(t, joined); a != b || !slices.Equal(uris, again) {
		t.Errorf("snapshot has %q, one by one they are %q; digests are %v and %v", uris, again, a, b)
	}
	return uris
}

// readOne reads a resource and wants one piece of content.
func readOne(t *testing.T, client *mcp.Client, uri string) mcp.ResourceContents {
	t.Helper()
	result, err := client.ReadResource(within(t), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	if len(result.Contents) != 1 {
		t.Fatalf("%s: got %s", uri, result.Raw())
	}
	digest(t, result)
	return result.Contents[0]
}

func prompts(t *testing.T, client *mcp.Client) *mcp.PromptsSnapshot {
	t.Helper()
	whole, err := client.SnapshotPrompts(within(t))
	if err != nil {
		t.Fatal(err)
	}
	var again []string
	for p, err := range client.Prompts(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		again = append(again, p.Name)
		if _, err := mcp.ComputePromptDigest(p); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(promptNames(whole), again); diff != "" {
		t.Errorf("prompts (-snapshot +one by one):\n%s", diff)
	}
	digest(t, whole)
	return whole
}

func promptNames(s *mcp.PromptsSnapshot) []string {
	var names []string
	for _, p := range s.Prompts {
		names = append(names, p.Name)
	}
	return names
}

// messages gets a prompt and wants that many messages.
func messages(t *testing.T, client *mcp.Client, name string, arguments map[string]string, n int) []mcp.PromptMessage {
	t.Helper()
	result, err := client.GetPrompt(within(t), &mcp.GetPromptParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(result.Messages) != n {
		t.Fatalf("%s: got %s, want %d messages", name, result.Raw(), n)
	}
	return result.Messages
}

// awaitChange waits for an event of that kind, and takes those before it.
func awaitChange(t *testing.T, sub *mcp.Subscription, kind mcp.ChangeKind, uri string) {
	t.Helper()
	ctx := within(t)
	for {
		select {
		case event, ok := <-sub.Events():
			if !ok {
				t.Fatalf("%s: the subscription has ended (%s): %v", kind, sub.Outcome(), sub.Err())
			}
			if event.Kind != kind || event.URI != uri {
				continue
			}
			if event.Generation == 0 || sub.Generation(kind) < event.Generation {
				t.Errorf("%s: the event has generation %d, the subscription %d", kind, event.Generation, sub.Generation(kind))
			}
			return
		case <-ctx.Done():
			t.Fatalf("%s %s: not announced within %v", kind, uri, patience)
		}
	}
}

// closed closes a subscription.
func closed(t *testing.T, sub *mcp.Subscription) {
	t.Helper()
	if err := sub.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-sub.Done():
	default:
		t.Error("Close returned before the subscription was done")
	}
	if sub.Outcome() != mcp.SubscriptionClosed || !errors.Is(sub.Err(), mcp.ErrSubscriptionClosed) {
		t.Errorf("closed: got outcome %q and %v", sub.Outcome(), sub.Err())
	}
}
