// Package proxy is the agent-facing half of mcpcat: an MCP server of revision 2026-07-28 over stdio and Streamable HTTP
// that offers what a gate lets one agent call.
//
// It reads messages strictly, checks them in a fixed order, answers server/discover and tools/list from the gate's table
// and hands tools/call to the gate. Definitions and results pass as bytes; nothing of a request but name and arguments
// goes upstream. It decides nothing about drift and cannot reach a server: package gate holds the sessions, and
// internal/arch sees to it that this package names neither a client nor a transport. There are no sessions, no
// subscriptions and no server-sent events here, and initialize is answered with the revision that is spoken.
//
// In the drawing it is a flow: it stands on gate, jsonrpc, mcpheader and strictjson, and internal/cli wires it.
//
// Bounds: message 16 MiB, JSON depth 128, 256 calls at a time (Options.MaxCalls), and for HTTP 512 connections (Limit), 64
// KiB of every request body and 64 MiB of all further ones at a time, and what HTTPServer sets.
//
// Spec: 2026-07-28 basic, basic/transports/stdio, basic/transports/streamable-http, server/discover, server/tools.
package proxy

import (
	"context"
	"log/slog"
	"sync"

	"github.com/mcpcat-dev/mcpcat/gate"
	"github.com/mcpcat-dev/mcpcat/internal/mcpheader"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Version is the only revision of MCP that this server speaks.
const Version = "2026-07-28"

// Limits that cannot be set.
const (
	MaxMessageBytes = 16 << 20 // one line, one request body
	maxDepth        = 128
	defaultMaxCalls = 256
)

// Gate is what the proxy needs of a gate. Its methods are called concurrently. Definitions that Tools returns are compact
// JSON objects whose member name is the exposed name, they do not change, and the list is sorted by name.
type Gate interface {
	Tools() []gate.Tool
	Lookup(name string) (gate.Tool, bool)
	Call(ctx context.Context, r gate.Request) (*gate.Result, error)
}

// Options of New.
type Options struct {
	// Gate answers lists and calls.
	Gate Gate
	// Version is mcpcat's own version; empty is "devel".
	Version string
	// Logger receives what happens, without arguments and results. Nil discards it.
	Logger *slog.Logger
	// Trace, if set, is given every message of the agent and every one to it. It is called by several goroutines, each of which
	// waits for it, and must neither keep nor change the bytes.
	Trace func(sent bool, message []byte)
	// MaxCalls is how many tools/call run at a time; further ones are answered with a tool error. 0 is 256.
	MaxCalls int
	// Origins are the values of the header Origin that HTTP requests may have, compared exactly. A request without the
	// header passes; the default refuses every request with one.
	Origins []string
	// Hosts are the names that the header Host may have, in lower case and without port. Nil accepts every name: a server
	// on a loopback address sets LoopbackHosts, so that no web page reaches it by another name.
	Hosts []string
}

// LoopbackHosts are the names of this machine for Options.Hosts.
var LoopbackHosts = []string{"127.0.0.1", "localhost", "::1"}

// Server serves one agent. It is safe for concurrent use and holds no state between requests.
type Server struct {
	opts     Options
	log      *slog.Logger
	calls    chan struct{} // one slot for each running call
	info     []byte        // serverInfo
	discover []byte        // the result of server/discover

	bodies budget

	params sync.Map // exposed name → *headerParams
}

type headerParams struct {
	list []mcpheader.Param
	err  error
}

// New returns a server for the gate.
func New(o Options) *Server {
	if o.Version == "" {
		o.Version = "devel"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = defaultMaxCalls
	}
	s := &Server{opts: o, log: o.Logger, calls: make(chan struct{}, o.MaxCalls)}
	s.bodies.give(maxBodies)
	s.info = append(strictjson.AppendString([]byte(`{"name":"mcpcat","version":`), o.Version), '}')
	s.discover = s.appendMeta([]byte(`{"resultType":"complete","supportedVersions":["` + Version +
		`"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private",`))
	return s
}

// appendMeta closes a result with the server's identity.
func (s *Server) appendMeta(dst []byte) []byte {
	dst = append(append(dst, `"_meta":{"`+serverInfoKey+`":`...), s.info...)
	return append(dst, `}}`...)
}

// headerParams returns the parameters that a tool mirrors in headers, or why its annotations are not valid. A definition
// behind one name never changes, so the answer is kept.
func (s *Server) headerParams(t gate.Tool) ([]mcpheader.Param, error) {
	if p, ok := s.params.Load(t.Name); ok {
		return p.(*headerParams).list, p.(*headerParams).err
	}
	p := &headerParams{}
	schema, _ := strictjson.Value(t.Definition).Get("inputSchema")
	p.list, p.err = mcpheader.Scan(schema)
	s.params.Store(t.Name, p)
	return p.list, p.err
}

// Withheld returns the exposed names that are not offered over HTTP, because their header annotations are not valid there,
// with the reasons.
func (s *Server) Withheld() map[string]string {
	out := map[string]string{}
	for _, t := range s.opts.Gate.Tools() {
		if _, err := s.headerParams(t); err != nil {
			out[t.Name] = err.Error()
		}
	}
	return out
}

// list returns the result of tools/list.
func (s *Server) list(overHTTP bool) []byte {
	tools := s.opts.Gate.Tools()
	size := 256
	for _, t := range tools {
		size += len(t.Definition) + 1
	}
	out := append(make([]byte, 0, size), `{"resultType":"complete","tools":[`...)
	first := true
	for _, t := range tools {
		if overHTTP {
			if _, err := s.headerParams(t); err != nil {
				continue
			}
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(out, t.Definition...)
	}
	return s.appendMeta(append(out, `],"ttlMs":0,"cacheScope":"private",`...))
}

// slot takes a place among the running calls; it does not wait.
func (s *Server) slot() (release func(), ok bool) {
	select {
	case s.calls <- struct{}{}:
		return func() { <-s.calls }, true
	default:
		return nil, false
	}
}
