// Package upstream turns a declared server into a connected client.
//
// plan, verify, call and serve all come through here, so that what was observed for review and what answers calls later
// were reached in the same way: same command, environment, headers, identity and limits. It keeps no session, retries
// nothing and approves nothing. In the drawing it stands on the protocol floor: it imports catalog, diag, secret and mcp.
package upstream

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// Dialer makes clients for the servers of one catalog.
type Dialer struct {
	// Dir is the catalog directory, absolute: relative commands start there, and it is the working directory of children.
	Dir string
	// Lookup reads the environment that children may inherit from, and that may name a proxy.
	Lookup func(name string) (string, bool)
	// Version is mcpcat's own version, sent as part of the client's identity.
	Version string
	// Logger, if set, is told of processes at slog.LevelDebug, and at LevelTrace of everything that is sent and received,
	// redacted, cut and escaped.
	Logger *slog.Logger

	options []mcp.Option // further ones, of tests
}

// Connect starts or reaches the server, asks server/discover, and returns a client of MCP 2026-07-28. The caller closes
// it. Errors are those of mcp.Connect, of which each names the server by its address, as do those of the client; none prints
// a secret of the block, whatever the server says.
func (d Dialer) Connect(ctx context.Context, s *catalog.Server) (*mcp.Client, error) {
	t, err := d.Transport(s)
	if err != nil {
		return nil, err
	}
	options := []mcp.Option{
		mcp.WithName(s.Addr.String()),
		mcp.WithRedactor(Redactor(s).Redact),
		mcp.WithTrace(d.trace(s)),
		mcp.WithClientInfo(mcp.Implementation{Name: "mcpcat", Version: d.Version}),
		mcp.WithTimeouts(mcp.Timeouts{Connect: s.Timeouts.Connect, Discover: s.Timeouts.Discover, List: s.Timeouts.List, Call: s.Timeouts.Call}),
	}
	return mcp.Connect(ctx, t, append(options, d.options...)...)
}

// Redactor finds the secrets of a server's block, which the server was given and may repeat.
func Redactor(s *catalog.Server) *secret.Redactor { return secret.NewRedactor(s.Secrets()...) }

// Transport builds the transport of a declared server without using it.
func (d Dialer) Transport(s *catalog.Server) (mcp.Transport, error) {
	switch {
	case s.HTTP != nil:
		t, err := d.http(s.HTTP)
		if err != nil {
			return nil, &mcp.ServerError{Server: s.Addr.String(), Err: &mcp.TransportError{Method: "connect", Op: "configure", Err: err}}
		}
		return t, nil
	case s.Stdio != nil:
		return d.stdio(s.Stdio), nil
	default:
		return nil, fmt.Errorf("%s has neither an http nor a stdio block", s.Addr)
	}
}

func (d Dialer) http(h *catalog.HTTP) (*mcp.HTTPTransport, error) {
	t := mcp.NewStreamableHTTPTransport(h.URL.Expose())
	t.AllowPrivate = h.AllowPrivate
	var err error
	if t.TLS, err = tlsConfig(h.TLS); err != nil {
		return nil, err
	}
	t.Pins = pins(h.TLS)
	proxy, err := d.proxyFor(h.Proxy, t.URL)
	if err != nil {
		return nil, err
	}
	if proxy != nil {
		t.Proxy = func(*url.URL) (*url.URL, error) { return proxy, nil }
	}
	if len(h.Headers) > 0 || h.Bearer != nil {
		t.Authorize = func(_ context.Context, header http.Header) error {
			for _, f := range h.Headers {
				header.Set(f.Name, f.Value.Expose())
			}
			if h.Bearer != nil {
				header.Set("Authorization", "Bearer "+h.Bearer.Expose())
			}
			return nil
		}
	}
	return t, nil
}

func (d Dialer) stdio(c *catalog.Stdio) mcp.Transport {
	t := mcp.NewStdioTransport(d.Command(c), c.Args)
	t.Dir = d.Dir
	t.Env = d.environment(c)
	return t
}

// Command is the path or name that is executed: absolute, relative to the catalog if it has a slash, or a bare name
// that is looked up in PATH.
func (d Dialer) Command(c *catalog.Stdio) string {
	if filepath.IsAbs(c.Command) || !strings.ContainsRune(c.Command, '/') {
		return c.Command
	}
	return filepath.Join(d.Dir, filepath.FromSlash(c.Command))
}

// environment is what the child gets and nothing else: the inherited names, then the declared variables.
func (d Dialer) environment(c *catalog.Stdio) []string {
	env := mcp.MinimalEnv()
	if c.InheritSet {
		env = []string{}
		for _, name := range c.InheritEnv {
			if v, ok := d.Lookup(name); ok {
				env = append(env, name+"="+v)
			}
		}
	}
	for _, v := range c.Env {
		env = append(env, v.Name+"="+v.Value.Expose())
	}
	return env
}
