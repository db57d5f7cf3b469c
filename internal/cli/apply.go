package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock/boltfile"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/term"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// writerDir holds the side file of the writer lock, beneath the catalog directory.
const writerDir = ".mcpcat"

type applyFlags struct {
	contactFlags
	viewFlags
	autoApprove     bool
	allowIncomplete bool
	planDigest      string
	lockTimeout     time.Duration
}

func (a *app) applyCommand() *cli.Command {
	var f applyFlags
	return &cli.Command{
		Name:      "apply",
		Usage:     "pin what was reviewed",
		ArgsUsage: "[PLAN]",
		Description: "With PLAN, pins exactly what that saved plan showed: offline, without variables, and only if everything in it can be\n" +
			"derived again from the lock, the catalog and the definitions it holds. Without PLAN, makes a plan, shows it and asks.",
		Flags: concat([]cli.Flag{
			&cli.BoolFlag{Name: "auto-approve", Usage: "do not ask; denied changes stay denied", OnlyOnce: true, Destination: &f.autoApprove},
			&cli.BoolFlag{Name: "allow-incomplete", Usage: "exit 0 although a server was not checked; its pins stay as they are", OnlyOnce: true, Destination: &f.allowIncomplete},
			&cli.StringFlag{Name: "plan-digest", Usage: "apply PLAN only if its digest is `DIGEST`: plan_digest of plan -json", OnlyOnce: true, Destination: &f.planDigest},
			&cli.DurationFlag{Name: "lock-timeout", Usage: "wait up to `DURATION` for another writer", Value: 5 * time.Second, OnlyOnce: true, Destination: &f.lockTimeout, Validator: func(d time.Duration) error {
				if d < 0 || d > time.Hour {
					return fmt.Errorf("got %s, want 0s to 1h", d)
				}
				return nil
			}},
		}, f.contactFlags.flags(), f.viewFlags.flags(), a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "apply"
			if c.Args().Len() > 1 {
				return usage("apply takes one plan file, got %d arguments.", c.Args().Len())
			}
			if name := c.Args().First(); name != "" {
				for _, flag := range []string{"var", "var-file", "contact", "parallelism", "timeout", "full", "show-unchanged", "auto-approve"} {
					if c.IsSet(flag) {
						return usage("apply with a saved plan takes no -%s: the plan is what was approved.", flag)
					}
				}
				return a.applySaved(ctx, name, f)
			}
			if f.planDigest != "" {
				return usage("-plan-digest names a saved plan: give the plan file too.")
			}
			return a.applyFresh(ctx, f)
		},
	}
}

// applySaved applies a plan file. It contacts nobody.
func (a *app) applySaved(ctx context.Context, name string, f applyFlags) error {
	p, err := a.readPlan(name)
	if err != nil {
		return err
	}
	if f.planDigest != "" && f.planDigest != p.PlanDigest.String() {
		return fail(exitFailed, diag.Errorf("plan.other", "Not the approved plan", "%s has the digest %s, want %s. Nothing was written.", name, p.PlanDigest, diag.Quote(f.planDigest, 0)))
	}
	planned := make([]catalog.VariableValue, 0, len(p.Config.Variables))
	for _, v := range p.Config.Variables {
		planned = append(planned, catalog.VariableValue{Name: v.Name, Source: v.Source, Sensitive: v.Sensitive, Value: v.Value})
	}
	cat, _, err := a.readCatalogWith(catalog.Options{Dir: a.dir(), Lookup: a.Lookup, Planned: planned, AllowMissingSecrets: true, LockPath: a.flags.lock, Version: version})
	if err != nil {
		return err
	}
	if err := enforced(cat); err != nil {
		return err
	}
	if err := a.writable(cat); err != nil {
		return err
	}
	return a.pin(ctx, name, p, cat, f)
}

// applyFresh makes a plan, shows it, asks and applies.
func (a *app) applyFresh(ctx context.Context, f applyFlags) error {
	if !f.autoApprove && (a.flags.json || !a.Interactive()) {
		return fail(exitPending, diag.Errorf("apply.not_confirmed", "Apply was not confirmed",
			"Nobody can be asked here. Review a saved plan and apply that:\n  mcpcat plan -out=p.mcpplan\n  mcpcat apply p.mcpplan\nor accept whatever the servers offer now with -auto-approve."))
	}
	cat, _, err := a.loadCatalog(true)
	if err != nil {
		return err
	}
	if err := a.writable(cat); err != nil {
		return err
	}
	p, cat, _, err := a.makePlan(ctx, f.contactFlags)
	if err != nil {
		return err
	}
	if !a.flags.json {
		if err := a.showPlan(p, f.viewFlags, ""); err != nil {
			return err
		}
	}
	if p.HasChanges() && p.Summary.Decision != plan.Deny && !f.autoApprove {
		line, err := a.Ask(ctx, "\nPin this? Only \"yes\" is accepted: ")
		switch {
		case errors.Is(err, term.ErrNotInteractive) || (err == nil && line != "yes"):
			return fail(exitPending, diag.Errorf("apply.not_confirmed", "Apply was not confirmed", "Nothing was written."))
		case err != nil:
			return err
		}
	}
	return a.pin(ctx, "the plan", p, cat, f)
}

// writable refuses early where the lock could not be written, before any server is asked.
func (a *app) writable(cat *catalog.Catalog) error {
	if err := boltfile.CheckWritable(a.lockPath(cat)); err != nil {
		return fail(exitFailed, diag.Errorf("lock.not_writable", "Lock file cannot be written", "%s.\nNo server was contacted.", upper(diag.Escape(err.Error()))))
	}
	return nil
}

// pin derives the next lock under the writer lock and replaces the file.
func (a *app) pin(ctx context.Context, name string, p *plan.Plan, cat *catalog.Catalog, f applyFlags) error {
	path := a.lockPath(cat)
	w, err := boltfile.OpenWriter(ctx, path, filepath.Join(cat.Dir, writerDir), f.lockTimeout, "mcpcat apply")
	if err != nil {
		return a.lockError(path, err)
	}
	applied, err := a.replace(ctx, w, name, p, cat)
	if closeErr := w.Close(); err == nil && closeErr != nil {
		err = a.lockError(path, closeErr)
	}
	if err != nil {
		return err
	}
	if !p.Complete && !f.allowIncomplete {
		a.code = exitIncomplete
	}
	if a.flags.json {
		return view.Envelope(a.out, a.kind, p.Diagnostics, applied)
	}
	return applied.Text(a.out)
}

func (a *app) replace(ctx context.Context, w *boltfile.Writer, name string, p *plan.Plan, cat *catalog.Catalog) (*view.Applied, error) {
	path := a.lockPath(cat)
	base, err := a.loadLock(ctx, path, true)
	if err != nil {
		return nil, err
	}
	next, err := p.Next(base, cat)
	if err != nil {
		return nil, planError(name, err)
	}
	applied := &view.Applied{Lock: cat.Lock, Plan: p}
	if !p.HasChanges() {
		applied.Serial, applied.Root = p.Base.Serial, p.Base.Root
		return applied, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch ref, err := a.hidden.inLock(next); {
	case err != nil:
		return nil, a.lockError(path, err)
	case ref != "":
		return nil, secretInFile("The lock file", ref)
	}
	if err := w.Replace(base.Base(), next, a.mirrorPath(cat)); err != nil {
		return nil, a.lockError(path, err)
	}
	applied.Serial, applied.Root = next.Serial, &next.Root
	return applied, nil
}
