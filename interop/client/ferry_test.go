//go:build unix

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

const warning = "Ice on the fairway: sailings may be late. Älä astu jäälle."

// A ferry is the ferry office in one SDK, over both transports.
type ferry struct {
	sdk      string
	peers    []peer
	versions []string
	pages    int // of the tools list
}

var ferryTools = strings.Fields(`abandoned board book horn leaflet load photo rename timetable wait`)

func mcpGoFerry(t *testing.T) ferry {
	t.Helper()
	path := program("mcp-go/ferry")
	addr := announced(t, exec.Command(path, "-http=127.0.0.1:0"))
	versions := []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
	return ferry{"mcp-go", []peer{overStdio(path), overHTTP("http://" + addr + "/mcp")}, versions, 3}
}

func typeScriptFerry(t *testing.T) ferry {
	t.Helper()
	path, err := node()
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("..", "..", "conformance", "typescript", "ferry.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	addr := announced(t, exec.Command(path, script, "-http"))
	return ferry{"typescript", []peer{overStdio(path, script), overHTTP("http://" + addr + "/mcp")}, []string{"2026-07-28"}, 1}
}

func TestFerry(t *testing.T) {
	t.Parallel()
	for sdk, open := range map[string]func(*testing.T) ferry{"mcp-go": mcpGoFerry, "typescript": typeScriptFerry} {
		t.Run(sdk, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			each(t, f.peers, func(t *testing.T, p peer) {
				client := p.connect(t, mcp.WithCapabilities(mcp.ClientCapabilities{ElicitationForm: true}))
				f.discovery(t, client.Discovery())
				d := newDesk(t, client)
				f.tools(t, d)
				f.content(t, d)
				f.refusals(t, d, p.name)
				f.rounds(t, d)
				f.notes(t, d)
				f.cancelled(t, d)
				f.proxies(t, d)
			})
		})
	}
}

func (f ferry) discovery(t *testing.T, got *mcp.Discovery) {
	if !slices.Equal(got.SupportedVersions, f.versions) {
		t.Errorf("got versions %q, want %q", got.SupportedVersions, f.versions)
	}
	if info := got.ServerInfo; info == nil || info.Name != "ferry-office" || info.Version != "7.1.0" || info.Title == nil || *info.Title != "Ferry office" {
		t.Errorf("got server info %+v", info)
	}
	if got.Instructions == nil || *got.Instructions != "Ask for the timetable before you book." {
		t.Errorf("got instructions %v", got.Instructions)
	}
	c := got.Capabilities
	if c.Tools == nil || !c.Tools.ListChanged || c.Resources == nil || !c.Resources.Subscribe || c.Prompts == nil || c.Completions == nil || c.Logging == nil {
		t.Errorf("got capabilities %s", c.Raw())
	}
	if got.TTLMs != 0 || got.CacheScope != mcp.CachePrivate {
		t.Errorf("got ttlMs %d and cacheScope %q", got.TTLMs, got.CacheScope)
	}
}

func (f ferry) tools(t *testing.T, d desk) {
	sameNames(t, "tools", names(d.tools.Tools), ferryTools)
	if len(d.tools.Pages) != f.pages {
		t.Errorf("got %d pages, want %d", len(d.tools.Pages), f.pages)
	}
	timetable := d.tool(t, "timetable")
	if timetable.Title == nil || *timetable.Title != "Timetable" || timetable.OutputSchema == nil ||
		timetable.Annotations == nil || timetable.Annotations.ReadOnlyHint == nil || !*timetable.Annotations.ReadOnlyHint {
		t.Errorf("timetable: got %s", timetable.Raw())
	}
	pinned, err := mcp.ParseTool(timetable.Raw())
	if err != nil {
		t.Fatal(err)
	}
	a, errA := mcp.ComputeToolDigest(timetable)
	b, errB := mcp.ComputeToolDigest(pinned)
	if errA != nil || errB != nil || a != b {
		t.Errorf("digest of the listed definition is %v (%v), of the parsed one %v (%v)", a, errA, b, errB)
	}
}

func (f ferry) content(t *testing.T, d desk) {
	timetable := d.call(t, "timetable", `{"quay":"Aura"}`)
	if got, want := string(timetable.StructuredContent), `{"departures":[{"time":"07:15","cars":24},{"time":"09:40","cars":4}]}`; got != want {
		t.Errorf("timetable: got %s, want %s", got, want)
	}
	if len(timetable.Content) != 1 {
		t.Errorf("timetable: got %s", timetable.Raw())
	}
	photo := only[*mcp.ImageContent](t, d.call(t, "photo", ""))
	if !bytes.Equal(photo.Data, decoded(t, pixel)) || photo.Annotations == nil || !cmp.Equal(photo.Annotations.Audience, []string{"user"}) || *photo.Annotations.Priority != 0.5 {
		t.Errorf("photo: got %s", photo.Raw())
	}
	if horn := only[*mcp.AudioContent](t, d.call(t, "horn", "")); !bytes.Equal(horn.Data, decoded(t, hoot)) {
		t.Errorf("horn: got %s", horn.Raw())
	}
	leaflet := d.call(t, "leaflet", "")
	if len(leaflet.Content) != 4 {
		t.Fatalf("leaflet: got %s", leaflet.Raw())
	}
	block[*mcp.TextContent](t, leaflet.Content[0])
	if link := block[*mcp.ResourceLink](t, leaflet.Content[1]); link.URI != "ferry://berth/3" || link.Name != "berth 3" {
		t.Errorf("leaflet: got %s", link.Raw())
	}
	if text := block[*mcp.EmbeddedResource](t, leaflet.Content[2]).Resource; text.Text == nil || *text.Text != warning {
		t.Errorf("leaflet: got %s", text.Raw())
	}
	if blob := block[*mcp.EmbeddedResource](t, leaflet.Content[3]).Resource; !bytes.Equal(blob.Blob, decoded(t, pixel)) || blob.Text != nil {
		t.Errorf("leaflet: got %s", blob.Raw())
	}
}

func (f ferry) refusals(t *testing.T, d desk, transport string) {
	d.fails(t, "board", `{"plate":"ÅÄÖ-1"}`, "no room for ÅÄÖ-1")
	unknown, err := mcp.ParseTool([]byte(`{"name":"fly","inputSchema":{"type":"object"}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.client.CallTool(within(t), &mcp.CallToolParams{Tool: unknown})
	refused(t, "a tool that is not there", err, -32602, "not found")
	_, err = d.client.Call(within(t), "example.com/sail", nil, mcp.RequestMeta{})
	refused(t, "a method that is not there", err, -32601, "")
	if f.sdk == "typescript" {
		// Its validation answers arguments that do not conform with an error of the tool.
		d.fails(t, "timetable", `{"quay":""}`, "quay")
	}
}

func (f ferry) rounds(t *testing.T, d desk) {
	who := map[string]string{"who": `{"action":"accept","content":{"name":"Aino \u2013 \"A\""}}`}
	if got, want := d.answered(t, "book", `{"seats":2}`, who, []string{"who"}), `Aino – "A" has 2 seats; seats=2;"ä"`; got != want {
		t.Errorf("book: got %q, want %q", got, want)
	}
	round, err := d.round(t, within(t), "book", `{"seats":3}`, mcp.RequestMeta{})
	if err != nil {
		t.Fatal(err)
	}
	if round.InputRequired == nil || string(round.InputRequired.State) != `"seats=3;\"ä\""` {
		t.Fatalf("book: got %+v", round)
	}
	// A round can be answered by another client, and more than once: all there is of it is in the continuation.
	for _, name := range []string{"Aino", "Onni"} {
		next := answer(t, "book", round.InputRequired, map[string]string{"who": fmt.Sprintf(`{"action":"accept","content":{"name":%q}}`, name)}, []string{"who"})
		done, err := d.client.CallTool(within(t), &mcp.CallToolParams{Tool: d.tool(t, "book"), Arguments: jsontext.Value(`{"seats":3}`), Continue: next})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := only[*mcp.TextContent](t, done.Complete).Text, name+` has 3 seats; seats=3;"ä"`; got != want {
			t.Errorf("book: got %q, want %q", got, want)
		}
	}
	// What does not answer the round is not sent.
	var refusal *mcp.RequestError
	if _, err := round.InputRequired.Answer(nil); !errors.As(err, &refusal) {
		t.Errorf("book, no answer: got %v, want a *RequestError", err)
	}
}

func (f ferry) notes(t *testing.T, d desk) {
	var progress, logs []string
	d.result(t, "load", "", mcp.RequestMeta{
		OnProgress: func(p mcp.Progress) {
			progress = append(progress, fmt.Sprintf("%v of %v: %s", p.Progress, *p.Total, *p.Message))
		},
		LogLevel: mcp.LogInfo,
		OnLog:    func(m mcp.LogMessage) { logs = append(logs, fmt.Sprintf("%s %s %s", m.Level, *m.Logger, m.Data)) },
	})
	if diff := cmp.Diff([]string{"1 of 3: car 1", "2 of 3: car 2", "3 of 3: car 3"}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`info deck {"car":1}`, `info deck {"car":2}`, `info deck {"car":3}`}, logs); diff != "" {
		t.Errorf("log messages (-want +got):\n%s", diff)
	}
	before := d.client.Dropped()
	d.result(t, "load", "", mcp.RequestMeta{})
	if got := d.client.Dropped() - before; got != 0 {
		t.Errorf("%d notifications came that nobody asked for", got)
	}
}

// cancelled gives up a call that would never end, and wants the server to know.
func (f ferry) cancelled(t *testing.T, d desk) {
	before := d.text(t, "abandoned", "")
	ctx, cancel := context.WithCancel(within(t))
	_, err := d.round(t, ctx, "wait", "", mcp.RequestMeta{OnProgress: func(mcp.Progress) { cancel() }})
	var ended *mcp.ContextError
	if !errors.As(err, &ended) || !errors.Is(err, context.Canceled) || !ended.Delivered {
		t.Errorf("wait: got %v, want a *ContextError that says it was delivered", err)
	}
	eventually(t, "the server knows that nobody waits", func() bool { return d.text(t, "abandoned", "") != before })
}

// proxies executes tools as a host that hands them to a model does.
func (f ferry) proxies(t *testing.T, d desk) {
	ctx := within(t)
	offered := map[string]*mcp.ToolProxy{}
	for proxy, err := range d.client.GetTools(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		offered[proxy.Name] = proxy
	}
	if len(offered) != len(ferryTools) {
		t.Fatalf("got %d proxies, want %d", len(offered), len(ferryTools))
	}
	manifest := offered["timetable"].Manifest()
	if tool := d.tool(t, "timetable"); !bytes.Equal(manifest.Parameters, tool.InputSchema) || !bytes.Equal(manifest.OutputSchema, tool.OutputSchema) {
		t.Errorf("timetable: got parameters %s and outputSchema %s", manifest.Parameters, manifest.OutputSchema)
	}
	result, err := offered["timetable"].Execute(ctx, jsontext.Value(`{"quay":"Aura"}`))
	if err != nil || result.StructuredContent == nil {
		t.Errorf("timetable: got %+v, %v", result, err)
	}
	var failed *mcp.ToolError
	if _, err := offered["board"].Execute(ctx, jsontext.Value(`{"plate":"A-1"}`)); !errors.As(err, &failed) {
		t.Errorf("board: got %v, want a *ToolError", err)
	}
	var required *mcp.InputRequiredError
	if _, err := offered["book"].Execute(ctx, jsontext.Value(`{"seats":1}`)); !errors.As(err, &required) {
		t.Errorf("book: got %v, want an *InputRequiredError", err)
	}
}
