package mcp

import (
	"io"
	"strconv"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// staticPeer is both ends of a stdio server that answers every tools/call with one result and allocates nothing, so that
// what is counted is the client's.
type staticPeer struct {
	mu      sync.Mutex
	arrived sync.Cond
	answers []byte // not read yet
	closed  bool
}

const staticResult = `{"resultType":"complete","content":[{"type":"text","text":"high 06:12"}]}`

func newStaticPeer() *staticPeer {
	p := &staticPeer{answers: make([]byte, 0, 64<<10)}
	p.arrived.L = &p.mu
	return p
}

// Write takes one request. The id follows the first member.
func (p *staticPeer) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const before = `{"jsonrpc":"2.0","id":`
	id := line[len(before):]
	n := 0
	for n < len(id) && id[n] != ',' {
		n++
	}
	result := staticResult
	if string(id[:n]) == "1" {
		result = fullDiscover
	}
	p.answers = append(append(append(append(p.answers, before...), id[:n]...), `,"result":`...), result...)
	p.answers = append(p.answers, '}', '\n')
	p.arrived.Signal()
	return len(line), nil
}

func (p *staticPeer) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.answers) == 0 {
		if p.closed {
			return 0, io.EOF
		}
		p.arrived.Wait()
	}
	n := copy(b, p.answers)
	p.answers = p.answers[:copy(p.answers, p.answers[n:])]
	return n, nil
}

func (p *staticPeer) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.arrived.Broadcast()
	return nil
}

func staticClient(t testing.TB) *Client {
	t.Helper()
	p := newStaticPeer()
	c, err := Connect(t.Context(), NewIOTransport(p, p))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, c) })
	return c
}

// maxCallAllocs is what one tools/call over stdio may allocate in the client: the line that came, its message and id, the
// id that was sent, and four for the result. Over these streams, which cannot be written to without waiting, one more may
// be for a goroutine that writes; over the pipes of a child there is none.
const maxCallAllocs = 9

func TestCallAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates as well")
	}
	c := staticClient(t)
	params := &CallToolParams{Tool: mustTool(t, tide), Arguments: jsontext.Value(`{"harbour":"north"}`)}
	got := testing.AllocsPerRun(200, func() {
		round, err := c.CallTool(t.Context(), params)
		if err != nil || round.Complete == nil {
			t.Errorf("CallTool = %v, %v", round, err)
		}
	})
	t.Logf("%g allocations", got)
	if got > maxCallAllocs {
		t.Errorf("a call allocates %s times, want at most %d", strconv.FormatFloat(got, 'f', -1, 64), maxCallAllocs)
	}
}

// BenchmarkCallAllocations counts what one tools/call over stdio allocates in the client.
func BenchmarkCallAllocations(b *testing.B) {
	c := staticClient(b)
	params := &CallToolParams{Tool: mustTool(b, tide), Arguments: jsontext.Value(`{"harbour":"north"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallTool(b.Context(), params); err != nil {
			b.Fatal(err)
		}
	}
}
