package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/gate"
	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

var _ Gate = (*gate.Gate)(nil)

const (
	upstreamEnv = "MCPCAT_TEST_UPSTREAM" // path of the record; set in the child that plays the server
	echoTool    = `{"name":"echo","inputSchema":{"type":"object","properties":{"tag":{"type":"string"}},"required":["tag"]}}`
)

// serveAsUpstream plays an MCP server on stdio if this process was started as one. It answers no call before one was
// cancelled, and writes every line that it gets to the record.
func serveAsUpstream() bool {
	path := os.Getenv(upstreamEnv)
	if path == "" {
		return false
	}
	record, err := os.Create(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer record.Close()
	type message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Arguments struct {
				Tag string `json:"tag"`
			} `json:"arguments"`
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	var held []message
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return true
		}
		_, _ = record.Write(line)
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return true
		}
		reply := func(id json.RawMessage, result string) {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		}
		switch m.Method {
		case "server/discover":
			reply(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
		case "tools/list":
			reply(m.ID, `{"resultType":"complete","tools":[`+echoTool+`],"ttlMs":0,"cacheScope":"private"}`)
		case "tools/call":
			held = append(held, m)
		case "notifications/cancelled":
			for _, h := range held {
				if !bytes.Equal(h.ID, m.Params.RequestID) {
					reply(h.ID, fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%q}]}`, h.Params.Arguments.Tag))
				}
			}
		}
	}
}

// realGate pins the echo tool of a server that this test binary plays, for one agent with plain names.
func realGate(t *testing.T, record string) *gate.Gate {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := fmt.Sprintf(`
server "up" {
  stdio {
    command = %q
    env     = { %s = %q }
  }
  tools = ["echo"]
}
agent "a" {
  names = "plain"
  tools = [server.up.tool.echo]
}
`, binary, upstreamEnv, record)
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cat, diags := catalog.Load(catalog.Options{Dir: dir})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	s := cat.Servers[0]
	d, err := digest.OfItem(digest.KindTool, []byte(echoTool))
	if err != nil {
		t.Fatal(err)
	}
	item := addr.Item{Server: s.Addr, Kind: addr.Tool, Name: "echo"}
	l := &lock.Lock{
		Lineage: strings.Repeat("ab", 16), Serial: 1,
		Servers: []lock.Server{{Addr: s.Addr, Endpoint: s.Endpoint(), EndpointDigest: s.EndpointDigest(), Timeouts: s.Timeouts.Posture(), Protocol: Version}},
		Items:   []lock.Item{{Addr: item, Digest: d, Definition: []byte(echoTool)}},
		Agents:  []lock.Agent{{Name: "a", Names: "plain", Tools: []lock.AgentTool{{Name: "echo", Address: item, Digest: d}}}},
	}
	if err := lock.Seal(l); err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Config{Catalog: cat, Lock: l, Agent: "a", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestIDsThroughTheProxy lets two agents use the same ids at the same time over one upstream connection.
//
// modelcontextprotocol/go-sdk#1178, modelcontextprotocol/go-sdk#1253: ids lost digits and fractions.
func TestIDsThroughTheProxy(t *testing.T) {
	var ids map[string][]json.RawMessage
	if err := json.Unmarshal(casetest.Read(t, "jsonrpc/ids-through-the-proxy", "downstream-ids.json"), &ids); err != nil {
		t.Fatal(err)
	}
	cancel := string(bytes.TrimSpace(casetest.Read(t, "jsonrpc/ids-through-the-proxy", "cancel.json")))

	record := filepath.Join(t.TempDir(), "record")
	g := realGate(t, record)
	defer g.Close()
	s := newServer(g)

	type client struct {
		in    *io.PipeWriter
		lines chan string
		ended chan error
	}
	clients := map[string]*client{}
	for name := range ids {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		c := &client{in: inW, lines: make(chan string, 16), ended: make(chan error, 1)}
		go func() {
			c.ended <- s.Serve(context.Background(), inR, outW)
			outW.Close()
		}()
		go func() {
			defer close(c.lines)
			r := bufio.NewScanner(outR)
			for r.Scan() {
				c.lines <- r.Text()
			}
		}()
		clients[name] = c
	}
	want := map[string]bool{} // answers that must come: client, id, tag
	total := 0
	for name, list := range ids {
		for _, id := range list {
			tag := name + " " + string(id)
			quoted, _ := json.Marshal(tag)
			fmt.Fprintln(clients[name].in, call(string(id), "echo", `{"tag":`+string(quoted)+`}`))
			total++
			if tag != `client-1 "1"` {
				want[tag] = true
			}
		}
	}
	// All calls are with the server; now one of them is cancelled.
	var seen []byte
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		seen, _ = os.ReadFile(record)
		if strings.Count(string(seen), `"tools/call"`) == total {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server got %s", seen)
		}
	}
	fmt.Fprintln(clients["client-1"].in, cancel)

	got := map[string]bool{}
	for name, c := range clients {
		n := len(ids[name])
		if name == "client-1" {
			n--
		}
		for range n {
			select {
			case line := <-c.lines:
				var m struct {
					ID     json.RawMessage `json:"id"`
					Result struct {
						Content []struct {
							Text string `json:"text"`
						} `json:"content"`
					} `json:"result"`
				}
				if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Content) != 1 {
					t.Fatalf("%s got %s", name, line)
				}
				if m.Result.Content[0].Text != name+" "+string(m.ID) {
					t.Errorf("%s got the answer of %s for id %s", name, m.Result.Content[0].Text, m.ID)
				}
				got[name+" "+string(m.ID)] = true
			case <-time.After(20 * time.Second):
				t.Fatalf("%s got no answer", name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers: %s", diff)
	}
	for name, c := range clients {
		c.in.Close()
		if err := <-c.ended; err != nil {
			t.Errorf("%s: Serve = %v", name, err)
		}
		for line := range c.lines {
			t.Errorf("%s got one answer too many: %s", name, line)
		}
	}

	// What the server saw: ids of its own, each once, and the cancel of exactly that call.
	seen, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var upstreamIDs []string
	var cancelledTag, cancelledID string
	tags := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(seen)), "\n") {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Arguments struct {
					Tag string `json:"tag"`
				} `json:"arguments"`
				RequestID json.RawMessage `json:"requestId"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.ID != nil {
			upstreamIDs = append(upstreamIDs, string(m.ID))
			tags[string(m.ID)] = m.Params.Arguments.Tag
		}
		if m.Method == "notifications/cancelled" {
			if cancelledID != "" {
				t.Error("more than one call was cancelled")
			}
			cancelledID = string(m.Params.RequestID)
			cancelledTag = tags[cancelledID]
		}
	}
	sort.Strings(upstreamIDs)
	for i := 1; i < len(upstreamIDs); i++ {
		if upstreamIDs[i] == upstreamIDs[i-1] {
			t.Errorf("id %s was used twice upstream", upstreamIDs[i])
		}
	}
	if cancelledTag != `client-1 "1"` {
		t.Errorf("upstream id %s, of %q, was cancelled, want that of client-1's string id", cancelledID, cancelledTag)
	}
}
