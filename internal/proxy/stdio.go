package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Serve speaks with one agent: a message a line on in, a message a line on out, nothing else on out. It returns nil when in
// ends, after it has cancelled what was running, and ctx's error when ctx ends; otherwise the error of in or out.
//
// Requests are served concurrently. A notification that cancels a request makes its answer stay away. A last line
// without its line end is not a message. If in is an io.Closer it is closed when ctx ends, because a blocked read can be
// ended in no other way; Serve does not wait for a reader that stays blocked all the same.
//
// Spec: 2026-07-28 basic/transports/stdio.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &connection{server: s, out: out, pending: map[jsonrpc.ID]*pending{}, stop: cancel}
	lines := make(chan line)
	go readLines(ctx, in, lines)
	err := c.loop(ctx, lines)
	cancel(errStopped)
	c.work.Wait()
	if closer, ok := in.(io.Closer); ok && err != nil {
		_ = closer.Close() // only to end the read, which for a terminal happens with the next input
	}
	return err
}

var errStopped = errors.New("stopped")

// connection is one agent on stdio.
type connection struct {
	server *Server
	stop   context.CancelCauseFunc
	work   sync.WaitGroup

	mu      sync.Mutex // guards pending
	pending map[jsonrpc.ID]*pending

	write sync.Mutex // one line at a time on out
	out   io.Writer
}

// pending is a request that was not answered yet.
type pending struct{ cancel context.CancelFunc }

type line struct {
	text    []byte
	tooLong bool
	err     error
}

// readLines sends the lines of in until it ends. The error of the last one is io.EOF for a proper end.
func readLines(ctx context.Context, in io.Reader, lines chan<- line) {
	send := func(l line) bool {
		select {
		case lines <- l:
			return l.err == nil
		case <-ctx.Done():
			return false
		}
	}
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		var text []byte
		tooLong := false
		for {
			part, err := r.ReadSlice('\n')
			switch {
			case tooLong || len(text)+len(part) > MaxMessageBytes+1:
				tooLong, text = true, nil
			default:
				text = append(text, part...)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				send(line{err: err})
				return
			}
		}
		if !send(line{text: bytes.TrimSuffix(text, []byte("\n")), tooLong: tooLong}) {
			return
		}
	}
}

func (c *connection) loop(ctx context.Context, lines <-chan line) error {
	for {
		select {
		case l := <-lines:
			switch {
			case errors.Is(l.err, io.EOF):
				return nil
			case l.err != nil:
				return l.err
			case l.tooLong:
				c.fail(jsonrpc.ID{}, newFault(0, jsonrpc.CodeInvalidRequest, "invalid request: the line has more than 16 MiB"))
			case len(bytes.TrimSuffix(l.text, []byte("\r"))) > 0:
				c.take(ctx, l.text)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// take handles one line.
func (c *connection) take(ctx context.Context, text []byte) {
	if c.server.opts.Trace != nil {
		c.server.opts.Trace(false, text)
	}
	m, id, f := read(text)
	if f != nil {
		c.fail(id, f)
		return
	}
	switch m.Kind {
	case jsonrpc.Notification:
		if m.Method == methodCancel {
			c.cancelled(m.Params)
		}
		return
	case jsonrpc.Request:
	default:
		c.server.log.Debug("an answer from the agent was ignored")
		return
	}
	work, cancel := context.WithCancel(ctx)
	p := &pending{cancel}
	c.mu.Lock()
	_, twice := c.pending[m.ID]
	if !twice {
		c.pending[m.ID] = p
	}
	c.mu.Unlock()
	if twice {
		p.cancel()
		// An answer with that id would end the first request.
		c.fail(jsonrpc.ID{}, newFault(0, jsonrpc.CodeInvalidRequest, "invalid request: its id is that of a request that is still pending"))
		return
	}
	if m.Method != methodCall {
		c.answer(work, m)
		return
	}
	c.work.Go(func() { c.answer(work, m) })
}

// answer serves one request and sends its answer, unless it was cancelled.
func (c *connection) answer(ctx context.Context, m *jsonrpc.Message) {
	result, f := c.server.overStdio(ctx, m)
	c.mu.Lock()
	p := c.pending[m.ID]
	delete(c.pending, m.ID)
	c.mu.Unlock()
	left := ctx.Err() != nil
	p.cancel()
	switch {
	case left || f == nil && result == nil:
	case f != nil:
		c.fail(m.ID, f)
	default:
		c.send(jsonrpc.AppendResult(make([]byte, 0, len(result)+64), m.ID, result))
	}
}

// overStdio checks a request where there are no headers, and serves it.
func (s *Server) overStdio(ctx context.Context, m *jsonrpc.Message) ([]byte, *fault) {
	r := newRequest(m)
	if m.Method == methodInit {
		requested := ""
		if v, ok := m.Params.Get("protocolVersion"); ok {
			requested, _ = v.Text()
		}
		return nil, unsupported(requested)
	}
	version, f := r.version()
	switch {
	case f != nil:
		return nil, f
	case version != Version:
		return nil, unsupported(version)
	}
	if f := r.checkMeta(); f != nil {
		return nil, f
	}
	if !known(m.Method) {
		return nil, methodNotFound(m.Method)
	}
	return s.serve(ctx, r, false, nil)
}

// cancelled ends a pending request. What is unknown or malformed is ignored.
//
// Spec: 2026-07-28 basic/patterns/cancellation.
func (c *connection) cancelled(params strictjson.Value) {
	v, _ := params.Get("requestId")
	id, err := jsonrpc.ParseID(v)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pending[id]; p != nil {
		p.cancel()
	}
}

func (c *connection) fail(id jsonrpc.ID, f *fault) { c.send(jsonrpc.AppendError(nil, id, &f.Error)) }

// send writes one line. A message that came from a server over HTTP may hold line ends between its tokens; in strings there
// are none.
func (c *connection) send(message []byte) {
	if c.server.opts.Trace != nil {
		c.server.opts.Trace(true, message)
	}
	for i, b := range message {
		if b == '\n' || b == '\r' {
			message[i] = ' '
		}
	}
	c.write.Lock()
	defer c.write.Unlock()
	if _, err := c.out.Write(append(message, '\n')); err != nil {
		c.stop(err)
	}
}
