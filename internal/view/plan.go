package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
)

// Text prints a whole plan: body, diagnostics, summary.
func Text(w io.Writer, p *plan.Plan, o Options) error {
	if err := PlanBody(w, p, o); err != nil {
		return err
	}
	if len(p.Diagnostics) > 0 {
		if err := diag.Write(w, p.Diagnostics, diag.WriteOptions{Color: o.Color, Width: o.Width}); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	return PlanSummary(w, p, o)
}

// PlanBody prints what a plan found, without diagnostics and summary. It ends with an empty line, and prints nothing when
// there is nothing to show.
//
// Servers with changes come first, the most dangerous on top, then unchanged ones, then those that were not checked,
// then refused ones. Within a server the order is: denied, removed, widened, other changes, added; then by address.
func PlanBody(w io.Writer, p *plan.Plan, o Options) error {
	v := &planView{printer: printer{o: o}, p: p, changes: map[string][]*plan.Change{}, shown: map[string]bool{}}
	moved := map[string]string{} // addresses of servers that have another one now
	for _, s := range p.Servers {
		if s.PreviousAddress != "" {
			moved[s.PreviousAddress] = s.Address
		}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		server := serverOf(c.Address)
		server = cmp.Or(moved[server], server)
		v.changes[server] = append(v.changes[server], c)
		v.shown[c.Address] = true
	}
	for _, list := range v.changes {
		slices.SortStableFunc(list, func(a, b *plan.Change) int { return cmp.Compare(changeRank(a), changeRank(b)) })
	}
	if p.HasChanges() || !p.Complete || o.ShowUnchanged {
		v.heading()
		v.servers()
		v.agents()
		v.settings("gate", v.p.Gate)
		v.settings("policy", v.p.Policy)
	}
	return v.writeTo(w)
}

type planView struct {
	printer
	p       *plan.Plan
	changes map[string][]*plan.Change // by server
	shown   map[string]bool           // addresses of changed tools
}

func serverOf(item string) string {
	a, err := addr.ParseItem(item)
	if err != nil {
		return ""
	}
	return a.Server.String()
}

// Ranks of the order in which changes are shown.
const (
	rankDenied = iota
	rankRemoved
	rankWidened
	rankOther
	rankAdded
	rankUnchanged
	rankDisabled
	rankNotChecked
	rankRefused
)

func changeRank(c *plan.Change) int {
	switch {
	case c.Decision == plan.Deny:
		return rankDenied
	case c.Action == plan.Remove:
		return rankRemoved
	case c.Action == plan.Add:
		return rankAdded
	case slices.ContainsFunc(c.Classes, plan.Class.Widening):
		return rankWidened
	}
	return rankOther
}

func (v *planView) serverRank(s *plan.Server) int {
	rank := rankUnchanged
	switch {
	case s.Status == plan.Refused:
		return rankRefused
	case s.Status == plan.NotChecked:
		return rankNotChecked
	case s.Status == plan.Disabled:
		return rankDisabled
	case s.Decision() == plan.Deny:
		rank = rankDenied
	case s.Status == plan.Removed:
		rank = rankRemoved
	case slices.ContainsFunc(s.Changes, func(l plan.Leaf) bool { return l.Class.Widening() }):
		rank = rankWidened
	case slices.ContainsFunc(s.Changes, func(l plan.Leaf) bool { return l.Class == plan.ServerAdded }):
		rank = rankAdded
	case len(s.Changes) > 0:
		rank = rankOther
	}
	for _, c := range v.changes[s.Address] {
		rank = min(rank, changeRank(c))
	}
	return rank
}

func (v *planView) heading() {
	against := esc(v.p.Base.Lock)
	if v.p.Base.Root != nil {
		against += fmt.Sprintf(" (serial %d)", v.p.Base.Serial)
	} else {
		against += ", which does not exist yet"
	}
	v.flow("", 0, "", span{text: fmt.Sprintf("mcpcat compared %s with %s.", plural(len(v.p.Servers), "server"), against)})
	v.blank()
	move := ""
	if v.p.Summary.Move > 0 {
		move = "> move   "
	}
	v.flow("", 2, "", span{text: "  "}, span{green, "+"}, span{text: " add   "}, span{yellow, "~"}, span{text: " change   "},
		span{red, "-"}, span{text: " remove   "}, span{yellow, move}, span{yellow, "!"}, span{text: " not checked   "}, span{red, "x"}, span{text: " refused"})
	v.blank()
}

func (v *planView) servers() {
	servers := make([]*plan.Server, len(v.p.Servers))
	for i := range v.p.Servers {
		servers[i] = &v.p.Servers[i]
	}
	slices.SortStableFunc(servers, func(a, b *plan.Server) int { return cmp.Compare(v.serverRank(a), v.serverRank(b)) })
	for _, s := range servers {
		v.server(s)
		for _, c := range v.changes[s.Address] {
			v.change(c)
		}
	}
}

func (v *planView) agents() {
	for _, a := range v.p.Agents {
		symbol, color := symbolOf(a.Action)
		r := &rows{p: &v.printer, first: symbol + " agent." + esc(a.Name), symbol: 2, color: color}
		for _, c := range a.Changes {
			if c.Address != "" && v.shown[c.Address] && c.Class != plan.ExposedNameChanged {
				continue // stands with the tool
			}
			var text string
			switch c.Class {
			case plan.AgentAdded:
				text = "new agent, names " + esc(c.After)
			case plan.AgentRemoved:
				text = "no longer declared"
			case plan.AgentGains:
				text = "gains " + esc(c.Address) + " as " + esc(c.After)
			case plan.AgentLoses:
				text = "loses " + esc(c.Address)
			default:
				text = "names " + esc(c.Before) + " -> " + esc(c.After)
				if c.Address != "" {
					text = esc(c.Address) + " is now named " + esc(c.After) + ", was " + esc(c.Before)
				}
			}
			r.add(decisionText(c.Decision), span{text: text})
		}
		r.decided(a.DecidedBy)
		if r.done {
			v.blank()
		}
	}
}

func (v *planView) settings(title string, s *plan.Settings) {
	if s == nil {
		return
	}
	r := &rows{p: &v.printer, first: title}
	for _, l := range s.Changes {
		name := strings.TrimPrefix(strings.TrimPrefix(l.Path, "/policies"), "/")
		if name == "" { // nothing was pinned
			r.add(serverComment([]plan.Leaf{l}, ""), span{text: "settings " + valueText(l.After)})
			continue
		}
		r.leaf(l, esc(name), "")
	}
	r.decided(s.DecidedBy)
	v.blank()
}

// decided names the policies that decided, one a row.
func (r *rows) decided(list []plan.DecidedBy) {
	for _, d := range shownDeciders(list) {
		r.add("", span{text: decidedText(d)})
	}
}

func symbolOf(a plan.Action) (string, style) {
	switch a {
	case plan.Add:
		return "+", green
	case plan.Remove:
		return "-", red
	case plan.Move:
		return ">", yellow
	}
	return "~", yellow
}

func decisionText(d plan.Decision) string {
	switch d {
	case plan.Auto:
		return "auto"
	case plan.Ask:
		return "forces re-approval"
	}
	return "DENIED"
}
