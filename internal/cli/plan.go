package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/contact"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// viewFlags choose how much of a plan is shown.
type viewFlags struct {
	full, unchanged bool
}

func (f *viewFlags) flags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "full", Usage: "print whole digests and long texts", OnlyOnce: true, Destination: &f.full},
		&cli.BoolFlag{Name: "show-unchanged", Usage: "list unchanged tools by name", OnlyOnce: true, Destination: &f.unchanged},
	}
}

func (a *app) planCommand() *cli.Command {
	var f struct {
		contactFlags
		viewFlags
		out      string
		detailed bool
	}
	return &cli.Command{
		Name:  "plan",
		Usage: "ask the servers and show what differs from the lock file",
		Description: "Asks every enabled server what it offers, twice, and compares the answers with the lock file. Writes nothing but\n" +
			"the plan file. Exit status 5 means that a server was not checked or was refused; 4 that a change is denied.",
		Flags: concat([]cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "save the plan to `FILE` for apply", OnlyOnce: true, TakesFile: true, Destination: &f.out},
			&cli.BoolFlag{Name: "detailed-exitcode", Usage: "exit 2 when changes are pending", OnlyOnce: true, Destination: &f.detailed},
		}, f.contactFlags.flags(), f.viewFlags.flags(), a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = plan.Kind
			if err := noArgs(c); err != nil {
				return err
			}
			p, _, _, err := a.makePlan(ctx, f.contactFlags)
			if err != nil {
				return err
			}
			saved := ""
			if f.out != "" {
				if err := a.savePlan(f.out, p); err != nil {
					return err
				}
				saved = f.out
			}
			if err := a.showPlan(p, f.viewFlags, saved); err != nil {
				return err
			}
			a.code = p.ExitCode(f.detailed)
			return nil
		},
	}
}

func concat(lists ...[]cli.Flag) []cli.Flag {
	var all []cli.Flag
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// makePlan loads catalog and lock, asks the servers and compares.
func (a *app) makePlan(ctx context.Context, f contactFlags) (*plan.Plan, *catalog.Catalog, *lock.Lock, error) {
	cat, warnings, err := a.loadCatalog(f.mode == string(contact.None)) // secrets are for those who are contacted
	if err != nil {
		return nil, nil, nil, err
	}
	base, err := a.loadLock(ctx, a.lockPath(cat), true)
	if err != nil {
		return nil, nil, nil, err
	}
	observed, err := a.observed(ctx, cat, base, f)
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := plan.Make(plan.Input{Catalog: cat, Base: base, LockName: cat.Lock, Observed: observed, Version: version, Diagnostics: warnings})
	if err != nil {
		return nil, nil, nil, fail(exitFailed, diag.Errorf("plan.failed", "Plan could not be made", "%s.", upper(diag.Escape(err.Error()))))
	}
	return p, cat, base, nil
}

// showPlan prints a plan on standard output: as the one JSON document, or as text with the diagnostics on standard error.
func (a *app) showPlan(p *plan.Plan, f viewFlags, saved string) error {
	if a.flags.json {
		return view.PlanJSON(a.out, p)
	}
	o := view.Options{Color: a.Color(a.StdoutTerminal, a.flags.noColor), Width: a.Width, Full: f.full, ShowUnchanged: f.unchanged, SavedTo: saved}
	if err := view.PlanBody(a.out, p, o); err != nil {
		return err
	}
	if len(p.Diagnostics) > 0 {
		a.diagnostics(inBlocks(p.Diagnostics))
		a.say("\n")
	}
	return view.PlanSummary(a.out, p, o)
}

// inBlocks names the server block that a diagnostic of a document is about; a document carries the address alone.
func inBlocks(list diag.List) diag.List {
	out := slices.Clone(list)
	for i, d := range out {
		server, err := addr.ParseServer(d.Address)
		if err != nil {
			item, err := addr.ParseItem(d.Address)
			if err != nil {
				continue
			}
			server = item.Server
		}
		out[i].Context = fmt.Sprintf("server %q", server.Label)
	}
	return out
}

// savePlan writes a plan file whole or not at all.
func (a *app) savePlan(name string, p *plan.Plan) error {
	b, err := p.Encode()
	if err != nil {
		return fail(exitFailed, diag.Errorf("plan.failed", "Plan could not be made", "%s.", upper(diag.Escape(err.Error()))))
	}
	if err := a.replaceable(name); err != nil {
		return fail(exitFailed, diag.Errorf("plan.not_saved", "Plan was not saved", "%s: %s. Choose another name for -out.", diag.Escape(name), err))
	}
	if ref := a.hidden.inFile(b); ref != "" {
		return secretInFile("The plan file", ref)
	}
	if err := writeFile(a.path(name), b); err != nil {
		return fail(exitFailed, diag.Errorf("plan.not_saved", "Plan was not saved", "%s.", upper(err.Error())))
	}
	return nil
}

// replaceable refuses a name under which something else than a plan stands already.
func (a *app) replaceable(name string) error {
	path := a.path(name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it exists and is no regular file")
	case info.Size() == 0:
		return nil
	}
	b, err := readFile(path, plan.MaxBytes)
	if err != nil {
		return err
	}
	if !plan.Looks(b) {
		return errors.New("it exists and is not a plan")
	}
	return nil
}

// writeFile replaces a file by a new one with the given content.
func writeFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".mcpcat-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// readPlan reads a plan file and checks it against its own digest.
func (a *app) readPlan(name string) (*plan.Plan, error) {
	b, err := readFile(a.path(name), plan.MaxBytes)
	if err != nil {
		return nil, fail(exitFailed, diag.Errorf("plan.unreadable", "Plan file cannot be read", "%s.", upper(err.Error())))
	}
	return a.decodePlan(name, b)
}

func (a *app) decodePlan(name string, b []byte) (*plan.Plan, error) {
	p, err := plan.Decode(b)
	if err != nil {
		return nil, planError(name, err)
	}
	return p, nil
}

// readFile reads a file, or a pipe to its end, of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is a directory")}
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return b, nil
}

// planError words what can be wrong with a saved plan.
func planError(name string, err error) error {
	var (
		stale    *plan.StaleError
		mismatch *plan.MismatchError
		format   *plan.FormatError
		denied   *plan.DeniedError
		faulty   *plan.FaultyError
	)
	again := "Make and review a new one:\n  mcpcat plan -out=" + name
	text := upper(diag.Escape(err.Error()))
	switch {
	case errors.As(err, &stale):
		return fail(exitStale, diag.Errorf("plan.stale", "Saved plan is stale", "%s.\n%s", text, again))
	case errors.As(err, &mismatch):
		return fail(exitFailed, diag.Errorf("plan.mismatch", "Saved plan does not hold", "%s: %s.\nNothing was written. %s", name, diag.Escape(err.Error()), again))
	case errors.As(err, &format):
		return fail(exitFailed, diag.Errorf("plan.format", "Plan file has another format", "%s.\n%s", text, again))
	case errors.As(err, &denied):
		return fail(exitDenied, diag.Errorf("plan.denied", "Plan holds denied changes", "%s. Nothing was written.", text))
	case errors.As(err, &faulty):
		return fail(exitFailed, diag.Errorf("plan.faulty", "Plan was made with errors", "%s.\nMend the errors that it names, then make a new plan.", text))
	default:
		return fail(exitFailed, diag.Errorf("plan.invalid", "Not a plan file", "%s: %s.\n%s", name, diag.Escape(err.Error()), again))
	}
}
