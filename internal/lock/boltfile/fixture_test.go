package boltfile

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// makeLock returns a sealed first lock with n tools of about size bytes on four servers, and an agent that may use all.
func makeLock(t testing.TB, n, size int) *lock.Lock {
	t.Helper()
	l := &lock.Lock{Lineage: "00112233445566778899aabbccddeeff", Serial: 1, Gate: []byte(`{"recheck":"each_call"}`)}
	for i := range 4 {
		endpoint := fmt.Appendf(nil, `{"type":"http","url":"https://s%d.example/mcp"}`, i)
		d, err := digest.OfJSON(digest.KindEndpoint, endpoint, strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		l.Servers = append(l.Servers, lock.Server{Addr: addr.Server{Label: fmt.Sprintf("s%d", i)}, Endpoint: endpoint, EndpointDigest: d, Protocol: "2026-07-28"})
	}
	agent := lock.Agent{Name: "crew", Names: "prefixed"}
	for i := range n {
		name := fmt.Sprintf("tool_%05d", i)
		definition := fmt.Appendf(nil, `{"name":%q,"inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":%d}}},"description":"`, name, i)
		for len(definition) < size {
			definition = fmt.Appendf(definition, "Tool %d of the harbour office looks at berth number %d. ", i, len(definition))
		}
		definition = append(definition, `"}`...)
		d, err := digest.OfItem(digest.KindTool, definition)
		if err != nil {
			t.Fatal(err)
		}
		a := addr.Item{Server: l.Servers[i%4].Addr, Kind: addr.Tool, Name: name}
		l.Items = append(l.Items, lock.Item{Addr: a, Digest: d, Definition: definition})
		agent.Tools = append(agent.Tools, lock.AgentTool{Name: a.Server.Label + "__" + name, Address: a, Digest: d})
	}
	l.Agents = []lock.Agent{agent}
	if err := lock.Seal(l); err != nil {
		t.Fatal(err)
	}
	return l
}

// following returns a lock that continues l, with another gate setting so that its content differs.
func following(t testing.TB, l *lock.Lock, note string) *lock.Lock {
	t.Helper()
	next := *l
	next.Serial, next.Parent = l.Serial+1, l.Root
	next.Gate = fmt.Appendf(nil, `{"note":%q,"recheck":"each_call"}`, note)
	if err := lock.Seal(&next); err != nil {
		t.Fatal(err)
	}
	return &next
}

func shuffled(l *lock.Lock) *lock.Lock {
	c := *l
	c.Servers, c.Items, c.Agents = slices.Clone(l.Servers), slices.Clone(l.Items), slices.Clone(l.Agents)
	rand.Shuffle(len(c.Servers), func(i, j int) { c.Servers[i], c.Servers[j] = c.Servers[j], c.Servers[i] })
	rand.Shuffle(len(c.Items), func(i, j int) { c.Items[i], c.Items[j] = c.Items[j], c.Items[i] })
	for i := range c.Agents {
		c.Agents[i].Tools = slices.Clone(c.Agents[i].Tools)
		rand.Shuffle(len(c.Agents[i].Tools), func(a, b int) {
			c.Agents[i].Tools[a], c.Agents[i].Tools[b] = c.Agents[i].Tools[b], c.Agents[i].Tools[a]
		})
	}
	return &c
}

func mustEncode(t testing.TB, l *lock.Lock) []byte {
	t.Helper()
	b, err := Encode(l)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put writes b as a lock file into a new directory and returns its path.
func put(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "catalog.lock.db")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t testing.TB, path string) *Loaded {
	t.Helper()
	loaded, err := Load(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// same fails unless the file at path holds b.
func same(t testing.TB, path string, b []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, b) {
		t.Errorf("file %s was changed (%d bytes, %v)", path, len(got), err)
	}
}

// names lists a directory.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
