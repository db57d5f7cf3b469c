package mcp

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// TestPaddingIsNotHeld has a server put a mebibyte of what nobody asked for around each of many small messages, of which no
// limit counts it. What is kept of them does not keep that.
func TestPaddingIsNotHeld(t *testing.T) {
	const messages, bound = 64, 8 << 20
	around := func(s string) string {
		// Before and behind the value that is kept, in a member that JSON-RPC does not know and in white space.
		half := strings.Repeat("p", 256<<10)
		return strings.Repeat(" ", 256<<10) + strings.Replace(s, `"jsonrpc"`, `"before":"`+half+`","jsonrpc"`, 1) + strings.Repeat(" ", 256<<10)
	}
	for _, over := range []struct {
		name string
		http bool
	}{{"stdio", false}, {"HTTP", true}} {
		c := limited(t, over.http, Limits{}, func(c *mcptest.Conn, r mcptest.Request) {
			if r.Method == "tools/list" {
				cursor, _ := r.Params.Get("cursor")
				n := 0
				_, _ = fmt.Sscanf(string(cursor), `"%d"`, &n)
				next := fmt.Sprintf(`,"nextCursor":"%d"`, n+1)
				if n == messages-1 {
					next = ""
				}
				c.Line(around(`{"jsonrpc":"2.0","id":` + r.ID + `,"result":` + page(next, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, n)) + `}`))
				return
			}
			c.Stream()
			for i := range messages {
				c.Event(around(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, r.ID, i+1)))
				c.Event(around(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`))
			}
			c.Event(`{"jsonrpc":"2.0","id":` + r.ID + `,"result":{"resultType":"complete","content":[]}}`)
		})
		held := func(what string, f func() any) {
			t.Helper()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			kept := f()
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > bound {
				t.Errorf("%s: %d MiB are held by %s of %d messages", over.name, grown>>20, what, messages)
			}
			runtime.KeepAlive(kept)
		}
		held("the pages", func() any {
			s, err := c.SnapshotTools(t.Context())
			if err != nil || len(s.Tools) != messages {
				t.Fatalf("%s: %v", over.name, err)
			}
			return s
		})
		held("the notes", func() any {
			var progress []Progress
			var logs []LogMessage
			_, err := c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{
				LogLevel: LogDebug, OnLog: func(l LogMessage) { logs = append(logs, l) }, OnProgress: func(p Progress) { progress = append(progress, p) },
			}})
			if err != nil || len(progress) != messages || len(logs) != messages {
				t.Fatalf("%s: %v; %d progress notes and %d log messages", over.name, err, len(progress), len(logs))
			}
			return []any{progress, logs}
		})
	}
}
