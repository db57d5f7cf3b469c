package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

const (
	methodListen    = "subscriptions/listen"
	methodCancelled = "notifications/cancelled"
)

// errStreamEnded is io.ErrUnexpectedEOF in better words.
var errStreamEnded error = &textError{text: "the stream ended before the response", err: io.ErrUnexpectedEOF}

// stream reads the events of an answer up to the response and leaves the rest alone.
//
// Spec: 2026-07-28 basic/transports#streamable-http; WHATWG HTML, server-sent events.
func (x *exchange) stream(body io.ReadCloser) (*jsonrpc.Message, error) {
	x.at.Store(int32(stageStream))
	events := &x.events
	events.watch, events.limit = &x.watch, x.h.limits.MessageBytes
	if x.call.Method != methodListen {
		events.most = x.h.limits.Events
	}
	m, err := x.response(events)
	if err != nil {
		_ = body.Close()
		return nil, err
	}
	x.finish(body, events.in)
	return m, nil
}

func (x *exchange) response(events *eventReader) (*jsonrpc.Message, error) {
	for {
		kind, data, err := events.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, &LostError{Where: x.where(), Err: errStreamEnded}
		case err != nil:
			return nil, x.watch.stalled(err, "an event", events.begun())
		case len(data) == 0 || (kind != "" && kind != "message"):
			continue
		}
		m, err := jsonrpc.Decode(data, x.h.limits.json())
		if x.h.trace != nil {
			x.traceBody(data, len(data), m)
		}
		if err != nil {
			err = Redact(x.redact).decoding(err, data)
			return nil, x.framing("an event is not a JSON-RPC message ("+err.Error()+")", data, err)
		}
		switch m.Kind {
		case jsonrpc.Result, jsonrpc.Failure:
			return m, x.correlate(m)
		case jsonrpc.Request:
			return nil, x.echo(m)
		}
		if err := x.belongs(m); err != nil {
			return nil, err
		}
		if x.call.Notify != nil {
			x.call.Notify(m)
		}
	}
}

// belongs refuses a notification that cannot be about the request. Notifications of unknown methods are left to the
// caller.
//
// Spec: 2026-07-28 basic/transports#streamable-http: notifications on the stream relate to the originating request.
func (x *exchange) belongs(m *jsonrpc.Message) error {
	if x.call.Method == methodListen {
		return nil
	}
	switch m.Method {
	case "notifications/progress":
		if !x.looked {
			x.token, x.looked = progressToken(x.call.Body), true
		}
		if got, _ := m.Params.Get("progressToken"); x.token == nil || !strictjson.Equal(got, x.token) {
			return x.framing(fmt.Sprintf("%s for a progress token that the request does not have", m.Method), m.Raw, nil)
		}
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
		"notifications/resources/updated", "notifications/subscriptions/acknowledged", methodCancelled:
		return x.framing(fmt.Sprintf("%s on the stream of a %s", m.Method, x.call.Method), nil, nil)
	}
	return nil
}

// progressToken is params._meta.progressToken of a request, nil if absent.
func progressToken(request []byte) strictjson.Value {
	v, err := strictjson.Parse(request, strictjson.Limits{})
	if err != nil {
		return nil
	}
	for _, name := range []string{"params", "_meta", "progressToken"} {
		var ok bool
		if v.Kind() != strictjson.KindObject {
			return nil
		}
		if v, ok = v.Get(name); !ok {
			return nil
		}
	}
	return v
}

// eventReader reads a stream event by event. Of an event before its blank line nothing is returned; comments are left out.
// Every byte is looked at once however the stream is cut, and what is kept is bounded by the limit on an event.
//
// Spec: WHATWG HTML, server-sent events, parsing an event stream.
type eventReader struct {
	watch *watch
	limit int // bytes of an event
	most  int // events, 0 for any number

	buf   []byte
	in    []byte // read and not looked at
	bom   bool   // what could be a byte order mark has been dealt with
	head  []byte // the part of a byte order mark that has been read
	event []byte // the lines of the event under way, with LF
	line  int    // bytes of the line under way
	mute  bool   // it is a comment
	cr    bool   // the last line ended with CR: an LF that follows belongs to it
	count int
}

// byteOrderMark is dropped at the beginning of a stream and nowhere else.
const byteOrderMark = "\ufeff"

// next returns the kind and the data of the next event; the caller owns the data. Events without data are returned too.
// The error is what the stream's Read returned, io.EOF at its end, or a *LimitError.
func (e *eventReader) next() (kind string, data []byte, err error) {
	if err := e.fill(); err != nil {
		return "", nil, err // what is left of an event without its blank line is dropped
	}
	kind, data = eventFields(e.event)
	if len(data) < handOver {
		data = bytes.Clone(data)
		e.event = e.event[:0]
	} else {
		e.event = nil
	}
	return kind, data, nil
}

// eventFields reads the lines of an event. The data stays where it is: the values of its lines are moved together.
func eventFields(lines []byte) (kind string, data []byte) {
	data = lines[:0]
	has := false
	for len(lines) > 0 {
		line, rest, _ := bytes.Cut(lines, []byte("\n"))
		lines = rest
		name, value, _ := bytes.Cut(line, []byte(":"))
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(name) {
		case "data":
			if has {
				data = append(data, '\n')
			}
			data, has = append(data, value...), true
		case "event":
			kind = string(value)
		}
	}
	return kind, data
}

// fill looks at input until an event is whole.
func (e *eventReader) fill() error {
	for {
		if !e.bom && len(e.in) > 0 {
			e.start()
		}
		for len(e.in) > 0 {
			whole, err := e.step()
			if err != nil || whole {
				return err
			}
		}
		if e.buf == nil {
			e.buf = make([]byte, 8<<10)
		}
		n, err := e.watch.read(e.buf, e.begun() > 0)
		e.in = e.buf[:n]
		if n == 0 && err != nil {
			return err
		}
	}
}

// start takes a byte order mark off the beginning of the stream, which may arrive byte by byte.
func (e *eventReader) start() {
	for len(e.in) > 0 && len(e.head) < len(byteOrderMark) && e.in[0] == byteOrderMark[len(e.head)] {
		e.head, e.in = append(e.head, e.in[0]), e.in[1:]
	}
	whole := len(e.head) == len(byteOrderMark)
	if len(e.in) == 0 && !whole {
		return
	}
	if !whole && len(e.head) > 0 {
		e.in = append(e.head, e.in...)
	}
	e.bom = true
}

// begun is how much of an event has come whose end has not.
func (e *eventReader) begun() int { return len(e.event) }

// keep appends to the event under way. Memory is doubled, up to what the limit allows, so that an event costs a small
// multiple of its size.
func (e *eventReader) keep(text []byte) {
	if need := len(e.event) + len(text); need > cap(e.event) {
		fresh := make([]byte, len(e.event), max(need, min(2*cap(e.event), e.limit), 512))
		copy(fresh, e.event)
		e.event = fresh
	}
	e.event = append(e.event, text...)
}

// step takes in the input up to the next line end and reports whether that ended an event.
func (e *eventReader) step() (whole bool, err error) {
	if e.cr {
		e.cr = false
		if e.in[0] == '\n' {
			e.in = e.in[1:]
			return false, nil
		}
	}
	i := bytes.IndexAny(e.in, "\r\n")
	text := e.in
	if i >= 0 {
		text = e.in[:i]
	}
	if e.line == 0 && len(text) > 0 {
		e.mute = text[0] == ':'
	}
	e.line += len(text)
	if len(text) > 0 && !e.mute {
		if e.begun()+len(text) >= e.limit {
			return false, &LimitError{What: "an event", Limit: int64(e.limit), Unit: "bytes"}
		}
		e.keep(text)
	}
	if i < 0 {
		e.in = nil
		return false, nil
	}
	e.cr = e.in[i] == '\r'
	e.in = e.in[i+1:]
	blank, mute := e.line == 0, e.mute
	e.line, e.mute = 0, false
	switch {
	case mute:
		return false, nil
	case !blank:
		e.keep([]byte{'\n'})
		return false, nil
	case len(e.event) == 0:
		return false, nil
	}
	if e.count++; e.most > 0 && e.count > e.most {
		return false, &LimitError{What: "an event stream", Limit: int64(e.most), Unit: "events"}
	}
	return true, nil
}
