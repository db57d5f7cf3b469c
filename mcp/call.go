package mcp

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// CallToolParams are the parameters of CallTool. They are never written to.
type CallToolParams struct {
	// Tool is the definition to call by, for example the pinned one: its name, the Mcp-Param headers and the check of
	// structuredContent come from it. Nothing is remembered from lists.
	Tool *Tool
	// Arguments is a JSON object, sent byte for byte, or nil for none. On stdio, line ends between its tokens become
	// blanks, because a message is one line.
	Arguments jsontext.Value
	// Continue answers a round that asked for input; Tool and Arguments must be those of that round.
	Continue *Continuation
	Meta     RequestMeta
}

// RequestMeta is what one request says beside its parameters. The zero value is a request with the client's defaults.
//
// Spec: 2026-07-28 basic#_meta.
type RequestMeta struct {
	// LogLevel, if not empty, asks for log messages of that level and above, for this request only.
	LogLevel LogLevel
	// OnLog receives them. At most Limits.Logs with Limits.LogBytes are handed over; without LogLevel and OnLog all are
	// dropped and counted.
	OnLog func(LogMessage)
	// OnProgress, if set, makes the request carry a progress token, and receives the notes. Values that do not rise, and
	// what comes beyond Limits.Progress, are dropped and counted.
	//
	// The functions are called one at a time, and never after the call has returned; the call returns after they have.
	OnProgress func(Progress)
	// OnDropped, if set, is called once after the others if notifications of this request were dropped, with their numbers.
	// Over stdio a log message that nothing in flight has asked for belongs to no request; Client.Dropped counts it.
	OnDropped func(DroppedNotes)
	// Extra are further _meta members. Keys must be well-formed; those of the protocol are refused.
	Extra map[string]jsontext.Value
	// Capabilities replaces the client's capabilities for this request.
	Capabilities *ClientCapabilities
	// Timeout replaces the client's timeout for this request; at most MaxCallTimeout.
	Timeout time.Duration

	extensions map[*metaKey]jsontext.Value // written by MetaKey.Set only
}

// LogLevel is one of the eight levels of syslog.
type LogLevel string

// The log levels, from the least to the most severe.
const (
	LogDebug     LogLevel = "debug"
	LogInfo      LogLevel = "info"
	LogNotice    LogLevel = "notice"
	LogWarning   LogLevel = "warning"
	LogError     LogLevel = "error"
	LogCritical  LogLevel = "critical"
	LogAlert     LogLevel = "alert"
	LogEmergency LogLevel = "emergency"
)

// LogMessage is one notifications/message. Raw is its params.
type LogMessage struct {
	Wire
	Level  LogLevel
	Logger *string
	Data   jsontext.Value
}

// Progress is one notifications/progress. Raw is its params. Message is cut at 1 KiB.
type Progress struct {
	Wire
	Progress float64
	Total    *float64
	Message  *string
}

// DroppedNotes says how many notifications of one request were dropped: malformed, out of order, not asked for or beyond
// the limits.
type DroppedNotes struct{ Progress, Logs int }

// Round is the outcome of a request that the server may interrupt to ask for input. Exactly one field is set; Extension
// only if the request advertises an extension whose result types are registered.
//
// Spec: 2026-07-28 basic/patterns/mrtr.
type Round[T any] struct {
	Complete      *T
	InputRequired *InputRequired
	Extension     *ExtensionResult
}

// Result returns the complete result, or an *InputRequiredError or *ExtensionResultError.
func (r *Round[T]) Result() (*T, error) {
	switch {
	case r.InputRequired != nil:
		return nil, &InputRequiredError{Required: r.InputRequired}
	case r.Extension != nil:
		return nil, &ExtensionResultError{Result: r.Extension}
	}
	return r.Complete, nil
}

// CallToolResult is the complete result of tools/call. Content may be empty. StructuredContent is any JSON value, the
// text "null" included; nil means that the member was absent.
//
// Spec: 2026-07-28 server/tools#calling-tools.
type CallToolResult struct {
	Wire
	Content           []ContentBlock
	StructuredContent jsontext.Value
	IsError           bool
	ServerInfo        *Implementation
	Meta              jsontext.Value // _meta, an object, or nil
}

// Err returns a *ToolError if IsError is set, else nil.
func (r *CallToolResult) Err() error {
	if !r.IsError {
		return nil
	}
	return &ToolError{Result: r}
}

// InputRequired is a round in which the server asks for input. Nothing is answered or sent again by this package: the
// host answers with Answer and passes the Continuation to a new call.
//
// State is the exact JSON text of requestState, a string token, nil if there was none; it is opaque.
type InputRequired struct {
	Wire
	Requests map[string]InputRequest // nil if the member was absent
	State    jsontext.Value
	Meta     jsontext.Value

	origin subject // the request that was answered, zero if the value was built by hand
}

// InputRequest is one thing that the server asks for. Params is an object, nil if there was none.
type InputRequest struct {
	Wire
	Method string // elicitation/create, sampling/createMessage or roots/list
	Params jsontext.Value
}

// Continuation carries the answers and the state of one round into the call that follows it, which must be of the same
// method and parameters.
type Continuation struct {
	responses jsontext.Value
	state     jsontext.Value
	origin    subject
}
