package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// DefaultConnect is how long connecting may take: name resolution and TCP, and as long again for TLS.
const DefaultConnect = 5 * time.Second

const (
	headerBytes = 256 << 10        // of an answer
	idleTime    = 60 * time.Second // after which an unused connection is closed
	idleConns   = 256
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
	// Redirects is how many redirects of one request may be followed: 307 and 308 to the same origin. Zero is none.
	Redirects int
	// Connect bounds name resolution and TCP, and TLS once more. Zero means DefaultConnect.
	Connect time.Duration
	Limits  Limits
	Redact  Redact
	// TLS is used as it is, nil means Go's defaults.
	TLS *tls.Config
}

// HTTP is a connection over Streamable HTTP: each call is one POST whose answer is a JSON body or an SSE stream. TCP
// connections are kept and shared by the calls. There is no proxy, no cookie, no session, no retry and no resumption. A
// context that ends closes the answer of its own call and nothing else.
//
// The address is checked when it is dialled, after name resolution; see AddressError.
//
// Spec: 2026-07-28 basic/transports#streamable-http.
type HTTP struct {
	url       *url.URL
	static    http.Header
	authorize func(context.Context, http.Header) error
	redirects int
	limits    Limits
	redact    Redact
	transport *http.Transport
	life      context.Context // ends with Close
	end       context.CancelFunc

	mu     sync.Mutex
	closed bool
	conns  map[*conn]struct{}
	empty  chan struct{} // closed when closed and there are no conns
}

// NewHTTP checks the configuration and returns the connection. Nothing is sent before the first call. The error is an
// *Error with Op "configure"; an *AddressError inside says that the URL would send plain text to another machine.
func NewHTTP(c HTTPConfig) (*HTTP, error) {
	u, err := endpoint(c.URL)
	if err == nil {
		c.Headers, err = checkHeader(c.Headers)
	}
	if err != nil {
		return nil, &Error{Op: "configure", Err: err}
	}
	connect := c.Connect
	if connect <= 0 {
		connect = DefaultConnect
	}
	h := &HTTP{
		url: u, static: c.Headers, authorize: c.Authorize, redirects: c.Redirects, limits: c.Limits.withDefaults(), redact: c.Redact,
		conns: map[*conn]struct{}{}, empty: make(chan struct{}),
	}
	h.life, h.end = context.WithCancel(context.Background())
	plaintext := u.Scheme == "http"
	dialer := &net.Dialer{Timeout: connect, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		return checkAddress(address, c.AllowPrivate, plaintext)
	}}
	h.transport = &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return h.dial(ctx, dialer, network, address)
		},
		TLSClientConfig:        c.TLS.Clone(),
		TLSHandshakeTimeout:    connect,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           idleConns,
		MaxIdleConnsPerHost:    idleConns,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: headerBytes,
	}
	return h, nil
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
	case u.Scheme == "http" && !local(u.Hostname()):
		return nil, &AddressError{Host: u.Hostname(), Reason: ReasonPlaintext}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// conn is a TCP connection that Close knows.
type conn struct {
	net.Conn
	h *HTTP
}

func (h *HTTP) dial(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	if host, port, err := net.SplitHostPort(address); err == nil && local(host) && net.ParseIP(host) == nil {
		address = net.JoinHostPort("localhost", port) // RFC 6761: no name server is asked about names of this machine
	}
	raw, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
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
	h.transport.CloseIdleConnections()
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

// Do implements Conn.
func (h *HTTP) Do(ctx context.Context, c *Call) (*jsonrpc.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := &exchange{h: h, ctx: ctx, call: c}
	m, err := x.run()
	if err == nil {
		if c.Answered != nil {
			c.Answered(m)
		}
		return m, nil
	}
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	return nil, x.wrap(err)
}

// exchange is one call over HTTP.
type exchange struct {
	h      *HTTP
	ctx    context.Context // of the call, for its length
	call   *Call
	header http.Header
	op     string
	status int
	begun  atomic.Bool // net/http has begun to send the body
	sent   bool
	token  strictjson.Value // the request's progress token, once looked
	looked bool
}

func (x *exchange) run() (*jsonrpc.Message, error) {
	x.op = "configure"
	switch {
	case x.h.Err() != nil:
		return nil, ErrClosed
	case x.call.ID.IsZero():
		return nil, errors.New("request without an id")
	}
	header, err := x.h.header(x.ctx, x.call)
	if err != nil {
		return nil, err
	}
	x.header = header
	target := x.h.url
	for hops := 0; ; hops++ {
		resp, err := x.post(target)
		if err != nil {
			return nil, err
		}
		next, err := x.redirect(resp, target, hops)
		if err != nil || next != nil {
			x.finish(resp.Body, nil)
		}
		if err != nil {
			return nil, err
		}
		if next == nil {
			return x.answer(resp)
		}
		target = next
	}
}

// post sends the request to target.
func (x *exchange) post(target *url.URL) (*http.Response, error) {
	x.op, x.status = "connect", 0
	req := (&http.Request{
		Method: http.MethodPost, URL: target, Host: target.Host, Header: x.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: x.body(), ContentLength: int64(len(x.call.Body)),
		// Used by net/http when a kept connection turns out to be closed before a byte was written, and then only.
		GetBody: func() (io.ReadCloser, error) { return x.body(), nil },
	}).WithContext(x.ctx)
	resp, err := x.h.transport.RoundTrip(req)
	if x.sent = x.begun.Load(); x.sent {
		x.op = "receive"
	}
	if err != nil {
		return nil, err
	}
	x.op, x.sent, x.status = "receive", true, resp.StatusCode
	return resp, nil
}

// body returns the request's body, from its beginning.
func (x *exchange) body() *requestBody {
	b := &requestBody{begun: &x.begun}
	b.Reset(x.call.Body)
	return b
}

// requestBody remembers whether net/http has begun to send it.
type requestBody struct {
	bytes.Reader
	begun *atomic.Bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.begun.Store(true)
	return b.Reader.Read(p)
}

func (b *requestBody) WriteTo(w io.Writer) (int64, error) {
	b.begun.Store(true)
	return b.Reader.WriteTo(w)
}

func (*requestBody) Close() error { return nil }

// redirect returns where the request is to be sent again, or nil when the answer is no redirect.
func (x *exchange) redirect(resp *http.Response, from *url.URL, hops int) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	refused := &RedirectError{Status: resp.StatusCode}
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		refused.Reason = "it names no place"
		return nil, refused
	}
	shown := (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
	if path := string(x.redact([]byte(to.Path))); path != to.Path {
		shown = to.Scheme + "://" + to.Host + path // whatever the escapes in it were
	}
	refused.Location = x.quote([]byte(shown))
	to.Fragment, to.RawFragment = "", ""
	switch {
	case resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect:
		refused.Reason = "it changes the method, and only POST is sent"
	case to.User != nil || origin(to) != origin(from):
		refused.Reason = "it leaves the origin"
	case x.h.redirects <= 0:
		refused.Reason = "redirects are not allowed here"
	case hops >= x.h.redirects:
		refused.Reason = fmt.Sprintf("more than %d in a row", x.h.redirects)
	default:
		return to, nil
	}
	return nil, refused
}

// origin is scheme, host and port of an absolute URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// wrap makes the *Error of a call.
func (x *exchange) wrap(err error) error {
	e := &Error{Op: x.op, Status: x.status, Delivered: x.sent, Err: err}
	var address *AddressError
	switch {
	case x.h.Err() != nil:
		e.Op, e.Err = "close", ErrClosed
	case x.op == "configure", ours(err):
	case errors.As(err, &address):
		e.Err = address
	case errors.Is(err, io.EOF):
		e.Err = io.ErrUnexpectedEOF
	default:
		e.Err = &textError{text: x.quote([]byte(err.Error())), err: err}
	}
	return e
}

// ours reports whether the error's text is made here: it quotes nothing of the server that was not escaped and cut.
func ours(err error) bool {
	switch err.(type) {
	case *FramingError, *ForeignIDError, *HTTPStatusError, *ChallengeError, *RedirectError, *LimitError:
		return true
	}
	return err == io.ErrUnexpectedEOF
}

// textError is an error of net/http, whose text may quote the server, with that text made safe.
type textError struct {
	text string
	err  error
}

func (e *textError) Error() string { return e.text }

// Is and As look into the error; Unwrap would hand its own text to whoever prints the whole chain.
func (e *textError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *textError) As(target any) bool   { return errors.As(e.err, target) }

// redact takes out of a text of the server what the configuration says, and what was sent in configured headers.
func (x *exchange) redact(text []byte) []byte {
	return redact(x.h.redact.of(text), x.header, x.h.static, x.call.Params)
}

// quote makes text of the server printable and takes out what nobody may read.
func (x *exchange) quote(text []byte) string {
	return excerpt(x.redact(text), x.h.limits.ExcerptBytes)
}
