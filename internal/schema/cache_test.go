package schema

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

func (c *cache) text(s string) (*Schema, error) {
	return c.compile(sha256.Sum256([]byte(s)), []byte(s))
}

func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	c := newCache(3, 1<<20)
	text := func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }
	first := map[int]*Schema{}
	for i := range 3 {
		first[i], _ = c.text(text(i))
	}
	for _, step := range []struct {
		ask  int
		kept bool
	}{{0, true}, {3, false}, {0, true}, {2, true}, {1, false}, {3, false}, {1, true}, {0, false}} {
		got, err := c.text(text(step.ask))
		if err != nil {
			t.Fatal(err)
		}
		if kept := got == first[step.ask]; kept != step.kept {
			t.Errorf("schema %d kept: %v, want %v", step.ask, kept, step.kept)
		}
		first[step.ask] = got
		if n := c.recent.Len(); n > 3 || n != len(c.entries) {
			t.Fatalf("%d entries in the list, %d in the map, want at most 3", n, len(c.entries))
		}
	}
}

func TestCacheIsBoundedInBytes(t *testing.T) {
	large := func(i int) string {
		return fmt.Sprintf(`{"title":"%d","properties":{%s}}`, i, numbered(0, 1000, `"p%d":{"type":"string"}`))
	}
	one, err := Compile([]byte(large(0)))
	if err != nil {
		t.Fatal(err)
	}
	c := newCache(100, 3*(one.size+bytesOfEntry)+100)
	for i := range 8 {
		if _, err := c.text(large(i)); err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, at := range c.entries {
			sum += at.Value.(*entry).bytes
		}
		if c.bytes > c.maxBytes || c.bytes != sum || len(c.entries) != min(i+1, 3) {
			t.Fatalf("after %d schemas: %d entries, %d bytes counted, %d held, want at most %d", i+1, len(c.entries), c.bytes, sum, c.maxBytes)
		}
	}
	// What is larger than the whole cache is compiled and not kept.
	c = newCache(100, 1000)
	if s, err := c.text(large(0)); err != nil || s == nil || len(c.entries) != 0 || c.bytes != 0 {
		t.Errorf("a schema larger than the cache: %v, %v, %d entries, %d bytes", s, err, len(c.entries), c.bytes)
	}
}

func TestCacheCompilesOnceUnderConcurrency(t *testing.T) {
	c := newCache(10, 1<<20)
	const text = `{"properties":{"a":{"pattern":"^a"}}}`
	got := make([]*Schema, 64)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], _ = c.text(text) })
	}
	wg.Wait()
	for i, s := range got {
		if s == nil || s != got[0] {
			t.Fatalf("caller %d has a schema of its own", i)
		}
	}
}

// TestCacheUnderPressure asks from many goroutines for more than the cache holds.
func TestCacheUnderPressure(t *testing.T) {
	c := newCache(4, 1<<20)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				want := (i*7 + g) % 12
				s, err := c.text(fmt.Sprintf(`{"const":%d}`, want))
				if err != nil || s.Validate(fmt.Appendf(nil, "%d", want)) != nil || s.Validate([]byte(`-1`)) == nil {
					t.Errorf("schema %d: %v, or it is another one", want, err)
				}
			}
		})
	}
	wg.Wait()
	var sum int64
	for _, at := range c.entries {
		sum += at.Value.(*entry).bytes
	}
	if len(c.entries) > 4 || c.bytes != sum {
		t.Errorf("%d entries with %d bytes, %d counted", len(c.entries), sum, c.bytes)
	}
}

func TestRefFindsEqualTextsAndKeepsRefusals(t *testing.T) {
	var a, b, other Ref
	text := []byte(`{"title":"TestRef","type":"object"}`)
	sa, errA := a.Compile(text)
	sb, errB := b.Compile(bytes.Clone(text))
	so, _ := other.Compile([]byte(`{"title":"TestRef", "type":"object"}`))
	if errA != nil || errB != nil || sa != sb || sa == so {
		t.Errorf("equal texts: %p %v and %p %v, another text %p", sa, errA, sb, errB, so)
	}
	var refused Ref
	_, first := refused.Compile([]byte(`{"pattern":"(?=a)"}`))
	_, second := refused.Compile([]byte(`{"pattern":"(?=a)"}`))
	var unsupported *UnsupportedError
	if !errors.As(first, &unsupported) || first != second {
		t.Errorf("refused with %v, then with %v", first, second)
	}
}

// TestCacheIsNotPoisoned writes to a text after its digest was taken.
func TestCacheIsNotPoisoned(t *testing.T) {
	c := newCache(1, 1<<20)
	text := []byte(`{"const":1}`)
	key := sha256.Sum256(text)
	if s, err := c.compile(key, text); err != nil || s.Validate([]byte(`1`)) != nil {
		t.Fatal(s, err)
	}
	if _, err := c.text(`true`); err != nil { // takes the only place
		t.Fatal(err)
	}
	text[len(`{"const":`)] = '2'
	if s, err := c.compile(key, text); err != nil || s.Validate([]byte(`2`)) != nil {
		t.Errorf("the changed text: %v, %v", s, err)
	}
	if s, err := c.text(`{"const":1}`); err != nil || s.Validate([]byte(`1`)) != nil {
		t.Errorf("the text that has the digest: %v, %v", s, err)
	}
}

// TestSizeIsAnEstimate holds the estimate that bounds the cache against the heap.
func TestSizeIsAnEstimate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector holds more")
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, text := range map[string]string{
		"properties": `{"properties":{` + numbered(0, 1_900, `"p%d":true`) + `}}`,
		"enum":       `{"enum":[` + numbered(0, 12_000, `"%d"`) + `]}`,
		"patterns":   literals(3000, 3000, 3000),
		"required":   `{"required":[` + numbered(0, 12_000, `"%d"`) + `]}`,
		"objects":    `{"anyOf":[` + numbered(0, 900, `{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x","%d"]}},"required":["a"]}`) + `]}`,
	} {
		before := heap()
		s, err := Compile([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		held := heap() - before
		if s.size < held/2 || s.size > 8*held {
			t.Errorf("%s: size %d, the heap grew by %d", name, s.size, held)
		}
		t.Logf("%s: size %d, heap %d", name, s.size, held)
	}
}

func BenchmarkRef(b *testing.B) {
	var r Ref
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Compile(flat); err != nil {
			b.Fatal(err)
		}
	}
}
