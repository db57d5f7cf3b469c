package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/transport"
)

// ErrClosed is the error of every use of a Client after Close.
var ErrClosed = errors.New("mcp: client is closed")

// ErrLimit is what every *LimitError is, for errors.Is.
var ErrLimit = errors.New("limit passed")

// RPCError is an error that the peer answered with. Message is the peer's text and may be hostile: show it escaped. Data
// is the exact JSON text of the member data, nil if there was none.
//
// Error cuts the message at 256 bytes and escapes it; see WithRedactor.
//
// Spec: 2026-07-28 basic#responses.
type RPCError struct {
	Method  string // the method that was answered, "" if the answer is to no request
	Code    int64
	Message string
	Data    jsontext.Value

	shown string // stands for Message in texts, if not ""
}

// Error gives the method, the code and the message, cut at 256 bytes and escaped, and nothing of Data. If the server
// repeats in the message what was sent in a header that the transport was given, that is left out.
func (e *RPCError) Error() string {
	s := fmt.Sprintf("server answered with error %d: %s", e.Code, quote(e.text()))
	if e.Method != "" {
		s = e.Method + ": " + s
	}
	return s
}

// text is what may be printed of the message, once it is cut and escaped.
func (e *RPCError) text() string {
	if e.shown != "" {
		return e.shown
	}
	return e.Message
}

// HeaderMismatchError is the answer -32020: the server found that a header of the request does not say what its body
// says. Nothing is resent.
//
// Spec: 2026-07-28 basic/transports/streamable-http.
type HeaderMismatchError struct{ RPC *RPCError }

// Error gives the answer, as RPCError.Error does.
func (e *HeaderMismatchError) Error() string { return "header mismatch: " + e.RPC.Error() }

// Unwrap returns the *RPCError as it was received.
func (e *HeaderMismatchError) Unwrap() error { return e.RPC }

// MissingCapabilityError is the answer -32021: the server needs a client capability that the request did not declare.
// Malformed says that data was not as the specification wants it; Required is then nil and RPC.Data has what came.
//
// Spec: 2026-07-28 basic#errors.
type MissingCapabilityError struct {
	RPC       *RPCError
	Required  jsontext.Value // data.requiredCapabilities, an object
	Malformed bool

	shown []string // the redacted names, if there is a redactor
}

// Error gives the names of the capabilities and the answer, escaped and cut.
func (e *MissingCapabilityError) Error() string {
	if e.Malformed {
		return "missing client capability (the server does not say which in the form required): " + e.RPC.Error()
	}
	names := e.shown
	if names == nil {
		names = e.names()
	}
	return "missing client capability " + quoteList(names) + ": " + e.RPC.Error()
}

// names returns what Required has, a mode or feature with its capability's name in front.
func (e *MissingCapabilityError) names() []string {
	if strictjson.CheckObject(e.Required, strictjson.Limits{}) != nil {
		return nil
	}
	var names []string
	for name, m := range trimmed(e.Required).Members() {
		inner := false
		for below := range m.Members() {
			inner = true
			names = append(names, name+"."+below)
		}
		if !inner {
			names = append(names, name)
		}
	}
	return names
}

// Unwrap returns the *RPCError as it was received.
func (e *MissingCapabilityError) Unwrap() error { return e.RPC }

// UnsupportedVersionError says that the server does not speak ProtocolVersion: it answered -32022, or its discovery
// offers only other versions. RPC is nil in the second case. Malformed says that data was not as the specification wants
// it; Supported then holds nothing.
//
// Spec: 2026-07-28 basic/versioning.
type UnsupportedVersionError struct {
	RPC       *RPCError
	Supported []string
	Requested string
	Malformed bool
}

// Error gives the versions that the server offers, escaped and cut.
func (e *UnsupportedVersionError) Error() string {
	s := "server does not support version " + ProtocolVersion
	switch {
	case e.Malformed:
		s += " (what it supports is not said in the form required)"
	case len(e.Supported) == 0:
		s += " and offers no other"
	default:
		s += " and offers " + quoteList(e.Supported)
	}
	if e.RPC != nil {
		s += ": " + e.RPC.Error()
	}
	return s
}

// Unwrap returns the *RPCError as it was received, or nil.
func (e *UnsupportedVersionError) Unwrap() error {
	if e.RPC == nil {
		return nil
	}
	return e.RPC
}

// ProtocolError says that the peer broke the protocol. Path is the JSON Pointer (RFC 6901) of the place in the message,
// "" if there is none. Reason names what was got and what is wanted; peer text in it is cut at 256 bytes and escaped, and
// the value itself is never quoted.
type ProtocolError struct {
	Method string
	Path   string
	Reason string
	Err    error // what the transport found, if the fault is in the framing, or the error of an extension's codec
}

// Unwrap returns what the transport or a codec found, or nil.
func (e *ProtocolError) Unwrap() error { return e.Err }

// Error gives the method, the path and the reason.
func (e *ProtocolError) Error() string {
	var b strings.Builder
	if e.Method != "" {
		b.WriteString(e.Method)
		b.WriteString(": ")
	}
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// LegacyServerError says that the server speaks only revisions of MCP before ProtocolVersion. Versions are those that
// its answer names, if any, as it wrote them. This package never speaks to it: put a bridge in front of such a server.
type LegacyServerError struct {
	Versions []string
	Err      error // how the server showed it, for example an *RPCError; nil if its discovery said so
}

// Error gives the versions that the server named, and how it showed that it is an older one.
func (e *LegacyServerError) Error() string {
	s := "server speaks only an older revision of MCP than " + ProtocolVersion
	if len(e.Versions) > 0 {
		s += " (" + quoteList(e.Versions) + ")"
	}
	var version *UnsupportedVersionError
	switch {
	case errors.As(e.Err, &version): // which would only say the versions again
		if version.RPC != nil {
			s += ": " + version.RPC.Error()
		}
	case e.Err != nil:
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns how the server showed it.
func (e *LegacyServerError) Unwrap() error { return e.Err }

// NotMCPError says that what answered is no MCP server: a web page, a program that repeats what it reads, and so on.
type NotMCPError struct {
	Reason string
	Err    error // what was seen, if there is more to say
}

// Error gives the reason.
func (e *NotMCPError) Error() string { return "not an MCP server: " + e.Reason }

// Unwrap returns what was seen.
func (e *NotMCPError) Unwrap() error { return e.Err }

// TransportError says that the exchange failed below the protocol, or that the peer broke the framing (Err is then a
// *ProtocolError). Err is otherwise a *ConnectError, *TLSError, *LostError, *ExitError, a *TimeoutError of connecting, or
// what the operating system said. Op is what was being done: "start", "configure", "connect", "send", "receive", "exit" (the server's
// process has ended) or "close". Delivered says that the request may have reached the server whole, so that it may have
// had effect. Status is the HTTP status, 0 if there was none. RPC is an error that the answer holds without being an
// answer to the request. Stderr is the end of what the child process wrote to its standard error, escaped; it is not part
// of Error's text.
type TransportError struct {
	Method    string
	Op        string
	Status    int
	Delivered bool
	RPC       *RPCError
	Err       error
	Stderr    string
}

// Error gives the method and the cause; nothing of Stderr.
func (e *TransportError) Error() string {
	var exit *ExitError
	switch {
	case e.Err == nil:
		return e.Method + ": " + e.Op + " went wrong"
	case errors.As(e.Err, &exit) && e.Method != "":
		return exited(e.Method, exit)
	}
	s := e.Err.Error()
	if e.Method != "" && !strings.HasPrefix(s, e.Method+": ") {
		s = e.Method + ": " + s
	}
	return s
}

// exited says during which method the server went away, and how.
func exited(method string, exit *ExitError) string {
	s := "server closed its output during " + method
	if exit.Status != "" {
		s = "server exited during " + method + " (" + exit.Status + ")"
	}
	var framing *transport.FramingError
	if errors.As(exit.err, &framing) {
		s += ": " + framing.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// AuthError is an HTTP answer 401 or 403. Challenge is the WWW-Authenticate header as received, several joined with ", ", at
// most Limits.ChallengeBytes; it is the server's text and no part of Error's. RPC is the error that the body holds, whatever
// its id, nil if there is none.
type AuthError struct {
	Op        string
	Status    int
	Challenge string
	RPC       *RPCError
}

// Error gives the status and the error of the body, escaped and cut; nothing of Challenge.
func (e *AuthError) Error() string {
	s := fmt.Sprintf("%s: HTTP status %d: the server asks for authentication", e.Op, e.Status)
	if e.Status == 403 {
		s = fmt.Sprintf("%s: HTTP status %d: the server refuses this client", e.Op, e.Status)
	}
	if e.RPC != nil {
		s += fmt.Sprintf(" (error %d: %s)", e.RPC.Code, quote(e.RPC.text()))
	}
	return s
}

// AddressError says that the address of an HTTP transport was refused before anything was sent to it: a private address
// without AllowPrivate, one that is never contacted, a host that is not in AllowHosts, or plain HTTP beyond this machine.
//
// Reason is "plaintext", "host" (not in AllowHosts), "spelling" (a host that is a number but not an IPv4 address as four decimal ones: programs disagree
// on what it means), or the class of the address: "loopback", "private", "link-local", "metadata", "unspecified",
// "multicast", "reserved", "zone".
type AddressError struct {
	Host   string
	Reason string
	Err    error
}

// Error gives the host and the reason.
func (e *AddressError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "address " + quote(e.Host) + " refused: " + e.Reason
}

// Unwrap returns what the transport found.
func (e *AddressError) Unwrap() error { return e.Err }

// LimitError says that something passed a limit. errors.Is(err, ErrLimit) holds for it.
type LimitError struct {
	What   string // what passed it, for example `inputSchema of tool "x"`
	Max    int64
	Unit   string // "bytes", "pages", "items", "levels", "events", "digits" and so on
	Method string
}

// Error gives what passed the limit, and the limit.
func (e *LimitError) Error() string {
	s := fmt.Sprintf("%s: more than %d %s", e.What, e.Max, e.Unit)
	if e.Method != "" {
		s = e.Method + ": " + s
	}
	return s
}

// Is reports whether target is ErrLimit.
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// TimeoutError says that the client stopped waiting. errors.Is(err, context.DeadlineExceeded) holds for it.
//
// Waiting is what was waited for when the time was over: "a connection", "an answer of the proxy", "the TLS handshake",
// "the server to read the request", "the header of the answer", "a JSON body", "an answer on an open event stream (3 events
// so far)", "an answer (the process is running)" and the like, "" if nothing had been begun.
type TimeoutError struct {
	Op        string
	After     time.Duration
	Waiting   string
	Delivered bool // the request may have reached the server whole
	Stderr    string
}

// Error gives the time and what was waited for; nothing of Stderr.
func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("%s: no answer within %s", e.Op, e.After)
	if e.Waiting != "" {
		s += ": waited for " + e.Waiting
	}
	return s
}

// Is reports whether target is context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout reports true, as net.Error wants it.
func (e *TimeoutError) Timeout() bool { return true }

// ContextError says that the caller's context ended first. It wins over whatever else went wrong at the same time.
type ContextError struct {
	Op        string
	Delivered bool // the request may have reached the server whole
	Err       error

	waiting string // as TimeoutError.Waiting
}

// Error gives the operation and the context's error.
func (e *ContextError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the context's error.
func (e *ContextError) Unwrap() error { return e.Err }

// NotOfferedError says that a request was not sent because the discovery does not declare the capability it belongs to.
type NotOfferedError struct {
	Method     string
	Capability string
}

// Error gives the method and the capability.
func (e *NotOfferedError) Error() string {
	return fmt.Sprintf("%s: the server does not offer the capability %q", e.Method, e.Capability)
}

// RequestError says that a request was refused here, before anything was sent: arguments that are no JSON object, a
// reserved _meta key, a method that Call does not send, and so on.
type RequestError struct {
	Method string
	Reason string
	Err    error
}

// Error gives the method, the reason and the cause.
func (e *RequestError) Error() string {
	s := e.Reason
	if e.Method != "" {
		s = e.Method + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// The sides of a *SchemaError.
const (
	SideArguments         = "arguments"
	SideStructuredContent = "structuredContent"
)

// SchemaError says that the arguments or the structuredContent of a call do not conform to the tool's schema, that
// structuredContent is missing although there is an outputSchema, or that the schema cannot be used (Keyword is then
// empty; Delivered is false if nothing was sent).
type SchemaError struct {
	Tool      string
	Side      string // SideArguments or SideStructuredContent
	Path      string // JSON Pointer into that side
	Keyword   string // the keyword that failed, "" if none did
	Reason    string
	Delivered bool
	Err       error
}

// Error gives the tool, the path and the keyword, and nothing of the value.
func (e *SchemaError) Error() string {
	s := "tool " + quote(e.Tool) + ": "
	if e.Path != "" {
		s += e.Side + strings.Trim(quote(e.Path), `"`) + ": "
	} else if e.Side == SideArguments {
		s += "arguments "
	}
	s += e.Reason
	if e.Keyword != "" {
		s += " (" + e.Keyword + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *SchemaError) Unwrap() error { return e.Err }

// ToolError is a result with isError: the tool itself failed. It is what CallToolResult.Err returns.
type ToolError struct{ Result *CallToolResult }

// Error gives the first text of the result's content, cut at 256 bytes and escaped.
func (e *ToolError) Error() string {
	for _, block := range e.Result.Content {
		if t, ok := block.(*TextContent); ok {
			return "tool reported an error: " + quote(t.Text)
		}
	}
	return "tool reported an error without text"
}

// InputRequiredError is what Round.Result returns for a round that is not complete.
type InputRequiredError struct{ Required *InputRequired }

// Error gives the number of inputs.
func (e *InputRequiredError) Error() string {
	return fmt.Sprintf("server asks for %d inputs before it answers", len(e.Required.Requests))
}

// Delivered reports whether err says that a request may have reached the server whole, so that it may have had effect.
// It is true for every error that is or carries an answer.
func Delivered(err error) bool {
	var te *TransportError
	var to *TimeoutError
	var ce *ContextError
	var se *SchemaError
	var re *RequestError
	var no *NotOfferedError
	var ae *AddressError
	var st *StallError
	switch {
	case err == nil, errors.As(err, &re), errors.As(err, &no), errors.As(err, &ae):
		return false
	case errors.As(err, &ce):
		return ce.Delivered
	case errors.As(err, &st):
		return st.Delivered
	case errors.As(err, &to):
		return to.Delivered
	case errors.As(err, &te):
		return te.Delivered
	case errors.As(err, &se):
		return se.Delivered
	case errors.Is(err, ErrClosed):
		return false
	}
	return true
}
