package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Do implements Conn.
func (h *HTTP) Do(ctx context.Context, c *Call) (*jsonrpc.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, &EndedError{Waiting: waitConnect, Err: err}
	}
	x := &exchange{Context: ctx, h: h, call: c}
	m, err := x.run()
	if err == nil {
		if c.Answered != nil {
			c.Answered(m)
		}
		return m, nil
	}
	if ended := ctx.Err(); ended != nil {
		if context.Cause(ctx) == context.DeadlineExceeded {
			x.doubt()
		}
		return nil, &EndedError{Waiting: x.waiting(), Delivered: x.sent, Err: ended}
	}
	if _, stalled := err.(*StallError); stalled {
		x.doubt()
	}
	return nil, x.wrap(err)
}

// exchange is one call over HTTP. It is the context of its own requests, so that what dials for one finds it.
type exchange struct {
	context.Context // of the call

	h      *HTTP
	call   *Call
	header http.Header
	op     string
	status int
	at     atomic.Int32 // a stage
	trace  httptrace.ClientTrace
	pool   *http.Transport // of the latest request
	conn   *http1Conn      // of the latest request over HTTP/1.1
	tls    *tls.Conn       // over HTTP/2
	sent   bool
	watch  watch
	got    int              // bytes of a JSON body
	events eventReader      // of a stream
	token  strictjson.Value // the request's progress token, once looked
	looked bool
}

type exchangeKey struct{}

// Value implements context.Context.
func (x *exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return x
	}
	return x.Context.Value(key)
}

func (x *exchange) run() (*jsonrpc.Message, error) {
	x.op = "configure"
	switch {
	case x.h.Err() != nil:
		return nil, ErrClosed
	case x.call.ID.IsZero():
		return nil, errors.New("request without an id")
	}
	header, err := x.h.header(x.Context, x.call)
	if err != nil {
		return nil, err
	}
	x.header = header
	x.trace.GotConn = func(info httptrace.GotConnInfo) {
		x.conn, _ = info.Conn.(*http1Conn)
		x.tls, _ = info.Conn.(*tls.Conn)
	}
	// Over HTTP/2 the body may have been read and wait for the server to open its window.
	x.trace.WroteRequest = func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			x.reach(stageHeader)
		}
	}
	ctx := httptrace.WithClientTrace(x, &x.trace)
	target := x.h.url
	for hops := 0; ; hops++ {
		resp, err := x.post(ctx, target)
		if err != nil && untouched(err) && x.Err() == nil {
			resp, err = x.post(ctx, target)
		}
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
func (x *exchange) post(ctx context.Context, target *url.URL) (*http.Response, error) {
	x.op, x.status, x.conn, x.tls = "connect", 0, nil, nil
	x.at.Store(int32(stageConnect))
	req := (&http.Request{
		Method: http.MethodPost, URL: target, Host: target.Host, Header: x.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: x.body(), ContentLength: int64(len(x.call.Body)),
	}).WithContext(ctx)
	if x.h.http1.Load() {
		// Used by net/http when a kept connection turns out to be closed before a byte was written, and then only. Over
		// HTTP/2 it would send again a request that the server had in full and may have acted on.
		req.GetBody = x.again
	}
	if x.h.trace != nil {
		x.traceSent(target)
	}
	x.pool = x.h.pool.Load()
	resp, err := x.pool.RoundTrip(req)
	if stage(x.at.Load()) >= stageSend {
		x.op, x.sent = "receive", true
	}
	if err != nil {
		return nil, err
	}
	x.op, x.sent, x.status = "receive", true, resp.StatusCode
	if x.h.trace != nil {
		x.traceStatus(resp, target)
	}
	if x.tls != nil {
		resp.Body = promptBody{resp.Body}
	}
	if k := x.socket(); k != nil {
		k.answered.Store(true)
	}
	return resp, nil
}

// socket is the TCP connection below TLS of the latest request, nil if there is none.
func (x *exchange) socket() *conn {
	secure := x.tls
	if x.conn != nil {
		secure, _ = x.conn.Conn.(*tls.Conn)
	}
	if secure == nil {
		return nil // without TLS nobody asks
	}
	k, _ := secure.NetConn().(*conn)
	return k
}

// untouched reports whether err is that of a server, over HTTP/2, that says it has not looked at the request: it is going
// away, or has too many.
//
// Spec: RFC 9113 section 8.7.
func untouched(err error) bool {
	text := said(err)
	return text == "http2: Transport received Server's graceful shutdown GOAWAY" ||
		(strings.HasPrefix(text, "stream error: ") && strings.HasSuffix(text, "; REFUSED_STREAM; received from peer"))
}

// again returns the body from its beginning, over HTTP/1.1 only.
func (x *exchange) again() (io.ReadCloser, error) {
	if x.conn == nil {
		return nil, errors.New("the server has gone over to HTTP/2")
	}
	return x.body(), nil
}

// body returns the request's body, from its beginning.
func (x *exchange) body() *requestBody {
	b := &requestBody{x: x}
	b.Reset(x.call.Body)
	return b
}

// requestBody notes when net/http begins to send it.
type requestBody struct {
	bytes.Reader
	x *exchange
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.x.reach(stageSend)
	return b.Reader.Read(p)
}

func (b *requestBody) WriteTo(w io.Writer) (int64, error) {
	b.x.reach(stageSend)
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
	refused.Location = x.place(to)
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
		// However the server spells the origin, it is reached over the connections and under the name that it has here.
		to.Scheme, to.Host = from.Scheme, from.Host
		return to, nil
	}
	return nil, refused
}

// origin is scheme, host and port of an absolute URL.
func origin(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(address(u)) }

// redact takes out of a text of the server what the configuration says, and what was sent in configured headers.
func (x *exchange) redact(text []byte) []byte {
	return redact(x.h.redact.of(text), x.header, x.h.static, x.call.Params)
}

// quote makes text of the server printable and takes out what nobody may read.
func (x *exchange) quote(text []byte) string {
	return excerpt(x.redact(text), x.h.limits.ExcerptBytes)
}
