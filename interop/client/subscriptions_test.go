//go:build unix

package client

import (
	"errors"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// next waits for one change.
func next(t *testing.T, s *mcp.Subscription) mcp.SubscriptionEvent {
	t.Helper()
	select {
	case e, open := <-s.Events():
		if !open {
			t.Fatalf("the subscription has ended (%q): %v", s.Outcome(), s.Err())
		}
		return e
	case <-time.After(patience):
		t.Fatal("nothing was announced")
	}
	panic("not reached")
}

// TestGoSDKSubscriptions listens to the everything server, which announces an update of one resource every three seconds,
// and a change of its tools when a tool is called for that.
func TestGoSDKSubscriptions(t *testing.T) {
	t.Parallel()
	const watched = "test://watched-resource"
	each(t, goSDK(t, "everything-server"), func(t *testing.T, p peer) {
		client := p.connect(t)
		tools, err := client.Listen(within(t), mcp.SubscriptionFilter{ToolsListChanged: true})
		if err != nil {
			t.Fatal(err)
		}
		s, err := client.Listen(within(t), mcp.SubscriptionFilter{PromptsListChanged: true, ResourceSubscriptions: []string{watched}})
		if err != nil {
			t.Fatal(err)
		}
		if f := s.Effective(); !f.PromptsListChanged || f.ToolsListChanged || len(f.ResourceSubscriptions) != 1 || f.ResourceSubscriptions[0] != watched {
			t.Errorf("effective filter is %+v, want all that was asked for", f)
		}
		for want := uint64(1); want <= 2; want++ {
			if e := next(t, s); e.Kind != mcp.ChangeResourceContent || e.URI != watched || e.Generation != want {
				t.Errorf("got %+v, want update %d of %s", e, want, watched)
			}
		}
		if got := s.ResourceGeneration(watched); got < 2 {
			t.Errorf("generation of the resource is %d, want at least 2", got)
		}
		if tools.Outcome() != mcp.SubscriptionLive || tools.Generation(mcp.ChangeTools) != 0 {
			t.Errorf("the other subscription: outcome %q (%v), %d changes, want none yet", tools.Outcome(), tools.Err(), tools.Generation(mcp.ChangeTools))
		}
		d := newDesk(t, client)
		d.call(t, "test_trigger_tool_change", `{}`)
		if e := next(t, tools); e.Kind != mcp.ChangeTools || e.URI != "" || e.Generation != 1 {
			t.Errorf("got %+v, want a change of the tools", e)
		}
		// On stdio this server forgets the other subscriptions of the connection with the first that is closed.
		if err := s.Close(); err != nil || s.Outcome() != mcp.SubscriptionClosed || !errors.Is(s.Err(), mcp.ErrSubscriptionClosed) {
			t.Errorf("after Close: %v, outcome %q, %v", err, s.Outcome(), s.Err())
		}
		if n := client.Dropped(); n != 0 {
			t.Errorf("%d notifications were dropped", n)
		}

		// Asked for nothing, this server ends the subscription at once, and gracefully.
		none, err := client.Listen(within(t), mcp.SubscriptionFilter{})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-none.Done():
		case <-time.After(patience):
		}
		if none.Outcome() != mcp.SubscriptionEnded || none.Err() != nil {
			t.Errorf("a subscription to nothing: outcome %q, %v, want a graceful end", none.Outcome(), none.Err())
		}
	})
}
