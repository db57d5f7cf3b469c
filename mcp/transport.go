package mcp

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/transport"
)

// A Transport says how to reach a server: a *StdioTransport, a *HTTPTransport or what NewIOTransport returns. It is data;
// Connect does the reaching, and takes a copy.
type Transport interface {
	// open reaches the server for c: it sets c's connection, what c must know of it, and completes c's limits.
	open(ctx context.Context, c *Client) error
}

// StdioTransport starts a command and speaks with it over its standard input and output, one message per line.
//
// With the command end the processes that it has started: on Linux also those that have left its process group, on
// Windows all, by a job object, elsewhere those of its process group. What escapes is a process that on Linux has left
// parent, group, session and environment before it was first looked at, one that runs as another user, and what another
// program has started on request. docs/mcp.md, "Processes", has the order and the times.
//
// Spec: 2026-07-28 basic/transports/stdio.
type StdioTransport struct {
	Command string   // a path, or a name that is looked up in PATH
	Args    []string // without the command itself
	// Env is the environment of the child, as "NAME=value"; nil means MinimalEnv(). It is not added to this process's
	// environment. On Linux one variable is added, MCPCAT_PROCESS_TREE with a random value, by which descendants that
	// left the process group are found and ended with the child.
	Env []string
	Dir string // working directory, "" for this process's
	// Grace is how long Close waits for the child to end by itself once its input is closed, before it and all that it
	// has started are asked to end, and a second later killed. 0 means the default of 2 s.
	Grace  time.Duration
	Limits Limits
}

// NewStdioTransport returns a transport that starts command with args in a minimal environment.
func NewStdioTransport(command string, args []string) *StdioTransport {
	return &StdioTransport{Command: command, Args: args}
}

func (t *StdioTransport) open(ctx context.Context, c *Client) error {
	if t == nil || t.Command == "" {
		return &RequestError{Method: "connect", Reason: "transport has no command"}
	}
	if err := c.limit(t.Limits); err != nil {
		return err
	}
	env := t.Env
	if env == nil {
		env = MinimalEnv()
	}
	conn, err := transport.StartStdio(ctx, transport.StdioConfig{
		Command: t.Command, Args: slices.Clone(t.Args), Env: slices.Clone(env), Dir: t.Dir, Grace: t.Grace,
		Limits: c.transportLimits(), Redact: c.opts.redact, Trace: c.trace(), Notify: c.route,
	})
	if err != nil {
		return err
	}
	c.conn, c.kind = conn, transportKind{lines: true, stderr: conn.StderrTail}
	return nil
}

// HTTPTransport speaks Streamable HTTP with one endpoint: every request is a POST of its own.
//
// Plain http is for loopback addresses only. Loopback and private addresses need AllowPrivate, whatever their spelling;
// link-local ones and those at which clouds hand out credentials are never contacted. That is checked on the very address
// that a connection is made to, so a name that changes its address is caught. A host that ends in a number must be an IPv4
// address written as four decimal numbers.
//
// Connections are kept and used again. What one costs is bounded by Timeouts.Connect: name resolution and TCP together, and
// as long again for each of a proxy and TLS. A certificate is always verified, and no secret is sent before it is. What
// net/http logs through package log about a server's HTTP/2 has nothing of what the server sent.
//
// Spec: 2026-07-28 basic/transports/streamable-http.
type HTTPTransport struct {
	URL string
	// Headers are sent with every request. Names that belong to the protocol, to HTTP or to proxies are refused.
	Headers http.Header
	// Authorize, if set, adds authentication or trace headers to one request. It runs for each, and cannot set the
	// headers refused in Headers.
	Authorize    func(ctx context.Context, h http.Header) error
	AllowPrivate bool
	// AllowHosts are the hosts that connections are made to, each a name or an IP address, which means all its ports, or
	// "host:port", compared without case. Nil means that of URL alone; a list without it makes Connect fail. A proxy need not be
	// among them.
	AllowHosts []string
	// Redirects is how many redirects (307 or 308, same origin) a request may follow; 0 is none.
	Redirects int
	// TLS is for an authority or a client certificate of one's own; nil means Go's defaults. Connect takes a copy, and refuses
	// InsecureSkipVerify and versions below TLS 1.2.
	TLS *tls.Config
	// Pins are SHA-256 digests of the SubjectPublicKeyInfo of certificates. A certificate of the chain that was verified must
	// have one of them; nil allows any. A session that is resumed is held to them too.
	Pins [][sha256.Size]byte
	// Proxy, if set, is asked once, by Connect, for the proxy of an https endpoint, and says nil for none. The environment is
	// not looked at. Only http:// proxies are used, with CONNECT: they see the host and port of the endpoint and nothing of a
	// request. User information in the proxy's URL is sent to the proxy alone. A server on this machine is never reached
	// through a proxy. The proxy may have a private address; it resolves the endpoint's name by itself, so that an address
	// is checked only if the URL has one.
	Proxy  func(endpoint *url.URL) (*url.URL, error)
	Limits Limits
}

// NewStreamableHTTPTransport returns a transport for the endpoint url.
func NewStreamableHTTPTransport(url string) *HTTPTransport {
	return &HTTPTransport{URL: url}
}

func (t *HTTPTransport) open(_ context.Context, c *Client) error {
	if t == nil || t.URL == "" {
		return &RequestError{Method: "connect", Reason: "transport has no URL"}
	}
	if err := c.limit(t.Limits); err != nil {
		return err
	}
	conn, err := transport.NewHTTP(transport.HTTPConfig{
		URL: t.URL, Headers: t.Headers.Clone(), Authorize: t.Authorize, AllowPrivate: t.AllowPrivate, AllowHosts: slices.Clone(t.AllowHosts), Redirects: t.Redirects,
		Connect: c.opts.timeouts.Connect, Limits: c.transportLimits(), Redact: c.opts.redact, Trace: c.trace(),
		TLS: t.TLS, Pins: t.Pins, Proxy: t.Proxy,
	})
	if err != nil {
		return err
	}
	c.conn, c.kind = conn, transportKind{headers: true}
	return nil
}

// ioTransport speaks over a pair of streams.
type ioTransport struct {
	r io.ReadCloser
	w io.WriteCloser
}

// NewIOTransport returns a transport over streams that the caller has made, framed as on stdio: for tests, and for
// embedders that start their servers by themselves. Closing the Client closes both; closing a stream must end a Read or
// Write that is under way. It can be connected once.
func NewIOTransport(r io.ReadCloser, w io.WriteCloser) Transport { return &ioTransport{r: r, w: w} }

func (t *ioTransport) open(_ context.Context, c *Client) error {
	if err := c.limit(Limits{}); err != nil {
		return err
	}
	c.conn, c.kind = transport.NewPipe(t.r, t.w, c.transportLimits(), c.opts.redact, c.trace(), c.route), transportKind{lines: true}
	return nil
}

// limit completes the client's limits with those of its transport and the defaults.
func (c *Client) limit(of Limits) error {
	limits, err := c.opts.limits.filled(of)
	if err == nil {
		c.opts.limits = limits
	}
	return err
}

func (c *Client) transportLimits() transport.Limits {
	l := &c.opts.limits
	return transport.Limits{
		MessageBytes: l.MessageBytes, Depth: l.JSONDepth, StderrBytes: l.StderrBytes, ExcerptBytes: l.ExcerptBytes,
		HeaderBytes: l.HeaderBytes, Events: l.Events, ChallengeBytes: l.ChallengeBytes, ErrorBytes: l.ErrorBytes, Connections: l.Connections,
		Idle: c.opts.timeouts.Idle,
	}
}

// MinimalEnv returns the part of this process's environment that a child gets unless told otherwise, as "NAME=value":
// PATH, HOME, USER, LOGNAME, SHELL, TMPDIR, TZ, LANG, LC_* and TERM; on Windows their kin. A variable that is not set is
// left out.
func MinimalEnv() []string { return minimalEnv(os.Environ(), runtime.GOOS) }

func minimalEnv(environ []string, goos string) []string {
	kept := map[string]bool{
		"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true,
		"TMPDIR": true, "TZ": true, "LANG": true, "TERM": true,
	}
	if goos == "windows" {
		for _, name := range []string{
			"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES",
			"PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
		} {
			kept[name] = true
		}
	}
	env := []string{}
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if goos == "windows" {
			name = strings.ToUpper(name)
		}
		if ok && (kept[name] || strings.HasPrefix(name, "LC_")) {
			env = append(env, entry)
		}
	}
	return env
}
