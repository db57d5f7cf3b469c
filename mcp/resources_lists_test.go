package mcp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// TestListsOfEveryKind reads two pages of every kind, with cursors that must go back as they came.
func TestListsOfEveryKind(t *testing.T) {
	const cursor = `"a\/b\u00e9<\ud83d\ude00"`
	two := func(l *listUnderTest) []string {
		return []string{
			strings.Replace(l.page(`,"nextCursor":`+cursor, l.item("z:1", `,"x-unknown":[1.0,null]`), l.item("a:2", "")), `"ttlMs":0`, `"ttlMs":5e3`, 1),
			strings.Replace(l.page(`,"_meta":{"k":1}`, l.item("m:3", "")), `"ttlMs":0`, `"ttlMs":4000`, 1),
		}
	}
	eachList(t, two, func(t *testing.T, l *listUnderTest, c *Client, p *mcptest.Peer) {
		s, err := l.snapshot(short(t), c)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "keys", s.keys, []string{"z:1", "a:2", "m:3"})
		equal(t, "definitions", s.raw, []string{l.item("z:1", `,"x-unknown":[1.0,null]`), l.item("a:2", ""), l.item("m:3", "")})
		if s.TTLMs != 4000 || s.TTL.Seconds() != 4 || s.CacheScope != CachePublic {
			t.Errorf("snapshot = %+v", s.SnapshotInfo)
		}
		keys, err := l.all(short(t), c)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "iterated", keys, s.keys)
		first, err := l.one(short(t), c, nil)
		if err != nil || first.NextCursor == nil || first.TTLMs != 5000 {
			t.Errorf("first page = %+v, %v", first, err)
		}
		last, err := l.one(short(t), c, &ListParams{Cursor: first.NextCursor})
		if err != nil || last.NextCursor != nil || string(last.Meta) != `{"k":1}` || string(last.Raw()) != two(l)[1] {
			t.Errorf("last page = %+v, %v", last, err)
		}
		requests := p.Requests()[1:]
		for i, r := range requests {
			v, ok := r.Params.Get("cursor")
			if r.Method != l.method || ok != (i%2 == 1) {
				t.Errorf("request %d is %s with cursor %v", i, r.Method, ok)
			}
			// Given as a string, it is spelled anew; in a walk it is the token.
			if text, _ := v.Text(); ok && (text != "a/bé<😀" || i < 4 && string(v) != cursor) {
				t.Errorf("request %d has cursor %s, want %s", i, v, cursor)
			}
			if r.Header != nil && (r.Header.Get("Mcp-Method") != l.method || r.Header.Values("Mcp-Name") != nil) {
				t.Errorf("request %d has headers %v", i, r.Header)
			}
		}
		if len(requests) != 6 {
			t.Errorf("sent %q", p.Methods())
		}
	})
}

// TestListsAreRefused gives every kind of list what none may have.
func TestListsAreRefused(t *testing.T) {
	type want struct {
		pages func(l *listUnderTest) []string
		path  func(l *listUnderTest) string
		text  string
	}
	at := func(path string) func(*listUnderTest) string { return func(*listUnderTest) string { return path } }
	inList := func(path string) func(*listUnderTest) string {
		return func(l *listUnderTest) string { return "/" + l.member + path }
	}
	one := func(page func(l *listUnderTest) string) func(*listUnderTest) []string {
		return func(l *listUnderTest) []string { return []string{page(l)} }
	}
	item := func(def func(l *listUnderTest) string) func(*listUnderTest) []string {
		return one(func(l *listUnderTest) string { return l.page("", l.item("a:1", ""), def(l)) })
	}
	replaced := func(old, new string) func(*listUnderTest) []string {
		return one(func(l *listUnderTest) string { return strings.Replace(l.page("", l.item("a:1", "")), old, new, 1) })
	}
	for name, w := range map[string]want{
		"twice on a page": {item(func(l *listUnderTest) string { return l.item("a:1", `,"x":1`) }), inList("/1"), `"a:1" is listed twice`},
		"twice on two pages": {func(l *listUnderTest) []string {
			return []string{l.page(`,"nextCursor":"2"`, l.item("a:1", "")), l.page("", l.item("b:2", ""), l.item("a:1", ""))}
		}, inList(""), "again on page 2"},
		"mixed scopes": {func(l *listUnderTest) []string {
			return []string{l.page(`,"nextCursor":"2"`, l.item("a:1", "")), strings.Replace(l.page("", l.item("b:2", "")), "public", "private", 1)}
		}, at("/cacheScope"), "page 2"},
		"repeated cursor": {func(l *listUnderTest) []string {
			return []string{l.page(`,"nextCursor":""`, l.item("a:1", "")), l.page(`,"nextCursor":""`, l.item("b:2", ""))}
		}, at("/nextCursor"), "repeated cursor"},
		"null cursor": {one(func(l *listUnderTest) string { return l.page(`,"nextCursor":null`) }), at("/nextCursor"), "null"},
		"no list":     {one(func(l *listUnderTest) string { return strings.Replace(l.page(""), l.member, "items", 1) }), inList(""), "missing"},
		"list in other case": {one(func(l *listUnderTest) string {
			return strings.Replace(l.page(""), l.member, strings.ToUpper(l.member), 1)
		}), inList(""), "missing"},
		"null list":            {one(func(l *listUnderTest) string { return strings.Replace(l.page(""), "[]", "null", 1) }), inList(""), "null"},
		"object for a list":    {one(func(l *listUnderTest) string { return strings.Replace(l.page(""), "[]", "{}", 1) }), inList(""), "object"},
		"no resultType":        {replaced(`"resultType":"complete",`, ``), at("/resultType"), "missing"},
		"unknown resultType":   {replaced(`"complete"`, `"banana"`), at("/resultType"), "banana"},
		"interim result":       {replaced(`"resultType":"complete"`, `"resultType":"input_required","requestState":""`), at("/resultType"), "may not"},
		"no ttl":               {replaced(`"ttlMs":0,`, ``), at("/ttlMs"), "missing"},
		"null ttl":             {replaced(`"ttlMs":0`, `"ttlMs":null`), at("/ttlMs"), "null"},
		"negative ttl":         {replaced(`"ttlMs":0`, `"ttlMs":-1`), at("/ttlMs"), "whole number"},
		"half a ttl":           {replaced(`"ttlMs":0`, `"ttlMs":0.5`), at("/ttlMs"), "whole number"},
		"no scope":             {replaced(`"cacheScope":"public",`, ``), at("/cacheScope"), "missing"},
		"unknown scope":        {replaced(`"public"`, `"shared"`), at("/cacheScope"), "shared"},
		"null item":            {item(func(*listUnderTest) string { return "null" }), inList("/1"), "null"},
		"array item":           {item(func(*listUnderTest) string { return "[]" }), inList("/1"), "array"},
		"empty key":            {item(func(l *listUnderTest) string { return l.item("", "") }), func(l *listUnderTest) string { return "/" + l.member + "/1/" + l.key }, "empty"},
		"no key":               {item(func(*listUnderTest) string { return `{"inputSchema":{"type":"object"}}` }), func(l *listUnderTest) string { return "/" + l.member + "/1/" + l.key }, "missing"},
		"number for a title":   {item(func(l *listUnderTest) string { return l.item("b:2", `,"title":1`) }), inList("/1/title"), `"b:2"`},
		"icon without src":     {item(func(l *listUnderTest) string { return l.item("b:2", `,"icons":[{"src":"x"},{}]`) }), inList("/1/icons/1/src"), "missing"},
		"list for _meta":       {item(func(l *listUnderTest) string { return l.item("b:2", `,"_meta":[]`) }), inList("/1/_meta"), "array"},
		"duplicate member":     {item(func(l *listUnderTest) string { return l.item("b:2", `,"x":1,"\u0078":2`) }), nil, "duplicate"},
		"serverInfo malformed": {one(func(l *listUnderTest) string { return l.page(`,"_meta":{"io.modelcontextprotocol/serverInfo":{}}`) }), at("/_meta/io.modelcontextprotocol~1serverInfo/name"), "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			eachList(t, w.pages, func(t *testing.T, l *listUnderTest, c *Client, p *mcptest.Peer) {
				s, err := l.snapshot(short(t), c)
				e := as[*ProtocolError](t, err)
				if s.snapshot != nil {
					t.Error("a snapshot came with the error")
				}
				if w.path != nil && (e.Path != w.path(l) || e.Method != l.method) {
					t.Errorf("%v: path %q, want %q", e, e.Path, w.path(l))
				}
				wantText(t, err, w.text)
				if n, pages := len(sent(p)), len(w.pages(l)); n > pages {
					t.Errorf("sent %d requests for %d pages", n, pages)
				}
			})
		})
	}
	for _, l := range lists() {
		for _, member := range l.optional {
			err := l.parse(l.item("a:1", `,"`+member+`":null`))
			if e := as[*ProtocolError](t, err); e.Path != "/"+member {
				t.Errorf("%s with %s null: %v", l.name, member, err)
			}
			if err := l.parse(l.item("a:1", "")); err != nil {
				t.Errorf("%s without %s: %v", l.name, member, err)
			}
		}
	}
}

func TestMalformedResourcesAndPrompts(t *testing.T) {
	byName := map[string]*listUnderTest{}
	for _, l := range lists() {
		byName[l.name] = l
	}
	for _, test := range []struct{ list, more, path string }{
		{"resources", `,"size":1.5`, "/size"},
		{"resources", `,"size":"1"`, "/size"},
		{"resources", `,"size":9223372036854775808`, "/size"},
		{"resources", `,"mimeType":1`, "/mimeType"},
		{"resources", `,"annotations":{"priority":-0.1}`, "/annotations/priority"},
		{"resources", `,"annotations":{"audience":["system"]}`, "/annotations/audience/0"},
		{"resources", `,"annotations":{"lastModified":null}`, "/annotations/lastModified"},
		{"templates", `,"mimeType":{}`, "/mimeType"},
		{"templates", `,"annotations":[]`, "/annotations"},
		{"prompts", `,"arguments":{}`, "/arguments"},
		{"prompts", `,"arguments":[null]`, "/arguments/0"},
		{"prompts", `,"arguments":[{"name":"a"},{"title":"b"}]`, "/arguments/1/name"},
		{"prompts", `,"arguments":[{"name":1}]`, "/arguments/0/name"},
		{"prompts", `,"arguments":[{"name":"a","required":"yes"}]`, "/arguments/0/required"},
		{"prompts", `,"arguments":[{"name":"a","required":null}]`, "/arguments/0/required"},
		{"prompts", `,"arguments":[{"name":"a","description":null}]`, "/arguments/0/description"},
		{"prompts", `,"arguments":[{"name":"a","title":null}]`, "/arguments/0/title"},
	} {
		l := byName[test.list]
		if e := as[*ProtocolError](t, l.parse(l.item("a:1", test.more))); e.Path != test.path {
			t.Errorf("%s with %s: %v, want path %s", test.list, test.more, e, test.path)
		}
	}
	for list, definition := range map[string]string{"resources": `{"uri":"a:1"}`, "templates": `{"uriTemplate":"a:1"}`} {
		if e := as[*ProtocolError](t, byName[list].parse(definition)); e.Path != "/name" {
			t.Errorf("%s without a name: %v", list, e)
		}
		if e := as[*ProtocolError](t, byName[list].parse(definition+definition)); e.Path != "" {
			t.Errorf("%s twice: %v", list, e)
		}
	}
}

func TestParseKeepsEverything(t *testing.T) {
	const resource = ` {"uri":"file:///a","name":"n","title":"T","description":"D","mimeType":"m","size":3.0,"icons":[{"src":"http://x"}],` +
		`"annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"l"},"_meta":{"k":1e2},"Size":-1} `
	b := []byte(resource)
	r, err := ParseResource(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if r.URI != "file:///a" || r.Name != "n" || *r.Title != "T" || *r.Description != "D" || *r.MIMEType != "m" || *r.Size != 3 || r.Icons[0].Src != "http://x" ||
		*r.Annotations.Priority != 0.5 || *r.Annotations.LastModified != "l" || len(r.Annotations.Audience) != 2 || string(r.Meta) != `{"k":1e2}` ||
		string(r.Raw()) != strings.TrimSpace(resource) {
		t.Errorf("ParseResource = %+v", r)
	}
	const template = `{"uriTemplate":"file:///{a","name":"","mimeType":"","x":null}`
	tm, err := ParseResourceTemplate([]byte(template))
	if err != nil || tm.URITemplate != "file:///{a" || *tm.MIMEType != "" || tm.Title != nil || tm.Icons != nil || string(tm.Raw()) != template {
		t.Errorf("ParseResourceTemplate = %+v, %v", tm, err)
	}
	const prompt = `{"name":"p","arguments":[{"name":"a","required":true,"z":1},{"name":"","title":"T","description":"D"}],"icons":[]}`
	p, err := ParsePrompt([]byte(prompt))
	if err != nil || len(p.Arguments) != 2 || !*p.Arguments[0].Required || p.Arguments[1].Required != nil || *p.Arguments[1].Title != "T" ||
		string(p.Arguments[0].Raw()) != `{"name":"a","required":true,"z":1}` || p.Icons == nil || p.Description != nil || string(p.Raw()) != prompt {
		t.Errorf("ParsePrompt = %+v, %v", p, err)
	}
	bare, err := ParsePrompt([]byte(`{"name":"p"}`))
	empty, err2 := ParsePrompt([]byte(`{"name":"p","arguments":[]}`))
	if err != nil || err2 != nil || bare.Arguments != nil || empty.Arguments == nil {
		t.Errorf("absent and empty arguments are the same: %v, %v", err, err2)
	}
}

// TestNotOffered wants nothing sent for what the server has not declared.
func TestNotOffered(t *testing.T) {
	c, p := pipe(t, func(c *mcptest.Conn, r mcptest.Request) {
		c.Result(r, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}`)
	})
	capability := map[string]string{"tools": "tools", "resources": "resources", "templates": "resources", "prompts": "prompts"}
	check := func(err error, method, capability string) {
		t.Helper()
		if e := as[*NotOfferedError](t, err); e.Method != method || e.Capability != capability || Delivered(err) {
			t.Errorf("error = %+v", e)
		}
	}
	for _, l := range lists() {
		_, err := l.snapshot(t.Context(), c)
		check(err, l.method, capability[l.name])
		_, err = l.one(t.Context(), c, nil)
		check(err, l.method, capability[l.name])
		_, err = l.all(t.Context(), c)
		check(err, l.method, capability[l.name])
	}
	_, err := c.ReadResource(t.Context(), &ReadResourceParams{URI: "a:b"})
	check(err, "resources/read", "resources")
	_, err = c.GetPrompt(t.Context(), &GetPromptParams{Name: "a"})
	check(err, "prompts/get", "prompts")
	_, err = c.Complete(t.Context(), &CompleteParams{Ref: PromptRef{"a"}})
	check(err, "completion/complete", "completions")
	if got := p.Methods(); got != "server/discover" {
		t.Errorf("sent %q", got)
	}
}

// TestBoundsOfLists meets each limit of every kind of list and passes it by one.
func TestBoundsOfLists(t *testing.T) {
	for _, l := range lists() {
		one := l.page(`,"nextCursor":"1"`, l.item("a:1", ""), l.item("a:2", ""))
		two := l.page("", l.item("a:3", ""), l.item("a:4", ""))
		get := func(limits Limits, pages ...string) error {
			n := 0
			c, _ := pipe(t, offering(func(c *mcptest.Conn, r mcptest.Request) { n++; c.Result(r, pages[n-1]) }), WithLimits(limits))
			_, err := l.snapshot(t.Context(), c)
			return err
		}
		single := l.page("", l.item("a:1", ""), l.item("a:2", ""))
		for _, test := range []struct {
			name      string
			fits, not error
			what      string
		}{
			{"items on one page", get(Limits{Items: 2}, single), get(Limits{Items: 1}, single), "items"},
			{"items on two pages", get(Limits{Items: 4}, one, two), get(Limits{Items: 3}, one, two), "items"},
			{"pages", get(Limits{Pages: 2}, one, two), get(Limits{Pages: 1}, one, two), "pages"},
			{"bytes", get(Limits{ListBytes: len(one) + len(two)}, one, two), get(Limits{ListBytes: len(one) + len(two) - 1}, one, two), "bytes"},
			{"bytes of a page", get(Limits{ListBytes: len(single)}, single), get(Limits{ListBytes: len(single) - 1}, single), "bytes"},
		} {
			if test.fits != nil {
				t.Errorf("%s: %s at the limit: %v", l.name, test.name, test.fits)
			}
			var e *LimitError
			if !errors.As(test.not, &e) || e.Unit != test.what || e.Method != l.method || !errors.Is(test.not, ErrLimit) {
				t.Errorf("%s: %s beyond the limit: %v", l.name, test.name, test.not)
			}
		}
		limit := map[bool]int{true: 8 << 10, false: 1 << 10}[strings.HasPrefix(l.key, "uri")]
		if err := l.parse(l.item(strings.Repeat("k", limit), "")); err != nil {
			t.Errorf("%s: key at the limit: %v", l.name, err)
		}
		if e := as[*LimitError](t, l.parse(l.item(strings.Repeat("k", limit+1), ""))); e.Max != int64(limit) || len(e.Error()) > 512 {
			t.Errorf("%s: key beyond the limit: %v", l.name, e)
		}
	}
	for _, format := range []string{`{"uri":"a:b","name":"%s"}`, `{"uriTemplate":"a:b","name":"%s"}`, `{"name":"a","arguments":[{"name":"%s"}]}`} {
		parse := map[byte]func([]byte) error{
			'u': func(b []byte) error { _, err := ParseResource(b); return err },
			'T': func(b []byte) error { _, err := ParseResourceTemplate(b); return err },
			'n': func(b []byte) error { _, err := ParsePrompt(b); return err },
		}
		kind := format[2]
		if strings.HasPrefix(format, `{"uriTemplate`) {
			kind = 'T'
		}
		if err := parse[kind](fmt.Appendf(nil, format, strings.Repeat("n", 1<<10))); err != nil {
			t.Errorf("%s at the limit: %v", format, err)
		}
		as[*LimitError](t, parse[kind](fmt.Appendf(nil, format, strings.Repeat("n", 1<<10+1))))
	}
}

// TestWalksKnowTheirPages wants the same pages back for the same bytes, and new ones for others.
func TestWalksKnowTheirPages(t *testing.T) {
	resource := func(key string) string { return `{"uri":"` + key + `","name":"n"}` }
	pages := []string{
		`{"resultType":"complete","ttlMs":0,"cacheScope":"public","resources":[` + resource("a:1") + `],"nextCursor":"2"}`,
		`{"resultType":"complete","ttlMs":0,"cacheScope":"public","resources":[` + resource("a:2") + `]}`,
	}
	n := 0
	c, p := pipe(t, offering(func(c *mcptest.Conn, r mcptest.Request) {
		switch r.Method {
		case methodResourcesList:
			n++
			c.Result(r, pages[(n-1)%2])
		case methodPromptsList:
			c.Result(r, `{"resultType":"complete","ttlMs":0,"cacheScope":"public","prompts":[]}`)
		default:
			c.Result(r, `{"resultType":"complete","ttlMs":0,"cacheScope":"public","resourceTemplates":[]}`)
		}
	}))
	first, err := c.SnapshotResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same, err := c.WalkResources(t.Context(), first)
	if err != nil || same != first || n != 4 {
		t.Errorf("WalkResources = %p, want %p after 4 requests (%d): %v", same, first, n, err)
	}
	pages[1] = strings.Replace(pages[1], `"n"`, `"m"`, 1)
	other, err := c.WalkResources(t.Context(), first)
	if err != nil || other == first || other.Pages[0] != first.Pages[0] || other.Pages[1] == first.Pages[1] || other.Resource("a:2").Name != "m" || first.Resource("a:2").Name != "n" {
		t.Errorf("WalkResources after a change = %+v, %v", other, err)
	}
	templates, err := c.SnapshotResourceTemplates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.WalkResourceTemplates(t.Context(), templates); err != nil || again != templates || again.ResourceTemplate("x") != nil {
		t.Errorf("WalkResourceTemplates = %v", err)
	}
	prompts, err := c.SnapshotPrompts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.WalkPrompts(t.Context(), prompts); err != nil || again != prompts || again.Prompt("x") != nil || again.Prompts != nil {
		t.Errorf("WalkPrompts = %v", err)
	}
	if got := len(sent(p)); got != 10 {
		t.Errorf("sent %d requests, want 10", got)
	}
}
