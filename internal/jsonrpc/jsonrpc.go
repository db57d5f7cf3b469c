// Package jsonrpc reads and writes the JSON-RPC 2.0 envelope of MCP, strictly and without losing a byte: ids, params,
// results and error data stay the raw JSON that was received.
//
// It knows four kinds of message and nothing of what MCP puts inside; who may send what is for its users. It does no
// I/O.
//
//	m, err := jsonrpc.Decode(line, strictjson.Limits{})
//	switch {
//	case err != nil: // *strictjson.Error or *ShapeError
//	case m.Kind == jsonrpc.Result && m.ID == want:
//		use(m.Result)
//	}
//
// It stands on strictjson; transport and the server half stand on it.
package jsonrpc

import (
	"fmt"
	"strconv"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Error codes of JSON-RPC, of MCP 2026-07-28, and the one under which mcpcat refuses.
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
	CodeRefused            = 1403
)

// ID is the id of a request: a whole number or a string, kept as the raw token. Two ids are equal (==) if type and token
// are: 1, "1" and "\u0031" are three ids. The zero ID is none.
type ID struct{ raw string }

// maxIDBytes bounds the token of an id.
const maxIDBytes = 1024

// IntID returns the id n.
func IntID(n int64) ID { return ID{strconv.FormatInt(n, 10)} }

// ParseID reads an id: a string, or a number without fraction and exponent; at most 1 KiB. The error is a *ShapeError.
func ParseID(v strictjson.Value) (ID, error) {
	switch v.Kind() {
	case strictjson.KindString:
	case strictjson.KindNumber:
		for _, c := range v {
			if c == '.' || c|0x20 == 'e' {
				return ID{}, &ShapeError{Reason: "id is a number with fraction or exponent, want a string or a whole number"}
			}
		}
	default:
		return ID{}, &ShapeError{Reason: "id is " + v.Kind().String() + ", want a string or a whole number"}
	}
	if len(v) > maxIDBytes {
		return ID{}, &ShapeError{Reason: fmt.Sprintf("id has %d bytes, want at most %d", len(v), maxIDBytes)}
	}
	return ID{string(v)}, nil
}

// Raw returns the JSON token of the id, "" for the zero ID.
func (id ID) Raw() string { return id.raw }

// IsZero reports whether id is none.
func (id ID) IsZero() bool { return id.raw == "" }

// String returns Raw, for error texts.
func (id ID) String() string { return id.raw }

// Error is the error object of a failure.
type Error struct {
	// Code is the error code, any whole number.
	Code int64
	// Message is what the peer says, unescaped but otherwise as received: not for display before it is escaped and cut.
	Message string
	// Data is the member data, nil if absent.
	Data strictjson.Value
	// Shown stands for Message where it is printed, if a transport found in it what must not be; "" if it did not.
	Shown string
}

// Text returns the message as it may be printed, once it is escaped and cut.
func (e *Error) Text() string {
	if e.Shown != "" {
		return e.Shown
	}
	return e.Message
}

// Error returns code and message, the latter quoted and cut at 256 bytes.
func (e *Error) Error() string {
	m := e.Text()
	if len(m) > maxExcerpt {
		m = m[:maxExcerpt]
	}
	return fmt.Sprintf("peer answered with error %d: %s", e.Code, strconv.QuoteToASCII(m))
}

const maxExcerpt = 256

// Kind says what a message is.
type Kind uint8

// The kinds.
const (
	// Request has id and method.
	Request Kind = iota + 1
	// Notification has a method and no id.
	Notification
	// Result has id and result.
	Result
	// Failure has an error and an id; the id may be missing, or null (NullID).
	Failure
)

// String returns the kind with its article.
func (k Kind) String() string {
	switch k {
	case Request:
		return "a request"
	case Notification:
		return "a notification"
	case Result:
		return "a result"
	case Failure:
		return "an error"
	}
	return "nothing"
}

// Message is one decoded message. Its raw parts alias the bytes given to Decode.
type Message struct {
	Kind   Kind
	ID     ID
	Method string
	// Params is nil if absent, otherwise an object.
	Params strictjson.Value
	// Result is an object, for a Result.
	Result strictjson.Value
	// Err is set for a Failure.
	Err *Error
	// Raw is the whole message without white space around it.
	Raw strictjson.Value
	// Size is the length of the text that was decoded. Whoever keeps a part of the message keeps all of that.
	Size int
	// NullID is set for a Failure whose id is null, which MCP's schema forbids and JSON-RPC's habit is.
	NullID bool
}

// ShapeError says why a JSON text is not a message.
type ShapeError struct {
	Reason string
	// ID is the id of the text, if it is an object with a good one: with it a server can answer. Otherwise it is zero.
	ID ID
}

// Error returns the reason.
func (e *ShapeError) Error() string { return "not a JSON-RPC message: " + e.Reason }

func shape(format string, args ...any) error {
	return &ShapeError{Reason: fmt.Sprintf(format, args...)}
}
