package cli

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/proxy"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// clientFormats are the programs that client-config writes for.
var clientFormats = []string{"claude", "vscode", "cursor", "json"}

func (a *app) clientConfigCommand() *cli.Command {
	var format, listen string
	return &cli.Command{
		Name:      "client-config",
		Usage:     "print what points an agent program at serve",
		ArgsUsage: "AGENT",
		Description: "Prints the JSON to put into the config of the program: for claude that of Claude Code and the desktop app, for json with\n" +
			"the type of transport written out. The program starts mcpcat serve itself; with -listen it connects to one that runs.",
		Flags: concat([]cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "write for `" + strings.Join(clientFormats, "|") + "`", Value: "claude", OnlyOnce: true, Destination: &format, Validator: func(s string) error {
				if !slices.Contains(clientFormats, s) {
					return fmt.Errorf("got %q, want one of %s", s, strings.Join(clientFormats, ", "))
				}
				return nil
			}},
			&cli.StringFlag{Name: "listen", Usage: "connect to serve -listen=`ADDRESS` instead of starting it", OnlyOnce: true, Destination: &listen},
		}, a.varFlags()),
		Action: func(_ context.Context, c *cli.Command) error {
			a.kind = "client_config"
			if c.Args().Len() != 1 {
				return usage("client-config takes one agent, got %d arguments.", c.Args().Len())
			}
			agent := c.Args().First()
			cat, warnings, err := a.loadCatalog(true)
			if err != nil {
				return err
			}
			if cat.Agent(agent) == nil {
				return fail(exitFailed, unknownAgent(cat, agent))
			}
			s, err := a.clientServer(cat, agent, listen)
			if err != nil {
				return err
			}
			if format == "cursor" || format == "claude" && listen == "" {
				s.Type = "" // it is told by command or url
			}
			doc := view.ClientConfig{Servers: map[string]view.ClientServer{agent: s}, VSCode: format == "vscode"}
			if a.flags.json {
				return view.Envelope(a.out, a.kind, warnings, struct {
					Config view.ClientConfig `json:"config"`
				}{doc})
			}
			a.warn(warnings)
			if err := doc.Text(a.out); err != nil {
				return err
			}
			a.sayNeeded(cat, listen)
			return nil
		},
	}
}

// clientServer is the entry of an agent program.
func (a *app) clientServer(cat *catalog.Catalog, agent, listen string) (view.ClientServer, error) {
	if listen != "" {
		if len(a.flags.vars) > 0 {
			return view.ClientServer{}, usage("-var and -var-file are for the program that serve runs in: with -listen give them to serve.")
		}
		address, err := loopbackAddress(listen)
		if err != nil {
			return view.ClientServer{}, err
		}
		if _, port, _ := net.SplitHostPort(address); port == "" || strings.Trim(port, "0") == "" {
			return view.ClientServer{}, usage("-listen=%s has no port that a program could connect to.", listen)
		}
		return view.ClientServer{Type: "http", URL: "http://" + address + proxy.Path}, nil
	}
	args := []string{"-chdir=" + a.dir()}
	if a.flags.lock != "" {
		args = append(args, "-lock="+a.flags.lock)
	}
	args = append(args, "serve", "-agent="+agent, "-stdio")
	for _, v := range a.flags.vars {
		switch {
		case v.File == "-":
			return view.ClientServer{}, usage("-var-file=- reads what is not there when the agent program starts serve. Name a file.")
		case v.File != "":
			args = append(args, "-var-file="+a.path(v.File))
		case slices.ContainsFunc(cat.Variables, func(x catalog.VariableValue) bool { return x.Name == v.Name && x.Sensitive }):
			return view.ClientServer{}, usage("The variable %s is sensitive, and the config of an agent program is no place for its value. Set MCPCAT_VAR_%s in the environment, or give -var-file.", diag.Quote(v.Name, 0), diag.Escape(v.Name))
		default:
			args = append(args, "-var="+v.Name+"="+v.Value)
		}
	}
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return view.ClientServer{}, fail(exitFailed, diag.Errorf("input.unreadable", "Path cannot be written", "%s is not UTF-8, so JSON cannot hold it.", diag.Quote(filepath.ToSlash(arg), 0)))
		}
	}
	return view.ClientServer{Type: "stdio", Command: "mcpcat", Args: args}, nil
}

// sayNeeded names the secrets that serve will look for in the environment that the agent program gives it.
func (a *app) sayNeeded(cat *catalog.Catalog, listen string) {
	if listen != "" || slices.ContainsFunc(a.flags.vars, func(v catalog.VarSource) bool { return v.File != "" }) {
		return
	}
	var names []string
	for _, v := range cat.Variables {
		if v.Sensitive {
			names = append(names, "MCPCAT_VAR_"+v.Name)
		}
	}
	if len(names) > 0 {
		a.say("The agent program must pass these on to mcpcat: %s.\n", strings.Join(names, ", "))
	}
}

// loopbackAddress checks an address to serve at, HOST:PORT, and returns it with the host as a number.
func loopbackAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", usage("-listen=%s is not HOST:PORT.", address)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return "", usage("-listen=%s is not a loopback address. mcpcat serves this machine only, for example at -listen=127.0.0.1:%s.", address, port)
	}
	return net.JoinHostPort(host, port), nil
}
