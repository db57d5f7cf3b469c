package view_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// hostileNames are names of tools as a server may choose them, as they stand in identifiers.
var hostileNames = []string{
	`plain`, `a"b`, `a\`, `a\\`, `a\"]; evil -> x`, "a\nb", "a\x1b[31mb", `\N\G\l`, `<b>x</b>`, `a"]; click n0 "javascript:x"`, "`*md*`", `#34;`, `&quot;`,
	`%% comment`, `%%{init: {}}%%`, `##[error]x`, `::set-output`, `end`, `subgraph x`, "a\u202eb", `é漢`, `-->`, `{{}}`, `x]) --> n1`, `1. list`, ``,
}

func hostileGraph() catalog.Graph {
	g := catalog.Graph{Nodes: []catalog.GraphNode{{ID: "agent.pilot", Kind: catalog.GraphAgent}, {ID: "toolset.t", Kind: catalog.GraphToolset}}}
	for _, n := range hostileNames {
		id := "server.s.tool[" + n + "]"
		g.Nodes = append(g.Nodes, catalog.GraphNode{ID: id, Kind: "tool"})
		g.Edges = append(g.Edges, catalog.GraphEdge{From: "agent.pilot", To: id, Kind: catalog.EdgeHas}, catalog.GraphEdge{From: id, To: "server.s", Kind: catalog.EdgeOf})
	}
	g.Nodes = append(g.Nodes, catalog.GraphNode{ID: `server.s.tool "x*"`, Kind: catalog.GraphPattern}, catalog.GraphNode{ID: "server.s", Kind: catalog.GraphServer})
	g.Edges = append(g.Edges, catalog.GraphEdge{From: "agent.pilot", To: `server.s.tool "x*"`, Kind: catalog.EdgeDenied})
	return g
}

// drawn is a graph as its drawing says it: labels of nodes, and of both ends of edges with that of the edge between.
type drawn struct{ Nodes, Edges []string }

func wantDrawn(g catalog.Graph) drawn {
	var d drawn
	for _, n := range g.Nodes {
		d.Nodes = append(d.Nodes, diag.Escape(n.ID))
	}
	for _, e := range g.Edges {
		label := ""
		if e.Kind == catalog.EdgeDenied || e.Kind == catalog.EdgeWithheld {
			label = e.Kind
		}
		d.Edges = append(d.Edges, fmt.Sprintf("%s|%s|%s", diag.Escape(e.From), label, diag.Escape(e.To)))
	}
	return d
}

// readDOT reads the part of the language of Graphviz that is written: one statement a line, quoted strings, attributes.
func readDOT(text string) (drawn, error) {
	var d drawn
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 4 || lines[0] != "digraph mcpcat {" || lines[1] != "  rankdir = LR" || lines[2] != "  node [shape = box]" || lines[len(lines)-1] != "}" {
		return d, fmt.Errorf("no frame")
	}
	quoted := `"((?:[^"\\]|\\.)*)"`
	node := regexp.MustCompile(`^  ` + quoted + `(?: \[shape = [a-z0-9]+\])?$`)
	edge := regexp.MustCompile(`^  ` + quoted + ` -> ` + quoted + `(?: \[style = dashed, label = ` + quoted + `\])?$`)
	// In a label \\ is a backslash, and nothing else begins an escape.
	label := func(s string) (string, error) {
		if rest := strings.NewReplacer(`\\`, "", `\"`, "").Replace(s); strings.Contains(rest, `\`) {
			return "", fmt.Errorf("an escape in %q", s)
		}
		return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(s), nil
	}
	for _, line := range lines[3 : len(lines)-1] {
		var parts []string
		if m := node.FindStringSubmatch(line); m != nil {
			parts = m[1:]
		} else if m := edge.FindStringSubmatch(line); m != nil {
			parts = m[1:]
		} else {
			return d, fmt.Errorf("no statement: %s", line)
		}
		for i := range parts {
			var err error
			if parts[i], err = label(parts[i]); err != nil {
				return d, err
			}
		}
		if len(parts) == 1 {
			d.Nodes = append(d.Nodes, parts[0])
			continue
		}
		d.Edges = append(d.Edges, parts[0]+"|"+parts[2]+"|"+parts[1])
	}
	return d, nil
}

// readMermaid reads the part of Mermaid's flowcharts that is written. A label has nothing but letters, digits, a few marks
// that mean nothing within quotes, and characters by number.
func readMermaid(text string) (drawn, error) {
	var d drawn
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "flowchart LR" {
		return d, fmt.Errorf("no frame")
	}
	node := regexp.MustCompile(`^  (n[0-9]+)(?:\(\[|\[\[|\{\{|\[\(|\[)"((?:[A-Za-z0-9 ._/:\[\]-]|#[0-9]+;)*)"(?:\]\)|\]\]|\}\}|\)\]|\])$`)
	edge := regexp.MustCompile(`^  (n[0-9]+) (?:-->|-\. ([a-z]+) \.->) (n[0-9]+)$`)
	entity := regexp.MustCompile(`#([0-9]+);`)
	labels := map[string]string{}
	for _, line := range lines[1:] {
		if m := node.FindStringSubmatch(line); m != nil {
			labels[m[1]] = entity.ReplaceAllStringFunc(m[2], func(e string) string {
				n, _ := strconv.Atoi(e[1 : len(e)-1])
				return string(rune(n))
			})
			d.Nodes = append(d.Nodes, labels[m[1]])
			continue
		}
		m := edge.FindStringSubmatch(line)
		if m == nil || labels[m[1]] == "" || labels[m[3]] == "" {
			return d, fmt.Errorf("no statement: %s", line)
		}
		d.Edges = append(d.Edges, labels[m[1]]+"|"+m[2]+"|"+labels[m[3]])
	}
	return d, nil
}

// TestGraphDrawings reads back what is drawn of names that try to be something else.
func TestGraphDrawings(t *testing.T) {
	g := hostileGraph()
	want := wantDrawn(g)
	var dot, mermaid bytes.Buffer
	if err := view.GraphDOT(&dot, g); err != nil {
		t.Fatal(err)
	}
	if drawn, err := view.GraphMermaid(&mermaid, g); err != nil || !drawn {
		t.Fatal(drawn, err)
	}
	for name, read := range map[string]func() (drawn, error){
		"dot":     func() (drawn, error) { return readDOT(dot.String()) },
		"mermaid": func() (drawn, error) { return readMermaid(mermaid.String()) },
	} {
		got, err := read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := readDOT("digraph mcpcat {\n  rankdir = LR\n  node [shape = box]\n  \"a\\\"\n}\n"); err == nil {
		t.Error("the reader of DOT takes everything")
	}
	if _, err := readMermaid("flowchart LR\n  n0[\"a\"b\"]\n"); err == nil {
		t.Error("the reader of Mermaid takes everything")
	}
}

// TestGraphMermaidLimits draws graphs at the limits and one beyond.
func TestGraphMermaidLimits(t *testing.T) {
	edges := func(n int, name string) catalog.Graph {
		g := catalog.Graph{Nodes: []catalog.GraphNode{{ID: "agent.a", Kind: catalog.GraphAgent}}}
		for i := range n {
			id := fmt.Sprintf("server.s.tool.%s%d", name, i)
			g.Nodes = append(g.Nodes, catalog.GraphNode{ID: id, Kind: "tool"})
			g.Edges = append(g.Edges, catalog.GraphEdge{From: "agent.a", To: id, Kind: catalog.EdgeHas})
		}
		return g
	}
	for _, c := range []struct {
		g    catalog.Graph
		want bool
	}{
		{edges(view.MaxMermaidEdges, "x"), true},
		{edges(view.MaxMermaidEdges+1, "x"), false},
		{edges(400, strings.Repeat("x", 70)), true},
		{edges(400, strings.Repeat("x", 100)), false},
	} {
		var b bytes.Buffer
		drawn, err := view.GraphMermaid(&b, c.g)
		if err != nil || drawn != c.want || drawn != (b.Len() > 0) || b.Len() > 50_000 {
			t.Errorf("%d edges: drawn %v, %d bytes, %v, want %v", len(c.g.Edges), drawn, b.Len(), err, c.want)
		}
	}
}
