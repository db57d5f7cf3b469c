//go:build unix

package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	hoot  = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

func decoded(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// goSDK is a program of the Go SDK over both transports.
func goSDK(t *testing.T, name string) []peer {
	t.Helper()
	path := program("go-sdk/" + name)
	addr := atPort(t, func(addr string) *exec.Cmd { return exec.Command(path, "-http="+addr) })
	return []peer{overStdio(path), overHTTP("http://" + addr)}
}

// everythingTools is what the SDK's conformance server lists at first.
var everythingTools = strings.Fields(`json_schema_2020_12_tool test_audio_content test_elicitation
	test_elicitation_sep1034_defaults test_elicitation_sep1330_enums test_embedded_resource test_error_handling
	test_image_content test_input_required_result_capabilities test_input_required_result_elicitation
	test_input_required_result_list_roots test_input_required_result_multi_round
	test_input_required_result_multiple_inputs test_input_required_result_request_state
	test_input_required_result_sampling test_input_required_result_tampered_state test_logging_tool
	test_missing_capability test_multiple_content_types test_reconnection test_sampling test_simple_text
	test_streaming_elicitation test_tool_with_logging test_tool_with_progress test_trigger_prompt_change
	test_trigger_tool_change test_x_mcp_header`)

func TestGoSDKEverything(t *testing.T) {
	t.Parallel()
	peers := goSDK(t, "everything-server")
	digests := make([]mcp.SnapshotDigest, len(peers))
	t.Run("transports", func(t *testing.T) {
		for i, p := range peers {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				client := p.connect(t, mcp.WithCapabilities(declared))
				discovery := client.Discovery()
				if want := []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}; !cmp.Equal(discovery.SupportedVersions, want) {
					t.Errorf("got versions %q, want %q", discovery.SupportedVersions, want)
				}
				info, capabilities := discovery.ServerInfo, discovery.Capabilities
				if info == nil || info.Name != "mcp-conformance-test-server" || info.Version != "1.0.0" {
					t.Errorf("got server info %+v", info)
				}
				if capabilities.Tools == nil || !capabilities.Tools.ListChanged || capabilities.Prompts == nil ||
					capabilities.Resources == nil || !capabilities.Resources.Subscribe || capabilities.Completions == nil {
					t.Errorf("got capabilities %s", capabilities.Raw())
				}
				again, err := client.Discover(within(t))
				if err != nil {
					t.Fatal(err)
				}
				if a, b := digest(t, discovery), digest(t, again); a != b {
					t.Errorf("digest of the discovery is %v, then %v", a, b)
				}

				d := newDesk(t, client)
				sameNames(t, "tools", names(d.tools.Tools), everythingTools)
				for _, tool := range d.tools.Tools {
					if tool.OutputSchema != nil || tool.Description == nil {
						t.Errorf("definition of %s: %s", tool.Name, tool.Raw())
					}
				}
				digests[i] = digest(t, d.tools)
				everythingContent(t, d)
				everythingErrors(t, d, p.name == "http")
				everythingRounds(t, d)
				everythingNotes(t, d)
				everythingCancelled(t, d)
			})
		}
	})
	if digests[0] != digests[1] {
		t.Errorf("digest of the tools is %v over stdio, %v over HTTP", digests[0], digests[1])
	}
}

func everythingContent(t *testing.T, d desk) {
	if got, want := d.text(t, "test_simple_text", ""), "This is a simple text response for testing."; got != want {
		t.Errorf("test_simple_text: got %q, want %q", got, want)
	}
	image := only[*mcp.ImageContent](t, d.call(t, "test_image_content", `{}`))
	if !bytes.Equal(image.Data, decoded(t, pixel)) || image.MIMEType != "image/png" {
		t.Errorf("test_image_content: got %s", image.Raw())
	}
	audio := only[*mcp.AudioContent](t, d.call(t, "test_audio_content", `{}`))
	if !bytes.Equal(audio.Data, decoded(t, hoot)) || audio.MIMEType != "audio/wav" {
		t.Errorf("test_audio_content: got %s", audio.Raw())
	}
	embedded := only[*mcp.EmbeddedResource](t, d.call(t, "test_embedded_resource", `{}`)).Resource
	if embedded.URI != "test://embedded-resource" || embedded.Text == nil || *embedded.Text != "This is an embedded resource" || embedded.Blob != nil {
		t.Errorf("test_embedded_resource: got %s", embedded.Raw())
	}
	mixed := d.call(t, "test_multiple_content_types", `{}`)
	if len(mixed.Content) != 3 {
		t.Fatalf("test_multiple_content_types: got %s", mixed.Raw())
	}
	block[*mcp.TextContent](t, mixed.Content[0])
	block[*mcp.ImageContent](t, mixed.Content[1])
	block[*mcp.EmbeddedResource](t, mixed.Content[2])

	// Arguments reach the server byte for byte, and the one with a header is mirrored in a form that the server accepts.
	const person = `{"name" : "Marjatta \u00e4", "contactMethod":"email","email":"m@example.com"}`
	if got := d.text(t, "json_schema_2020_12_tool", person); !strings.Contains(got, "Marjatta") {
		t.Errorf("json_schema_2020_12_tool: got %q", got)
	}
	for _, region := range []string{"eu", "eu-nörd", " eu ", "=?base64?ZXU=?=", "a\tb\n"} {
		if got, want := d.text(t, "test_x_mcp_header", `{"region":`+strconv.Quote(region)+`,"level":3}`), "region="+region; got != want {
			t.Errorf("test_x_mcp_header: got %q, want %q", got, want)
		}
	}
}

func everythingErrors(t *testing.T, d desk, http bool) {
	d.fails(t, "test_error_handling", `{}`, "this tool intentionally returns an error for testing")
	// The server's own validation reports what does not conform as an error of the tool.
	d.fails(t, "json_schema_2020_12_tool", `{"name":"Marjatta","contactMethod":"phone"}`, "")

	unknown, err := mcp.ParseTool([]byte(`{"name":"no_such_tool","inputSchema":{"type":"object"}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.client.CallTool(within(t), &mcp.CallToolParams{Tool: unknown})
	refused(t, "a tool that is not there", err, -32602, "no_such_tool")
	_, err = d.client.Call(within(t), "example.com/sail", jsontext.Value(`{"to":"Aura"}`), mcp.RequestMeta{})
	refused(t, "a method that is not there", err, -32601, "")

	// An empty argument has an empty header, as it must; this server takes that for none.
	var mismatch *mcp.HeaderMismatchError
	if _, err := d.round(t, within(t), "test_x_mcp_header", `{"region":""}`, mcp.RequestMeta{}); http != errors.As(err, &mismatch) {
		t.Errorf("test_x_mcp_header with an empty argument: %v", err)
	}

	var missing *mcp.MissingCapabilityError
	none := mcp.RequestMeta{Capabilities: &mcp.ClientCapabilities{}}
	if _, err := d.round(t, within(t), "test_missing_capability", `{}`, none); !errors.As(err, &missing) || !strings.Contains(string(missing.Required), `"sampling":{}`) {
		t.Errorf("test_missing_capability: got %v, want a *MissingCapabilityError for sampling", err)
	}
	if got := d.text(t, "test_missing_capability", `{}`); !strings.Contains(got, "declared the sampling capability") {
		t.Errorf("test_missing_capability: got %q", got)
	}

	// Asking a client in the old way is no part of the revision, and the SDK does not do it.
	d.fails(t, "test_sampling", `{"prompt":"x"}`, "sampling failed")
	d.fails(t, "test_elicitation", `{"message":"x"}`, "elicitation failed")
}

// answers fit every input request of the server.
var answers = map[string]string{
	"user_name":        `{"action":"accept","content":{"name":"Marjatta"}}`,
	"capital_question": `{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"none","stopReason":"endTurn"}`,
	"greeting":         `{"role":"assistant","content":{"type":"text","text":"Moi,"},"model":"none","stopReason":"endTurn"}`,
	"client_roots":     `{"roots":[{"uri":"file:///srv/data","name":"data"}]}`,
	"confirm":          `{"action":"accept","content":{"ok":true}}`,
	"step1":            `{"action":"accept","content":{"name":"Marjatta"}}`,
	"step2":            `{"action":"accept","content":{"color":"blue"}}`,
	"user_context":     `{"action":"accept","content":{"context":"harbour"}}`,
}

func everythingRounds(t *testing.T, d desk) {
	const prefix = "test_input_required_result_"
	for _, c := range []struct {
		tool, want string
		asked      [][]string
	}{
		{"elicitation", "Hello, Marjatta!", [][]string{{"user_name"}}},
		{"sampling", "Sampling response: Paris", [][]string{{"capital_question"}}},
		{"list_roots", "Client exposed 1 root(s): file:///srv/data", [][]string{{"client_roots"}}},
		{"request_state", "state-ok: requestState received and confirmation accepted", [][]string{{"confirm"}}},
		{"multiple_inputs", "Moi, Marjatta — 1 root(s) visible", [][]string{{"user_name", "greeting", "client_roots"}}},
		{"multi_round", "Multi-round complete: Marjatta likes blue", [][]string{{"step1"}, {"step2"}}},
		{"tampered_state", "state-ok: requestState received and confirmation accepted", [][]string{{"confirm"}}},
		{"capabilities", "Capability-aware input requests fulfilled", [][]string{{"user_name", "greeting", "client_roots"}}},
	} {
		if got := d.answered(t, prefix+c.tool, `{}`, answers, c.asked...); got != c.want {
			t.Errorf("%s: got %q, want %q", c.tool, got, c.want)
		}
	}

	// What a request declares reaches the server: without sampling it does not ask for it.
	sampling := mcp.RequestMeta{Capabilities: &mcp.ClientCapabilities{ElicitationForm: true}}
	round, err := d.round(t, within(t), prefix+"capabilities", `{}`, sampling)
	if err != nil {
		t.Fatal(err)
	}
	if round.InputRequired == nil || len(round.InputRequired.Requests) != 1 || round.InputRequired.Requests["user_name"].Method != "elicitation/create" {
		t.Errorf("capabilities, only elicitation declared: got %+v", round)
	}
	var required *mcp.InputRequiredError
	if _, err := round.Result(); !errors.As(err, &required) {
		t.Errorf("capabilities: Result gives %v, want an *InputRequiredError", err)
	}

	// A refusal is an answer, too: the server asks again.
	round, err = d.round(t, within(t), prefix+"elicitation", `{}`, mcp.RequestMeta{})
	if err != nil {
		t.Fatal(err)
	}
	next := answer(t, "elicitation", round.InputRequired, map[string]string{"user_name": `{"action":"decline"}`}, []string{"user_name"})
	round, err = d.client.CallTool(within(t), &mcp.CallToolParams{Tool: d.tool(t, prefix+"elicitation"), Arguments: jsontext.Value(`{}`), Continue: next})
	if err != nil || round.InputRequired == nil {
		t.Errorf("elicitation, declined: got %+v and %v, want another round", round, err)
	}
}

// everythingNotes asks for progress and log messages, and for neither.
func everythingNotes(t *testing.T, d desk) {
	var notes []mcp.Progress
	d.result(t, "test_tool_with_progress", `{}`, mcp.RequestMeta{OnProgress: func(p mcp.Progress) { notes = append(notes, p) }})
	if len(notes) != 3 {
		t.Fatalf("got %d progress notes, want 3", len(notes))
	}
	for i, want := range []float64{0, 50, 100} {
		if p := notes[i]; p.Progress != want || p.Total == nil || *p.Total != 100 || p.Message == nil {
			t.Errorf("progress note %d: got %s", i, p.Raw())
		}
	}
	var logs []string
	asked := mcp.RequestMeta{LogLevel: mcp.LogDebug, OnLog: func(m mcp.LogMessage) { logs = append(logs, string(m.Level)+" "+string(m.Data)) }}
	d.result(t, "test_tool_with_logging", `{}`, asked)
	want := []string{`info "Tool execution started"`, `info "Tool processing data"`, `info "Tool execution completed"`}
	if diff := cmp.Diff(want, logs); diff != "" {
		t.Errorf("log messages (-want +got):\n%s", diff)
	}
	before := d.client.Dropped()
	d.result(t, "test_tool_with_logging", `{}`, mcp.RequestMeta{})
	d.result(t, "test_logging_tool", `{}`, mcp.RequestMeta{LogLevel: mcp.LogError})
	if got := d.client.Dropped() - before; got != 0 {
		t.Errorf("%d notifications came that nobody asked for", got)
	}
}

// everythingCancelled gives up a call while it runs. The connection goes on.
func everythingCancelled(t *testing.T, d desk) {
	ctx, cancel := context.WithCancel(within(t))
	_, err := d.round(t, ctx, "test_tool_with_progress", `{}`, mcp.RequestMeta{OnProgress: func(mcp.Progress) { cancel() }})
	var ended *mcp.ContextError
	if !errors.As(err, &ended) || !errors.Is(err, context.Canceled) || !ended.Delivered {
		t.Errorf("cancelled: got %v, want a *ContextError that says it was delivered", err)
	}
	if got := d.text(t, "test_simple_text", `{}`); got == "" {
		t.Error("no text after a cancelled call")
	}
}
