package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
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
		s += "certificate not signed by an authority that is trusted here (a private one has to be named)"
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
