package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

var graphFormats = []string{"dot", "mermaid", "json"}

func (a *app) graphCommand() *cli.Command {
	var format string
	var agents textsFlag
	return &cli.Command{
		Name:  "graph",
		Usage: "draw who reaches what: agents, toolsets, tools, servers",
		Description: "Prints the graph of the catalog, offline and without secrets: for Graphviz, for Mermaid, which pull requests show, or\n" +
			"as JSON. A pattern is one node; with a lock file present it is what is pinned of it. What deny takes away is a\n" +
			"dashed edge, what is disabled is not drawn.",
		Flags: concat([]cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "print the graph as `" + strings.Join(graphFormats, "|") + "`", Value: "dot", OnlyOnce: true, Destination: &format, Validator: func(s string) error {
				if !slices.Contains(graphFormats, s) {
					return fmt.Errorf("got %q, want one of %s", s, strings.Join(graphFormats, ", "))
				}
				return nil
			}},
			&cli.GenericFlag{Name: "agent", Usage: "draw only what the agent `NAME` leads to; may be repeated", Value: &agents},
		}, a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "graph"
			if err := noArgs(c); err != nil {
				return err
			}
			if a.flags.json && c.IsSet("format") && format != "json" {
				return usage("-json and -format=%s exclude each other.", format)
			}
			a.flags.json = a.flags.json || format == "json"
			cat, warnings, err := a.readCatalog(true)
			if err != nil {
				return err
			}
			for _, name := range agents {
				if cat.Agent(name) == nil {
					return fail(exitFailed, unknownAgent(cat, name))
				}
			}
			base, err := a.loadLock(ctx, a.lockPath(cat), true)
			if err != nil {
				return err
			}
			g, diags := cat.Graph(agents, base.Names)
			warnings = append(warnings, diags...)
			if diags.HasErrors() {
				return &exitError{code: exitFailed, diags: warnings}
			}
			if a.flags.json {
				return view.Envelope(a.out, a.kind, warnings, g)
			}
			a.diagnostics(warnings)
			if format == "dot" {
				return view.GraphDOT(a.out, g)
			}
			drawn, err := view.GraphMermaid(a.out, g)
			if err == nil && !drawn {
				return fail(exitFailed, tooLargeForMermaid(cat, g, agents))
			}
			return err
		},
	}
}

func tooLargeForMermaid(cat *catalog.Catalog, g catalog.Graph, agents []string) diag.Diagnostic {
	next := "Print it with -format=dot, which has no such limit."
	if len(cat.Agents) > 1 && len(agents) != 1 {
		next = fmt.Sprintf("Draw the graph of one agent with -agent=%s, or print all of it with -format=dot.", cat.Agents[0].Name)
	}
	return diag.Errorf("graph.large", "Graph too large for Mermaid", "The graph has %d edges; Mermaid draws at most %d, and no text longer than 50,000 characters. %s", len(g.Edges), view.MaxMermaidEdges, next)
}
