package transport

import (
	"fmt"
	"io"
	"sync/atomic"
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
// ready.
type watch struct {
	body  io.ReadCloser
	idle  time.Duration
	timer *time.Timer // made when it is first needed: most messages come in one piece
	late  atomic.Bool
}

// read reads from the body. If a message has begun, it waits no longer than idle.
func (w *watch) read(p []byte, begun bool) (int, error) {
	if !begun {
		return w.body.Read(p)
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(w.idle, func() {
			w.late.Store(true)
			_ = w.body.Close() // which ends the Read under way
		})
	} else {
		w.timer.Reset(w.idle)
	}
	n, err := w.body.Read(p)
	w.timer.Stop()
	return n, err
}

// stalled is err, or if the watch has broken off the reading, a *StallError.
func (w *watch) stalled(err error, where string, got int) error {
	if err == nil || !w.late.Load() {
		return err
	}
	return &StallError{Where: where, After: w.idle, Bytes: int64(got)}
}
