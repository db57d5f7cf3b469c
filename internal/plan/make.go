package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// Codes of the diagnostics that Make writes beside those of failed servers.
const (
	CodeNotListed = "tool.not_listed"
	CodeExcluded  = "tool.excluded"
	CodeNotAsked  = "server.not_asked"
	// CodeSecretEchoed is a server that says one of the catalog's secrets back. Nothing of it is shown or pinned.
	CodeSecretEchoed = "server.secret_echoed"
)

// Input is everything that a plan is made from. Observed may be in any order; a server of the catalog that is missing
// from it counts as not checked.
type Input struct {
	Catalog     *catalog.Catalog
	Base        *lock.Lock // nil: there is no lock yet
	LockName    string     // path of the lock beneath the catalog directory
	Observed    []surface.Server
	Version     string    // of mcpcat
	Diagnostics diag.List // of the catalog; warnings only
}

// Make compares what was observed with what is pinned. Equal inputs give equal plans, whatever the order of their lists.
//
// A server that was not checked keeps everything that is pinned of it. The error says that the parts of the input do not
// belong together: two observations of one server, an observation of another endpoint than the catalog's, a definition
// that is no JSON.
func Make(in Input) (*Plan, error) {
	m, err := compute(in, in.Observed)
	if err != nil {
		return nil, err
	}
	return m.plan, nil
}

// maker computes a plan and, from the same values, the lock that applying it gives.
type maker struct {
	in       Input
	cat      *catalog.Catalog // with names in place of patterns
	base     *lock.Lock       // never nil
	observed map[addr.Server]*surface.Server
	plan     *Plan
	next     *lock.Lock
	items    map[addr.Item]lock.Item // of next
	touched  map[addr.Server]bool    // servers of which a listed tool changed or went
	pinned   map[addr.Server][]lock.Item
	schemas  map[string]error   // verdicts of callable by the text of a schema
	now      *catalog.PolicySet // of the catalog
	then     *catalog.PolicySet // as applied
	moves    *moves
}

// compute compares everything. matching are the observations that patterns are matched against beside the lock.
func compute(in Input, matching []surface.Server) (*maker, error) {
	if in.Catalog == nil {
		return nil, errors.New("plan without a catalog")
	}
	cat, unexposed := expand(in.Catalog, in.Base, matching)
	m := &maker{
		in: in, cat: cat, base: in.Base,
		observed: map[addr.Server]*surface.Server{},
		next:     &lock.Lock{},
		items:    map[addr.Item]lock.Item{},
		schemas:  map[string]error{},
		touched:  map[addr.Server]bool{},
		plan: &Plan{
			FormatVersion: FormatVersion, Kind: Kind, MCPCatVersion: in.Version,
			Config:  Config{Digest: in.Catalog.Digest, Files: slices.Sorted(slices.Values(in.Catalog.Files)), Variables: variables(in.Catalog)},
			Servers: []Server{}, Changes: []Change{}, Agents: []Agent{}, Diagnostics: unexposed,
		},
	}
	if m.base == nil {
		m.base = &lock.Lock{}
	}
	m.pinned = map[addr.Server][]lock.Item{}
	for _, it := range m.base.Items {
		m.pinned[it.Addr.Server] = append(m.pinned[it.Addr.Server], it)
	}
	for i := range in.Observed {
		s := &in.Observed[i]
		if m.observed[s.Addr] != nil {
			return nil, fmt.Errorf("%s was observed twice", s.Addr)
		}
		m.observed[s.Addr] = s
	}
	m.findMoves()
	if err := m.servers(); err != nil {
		return nil, err
	}
	m.renames()
	m.agents()
	if err := m.gate(); err != nil {
		return nil, err
	}
	if err := m.policies(); err != nil {
		return nil, err
	}
	if err := m.judge(); err != nil {
		return nil, err
	}
	m.diagnostics()
	m.summary()
	return m, m.finish()
}

func variables(cat *catalog.Catalog) []Variable {
	out := make([]Variable, 0, len(cat.Variables))
	for _, v := range cat.Variables {
		x := Variable{Name: v.Name, Source: v.Source, Sensitive: v.Sensitive}
		if !v.Sensitive {
			x.Value = v.Value
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Variable) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// servers goes over all servers of catalog and lock in the order of their addresses.
func (m *maker) servers() error {
	all := map[addr.Server]*catalog.Server{}
	for _, s := range m.cat.Servers {
		all[s.Addr] = s
	}
	for _, s := range m.base.Servers {
		if _, ok := all[s.Addr]; !ok {
			all[s.Addr] = nil
		}
	}
	addrs := make([]addr.Server, 0, len(all))
	for a := range all {
		addrs = append(addrs, a)
	}
	slices.SortFunc(addrs, addr.Server.Compare)
	for _, a := range addrs {
		if err := m.server(a, all[a]); err != nil {
			return err
		}
	}
	slices.SortFunc(m.next.Servers, func(a, b lock.Server) int { return a.Addr.Compare(b.Addr) })
	return nil
}

func (m *maker) server(a addr.Server, decl *catalog.Server) error {
	if decl == nil {
		m.removedServer(m.base.ServerByAddr(a))
		return nil
	}
	pinned, previous := m.pinnedAt(a)
	s := Server{
		Address: a.String(), PreviousAddress: previous, Transport: "stdio", Endpoint: hideQuery(decl.EndpointText()),
		EndpointDigest: decl.EndpointDigest(), DeclaredAt: place(decl.Range),
	}
	if decl.HTTP != nil {
		s.Transport = "http"
	}
	seen := m.observed[a]
	switch {
	case !decl.Enabled:
		s.Status = Disabled
	case seen == nil:
		s.Status = NotChecked
		s.Error = failureOf(nil)
	case seen.Status == surface.Checked:
		if seen.EndpointDigest != decl.EndpointDigest() {
			return fmt.Errorf("%s: the observation is of endpoint %s, want %s", a, seen.EndpointDigest.Short(), decl.EndpointDigest().Short())
		}
		what := leak(m.cat, seen)
		if what == "" {
			return m.checkedServer(s, decl, pinned, seen)
		}
		s.Status = Refused
		s.Error = &Failure{Code: CodeSecretEchoed, Message: what}
	default:
		s.Status = NotChecked
		if seen.Status == surface.Refused {
			s.Status = Refused
		}
		s.Error = redactFailure(m.cat, failureOf(seen.Failure))
	}
	m.keep(&s, pinned)
	if s.Status != Disabled {
		if pinned == nil {
			s.Declared = declaredOf(decl)
		} else {
			s.Differs = declaredLeaves(decl, pinned)
		}
	}
	if s.Error != nil {
		m.failureDiagnostic(&s, decl)
	}
	m.plan.Servers = append(m.plan.Servers, s)
	return nil
}

func failureOf(f *surface.Failure) *Failure {
	if f == nil {
		return &Failure{Code: CodeNotAsked, Message: "The server was not asked.", Retryable: true}
	}
	return &Failure{
		Code: f.Code, Message: f.Message, Retryable: f.Retryable,
		Offered: slices.Clone(f.Offered), RPCCode: f.RPCCode,
	}
}

// keep leaves everything that is pinned of a server as it is.
func (m *maker) keep(s *Server, pinned *lock.Server) {
	kept := 0
	if pinned != nil {
		m.next.Servers = append(m.next.Servers, *pinned)
		for _, it := range m.pinned[pinned.Addr] {
			if _, moved := m.moves.to[it.Addr]; !moved {
				m.items[it.Addr] = it
				kept++
			}
		}
	}
	s.KeptTools = &kept
}

func (m *maker) removedServer(pinned *lock.Server) {
	if m.moves.left[pinned.Addr] {
		if !m.waits(pinned.Addr) {
			m.undeclared(pinned.Addr, nil)
		}
		return
	}
	zero := 0
	text := postureText(pinned.Endpoint)
	s := Server{
		Address: pinned.Addr.String(), Status: Removed, Transport: postureTransport(pinned.Endpoint),
		Endpoint: text, EndpointDigest: pinned.EndpointDigest, KeptTools: &zero,
		Changes: []Leaf{newLeaf("", ServerRemoved, quoted(text), nil)},
	}
	if r := m.intended(pinned.Addr, nil); r != nil {
		s.RemovedAt, s.Changes[0].Note = place(r.Range), diag.Escape(r.Reason)
	}
	m.plan.Servers = append(m.plan.Servers, s)
	m.undeclared(pinned.Addr, nil)
}

// checkedServer compares the tools and the sections of a server whose answers are known.
func (m *maker) checkedServer(s Server, decl *catalog.Server, pinned *lock.Server, seen *surface.Server) error {
	s.Status = Checked
	declared := map[string]bool{}
	for _, t := range decl.Tools {
		declared[t.Name] = true
		if err := m.tool(&s, t, seen); err != nil {
			return err
		}
	}
	m.undeclared(decl.Addr, declared)
	entry, err := pin(decl, seen)
	if err != nil {
		return err
	}
	m.next.Servers = append(m.next.Servers, entry)
	listed, count := len(seen.ToolOrder), len(decl.Tools)
	s.ListedTools, s.DeclaredTools = &listed, &count
	s.UndeclaredTools = []string{}
	for _, name := range seen.ToolOrder {
		if !declared[name] {
			s.UndeclaredTools = append(s.UndeclaredTools, name)
		}
	}
	slices.Sort(s.UndeclaredTools)
	slices.Sort(s.UnchangedTools)
	s.ExcludedTools = slices.Clone(seen.Excluded)
	s.ChangesByItself = slices.Clone(seen.ByItself)
	m.sections(&s, pinned, &entry, declared)
	m.plan.Servers = append(m.plan.Servers, s)
	return nil
}

// undeclared removes what is pinned of a server, neither declared nor moved.
func (m *maker) undeclared(a addr.Server, declared map[string]bool) {
	for _, it := range m.pinned[a] {
		_, moved := m.moves.to[it.Addr]
		switch {
		case moved, it.Addr.Kind == addr.Tool && declared[it.Addr.Name]:
		case m.moves.kept[it.Addr]:
			m.items[it.Addr] = it
		default:
			m.remove(it, NotDeclared, "", "")
		}
	}
}

// tool compares one declared tool.
func (m *maker) tool(s *Server, decl catalog.ToolDecl, seen *surface.Server) error {
	a := addr.Item{Server: seen.Addr, Kind: addr.Tool, Name: decl.Name}
	pinned := m.base.Find(a)
	if from, moved := m.moves.items[a]; moved {
		m.move(m.base.Find(from), a, place(decl.Range))
		return nil
	}
	it, listed := seen.Tool(decl.Name)
	if !listed {
		reason, why := NotListedUpstream, ""
		if i := slices.IndexFunc(seen.Excluded, func(x surface.Excluded) bool { return x.Name == decl.Name }); i >= 0 {
			reason, why = ExcludedByClient, seen.Excluded[i].Reason
		}
		if pinned == nil {
			m.plan.Summary.NotOffered++
			m.missingDiagnostic(a, decl, seen, reason, why)
			return nil
		}
		m.touched[seen.Addr] = true
		m.remove(*pinned, reason, why, place(decl.Range))
		return nil
	}
	if pinned != nil && pinned.Digest == it.Digest {
		m.items[a] = *pinned
		m.plan.Summary.Unchanged++
		s.UnchangedTools = append(s.UnchangedTools, decl.Name)
		return nil
	}
	after := lock.Item{Addr: a, Digest: it.Digest, Definition: it.Definition}
	m.items[a] = after
	v, err := strictjson.Parse(it.Definition, strictjson.Limits{})
	if err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	c := Change{
		Address: a.String(), Action: Add, DeclaredAt: place(decl.Range),
		After: versionOf(after), Diff: []Leaf{}, Flags: concealedFlags(v),
	}
	if err := m.callable(v); err != nil {
		c.NotCallable = diag.Escape(cutText(err.Error()))
		m.plan.Summary.NotCallable++
	}
	c.After.setReceived(it.Definition)
	first := []Class{ToolAdded}
	if pinned != nil {
		m.touched[seen.Addr] = true
		c.Action, first = Modify, nil
		c.Before = versionOf(*pinned)
		c.Diff = diffTools(strictjson.Value(pinned.Definition), v)
	}
	m.change(c, first)
	return nil
}

func (m *maker) remove(it lock.Item, reason Reason, why, declaredAt string) {
	c := Change{
		Address: it.Addr.String(), Action: Remove, Reason: reason, Note: why, DeclaredAt: declaredAt,
		Before: versionOf(it), Diff: []Leaf{},
	}
	if reason == NotDeclared {
		if r := m.intended(it.Addr.Server, &it.Addr); r != nil {
			c.RemovedAt, c.Note = place(r.Range), diag.Escape(r.Reason)
		}
	}
	m.change(c, []Class{ToolRemoved})
}

func (m *maker) change(c Change, first []Class) {
	c.Classes, c.Decision = classesOf(first, c.Diff, c.Flags)
	c.ForcesApproval = c.Decision != Auto
	c.Agents = Gains{Gain: []string{}, Lose: []string{}}
	m.plan.Changes = append(m.plan.Changes, c)
}

func versionOf(it lock.Item) *Version {
	return &Version{Digest: it.Digest, Definition: []byte(canonicalText(it.Definition))}
}

// setReceived keeps a text that is not the canonical form itself.
func (v *Version) setReceived(definition []byte) {
	if string(v.Definition) != string(definition) {
		v.Received = string(definition)
	}
}

func place(r diag.Range) string {
	if r.File == "" {
		return ""
	}
	return r.String()
}

// sortByAddress orders list by item addresses given in text form, each of which is read once.
func sortByAddress[T any](list []T, address func(T) string) {
	type keyed struct {
		key addr.Item
		v   T
	}
	all := make([]keyed, len(list))
	for i, v := range list {
		all[i].v = v
		if a, err := addr.ParseItem(address(v)); err == nil {
			all[i].key = a
		}
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return a.key.Compare(b.key) })
	for i := range all {
		list[i] = all[i].v
	}
}
