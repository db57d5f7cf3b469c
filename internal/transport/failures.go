package transport

import (
	"fmt"
	"time"
)

// EndedError says that the context of a call ended before its answer was there. It wins over whatever else went wrong at
// the same time.
type EndedError struct {
	// Waiting is what was waited for, in words of this package that follow "waited for", such as "a connection", "the
	// server to read the request", "the header of the answer" or "an answer (the process is running)".
	Waiting string
	// Delivered says that the request had reached the server whole, or may have: it can have had effects.
	Delivered bool
	// Err is the context's own error.
	Err error
}

func (e *EndedError) Error() string { return e.Err.Error() + ": waited for " + e.Waiting }

func (e *EndedError) Unwrap() error { return e.Err }

// StallError says that a message had begun to arrive and that nothing more of it came for as long as Limits.Idle. On
// stdio that ends the connection, over HTTP the exchange.
type StallError struct {
	// Where is what had begun: "a line", "a JSON body" or "an event".
	Where string
	// After is Limits.Idle.
	After time.Duration
	// Bytes is how much of the message had come.
	Bytes int64
}

func (e *StallError) Error() string {
	return fmt.Sprintf("the server stopped within %s: nothing came for %s after %d bytes", e.Where, e.After, e.Bytes)
}

// Timeout reports true, as net.Error wants it.
func (*StallError) Timeout() bool { return true }

// LostError says that the connection broke before the answer was whole. The request had been sent, so it may have had
// effect.
type LostError struct {
	// Where says how far the answer had come: "before the answer", "in the header", "in a JSON body", "on an event
	// stream".
	Where string
	// Err is what was seen, with its text escaped and cut.
	Err error
}

func (e *LostError) Error() string {
	return "connection lost " + e.Where + ": " + e.Err.Error()
}

func (e *LostError) Unwrap() error { return e.Err }
