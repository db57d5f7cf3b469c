package mcp

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// ListParams are the parameters of one list request. The zero value asks for the first page.
type ListParams struct {
	Cursor *string // as a page's NextCursor; "" is a cursor
	Meta   RequestMeta
}

// PageInfo is what the pages of all lists have beside their items. Raw is the exact result, so that a caller can recognise
// a page it has seen. NextCursor is nil on the last page; "" is a cursor like any other.
//
// TTL and CacheScope are hints, as in Discovery.
//
// Spec: 2026-07-28 server/utilities/pagination, server/utilities/caching.
type PageInfo struct {
	Wire
	NextCursor *string
	TTL        time.Duration
	TTLMs      int64
	CacheScope CacheScope
	ServerInfo *Implementation
	Meta       jsontext.Value // _meta, an object, or nil
}

// SnapshotInfo is what snapshots of all lists have beside pages and items. TTLMs is the smallest of the pages, CacheScope
// that of all of them, ServerInfo that of the first.
type SnapshotInfo struct {
	TTL        time.Duration
	TTLMs      int64
	CacheScope CacheScope
	ServerInfo *Implementation
}

// listKind is one of the four lists of the protocol. P is the type of its pages, T that of its items.
type listKind[P listPage[T], T any] struct {
	method     string
	member     string // of the result, "tools"
	noun       string // "tool"
	plural     string // "tools"
	capability string
	offered    func(*Capabilities) bool

	item func(strictjson.Value, *Limits) (*T, *fault)
	// key is what must be unique in a list.
	key func(*T) string
	// page puts a page together; headers says that requests have Mcp-Param headers.
	page func(info PageInfo, items []*T, headers bool) P
	// definition is the JSON text that digests of the item are taken over.
	definition func(*T) (strictjson.Value, error)
}

// listPage is a pointer to a page.
type listPage[T any] interface {
	comparable
	info() *PageInfo
	items() []*T
	excluded() []ExcludedTool
}

func (p *PageInfo) info() *PageInfo        { return p }
func (*PageInfo) excluded() []ExcludedTool { return nil }

// list asks for one page; nil params ask for the first.
func (k *listKind[P, T]) list(ctx context.Context, c *Client, params *ListParams) (_ P, err error) {
	defer c.name(&err)
	var none P
	if params == nil {
		params = &ListParams{}
	}
	var cursor strictjson.Value
	if params.Cursor != nil {
		cursor = strictjson.AppendString(nil, *params.Cursor)
		if err := strictjson.Check(cursor, strictjson.Limits{}); err != nil {
			return none, &RequestError{Method: k.method, Reason: "cursor", Err: err}
		}
	}
	result, err := k.ask(ctx, c, cursor, &params.Meta)
	if err != nil {
		return none, err
	}
	page, f := k.decode(result, &c.opts.limits, c.kind.headers)
	return page, f.hide(c.opts.redact).err(k.method)
}

// ask sends one request with the JSON text of the cursor, nil for none.
func (k *listKind[P, T]) ask(ctx context.Context, c *Client, cursor strictjson.Value, meta *RequestMeta) (strictjson.Value, error) {
	if !k.offered(&c.discovery.Capabilities) {
		return nil, &NotOfferedError{Method: k.method, Capability: k.capability}
	}
	r, err := c.newRequest(k.method, meta, c.opts.timeouts.List, func(dst []byte) []byte {
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
		return nil, tooMuch(k.plural+" list", c.opts.limits.ListBytes, "bytes").err(k.method)
	}
	return result, err
}

// all yields the items page by page. After an error, which is yielded last, nothing more comes.
func (k *listKind[P, T]) all(ctx context.Context, c *Client) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var none P
		w := k.newWalk(c)
		for {
			page, err := w.next(ctx, none)
			if err != nil {
				c.name(&err)
				yield(nil, err)
				return
			}
			if page == none {
				return
			}
			for _, item := range page.items() {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// walk reads the whole list, within Timeouts.List. Where a result is byte for byte that of the page of known at its place,
// that page stands for it; same says that this held for the whole list.
func (k *listKind[P, T]) walk(ctx context.Context, c *Client, known []P) (pages []P, same bool, err error) {
	defer c.name(&err)
	timed, cancel := context.WithTimeout(ctx, c.opts.timeouts.List)
	defer cancel()
	var none P
	w := k.newWalk(c)
	same = true
	for {
		before := none
		if len(pages) < len(known) {
			before = known[len(pages)]
		}
		page, err := w.next(timed, before)
		if err != nil {
			return nil, false, c.walkError(ctx, timed, err)
		}
		if page == none {
			return pages, same && len(pages) == len(known), nil
		}
		same = same && page == before
		pages = append(pages, page)
	}
}

// walkError makes a timeout of a walk's own deadline, which for a single request is that of a caller.
func (c *Client) walkError(ctx, timed context.Context, err error) error {
	var ended *ContextError
	if errors.As(err, &ended) && ctx.Err() == nil && timed.Err() != nil {
		return &TimeoutError{Op: ended.Op, After: c.opts.timeouts.List, Waiting: ended.waiting, Delivered: ended.Delivered, Stderr: c.tail()}
	}
	return err
}

// whole holds pages that were obtained one by one against the rules of a walk.
func (k *listKind[P, T]) whole(pages []P) error {
	limits, err := Limits{}.filled(Limits{})
	if err != nil {
		return err
	}
	var none P
	state := k.newState(&limits)
	for i, page := range pages {
		if page == none {
			return &RequestError{Reason: "snapshot: page is nil"}
		}
		if f := state.add(page); f != nil {
			return f.err(k.method)
		}
		if last := i == len(pages)-1; last != (page.info().NextCursor == nil) {
			return &RequestError{Reason: "snapshot: pages are not those of one whole list"}
		}
	}
	if len(pages) == 0 {
		return &RequestError{Reason: "snapshot: no pages"}
	}
	return nil
}

// sum returns what a snapshot says of its pages, and their items in order.
func (k *listKind[P, T]) sum(pages []P) (SnapshotInfo, []*T) {
	first := pages[0].info()
	s := SnapshotInfo{TTL: first.TTL, TTLMs: first.TTLMs, CacheScope: first.CacheScope, ServerInfo: first.ServerInfo}
	var items []*T
	for _, page := range pages {
		items = append(items, page.items()...)
		if p := page.info(); p.TTLMs < s.TTLMs {
			s.TTL, s.TTLMs = p.TTL, p.TTLMs
		}
	}
	return s, items
}

// walk reads a list page by page.
type walk[P listPage[T], T any] struct {
	c      *Client
	kind   *listKind[P, T]
	state  *walkState[P, T]
	cursor strictjson.Value // JSON text of the next request's cursor, nil for none
	ended  bool
}

func (k *listKind[P, T]) newWalk(c *Client) *walk[P, T] {
	return &walk[P, T]{c: c, kind: k, state: k.newState(&c.opts.limits)}
}

// next returns the next page, nil after the last. A page whose result equals that of known is known.
func (w *walk[P, T]) next(ctx context.Context, known P) (P, error) {
	var none P
	if w.ended {
		return none, nil
	}
	result, err := w.kind.ask(ctx, w.c, w.cursor, &RequestMeta{})
	if err != nil {
		return none, err
	}
	page := known
	if known == none || !bytes.Equal(known.info().raw, result) {
		var f *fault
		if page, f = w.kind.decode(result, &w.c.opts.limits, w.c.kind.headers); f != nil {
			return none, f.hide(w.c.opts.redact).err(w.kind.method)
		}
	}
	if f := w.state.add(page); f != nil {
		return none, f.hide(w.c.opts.redact).err(w.kind.method)
	}
	// The cursor goes back as the token it came as.
	w.cursor, _ = page.info().raw.Get("nextCursor")
	w.ended = page.info().NextCursor == nil
	return page, nil
}

// walkState is what one page of a list must fit to.
type walkState[P listPage[T], T any] struct {
	kind    *listKind[P, T]
	limits  *Limits
	pages   int
	items   int
	bytes   int
	scope   CacheScope
	keys    map[string]bool
	cursors map[string]bool
}

func (k *listKind[P, T]) newState(l *Limits) *walkState[P, T] {
	return &walkState[P, T]{kind: k, limits: l, keys: map[string]bool{}, cursors: map[string]bool{}}
}

// add takes the next page in. The cursor comes first: a server that repeats it repeats its items as well, and that is the
// more telling fault.
func (s *walkState[P, T]) add(page P) *fault {
	p := page.info()
	if p.NextCursor != nil {
		if s.cursors[*p.NextCursor] {
			return faultf("repeated cursor %s: the list would never end", peer(*p.NextCursor)).under("nextCursor")
		}
		s.cursors[*p.NextCursor] = true
	}
	s.pages++
	s.items += len(page.items()) + len(page.excluded())
	s.bytes += len(p.raw)
	switch {
	case s.pages == s.limits.Pages && p.NextCursor != nil:
		return tooMuch(s.kind.plural+" list", s.limits.Pages, "pages")
	case s.items > s.limits.Items:
		return tooMuch(s.kind.plural+" list", s.limits.Items, "items")
	case s.bytes > s.limits.ListBytes:
		return tooMuch(s.kind.plural+" list", s.limits.ListBytes, "bytes")
	case s.pages > 1 && p.CacheScope != s.scope:
		return faultf("is %q on page %d and %q before, want one for the whole list", p.CacheScope, s.pages, s.scope).under("cacheScope")
	}
	s.scope = p.CacheScope
	for _, item := range page.items() {
		if item == nil {
			return faultf("%s is nil", s.kind.noun).under(s.kind.member)
		}
		if f := s.once(s.kind.key(item)); f != nil {
			return f
		}
	}
	for _, t := range page.excluded() {
		if f := s.once(t.Name); f != nil {
			return f
		}
	}
	return nil
}

func (s *walkState[P, T]) once(key string) *fault {
	if s.keys[key] {
		return faultf("%s %s is listed twice, again on page %d", s.kind.noun, peer(key), s.pages).under(s.kind.member)
	}
	s.keys[key] = true
	return nil
}

// decode reads a result.
func (k *listKind[P, T]) decode(result strictjson.Value, lim *Limits, headers bool) (P, *fault) {
	var none P
	if f := onlyComplete(k.method, result); f != nil {
		return none, f
	}
	p := PageInfo{Wire: Wire{result}}
	var list strictjson.Value
	ttl := false
	for e := result.Fields(); e.Next(); {
		m := e.Value
		var f *fault
		switch string(e.Name) {
		case k.member:
			list = m
			f = asArray(k.member, m)
		case "nextCursor":
			p.NextCursor, f = asOptional("nextCursor", m)
		case "ttlMs":
			ttl = true
			p.TTLMs, f = asTTL(m)
			p.TTL = duration(p.TTLMs)
		case "cacheScope":
			p.CacheScope, f = asScope(m)
		case "_meta":
			p.Meta = jsontext.Value(m)
			p.ServerInfo, f = decodeResultMeta(m)
		}
		if f != nil {
			return none, f
		}
	}
	switch {
	case list == nil:
		return none, missing(k.member, "an array")
	case !ttl:
		return none, missing("ttlMs", "a whole number >= 0")
	case p.CacheScope == "":
		return none, missing("cacheScope", `"public" or "private"`)
	}
	items, f := k.decodeItems(list, lim)
	if f != nil {
		return none, f.under(k.member)
	}
	return k.page(p, items, headers), nil
}

func (k *listKind[P, T]) decodeItems(list strictjson.Value, lim *Limits) ([]*T, *fault) {
	var items []*T
	seen := map[string]bool{}
	for e := range list.Elements() {
		i := len(items)
		if i == lim.Items {
			return nil, tooMuch(k.plural, lim.Items, "items")
		}
		item, f := k.item(e, lim)
		if f == nil && seen[k.key(item)] {
			f = faultf("%s %s is listed twice", k.noun, peer(k.key(item)))
		}
		if f != nil {
			return nil, f.at(i)
		}
		seen[k.key(item)] = true
		items = append(items, item)
	}
	return items, nil
}

// parsePage reads a result that was kept, as a client over stdio reads it.
func (k *listKind[P, T]) parsePage(result []byte) (P, error) {
	var none P
	v, err := parseResult(k.method, result)
	if err != nil {
		return none, err
	}
	limits, err := Limits{}.filled(Limits{})
	if err != nil {
		return none, err
	}
	page, f := k.decode(v, &limits, false)
	return page, f.err(k.method)
}
