package view_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

func observed(t testing.TB, names ...string) *surface.Server {
	t.Helper()
	w := surface.Walk{
		Addr:      addr.Server{Label: "harbour"},
		Discovery: []byte(`{"capabilities":{"tools":{}},"instructions":"Ask.\u202eFirst.","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"office\u0007","version":"1"}}}`),
		Excluded:  []surface.Excluded{{Name: "bad\nname", Reason: "x-mcp-header is not allowed here"}},
	}
	for _, n := range names {
		w.Tools = append(w.Tools, slices.Concat([]byte(`{"name":`), strictjson.AppendString(nil, n), []byte(`,"description":"Does \u001b[2J it.","inputSchema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}},"required":["a"]}}`)))
	}
	s, err := surface.Observe(w)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// The block that discover -hcl prints is a catalog that declares the offered tools.
func TestDiscoveredHCL(t *testing.T) {
	names := []string{"plain", "admin.list", "with space", `quote"back\slash`, "${var.x}", "%{if}", "naïve", "日本", "$${", "tab\there", "hidden\u200b", "tag\U000E0041", strings.Repeat("n", 1024)}
	left := []string{"tab\there", "hidden\u200b", "tag\U000E0041"}
	blocks := []view.Block{
		{Label: "harbour", URL: "http://127.0.0.1:8080/mcp?a=$b", AllowPrivate: true},
		{Label: "harbour", URL: "https://office.harbour.example/mcp"},
		{Label: "harbour", Command: "/usr/bin/office", Args: []string{"--root", "/srv/${x}", `a"b\c`}},
	}
	for _, block := range blocks {
		var b bytes.Buffer
		if err := view.NewDiscovered(observed(t, names...), "x").HCL(&b, block); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		cat, diags := catalog.Load(catalog.Options{Dir: dir})
		if cat == nil {
			t.Fatalf("the block does not load: %v\n%s", diags, b.String())
		}
		s := cat.Servers[0]
		var got, want []string
		for _, d := range s.Tools {
			got = append(got, d.Name)
		}
		for _, n := range names {
			if !slices.Contains(left, n) {
				want = append(want, n)
			}
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("declared tools = %q, want %q", got, want)
		}
		if block.URL != "" && (s.HTTP.URL.Expose() != block.URL || s.HTTP.AllowPrivate != block.AllowPrivate) {
			t.Errorf("url = %q, want %q", s.HTTP.URL.Expose(), block.URL)
		}
		if block.Command != "" && (s.Stdio.Command != block.Command || !slices.Equal(s.Stdio.Args, block.Args)) {
			t.Errorf("command = %q %q, want %q %q", s.Stdio.Command, s.Stdio.Args, block.Command, block.Args)
		}
		printable(t, b.String())
	}
}

func TestDiscoveredText(t *testing.T) {
	var b bytes.Buffer
	d := view.NewDiscovered(observed(t, "tide", "berth"), "https://office.harbour.example/mcp")
	if err := d.Text(&b, view.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	printable(t, got)
	for _, want := range []string{"office⟨U+0007⟩ 1", "Ask.⟨U+202E⟩First.", "Does ⟨U+001B⟩[2J it.", "a  array of string, required", `not usable: "bad⟨U+000A⟩name"`, "2 tools, nothing of it is pinned."} {
		if !strings.Contains(got, want) {
			t.Errorf("the text does not say %q:\n%s", want, got)
		}
	}
	if strings.Index(got, "  tide") > strings.Index(got, "  berth") {
		t.Error("the tools are not in list order")
	}
	var j bytes.Buffer
	if err := view.Envelope(&j, "discover", nil, d); err != nil {
		t.Fatal(err)
	}
	printable(t, j.String())
}

func printable(t testing.TB, s string) {
	t.Helper()
	for i, r := range s {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Fatalf("the output holds %U at byte %d: %q", r, i, s[max(0, i-20):min(len(s), i+20)])
		}
	}
}

func TestLockViews(t *testing.T) {
	harbour := addr.Server{Label: "harbour"}
	def := []byte(`{"name":"berth","description":"One\u200b two.","inputSchema":{"type":"object"}}`)
	it, err := surface.NewTool(harbour, def)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := []byte(`{"transport":"http","url":"https://office.harbour.example/mcp"}`)
	ed, err := digest.OfJSON(digest.KindEndpoint, endpoint, strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	instructions := "Ask.\u202e"
	l := &lock.Lock{
		Lineage: strings.Repeat("a", 32), Serial: 1,
		Servers: []lock.Server{{Addr: harbour, Endpoint: endpoint, EndpointDigest: ed, Protocol: "2026-07-28", Instructions: &instructions, ToolsCacheScope: "public", ToolOrder: []string{"berth"}}},
		Items:   []lock.Item{{Addr: it.Addr, Digest: it.Digest, Definition: it.Definition}},
		Agents:  []lock.Agent{{Name: "clerk", Names: "prefixed", Tools: []lock.AgentTool{{Name: "harbour__berth", Address: it.Addr, Digest: it.Digest}}}},
	}
	if err := lock.Seal(l); err != nil {
		t.Fatal(err)
	}
	list := view.NewLockList(l, "catalog.lock.db")
	var b bytes.Buffer
	if err := list.Text(&b, view.Options{}); err != nil {
		t.Fatal(err)
	}
	if want := "server.harbour.tool.berth  " + it.Digest.Short() + "\n"; b.String() != want {
		t.Errorf("list = %q, want %q", b.String(), want)
	}
	b.Reset()
	if err := list.Text(&b, view.Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{it.Digest.String(), ed.String(), "agent.clerk", "harbour__berth = server.harbour.tool.berth", "serial 1, root " + l.Root.String()} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the long list does not say %q:\n%s", want, b.String())
		}
	}
	if of := list.Of(addr.Server{Label: "other"}); len(of.Items)+len(of.Servers)+len(of.Agents) != 0 || len(list.Items) != 1 {
		t.Errorf("Of another server = %+v, or it changed the list", of)
	}
	if of := list.Of(harbour); len(of.Items) != 1 || len(of.Servers) != 1 {
		t.Errorf("Of the server = %+v", of)
	}
	b.Reset()
	if err := view.NewLockItem(&l.Items[0]).Text(&b, view.Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if err := view.NewLockServer(&l.Servers[0]).Text(&b, view.Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	printable(t, b.String())
	for _, want := range []string{"One⟨U+200B⟩ two.", it.Digest.String(), "office.harbour.example", "Ask.⟨U+202E⟩"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the entries do not say %q:\n%s", want, b.String())
		}
	}
	for _, doc := range []any{list, view.NewLockItem(&l.Items[0]), view.NewLockServer(&l.Servers[0])} {
		var j bytes.Buffer
		if err := view.Envelope(&j, "lock", nil, doc); err != nil {
			t.Fatal(err)
		}
		printable(t, j.String())
		if strictjson.CheckObject(j.Bytes(), strictjson.Limits{}) != nil {
			t.Errorf("no strict JSON: %s", j.String())
		}
	}
}
