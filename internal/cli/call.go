package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/gate"
	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/contact"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// maxArguments bounds the arguments of one call, in bytes.
const maxArguments = 16 << 20

func (a *app) callCommand() *cli.Command {
	var f struct {
		agent  string
		dryRun bool
		mode   string
	}
	return &cli.Command{
		Name:      "call",
		Usage:     "make one call through the gate",
		ArgsUsage: "ADDR [JSON|@FILE|-]",
		Description: "ADDR is the address of a declared tool, such as server.harbour.tool.tide_table; with -agent it may be the name that\n" +
			"the agent sees. The arguments are a JSON object, given here, in a file or on standard input. The result object is\n" +
			"printed as the server sent it. Exit status 3 means that the gate refused; 1 that the tool reported an error.",
		Flags: concat([]cli.Flag{
			&cli.StringFlag{Name: "agent", Usage: "call as the agent `NAME`, with what it may call", OnlyOnce: true, Destination: &f.agent},
			&cli.BoolFlag{Name: "dry-run", Usage: "say whether the call would pass, and do not make it", OnlyOnce: true, Destination: &f.dryRun},
			&cli.StringFlag{
				Name: "contact", Usage: contactUsage,
				Value: string(contact.Locked), OnlyOnce: true, Destination: &f.mode,
				Validator: func(s string) error { _, err := contact.ParseMode(s); return err },
			},
		}, a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "call"
			if n := c.Args().Len(); n < 1 || n > 2 {
				return usage("call takes an address and at most one JSON object, got %d arguments.", n)
			}
			name := c.Args().Get(0)
			arguments, err := a.arguments(c.Args().Get(1), c.Args().Len() == 2)
			if err != nil {
				return err
			}
			cat, warnings, err := a.loadCatalog(false)
			if err != nil {
				return err
			}
			a.warn(warnings)
			base, err := a.loadLock(ctx, a.lockPath(cat), false)
			if err != nil {
				return err
			}
			g, err := a.openGate(cat, base, f.agent, contact.Mode(f.mode))
			if err != nil {
				return err
			}
			defer g.Close()
			exposed, err := exposedName(g, name, f.agent)
			if err != nil {
				return err
			}
			request := gate.Request{Name: exposed, Arguments: arguments}
			if f.dryRun {
				return a.dryRun(ctx, g, request, name)
			}
			result, err := g.Call(ctx, request)
			if err != nil {
				return callError(name, err)
			}
			return a.showResult(result, name)
		},
	}
}

// arguments reads the second argument of call. nil means that there are none.
func (a *app) arguments(arg string, given bool) (json.RawMessage, error) {
	if !given {
		return nil, nil
	}
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		return a.input(file, maxArguments)
	}
	if arg == "-" {
		return a.input(arg, maxArguments)
	}
	return json.RawMessage(arg), nil
}

// openGate makes the gate of one agent, or of an operator for an empty name. It asks about first contact when a server is
// first needed.
func (a *app) openGate(cat *catalog.Catalog, base *lock.Lock, agent string, mode contact.Mode) (*gate.Gate, error) {
	g, err := gate.New(gate.Config{
		Catalog: cat, Lock: base, Agent: agent, Dir: cat.Dir, Lookup: a.Lookup, Version: version, Logger: a.log,
		Approve: func(ctx context.Context, s *catalog.Server) error {
			refused, err := a.approve(ctx, cat, base, []*catalog.Server{s}, mode)
			if err != nil {
				return err
			}
			return refused[s.Addr.String()]
		},
	})
	if err != nil {
		return nil, fail(exitFailed, openDiagnostic(err, cat, agent))
	}
	return g, nil
}

func openDiagnostic(err error, cat *catalog.Catalog, agent string) diag.Diagnostic {
	var open *gate.OpenError
	if errors.As(err, &open) {
		if open.What == "agent" && cat.Agent(agent) == nil {
			return unknownAgent(cat, agent)
		}
		return diag.Errorf("gate."+open.What, "Gate could not be opened", "%s.", upper(diag.Escape(open.Err.Error())))
	}
	return diag.Errorf("gate.failed", "Gate could not be opened", "%s.", upper(diag.Escape(err.Error())))
}

func unknownAgent(cat *catalog.Catalog, agent string) diag.Diagnostic {
	var known []string
	for _, a := range cat.Agents {
		known = append(known, a.Name)
	}
	return diag.Errorf("gate.agent", "Unknown agent", "The catalog declares no agent %s.%s", diag.Quote(agent, 0), suggest(agent, known))
}

// exposedName finds a tool by address, in any of its spellings, or by the name that the agent sees.
func exposedName(g *gate.Gate, name, agent string) (string, error) {
	if item, err := addr.ParseItem(name); err == nil {
		if exposed, ok := g.ByAddress(item.String()); ok {
			return exposed, nil
		}
	} else if _, ok := g.Lookup(name); ok && agent != "" {
		return name, nil
	}
	var known []string
	for _, t := range g.Tools() {
		known = append(known, t.Address)
		if agent != "" {
			known = append(known, t.Name)
		}
	}
	who := "The catalog declares no tool"
	if agent != "" {
		who = "Agent " + agent + " has no tool"
	}
	return "", fail(exitDrift, diag.Errorf("gate.unknown_tool", "Unknown tool", "%s %s.%s", who, diag.Escape(name), suggest(name, known)).For(diag.Escape(name)))
}

func (a *app) dryRun(ctx context.Context, g *gate.Gate, r gate.Request, name string) error {
	if err := g.Check(ctx, r); err != nil {
		return callError(name, err)
	}
	doc := view.Called{Address: name, Allowed: true}
	if a.flags.json {
		return view.Envelope(a.out, a.kind, nil, doc)
	}
	return doc.Text(a.out)
}

// showResult prints the result object as it came, or within the one JSON document.
func (a *app) showResult(r *gate.Result, name string) error {
	if r.IsError {
		a.code = exitFailed
	}
	if a.flags.json {
		return view.Envelope(a.out, a.kind, nil, view.Called{Address: name, Allowed: true, Result: r.Raw, IsError: &r.IsError})
	}
	if r.IsError {
		a.say("%s reported an error (isError is true).\n", diag.Escape(name))
	}
	_, err := a.out.Write(append(r.Raw[:len(r.Raw):len(r.Raw)], '\n'))
	return err
}

// callError words why a call was not made or did not end in a result.
func callError(name string, err error) error {
	var (
		refusal   *gate.Refusal
		arguments *gate.ArgumentsError
		upstream  *gate.UpstreamError
		passed    *exitError
	)
	switch {
	case errors.As(err, &passed):
		return passed
	case errors.As(err, &refusal):
		d := diag.Errorf("gate."+string(refusal.Reason), "Call refused", "%s\n%s", refusalText(refusal), nextStep(refusal))
		return fail(exitDrift, d.For(refusal.Address))
	case errors.As(err, &arguments):
		return fail(exitFailed, diag.Errorf("gate.arguments", "Arguments do not fit the pinned schema", "%s: %s.", diag.Escape(name), diag.Escape(arguments.Error())).For(diag.Escape(name)))
	case errors.As(err, &upstream):
		return fail(exitFailed, diag.Errorf("gate.upstream", "Call failed", "%s.", upper(diag.Escape(upstream.Error()))).For(upstream.Address))
	case errors.Is(err, gate.ErrUnknownTool):
		return fail(exitDrift, diag.Errorf("gate.unknown_tool", "Unknown tool", "%s is not a tool of this agent.", diag.Escape(name)).For(diag.Escape(name)))
	default:
		return err
	}
}

func refusalText(r *gate.Refusal) string {
	var b strings.Builder
	switch r.Reason {
	case gate.Drift:
		b.WriteString(r.Address + " is not the tool that was pinned (drift).")
	case gate.Missing:
		b.WriteString(r.Address + " is no longer offered by its server.")
	case gate.NotPinned:
		b.WriteString(r.Address + " is declared but not pinned.")
	case gate.Unverified:
		b.WriteString(r.Address + " could not be compared with its pin, so nothing is known about it.")
	case gate.Policy:
		b.WriteString(r.Address + " is pinned, but its definition cannot be enforced.")
	case gate.Identity:
		b.WriteString(r.Address + ": what is reached is not what is pinned.")
	case gate.Secret:
		b.WriteString(r.Address + " answered with a secret of its own server block; the answer was withheld. The call was made.")
	case gate.Lock:
		b.WriteString(r.Address + ": catalog and lock differ.")
	default:
		b.WriteString(r.Address + " was refused (" + string(r.Reason) + ").")
	}
	if r.Locked != "" {
		b.WriteString("\n  locked   " + r.Locked)
	}
	if r.Live != "" {
		b.WriteString("\n  live     " + r.Live)
	}
	if len(r.Changed) > 0 {
		b.WriteString("\n  changed  " + strings.Join(r.Changed, ", "))
	}
	if r.Err != nil {
		b.WriteString("\n" + upper(diag.Escape(r.Err.Error())) + ".")
	}
	return b.String()
}

func nextStep(r *gate.Refusal) string {
	switch r.Reason {
	case gate.Drift, gate.Missing, gate.NotPinned, gate.Lock, gate.Identity:
		return "The server did not see the call. Review what changed, and pin it if it is right:\n  mcpcat plan -out=p.mcpplan\n  mcpcat apply p.mcpplan"
	case gate.Unverified:
		return "The server did not see the call. Find out what is wrong with it:\n  mcpcat plan"
	case gate.Secret:
		return "Change the secret, and find out why the server repeats it."
	default:
		return "The server did not see the call."
	}
}

// warn prints warnings that have no place in a document.
func (a *app) warn(list diag.List) {
	if len(list) > 0 && !a.flags.json {
		a.diagnostics(list)
	}
}
