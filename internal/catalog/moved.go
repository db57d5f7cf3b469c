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

// maxMoved bounds the blocks moved and removed together.
const maxMoved = 10_000

// Place is a server, or an item if Kind is not "".
type Place struct {
	Server addr.Server
	Kind   addr.Kind
	Name   string
}

// Item returns the item; the zero one for a server.
func (p Place) Item() addr.Item {
	if p.Kind == "" {
		return addr.Item{}
	}
	return addr.Item{Server: p.Server, Kind: p.Kind, Name: p.Name}
}

// String returns the address.
func (p Place) String() string {
	if p.Kind == "" {
		return p.Server.String()
	}
	return p.Item().String()
}

// Moved says that what was pinned under one address is declared under another one now. Both are servers, or both are items
// of one kind and name. From is not declared, To is; no address stands in two blocks in the same role or in both roles.
type Moved struct {
	From, To Place
	Range    diag.Range // of the block header
}

// Removed says that what was pinned under an address is meant to be gone.
type Removed struct {
	From   Place
	Reason string // for readers; may be ""
	Range  diag.Range
}

// readMoved reads the blocks moved and removed. The servers are known.
func (l *loader) readMoved(moved, removed []*hclsyntax.Block) {
	if n := len(moved) + len(removed); n > maxMoved {
		l.fail("catalog.limit", "Too many blocks", header(append(slices.Clone(moved), removed...)[maxMoved]), where{}, "There are %d blocks moved and removed, at most %d are allowed.", n, maxMoved)
		return
	}
	type pair struct {
		c        *contents
		from, to Place
		rng      diag.Range
	}
	var pairs []pair
	onward := map[Place]diag.Range{}
	for _, b := range moved {
		c := l.contents(b.Body, where{context: blockName(b)}, movedBlock)
		from, okFrom := c.place("from")
		to, okTo := c.place("to")
		if okFrom && okTo {
			pairs = append(pairs, pair{c, from, to, l.rangeOf(header(b))})
			onward[from] = l.rangeOf(header(b))
		}
	}
	for _, p := range pairs {
		if next, chain := onward[p.to]; chain && p.from != p.to && !l.declares(p.to) {
			l.fail("catalog.moved", "Blocks form a chain", p.c.exprRange("to"), p.c.w, "%s is moved on at %s. Write one block with the first address and the one that is declared now.", diag.Escape(p.to.String()), next)
			continue
		}
		l.move(p.c, p.from, p.to, p.rng)
	}
	for _, b := range removed {
		c := l.contents(b.Body, where{context: blockName(b)}, removedBlock)
		reason, _ := c.text("reason", maxDescription)
		if from, ok := c.place("from"); ok && l.gone(c, from) {
			l.cat.Removed = append(l.cat.Removed, Removed{From: from, Reason: reason, Range: l.rangeOf(header(b))})
		}
	}
	l.checkMoved()
}

// move records a moved block: one move, or one for each instance if a whole for_each has another label now.
func (l *loader) move(c *contents, from, to Place, r diag.Range) {
	switch {
	case from == to:
		l.fail("catalog.moved", "Nothing is moved", c.exprRange("to"), c.w, "from and to are both %s.", diag.Escape(to.String()))
		return
	case from.Kind != to.Kind:
		l.fail("catalog.moved", "Cannot be moved there", c.exprRange("to"), c.w, "from is a %s and to a %s. A server moves to a server, an item to an item of its kind.", from.what(), to.what())
		return
	case from.Name != to.Name:
		l.fail("catalog.moved", "Cannot be moved there", c.exprRange("to"), c.w, "A %s with another name is another one: it is removed and added, and reviewed as new. Leave the block out.", from.what())
		return
	case !l.gone(c, from):
		return
	}
	n := l.servers[to.Server.Label]
	if n != nil && n.forEach && !to.Server.HasKey && to.Kind == "" && !from.Server.HasKey {
		for _, i := range n.instances {
			old := Place{Server: addr.Server{Label: from.Server.Label, Key: i.Addr.Key, HasKey: true}}
			l.cat.Moved = append(l.cat.Moved, Moved{From: old, To: Place{Server: i.Addr}, Range: r})
		}
		return
	}
	if n != nil && n.failed {
		return // reported there
	}
	if !l.declares(to) {
		l.fail("catalog.moved", "Cannot be moved there", c.exprRange("to"), c.w, "%s is not declared.%s", diag.Escape(to.String()), l.nearestPlace(to))
		return
	}
	l.cat.Moved = append(l.cat.Moved, Moved{From: from, To: to, Range: r})
}

func (p Place) what() string {
	if p.Kind == "" {
		return "server"
	}
	return strings.ReplaceAll(string(p.Kind), "_", " ")
}

// gone reports a from that is declared.
func (l *loader) gone(c *contents, from Place) bool {
	n := l.servers[from.Server.Label]
	whole := n != nil && from.Kind == "" && !from.Server.HasKey && n.forEach
	if !whole && !l.declares(from) {
		return true
	}
	l.fail("catalog.moved", "Still declared", c.exprRange("from"), c.w, "%s is still declared at %s. Delete the declaration, or this block.", diag.Escape(from.String()), place(header(n.block)))
	return false
}

// declares reports whether a server or item is declared, by its name or by a pattern.
func (l *loader) declares(p Place) bool {
	n := l.servers[p.Server.Label]
	if n == nil {
		return false
	}
	i := slices.IndexFunc(n.instances, func(i *instance) bool { return i.Addr == p.Server })
	if i < 0 || p.Kind == "" {
		return i >= 0
	}
	s := n.instances[i].Server
	return slices.Contains(s.declared(p.Kind), p.Name) ||
		slices.ContainsFunc(s.Patterns, func(x Pattern) bool { return x.Kind == p.Kind && x.Match(p.Name) })
}

// nearestPlace names the declared server whose address is nearest.
func (l *loader) nearestPlace(p Place) string {
	var known []string
	for _, s := range l.cat.Servers {
		known = append(known, s.Addr.String())
	}
	near := nearest(p.Server.String(), known)
	if near == "" || near == p.Server.String() {
		return ""
	}
	return " The nearest server is " + near + "."
}

// checkMoved refuses blocks that say different things of one address.
func (l *loader) checkMoved() {
	fail := func(at, earlier diag.Range, format string, args ...any) {
		l.add(diag.Errorf("catalog.moved", "Blocks contradict each other", format, append(args, earlier)...).At(at))
	}
	from, to := map[Place]diag.Range{}, map[Place]diag.Range{}
	for _, m := range l.cat.Moved {
		if earlier, twice := from[m.From]; twice {
			fail(m.Range, earlier, "%s is moved twice, here and at %s. Keep one of the two.", diag.Escape(m.From.String()))
			continue
		}
		if earlier, twice := to[m.To]; twice {
			fail(m.Range, earlier, "Two things are moved to %s, here and at %s. Keep one of the two.", diag.Escape(m.To.String()))
			continue
		}
		from[m.From], to[m.To] = m.Range, m.Range
	}
	removed := map[Place]diag.Range{}
	for _, r := range l.cat.Removed {
		if earlier, twice := removed[r.From]; twice {
			fail(r.Range, earlier, "%s is removed twice, here and at %s. Keep one of the two.", diag.Escape(r.From.String()))
		}
		if earlier, both := from[r.From]; both {
			fail(r.Range, earlier, "%s is removed here and moved at %s. Keep one of the two.", diag.Escape(r.From.String()))
		}
		removed[r.From] = r.Range
	}
	for _, m := range l.cat.Moved {
		if m.From.Kind == "" {
			continue
		}
		if earlier, overlap := from[Place{Server: m.From.Server}]; overlap {
			fail(m.Range, earlier, "%s goes with its server, which is moved at %s. Keep one of the two.", diag.Escape(m.From.String()))
		}
		if earlier, overlap := to[Place{Server: m.To.Server}]; overlap {
			fail(m.Range, earlier, "%s belongs to a server that is itself moved there at %s. Keep one of the two.", diag.Escape(m.To.String()))
		}
	}
}

// place reads an argument that is the address of a server or an item, written out: what it names need not exist.
func (c *contents) place(name string) (Place, bool) {
	a := c.args[name]
	if a == nil {
		c.l.fail("catalog.missing", "Missing argument", c.body.MissingItemRange(), c.w, "The block needs %s.", name)
		return Place{}, false
	}
	t, diags := hcl.AbsTraversalForExpr(a.Expr)
	if !diags.HasErrors() && t.RootName() == "server" {
		if p, ok := placeOf(t); ok {
			return p, true
		}
	}
	c.l.fail("catalog.type", "Wrong type", a.Expr.Range(), c.w, "%s must be the address of a server or an item, written out without quotes: server.NAME, server.NAME[\"KEY\"], server.NAME.tool.TOOL.", name)
	return Place{}, false
}

func placeOf(t hcl.Traversal) (Place, bool) {
	var p Place
	var ok bool
	if p.Server.Label, ok = stepName(t, 1); !ok || !addr.ValidLabel(p.Server.Label) {
		return p, false
	}
	rest := t[2:]
	if len(rest) > 0 {
		if index, is := rest[0].(hcl.TraverseIndex); is {
			if index.Key.Type() != cty.String || index.Key.IsNull() || !addr.ValidKey(asString(index.Key)) {
				return p, false
			}
			p.Server.Key, p.Server.HasKey = asString(index.Key), true
			rest = rest[1:]
		}
	}
	if len(rest) == 0 {
		return p, true
	}
	kind, okKind := stepName(rest, 0)
	name, okName := stepName(rest, 1)
	p.Kind, p.Name = addr.Kind(kind), name
	if len(rest) != 2 || !okKind || !okName || !p.Kind.Valid() {
		return p, false
	}
	_, err := addr.ParseItem(p.Item().String()) // the length of the name
	return p, err == nil
}
