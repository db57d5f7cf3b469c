package catalog

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxExposedBytes is the longest name that common model interfaces accept.
const maxExposedBytes = 64

func (l *loader) readAgent(b *hclsyntax.Block) {
	a := &Agent{Name: b.Labels[0], Names: NamesPrefixed, Range: l.sources[b.TypeRange.Filename].rangeOf(header(b))}
	w := where{context: blockName(b)}
	l.cat.Agents = append(l.cat.Agents, a)
	before := l.errors
	c := l.contents(b.Body, w, agentBlock)
	a.Description, _ = c.text("description", maxDescription)
	a.Names = c.word("names", NamesPrefixed)
	if l.brokenServers {
		return // references to what could not be read would be reported as wrong
	}
	items := l.agentTools(c)
	if l.errors > before {
		return
	}
	l.expose(a, items, w)
}

// reference is one item of an agent's list and where it was named.
type reference struct {
	item addr.Item
	rng  hcl.Range
}

// agentTools evaluates the tools of an agent: references to tools, and to servers for all their tools. The result is in
// source order, each item once.
func (l *loader) agentTools(c *contents) []reference {
	a := c.args["tools"]
	if a == nil {
		return nil
	}
	r := a.Expr.Range()
	v, u, ok := l.eval(a.Expr, c.w, true)
	if !ok || !l.public("tools", r, c.w, u) || v.IsNull() {
		return nil
	}
	if t := v.Type(); !isSequence(t) {
		c.wrongType("tools", r, v, "a list of references")
		return nil
	}
	ranges := elementRanges(a.Expr)
	seen := map[addr.Item]bool{}
	var out []reference
	add := func(i addr.Item, r hcl.Range) {
		if !seen[i] {
			seen[i] = true
			out = append(out, reference{i, r})
		}
	}
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		_, e := it.Element()
		if i < len(ranges) {
			r = ranges[i]
		}
		address, ok := addressOf(e)
		if !ok {
			hint := ""
			if !e.IsNull() && e.Type() == cty.String {
				hint = " Write the reference without quotes."
			}
			l.fail("catalog.type", "Wrong type", r, c.w, "tools[%d] is %s, want a reference to a tool or a server.%s", i, typeName(e), hint)
			continue
		}
		if server, err := addr.ParseServer(address); err == nil && l.servers[server.Label] != nil {
			for _, d := range l.servers[server.Label].Tools {
				add(addr.Item{Server: server, Kind: addr.Tool, Name: d.Name}, r)
			}
			continue
		}
		item, err := addr.ParseItem(address)
		if err != nil || !l.declared(item) {
			l.fail("catalog.reference", "Unknown reference", r, c.w, "tools[%d] does not refer to a tool or server that is declared.", i)
			continue
		}
		add(item, r)
	}
	if len(out) > maxTools {
		l.fail("catalog.limit", "List too long", a.Expr.Range(), c.w, "tools has %d entries, at most %d are allowed.", len(out), maxTools)
	}
	return out
}

func (l *loader) declared(i addr.Item) bool {
	s := l.servers[i.Server.Label]
	return s != nil && s.Addr == i.Server && i.Kind == addr.Tool &&
		slices.ContainsFunc(s.Tools, func(d ToolDecl) bool { return d.Name == i.Name })
}

// addressOf returns the address of an object of the server scope.
func addressOf(v cty.Value) (string, bool) {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() || !v.Type().HasAttribute("address") {
		return "", false
	}
	a := v.GetAttr("address")
	if a.IsNull() || a.Type() != cty.String {
		return "", false
	}
	return asString(a), true
}

// expose gives every item its name. Names that a model interface would not take are errors, and so are two names that
// differ in case only: models and clients mix them up.
func (l *loader) expose(a *Agent, items []reference, w where) {
	first := map[string]addr.Item{}
	for _, ref := range items {
		s := l.servers[ref.item.Server.Label]
		if !s.Enabled {
			continue
		}
		name := ref.item.Name
		shown := diag.Escape(ref.item.String())
		if a.Names == NamesPrefixed {
			name = s.Name + "__" + name
			if !plainName(name, false) {
				l.fail("name.changed", "Tool name cannot be exposed", ref.rng, w,
					"The name of %s has characters other than letters, digits, \"_\" and \"-\", and a prefixed name may not have them. Expose the names of this agent unchanged: names = \"plain\".", shown)
				continue
			}
			if len(name) > maxExposedBytes {
				l.fail("name.long", "Exposed name too long", ref.rng, w,
					"The name %s of %s has %d bytes, at most %d are allowed. Give the server a shorter name, or use names = \"plain\".", diag.Quote(name, 0), shown, len(name), maxExposedBytes)
				continue
			}
		} else if !plainName(name, true) || len(name) > 128 {
			l.fail("name.changed", "Tool name cannot be exposed", ref.rng, w,
				"The name of %s is not 1 to 128 letters, digits, \"_\", \"-\" and \".\". Such a tool can be pinned, but this version of mcpcat cannot expose it.", shown)
			continue
		}
		folded := strings.ToLower(name)
		if other, taken := first[folded]; taken {
			hint := "Leave one of the two out."
			if a.Names == NamesPlain && other.Server != ref.item.Server {
				hint = "Use names = \"prefixed\", or leave one of the two out."
			}
			l.fail("name.collision", "Two tools with one name", ref.rng, w,
				"%s and %s would both be called %s when case is ignored. %s", diag.Escape(other.String()), shown, diag.Quote(name, 0), hint)
			continue
		}
		first[folded] = ref.item
		a.Tools = append(a.Tools, Exposed{Name: name, Item: ref.item})
	}
	slices.SortFunc(a.Tools, func(x, y Exposed) int { return strings.Compare(x.Name, y.Name) })
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
