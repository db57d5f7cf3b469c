package mcp

import "github.com/go-json-experiment/json/jsontext"

// Tool is a tool as its server defines it. Raw is the exact definition, and what digests are taken over; the fields are
// a view of it, InputSchema and OutputSchema being the exact bytes. A Tool is not to be changed: use ParseTool to make
// one, from a pinned definition for example.
//
// Name is any non-empty string, at most Limits.NameBytes long. InputSchema is an object whose type is "object";
// OutputSchema is an object or nil.
//
// Spec: 2026-07-28 server/tools#tool.
type Tool struct {
	Wire
	Name         string
	Title        *string
	Description  *string
	Icons        []Icon
	InputSchema  jsontext.Value
	OutputSchema jsontext.Value
	Annotations  *ToolAnnotations
	Meta         jsontext.Value // _meta, an object, or nil

	use *toolUse
}

// ToolAnnotations are hints from an unverified party: no decision rests on them. A nil hint was not given; the
// specification's defaults are read-only false, destructive true, idempotent false, open-world true.
type ToolAnnotations struct {
	Wire
	Title           *string
	ReadOnlyHint    *bool
	DestructiveHint *bool
	IdempotentHint  *bool
	OpenWorldHint   *bool
}

// ExcludedTool is a tool that was listed but cannot be used over this transport, and why. Definition is as received.
type ExcludedTool struct {
	Name       string
	Reason     string
	Definition jsontext.Value
}

// ToolsPage is one page of tools/list. Tools keep the server's order and have unique names.
//
// Spec: 2026-07-28 server/tools#listing-tools, server/utilities/pagination, server/utilities/caching.
type ToolsPage struct {
	PageInfo
	Tools    []*Tool
	Excluded []ExcludedTool
}

// ToolsSnapshot is a whole tools list: all its pages, of one cache scope, with names unique over all of them.
type ToolsSnapshot struct {
	SnapshotInfo
	Pages    []*ToolsPage
	Tools    []*Tool
	Excluded []ExcludedTool
}

// Tool returns the tool of that exact name, or nil.
func (s *ToolsSnapshot) Tool(name string) *Tool {
	for _, t := range s.Tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}
