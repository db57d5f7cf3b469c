package transport

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// writeMoment is how much longer than its caller's context a write is waited for that cannot be called off, and writeGrace
// how much longer such a write may then go on without its caller.
const (
	writeMoment = 10 * time.Millisecond
	writeGrace  = time.Second
)

// writeBuffer is the largest buffer that is kept between writes.
const writeBuffer = 64 << 10

// callerWrites is how many writes one caller makes for others.
const callerWrites = 16

// errCalledOff says that a line was given up after a part of it had been written, or may have been.
var errCalledOff = errors.New("the server took only a part of a message before its time was over")

// lineState says how far a line has come on its way out.
type lineState = uint32

const (
	lineQueued  lineState = iota // nothing of it has been written
	lineTaken                    // it is being written
	lineWritten                  // it has been written whole
	lineDropped                  // nothing of it has been written, nor will be
	lineBroken                   // a part of it has been written, and that was the end of the stream
	lineUnsure                   // the same, but only white space is missing; or its caller has left it to a write that goes on
)

// outLine is one line on its way out.
type outLine struct {
	body   []byte // without its LF; not read any more once the line is not queued
	notice bool
	end    int64 // of it within lineWriter.sent, once it is written
	left   bool  // nobody waits for the answer: if the line is not written now it is not queued again

	state   atomic.Uint32 // a lineState; changed under lineWriter.mu
	settled chan struct{} // made under mu by who waits for the end of lineTaken, nil if nobody does
}

// begun reports whether the server may have seen something of the line.
func (o *outLine) begun() bool {
	state := o.state.Load()
	return state != lineQueued && state != lineDropped
}

// lineWriter writes whole lines in the order in which they were given to it. Giving it one never waits: who finds nobody
// writing writes what the stream takes at once, and all others leave their line in the queue and go to wait for the
// answer. Several lines of the queue go out in one write, so that callers side by side pay for one system call together:
// as many as a pipe takes whole or not at all, because a line of which a part is in the pipe can no more be withdrawn.
// Only when the stream is full a goroutine waits for it, one line at a time. Every line that has not been begun can be
// withdrawn, and nothing of it is ever sent.
type lineWriter struct {
	w    io.WriteCloser
	fast *fastWriter                                    // nil if w has no way to write without waiting
	late interface{ SetWriteDeadline(time.Time) error } // nil if a write under way cannot be called off
	most int                                            // longest write of several lines; a line alone may be longer
	fail func(error)                                    // called once, without mu, if the stream breaks before shut

	mu      sync.Mutex
	queue   []*outLine
	notices int // how many lines of the queue, or on their way, are notices
	busy    bool
	dead    bool          // the stream takes no more
	free    chan struct{} // made by who waits for the end of busy
	slow    *outLine      // the line that drain writes
	off     bool          // its write has been called off
	sent    int64         // bytes that have been written, without those of a write under way

	// Of who is busy.
	buf   []byte
	taken []*outLine
	rest  int // buf[rest:] of the slow line is still to be written
}

func newLineWriter(w io.WriteCloser, fail func(error)) *lineWriter {
	l := &lineWriter{w: w, fail: fail}
	if f, ok := w.(*os.File); ok {
		if f.SetWriteDeadline(time.Time{}) == nil {
			l.late = f
			l.fast = newFastWriter(f)
		}
		if isPipe(f) {
			l.most = pipeBuf
		}
	}
	return l
}

// put has the line written. In a crowd, where others are about to put theirs, it lets them go first, so that one write
// serves for all; a caller that is alone gets no slower by that.
func (l *lineWriter) put(o *outLine, crowd bool) {
	l.mu.Lock()
	if l.dead {
		o.state.Store(lineDropped)
		l.mu.Unlock()
		return
	}
	if o.notice {
		l.notices++
	}
	l.queue = append(l.queue, o)
	if l.busy {
		l.mu.Unlock()
		return
	}
	l.busy = true
	l.mu.Unlock()
	if l.fast != nil {
		if crowd {
			runtime.Gosched()
		}
		after := more
		for n := 0; n < callerWrites && after == more; n++ {
			after = l.batch()
		}
		if after == nothing {
			return
		}
	}
	// The stream is full, or others write more and more. Neither is for a caller, who has an answer to wait for.
	go l.drain()
}

// notice puts the line unless noticeCount others are on their way.
func (l *lineWriter) notice(body []byte) {
	l.mu.Lock()
	full := l.notices >= noticeCount
	l.mu.Unlock()
	if !full {
		l.put(&outLine{body: body, notice: true}, false)
	}
}

// left is what batch has left in the queue.
type left int

const (
	nothing left = iota // and nobody is busy any more
	more
	full // more, but the stream takes nothing at the moment
)

// batch writes as many lines of the queue as may go together, as far as that goes without waiting.
func (l *lineWriter) batch() left {
	l.mu.Lock()
	l.buf = l.buf[:0]
	for _, o := range l.queue {
		if len(l.taken) > 0 && len(l.buf)+len(o.body)+1 > l.most {
			break
		}
		l.buf = append(append(l.buf, o.body...), '\n')
		o.state.Store(lineTaken)
		l.taken = append(l.taken, o)
	}
	if len(l.taken) == 0 { // withdrawn, or shut
		l.restLocked()
		l.mu.Unlock()
		return nothing
	}
	l.queue = slices.Delete(l.queue, 0, len(l.taken))
	l.mu.Unlock()
	n, err := l.fast.write(l.buf)

	l.mu.Lock()
	end, whole := 0, 0 // whole lines are those that end before n
	for _, o := range l.taken {
		if end += len(o.body) + 1; end > n {
			end -= len(o.body) + 1
			break
		}
		o.end = l.sent + int64(end)
		l.settleLocked(o, lineWritten)
		whole++
	}
	l.sent += int64(n)
	rest := l.taken[whole:]
	if len(rest) > 0 && n > end { // it must be ended before anything else
		l.slow, rest = rest[0], rest[1:]
		l.buf, l.rest = l.buf[:end+len(l.slow.body)+1], n
	}
	again := rest[:0]
	for _, o := range rest {
		if o.left || l.dead {
			l.settleLocked(o, lineDropped)
			continue
		}
		o.state.Store(lineQueued)
		l.wakeLocked(o) // who waits for it may withdraw it now
		again = append(again, o)
	}
	l.queue = slices.Insert(l.queue, 0, again...)
	clear(l.taken)
	l.taken = l.taken[:0]
	switch {
	case err != nil:
		if o := l.slow; o != nil {
			l.slow = nil
			l.settleLocked(o, l.cut())
		}
		l.restLocked()
		l.breakUnlock(err)
		return nothing
	case n < len(l.buf) || l.slow != nil:
		l.mu.Unlock()
		return full
	case len(l.queue) > 0:
		l.mu.Unlock()
		return more
	}
	l.restLocked()
	l.mu.Unlock()
	return nothing
}

// drain writes what is in the queue until nothing is, and waits where it must.
func (l *lineWriter) drain() {
	for {
		if l.slow == nil && l.fast != nil {
			runtime.Gosched() // as in put
			switch l.batch() {
			case nothing:
				return
			case more:
				continue
			}
		}
		l.mu.Lock()
		if l.slow == nil {
			if l.dead || len(l.queue) == 0 {
				l.restLocked()
				l.mu.Unlock()
				return
			}
			l.slow = l.queue[0]
			l.queue = slices.Delete(l.queue, 0, 1)
			l.buf, l.rest = append(append(l.buf[:0], l.slow.body...), '\n'), 0
			l.slow.state.Store(lineTaken)
		}
		l.mu.Unlock()
		n, err := l.w.Write(l.buf[l.rest:])
		l.mu.Lock()
		o := l.slow
		l.slow, l.rest = nil, l.rest+n
		l.sent += int64(n)
		off := l.off
		if off {
			l.off = false
			_ = l.late.SetWriteDeadline(time.Time{}) // fails for a closed file only, which takes no more anyway
		}
		switch {
		case l.rest == len(l.buf):
			o.end = l.sent
			l.settleLocked(o, lineWritten)
		case off && l.rest == 0 && errors.Is(err, os.ErrDeadlineExceeded):
			l.settleLocked(o, lineDropped)
		default:
			if off && errors.Is(err, os.ErrDeadlineExceeded) {
				err = errCalledOff
			}
			if err == nil {
				err = io.ErrShortWrite
			}
			l.settleLocked(o, l.cut())
			l.restLocked()
			l.breakUnlock(err)
			return
		}
		l.mu.Unlock()
	}
}

// cut is the state of the slow line if nothing is written behind buf[:rest]. A server that is lenient takes what stands at
// the end of a stream without a line end for a message: so it may have been delivered unless a part of the JSON text is
// missing.
func (l *lineWriter) cut() lineState {
	if len(bytes.TrimSpace(l.buf[l.rest:])) == 0 {
		return lineUnsure
	}
	return lineBroken
}

// settleLocked ends the way of a line that was taken, or is dropped from the queue.
func (l *lineWriter) settleLocked(o *outLine, to lineState) {
	if o.state.Load() > lineTaken {
		return // lineUnsure
	}
	if o.notice {
		l.notices--
	}
	l.wakeLocked(o)
	o.state.Store(to) // from here on the line may be another call's
}

func (l *lineWriter) wakeLocked(o *outLine) {
	if o.settled != nil {
		close(o.settled)
		o.settled = nil
	}
}

// restLocked says that nobody writes any more.
func (l *lineWriter) restLocked() {
	l.busy = false
	if cap(l.buf) > writeBuffer {
		l.buf = nil
	}
	if l.free != nil {
		close(l.free)
		l.free = nil
	}
}

// breakUnlock ends the stream because of err, and unlocks mu.
func (l *lineWriter) breakUnlock(err error) {
	first := !l.dead
	l.shutLocked()
	l.mu.Unlock()
	if first {
		l.fail(err)
	}
}

func (l *lineWriter) shutLocked() {
	l.dead = true
	for _, o := range l.queue {
		l.settleLocked(o, lineDropped)
	}
	l.queue = nil
}

// shut drops what has not been begun, and takes no more.
func (l *lineWriter) shut() {
	l.mu.Lock()
	l.shutLocked()
	l.mu.Unlock()
}

// withdraw takes a line back whose caller waits no longer, and returns what has become of it: it is not queued nor taken
// any more. Of a line that has not been begun nothing is sent then. One that is stuck half-way is called off and breaks the
// stream, since nothing can follow it. Withdraw returns at once, or within writeMoment if a write cannot be called off: that
// goes on, and breaks the stream only if it is still stuck after writeGrace. The body is not read any more.
func (l *lineWriter) withdraw(o *outLine) lineState {
	l.mu.Lock()
	for o.state.Load() == lineTaken {
		if o.settled == nil {
			o.settled = make(chan struct{})
		}
		settled := o.settled
		if l.slow == o && l.late != nil && !l.off {
			l.off = true
			_ = l.late.SetWriteDeadline(time.Unix(1, 0)) // as in drain
		}
		l.mu.Unlock()
		if l.late != nil {
			<-settled
			l.mu.Lock()
			continue
		}
		// A write that has just happened gets a moment to say so.
		moment := time.NewTimer(writeMoment)
		select {
		case <-settled:
			moment.Stop()
			l.mu.Lock()
		case <-moment.C:
			l.mu.Lock()
			if o.state.Load() == lineTaken {
				l.settleLocked(o, lineUnsure)
				time.AfterFunc(writeGrace, func() { l.stuck(o) })
			}
		}
	}
	if o.state.Load() == lineQueued {
		if i := slices.Index(l.queue, o); i >= 0 {
			l.queue = slices.Delete(l.queue, i, i+1)
			l.settleLocked(o, lineDropped)
		}
	}
	state := o.state.Load()
	l.mu.Unlock()
	return state
}

// leave is withdraw for a call that was answered although its line has not been written whole, without waiting: the body is
// not read any more when leave returns, and a line that the server takes no byte of now is not sent at all. One of which a
// part is written goes out whole.
func (l *lineWriter) leave(o *outLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch o.state.Load() {
	case lineTaken:
		o.left = true
	case lineQueued:
		if i := slices.Index(l.queue, o); i >= 0 {
			l.queue = slices.Delete(l.queue, i, i+1)
			l.settleLocked(o, lineDropped)
		}
	}
}

// stuck breaks the stream if the line is still being written.
func (l *lineWriter) stuck(o *outLine) {
	l.mu.Lock()
	if l.slow != o {
		l.mu.Unlock()
		return
	}
	l.breakUnlock(errCalledOff)
}

// unread reports whether the reader is known not to have taken all of a line that was written whole.
func (l *lineWriter) unread(o *outLine) bool {
	f, ok := l.w.(*os.File)
	if !ok {
		return false
	}
	left := unread(f)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slow == nil && l.sent-int64(left) < o.end
}

// idle waits until nobody writes, for no longer than d.
func (l *lineWriter) idle(d time.Duration) {
	l.mu.Lock()
	if !l.busy {
		l.mu.Unlock()
		return
	}
	if l.free == nil {
		l.free = make(chan struct{})
	}
	free := l.free
	l.mu.Unlock()
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-free:
	case <-wait.C:
	}
}
