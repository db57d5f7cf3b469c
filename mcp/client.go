package mcp

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/transport"
)

// Client is a connection to one server. Its methods are safe for concurrent use. It holds no list, no cache and no state
// that one request could leave to another.
type Client struct {
	conn       transport.Conn
	opts       options
	kind       transportKind
	clientInfo []byte // JSON
	discovery  *Discovery
	lastID     atomic.Int64
	dropped    atomic.Uint64

	subscriptions subscriptions
	claimed       bool // on stdio, by the goroutine that reads: a call has dealt with the notification at hand
}

// transportKind is what a Client must know of its transport.
type transportKind struct {
	headers bool // requests have Mcp-Param headers
	lines   bool // a message is one line
	stderr  func() []byte
}

// Connect reaches the server, sends server/discover, before anything else, and returns a Client if the server offers
// exactly ProtocolVersion. Nothing is tried again or in another way. Close the Client when it is no longer needed.
//
// The error is a *LegacyServerError for a server that speaks only older revisions, an *UnsupportedVersionError for one
// that offers others, a *NotMCPError for what is no MCP server, a *ProtocolError, *RPCError, *AuthError, *AddressError,
// *LimitError, *TimeoutError, *TransportError, or a *ContextError if ctx ended first. When Connect fails, nothing of what
// it started is left.
//
// Spec: 2026-07-28 server/discover, basic/versioning.
func Connect(ctx context.Context, t Transport, opts ...Option) (_ *Client, err error) {
	c := &Client{opts: options{info: Implementation{Name: "mcpcat", Version: moduleVersion()}}}
	for _, o := range opts {
		o(&c.opts)
	}
	defer c.name(&err)
	if err := c.prepare(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, &ContextError{Op: "connect", Err: err}
	}
	if t == nil {
		return nil, &RequestError{Method: "connect", Reason: "transport is nil"}
	}
	if err := t.open(ctx, c); err != nil {
		var own *RequestError
		if errors.As(err, &own) {
			return nil, err
		}
		return nil, c.transportError(ctx, "connect", false, err)
	}
	d, err := c.discover(ctx) // without the name, which the error that connectError makes gets in front
	if err == nil {
		err = checkVersions(d.SupportedVersions, c.redacted)
	}
	if err != nil {
		err = c.connectError(err)
		_ = c.conn.Close() // there is a more interesting error to report
		return nil, err
	}
	c.discovery = d
	return c, nil
}

// prepare checks the options and works out what all requests share.
func (c *Client) prepare() error {
	var err error
	if c.opts.timeouts, err = c.opts.timeouts.filled(); err != nil {
		return err
	}
	c.opts.extensions = c.opts.extensions.snapshot()
	if reason := c.opts.capabilities.check(); reason != "" {
		return &RequestError{Method: "connect", Reason: reason}
	}
	if c.opts.info.Name == "" {
		return &RequestError{Method: "connect", Reason: "client info has no name"}
	}
	c.clientInfo = c.opts.info.append(nil)
	v, err := strictjson.Parse(c.clientInfo, strictjson.Limits{Bytes: maxExtraBytes})
	if err != nil {
		return &RequestError{Method: "connect", Reason: "client info", Err: err}
	}
	if _, f := decodeImplementation(v); f != nil {
		return &RequestError{Method: "connect", Reason: "client info", Err: f.err("")}
	}
	return nil
}

// moduleVersion is the version of this module in the running program, "devel" if it was built from a working tree.
func moduleVersion() string {
	const module = "github.com/mcpcat-dev/mcpcat"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module && m.Version != "" && m.Version != "(devel)" {
				return m.Version
			}
		}
	}
	return "devel"
}

// checkVersions accepts exactly ProtocolVersion, compared byte for byte.
func checkVersions(offered []string, redacted func([]string) []string) error {
	if slices.Contains(offered, ProtocolVersion) {
		return nil
	}
	return unsupported(&UnsupportedVersionError{Supported: redacted(offered), Requested: ProtocolVersion})
}

// Discovery returns what the server answered when Connect asked it.
func (c *Client) Discovery() *Discovery { return c.discovery }

// Discover asks the server again. It changes nothing in the Client.
//
// Spec: 2026-07-28 server/discover.
func (c *Client) Discover(ctx context.Context) (_ *Discovery, err error) {
	defer c.name(&err)
	return c.discover(ctx)
}

func (c *Client) discover(ctx context.Context) (*Discovery, error) {
	r, err := c.newRequest(methodDiscover, &RequestMeta{}, c.opts.timeouts.Discover, nil)
	if err != nil {
		return nil, err
	}
	result, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	d, f := decodeDiscovery(result)
	return d, f.hide(c.opts.redact).err(methodDiscover)
}

// Call sends a request of an extension and returns its result, exactly as received: an object whose resultType is
// "complete". Params is a JSON object without _meta, or nil. Methods of the protocol are refused: they have typed methods
// or are no part of this revision.
//
// A result of another type, "input_required" included, is a *ProtocolError; if an extension that the request advertises
// has it registered, it is an *ExtensionResultError, which carries the result.
func (c *Client) Call(ctx context.Context, method string, params jsontext.Value, meta RequestMeta) (_ jsontext.Value, err error) {
	defer c.name(&err)
	if reason := checkExtension(method); reason != "" {
		return nil, &RequestError{Reason: "call of method " + quote(method) + ": " + reason}
	}
	var object strictjson.Value
	if params != nil {
		lim := strictjson.Limits{Bytes: maxRequestBytes, Depth: defaultJSONDepth - 2}
		if err := strictjson.CheckObject(params, lim); err != nil {
			return nil, &RequestError{Method: method, Reason: "params", Err: err}
		}
		object, _ = strictjson.Parse(params, lim)
		if _, has := object.Get("_meta"); has {
			return nil, &RequestError{Method: method, Reason: "params have _meta, which RequestMeta is for"}
		}
	}
	r, err := c.newRequest(method, &meta, c.opts.timeouts.Call, func(dst []byte) []byte {
		members := trimBraces(object)
		if len(members) == 0 {
			return dst
		}
		return append(append(dst, ','), members...)
	})
	if err != nil {
		return nil, err
	}
	result, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	if f := onlyComplete(method, result); f != nil {
		return nil, f.hide(c.opts.redact).err(method)
	}
	return jsontext.Value(result), nil
}

// trimBraces returns what stands between the braces of a checked object, nil if that is only white space.
func trimBraces(object strictjson.Value) []byte {
	for range object.Members() {
		return object[1 : len(object)-1]
	}
	return nil
}

// Dropped returns how many notifications were dropped so far: not asked for, malformed, out of order or too many.
func (c *Client) Dropped() uint64 { return c.dropped.Load() }

// Close ends all requests with ErrClosed, stops what the transport started and returns when nothing is left of it. It may
// be called more than once.
func (c *Client) Close() error {
	c.subscriptions.close()
	err := c.conn.Close()
	c.subscriptions.running.Wait()
	return err
}

// Done is closed when the connection can carry no more requests: after Close, or when a stdio server has ended or broken
// the framing. Over HTTP only Close does it.
func (c *Client) Done() <-chan struct{} { return c.conn.Done() }

// Err is nil before Done is closed, and then says why.
func (c *Client) Err() (err error) {
	defer c.name(&err)
	if err = c.conn.Err(); err == nil {
		return nil
	}
	return c.transportError(context.Background(), "", false, err)
}

// maxAround is how much of a message may stand around its result and be kept with it, as the result is a part of the message's
// bytes. More than that is somebody's attempt to have much kept that no limit counts.
const maxAround = 4 << 10

// do sends the request and returns the result of its answer. An error that the server answered becomes a typed one, and a
// result of a type that an extension adds an *ExtensionResultError.
func (c *Client) do(ctx context.Context, r *request) (strictjson.Value, error) {
	if err := ctx.Err(); err != nil {
		return nil, &ContextError{Op: r.method, Err: err}
	}
	n := c.newNotes(r)
	r.sent = transport.Call{
		ID: r.id, Method: r.method, Name: r.call.name, HasName: r.call.hasName, Params: r.call.params, Body: r.body,
	}
	if !c.kind.lines || n.wanted() { // on stdio route counts what no request looks at
		r.sent.Notify = n.take
	}
	timed := ctx
	if c.kind.lines {
		oneLine(r.body)
		r.sent.Timeout = r.timeout
	} else {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	answer, err := c.conn.Do(timed, &r.sent)
	n.close()
	switch {
	case err == nil && answer.Kind == jsonrpc.Failure:
		return nil, c.answered(r.method, answer.Err)
	case err == nil:
		result := answer.Result
		if answer.Size-len(result) > maxAround {
			result = slices.Clone(result)
		}
		extension, f := c.opts.extensions.result(result, &r.declared)
		switch {
		case f != nil:
			return nil, f.hide(c.opts.redact).err(r.method)
		case extension != nil:
			return nil, &ExtensionResultError{Method: r.method, Result: extension}
		}
		return result, nil
	}
	return nil, c.lost(ctx, r, err)
}

// lost is the error of a request without an answer: err is the transport's.
func (c *Client) lost(ctx context.Context, r *request, err error) error {
	var ended *transport.EndedError
	if ctx.Err() == nil && errors.As(err, &ended) { // not by ctx, so by the request's own time
		return &TimeoutError{Op: r.method, After: r.timeout, Waiting: ended.Waiting, Delivered: ended.Delivered, Stderr: c.tail()}
	}
	return c.transportError(ctx, r.method, wasDelivered(err), err)
}

// tail is the end of what the child wrote to its standard error, for an error.
func (c *Client) tail() string {
	if c.kind.stderr == nil {
		return ""
	}
	return quoteEnd(c.kind.stderr(), c.opts.limits.ExcerptBytes)
}

// wasDelivered reports whether a request that failed with err may have reached the server. Unless the transport says
// otherwise, it may.
func wasDelivered(err error) bool {
	var te *transport.Error
	var ended *transport.EndedError
	switch {
	case errors.As(err, &te):
		return te.Delivered
	case errors.As(err, &ended):
		return ended.Delivered
	}
	return true
}

// waiting is what a request waited for whose context has ended.
func waiting(err error) string {
	var ended *transport.EndedError
	if errors.As(err, &ended) {
		return ended.Waiting
	}
	return ""
}
