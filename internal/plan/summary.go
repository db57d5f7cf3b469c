package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// failureDiagnostic says why a server was not checked or was refused. A server that was not checked is a warning, since
// its pins stay as they are; a refused one is an error.
func (m *maker) failureDiagnostic(s *Server, decl *catalog.Server) {
	d := diag.Warningf(s.Error.Code, "Server not checked", "%s: %s", s.Address, s.Error.Message)
	if s.Status == Refused {
		d = diag.Errorf(s.Error.Code, "Server refused", "%s: %s", s.Address, s.Error.Message)
	}
	switch s.Error.Code {
	case "server.protocol_unsupported":
		d.Summary = "Server speaks an older protocol"
	case "server.unstable":
		d.Summary = "Server changed between two walks"
	case CodeSecretEchoed:
		d.Summary = "Server says a secret back"
		d.Detail += " Nothing of its answers is shown or pinned; change the secret and look into the server."
	}
	switch n := *s.KeptTools; n {
	case 0:
		d.Detail += " Nothing of it is pinned."
	case 1:
		d.Detail += " Its 1 pinned tool stays as it is."
	default:
		d.Detail += fmt.Sprintf(" Its %d pinned tools stay as they are.", n)
	}
	m.diagnose(d.For(s.Address), decl.Range)
}

// missingDiagnostic says that a declared tool is neither listed nor pinned.
func (m *maker) missingDiagnostic(a addr.Item, decl catalog.ToolDecl, seen *surface.Server, reason Reason, why string) {
	name := diag.Quote(decl.Name, 0)
	if reason == ExcludedByClient {
		m.diagnose(diag.Errorf(CodeExcluded, "Declared tool is not usable",
			"%s lists %s, but not in a way that can be used: %s. Take it out of the catalog until the server is mended.",
			seen.Addr, name, strings.TrimSuffix(diag.Escape(cutText(why)), ".")).For(a.String()), decl.Range)
		return
	}
	detail := fmt.Sprintf("%s does not list a tool %s", seen.Addr, name)
	if near := nearest(decl.Name, seen.ToolOrder); len(near) > 0 {
		for i, n := range near {
			near[i] = diag.Quote(n, 0)
		}
		detail += "; the nearest listed names are " + strings.Join(near, ", ")
	} else if len(seen.ToolOrder) == 0 {
		detail += "; it lists no tools"
	}
	m.diagnose(diag.Errorf(CodeNotListed, "Declared tool is not offered",
		"%s. Nothing can be pinned for it; correct the name or take it out of the catalog.", detail).For(a.String()), decl.Range)
}

func (m *maker) diagnose(d diag.Diagnostic, r diag.Range) {
	if r.File != "" {
		d = d.At(r)
	}
	m.plan.Diagnostics = append(m.plan.Diagnostics, d)
}

func cutText(s string) string {
	if len(s) <= diag.ExcerptBytes {
		return s
	}
	return strings.ToValidUTF8(s[:diag.ExcerptBytes], "") + "…"
}

// nearest returns up to three listed names that are close to name, closest first.
func nearest(name string, listed []string) []string {
	const most, longest = 3, 128
	type near struct {
		name string
		far  int
	}
	var found []near
	if len(name) > longest {
		return nil
	}
	for _, l := range listed {
		if len(l) > longest {
			continue
		}
		far := levenshtein.Distance(strings.ToLower(name), strings.ToLower(l), nil)
		if far <= max(2, len(name)/3) || strings.Contains(l, name) || strings.Contains(name, l) {
			found = append(found, near{l, far})
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, n := range found[:min(len(found), most)] {
		out = append(out, n.name)
	}
	return out
}

// diagnostics joins the catalog's diagnostics with those found here. What the document cannot carry is left out of both,
// so that a plan that was read back prints the same.
func (m *maker) diagnostics() {
	all := append(slices.Clone(m.in.Diagnostics), m.plan.Diagnostics...)
	for i := range all {
		all[i].Snippet, all[i].Context = "", ""
	}
	m.plan.Diagnostics = append(diag.List{}, all.Sorted()...)
}

// summary counts, and puts the changes in the order of their addresses.
func (m *maker) summary() {
	p := m.plan
	sortByAddress(p.Changes, func(c Change) string { return c.Address })
	s := &p.Summary
	s.Decision = Auto
	for _, c := range p.Changes {
		switch c.Action {
		case Add:
			s.Add++
		case Modify:
			s.Change++
		case Remove:
			s.Remove++
		case Move:
			s.Move++
		}
		s.judge(c.Decision)
	}
	p.Complete = s.NotOffered == 0
	for _, srv := range p.Servers {
		switch srv.Status {
		case Checked:
			s.ServersChecked++
		case NotChecked:
			s.ServersNotChecked++
			s.KeptUnchecked += *srv.KeptTools
			p.Complete = false
		case Refused:
			s.ServersRefused++
			s.KeptUnchecked += *srv.KeptTools
			p.Complete = false
		}
		if len(srv.Changes) > 0 {
			s.ServersChanged++
			s.judge(srv.Decision())
		}
	}
	for _, a := range p.Agents {
		s.AgentsChanged++
		s.judge(a.Decision())
	}
	s.Decision = stricter(s.Decision, stricter(p.Gate.Decision(), p.Policy.Decision()))
}

func (s *Summary) judge(d Decision) {
	s.Decision = stricter(s.Decision, d)
	if d.rank() == Deny.rank() {
		s.Denied++
	}
}

// Decision is the strictest of the server's own changes, Auto if there are none.
func (s *Server) Decision() Decision {
	_, d := classesOf(nil, s.Changes, s.Flags)
	return strictest(d, s.DecidedBy)
}

// Decision is the strictest of the changes of settings, Auto if there are none.
func (s *Settings) Decision() Decision {
	if s == nil {
		return Auto
	}
	_, d := classesOf(nil, s.Changes, nil)
	return strictest(d, s.DecidedBy)
}

// Decision is the strictest of the agent's changes.
func (a *Agent) Decision() Decision {
	d := Auto
	for _, c := range a.Changes {
		d = stricter(d, c.Decision)
	}
	return strictest(d, a.DecidedBy)
}

// HasChanges reports whether applying the plan would write a lock.
func (p *Plan) HasChanges() bool {
	if len(p.Changes)+len(p.Agents) > 0 || p.Gate != nil || p.Policy != nil {
		return true
	}
	return slices.ContainsFunc(p.Servers, func(s Server) bool { return len(s.Changes) > 0 || s.After != nil })
}

// Exit codes of the plan command.
const (
	ExitDone       = 0
	ExitFailed     = 1
	ExitPending    = 2
	ExitDrift      = 3
	ExitDenied     = 4
	ExitIncomplete = 5
)

// ExitCode is what the plan command ends with: ExitFailed if the plan was made with errors that keep it from being applied,
// ExitDenied if a change is denied, ExitIncomplete if a server was not checked or was refused or a declared tool is not
// offered, and otherwise 0, or with detailed ExitPending if there are changes.
func (p *Plan) ExitCode(detailed bool) int {
	switch {
	case len(p.faults()) > 0:
		return ExitFailed
	case p.Summary.Decision.rank() >= Deny.rank():
		return ExitDenied
	case !p.Complete:
		return ExitIncomplete
	case detailed && p.HasChanges():
		return ExitPending
	}
	return ExitDone
}

// faults are the addresses of the errors that are no failures of a server and not about a tool that is not offered: such a
// tool is left out, and the rest of the plan stands.
func (p *Plan) faults() []string {
	var out []string
	for _, d := range p.Diagnostics {
		if d.Severity != diag.Error || d.Code == CodeNotListed || d.Code == CodeExcluded {
			continue
		}
		failed := slices.ContainsFunc(p.Servers, func(s Server) bool {
			return s.Error != nil && s.Address == d.Address && s.Error.Code == d.Code
		})
		if !failed {
			out = append(out, cmp.Or(d.Address, d.Code))
		}
	}
	return out
}

// Blocked says why the plan may not be applied: a *FaultyError or a *DeniedError, nil if it may. What a person has to
// agree to does not block.
func (p *Plan) Blocked() error {
	if f := p.faults(); len(f) > 0 {
		return &FaultyError{Addresses: f}
	}
	var denied []string
	for _, c := range p.Changes {
		if c.Decision.rank() >= Deny.rank() {
			denied = append(denied, c.Address)
		}
	}
	for i := range p.Servers {
		if p.Servers[i].Decision().rank() >= Deny.rank() {
			denied = append(denied, p.Servers[i].Address)
		}
	}
	for i := range p.Agents {
		if p.Agents[i].Decision().rank() >= Deny.rank() {
			denied = append(denied, "agent "+p.Agents[i].Name)
		}
	}
	if len(denied) > 0 {
		return &DeniedError{Addresses: denied}
	}
	if p.Summary.Decision.rank() >= Deny.rank() {
		return &DeniedError{Addresses: []string{"settings"}}
	}
	return nil
}
