package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/gate"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/proxy"
	"github.com/mcpcat-dev/mcpcat/internal/term"
)

type serveFlags struct {
	agent  string
	stdio  bool
	listen string
	drain  time.Duration
}

func (a *app) serveCommand() *cli.Command {
	var f serveFlags
	return &cli.Command{
		Name:  "serve",
		Usage: "be the MCP server of one agent, behind the lock",
		Description: "Offers exactly what the lock gives to the agent. Before each call the upstream's list is read again; a call whose live\n" +
			"definition is not the pinned one is refused and never reaches the server. Catalog and lock are read once, at the start.\n" +
			"-listen serves Streamable HTTP at /mcp on a loopback address; every program of this machine may then call.",
		Flags: concat([]cli.Flag{
			&cli.StringFlag{Name: "agent", Usage: "serve the agent `NAME`", OnlyOnce: true, Destination: &f.agent},
			&cli.BoolFlag{Name: "stdio", Usage: "serve standard input and output", OnlyOnce: true, Destination: &f.stdio},
			&cli.StringFlag{Name: "listen", Usage: "serve HTTP at `ADDRESS`, such as 127.0.0.1:7331", OnlyOnce: true, Destination: &f.listen},
			&cli.DurationFlag{Name: "drain", Usage: "when stopped, let running calls go on for `DURATION`", Value: 10 * time.Second, OnlyOnce: true, Destination: &f.drain, Validator: func(d time.Duration) error {
				if d < 0 || d > 10*time.Minute {
					return fmt.Errorf("got %s, want 0s to 10m", d)
				}
				return nil
			}},
		}, a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "serve"
			if err := noArgs(c); err != nil {
				return err
			}
			switch {
			case f.agent == "":
				return usage("serve wants -agent=NAME, the agent to serve.")
			case f.stdio == (f.listen != ""):
				return usage("serve wants exactly one of -stdio and -listen=ADDRESS.")
			case a.flags.json:
				return usage("serve prints no document; -log-format=json gives its log as JSON.")
			case f.stdio && c.IsSet("drain"):
				return usage("-drain belongs to -listen: on standard input the agent decides when it ends.")
			}
			return a.serve(ctx, f)
		},
	}
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	var listener net.Listener
	if f.listen != "" {
		var err error
		if listener, err = listen(ctx, f.listen); err != nil {
			return err
		}
		defer listener.Close()
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
	logger := a.log
	if !a.logWanted {
		logger = a.logger(slog.LevelInfo)
	}
	g, err := gate.New(gate.Config{Catalog: cat, Lock: base, Agent: f.agent, Dir: cat.Dir, Lookup: a.Lookup, Version: version, Logger: logger})
	if err != nil {
		return fail(exitFailed, openDiagnostic(err, cat, f.agent))
	}
	defer g.Close()
	o := proxy.Options{Gate: g, Version: version, Logger: logger, Trace: a.traceAgent(logger, f.agent)}
	if listener != nil {
		o.Hosts = proxy.LoopbackHosts
	}
	server := proxy.New(o)
	start := []any{"agent", f.agent, "tools", len(g.Tools()), "lock", cat.Lock, "serial", base.Serial, "root", base.Root.String()}
	if listener == nil {
		logger.Info("serving standard input and output", start...)
		// Not through the hiding writer: it holds bytes back while they may begin a secret, and an agent would wait for
		// them. The gate withholds answers with secrets.
		err = server.Serve(ctx, a.Stdin, a.Stdout)
	} else {
		logger.Info("serving", append([]any{"url", "http://" + listener.Addr().String() + proxy.Path}, start...)...)
		err = serveHTTP(ctx, listener, server, f.drain)
	}
	if err != nil && term.Interrupted(ctx) {
		logger.Info("stopped")
		return nil
	}
	if err != nil {
		return fail(exitFailed, diag.Errorf("serve.failed", "Serving ended", "%s.", upper(diag.Escape(err.Error()))))
	}
	return nil
}

// listen opens a loopback address. Others need TLS and tokens, which this version does not have.
func listen(ctx context.Context, address string) (net.Listener, error) {
	address, err := loopbackAddress(address)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fail(exitFailed, diag.Errorf("serve.listen", "Cannot listen", "%s.", upper(strings.TrimPrefix(err.Error(), "listen "))))
	}
	return l, nil
}

// serveHTTP serves until ctx ends, then lets running calls go on for drain.
func serveHTTP(ctx context.Context, l net.Listener, s *proxy.Server, drain time.Duration) error {
	server := proxy.HTTPServer(s.Handler())
	idle := newConns()
	server.ConnState = idle.state
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(proxy.Limit(l)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	idle.close()
	err := server.Shutdown(limit)
	if err != nil {
		err = server.Close()
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return err
	}
	return ctx.Err()
}

// conns keeps the connections on which nothing was sent yet. http.Server.Shutdown waits five seconds for those, in case a
// request is on its way; clients open such connections in reserve.
type conns struct {
	mu     sync.Mutex
	unused map[net.Conn]bool
	closed bool
}

func newConns() *conns { return &conns{unused: map[net.Conn]bool{}} }

func (c *conns) state(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state != http.StateNew {
		delete(c.unused, conn)
		return
	}
	if c.closed {
		_ = conn.Close() // nothing was promised to the other side
		return
	}
	c.unused[conn] = true
}

func (c *conns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for conn := range c.unused {
		_ = conn.Close() // nothing was promised to the other side
	}
}
