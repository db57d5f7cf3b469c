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
		Description: "Reads and evaluates the catalog and checks every reference. Contacts nobody and needs no secret; those that are\n" +
			"missing are listed. With a lock file present, what is declared and not pinned is named.",
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
			diags = append(diags, unpinned(cat, base)...).Sorted()
			doc := view.NewValid(cat)
			if a.flags.json {
				return view.Envelope(a.out, a.kind, diags, doc)
			}
			a.diagnostics(diags)
			return doc.Text(a.out)
		},
	}
}

// unpinned warns of declared tools that a lock does not hold, and of patterns that nothing in it matches. Tools that are
// switched off may be pinned or not, and so may all of a server that is.
func unpinned(cat *catalog.Catalog, base *lock.Lock) diag.List {
	if base == nil {
		return nil
	}
	expanded, diags := cat.Expand(base.Names)
	for _, s := range expanded.Servers {
		for _, t := range s.Tools {
			item := addr.Item{Server: s.Addr, Kind: addr.Tool, Name: t.Name}
			if s.Enabled && !t.Disabled && base.Find(item) == nil {
				diags = append(diags, diag.Warningf("lock.not_pinned", "Declared tool is not pinned",
					"%s: it is declared but not in %s, so every call to it is refused. Run mcpcat plan and apply to pin it.", diag.Escape(item.String()), cat.Lock).For(item.String()).At(t.Range))
			}
		}
	}
	return diags
}
