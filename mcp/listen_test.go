package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

var wholeFilter = SubscriptionFilter{
	ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true,
	ResourceSubscriptions: []string{"file:///project/", "note://a?b"},
}

const allOfIt = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["note://a?b","file:///project/"]}`

// says answers subscriptions/listen with messages, in which ID stands for the request's id, and holds the stream open.
func says(messages ...string) mcptest.Handler {
	return mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		switch r.Method {
		case methodListen:
			c.Stream()
			for _, m := range messages {
				c.Event(strings.ReplaceAll(m, "ID", r.ID))
			}
			c.Wait()
		case methodToolsList:
			c.Result(r, page("", tide))
		}
	})
}

func TestListenSendsTheFilter(t *testing.T) {
	for _, test := range []struct {
		f    SubscriptionFilter
		want string
	}{
		{SubscriptionFilter{}, `{}`},
		{SubscriptionFilter{ToolsListChanged: true}, `{"toolsListChanged":true}`},
		{SubscriptionFilter{PromptsListChanged: true, ResourcesListChanged: true}, `{"promptsListChanged":true,"resourcesListChanged":true}`},
		{SubscriptionFilter{ResourceSubscriptions: []string{"a:\"", "b:\n"}}, `{"resourceSubscriptions":["a:\"","b:\n"]}`},
	} {
		c, p := pipe(t, says(ackOf("ID", test.want)))
		s := listen(t, c, test.f)
		sent := p.Requests()[1]
		if got, _ := sent.Params.Get("notifications"); string(got) != test.want {
			t.Errorf("notifications = %s, want %s", got, test.want)
		}
		if got := s.Effective(); !sameFilter(got, test.f) {
			t.Errorf("Effective() = %+v, want %+v", got, test.f)
		}
		closed(t, c)
	}
	for _, bad := range []SubscriptionFilter{
		{ResourceSubscriptions: []string{""}},
		{ResourceSubscriptions: []string{"a:", "a:"}},
		{ResourceSubscriptions: []string{"a:\xff"}},
		{ResourceSubscriptions: []string{"a:", "b:", "c:"}},
	} {
		c, p := pipe(t, says(), WithLimits(Limits{Items: 2}))
		_, err := c.Listen(t.Context(), bad)
		as[*RequestError](t, err)
		if got := p.Methods(); got != "server/discover" {
			t.Errorf("sent %q for a filter that cannot be", got)
		}
		closed(t, c)
	}
}

// TestListenIsOneLine: what a host declares may have line ends between its tokens, and a message on stdio may not.
func TestListenIsOneLine(t *testing.T) {
	c, p := pipe(t, says(ackOf("ID", `{}`)), WithCapabilities(ClientCapabilities{Extensions: map[string]jsontext.Value{"com.example/x": jsontext.Value("{\n}")}}))
	listen(t, c, toolsOnly)
	if got := p.Methods(); got != "server/discover subscriptions/listen" {
		t.Errorf("sent %q", got)
	}
}

func sameFilter(a, b SubscriptionFilter) bool {
	return a.ToolsListChanged == b.ToolsListChanged && a.PromptsListChanged == b.PromptsListChanged &&
		a.ResourcesListChanged == b.ResourcesListChanged && slices.Equal(a.ResourceSubscriptions, b.ResourceSubscriptions)
}

func TestListenCopiesItsFilter(t *testing.T) {
	c, _ := pipe(t, says(ackOf("ID", `{"resourceSubscriptions":["a:"]}`)))
	asked := SubscriptionFilter{ResourceSubscriptions: []string{"a:"}}
	s := listen(t, c, asked)
	asked.ResourceSubscriptions[0] = "b:"
	got := s.Effective()
	got.ResourceSubscriptions[0] = "c:"
	if got := s.Effective().ResourceSubscriptions[0]; got != "a:" {
		t.Errorf("Effective() = %q, want what was acknowledged", got)
	}
}

func TestListenAcceptsLessThanItAskedFor(t *testing.T) {
	overBoth(t, func(t *testing.T, connect connector) {
		for _, test := range []struct {
			ack  string
			want SubscriptionFilter
		}{
			{`{}`, SubscriptionFilter{}},
			{`{"toolsListChanged":false,"vendor":{"x":1}}`, SubscriptionFilter{}},
			{`{"resourceSubscriptions":[]}`, SubscriptionFilter{}},
			{`{"promptsListChanged":true,"resourceSubscriptions":["note://a?b","note://a?b"]}`, SubscriptionFilter{PromptsListChanged: true, ResourceSubscriptions: []string{"note://a?b"}}},
		} {
			c, _ := connect(t, says(ackOf("ID", test.ack)))
			if got := listen(t, c, wholeFilter).Effective(); !sameFilter(got, test.want) {
				t.Errorf("Effective() after %s = %+v, want %+v", test.ack, got, test.want)
			}
		}
	})
}

// TestListenRefuses has what must not come before the acknowledgement, or as one.
func TestListenRefuses(t *testing.T) {
	overBoth(t, func(t *testing.T, connect connector) {
		for _, test := range []struct{ message, path string }{
			{ackOf("ID", `{"toolsListChanged":true,"promptsListChanged":true}`), "/notifications/promptsListChanged"},
			{ackOf("ID", `{"resourceSubscriptions":["a:"]}`), "/notifications/resourceSubscriptions/0"},
			{ackOf("ID", `{"resourceSubscriptions":null}`), "/notifications/resourceSubscriptions"},
			{ackOf("ID", `{"toolsListChanged":1}`), "/notifications/toolsListChanged"},
			{ackOf("ID", `{"toolsListChanged":null}`), "/notifications/toolsListChanged"},
			{ackOf("ID", `null`), "/notifications"},
			{strings.Replace(ackOf("ID", `{}`), `,"notifications":{}`, "", 1), "/notifications"},
			{ackOf(`"ID"`, `{}`), "/_meta/io.modelcontextprotocol~1subscriptionId"},
			{ackOf("ID.0", `{}`), "/_meta/io.modelcontextprotocol~1subscriptionId"},
			{ackOf("null", `{}`), "/_meta/io.modelcontextprotocol~1subscriptionId"},
			{ackOf("7099", `{}`), "/_meta/io.modelcontextprotocol~1subscriptionId"},
			{`{"jsonrpc":"2.0","method":"` + noteAcknowledged + `"}`, "/_meta"},
			{`{"jsonrpc":"2.0","method":"` + noteAcknowledged + `","params":{"_meta":[],"notifications":{}}}`, "/_meta"},
			{`{"jsonrpc":"2.0","method":"` + noteAcknowledged + `","params":{"_meta":{},"notifications":{}}}`, "/_meta/io.modelcontextprotocol~1subscriptionId"},
			{changeOf("ID", noteToolsChanged, ""), ""},
			{changeOf("ID", noteResourceUpdated, `,"uri":"a:"`), ""},
			{`{"jsonrpc":"2.0","method":"` + noteCancelled + `","params":{"requestId":ID}}`, ""},
			{endOf("ID"), ""},
			{`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","_meta":{}}}`, ""},
			{`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","requestState":"x"}}`, "/resultType"},
		} {
			// An acknowledgement behind the fault must not mend it.
			c, p := connect(t, says(test.message, ackOf("ID", `{"toolsListChanged":true}`)))
			s, err := c.Listen(short(t), toolsOnly)
			var e *ProtocolError
			if s != nil || !errors.As(err, &e) || e.Path != test.path || e.Method != methodListen {
				t.Errorf("Listen after %s = %v, want a *ProtocolError at %q", test.message, err, test.path)
			}
			alive(t, c)
			if p.URL != "" && strings.Count(p.Methods(), methodListen) != 1 {
				t.Errorf("sent %q", p.Methods())
			}
		}
	})
}

// TestListenStreamIsItsOwn has what may precede an acknowledgement on stdio, where the connection has other traffic, and
// not over HTTP, where the stream has none.
func TestListenStreamIsItsOwn(t *testing.T) {
	for _, first := range []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`,
		`{"jsonrpc":"2.0","method":"com.example/hello"}`,
		`{"jsonrpc":"2.0","method":"` + noteCancelled + `","params":{"requestId":7099}}`,
		`{"jsonrpc":"2.0","method":"` + noteCancelled + `"}`,
	} {
		h := says(first, ackOf("ID", `{}`))
		c, _ := pipe(t, h)
		listen(t, c, toolsOnly)
		if c.Dropped() != 1 {
			t.Errorf("Dropped() after %s = %d, want 1", first, c.Dropped())
		}
		c, _ = overHTTPWith(t, h)
		_, err := c.Listen(short(t), toolsOnly)
		as[*ProtocolError](t, err)
	}
}

// TestSubscriptionRefuses has what breaks a subscription that was acknowledged.
func TestSubscriptionRefuses(t *testing.T) {
	overBoth(t, func(t *testing.T, connect connector) {
		for _, test := range []struct{ message, path string }{
			{ackOf("ID", `{}`), ""},
			{changeOf("ID", notePromptsChanged, ""), ""},
			{changeOf("ID", noteResourcesChanged, ""), ""},
			{changeOf("ID", noteResourceUpdated, `,"uri":"file:///project-x/"`), "/uri"},
			{changeOf("ID", noteResourceUpdated, `,"uri":"file:///project/../x"`), "/uri"},
			{changeOf("ID", noteResourceUpdated, `,"uri":"file:///other"`), "/uri"}, // asked for, not acknowledged
			{changeOf("ID", noteResourceUpdated, `,"uri":7`), "/uri"},
			{changeOf("ID", noteResourceUpdated, ""), "/uri"},
			{changeOf(`"ID"`, noteToolsChanged, ""), "/_meta/io.modelcontextprotocol~1subscriptionId"},
			{changeOf("7099", noteToolsChanged, ""), "/_meta/io.modelcontextprotocol~1subscriptionId"},
			{`{"jsonrpc":"2.0","method":"` + noteToolsChanged + `","params":{}}`, "/_meta"},
			{`{"jsonrpc":"2.0","id":ID,"result":{"_meta":{"` + keySubscription + `":ID}}}`, "/resultType"},
			{`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"task","_meta":{"` + keySubscription + `":ID}}}`, "/resultType"},
		} {
			c, _ := connect(t, says(
				ackOf("ID", `{"toolsListChanged":true,"resourceSubscriptions":["file:///project/"]}`),
				changeOf("ID", noteToolsChanged, ""), test.message, changeOf("ID", noteToolsChanged, ""),
			))
			s := listen(t, c, SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourceSubscriptions: []string{"file:///project/", "file:///other"}})
			err := ends(t, s, SubscriptionViolated)
			if e := as[*ProtocolError](t, err); e.Path != test.path {
				t.Errorf("after %s: %v, want a fault at %q", test.message, err, test.path)
			}
			events := 0
			for range s.Events() {
				events++
			}
			if events != 1 || s.Generation(ChangeTools) != 1 {
				t.Errorf("after %s: %d events, generation %d, want the one before", test.message, events, s.Generation(ChangeTools))
			}
			alive(t, c)
		}
	})
}

func TestSubscriptionLimitsAChange(t *testing.T) {
	overBoth(t, func(t *testing.T, connect connector) {
		for _, more := range []int{0, 1} {
			m := changeOf("1000000", noteToolsChanged, `,"x":""`)
			params := len(m) - strings.Index(m, `{"_meta"`) - 1
			fill := strings.Repeat("y", maxChangeBytes-params+more)
			h := mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
				c.Stream()
				c.Event(ackOf(r.ID, `{"toolsListChanged":true}`))
				c.Event(changeOf(r.ID, noteToolsChanged, `,"x":"`+fill+strings.Repeat("y", 7-len(r.ID))+`"`))
				c.Wait()
			})
			c, _ := connect(t, h)
			s := listen(t, c, toolsOnly)
			if more == 0 {
				if e := <-s.Events(); len(e.Raw()) != maxChangeBytes {
					t.Errorf("event = %d bytes (%v), want %d", len(e.Raw()), s.Err(), maxChangeBytes)
				}
				continue
			}
			if e := as[*LimitError](t, ends(t, s, SubscriptionViolated)); e.Max != maxChangeBytes {
				t.Errorf("LimitError = %+v", e)
			}
		}
	})
}

// modelcontextprotocol/go-sdk#1169: a listen that the server had refused was taken for a subscription.
func TestListenAnsweredWithAnError(t *testing.T) {
	overBoth(t, func(t *testing.T, connect connector) {
		for _, stream := range []bool{true, false} {
			c, _ := connect(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
				message := `{"jsonrpc":"2.0","id":` + r.ID + `,"error":{"code":-32602,"message":"no such resource"}}`
				if stream {
					c.Stream()
					c.Event(message)
				} else {
					c.Line(message)
				}
			}))
			_, err := c.Listen(short(t), toolsOnly)
			if e := as[*RPCError](t, err); e.Code != -32602 || e.Method != methodListen {
				t.Errorf("RPCError = %+v", e)
			}
		}
		c, _ := connect(t, says(ackOf("ID", `{}`), `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"worn out"}}`))
		err := ends(t, listen(t, c, toolsOnly), SubscriptionRefused)
		if e := as[*RPCError](t, err); e.Code != -32603 {
			t.Errorf("Err() = %v", err)
		}
	})
	for status, want := range map[string]any{"401 Unauthorized": new(*AuthError), "404 Not Found": new(*RPCError), "503 Service Unavailable": new(*TransportError), "200 OK": new(*ProtocolError)} {
		c, _ := overHTTPWith(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			body := `{"jsonrpc":"2.0","id":` + r.ID + `,"error":{"code":-32601,"message":"Method not found"}}`
			if status == "503 Service Unavailable" {
				body = `{}`
			}
			if status == "200 OK" {
				body = endOf(r.ID) // an answer, and no stream
			}
			_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n%s", status, body)
		}))
		if _, err := c.Listen(short(t), toolsOnly); err == nil || !errors.As(err, want) {
			t.Errorf("Listen answered with %s = %T %v, want %T", status, err, err, want)
		}
	}
}

// modelcontextprotocol/go-sdk#1169, modelcontextprotocol/inspector#2176: a listen that was never acknowledged was taken for a
// subscription, or sent again and again.
func TestListenWaitsForTheAcknowledgementOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := pipe(t, says(), WithTimeouts(Timeouts{Discover: 7 * time.Second}))
		defer closed(t, c)
		begun := time.Now()
		_, err := c.Listen(t.Context(), toolsOnly)
		if e := as[*TimeoutError](t, err); e.After != 7*time.Second || time.Since(begun) != 7*time.Second {
			t.Errorf("Listen = %v after %s, want a timeout after 7s", err, time.Since(begun))
		}
		synctest.Wait()
		last := p.Requests()[len(p.Requests())-1]
		if id, _ := last.Params.Get("requestId"); last.Method != noteCancelled || string(id) != p.Requests()[1].ID {
			t.Errorf("then sent %s, want the cancellation of request %s", last.Raw, p.Requests()[1].ID)
		}

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begun = time.Now()
		_, err = c.Listen(ctx, toolsOnly)
		if e := as[*ContextError](t, err); !errors.Is(err, context.Canceled) || !e.Delivered || time.Since(begun) != time.Second {
			t.Errorf("Listen = %v after %s, want the context's error at once", err, time.Since(begun))
		}
		synctest.Wait() // for the cancellation
		n := len(p.Requests())
		_, err = c.Listen(ctx, toolsOnly)
		if as[*ContextError](t, err); Delivered(err) || len(p.Requests()) != n {
			t.Errorf("Listen with an ended context = %v after %d requests", err, len(p.Requests())-n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var conn *mcptest.Conn
		c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			conn = c
			if r.Method == methodListen {
				c.Event(ackOf(r.ID, `{"toolsListChanged":true}`))
			}
		}))
		defer closed(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		s, err := c.Listen(ctx, toolsOnly)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(24 * time.Hour)
		conn.Line(changeOf(p.Requests()[1].ID, noteToolsChanged, ""))
		if e, open := <-s.Events(); !open || e.Generation != 1 {
			t.Errorf("a day later: %+v, %v", e, s.Err())
		}
	})
}

func TestSubscriptionClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := pipe(t, says(ackOf("ID", `{"toolsListChanged":true}`), changeOf("ID", noteToolsChanged, "")))
		defer closed(t, c)
		s := listen(t, c, toolsOnly)
		synctest.Wait()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close() = %v", err)
				}
			})
		}
		wg.Wait()
		if err := ends(t, s, SubscriptionClosed); !errors.Is(err, ErrSubscriptionClosed) {
			t.Errorf("Err() = %v", err)
		}
		if e, open := <-s.Events(); !open || e.Kind != ChangeTools {
			t.Error("what was announced before Close is gone")
		}
		if _, open := <-s.Events(); open {
			t.Error("Events is not closed")
		}
		synctest.Wait()
		sent := p.Requests()
		if got := p.Methods(); got != "server/discover subscriptions/listen notifications/cancelled" {
			t.Errorf("sent %q", got)
		} else if want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + sent[1].ID + `}}`; string(sent[2].Raw) != want {
			t.Errorf("sent %s, want %s", sent[2].Raw, want)
		}
	})
	t.Run("http", func(t *testing.T) {
		gone := make(chan struct{})
		c, p := overHTTPWith(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			c.Stream()
			c.Event(ackOf(r.ID, `{}`))
			c.Wait()
			close(gone)
		}))
		s := listen(t, c, toolsOnly)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		select {
		case <-gone:
		case <-time.After(5 * time.Second):
			t.Error("the stream is still open")
		}
		ends(t, s, SubscriptionClosed)
		if got := p.Methods(); got != "server/discover subscriptions/listen" {
			t.Errorf("sent %q, want no message for the end", got)
		}
	})
}

func TestClientCloseEndsSubscriptions(t *testing.T) {
	overBoth(t, func(t *testing.T, connect connector) {
		c, _ := connect(t, says(ackOf("ID", `{}`)), WithLimits(Limits{Subscriptions: 3}))
		var all []*Subscription
		for range 3 {
			all = append(all, listen(t, c, toolsOnly))
		}
		_, err := c.Listen(t.Context(), toolsOnly)
		if e := as[*LimitError](t, err); e.Max != 3 || !errors.Is(err, ErrLimit) {
			t.Errorf("a fourth Listen = %v", err)
		}
		if err := all[0].Close(); err != nil {
			t.Error(err)
		}
		all = append(all, listen(t, c, toolsOnly))
		closed(t, c)
		for i, s := range all {
			select {
			case <-s.gone:
			default:
				t.Errorf("the goroutine of subscription %d is left after Close", i)
			}
			err := ends(t, s, SubscriptionClosed)
			if i > 0 && !errors.Is(err, ErrClosed) {
				t.Errorf("Err() = %v, want ErrClosed", err)
			}
		}
		if _, err := c.Listen(t.Context(), toolsOnly); !errors.Is(err, ErrClosed) {
			t.Errorf("Listen after Close = %v", err)
		}
	})
}

func TestSubscriptionLostWithTheServer(t *testing.T) {
	c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Event(ackOf(r.ID, `{}`))
		_, _ = io.WriteString(c, `{"jsonrpc":"2.0","method":"notifications/too`) // and dies
		c.Close()
	}))
	err := ends(t, listen(t, c, toolsOnly), SubscriptionLost)
	as[*TransportError](t, err)
	as[*ExitError](t, err)
	var protocol *ProtocolError
	if errors.As(err, &protocol) {
		t.Errorf("Err() = %v, want no fault of the protocol", err)
	}
	c, _ = pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Event(ackOf(r.ID, `{}`))
		c.Line("Listening on port 8080")
	}))
	as[*ProtocolError](t, ends(t, listen(t, c, toolsOnly), SubscriptionViolated))
}
