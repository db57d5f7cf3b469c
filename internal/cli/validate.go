package cli

import (
	"context"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

func (a *app) validateCommand() *cli.Command {
	return &cli.Command{
		Name:  "validate",
		Usage: "check the catalog, offline",
		Description: "Reads and evaluates the catalog and checks every reference. Contacts nobody and needs no secret. With a lock file\n" +
			"present, declared tools that are not pinned are named.",
		Flags: a.varFlags(),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "validate"
			if err := noArgs(c); err != nil {
				return err
			}
			cat, diags, err := a.readCatalog(true)
			if err != nil {
				return err
			}
			for _, d := range cat.Unsupported() {
				d.Severity = diag.Warning
				diags = append(diags, d)
			}
			base, err := a.loadLock(ctx, a.lockPath(cat), true)
			if err != nil {
				return err
			}
			diags = append(diags, unpinned(cat, base)...)
			doc := view.Valid{Files: cat.Files, Servers: len(cat.Servers), Agents: len(cat.Agents)}
			for _, s := range cat.Servers {
				doc.Tools += len(s.Tools)
			}
			if a.flags.json {
				return view.Envelope(a.out, a.kind, diags, doc)
			}
			a.diagnostics(diags)
			return doc.Text(a.out)
		},
	}
}

// unpinned warns of declared tools that a lock does not hold.
func unpinned(cat *catalog.Catalog, base *lock.Lock) diag.List {
	if base == nil {
		return nil
	}
	var diags diag.List
	for _, s := range cat.Servers {
		for _, t := range s.Tools {
			item := addr.Item{Server: s.Addr, Kind: addr.Tool, Name: t.Name}
			if base.Find(item) == nil {
				diags = append(diags, diag.Warningf("lock.not_pinned", "Declared tool is not pinned",
					"%s is declared but not in %s, so every call to it is refused. Run mcpcat plan and apply to pin it.", item, cat.Lock).For(item.String()).At(t.Range))
			}
		}
	}
	return diags
}
