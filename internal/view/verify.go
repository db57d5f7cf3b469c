package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/plan"
)

var stateText = map[plan.State]string{
	plan.StateDrift:       "changed since it was pinned",
	plan.StateMissing:     "pinned, and no longer listed by the server",
	plan.StateNotPinned:   "declared, and not pinned",
	plan.StateEndpoint:    "the endpoint or the limits of its server are not the pinned ones",
	plan.StateSettings:    "the catalog checks less often than the pinned settings",
	plan.StateNotCallable: "pinned as text, not callable",
	plan.StateNotChecked:  "not checked",
}

// Verification prints the document of verify without its diagnostics: everything that the gate would refuse, what could
// not be checked, notes, and a line that counts what was expected and seen.
func Verification(w io.Writer, v *plan.Verification, o Options) error {
	p := &printer{o: o}
	listed := false
	for _, it := range v.Items {
		if it.State == plan.StateOK && !o.ShowUnchanged {
			continue
		}
		listed = true
		symbol, color := "x", red
		switch it.State {
		case plan.StateOK:
			symbol, color = "=", green
		case plan.StateNotChecked:
			symbol, color = "!", yellow
		case plan.StateDrift:
			symbol, color = "~", red
		case plan.StateMissing:
			symbol = "-"
		}
		comment := ""
		if it.State != plan.StateOK && it.State != plan.StateNotChecked {
			comment = "the gate refuses it"
		}
		p.flow("  ", 4, comment, span{color, symbol}, span{bold, " " + esc(it.Address)})
		if text := stateText[it.State]; text != "" {
			if len(it.Changed) > 0 {
				text += ": " + list(it.Changed)
			}
			if it.State == plan.StateNotCallable {
				text += ": " + ownText(it.Reason)
			}
			p.flow(strings.Repeat(" ", toolIndent), toolIndent, "", span{text: text})
		}
		if it.Locked != nil && it.Live != nil && *it.Locked != *it.Live {
			p.row("digest", span{text: p.digest(*it.Locked) + " -> " + p.digest(*it.Live)})
		}
	}
	for _, x := range v.Posture {
		listed = true
		p.flow("  ", 4, "the gate refuses it", span{red, "x"}, span{bold, " " + esc(x.Subject)})
		p.flow(strings.Repeat(" ", toolIndent), toolIndent, "", span{text: ownText(x.Detail)})
	}
	for _, s := range v.Servers {
		for _, l := range s.Changes {
			if l.Class == plan.ServerAdded {
				continue
			}
			listed = true
			what := string(l.Class)
			if l.Class != plan.EndpointChanged && l.Class != plan.GuardChanged {
				what = "note: " + what
			}
			p.flow("  ", 4, "", span{text: esc(s.Address) + "  " + what})
			r := &rows{p: p, symbol: toolIndent - labelColumn, done: true}
			r.leafComment(l, strings.TrimPrefix(l.Path, "/"), l.Note)
		}
	}
	if listed {
		p.blank()
	}
	s := v.Summary
	var agents []string
	line := fmt.Sprintf("Verified %d of %s: %d as pinned", s.Seen, plural(s.Expected, "declared tool"), s.OK)
	if s.Refused > 0 {
		line += fmt.Sprintf(", %d would be refused", s.Refused)
	}
	if s.NotChecked > 0 {
		line += fmt.Sprintf(", %d not checked", s.NotChecked)
	}
	for _, x := range v.Posture {
		if agent, ok := strings.CutPrefix(x.Subject, "agent "); ok && !slices.Contains(agents, esc(agent)) {
			agents = append(agents, esc(agent))
		}
	}
	if len(agents) > 0 {
		line += ", some refused for agent " + strings.Join(agents, ", ")
	}
	against := "there is no lock"
	if v.Base != nil {
		against = fmt.Sprintf("lock %s, serial %d", esc(v.Lock), v.Base.Serial)
	}
	p.flow("", 0, "", span{bold, line + " (" + against + ")."})
	return p.writeTo(w)
}
