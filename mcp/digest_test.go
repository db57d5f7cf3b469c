package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func parsePage(t testing.TB, result string, headers bool) *ToolsPage {
	t.Helper()
	v, err := strictjson.Parse([]byte(result), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	limits, _ := Limits{}.filled(Limits{})
	p, f := decodeToolsPage(v, &limits, headers)
	if f != nil {
		t.Fatal(f.err(""))
	}
	return p
}

func snapshotOf(t testing.TB, results ...string) *ToolsSnapshot {
	t.Helper()
	var pages []*ToolsPage
	for _, r := range results {
		pages = append(pages, parsePage(t, r, true))
	}
	s, err := NewToolsSnapshot(pages...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func digestOf(t testing.TB, s Snapshot) SnapshotDigest {
	t.Helper()
	d, err := ComputeSnapshotDigest(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSnapshotDigestPreimage writes the preimages by hand.
func TestSnapshotDigestPreimage(t *testing.T) {
	sum := func(preimage string) string {
		d := sha256.Sum256([]byte(preimage))
		return hex.EncodeToString(d[:])
	}
	const tool = `{"name":"a","z":1.0,"inputSchema":{"type":"object"}}`
	const canonical = `{"inputSchema":{"type":"object"},"name":"a","z":1}`
	one := snapshotOf(t, `{"x":null,"tools":[`+tool+`],"ttlMs":6e4,"cacheScope":"public","_meta":{"k":1},"resultType":"complete"}`)
	want := sum("mcpcat:tools:v1\n" + `{"_meta":{"k":1},"cacheScope":"public","resultType":"complete","tools":[` + canonical + `],"ttlMs":60000,"x":null}`)
	if got := digestOf(t, one).String(); got != want {
		t.Errorf("one page: %s, want %s", got, want)
	}
	two := snapshotOf(t, page(`,"nextCursor":"2","_meta":{"k":2}`, tool), strings.Replace(page("", strings.Replace(tool, `"a"`, `"b"`, 1)), `"ttlMs":0`, `"ttlMs":7`, 1))
	want = sum("mcpcat:tools:v1\n" + `{"pages":[{"_meta":{"k":2},"cacheScope":"public","resultType":"complete","tools":[` + canonical + `],"ttlMs":0},` +
		`{"cacheScope":"public","resultType":"complete","tools":[` + strings.Replace(canonical, `"a"`, `"b"`, 1) + `],"ttlMs":7}]}`)
	if got := digestOf(t, two).String(); got != want {
		t.Errorf("two pages: %s, want %s", got, want)
	}
	const bad = `{"name":"bad","inputSchema":{"type":"object","x-mcp-header":"A"}}`
	excluded := snapshotOf(t, page("", bad, tool))
	want = sum("mcpcat:tools:v1\n" + `{"excluded":[{"name":"bad","reason":"` + excluded.Excluded[0].Reason + `"}],"pages":[{"cacheScope":"public","resultType":"complete","tools":[` + canonical + `],"ttlMs":0}]}`)
	if got := digestOf(t, excluded).String(); got != want {
		t.Errorf("excluded: %s, want %s", got, want)
	}
	tool1, err := ComputeToolDigest(mustTool(t, tool))
	if want := "sha256:" + sum("mcpcat:tool:v1\n"+canonical); err != nil || tool1.String() != want {
		t.Errorf("ComputeToolDigest = %s, %v, want %s", tool1, err, want)
	}
}

func TestSnapshotDigestOfDiscovery(t *testing.T) {
	parse := func(result string) *Discovery {
		v, err := strictjson.Parse([]byte(result), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		d, f := decodeDiscovery(v)
		if f != nil {
			t.Fatal(f.err(""))
		}
		return d
	}
	const result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"x":1.0}},"instructions":"<\u00e9>",` +
		`"ttlMs":0,"cacheScope":"private","y":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}`
	d := parse(result)
	want, err := digest.OfJSON(digest.KindDiscovery, []byte(result), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := digestOf(t, d); got != SnapshotDigest(want) || digestOf(t, *d) != got {
		t.Errorf("digest = %s, %s as a value, want %s", got, digestOf(t, *d), want)
	}
	for _, change := range [][2]string{
		{`"ttlMs":0`, `"ttlMs":1`},
		{"private", "public"},
		{`"n"`, `"m"`},
		{`"x":1.0`, `"x":2`},
		{`"y":[]`, `"y":[0]`},
		{"<", ">"},
		{`["2026-07-28"]`, `["2026-07-28","2025-11-25"]`},
	} {
		if digestOf(t, parse(strings.Replace(result, change[0], change[1], 1))) == digestOf(t, d) {
			t.Errorf("digest does not change with %s", change[1])
		}
	}
	byHand := Discovery{
		SupportedVersions: []string{"2026-07-28"}, CacheScope: CachePrivate, Capabilities: Capabilities{Tools: &ToolsCapability{ListChanged: true}},
		ServerInfo: &Implementation{Name: "n", Version: "1"},
	}
	same := parse(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private",` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"version":"1","name":"n"}}}`)
	if digestOf(t, byHand) != digestOf(t, same) {
		t.Error("a value made by hand has another digest than the same value received")
	}
}

func TestSnapshotDigestIsOfTheValues(t *testing.T) {
	fresh := func() *ToolsSnapshot { return snapshotOf(t, page("", tide, berth)) }
	base := digestOf(t, fresh())
	if digestOf(t, *fresh()) != base || digestOf(t, fresh()) != base {
		t.Error("equal snapshots have different digests")
	}
	s := fresh()
	s.Pages[0].TTLMs = 5
	if digestOf(t, s) == base {
		t.Error("digest does not include ttlMs")
	}
	if digestOf(t, snapshotOf(t, page("", berth, tide))) == base {
		t.Error("digest does not include the order")
	}
	title := "x"
	for name, change := range map[string]func(*ToolsSnapshot){
		"ttl":      func(s *ToolsSnapshot) { s.Pages[0].TTLMs = -1 },
		"scope":    func(s *ToolsSnapshot) { s.Pages[0].CacheScope = "shared" },
		"no pages": func(s *ToolsSnapshot) { s.Pages = nil },
		"fewer":    func(s *ToolsSnapshot) { s.Tools = s.Tools[:1] },
		"other": func(s *ToolsSnapshot) {
			s.Pages[0].Tools[0], s.Pages[0].Tools[1] = s.Pages[0].Tools[1], s.Pages[0].Tools[0]
		},
		"nil page": func(s *ToolsSnapshot) { s.Pages = []*ToolsPage{nil} },
		"nil tool": func(s *ToolsSnapshot) { s.Pages[0].Tools[0], s.Tools[0] = nil, nil },
		"tool":     func(s *ToolsSnapshot) { s.Tools[0].Title = &title },
		"utf-8": func(s *ToolsSnapshot) {
			s.Tools[0], s.Pages[0].Tools = &Tool{Name: "a\xff", InputSchema: jsontext.Value(`{"type":"object"}`)}, s.Tools
		},
	} {
		s := fresh()
		change(s)
		if _, err := ComputeSnapshotDigest(s); err == nil {
			t.Errorf("%s: ComputeSnapshotDigest succeeded", name)
		}
	}
	for _, s := range []Snapshot{nil, (*ToolsSnapshot)(nil), (*Discovery)(nil)} {
		if _, err := ComputeSnapshotDigest(s); err == nil {
			t.Errorf("ComputeSnapshotDigest(%T) succeeded", s)
		}
	}
	if _, err := ComputeToolDigest(nil); err == nil {
		t.Error("ComputeToolDigest(nil) succeeded")
	}
}

func TestSnapshotDigestBound(t *testing.T) {
	// One page by hand, so that only the digest's own bound is met.
	of := func(size int) error {
		p := parsePage(t, page("", tide), false)
		s, err := NewToolsSnapshot(p)
		if err != nil {
			t.Fatal(err)
		}
		p.Meta = jsontext.Value(`{"x":""}`)
		doc, err := toolsList.encode(s.Pages, s.Tools)
		if err != nil {
			t.Fatal(err)
		}
		p.Meta = jsontext.Value(`{"x":"` + strings.Repeat("x", size-len(doc)) + `"}`)
		_, err = ComputeSnapshotDigest(s)
		return err
	}
	if err := of(8 << 20); err != nil {
		t.Errorf("8 MiB: %v", err)
	}
	if err := of(8<<20 + 1); !errors.Is(err, ErrLimit) {
		t.Errorf("8 MiB and a byte: %v, want a *LimitError", err)
	}
}

func TestToolDigestOfDefinitionMadeByHand(t *testing.T) {
	yes, title, text := true, "T", "D"
	byHand := &Tool{
		Name: "a", Title: &title, Description: &text, InputSchema: jsontext.Value(`{ "type":"object" }`), OutputSchema: jsontext.Value(`{}`),
		Annotations: &ToolAnnotations{Title: &title, ReadOnlyHint: &yes, OpenWorldHint: &yes},
		Icons:       []Icon{{Src: "data:,x", MIMEType: &text, Sizes: []string{"any"}}}, Meta: jsontext.Value(`{"k":1}`),
	}
	received := mustTool(t, `{"_meta":{"k":1.0},"name":"a","title":"T","description":"D","inputSchema":{"type":"object"},"outputSchema":{},`+
		`"annotations":{"openWorldHint":true,"readOnlyHint":true,"title":"T"},"icons":[{"src":"data:,x","mimeType":"D","sizes":["any"]}]}`)
	a, err := ComputeToolDigest(byHand)
	b, err2 := ComputeToolDigest(received)
	if err != nil || err2 != nil || a != b {
		t.Errorf("digests %s (%v) and %s (%v), want equal ones", a, err, b, err2)
	}
}

func TestNewToolsSnapshotRefuses(t *testing.T) {
	first := parsePage(t, page(`,"nextCursor":"2"`, tide), false)
	last := parsePage(t, page("", berth), false)
	for name, pages := range map[string][]*ToolsPage{
		"none": {}, "nil": {nil}, "not whole": {first}, "behind the end": {last, first}, "twice": {first, parsePage(t, page("", tide), false)},
		"same cursor": {first, parsePage(t, page(`,"nextCursor":"2"`, berth), false), parsePage(t, page(""), false)},
	} {
		if _, err := NewToolsSnapshot(pages...); err == nil {
			t.Errorf("%s: NewToolsSnapshot succeeded", name)
		}
	}
	if s, err := NewToolsSnapshot(first, last); err != nil || len(s.Tools) != 2 {
		t.Errorf("NewToolsSnapshot = %v", err)
	}
}

// FuzzToolDigest holds that what ParseTool accepts has a digest, that of its exact bytes, and that the encoder of typed
// values loses none of what it knows: without members of its own, the definition written from the fields has the same
// digest.
func FuzzToolDigest(f *testing.F) {
	f.Add([]byte(tide))
	f.Add([]byte(berth))
	f.Add([]byte(`{"name":"a","title":"","inputSchema":{"type":"object"},"icons":[{"src":"a","theme":"dark","sizes":[]}],"annotations":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		tool, err := ParseTool(b)
		if err != nil {
			return
		}
		d, err := ComputeToolDigest(tool)
		if err != nil {
			t.Fatalf("accepted, but no digest: %v", err)
		}
		want, err := digest.OfItem(digest.KindTool, b)
		if err != nil || ItemDigest(want) != d {
			t.Fatalf("digest %s, want %s (%v)", d, want, err)
		}
		for name := range strictjson.Value(tool.Raw()).Members() {
			switch name {
			case "name", "title", "description", "icons", "inputSchema", "outputSchema", "annotations", "_meta":
			default:
				return
			}
		}
		again, err := ComputeToolDigest(&Tool{
			Name: tool.Name, Title: tool.Title, Description: tool.Description, Icons: tool.Icons, InputSchema: tool.InputSchema,
			OutputSchema: tool.OutputSchema, Annotations: tool.Annotations, Meta: tool.Meta,
		})
		if err != nil || again != d {
			t.Fatalf("digest of the fields is %s (%v), want %s", again, err, d)
		}
	})
}
