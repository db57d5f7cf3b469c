package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// refusedList takes a snapshot of what a peer lists in one fixed message, wants that refused with a *ProtocolError and
// that nothing was asked twice, and returns the error.
func refusedList(t *testing.T, message []byte) *ProtocolError {
	t.Helper()
	c, p := pipe(t, fixed(message))
	s, err := c.SnapshotTools(t.Context())
	if err == nil {
		t.Fatalf("SnapshotTools = %d tools, want an error", len(s.Tools))
	}
	if got := p.Methods(); got != "server/discover tools/list" {
		t.Errorf("sent %q, want one list request", got)
	}
	if s != nil {
		t.Error("SnapshotTools returned a snapshot with its error")
	}
	return as[*ProtocolError](t, err)
}

// modelcontextprotocol/go-sdk#1032, modelcontextprotocol/csharp-sdk#1676, modelcontextprotocol/ruby-sdk#512,
// modelcontextprotocol/conformance#475: servers leave resultType out.
func TestResultTypeMissing(t *testing.T) {
	dir := casetest.Dir(t, "jsonrpc/resulttype-missing")
	for name, message := range files(t, dir) {
		var errs []error
		_, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) { c.Line(string(casetest.WithIDs(message, r.ID))) })
		errs = append(errs, err)
		c, _ := pipe(t, fixed(message))
		_, err = c.SnapshotTools(t.Context())
		errs = append(errs, err)
		_, err = c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, tide)})
		errs = append(errs, err)
		_, err = c.Call(t.Context(), "com.example/x", nil, RequestMeta{})
		for _, err := range append(errs, err) {
			if e := as[*ProtocolError](t, err); e.Path != "/resultType" {
				t.Errorf("%s: %v, want the member resultType named", name, err)
			}
		}
	}
}

func TestCacheHints(t *testing.T) {
	dir := casetest.Dir(t, "tools-list/cache-hints")
	for name, message := range files(t, dir) {
		member, rest, _ := strings.Cut(strings.TrimSuffix(name, ".json"), "-")
		c, _ := pipe(t, fixed(message))
		s, err := c.SnapshotTools(t.Context())
		switch {
		case strings.HasPrefix(rest, "ok-"), strings.HasPrefix(rest, "integral-"):
			if err != nil {
				t.Errorf("%s: %v, want it accepted", name, err)
				continue
			}
			want := map[string]int64{"ok-max": maxSafeInteger, "ok-zero": 0, "integral-1": 60000, "integral-2": 60000}[rest]
			if s.TTLMs != want || s.TTL < 0 {
				t.Errorf("%s: TTLMs = %d, TTL = %s, want %d", name, s.TTLMs, s.TTL, want)
			}
		default:
			want := map[string]string{"ttl": "/ttlMs", "scope": "/cacheScope"}[member]
			var e *ProtocolError
			if !errors.As(err, &e) || e.Path != want {
				t.Errorf("%s: %v, want a *ProtocolError at %s", name, err, want)
			}
		}
	}
}

func TestCursorNull(t *testing.T) {
	if e := refusedList(t, casetest.Read(t, "tools-list/cursor-null", "page.json")); e.Path != "/nextCursor" {
		t.Errorf("error = %v, want nextCursor named", e)
	}
}

// modelcontextprotocol/java-sdk#575, modelcontextprotocol/java-sdk#628, sparfenyuk/mcp-proxy#233,
// DeusData/codebase-memory-mcp#1247: a cursor that comes again was followed for ever.
func TestCursorRepeats(t *testing.T) {
	message := casetest.Read(t, "tools-list/cursor-repeats", "page.json")
	c, p := pipe(t, fixed(message))
	_, err := c.SnapshotTools(t.Context())
	as[*ProtocolError](t, err)
	wantText(t, err, "repeated cursor")
	if n := strings.Count(p.Methods(), "tools/list"); n > 3 {
		t.Errorf("sent %d list requests, want at most 2 with the cursor", n)
	}
	tools := 0
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			wantText(t, err, "repeated cursor")
			if tool != nil {
				t.Error("an error came with a tool")
			}
			break
		}
		tools++
	}
	if tools > 3 {
		t.Errorf("the iterator yielded %d tools before its error", tools)
	}
}

// modelcontextprotocol/modelcontextprotocol#1846, modelcontextprotocol/modelcontextprotocol#1942, MCPJam/inspector#4462: an
// empty cursor was taken for the end of a list.
func TestEmptyCursorContinues(t *testing.T) {
	dir := casetest.Dir(t, "tools-list/empty-cursor-continues")
	pages := files(t, dir)
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		message := pages["page-1.json"]
		if _, ok := r.Params.Get("cursor"); ok {
			message = pages["page-2.json"]
			message = []byte(strings.ReplaceAll(string(message), "7002", "7001"))
		}
		c.Line(string(casetest.WithIDs(message, r.ID)))
	}))
	s, err := c.SnapshotTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Tools) != 3 || len(s.Pages) != 2 || s.Pages[0].NextCursor == nil || s.Pages[1].NextCursor != nil {
		t.Errorf("snapshot has %d tools on %d pages, want 3 on 2", len(s.Tools), len(s.Pages))
	}
	requests := p.Requests()
	if len(requests) != 3 {
		t.Fatalf("sent %q, want two list requests", p.Methods())
	}
	if v, ok := requests[2].Params.Get("cursor"); !ok || string(v) != `""` {
		t.Errorf("second request has cursor %s (%v), want it there and empty", v, ok)
	}
	empty := ""
	second, err := c.ListTools(t.Context(), &ListParams{Cursor: &empty})
	if err != nil || second.NextCursor != nil {
		t.Errorf("ListTools with an empty cursor = %+v, %v", second, err)
	}
}

// TestCursorGoesBackAsItCame wants the very token back, with its escapes.
func TestCursorGoesBackAsItCame(t *testing.T) {
	const cursor = `"a\/b\u00e9<\ud83d\ude00"`
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		if _, ok := r.Params.Get("cursor"); ok {
			c.Result(r, page(""))
			return
		}
		c.Result(r, page(`,"nextCursor":`+cursor))
	}))
	if _, err := c.SnapshotTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, _ := p.Requests()[2].Params.Get("cursor"); string(v) != cursor {
		t.Errorf("cursor went back as %s, want %s", v, cursor)
	}
}

func TestEmptyName(t *testing.T) {
	for name, message := range files(t, casetest.Dir(t, "tools-list/empty-name")) {
		if e := refusedList(t, message); !strings.HasSuffix(e.Path, "/name") {
			t.Errorf("%s: %v, want the name named", name, e)
		}
	}
}

func TestNullForOptionalMembers(t *testing.T) {
	want := map[string]string{
		"a.json": "/tools/0/annotations", "b.json": "/tools/0/annotations/title", "c.json": "/tools/0/title",
		"d.json": "/tools/0/description", "e.json": "/tools/0/icons", "f.json": "/tools/0/_meta",
		"g.json": "/tools/0/outputSchema", "h.json": "/tools/0/annotations/readOnlyHint",
	}
	for name, message := range files(t, casetest.Dir(t, "tools-list/null-for-optional-members")) {
		e := refusedList(t, message)
		if e.Path != want[name] {
			t.Errorf("%s: path %q, want %q", name, e.Path, want[name])
		}
		wantText(t, e, want[name], "null")
	}
}

func TestOneBrokenInputSchema(t *testing.T) {
	for name, message := range files(t, casetest.Dir(t, "tools-list/one-broken-inputschema")) {
		e := refusedList(t, message)
		if !strings.HasPrefix(e.Path, "/tools/1/inputSchema") {
			t.Errorf("%s: path %q, want that of the second tool's inputSchema", name, e.Path)
		}
		wantText(t, e, `tool "berth_status"`, "inputSchema")
	}
}

func TestSameNameOnOnePage(t *testing.T) {
	e := refusedList(t, casetest.Read(t, "tools-list/same-name-on-one-page", "page.json"))
	wantText(t, e, `tool "berth_status" is listed twice`)
}

func TestSameNameOnTwoPages(t *testing.T) {
	c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		if _, ok := r.Params.Get("cursor"); ok {
			c.Result(r, page("", berth, tide))
			return
		}
		c.Result(r, page(`,"nextCursor":"2"`, tide))
	}))
	_, err := c.SnapshotTools(t.Context())
	as[*ProtocolError](t, err)
	wantText(t, err, `tool "tide_table" is listed twice`, "page 2")
}

func TestMixedScopes(t *testing.T) {
	c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		if _, ok := r.Params.Get("cursor"); ok {
			c.Result(r, strings.Replace(page("", berth), "public", "private", 1))
			return
		}
		c.Result(r, page(`,"nextCursor":"2"`, tide))
	}))
	_, err := c.SnapshotTools(t.Context())
	if e := as[*ProtocolError](t, err); e.Path != "/cacheScope" {
		t.Errorf("SnapshotTools = %v, want cacheScope named", err)
	}
}

func TestUnusualNames(t *testing.T) {
	dir := casetest.Dir(t, "tools-list/unusual-names")
	var names []string
	b, err := os.ReadFile(filepath.Join(dir, "names.json"))
	if err == nil {
		err = json.Unmarshal(b, &names)
	}
	if err != nil || len(names) != 12 {
		t.Fatalf("names.json has %d names: %v", len(names), err)
	}
	message, err := os.ReadFile(filepath.Join(dir, "page.json"))
	if err != nil {
		t.Fatal(err)
	}
	var called string
	c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		if r.Method == "tools/call" {
			v, _ := r.Params.Get("name")
			called, _ = v.Text()
			c.Result(r, `{"resultType":"complete","content":[]}`)
			return
		}
		c.Line(string(casetest.WithIDs(message, r.ID)))
	}))
	s, err := c.SnapshotTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Tools) != len(names) {
		t.Fatalf("snapshot has %d tools, want %d", len(s.Tools), len(names))
	}
	digests := map[ItemDigest]string{}
	for i, tool := range s.Tools {
		if tool.Name != names[i] || s.Tool(names[i]) != tool {
			t.Errorf("tool %d is %q, want %q", i, tool.Name, names[i])
		}
		d, err := ComputeToolDigest(tool)
		if err != nil || digests[d] != "" {
			t.Errorf("digest of %q = %s (%v), as that of %q", tool.Name, d, err, digests[d])
		}
		digests[d] = tool.Name
		if _, err := c.CallTool(t.Context(), &CallToolParams{Tool: tool}); err != nil || called != names[i] {
			t.Errorf("call of %q reached the server as %q: %v", names[i], called, err)
		}
	}
}

func TestStdioKeepsBadAnnotations(t *testing.T) {
	message := casetest.Read(t, "headers/stdio-ignores-annotations", "tools-list.json")
	c, _ := pipe(t, fixed(message))
	s, err := c.SnapshotTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tool := s.Tool("pilot_call")
	if tool == nil || len(s.Excluded) != 0 {
		t.Fatalf("snapshot = %d tools, %d excluded, want pilot_call kept", len(s.Tools), len(s.Excluded))
	}
	if !strings.Contains(string(tool.Raw()), "x-mcp-header") {
		t.Error("the definition lost its annotation")
	}
	with, err := ComputeToolDigest(tool)
	if err != nil {
		t.Fatal(err)
	}
	without, err := ComputeToolDigest(mustTool(t, strings.ReplaceAll(string(tool.Raw()), "x-mcp-header", "x-other")))
	if err != nil || with == without {
		t.Errorf("digests are equal with and without the annotation: %v", err)
	}
}

func TestMalformedTools(t *testing.T) {
	for _, test := range []struct{ tool, path string }{
		{`[]`, ""},
		{`{"name":"x","inputSchema":{"type":"Object"}}`, "/inputSchema/type"},
		{`{"name":"x","inputSchema":{"type":["object"]}}`, "/inputSchema/type"},
		{`{"name":"x","inputSchema":{"type":"object","$schema":1}}`, "/inputSchema/$schema"},
		{`{"name":"x","inputSchema":{"type":"object"},"outputSchema":true}`, "/outputSchema"},
		{`{"name":"x","inputSchema":{"type":"object"},"annotations":{"openWorldHint":"no"}}`, "/annotations/openWorldHint"},
		{`{"name":"x","inputSchema":{"type":"object"},"icons":[{"src":"a"},{"mimeType":"b"}]}`, "/icons/1/src"},
		{`{"name":"x","inputSchema":{"type":"object"},"icons":[{"src":"a","sizes":["any",1]}]}`, "/icons/0/sizes/1"},
		{`{"name":"x","inputSchema":{"type":"object"},"icons":[{"src":"a","theme":"blue"}]}`, "/icons/0/theme"},
		{`{"name":"x","inputSchema":{"type":"object"},"_meta":[]}`, "/_meta"},
		{`{"Name":"x","inputSchema":{"type":"object"}}`, "/name"},
		{`{"name":"x","inputschema":{"type":"object"}}`, "/inputSchema"},
		{`{"name":"x","name":"y","inputSchema":{"type":"object"}}`, ""},
		{`{"name":"x","inputSchema":{"type":"object"}} {}`, ""},
	} {
		_, err := ParseTool([]byte(test.tool))
		var e *ProtocolError
		if !errors.As(err, &e) || e.Path != test.path {
			t.Errorf("ParseTool(%s) = %v, want a *ProtocolError at %q", test.tool, err, test.path)
		}
	}
}

// modelcontextprotocol/conformance#335, modelcontextprotocol/conformance#344: keywords of schemas that a client does not know
// were lost on the way.
func TestParseToolKeepsEverything(t *testing.T) {
	const definition = ` {"x":1e2,"name":"a","title":"T","inputSchema":{ "type":"object","z":1.0},"outputSchema":{"type":"array"},` +
		`"annotations":{"readOnlyHint":true,"y":null},"icons":[],"_meta":{"k":[]}} `
	b := []byte(definition)
	tool, err := ParseTool(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if string(tool.Raw()) != strings.TrimSpace(definition) {
		t.Errorf("Raw = %s", tool.Raw())
	}
	if string(tool.InputSchema) != `{ "type":"object","z":1.0}` || string(tool.OutputSchema) != `{"type":"array"}` ||
		*tool.Title != "T" || tool.Description != nil || !*tool.Annotations.ReadOnlyHint || tool.Annotations.DestructiveHint != nil ||
		tool.Icons == nil || string(tool.Meta) != `{"k":[]}` {
		t.Errorf("ParseTool = %+v", tool)
	}
}

// TestToolLimits meets each limit and passes it by one.
func TestToolLimits(t *testing.T) {
	nested := func(levels int) string {
		return `{"name":"a","inputSchema":{"type":"object","x":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}}`
	}
	sized := func(bytes int) string {
		const empty = `{"type":"object","x":""}`
		return `{"name":"a","inputSchema":{"type":"object","x":"` + strings.Repeat("x", bytes-len(empty)) + `"}}`
	}
	named := func(bytes int) string {
		return `{"name":"` + strings.Repeat("n", bytes) + `","inputSchema":{"type":"object"}}`
	}
	for name, test := range map[string]struct {
		make  func(int) string
		limit int
	}{
		"depth": {nested, 64}, "schema": {sized, 256 << 10}, "name": {named, 1 << 10},
	} {
		if _, err := ParseTool([]byte(test.make(test.limit))); err != nil {
			t.Errorf("%s at the limit: %v", name, err)
		}
		_, err := ParseTool([]byte(test.make(test.limit + 1)))
		if e := as[*LimitError](t, err); !errors.Is(e, ErrLimit) || e.Max != int64(test.limit) {
			t.Errorf("%s beyond the limit: %v", name, err)
		}
	}
}

// TestListLimits meets each limit of a list and passes it by one, with small limits so that it is cheap.
func TestListLimits(t *testing.T) {
	numbered := func(from, n int) []string {
		var tools []string
		for i := range n {
			tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, from+i))
		}
		return tools
	}
	list := func(limits Limits, pages ...string) error {
		c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			n := 0
			if v, ok := r.Params.Get("cursor"); ok {
				text, _ := v.Text()
				_, _ = fmt.Sscan(text, &n)
			}
			more := ""
			if n < len(pages)-1 {
				more = fmt.Sprintf(`,"nextCursor":"%d"`, n+1)
			}
			c.Result(r, strings.TrimSuffix(pages[n], "}")+more+"}")
		}), WithLimits(limits))
		_, err := c.SnapshotTools(t.Context())
		return err
	}
	one, two := page("", numbered(0, 2)...), page("", numbered(2, 2)...)
	size := len(one) + len(`,"nextCursor":"1"`) + len(two)
	for _, test := range []struct {
		name      string
		fits, not error
	}{
		{"items on one page", list(Limits{Items: 2}, one), list(Limits{Items: 1}, one)},
		{"items on two pages", list(Limits{Items: 4}, one, two), list(Limits{Items: 3}, one, two)},
		{"pages", list(Limits{Pages: 2}, one, two), list(Limits{Pages: 1}, one, two)},
		{"bytes", list(Limits{ListBytes: size}, one, two), list(Limits{ListBytes: size - 1}, one, two)},
		{"bytes on one page", list(Limits{ListBytes: len(one)}, one), list(Limits{ListBytes: len(one) - 1}, one)},
	} {
		if test.fits != nil {
			t.Errorf("%s at the limit: %v", test.name, test.fits)
		}
		if !errors.Is(test.not, ErrLimit) {
			t.Errorf("%s beyond the limit: %v, want a *LimitError", test.name, test.not)
		}
	}
}

func TestSnapshotTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			n++
			time.Sleep(15 * time.Second)
			c.Result(r, page(fmt.Sprintf(`,"nextCursor":"%d"`, n)))
		}))
		defer closed(t, c)
		start := time.Now()
		_, err := c.SnapshotTools(t.Context())
		if e := as[*TimeoutError](t, err); time.Since(start) != 20*time.Second || e.After != 20*time.Second {
			t.Errorf("SnapshotTools = %v after %s, want a timeout after 20s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.SnapshotTools(ctx)
		as[*ContextError](t, err)
	})
}

func TestWalkToolsRecognisesWhatItKnows(t *testing.T) {
	second := berth
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		if _, ok := r.Params.Get("cursor"); ok {
			c.Result(r, page("", second))
			return
		}
		c.Result(r, page(`,"nextCursor":"2"`, tide))
	}))
	first, err := c.WalkTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.WalkTools(t.Context(), first)
	if err != nil || again != first {
		t.Errorf("WalkTools of an equal list = %p, %v, want %p", again, err, first)
	}
	if got := strings.Count(p.Methods(), "tools/list"); got != 4 {
		t.Errorf("sent %d list requests, want every page asked for each time", got)
	}
	second = strings.Replace(berth, `"name"`, `"description":"x","name"`, 1)
	changed, err := c.WalkTools(t.Context(), first)
	if err != nil || changed == first || changed.Pages[0] != first.Pages[0] || changed.Pages[1] == first.Pages[1] {
		t.Errorf("WalkTools of a changed list = %v, want the first page kept and the second new", err)
	}
	if got := changed.Tool("berth_status"); got == nil || got.Description == nil {
		t.Errorf("changed tool = %+v", got)
	}
}

func TestToolsStops(t *testing.T) {
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, page(`,"nextCursor":"2"`, tide)) }))
	for tool, err := range c.GetTools(t.Context()) {
		if err != nil || tool.Name != "tide_table" {
			t.Fatalf("GetTools yields %v, %v", tool, err)
		}
		break
	}
	if got := p.Methods(); got != "server/discover tools/list" {
		t.Errorf("sent %q after the loop ended on the first page", got)
	}
}
