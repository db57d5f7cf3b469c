package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// dialer makes TCP connections whose every address has passed a policy.
type dialer struct {
	connect  time.Duration
	resolver *net.Resolver
	check    func(address string) error
}

// dial connects to address, "host:port". Host is what errors call it. The error is an *AddressError, a *ConnectError or a
// *TimeoutError.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name := address
	if host, port, err := net.SplitHostPort(address); err == nil {
		if err := checkHost(host); err != nil {
			return nil, err
		}
		if local(host) && net.ParseIP(host) == nil {
			address = net.JoinHostPort("localhost", port) // RFC 6761: no name server is asked about names of this machine
		}
	}
	// The address is checked here and nowhere else: what the name stood for before or stands for later does not matter.
	of := &net.Dialer{Resolver: d.resolver, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		return d.check(address)
	}}
	timed, cancel := context.WithTimeout(ctx, d.connect)
	defer cancel()
	c, err := of.DialContext(timed, network, address)
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case timed.Err() != nil, isTimeout(err): // the deadline of a socket may come a moment before that of its context
		return nil, &TimeoutError{Waiting: waitConnect, After: d.connect}
	}
	return nil, connectError(name, err)
}

// isTimeout reports whether one of the errors in err's chain says that it is a timeout, as those of package net do.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// allowedHosts is a list of hosts in the form in which checkAllowed looks for them.
func allowedHosts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = canonicalHost(s)
	}
	return out
}

// canonicalHost is a host, or host and port, in lower case and with an IP address in its usual form.
func canonicalHost(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.String()
	}
	if host, port, err := net.SplitHostPort(s); err == nil {
		return net.JoinHostPort(canonicalHost(host), port)
	}
	return strings.ToLower(s)
}

// checkAllowed refuses an address, "host:port", that is not one of those that connections may be made to.
func (h *HTTP) checkAllowed(address string) error {
	whole := canonicalHost(address)
	host, _, err := net.SplitHostPort(whole)
	if err == nil && (slices.Contains(h.allowed, whole) || slices.Contains(h.allowed, host)) {
		return nil
	}
	return &AddressError{Host: excerpt([]byte(address), defaultExcerpt), Reason: ReasonHost}
}

// dialPlain is what net/http calls for http://.
func (h *HTTP) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	return h.dialing(ctx, func(ctx context.Context) (net.Conn, error) {
		if err := h.checkAllowed(address); err != nil {
			return nil, err
		}
		c, err := h.dialer.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if c, err = h.known(c); err != nil {
			return nil, err
		}
		return newHTTP1Conn(c), nil
	})
}

// dialTLS is what net/http calls for https://.
func (h *HTTP) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	return h.dialing(ctx, func(ctx context.Context) (net.Conn, error) {
		raw, err := h.reach(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c, err := h.secure(ctx, raw, address)
		if err != nil {
			_ = raw.Close()
		}
		return c, err
	})
}

// dialing runs f with a context that also ends with h.
func (h *HTTP) dialing(ctx context.Context, f func(context.Context) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	return f(ctx)
}

// reach connects to address, through the proxy if there is one.
func (h *HTTP) reach(ctx context.Context, network, address string) (net.Conn, error) {
	if err := h.checkAllowed(address); err != nil {
		return nil, err
	}
	if h.proxy == nil {
		c, err := h.dialer.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return h.known(c)
	}
	if err := h.checkLiteral(address); err != nil {
		return nil, err
	}
	c, err := h.proxy.dialer.dial(ctx, network, h.proxy.address)
	if err != nil {
		return nil, h.proxy.failed(err)
	}
	noted, err := h.known(c)
	if err != nil {
		return nil, err
	}
	if err := h.proxy.tunnel(ctx, noted, address); err != nil {
		_ = noted.Close()
		return nil, err
	}
	return noted, nil
}

// checkLiteral applies the policy to a host that is an address; a name is the proxy's to resolve.
func (h *HTTP) checkLiteral(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return &ConnectError{Reason: ConnectOther, Host: address, Err: err}
	}
	if err := checkHost(host); err != nil {
		return err
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return h.dialer.check(netip.AddrPortFrom(a, 0).String())
	}
	return nil
}

// secure makes the TLS connection on raw.
func (h *HTTP) secure(ctx context.Context, raw net.Conn, address string) (net.Conn, error) {
	at(ctx, stageTLS)
	config := h.tls.Clone()
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		config.ServerName = host
	}
	auth := noteClientAuth(config)
	c := tls.Client(raw, config)
	timed, cancel := context.WithTimeout(ctx, h.dialer.connect)
	defer cancel()
	switch err := c.HandshakeContext(timed); {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case timed.Err() != nil, isTimeout(err): // the deadline of a socket may come a moment before that of its context
		return nil, &TimeoutError{Waiting: waitTLS, After: h.dialer.connect}
	default:
		return nil, tlsError(address, err, auth.asked.Load())
	}
	isHTTP2 := c.ConnectionState().NegotiatedProtocol == "h2"
	h.http1.Store(!isHTTP2)
	if k, ok := raw.(*conn); ok {
		k.asked, k.given = auth.asked.Load(), auth.given.Load()
		k.late = c.ConnectionState().Version == tls.VersionTLS13
		k.received.Store(0)
	}
	if isHTTP2 {
		return c, nil // net/http looks for exactly this type
	}
	return newHTTP1Conn(c), nil
}

// at notes how far the dialling for a request has come.
func at(ctx context.Context, s stage) {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		x.reach(s)
	}
}

// conn is a TCP connection that Close knows.
type conn struct {
	net.Conn
	h        *HTTP
	received atomic.Int64 // bytes, since the handshake if there was one

	// Of its handshake, set before anybody uses the connection.
	asked, given bool // the server has asked for a certificate, and was given one
	late         bool // the server says only now what it thinks of that (TLS 1.3)
	answered     atomic.Bool
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

// known makes raw known to Close.
func (h *HTTP) known(raw net.Conn) (net.Conn, error) {
	c := &conn{Conn: raw, h: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		_ = raw.Close()
		return nil, ErrClosed
	}
	h.conns[c] = struct{}{}
	return c, nil
}

// Close is what net/http calls when it is done with the connection.
func (c *conn) Close() error {
	c.h.mu.Lock()
	delete(c.h.conns, c)
	c.h.emptyLocked()
	c.h.mu.Unlock()
	return c.Conn.Close()
}
