package transport

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

// ErrClosed says that Close was called.
var ErrClosed = errors.New("connection closed")

// Error is how starting a server, connecting to it or a call fails. Err, found through Unwrap, has the facts: one of
// the types of this package, ErrClosed, io.ErrUnexpectedEOF, or an error of the operating system.
type Error struct {
	// Op is what was being done: "start" (a process), "configure" (local values refused), "connect", "send", "receive",
	// "exit" (the process has ended) or "close".
	Op string
	// Status is the HTTP status of the answer, 0 if there was none.
	Status int
	// Delivered says that the request had reached the server whole or, over HTTP, may have: it can have had effects.
	Delivered bool
	// Stderr is the escaped end of what a child process wrote to stderr, at most Limits.ExcerptBytes.
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	if e.Stderr != "" {
		b.WriteString("; stderr ends with \"")
		b.WriteString(e.Stderr)
		b.WriteByte('"')
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// FramingError says that the server sent something that is no message, or no message that a server may send there.
type FramingError struct {
	// Reason says what is wrong, in words of this package.
	Reason string
	// Excerpt is the beginning of what was sent, escaped, at most Limits.ExcerptBytes. It may be empty.
	Excerpt string
	// Echo says that what came back is the request itself, as from a program that copies its input.
	Echo bool
	// Err is the finding of the JSON or message decoder, if that is the reason.
	Err error
}

func (e *FramingError) Error() string {
	if e.Excerpt == "" {
		return e.Reason
	}
	return e.Reason + `: "` + e.Excerpt + `"`
}

func (e *FramingError) Unwrap() error { return e.Err }

// ForeignIDError says that an answer carries another id than any request that waits, or none.
type ForeignIDError struct {
	// Got is the raw id token, escaped and cut; "" when the answer has no id or null.
	Got string
	// Want is the raw id of the request, "" on stdio where several may wait.
	Want string
	// RPC is the JSON-RPC error that was answered, nil for a result.
	RPC *jsonrpc.Error
}

func (e *ForeignIDError) Error() string {
	var b strings.Builder
	if e.Got == "" {
		b.WriteString("answer without an id")
	} else {
		b.WriteString("answer to id " + e.Got)
	}
	if e.Want != "" {
		b.WriteString(", want " + e.Want)
	} else if e.Got != "" {
		b.WriteString(", which no request has")
	}
	appendRPC(&b, e.RPC)
	return b.String()
}

// HTTPStatusError is an HTTP answer with a status other than success that is no answer to the request either.
type HTTPStatusError struct {
	Status int
	// ContentType is the media type of the body, lower case without parameters, escaped and cut.
	ContentType string
	// Excerpt is the beginning of the body, escaped, at most Limits.ExcerptBytes.
	Excerpt string
	// RPC is the JSON-RPC error in the body when its id is absent, null or another one.
	RPC *jsonrpc.Error
}

func (e *HTTPStatusError) Error() string {
	var b strings.Builder
	b.WriteString("HTTP status " + strconv.Itoa(e.Status))
	switch {
	case e.RPC != nil:
		appendRPC(&b, e.RPC)
	case e.Excerpt != "" && e.ContentType != "text/html":
		b.WriteString(`: "` + e.Excerpt + `"`)
	case e.ContentType != "":
		b.WriteString(" with " + e.ContentType)
	}
	return b.String()
}

// ChallengeError is a 401 or 403 answer.
type ChallengeError struct {
	Status int
	// Challenge is the WWW-Authenticate header, several joined with ", ", at most 4 KiB, as received. The error's text
	// leaves it out: it is the server's and may quote what was sent.
	Challenge string
	// RPC is the JSON-RPC error in the body, if there is one.
	RPC *jsonrpc.Error
}

func (e *ChallengeError) Error() string {
	var b strings.Builder
	b.WriteString("HTTP status " + strconv.Itoa(e.Status))
	if e.Status == 401 {
		b.WriteString(" (credentials missing or refused)")
	} else {
		b.WriteString(" (forbidden)")
	}
	appendRPC(&b, e.RPC)
	return b.String()
}

// RedirectError is a redirect that is not followed.
type RedirectError struct {
	Status int
	// Location is where it points, escaped and cut, without user information, query and fragment.
	Location string
	// Reason says why it is not followed.
	Reason string
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("redirect %d to %q not followed: %s", e.Status, e.Location, e.Reason)
}

// AddressError says that a host, or an address it resolves to, may not be contacted.
type AddressError struct {
	// Host is the host as configured or the address that was about to be dialled.
	Host string
	// Reason is "plaintext" (http:// to a host other than the local one), "spelling" (an IPv4 address that is not written
	// as four decimal numbers), "host" (one that is not among those that are allowed), or "loopback", "private", "link-local", "metadata", "unspecified", "multicast", "reserved",
	// "zone" for the class of the address.
	Reason string
}

func (e *AddressError) Error() string {
	switch e.Reason {
	case ReasonPlaintext:
		return fmt.Sprintf("http:// is for this machine only, and %q is another host: use https://", e.Host)
	case ReasonSpelling:
		return fmt.Sprintf("host %q is a number: write an IPv4 address as four decimal numbers without leading zeros", e.Host)
	case ReasonHost:
		return fmt.Sprintf("%q is not among the hosts that may be contacted", e.Host)
	case "loopback", "private":
		return fmt.Sprintf("address %s is %s, which is not allowed unless private addresses are", e.Host, e.Reason)
	}
	return fmt.Sprintf("address %s is never contacted (%s)", e.Host, e.Reason)
}

// Values of AddressError.Reason that are no class of an address.
const (
	ReasonPlaintext = "plaintext" // an http:// URL that does not stay on this machine
	ReasonHost      = "host"      // not one of HTTPConfig.AllowHosts
	ReasonSpelling  = "spelling"  // 0x7f.1, 2130706433, 127.1: programs disagree on what such a host means
)

// LimitError says that the server sent more than is taken.
type LimitError struct {
	What  string
	Limit int64
	Unit  string // "bytes" or "events"
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: more than %d %s", e.What, e.Limit, e.Unit)
}

// ExitError says that the server's process ended, or that it closed its output, while it was needed.
type ExitError struct {
	// Status is the process's end in words, such as "exit status 3" or "signal: killed"; "" when it still runs.
	Status string
	// Code is the exit code, -1 after a signal or when it still runs.
	Code int
	// Err is why the connection ended at this point: io.ErrUnexpectedEOF, or a *FramingError for a cut message.
	Err error
}

func (e *ExitError) Error() string {
	var framing *FramingError
	text := "server exited (" + e.Status + ")"
	if e.Status == "" {
		text = "server closed its output"
	}
	if errors.As(e.Err, &framing) {
		text += ": " + framing.Error()
	}
	return text
}

func (e *ExitError) Unwrap() error { return e.Err }

func appendRPC(b *strings.Builder, rpc *jsonrpc.Error) {
	if rpc != nil {
		fmt.Fprintf(b, `: JSON-RPC error %d "%s"`, rpc.Code, excerpt([]byte(rpc.Text()), defaultExcerpt))
	}
}
