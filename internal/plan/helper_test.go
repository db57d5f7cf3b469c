package plan_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// offer is what one server of a test answers.
type offer struct {
	Status     surface.Status     `json:"status"`
	Failure    *surface.Failure   `json:"failure"`
	Discover   json.RawMessage    `json:"discover"`
	Tools      []json.RawMessage  `json:"tools"`
	TTLMs      int64              `json:"ttlMs"`
	CacheScope string             `json:"cacheScope"`
	Meta       json.RawMessage    `json:"_meta"`
	Excluded   []surface.Excluded `json:"excluded"`
	ByItself   []string           `json:"by_itself"`
}

// load reads a catalog of one file, with the other files that it names beside it.
func load(t testing.TB, hcl string, named ...txtar.File) (*catalog.Catalog, diag.List) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range named {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(hcl), 0o644); err != nil {
		t.Fatal(err)
	}
	cat, diags := catalog.Load(catalog.Options{Dir: dir, AllowMissingSecrets: true})
	if cat == nil {
		t.Fatalf("catalog: %v", diags)
	}
	return cat, diags
}

// observe turns offers, keyed by address, into observations of the catalog's servers.
func observe(t testing.TB, cat *catalog.Catalog, offers map[string]offer) []surface.Server {
	t.Helper()
	var out []surface.Server
	for address, o := range offers {
		a, err := addr.ParseServer(address)
		if err != nil {
			t.Fatal(err)
		}
		decl := cat.Server(a)
		if decl == nil {
			continue
		}
		if o.Failure != nil {
			out = append(out, surface.Server{
				Addr: a, Endpoint: decl.Endpoint(), EndpointDigest: decl.EndpointDigest(), Status: o.Status, Failure: o.Failure,
			})
			continue
		}
		s, err := surface.Observe(o.walk(t, decl))
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		s.ByItself = o.ByItself
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b surface.Server) int { return a.Addr.Compare(b.Addr) })
	return out
}

func (o offer) walk(t testing.TB, decl *catalog.Server) surface.Walk {
	t.Helper()
	if o.Discover == nil {
		o.Discover = json.RawMessage(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
	}
	if o.CacheScope == "" {
		o.CacheScope = "public"
	}
	w := surface.Walk{
		Addr: decl.Addr, Endpoint: decl.Endpoint(), EndpointDigest: decl.EndpointDigest(),
		Discovery: o.Discover, TTLMs: o.TTLMs, CacheScope: o.CacheScope, Excluded: o.Excluded,
		Snapshots: map[string]digest.Digest{},
	}
	for _, def := range o.Tools {
		w.Tools = append(w.Tools, def)
	}
	if o.Meta != nil {
		info, _ := strictjson.Value(o.Meta).Get("io.modelcontextprotocol/serverInfo")
		w.ListInfo = new(surface.Identity)
		if err := json.Unmarshal(info, w.ListInfo); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"tools": o.Tools, "ttlMs": o.TTLMs, "cacheScope": o.CacheScope, "_meta": o.Meta})
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string][]byte{surface.SnapshotDiscover: o.Discover, surface.SnapshotTools: list} {
		d, err := digest.OfJSON(digest.Kind(name), src, strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		w.Snapshots[name] = d
	}
	return w
}

func makePlan(t testing.TB, cat *catalog.Catalog, base *lock.Lock, offers map[string]offer) *plan.Plan {
	t.Helper()
	p, err := plan.Make(plan.Input{Catalog: cat, Base: base, LockName: cat.Lock, Observed: observe(t, cat, offers), Version: "0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pinned applies a plan of the offers to no lock.
func pinned(t testing.TB, cat *catalog.Catalog, offers map[string]offer) *lock.Lock {
	t.Helper()
	return apply(t, makePlan(t, cat, nil, offers), nil, cat)
}

// apply goes through the plan file, as apply does, and through the entries of the lock, as a lock file does.
func apply(t testing.TB, p *plan.Plan, base *lock.Lock, cat *catalog.Catalog) *lock.Lock {
	t.Helper()
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = plan.Decode(b); err != nil {
		t.Fatal(err)
	}
	next, err := p.Next(base, cat)
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	entries, err := next.Entries()
	if err != nil {
		t.Fatal(err)
	}
	l, err := lock.FromEntries(entries)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func offers(t testing.TB, src string) map[string]offer {
	t.Helper()
	out := map[string]offer{}
	if err := json.Unmarshal([]byte(src), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
