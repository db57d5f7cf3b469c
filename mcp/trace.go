package mcp

import "github.com/mcpcat-dev/mcpcat/internal/transport"

// TraceKind says what a TraceEvent is about.
type TraceKind string

// The kinds of trace events.
const (
	TraceSent     TraceKind = "sent"     // a message is about to be sent; over HTTP with the request that carries it
	TraceReceived TraceKind = "received" // a message has come, or something in place of one
	TraceStatus   TraceKind = "status"   // the status and the header of an HTTP answer have come, and then its body
	TraceStderr   TraceKind = "stderr"   // a child has written a line to its standard error
	TraceStart    TraceKind = "start"    // a child was started
	TraceExit     TraceKind = "exit"     // a child has ended
)

// TraceEvent is something that has happened between a Client and its server, for people to read. Its texts are redacted
// whole (WithRedactor), then cut, then escaped so that control and invisible characters show: a text at 4 KiB, names and
// values at 256 bytes. A cut is marked with "…".
type TraceEvent struct {
	Kind   TraceKind
	Server string // as WithName was given it
	Method string // of the message, or of the request that it answers; "" if that is not known
	ID     string // of the message, as JSON text; "" if it has none
	Size   int    // bytes of the message or the line, before it was cut
	Text   string // the message or the line

	// Over HTTP, of what is sent and of a status.
	URL        string // without user information, query and fragment
	Redirected bool   // the URL is one that the server has named
	Status     int    // of a status
	// Header is the fields, sorted: "name: value" for a few whose value is never a secret, otherwise the name. Of an
	// answer fields that are not well known are only counted, as a server may put what it likes into a name.
	Header []string

	// Of the start and the end of a child.
	Command string   // without arguments, which may be anything
	Args    int      // how many there are
	Env     []string // names of the variables that it was given
	PID     int
	Exit    string // how it has ended, such as "exit status 3"
}

// WithTrace makes the Client tell trace of every message in both directions, of the headers of HTTP, of every line of a child's
// standard error, and of the start and the end of the child: what a developer reads to see what was said. Trace is called by
// several goroutines, each of which waits for it, and must not call the Client. What is sent is told before it is sent, so an
// event does not mean that it arrived.
//
// Messages hold what the program and the server say to each other: without WithRedactor a server that repeats a token brings
// it into the trace. Values of headers and of the environment, arguments of the command and the query of the URL are never in
// it, tokens of Authorize and Headers only if they are under 6 bytes. Without a trace nothing is spent on it.
func WithTrace(trace func(TraceEvent)) Option {
	return func(o *options) { o.trace = trace }
}

var traceKinds = [...]TraceKind{
	transport.EventSent: TraceSent, transport.EventReceived: TraceReceived, transport.EventStatus: TraceStatus,
	transport.EventStderr: TraceStderr, transport.EventStart: TraceStart, transport.EventExit: TraceExit,
}

// trace is what the transport tells, nil if nobody asks.
func (c *Client) trace() transport.Trace {
	trace, name := c.opts.trace, c.opts.name
	if trace == nil {
		return nil
	}
	return func(e *transport.Event) {
		trace(TraceEvent{
			Kind: traceKinds[e.Kind], Server: name, Method: e.Method, ID: e.ID, Size: e.Size, Text: e.Text,
			URL: e.URL, Redirected: e.Redirected, Status: e.Status, Header: e.Header,
			Command: e.Command, Args: e.Args, Env: e.Env, PID: e.PID, Exit: e.Exit,
		})
	}
}
