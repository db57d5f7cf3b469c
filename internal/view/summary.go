package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/plan"
)

// PlanSummary prints the last lines of a plan.
func PlanSummary(w io.Writer, p *plan.Plan, o Options) error {
	v := &printer{o: o}
	s := p.Summary
	open := ""
	if s.ServersNotChecked > 0 {
		open += ", " + fmt.Sprintf("%d not checked", s.ServersNotChecked)
	}
	if s.ServersRefused > 0 {
		open += ", " + fmt.Sprintf("%d refused", s.ServersRefused)
	}
	faults := s.NotOffered
	if !p.HasChanges() {
		match := fmt.Sprintf("%s on %s match %s (serial %d).", plural(s.Unchanged, "tool"), plural(s.ServersChecked, "server"), esc(p.Base.Lock), p.Base.Serial)
		switch {
		case faults > 0:
			v.flow("", 0, "", span{text: fmt.Sprintf("Nothing to pin, but %s not offered. %s", isAre(faults, "declared tool"), match)})
		case open != "":
			if s.ServersChecked == 0 {
				match = ""
			}
			v.flow("", 0, "", span{text: "Nothing to pin, but not everything was checked: " + open[2:] + ". " + match})
		default:
			v.flow("", 0, "", span{text: "No changes. " + match})
		}
		return v.writeTo(w)
	}
	line := fmt.Sprintf("Plan: %d to add, %d to change, %d to remove.", s.Add, s.Change, s.Remove)
	if s.Move > 0 {
		line = strings.TrimSuffix(line, ".") + fmt.Sprintf(", %d to move.", s.Move)
	}
	if s.Unchanged > 0 || s.KeptUnchecked > 0 {
		line += fmt.Sprintf(" %d unchanged", s.Unchanged)
		if s.KeptUnchecked > 0 {
			line += fmt.Sprintf(", %d kept unchecked", s.KeptUnchecked)
		}
		line += "."
	}
	if s.Denied > 0 {
		line += fmt.Sprintf(" %d denied.", s.Denied)
	}
	v.flow("", 0, "", span{bold, line})
	var second []string
	if need := approvals(p); need != "" {
		second = append(second, need)
	}
	if open != "" {
		second = append(second, fmt.Sprintf("Servers: %d checked%s.", s.ServersChecked, open))
	}
	if faults > 0 {
		second = append(second, isAre(faults, "declared tool")+" not offered and will not be pinned.")
	}
	if s.NotCallable > 0 {
		second = append(second, isAre(s.NotCallable, "new definition")+" pinned as text and cannot be called.")
	}
	if o.SavedTo != "" {
		second = append(second, fmt.Sprintf("Saved to %s; apply with: mcpcat apply %s", esc(o.SavedTo), esc(o.SavedTo)))
	}
	if len(second) > 0 {
		v.flow("", 0, "", span{text: strings.Join(second, " ")})
	}
	return v.writeTo(w)
}

// approvals says how many changes of which sort a person has to agree to.
func approvals(p *plan.Plan) string {
	tools, servers, agents, settings := 0, 0, 0, 0
	for _, c := range p.Changes {
		if c.Decision == plan.Ask {
			tools++
		}
	}
	for i := range p.Servers {
		if p.Servers[i].Decision() == plan.Ask {
			servers++
		}
	}
	for i := range p.Agents {
		if p.Agents[i].Decision() == plan.Ask {
			agents++
		}
	}
	for _, s := range []*plan.Settings{p.Gate, p.Policy} {
		if s != nil {
			settings += len(s.Changes)
		}
	}
	var parts []string
	total := 0
	for _, x := range []struct {
		n    int
		what string
	}{{tools, "tool change"}, {servers, "server change"}, {agents, "agent change"}, {settings, "setting"}} {
		if x.n > 0 {
			parts = append(parts, plural(x.n, x.what))
			total += x.n
		}
	}
	if total == 0 {
		return ""
	}
	verb := " need approval."
	if total == 1 {
		verb = " needs approval."
	}
	if len(parts) > 1 {
		parts[len(parts)-2] += " and " + parts[len(parts)-1]
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, ", ") + verb
}

func isAre(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}

func lowerFirst(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && (s[1] < 'A' || s[1] > 'Z') {
		return string(s[0]+'a'-'A') + s[1:]
	}
	return s
}

// ownText cleans a text of ours in which foreign text is escaped already: brackets stay, everything else is escaped.
func ownText(s string) string {
	const open = "\u27e8"
	parts := strings.Split(s, open)
	for i := range parts {
		parts[i] = esc(parts[i])
	}
	return strings.Join(parts, open)
}
