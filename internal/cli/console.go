package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/term"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

const (
	// maxExpressions is how many expressions one console evaluates.
	maxExpressions = 10_000
	// maxResultBytes bounds the values of the one document that -json prints.
	maxResultBytes = 64 << 20
)

const consoleHelp = `An expression is answered with its value: var.NAME, local.NAME, server.NAME.tool.TOOL, toolset.NAME, policy.NAME,
and what the functions of the language make of them. What refers to a secret is (sensitive). exit or Ctrl-D ends.
`

// textsFlag collects the texts of an option that may be repeated.
type textsFlag []string

func (f *textsFlag) Set(s string) error {
	*f = append(*f, s)
	return nil
}

func (f *textsFlag) Get() any       { return nil }
func (f *textsFlag) String() string { return "" }

func (a *app) consoleCommand() *cli.Command {
	var given textsFlag
	return &cli.Command{
		Name:  "console",
		Usage: "evaluate expressions in the scope of the catalog, offline",
		Description: "Evaluates each -e EXPR, or each line of standard input; on a terminal it asks for lines. Values are printed in the\n" +
			"syntax of the catalog language, and nothing else is printed on standard output. What refers to a secret is not\n" +
			"evaluated and printed as (sensitive). Contacts nobody, needs no secret and takes no lock.",
		Flags: concat([]cli.Flag{
			&cli.GenericFlag{Name: "e", Usage: "evaluate `EXPR`; may be repeated", Value: &given},
		}, a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "console"
			if c.Args().Len() > 0 {
				return usage("console takes no arguments, got %q. Give the expression with -e, or on standard input.", c.Args().First())
			}
			s, warnings, err := a.openSession(len(given) == 0)
			if err != nil {
				return err
			}
			x := &console{app: a, session: s}
			x.diagnose(warnings)
			if len(given) > 0 {
				for i, text := range given {
					x.evaluate(fmt.Sprintf("expression %d", i+1), 1, text)
				}
				return x.end()
			}
			if a.Interactive() {
				typed, err := a.NewLines("> ")
				if err != nil {
					return err
				}
				a.say("%s", consoleHelp)
				x.typed = true
				return errors.Join(x.read(ctx, typed.Read), typed.Close())
			}
			return x.read(ctx, a.inputLines())
		},
	}
}

// openSession loads the catalog for expressions. readsInput tells that they come from standard input.
func (a *app) openSession(readsInput bool) (*catalog.Session, diag.List, error) {
	for _, v := range a.flags.vars {
		if v.File == "-" && readsInput {
			return nil, nil, usage("-var-file=- and expressions cannot both be read from standard input: give the expressions with -e.")
		}
	}
	o, err := a.catalogOptions(true)
	if err != nil {
		return nil, nil, err
	}
	s, diags := catalog.Open(o)
	if s == nil {
		return nil, nil, &exitError{code: exitFailed, diags: diags}
	}
	return s, diags, a.hide(s.Catalog)
}

// console is one run of the command.
type console struct {
	*app
	session *catalog.Session
	typed   bool // a person types, so an error is no failure of the command
	count   int
	bytes   int // of the values in results
	failed  bool
	results []view.ConsoleResult
	diags   diag.List
	err     error // that ended it
}

// read evaluates lines until there are no more.
func (x *console) read(ctx context.Context, next func(context.Context) (string, error)) error {
	for line := 1; x.err == nil; line++ {
		text, err := next(ctx)
		if err != nil && x.typed {
			x.say("\n") // behind the prompt
		}
		switch {
		case errors.Is(err, io.EOF):
			return x.end()
		case errors.Is(err, term.ErrInterruptKey):
			return fail(exitInterrupted, diag.Errorf("interrupted", "Interrupted", "Nothing was written."))
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, term.ErrLineTooLong):
			x.diagnose(diag.List{unreadableLine(line, err)})
			continue
		case err != nil:
			return fail(exitFailed, unreadableLine(line, err))
		}
		switch text = strings.TrimSpace(text); {
		case text == "", strings.HasPrefix(text, "#"), strings.HasPrefix(text, "//"):
		case text == "exit", text == "quit":
			return x.end()
		case text == "help" && x.typed:
			x.say("%s", consoleHelp)
		default:
			x.evaluate("standard input", line, text)
		}
	}
	return x.end()
}

func unreadableLine(line int, err error) diag.Diagnostic {
	return diag.Errorf("input.unreadable", "Input cannot be read", "Line %d: %s.", line, diag.Escape(err.Error()))
}

// evaluate answers one expression.
func (x *console) evaluate(from string, line int, text string) {
	if x.err != nil {
		return
	}
	if x.count++; x.count > maxExpressions {
		x.err = fail(exitFailed, diag.Errorf("input.unreadable", "Too many expressions", "The console evaluates at most %d expressions.", maxExpressions))
		return
	}
	v, diags := x.session.Evaluate(from, line, text)
	x.diagnose(diags)
	if diags.HasErrors() {
		x.failed = true
	}
	if !x.flags.json {
		if !diags.HasErrors() {
			_, x.err = fmt.Fprintln(x.out, v)
		}
		if err := x.flush(); x.err == nil {
			x.err = err
		}
		return
	}
	r := view.ConsoleResult{Line: line, Failed: diags.HasErrors(), Sensitive: v.Kind == catalog.ValueSensitive}
	if !r.Failed && !r.Sensitive {
		if r.Value, x.err = json.Marshal(v); x.err != nil {
			return
		}
	}
	if x.bytes += len(r.Value); x.bytes > maxResultBytes {
		x.err = fail(exitFailed, diag.Errorf("input.unreadable", "Values too large", "The values of one document have at most %d bytes. Ask for fewer at a time, or leave -json out.", maxResultBytes))
		return
	}
	x.results = append(x.results, r)
}

// diagnose tells at once, or with -json at the end.
func (x *console) diagnose(list diag.List) {
	if x.flags.json {
		x.diags = append(x.diags, list...)
		return
	}
	x.diagnostics(list)
}

func (x *console) end() error {
	if x.err != nil {
		return x.err
	}
	if x.failed && !x.typed {
		x.code = exitFailed
	}
	if x.flags.json {
		return view.Envelope(x.out, x.kind, x.diags, view.Console{Results: x.results})
	}
	return nil
}

// inputLines returns a function that reads the next line of standard input, without its end; io.EOF behind the last one.
func (a *app) inputLines() func(context.Context) (string, error) {
	lines := bufio.NewScanner(a.Stdin)
	lines.Buffer(nil, catalog.MaxFileBytes+2)
	return func(ctx context.Context) (string, error) {
		got := make(chan error, 1)
		// A read from a pipe cannot be interrupted; on an interrupt the process ends, and the goroutine with it.
		go func() {
			if lines.Scan() {
				got <- nil
				return
			}
			err := lines.Err()
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("the line has more than %d bytes", catalog.MaxFileBytes)
			}
			got <- cmp.Or(err, io.EOF)
		}()
		select {
		case err := <-got:
			return lines.Text(), err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
