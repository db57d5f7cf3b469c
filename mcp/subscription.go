package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/transport"
)

// ErrSubscriptionCancelled is Subscription.Err after the server sent notifications/cancelled for it.
var ErrSubscriptionCancelled = errors.New("mcp: the server cancelled the subscription")

// ErrSubscriptionClosed is Subscription.Err after its Close.
var ErrSubscriptionClosed = errors.New("mcp: subscription is closed")

// ChangeKind is what has changed.
type ChangeKind string

// The kinds of change.
const (
	ChangeTools           ChangeKind = "tools"            // the list of tools
	ChangePrompts         ChangeKind = "prompts"          // the list of prompts
	ChangeResources       ChangeKind = "resources"        // the list of resources, or of resource templates
	ChangeResourceContent ChangeKind = "resource_content" // what reading one resource returns
)

// SubscriptionEvent announces one change, without saying more about it: list or read again. Raw is the notification's
// params.
type SubscriptionEvent struct {
	Wire
	Kind ChangeKind
	URI  string // of ChangeResourceContent: a resource of the effective filter or one below it
	// Generation is what Subscription.Generation(Kind) returned once this change was counted.
	Generation uint64
}

// SubscriptionOutcome is how a subscription ended.
type SubscriptionOutcome string

// The outcomes.
const (
	SubscriptionLive      SubscriptionOutcome = ""          // it has not
	SubscriptionEnded     SubscriptionOutcome = "ended"     // the server answered the request, the graceful end; Err is nil
	SubscriptionCancelled SubscriptionOutcome = "cancelled" // the server sent notifications/cancelled; ErrSubscriptionCancelled
	SubscriptionLost      SubscriptionOutcome = "lost"      // the stream or the connection broke; a *TransportError
	SubscriptionClosed    SubscriptionOutcome = "closed"    // Close of the Subscription or the Client was called
	SubscriptionRefused   SubscriptionOutcome = "refused"   // the server answered with an error, see RPCError
	SubscriptionViolated  SubscriptionOutcome = "violated"  // a *ProtocolError or *LimitError
)

// Subscription is a stream of changes that the server announces. Its methods are safe for concurrent use. What it takes
// from the server it counts first, for Generation, and then puts into a channel of Limits.Changes places; when that is full
// the event is dropped and counted, so a slow reader holds nothing up and loses no change. A reader that must not miss one
// takes the generation before it lists:
//
//	for {
//		seen := sub.Generation(mcp.ChangeTools)
//		snapshot, err := client.SnapshotTools(ctx)
//		// ... use the snapshot, then wait at least as long as the server is to be spared
//		for sub.Generation(mcp.ChangeTools) == seen {
//			if _, ok := <-sub.Events(); !ok {
//				return sub.Err() // nothing is announced any more
//			}
//		}
//	}
//
// The package itself never lists in response to a change.
type Subscription struct {
	client *Client
	id     jsonrpc.ID
	asked  SubscriptionFilter
	life   context.Context // of the exchange; ended by stop
	stop   context.CancelCauseFunc
	events chan SubscriptionEvent
	acked  chan struct{} // closed by the acknowledgement
	done   chan struct{} // closed by the end
	gone   chan struct{} // the goroutine has ended
	failed error         // of the exchange, to be read once gone is closed

	mu        sync.Mutex
	ready     bool // acknowledged
	outcome   SubscriptionOutcome
	err       error
	effective SubscriptionFilter
	lists     map[ChangeKind]uint64
	resources []subscribedURI
	dropped   uint64
}

func newSubscription(ctx context.Context, c *Client, id jsonrpc.ID, asked SubscriptionFilter) *Subscription {
	s := &Subscription{
		client: c, id: id, asked: asked,
		events: make(chan SubscriptionEvent, c.opts.limits.Changes),
		acked:  make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{}),
		lists: map[ChangeKind]uint64{},
	}
	s.life, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	return s
}

// Effective returns what the server acknowledged: all that was asked for, or less.
func (s *Subscription) Effective() SubscriptionFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.effective
	f.ResourceSubscriptions = slices.Clone(f.ResourceSubscriptions)
	return f
}

// Events returns the channel of changes. It is closed at the end, once what is in it has been read.
func (s *Subscription) Events() <-chan SubscriptionEvent { return s.events }

// Generation returns how many changes of the kind were announced so far, those that Events had no room for included.
// Changes that nobody announces, because they are not in Effective or the subscription has ended, are not counted.
func (s *Subscription) Generation(kind ChangeKind) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[kind]
}

// ResourceGeneration returns how many updates were announced so far that may concern the resource: for a URI of Effective,
// those of it and of the resources below it; for one below some of Effective, all those of each. For any other it is 0.
func (s *Subscription) ResourceGeneration(uri string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum uint64
	for i := range s.resources {
		r := &s.resources[i]
		if r.uri == uri {
			return r.generation
		}
		if r.covers(uri) {
			sum += r.generation
		}
	}
	return sum
}

// Dropped returns how many events were not put into the channel because it was full.
func (s *Subscription) Dropped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Done is closed when the subscription has ended.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Outcome returns how the subscription ended, SubscriptionLive before Done is closed. If the server says it in two ways,
// as it may, the one that came first counts.
func (s *Subscription) Outcome() SubscriptionOutcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcome
}

// Err is nil before Done is closed and after a graceful end by the server; the outcomes say what it is otherwise.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	s.client.name(&err)
	return err
}

// Close ends the subscription, unless it has ended, and returns when nothing of it is left here. Over HTTP it closes the
// stream, on stdio the server is sent notifications/cancelled. It returns nil and may be called more than once.
func (s *Subscription) Close() error {
	s.end(SubscriptionClosed, ErrSubscriptionClosed, nil)
	<-s.gone
	return nil
}

// run is the subscription's goroutine, which holds the exchange open.
func (s *Subscription) run(r *request) {
	defer close(s.gone)
	defer s.client.subscriptions.leave(s)
	call := &transport.Call{ID: r.id, Method: r.method, Body: r.body, Answered: s.answer}
	if s.client.kind.lines {
		oneLine(r.body) // notifications come through the client, which knows whose they are
	} else {
		call.Notify = s.take
	}
	if _, err := s.client.conn.Do(s.life, call); err != nil {
		s.failed = err
		s.lost(err)
	}
	s.stop(nil)
}

// end ends the subscription if it has not, and reports whether it did. Cause is why the exchange is stopped.
func (s *Subscription) end(outcome SubscriptionOutcome, err, cause error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endLocked(outcome, err, cause)
}

func (s *Subscription) endLocked(outcome SubscriptionOutcome, err, cause error) bool {
	if s.outcome != SubscriptionLive {
		return false
	}
	s.outcome, s.err = outcome, err
	close(s.events)
	close(s.done)
	s.stop(cause)
	return true
}

// lost is the end of the exchange without an answer.
func (s *Subscription) lost(err error) {
	var (
		exit    *transport.ExitError // perhaps within a message, which is no violation
		stall   *transport.StallError
		framing *transport.FramingError
		foreign *transport.ForeignIDError
		limit   *transport.LimitError
	)
	outcome := SubscriptionLost
	typed := s.client.transportError(context.Background(), methodListen, wasDelivered(err), err)
	switch {
	case errors.Is(err, transport.ErrClosed):
		outcome = SubscriptionClosed
	case errors.As(err, &exit), errors.As(err, &stall):
	case errors.As(err, &framing), errors.As(err, &foreign), errors.As(err, &limit):
		outcome = SubscriptionViolated
	}
	s.end(outcome, typed, nil)
}

// answer takes the answer to the request, which ends the subscription.
func (s *Subscription) answer(m *jsonrpc.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Kind == jsonrpc.Failure {
		s.endLocked(SubscriptionRefused, s.client.answered(methodListen, m.Err), nil)
		return
	}
	f := onlyComplete(methodListen, m.Result)
	if f == nil && !s.ready {
		f = faultf("the result came before the acknowledgement")
	}
	if f == nil {
		f = s.checkID(m.Result)
	}
	if f != nil {
		s.endLocked(SubscriptionViolated, f.hide(s.client.opts.redact).err(methodListen), nil)
		return
	}
	s.endLocked(SubscriptionEnded, nil, nil)
}

// checkID wants the subscription's id in the _meta of params or of a result.
func (s *Subscription) checkID(object strictjson.Value) *fault {
	id, f := subscriptionID(object)
	if f == nil && id != s.id {
		f = foreignID()
	}
	return f
}

// take takes one notification: over HTTP each of the stream, on stdio those that name the subscription.
func (s *Subscription) take(m *jsonrpc.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outcome != SubscriptionLive {
		if m.Method != noteCancelled { // a server that ends a subscription says it twice
			s.client.dropped.Add(1)
		}
		return
	}
	if f := s.takeLocked(m); f != nil {
		s.endLocked(SubscriptionViolated, f.in(m.Method).hide(s.client.opts.redact).err(methodListen), nil)
	}
}

func (s *Subscription) takeLocked(m *jsonrpc.Message) *fault {
	switch {
	case m.Method == noteAcknowledged:
		return s.acknowledgeLocked(m.Params)
	case !s.ready:
		return faultf("came before the acknowledgement")
	}
	switch m.Method {
	case noteToolsChanged:
		return s.changeLocked(m.Params, ChangeTools, s.effective.ToolsListChanged)
	case notePromptsChanged:
		return s.changeLocked(m.Params, ChangePrompts, s.effective.PromptsListChanged)
	case noteResourcesChanged:
		return s.changeLocked(m.Params, ChangeResources, s.effective.ResourcesListChanged)
	case noteResourceUpdated:
		return s.changeLocked(m.Params, ChangeResourceContent, len(s.resources) > 0)
	case noteCancelled:
		v, _ := m.Params.Get("requestId")
		if id, err := jsonrpc.ParseID(v); err != nil || id != s.id {
			return faultf("is not the id of the subscription").under("requestId")
		}
		s.endLocked(SubscriptionCancelled, ErrSubscriptionCancelled, transport.ErrWithdrawn)
		return nil
	case noteProgress:
		return faultf("the subscription has no progress token")
	}
	s.client.dropped.Add(1)
	return nil
}

func (s *Subscription) acknowledgeLocked(params strictjson.Value) *fault {
	if f := s.checkID(params); f != nil {
		return f
	}
	if s.ready {
		return faultf("came twice")
	}
	v, ok := params.Get("notifications")
	if !ok {
		return missing("notifications", "an object")
	}
	effective, f := decodeFilter(v, &s.asked)
	if f != nil {
		return f
	}
	s.effective, s.ready = effective, true
	for _, uri := range effective.ResourceSubscriptions {
		s.resources = append(s.resources, newSubscribedURI(uri))
	}
	close(s.acked)
	return nil
}

// changeLocked counts a change and offers it to the reader.
func (s *Subscription) changeLocked(params strictjson.Value, kind ChangeKind, listed bool) *fault {
	if len(params) > maxChangeBytes {
		return tooMuch("params of a change notification", maxChangeBytes, "bytes")
	}
	if f := s.checkID(params); f != nil {
		return f
	}
	if !listed {
		return faultf("is not in the acknowledged filter")
	}
	event := SubscriptionEvent{Wire: Wire{slices.Clone(params)}, Kind: kind} // without the rest of the message
	if kind == ChangeResourceContent {
		v, ok := params.Get("uri")
		if !ok {
			return missing("uri", "a string")
		}
		var f *fault
		if event.URI, f = asString("uri", v); f != nil {
			return f
		}
		covered := false
		for i := range s.resources {
			if r := &s.resources[i]; r.covers(event.URI) {
				r.generation++
				covered = true
			}
		}
		if !covered {
			return faultf("is neither in the acknowledged filter nor below a resource of it").under("uri")
		}
	}
	s.lists[kind]++
	event.Generation = s.lists[kind]
	select {
	case s.events <- event:
	default:
		s.dropped++
		s.client.dropped.Add(1)
	}
	return nil
}
