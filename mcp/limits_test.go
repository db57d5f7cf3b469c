package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// limited connects with the limits to a peer that answers discovery well and everything else with h: over HTTP, or over
// streams.
func limited(t *testing.T, http bool, limits Limits, h mcptest.Handler) *Client {
	t.Helper()
	var tr Transport
	if http {
		p := mcptest.HTTP(t, mcptest.Serve(h))
		tr = &HTTPTransport{URL: p.URL, AllowPrivate: true}
	} else {
		p := mcptest.Pipe(t, mcptest.Serve(h))
		tr = NewIOTransport(p.R, p.W)
	}
	c, err := Connect(short(t), tr, WithLimits(limits))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, c) })
	return c
}

// within reports whether err is nil; any other than a *LimitError of that many fails the test.
func within(t *testing.T, err error, limit int) bool {
	t.Helper()
	var over *LimitError
	if err != nil && (!errors.As(err, &over) || over.Max != int64(limit) || !errors.Is(err, ErrLimit)) {
		t.Errorf("error %v, want none or a *LimitError of %d", err, limit)
	}
	return err == nil
}

// raw answers with bytes of HTTP.
func raw(c *mcptest.Conn, text string) { _, _ = c.Write([]byte(text)) }

const (
	emptyPage = `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[]}`
	jsonHead  = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
)

// padded is text with so many blanks in front that it has n bytes.
func padded(text string, n int) string { return strings.Repeat(" ", n-len(text)) + text }

// sized is the whole answer to r, padded to n bytes.
func sized(r mcptest.Request, result string, n int) string {
	return padded(`{"jsonrpc":"2.0","id":`+r.ID+`,"result":`+result+`}`, n)
}

// nested is an object of so many levels.
func nested(depth int) string {
	return strings.Repeat(`{"x":`, depth-1) + "{}" + strings.Repeat("}", depth-1)
}

// limitRows says for each field of Limits how much the test allows, and whether amount of it comes through whole: is
// accepted, handed over, kept or shown. Several rows of one field are told apart by a word behind it.
var limitRows = map[string]struct {
	limit int
	whole func(t *testing.T, limits Limits, amount int) bool
}{
	"MessageBytes of a line": {2000, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, false, l, func(c *mcptest.Conn, r mcptest.Request) { c.Line(sized(r, emptyPage, n)) })
		_, err := c.ListTools(short(t), nil)
		return within(t, err, l.MessageBytes)
	}},
	"MessageBytes of a body": {2000, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) { raw(c, jsonHead+"\r\n"+sized(r, emptyPage, n)) })
		_, err := c.ListTools(short(t), nil)
		return within(t, err, l.MessageBytes)
	}},
	"MessageBytes of an event": {2000, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			c.Stream()
			raw(c, "data:"+sized(r, emptyPage, n-len("data:\n"))+"\n\n")
		})
		_, err := c.ListTools(short(t), nil)
		return within(t, err, l.MessageBytes)
	}},
	"JSONDepth": {10, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			c.Result(r, strings.Replace(emptyPage, "{", `{"x":`+nested(n-2)+`,`, 1))
		})
		_, err := c.ListTools(short(t), nil)
		return within(t, err, l.JSONDepth)
	}},
	"StderrBytes": {500, func(t *testing.T, l Limits, n int) bool {
		script := filepath.Join(t.TempDir(), "server")
		text := "#!/bin/sh\nprintf %s " + strings.Repeat("e", n) + " >&2\nread line\n"
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		l.ExcerptBytes = 2 * l.StderrBytes
		_, err := Connect(short(t), NewStdioTransport(script, nil), WithLimits(l))
		tail := as[*TransportError](t, err).Stderr
		if len(tail) != min(n, l.StderrBytes) {
			t.Errorf("%d bytes of standard error are kept", len(tail))
		}
		return len(tail) == n
	}},
	"HeaderBytes": {2000, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			head := jsonHead + "K: "
			raw(c, head+strings.Repeat("k", n-len(head+"\r\n\r\n"))+"\r\n\r\n"+sized(r, emptyPage, 500))
		})
		_, err := c.ListTools(short(t), nil)
		return within(t, err, l.HeaderBytes)
	}},
	"HeaderBytes before the answer": {2000, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			head := "HTTP/1.1 103 Early Hints\r\nK: "
			raw(c, head+strings.Repeat("k", n-len(head+"\r\n\r\n"+jsonHead+"\r\n"))+"\r\n\r\n"+jsonHead+"\r\n"+sized(r, emptyPage, 500))
		})
		_, err := c.ListTools(short(t), nil)
		return within(t, err, l.HeaderBytes)
	}},
	"Events": {10, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			c.Stream()
			for range n - 1 {
				c.Event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
			}
			c.Event(sized(r, emptyPage, 500))
		})
		_, err := c.ListTools(short(t), nil)
		return within(t, err, l.Events)
	}},
	"ChallengeBytes": {100, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, _ mcptest.Request) {
			raw(c, "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\nWWW-Authenticate: "+strings.Repeat("c", n-len("Bearer, "))+"\r\n\r\n")
		})
		_, err := c.ListTools(short(t), nil)
		kept := as[*AuthError](t, err).Challenge
		if len(kept) != min(n, l.ChallengeBytes) || !strings.HasPrefix(kept, "Bearer, c") {
			t.Errorf("kept %q", kept)
		}
		return len(kept) == n
	}},
	"ErrorBytes": {2000, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			text := `{"jsonrpc":"2.0","id":` + r.ID + `,"error":{"code":-32020,"message":"m"}}`
			raw(c, strings.Replace(jsonHead, "200 OK", "400 Bad", 1)+"\r\n"+text[:1]+padded(text[1:], n-1))
		})
		_, err := c.ListTools(short(t), nil)
		var mismatch *HeaderMismatchError
		var te *TransportError
		switch {
		case errors.As(err, &mismatch):
			return true
		case !errors.As(err, &te) || te.Status != 400:
			t.Errorf("error %v, want the answer or its status", err)
		}
		return false
	}},
	"Connections": {3, func(t *testing.T, l Limits, n int) bool {
		var arrived sync.WaitGroup
		arrived.Add(n)
		all := make(chan struct{})
		go func() {
			arrived.Wait()
			close(all)
		}()
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			arrived.Done()
			select {
			case <-all: // the requests are here at the same time
			case <-time.After(300 * time.Millisecond):
			}
			c.Result(r, emptyPage)
		})
		var calls sync.WaitGroup
		for range n {
			calls.Go(func() {
				if _, err := c.ListTools(short(t), nil); err != nil {
					t.Error(err) // the one that waits is served later
				}
			})
		}
		together := false
		select {
		case <-all:
			together = true
		case <-time.After(150 * time.Millisecond):
		}
		calls.Wait()
		return together
	}},
	"ExcerptBytes of what is no answer": {60, func(t *testing.T, l Limits, n int) bool {
		text := strings.Repeat("x", n)
		whole := map[bool]bool{}
		for _, http := range []bool{false, true} {
			c := limited(t, http, l, func(c *mcptest.Conn, _ mcptest.Request) { c.Line(text) })
			_, err := c.ListTools(short(t), nil)
			said := as[*ProtocolError](t, err).Error()
			whole[http] = strings.Contains(said, `"`+text+`"`)
			if !whole[http] && !strings.Contains(said, strings.Repeat("x", l.ExcerptBytes-len("…"))+`…"`) {
				t.Errorf("the error quotes %s", said)
			}
		}
		if whole[false] != whole[true] {
			t.Errorf("over HTTP and over streams: %v", whole)
		}
		return whole[true]
	}},
	"ExcerptBytes of standard error": {60, func(t *testing.T, l Limits, n int) bool {
		script := filepath.Join(t.TempDir(), "server")
		text := "#!/bin/sh\nprintf %s " + strings.Repeat("e", n) + " >&2\nexec cat >/dev/null\n"
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Connect(short(t), NewStdioTransport(script, nil), WithLimits(l), WithTimeouts(Timeouts{Discover: 300 * time.Millisecond}))
		tail := as[*TimeoutError](t, err).Stderr
		if len(tail) > l.ExcerptBytes {
			t.Errorf("%d bytes are shown", len(tail))
		}
		return len(tail) == n
	}},
	"Pages": {3, func(t *testing.T, l Limits, n int) bool {
		left := n
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			more := ""
			if left--; left > 0 {
				more = fmt.Sprintf(`,"nextCursor":"%d"`, left)
			}
			c.Result(r, page(more))
		})
		_, err := c.SnapshotTools(short(t))
		return within(t, err, l.Pages)
	}},
	"Items": {3, func(t *testing.T, l Limits, n int) bool {
		var tools []string
		for i := range n {
			tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i))
		}
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, page("", tools...)) })
		_, err := c.SnapshotTools(short(t))
		return within(t, err, l.Items)
	}},
	"ListBytes": {500, func(t *testing.T, l Limits, n int) bool {
		empty := page(`,"x":""`)
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			c.Result(r, page(`,"x":"`+strings.Repeat("x", n-len(empty))+`"`))
		})
		_, err := c.SnapshotTools(short(t))
		return within(t, err, l.ListBytes)
	}},
	"NameBytes": {20, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			c.Result(r, page("", `{"name":"`+strings.Repeat("n", n)+`","inputSchema":{"type":"object"}}`))
		})
		_, err := c.SnapshotTools(short(t))
		return within(t, err, l.NameBytes)
	}},
	"URIBytes": {20, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			c.Result(r, `{"resultType":"complete","ttlMs":0,"cacheScope":"public","resources":[{"name":"a","uri":"a:`+strings.Repeat("u", n-2)+`"}]}`)
		})
		c.discovery.Capabilities.Resources = &ResourcesCapability{}
		_, err := c.SnapshotResources(short(t))
		return within(t, err, l.URIBytes)
	}},
	"SchemaBytes": {60, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			schema := `{"type":"object","title":""}`
			c.Result(r, page("", `{"name":"a","inputSchema":`+strings.Replace(schema, `""`, `"`+strings.Repeat("s", n-len(schema))+`"`, 1)+`}`))
		})
		_, err := c.SnapshotTools(short(t))
		return within(t, err, l.SchemaBytes)
	}},
	"SchemaDepth": {5, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			c.Result(r, page("", `{"name":"a","inputSchema":{"type":"object","x":`+nested(n-1)+`}}`))
		})
		_, err := c.SnapshotTools(short(t))
		return within(t, err, l.SchemaDepth)
	}},
	"Progress": {3, func(t *testing.T, l Limits, n int) bool {
		return notesWhole(t, l, n, func(r mcptest.Request, i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, r.ID, i)
		})
	}},
	"Logs": {3, func(t *testing.T, l Limits, n int) bool {
		return notesWhole(t, l, n, func(mcptest.Request, int) string {
			return `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`
		})
	}},
	"LogBytes": {200, func(t *testing.T, l Limits, n int) bool {
		params := func(n int) string {
			return `{"level":"info","data":"` + strings.Repeat("d", n-len(`{"level":"info","data":""}`)) + `"}`
		}
		return notesWhole(t, l, 2, func(_ mcptest.Request, i int) string {
			return `{"jsonrpc":"2.0","method":"notifications/message","params":` + params([]int{100, n - 100}[i]) + `}`
		})
	}},
	"Subscriptions": {2, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			c.Stream()
			c.Event(ackOf(r.ID, `{}`))
			c.Wait()
		})
		for range n - 1 {
			if _, err := c.Listen(short(t), SubscriptionFilter{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := c.Listen(short(t), SubscriptionFilter{})
		return within(t, err, l.Subscriptions)
	}},
	"Changes": {3, func(t *testing.T, l Limits, n int) bool {
		c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
			c.Stream()
			c.Event(ackOf(r.ID, `{"toolsListChanged":true}`))
			for range n {
				c.Event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + r.ID + `}}}`)
			}
			c.Wait()
		})
		s, err := c.Listen(short(t), SubscriptionFilter{ToolsListChanged: true})
		if err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); s.Generation(ChangeTools) < uint64(n) && time.Since(begin) < 5*time.Second; {
			time.Sleep(time.Millisecond)
		}
		if got := s.Generation(ChangeTools); got != uint64(n) {
			t.Errorf("%d changes are counted, want %d", got, n)
		}
		return s.Dropped() == 0
	}},
}

// notesWhole calls a tool that sends n notes, and reports whether all are handed over. Exactly the surplus is dropped.
func notesWhole(t *testing.T, l Limits, n int, note func(mcptest.Request, int) string) bool {
	t.Helper()
	c := limited(t, true, l, func(c *mcptest.Conn, r mcptest.Request) {
		c.Stream()
		for i := range n {
			c.Event(note(r, i))
		}
		c.Event(sized(r, `{"resultType":"complete","content":[]}`, 500))
	})
	got, dropped := 0, DroppedNotes{}
	_, err := c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{
		LogLevel: LogDebug, OnLog: func(LogMessage) { got++ }, OnProgress: func(Progress) { got++ },
		OnDropped: func(d DroppedNotes) { dropped = d },
	}})
	if err != nil {
		t.Fatal(err)
	}
	if lost := dropped.Progress + dropped.Logs; got+lost != n || lost > 1 {
		t.Errorf("%d notes handed over and %d dropped of %d", got, lost, n)
	}
	return got == n
}

// TestLimits holds every limit one below, at and one above.
func TestLimits(t *testing.T) {
	fields := reflect.TypeFor[Limits]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		found := false
		for row, test := range limitRows {
			if field, _, _ := strings.Cut(row, " "); field != name {
				continue
			}
			found = true
			t.Run(row, func(t *testing.T) {
				t.Parallel()
				var limits Limits
				reflect.ValueOf(&limits).Elem().FieldByName(name).SetInt(int64(test.limit))
				for _, n := range []int{test.limit - 1, test.limit, test.limit + 1} {
					if whole := test.whole(t, limits, n); whole != (n <= test.limit) {
						t.Errorf("%d with a limit of %d: whole is %v", n, test.limit, whole)
					}
				}
			})
		}
		if !found {
			t.Errorf("no row for Limits.%s", name)
		}
	}
}

// TestLimitsAreCheckedAndComplete: a field that has no default would be no limit, and a negative one none at all.
func TestLimitsAreCheckedAndComplete(t *testing.T) {
	full, err := Limits{}.filled(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	fields := reflect.TypeFor[Limits]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if got := reflect.ValueOf(full).Field(i).Int(); got <= 0 {
			t.Errorf("the default of %s is %d", name, got)
		}
		set := func(n int64) (l Limits) {
			reflect.ValueOf(&l).Elem().Field(i).SetInt(n)
			return l
		}
		for _, l := range []struct{ option, transport Limits }{{set(-1), Limits{}}, {Limits{}, set(-1)}} {
			_, err := l.option.filled(l.transport)
			wantText(t, err, name, "-1")
		}
		if got, err := set(7).filled(set(8)); err != nil || reflect.ValueOf(got).Field(i).Int() != 7 {
			t.Errorf("%s: the option gives %+v, %v", name, got, err)
		}
		if got, err := (Limits{}).filled(set(8)); err != nil || reflect.ValueOf(got).Field(i).Int() != 8 {
			t.Errorf("%s: the transport gives %+v, %v", name, got, err)
		}
	}
	_, err = Connect(context.Background(), &HTTPTransport{URL: "https://tools.example", Limits: Limits{Events: -1}})
	wantText(t, err, "Events")
}
