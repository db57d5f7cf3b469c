//go:build unix

package transport

import (
	"fmt"
	"runtime"
	"testing"
)

// The tests of this file are named for faults that other implementations have had, with the public thread of each.
// Further tests that show such faults away stand with their subject and cite the thread too.

// modelcontextprotocol/typescript-sdk#771: a large event costs 10 to 40 times its size. Here memory grows by doubling, and
// what is then handed on is a part of it.
func TestMemoryOfALargeEvent(t *testing.T) {
	const size = 8 << 20
	answers := map[string][]byte{
		"application/json":  padded(size),
		"text/event-stream": append(append([]byte("data: "), padded(size)...), "\n\n"...),
	}
	for media, text := range answers {
		head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", media, len(text))
		srv := serveRaw(t, func(p *peer) {
			p.Write(head)
			p.Write(text)
		})
		h := srv.client(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := h.Do(t.Context(), call(1, "x"))
		runtime.ReadMemStats(&after)
		if err != nil || len(m.Result) < size-100 {
			t.Fatalf("%s: %v", media, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 6*size {
			t.Errorf("%s: %d bytes were allocated for an answer of %d", media, n, size)
		} else {
			t.Logf("%s: %.1f times its size", media, float64(n)/size)
		}
	}
}
