package cli

import (
	"context"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

func (a *app) verifyCommand() *cli.Command {
	var f struct {
		contactFlags
		viewFlags
	}
	return &cli.Command{
		Name:  "verify",
		Usage: "check that everything pinned is still what the servers offer",
		Description: "For CI and cron. Asks every enabled server and compares with the lock file; cannot write. Exit status 3 means that the\n" +
			"gate would refuse something that is declared, 5 that something could not be checked.",
		Flags: concat(f.contactFlags.flags(), f.viewFlags.flags(), a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "verify"
			if err := noArgs(c); err != nil {
				return err
			}
			cat, warnings, err := a.loadCatalog(false)
			if err != nil {
				return err
			}
			base, err := a.loadLock(ctx, a.lockPath(cat), false)
			if err != nil {
				return err
			}
			observed, err := a.observed(ctx, cat, base, f.contactFlags)
			if err != nil {
				return err
			}
			v, err := plan.Verify(plan.Input{Catalog: cat, Base: base, LockName: cat.Lock, Observed: observed, Version: version, Diagnostics: warnings})
			if err != nil {
				return fail(exitFailed, diag.Errorf("verify.failed", "Verification could not be made", "%s.", upper(diag.Escape(err.Error()))))
			}
			a.code = v.ExitCode()
			if a.flags.json {
				return view.VerificationJSON(a.out, v)
			}
			if len(v.Diagnostics) > 0 {
				a.diagnostics(inBlocks(v.Diagnostics))
				a.say("\n")
			}
			return view.Verification(a.out, v, view.Options{Color: a.Color(a.StdoutTerminal, a.flags.noColor), Width: a.Width, Full: f.full, ShowUnchanged: f.unchanged})
		},
	}
}
