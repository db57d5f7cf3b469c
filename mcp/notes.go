package mcp

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// notes hands the notifications of one request to its caller's functions, on a goroutine of its own, so that a slow
// function never stops the connection from being read. The queue has room for all that is ever handed over.
type notes struct {
	meta    *RequestMeta
	id      string
	limits  *Limits
	dropped *atomic.Uint64
	redact  func([]byte) []byte
	claimed *bool // on stdio, where other requests see the notification too: Client.claimed; nil over HTTP

	queue chan func()
	done  sync.WaitGroup

	// Written by take only, which the transport never calls twice at a time.
	progress, logs int
	logBytes       int
	last           float64
	surplus        DroppedNotes // of this request
}

func (c *Client) newNotes(r *request) *notes {
	n := &r.notes
	*n = notes{meta: r.meta, id: r.id.Raw(), limits: &c.opts.limits, redact: c.opts.redact, dropped: &c.dropped}
	if c.kind.lines {
		n.claimed = &c.claimed
	}
	if r.meta.OnProgress != nil || r.meta.OnLog != nil {
		n.queue = make(chan func(), n.limits.Progress+n.limits.Logs)
		n.done.Go(func() {
			for deliver := range n.queue {
				deliver()
			}
		})
	}
	return n
}

// wanted reports whether the request has a function for notifications, or for their number.
func (n *notes) wanted() bool {
	return n.meta.OnProgress != nil || n.meta.OnLog != nil || n.meta.OnDropped != nil
}

// close returns once everything queued has been handed over, and what was not has been told. The transport calls take no
// more.
func (n *notes) close() {
	if n.queue != nil {
		close(n.queue)
		n.done.Wait()
	}
	if n.meta.OnDropped != nil && n.surplus != (DroppedNotes{}) {
		n.meta.OnDropped(n.surplus)
	}
}

// A taking is what a request makes of a notification.
type taking uint8

const (
	notMine taking = iota // it may be another request's, or nobody's
	taken
	refused // it is this request's, and malformed, out of order or too much
)

// take looks at one notification. What does not belong to the request, was not asked for, is malformed or too much is
// dropped and counted, once; it never fails the request.
func (n *notes) take(m *jsonrpc.Message) {
	made := notMine
	switch m.Method {
	case noteProgress:
		made = n.takeProgress(m.Params)
	case noteMessage:
		made = n.takeLog(m.Params)
	}
	if made == refused || (made == notMine && n.claimed == nil) {
		n.dropped.Add(1)
		switch m.Method {
		case noteProgress:
			n.surplus.Progress++
		case noteMessage:
			n.surplus.Logs++
		}
	}
	if made != notMine && n.claimed != nil {
		*n.claimed = true
	}
}

func (n *notes) takeProgress(params strictjson.Value) taking {
	if token, ok := params.Get(keyProgress); !ok || string(token) != n.id {
		return notMine
	}
	if n.meta.OnProgress == nil || n.progress == n.limits.Progress || len(params) > maxLogBytes {
		return refused
	}
	p := Progress{}
	value, ok := params.Get("progress")
	if !ok {
		return refused
	}
	var f *fault
	if p.Progress, f = asNumber("progress", value); f != nil || (n.progress > 0 && p.Progress <= n.last) {
		return refused
	}
	if v, ok := params.Get("total"); ok {
		total, f := asNumber("total", v)
		if f != nil {
			return refused
		}
		p.Total = &total
	}
	if v, ok := params.Get("message"); ok {
		message, f := asString("message", v)
		if f != nil {
			return refused
		}
		if n.redact != nil {
			message = string(n.redact([]byte(message)))
		}
		if len(message) > maxNoteBytes {
			message = strings.ToValidUTF8(message[:maxNoteBytes], "")
		}
		p.Message = &message
	}
	p.Wire = Wire{slices.Clone(params)} // without the rest of the message
	n.progress++
	n.last = p.Progress
	n.queue <- func() { n.meta.OnProgress(p) }
	return taken
}

// takeLog takes a log message if the request asked for its level. On stdio a message does not say which request it is
// about: all that asked for it have it.
func (n *notes) takeLog(params strictjson.Value) taking {
	if n.meta.OnLog == nil || n.meta.LogLevel == "" {
		return notMine
	}
	l := LogMessage{}
	level, ok := params.Get("level")
	if !ok {
		return notMine
	}
	text, f := asString("level", level)
	l.Level = LogLevel(text)
	if f != nil || l.Level.rank() < n.meta.LogLevel.rank() {
		return notMine
	}
	if n.logs == n.limits.Logs || len(params) > min(maxLogBytes, n.limits.LogBytes-n.logBytes) {
		return refused
	}
	if v, ok := params.Get("logger"); ok {
		if l.Logger, f = asOptional("logger", v); f != nil {
			return notMine
		}
	}
	params = slices.Clone(params) // without the rest of the message
	data, ok := params.Get("data")
	if !ok {
		return notMine
	}
	l.Wire = Wire{params}
	l.Data = jsontext.Value(data)
	n.logs++
	n.logBytes += len(params)
	n.queue <- func() { n.meta.OnLog(l) }
	return taken
}
