package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// What Mermaid draws at most unless it is configured otherwise, as it is not where pull requests are shown: edges, and
// characters of the text.
const (
	MaxMermaidEdges = 500
	maxMermaidBytes = 50_000
)

// GraphDOT writes a graph in the language of Graphviz.
func GraphDOT(w io.Writer, g catalog.Graph) error {
	shapes := map[string]string{catalog.GraphAgent: "oval", catalog.GraphToolset: "folder", catalog.GraphPattern: "hexagon", catalog.GraphServer: "box3d"}
	var b strings.Builder
	b.WriteString("digraph mcpcat {\n  rankdir = LR\n  node [shape = box]\n")
	for _, n := range g.Nodes {
		b.WriteString("  " + dotText(n.ID))
		if shape := shapes[n.Kind]; shape != "" {
			b.WriteString(" [shape = " + shape + "]")
		}
		b.WriteByte('\n')
	}
	for _, e := range g.Edges {
		b.WriteString("  " + dotText(e.From) + " -> " + dotText(e.To))
		if without(e) {
			b.WriteString(" [style = dashed, label = " + dotText(e.Kind) + "]")
		}
		b.WriteByte('\n')
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// dotText is a quoted string, which is both the identifier of a node and its label. In a label a backslash begins an
// escape, so it is doubled; in an identifier two of them are as good as one.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(esc(s)) + `"`
}

// without reports whether an edge says what an agent does not have.
func without(e catalog.GraphEdge) bool {
	return e.Kind == catalog.EdgeDenied || e.Kind == catalog.EdgeWithheld
}

// GraphMermaid writes a graph as a Mermaid flowchart. It reports false, and writes nothing, if Mermaid would refuse it for
// its size.
func GraphMermaid(w io.Writer, g catalog.Graph) (bool, error) {
	shapes := map[string][2]string{
		catalog.GraphAgent: {"([", "])"}, catalog.GraphToolset: {"[[", "]]"}, catalog.GraphPattern: {"{{", "}}"}, catalog.GraphServer: {"[(", ")]"},
	}
	if len(g.Edges) > MaxMermaidEdges {
		return false, nil
	}
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	ids := map[string]string{}
	for i, n := range g.Nodes {
		shape, ok := shapes[n.Kind]
		if !ok {
			shape = [2]string{"[", "]"}
		}
		ids[n.ID] = "n" + strconv.Itoa(i)
		fmt.Fprintf(&b, "  %s%s\"%s\"%s\n", ids[n.ID], shape[0], mermaidText(n.ID), shape[1])
	}
	for _, e := range g.Edges {
		arrow := "-->"
		if without(e) {
			arrow = "-. " + e.Kind + " .->"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", ids[e.From], arrow, ids[e.To])
	}
	if b.Len() > maxMermaidBytes {
		return false, nil
	}
	_, err := io.WriteString(w, b.String())
	return true, err
}

// mermaidText is the inside of a quoted label. Everything but what addresses are usually made of is written by number, so
// nothing can end the label, be HTML, Markdown or a directive.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range esc(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" ._-/:[]", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
