package transport

import (
	"bytes"
	"fmt"
	"io"

	"github.com/tmaxmax/go-sse"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

const methodListen = "subscriptions/listen"

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
	// The reader in between has counted already; what it hands over has at most one byte more.
	for event, err := range sse.Read(events, &sse.ReadConfig{MaxEventSize: x.h.limits.MessageBytes + 64}) {
		if err != nil {
			return nil, x.watch.stalled(err, "an event", events.begun())
		}
		if event.Data == "" || (event.Type != "" && event.Type != "message") {
			continue
		}
		data := []byte(event.Data)
		m, err := jsonrpc.Decode(data, x.h.limits.json())
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
	return nil, &LostError{Where: x.where(), Err: errStreamEnded}
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
		"notifications/resources/updated", "notifications/subscriptions/acknowledged", "notifications/cancelled":
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

// eventReader passes a stream on in whole events: it returns nothing of an event before its blank line has come, leaves
// out comments, and writes every line end as LF.
//
// The parser behind it looks at its whole buffer anew whenever it gets some bytes, which for a large event that arrives
// in small pieces is quadratic, and it keeps comments until a blank line. Here every byte is looked at once, and what is
// kept is bounded by the limit on an event.
type eventReader struct {
	watch *watch
	limit int // bytes of an event
	most  int // events, 0 for any number

	buf   []byte
	in    []byte // read and not looked at
	bom   bool   // what could be a byte order mark has been dealt with
	head  []byte // the part of a byte order mark that has been read
	event []byte // the lines of the event under way, behind lead
	lead  int
	out   []byte // of the finished event, not returned yet; it shares its memory with event
	line  int    // bytes of the line under way
	mute  bool   // it is a comment
	cr    bool   // the last line ended with CR: an LF that follows belongs to it
	count int
	err   error
}

// byteOrderMark is dropped at the beginning of a stream and nowhere else. The parser drops one at the beginning of what
// it sees, so it is given one.
const byteOrderMark = "\ufeff"

func (e *eventReader) Read(p []byte) (int, error) {
	for len(e.out) == 0 {
		if e.err != nil {
			return 0, e.err // what is left of an event without its blank line is dropped
		}
		e.err = e.fill()
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	return n, nil
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
	e.event, e.lead = append(e.event, byteOrderMark...), len(byteOrderMark)
}

// begun is how much of an event has come whose end has not.
func (e *eventReader) begun() int { return len(e.event) - e.lead }

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
		e.event = append(e.event, text...)
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
		e.event = append(e.event, '\n')
		return false, nil
	case len(e.event) == e.lead:
		return false, nil
	}
	if e.count++; e.most > 0 && e.count > e.most {
		return false, &LimitError{What: "an event stream", Limit: int64(e.most), Unit: "events"}
	}
	e.out = append(e.event, '\n')
	e.event, e.lead = e.out[:0], 0 // written to again only after out has been handed over
	return true, nil
}
