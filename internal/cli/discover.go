package cli

import (
	"context"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/observe"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
	"github.com/mcpcat-dev/mcpcat/internal/upstream"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

func (a *app) discoverCommand() *cli.Command {
	var f struct {
		timeout      time.Duration
		hcl, private bool
		caFile       string
		pins         pinFlag
	}
	return &cli.Command{
		Name:      "discover",
		Usage:     "show what a server offers before anything is declared",
		ArgsUsage: "URL | -- COMMAND [ARGUMENTS]",
		Description: "Contacts the address or starts the command given here, and no other. Naming it is the permission. -hcl prints a\n" +
			"server block to put into the catalog, with every tool that the server offers.",
		Flags: concat([]cli.Flag{
			&cli.BoolFlag{Name: "hcl", Usage: "print a ready server block", OnlyOnce: true, Destination: &f.hcl},
			&cli.BoolFlag{Name: "allow-private", Usage: "let the URL's name lead to this machine or a private network", OnlyOnce: true, Destination: &f.private},
			&cli.StringFlag{Name: "ca-file", Usage: "trust the certificates in `FILE` instead of the system's", OnlyOnce: true, Destination: &f.caFile},
			&cli.GenericFlag{Name: "pin-sha256", Usage: "accept only a certificate with the public key `PIN`, a SHA-256 digest in base64; may be repeated", Value: &f.pins},
			&cli.DurationFlag{Name: "timeout", Usage: "give the server at most `DURATION`, such as 30s; 0 leaves the default limits of each step", OnlyOnce: true, Destination: &f.timeout, Validator: notNegative},
		}),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "discover"
			if f.hcl && a.flags.json {
				return usage("-hcl and -json exclude each other.")
			}
			s, err := target(c.Args().Slice())
			if err != nil {
				return err
			}
			if s.HTTP != nil && f.private {
				s.HTTP.AllowPrivate = true
			}
			if err := a.trust(s, f.caFile, f.pins); err != nil {
				return err
			}
			progress := a.NewProgress("asking", 1, a.logs() || !a.StderrTerminal)
			got, err := observe.Servers(ctx, []*catalog.Server{s}, observe.Options{
				Dialer: upstream.Dialer{Dir: a.dir(), Lookup: a.Lookup, Version: version, Logger: a.log}, Timeout: f.timeout, Progress: progress,
			})
			progress.Close()
			if err != nil {
				return err
			}
			if fault := got[0].Failure; fault != nil {
				return fail(exitFailed, diag.Errorf(fault.Code, "Server could not be asked", "%s\n%s", s.EndpointText(), fault.Message))
			}
			return a.showDiscovered(&got[0], s, f.hcl)
		},
	}
}

// pinFlag collects pins.
type pinFlag []catalog.Pin

func (f *pinFlag) Set(s string) error {
	p, err := catalog.ParsePin(s)
	if err == nil {
		*f = append(*f, p)
	}
	return err
}

func (f *pinFlag) Get() any       { return nil }
func (f *pinFlag) String() string { return "" }

// trust sets what the certificate of an undeclared server is held against.
func (a *app) trust(s *catalog.Server, caFile string, pins []catalog.Pin) error {
	if caFile == "" && len(pins) == 0 {
		return nil
	}
	if s.HTTP == nil || !strings.HasPrefix(s.HTTP.URL.String(), "https://") {
		return usage("-ca-file and -pin-sha256 are about certificates, and only a server with an https URL has one.")
	}
	t := &catalog.TLS{}
	t.SetPins(pins)
	if caFile != "" {
		f, err := catalog.ReadCertificates(a.dir(), a.path(caFile))
		if err != nil {
			return fail(exitFailed, diag.Errorf("input.unreadable", "Certificates cannot be read", "-ca-file=%s: %s", diag.Quote(caFile, 0), diag.EscapeLines(err.Error())))
		}
		t.CA = f
	}
	s.HTTP.TLS = t
	return nil
}

// inCatalog is the absolute path of a file as a catalog in the working directory names it: relative if it lies there, and
// is not hidden.
func (a *app) inCatalog(path string) string {
	rel, err := filepath.Rel(a.dir(), path)
	if rel = filepath.ToSlash(rel); err != nil || catalog.PathFault(rel) != "" {
		return path
	}
	return rel
}

func (a *app) showDiscovered(got *surface.Server, s *catalog.Server, hcl bool) error {
	doc := view.NewDiscovered(got, s.EndpointText())
	switch {
	case a.flags.json:
		return view.Envelope(a.out, a.kind, nil, doc)
	case hcl:
		block := view.Block{Label: s.Addr.Label}
		if s.HTTP != nil {
			block.URL = s.HTTP.URL.String()
			block.AllowPrivate = s.HTTP.AllowPrivate
			if t := s.HTTP.TLS; t != nil {
				for _, p := range t.Pins {
					block.Pins = append(block.Pins, p.String())
				}
				if t.CA != nil {
					block.CAFile = a.inCatalog(t.CA.Path)
				}
			}
		} else {
			block.Command, block.Args = s.Stdio.Command, s.Stdio.Args
		}
		return doc.HCL(a.out, block)
	default:
		return doc.Text(a.out, view.Options{Color: a.Color(a.StdoutTerminal, a.flags.noColor), Width: a.Width})
	}
}

// target makes an undeclared server of the arguments of discover.
func target(args []string) (*catalog.Server, error) {
	if len(args) == 0 {
		return nil, usage("discover wants a URL, or -- and a command.")
	}
	s := &catalog.Server{Enabled: true, Timeouts: catalog.DefaultTimeouts}
	if strings.Contains(args[0], "://") {
		if len(args) > 1 {
			return nil, usage("discover takes one URL, got %d arguments.", len(args))
		}
		u, err := url.Parse(args[0])
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, usage("%s is not an http or https URL.", diag.Quote(args[0], 0))
		}
		if u.User != nil {
			return nil, usage("The URL holds a user name or password; mcpcat never sends one. Declare the server with auth { bearer = ... } and run plan.")
		}
		s.Addr = addr.Server{Label: label(u.Hostname())}
		s.HTTP = &catalog.HTTP{URL: catalog.Template{catalog.PlainText(args[0])}, AllowPrivate: private(args[0])}
		return s, nil
	}
	s.Addr = addr.Server{Label: label(strings.TrimSuffix(filepath.Base(args[0]), ".exe"))}
	s.Stdio = &catalog.Stdio{Command: args[0], Args: args[1:]}
	return s, nil
}

// private reports whether the host is written as a loopback or private address, which a catalog has to allow.
func private(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && catalog.PrivateHost(u.Hostname())
}

// label makes a server label of a host or program name.
func label(name string) string {
	name = path.Base(name)
	if parts := strings.Split(name, "."); len(parts) > 2 && strings.EqualFold(parts[0], "mcp") {
		name = parts[1]
	}
	return addr.MakeLabel(name, "server")
}
