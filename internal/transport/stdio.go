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
	// noticeTime bounds the delivery of one notifications/cancelled, noticeCount how many may wait for it at a time.
	noticeTime  = time.Second
	noticeCount = 64
	// lateAnswers is how many cancelled ids are remembered, so that their answers are dropped and not foreign.
	lateAnswers = 4096
)

// Stdio is a connection over a pair of pipes, one message per line. StartStdio makes one with a child process behind it,
// NewPipe one over given pipes.
//
// Anything from the server that is not one whole JSON-RPC message per line, a request, or an answer to an id that no
// call has, ends the connection: all calls fail and the process is stopped. Only empty lines are skipped. Answers may
// come in any order. After a context ends, the server is sent notifications/cancelled with the call's id if the request
// had been written whole, and nothing if not; its late answer is dropped. A write that got stuck half-way when its
// context ended ends the connection, and so does a line of the server that has begun and then pauses for Limits.Idle. A
// connection on which nothing has begun may be quiet for ever.
//
// Spec: 2026-07-28 basic/transports#stdio, basic/utilities/cancellation.
type Stdio struct {
	limits Limits
	redact Redact
	stray  func(*jsonrpc.Message) // nil, or given every notification after the calls had it
	lines  *lineReader
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
	spare    sync.Pool      // of *waiter, to which nobody will deliver any more

	mu        sync.Mutex
	err       *Error // set once, by fail
	pending   map[jsonrpc.ID]*waiter
	listeners []*listener
	cancelled map[jsonrpc.ID]struct{}
	order     []jsonrpc.ID // of cancelled, a ring once it is full
	oldest    int
	notices   int
}

// waiter is a call that waits for its answer. Whoever takes it out of pending, other than the call itself, puts one
// message into answer, nil if the connection has failed; there is room for one, so that delivery never waits.
type waiter struct {
	method   string
	answered func(*jsonrpc.Message) // nil, or called before the answer is put into answer
	answer   chan *jsonrpc.Message
}

// listener is the Notify of a call. mu is held while it runs, so that leaving waits for it.
type listener struct {
	mu   sync.Mutex
	gone bool
	fn   func(*jsonrpc.Message)
}

// NewPipe returns a connection that reads messages from r and writes them to w. Close closes both; closing must end a
// Read and a Write that are under way, as it does for files, sockets and io.Pipe. Notify is as StdioConfig.Notify.
func NewPipe(r io.ReadCloser, w io.WriteCloser, limits Limits, redact Redact, notify func(*jsonrpc.Message)) *Stdio {
	s := newStdio(r, w, limits.withDefaults())
	s.redact, s.stray = redact, notify
	s.wg.Go(s.read)
	return s
}

func newStdio(r io.ReadCloser, w io.WriteCloser, limits Limits) *Stdio {
	s := &Stdio{
		limits:    limits,
		lines:     newLineReader(r, limits.MessageBytes),
		out:       newLineWriter(w),
		in:        r,
		done:      make(chan struct{}),
		readDone:  make(chan struct{}),
		stopped:   make(chan struct{}),
		pending:   map[jsonrpc.ID]*waiter{},
		cancelled: map[jsonrpc.ID]struct{}{},
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
	w, l, err := s.enter(c)
	if err != nil {
		return nil, err
	}
	if l != nil {
		defer s.unlisten(l)
	}
	sent, err := s.send(ctx, c.Body)
	if sent {
		select {
		case m := <-w.answer:
			s.spare.Put(w)
			if m != nil {
				return m, nil
			}
			if ended := ctx.Err(); ended != nil {
				return nil, s.ended(ended, true)
			}
			return nil, s.failure(true)
		case <-ctx.Done():
		}
	}
	ended := ctx.Err()
	m := s.leave(c.ID, w, sent && ended != nil, context.Cause(ctx) != ErrWithdrawn)
	s.spare.Put(w)
	switch {
	case m != nil:
		return m, nil
	case ended != nil:
		return nil, s.ended(ended, sent)
	case err != nil:
		return nil, err
	}
	return nil, s.failure(sent)
}

// ended is the error of a call whose context has ended.
func (s *Stdio) ended(err error, sent bool) error {
	return &EndedError{Waiting: s.waiting(sent), Delivered: sent, Err: err}
}

// waiting says what a call waits for at this moment.
func (s *Stdio) waiting(sent bool) string {
	if !sent {
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

// enter makes the call known before its request can be answered.
func (s *Stdio) enter(c *Call) (*waiter, *listener, error) {
	switch {
	case c.ID.IsZero():
		return nil, nil, &Error{Op: "configure", Err: errors.New("request without an id")}
	case bytes.IndexByte(c.Body, '\n') >= 0:
		return nil, nil, &Error{Op: "configure", Err: errors.New("request with a newline inside")}
	}
	var l *listener
	if c.Notify != nil {
		l = &listener{fn: c.Notify}
	}
	w, ok := s.spare.Get().(*waiter)
	if !ok {
		w = &waiter{answer: make(chan *jsonrpc.Message, 1)}
	}
	w.method, w.answered = c.Method, c.Answered
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, nil, s.failureLocked(false)
	}
	if _, taken := s.pending[c.ID]; taken {
		return nil, nil, &Error{Op: "configure", Err: fmt.Errorf("id %s is in use by a call in flight", c.ID.Raw())}
	}
	if _, late := s.cancelled[c.ID]; late {
		return nil, nil, &Error{Op: "configure", Err: fmt.Errorf("id %s was used by a cancelled call", c.ID.Raw())}
	}
	s.pending[c.ID] = w
	if l != nil {
		s.listeners = append(s.listeners, l)
	}
	return w, l, nil
}

// leave forgets the call, unless its answer has been taken in already, which it then returns. With cancel the answer will
// be dropped, and with tell the server is told, off the caller's path.
func (s *Stdio) leave(id jsonrpc.ID, w *waiter, cancel, tell bool) *jsonrpc.Message {
	s.mu.Lock()
	if s.pending[id] != w {
		s.mu.Unlock()
		return <-w.answer
	}
	defer s.mu.Unlock()
	delete(s.pending, id)
	if cancel && s.err == nil {
		s.forgetLocked(id)
		if tell && s.notices < noticeCount {
			s.notices++
			s.wg.Go(func() { s.notice(id) })
		}
	}
	return nil
}

// forgetLocked remembers id among the latest lateAnswers cancelled ones.
func (s *Stdio) forgetLocked(id jsonrpc.ID) {
	s.cancelled[id] = struct{}{}
	if len(s.order) < lateAnswers {
		s.order = append(s.order, id)
		return
	}
	delete(s.cancelled, s.order[s.oldest])
	s.order[s.oldest] = id
	s.oldest = (s.oldest + 1) % lateAnswers
}

// notice tells the server that the request id is cancelled.
func (s *Stdio) notice(id jsonrpc.ID) {
	params := append(append([]byte(`{"requestId":`), id.Raw()...), '}')
	ctx, cancel := context.WithTimeout(context.Background(), noticeTime)
	defer cancel()
	_, _ = s.send(ctx, jsonrpc.AppendNotification(nil, "notifications/cancelled", params)) // a failure ends the connection by itself
	s.mu.Lock()
	s.notices--
	s.mu.Unlock()
}

// send writes one line. sent says that it was written whole; when not, err is nil if ctx has ended or the connection
// had failed before. A line of which only a part was written ends the connection.
func (s *Stdio) send(ctx context.Context, line []byte) (sent bool, err error) {
	n, err := s.out.write(ctx, s.done, line)
	switch {
	case err == nil:
		return true, nil
	case n == 0 && errors.Is(err, errStopped):
		return false, nil
	}
	// A process that died shows itself first by a broken pipe. Its end says more than that.
	if s.proc != nil && !errors.Is(err, errStopped) {
		wait := time.NewTimer(settle)
		defer wait.Stop()
		select {
		case <-s.done:
		case <-ctx.Done():
		case <-wait.C:
		}
	}
	if errors.Is(err, errStopped) {
		err = errors.New("the server took only a part of a message before its time was over")
	}
	s.fail(&Error{Op: "send", Err: err}, 0)
	return false, nil
}

func (s *Stdio) unlisten(l *listener) {
	s.mu.Lock()
	for i, other := range s.listeners {
		if other == l {
			// The slice may be in use by notify: it is replaced, not changed.
			s.listeners = append(append(make([]*listener, 0, len(s.listeners)), s.listeners[:i]...), s.listeners[i+1:]...)
			break
		}
	}
	s.mu.Unlock()
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
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
		w := s.pending[m.ID]
		echo := w != nil && w.method == m.Method
		s.mu.Unlock()
		reason := "the server sent a request, which it may not"
		if echo {
			reason = "the server sent the request back"
		}
		return &FramingError{Reason: reason, Excerpt: s.excerpt(line), Echo: echo}
	}
	s.mu.Lock()
	w := s.pending[m.ID]
	delete(s.pending, m.ID)
	_, late := s.cancelled[m.ID]
	delete(s.cancelled, m.ID)
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

func (s *Stdio) notify(m *jsonrpc.Message) {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, l := range listeners {
		l.mu.Lock()
		if !l.gone {
			l.fn(m)
		}
		l.mu.Unlock()
	}
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
		err = &FramingError{Reason: "stdout ended within a message", Excerpt: s.excerpt(partial.line), Err: io.ErrUnexpectedEOF}
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
		exit.Status, exit.Code = s.proc.status()
		select {
		case <-s.errDone:
		case <-wait.C:
		}
	case <-s.done:
	case <-wait.C:
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
		for id, w := range s.pending {
			delete(s.pending, id)
			w.answer <- nil
		}
	}
	s.mu.Unlock()
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
		for _, end := range []chan struct{}{s.readDone, s.errDone} {
			select {
			case <-end:
			case <-wait.C:
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
