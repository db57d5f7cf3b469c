package schema

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// Bounds of what Ref keeps compiled in this process. A schema as servers write them takes some 25 KiB.
const (
	maxCached      = 2_048
	maxCachedBytes = 64 << 20 // estimated memory, see Schema.size
)

var shared = newCache(maxCached, maxCachedBytes)

// Ref stands for the compiled form of one text. It is the zero value, belongs to one text, must not be copied once used,
// and is safe for concurrent use.
//
// What it compiles is kept under the SHA-256 of the text and found again by every Ref of an equal text, be it of another
// tool, listing or connection. The process keeps at most 2,048 schemas and an estimated 64 MiB, those that were used last;
// another one is compiled again. That a schema was refused is kept too.
type Ref struct {
	once sync.Once
	key  [sha256.Size]byte
}

// Compile returns what Compile(schema) returns. Schema must be the same at every call and is not kept.
func (r *Ref) Compile(schema []byte) (*Schema, error) {
	r.once.Do(func() { r.key = sha256.Sum256(schema) })
	return shared.compile(r.key, schema)
}

// cache keeps compiled schemas, within bounds, and compiles a schema once for all who ask at the same time.
type cache struct {
	maxCount int
	maxBytes int64

	mu      sync.Mutex
	entries map[[sha256.Size]byte]*list.Element // of *entry
	recent  list.List                           // used last in front
	bytes   int64
}

type entry struct {
	key    [sha256.Size]byte
	once   sync.Once
	schema *Schema
	err    error
	bytes  int64 // under the cache's mutex; 0 until compiled
}

func newCache(maxCount int, maxBytes int64) *cache {
	return &cache{maxCount: maxCount, maxBytes: maxBytes, entries: map[[sha256.Size]byte]*list.Element{}}
}

// compile returns the schema kept under key, which is the digest that schema had. What is not there goes under the digest
// that schema has now: a text that somebody wrote to since then must not stand under the digest of another.
func (c *cache) compile(key [sha256.Size]byte, schema []byte) (*Schema, error) {
	e := c.find(key, false)
	if e == nil {
		e = c.find(sha256.Sum256(schema), true)
	}
	e.once.Do(func() {
		e.schema, e.err = Compile(schema)
		c.weigh(e)
	})
	return e.schema, e.err
}

// find returns the entry of key as the one used last. If there is none it returns nil or, with add, a new one.
func (c *cache) find(key [sha256.Size]byte, add bool) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.entries[key]; ok {
		c.recent.MoveToFront(at)
		return at.Value.(*entry)
	}
	if !add {
		return nil
	}
	e := &entry{key: key}
	c.entries[key] = c.recent.PushFront(e)
	c.shrinkLocked()
	return e
}

// weigh counts the memory of e, unless it was dropped while it was compiled.
func (c *cache) weigh(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.entries[e.key]; !ok || at.Value.(*entry) != e {
		return
	}
	e.bytes = bytesOfEntry
	if e.schema != nil {
		e.bytes += e.schema.size
	}
	c.bytes += e.bytes
	c.shrinkLocked()
}

const bytesOfEntry = 512

func (c *cache) shrinkLocked() {
	for c.recent.Len() > c.maxCount || c.bytes > c.maxBytes {
		e := c.recent.Remove(c.recent.Back()).(*entry)
		delete(c.entries, e.key)
		c.bytes -= e.bytes
	}
}
