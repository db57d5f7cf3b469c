package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/lock/boltfile"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		playOffice(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// The harbour office: what it offers when it is pinned.
const (
	tideTable = `{"name":"tide_table","description":"Lists high and low water.","inputSchema":{"type":"object","properties":{"day":{"type":"string"}},"required":["day"],"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"high":{"type":"number"}},"required":["high"]}}`
	berthStatus = `{"inputSchema":{"type":"object"},"x-office":{"n":1.0},"description":"Says which berths are free.","name":"berth_status"}`
	closeGate   = `{"name":"close_gate","inputSchema":{"type":"object","properties":{"x":{"pattern":"^(?!a)"}}}}`
)

// office is a fake MCP server over HTTP. Its fields are changed under its mutex.
type office struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	pages  [][]string // definitions
	down   bool       // every request is answered with 503
	answer func(w http.ResponseWriter, r *http.Request, id, name string, body []byte) bool
	hold   chan struct{} // if set, a list waits for it

	lists  int
	called []string // names of the tools that were called, in order
	bodies []string // of those calls
}

func newOffice(t *testing.T, tools ...string) *office {
	o := &office{t: t, pages: [][]string{tools}}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	return o
}

func (o *office) set(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
}

func (o *office) offer(pages ...[]string) { o.set(func() { o.pages = pages }) }

func (o *office) calls() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.called...)
}

func (o *office) walks() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lists
}

const officeInfo = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"office","version":"1"}}`

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		o.t.Errorf("office: %v", err)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name   string  `json:"name"`
			Cursor *string `json:"cursor"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		o.t.Errorf("office got %s: %v", body, err)
		return
	}
	o.mu.Lock()
	down, pages, hold, answer := o.down, o.pages, o.hold, o.answer
	switch m.Method {
	case "tools/list":
		if m.Params.Cursor == nil {
			o.lists++
		}
	case "tools/call":
		o.called = append(o.called, m.Params.Name)
		o.bodies = append(o.bodies, string(body))
	}
	o.mu.Unlock()
	if down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	reply := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
	switch m.Method {
	case "server/discover":
		reply(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private",` + officeInfo + `}`)
	case "tools/list":
		if hold != nil {
			<-hold
		}
		page, next := 0, ""
		if m.Params.Cursor != nil {
			_, _ = fmt.Sscanf(*m.Params.Cursor, "page-%d", &page)
		}
		if page+1 < len(pages) {
			next = fmt.Sprintf(`"nextCursor":"page-%d",`, page+1)
		}
		reply(`{"resultType":"complete","tools":[` + strings.Join(pages[page], ",") + `],` + next + `"ttlMs":0,"cacheScope":"private",` + officeInfo + `}`)
	case "tools/call":
		if answer != nil && answer(w, r, string(m.ID), m.Params.Name, body) {
			return
		}
		if m.Params.Name == "tide_table" {
			reply(`{"resultType":"complete","content":[],"structuredContent":{"high":14.50}}`)
			return
		}
		reply(`{ "resultType":"complete","content":[{"type":"text","text":"free: 3\/4"}],"zz":1.0 }`)
	default:
		o.t.Errorf("office got %s", body)
	}
}

// catalogText declares the office with these tools for one agent, with plain names.
func (o *office) catalogText(extra string, tools ...string) string {
	var names, refs []string
	for _, t := range tools {
		names = append(names, fmt.Sprintf("%q", t))
		refs = append(refs, fmt.Sprintf("server.office.tool.%s", t))
	}
	return fmt.Sprintf(`
server "office" {
  http {
    url = %q
    egress { allow_private = true }
%s
  }
  tools = [%s]
}

agent "clerk" {
  names = "plain"
  tools = [%s]
}

agent "master" {
  tools = [%s]
}
`, o.URL+"/mcp", extra, strings.Join(names, ", "), strings.Join(refs, ", "), strings.Join(refs, ", "))
}

// write writes a catalog file into a new directory.
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	rewrite(t, dir, text)
	return dir
}

func rewrite(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, dir string) *catalog.Catalog {
	t.Helper()
	cat, diags := catalog.Load(catalog.Options{Dir: dir})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	return cat
}

// pin returns the lock of the catalog as it is now with these definitions.
func pin(t *testing.T, cat *catalog.Catalog, definitions ...string) *lock.Lock {
	t.Helper()
	l := &lock.Lock{Lineage: strings.Repeat("ab", 16), Serial: 1}
	pinned := map[addr.Item]digest.Digest{}
	for _, s := range cat.Servers {
		ls := lock.Server{Addr: s.Addr, Endpoint: s.Endpoint(), EndpointDigest: s.EndpointDigest(), Timeouts: s.Timeouts.Posture(), Protocol: "2026-07-28", ToolsCacheScope: "private"}
		for _, def := range definitions {
			var named struct {
				Name string `json:"name"`
			}
			if err := json.Unmarshal([]byte(def), &named); err != nil {
				t.Fatal(err)
			}
			d, err := digest.OfItem(digest.KindTool, []byte(def))
			if err != nil {
				t.Fatal(err)
			}
			item := addr.Item{Server: s.Addr, Kind: addr.Tool, Name: named.Name}
			pinned[item] = d
			ls.ToolOrder = append(ls.ToolOrder, named.Name)
			l.Items = append(l.Items, lock.Item{Addr: item, Digest: d, Definition: []byte(def)})
		}
		l.Servers = append(l.Servers, ls)
	}
	for _, a := range cat.Agents {
		la := lock.Agent{Name: a.Name, Names: a.Names}
		for _, e := range a.Tools {
			if d, ok := pinned[e.Item]; ok {
				la.Tools = append(la.Tools, lock.AgentTool{Name: e.Name, Address: e.Item, Digest: d})
			}
		}
		l.Agents = append(l.Agents, la)
	}
	if err := lock.Seal(l); err != nil {
		t.Fatal(err)
	}
	return l
}

func writeLock(t *testing.T, dir string, l *lock.Lock) {
	t.Helper()
	b, err := boltfile.Encode(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "catalog.lock.db"), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// open pins the definitions in a new directory and opens the gate of the agent.
func open(t *testing.T, o *office, agent string, definitions ...string) *Gate {
	t.Helper()
	var names []string
	for _, d := range definitions {
		var named struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal([]byte(d), &named)
		names = append(names, named.Name)
	}
	dir := write(t, o.catalogText("", names...))
	writeLock(t, dir, pin(t, load(t, dir), definitions...))
	return opened(t, Options{Dir: dir, Agent: agent})
}

func opened(t *testing.T, opts Options) *Gate {
	t.Helper()
	g, err := Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}
