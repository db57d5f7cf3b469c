package mcp

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// feeds is a peer whose every listen stream the test writes to: the n-th is all[n].
type feeds struct {
	mu  sync.Mutex
	all []feed
}

type feed struct {
	*mcptest.Conn
	id string
}

func (f *feeds) handler(filter string) mcptest.Handler {
	return mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		switch r.Method {
		case methodListen:
			f.mu.Lock()
			f.all = append(f.all, feed{c, r.ID})
			f.mu.Unlock()
			c.Stream()
			c.Event(ackOf(r.ID, filter))
			c.Wait()
		case methodToolsList:
			c.Result(r, page("", tide))
		}
	})
}

func (f *feeds) at(i int) feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[i]
}

func TestSubscriptionsSideBySide(t *testing.T) {
	overBoth(t, func(t *testing.T, connect connector) {
		const n = 8
		var f feeds
		c, _ := connect(t, f.handler(`{"toolsListChanged":true}`))
		var subs []*Subscription
		for range n {
			subs = append(subs, listen(t, c, toolsOnly))
		}
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				for range i + 1 {
					f.at(i).Event(changeOf(f.at(i).id, noteToolsChanged, ""))
				}
				f.at(i).Event(endOf(f.at(i).id))
			})
			wg.Go(func() { alive(t, c) })
		}
		wg.Wait()
		for i, s := range subs {
			if err := ends(t, s, SubscriptionEnded); err != nil || s.Generation(ChangeTools) != uint64(i+1) {
				t.Errorf("subscription %d: %v, %d changes, want %d", i, err, s.Generation(ChangeTools), i+1)
			}
			want := uint64(1)
			for e := range s.Events() {
				if e.Generation != want || e.Kind != ChangeTools || e.URI != "" {
					t.Errorf("subscription %d: event %+v, want generation %d", i, e, want)
				}
				want++
			}
		}
		if c.Dropped() != 0 {
			t.Errorf("Dropped() = %d", c.Dropped())
		}
	})
}

func TestSubscriptionOverflow(t *testing.T) {
	overBoth(t, func(t *testing.T, connect connector) {
		var f feeds
		c, _ := connect(t, f.handler(allOfIt), WithLimits(Limits{Changes: 3}))
		s := listen(t, c, wholeFilter)
		feed := f.at(0)
		for range 100 {
			feed.Event(changeOf(feed.id, noteToolsChanged, ""))
			feed.Event(changeOf(feed.id, notePromptsChanged, ""))
		}
		feed.Event(changeOf(feed.id, noteResourceUpdated, `,"uri":"file:///project/a.go"`))
		feed.Event(endOf(feed.id))
		if err := ends(t, s, SubscriptionEnded); err != nil {
			t.Error(err)
		}
		events := 0
		for range s.Events() {
			events++
		}
		if events != 3 || s.Dropped() != 198 || c.Dropped() != 198 {
			t.Errorf("%d events, dropped %d and %d, want 3 and 198", events, s.Dropped(), c.Dropped())
		}
		if a, b, d := s.Generation(ChangeTools), s.Generation(ChangePrompts), s.Generation(ChangeResourceContent); a != 100 || b != 100 || d != 1 {
			t.Errorf("generations %d, %d, %d, want 100, 100, 1", a, b, d)
		}
		if got := s.ResourceGeneration("file:///project/"); got != 1 {
			t.Errorf("ResourceGeneration = %d, want 1", got)
		}
	})
}

func TestResourceGenerations(t *testing.T) {
	var f feeds
	c, _ := pipe(t, f.handler(`{"resourcesListChanged":true,"resourceSubscriptions":["file:///p","file:///p/q/","note://a"]}`))
	s := listen(t, c, SubscriptionFilter{ResourcesListChanged: true, ResourceSubscriptions: []string{"file:///p", "file:///p/q/", "note://a", "x:"}})
	feed := f.at(0)
	for _, uri := range []string{"file:///p", "file:///p/a", "file:///p/q/b", "note://a", "note://a"} {
		feed.Event(changeOf(feed.id, noteResourceUpdated, `,"uri":"`+uri+`","vendor":1.0`))
		e := <-s.Events()
		if v, _ := e.Member("vendor"); e.URI != uri || e.Kind != ChangeResourceContent || string(v) != "1.0" {
			t.Errorf("event %+v, want %s", e, uri)
		}
	}
	feed.Event(changeOf(feed.id, noteResourcesChanged, ""))
	if e := <-s.Events(); e.Kind != ChangeResources || e.Generation != 1 {
		t.Errorf("event %+v", e)
	}
	for uri, want := range map[string]uint64{
		"file:///p": 3, "file:///p/q/": 1, "note://a": 2,
		"file:///p/a": 3, "file:///p/q/z": 4, "note://a?x": 2,
		"x:": 0, "file:///pp": 0, "": 0,
	} {
		if got := s.ResourceGeneration(uri); got != want {
			t.Errorf("ResourceGeneration(%q) = %d, want %d", uri, got, want)
		}
	}
	if got := s.Generation(ChangeResourceContent); got != 5 {
		t.Errorf("Generation = %d, want 5", got)
	}
}

// TestEndsInEitherOrder has the two messages by which a stdio server ends a subscription, in one write each way.
func TestEndsInEitherOrder(t *testing.T) {
	for first, want := range map[string]SubscriptionOutcome{"result": SubscriptionEnded, "cancelled": SubscriptionCancelled} {
		synctest.Test(t, func(t *testing.T) {
			c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
				if r.Method != methodListen {
					c.Result(r, page("", tide))
					return
				}
				cancelled := `{"jsonrpc":"2.0","method":"` + noteCancelled + `","params":{"requestId":` + r.ID + `}}`
				lines := []string{ackOf(r.ID, `{}`), endOf(r.ID), cancelled}
				if first == "cancelled" {
					lines[1], lines[2] = lines[2], lines[1]
				}
				c.Line(strings.Join(lines, "\n"))
			}))
			defer closed(t, c)
			ends(t, listen(t, c, toolsOnly), want)
			alive(t, c)
			synctest.Wait()
			if c.Dropped() != 0 || strings.Contains(p.Methods(), noteCancelled) {
				t.Errorf("%s first: dropped %d, sent %q", first, c.Dropped(), p.Methods())
			}
		})
	}
}

// TestServerCancelOverHTTP: the rule that a server cancels on stdio only is a comment of the schema, the duty to cancel is
// in the text.
func TestServerCancelOverHTTP(t *testing.T) {
	c, _ := overHTTPWith(t, says(ackOf("ID", `{}`), `{"jsonrpc":"2.0","method":"`+noteCancelled+`","params":{"requestId":ID}}`))
	ends(t, listen(t, c, toolsOnly), SubscriptionCancelled)
	c, _ = overHTTPWith(t, says(ackOf("ID", `{}`), `{"jsonrpc":"2.0","method":"`+noteCancelled+`","params":{"requestId":7099}}`))
	as[*ProtocolError](t, ends(t, listen(t, c, toolsOnly), SubscriptionViolated))
}

// TestProgressOnAListenStream: a subscription has no progress token, so the note can be nobody's.
func TestProgressOnAListenStream(t *testing.T) {
	c, _ := overHTTPWith(t, says(ackOf("ID", `{}`), `{"jsonrpc":"2.0","method":"`+noteProgress+`","params":{"progressToken":ID,"progress":1}}`))
	as[*ProtocolError](t, ends(t, listen(t, c, toolsOnly), SubscriptionViolated))
}

// TestStrayNotifications counts on stdio what nobody wants exactly once, however many requests are in flight.
func TestStrayNotifications(t *testing.T) {
	stray := []string{
		`{"jsonrpc":"2.0","method":"` + noteToolsChanged + `"}`,
		changeOf("7099", noteResourceUpdated, `,"uri":"a:"`),
		ackOf("7099", `{}`),
		`{"jsonrpc":"2.0","method":"` + noteCancelled + `","params":{"requestId":7099}}`,
		`{"jsonrpc":"2.0","method":"` + noteMessage + `","params":{"level":"info","data":1}}`,
		`{"jsonrpc":"2.0","method":"` + noteProgress + `","params":{"progressToken":"x","progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"com.example/x","params":{}}`,
	}
	for _, calls := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var conn *mcptest.Conn
			c, p := pipe(t, func(c *mcptest.Conn, r mcptest.Request) {
				if conn = c; r.Method == methodDiscover {
					c.Result(r, mcptest.Discover)
				}
			})
			defer closed(t, c)
			var wg sync.WaitGroup
			for range calls {
				wg.Go(func() { alive(t, c) })
			}
			synctest.Wait()
			for _, m := range stray {
				conn.Line(m)
			}
			for _, r := range p.Requests()[1:] {
				conn.Result(r, page("", tide))
			}
			wg.Wait()
			synctest.Wait()
			if c.Dropped() != uint64(len(stray)) || c.Err() != nil {
				t.Errorf("with %d calls in flight: Dropped() = %d, want %d; %v", calls, c.Dropped(), len(stray), c.Err())
			}
		})
	}
	for _, m := range stray[:4] {
		c, _ := overHTTPWith(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			c.Stream()
			c.Event(m)
			c.Event(`{"jsonrpc":"2.0","id":` + r.ID + `,"result":` + page("", tide) + `}`)
		}))
		_, err := c.ListTools(short(t), nil)
		as[*ProtocolError](t, err)
	}
	c, _ := overHTTPWith(t, says(ackOf("ID", `{"toolsListChanged":true}`), stray[6], stray[7], stray[4], changeOf("ID", noteToolsChanged, "")))
	s := listen(t, c, toolsOnly)
	if e := <-s.Events(); e.Generation != 1 || c.Dropped() != 3 {
		t.Errorf("event %+v, dropped %d, want the change and 3", e, c.Dropped())
	}
}

// TestLateMessages: what comes for a subscription that has ended harms no other.
func TestLateMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f feeds
		c, _ := pipe(t, f.handler(`{"toolsListChanged":true}`))
		defer closed(t, c)
		gone, live := listen(t, c, toolsOnly), listen(t, c, toolsOnly)
		if err := gone.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		f.at(0).Event(changeOf(f.at(0).id, noteToolsChanged, ""))
		f.at(0).Event(endOf(f.at(0).id))
		f.at(0).Event(`{"jsonrpc":"2.0","method":"` + noteCancelled + `","params":{"requestId":` + f.at(0).id + `}}`)
		f.at(1).Event(changeOf(f.at(1).id, noteToolsChanged, ""))
		if e := <-live.Events(); e.Generation != 1 || live.Outcome() != SubscriptionLive || c.Dropped() != 1 || gone.Generation(ChangeTools) != 0 {
			t.Errorf("event %+v, outcome %q (%v), dropped %d", e, live.Outcome(), live.Err(), c.Dropped())
		}
		f.at(1).Event(changeOf("7099", noteToolsChanged, ""))
		ends(t, live, SubscriptionViolated)
	})
}

func TestEndedIDsAreBounded(t *testing.T) {
	c, _ := pipe(t, says(ackOf("ID", `{}`), endOf("ID")))
	for range endedIDs + 10 {
		ends(t, listen(t, c, toolsOnly), SubscriptionEnded)
	}
	c.subscriptions.mu.Lock()
	defer c.subscriptions.mu.Unlock()
	if n := len(c.subscriptions.ended); n > endedIDs {
		t.Errorf("%d ended ids are kept, want at most %d", n, endedIDs)
	}
}

func TestSubscribedURICovers(t *testing.T) {
	for _, test := range []struct {
		subscribed, uri string
		want            bool
	}{
		{"file:///project/", "file:///project/src/a.go", true},
		{"file:///project/", "file:///project-x/", false},
		{"file:///project", "file:///project/src/a.go", true},
		{"file:///project", "file:///project-x", false},
		{"file:///project", "file:///project/", true},
		{"file:///project/", "file:///project", false},
		{"file:///a/b", "file:///a", false},
		{"file:///a", "FILE:///a/b", true},
		{"file:///a", "file:///A/b", false},
		{"file:///a", "file:/a/b", false},
		{"file:/a", "file:/a/b", true},
		{"https://Host.example/x", "https://host.EXAMPLE/x/y", true},
		{"https://host.example", "https://host.example/x", true},
		{"https://host.example", "https://host.example.evil/x", false},
		{"https://host.example", "https://host.example:8443/x", false},
		{"https://host.example/x", "http://host.example/x/y", false},
		{"https://u@host.example/x", "https://U@host.example/x/y", false},
		{"https://host.example/x", "https://u@host.example/x/y", false},
		{"note://a", "note://a?q=1", true},
		{"note://a", "note://a#f", true},
		{"note://a", "note://a?q=1#f", true},
		{"note://a?q=1", "note://a?q=1#f", true},
		{"note://a?q=1", "note://a?q=1?r", false},
		{"note://a?q=1", "note://a?q=12", false},
		{"note://a?q=1", "note://a/b", false},
		{"note://a#f", "note://a#f#g", false},
		{"note://a#f", "note://a#f?q", false},
		{"note://a/b", "note://a/b/c?q", true},
		{"file:///project/", "file:///project/../x", false},
		{"file:///project/", "file:///project/./x", false},
		{"file:///project/", "file:///project/a/%2E%2e/x", false},
		{"file:///project/", "file:///project/a%2F..%2fx", false},
		{"file:///project/", "file:///project/..x", true},
		{"urn:isbn:1", "urn:isbn:1/2", true},
		{"urn:isbn:1", "urn:isbn:12", false},
		{"plain", "plain", true},
		{"plain", "plain/x", false},
		{"plain", "plain?x", true},
	} {
		s := newSubscribedURI(test.subscribed)
		if got := s.covers(test.uri); got != test.want {
			t.Errorf("%q covers %q = %v, want %v", test.subscribed, test.uri, got, test.want)
		}
	}
}

// FuzzSubscribedURI holds the answer against package net/url: what is covered has the same origin and, with its path
// decoded and cleaned, lies at or under the subscribed one.
func FuzzSubscribedURI(f *testing.F) {
	f.Add("file:///project/", "file:///project/src/a.go")
	f.Add("https://u@h/x", "https://u@h/x/%2e%2e/y?q#f")
	f.Add("note://a?b", "note://a?b#c")
	f.Add("urn:a", "urn:a/b")
	f.Fuzz(func(t *testing.T, subscribed, uri string) {
		s := newSubscribedURI(subscribed)
		if !s.covers(subscribed) {
			t.Fatalf("%q does not cover itself", subscribed)
		}
		if !s.covers(uri) || subscribed == uri {
			return
		}
		a, err := url.Parse(subscribed)
		if err != nil || a.Scheme == "" || a.Opaque != "" {
			return
		}
		b, err := url.Parse(uri)
		if err != nil {
			return
		}
		under := path.Clean("/" + a.Path)
		if under != "/" {
			under += "/"
		}
		if !strings.EqualFold(a.Host, b.Host) || a.Scheme != b.Scheme || fmt.Sprint(a.User) != fmt.Sprint(b.User) ||
			!strings.HasPrefix(path.Clean("/"+b.Path)+"/", under) {
			t.Errorf("%q covers %q", subscribed, uri)
		}
	})
}
