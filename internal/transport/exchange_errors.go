package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
)

// wrap makes the *Error of a call.
func (x *exchange) wrap(err error) error {
	if said(err) == notEstablished {
		if last := lastWord(x.tls); last != nil && !errors.Is(last, os.ErrDeadlineExceeded) {
			err = last
		}
		if !x.certificateRefused(err) {
			err = &ConnectError{Reason: ConnectReset, Host: x.h.host, Err: err}
		}
	}
	e := &Error{Op: x.op, Status: x.status, Delivered: x.sent, Err: err}
	var (
		address *AddressError
		connect *ConnectError
		late    *TimeoutError
		refused *TLSError
	)
	switch {
	case x.h.Err() != nil:
		e.Op, e.Err = "close", ErrClosed
	case x.op == "configure", ours(err):
	case errors.As(err, &address):
		e.Err = address
	case errors.As(err, &connect):
		e.Err = &ConnectError{Reason: connect.Reason, Host: connect.Host, Status: connect.Status, Err: x.safe(connect.Err)}
	case errors.As(err, &late):
		e.Err = late
	case errors.As(err, &refused):
		e.Err = &TLSError{Reason: refused.Reason, Host: refused.Host, Err: x.safe(refused.Err)}
	case x.certificateRefused(err):
		e.Err = &TLSError{Reason: TLSClientCert, Host: x.h.host, Err: x.safe(err)}
	case tooMuch(err):
		e.Err = &LimitError{What: "the header of the answer", Limit: int64(x.h.limits.HeaderBytes), Unit: "bytes"}
	case errors.Is(err, errUnasked):
		e.Err = &FramingError{Reason: errUnasked.Error(), Err: errUnasked}
	case errors.Is(err, errFolded):
		e.Err = &FramingError{Reason: errFolded.Error(), Err: errFolded}
	case x.cutHeader(err):
		e.Err = &LostError{Where: x.where(), Err: io.ErrUnexpectedEOF}
	case broken(err):
		e.Err = &LostError{Where: x.where(), Err: x.safe(err)}
	case x.op == "receive":
		e.Err = &FramingError{Reason: "the answer is not HTTP as it should be (" + x.quote([]byte(said(err))) + ")", Err: x.safe(err)}
	default:
		e.Err = x.safe(err)
	}
	return e
}

// ours reports whether the error's text is made here: it quotes nothing of the server that was not escaped and cut.
func ours(err error) bool {
	switch err.(type) {
	case *FramingError, *ForeignIDError, *HTTPStatusError, *ChallengeError, *RedirectError, *LimitError, *StallError, *LostError:
		return true
	}
	return false
}

// notEstablished is the text of net/http for a connection of HTTP/2 that ended before its first request.
const notEstablished = "http2: client conn could not be established"

// certificateRefused reports whether err says that the server does not take the client's certificate. In TLS 1.3 it says so
// after the handshake, and what the client has written meanwhile may turn the alert into a plain reset. A server that hangs up
// at the right moment can make a loss look like this: only the words depend on it, Delivered does not.
func (x *exchange) certificateRefused(err error) bool {
	if clientRefused(err, false) {
		return true
	}
	if x.where() != "before the answer" {
		return false
	}
	k := x.socket()
	var op *net.OpError
	switch {
	case k == nil || !k.asked || k.answered.Load(): // it takes this client as it is
		return false
	case !k.given:
		return broken(err) || said(err) == notEstablished
	case !k.late || k.received.Load() > alertBytes:
		return false // it had more to say than an alert
	}
	// What ends a read is read behind the alert, so that there was none. A write may find the connection closed already by
	// whoever has read the alert, and then an alert is what has come.
	return said(err) == notEstablished || (errors.As(err, &op) && op.Op == "write") || (errors.Is(err, net.ErrClosed) && k.received.Load() > 0)
}

// alertBytes is the length of an alert of TLS 1.3: a header of 5 bytes, 2 of content, 1 for its type, 16 of authentication.
//
// Spec: RFC 8446 section 5.2.
const alertBytes = 24

// said is the text of an error of net/http without what net/http puts around the cause. For much of what can be wrong with
// an answer it has no types.
func said(err error) string {
	text := strings.TrimPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ")
	if cause, ok := strings.CutPrefix(text, "http2: Transport: cannot retry err ["); ok {
		text, _, _ = strings.Cut(cause, "] after Request.Body was written")
	}
	return text
}

// tooMuch reports whether err says that a header is over its limit.
func tooMuch(err error) bool {
	text := said(err)
	return strings.HasPrefix(text, "net/http: server response headers exceeded ") ||
		text == "http2: response header list larger than advertised limit" ||
		(strings.HasPrefix(text, "stream error: ") && strings.HasSuffix(text, "; header list too large"))
}

// broken reports whether err says that the connection, or the exchange on it, was ended by the other side or the network.
func broken(err error) bool {
	var op *net.OpError
	if hungUp(err) || errors.As(err, &op) || errors.Is(err, net.ErrClosed) {
		return true
	}
	text := said(err)
	return text == "http: server closed idle connection" || // at the moment of the request
		strings.HasPrefix(text, "http2: client connection ") || strings.HasPrefix(text, "http2: server sent GOAWAY ") || untouched(err) ||
		(strings.HasPrefix(text, "stream error: ") && strings.HasSuffix(text, "; received from peer"))
}

// where says how far the answer had come when the connection broke.
func (x *exchange) where() string {
	switch stage(x.at.Load()) {
	case stageBody:
		return "in a JSON body"
	case stageStream:
		return "on an event stream"
	}
	if x.conn != nil && x.conn.begun.Load() {
		return "in the header"
	}
	return "before the answer"
}

// cutHeader reports whether err is what net/http makes of a header that ends within a line.
func (x *exchange) cutHeader(err error) bool {
	if stage(x.at.Load()) > stageHeader || x.conn == nil || !x.conn.begun.Load() || !x.conn.ended.Load() {
		return false
	}
	text := said(err)
	return !strings.HasPrefix(text, "malformed HTTP ") || strings.HasPrefix(text, `malformed HTTP response "HTTP/1.`) ||
		strings.HasPrefix(text, "malformed HTTP status code ")
}

// safe is an error of the libraries below with a text that may be printed. Nil stays nil.
func (x *exchange) safe(err error) error {
	if err == nil {
		return nil
	}
	text := said(err)
	if errors.Is(err, io.EOF) {
		text = io.ErrUnexpectedEOF.Error()
	}
	return &textError{text: x.quote([]byte(text)), err: err}
}

// textError is an error of net/http and what is below it, whose text may quote the server, with that text made safe.
type textError struct {
	text string
	err  error
}

func (e *textError) Error() string { return e.text }

// Is and As look into the error; Unwrap would hand its own text to whoever prints the whole chain. The end of a stream is
// always an early one here.
func (e *textError) Is(target error) bool {
	return errors.Is(e.err, target) || (target == io.ErrUnexpectedEOF && errors.Is(e.err, io.EOF))
}
func (e *textError) As(target any) bool { return errors.As(e.err, target) }
