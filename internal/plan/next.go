package plan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// Next returns the lock that applying the plan gives. base is the lock as it is now, nil if there is none; cat is the
// catalog as it is now, with the plan's variable values.
//
// A plan is a claim. Next derives the whole document again from base, cat and what the document says was observed, and
// refuses when one byte differs. A plan that changes nothing gives base itself: there is nothing to write.
//
// The error is a *StaleError if base is not the lock that the plan was made from; a *MismatchError if the configuration
// changed since or the document was edited; a *FaultyError or *DeniedError if the plan must not be applied.
func (p *Plan) Next(base *lock.Lock, cat *catalog.Catalog) (*lock.Lock, error) {
	if err := p.CheckBase(base); err != nil {
		return nil, err
	}
	if err := p.sameConfig(cat); err != nil {
		return nil, err
	}
	m, err := p.derive(base, cat)
	if err != nil {
		return nil, err
	}
	want, err := m.plan.Encode()
	if err != nil {
		return nil, err
	}
	got, err := p.Encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(want, got) {
		return nil, edited(got, want)
	}
	if err := m.plan.Blocked(); err != nil {
		return nil, err
	}
	if !m.plan.HasChanges() {
		return base, nil
	}
	next := m.next
	next.Lineage, next.Serial = p.Base.Lineage, p.Base.Serial+1
	if base != nil {
		next.Minor, next.Parent = base.Minor, base.Root
	}
	for _, it := range m.items {
		next.Items = append(next.Items, it)
	}
	slices.SortFunc(next.Items, func(a, b lock.Item) int { return a.Addr.Compare(b.Addr) })
	if err := lock.Seal(next); err != nil {
		return nil, err
	}
	return next, nil
}

// CheckBase reports whether base is the lock that the plan was made from; nil stands for no lock. The error is a
// *StaleError. A stale plan can be read but not applied.
func (p *Plan) CheckBase(base *lock.Lock) error {
	describe := func(lineage string, serial uint64, root string) string {
		return fmt.Sprintf("serial %d of lineage %s with root %s", serial, lineage, root)
	}
	want := "no lock"
	if p.Base.Root != nil {
		want = describe(p.Base.Lineage, p.Base.Serial, p.Base.Root.Short())
	}
	switch {
	case base == nil && p.Base.Root == nil:
		return nil
	case base == nil:
		return &StaleError{Got: "no lock", Want: want}
	case p.Base.Root == nil, base.Lineage != p.Base.Lineage, base.Serial != p.Base.Serial, base.Root != *p.Base.Root:
		return &StaleError{Got: describe(base.Lineage, base.Serial, base.Root.Short()), Want: want}
	}
	return nil
}

// sameConfig compares the configuration digest and the values of variables, which are named: the byte comparison that
// follows could only say that they differ.
func (p *Plan) sameConfig(cat *catalog.Catalog) error {
	const what = "the plan was made from other configuration"
	files := slices.Sorted(slices.Values(cat.Files))
	if cat.Digest != p.Config.Digest {
		e := &MismatchError{What: what, Files: p.Config.Files, Detail: "one of these files changed"}
		if !slices.Equal(files, p.Config.Files) {
			e.Detail = fmt.Sprintf("the files are now %s and were", strings.Join(files, ", "))
		}
		return e
	}
	now := variables(cat)
	for _, v := range p.Config.Variables {
		i := slices.IndexFunc(now, func(n Variable) bool { return n.Name == v.Name })
		if i < 0 || now[i].Sensitive != v.Sensitive || !same(strictjson.Value(now[i].Value), strictjson.Value(v.Value)) {
			return &MismatchError{What: what, Detail: fmt.Sprintf("variable %s has another value", diag.Quote(v.Name, 64))}
		}
	}
	return nil
}

// derive makes the plan again from what the document says was observed.
func (p *Plan) derive(base *lock.Lock, cat *catalog.Catalog) (*maker, error) {
	in := Input{Catalog: cat, Base: base, LockName: cat.Lock, Version: p.MCPCatVersion}
	after := map[string]*Version{}
	removed := map[string]bool{}
	for _, c := range p.Changes {
		after[c.Address] = c.After
		removed[c.Address] = c.After == nil
	}
	refuse := func(i int, err error) error {
		return &MismatchError{What: "the plan was edited", Pointer: fmt.Sprintf("/servers/%d", i), Detail: err.Error()}
	}
	place := map[addr.Server]int{}
	for i := range p.Servers {
		s, ok, err := observation(&p.Servers[i], base, cat)
		if err != nil {
			return nil, refuse(i, err)
		}
		if ok {
			in.Observed = append(in.Observed, s)
			place[s.Addr] = i
		}
	}
	// What patterns match follows from the lists, and which definitions there are from what is declared.
	expanded, _ := expand(cat, base, in.Observed)
	for i := range in.Observed {
		s := &in.Observed[i]
		if err := observedTools(s, expanded.Server(s.Addr), base, after, removed); err != nil {
			return nil, refuse(place[s.Addr], err)
		}
	}
	m, err := compute(in, in.Observed)
	if err != nil {
		return nil, &MismatchError{What: "the plan was edited", Detail: err.Error()}
	}
	// The catalog's warnings and the sources of variables are not derived: they depend on how the catalog was loaded.
	given := slices.DeleteFunc(slices.Clone(p.Diagnostics), func(d diag.Diagnostic) bool {
		return d.Severity != diag.Warning || slices.ContainsFunc(m.plan.Diagnostics, func(o diag.Diagnostic) bool { return sameDiagnostic(d, o) })
	})
	m.in.Diagnostics = given
	m.diagnostics()
	for i := range m.plan.Config.Variables {
		if i < len(p.Config.Variables) {
			m.plan.Config.Variables[i].Source = p.Config.Variables[i].Source
		}
	}
	return m, m.finish()
}

func sameDiagnostic(a, b diag.Diagnostic) bool {
	return a.Severity == b.Severity && a.Code == b.Code && a.Summary == b.Summary && a.Detail == b.Detail && a.Address == b.Address
}

// observation rebuilds what was observed of a server, without its tools. What the document does not carry did not change and
// stands in base.
func observation(s *Server, base *lock.Lock, cat *catalog.Catalog) (surface.Server, bool, error) {
	a, err := addr.ParseServer(s.Address)
	if err != nil {
		return surface.Server{}, false, err
	}
	decl := cat.Server(a)
	if decl == nil || s.Status == Disabled || s.Status == Removed {
		return surface.Server{}, false, nil
	}
	out := surface.Server{Addr: a, Endpoint: decl.Endpoint(), EndpointDigest: s.EndpointDigest, Status: surface.NotChecked}
	if s.Status != Checked {
		if s.Status == Refused {
			out.Status = surface.Refused
		}
		if s.Error != nil && s.Error.Code != CodeNotAsked {
			out.Failure = &surface.Failure{
				Code: s.Error.Code, Message: s.Error.Message, Retryable: s.Error.Retryable,
				Offered: s.Error.Offered, RPCCode: s.Error.RPCCode,
			}
		}
		return out, true, nil
	}
	out.Status = surface.Checked
	out.Excluded, out.ByItself = s.ExcludedTools, s.ChangesByItself
	if err := observedSections(&out, s, base); err != nil {
		return surface.Server{}, false, err
	}
	return out, true, nil
}

// observedTools rebuilds the declared tools that a checked server listed.
func observedTools(out *surface.Server, decl *catalog.Server, base *lock.Lock, after map[string]*Version, removed map[string]bool) error {
	if out.Status != surface.Checked {
		return nil
	}
	for _, t := range decl.Tools {
		item := addr.Item{Server: out.Addr, Kind: addr.Tool, Name: t.Name}
		def, err := observedDefinition(item, base, after, removed)
		if err != nil {
			return fmt.Errorf("%s: %w", item, err)
		}
		if def == nil {
			continue
		}
		it, err := surface.NewTool(out.Addr, def)
		if err != nil {
			return fmt.Errorf("%s: %w", item, err)
		}
		if it.Addr != item {
			return fmt.Errorf("%s: the definition is of another tool", item)
		}
		out.Tools = append(out.Tools, it)
	}
	slices.SortFunc(out.Tools, func(a, b surface.Item) int { return a.Addr.Compare(b.Addr) })
	return nil
}

func observedSections(out *surface.Server, s *Server, base *lock.Lock) error {
	if s.Identity != nil {
		out.Identity = s.Identity.After
	}
	if s.After != nil {
		out.Protocol, out.Instructions = s.After.Protocol, s.After.Instructions
		out.ToolsTTLMs, out.ToolsCacheScope, out.ToolOrder = s.After.ToolsTTLMs, s.After.ToolsCacheScope, s.After.ToolOrder
		if strictjson.Value(s.After.Capabilities).Kind() == strictjson.KindObject {
			out.Capabilities = s.After.Capabilities
		}
		for name, pair := range s.Snapshots {
			if pair.After != nil {
				set(&out.Snapshots, name, *pair.After)
			}
		}
		return nil
	}
	var pinned *lock.Server
	if base != nil {
		pinned = base.ServerByAddr(out.Addr)
	}
	if pinned == nil {
		return fmt.Errorf("%s is not pinned, and the plan does not say what to pin", s.Address)
	}
	out.Protocol, out.Instructions, out.Capabilities = pinned.Protocol, pinned.Instructions, pinned.Capabilities
	out.ToolsTTLMs, out.ToolsCacheScope, out.ToolOrder = pinned.ToolsTTLMs, pinned.ToolsCacheScope, pinned.ToolOrder
	for name, d := range pinned.Snapshots {
		set(&out.Snapshots, name, d)
	}
	return nil
}

func set[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// observedDefinition is the definition that the plan says was listed: the one to be written, or the pinned one if the
// plan does not mention the tool; nil if it was not listed.
func observedDefinition(item addr.Item, base *lock.Lock, after map[string]*Version, removed map[string]bool) ([]byte, error) {
	if v := after[item.String()]; v != nil {
		if v.Received == "" {
			return v.Definition, nil
		}
		received := strictjson.Value(v.Received)
		if err := strictjson.CheckObject(received, strictjson.Limits{}); err != nil {
			return nil, err
		}
		if !strictjson.Equal(received, strictjson.Value(v.Definition)) {
			return nil, fmt.Errorf("received is not the same definition as definition")
		}
		return received, nil
	}
	if removed[item.String()] || base == nil {
		return nil, nil
	}
	if it := base.Find(item); it != nil {
		return it.Definition, nil
	}
	return nil, nil
}
