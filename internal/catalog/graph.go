package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// MaxGraphEdges is the largest graph that is made.
const MaxGraphEdges = 100_000

// The kinds of nodes, beside those of items.
const (
	GraphAgent   = "agent"
	GraphToolset = "toolset"
	GraphPattern = "pattern"
	GraphServer  = "server"
)

// The kinds of edges.
const (
	EdgeHas      = "has"      // an agent has a toolset or an item, a toolset an item
	EdgeOf       = "of"       // an item is one of a server
	EdgeDenied   = "denied"   // the agent would have the item, but deny takes it away
	EdgeWithheld = "withheld" // the agent would have the item, but its name cannot be exposed
)

// Graph is who reaches what: agents, toolsets, items, servers, in this order along the edges.
type Graph struct {
	Nodes []GraphNode `json:"nodes"` // agents, toolsets, items, patterns, servers, each by ID
	Edges []GraphEdge `json:"edges"` // in the order of the nodes that they come from and lead to
}

// GraphNode is a declaration. ID is its address: agent.NAME, toolset.NAME, the address of an item or server, and for a
// pattern server.NAME.tool "PATTERN".
type GraphNode struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // agent, toolset, tool, prompt, resource, resource_template, pattern, server
}

// GraphEdge leads from one node to another.
type GraphEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
	Kind string `json:"kind"`
}

// Graph returns who reaches what. With agents it has only what these agents lead to, otherwise everything that is declared
// and enabled. What is disabled is not in it.
//
// names, as that of Expand, gives what is known of a server; then its patterns are what they match of that. A pattern of a
// server and kind of which it gives nothing is one node. names may be nil.
//
// The list has the warnings of Expand, and an error instead of a graph of more than MaxGraphEdges edges.
func (c *Catalog) Graph(agents []string, names func(addr.Server, addr.Kind) []string) (Graph, diag.List) {
	if names == nil {
		names = func(addr.Server, addr.Kind) []string { return nil }
	}
	expanded, diags := c.Expand(names)
	b := &graph{catalog: expanded, nodes: map[string]string{}, edges: map[GraphEdge]bool{}, targets: map[grant][]target{}}
	for _, s := range c.Servers {
		if s.Enabled {
			b.server(expanded.Server(s.Addr), slices.DeleteFunc(slices.Clone(s.Patterns), func(p Pattern) bool { return names(s.Addr, p.Kind) != nil }))
		}
	}
	for _, t := range expanded.Toolsets {
		id := b.node("toolset."+t.Name, GraphToolset)
		for _, g := range t.grants {
			for _, to := range b.of(g) {
				b.edge(id, to.id, EdgeHas)
			}
		}
	}
	for _, a := range expanded.Agents {
		b.agent(a)
	}
	if len(b.edges) > MaxGraphEdges {
		return Graph{}, append(diags, diag.Errorf("graph.large", "Graph too large", "The graph has more than %d edges. Narrow it to some agents with -agent=NAME.", MaxGraphEdges))
	}
	return b.graph(agents), diags
}

// graph is a Graph that is being made.
type graph struct {
	catalog *Catalog
	nodes   map[string]string // kind by ID
	edges   map[GraphEdge]bool
	targets map[grant][]target // what a grant leads to, with neither place nor toolset
}

// target is a node that a grant leads to.
type target struct {
	id   string
	item addr.Item // of a pattern, without a name
}

func (b *graph) node(id, kind string) string {
	b.nodes[id] = kind
	return id
}

// edge adds an edge, but none that would only make a graph larger that is too large already.
func (b *graph) edge(from, to, kind string) {
	if len(b.edges) <= MaxGraphEdges {
		b.edges[GraphEdge{from, to, kind}] = true
	}
}

// server adds a server and what is declared on it.
func (b *graph) server(s *Server, patterns []Pattern) {
	id := b.node(s.Addr.String(), GraphServer)
	add := func(t target, kind string) {
		b.edge(b.node(t.id, kind), id, EdgeOf)
		whole := grant{server: s.Addr, kind: t.item.Kind}
		b.targets[whole] = append(b.targets[whole], t)
	}
	for _, k := range kinds {
		for _, d := range s.all(k) {
			if item := (addr.Item{Server: s.Addr, Kind: k, Name: d.Name}); !d.Disabled {
				t := target{item.String(), item}
				add(t, string(k))
				b.targets[grant{server: s.Addr, kind: k, name: d.Name}] = []target{t}
			}
		}
	}
	for _, p := range patterns {
		add(target{s.Addr.String() + "." + string(p.Kind) + " " + addr.Quote(p.Text), addr.Item{Server: s.Addr, Kind: p.Kind}}, GraphPattern)
	}
}

// of returns what a grant leads to.
func (b *graph) of(g grant) []target {
	return b.targets[grant{server: g.server, kind: g.kind, name: g.name}]
}

// agent adds an agent and what it is given. What it does not have in the end has an edge of its own that says so, because
// there may be a way to it through a toolset.
func (b *graph) agent(a *Agent) {
	id := b.node("agent."+a.Name, GraphAgent)
	for _, name := range a.Toolsets {
		b.edge(id, "toolset."+name, EdgeHas)
	}
	has := map[addr.Item]bool{}
	for _, k := range kinds {
		for _, x := range *a.exposedTo(k) {
			has[x.Item] = true
		}
	}
	denied := map[addr.Item]bool{}
	for _, g := range a.deny {
		denied[g.item()] = true
	}
	for _, g := range a.grants {
		for _, to := range b.of(g) {
			whole := addr.Item{Server: to.item.Server, Kind: to.item.Kind}
			switch {
			case denied[to.item] || denied[whole]:
				b.edge(id, to.id, EdgeDenied)
			case to.item.Name != "" && !has[to.item]:
				b.edge(id, to.id, EdgeWithheld)
			case g.toolset == "":
				b.edge(id, to.id, EdgeHas)
			}
		}
	}
}

// graph returns what was added in order, or what some agents lead to.
func (b *graph) graph(agents []string) Graph {
	from := map[string][]GraphEdge{}
	for e := range b.edges {
		from[e.From] = append(from[e.From], e)
	}
	keep := b.nodes
	if len(agents) > 0 {
		keep = map[string]string{}
		var visit func(id string)
		visit = func(id string) {
			if keep[id] != "" {
				return
			}
			keep[id] = b.nodes[id]
			for _, e := range from[id] {
				visit(e.To)
			}
		}
		for _, a := range agents {
			visit("agent." + a)
		}
	}
	g := Graph{Nodes: []GraphNode{}, Edges: []GraphEdge{}}
	for id, kind := range keep {
		g.Nodes = append(g.Nodes, GraphNode{id, kind})
	}
	order := []string{GraphAgent, GraphToolset, string(addr.Tool), string(addr.Prompt), string(addr.Resource), string(addr.ResourceTemplate), GraphPattern, GraphServer}
	slices.SortFunc(g.Nodes, func(x, y GraphNode) int {
		return cmp.Or(slices.Index(order, x.Kind)-slices.Index(order, y.Kind), strings.Compare(x.ID, y.ID))
	})
	place := map[string]int{}
	for i, n := range g.Nodes {
		place[n.ID] = i
	}
	for _, n := range g.Nodes {
		g.Edges = append(g.Edges, from[n.ID]...)
	}
	slices.SortFunc(g.Edges, func(x, y GraphEdge) int {
		return cmp.Or(place[x.From]-place[y.From], place[x.To]-place[y.To], strings.Compare(x.Kind, y.Kind))
	})
	return g
}
