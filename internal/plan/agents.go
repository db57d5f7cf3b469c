package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// agents computes what every agent gets and compares it with what is pinned. An agent gets what the catalog gives it as
// far as it is pinned after this plan.
func (m *maker) agents() {
	gain, lose := map[string][]string{}, map[string][]string{}
	names := map[string]*catalog.Agent{}
	for _, a := range m.cat.Agents {
		names[a.Name] = a
	}
	for _, a := range m.base.Agents {
		if _, ok := names[a.Name]; !ok {
			names[a.Name] = nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before := m.movedAgent(m.base.AgentByName(name))
		var after *lock.Agent
		if decl := names[name]; decl != nil {
			after = &lock.Agent{Name: name, Names: decl.Names, Tools: m.exposed(decl, before)}
			m.next.Agents = append(m.next.Agents, *after)
		}
		a := compareAgents(name, before, after)
		if len(a.Changes) == 0 {
			continue
		}
		m.plan.Agents = append(m.plan.Agents, a)
		for _, c := range a.Changes {
			switch c.Class {
			case AgentGains:
				gain[c.Address] = append(gain[c.Address], name)
			case AgentLoses:
				lose[c.Address] = append(lose[c.Address], name)
			}
		}
	}
	for i := range m.plan.Changes {
		c := &m.plan.Changes[i]
		c.Agents = Gains{Gain: append([]string{}, gain[c.Address]...), Lose: append([]string{}, lose[c.Address]...)}
	}
}

func (m *maker) exposed(decl *catalog.Agent, before *lock.Agent) []lock.AgentTool {
	out := []lock.AgentTool{}
	for _, t := range decl.Tools {
		if it, ok := m.items[t.Item]; ok {
			out = append(out, lock.AgentTool{Name: t.Name, Address: t.Item, Digest: it.Digest})
		}
	}
	for _, t := range decl.Tools {
		if from, waits := m.moves.waiting[t.Item.Server]; waits && before != nil {
			old := t.Item
			old.Server = from
			for _, b := range before.Tools {
				if b.Address == old && !slices.ContainsFunc(out, func(x lock.AgentTool) bool { return x.Name == b.Name }) {
					out = append(out, b)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b lock.AgentTool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func compareAgents(name string, before, after *lock.Agent) Agent {
	a := Agent{Name: name, Action: Modify, Changes: []AgentChange{}}
	add := func(class Class, address, from, to string) {
		a.Changes = append(a.Changes, AgentChange{Class: class, Address: address, Before: from, After: to, Decision: decisionOf(class)})
	}
	switch {
	case before == nil:
		a.Action = Add
		add(AgentAdded, "", "", after.Names)
	case after == nil:
		a.Action = Remove
		add(AgentRemoved, "", before.Names, "")
	case before.Names != after.Names:
		add(ExposedNameChanged, "", before.Names, after.Names)
	}
	was, is := exposedNames(before), exposedNames(after)
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, item := range slices.SortedFunc(maps.Keys(all), addr.Item.Compare) {
		b, had := was[item]
		x, has := is[item]
		switch {
		case !had:
			add(AgentGains, item.String(), "", x)
		case !has:
			add(AgentLoses, item.String(), b, "")
		case b != x:
			add(ExposedNameChanged, item.String(), b, x)
		}
	}
	return a
}

// exposedNames maps each tool of an agent to its name. An agent sees a tool under one name.
func exposedNames(a *lock.Agent) map[addr.Item]string {
	out := map[addr.Item]string{}
	if a == nil {
		return out
	}
	for _, t := range a.Tools {
		out[t.Address] = t.Name
	}
	return out
}

// gate compares the run-time settings.
func (m *maker) gate() error {
	after := m.cat.Gate.Posture()
	m.next.Gate = after
	leaves := objectLeaves("", GuardChanged, m.base.Gate, after)
	if len(leaves) > 0 {
		m.plan.Gate = &Settings{Changes: leaves, After: after}
	}
	return strictjson.CheckObject(after, strictjson.Limits{})
}
