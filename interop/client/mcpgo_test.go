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
