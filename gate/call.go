package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/schema"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/upstream"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// Request is one call of a tool.
type Request struct {
	// Name is the exposed name.
	Name string
	// Arguments is a JSON object, which is sent byte for byte; empty is sent as no arguments and checked as {}.
	Arguments json.RawMessage
}

// Result is the outcome of a call that was let through.
type Result struct {
	// Raw is the result object exactly as the server sent it; it was decoded strictly, its structuredContent satisfies the
	// pinned outputSchema, and it holds no secret of the server's block. If the server asked for input, which a Gate does
	// not relay, it is a result of this package with isError.
	Raw     json.RawMessage
	IsError bool
}

// Call calls a tool. What can be refused from catalog and lock alone is refused before the server hears of it; then the
// server's whole list is read, in a walk that began after this call arrived (or that is young enough, if catalog and lock
// say so), and the call is made only if the live definition is the pinned one. The server sees each call at most once.
//
// The error is ErrUnknownTool, a *Refusal, an *ArgumentsError, an *UpstreamError, ErrClosed, or the error of ctx. When ctx
// ends the server is told, and the call may have had effect.
func (g *Gate) Call(ctx context.Context, r Request) (*Result, error) {
	t, ok := g.tools[r.Name]
	if !ok {
		return nil, ErrUnknownTool
	}
	if g.ctx.Err() != nil {
		return nil, ErrClosed
	}
	v, err := g.admit(ctx, t, r.Arguments)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return nil, g.refuse(refusal)
	case err != nil:
		return nil, err
	}
	defer t.server.leave()
	return g.pass(ctx, t, v, r.Arguments)
}

// Check says whether a call would be let through now, as Call does, and makes none: the server's list is read, the tool
// is not called. The error is one of those of Call.
func (g *Gate) Check(ctx context.Context, r Request) error {
	t, ok := g.tools[r.Name]
	if !ok {
		return ErrUnknownTool
	}
	if g.ctx.Err() != nil {
		return ErrClosed
	}
	_, err := g.admit(ctx, t, r.Arguments)
	if err == nil {
		t.server.leave()
	}
	return err
}

// admit decides whether a call of t goes on, and returns the walk that it rests on. What is known already comes first, then
// what can be said from the arguments, then what only the server can say. For that it waits until one call more may be in
// flight; a call that goes on leaves the server when it is done.
func (g *Gate) admit(ctx context.Context, t *tool, arguments json.RawMessage) (*view, error) {
	if t.fault != nil {
		return nil, t.fault
	}
	if refusal := t.unenforced(); refusal != nil {
		return nil, refusal
	}
	s := t.server
	if v := s.known(); v != nil {
		if refusal := t.judge(v.sight(t.upstream), v.number); refusal != nil {
			return nil, refusal
		}
	}
	if err := t.check(arguments); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	v, err := g.verified(ctx, t)
	if err != nil {
		s.leave()
	}
	return v, err
}

// verified returns a walk that found t as it is pinned.
func (g *Gate) verified(ctx context.Context, t *tool) (*view, error) {
	v, err := t.server.fresh(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrClosed):
		return nil, ErrClosed
	case err != nil:
		return nil, &Refusal{Reason: unreached(err), Address: t.address, Locked: t.digest.String(), Err: err}
	}
	if refusal := t.judge(v.sight(t.upstream), v.number); refusal != nil {
		return nil, refusal
	}
	return v, nil
}

// unreached is the reason for a server that was not reached or not walked: what is there is not what was pinned, or nothing is
// known.
func unreached(err error) Reason {
	var (
		content  *upstream.ContentError
		identity *upstream.IdentityError
		secure   *mcp.TLSError
	)
	if errors.As(err, &content) || errors.As(err, &identity) || errors.As(err, &secure) && secure.Reason == "pin" {
		return Identity
	}
	return Unverified
}

func (g *Gate) refuse(r *Refusal) error {
	if g.log.Enabled(g.ctx, slog.LevelWarn) {
		attrs := []slog.Attr{
			slog.String("tool", r.Address), slog.String("agent", g.agent), slog.String("reason", string(r.Reason)),
			slog.String("locked", r.Locked), slog.String("live", r.Live), slog.Any("changed", r.Changed),
		}
		if r.Err != nil {
			attrs = append(attrs, slog.Any("error", r.Err))
		}
		g.log.LogAttrs(g.ctx, slog.LevelWarn, "call refused", attrs...)
	}
	return r
}

// check holds the arguments against the pinned inputSchema. A schema that cannot be applied allows nothing.
func (t *tool) check(arguments json.RawMessage) error {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	policy := func(err error) error {
		return &Refusal{Reason: Policy, Address: t.address, Locked: t.digest.String(), Err: err}
	}
	input, err := t.input.Compile(t.parsed.InputSchema)
	if err != nil {
		return policy(fmt.Errorf("inputSchema: %w", err))
	}
	var (
		invalid *schema.ValidationError
		broken  *schema.InstanceError
	)
	switch err := input.Validate(arguments); {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		if kind := strictjson.Value(bytes.TrimSpace(arguments)).Kind(); kind != strictjson.KindObject {
			return &ArgumentsError{Syntax: "got " + kind.String()}
		}
		return &ArgumentsError{Pointer: invalid.InstancePointer, Keyword: invalid.Keyword, Missing: invalid.Missing}
	case errors.As(err, &broken):
		return &ArgumentsError{Syntax: fmt.Sprintf("%s at byte %d", broken.Reason, broken.Offset)}
	default:
		return policy(fmt.Errorf("arguments could not be checked: %w", err))
	}
}

// pass makes the call on the connection that was walked and holds the answer to the pinned definition.
func (g *Gate) pass(ctx context.Context, t *tool, v *view, arguments json.RawMessage) (*Result, error) {
	s := t.server
	if len(arguments) == 0 {
		arguments = nil
	}
	round, err := v.conn.client.CallTool(ctx, &mcp.CallToolParams{Tool: t.parsed, Arguments: jsontext.Value(arguments)})
	switch {
	case err != nil && g.ctx.Err() != nil:
		return nil, ErrClosed
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		s.unauthorized(v.conn, err)
		return nil, g.failed(t, err)
	}
	if in := round.InputRequired; in != nil {
		g.log.Warn("server asked for input, which is not relayed", "tool", t.address, "agent", g.agent)
		return &Result{Raw: inputAsked(in), IsError: true}, nil
	}
	result := round.Complete
	if s.secrets.in(result.Raw()) {
		return nil, g.refuse(&Refusal{
			Reason: Secret, Address: t.address, Locked: t.digest.String(),
			Err: errors.New("the result holds a secret of the server's own block and was withheld"),
		})
	}
	if a, b := result.ServerInfo, v.server; a != nil && b != nil && (a.Name != b.Name || a.Version != b.Version) {
		s.doubt(v)
		g.log.Warn("the result names another server than the list did", "tool", t.address)
	}
	return &Result{Raw: json.RawMessage(result.Raw()), IsError: result.IsError}, nil
}

// inputAsked is the result of a call that would go on only with an answer of the agent's user.
func inputAsked(in *mcp.InputRequired) json.RawMessage {
	var kinds []string
	for _, r := range in.Requests {
		kinds = append(kinds, r.Method)
	}
	slices.Sort(kinds)
	text := "The tool asked to be called again later, which mcpcat does not do."
	if kinds = slices.Compact(kinds); len(kinds) > 0 {
		text = "The tool asked for input (" + strings.Join(kinds, ", ") + "), which mcpcat does not relay."
	}
	raw := append([]byte(nil), `{"resultType":"complete","content":[{"type":"text","text":`...)
	raw = strictjson.AppendString(raw, text)
	return append(raw, `}],"isError":true}`...)
}

// failed maps a call without a result. Texts and data of the server go on only where the protocol leaves the code to it.
//
// Spec: 2026-07-28 basic#errors.
func (g *Gate) failed(t *tool, err error) error {
	s := t.server
	out := &UpstreamError{
		Address: t.address, Code: jsonrpc.CodeInternal, Delivered: mcp.Delivered(err), Err: s.secrets.cleanError(err),
	}
	var (
		rpc   *mcp.RPCError
		below *mcp.TransportError
	)
	if errors.As(err, &rpc) && ownCode(rpc.Code) && !errors.As(err, &below) {
		if s.secrets.in([]byte(rpc.Message)) || s.secrets.in(rpc.Data) {
			return g.refuse(&Refusal{
				Reason: Secret, Address: t.address, Locked: t.digest.String(),
				Err: errors.New("the error holds a secret of the server's own block and was withheld"),
			})
		}
		out.Code, out.Message, out.Data = rpc.Code, rpc.Message, json.RawMessage(rpc.Data)
	} else {
		out.Message = failure(err)
	}
	if out.Delivered && rpc == nil {
		out.Message += "; the call may have had effect"
	}
	g.log.Warn("call failed", "tool", t.address, "agent", g.agent, "code", out.Code, "delivered", out.Delivered, "error", out.Err)
	return out
}

// failure is what an agent is told of a call without an answer: in words of this package and without anything of the
// server, of which the operator's log has more.
func failure(err error) string {
	for _, kind := range []struct {
		is   any // a pointer to the type of error
		text string
	}{
		{new(*mcp.RequestError), "the call could not be put into a request"},
		{new(*mcp.SchemaError), "the result does not satisfy the tool's outputSchema"},
		{new(*mcp.AuthError), "the upstream server does not accept mcpcat's credentials"},
		{new(*mcp.StallError), "the upstream server stopped within its answer"},
		{new(*mcp.TimeoutError), "the upstream server did not answer in time"},
		{new(*mcp.ExitError), "the upstream server's process ended"},
		{new(*mcp.ProtocolError), "the upstream server did not answer as it should"},
		{new(*mcp.LimitError), "the upstream server answered more than is taken"},
		{new(*mcp.TransportError), "the connection to the upstream server failed"},
	} {
		if errors.As(err, kind.is) {
			return kind.text
		}
	}
	return "the upstream server did not answer as it should"
}

// ownCode says whether a server's error code is its own affair: outside what JSON-RPC and MCP reserve, or one of the two
// that mean the same on both sides.
func ownCode(code int64) bool {
	return code < -32768 || code > -32000 || code == jsonrpc.CodeInvalidParams || code == jsonrpc.CodeInternal
}
