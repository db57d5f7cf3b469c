package upstream

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// TestLimits: each limit reaches the client, and what is just allowed passes.
func TestLimits(t *testing.T) {
	tool := func(name string, schema int) string {
		return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","description":%q}}`, name, strings.Repeat("x", schema))
	}
	// Two pages of two tools; a schema has about 1,100 bytes, a page 2,500, the list 5,000.
	p := mcptest.HTTP(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		if r.Method == "tools/call" {
			c.Result(r, `{"resultType":"complete","content":[{"type":"text","text":"`+strings.Repeat("x", 4000)+`"}]}`)
			return
		}
		page, next := tool("a", 1050)+","+tool("b", 1050), `,"nextCursor":"2"`
		if strings.Contains(string(r.Raw), `"cursor"`) {
			page, next = tool("c", 1050)+","+tool("d", 1050), ""
		}
		c.Result(r, `{"resultType":"complete","tools":[`+page+`]`+next+`,"ttlMs":0,"cacheScope":"private"}`)
	}))
	for lines, want := range map[string]string{
		"":                           "",
		"tools = 4":                  "",
		"tools = 3":                  "more than 3",
		"pages = 2":                  "",
		"pages = 1":                  "more than 1",
		"list_bytes = \"8KiB\"":      "",
		"list_bytes = \"4KiB\"":      "more than 4096",
		"result_bytes = \"5KiB\"":    "",
		"result_bytes = \"3KiB\"":    "more than 3072", // of the call; a page is below it
		"result_bytes = \"2KiB\"":    "more than 2048",
		"schema_bytes = \"2KiB\"":    "",
		"schema_bytes = \"1024B\"":   "more than 1024",
		"concurrency = 1":            "",
		"tools = 4\n    pages = 2\n": "",
	} {
		s, d := server(t, fmt.Sprintf("  http {\n    url = %q\n    egress {\n      allow_private = true\n    }\n  }\n  limits {\n    %s\n  }", p.URL, lines))
		c, err := d.Connect(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.SnapshotTools(t.Context())
		if err == nil && len(list.Tools) == 4 {
			_, err = c.CallTool(t.Context(), &mcp.CallToolParams{Tool: list.Tools[0]})
		} else if err == nil && len(list.Excluded) > 0 {
			err = errors.New(list.Excluded[0].Reason)
		}
		var limit *mcp.LimitError
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", lines, err)
		case want != "" && (err == nil || !errors.As(err, &limit) && len(list.Excluded) == 0 || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want a *LimitError with %q", lines, err, want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
