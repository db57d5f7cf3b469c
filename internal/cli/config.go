package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/contact"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/lock/boltfile"
	"github.com/mcpcat-dev/mcpcat/internal/observe"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
	"github.com/mcpcat-dev/mcpcat/internal/term"
	"github.com/mcpcat-dev/mcpcat/internal/upstream"
)

// loadCatalog is readCatalog for commands that act on the catalog: all of it must be enforced.
func (a *app) loadCatalog(offline bool) (*catalog.Catalog, diag.List, error) {
	cat, warnings, err := a.readCatalog(offline)
	if err != nil {
		return nil, nil, err
	}
	return cat, warnings, enforced(cat)
}

// enforced refuses a catalog of which this version would not enforce everything.
func enforced(cat *catalog.Catalog) error {
	if list := cat.Unsupported(); len(list) > 0 {
		return &exitError{code: exitFailed, diags: list}
	}
	return nil
}

// readCatalog loads the catalog of the working directory and returns its warnings. From here on both streams hide its
// secrets. With offline, sensitive variables may be missing.
func (a *app) readCatalog(offline bool) (*catalog.Catalog, diag.List, error) {
	o, err := a.catalogOptions(offline)
	if err != nil {
		return nil, nil, err
	}
	return a.readCatalogWith(o)
}

// catalogOptions say how the catalog of the working directory is read, with the variables of the command line.
func (a *app) catalogOptions(offline bool) (catalog.Options, error) {
	vars := make([]catalog.VarSource, len(a.flags.vars))
	copy(vars, a.flags.vars)
	for i := range vars {
		switch vars[i].File {
		case "":
		case "-":
			b, err := a.standardVars()
			if err != nil {
				return catalog.Options{}, err
			}
			vars[i].Data = b
		default:
			vars[i].File = a.path(vars[i].File)
		}
	}
	return catalog.Options{Dir: a.dir(), Lookup: a.Lookup, Environ: a.Environ, Vars: vars, AllowMissingSecrets: offline, LockPath: a.flags.lock, Version: version}, nil
}

// standardVars reads the variables of -var-file=- once; standard input cannot be read twice.
func (a *app) standardVars() ([]byte, error) {
	if a.stdinVars == nil {
		b, err := catalog.ReadVarFile(a.Stdin)
		if err != nil {
			return nil, fail(exitFailed, diag.Errorf("input.unreadable", "Input cannot be read", "-var-file=-: %s.", diag.Escape(err.Error())))
		}
		a.stdinVars = b
	}
	return a.stdinVars, nil
}

func (a *app) readCatalogWith(o catalog.Options) (*catalog.Catalog, diag.List, error) {
	cat, diags := catalog.Load(o)
	if diags.HasErrors() {
		return nil, nil, &exitError{code: exitFailed, diags: diags}
	}
	return cat, diags, a.hide(cat)
}

func (a *app) lockPath(cat *catalog.Catalog) string { return filepath.Join(cat.Dir, cat.Lock) }

func (a *app) mirrorPath(cat *catalog.Catalog) string {
	if cat.Mirror == "" {
		return ""
	}
	return filepath.Join(cat.Dir, cat.Mirror)
}

// loadLock reads the lock of a catalog. A lock that is absent is nil where that is allowed.
func (a *app) loadLock(ctx context.Context, path string, absentAllowed bool) (*lock.Lock, error) {
	loaded, err := boltfile.Load(ctx, path)
	switch {
	case err == nil && !loaded.Canonical:
		return nil, fail(exitFailed, lockDiagnostic(a.short(path), &lock.CorruptError{Reason: "its bytes are not the ones that mcpcat writes for this content; it was edited in place"}))
	case err == nil:
		return loaded.Lock, nil
	case errors.Is(err, lock.ErrAbsent) && absentAllowed:
		return nil, nil
	default:
		return nil, a.lockError(path, err)
	}
}

// lockError makes an exitError of what boltfile and lock report.
func (a *app) lockError(path string, err error) error {
	code := exitFailed
	var busy *lock.BusyError
	var stale *lock.StaleError
	switch {
	case errors.As(err, &busy):
		code = exitBusy
	case errors.As(err, &stale):
		code = exitStale
	}
	return fail(code, lockDiagnostic(a.short(path), err))
}

// short is a path as a person would write it from the working directory.
func (a *app) short(path string) string {
	if rel, err := filepath.Rel(a.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// lockDiagnostic words the states of a lock file, each with its own code and next step.
func lockDiagnostic(name string, err error) diag.Diagnostic {
	var (
		busy    *lock.BusyError
		stale   *lock.StaleError
		format  *lock.FormatError
		corrupt *lock.CorruptError
		version *lock.DigestVersionError
		foreign *lock.NotLockError
	)
	// The typed error alone: what it is wrapped in names the file once more.
	detail := func(err error, next string) string {
		return fmt.Sprintf("%s: %s.\n%s", name, diag.Escape(err.Error()), next)
	}
	const restore = "Nothing in it is trusted. Restore it from version control, for example with:\n  git checkout -- "
	switch {
	case errors.Is(err, lock.ErrAbsent):
		return diag.Errorf("lock.absent", "There is no lock file", "%s does not exist, so nothing is pinned yet. Review and pin what the servers offer with:\n  mcpcat plan -out=first.mcpplan\n  mcpcat apply first.mcpplan", name)
	case errors.Is(err, lock.ErrEmpty):
		return diag.Errorf("lock.empty", "Lock file is empty", "%s has no bytes. An empty lock is not a lock without pins. %s%s", name, restore, name)
	case errors.As(err, &busy):
		return diag.Errorf("lock.busy", "Lock file is in use", "%s.\nWait for it to end and try again; apply waits longer with -lock-timeout.", upper(diag.Escape(busy.Error())))
	case errors.As(err, &stale):
		return diag.Errorf("lock.stale", "Lock file has changed", "%s.", upper(diag.Escape(stale.Error())))
	case errors.As(err, &format) && format.Newer:
		return diag.Errorf("lock.newer", "Lock file is of a newer format", "%s", detail(format, "Use the mcpcat that wrote it, or upgrade this one."))
	case errors.As(err, &format):
		return diag.Errorf("lock.older", "Lock file is of an older format", "%s", detail(format, "It cannot be read as it is."))
	case errors.As(err, &version):
		return diag.Errorf("lock.digest_unknown", "Lock file has a digest of unknown version", "%s", detail(version, "Use the mcpcat that wrote it, or upgrade this one."))
	case errors.As(err, &foreign):
		return diag.Errorf("lock.not_a_lock", "Not a lock file", "%s", detail(foreign, restore+name))
	case errors.Is(err, lock.ErrNotLock):
		return diag.Errorf("lock.not_a_lock", "Not a lock file", "%s", detail(lock.ErrNotLock, restore+name))
	case errors.As(err, &corrupt):
		return diag.Errorf("lock.corrupt", "Lock file damaged", "%s", detail(corrupt, restore+name))
	default:
		return diag.Errorf("lock.unreadable", "Lock file cannot be used", "%s.\nCheck that the path is right and that you may read it.", upper(diag.Escape(err.Error())))
	}
}

// observed asks the enabled servers of a catalog what they offer.
func (a *app) observed(ctx context.Context, cat *catalog.Catalog, base *lock.Lock, f contactFlags) ([]surface.Server, error) {
	var servers []*catalog.Server
	for _, s := range cat.Servers {
		if s.Enabled {
			servers = append(servers, s)
		}
	}
	approve, err := a.approve(ctx, cat, base, servers, contact.Mode(f.mode))
	if err != nil {
		return nil, err
	}
	progress := a.NewProgress("asking servers", len(servers), a.logs() || a.flags.json && !a.StderrTerminal)
	defer progress.Close()
	return observe.Servers(ctx, servers, observe.Options{
		Dialer: a.dialer(cat), Parallelism: f.parallelism, Timeout: f.timeout, Approve: approve, Progress: progress,
	})
}

func (a *app) dialer(cat *catalog.Catalog) upstream.Dialer {
	return upstream.Dialer{Dir: cat.Dir, Lookup: a.Lookup, Version: version, Logger: a.log}
}

// approve decides for each server whether it may be contacted, before any is. The error of a server is why it may not.
func (a *app) approve(ctx context.Context, cat *catalog.Catalog, base *lock.Lock, servers []*catalog.Server, mode contact.Mode) (map[string]error, error) {
	keeper := &contact.Keeper{Mode: mode, Dir: cat.Dir, Base: base, Moved: cat.Moved, State: a.State}
	if a.Interactive() && !a.flags.json {
		keeper.Ask = a.askContact
	}
	refused := map[string]error{}
	for _, s := range servers {
		err := keeper.Approve(ctx, s)
		var no *contact.NotApprovedError
		switch {
		case err == nil:
		case errors.As(err, &no):
			reason := no.Reason
			if mode == contact.Locked {
				reason += "; if you trust it, contact it with -contact=all"
			}
			refused[s.Addr.String()] = errors.New(reason)
		default:
			return nil, fail(exitFailed, diag.Errorf("contact.failed", "First contact could not be decided", "%s: %s.", s.Addr, diag.Escape(err.Error())))
		}
	}
	return refused, nil
}

// askContact puts the question of first contact to the person at the terminal.
func (a *app) askContact(ctx context.Context, q contact.Question) (bool, error) {
	a.say("\n%s: %s.\n", q.Server, diag.Escape(q.Why))
	width := 0
	for _, at := range q.Posture {
		width = max(width, len(at.Name))
	}
	for _, at := range q.Posture {
		value := diag.Escape(at.Value)
		switch {
		case at.New:
			value += "   (new)"
		case at.Gone:
			value = "(gone; was " + value + ")"
		case at.Was != nil:
			value += "   (was " + diag.Escape(*at.Was) + ")"
		}
		a.say("  %-*s  %s\n", width, diag.Escape(at.Name), value)
	}
	what := "send requests there"
	switch {
	case q.Stdio:
		what = "start this command"
	case q.Token:
		what = "start the command of auth and send requests there"
	}
	line, err := a.Ask(ctx, fmt.Sprintf("Only \"yes\" lets mcpcat %s, now and later: ", what))
	if errors.Is(err, term.ErrNotInteractive) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return line == "yes", nil
}
