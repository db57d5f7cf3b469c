package mcp

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// ListTools asks for one page of tools; nil params ask for the first. A tool whose x-mcp-header annotation is not valid
// is left out over HTTP and named in Excluded; over stdio, where there are no headers, it is kept.
//
// Nothing is sent, and the error is a *NotOfferedError, if the server's discovery does not declare tools. Otherwise it is
// a *ProtocolError or *LimitError for a list that is not as it should be, or an error of the exchange.
//
// Spec: 2026-07-28 server/tools#listing-tools.
func (c *Client) ListTools(ctx context.Context, params *ListParams) (*ToolsPage, error) {
	if params == nil {
		params = &ListParams{}
	}
	var cursor strictjson.Value
	if params.Cursor != nil {
		cursor = strictjson.AppendString(nil, *params.Cursor)
		if err := strictjson.Check(cursor, strictjson.Limits{}); err != nil {
			return nil, &RequestError{Method: methodToolsList, Reason: "cursor", Err: err}
		}
	}
	result, err := c.listTools(ctx, cursor, &params.Meta)
	if err != nil {
		return nil, err
	}
	return c.decodePage(result)
}

// listTools sends one tools/list with the JSON text of the cursor, nil for none.
func (c *Client) listTools(ctx context.Context, cursor strictjson.Value, meta *RequestMeta) (strictjson.Value, error) {
	if c.discovery.Capabilities.Tools == nil {
		return nil, &NotOfferedError{Method: methodToolsList, Capability: "tools"}
	}
	r, err := c.newRequest(methodToolsList, meta, c.opts.timeouts.List, func(dst []byte) []byte {
		if cursor == nil {
			return dst
		}
		return append(append(dst, `,"cursor":`...), cursor...)
	})
	if err != nil {
		return nil, err
	}
	result, err := c.do(ctx, r)
	if err == nil && len(result) > c.opts.limits.ListBytes {
		return nil, tooMuch("tools list", c.opts.limits.ListBytes, "bytes").err(methodToolsList)
	}
	return result, err
}

func (c *Client) decodePage(result strictjson.Value) (*ToolsPage, error) {
	page, f := decodeToolsPage(result, &c.opts.limits, c.kind.headers)
	if f != nil {
		return nil, f.err(methodToolsList)
	}
	return page, nil
}

// Tools yields all tools of the server in its order, page by page, as SnapshotTools reads them. Tools that SnapshotTools
// would name as excluded are not among them. After an error, which is yielded last and without a tool, nothing more
// comes. Every page has Timeouts.List of its own.
func (c *Client) Tools(ctx context.Context) iter.Seq2[*Tool, error] {
	return func(yield func(*Tool, error) bool) {
		w := c.newWalk()
		for {
			page, err := w.next(ctx, nil)
			if err != nil {
				yield(nil, err)
				return
			}
			if page == nil {
				return
			}
			for _, t := range page.Tools {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// GetTools is Tools.
func (c *Client) GetTools(ctx context.Context) iter.Seq2[*Tool, error] { return c.Tools(ctx) }

// SnapshotTools reads the whole list of tools: all pages, at most Limits.Pages, Items and ListBytes, within Timeouts.List
// together. It is refused as a whole, with a *ProtocolError, if one tool in it is not as it should be, if a name comes
// twice, on one page or on two, if pages differ in cacheScope, or if a cursor comes again.
//
// The specification promises no consistency between pages: whoever needs it takes two snapshots and compares them.
//
// Spec: 2026-07-28 server/tools#listing-tools, server/utilities/pagination.
func (c *Client) SnapshotTools(ctx context.Context) (*ToolsSnapshot, error) {
	return c.WalkTools(ctx, nil)
}

// WalkTools is SnapshotTools for callers that take one snapshot after another: it asks for every page afresh, and where
// a page's result is byte for byte that of prev, prev's page stands in for decoding it again. If that holds for the whole
// list, it returns prev itself, so that a caller can keep what it worked out of prev. Prev must come from this Client; it
// may be nil.
func (c *Client) WalkTools(ctx context.Context, prev *ToolsSnapshot) (*ToolsSnapshot, error) {
	timed, cancel := context.WithTimeout(ctx, c.opts.timeouts.List)
	defer cancel()
	w := c.newWalk()
	same := prev != nil
	var pages []*ToolsPage
	for {
		var known *ToolsPage
		if prev != nil && len(pages) < len(prev.Pages) {
			known = prev.Pages[len(pages)]
		}
		page, err := w.next(timed, known)
		if err != nil {
			return nil, c.walkError(ctx, timed, err)
		}
		if page == nil {
			break
		}
		same = same && page == known
		pages = append(pages, page)
	}
	if same && len(pages) == len(prev.Pages) {
		return prev, nil
	}
	return newSnapshot(pages), nil
}

// walkError makes a timeout of a walk's own deadline, which for a single request is that of a caller.
func (c *Client) walkError(ctx, timed context.Context, err error) error {
	var ended *ContextError
	if errors.As(err, &ended) && ctx.Err() == nil && timed.Err() != nil {
		return &TimeoutError{Op: ended.Op, After: c.opts.timeouts.List, Delivered: ended.Delivered, Stderr: c.kind.tail()}
	}
	return err
}

// NewToolsSnapshot puts pages together that were obtained one by one, for example by ListTools. It is as strict as
// SnapshotTools. The first page must be the first of the list and the last must have no NextCursor.
func NewToolsSnapshot(pages ...*ToolsPage) (*ToolsSnapshot, error) {
	limits, err := Limits{}.filled(Limits{})
	if err != nil {
		return nil, err
	}
	w := newWalkState(&limits)
	for i, page := range pages {
		if page == nil {
			return nil, &RequestError{Reason: "snapshot: page is nil"}
		}
		if f := w.add(page); f != nil {
			return nil, f.err(methodToolsList)
		}
		if last := i == len(pages)-1; last != (page.NextCursor == nil) {
			return nil, &RequestError{Reason: "snapshot: pages are not those of one whole list"}
		}
	}
	if len(pages) == 0 {
		return nil, &RequestError{Reason: "snapshot: no pages"}
	}
	return newSnapshot(pages), nil
}

func newSnapshot(pages []*ToolsPage) *ToolsSnapshot {
	s := &ToolsSnapshot{
		Pages: pages, TTL: pages[0].TTL, TTLMs: pages[0].TTLMs, CacheScope: pages[0].CacheScope, ServerInfo: pages[0].ServerInfo,
	}
	for _, p := range pages {
		s.Tools = append(s.Tools, p.Tools...)
		s.Excluded = append(s.Excluded, p.Excluded...)
		if p.TTLMs < s.TTLMs {
			s.TTL, s.TTLMs = p.TTL, p.TTLMs
		}
	}
	return s
}

// walk reads a list page by page.
type walk struct {
	c      *Client
	state  *walkState
	cursor strictjson.Value // JSON text of the next request's cursor, nil for none
	ended  bool
}

func (c *Client) newWalk() *walk { return &walk{c: c, state: newWalkState(&c.opts.limits)} }

// next returns the next page, nil after the last. A page whose result equals that of known is known.
func (w *walk) next(ctx context.Context, known *ToolsPage) (*ToolsPage, error) {
	if w.ended {
		return nil, nil
	}
	result, err := w.c.listTools(ctx, w.cursor, &RequestMeta{})
	if err != nil {
		return nil, err
	}
	page := known
	if known == nil || !bytes.Equal(known.raw, result) {
		if page, err = w.c.decodePage(result); err != nil {
			return nil, err
		}
	}
	if f := w.state.add(page); f != nil {
		return nil, f.err(methodToolsList)
	}
	// The cursor goes back as the token it came as.
	w.cursor, _ = page.raw.Get("nextCursor")
	w.ended = page.NextCursor == nil
	return page, nil
}

// walkState is what one page of a list must fit to.
type walkState struct {
	limits  *Limits
	pages   int
	items   int
	bytes   int
	scope   CacheScope
	names   map[string]bool
	cursors map[string]bool
}

func newWalkState(l *Limits) *walkState {
	return &walkState{limits: l, names: map[string]bool{}, cursors: map[string]bool{}}
}

// add takes the next page in. The cursor comes first: a server that repeats it repeats its tools as well, and that is the
// more telling fault.
func (s *walkState) add(p *ToolsPage) *fault {
	if p.NextCursor != nil {
		if s.cursors[*p.NextCursor] {
			return faultf("repeated cursor %s: the list would never end", quote(*p.NextCursor)).under("nextCursor")
		}
		s.cursors[*p.NextCursor] = true
	}
	s.pages++
	s.items += len(p.Tools) + len(p.Excluded)
	s.bytes += len(p.raw)
	switch {
	case s.pages == s.limits.Pages && p.NextCursor != nil:
		return tooMuch("tools list", s.limits.Pages, "pages")
	case s.items > s.limits.Items:
		return tooMuch("tools list", s.limits.Items, "items")
	case s.bytes > s.limits.ListBytes:
		return tooMuch("tools list", s.limits.ListBytes, "bytes")
	case s.pages > 1 && p.CacheScope != s.scope:
		return faultf("is %q on page %d and %q before, want one for the whole list", p.CacheScope, s.pages, s.scope).under("cacheScope")
	}
	s.scope = p.CacheScope
	add := func(name string) *fault {
		if s.names[name] {
			return faultf("tool %s is listed twice, again on page %d", quote(name), s.pages).under("tools")
		}
		s.names[name] = true
		return nil
	}
	for _, t := range p.Tools {
		if f := add(t.Name); f != nil {
			return f
		}
	}
	for _, t := range p.Excluded {
		if f := add(t.Name); f != nil {
			return f
		}
	}
	return nil
}
