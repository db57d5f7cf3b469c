package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/gate"
	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// floorServer is the least that an MCP server over HTTP can do. It offers n tools and answers calls.
func floorServer(n int) http.Handler {
	var list bytes.Buffer
	for i := range n {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"name":"t%02d","description":"Tool number %d of the floor server.","inputSchema":{"type":"object","properties":{"tag":{"type":"string"}},"required":["tag"]}}`, i, i)
	}
	tools := `{"resultType":"complete","tools":[` + list.String() + `],"ttlMs":0,"cacheScope":"private"}`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		_, rest, _ := bytes.Cut(body, []byte(`"id":`))
		end := bytes.IndexAny(rest, ",}")
		result := `{"resultType":"complete","content":[{"type":"text","text":"Berth 9 is free from 14:30."}]}`
		switch r.Header.Get("Mcp-Method") {
		case methodDiscover:
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
		case methodList:
			result = tools
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, rest[:end], result)
	})
}

// benchGate pins what the server at base offers, except that the tool t00 was another one when it was pinned.
func benchGate(b *testing.B, base, recheck string, n int) *gate.Gate {
	b.Helper()
	dir := b.TempDir()
	var names, refs []string
	for i := range n {
		names = append(names, fmt.Sprintf(`"t%02d"`, i))
		refs = append(refs, fmt.Sprintf("server.up.tool.t%02d", i))
	}
	text := fmt.Sprintf(`
mcpcat {
  gate {
    recheck = %q
  }
}
server "up" {
  http {
    url = %q
    egress { allow_private = true }
  }
  tools = [%s]
}
agent "a" {
  names = "plain"
  tools = [%s]
}
`, recheck, base+Path, strings.Join(names, ", "), strings.Join(refs, ", "))
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	cat, diags := catalog.Load(catalog.Options{Dir: dir})
	if err := diags.Err(); err != nil {
		b.Fatal(err)
	}
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	req.Header.Set("Mcp-Method", methodList)
	floorServer(n).ServeHTTP(rec, req)
	var answer struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
		b.Fatal(err)
	}
	s := cat.Servers[0]
	l := &lock.Lock{
		Lineage: strings.Repeat("ab", 16), Serial: 1, Gate: json.RawMessage(`{"every":"1h0m0s","recheck":"interval"}`),
		Servers: []lock.Server{{Addr: s.Addr, Endpoint: s.Endpoint(), EndpointDigest: s.EndpointDigest(), Timeouts: s.Timeouts.Posture(), Protocol: Version}},
		Agents:  []lock.Agent{{Name: "a", Names: "plain"}},
	}
	for i, def := range answer.Result.Tools {
		if i == 0 {
			def = bytes.Replace(def, []byte("Tool number"), []byte("Reviewed tool number"), 1)
		}
		d, err := digest.OfItem(digest.KindTool, def)
		if err != nil {
			b.Fatal(err)
		}
		name := fmt.Sprintf("t%02d", i)
		item := addr.Item{Server: s.Addr, Kind: addr.Tool, Name: name}
		l.Items = append(l.Items, lock.Item{Addr: item, Digest: d, Definition: def})
		l.Agents[0].Tools = append(l.Agents[0].Tools, lock.AgentTool{Name: name, Address: item, Digest: d})
	}
	if err := lock.Seal(l); err != nil {
		b.Fatal(err)
	}
	g, err := gate.New(gate.Config{Catalog: cat, Lock: l, Agent: "a"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	return g
}

// BenchmarkHTTP puts mcpcat beside the server itself and beside the standard library's reverse proxy, which checks
// nothing. Compare the rows of one run by p50-ns.
func BenchmarkHTTP(b *testing.B) {
	const tools = 50
	up := httptest.NewServer(floorServer(tools))
	defer up.Close()
	target, err := url.Parse(up.URL)
	if err != nil {
		b.Fatal(err)
	}
	reverse := httptest.NewServer(httputil.NewSingleHostReverseProxy(target))
	defer reverse.Close()
	serve := func(recheck string) string {
		srv := httptest.NewServer(New(Options{Gate: benchGate(b, up.URL, recheck, tools), Hosts: LoopbackHosts}).Handler())
		b.Cleanup(srv.Close)
		return srv.URL
	}
	interval, each := serve("1h"), serve("each_call")
	for _, row := range []struct{ name, base, tool, want string }{
		{"direct", up.URL, "t01", `"result"`},
		{"reverse proxy", reverse.URL, "t01", `"result"`},
		{"serve interval", interval, "t01", `"result"`},
		{"serve each_call", each, "t01", `"result"`},
		{"serve refused", interval, "t00", `"code":1403`},
		{"serve each_call list+call direct", up.URL, "t01 with list", `"result"`},
	} {
		b.Run(row.name, func(b *testing.B) {
			name, withList := strings.CutSuffix(row.tool, " with list")
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
			defer client.CloseIdleConnections()
			body := call("1", name, `{"tag":"x"}`)
			list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
			times := make([]time.Duration, 0, 1<<16)
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				if withList {
					benchPost(b, client, row.base, list, methodList, "", row.want)
				}
				benchPost(b, client, row.base, body, methodCall, name, row.want)
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2]), "p50-ns")
		})
	}
}

func benchPost(b *testing.B, client *http.Client, base, body, method, name, want string) {
	req, err := http.NewRequest(http.MethodPost, base+Path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	h := req.Header
	h["Content-Type"] = []string{"application/json"}
	h["Accept"] = []string{"application/json, text/event-stream"}
	h[versionHeader] = []string{Version}
	h[methodHeader] = []string{method}
	if name != "" {
		h[nameHeader] = []string{name}
	}
	res, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || !bytes.Contains(answer, []byte(want)) {
		b.Fatalf("%d %s %v", res.StatusCode, answer, err)
	}
}
