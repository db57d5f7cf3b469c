package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

const (
	// settle is how long the end of one stream waits for what else the end of a process brings: its exit status, the
	// rest of stderr, the answers that are still in the pipe.
	settle = 500 * time.Millisecond
	// noticeCount is how many notifications/cancelled may wait to be written at a time; further ones are not sent.
	noticeCount = 64
	// crowdSize is from how many calls in flight on a line waits for those of others, see lineWriter.put.
	crowdSize = 4
)

// Stdio is a connection over a pair of pipes, one message per line. StartStdio makes one with a child process behind it,
// NewPipe one over given pipes.
//
// Anything from the server that is not one whole JSON-RPC message per line, a request, or an answer to an id that no
// call has, ends the connection: all calls fail and the process is stopped. Only empty lines are skipped. Answers may
// come in any order. After a context ends, the server is sent notifications/cancelled with the call's id if the request
// had been written whole, and nothing if not; its late answer is dropped. A write that is stuck half-way when its context
// ends, ends the connection, and so does a line of the server that has begun and then pauses for Limits.Idle. A
// connection on which nothing has begun may be quiet for ever.
//
// Spec: 2026-07-28 basic/transports#stdio, basic/utilities/cancellation.
type Stdio struct {
	limits Limits
	redact Redact
	trace  Trace
	stray  func(*jsonrpc.Message) // nil, or given every notification after the calls had it
	lines  *lineReader
	heard  []*waiter // of notify
	out    *lineWriter
	in     io.Closer // the reading side
	proc   *process  // nil over given pipes
	stderr *tail     // nil over given pipes

	done     chan struct{} // closed by fail
	readDone chan struct{} // the reader has seen its end
	errDone  chan struct{} // the stderr reader has; nil over given pipes
	stopping sync.Once
	stopped  chan struct{}  // nothing is left
	wg       sync.WaitGroup // added to under mu while err is nil

	mu    sync.Mutex
	err   *Error // set once, by fail
	calls *calls
}

// NewPipe returns a connection that reads messages from r and writes them to w. Close closes both; closing must end a
// Read and a Write that are under way, as it does for files, sockets and io.Pipe. Notify is as StdioConfig.Notify.
func NewPipe(r io.ReadCloser, w io.WriteCloser, limits Limits, redact Redact, trace Trace, notify func(*jsonrpc.Message)) *Stdio {
	s := newStdio(r, w, limits.withDefaults())
	s.redact, s.trace, s.stray = redact, trace, notify
	s.wg.Go(s.read)
	return s
}

func newStdio(r io.ReadCloser, w io.WriteCloser, limits Limits) *Stdio {
	s := &Stdio{
		limits:   limits,
		lines:    newLineReader(r, limits.MessageBytes),
		in:       r,
		done:     make(chan struct{}),
		readDone: make(chan struct{}),
		stopped:  make(chan struct{}),
		calls:    newCalls(),
	}
	s.out = newLineWriter(w, s.writeBroke)
	s.calls.ring = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.calls.expire()
		}
	}
	s.lines.pause = &pauseWatch{after: limits.Idle, over: func(begun int64) {
		s.fail(&Error{Op: "receive", Err: &StallError{Where: "a line", After: limits.Idle, Bytes: begun}}, 0)
	}}
	return s
}

// Do implements Conn.
func (s *Stdio) Do(ctx context.Context, c *Call) (*jsonrpc.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, &EndedError{Waiting: "its turn to be sent", Err: err}
	}
	w, crowd, err := s.enter(c)
	if err != nil {
		return nil, err
	}
	if s.trace != nil {
		s.traceSent(c.Method, c.ID, c.Body)
	}
	s.out.put(&w.line, crowd)
	select {
	case m := <-w.answer:
		if m != nil && m != tooLate {
			if !s.calls.recycle(w) {
				s.out.leave(&w.line)
			}
			return m, nil
		}
		return s.unanswered(ctx, w, m, true)
	case <-ctx.Done():
		return s.unanswered(ctx, w, nil, false)
	}
}

// unanswered is the end of a call whose time is over or whose connection has failed: m is what it was given for an answer
// if it was given something, and otherwise its answer may have come meanwhile.
func (s *Stdio) unanswered(ctx context.Context, w *waiter, m *jsonrpc.Message, given bool) (*jsonrpc.Message, error) {
	state := s.out.withdraw(&w.line)
	sent := state == lineWritten || state == lineUnsure
	ended := ctx.Err()
	s.mu.Lock()
	in := s.calls.leave(w)
	if in && sent && s.err == nil {
		s.calls.forget(w.id)
	}
	s.mu.Unlock()
	if !in && !given {
		m = <-w.answer
	}
	w.mute()
	switch {
	case m != nil && m != tooLate:
		return m, nil
	case m == tooLate && ended == nil:
		ended = context.DeadlineExceeded
	case ended == nil:
		return nil, s.failure(sent)
	}
	err := &EndedError{Waiting: s.waiting(w, state), Delivered: sent, Err: ended}
	if sent && context.Cause(ctx) != ErrWithdrawn {
		params := append(append([]byte(`{"requestId":`), w.id.Raw()...), '}')
		notice := jsonrpc.AppendNotification(nil, methodCancelled, params)
		if s.trace != nil {
			s.traceSent(methodCancelled, jsonrpc.ID{}, notice)
		}
		s.out.notice(notice)
	}
	return nil, err
}

// waiting says what a call that is given up has waited for.
func (s *Stdio) waiting(w *waiter, state lineState) string {
	if state != lineWritten || s.out.unread(&w.line) {
		return "the server to read the request"
	}
	if begun := s.lines.pause.begun.Load(); begun > 0 {
		return fmt.Sprintf("the rest of a line (%d bytes so far)", begun)
	}
	if s.proc == nil {
		return "an answer"
	}
	select {
	case <-s.proc.exited:
		return "an answer (the process has ended)"
	default:
		return "an answer (the process is running)"
	}
}

// enter makes the call known before its request can be answered. Crowd says that it is not alone.
func (s *Stdio) enter(c *Call) (w *waiter, crowd bool, err error) {
	switch {
	case c.ID.IsZero():
		return nil, false, &Error{Op: "configure", Err: errors.New("request without an id")}
	case bytes.IndexByte(c.Body, '\n') >= 0:
		return nil, false, &Error{Op: "configure", Err: errors.New("request with a newline inside")}
	}
	w = s.calls.spare()
	w.id, w.method, w.notify, w.answered, w.line.body = c.ID, c.Method, c.Notify, c.Answered, c.Body
	w.deadline = time.Time{}
	if c.Timeout > 0 {
		w.deadline = time.Now().Add(c.Timeout)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, false, s.failureLocked(false)
	}
	if err := s.calls.enter(w); err != nil {
		return nil, false, err
	}
	return w, len(s.calls.pending) >= crowdSize, nil
}

// writeBroke ends the connection, on which a line could not be written, or only in part. A process that died shows itself
// first by a broken pipe, and its end says more than that, so it is waited for.
func (s *Stdio) writeBroke(err error) {
	end := func() { s.fail(&Error{Op: "send", Err: err}, 0) }
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.wg.Go(func() {
		if s.proc != nil && err != errCalledOff {
			wait := time.NewTimer(settle)
			defer wait.Stop()
			select {
			case <-s.done:
			case <-wait.C:
			}
		}
		end()
	})
}

// read takes in messages until the stream or the connection ends, and then empties the stream, so that a server that is
// asked to stop does not hang in a write.
func (s *Stdio) read() {
	defer close(s.readDone)
	for {
		line, err := s.lines.next()
		if err == nil {
			err = s.dispatch(line)
		} else {
			err = s.streamEnd(err)
		}
		if err != nil {
			s.fail(asError(err), 0)
			break
		}
		select {
		case <-s.done:
		default:
			continue
		}
		break
	}
	_, _ = io.Copy(io.Discard, s.lines.r) // ends when the stream does or is closed
}

func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Op: "receive", Err: err}
}

// dispatch hands one line to whom it belongs. The error is what makes the line the last one.
func (s *Stdio) dispatch(line []byte) error {
	m, err := jsonrpc.Decode(line, s.limits.json())
	if s.trace != nil {
		s.traceLine(line, m)
	}
	if err != nil {
		err = s.redact.decoding(err, line)
		return &FramingError{Reason: "stdout carries something that is not a JSON-RPC message (" + err.Error() + ")", Excerpt: s.excerpt(line), Err: err}
	}
	s.redact.show(m.Err)
	switch m.Kind {
	case jsonrpc.Notification:
		s.notify(m)
		return nil
	case jsonrpc.Request:
		s.mu.Lock()
		w := s.calls.pending[m.ID]
		echo := w != nil && w.method == m.Method
		s.mu.Unlock()
		reason := "the server sent a request, which it may not"
		if echo {
			reason = "the server sent the request back"
		}
		return &FramingError{Reason: reason, Excerpt: s.excerpt(line), Echo: echo}
	}
	s.mu.Lock()
	w, late := s.calls.take(m.ID)
	s.mu.Unlock()
	switch {
	case w != nil:
		if w.answered != nil {
			w.answered(m)
		}
		w.answer <- m
		return nil
	case late:
		return nil
	}
	return &ForeignIDError{Got: s.excerpt([]byte(m.ID.Raw())), RPC: m.Err}
}

// notify gives a notification to the calls in flight. It is called by the goroutine that reads alone, as is what gives
// calls their answers: so no call is given one that came behind its answer.
func (s *Stdio) notify(m *jsonrpc.Message) {
	s.mu.Lock()
	s.heard = append(s.heard[:0], s.calls.listening...)
	s.mu.Unlock()
	for _, w := range s.heard {
		w.hear(m)
	}
	clear(s.heard)
	if s.stray != nil {
		s.stray(m)
	}
}

// streamEnd says what the end of the stream means.
func (s *Stdio) streamEnd(err error) error {
	var partial *partialLine
	switch {
	case errors.Is(err, errLineTooLong):
		return &LimitError{What: "a line on stdout", Limit: int64(s.limits.MessageBytes), Unit: "bytes"}
	case errors.As(err, &partial):
		line := partial.line
		if s.redact != nil {
			line = withoutLastWord(line)
		}
		err = &FramingError{Reason: "stdout ended within a message", Excerpt: s.excerpt(line), Err: io.ErrUnexpectedEOF}
	case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		err = io.ErrUnexpectedEOF
	}
	if s.proc == nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return &Error{Op: "receive", Err: &ExitError{Code: -1, Err: err}}
		}
		return err
	}
	exit := &ExitError{Code: -1, Err: err}
	wait := time.NewTimer(settle)
	defer wait.Stop()
	select {
	case <-s.proc.exited:
	case <-s.done:
	case <-wait.C:
		if s.proc.tree.dead() {
			s.proc.ends(sweepTime + killTime) // what it has left behind is being ended
		}
		wait.Reset(settle)
	}
	select {
	case <-s.proc.exited:
		exit.Status, exit.Code = s.proc.status()
		select {
		case <-s.errDone:
		case <-wait.C:
		}
	default:
	}
	op := "receive"
	if exit.Status != "" {
		op = "exit"
	}
	return &Error{Op: op, Err: exit}
}

// fail ends the connection with its first error and starts stopping the process; grace is what the process gets to end
// by itself.
func (s *Stdio) fail(e *Error, grace time.Duration) {
	s.mu.Lock()
	if s.err == nil {
		if s.stderr != nil && e.Err != ErrClosed {
			e.Stderr = excerptEnd(bytes.TrimSpace(s.StderrTail()), s.limits.ExcerptBytes)
		}
		s.err = e
		close(s.done)
		s.calls.end()
	}
	s.mu.Unlock()
	s.out.shut()
	s.stopping.Do(func() { go s.stop(grace) })
}

// stop ends everything that the connection has started. It runs once.
func (s *Stdio) stop(grace time.Duration) {
	defer close(s.stopped)
	if s.proc != nil {
		s.proc.tree.note()
	}
	_ = s.out.w.Close() // the reader of the other end learns it
	if s.proc != nil {
		s.proc.stop(grace)
		wait := time.NewTimer(settle)
		defer wait.Stop()
		for ends := []chan struct{}{s.readDone, s.errDone}; len(ends) > 0; {
			select {
			case <-ends[0]:
				ends = ends[1:]
			case <-wait.C: // once, for both
				ends = nil
			}
		}
		_ = s.proc.stderr.Close()
	}
	_ = s.in.Close()
	s.out.idle(settle)
	s.wg.Wait()
}

// Close implements Conn. With a process it closes the server's stdin, waits for the process to end by itself
// (StdioConfig.Grace), then terminates and at last kills it, with every process it has started.
func (s *Stdio) Close() error {
	grace := time.Duration(0)
	if s.proc != nil {
		grace = s.proc.grace
	}
	s.fail(&Error{Op: "close", Err: ErrClosed}, grace)
	<-s.stopped
	return nil
}

// Done implements Conn.
func (s *Stdio) Done() <-chan struct{} { return s.done }

// Err implements Conn.
func (s *Stdio) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return s.err
}

// excerpt is the beginning of foreign text for an error.
func (s *Stdio) excerpt(text []byte) string { return excerpt(s.redact.of(text), s.limits.ExcerptBytes) }

// StderrTail returns the end of what the child wrote to stderr so far, at most Limits.StderrBytes, redacted. If something
// is redacted and the beginning has been dropped, so is the rest of the first line, which may hold the end of a secret.
func (s *Stdio) StderrTail() []byte {
	if s.stderr == nil {
		return nil
	}
	text, whole := s.stderr.end()
	if s.redact == nil {
		return text
	}
	text = s.redact.of(text)
	if !whole {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}

func (s *Stdio) failure(delivered bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failureLocked(delivered)
}

func (s *Stdio) failureLocked(delivered bool) error {
	e := *s.err
	e.Delivered = delivered
	return &e
}
