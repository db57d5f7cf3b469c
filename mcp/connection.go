package mcp

import (
	"fmt"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/transport"
)

// StallError says that a message had begun to arrive and that nothing more of it came for Timeouts.Idle. On stdio that ends
// the connection, over HTTP the exchange. It is no end of the client's patience with the request: errors.Is(err,
// context.DeadlineExceeded) does not hold.
type StallError struct {
	Method    string
	Where     string // "a line", "a JSON body" or "an event"
	After     time.Duration
	Bytes     int64  // of the message that had come
	Delivered bool   // the request may have reached the server whole
	Stderr    string // the end of the child's standard error, escaped
}

// Error gives the method, where it stopped, the time and how much had come; nothing of Stderr.
func (e *StallError) Error() string {
	s := fmt.Sprintf("the server stopped within %s: nothing came for %s after %d bytes", e.Where, e.After, e.Bytes)
	if e.Method != "" {
		s = e.Method + ": " + s
	}
	return s
}

// Timeout reports true, as net.Error wants it.
func (e *StallError) Timeout() bool { return true }

// ExitError says that the server's process has ended, or has closed its output, while it was needed. It stands in a
// *TransportError, whose Stderr often says why.
type ExitError struct {
	Status string // the end in words, such as "exit status 3" or "signal: killed"; "" if the process still runs
	Code   int    // the exit code, -1 after a signal or if the process still runs

	err error // what the connection saw: the end of a stream, perhaps within a message
}

// Error gives the status, and the beginning of a message that was cut.
func (e *ExitError) Error() string {
	return (&transport.ExitError{Status: e.Status, Code: e.Code, Err: e.err}).Error()
}

// Unwrap returns what the connection saw.
func (e *ExitError) Unwrap() error { return e.err }

// LostError says that the connection over HTTP broke before the answer was whole. It stands in a *TransportError with
// Delivered set: the request may have had effect, and is not sent again.
//
// Spec: 2026-07-28 basic/transports/streamable-http.
type LostError struct {
	Where string // "before the answer", "in the header", "in a JSON body" or "on an event stream"
	Err   error  // what was seen, escaped and cut
}

// Error gives the place and what was seen.
func (e *LostError) Error() string {
	return "connection lost " + e.Where + " (the request may have had effect): " + e.Err.Error()
}

// Unwrap returns what was seen.
func (e *LostError) Unwrap() error { return e.Err }

// ConnectError says that there is no connection to an HTTP server. Nothing has been sent to it. It stands in a
// *TransportError with Op "connect".
//
// Reason is "refused" (nothing listens there), "unknown host", "unreachable", "reset" (hung up while connecting), "proxy"
// or "other".
type ConnectError struct {
	Reason string
	Host   string // "host:port" of the server, or of the proxy if that is the trouble
	Status int    // the HTTP status with which a proxy refused to connect, 0 if there was none
	Err    error  // what was seen, escaped and cut
}

// Error gives the host, the reason and what may be done about it.
func (e *ConnectError) Error() string {
	return (&transport.ConnectError{Reason: e.Reason, Host: e.Host, Status: e.Status, Err: e.Err}).Error()
}

// Unwrap returns what was seen.
func (e *ConnectError) Unwrap() error { return e.Err }

// TLSError says that what answered is not shown to be the server that was asked for, or that the server does not take this
// client's certificate. It stands in a *TransportError; of the request nothing has been sent, except where the server
// refuses a certificate late, as TLS 1.3 lets it (Delivered is then set).
//
// Reason is "untrusted" (no authority that is trusted here has signed the certificate), "expired" (or not valid yet),
// "name" (the certificate is another host's), "pin" (see HTTPTransport.Pins), "client certificate", "not tls" (what answers
// speaks something else) or "handshake".
type TLSError struct {
	Reason string
	Host   string // "host:port"
	Err    error  // what was seen, escaped and cut
}

// Error gives the host, the reason and what may be done about it.
func (e *TLSError) Error() string {
	return (&transport.TLSError{Reason: e.Reason, Host: e.Host, Err: e.Err}).Error()
}

// Unwrap returns what was seen.
func (e *TLSError) Unwrap() error { return e.Err }
