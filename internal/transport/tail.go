package transport

import "sync"

// tail keeps the last bytes that were written to it. It is safe for concurrent use.
type tail struct {
	limit int

	mu    sync.Mutex
	ring  []byte // grows up to limit, then is overwritten from next on
	next  int
	total int64
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(n)
	if len(p) > t.limit {
		p = p[len(p)-t.limit:]
	}
	if room := t.limit - len(t.ring); room > 0 {
		k := min(room, len(p))
		t.ring = append(t.ring, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(t.ring[t.next:], p)
		p = p[k:]
		t.next = (t.next + k) % t.limit
	}
	return n, nil
}

// Bytes returns a copy of what is kept, oldest first.
func (t *tail) Bytes() []byte {
	b, _ := t.end()
	return b
}

// end is Bytes, and reports whether that is everything that was written.
func (t *tail) end() (b []byte, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]byte, 0, len(t.ring))
	return append(append(out, t.ring[t.next:]...), t.ring[:t.next]...), t.total == int64(len(t.ring))
}
