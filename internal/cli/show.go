package cli

import (
	"bytes"
	"context"
	"errors"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/lock/boltfile"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

func (a *app) showCommand() *cli.Command {
	var f viewFlags
	return &cli.Command{
		Name:        "show",
		Usage:       "show a saved plan, or a lock file",
		ArgsUsage:   "[PLAN|LOCK]",
		Description: "Prints a saved plan as plan printed it, and says so if it is stale; or the content of a lock file.",
		Flags:       concat(f.flags(), a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Len() > 1 {
				return usage("show takes one file, got %d arguments.", c.Args().Len())
			}
			name := c.Args().First()
			if name == "" {
				l, short, err := a.anyLock(ctx)
				if err != nil {
					return err
				}
				return a.showLock(l, short)
			}
			b, err := readFile(a.path(name), plan.MaxBytes)
			if err != nil {
				return fail(exitFailed, diag.Errorf("show.unreadable", "File cannot be read", "%s.", upper(err.Error())))
			}
			if bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) {
				return a.showSaved(ctx, name, b, f)
			}
			loaded, err := boltfile.LoadBytes(b)
			if errors.Is(err, lock.ErrNotLock) {
				return fail(exitFailed, diag.Errorf("show.unknown", "Neither a plan nor a lock", "%s: %s.", diag.Escape(name), diag.Escape(err.Error())))
			}
			if err != nil {
				return a.lockError(a.path(name), err)
			}
			return a.showLock(loaded.Lock, name)
		},
	}
}

func (a *app) showLock(l *lock.Lock, name string) error {
	a.kind = "lock"
	doc := view.NewLockList(l, name)
	if a.flags.json {
		return view.Envelope(a.out, a.kind, nil, doc)
	}
	return doc.Text(a.out, view.Options{Full: true})
}

// showSaved prints a plan. A stale one is shown too, with a warning: it is still what somebody reviewed.
func (a *app) showSaved(ctx context.Context, name string, b []byte, f viewFlags) error {
	a.kind = plan.Kind
	p, err := a.decodePlan(name, b)
	if err != nil {
		return err
	}
	path := a.path(p.Base.Lock)
	loaded, err := boltfile.Load(ctx, path)
	var current *lock.Lock
	switch {
	case err == nil:
		current = loaded.Lock
	case errors.Is(err, lock.ErrAbsent):
	default:
		a.diagnostics(diag.List{warning(lockDiagnostic(a.short(path), err))})
		return a.showPlan(p, f, "")
	}
	if err := p.CheckBase(current); err != nil {
		a.diagnostics(diag.List{diag.Warningf("plan.stale", "Plan is stale", "%s. It can be read but not applied.", upper(diag.Escape(err.Error())))})
	}
	return a.showPlan(p, f, "")
}

func warning(d diag.Diagnostic) diag.Diagnostic {
	d.Severity = diag.Warning
	return d
}
