package plan

import (
	"fmt"
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// policies compares the policies of the catalog with those that were applied.
func (m *maker) policies() error {
	var err error
	m.now = m.cat.PolicySet()
	if m.then, err = catalog.ParsePolicySet(m.base.Policy); err != nil {
		return fmt.Errorf("the lock: %w", err)
	}
	m.next.Policy = m.now.Posture()
	if leaves := jsonLeaves("", PolicyChanged, strictjson.Value(m.then.Brief()), strictjson.Value(m.now.Brief()), 5); len(leaves) > 0 {
		m.plan.Policy = &Settings{Changes: leaves, After: m.next.Policy}
		if m.next.Policy == nil {
			m.plan.Policy.After = null
		}
	}
	return nil
}

// judges are the policies that decide about one thing: the one that the catalog names for it, and those that were applied to
// it. The strictest of them decides.
type judges []judging

type judging struct {
	*catalog.Policy
	applied bool // as the lock holds it
}

// decision is the strictest decision about a class.
func (j judges) decision(c Class) Decision {
	d := Auto
	for _, p := range j {
		on, known := p.On[string(c)]
		if !known {
			return Deny
		}
		d = stricter(d, Decision(on))
	}
	return d
}

func (j judges) leaves(leaves []Leaf) {
	for i := range leaves {
		leaves[i].Decision = j.decision(leaves[i].Class)
	}
}

func (j judges) flags(flags []Flag) {
	for i := range flags {
		flags[i].Decision = j.decision(flags[i].Class)
	}
}

// decide judges a change as a whole. The reasons are those of the strictest decision; what the built-in defaults say is none.
func (j judges) decide(c catalog.RuleChange) (Decision, []DecidedBy) {
	d := Auto
	var all []DecidedBy
	for _, p := range j {
		one, reasons := p.Decide(c)
		d = stricter(d, Decision(one))
		if p.BuiltIn() {
			continue
		}
		for _, r := range reasons {
			x := DecidedBy{Policy: r.Policy, Applied: p.applied, Class: Class(r.Class), Rule: r.Rule, Message: r.Message, Decision: Decision(r.Decision), At: place(r.Range)}
			same := func(o DecidedBy) bool {
				return o.Policy == x.Policy && o.Class == x.Class && o.Rule == x.Rule && o.Message == x.Message && o.Decision == x.Decision
			}
			if !slices.ContainsFunc(all, same) { // the applied policy mostly says the same
				all = append(all, x)
			}
		}
	}
	return d, slices.DeleteFunc(all, func(x DecidedBy) bool { return x.Decision != d || d == Auto })
}

// judge gives every change of the plan the decisions of the policies.
func (m *maker) judge() error {
	have := m.holders()
	for i := range m.plan.Changes {
		c := &m.plan.Changes[i]
		item, err := addr.ParseItem(c.Address)
		if err != nil {
			return err
		}
		j := judges{{m.now.Item(item), false}, {m.then.Item(item), true}}
		if from, moved := m.moves.items[item]; moved {
			j = append(j, judging{m.then.Item(from), true})
		}
		j.leaves(c.Diff)
		j.flags(c.Flags)
		what := ruleChange(string(c.Action), string(item.Kind), c.Address, texts(c.Classes))
		what.Server, what.Tool, what.Agents = m.ruleServer(item.Server), ruleTool(item, c), have[item]
		c.Decision, c.DecidedBy = j.decide(what)
		c.ForcesApproval = c.Decision != Auto
	}
	for i := range m.plan.Servers {
		s := &m.plan.Servers[i]
		if len(s.Changes) == 0 {
			continue
		}
		a, err := addr.ParseServer(s.Address)
		if err != nil {
			return err
		}
		j := judges{{m.now.Server(a), false}, {m.then.Server(a), true}}
		if from, moved := m.moves.servers[a]; moved {
			j = append(j, judging{m.then.Server(from), true})
		}
		j.leaves(s.Changes)
		j.flags(s.Flags)
		action := Modify
		switch {
		case s.Status == Removed:
			action = Remove
		case concerns(s.Changes, ServerAdded):
			action = Add
		case s.PreviousAddress != "":
			action = Move
		}
		classes, _ := classesOf(nil, s.Changes, s.Flags)
		what := ruleChange(string(action), "server", s.Address, texts(classes))
		what.Server = m.ruleServer(a)
		_, s.DecidedBy = j.decide(what)
	}
	all := judges{{m.now.Default(), false}, {m.then.Default(), true}}
	for i := range m.plan.Agents {
		a := &m.plan.Agents[i]
		var classes []Class
		for k := range a.Changes {
			c := &a.Changes[k]
			c.Decision = all.decision(c.Class)
			if !slices.Contains(classes, c.Class) {
				classes = append(classes, c.Class)
			}
		}
		what := ruleChange(string(a.Action), "agent", "agent."+a.Name, texts(classes))
		what.Agents = []string{a.Name}
		_, a.DecidedBy = all.decide(what)
	}
	for name, s := range map[string]*Settings{"gate": m.plan.Gate, "policy": m.plan.Policy} {
		if s != nil {
			all.leaves(s.Changes)
			classes, _ := classesOf(nil, s.Changes, nil)
			_, s.DecidedBy = all.decide(ruleChange(string(Modify), name, name, texts(classes)))
		}
	}
	return nil
}

func ruleChange(action, kind, address string, classes []string) catalog.RuleChange {
	return catalog.RuleChange{Action: action, Kind: kind, Address: address, Classes: classes}
}

// ruleServer is the server as the catalog declares it; one that is no longer declared has its label for a name.
func (m *maker) ruleServer(a addr.Server) catalog.RuleServer {
	r := catalog.RuleServer{Name: a.Label, Label: a.Label, Address: a.String(), Key: a.Key}
	if decl := m.cat.Server(a); decl != nil {
		r.Name = decl.Name
	}
	return r
}

// ruleTool is what the new definition says, or the pinned one of an item that goes.
func ruleTool(item addr.Item, c *Change) catalog.RuleTool {
	v := c.After
	if v == nil {
		v = c.Before
	}
	member := func(name string) string {
		x, _ := strictjson.Value(v.Definition).Get(name)
		s, _ := x.Text()
		return s
	}
	return catalog.RuleTool{Name: item.Name, Title: member("title"), Description: member("description")}
}

// holders maps items to the agents that have them before or after the plan, by name.
func (m *maker) holders() map[addr.Item][]string {
	out := map[addr.Item][]string{}
	for _, list := range [][]lock.Agent{m.base.Agents, m.next.Agents} {
		for _, a := range list {
			for _, t := range m.movedAgent(&a).Tools {
				if !slices.Contains(out[t.Address], a.Name) {
					out[t.Address] = append(out[t.Address], a.Name)
				}
			}
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

func texts(classes []Class) []string {
	out := make([]string, len(classes))
	for i, c := range classes {
		out[i] = string(c)
	}
	return out
}

// strictest is the strictest decision of what a change is decided by.
func strictest(d Decision, list []DecidedBy) Decision {
	for _, x := range list {
		d = stricter(d, x.Decision)
	}
	return d
}
