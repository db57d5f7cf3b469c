package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func item(t testing.TB, server addr.Server, kind addr.Kind, name, definition string) Item {
	t.Helper()
	d, err := digest.OfItem(digest.Kind(kind), []byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	return Item{Addr: addr.Item{Server: server, Kind: kind, Name: name}, Digest: d, Definition: []byte(definition)}
}

func endpointDigest(t testing.TB, endpoint string) digest.Digest {
	t.Helper()
	d, err := digest.OfJSON(digest.KindEndpoint, []byte(endpoint), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var (
	harbour = addr.Server{Label: "harbour"}
	wikiEU  = addr.Server{Label: "wiki", Key: "eu", HasKey: true}
	bare    = addr.Server{Label: "bare"}
)

// fixture is a sealed lock with every kind of entry and every optional member.
func fixture(t testing.TB) *Lock {
	t.Helper()
	const stdio = `{"args":["-v"],"command":"./harbour","env":{"TOKEN":{"secret":"var.token"}},"type":"stdio"}`
	const http = `{"type":"http","url":"https://wiki.example/mcp"}`
	instructions := "Ask before you berth.\u202E"
	l := &Lock{
		Lineage: "0123456789abcdef0123456789abcdef",
		Serial:  7,
		Parent:  digest.OfBytes("lock", []byte("before")),
		Gate:    []byte(`{"recheck":"each_call"}`),
		Policy:  []byte(`{"policies":{},"used":{}}`),
		Servers: []Server{
			{
				Addr: wikiEU, Endpoint: []byte(http), EndpointDigest: endpointDigest(t, http), Protocol: "2026-07-28",
				Identity: &Identity{Name: "wiki \u200b", Version: "2.1"}, Instructions: &instructions,
				Capabilities: []byte(`{"tools":{"listChanged":true}}`), Timeouts: []byte(`{"call_ms":60000}`),
				Snapshots:  map[string]digest.Digest{"tools": {1}, "discovery": {2}},
				ToolsTTLMs: 60000, ToolsCacheScope: "private", ToolOrder: []string{"read", "admin.list/all"},
			},
			{Addr: harbour, Endpoint: []byte(stdio), EndpointDigest: endpointDigest(t, stdio), Protocol: "2026-07-28"},
		},
		Items: []Item{
			item(t, wikiEU, addr.Tool, "read", `{"name":"read","description":"Reads.\u202e \u0020é","inputSchema":{"type":"object"},"x":[1.0,2e3]}`),
			item(t, wikiEU, addr.Tool, "admin.list/all", `{"inputSchema":{"type":"object"},"name":"admin.list\/all"}`),
			item(t, wikiEU, addr.Resource, "wiki://a/b?c=%20", `{"name":"b","uri":"wiki://a/b?c=%20","size":12}`),
			item(t, wikiEU, addr.ResourceTemplate, "wiki://{page}", `{"name":"p","uriTemplate":"wiki://{page}"}`),
			item(t, harbour, addr.Prompt, "ask", `{"name":"ask"}`),
			item(t, harbour, addr.Tool, "tide_table", `{"name":"tide_table","inputSchema":{"type":"object","properties":{"day":{"type":"string"}}}}`),
		},
	}
	l.Agents = []Agent{
		{Name: "skipper", Names: "prefixed", Tools: []AgentTool{
			{Name: "wiki_eu__read", Address: l.Items[0].Addr, Digest: l.Items[0].Digest},
			{Name: "harbour__tide_table", Address: l.Items[5].Addr, Digest: l.Items[5].Digest},
		}},
		{Name: "idle", Names: "plain"},
	}
	if err := Seal(l); err != nil {
		t.Fatal(err)
	}
	return l
}

func mustEntries(t testing.TB, l *Lock) []KV {
	t.Helper()
	entries, err := l.Entries()
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func shuffled(l *Lock) *Lock {
	c := *l
	c.Servers, c.Items, c.Agents = slices.Clone(l.Servers), slices.Clone(l.Items), slices.Clone(l.Agents)
	rand.Shuffle(len(c.Servers), func(i, j int) { c.Servers[i], c.Servers[j] = c.Servers[j], c.Servers[i] })
	rand.Shuffle(len(c.Items), func(i, j int) { c.Items[i], c.Items[j] = c.Items[j], c.Items[i] })
	rand.Shuffle(len(c.Agents), func(i, j int) { c.Agents[i], c.Agents[j] = c.Agents[j], c.Agents[i] })
	for i := range c.Agents {
		c.Agents[i].Tools = slices.Clone(c.Agents[i].Tools)
		slices.Reverse(c.Agents[i].Tools)
	}
	return &c
}

func TestEntriesRoundTrip(t *testing.T) {
	l := fixture(t)
	entries := mustEntries(t, l)
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	want := []string{
		"agent/idle", "agent/skipper",
		"meta/format", "meta/lineage", "meta/parent", "meta/root", "meta/seal", "meta/serial",
		"prompt/server.harbour/ask",
		"resource/server.wiki%5B%22eu%22%5D/wiki%3A%2F%2Fa%2Fb%3Fc%3D%2520",
		"resource_template/server.wiki%5B%22eu%22%5D/wiki%3A%2F%2F%7Bpage%7D",
		"server/server.harbour", "server/server.wiki%5B%22eu%22%5D",
		"settings/gate",
		"settings/policy",
		"tool/server.harbour/tide_table",
		"tool/server.wiki%5B%22eu%22%5D/admin.list%2Fall", "tool/server.wiki%5B%22eu%22%5D/read",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	got, err := FromEntries(entries)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l, got); diff != "" {
		t.Errorf("lock read back (-want +got):\n%s", diff)
	}
	for range 20 {
		if diff := cmp.Diff(entries, mustEntries(t, shuffled(l))); diff != "" {
			t.Fatalf("entries depend on the order of the lists:\n%s", diff)
		}
	}
}

func TestFirstLockHasNoParent(t *testing.T) {
	l := &Lock{Lineage: strings.Repeat("a", 32), Serial: 1}
	if err := Seal(l); err != nil {
		t.Fatal(err)
	}
	got, err := FromEntries(mustEntries(t, l))
	if err != nil || !got.Parent.IsZero() || got.Serial != 1 {
		t.Errorf("FromEntries = %+v, %v", got, err)
	}
}

// TestRootByHand computes root and seal as docs/lock-format.md describes them, without the code of this package.
func TestRootByHand(t *testing.T) {
	l := fixture(t)
	h := sha256.New()
	h.Write([]byte("mcpcat:lock:v1\n"))
	meta := map[string]string{}
	for _, e := range mustEntries(t, l) {
		if name, ok := strings.CutPrefix(e.Key, "meta/"); ok {
			meta[name] = string(e.Value)
			continue
		}
		if err := binary.Write(h, binary.BigEndian, uint64(len(e.Key))); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(e.Value)
		h.Write([]byte(e.Key))
		h.Write(sum[:])
	}
	if got, want := meta["root"], fmt.Sprintf(`"sha256:%x"`, h.Sum(nil)); got != want {
		t.Errorf("root = %s, want %s", got, want)
	}
	preimage := "mcpcat:seal:v1\n" + `{"format":` + meta["format"] + `,"lineage":` + meta["lineage"] + `,"parent":` + meta["parent"] +
		`,"root":` + meta["root"] + `,"serial":` + meta["serial"] + `}`
	if got, want := meta["seal"], fmt.Sprintf(`"sha256:%x"`, sha256.Sum256([]byte(preimage))); got != want {
		t.Errorf("seal = %s, want %s", got, want)
	}
}

func TestFind(t *testing.T) {
	l := fixture(t)
	for i := range l.Items {
		if got := l.Find(l.Items[i].Addr); got != &l.Items[i] {
			t.Errorf("Find(%s) = %v", l.Items[i].Addr, got)
		}
	}
	if got := l.Find(addr.Item{Server: bare, Kind: addr.Tool, Name: "read"}); got != nil {
		t.Errorf("Find of an absent item = %v", got)
	}
	for _, server := range []addr.Server{wikiEU, harbour, bare} {
		for _, kind := range []addr.Kind{addr.Tool, addr.Prompt, addr.Resource, addr.ResourceTemplate} {
			var want []string
			for _, it := range l.Items {
				if it.Addr.Server == server && it.Addr.Kind == kind {
					want = append(want, it.Addr.Name)
				}
			}
			if got := l.Names(server, kind); !slices.Equal(got, want) || (got == nil) != (want == nil) {
				t.Errorf("Names(%s, %s) = %q, want %q", server, kind, got, want)
			}
		}
	}
	if (*Lock)(nil).Names(harbour, addr.Tool) != nil || l.Names(harbour, addr.Tool) == nil {
		t.Error("Names finds too much or too little")
	}
	if l.ServerByAddr(wikiEU) == nil || l.ServerByAddr(harbour) == nil || l.ServerByAddr(bare) != nil {
		t.Error("ServerByAddr finds too much or too little")
	}
	skipper := l.AgentByName("skipper")
	if skipper == nil || l.AgentByName("idle") == nil || l.AgentByName("skippe") != nil {
		t.Fatal("AgentByName finds too much or too little")
	}
	if got := skipper.Tool("wiki_eu__read"); got == nil || got.Address.Name != "read" || skipper.Tool("read") != nil {
		t.Errorf("Tool = %v", got)
	}
}

func TestBase(t *testing.T) {
	l := fixture(t)
	b := l.Base()
	other := *b
	other.Serial++
	var none *Lock
	for _, c := range []struct {
		a, b *Base
		want bool
	}{{b, b, true}, {b, l.Base(), true}, {b, &other, false}, {b, nil, false}, {nil, b, false}, {none.Base(), nil, true}} {
		if got := SameBase(c.a, c.b); got != c.want {
			t.Errorf("SameBase(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestMirror(t *testing.T) {
	l := fixture(t)
	got := Mirror(l)
	const golden = "testdata/mirror.txt"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("mirror (-want +got):\n%s", diff)
	}
	for _, concealed := range []string{"\u202e", "\u200b"} {
		if bytes.Contains(got, []byte(concealed)) {
			t.Errorf("mirror shows a concealed character %+q as it is", concealed)
		}
	}
	again := shuffled(l)
	if err := Seal(again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, Mirror(again)) {
		t.Error("mirror depends on the order of the lists")
	}
	// A line that begins with an address is never the text of a server.
	for _, line := range strings.Split(string(got), "\n") {
		if strings.HasPrefix(line, "server.") && !strings.Contains(line, " sha256:") {
			t.Errorf("line %q looks like a header", line)
		}
	}
}

func TestSealRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Lock)
		want   string
	}{
		"lineage":              {func(l *Lock) { l.Lineage = "ABC" }, "32 lower-case hex"},
		"serial 0":             {func(l *Lock) { l.Serial = 0 }, "serial is 0"},
		"serial too large":     {func(l *Lock) { l.Serial = MaxSerial + 1 }, "serial is 9007199254740992"},
		"no parent":            {func(l *Lock) { l.Parent = digest.Digest{} }, "no parent"},
		"parent of the first":  {func(l *Lock) { l.Serial = 1 }, "there is a parent"},
		"item twice":           {func(l *Lock) { l.Items = append(l.Items, l.Items[0]) }, "appears twice"},
		"kind":                 {func(l *Lock) { l.Items[0].Addr.Kind = "tools" }, `unknown kind "tools"`},
		"no definition":        {func(l *Lock) { l.Items[0].Definition = nil }, "no definition"},
		"agent names":          {func(l *Lock) { l.Agents[0].Names = "both" }, "want \"prefixed\" or \"plain\""},
		"exposed name twice":   {func(l *Lock) { l.Agents[1].Tools[0].Name = l.Agents[1].Tools[1].Name }, "appears twice"},
		"exposed name no text": {func(l *Lock) { l.Agents[1].Tools[0].Name = "\xff" }, "UTF-8"},
		"gate not an object":   {func(l *Lock) { l.Gate = []byte(`[]`) }, "settings/gate"},
		"policy not an object": {func(l *Lock) { l.Policy = []byte(`[]`) }, "settings/policy"},
		"endpoint absent":      {func(l *Lock) { l.Servers[0].Endpoint = nil }, "endpoint"},
		"ttl":                  {func(l *Lock) { l.Servers[1].ToolsTTLMs = -1 }, "-1 ms"},
		"scope":                {func(l *Lock) { l.Servers[1].ToolsCacheScope = "shared" }, "cache scope"},
		"ttl without scope":    {func(l *Lock) { l.Servers[0].ToolsTTLMs = 5 }, "no cache scope"},
		"name too long":        {func(l *Lock) { l.Items[0].Addr.Name = strings.Repeat("\u00e9", 9000) }, "want at most 32768"},
	} {
		t.Run(name, func(t *testing.T) {
			l := fixture(t)
			c.change(l)
			if err := Seal(l); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Seal = %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestErrorsAreDistinct(t *testing.T) {
	var notLock error = &NotLockError{Looks: "JSON text"}
	if !errors.Is(notLock, ErrNotLock) || errors.Is(notLock, ErrEmpty) || errors.Is(notLock, ErrAbsent) {
		t.Error("a NotLockError is an ErrNotLock and nothing else")
	}
	for err, want := range map[error]string{
		notLock:                                  `not a lock file: it holds JSON text`,
		&CorruptError{Reason: "page 3"}:          `lock file damaged: page 3`,
		&CorruptError{Key: "a\x1b", Reason: "r"}: `lock file damaged: entry "a\x1b": r`,
		&FormatError{Found: "2.0", Known: "1.0", Newer: true}: `lock file needs mcpcat with lock format 2.0, this one reads 1.0: upgrade mcpcat`,
		&FormatError{Found: "0.9", Known: "1.0"}:              `lock file has the old format 0.9, this mcpcat reads 1.0: plan and apply anew`,
		&BusyError{Path: "a.lock.db", Holder: "pid 7 (x)"}:    `lock file "a.lock.db" is in use by pid 7 (x)`,
		&BusyError{Path: "a.lock.db"}:                         `lock file "a.lock.db" is in use by another process`,
		&StaleError{Want: &Base{Lineage: "l", Serial: 3}}:     `lock was changed by somebody else: it is now absent, want serial 3 of lineage "l" with root 000000000000: make a new plan`,
	} {
		if got := err.Error(); got != want {
			t.Errorf("error = %s, want %s", got, want)
		}
	}
}

// TestServerGuards: limits and recheck of a server are kept, in canonical form, and an entry without them reads as none.
func TestServerGuards(t *testing.T) {
	endpoint := []byte(`{"transport":"stdio"}`)
	d, err := digest.OfJSON("endpoint", endpoint, strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	server := func(label string) Server {
		return Server{Addr: addr.Server{Label: label}, Endpoint: endpoint, EndpointDigest: d, Protocol: "2026-07-28"}
	}
	with := server("a")
	with.Limits, with.Recheck = []byte(`{"tools": 64, "pages": 2}`), []byte(`{"recheck":"each_call"}`)
	l := &Lock{Lineage: strings.Repeat("ab", 16), Serial: 1, Servers: []Server{with, server("b")}}
	if err := Seal(l); err != nil {
		t.Fatal(err)
	}
	entries, err := l.Entries()
	if err != nil {
		t.Fatal(err)
	}
	again, err := FromEntries(entries)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := again.Servers[0], again.Servers[1]; string(a.Limits) != `{"pages":2,"tools":64}` || string(a.Recheck) != `{"recheck":"each_call"}` || b.Limits != nil || b.Recheck != nil {
		t.Errorf("read back: %s %s, %s %s", a.Limits, a.Recheck, b.Limits, b.Recheck)
	}
	for _, spoilt := range []string{`"limits":[]`, `"limits":{"tools":64,"pages":2}`} {
		bad := slices.Clone(entries)
		for i, e := range bad {
			if e.Key == "server/server.a" {
				bad[i].Value = bytes.Replace(e.Value, []byte(`"limits":{"pages":2,"tools":64}`), []byte(spoilt), 1)
			}
		}
		if _, err := FromEntries(bad); err == nil {
			t.Errorf("%s is read", spoilt)
		}
	}
}
