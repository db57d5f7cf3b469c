package catalog

import (
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// Expand returns the catalog with names in place of patterns: what names says a server has and a pattern matches, declared
// as if it were written out, and given to the agents that have the whole server. names returns nil where nothing is known
// of a server; then its patterns match nothing. Without patterns the catalog itself is returned.
//
// plan calls it with what a server offers and what is pinned of it, gate and verify with what is pinned: a new tool that
// matches is a change to review and nothing that can be called.
//
// The list has warnings only: matches that cannot be exposed to an agent, and patterns without a match. Names come from
// servers and are escaped in it.
func (c *Catalog) Expand(names func(addr.Server, addr.Kind) []string) (*Catalog, diag.List) {
	if !slices.ContainsFunc(c.Servers, func(s *Server) bool { return s.Enabled && len(s.Patterns) > 0 }) {
		return c, nil
	}
	var out diag.List
	next := *c
	next.Servers = make([]*Server, len(c.Servers))
	for i, s := range c.Servers {
		next.Servers[i] = s
		if len(s.Patterns) == 0 || !s.Enabled {
			continue
		}
		x, d := s.expand(func(k addr.Kind) []string { return names(s.Addr, k) })
		next.Servers[i], out = x, append(out, d...)
	}
	next.Agents = make([]*Agent, len(c.Agents))
	for i, a := range c.Agents {
		x := *a
		next.Agents[i] = &x
		out = append(out, expose(&next, &x)...)
	}
	return &next, out
}

func (s *Server) expand(names func(addr.Kind) []string) (*Server, diag.List) {
	var out diag.List
	x := *s
	x.Patterns = nil
	x.Tools, x.Prompts = slices.Clone(s.Tools), slices.Clone(s.Prompts)
	x.Resources, x.ResourceTemplates = slices.Clone(s.Resources), slices.Clone(s.ResourceTemplates)
	matched := map[Pattern]bool{}
	for _, k := range kinds {
		offered := names(k)
		declared := map[string]bool{}
		for _, name := range s.declared(k) {
			declared[name] = true
		}
		for _, name := range offered {
			i := slices.IndexFunc(s.Patterns, func(p Pattern) bool { return p.Kind == k && p.Match(name) })
			if i < 0 || declared[name] {
				continue
			}
			declared[name] = true
			matched[s.Patterns[i]] = true
			x.declare(k, name, s.Patterns[i])
		}
		for _, p := range s.Patterns {
			if p.Kind == k && offered != nil && !matched[p] && !slices.ContainsFunc(offered, p.Match) {
				out = append(out, diag.Warningf("catalog.pattern", "Pattern matches nothing", "%s has nothing that %s matches.", s.Addr, diag.Quote(p.Text, 128)).At(p.Range).For(s.Addr.String()))
			}
		}
	}
	slices.SortFunc(x.Tools, func(a, b ToolDecl) int { return strings.Compare(a.Name, b.Name) })
	for _, list := range [][]ItemDecl{x.Prompts, x.Resources, x.ResourceTemplates} {
		slices.SortFunc(list, func(a, b ItemDecl) int { return strings.Compare(a.Name, b.Name) })
	}
	return &x, out
}

// declare adds a name that a pattern matches.
func (x *Server) declare(k addr.Kind, name string, p Pattern) {
	if k == addr.Tool {
		x.Tools = append(x.Tools, ToolDecl{Name: name, Pattern: p.Text, Range: p.Range})
		return
	}
	d := ItemDecl{Name: name, Pattern: p.Text, Range: p.Range}
	switch k {
	case addr.Prompt:
		x.Prompts = append(x.Prompts, d)
	case addr.Resource:
		x.Resources = append(x.Resources, d)
	case addr.ResourceTemplate:
		x.ResourceTemplates = append(x.ResourceTemplates, d)
	}
}
