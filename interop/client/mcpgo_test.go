//go:build unix

package client

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// TestMCPGoEverything uses mcp-go's example of everything, over stdio, where it cannot choose who reaches it over HTTP.
func TestMCPGoEverything(t *testing.T) {
	t.Parallel()
	client := overStdio(program("mcp-go/everything")).connect(t)
	discovery := client.Discovery()
	if info := discovery.ServerInfo; info == nil || info.Name != "example-servers/everything" {
		t.Errorf("got server info %+v", info)
	}
	d := newDesk(t, client)
	sameNames(t, "tools", names(d.tools.Tools), strings.Fields(`add echo getTinyImage get_resource_link longRunningOperation notify`))
	icons := d.tool(t, "echo").Icons
	if len(icons) != 1 || icons[0].Src != "https://example.com/tool.png" || !cmp.Equal(icons[0].Sizes, []string{"32x32"}) {
		t.Errorf("got icons %+v", icons)
	}
	if got := d.text(t, "echo", `{"message":"åäö\u0000\ud83d\ude00"}`); got != "Echo: åäö\x00😀" {
		t.Errorf("echo: got %q", got)
	}
	if got := d.text(t, "add", `{"a":1e2,"b":0.5}`); got != "The sum of 100.000000 and 0.500000 is 100.500000." {
		t.Errorf("add: got %q", got)
	}
	d.fails(t, "add", `{"a":"1","b":2}`, "invalid number arguments")
	image := d.call(t, "getTinyImage", "")
	if len(image.Content) != 3 || !bytes.HasPrefix(block[*mcp.ImageContent](t, image.Content[1]).Data, []byte("\x89PNG")) {
		t.Errorf("getTinyImage: got %.200s", image.Raw())
	}
	links := d.call(t, "get_resource_link", `{"resource_type":"chart"}`)
	if len(links.Content) != 3 || block[*mcp.ResourceLink](t, links.Content[1]).URI != "file:///example/chart.pdf" {
		t.Errorf("get_resource_link: got %s", links.Raw())
	}

	// This tool reports progress under a token of its own invention, as a number, where the client's are strings.
	before := client.Dropped()
	var notes int
	d.result(t, "notify", "", mcp.RequestMeta{OnProgress: func(mcp.Progress) { notes++ }})
	if notes != 0 {
		t.Errorf("notify: got %d progress notes that were meant for nobody", notes)
	}
	eventually(t, "the note is dropped", func() bool { return client.Dropped() > before })

	// Notes come while the tool runs, not with its end.
	var seen []string
	d.result(t, "longRunningOperation", `{"duration":0.4,"steps":4}`, mcp.RequestMeta{OnProgress: func(p mcp.Progress) { seen = append(seen, *p.Message) }})
	if len(seen) < 3 || seen[0] != "Server progress 25%" {
		t.Errorf("longRunningOperation: got progress %q", seen)
	}
}

// mcpGoConformance connects to a server for the official suite.
func mcpGoConformance(t *testing.T) *mcp.Client {
	t.Helper()
	addr := atPort(t, func(addr string) *exec.Cmd {
		cmd := exec.Command(program("mcp-go/conformance"))
		cmd.Env = append(os.Environ(), "CONFORMANCE_ADDR="+addr)
		return cmd
	})
	return overHTTP("http://"+addr+"/mcp").connect(t, mcp.WithCapabilities(declared))
}

// TestMCPGoConformance uses mcp-go's server for the official suite, which serves HTTP alone. It declares sampling and
// elicitation, which are no capabilities of a server: they mean nothing.
func TestMCPGoConformance(t *testing.T) {
	t.Parallel()
	addr := atPort(t, func(addr string) *exec.Cmd {
		cmd := exec.Command(program("mcp-go/conformance"))
		cmd.Env = append(os.Environ(), "CONFORMANCE_ADDR="+addr)
		return cmd
	})
	client := overHTTP("http://"+addr+"/mcp").connect(t, mcp.WithCapabilities(declared))
	for _, name := range []string{"sampling", "elicitation"} {
		if _, ok := client.Discovery().Capabilities.Member(name); !ok {
			t.Errorf("capabilities have no %s: %s", name, client.Discovery().Capabilities.Raw())
		}
	}
	d := newDesk(t, client)
	if got := len(d.tools.Tools); got != 12 {
		t.Errorf("got %d tools: %q", got, names(d.tools.Tools))
	}
	d.text(t, "test_simple_text", "")
	if image := only[*mcp.ImageContent](t, d.call(t, "test_image_content", "")); !bytes.Equal(image.Data, decoded(t, pixel)) {
		t.Errorf("got %s", image.Raw())
	}
	if audio := only[*mcp.AudioContent](t, d.call(t, "test_audio_content", "")); !bytes.Equal(audio.Data, decoded(t, hoot)) {
		t.Errorf("got %s", audio.Raw())
	}
	only[*mcp.EmbeddedResource](t, d.call(t, "test_embedded_resource", ""))
	if mixed := d.call(t, "test_multiple_content_types", ""); len(mixed.Content) != 3 {
		t.Errorf("got %s", mixed.Raw())
	}
	d.fails(t, "test_error_handling", "", "intentionally")

	unknown, err := mcp.ParseTool([]byte(`{"name":"no_such_tool","inputSchema":{"type":"object"}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CallTool(within(t), &mcp.CallToolParams{Tool: unknown})
	refused(t, "a tool that is not there", err, -32602, "not found")

	// What the tool reports last may get lost in the server, which does not wait for it before it answers.
	var progress []float64
	d.result(t, "test_tool_with_progress", "", mcp.RequestMeta{OnProgress: func(p mcp.Progress) { progress = append(progress, p.Progress) }})
	if len(progress) < 2 || !slices.Equal(progress, []float64{0, 50, 100}[:len(progress)]) {
		t.Errorf("got progress %v", progress)
	}
	var logs int
	d.result(t, "test_tool_with_logging", "", mcp.RequestMeta{LogLevel: mcp.LogDebug, OnLog: func(mcp.LogMessage) { logs++ }})
	if logs < 2 {
		t.Errorf("got %d log messages", logs)
	}
	for _, tool := range []string{"test_sampling", "test_elicitation"} {
		d.fails(t, tool, `{"prompt":"x","message":"x"}`, "server-initiated requests are not supported in protocol version 2026-07-28")
	}
}

// TestMCPGoOtherThings uses what mcp-go's programs offer beside tools.
func TestMCPGoOtherThings(t *testing.T) {
	t.Parallel()
	t.Run("everything", func(t *testing.T) {
		t.Parallel()
		client := overStdio(program("mcp-go/everything")).connect(t)
		if got := resources(t, client); len(got) != 101 {
			t.Errorf("got %d resources, want 101", len(got))
		}
		if c := readOne(t, client, "test://static/resource/8"); string(c.Blob) != "Binary content for resource 8" || *c.MIMEType != "application/octet-stream" {
			t.Errorf("got %s", c.Raw())
		}
		if c := readOne(t, client, "test://dynamic/resource/7"); c.URI != "test://dynamic/resource/7" {
			t.Errorf("got %s", c.Raw())
		}
		sameNames(t, "prompts", promptNames(prompts(t, client)), []string{"complex_prompt", "simple_prompt"})
		m := messages(t, client, "complex_prompt", map[string]string{"temperature": "0.5", "style": "formal"}, 3)
		if m[1].Role != "assistant" || block[*mcp.ImageContent](t, m[2].Content).MIMEType != "image/png" {
			t.Errorf("got %s", m[1].Raw())
		}
		styles, err := client.Complete(within(t), &mcp.CompleteParams{Ref: mcp.PromptRef{Name: "complex_prompt"}, Argument: mcp.CompletionArgument{Name: "style", Value: "c"}})
		if err != nil || !slices.Equal(styles.Values, []string{"casual", "creative"}) || styles.Total != nil || styles.HasMore != nil {
			t.Errorf("got %+v, %v", styles, err)
		}
		ids, err := client.Complete(within(t), &mcp.CompleteParams{Ref: mcp.ResourceRef{URI: "test://dynamic/resource/{id}"}, Argument: mcp.CompletionArgument{Name: "id"}})
		if err != nil || len(ids.Values) == 0 || ids.Total == nil || *ids.Total < int64(len(ids.Values)) || ids.HasMore == nil || !*ids.HasMore {
			t.Errorf("got %+v, %v", ids, err)
		}
	})
	t.Run("conformance", func(t *testing.T) {
		t.Parallel()
		client := mcpGoConformance(t)
		sameNames(t, "resources", resources(t, client), []string{"test://static-binary", "test://static-text"})
		if c := readOne(t, client, "test://static-binary"); !bytes.Equal(c.Blob, decoded(t, pixel)) {
			t.Errorf("got %s", c.Raw())
		}
		if c := readOne(t, client, "test://template/9/data"); *c.Text != `{"id":"9","templateTest":true,"data":"Data for ID: 9"}` {
			t.Errorf("got %s", c.Raw())
		}
		_, err := client.ReadResource(within(t), &mcp.ReadResourceParams{URI: "test://no-such"})
		refused(t, "a resource that is not there", err, -32602, "not found")
		if got := promptNames(prompts(t, client)); len(got) != 4 {
			t.Errorf("got prompts %q", got)
		}
		block[*mcp.ImageContent](t, messages(t, client, "test_prompt_with_image", nil, 2)[0].Content)
		sub, err := client.Listen(within(t), mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := sub.Effective(); !got.ToolsListChanged || !got.PromptsListChanged || !got.ResourcesListChanged {
			t.Errorf("got effective filter %+v", got)
		}
		closed(t, sub)
	})
}
