package transport

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A stage is how far an exchange over HTTP has come. Stages follow each other; a redirect begins anew.
type stage int32

const (
	stageConnect stage = iota // also while all connections that may be are in use
	stageProxy
	stageTLS
	stageSend // net/http has begun to send the body
	stageHeader
	stageBody
	stageStream
)

// reach notes that a connection for the exchange has come to a stage before the first byte is sent. The exchange may
// have been given another connection meanwhile, and is then further.
func (x *exchange) reach(s stage) {
	for at := x.at.Load(); stage(at) < s; at = x.at.Load() {
		if x.at.CompareAndSwap(at, int32(s)) {
			return
		}
	}
}

// waiting says what the exchange waits for.
func (x *exchange) waiting() string {
	switch stage(x.at.Load()) {
	case stageConnect:
		return waitConnect
	case stageProxy:
		return waitProxy
	case stageTLS:
		return waitTLS
	case stageSend:
		return "the server to read the request"
	case stageHeader:
		return "the header of the answer"
	case stageBody:
		if x.got > 0 {
			return fmt.Sprintf("the rest of a JSON body (%d bytes so far)", x.got)
		}
		return "a JSON body"
	}
	if x.events.begun() > 0 {
		return fmt.Sprintf("the rest of an event (%d bytes so far)", x.events.begun())
	}
	return fmt.Sprintf("an answer on an open event stream (%d events so far)", x.events.count)
}

const (
	waitConnect = "a connection"
	waitProxy   = "an answer of the proxy"
	waitTLS     = "the TLS handshake"
)

// watch breaks off the reading of a message that has begun and then pauses. The zero value with body and idle set is
// ready. Its methods are called by one goroutine.
type watch struct {
	body io.ReadCloser
	idle time.Duration
	conn *http1Conn // nil over HTTP/2
	// chunked says that the body comes in chunks of HTTP/1.1, of which net/http hands out nothing before a chunk is whole,
	// or all that was asked for is there. So the first byte of a message is asked for by itself, and whether there is life
	// is seen on the connection.
	chunked bool

	mu    sync.Mutex
	timer *time.Timer // made when it is first needed: most messages come in one piece
	armed bool
	seen  int64 // bytes of conn when it was looked at last
	late  bool
}

// read reads from the body. If a message has begun, it waits no longer than idle for more of it.
func (w *watch) read(p []byte, begun bool) (int, error) {
	if !begun {
		if w.chunked {
			p = p[:1]
		}
		return w.body.Read(p)
	}
	w.mu.Lock()
	w.armed = true
	w.life()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.idle, w.look)
	} else {
		w.timer.Reset(w.idle)
	}
	w.mu.Unlock()
	n, err := w.body.Read(p)
	w.mu.Lock()
	w.armed = false
	w.timer.Stop()
	w.mu.Unlock()
	return n, err
}

// look ends the Read under way if there was no life since the watch was armed or looked last.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.armed: // the timer was stopped too late
	case w.life():
		w.timer.Reset(w.idle)
	default:
		w.late = true
		go w.body.Close() // which waits for net/http
	}
}

// life reports whether something has come since it was last called.
func (w *watch) life() bool {
	if w.conn == nil {
		return false // over HTTP/2 a Read returns whatever has come
	}
	n := w.conn.bytes.Load()
	was := w.seen
	w.seen = n
	return n != was
}

// stalled is err, or if the watch has broken off the reading, a *StallError.
func (w *watch) stalled(err error, where string, got int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || !w.late {
		return err
	}
	return &StallError{Where: where, After: w.idle, Bytes: int64(got)}
}
