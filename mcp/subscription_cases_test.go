package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// connector connects to a scripted peer over one of the transports.
type connector func(t *testing.T, h mcptest.Handler, opts ...Option) (*Client, *mcptest.Peer)

// overBoth runs the test over streams and over HTTP.
func overBoth(t *testing.T, test func(t *testing.T, connect connector)) {
	t.Run("stdio", func(t *testing.T) {
		test(t, func(t *testing.T, h mcptest.Handler, opts ...Option) (*Client, *mcptest.Peer) {
			return pipe(t, h, opts...)
		})
	})
	t.Run("http", func(t *testing.T) { test(t, overHTTPWith) })
}

func overHTTPWith(t *testing.T, h mcptest.Handler, opts ...Option) (*Client, *mcptest.Peer) {
	t.Helper()
	p := mcptest.HTTP(t, h)
	holdToSpec(t, p)
	tr := NewStreamableHTTPTransport(p.URL)
	tr.AllowPrivate = true
	c, err := Connect(short(t), tr, opts...)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() { closed(t, c) })
	return c, p
}

// say writes the body of an SSE stream, over a pipe as lines.
func say(c *mcptest.Conn, sse []byte) {
	for event := range strings.SplitSeq(string(sse), "\n\n") {
		if data, ok := strings.CutPrefix(strings.TrimSpace(event), "data: "); ok {
			c.Event(data)
		}
	}
}

// streaming answers subscriptions/listen with what is in sse and leaves the stream open, and tools/list with one tool.
func streaming(sse []byte) mcptest.Handler {
	return mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		switch r.Method {
		case methodListen:
			c.Stream()
			say(c, casetest.WithIDs(sse, r.ID))
			c.Wait()
		case methodToolsList:
			c.Result(r, page("", tide))
		}
	})
}

func readFile(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var toolsOnly = SubscriptionFilter{ToolsListChanged: true}

// listen subscribes and wants that to succeed.
func listen(t *testing.T, c *Client, f SubscriptionFilter) *Subscription {
	t.Helper()
	s, err := c.Listen(t.Context(), f)
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	return s
}

// ends waits for the end of a subscription.
func ends(t *testing.T, s *Subscription, want SubscriptionOutcome) error {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(5 * time.Second):
		t.Fatalf("subscription has not ended, want %q", want)
	}
	if got := s.Outcome(); got != want {
		t.Errorf("Outcome() = %q (%v), want %q", got, s.Err(), want)
	}
	return s.Err()
}

// alive makes a request, which must work whatever became of a subscription.
func alive(t *testing.T, c *Client) {
	t.Helper()
	if _, err := c.ListTools(short(t), nil); err != nil {
		t.Errorf("ListTools afterwards: %v", err)
	}
}

func TestCaseEventBeforeAck(t *testing.T) {
	sse := casetest.Read(t, "subscriptions/event-before-ack", "stream.sse")
	overBoth(t, func(t *testing.T, connect connector) {
		c, _ := connect(t, streaming(sse))
		s, err := c.Listen(short(t), toolsOnly)
		if s != nil {
			t.Errorf("Listen returned a subscription")
		}
		if e := as[*ProtocolError](t, err); e.Method != methodListen {
			t.Errorf("ProtocolError = %+v", e)
		}
		wantText(t, err, noteToolsChanged, "before the acknowledgement")
		alive(t, c)
	})
}

func TestCaseGracefulEndAndEOF(t *testing.T) {
	dir := casetest.Dir(t, "subscriptions/graceful-end-and-eof")
	overBoth(t, func(t *testing.T, connect connector) {
		for _, test := range []struct {
			file string
			want SubscriptionOutcome
		}{
			{"a.sse", SubscriptionEnded}, {"b.sse", SubscriptionLost}, {"c.sse", SubscriptionViolated}, {"d.sse", SubscriptionViolated},
		} {
			sse := readFile(t, dir, test.file)
			c, p := connect(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
				if r.Method != methodListen {
					return
				}
				c.Stream()
				say(c, casetest.WithIDs(sse, r.ID))
				if test.want == SubscriptionLost {
					c.Close()
				} else {
					c.Wait()
				}
			}))
			s := listen(t, c, toolsOnly)
			err := ends(t, s, test.want)
			var protocol *ProtocolError
			switch test.want {
			case SubscriptionEnded:
				if err != nil {
					t.Errorf("%s: Err() = %v, want none", test.file, err)
				}
			case SubscriptionLost:
				as[*TransportError](t, err)
				if !errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &protocol) {
					t.Errorf("%s: Err() = %v, want an unexpected end and no fault of the protocol", test.file, err)
				}
			default:
				as[*ProtocolError](t, err)
				wantText(t, err, "subscription")
			}
			if _, open := <-s.Events(); open {
				t.Errorf("%s: an event", test.file)
			}
			time.Sleep(20 * time.Millisecond) // for a reconnection that must not be
			if got := strings.TrimSuffix(p.Methods(), " "+noteCancelled); got != "server/discover subscriptions/listen" {
				t.Errorf("%s: sent %q, want one listen", test.file, got)
			}
		}
	})
}

func TestCaseOtherSubscriptionID(t *testing.T) {
	dir := casetest.Dir(t, "subscriptions/other-subscription-id")
	overBoth(t, func(t *testing.T, connect connector) {
		for _, file := range []string{"a.sse", "b.sse", "c.sse", "d.sse"} {
			c, _ := connect(t, streaming(readFile(t, dir, file)))
			s, err := c.Listen(short(t), toolsOnly)
			if file == "d.sse" {
				if s != nil {
					t.Errorf("%s: Listen succeeded", file)
				}
			} else {
				if err != nil {
					t.Fatalf("%s: the acknowledgement was refused: %v", file, err)
				}
				err = ends(t, s, SubscriptionViolated)
				if s.Generation(ChangeTools) != 0 {
					t.Errorf("%s: the change was counted", file)
				}
				if e, open := <-s.Events(); open {
					t.Errorf("%s: delivered %+v", file, e)
				}
			}
			as[*ProtocolError](t, err)
			wantText(t, err, "/_meta")
			alive(t, c)
		}
	})
}

// TestCaseQuietStream keeps a stream silent for three minutes on stdio. Over HTTP, where the clock is the real one, both
// the silence and all timeouts are a hundredth of that.
func TestCaseQuietStream(t *testing.T) {
	dir := casetest.Dir(t, "subscriptions/quiet-stream")
	ack, changed := readFile(t, dir, "ack.sse"), readFile(t, dir, "changed.sse")
	timeline := string(readFile(t, dir, "timeline.txt"))
	for _, line := range []string{"0 send ack.sse\n", "every 20000 send \": still here\\n\"\n", "180000 send changed.sse\n"} {
		if !strings.Contains(timeline, line) {
			t.Fatalf("timeline has no %q", line)
		}
	}
	play := func(pause time.Duration) mcptest.Handler {
		return mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			if r.Method != methodListen {
				return
			}
			c.Stream()
			say(c, casetest.WithIDs(ack, r.ID))
			for range 9 {
				time.Sleep(pause)
				_, _ = io.WriteString(c, keepAlive(c))
			}
			say(c, casetest.WithIDs(changed, r.ID))
			c.Wait()
		})
	}
	arrives := func(t *testing.T, c *Client) {
		s := listen(t, c, toolsOnly)
		e, open := <-s.Events()
		if !open || e.Kind != ChangeTools || e.Generation != 1 || s.Outcome() != SubscriptionLive {
			t.Errorf("event = %+v, outcome %q, error %v", e, s.Outcome(), s.Err())
		}
	}
	t.Run("stdio", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, _ := pipe(t, play(20*time.Second))
			defer closed(t, c)
			begun := time.Now()
			arrives(t, c)
			if time.Since(begun) < 3*time.Minute {
				t.Errorf("it took %s, want three minutes", time.Since(begun))
			}
		})
	})
	t.Run("http", func(t *testing.T) {
		const tenth = 100 * time.Millisecond
		c, _ := overHTTPWith(t, play(2*tenth), WithTimeouts(Timeouts{Connect: 5 * tenth, Discover: 5 * tenth, List: 5 * tenth, Call: 5 * tenth}))
		arrives(t, c)
	})
}

// keepAlive is what a server may send that means nothing: a comment, or an empty line.
func keepAlive(c *mcptest.Conn) string {
	if c.IsHTTP() {
		return ": still here\n"
	}
	return "\n"
}

// modelcontextprotocol/go-sdk#1263: servers cannot send this notice, though they must. Those end a subscription by its result
// (TestCaseGracefulEndAndEOF), or never.
func TestCaseServerCancelOnStdio(t *testing.T) {
	dir := casetest.Dir(t, "subscriptions/server-cancel-on-stdio")
	for _, file := range []string{"a.bin", "b.bin", "c.bin"} {
		synctest.Test(t, func(t *testing.T) {
			var listenID, callID string
			var conn *mcptest.Conn
			c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
				switch conn = c; r.Method {
				case methodListen:
					listenID = r.ID
					c.Event(ackOf(r.ID, `{"toolsListChanged":true}`))
				case methodToolsCall:
					callID = r.ID
				}
			}))
			defer closed(t, c)
			s := listen(t, c, toolsOnly)
			called := make(chan error, 1)
			go func() {
				_, err := c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, tide)})
				called <- err
			}()
			synctest.Wait()
			line := casetest.WithIDs(bytes.TrimSpace(readFile(t, dir, file)), listenID, callID)
			conn.Line(string(line))
			synctest.Wait()
			select {
			case err := <-called:
				t.Fatalf("%s: the call ended: %v", file, err)
			default:
			}
			var dropped uint64 = 1
			if file == "a.bin" {
				dropped = 0
				if err := ends(t, s, SubscriptionCancelled); !errors.Is(err, ErrSubscriptionCancelled) {
					t.Errorf("%s: Err() = %v", file, err)
				}
				conn.Line(`{"jsonrpc":"2.0","id":` + listenID + `,"result":{"resultType":"complete","_meta":{"` + keySubscription + `":` + listenID + `}}}`)
			} else if s.Outcome() != SubscriptionLive {
				t.Errorf("%s: the subscription ended: %v", file, s.Err())
			}
			conn.Line(`{"jsonrpc":"2.0","id":` + callID + `,"result":{"resultType":"complete","content":[]}}`)
			if err := <-called; err != nil {
				t.Errorf("%s: CallTool = %v", file, err)
			}
			synctest.Wait()
			if c.Dropped() != dropped {
				t.Errorf("%s: Dropped() = %d, want %d", file, c.Dropped(), dropped)
			}
			if got := p.Methods(); got != "server/discover subscriptions/listen tools/call" {
				t.Errorf("%s: sent %q, want nothing in return", file, got)
			}
		})
	}
}

// TestCaseListTriggersListChanged plays a server that announces a change after every list, whatever that says. The client
// itself never lists. A host that follows the documented loop lists once per pause, and has seen the last state when the
// server falls silent.
func TestCaseListTriggersListChanged(t *testing.T) {
	dir := casetest.Dir(t, "subscriptions/list-triggers-list-changed")
	ack, changed, _ := bytes.Cut(readFile(t, dir, "stream.sse"), []byte("\n\n"))
	list := readFile(t, dir, "page.json")
	synctest.Test(t, func(t *testing.T) {
		const pause, silent = time.Second, 30 * time.Second
		begun := time.Now()
		var lists atomic.Int64
		var last atomic.Value // of the latest announcement, a time
		announce := make(chan func(), 100)
		go func() {
			for say := range announce {
				time.Sleep(5 * time.Millisecond)
				say()
			}
		}()
		defer close(announce)
		var id string
		c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			switch r.Method {
			case methodListen:
				id = r.ID
				say(c, casetest.WithIDs(ack, id))
				announce <- func() { say(c, casetest.WithIDs(changed, id)) }
			case methodToolsList:
				c.Line(string(bytes.TrimSpace(casetest.WithIDs(list, r.ID))))
				if lists.Add(1); time.Since(begun) < silent {
					last.Store(time.Now())
					announce <- func() { say(c, casetest.WithIDs(changed, id)) }
				}
			}
		}), WithLimits(Limits{Changes: 1}))
		defer closed(t, c)
		s := listen(t, c, toolsOnly)
		time.Sleep(10 * time.Second)
		if lists.Load() != 0 || s.Generation(ChangeTools) != 1 {
			t.Fatalf("%d lists and %d changes before the host did anything, want 0 and 1", lists.Load(), s.Generation(ChangeTools))
		}

		ctx, cancel := context.WithTimeout(t.Context(), 2*silent)
		defer cancel()
		var verified uint64
		for ctx.Err() == nil {
			verified = s.Generation(ChangeTools)
			if _, err := c.SnapshotTools(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(pause)
			for s.Generation(ChangeTools) == verified && ctx.Err() == nil {
				select {
				case <-s.Events():
				case <-ctx.Done():
				}
			}
		}
		if n, want := lists.Load(), int64(silent/pause)+2; n > want || n < 5 {
			t.Errorf("%d lists in a minute, want at most %d", n, want)
		}
		if verified != s.Generation(ChangeTools) || time.Since(last.Load().(time.Time)) < silent-10*time.Second {
			t.Errorf("verified up to change %d of %d", verified, s.Generation(ChangeTools))
		}
	})
}

func ackOf(id, filter string) string {
	return `{"jsonrpc":"2.0","method":"` + noteAcknowledged + `","params":{"_meta":{"` + keySubscription + `":` + id + `},"notifications":` + filter + `}}`
}

func changeOf(id, method, more string) string {
	return `{"jsonrpc":"2.0","method":"` + method + `","params":{"_meta":{"` + keySubscription + `":` + id + `}` + more + `}}`
}

func endOf(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","_meta":{"` + keySubscription + `":` + id + `}}}`
}
