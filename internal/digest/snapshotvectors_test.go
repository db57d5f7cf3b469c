package digest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// snapshotInputs are vectors of whole answers: the results of the pages of a list in order, or one result. Their
// documents are made by package mcp, which is what a published snapshot digest comes from.
func snapshotInputs() []input {
	var all []input
	add := func(name string, kind digest.Kind, pages ...string) {
		all = append(all, input{name: fmt.Sprintf("snapshot %s %s", kind, name), kind: kind, pages: pages})
	}
	const hints = `"resultType":"complete","ttlMs":0,"cacheScope":"public"`
	add("one result", digest.KindDiscovery, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"extensions":{"com.example/x":{"r":0.50,"n":null}}},`+
		`"instructions":"High water \u2248 06:12\n","ttlMs":3.6e6,"cacheScope":"private","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":`+
		`{"name":"harbour","version":"1.0"}},"x-unknown":[]}`)
	add("a cursor is no part of it", digest.KindDiscovery, `{"supportedVersions":["2026-07-28"],"capabilities":{},`+hints+`,"nextCursor":"kept here"}`)
	add("one result", digest.KindResourceRead, `{"contents":[{"uri":"file:///a","mimeType":"text/plain","text":"<\/a>","z":1.0},{"uri":"file:///b","blob":"AAEC/w=="}],`+
		`"resultType":"complete","ttlMs":60000.0,"cacheScope":"private","nextCursor":null}`)
	add("nothing read", digest.KindResourceRead, `{"contents":[],`+hints+`}`)
	items := map[digest.Kind][3]string{
		digest.KindTools: {
			"tools", `{"name":"tide_table","inputSchema":{"type":"object","properties":{"n":{"minimum":1.0}}},"annotations":{"readOnlyHint":true}}`,
			`{"inputSchema":{"type":"object"},"name":"\u00e9"}`,
		},
		digest.KindResources: {
			"resources", `{"uri":"file:///log","name":"log","size":4096.0,"annotations":{"priority":0.50,"lastModified":"2026-11-01T00:00:00Z"}}`,
			`{"name":"","uri":"x:1","icons":[{"src":"https:\/\/h\/i.png","sizes":["48x48"]}]}`,
		},
		digest.KindResourceTemplates: {"resourceTemplates", `{"uriTemplate":"file:///{day}","name":"day","mimeType":"text/plain"}`, `{"name":"","uriTemplate":"x:{+y}"}`},
		digest.KindPrompts:           {"prompts", `{"name":"brief","arguments":[{"name":"vessel","required":true},{"name":"berth"}]}`, `{"title":"T","name":"moor"}`},
	}
	for _, kind := range []digest.Kind{digest.KindTools, digest.KindResources, digest.KindResourceTemplates, digest.KindPrompts} {
		member, a, b := items[kind][0], items[kind][1], items[kind][2]
		page := func(more string, items ...string) string {
			return `{"` + member + `":[` + strings.Join(items, ",") + `],` + hints + more + `}`
		}
		add("empty", kind, page(""))
		add("one page", kind, page(`,"_meta":{"k":1e1},"Tools":null`, a, b))
		add("other order", kind, page(`,"_meta":{"k":1e1},"Tools":null`, b, a))
		add("two pages", kind, page(`,"nextCursor":"","_meta":{"k":1e1}`, a), strings.Replace(page("", b), `"ttlMs":0`, `"ttlMs":5e3`, 1))
		add("two pages, the second empty", kind, page(`,"nextCursor":"2"`, a, b), page(""))
	}
	return all
}

// snapshotOf makes a snapshot of kept answers.
func snapshotOf(t *testing.T, kind digest.Kind, results []string) mcp.Snapshot {
	t.Helper()
	var s mcp.Snapshot
	var err error
	switch kind {
	case digest.KindDiscovery:
		s, err = mcp.ParseDiscovery([]byte(results[0]))
	case digest.KindResourceRead:
		s, err = mcp.ParseReadResourceResult([]byte(results[0]))
	case digest.KindTools:
		s, err = joined(results, mcp.ParseToolsPage, mcp.NewToolsSnapshot)
	case digest.KindResources:
		s, err = joined(results, mcp.ParseResourcesPage, mcp.NewResourcesSnapshot)
	case digest.KindResourceTemplates:
		s, err = joined(results, mcp.ParseResourceTemplatesPage, mcp.NewResourceTemplatesSnapshot)
	case digest.KindPrompts:
		s, err = joined(results, mcp.ParsePromptsPage, mcp.NewPromptsSnapshot)
	default:
		t.Fatalf("%s is no kind of snapshot", kind)
	}
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return s
}

func joined[P any, S mcp.Snapshot](results []string, parse func([]byte) (P, error), join func(...P) (S, error)) (mcp.Snapshot, error) {
	var pages []P
	for _, r := range results {
		page, err := parse([]byte(r))
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return join(pages...)
}

// snapshotVector takes the digest of a snapshot, and the canonical form of its document from its preimage.
func snapshotVector(t *testing.T, in input) vector {
	t.Helper()
	s := snapshotOf(t, in.kind, in.pages)
	d, err := mcp.ComputeSnapshotDigest(s)
	if err != nil {
		t.Fatalf("%s: %v", in.name, err)
	}
	form, err := mcp.AppendSnapshotPreimage(nil, s)
	if err != nil {
		t.Fatalf("%s: %v", in.name, err)
	}
	canonical, ok := strings.CutPrefix(string(form), "mcpcat:"+string(in.kind)+":v1\n")
	if !ok || digest.OfBytes(in.kind, []byte(canonical)) != digest.Digest(d) {
		t.Fatalf("%s: preimage %q does not have digest %s", in.name, form, d)
	}
	text := "sha256:" + d.String()
	return vector{Name: in.name, Kind: string(in.kind), Pages: in.pages, Canonical: &canonical, Digest: &text}
}

// TestDocumentation takes the digests of the examples in docs/digest.md.
func TestDocumentation(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "digest.md"))
	if err != nil {
		t.Fatal(err)
	}
	const tool, list = `{"name":"a","inputSchema":{"type":"object"}}`, `{"resultType":"complete","prompts":[{"name":"brief"}],"ttlMs":6e4,"cacheScope":"public"}`
	preimage, err := digest.AppendPreimage(nil, digest.KindTool, []byte(tool))
	if err != nil {
		t.Fatal(err)
	}
	item, err := digest.OfItem(digest.KindTool, []byte(tool))
	if err != nil {
		t.Fatal(err)
	}
	s := snapshotOf(t, digest.KindPrompts, []string{list})
	snapshot, err := mcp.ComputeSnapshotDigest(s)
	if err != nil {
		t.Fatal(err)
	}
	form, err := mcp.AppendSnapshotPreimage(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	indented := func(text []byte) string { return "    " + strings.ReplaceAll(string(text), "\n", "\n    ") }
	for _, want := range []string{
		tool, list, indented(preimage), indented(form), "`" + item.String() + "`", "`" + snapshot.String() + "`",
		fmt.Sprintf("these %d bytes", len(preimage)),
	} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("docs/digest.md does not say %s", want)
		}
	}
	for _, row := range []struct{ spelled, canonical string }{
		{"1e21", "1e+21"}, {"1e-7", "1e-7"}, {"9007199254740993", "9.007199254740993e+15"}, {"0.1", "0.1"}, {"0.30000000000000003", "3.0000000000000003e-1"}, {"1e400", "1e+400"},
	} {
		got, err := strictjson.AppendCanonical(nil, []byte(row.spelled), strictjson.Limits{})
		if err != nil || string(got) != row.canonical || !strings.Contains(string(doc), "`"+row.spelled+"`") || !strings.Contains(string(doc), "`"+row.canonical+"`") {
			t.Errorf("%s is written as %s (%v), want %s as docs/digest.md says", row.spelled, got, err, row.canonical)
		}
	}
}
