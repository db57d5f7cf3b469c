package plan

import (
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// moves is what the moved blocks of the catalog mean for one plan. A block without anything pinned under its from, or with
// something pinned under its to, means nothing.
type moves struct {
	servers map[addr.Server]addr.Server // from the new address to the pinned one: checked, with the same endpoint
	items   map[addr.Item]addr.Item     // likewise, with the same definition
	to      map[addr.Item]addr.Item     // the inverse of items
	// left are the pinned servers of servers, and waiting those whose new address could not be checked: their pins stay.
	left    map[addr.Server]bool
	waiting map[addr.Server]addr.Server // from the new address to the pinned one
	kept    map[addr.Item]bool          // pinned items whose new server could not be checked
}

// findMoves decides which moves there are. Everything else that the blocks name is removed and added.
func (m *maker) findMoves() {
	v := &moves{
		servers: map[addr.Server]addr.Server{}, items: map[addr.Item]addr.Item{}, to: map[addr.Item]addr.Item{},
		left: map[addr.Server]bool{}, waiting: map[addr.Server]addr.Server{}, kept: map[addr.Item]bool{},
	}
	m.moves = v
	for _, x := range m.cat.Moved {
		pinned, decl := m.base.ServerByAddr(x.From.Server), m.cat.Server(x.To.Server)
		if pinned == nil || decl == nil || pinned.EndpointDigest != decl.EndpointDigest() {
			continue
		}
		seen := m.answered(decl)
		if x.From.Kind != "" {
			from, to := x.From.Item(), x.To.Item()
			switch it := m.base.Find(from); {
			case it == nil || m.base.Find(to) != nil:
			case seen != nil:
				m.moveItem(it, to, decl, seen)
			case m.cat.Server(from.Server) != nil:
				v.kept[from] = true
			}
			continue
		}
		if m.base.ServerByAddr(decl.Addr) != nil || m.cat.Server(pinned.Addr) != nil {
			continue
		}
		if seen == nil {
			v.waiting[decl.Addr], v.left[pinned.Addr] = pinned.Addr, true
			continue
		}
		v.servers[decl.Addr], v.left[pinned.Addr] = pinned.Addr, true
		for i := range m.pinned[pinned.Addr] {
			it := &m.pinned[pinned.Addr][i]
			to := it.Addr
			to.Server = decl.Addr
			m.touched[decl.Addr] = !m.moveItem(it, to, decl, seen) || m.touched[decl.Addr]
		}
	}
}

// moveItem moves an item if it is declared under its new address and is offered there exactly as it is pinned. It reports
// whether it is.
func (m *maker) moveItem(it *lock.Item, to addr.Item, decl *catalog.Server, seen *surface.Server) bool {
	if to.Kind != addr.Tool {
		return false
	}
	live, listed := seen.Tool(to.Name)
	moved := listed && live.Digest == it.Digest && declares(decl, to.Name) && !declares(m.cat.Server(it.Addr.Server), it.Addr.Name)
	if moved {
		m.moves.items[to], m.moves.to[it.Addr] = it.Addr, to
	}
	return moved
}

func declares(s *catalog.Server, tool string) bool {
	return s != nil && slices.ContainsFunc(s.Tools, func(t catalog.ToolDecl) bool { return t.Name == tool })
}

// answered is what a server said, nil if it was not asked or is not to be believed.
func (m *maker) answered(decl *catalog.Server) *surface.Server {
	seen := m.observed[decl.Addr]
	if !decl.Enabled || seen == nil || seen.Status != surface.Checked || leak(m.cat, seen) != "" {
		return nil
	}
	return seen
}

// pinnedAt is the lock entry that a declared server is compared with: the one under its address, or the one that moves there.
func (m *maker) pinnedAt(a addr.Server) (entry *lock.Server, previous string) {
	from, moved := m.moves.servers[a]
	if !moved {
		if from, moved = m.moves.waiting[a]; moved {
			return m.base.ServerByAddr(from), from.String()
		}
		return m.base.ServerByAddr(a), ""
	}
	e := *m.base.ServerByAddr(from)
	e.Addr = a
	return &e, from.String()
}

// movedAgent is an agent as pinned, its tools under their new addresses.
func (m *maker) movedAgent(a *lock.Agent) *lock.Agent {
	if a == nil || len(m.moves.to) == 0 {
		return a
	}
	out := *a
	out.Tools = make([]lock.AgentTool, len(a.Tools))
	for i, t := range a.Tools {
		if to, moved := m.moves.to[t.Address]; moved {
			t.Address = to
		}
		out.Tools[i] = t
	}
	return &out
}

// move records an item that is pinned under another address now.
func (m *maker) move(from *lock.Item, to addr.Item, declaredAt string) {
	it := lock.Item{Addr: to, Digest: from.Digest, Definition: from.Definition}
	m.items[to] = it
	c := Change{
		Address: to.String(), PreviousAddress: from.Addr.String(), Action: Move, DeclaredAt: declaredAt,
		Before: versionOf(*from), After: versionOf(it), Diff: []Leaf{},
	}
	c.After.setReceived(it.Definition)
	m.change(c, []Class{ToolMoved})
}

// intended finds the removed block that an address is meant by.
func (m *maker) intended(a addr.Server, item *addr.Item) *catalog.Removed {
	whole := addr.Server{Label: a.Label}
	for i := range m.cat.Removed {
		r := &m.cat.Removed[i]
		switch {
		case r.From.Kind == "" && (r.From.Server == a || r.From.Server == whole):
			return r
		case item != nil && r.From.Item() == *item:
			return r
		}
	}
	return nil
}

// waits reports whether a pinned server keeps its address until the one that it moves to can be checked.
func (m *maker) waits(pinned addr.Server) bool {
	for _, from := range m.moves.waiting {
		if from == pinned {
			return true
		}
	}
	return false
}
