package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

const (
	// errorTime bounds the reading of a body that is not an answer, as Limits.ErrorBytes does.
	errorTime = time.Second
	// restBytes and restTime bound what is read behind the answer so that the connection can be used again.
	restBytes = 1 << 10
	restTime  = 2 * time.Millisecond
)

const (
	mediaJSON = "application/json"
	mediaSSE  = "text/event-stream"
)

// answer reads the response to the request.
func (x *exchange) answer(resp *http.Response) (*jsonrpc.Message, error) {
	x.at.Store(int32(stageBody))
	if x.tls != nil {
		defer context.AfterFunc(x.Context, func() { _ = resp.Body.Close() })()
	}
	x.watch.body, x.watch.idle = resp.Body, x.h.limits.Idle
	x.watch.conn, x.watch.chunked = x.conn, len(resp.TransferEncoding) > 0
	media, err := x.media(resp)
	if resp.StatusCode != http.StatusOK {
		return x.refused(resp, media)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	if media == mediaSSE {
		return x.stream(resp.Body)
	}
	body, err := x.readBody(resp)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	m, err := jsonrpc.Decode(body, x.h.limits.json())
	if x.h.trace != nil {
		x.traceBody(body, len(body), m)
	}
	if err != nil {
		err = Redact(x.redact).decoding(err, body)
		return nil, x.framing("the body is not a JSON-RPC message ("+err.Error()+")", body, err)
	}
	if m.Kind != jsonrpc.Result && m.Kind != jsonrpc.Failure {
		return nil, x.echo(m)
	}
	return m, x.correlate(m)
}

// media returns the media type of the body, or says why it cannot hold an answer.
func (x *exchange) media(resp *http.Response) (string, error) {
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "", x.framing(fmt.Sprintf("HTTP status %d with Content-Encoding %q, want none", resp.StatusCode, x.quote([]byte(enc))), nil, nil)
	}
	values := resp.Header["Content-Type"]
	switch {
	case len(values) == 0 || values[0] == "":
		return "", x.framing(fmt.Sprintf("HTTP status %d without a Content-Type, want application/json or text/event-stream", resp.StatusCode), nil, nil)
	case len(values) > 1:
		return "", x.framing(fmt.Sprintf("HTTP status %d with %d Content-Type headers", resp.StatusCode, len(values)), nil, nil)
	case values[0] == mediaJSON || values[0] == mediaSSE: // the usual spellings need no parser
		return values[0], nil
	}
	media, _, err := mime.ParseMediaType(values[0])
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		media = values[0]
	}
	if media != mediaJSON && media != mediaSSE {
		return x.quote([]byte(media)), x.framing(fmt.Sprintf("HTTP status %d with media type %q, want application/json or text/event-stream", resp.StatusCode, x.quote([]byte(media))), nil, nil)
	}
	return media, nil
}

func (x *exchange) framing(reason string, text []byte, err error) error {
	return &FramingError{Reason: reason, Excerpt: x.quote(text), Err: err}
}

// echo is the error for a message that is no response where one must be.
func (x *exchange) echo(m *jsonrpc.Message) error {
	echo := m.Kind == jsonrpc.Request && m.ID == x.call.ID && m.Method == x.call.Method
	reason := "got " + m.Kind.String() + ", want the response"
	switch {
	case echo:
		reason = "the server sent the request back"
	case m.Kind == jsonrpc.Request:
		reason = "the server sent a request, which it may not"
	}
	return &FramingError{Reason: reason, Excerpt: x.quote(m.Raw), Echo: echo}
}

// show redacts the text of an error that is printed. The message itself stays.
func (x *exchange) show(m *jsonrpc.Message) { Redact(x.redact).show(m.Err) }

// correlate refuses a response that is not this request's.
func (x *exchange) correlate(m *jsonrpc.Message) error {
	x.show(m)
	if m.ID == x.call.ID {
		return nil
	}
	return &ForeignIDError{Got: x.quote([]byte(m.ID.Raw())), Want: x.call.ID.Raw(), RPC: m.Err}
}

// readBody reads the body of one JSON message.
func (x *exchange) readBody(resp *http.Response) ([]byte, error) {
	limit := int64(x.h.limits.MessageBytes)
	tooLong := &LimitError{What: "a JSON body", Limit: limit, Unit: "bytes"}
	if resp.ContentLength > limit {
		return nil, tooLong
	}
	// A stated length is believed up to a point; beyond it memory grows with what arrives.
	size := int64(4 << 10)
	if resp.ContentLength >= 0 {
		size = min(resp.ContentLength+1, 64<<10)
	}
	body := make([]byte, 0, min(size, limit+1))
	for {
		n, err := x.watch.read(body[len(body):cap(body)], len(body) > 0)
		body = body[:len(body)+n]
		x.got = len(body)
		switch {
		case int64(len(body)) > limit:
			return nil, tooLong
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, x.watch.stalled(err, "a JSON body", len(body))
		}
		if len(body) == cap(body) {
			grown := make([]byte, len(body), min(2*int64(cap(body)), limit+1))
			copy(grown, body)
			body = grown
		}
	}
}

// refused makes the outcome of an answer with a status other than 200: the JSON-RPC error in it if it has the request's
// id, otherwise an error about the status.
func (x *exchange) refused(resp *http.Response, media string) (*jsonrpc.Message, error) {
	body, whole := x.readSome(resp.Body)
	size := len(body)
	if !whole {
		body = withoutLastWord(body)
	}
	if x.h.trace != nil && size > 0 {
		x.traceBody(body, size, nil)
	}
	var rpc *jsonrpc.Error
	if media == mediaJSON && whole {
		if m, err := jsonrpc.Decode(body, x.h.limits.json()); err == nil && m.Kind == jsonrpc.Failure {
			if m.ID == x.call.ID && resp.StatusCode >= 400 && resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
				x.show(m)
				return m, nil
			}
			rpc = m.Err
			x.show(m)
		}
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		challenge := string(x.redact([]byte(strings.Join(resp.Header.Values("WWW-Authenticate"), ", "))))
		return nil, &ChallengeError{Status: code, Challenge: challenge[:min(len(challenge), x.h.limits.ChallengeBytes)], RPC: rpc}
	case code < 300:
		return nil, x.framing(fmt.Sprintf("HTTP status %d, which is no answer to a request", code), body, nil)
	}
	return nil, &HTTPStatusError{Status: resp.StatusCode, ContentType: media, Excerpt: x.quote(bytes.TrimSpace(body)), RPC: rpc}
}

// readSome reads what comes of a body within Limits.ErrorBytes and errorTime, and closes it. Whole says that this is all of
// it: what is not may look like an answer and be the beginning of something else.
func (x *exchange) readSome(body io.ReadCloser) (text []byte, whole bool) {
	late := time.AfterFunc(errorTime, func() { _ = body.Close() })
	defer late.Stop()
	limit := x.h.limits.ErrorBytes
	text, err := io.ReadAll(io.LimitReader(body, int64(limit)+1)) // what has been read will do
	_ = body.Close()
	return text[:min(len(text), limit)], err == nil && len(text) <= limit
}

// finish closes a body of which nothing more is wanted. If it ends at once, without another byte, its connection can be
// used again; rest is what has been read of it already.
func (x *exchange) finish(body io.ReadCloser, rest []byte) {
	if len(bytes.Trim(rest, "\r\n")) == 0 {
		late := time.AfterFunc(restTime, func() { _ = body.Close() })
		_, _ = io.CopyN(io.Discard, body, restBytes)
		late.Stop()
	}
	_ = body.Close()
}
