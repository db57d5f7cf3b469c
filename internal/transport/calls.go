package transport

import (
	"fmt"
	"sync"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

// lateAnswers is how many cancelled ids are remembered, so that their answers are dropped and not foreign.
const lateAnswers = 4096

// waiter is a call that waits for its answer. Whoever takes it out of the calls, other than the call itself, puts one
// message into answer: nil if the connection has failed, tooLate if its time is over. There is room for one, so that
// delivery never waits.
type waiter struct {
	id       jsonrpc.ID
	method   string
	notify   func(*jsonrpc.Message) // nil, or Call.Notify
	answered func(*jsonrpc.Message) // nil, or called before the answer is put into answer
	deadline time.Time              // zero for none
	place    int                    // in calls.listening, if notify is set
	answer   chan *jsonrpc.Message
	line     outLine

	mu   sync.Mutex // held while notify runs, so that leaving waits for it
	gone bool       // notify is not called any more
}

// tooLate is what a call gets for an answer when its Timeout is over.
var tooLate = new(jsonrpc.Message)

// hear gives the call a notification, unless it has left.
func (w *waiter) hear(m *jsonrpc.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.gone {
		w.notify(m)
	}
}

// mute returns when notify does not run and will not run again.
func (w *waiter) mute() {
	if w.notify != nil {
		w.mu.Lock()
		w.gone = true
		w.mu.Unlock()
	}
}

// calls are the calls in flight of one connection and the ids of those that were cancelled. All but the spare waiters is
// guarded by the connection's mutex.
type calls struct {
	pending   map[jsonrpc.ID]*waiter
	listening []*waiter // those of pending that have a notify, in no order
	cancelled map[jsonrpc.ID]struct{}
	order     []jsonrpc.ID // of cancelled, a ring once it is full
	oldest    int

	// One timer serves all deadlines. It goes off at the earliest of the calls that were in flight when it was set, and
	// then looks through those that are. Calls with the same timeout end in the order in which they began, so that a call
	// almost never has to touch it.
	alarm  *time.Timer
	alarms time.Time // when it goes off, zero if it is not set
	ring   func()    // what it does, in a goroutine of its own: expire

	spares sync.Pool // of *waiter, to which nobody will deliver any more
}

func newCalls() *calls {
	return &calls{pending: map[jsonrpc.ID]*waiter{}, cancelled: map[jsonrpc.ID]struct{}{}}
}

// spare returns a waiter of which nobody knows.
func (c *calls) spare() *waiter {
	if w, ok := c.spares.Get().(*waiter); ok {
		return w
	}
	return &waiter{answer: make(chan *jsonrpc.Message, 1)}
}

// recycle keeps the waiter of a call that was answered for another one, and reports whether it did. One whose line is still
// being written, to a server that answers before it has read, stays with the writer.
func (c *calls) recycle(w *waiter) bool {
	if w.line.state.Load() != lineWritten {
		return false
	}
	w.notify, w.answered, w.line.body = nil, nil, nil
	w.line.state.Store(lineQueued)
	c.spares.Put(w)
	return true
}

// enter adds a call. It refuses an id of which an answer may still come.
func (c *calls) enter(w *waiter) error {
	if _, taken := c.pending[w.id]; taken {
		return &Error{Op: "configure", Err: fmt.Errorf("id %s is in use by a call in flight", w.id.Raw())}
	}
	if _, late := c.cancelled[w.id]; late {
		return &Error{Op: "configure", Err: fmt.Errorf("id %s was used by a cancelled call", w.id.Raw())}
	}
	c.pending[w.id] = w
	if w.notify != nil {
		w.place = len(c.listening)
		c.listening = append(c.listening, w)
	}
	if !w.deadline.IsZero() && (c.alarms.IsZero() || w.deadline.Before(c.alarms)) {
		c.set(w.deadline)
	}
	return nil
}

// leave takes a call out, and reports whether it was in.
func (c *calls) leave(w *waiter) bool {
	if c.pending[w.id] != w {
		return false
	}
	delete(c.pending, w.id)
	if w.notify != nil {
		last := len(c.listening) - 1
		moved := c.listening[last]
		c.listening[w.place], moved.place = moved, w.place
		c.listening[last] = nil
		c.listening = c.listening[:last]
	}
	return true
}

// take takes out the call that an answer with the id is for. Without one, late says that there was one, and that this is
// the answer that may still come.
func (c *calls) take(id jsonrpc.ID) (w *waiter, late bool) {
	w = c.pending[id]
	if w != nil && w.line.begun() { // else the server cannot know of it
		c.leave(w)
		return w, false
	}
	_, late = c.cancelled[id]
	delete(c.cancelled, id)
	return nil, late
}

// forget remembers the id of a call that was given up among the latest lateAnswers.
func (c *calls) forget(id jsonrpc.ID) {
	c.cancelled[id] = struct{}{}
	if len(c.order) < lateAnswers {
		c.order = append(c.order, id)
		return
	}
	delete(c.cancelled, c.order[c.oldest])
	c.order[c.oldest] = id
	c.oldest = (c.oldest + 1) % lateAnswers
}

// set has the alarm go off at the time.
func (c *calls) set(at time.Time) {
	c.alarms = at
	if c.alarm == nil {
		c.alarm = time.AfterFunc(time.Until(at), c.ring)
		return
	}
	c.alarm.Reset(time.Until(at))
}

// expire ends the calls whose time is over and sets the alarm for the next one.
func (c *calls) expire() {
	now, next := time.Now(), time.Time{}
	for id, w := range c.pending {
		switch {
		case w.deadline.IsZero():
		case !w.deadline.After(now):
			c.leave(w)
			c.forget(id)
			w.answer <- tooLate
		case next.IsZero() || w.deadline.Before(next):
			next = w.deadline
		}
	}
	c.alarms = next
	if !next.IsZero() {
		c.set(next)
	}
}

// end gives all calls nil for an answer.
func (c *calls) end() {
	for _, w := range c.pending {
		c.leave(w)
		w.answer <- nil
	}
	if c.alarm != nil {
		c.alarm.Stop()
	}
}
