// Package upstream turns a declared server into a connected client.
//
// plan, verify, call and serve all come through here, so that what was observed for review and what answers calls later
// were reached in the same way: same command, environment, headers, identity and limits. It keeps no session, retries
// nothing and approves nothing. In the drawing it stands on the protocol floor: it imports catalog, diag, digest,
// secret, mcp and, to run commands that print tokens, transport.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// Dialer makes clients for the servers of one catalog.
type Dialer struct {
	// Dir is the catalog directory, absolute: relative commands lie there, and it is the working directory of children that
	// have no other.
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
//
// A token of auth { command } is asked for here, once for the connection: a server that does not take it any more is asked with
// a new one only when a new connection is made. The error is then a *TokenError. What is pinned of a command and its files is
// compared right before it starts; the error is then a *ContentError. One that does not call itself what expect wants is an
// *IdentityError.
func (d Dialer) Connect(ctx context.Context, s *catalog.Server) (*mcp.Client, error) {
	t, err := d.Transport(s)
	if err != nil {
		return nil, err
	}
	if s.Stdio != nil {
		if err := d.checkProgram(ctx, s.Stdio); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, notStarted(s, err)
		}
	}
	if h, ok := t.(*mcp.HTTPTransport); ok && s.HTTP.AuthCommand != nil {
		token, err := d.token(ctx, s)
		if err != nil {
			return nil, &mcp.ServerError{Server: s.Addr.String(), Err: err}
		}
		h.Authorize = authorize(s.HTTP, token)
	}
	options := []mcp.Option{
		mcp.WithName(s.Addr.String()),
		mcp.WithRedactor(Redactor(s).Redact),
		mcp.WithTrace(d.trace(s)),
		mcp.WithClientInfo(mcp.Implementation{Name: "mcpcat", Version: d.Version}),
		mcp.WithLimits(mcp.Limits{
			Items: s.Limits.Tools, ListBytes: s.Limits.ListBytes, MessageBytes: s.Limits.ResultBytes, SchemaBytes: s.Limits.SchemaBytes, Pages: s.Limits.Pages,
		}),
		mcp.WithTimeouts(mcp.Timeouts{Connect: s.Timeouts.Connect, Discover: s.Timeouts.Discover, List: s.Timeouts.List, Call: s.Timeouts.Call}),
	}
	c, err := mcp.Connect(ctx, t, append(options, d.options...)...)
	if err != nil || s.Expect == nil {
		return c, err
	}
	if err := expected(s, c.Discovery()); err != nil {
		_ = c.Close() // it says more than what ends the connection
		return nil, &mcp.ServerError{Server: s.Addr.String(), Err: err}
	}
	return c, nil
}

// IdentityError says that a server does not call itself what its expect block wants.
type IdentityError struct{ Reason string }

func (e *IdentityError) Error() string { return "expect: " + e.Reason }

func expected(s *catalog.Server, d *mcp.Discovery) error {
	var name, version string
	if d.ServerInfo != nil {
		redact := Redactor(s).RedactString
		name, version = redact(d.ServerInfo.Name), redact(d.ServerInfo.Version)
	}
	if fault := s.Expect.Check(d.ServerInfo != nil, name, version); fault != "" {
		return &IdentityError{fault}
	}
	return nil
}

// Redactor finds the secrets of a server's block, which the server was given and may repeat.
func Redactor(s *catalog.Server) *secret.Redactor { return secret.NewRedactor(s.Secrets()...) }

// Transport builds the transport of a declared server without using it.
func (d Dialer) Transport(s *catalog.Server) (mcp.Transport, error) {
	switch {
	case s.HTTP != nil && s.HTTP.OAuth != nil:
		return nil, configured(s, errors.New("auth { oauth {} } is not supported by this version of mcpcat: use bearer, header with value, or command"))
	case s.HTTP != nil:
		t, err := d.http(s.HTTP)
		if err != nil {
			return nil, configured(s, err)
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
	t.AllowPrivate, t.AllowHosts, t.Redirects = h.AllowPrivate, h.AllowHosts, h.Redirects
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
	var token secret.String
	if h.Bearer != nil {
		token = *h.Bearer
	}
	t.Authorize = authorize(h, token)
	return t, nil
}

// authorize adds the headers of an http block and the token, if there is one, to requests. It is nil if there is nothing to
// add.
func authorize(h *catalog.HTTP, token secret.String) func(context.Context, http.Header) error {
	headers := h.Headers
	if h.AuthHeader != nil {
		headers = append(slices.Clone(headers), *h.AuthHeader)
	}
	if len(headers) == 0 && token.IsZero() {
		return nil
	}
	return func(_ context.Context, header http.Header) error {
		for _, f := range headers {
			header.Set(f.Name, f.Value.Expose())
		}
		if !token.IsZero() {
			header.Set("Authorization", "Bearer "+token.Expose())
		}
		return nil
	}
}

// configured is an error about what a server's block says.
func configured(s *catalog.Server, err error) error {
	return &mcp.ServerError{Server: s.Addr.String(), Err: &mcp.TransportError{Method: "connect", Op: "configure", Err: err}}
}

func (d Dialer) stdio(c *catalog.Stdio) mcp.Transport {
	t := mcp.NewStdioTransport(d.Command(c), c.Args)
	t.Dir = d.workdir(c)
	t.Env = d.environment(c)
	return t
}

// Command is the path or name that is executed: absolute, relative to the catalog if it has a slash, or a bare name
// that is looked up in PATH.
func (d Dialer) Command(c *catalog.Stdio) string { return d.path(c.Command) }

func (d Dialer) path(command string) string {
	if filepath.IsAbs(command) || !strings.ContainsRune(command, '/') {
		return command
	}
	return filepath.Join(d.Dir, filepath.FromSlash(command))
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
