package transport

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

const (
	// lineBuffer is the size of the read buffer while lines are short.
	lineBuffer = 64 << 10
	// handOver is the length from which a line is given away with its buffer instead of being copied out of it.
	handOver = 16 << 10
)

// lineReader cuts a stream into lines. A line ends with LF; one CR before the LF belongs to the line end. Memory stays
// within the limit on a line: nothing is read ahead of a line that is too long.
type lineReader struct {
	r     io.Reader
	limit int         // longest line without its end
	pause *pauseWatch // nil: a line may take as long as it likes

	buf        []byte // buf[start:end] has been read and not returned
	start, end int
	scanned    int // buf[start:scanned] has no LF
	err        error
}

var errLineTooLong = errors.New("line too long")

// partialLine is the stream's end, or the error that ended it, within a line.
type partialLine struct {
	line []byte
	err  error
}

func (p *partialLine) Error() string { return p.err.Error() }
func (p *partialLine) Unwrap() error { return p.err }

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: r, limit: limit, buf: make([]byte, min(lineBuffer, limit+2))}
}

// next returns the next line that has a length, without its end; the caller owns it. The error is errLineTooLong, what
// the stream's Read returned, or a *partialLine around that if bytes of an unfinished line were left.
func (l *lineReader) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.scanned:l.end], '\n'); i >= 0 {
			line := l.take(l.scanned + i)
			if len(line) > 0 && line[len(line)-1] == '\r' {
				line = line[:len(line)-1]
			}
			switch {
			case len(line) > l.limit:
				return nil, errLineTooLong
			case len(line) > 0:
				return line, nil
			}
			continue
		}
		l.scanned = l.end
		if l.err != nil {
			if l.end > l.start {
				return nil, &partialLine{line: l.buf[l.start:l.end], err: l.err}
			}
			return nil, l.err
		}
		if n := l.end - l.start; n > l.limit+1 || (n == l.limit+1 && l.buf[l.end-1] != '\r') {
			return nil, errLineTooLong
		}
		l.makeRoom()
		if begun := l.end - l.start; begun > 0 && l.pause != nil {
			l.pause.begin(begun)
		}
		n, err := l.r.Read(l.buf[l.end:])
		if l.pause != nil {
			l.pause.end()
		}
		l.end += n
		l.err = err
	}
}

// take returns a line of its own, without LF at newline, and moves behind it. A short line is copied, so that an answer
// kept for long does not hold the buffer; a long one keeps the buffer, and what follows it moves to a new one.
func (l *lineReader) take(newline int) []byte {
	line := l.buf[l.start:newline:newline]
	rest := newline + 1
	switch {
	case len(line) == 0 || (len(line) == 1 && line[0] == '\r'):
	case len(line) < handOver:
		line = bytes.Clone(line)
	default:
		left := l.end - rest
		fresh := make([]byte, max(min(lineBuffer, l.limit+2), left))
		copy(fresh, l.buf[rest:l.end])
		l.buf, l.start, l.end, l.scanned = fresh, 0, left, 0
		return line
	}
	l.start, l.scanned = rest, rest
	if l.start == l.end {
		l.start, l.end, l.scanned = 0, 0, 0
	}
	return line
}

// makeRoom leaves at least one free byte behind end: it moves the unfinished line to the front, or doubles the buffer up
// to the longest line with its end.
func (l *lineReader) makeRoom() {
	if l.end < len(l.buf) {
		return
	}
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
	} else {
		fresh := make([]byte, min(2*len(l.buf), l.limit+2))
		copy(fresh, l.buf[:l.end])
		l.buf = fresh
	}
	l.end -= l.start
	l.scanned -= l.start
	l.start = 0
}

// pauseWatch bounds how long a line that has begun may pause. It watches one Read at a time, and only one in front of
// which a part of a line has been read: between lines a connection may be quiet for ever, and what is done with a line
// takes no time of the next. So lines that come whole cost nothing.
type pauseWatch struct {
	after time.Duration
	over  func(begun int64) // called at most once for a begin, in a goroutine of its own; it ends the Read
	begun atomic.Int64      // bytes of the line that the watched Read is to go on with, 0 if none is watched
	timer *time.Timer       // made when first needed
}

func (p *pauseWatch) begin(begun int) {
	p.begun.Store(int64(begun))
	if p.timer == nil {
		p.timer = time.AfterFunc(p.after, func() {
			if begun := p.begun.Load(); begun > 0 { // else something came at the last moment
				p.over(begun)
			}
		})
		return
	}
	p.timer.Reset(p.after)
}

// end is called after every Read.
func (p *pauseWatch) end() {
	if p.begun.Load() > 0 {
		p.begun.Store(0)
		p.timer.Stop()
	}
}
