package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ConnectError says that there is no connection to the server. Nothing has been sent to it.
type ConnectError struct {
	// Reason is one of the Connect constants.
	Reason string
	// Host is what was to be connected to, "host:port"; the proxy, if it is the proxy that is the trouble.
	Host string
	// Status is the HTTP status with which a proxy refused to connect, 0 if there was none.
	Status int
	// Err is what was seen, with its text escaped and cut.
	Err error
}

// The values of ConnectError.Reason.
const (
	ConnectRefused     = "refused"      // nothing listens there
	ConnectUnknownHost = "unknown host" // the name has no address
	ConnectUnreachable = "unreachable"  // no way leads there
	ConnectReset       = "reset"        // the other side hung up while connecting
	ConnectProxy       = "proxy"        // the proxy is the trouble, or does not connect
	ConnectOther       = "other"
)

func (e *ConnectError) Error() string {
	switch e.Reason {
	case ConnectRefused:
		return fmt.Sprintf("connection to %q refused: nothing listens there", e.Host)
	case ConnectUnknownHost:
		return fmt.Sprintf("host of %q not found: see that its name is spelled right and known to the name servers", e.Host)
	case ConnectUnreachable:
		return fmt.Sprintf("no way leads to %q from this machine's network", e.Host)
	case ConnectReset:
		return fmt.Sprintf("connection to %q closed by the other side while it was made", e.Host)
	case ConnectProxy:
		switch {
		case e.Status == 407:
			return fmt.Sprintf("proxy %q answers with HTTP status 407: it wants other credentials than its URL has", e.Host)
		case e.Status != 0:
			return fmt.Sprintf("proxy %q does not connect: HTTP status %d", e.Host, e.Status)
		case e.Err != nil:
			return fmt.Sprintf("no connection through proxy %q: %s", e.Host, e.Err)
		}
	}
	s := fmt.Sprintf("no connection to %q", e.Host)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *ConnectError) Unwrap() error { return e.Err }

// TLSError says that the other side of a connection is not shown to be the server that was asked for, or that the server
// does not take this client. Of a request, nothing has been sent, except where the server refuses the client's
// certificate: it may do so late.
type TLSError struct {
	// Reason is one of the TLS constants.
	Reason string
	// Host is "host:port".
	Host string
	// Err is what was seen, with its text escaped and cut.
	Err error
}

// The values of TLSError.Reason.
const (
	TLSUntrusted  = "untrusted"          // no authority that is trusted here has signed the certificate
	TLSExpired    = "expired"            // or not valid yet
	TLSName       = "name"               // the certificate is another host's
	TLSPin        = "pin"                // no certificate of the chain is pinned
	TLSClientCert = "client certificate" // the server wants one, or another one
	TLSNotTLS     = "not tls"            // what answers does not speak TLS
	TLSHandshake  = "handshake"          // anything else
)

func (e *TLSError) Error() string {
	s := fmt.Sprintf("TLS with %q: ", e.Host)
	switch e.Reason {
	case TLSUntrusted:
		s += "certificate not signed by an authority that is trusted here, which a private one must be named for"
	case TLSExpired:
		s += "certificate has expired or is not valid yet: renew it, and see that the clocks are right"
	case TLSName:
		s += "certificate is for another name"
	case TLSPin:
		return s + "no certificate of the server's chain has a pinned key"
	case TLSClientCert:
		s += "server refuses the client certificate, or there is none"
	case TLSNotTLS:
		return s + "what answers there does not speak TLS"
	default:
		s += "no handshake"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *TLSError) Unwrap() error { return e.Err }

// TimeoutError says that a step of connecting took longer than HTTPConfig.Connect.
type TimeoutError struct {
	// Waiting is what was waited for: "a connection", "an answer of the proxy" or "the TLS handshake".
	Waiting string
	After   time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s did not come within %s", e.Waiting, e.After)
}

// Timeout reports true, as net.Error wants it.
func (*TimeoutError) Timeout() bool { return true }

// connectError says why a dialler found no way to host.
func connectError(host string, err error) error {
	var (
		address *AddressError
		dns     *net.DNSError
	)
	e := &ConnectError{Reason: ConnectOther, Host: host, Err: err}
	switch {
	case errors.As(err, &address):
		return address
	case errors.As(err, &dns):
		if dns.IsNotFound {
			e.Reason = ConnectUnknownHost
		}
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, wsaRefused):
		e.Reason = ConnectRefused
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, wsaNetUnreachable), errors.Is(err, wsaHostUnreachable):
		e.Reason = ConnectUnreachable
	case hungUp(err):
		e.Reason = ConnectReset
	}
	return e
}

// The numbers under which Windows knows these; other systems do not use them.
const (
	wsaNetUnreachable  = syscall.Errno(10051)
	wsaAborted         = syscall.Errno(10053)
	wsaReset           = syscall.Errno(10054)
	wsaRefused         = syscall.Errno(10061)
	wsaHostUnreachable = syscall.Errno(10065)
)

// hungUp reports whether err says that the other side has ended the connection.
func hungUp(err error) bool {
	for _, end := range []error{
		io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, wsaReset, wsaAborted,
	} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// tlsError says why a handshake came to nothing. Asked is whether the server has asked for a certificate.
func tlsError(host string, err error, asked bool) error {
	var (
		own     *TLSError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
		unknown x509.UnknownAuthorityError
		chain   *tls.CertificateVerificationError
		record  tls.RecordHeaderError
	)
	if errors.As(err, &own) {
		return own
	}
	e := &TLSError{Reason: TLSHandshake, Host: host, Err: err}
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		e.Reason = TLSExpired
	case errors.As(err, &name):
		e.Reason = TLSName
	case errors.As(err, &unknown), errors.As(err, &chain), errors.As(err, &invalid):
		e.Reason = TLSUntrusted
	case errors.As(err, &record):
		e.Reason = TLSNotTLS
	case clientRefused(err, asked):
		e.Reason = TLSClientCert
	}
	return e
}

// clientAlerts are the alerts by which a server says that it does not take the client's certificate, as crypto/tls writes
// them. In TLS 1.3 they come after the handshake.
//
// Spec: RFC 8446 section 6.2.
var clientAlerts = []string{
	"tls: bad certificate", "tls: unsupported certificate", "tls: revoked certificate", "tls: expired certificate",
	"tls: unknown certificate", "tls: unknown certificate authority", "tls: certificate required", "tls: access denied",
}

// clientRefused reports whether err is an alert of the server about the client's certificate. Before TLS 1.3 a server that
// has asked for one has no better alert than that of a handshake.
func clientRefused(err error, asked bool) bool {
	var remote *net.OpError
	if !errors.As(err, &remote) || remote.Op != "remote error" {
		return false
	}
	alert := remote.Err.Error()
	return slices.Contains(clientAlerts, alert) || (asked && alert == "tls: handshake failure")
}

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
