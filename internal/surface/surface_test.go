package surface

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

const discovery = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},
 "instructions":"Ask for a berth.","ttlMs":0,"cacheScope":"private","serverInfo":{"name":"old","version":"0"},
 "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"harbour-office","version":"1.4.0","title":"x"}}}`

func walk(tools ...string) Walk {
	w := Walk{
		Addr: addr.Server{Label: "harbour"}, Endpoint: json.RawMessage(`{}`), EndpointDigest: digest.Digest{1},
		Discovery: []byte(discovery), TTLMs: 60000, CacheScope: "public",
		Snapshots: map[string]digest.Digest{SnapshotDiscover: {2}, SnapshotTools: {3}},
	}
	for _, def := range tools {
		w.Tools = append(w.Tools, []byte(def))
	}
	return w
}

func observed(t *testing.T, w Walk) Server {
	t.Helper()
	s, err := Observe(w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestObserve(t *testing.T) {
	s := observed(t, walk(
		`{ "name": "tide_table", "inputSchema": {"type" :"object"}, "x": 9007199254740993}`,
		`{"name":"berth","inputSchema":{"type":"object"}}`,
	))
	if diff := cmp.Diff(&Identity{"harbour-office", "1.4.0"}, s.Identity); diff != "" {
		t.Errorf("identity comes from _meta, not from a top-level serverInfo:\n%s", diff)
	}
	if s.Instructions == nil || *s.Instructions != "Ask for a berth." {
		t.Errorf("instructions = %v", s.Instructions)
	}
	if got := string(s.Capabilities); got != `{"tools":{}}` {
		t.Errorf("capabilities = %s", got)
	}
	if diff := cmp.Diff([]string{"tide_table", "berth"}, s.ToolOrder); diff != "" {
		t.Errorf("the list order is kept:\n%s", diff)
	}
	if s.Tools[0].Addr.Name != "berth" || s.Tools[1].Addr.Name != "tide_table" {
		t.Errorf("tools are not in byte order: %v", s.Tools)
	}
	it, ok := s.Tool("tide_table")
	if !ok || string(it.Definition) != `{"name":"tide_table","inputSchema":{"type":"object"},"x":9007199254740993}` {
		t.Errorf("definition = %s, want it as received without white space", it.Definition)
	}
	want, err := digest.OfItem("tool", []byte(`{"x":9007199254740993,"inputSchema":{"type":"object"},"name":"tide_table"}`))
	if err != nil || it.Digest != want {
		t.Errorf("digest = %v, want %v (%v)", it.Digest, want, err)
	}
	if _, ok := s.Tool("tide"); ok {
		t.Error("a tool that is not listed was found")
	}
}

func TestObserveRefuses(t *testing.T) {
	bad := func(change func(*Walk)) Walk { w := walk(`{"name":"a"}`); change(&w); return w }
	tests := []struct {
		name string
		walk Walk
		want string
	}{
		{"twice", walk(`{"name":"a"}`, `{"name":"b"}`, `{"name":"a","title":"t"}`), `tool "a" is listed twice`},
		{"no name", walk(`{"title":"a"}`), "tool 1: the definition has no name"},
		{"empty name", walk(`{"name":""}`), "no non-empty string"},
		{"number name", walk(`{"name":1}`), "no non-empty string"},
		{"no object", walk(`[]`), "the definition is no object"},
		{"duplicate member", walk(`{"name":"a","name":"a"}`), "duplicate"},
		{"no capabilities", bad(func(w *Walk) { w.Discovery = []byte(`{}`) }), "capabilities is no object"},
		{"instructions null", bad(func(w *Walk) { w.Discovery = []byte(`{"capabilities":{},"instructions":null}`) }), "instructions is no string"},
		{"identity without version", bad(func(w *Walk) {
			w.Discovery = []byte(`{"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}}`)
		}), "serverInfo has no version"},
		{"array", bad(func(w *Walk) { w.Discovery = []byte(`[]`) }), "the result is no object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Observe(tt.walk)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Observe = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestSameWalk(t *testing.T) {
	a, b := `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{"type":"object"}}`
	base := walk(a, b)
	tests := []struct {
		name     string
		second   func(*Walk)
		byItself []string
		want     *UnstableError
	}{
		{"equal", func(*Walk) {}, nil, nil},
		{"members shuffled", func(w *Walk) { w.Tools[0] = []byte(`{ "inputSchema":{"type":"object"},"name":"a"}`) }, nil, nil},
		{"order", func(w *Walk) {
			w.Tools[0], w.Tools[1] = w.Tools[1], w.Tools[0]
			w.Snapshots[SnapshotTools] = digest.Digest{9}
		}, []string{"order"}, nil},
		{"ttl and scope", func(w *Walk) { w.TTLMs = 1; w.CacheScope = "private" }, []string{"cacheScope", "ttlMs"}, nil},
		{"metadata", func(w *Walk) { w.Snapshots[SnapshotDiscover] = digest.Digest{9} }, []string{"metadata"}, nil},
		{
			"tools",
			func(w *Walk) { w.Tools = [][]byte{[]byte(`{"name":"a"}`), []byte(`{"name":"c"}`)} },
			nil,
			&UnstableError{Server: "server.harbour", Added: []string{"c"}, Removed: []string{"b"}, Changed: []string{"a"}},
		},
		{
			"sections",
			func(w *Walk) {
				w.Discovery = []byte(`{"capabilities":{"tools":{"listChanged":true}}}`)
				w.Excluded = []Excluded{{"x", "bad header"}}
			},
			nil,
			&UnstableError{Server: "server.harbour", Sections: []string{"instructions", "capabilities", "identity", "excluded tools"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := walk(a, b)
			tt.second(&w)
			got, err := SameWalk(observed(t, base), observed(t, w))
			if diff := cmp.Diff(tt.byItself, got); diff != "" {
				t.Errorf("changed by itself:\n%s", diff)
			}
			if tt.want == nil {
				if err != nil {
					t.Errorf("error = %v", err)
				}
				return
			}
			var unstable *UnstableError
			if !errors.As(err, &unstable) {
				t.Fatalf("error = %v, want an *UnstableError", err)
			}
			if diff := cmp.Diff(tt.want, unstable); diff != "" {
				t.Error(diff)
			}
			for _, name := range append(tt.want.Added, tt.want.Changed...) {
				if !strings.Contains(err.Error(), `"`+name+`"`) {
					t.Errorf("%q does not name %q", err, name)
				}
			}
		})
	}
}

func TestObserveKeepsNothingOfItsArgument(t *testing.T) {
	w := walk(`{"name":"a"}`)
	s := observed(t, w)
	for _, b := range [][]byte{w.Tools[0], w.Discovery, w.Endpoint} {
		for i := range b {
			b[i] = 'X'
		}
	}
	w.Snapshots[SnapshotTools] = digest.Digest{}
	if err := strictjson.Check(s.Tools[0].Definition, strictjson.Limits{}); err != nil {
		t.Errorf("definition aliases its source: %v", err)
	}
	if err := strictjson.Check(s.Discovery, strictjson.Limits{}); err != nil {
		t.Errorf("discovery aliases its source: %v", err)
	}
	if s.Snapshots[SnapshotTools] != (digest.Digest{3}) || string(s.Endpoint) != "{}" {
		t.Error("snapshots or endpoint alias their source")
	}
}
