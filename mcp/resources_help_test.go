package mcp

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// offering answers server/discover with every capability, and everything else with h.
func offering(h mcptest.Handler) mcptest.Handler {
	return func(c *mcptest.Conn, r mcptest.Request) {
		if r.Method == methodDiscover {
			c.Result(r, `{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"public",`+
				`"capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}}}`)
			return
		}
		h(c, r)
	}
}

// answering answers every request with the result.
func answering(result string) mcptest.Handler {
	return offering(func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, result) })
}

// both runs a test over streams and over HTTP.
func both(t *testing.T, h func() mcptest.Handler, run func(t *testing.T, c *Client, p *mcptest.Peer)) {
	t.Run("stdio", func(t *testing.T) {
		c, p := pipe(t, h())
		run(t, c, p)
	})
	t.Run("http", func(t *testing.T) {
		c, p := overHTTP(t, h())
		run(t, c, p)
	})
}

// listed is what the tests of lists see of a snapshot.
type listed struct {
	keys []string
	raw  []string
	SnapshotInfo
	snapshot Snapshot
}

// listUnderTest is one kind of list.
type listUnderTest struct {
	name, method, member, noun, key string
	// item returns a definition; more is put behind its last member.
	item     func(key, more string) string
	one      func(context.Context, *Client, *ListParams) (PageInfo, error)
	snapshot func(context.Context, *Client) (listed, error)
	all      func(context.Context, *Client) ([]string, error)
	parse    func(definition string) error
	optional []string // members that may be absent
}

func (l *listUnderTest) page(more string, items ...string) string {
	return `{"resultType":"complete","ttlMs":0,"cacheScope":"public","` + l.member + `":[` + strings.Join(items, ",") + `]` + more + `}`
}

// collect reads an iterator to its end.
func collect[T any](seq func(func(*T, error) bool), key func(*T) string) ([]string, error) {
	var keys []string
	for item, err := range seq {
		if err != nil {
			return keys, err
		}
		keys = append(keys, key(item))
	}
	return keys, nil
}

func seen[T any](list []*T, key func(*T) string, raw func(*T) jsontext.Value, info SnapshotInfo, s Snapshot) listed {
	out := listed{SnapshotInfo: info, snapshot: s}
	for _, item := range list {
		out.keys = append(out.keys, key(item))
		out.raw = append(out.raw, string(raw(item)))
	}
	return out
}

func lists() []*listUnderTest {
	return []*listUnderTest{
		{
			name: "tools", method: "tools/list", member: "tools", noun: "tool", key: "name",
			item: func(key, more string) string {
				return `{"name":"` + key + `","inputSchema":{"type":"object"}` + more + `}`
			},
			one: func(ctx context.Context, c *Client, p *ListParams) (PageInfo, error) {
				page, err := c.ListTools(ctx, p)
				if err != nil {
					return PageInfo{}, err
				}
				return page.PageInfo, nil
			},
			snapshot: func(ctx context.Context, c *Client) (listed, error) {
				s, err := c.SnapshotTools(ctx)
				if err != nil {
					return listed{}, err
				}
				return seen(s.Tools, toolsList.key, func(t *Tool) jsontext.Value { return t.Raw() }, s.SnapshotInfo, s), nil
			},
			all: func(ctx context.Context, c *Client) ([]string, error) { return collect(c.Tools(ctx), toolsList.key) },
			parse: func(definition string) error {
				_, err := ParseTool([]byte(definition))
				return err
			},
			optional: []string{"title", "description", "icons", "outputSchema", "annotations", "_meta"},
		},
		{
			name: "resources", method: "resources/list", member: "resources", noun: "resource", key: "uri",
			item: func(key, more string) string { return `{"uri":"` + key + `","name":""` + more + `}` },
			one: func(ctx context.Context, c *Client, p *ListParams) (PageInfo, error) {
				page, err := c.ListResources(ctx, p)
				if err != nil {
					return PageInfo{}, err
				}
				return page.PageInfo, nil
			},
			snapshot: func(ctx context.Context, c *Client) (listed, error) {
				s, err := c.SnapshotResources(ctx)
				if err != nil {
					return listed{}, err
				}
				return seen(s.Resources, resourcesList.key, func(r *Resource) jsontext.Value { return r.Raw() }, s.SnapshotInfo, s), nil
			},
			all: func(ctx context.Context, c *Client) ([]string, error) {
				return collect(c.Resources(ctx), resourcesList.key)
			},
			parse: func(definition string) error {
				_, err := ParseResource([]byte(definition))
				return err
			},
			optional: []string{"title", "description", "mimeType", "size", "icons", "annotations", "_meta"},
		},
		{
			name: "templates", method: "resources/templates/list", member: "resourceTemplates", noun: "resource template", key: "uriTemplate",
			item: func(key, more string) string { return `{"uriTemplate":"` + key + `","name":"n"` + more + `}` },
			one: func(ctx context.Context, c *Client, p *ListParams) (PageInfo, error) {
				page, err := c.ListResourceTemplates(ctx, p)
				if err != nil {
					return PageInfo{}, err
				}
				return page.PageInfo, nil
			},
			snapshot: func(ctx context.Context, c *Client) (listed, error) {
				s, err := c.SnapshotResourceTemplates(ctx)
				if err != nil {
					return listed{}, err
				}
				raw := func(t *ResourceTemplate) jsontext.Value { return t.Raw() }
				return seen(s.ResourceTemplates, resourceTemplatesList.key, raw, s.SnapshotInfo, s), nil
			},
			all: func(ctx context.Context, c *Client) ([]string, error) {
				return collect(c.ResourceTemplates(ctx), resourceTemplatesList.key)
			},
			parse: func(definition string) error {
				_, err := ParseResourceTemplate([]byte(definition))
				return err
			},
			optional: []string{"title", "description", "mimeType", "icons", "annotations", "_meta"},
		},
		{
			name: "prompts", method: "prompts/list", member: "prompts", noun: "prompt", key: "name",
			item: func(key, more string) string { return `{"name":"` + key + `"` + more + `}` },
			one: func(ctx context.Context, c *Client, p *ListParams) (PageInfo, error) {
				page, err := c.ListPrompts(ctx, p)
				if err != nil {
					return PageInfo{}, err
				}
				return page.PageInfo, nil
			},
			snapshot: func(ctx context.Context, c *Client) (listed, error) {
				s, err := c.SnapshotPrompts(ctx)
				if err != nil {
					return listed{}, err
				}
				return seen(s.Prompts, promptsList.key, func(p *Prompt) jsontext.Value { return p.Raw() }, s.SnapshotInfo, s), nil
			},
			all: func(ctx context.Context, c *Client) ([]string, error) {
				return collect(c.Prompts(ctx), promptsList.key)
			},
			parse: func(definition string) error {
				_, err := ParsePrompt([]byte(definition))
				return err
			},
			optional: []string{"title", "description", "arguments", "icons", "_meta"},
		},
	}
}

// eachList runs a test for every kind of list over both transports, with a server that answers the first request with the
// first result, the second with the second, and so on from the first again.
func eachList(t *testing.T, results func(*listUnderTest) []string, run func(*testing.T, *listUnderTest, *Client, *mcptest.Peer)) {
	t.Helper()
	for _, l := range lists() {
		t.Run(l.name, func(t *testing.T) {
			list := results(l)
			both(t, func() mcptest.Handler {
				var n atomic.Int64
				return offering(func(c *mcptest.Conn, r mcptest.Request) {
					c.Result(r, list[int(n.Add(1)-1)%len(list)])
				})
			}, func(t *testing.T, c *Client, p *mcptest.Peer) { run(t, l, c, p) })
		})
	}
}

func sent(p *mcptest.Peer) []string {
	methods := strings.Fields(p.Methods())
	return methods[1:]
}

func count(list []string, s string) int {
	n := 0
	for _, e := range list {
		if e == s {
			n++
		}
	}
	return n
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}
