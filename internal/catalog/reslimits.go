package catalog

import (
	"encoding/json"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Limits bound what is taken from a server. A field that is 0 is not set: the default of package mcp holds, which is also the
// largest value, and for Concurrency DefaultConcurrency.
type Limits struct {
	Tools       int // items of one list
	ListBytes   int // all pages of one list
	ResultBytes int // one answer, a page of a list too
	SchemaBytes int // one schema
	Pages       int // pages of one list
	Concurrency int // calls in flight at a time
}

// DefaultConcurrency is how many calls may be in flight to one server where a catalog sets nothing, and MaxConcurrency the
// most that it may set.
const (
	DefaultConcurrency = 64
	MaxConcurrency     = 256
)

// The smallest size, and the bounds and defaults of package mcp.
const (
	minLimitBytes   = 1 << 10
	maxListBytes    = 8 << 20
	maxSchemaBytes  = 256 << 10
	maxLimitedPages = 1000
	maxLimitedItems = 10_000
)

// readLimits reads a limits block over the values of base; b may be nil.
func (l *loader) readLimits(b *hclsyntax.Block, outer where, base Limits) Limits {
	if b == nil {
		return base
	}
	c := l.contents(b.Body, outer.inside("limits"), limitsBlock)
	for _, f := range []struct {
		name        string
		to          *int
		size        bool
		least, most int64
	}{
		{"tools", &base.Tools, false, 1, maxLimitedItems},
		{"list_bytes", &base.ListBytes, true, minLimitBytes, maxListBytes},
		{"result_bytes", &base.ResultBytes, true, minLimitBytes, maxResultBytes},
		{"schema_bytes", &base.SchemaBytes, true, minLimitBytes, maxSchemaBytes},
		{"pages", &base.Pages, false, 1, maxLimitedPages},
		{"concurrency", &base.Concurrency, false, 1, MaxConcurrency},
	} {
		read := c.integer
		if f.size {
			read = c.size
		}
		if n, ok := read(f.name, f.least, f.most); ok {
			*f.to = int(n)
		}
	}
	return base
}

// Posture returns the limits that are set as the canonical JSON that the lock holds, in bytes and numbers; nil if none is:
//
//	{"concurrency":8,"list_bytes":4194304}
func (l Limits) Posture() json.RawMessage {
	if l == (Limits{}) {
		return nil
	}
	set := map[string]int{}
	for name, n := range map[string]int{
		"tools": l.Tools, "list_bytes": l.ListBytes, "result_bytes": l.ResultBytes, "schema_bytes": l.SchemaBytes, "pages": l.Pages, "concurrency": l.Concurrency,
	} {
		if n != 0 {
			set[name] = n
		}
	}
	b, err := json.Marshal(set) // sorted by name
	if err != nil {
		panic("mcpcat: internal error: " + err.Error()) // numbers have a JSON form
	}
	return b
}
