package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// soakKind is what happens to a call of the soak test.
type soakKind int

const (
	soakPlain  soakKind = iota // answered, and never cancelled
	soakEnded                  // its context has ended before it is made
	soakRaced                  // its context ends at about the time of the answer
	soakNoted                  // never answered; cancelled when a progress note shows that it was delivered
	soakSilent                 // never answered; cancelled some time after it was made
	soakKinds
)

// soakOrder is what the server is told to do with a call, as its arguments.
type soakOrder struct {
	Nonce string `json:"nonce"`
	After int    `json:"after"` // microseconds until the answer
	Notes int    `json:"notes"` // progress notes before it
	Hold  bool   `json:"hold"`  // answer only once the call is cancelled, or the server has nobody to answer
	Late  bool   `json:"late"`  // on stdio, answer then
}

// soakReport is what the server has seen.
type soakReport struct {
	Seen      map[string]int    `json:"seen"`      // requests by nonce
	Cancelled map[string]int    `json:"cancelled"` // notices, over HTTP exchanges that the client has closed
	Held      map[string]string `json:"held"`      // calls that wait to be cancelled, with their ids
	Faults    []string          `json:"faults"`    // what no client may do
}

type soakCall struct {
	kind  soakKind
	order soakOrder
	wait  time.Duration // until the context ends, if the kind has it
}

// soakPlan decides on call i. It depends on seed and i alone.
func soakPlan(seed uint64, i int) soakCall {
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	c := soakCall{order: soakOrder{Nonce: fmt.Sprintf("%d-%08x", i, r.Uint32())}}
	if r.IntN(4) == 0 {
		c.order.Notes = 1 + r.IntN(3)
	}
	if r.IntN(4) == 0 {
		c.order.After = r.IntN(200)
	}
	c.wait = time.Duration(r.IntN(1000)) * time.Microsecond
	switch n := r.IntN(100); {
	case n < 70:
	case n < 73:
		c.kind = soakEnded
	case n < 85:
		c.kind, c.order.After = soakRaced, r.IntN(500)
		c.wait = 50 * time.Microsecond << r.IntN(14) // so that there is a race on slow machines too
	case n < 95:
		c.kind, c.order.Hold, c.order.Notes = soakNoted, true, max(c.order.Notes, 1)
	default:
		c.kind, c.order.Hold, c.order.Notes = soakSilent, true, 0
	}
	c.order.Late = c.order.Hold && r.IntN(2) == 0
	return c
}

// soakRun makes the calls and keeps what became of them.
type soakRun struct {
	t      *testing.T
	client *Client
	tool   *Tool
	seed   uint64

	mu        sync.Mutex
	done      [soakKinds]int
	cancelled map[string]soakKind // by nonce, those that returned a *ContextError
	unsent    map[string]bool     // of these, those that say that the server cannot have had them
}

// calls makes n calls, some at a time.
func (s *soakRun) calls(n, atATime int) {
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	defer time.AfterFunc(4*time.Minute, func() {
		s.t.Error("calls do not return")
		cancel()
		closed(s.t, s.client)
	}).Stop()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range atATime {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= n && !s.t.Failed(); i = int(next.Add(1)) {
				s.call(ctx, soakPlan(s.seed, i))
			}
		})
	}
	wg.Wait()
}

func (s *soakRun) call(ctx context.Context, c soakCall) {
	arguments, err := json.Marshal(c.order)
	if err != nil {
		s.t.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var noted atomic.Int64
	params := &CallToolParams{Tool: s.tool, Arguments: arguments}
	if c.order.Notes > 0 {
		params.Meta.OnProgress = func(p Progress) {
			noted.Add(1)
			if p.Message == nil || *p.Message != c.order.Nonce {
				s.t.Errorf("call %s got the progress note %s", c.order.Nonce, p.Raw())
			}
			if c.kind == soakNoted {
				cancel()
			}
		}
	}
	switch c.kind {
	case soakEnded:
		cancel()
	case soakSilent:
		defer time.AfterFunc(c.wait, cancel).Stop()
	case soakRaced:
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, c.wait)
		defer stop()
	}
	round, err := s.client.CallTool(ctx, params)
	var ended *ContextError
	if err == nil {
		if text := round.Complete.Content[0].(*TextContent).Text; text != c.order.Nonce {
			s.t.Errorf("call %s got the answer of %q", c.order.Nonce, text)
		}
		if c.order.Hold || c.kind == soakEnded {
			s.t.Errorf("call %s, which is never answered, returned a result", c.order.Nonce)
		}
		if c.kind == soakPlain && int(noted.Load()) != c.order.Notes {
			s.t.Errorf("call %s got %d progress notes, want %d", c.order.Nonce, noted.Load(), c.order.Notes)
		}
	} else if c.kind == soakPlain || !errors.As(err, &ended) || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		s.t.Errorf("call %s, which ends by %d: %T %v, its context %v", c.order.Nonce, c.kind, err, err, ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[c.kind]++
	if err != nil {
		s.cancelled[c.order.Nonce] = c.kind
		if ended != nil && !ended.Delivered {
			s.unsent[c.order.Nonce] = true
		}
	}
}

// judge holds what the server has seen against what the client did. With exact every call that was sent and then cancelled
// is one that the server was told of; otherwise its answer may have been on its way.
func (s *soakRun) judge(n int, exact bool, report func() soakReport) {
	var r soakReport
	eventually(s.t, "every call that the server holds is cancelled", func() bool {
		r = report()
		return len(r.Held) == 0 && (!exact || len(r.Cancelled) == len(s.cancelled)-len(s.unsent))
	})
	for _, fault := range r.Faults {
		s.t.Errorf("the server says: %s", fault)
	}
	for nonce := range r.Held {
		s.t.Errorf("call %s was delivered and cancelled, and the server was not told", nonce)
	}
	for nonce := range r.Cancelled {
		if _, was := s.cancelled[nonce]; !was {
			s.t.Errorf("the server was told that call %s is cancelled, which it was not", nonce)
		}
	}
	for i := 1; i <= n; i++ {
		c := soakPlan(s.seed, i)
		seen := r.Seen[c.order.Nonce]
		delete(r.Seen, c.order.Nonce)
		switch {
		case seen > 0 && (c.kind == soakEnded || s.unsent[c.order.Nonce]):
			s.t.Errorf("call %s of kind %d cannot have been delivered, and was sent", c.order.Nonce, c.kind)
		case seen > 1:
			s.t.Errorf("call %s was sent %d times", c.order.Nonce, seen)
		case seen == 0 && (c.kind == soakPlain || c.kind == soakNoted):
			s.t.Errorf("call %s was not sent", c.order.Nonce)
		}
		if s.t.Failed() {
			return
		}
	}
	if len(r.Seen) > 0 {
		s.t.Errorf("the server has seen %d calls that were not made", len(r.Seen))
	}
	complete := n - len(s.cancelled)
	if complete < n/2 {
		s.t.Errorf("%d of %d calls are complete, want at least half", complete, n)
	}
	// What a kind is there for must have happened: of those that a race decides, some end one way and some the other.
	by := [soakKinds]int{}
	for _, kind := range s.cancelled {
		by[kind]++
	}
	for kind := soakEnded; kind < soakKinds; kind++ {
		if by[kind] == 0 || (kind != soakRaced && by[kind] != s.done[kind]) || (kind == soakRaced && by[kind] == s.done[kind]) {
			s.t.Errorf("of %d calls of kind %d, %d were cancelled", s.done[kind], kind, by[kind])
		}
	}
	if told := len(s.cancelled) - len(s.unsent); exact && len(r.Cancelled) != told {
		s.t.Errorf("the server was told of %d cancellations, want one for each of %d calls that it had", len(r.Cancelled), told)
	}
	if len(s.unsent) < by[soakEnded] {
		s.t.Errorf("of %d calls whose contexts had ended, some count as delivered", by[soakEnded])
	}
	s.t.Logf("%d calls: %d complete, %d cancelled (ended, raced, noted, silent: %v), %d of them before they were sent, %d of them told to the server",
		n, complete, len(s.cancelled), by[1:], len(s.unsent), len(r.Cancelled))
}

// soakServer is a server of the soak test.
type soakServer struct {
	transport Transport
	report    func(c *Client) soakReport
}

// soakServers start the servers. What they start ends with the test.
var soakServers = map[string]func(t *testing.T) soakServer{
	"stdio": func(t *testing.T) soakServer {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		tr := NewStdioTransport(self, nil)
		// Built with -race a program waits a second before it exits.
		tr.Env = append(os.Environ(), childVar+"="+strconv.Itoa(os.Getpid()), "GORACE=atexit_sleep_ms=0")
		return soakServer{tr, func(c *Client) (r soakReport) {
			round, err := c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, soakReportTool)})
			if err != nil {
				t.Fatalf("the server's report: %v", err)
			}
			if err := json.Unmarshal([]byte(round.Complete.Content[0].(*TextContent).Text), &r); err != nil {
				t.Fatal(err)
			}
			return r
		}}
	},
	"http": func(t *testing.T) soakServer {
		h := &soakHTTP{}
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		tr := NewStreamableHTTPTransport(server.URL + "/mcp")
		tr.AllowPrivate = true
		return soakServer{tr, func(*Client) soakReport { return h.books.report() }}
	},
}

// TestSoak makes many calls, one after the other and 64 at a time, of which some are cancelled at random moments, over a
// child process and over HTTP. Every call that is not cancelled gets its own answer, a cancelled one its context's error;
// the server hears of no cancellation but those of calls that it has, over HTTP only by the end of their exchanges; and in
// the end goroutines, descriptors and processes are where they were.
func TestSoak(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	for _, over := range []string{"stdio", "http"} {
		for _, atATime := range []int{1, 64} {
			t.Run(fmt.Sprintf("%s/%d", over, atATime), func(t *testing.T) {
				seed := uint64(time.Now().UnixNano())
				if v, ok := os.LookupEnv("MCPCAT_SOAK_SEED"); ok {
					if _, err := fmt.Sscan(v, &seed); err != nil {
						t.Fatal(err)
					}
				}
				t.Logf("MCPCAT_SOAK_SEED=%d", seed)
				server := soakServers[over](t)
				connect := func() *Client {
					c, err := Connect(t.Context(), server.transport)
					if err != nil {
						t.Fatal(err)
					}
					return c
				}
				tool := mustTool(t, `{"name":"soak","inputSchema":{"type":"object"}}`)
				// What the first use of anything makes, and is kept for ever, is no leak.
				first := connect()
				if _, err := first.CallTool(t.Context(), &CallToolParams{Tool: tool, Arguments: jsontext.Value(`{"nonce":"first"}`)}); err != nil {
					t.Fatal(err)
				}
				closed(t, first)
				left := takeStock(t)

				s := &soakRun{t: t, client: connect(), tool: tool, seed: seed, cancelled: map[string]soakKind{}, unsent: map[string]bool{}}
				s.calls(n, atATime)
				if !t.Failed() {
					s.judge(n, over == "stdio" && atATime == 1, func() soakReport {
						r := server.report(s.client)
						delete(r.Seen, "first")
						return r
					})
				}
				if err := s.client.Err(); err != nil {
					t.Errorf("the connection has ended: %v", err)
				}
				closed(t, s.client)
				left.compare()
			})
		}
	}
}

// TestSoakPlanIsRepeatable: a seed that was printed makes the same calls again.
func TestSoakPlanIsRepeatable(t *testing.T) {
	var kinds [soakKinds]int
	for i := range 1000 {
		c := soakPlan(7, i)
		if c != soakPlan(7, i) || c == soakPlan(8, i) {
			t.Fatalf("call %d is %+v", i, c)
		}
		kinds[c.kind]++
	}
	if slices.Min(kinds[:]) < 10 {
		t.Errorf("calls of each kind: %v", kinds)
	}
}
