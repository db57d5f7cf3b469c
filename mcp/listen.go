package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

const (
	methodListen = "subscriptions/listen"

	noteAcknowledged     = "notifications/subscriptions/acknowledged"
	noteToolsChanged     = "notifications/tools/list_changed"
	notePromptsChanged   = "notifications/prompts/list_changed"
	noteResourcesChanged = "notifications/resources/list_changed"
	noteResourceUpdated  = "notifications/resources/updated"
	noteCancelled        = "notifications/cancelled"
	noteProgress         = "notifications/progress"
	noteMessage          = "notifications/message"

	waitAcknowledgement = "the acknowledgement"

	keySubscription = "io.modelcontextprotocol/subscriptionId"

	// maxChangeBytes bounds the params of one change notification, of which a subscription keeps Limits.Changes.
	maxChangeBytes = 16 << 10
	// endedIDs is how many ended subscriptions are remembered, so that what still comes for them is late and not foreign.
	endedIDs = 256
)

// SubscriptionFilter says which changes are to be announced, or are: see Listen and Subscription.Effective. The zero value
// asks for none.
//
// Spec: 2026-07-28 basic/utilities/subscriptions.
type SubscriptionFilter struct {
	ToolsListChanged     bool
	PromptsListChanged   bool
	ResourcesListChanged bool
	// ResourceSubscriptions are URIs of resources, compared byte for byte. An update may name one of them or a resource
	// below one: with the same scheme and authority and a path that continues it at a slash, or the same URI with a query
	// or fragment behind it.
	ResourceSubscriptions []string
}

// check returns why the filter cannot be asked for, "" if it can.
func (f *SubscriptionFilter) check(most int) string {
	if len(f.ResourceSubscriptions) > most {
		return fmt.Sprintf("filter has %d resource subscriptions, want at most %d", len(f.ResourceSubscriptions), most)
	}
	seen := make(map[string]bool, len(f.ResourceSubscriptions))
	for i, uri := range f.ResourceSubscriptions {
		switch {
		case uri == "":
			return fmt.Sprintf("resource subscription %d is empty", i)
		case !utf8.ValidString(uri):
			return fmt.Sprintf("resource subscription %d is not valid UTF-8", i)
		case seen[uri]:
			return "resource subscription " + quote(uri) + " stands twice"
		}
		seen[uri] = true
	}
	return ""
}

// append appends f as the specification writes it; what is not asked for is left out.
func (f *SubscriptionFilter) append(dst []byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	next := func(s string) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, s...)
	}
	if f.ToolsListChanged {
		next(`"toolsListChanged":true`)
	}
	if f.PromptsListChanged {
		next(`"promptsListChanged":true`)
	}
	if f.ResourcesListChanged {
		next(`"resourcesListChanged":true`)
	}
	if len(f.ResourceSubscriptions) > 0 {
		next(`"resourceSubscriptions":[`)
		for i, uri := range f.ResourceSubscriptions {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strictjson.AppendString(dst, uri)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// decodeFilter decodes the filter of an acknowledgement, which must not be wider than asked. Its URIs come in the order in
// which the server named them.
func decodeFilter(v strictjson.Value, asked *SubscriptionFilter) (SubscriptionFilter, *fault) {
	var got SubscriptionFilter
	if f := asObject("notifications", v); f != nil {
		return got, f
	}
	for name, m := range v.Members() {
		var f *fault
		switch name {
		case "toolsListChanged":
			got.ToolsListChanged, f = decodeAsked(name, m, asked.ToolsListChanged)
		case "promptsListChanged":
			got.PromptsListChanged, f = decodeAsked(name, m, asked.PromptsListChanged)
		case "resourcesListChanged":
			got.ResourcesListChanged, f = decodeAsked(name, m, asked.ResourcesListChanged)
		case "resourceSubscriptions":
			got.ResourceSubscriptions, f = decodeAskedURIs(name, m, asked.ResourceSubscriptions)
		}
		if f != nil {
			return got, f.under("notifications")
		}
	}
	return got, nil
}

func decodeAsked(name string, v strictjson.Value, asked bool) (bool, *fault) {
	b, f := asBool(name, v)
	if f == nil && b && !asked {
		f = faultf("was not asked for").under(name)
	}
	return b, f
}

func decodeAskedURIs(name string, v strictjson.Value, asked []string) ([]string, *fault) {
	uris, f := asStrings(name, v)
	if f != nil {
		return nil, f
	}
	open := make(map[string]bool, len(asked))
	for _, uri := range asked {
		open[uri] = true
	}
	var got []string
	for i, uri := range uris {
		again, ok := open[uri]
		if !ok {
			return nil, faultf("was not asked for").at(i).under(name)
		}
		if again {
			got = append(got, uri)
		}
		open[uri] = false
	}
	return got, nil
}

// Listen asks the server to announce changes and returns once the server has acknowledged that. Of what is asked for it may
// acknowledge a part, or nothing; Effective of the Subscription says what. Whether it declared the capability is not looked
// at: the acknowledgement is its word.
//
// Ctx and Timeouts.Discover bound the wait for the acknowledgement, and nothing after it: the Subscription lives until it is
// closed, the server ends it, the connection is lost or the peer breaks the protocol. Nothing connects again by itself.
//
// The acknowledgement must be the first message of the subscription and no wider than the filter. Anything else, an answer
// included, is a *ProtocolError. The error is otherwise that of the server's answer, as for every request, a *TimeoutError,
// a *ContextError, a *TransportError, or a *LimitError for more than Limits.Subscriptions at a time. After an error nothing
// of the subscription is left, and the server has been told.
//
// Spec: 2026-07-28 basic/utilities/subscriptions.
func (c *Client) Listen(ctx context.Context, filter SubscriptionFilter) (_ *Subscription, err error) {
	defer c.name(&err)
	filter.ResourceSubscriptions = slices.Clone(filter.ResourceSubscriptions)
	if reason := filter.check(c.opts.limits.Items); reason != "" {
		return nil, &RequestError{Method: methodListen, Reason: reason}
	}
	r, err := c.newRequest(methodListen, &RequestMeta{}, c.opts.timeouts.Discover, func(dst []byte) []byte {
		return filter.append(append(dst, `,"notifications":`...))
	})
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, &ContextError{Op: methodListen, Err: err}
	}
	s := newSubscription(ctx, c, r.id, filter)
	if err := c.subscriptions.enter(s, r, c.opts.limits.Subscriptions); err != nil {
		s.stop(nil)
		return nil, err
	}

	timer := time.NewTimer(r.timeout)
	defer timer.Stop()
	select {
	case <-s.acked:
		return s, nil
	case <-s.done:
	case <-ctx.Done():
		s.end(SubscriptionClosed, &ContextError{Op: methodListen, Delivered: true, Err: ctx.Err()}, nil)
	case <-timer.C:
		s.end(SubscriptionClosed, &TimeoutError{Op: methodListen, After: r.timeout, Waiting: waitAcknowledgement, Delivered: true, Stderr: c.tail()}, context.DeadlineExceeded)
	}
	select {
	case <-s.acked: // it was there, and is the caller's to look at
		return s, nil
	default:
	}
	<-s.gone
	err = s.Err()
	var late *TimeoutError
	if errors.As(err, &late) && late.Waiting == waitAcknowledgement {
		now := *late // when it was made, it was not known how far the exchange had come
		now.Delivered = wasDelivered(s.failed)
		if w := waiting(s.failed); w != "" {
			now.Waiting += " and " + w
		}
		err = &now
	}
	if ended := ctx.Err(); ended != nil {
		return nil, &ContextError{Op: methodListen, Delivered: wasDelivered(s.failed), Err: ended}
	}
	return nil, err
}

// subscriptions are those of one client.
type subscriptions struct {
	running sync.WaitGroup // added to under mu while closed is false

	mu     sync.Mutex
	live   map[jsonrpc.ID]*Subscription // those whose goroutine runs
	ended  []jsonrpc.ID                 // the latest endedIDs, a ring once it is full
	oldest int
	closed bool
}

// enter starts the subscription, if there is room for it.
func (all *subscriptions) enter(s *Subscription, r *request, most int) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	switch {
	case all.closed:
		return &TransportError{Method: methodListen, Op: "close", Err: ErrClosed}
	case len(all.live) >= most:
		return &LimitError{Method: methodListen, What: "subscriptions at a time", Max: int64(most), Unit: "subscriptions"}
	}
	if all.live == nil {
		all.live = map[jsonrpc.ID]*Subscription{}
	}
	all.live[s.id] = s
	all.running.Go(func() { s.run(r) })
	return nil
}

func (all *subscriptions) leave(s *Subscription) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.live, s.id)
	if len(all.ended) < endedIDs {
		all.ended = append(all.ended, s.id)
		return
	}
	all.ended[all.oldest] = s.id
	all.oldest = (all.oldest + 1) % endedIDs
}

// close lets no more in. The connection must be closed before wait.
func (all *subscriptions) close() {
	all.mu.Lock()
	all.closed = true
	all.mu.Unlock()
}

// find returns the subscription with the id; if there is none, late says that there was, and others are those that are.
func (all *subscriptions) find(id jsonrpc.ID) (s *Subscription, late bool, others []*Subscription) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s = all.live[id]; s != nil {
		return s, false, nil
	}
	for _, other := range all.live {
		others = append(others, other)
	}
	return nil, slices.Contains(all.ended, id), others
}

// route is given every notification of a stdio connection, after the calls in flight have had it, on the goroutine that
// reads. What nobody wants is dropped and counted. A message of a subscription that is nobody's, while there are some, is
// a fault of all of them: it may be the change that one of them waits for.
func (c *Client) route(m *jsonrpc.Message) {
	claimed := c.claimed
	c.claimed = false
	switch m.Method {
	case noteAcknowledged, noteToolsChanged, notePromptsChanged, noteResourcesChanged, noteResourceUpdated:
		id, f := subscriptionID(m.Params)
		s, late, others := c.subscriptions.find(id)
		if s != nil {
			s.take(m)
			return
		}
		if f == nil {
			f = foreignID()
		}
		failed := false
		for _, other := range others {
			if !late && other.end(SubscriptionViolated, f.in(m.Method).hide(c.opts.redact).err(methodListen), nil) {
				failed = true
			}
		}
		claimed = failed
	case noteCancelled:
		v, _ := m.Params.Get("requestId")
		id, err := jsonrpc.ParseID(v)
		s, late, _ := c.subscriptions.find(id)
		if s != nil {
			s.take(m)
			return
		}
		claimed = err == nil && late // a server that ends a subscription says it twice
	}
	if !claimed {
		c.dropped.Add(1)
	}
}

// subscriptionID reads the id that every message of a subscription carries.
func subscriptionID(params strictjson.Value) (jsonrpc.ID, *fault) {
	meta, ok := strictjson.Value(nil), false
	if params.Kind() == strictjson.KindObject {
		meta, ok = params.Get("_meta")
	}
	if !ok {
		return jsonrpc.ID{}, missing("_meta", "an object with the subscription's id")
	}
	if f := asObject("_meta", meta); f != nil {
		return jsonrpc.ID{}, f
	}
	v, ok := meta.Get(keySubscription)
	if !ok {
		return jsonrpc.ID{}, missing(keySubscription, "the subscription's id").under("_meta")
	}
	id, err := jsonrpc.ParseID(v)
	if err != nil {
		return jsonrpc.ID{}, faultf("is %s, want the subscription's id", kindName(v)).under(keySubscription).under("_meta")
	}
	return id, nil
}

func foreignID() *fault {
	return faultf("is not the id of the subscription, want the request's id with its type").under(keySubscription).under("_meta")
}

// in names the message that f is about, in front of its reason.
func (f *fault) in(message string) *fault {
	g := *f
	if g.limit == nil {
		g.front(about{kind: message})
	}
	return &g
}
