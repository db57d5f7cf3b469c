package transport

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// errStopped says that a write was given up because its context or the connection ended.
var errStopped = errors.New("write given up")

// writeMoment is how much longer than its context a write may be waited for that cannot be called off.
const writeMoment = 10 * time.Millisecond

// writeBuffer is the largest buffer that is kept between writes.
const writeBuffer = 64 << 10

// lineWriter writes whole lines, one at a time. A writer that does not take a line never holds its caller for longer
// than the caller's context.
type lineWriter struct {
	w    io.WriteCloser
	fast *fastWriter                                    // nil if w has no way to write without waiting
	late interface{ SetWriteDeadline(time.Time) error } // nil if a write under way cannot be called off

	turn chan struct{} // holds one token while a write is under way; it guards buf
	buf  []byte
}

func newLineWriter(w io.WriteCloser) *lineWriter {
	l := &lineWriter{w: w, turn: make(chan struct{}, 1)}
	if f, ok := w.(*os.File); ok {
		if f.SetWriteDeadline(time.Time{}) == nil {
			l.late = f
			l.fast = newFastWriter(f)
		}
	}
	return l
}

// write writes line and LF. n is how much was written when the error is not nil; the error is errStopped when ctx or
// dead ended the attempt, and a line that has been started then leaves the stream unusable.
func (l *lineWriter) write(ctx context.Context, dead <-chan struct{}, line []byte) (n int, err error) {
	select {
	case l.turn <- struct{}{}:
	default:
		select {
		case l.turn <- struct{}{}:
		case <-ctx.Done():
			return 0, errStopped
		case <-dead:
			return 0, errStopped
		}
	}
	if closed(ctx.Done()) || closed(dead) {
		<-l.turn
		return 0, errStopped
	}
	l.buf = append(append(l.buf[:0], line...), '\n')
	if l.fast != nil {
		n, err = l.fast.write(l.buf)
		if n == len(l.buf) || err != nil {
			l.release()
			return n, err
		}
	}
	return l.slow(ctx, dead, n)
}

// closed looks at one channel at a time, for which an open one needs no lock.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// slow writes buf[n:] in a goroutine of its own. The turn is kept until the write has ended.
func (l *lineWriter) slow(ctx context.Context, dead <-chan struct{}, n int) (int, error) {
	type outcome struct {
		n   int
		err error
	}
	ended := make(chan outcome, 1)
	total := len(l.buf)
	go func() {
		k, err := l.w.Write(l.buf[n:])
		if l.late == nil {
			l.release()
		}
		ended <- outcome{n + k, err}
	}()
	if l.late == nil {
		select {
		case o := <-ended:
			return o.n, o.err
		case <-ctx.Done():
		case <-dead:
		}
		// A write that has just happened gets a moment to say so.
		wait := time.NewTimer(writeMoment)
		defer wait.Stop()
		select {
		case o := <-ended:
			return o.n, o.err
		case <-wait.C:
		}
		// How much the other side will take is not known, so the line counts as started.
		return max(n, 1), errStopped
	}
	defer l.release()
	select {
	case o := <-ended:
		return o.n, o.err
	case <-ctx.Done():
	case <-dead:
	}
	// Setting a deadline fails only for a file that was closed meanwhile, which has ended the write as well.
	_ = l.late.SetWriteDeadline(time.Unix(1, 0))
	o := <-ended
	_ = l.late.SetWriteDeadline(time.Time{})
	if o.n == total {
		return o.n, nil
	}
	return o.n, errStopped
}

// idle waits until no write is under way, for no longer than d.
func (l *lineWriter) idle(d time.Duration) {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case l.turn <- struct{}{}:
		<-l.turn
	case <-wait.C:
	}
}

func (l *lineWriter) release() {
	if cap(l.buf) > writeBuffer {
		l.buf = nil
	}
	<-l.turn
}
