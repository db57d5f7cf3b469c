package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxExposedBytes is the longest name that common model interfaces accept.
const maxExposedBytes = 64

// candidate is an item that an agent was given and the name that it would have.
type candidate struct {
	Exposed
	at      diag.Range
	pattern string // that matched it; "" if it is written out
}

// expose computes what an agent sees: what it was given, without what is disabled or denied, each with a name that models
// and clients take and do not mix up.
//
// A name that cannot be exposed is an error if a person wrote the item down. Of what a pattern matches it is left out with
// a warning: a server must not be able to break a catalog, nor to take a name away from another item.
func expose(cat *Catalog, a *Agent) diag.List {
	var out diag.List
	for _, k := range kinds {
		list := a.exposedTo(k)
		*list = nil
		names := map[string][]candidate{}
		for _, c := range a.candidates(cat, k) {
			if d := a.name(cat, &c); d != nil {
				out = append(out, *d)
				continue
			}
			folded := c.Name
			if k == addr.Tool || k == addr.Prompt {
				folded = strings.ToLower(folded)
			}
			names[folded] = append(names[folded], c)
		}
		for _, folded := range keys(names) {
			kept, d := a.settle(names[folded])
			out = append(out, d...)
			if kept != nil {
				*list = append(*list, kept.Exposed)
			}
		}
		slices.SortFunc(*list, func(x, y Exposed) int { return strings.Compare(x.Name, y.Name) })
	}
	return fewWarnings(out)
}

// maxWarned is how many matches of one entry of an agent are named that it does not get for one reason.
const maxWarned = 5

// fewWarnings keeps what a server can cause from growing with its list: the matches behind the first maxWarned are counted.
func fewWarnings(list diag.List) diag.List {
	type entry struct {
		code string
		at   diag.Range
	}
	count := map[entry]int{}
	out := make(diag.List, 0, min(len(list), 64))
	for _, d := range list {
		e := entry{d.Code, *d.Range}
		if d.Severity == diag.Warning {
			if count[e]++; count[e] > maxWarned {
				continue
			}
		}
		out = append(out, d)
	}
	for _, d := range slices.Clone(out) {
		e := entry{d.Code, *d.Range}
		if n := count[e] - maxWarned; d.Severity == diag.Warning && n > 0 {
			delete(count, e)
			more := diag.Warningf(d.Code, d.Summary, "%d more that patterns match are left out for the same reason.", n).At(*d.Range)
			more.Context = d.Context
			out = append(out, more)
		}
	}
	return out
}

// candidates returns the items of one kind that an agent has, each once, in the order in which they were given.
func (a *Agent) candidates(cat *Catalog, k addr.Kind) []candidate {
	denied := map[addr.Item]bool{}
	for _, g := range a.deny {
		denied[g.item()] = true
	}
	seen := map[addr.Item]bool{}
	var out []candidate
	for _, g := range a.grants {
		s := cat.Server(g.server)
		if g.kind != k || s == nil || !s.Enabled || denied[addr.Item{Server: g.server, Kind: k}] {
			continue
		}
		for _, d := range s.all(k) {
			item := addr.Item{Server: g.server, Kind: k, Name: d.Name}
			if g.name != "" && g.name != d.Name || d.Disabled || seen[item] || denied[item] {
				continue
			}
			seen[item] = true
			out = append(out, candidate{Exposed{Name: d.As, Item: item}, g.at, d.Pattern})
		}
	}
	return out
}

// all returns what is declared of one kind, prompts and resources as tools that have only a name.
func (s *Server) all(k addr.Kind) []ToolDecl {
	if k == addr.Tool {
		return s.Tools
	}
	var out []ToolDecl
	for _, d := range s.items(k) {
		out = append(out, ToolDecl{Name: d.Name, Pattern: d.Pattern, Range: d.Range})
	}
	return out
}

// name gives a candidate its name, or says why it cannot have one.
func (a *Agent) name(cat *Catalog, c *candidate) *diag.Diagnostic {
	k := c.Item.Kind
	if k == addr.Resource || k == addr.ResourceTemplate {
		c.Name = c.Item.Name // agents ask for the URI itself
		return nil
	}
	if c.Name != "" {
		return nil // as was checked where it is written
	}
	shown := diag.Escape(c.Item.String())
	hint := "Leave it out, or use names = \"plain\"."
	if _, _, hidden := diag.Concealed(c.Item.Name); k == addr.Tool && !hidden && faithful(c.Item.Name) { // a catalog can hold it
		hint = fmt.Sprintf("Give it another name: tool %s { as = \"NAME\" } in %s.", addr.Quote(c.Item.Name), c.Item.Server)
	}
	c.Name = c.Item.Name
	if a.Names == NamesPrefixed {
		c.Name = cat.Server(c.Item.Server).Name + "__" + c.Name
		switch {
		case !plainName(c.Name, false):
			return a.refuse(c, "name.changed", "Name cannot be exposed", "The name of %s has characters other than letters, digits, \"_\" and \"-\", and a prefixed name may not have them. %s", shown, hint)
		case len(c.Name) > maxExposedBytes:
			return a.refuse(c, "name.long", "Exposed name too long", "The name %s of %s has %d bytes, at most %d are allowed. %s", diag.Quote(c.Name, 128), shown, len(c.Name), maxExposedBytes, hint)
		}
		return nil
	}
	if !plainName(c.Name, true) || len(c.Name) > 128 {
		return a.refuse(c, "name.changed", "Name cannot be exposed", "The name of %s is not 1 to 128 letters, digits, \"_\", \"-\" and \".\". %s", shown, hint)
	}
	return nil
}

// settle decides between candidates of one name.
func (a *Agent) settle(list []candidate) (*candidate, diag.List) {
	var written []candidate
	for _, c := range list {
		if c.pattern == "" {
			written = append(written, c)
		}
	}
	var out diag.List
	first := list[0]
	if len(written) > 0 {
		first = written[0]
	}
	for _, c := range list {
		if c.Item == first.Item {
			continue
		}
		hint, folded := "Leave one of the two out.", " when case is ignored"
		switch {
		case c.Item.Kind == addr.Resource || c.Item.Kind == addr.ResourceTemplate:
			folded = ""
		case c.Item.Kind == addr.Tool:
			hint = "Give one of them another name with as in a tool block, or leave it out."
		case c.Item.Kind == addr.Prompt && a.Names == NamesPlain && c.Item.Server != first.Item.Server:
			hint = "Use names = \"prefixed\", or leave one of the two out."
		}
		out = append(out, *a.refuse(&c, "name.collision", "Two "+strings.ReplaceAll(listName(c.Item.Kind), "_", " ")+" with one name",
			"%s and %s would both be called %s%s. %s", diag.Escape(first.Item.String()), diag.Escape(c.Item.String()), diag.Quote(c.Name, 128), folded, hint))
	}
	if len(list) > 1 && len(written) == 0 {
		return nil, append(out, *a.refuse(&first, "name.collision", "Two "+strings.ReplaceAll(listName(first.Item.Kind), "_", " ")+" with one name",
			"%s has the name of another, and both come from patterns, so neither is exposed.", diag.Escape(first.Item.String())))
	}
	return &first, out
}

// refuse is an error for an item that is written out, and a warning for one that a pattern matches.
func (a *Agent) refuse(c *candidate, code, summary, format string, args ...any) *diag.Diagnostic {
	d := diag.Errorf(code, summary, format, args...)
	if c.pattern != "" {
		d = diag.Warningf(code, summary, format, args...)
		d.Detail += fmt.Sprintf(" The pattern %s matches it; the agent does not get it.", diag.Quote(c.pattern, 128))
	}
	d = d.At(c.at)
	d.Context = fmt.Sprintf("agent %q", a.Name)
	return &d
}

// plainName reports whether s has letters, digits, "_" and "-" only, and "." if dots are allowed.
func plainName(s string, dots bool) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || dots && c == '.') {
			return false
		}
	}
	return s != ""
}
