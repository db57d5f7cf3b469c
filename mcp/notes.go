package mcp

import (
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

	queue chan func()
	done  sync.WaitGroup

	// Written by take only, which the transport never calls twice at a time.
	progress, logs int
	last           float64
}

func (c *Client) newNotes(r *request) *notes {
	n := &notes{meta: r.meta, id: r.id.Raw(), limits: &c.opts.limits, dropped: &c.dropped}
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

// close returns once everything queued has been handed over.
func (n *notes) close() {
	if n.queue != nil {
		close(n.queue)
		n.done.Wait()
	}
}

// take looks at one notification. What does not belong to the request, was not asked for, is malformed or too much is
// dropped and counted; it never fails the request.
func (n *notes) take(m *jsonrpc.Message) {
	taken := false
	switch m.Method {
	case "notifications/progress":
		token, ok := m.Params.Get(keyProgress)
		if !ok || string(token) != n.id {
			return // another request's, which counts it if it is wrong
		}
		taken = n.takeProgress(m.Params)
	case "notifications/message":
		taken = n.takeLog(m.Params)
	}
	if !taken {
		n.dropped.Add(1)
	}
}

func (n *notes) takeProgress(params strictjson.Value) bool {
	if n.meta.OnProgress == nil || n.progress == n.limits.Progress {
		return false
	}
	p := Progress{Wire: Wire{params}}
	value, ok := params.Get("progress")
	if !ok {
		return false
	}
	var f *fault
	if p.Progress, f = asNumber("progress", value); f != nil || (n.progress > 0 && p.Progress <= n.last) {
		return false
	}
	if v, ok := params.Get("total"); ok {
		total, f := asNumber("total", v)
		if f != nil {
			return false
		}
		p.Total = &total
	}
	if v, ok := params.Get("message"); ok {
		message, f := asString("message", v)
		if f != nil {
			return false
		}
		if len(message) > maxNoteBytes {
			message = strings.ToValidUTF8(message[:maxNoteBytes], "")
		}
		p.Message = &message
	}
	n.progress++
	n.last = p.Progress
	n.queue <- func() { n.meta.OnProgress(p) }
	return true
}

func (n *notes) takeLog(params strictjson.Value) bool {
	if n.meta.OnLog == nil || n.meta.LogLevel == "" || n.logs == n.limits.Logs || len(params) > maxLogBytes {
		return false
	}
	l := LogMessage{Wire: Wire{params}}
	level, ok := params.Get("level")
	if !ok {
		return false
	}
	text, f := asString("level", level)
	l.Level = LogLevel(text)
	if f != nil || l.Level.rank() < n.meta.LogLevel.rank() {
		return false
	}
	if v, ok := params.Get("logger"); ok {
		if l.Logger, f = asOptional("logger", v); f != nil {
			return false
		}
	}
	data, ok := params.Get("data")
	if !ok {
		return false
	}
	l.Data = jsontext.Value(data)
	n.logs++
	n.queue <- func() { n.meta.OnLog(l) }
	return true
}
