package mcp

import (
	"context"
	"iter"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

var toolsList = &listKind[*ToolsPage, Tool]{
	method: methodToolsList, member: "tools", noun: "tool", plural: "tools", capability: "tools",
	offered:    func(c *Capabilities) bool { return c.Tools != nil },
	item:       decodeTool,
	key:        func(t *Tool) string { return t.Name },
	page:       newToolsPage,
	definition: (*Tool).definition,
}

func (p *ToolsPage) items() []*Tool           { return p.Tools }
func (p *ToolsPage) excluded() []ExcludedTool { return p.Excluded }

// newToolsPage leaves out and names the tools whose header annotations are not valid, as Streamable HTTP wants it.
func newToolsPage(info PageInfo, tools []*Tool, headers bool) *ToolsPage {
	p := &ToolsPage{PageInfo: info}
	if !headers {
		p.Tools = tools
		return p
	}
	for _, t := range tools {
		if err := t.headerFault(); err != nil {
			p.Excluded = append(p.Excluded, ExcludedTool{Name: t.Name, Reason: err.Error(), Definition: t.Raw()})
			continue
		}
		p.Tools = append(p.Tools, t)
	}
	return p
}

func decodeToolsPage(result strictjson.Value, lim *Limits, headers bool) (*ToolsPage, *fault) {
	return toolsList.decode(result, lim, headers)
}

// ListTools asks for one page of tools; nil params ask for the first. A tool whose x-mcp-header annotation is not valid
// is left out over HTTP and named in Excluded; over stdio, where there are no headers, it is kept.
//
// Nothing is sent, and the error is a *NotOfferedError, if the server's discovery does not declare tools. Otherwise it is
// a *ProtocolError or *LimitError for a list that is not as it should be, or an error of the exchange.
//
// Spec: 2026-07-28 server/tools#listing-tools.
func (c *Client) ListTools(ctx context.Context, params *ListParams) (*ToolsPage, error) {
	return toolsList.list(ctx, c, params)
}

// Tools yields all tools of the server in its order, page by page, as SnapshotTools reads them. Tools that SnapshotTools
// would name as excluded are not among them. After an error, which is yielded last and without a tool, nothing more
// comes. Every page has Timeouts.List of its own.
func (c *Client) Tools(ctx context.Context) iter.Seq2[*Tool, error] { return toolsList.all(ctx, c) }

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
	var known []*ToolsPage
	if prev != nil {
		known = prev.Pages
	}
	pages, same, err := toolsList.walk(ctx, c, known)
	switch {
	case err != nil:
		return nil, err
	case same:
		return prev, nil
	}
	return newToolsSnapshot(pages), nil
}

// NewToolsSnapshot puts pages together that were obtained one by one, for example by ListTools. It is as strict as
// SnapshotTools. The first page must be the first of the list and the last must have no NextCursor.
func NewToolsSnapshot(pages ...*ToolsPage) (*ToolsSnapshot, error) {
	if err := toolsList.whole(pages); err != nil {
		return nil, err
	}
	return newToolsSnapshot(pages), nil
}

func newToolsSnapshot(pages []*ToolsPage) *ToolsSnapshot {
	s := &ToolsSnapshot{Pages: pages}
	s.SnapshotInfo, s.Tools = toolsList.sum(pages)
	for _, p := range pages {
		s.Excluded = append(s.Excluded, p.Excluded...)
	}
	return s
}
