// Package transport carries whole JSON-RPC messages of MCP revision 2026-07-28 between a client and one server, over
// the pipes of a child process ([Stdio]) or over HTTP POST requests ([HTTP]).
//
// It knows framing, correlation by id, cancellation, the process tree and HTTP headers. It does not know what a method
// means: requests arrive as finished bytes, answers leave as decoded [jsonrpc.Message] values, and results, schemas and
// versions are judged by package mcp above it. It never retries, resumes, renegotiates or falls back.
//
//	c, err := transport.NewHTTP(transport.HTTPConfig{URL: "https://tools.example/mcp"})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	answer, err := c.Do(ctx, &transport.Call{ID: id, Method: "tools/list", Body: body})
//
// It stands between mcp and internal/jsonrpc: mcp -> transport -> jsonrpc -> strictjson.
package transport

import (
	"context"
	"errors"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// ProtocolVersion is the only revision spoken, as it stands in the MCP-Protocol-Version header.
const ProtocolVersion = "2026-07-28"

// Header is one HTTP header field. Value is the text that goes on the wire, already encoded.
type Header struct{ Name, Value string }

// Call is one request. A Call is read until Do returns and never written to.
type Call struct {
	// ID is the id that stands in Body. On stdio no two calls in flight on one connection may have the same one.
	ID jsonrpc.ID
	// Method is the method that stands in Body; over HTTP it becomes the Mcp-Method header.
	Method string
	// Name is params.name or params.uri as it stands in Body, for the methods that have an Mcp-Name header; HasName
	// says whether there is one. It is encoded for the header by the transport. Stdio ignores it.
	Name    string
	HasName bool
	// Params are the Mcp-Param-* headers of a tools/call: full header name, encoded value. Stdio ignores them.
	Params []Header
	// Body is the whole JSON-RPC request without a newline anywhere in it. It is sent as it is.
	Body []byte
	// Timeout, if positive, bounds the call on stdio beside the context, for less than a context of its own costs: the end
	// is an *EndedError around context.DeadlineExceeded. Over HTTP the context alone bounds it.
	Timeout time.Duration
	// Notify, if set, is given the notifications that arrive while the call is in flight, in order and one at a time,
	// and is never called after Do has returned. Over HTTP these are the ones of this call's own stream, of which a
	// notification that cannot belong to the request is an error and is not handed on; on stdio they are all that the
	// connection carries, whoever they are meant for. Notify must return soon and must not call the connection: nothing
	// else is read in the meantime.
	Notify func(*jsonrpc.Message)
	// Answered, if set, is given what Do is about to return as the answer, before anything that follows it is read: so
	// Notify and Answered see messages in the order in which the server sent them. The rules of Notify hold for it.
	Answered func(*jsonrpc.Message)
}

// ErrWithdrawn is the cause (context.WithCancelCause) of the end of a call's context where the server has itself given up
// the request: it is sent no notifications/cancelled. An answer that still comes is dropped, as after every
// cancellation.
var ErrWithdrawn = errors.New("the server has withdrawn the request")

// Conn is a connection to one server. Its methods are safe for concurrent use.
type Conn interface {
	// Do sends the request and returns its answer, a message of kind Result or Failure whose id is the call's. The error
	// is an *EndedError with ctx's when ctx has ended, whatever else went wrong, and otherwise an *Error.
	Do(ctx context.Context, c *Call) (*jsonrpc.Message, error)
	// Close ends the connection; calls in flight return ErrClosed. It returns once everything the connection started has
	// ended, within a bounded time, and may be called more than once.
	Close() error
	// Done is closed when the connection can carry no more calls.
	Done() <-chan struct{}
	// Err is nil before Done is closed, and then says why.
	Err() error
}

// Redact takes out of a text of the server what nobody may read, before anything of it is cut or escaped for an error. It
// must not change what it is given and is called by several goroutines. Nil takes out nothing.
type Redact func([]byte) []byte

// of returns what f leaves of text.
func (f Redact) of(text []byte) []byte {
	if f == nil || len(text) == 0 {
		return text
	}
	return f(text)
}

// decoding is err, which jsonrpc.Decode had for text, with the member names in it redacted.
func (f Redact) decoding(err error, text []byte) error {
	var syntax *strictjson.Error
	if f != nil && errors.As(err, &syntax) {
		return syntax.Redacted(text, f)
	}
	return err
}

// show redacts the text of an error that is printed. The message itself stays.
func (f Redact) show(e *jsonrpc.Error) {
	if e == nil || f == nil {
		return
	}
	if shown := string(f.of([]byte(e.Text()))); shown != e.Text() {
		e.Shown = shown
	}
}

// Limits bounds what is taken from a server. A field that is not positive means the default.
type Limits struct {
	// MessageBytes is the longest line on stdio (without its line end), the longest HTTP body that is one message, and
	// the longest SSE event (line ends counted, comment lines not). Default 16 MiB.
	MessageBytes int
	// Depth is the deepest nesting of a JSON text. Default 128.
	Depth int
	// StderrBytes is how much of the end of a child's stderr is kept. Default 64 KiB.
	StderrBytes int
	// ExcerptBytes is the most that an error quotes of what a server sent, counted after escaping. Default 256.
	ExcerptBytes int
	// Events is how many SSE events one answer may have, except that of subscriptions/listen. Default 10,000.
	Events int
	// HeaderBytes is the longest header of an HTTP answer, with the informational ones before it, and the longest answer of
	// a proxy. Default 256 KiB.
	HeaderBytes int
	// ChallengeBytes is how much of the WWW-Authenticate headers of one answer is kept. Default 4 KiB.
	ChallengeBytes int
	// ErrorBytes is how much is read of the body of an HTTP answer with another status than 200. Default 256 KiB.
	ErrorBytes int
	// Connections is how many TCP connections to an HTTP server there are at a time; a call that finds none free waits.
	// Default 256.
	Connections int
	// Idle is how long a message that has begun may pause: a line, a JSON body, an SSE event. Default 10 s.
	Idle time.Duration
}

func (l Limits) withDefaults() Limits {
	def := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	def(&l.MessageBytes, 16<<20)
	def(&l.Depth, strictjson.DefaultMaxDepth)
	def(&l.StderrBytes, 64<<10)
	def(&l.ExcerptBytes, 256)
	def(&l.Events, 10_000)
	def(&l.HeaderBytes, 256<<10)
	def(&l.ChallengeBytes, 4<<10)
	def(&l.ErrorBytes, 256<<10)
	def(&l.Connections, 256)
	if l.Idle <= 0 {
		l.Idle = 10 * time.Second
	}
	return l
}

func (l Limits) json() strictjson.Limits {
	return strictjson.Limits{Bytes: l.MessageBytes, Depth: l.Depth}
}
