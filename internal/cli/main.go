// Package cli is the command line: it parses flags, wires the collaborators of one command together, hands the result to
// a view and chooses the exit status.
//
// A command file does four things: flags into a struct, collaborators, one call into a flow, the result to a view.
// Nothing here compares, classifies or talks to a server. Everything of the process comes through term.Process. See
// docs/architecture.md, row "edge".
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	"github.com/agext/levenshtein"
	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/term"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// The exit status of every command. When several apply, the first of failed, busy, stale, denied, drift, incomplete and
// pending wins. The table is repeated in the README.
const (
	exitDone        = 0
	exitFailed      = 1
	exitPending     = 2
	exitDrift       = 3
	exitDenied      = 4
	exitIncomplete  = 5
	exitBusy        = 6
	exitStale       = 7
	exitInterrupted = term.ExitInterrupted
)

// Main runs one command line, without the program name, and returns the exit status.
func Main(ctx context.Context, args []string, p *term.Process) int {
	a := &app{hidden: &hidden{}, Process: p, out: p.Stdout, err: p.Stderr, wantsJSON: asksJSON(args), log: slog.New(slog.DiscardHandler)}
	code := a.run(ctx, args)
	if err := a.flush(); (err != nil || a.broken) && code == exitDone {
		return exitFailed
	}
	return code
}

// asksJSON finds -json before flags are parsed, so that a mistake in front of it is told as a document too.
func asksJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "-json", "--json", "-json=true", "--json=true":
			return true
		}
	}
	return false
}

func (a *app) run(ctx context.Context, args []string) int {
	err := a.root().Run(ctx, append([]string{"mcpcat"}, args...))
	if err == nil {
		return a.code
	}
	if term.Interrupted(ctx) {
		detail := "Nothing was written."
		if a.kind == "call" {
			detail = "If the call was on its way already, it may have had effect."
		}
		if a.StderrTerminal {
			a.say("\n") // behind the ^C that the terminal echoes
		}
		a.report(fail(exitInterrupted, diag.Errorf("interrupted", "Interrupted", "%s", detail)))
		return exitInterrupted
	}
	a.report(err)
	return a.status(err)
}

// app is one run of the program.
type app struct {
	*term.Process
	// out and err hide the values of the catalog's secrets once it is loaded.
	out, err io.Writer
	// hidden are the secrets that no output may hold, see hide.go; flushers write what the hiding writers keep back.
	hidden   *hidden
	flushers []flusher
	// kind is the kind member of the JSON document that the running command prints.
	kind string
	// code is the exit status of a command that ended without an error.
	code int
	// wantsJSON says that -json stands on the command line, whether or not it was understood.
	wantsJSON bool
	// broken says that diagnostics could not be written.
	broken bool

	flags commonFlags
	// log is what flag or environment ask for, which logWanted tells; otherwise it drops everything.
	log       *slog.Logger
	logWanted bool
	// stdinVars is what -var-file=- read, nil before.
	stdinVars []byte
}

// exitError carries the exit status of a command that failed, and what to tell.
type exitError struct {
	code  int
	diags diag.List
	// told says that the document on standard output already holds the diagnostics.
	told bool
}

func (e *exitError) Error() string {
	for _, d := range e.diags {
		if d.Severity == diag.Error {
			return d.Summary
		}
	}
	return "failed"
}

// fail makes an exitError of one diagnostic.
func fail(code int, d diag.Diagnostic) error {
	if d.Severity == "" {
		d.Severity = diag.Error
	}
	return &exitError{code: code, diags: diag.List{d}}
}

// usage is a mistake in the command line.
func usage(format string, args ...any) error {
	return fail(exitFailed, diag.Diagnostic{Code: "usage", Summary: "Command line not understood", Detail: fmt.Sprintf(format, args...)})
}

func (a *app) status(err error) int {
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitFailed
}

// report tells what went wrong: as text on standard error, and with -json as the one document on standard output.
func (a *app) report(err error) {
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{code: exitFailed, diags: diag.List{{Severity: diag.Error, Code: "failed", Summary: "Command failed", Detail: diag.Escape(err.Error())}}}
	}
	if e.told || errors.Is(err, syscall.EPIPE) { // whoever read the output has had enough, as head does
		return
	}
	if a.flags.json || a.wantsJSON {
		if err := view.Envelope(a.out, a.kindOr("error"), e.diags, nil); err != nil {
			a.say("mcpcat: %v\n", err)
		}
		return
	}
	a.diagnostics(e.diags)
}

func (a *app) kindOr(kind string) string {
	if a.kind != "" {
		return a.kind
	}
	return kind
}

// diagnostics prints a list on standard error.
func (a *app) diagnostics(list diag.List) {
	o := diag.WriteOptions{Color: a.Color(a.StderrTerminal, a.flags.noColor)}
	if a.StderrTerminal {
		o.Width = a.Width
	}
	if err := diag.Write(a.err, a.hidden.diagnostics(list), o); err != nil {
		a.broken = true
	}
}

// say prints to standard error. Progress and remarks that cannot be written are lost; the result is not theirs.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.err, format, args...)
}

// dir is the catalog directory, absolute: the working directory, or what -chdir says.
func (a *app) dir() string { return resolve(a.Dir, a.flags.chdir) }

// path resolves a path from the command line against the working directory that -chdir chose.
func (a *app) path(p string) string { return resolve(a.dir(), p) }

func resolve(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

func (a *app) root() *cli.Command {
	root := &cli.Command{
		Name:            "mcpcat",
		Usage:           "pin the tools that AI agents may use",
		UsageText:       "mcpcat [common flags] COMMAND [flags] [arguments]",
		Description:     "HCL files declare MCP servers and what each agent may reach. plan asks the servers, apply pins what was\nreviewed in a lock file, and serve refuses every call whose live definition is not the pinned one.",
		Writer:          a.Stdout,
		ErrWriter:       a.Stderr,
		HideVersion:     true,
		HideHelpCommand: true,
		Flags:           a.commonFlags(),
		ExitErrHandler:  func(context.Context, *cli.Command, error) {},
		Commands: []*cli.Command{
			a.planCommand(), a.applyCommand(), a.verifyCommand(), a.serveCommand(), a.callCommand(),
			a.initCommand(),
			a.validateCommand(), a.importCommand(), a.clientConfigCommand(), a.consoleCommand(), a.graphCommand(), a.fmtCommand(), a.discoverCommand(), a.showCommand(), a.lockCommand(), a.digestCommand(), a.versionCommand(),
			a.schemaCommand(), a.completionCommand(), a.completeCommand(),
		},
	}
	root.Action = func(_ context.Context, c *cli.Command) error {
		name := c.Args().First()
		if name == "" {
			return cli.ShowRootCommandHelp(c)
		}
		return unknownCommand(name, root.Commands, "mcpcat -help")
	}
	var settle func(c *cli.Command, depth int)
	settle = func(c *cli.Command, depth int) {
		c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
			return usageFlag(c, err)
		}
		c.HideHelpCommand = true
		c.Suggest = false
		if depth > 0 && len(c.Commands) > 0 && c.Action == nil {
			c.Action = func(_ context.Context, c *cli.Command) error {
				if name := c.Args().First(); name != "" {
					return unknownCommand(name, c.Commands, "mcpcat "+c.Name+" -help")
				}
				return cli.ShowSubcommandHelp(c)
			}
		}
		if action := c.Action; action != nil {
			c.Action = func(ctx context.Context, c *cli.Command) error {
				if err := a.startLog(); err != nil {
					return err
				}
				return action(ctx, c)
			}
		}
		for _, sub := range c.Commands {
			settle(sub, depth+1)
		}
	}
	settle(root, 0)
	return root
}

func unknownCommand(name string, commands []*cli.Command, help string) error {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return usage("There is no command %q.%s Run \"%s\" for the list.", name, suggest(name, names), help)
}

// usageFlag words a flag error of the library and names the nearest flag.
func usageFlag(c *cli.Command, err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: "); ok {
		name = strings.TrimLeft(name, "-")
		var names []string
		for cmd := c; cmd != nil; cmd = parent(cmd) {
			for _, f := range cmd.Flags {
				names = append(names, f.Names()...)
			}
		}
		return usage("There is no flag -%s.%s", name, suggestFlag(name, names))
	}
	if strings.Contains(text, "for flag -var") {
		// The value may be a secret whose name was forgotten.
		return usage("The value of -var or -var-file is not understood: want -var NAME=VALUE or -var-file FILE.")
	}
	return usage("%s.", upper(text))
}

func parent(c *cli.Command) *cli.Command {
	line := c.Lineage()
	if len(line) > 1 {
		return line[1]
	}
	return nil
}

func suggest(name string, names []string) string {
	if best := nearest(name, names); best != "" {
		return fmt.Sprintf(" Did you mean %q?", best)
	}
	return ""
}

func suggestFlag(name string, names []string) string {
	if best := nearest(name, names); best != "" {
		return fmt.Sprintf(" Did you mean -%s?", best)
	}
	return ""
}

// nearest returns the name with the smallest edit distance if it is near enough to be meant.
func nearest(name string, names []string) string {
	sort.Strings(names)
	best, at := "", len(name)/3+2
	for _, n := range names {
		if d := levenshtein.Distance(name, n, nil); d < at {
			best, at = n, d
		}
	}
	return best
}

func upper(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}
