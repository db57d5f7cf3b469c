package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/lock/boltfile"
	"github.com/mcpcat-dev/mcpcat/internal/upstream"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// Options say which agent of which catalog a Gate is for. Dir and Agent are needed; all else has a default.
type Options struct {
	// Dir is the catalog directory.
	Dir string
	// Agent is the name of an agent block.
	Agent string
	// LockPath overrides the catalog's lock { path }; it is relative to Dir.
	LockPath string
	// Variables are values of the catalog's variables; they win over files and the environment.
	Variables map[string]string
	// Lookup reads the environment, for variables and for what child processes inherit. Nil is os.LookupEnv.
	Lookup func(name string) (string, bool)
	// Logger receives refusals and connection events, without secrets and without text of servers that is not escaped; at
	// slog.LevelDebug also the start and the end of server processes, and at level -8 every message in both directions, cut
	// at 4 KiB. Nil discards them.
	Logger *slog.Logger
}

// Config is what New needs. Its fields name internal types: it is for programs of this module, others use Open.
type Config struct {
	Catalog *catalog.Catalog
	Lock    *lock.Lock
	// Agent is the name of an agent; empty gives a gate in which every pinned and declared tool is exposed under its
	// address, for an operator.
	Agent string
	// Dir is the catalog directory, absolute. Empty: made absolute from Catalog.Dir.
	Dir string
	// Lookup and Logger are as in Options.
	Lookup func(name string) (string, bool)
	Logger *slog.Logger
	// Version is mcpcat's version, told to servers; empty is that of the module.
	Version string
	// Approve, if set, is asked before a server is contacted, each time. An error refuses.
	Approve func(context.Context, *catalog.Server) error
}

// Open loads the catalog in o.Dir and its lock and returns the gate of one agent. Nothing is contacted yet.
//
// The error is an *OpenError for a catalog with errors, a lock that is absent, damaged, of another format or not exactly
// what mcpcat writes, and for an agent that one of the two does not know.
func Open(ctx context.Context, o Options) (*Gate, error) {
	lookup := o.Lookup
	var environ func() []string
	if lookup == nil {
		lookup, environ = os.LookupEnv, os.Environ
	}
	var vars []catalog.VarSource
	for name, value := range o.Variables {
		vars = append(vars, catalog.VarSource{Name: name, Value: value})
	}
	slices.SortFunc(vars, func(a, b catalog.VarSource) int { return strings.Compare(a.Name, b.Name) })
	cat, diags := catalog.Load(catalog.Options{Dir: o.Dir, Lookup: lookup, Environ: environ, Vars: vars, LockPath: o.LockPath})
	if err := diags.Err(); err != nil {
		return nil, &OpenError{What: "catalog", Err: err}
	}
	if o.Logger != nil {
		for _, d := range diags {
			o.Logger.Warn(d.Summary, "code", d.Code, "address", d.Address, "detail", d.Detail)
		}
	}
	loaded, err := boltfile.Load(ctx, filepath.Join(o.Dir, filepath.FromSlash(cat.Lock)))
	if err != nil {
		return nil, &OpenError{What: "lock", Err: err}
	}
	if !loaded.Canonical {
		return nil, &OpenError{What: "lock", Err: fmt.Errorf("%q was not written by mcpcat: restore it from version control, or plan and apply anew", cat.Lock)}
	}
	if o.Agent == "" {
		return nil, &OpenError{What: "agent", Err: errors.New("got no name, want that of an agent block")}
	}
	return New(Config{Catalog: cat, Lock: loaded.Lock, Agent: o.Agent, Lookup: lookup, Logger: o.Logger})
}

// Gate holds what one agent may call and the sessions with the servers behind it. Its methods are safe for concurrent
// use.
type Gate struct {
	agent string
	tools map[string]*tool // by exposed name
	order []*tool          // by exposed name
	log   *slog.Logger

	servers []*session // by address

	ctx    context.Context // lives until Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	close  sync.Once
}

// New returns the gate of one agent. Lock must have been loaded and checked. The error is an *OpenError.
func New(c Config) (*Gate, error) {
	if c.Catalog == nil || c.Lock == nil {
		return nil, &OpenError{What: "lock", Err: errors.New("got no catalog or no lock")}
	}
	if err := c.Catalog.Unsupported().Err(); err != nil {
		return nil, &OpenError{What: "catalog", Err: err}
	}
	if c.Dir == "" {
		c.Dir = c.Catalog.Dir
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, &OpenError{What: "catalog", Err: err}
	}
	if c.Lookup == nil {
		c.Lookup = os.LookupEnv
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Catalog = pinnedNames(c.Catalog, c.Lock, c.Logger)
	g := &Gate{agent: c.Agent, tools: map[string]*tool{}, log: c.Logger}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	dial := upstream.Dialer{Dir: dir, Lookup: c.Lookup, Version: c.Version, Logger: c.Logger}
	sessions := map[addr.Server]*session{}
	for _, decl := range c.Catalog.Servers {
		s := newSession(g, decl, func(ctx context.Context, decl *catalog.Server) (*mcp.Client, error) {
			if c.Approve != nil {
				if err := c.Approve(ctx, decl); err != nil {
					return nil, err
				}
			}
			return dial.Connect(ctx, decl)
		})
		sessions[decl.Addr] = s
		g.servers = append(g.servers, s)
	}
	if err := g.expose(c, sessions); err != nil {
		g.cancel()
		return nil, err
	}
	return g, nil
}

// pinnedNames puts the names that are pinned in place of the patterns of a catalog that they match. What a server offers
// beside them may match, too; it is unknown until it is pinned.
func pinnedNames(cat *catalog.Catalog, l *lock.Lock, log *slog.Logger) *catalog.Catalog {
	expanded, warnings := cat.Expand(l.Names)
	for _, w := range warnings {
		log.Warn(w.Summary, "code", w.Code, "detail", w.Detail)
	}
	return expanded
}

// Tool is a tool as the agent sees it.
type Tool struct {
	Name string // exposed name
	// Definition is the pinned definition, byte for byte, with the exposed name in the member name.
	Definition json.RawMessage
	Address    string // such as server.harbour.tool.tide_table
}

// Tools returns what the agent may call, by name. A tool that is known to be refused is not among them, and comes back when
// a walk finds it as it was pinned. Definitions are not to be changed.
func (g *Gate) Tools() []Tool {
	out := make([]Tool, 0, len(g.order))
	for _, t := range g.order {
		if t.refused() == nil {
			out = append(out, Tool{Name: t.name, Definition: t.definition, Address: t.address})
		}
	}
	return out
}

// Lookup returns the exposed tool called name, whether or not it is refused at present.
func (g *Gate) Lookup(name string) (Tool, bool) {
	t, ok := g.tools[name]
	if !ok || t.definition == nil {
		return Tool{}, false
	}
	return Tool{Name: t.name, Definition: t.definition, Address: t.address}, true
}

// ByAddress returns the exposed name of the tool with that address, the first by name.
func (g *Gate) ByAddress(address string) (name string, ok bool) {
	for _, t := range g.order {
		if t.address == address {
			return t.name, true
		}
	}
	return "", false
}

// ServerStatus is the state of one declared server.
type ServerStatus struct {
	Address   string
	Connected bool
	Checked   time.Time // when the last complete walk began; zero if there was none
	Err       error     // why the last attempt to reach or walk it failed; nil if it did not
	Refused   []*Refusal
}

// Status returns the state of every server that the agent has a tool of, by address.
func (g *Gate) Status() []ServerStatus {
	var out []ServerStatus
	for _, s := range g.servers {
		if len(s.tools) == 0 {
			continue
		}
		st := s.status()
		for _, t := range s.tools {
			if r := t.refused(); r != nil {
				st.Refused = append(st.Refused, r)
			}
		}
		out = append(out, st)
	}
	return out
}

// Close ends all calls with ErrClosed, closes all sessions and returns when nothing is left of them. It may be called more
// than once.
func (g *Gate) Close() error {
	g.close.Do(func() {
		g.cancel()
		for _, s := range g.servers {
			s.shut()
		}
	})
	g.wg.Wait()
	return nil
}
