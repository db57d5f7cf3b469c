package mcp

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/transport"
)

// answered makes a typed error of one that the server answered with. Data that is not as it should be does not hide the
// code.
func answered(method string, e *jsonrpc.Error) error {
	rpc := newRPCError(e)
	rpc.Method = method
	switch rpc.Code {
	case jsonrpc.CodeHeaderMismatch:
		return &HeaderMismatchError{RPC: rpc}
	case jsonrpc.CodeMissingCapability:
		required, ok := e.Data.Get("requiredCapabilities")
		if !ok || required.Kind() != strictjson.KindObject {
			return &MissingCapabilityError{RPC: rpc, Malformed: true}
		}
		return &MissingCapabilityError{RPC: rpc, Required: jsontext.Value(required)}
	case jsonrpc.CodeUnsupportedVersion:
		u := &UnsupportedVersionError{RPC: rpc, Malformed: true}
		supported, ok := e.Data.Get("supported")
		if !ok {
			return u
		}
		versions, f := asStrings("supported", supported)
		if f != nil {
			return u
		}
		requested, _ := e.Data.Get("requested")
		text, ok := requested.Text()
		u.Supported, u.Requested, u.Malformed = versions, text, !ok
		return u
	}
	return rpc
}

func newRPCError(e *jsonrpc.Error) *RPCError {
	return &RPCError{Code: e.Code, Message: e.Message, Data: jsontext.Value(e.Data), shown: e.Shown}
}

// answered is the function of that name with what the errors say redacted.
func (c *Client) answered(method string, e *jsonrpc.Error) error {
	err := answered(method, e)
	if c.opts.redact == nil {
		return err
	}
	switch e := err.(type) {
	case *MissingCapabilityError:
		e.shown = c.redacted(e.names())
	case *UnsupportedVersionError:
		e.Supported = c.redacted(e.Supported)
		e.Requested = c.redacted([]string{e.Requested})[0]
	}
	return err
}

// redacted is a copy of list with each text redacted.
func (c *Client) redacted(list []string) []string {
	if c.opts.redact == nil || list == nil {
		return list
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(c.opts.redact([]byte(s)))
	}
	return out
}

// redactedPointer redacts the steps of a JSON Pointer that ends with "…" if it was cut; the cut step goes.
func (c *Client) redactedPointer(pointer string) string {
	if c.opts.redact == nil || pointer == "" {
		return pointer
	}
	whole, wasCut := strings.CutSuffix(pointer, "…")
	steps := strings.Split(whole, "/")
	if wasCut {
		steps[len(steps)-1] = "…"
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i, step := range steps {
		steps[i] = pointerEscape.Replace(string(c.opts.redact([]byte(unescape.Replace(step)))))
	}
	return strings.Join(steps, "/")
}

// transportError makes an error of this package of one of the transport. The context's own error wins.
func (c *Client) transportError(ctx context.Context, method string, delivered bool, err error) error {
	if ended := ctx.Err(); ended != nil {
		return &ContextError{Op: method, Delivered: delivered, Err: ended, waiting: waiting(err)}
	}
	if te := fromConnection(method, delivered, err); te != nil {
		return te
	}
	te := &TransportError{Method: method, Delivered: delivered, Err: err}
	var low *transport.Error
	if errors.As(err, &low) {
		te.Op, te.Status, te.Stderr, te.Err = low.Op, low.Status, low.Stderr, low.Err
	}
	var (
		framing   *transport.FramingError
		foreign   *transport.ForeignIDError
		status    *transport.HTTPStatusError
		challenge *transport.ChallengeError
		address   *transport.AddressError
		limit     *transport.LimitError
	)
	switch {
	case errors.Is(err, transport.ErrClosed):
		te.Err = ErrClosed
	case errors.As(err, &address):
		return &AddressError{Host: address.Host, Reason: address.Reason, Err: address}
	case errors.As(err, &challenge):
		auth := &AuthError{Op: method, Status: challenge.Status, Challenge: challenge.Challenge}
		if challenge.RPC != nil {
			auth.RPC = newRPCError(challenge.RPC)
		}
		return auth
	case errors.As(err, &limit):
		te.Err = &LimitError{Method: method, What: limit.What, Max: limit.Limit, Unit: limit.Unit}
	case errors.As(err, &framing):
		te.Err = fromFraming(method, framing, c.opts.limits)
	case errors.As(err, &foreign):
		te.Err = &ProtocolError{Method: method, Reason: foreign.Error(), Err: foreign}
		if foreign.RPC != nil {
			te.RPC = newRPCError(foreign.RPC)
		}
	case errors.As(err, &status):
		if te.Status == 0 {
			te.Status = status.Status
		}
		if status.RPC != nil {
			te.RPC = newRPCError(status.RPC)
		}
	}
	return te
}

// fromConnection makes an error of this package of one that is about the connection alone, or returns nil.
func fromConnection(method string, delivered bool, err error) error {
	te := &TransportError{Method: method, Delivered: delivered, Err: err}
	var low *transport.Error
	if errors.As(err, &low) {
		te.Op, te.Status, te.Stderr, te.Err = low.Op, low.Status, low.Stderr, low.Err
	}
	switch e := te.Err.(type) {
	case *transport.StallError:
		return &StallError{Method: method, Where: e.Where, After: e.After, Bytes: e.Bytes, Delivered: delivered, Stderr: te.Stderr}
	case *transport.TimeoutError:
		te.Err = &TimeoutError{Op: "connect", After: e.After, Waiting: e.Waiting}
	case *transport.ExitError:
		te.Err = &ExitError{Status: e.Status, Code: e.Code, err: e.Err}
	case *transport.LostError:
		te.Err = &LostError{Where: e.Where, Err: e.Err}
	case *transport.ConnectError:
		te.Err = &ConnectError{Reason: e.Reason, Host: e.Host, Status: e.Status, Err: e.Err}
	case *transport.TLSError:
		te.Err = &TLSError{Reason: e.Reason, Host: e.Host, Err: e.Err}
	default:
		return nil
	}
	return te
}

func fromFraming(method string, e *transport.FramingError, limits Limits) error {
	if errors.Is(e.Err, strictjson.ErrLimit) {
		return fromStrict(method, e.Err, strictjson.Limits{Bytes: limits.MessageBytes, Depth: limits.JSONDepth})
	}
	p := &ProtocolError{Method: method, Reason: e.Error(), Err: e}
	var se *strictjson.Error
	if errors.As(e.Err, &se) {
		p.Path = se.Pointer
	}
	return p
}

var (
	legacyText  = regexp.MustCompile(`(?i)unsupported protocol version|not initialized|session id`)
	versionText = regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)
	versionOnly = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
)

// connectError finds out what a failure to connect says about who is there: an older server, or none at all. Everything
// else stays as it is.
func (c *Client) connectError(err error) error {
	var (
		version *UnsupportedVersionError
		rpc     *RPCError
		te      *TransportError
		framing *transport.FramingError
		status  *transport.HTTPStatusError
	)
	switch {
	case errors.As(err, &version):
		return unsupported(version)
	case errors.As(err, &rpc):
		if isLegacyCode(rpc.Code) {
			return &LegacyServerError{Versions: versionsIn(rpc.text()), Err: err}
		}
		return err
	case !errors.As(err, &te):
		return err
	case errors.As(err, &framing) && framing.Echo:
		return &NotMCPError{Reason: "it sends back what it is sent", Err: err}
	case te.RPC != nil && te.Status != 0 && (isLegacyCode(te.RPC.Code) || legacyText.MatchString(te.RPC.Message)):
		return &LegacyServerError{Versions: versionsIn(te.RPC.text()), Err: err}
	case errors.As(err, &status):
		return fromStatus(status, err)
	case errors.As(err, &framing) && strings.Contains(framing.Reason, "text/html"):
		return &NotMCPError{Reason: "it answers with a web page", Err: err}
	}
	return err
}

// fromStatus judges an HTTP answer to server/discover that is no JSON-RPC answer.
func fromStatus(status *transport.HTTPStatusError, err error) error {
	switch {
	case (status.Status == 400 || status.Status == 404) && legacyText.MatchString(status.Excerpt):
		return &LegacyServerError{Versions: versionsIn(status.Excerpt), Err: err}
	case status.ContentType == "text/html":
		return &NotMCPError{Reason: "it answers with a web page", Err: err}
	case status.Status == 404 || status.Status == 405:
		return &NotMCPError{Reason: "there is no MCP endpoint at this address", Err: err}
	}
	return err
}

// isLegacyCode reports whether a server that answers server/discover with this code does not know this revision: it does
// not know the method, or it wants a session first.
func isLegacyCode(code int64) bool {
	return code == jsonrpc.CodeMethodNotFound || code == 0 || code == -32000
}

// versionsIn finds the versions that a text names, other than the one asked for.
func versionsIn(text string) []string {
	var versions []string
	for _, v := range versionText.FindAllString(text[:min(len(text), 4096)], 16) {
		if v != ProtocolVersion && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	return versions
}

// unsupported names a server that offers older versions only for what it is. One that offers newer ones, none, or says
// that it supports the one it refuses, stays an *UnsupportedVersionError.
func unsupported(e *UnsupportedVersionError) error {
	if e.Malformed || slices.Contains(e.Supported, ProtocolVersion) {
		return e
	}
	for _, v := range e.Supported {
		if v < ProtocolVersion && versionOnly.MatchString(v) {
			return &LegacyServerError{Versions: e.Supported, Err: e}
		}
	}
	return e
}
