package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxInstances bounds the servers of one for_each.
const maxInstances = 1000

// serverNode is a server block. What references to it may name (its instances and what is declared on them) is read when the
// first expression needs it; everything else of the block later, when the values that it refers to are known.
type serverNode struct {
	label     string
	block     *hclsyntax.Block
	contents  *contents // of the block, without the scope of an instance
	forEach   bool
	state     nodeState
	failed    bool
	instances []*instance // by key
	value     cty.Value   // in the scope of expressions
}

// instance is a server and the scope of the expressions in its block.
type instance struct {
	*Server
	node     *serverNode
	at       where
	contents *contents
	names    map[addr.Item]bool // what is declared, once it is asked for
}

// has reports whether an item is declared by its name.
func (i *instance) has(k addr.Kind, name string) bool {
	if i.names == nil {
		i.names = map[addr.Item]bool{}
		for _, kind := range kinds {
			for _, n := range i.declared(kind) {
				i.names[addr.Item{Kind: kind, Name: n}] = true
			}
		}
	}
	return i.names[addr.Item{Kind: k, Name: name}]
}

func (l *loader) declareServer(b *hclsyntax.Block) {
	l.serverOrder = append(l.serverOrder, b.Labels[0])
	l.servers[b.Labels[0]] = &serverNode{label: b.Labels[0], block: b}
}

// surface reads what references to the server may name. It reports whether that is known.
func (l *loader) surface(n *serverNode) bool {
	return l.visit("server."+n.label, header(n.block), &n.state, &n.failed, func() bool {
		w := where{context: blockName(n.block), address: addr.Server{Label: n.label}.String()}
		before := l.errors
		n.contents = l.contents(n.block.Body, w, serverBlock)
		n.forEach = n.contents.args["for_each"] != nil
		if !n.forEach {
			l.instance(n, addr.Server{Label: n.label}, cty.NilVal, cty.NilVal)
		} else if !l.readForEach(n) {
			return false
		}
		for _, i := range n.instances {
			l.readItems(i)
		}
		n.value = n.scope()
		return l.errors == before
	})
}

func (l *loader) instance(n *serverNode, a addr.Server, key, value cty.Value) {
	s := &Server{Addr: a, Name: a.Label}
	s.Range = l.rangeOf(header(n.block))
	at := where{context: n.contents.w.context, address: a.String()}
	if key != cty.NilVal {
		at.each = &each{key: key, value: value}
	}
	c := *n.contents
	c.w = at
	n.instances = append(n.instances, &instance{Server: s, node: n, at: at, contents: &c})
	l.cat.Servers = append(l.cat.Servers, s)
}

// readForEach makes one instance for each element of for_each: of a set of texts, or of a map by its keys.
func (l *loader) readForEach(n *serverNode) bool {
	c := n.contents
	v, ok := c.valueOrNull("for_each")
	if !ok {
		return false
	}
	r := c.exprRange("for_each")
	fail := func(format string, args ...any) bool {
		l.fail("catalog.for_each", "Invalid for_each", r, c.w, format, args...)
		return false
	}
	if v.IsNull() {
		return fail("for_each is null, want a set of texts or a map. An empty one declares no server.")
	}
	t := v.Type()
	set := t.IsSetType()
	switch {
	case set, t.IsMapType(), t.IsObjectType():
	case isSequence(t):
		return fail("for_each is a list, whose order would become part of the addresses. Write toset(…).")
	default:
		return fail("for_each is %s, want a set of texts or a map.", typeName(v))
	}
	if n := v.LengthInt(); n > maxInstances {
		return fail("for_each has %d elements, at most %d are allowed.", n, maxInstances)
	}
	good := true
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if set {
			k = e
		}
		if k.IsNull() || k.Type() != cty.String {
			good = fail("An element of for_each is %s, want a text.", typeName(k))
			continue
		}
		key := asString(k)
		if !addr.ValidKey(key) {
			good = fail("The key %s becomes part of an address: want 1 to %d printable ASCII characters without `|<> and backquote.", diag.Quote(key, 64), addr.MaxKeyBytes)
			continue
		}
		l.instance(n, addr.Server{Label: n.label, Key: key, HasKey: true}, k, e)
	}
	slices.SortFunc(n.instances, func(a, b *instance) int { return a.Addr.Compare(b.Addr) })
	return good
}

// readServer reads what surface has left.
func (l *loader) readServer(i *instance) {
	s, c, w, forEach := i.Server, i.contents, i.at, i.node.forEach
	if name, ok := c.text("name", addr.MaxLabelBytes); ok {
		switch {
		case !validPrefix(name):
			l.fail("name.invalid", "Invalid server name", c.exprRange("name"), w,
				"name is the prefix of the exposed tools: letters and digits, with single hyphens or underscores between them, at most %d characters.", addr.MaxLabelBytes)
		case forEach && !strings.Contains(name, s.Addr.Key):
			l.fail("name.invalid", "Name without the key", c.exprRange("name"), w,
				"The name of each server of a for_each contains its key, so that agents can tell them apart: name = \"%s-${each.key}\".", s.Addr.Label)
		}
		s.Name = name
	} else if forEach && c.args["name"] == nil {
		l.fail("catalog.missing", "Missing argument", c.body.MissingItemRange(), w, "A server with for_each needs a name that contains the key: name = \"%s-${each.key}\".", s.Addr.Label)
	}
	s.Description, _ = c.text("description", maxDescription)
	s.Enabled = c.boolean("enabled", true)
	if s.Isolation = c.word("isolation", IsolationShared); s.Isolation != IsolationShared {
		l.notEnforced("isolation", c.args["isolation"].NameRange, w)
	}
	s.Policy = l.readPolicyRef(c, "policy")
	s.Timeouts = l.readTimeouts(c.blocks["timeouts"], w, l.cat.Timeouts)
	s.Limits = l.readLimits(c.blocks["limits"], w, l.cat.Limits)
	s.Recheck, s.OwnRecheck = c.recheck(l.cat.Gate.Recheck)
	if b := c.blocks["expect"]; b != nil {
		s.Expect = l.readExpect(b, c.inside("expect"))
	}

	for t := range s.Tools {
		l.readTool(&s.Tools[t])
	}
	switch http, stdio := c.blocks["http"], c.blocks["stdio"]; {
	case http != nil && stdio != nil:
		l.fail("catalog.transport", "Two transports", header(stdio), w, "A server has either an http block or a stdio block; there is an http block at %s.", place(header(http)))
	case http != nil:
		s.HTTP = l.readHTTP(http, c.inside("http"))
	case stdio != nil:
		s.Stdio = l.readStdio(stdio, c.inside("stdio"))
	case slices.ContainsFunc([]string{"http", "stdio", "url", "command"}, func(name string) bool { return c.body.Attributes[name] != nil }):
		// That it stands in the wrong place was reported.
	default:
		l.fail("catalog.transport", "No transport", header(i.node.block), w, "A server needs one block http { url = … } or stdio { command = … }.")
	}
}

// validPrefix is the form of a server's name: the two underscores that separate it from the tool cannot occur in it.
func validPrefix(s string) bool {
	if s == "" || len(s) > addr.MaxLabelBytes {
		return false
	}
	separator := true
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			separator = false
		case (c == '_' || c == '-') && !separator:
			separator = true
		default:
			return false
		}
	}
	return !separator
}

// checkServerNames refuses two servers whose names would prefix tools alike.
func (l *loader) checkServerNames() {
	first := map[string]*Server{}
	for _, s := range l.cat.Servers {
		folded := strings.ToLower(s.Name)
		if other := first[folded]; other != nil {
			l.add(diag.Errorf("name.collision", "Two servers with one name", "%s and %s (%s) are both called %q when case is ignored. Give one of them another name.", s.Addr, other.Addr, other.Range, s.Name).
				At(s.Range).For(s.Addr.String()))
			continue
		}
		first[folded] = s
	}
}

// scope is the value of server.LABEL in an expression: an object with address, label, key and, for each kind, an object of
// what is declared by name; with for_each an object of such objects by key. What a pattern matches is not in it.
func (n *serverNode) scope() cty.Value {
	if !n.forEach {
		return n.instances[0].scope()
	}
	if len(n.instances) == 0 {
		return noInstances
	}
	all := map[string]cty.Value{}
	for _, i := range n.instances {
		all[i.Addr.Key] = i.scope()
	}
	return cty.ObjectVal(all)
}

// noInstances is server.LABEL of an empty for_each: a map, so that it is told from an object that is empty by mistake.
var noInstances = cty.MapValEmpty(cty.DynamicPseudoType)

func (i *instance) scope() cty.Value {
	out := map[string]cty.Value{"address": cty.StringVal(i.Addr.String()), "label": cty.StringVal(i.Addr.Label)}
	if i.Addr.HasKey {
		out["key"] = cty.StringVal(i.Addr.Key)
	}
	for _, kind := range kinds {
		items := map[string]cty.Value{}
		for _, p := range i.Patterns {
			if p.Kind == kind {
				// What it matches is not known. Whoever takes all of a kind must not take less without noticing.
				items[p.Text] = cty.ObjectVal(map[string]cty.Value{patternAttribute: cty.StringVal(p.Text)})
			}
		}
		for _, name := range i.declared(kind) {
			items[name] = cty.ObjectVal(map[string]cty.Value{
				"address": cty.StringVal(addr.Item{Server: i.Addr, Kind: kind, Name: name}.String()), "name": cty.StringVal(name),
			})
		}
		out[string(kind)] = cty.ObjectVal(items)
	}
	return cty.ObjectVal(out)
}

// patternAttribute is what the object of a pattern has in place of an address.
const patternAttribute = "pattern"

// kinds are the kinds of items, in the order in which they are listed.
var kinds = []addr.Kind{addr.Tool, addr.Prompt, addr.Resource, addr.ResourceTemplate}

// listName is the argument that lists items of a kind.
func listName(k addr.Kind) string { return string(k) + "s" }

// find returns the instance with the address a, or nil.
func (l *loader) find(a addr.Server) *instance {
	n := l.servers[a.Label]
	if n == nil {
		return nil
	}
	for _, i := range n.instances {
		if i.Addr == a {
			return i
		}
	}
	return nil
}

// instanceKeys are the keys of a for_each, quoted for messages.
func (n *serverNode) instanceKeys() []string {
	out := make([]string, len(n.instances))
	for i, x := range n.instances {
		out[i] = x.Addr.Key
	}
	return out
}

// server checks a reference that begins with server against what is declared.
func (v *useWalker) server(t hcl.Traversal, r hcl.Range) {
	label, ok := stepName(t, 1)
	if !ok {
		v.fail(r, "catalog.reference", "Incomplete reference", "Write server.LABEL.tool.NAME, or server.LABEL for every tool declared on it.")
		return
	}
	n := v.l.servers[label]
	if n == nil {
		hint := ""
		if near := nearest(label, keys(v.l.servers)); near != "" {
			hint = " Did you mean " + v.nearestItem(t, near) + "?"
		}
		v.fail(r, "catalog.reference", "Unknown reference", "There is no server %s.%s", diag.Quote(label, maxShownWord), hint)
		return
	}
	if !v.l.surface(n) {
		v.u.ok = false
		return
	}
	v.u.servers = append(v.u.servers, label)
	rest := t[2:]
	if n.forEach && len(rest) == 0 {
		return // all instances
	}
	i, rest, ok := v.instance(n, rest, r)
	if !ok || len(rest) == 0 {
		return
	}
	kind, ok := stepName(rest, 0)
	switch {
	case ok && addr.Kind(kind).Valid():
		v.item(i, addr.Kind(kind), rest, r)
	case ok && (kind == "address" || kind == "label" || kind == "key" && n.forEach):
	default:
		v.fail(r, "catalog.reference", "Unknown reference", "Behind %s stands .tool, .prompt, .resource or .resource_template and a name.%s", i.Addr, i.behindHint(kind))
	}
}

// instance takes the key of an instance from the steps behind server.LABEL.
func (v *useWalker) instance(n *serverNode, rest hcl.Traversal, r hcl.Range) (*instance, hcl.Traversal, bool) {
	isIndex := false
	if len(rest) > 0 {
		_, isIndex = rest[0].(hcl.TraverseIndex)
	}
	switch {
	case !n.forEach && isIndex:
		v.fail(r, "catalog.reference", "Unknown reference", "server.%s has no for_each, so there is nothing to choose with [ ].", n.label)
		return nil, nil, false
	case !n.forEach:
		return n.instances[0], rest, true
	case !isIndex:
		v.fail(r, "catalog.reference", "Incomplete reference", "server.%s has for_each: choose one of its servers, as in server.%s[\"%s\"].", n.label, n.label, firstOr(n.instanceKeys(), "KEY"))
		return nil, nil, false
	}
	key, ok := stepName(rest, 0)
	if ok {
		if i := v.l.find(addr.Server{Label: n.label, Key: key, HasKey: true}); i != nil {
			return i, rest[1:], true
		}
	}
	hint := " Its for_each is empty."
	if all := n.instanceKeys(); len(all) > 0 {
		hint = suggest(key, all, all)
	}
	if !ok {
		v.fail(r, "catalog.reference", "Unknown reference", "server.%s is chosen from by key, not by number: server.%s[\"%s\"].", n.label, n.label, firstOr(n.instanceKeys(), "KEY"))
		return nil, nil, false
	}
	v.fail(r, "catalog.reference", "Unknown reference", "server.%s has no element %s.%s", n.label, diag.Quote(key, maxShownWord), diag.Escape(hint))
	return nil, nil, false
}

func firstOr(list []string, fallback string) string {
	if len(list) == 0 {
		return fallback
	}
	return list[0]
}

// item checks a reference to one item; rest begins with its kind.
func (v *useWalker) item(i *instance, kind addr.Kind, rest hcl.Traversal, r hcl.Range) {
	name, ok := stepName(rest, 1)
	names := i.declared(kind)
	if !ok {
		if j := slices.IndexFunc(i.Patterns, func(p Pattern) bool { return p.Kind == kind }); j >= 0 && !v.w.looking && !slices.Contains(v.indexed, r) {
			v.fail(r, "catalog.reference", "Patterns cannot be referred to", "%s has the pattern %s, and what it matches is not known before the server is asked. Write %s for everything, or name single ones.",
				i.Addr, diag.Quote(i.Patterns[j].Text, 128), i.Addr)
		}
		return
	}
	if slices.Contains(names, name) {
		return
	}
	hint := fmt.Sprintf(" Add it to the %s of %s.", listName(kind), i.Addr)
	if near := nearest(name, names); near != "" {
		hint = fmt.Sprintf(" Did you mean %s?", diag.Escape(addr.Item{Server: i.Addr, Kind: kind, Name: near}.String()))
	} else if slices.ContainsFunc(i.Patterns, func(p Pattern) bool { return p.Kind == kind && p.Match(name) }) {
		hint = fmt.Sprintf(" A pattern of %s may match it, but what a pattern matches is not known before the server is asked. Name it in %s to refer to it.", i.Addr, listName(kind))
	}
	v.fail(r, "catalog.reference", "Unknown reference", "%s declares no %s %s.%s", i.Addr, strings.ReplaceAll(string(kind), "_", " "), diag.Quote(name, maxShownWord), hint)
}

// nearestItem is the reference t with the label replaced, as far as that exists.
func (v *useWalker) nearestItem(t hcl.Traversal, label string) string {
	n := v.l.servers[label]
	if !v.l.surface(n) {
		return addr.Server{Label: label}.String()
	}
	rest := t[2:]
	if n.forEach {
		key, ok := stepName(rest, 0)
		i := v.l.find(addr.Server{Label: label, Key: key, HasKey: true})
		if !ok || i == nil {
			return addr.Server{Label: label}.String()
		}
		return i.nearestItem(rest[1:])
	}
	return n.instances[0].nearestItem(rest)
}

func (i *instance) nearestItem(rest hcl.Traversal) string {
	kind, ok := stepName(rest, 0)
	name, named := stepName(rest, 1)
	if ok && named && addr.Kind(kind).Valid() && slices.Contains(i.declared(addr.Kind(kind)), name) {
		return diag.Escape(addr.Item{Server: i.Addr, Kind: addr.Kind(kind), Name: name}.String())
	}
	return i.Addr.String()
}
