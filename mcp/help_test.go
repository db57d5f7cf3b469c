package mcp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		os.Exit(soakChild())
	}
	if kind := os.Getenv(floorVar); kind != "" {
		os.Exit(serveFloor(kind))
	}
	goleak.VerifyTestMain(m)
}

const (
	tide = `{"name":"tide_table","description":"Lists high and low water.","inputSchema":{"type":"object","properties":` +
		`{"harbour":{"type":"string"}}}}`
	berth = `{"name":"berth_status","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":` +
		`{"free":{"type":"integer"}},"required":["free"]}}`
)

// page returns a result of tools/list; more is put behind its last member.
func page(more string, tools ...string) string {
	return `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[` + strings.Join(tools, ",") + `]` + more + `}`
}

// pipe connects to a scripted peer over streams. Whatever the client sends in the test is held against the official schema.
func pipe(t testing.TB, h mcptest.Handler, opts ...Option) (*Client, *mcptest.Peer) {
	t.Helper()
	p, transport := reach(t, h)
	holdToSpec(t, p)
	c, err := Connect(t.Context(), transport, opts...)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() { closed(t, c) })
	return c, p
}

// httpCases makes pipe and refusedConnect reach their peers over HTTP; see TestCasesOverHTTP.
var httpCases bool

func reach(t testing.TB, h mcptest.Handler) (*mcptest.Peer, Transport) {
	t.Helper()
	if !httpCases {
		p := mcptest.Pipe(t, h)
		return p, NewIOTransport(p.R, p.W)
	}
	p := mcptest.HTTP(t, h)
	tr := NewStreamableHTTPTransport(p.URL)
	tr.AllowPrivate = true
	return p, tr
}

// TestCasesOverHTTP runs the tests of the shared cases once more, over HTTP instead of streams: what a client makes of an
// answer does not depend on how it came.
func TestCasesOverHTTP(t *testing.T) {
	httpCases = true
	defer func() { httpCases = false }()
	for name, test := range map[string]func(*testing.T){
		"CacheHints": TestCacheHints, "CursorNull": TestCursorNull, "CursorRepeats": TestCursorRepeats, "EmptyCursorContinues": TestEmptyCursorContinues,
		"EmptyName": TestEmptyName, "NullForOptionalMembers": TestNullForOptionalMembers, "OneBrokenInputSchema": TestOneBrokenInputSchema,
		"ResultTypeMissing": TestResultTypeMissing, "SameNameOnOnePage": TestSameNameOnOnePage, "UnusualNames": TestUnusualNames,
		"CaseVariants": TestCaseVariants, "ContentUnions": TestContentUnions, "EmptyContentWithStructure": TestEmptyContentWithStructure,
		"ErrorResultAndOutputSchema": TestErrorResultAndOutputSchema, "StructuredMissing": TestStructuredMissing,
		"InterimResultOnToolsList": TestInterimResultOnToolsList, "StateOnly": TestStateOnly, "StateWithLoneSurrogate": TestStateWithLoneSurrogate,
		"UndeclaredCapability": TestUndeclaredCapability, "UnknownInputMethod": TestUnknownInputMethod,
		"DiscoverUnknownMethod": TestDiscoverUnknownMethod, "UnsupportedVersion": TestUnsupportedVersion, "CallerMetaKeys": TestCallerMetaKeys,
	} {
		t.Run(name, test)
	}
}

func closed(t testing.TB, c *Client) {
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// refusedConnect connects, wants that refused, and returns the methods that the peer received and the error.
func refusedConnect(t *testing.T, h mcptest.Handler) (sent string, err error) {
	t.Helper()
	p, transport := reach(t, h)
	c, err := Connect(t.Context(), transport)
	if err == nil {
		closed(t, c)
		t.Fatal("Connect succeeded, want an error")
	}
	return p.Methods(), err
}

// fixed answers everything but server/discover with the message of a case, after its id has been put in.
func fixed(message []byte) mcptest.Handler {
	return mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Line(string(casetest.WithIDs(message, r.ID)))
	})
}

// files returns the .json files of a case by name.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no .json files in %s: %v", dir, err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = b
	}
	return out
}

// toolOf returns the only tool of a message of tools/list.
func toolOf(t *testing.T, message []byte) *Tool {
	t.Helper()
	c, _ := pipe(t, fixed(message))
	s, err := c.SnapshotTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Tools) != 1 {
		t.Fatalf("list has %d tools, want 1", len(s.Tools))
	}
	return s.Tools[0]
}

func mustTool(t testing.TB, definition string) *Tool {
	t.Helper()
	tool, err := ParseTool([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// as finds an error of type T in err, or ends the test.
func as[T error](t *testing.T, err error) T {
	t.Helper()
	var e T
	if !errors.As(err, &e) {
		t.Fatalf("error is %T (%v), want a %T", err, err, e)
	}
	return e
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error is %v, want it to contain %q", err, part)
		}
	}
}

func short(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}
