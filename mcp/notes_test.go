package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// logOf is a log message whose parameters have n bytes.
func logOf(n int) string {
	const frame = `{"level":"info","data":""}`
	return `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", n-len(frame)) + `"}}`
}

func TestLogBytesOfOneRequest(t *testing.T) {
	var send []string
	c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		for _, line := range send {
			c.Line(strings.ReplaceAll(line, "TOKEN", r.ID))
		}
		c.Result(r, `{"resultType":"complete","content":[]}`)
	}))
	run := func() (logs int, dropped []DroppedNotes) {
		t.Helper()
		_, err := c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{
			LogLevel: LogInfo, OnProgress: func(Progress) {},
			OnLog: func(LogMessage) {
				if dropped != nil {
					t.Error("OnLog is called after OnDropped")
				}
				logs++
			},
			OnDropped: func(d DroppedNotes) { dropped = append(dropped, d) },
		}})
		if err != nil {
			t.Fatal(err)
		}
		return logs, dropped
	}
	for range 16 {
		send = append(send, logOf(64<<10))
	}
	// Nothing of one request is left to the next.
	for range 2 {
		if logs, dropped := run(); logs != 16 || dropped != nil {
			t.Errorf("1 MiB of logs: %d handed over, dropped %v, want all", logs, dropped)
		}
	}
	send = append(send, logOf(64), logOf(32),
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":1}}`)
	if logs, dropped := run(); logs != 16 || len(dropped) != 1 || dropped[0] != (DroppedNotes{Progress: 1, Logs: 2}) {
		t.Errorf("more than 1 MiB of logs: %d handed over, dropped %v", logs, dropped)
	}
	for n, want := range map[int]int{64 << 10: 1, 64<<10 + 1: 0} {
		send = []string{logOf(n)}
		if logs, _ := run(); logs != want {
			t.Errorf("a log message of %d bytes: %d handed over, want %d", n, logs, want)
		}
	}
	const frame = `{"progressToken":0,"progress":1,"x":""}`
	for n, want := range map[int]int{64 << 10: 0, 64<<10 + 1: 1} {
		rest := strings.Repeat("x", n-len(frame)+1-len(fmt.Sprint(c.lastID.Load()+1)))
		send = []string{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":1,"x":"` + rest + `"}}`}
		if _, dropped := run(); len(dropped) != want {
			t.Errorf("a progress note of %d bytes: dropped %v, want %d", n, dropped, want)
		}
	}
}

func TestEveryRequestSaysWhoAsks(t *testing.T) {
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, `{"resultType":"complete","content":[]}`) }),
		WithClientInfo(Implementation{Name: "pilot", Version: "7"}))
	for range 2 {
		if _, err := c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, tide)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range p.Requests() {
		meta, _ := r.Params.Get("_meta")
		const want = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
			`"io.modelcontextprotocol/clientInfo":{"name":"pilot","version":"7"}}`
		if string(meta) != want {
			t.Errorf("%s has _meta %s, want %s", r.Method, meta, want)
		}
	}
}
