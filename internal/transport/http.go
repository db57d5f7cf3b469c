package transport

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultConnect is how long connecting may take: name resolution and TCP, and as long again for TLS.
const DefaultConnect = 5 * time.Second

const (
	idleTime = 60 * time.Second // after which an unused connection is closed
	// pingAfter is how long an HTTP/2 connection may be silent before it is asked whether it is there, and pingTime how
	// long the answer may take: a connection whose other end is gone would otherwise take in calls for many minutes.
	pingAfter = 30 * time.Second
	pingTime  = 10 * time.Second
)

// HTTPConfig says which endpoint to speak with.
type HTTPConfig struct {
	// URL is the endpoint, https, or http for this machine only, without user information.
	URL string
	// Headers are sent with every request. A name that the protocol, HTTP or a proxy owns, an empty value, and one that
	// no header may have are refused by NewHTTP.
	Headers http.Header
	// Authorize, if set, adds headers to every request; the same rules hold, and a value in Headers of the same name is
	// replaced. Its header starts empty.
	Authorize func(context.Context, http.Header) error
	// AllowPrivate allows loopback and private addresses.
	AllowPrivate bool
	// AllowHosts are the hosts that connections are made to, a name or an IP address for all its ports or "host:port",
	// compared without case; nil allows that of URL alone. A proxy need not be among them.
	AllowHosts []string
	// Redirects is how many redirects of one request may be followed: 307 and 308 to the same origin. Zero is none.
	Redirects int
	// Connect bounds name resolution and TCP, and once more each of what a proxy is asked and TLS. Zero means
	// DefaultConnect.
	Connect time.Duration
	Limits  Limits
	Redact  Redact
	Trace   Trace
	// TLS is what crypto/tls is told, nil for its defaults. A configuration that does not verify, or goes below TLS 1.2, is
	// refused by NewHTTP.
	TLS *tls.Config
	// Pins are SHA-256 digests of a SubjectPublicKeyInfo, of which a certificate of the verified chain must have one; nil
	// for any.
	Pins [][sha256.Size]byte
	// Proxy, if set, is asked once, by NewHTTP, for the http:// proxy of an https endpoint that is not on this machine; a nil
	// URL means none. The proxy resolves the name of the endpoint, so that its addresses are checked only if the URL has
	// them. The proxy itself may have a private address.
	Proxy func(endpoint *url.URL) (*url.URL, error)
	// Resolver resolves names, nil for Go's.
	Resolver *net.Resolver
}

// HTTP is a connection over Streamable HTTP: each call is one POST whose answer is a JSON body or an SSE stream. TCP
// connections are kept and shared by the calls. There is no cookie, no session, no retry and no resumption, and a proxy
// only if the configuration has one. A context that ends closes the answer of its own call and nothing else.
//
// The address is checked when it is dialled, after name resolution; see AddressError.
//
// Spec: 2026-07-28 basic/transports#streamable-http.
type HTTP struct {
	url       *url.URL
	host      string // of url, "host:port"
	dialer    dialer
	tls       *tls.Config
	proxy     *proxy      // nil for none
	http1     atomic.Bool // the latest connection speaks HTTP/1.1
	static    http.Header
	authorize func(context.Context, http.Header) error
	redirects int
	allowed   []string // "host" and "host:port", in lower case
	limits    Limits
	redact    Redact
	trace     Trace
	pool      atomic.Pointer[http.Transport] // of the connections for the calls that begin now
	left      atomic.Pointer[http.Transport] // the pool before, whose calls go on
	life      context.Context                // ends with Close
	end       context.CancelFunc

	mu     sync.Mutex
	closed bool
	conns  map[*conn]struct{}
	empty  chan struct{} // closed when closed and there are no conns
}

// NewHTTP checks the configuration and returns the connection. Nothing is sent before the first call. The error is an
// *Error with Op "configure"; an *AddressError inside says that the URL would send plain text to another machine.
func NewHTTP(c HTTPConfig) (*HTTP, error) {
	h, err := newHTTP(&c)
	if err != nil {
		return nil, &Error{Op: "configure", Err: err}
	}
	h.life, h.end = context.WithCancel(context.Background())
	h.pool.Store(h.newPool())
	return h, nil
}

func newHTTP(c *HTTPConfig) (*HTTP, error) {
	u, err := endpoint(c.URL)
	if err != nil {
		return nil, err
	}
	static, err := checkHeader(c.Headers)
	if err != nil {
		return nil, err
	}
	connect := c.Connect
	if connect <= 0 {
		connect = DefaultConnect
	}
	h := &HTTP{
		url: u, host: address(u), static: static, authorize: c.Authorize, redirects: c.Redirects, limits: c.Limits.withDefaults(), redact: c.Redact,
		trace: c.Trace,
		conns: map[*conn]struct{}{}, empty: make(chan struct{}),
	}
	h.allowed = allowedHosts([]string{h.host})
	if c.AllowHosts != nil {
		h.allowed = allowedHosts(c.AllowHosts)
	}
	if err := h.checkAllowed(h.host); err != nil {
		return nil, err
	}
	h.http1.Store(u.Scheme == "http")
	plaintext, private := u.Scheme == "http", c.AllowPrivate
	h.dialer = dialer{connect: connect, resolver: c.Resolver, check: func(address string) error {
		return checkAddress(address, private, plaintext)
	}}
	if h.tls, err = tlsConfig(c.TLS, c.Pins, h.host); err != nil {
		return nil, err
	}
	h.proxy, err = chooseProxy(c, u, h.limits, connect)
	return h, err
}

func endpoint(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		var reason *url.Error
		if errors.As(err, &reason) {
			err = reason.Err // without the URL, which may hold secrets
		}
		return nil, fmt.Errorf("not a URL: %w", err)
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("URL scheme is %q, want https", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("URL has no host")
	case u.User != nil:
		return nil, errors.New("URL has user information, which is sent in a header instead")
	case checkHost(u.Hostname()) != nil:
		return nil, checkHost(u.Hostname())
	case u.Scheme == "http" && !local(u.Hostname()):
		return nil, &AddressError{Host: u.Hostname(), Reason: ReasonPlaintext}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// address is host and port of an absolute URL.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func (h *HTTP) emptyLocked() {
	if h.closed && len(h.conns) == 0 {
		select {
		case <-h.empty:
		default:
			close(h.empty)
		}
	}
}

// Close implements Conn.
func (h *HTTP) Close() error {
	h.mu.Lock()
	h.closed = true
	h.end()
	for c := range h.conns {
		_ = c.Conn.Close() // net/http learns it by reading
	}
	h.emptyLocked()
	h.mu.Unlock()
	h.pool.Load().CloseIdleConnections()
	if left := h.left.Load(); left != nil {
		left.CloseIdleConnections()
	}
	wait := time.NewTimer(settle)
	defer wait.Stop()
	select {
	case <-h.empty:
	case <-wait.C:
	}
	return nil
}

// Done implements Conn.
func (h *HTTP) Done() <-chan struct{} { return h.life.Done() }

// Err implements Conn.
func (h *HTTP) Err() error {
	if h.life.Err() == nil {
		return nil
	}
	return ErrClosed
}
