package mcp

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// manyTools returns one page of n tools of about 1 KiB each.
func manyTools(n int) string {
	var tools []string
	for i := range n {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"%s","inputSchema":{"type":"object","properties":{"a":{"type":"string",`+
			`"description":"%s"},"b":{"type":"integer","minimum":0,"maximum":100}},"required":["a"]},"annotations":{"readOnlyHint":true}}`,
			i, strings.Repeat("Lists high and low water. ", 16), strings.Repeat("One harbour. ", 24)))
	}
	return page("", tools...)
}

// BenchmarkSnapshotDigest takes the digest of 100 tools from the typed value; the base row is SHA-256 alone.
func BenchmarkSnapshotDigest(b *testing.B) {
	result := manyTools(100)
	s := snapshotOf(b, result)
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(int64(len(result)))
		for b.Loop() {
			sha256.Sum256([]byte(result))
		}
	})
	b.Run("digest", func(b *testing.B) {
		b.SetBytes(int64(len(result)))
		b.ReportAllocs()
		for b.Loop() {
			digestOf(b, s)
		}
	})
}

// BenchmarkSnapshotTools lists 100 tools over a pipe: decoded each time, known from the last walk, and with digests.
func BenchmarkSnapshotTools(b *testing.B) {
	result := manyTools(100)
	c, _ := pipe(b, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, result) }))
	prev, err := c.SnapshotTools(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	run := func(prev *ToolsSnapshot, each func(*ToolsSnapshot)) func(*testing.B) {
		return func(b *testing.B) {
			b.SetBytes(int64(len(result)))
			b.ReportAllocs()
			for b.Loop() {
				s, err := c.WalkTools(b.Context(), prev)
				if err != nil {
					b.Fatal(err)
				}
				each(s)
			}
		}
	}
	b.Run("fresh", run(nil, func(*ToolsSnapshot) {}))
	b.Run("known", run(prev, func(s *ToolsSnapshot) {
		if s != prev {
			b.Fatal("an equal list was not recognised")
		}
	}))
	b.Run("digest", run(nil, func(s *ToolsSnapshot) { digestOf(b, s) }))
}

// BenchmarkCallTool makes one call after another over a pipe.
func BenchmarkCallTool(b *testing.B) {
	c, _ := pipe(b, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Result(r, `{"resultType":"complete","content":[{"type":"text","text":"high 06:12"}]}`)
	}))
	params := &CallToolParams{Tool: mustTool(b, tide), Arguments: jsontext.Value(`{"harbour":"north"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallTool(b.Context(), params); err != nil {
			b.Fatal(err)
		}
	}
}
