package mcp

import (
	"context"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Prompt is a prompt as its server defines it. Raw is the exact definition, and what digests are taken over; the fields
// are a view of it. A Prompt is not to be changed: use ParsePrompt to make one.
//
// Name is any non-empty string, at most Limits.NameBytes long. Arguments is nil if the member was absent.
//
// Spec: 2026-07-28 server/prompts#prompt.
type Prompt struct {
	Wire
	Name        string
	Title       *string
	Description *string
	Arguments   []PromptArgument
	Icons       []Icon
	Meta        jsontext.Value // _meta, an object, or nil
}

// PromptArgument describes one argument of a prompt; its value is a string. Required is nil if the server did not say,
// which means no.
type PromptArgument struct {
	Wire
	Name        string
	Title       *string
	Description *string
	Required    *bool
}

// PromptsPage is one page of prompts/list. Prompts keep the server's order and have unique names.
//
// Spec: 2026-07-28 server/prompts#listing-prompts.
type PromptsPage struct {
	PageInfo
	Prompts []*Prompt
}

// PromptsSnapshot is a whole prompts list: all its pages, of one cache scope, with names unique over all of them.
type PromptsSnapshot struct {
	SnapshotInfo
	Pages   []*PromptsPage
	Prompts []*Prompt
}

// Prompt returns the prompt of that exact name, or nil.
func (s *PromptsSnapshot) Prompt(name string) *Prompt {
	for _, p := range s.Prompts {
		if p.Name == name {
			return p
		}
	}
	return nil
}

var promptsList = &listKind[*PromptsPage, Prompt]{
	method: methodPromptsList, member: "prompts", noun: "prompt", plural: "prompts", capability: "prompts",
	offered:    offersPrompts,
	item:       decodePrompt,
	key:        func(p *Prompt) string { return p.Name },
	page:       func(info PageInfo, list []*Prompt, _ bool) *PromptsPage { return &PromptsPage{info, list} },
	definition: (*Prompt).definition,
}

func offersPrompts(c *Capabilities) bool { return c.Prompts != nil }

func (p *PromptsPage) items() []*Prompt { return p.Prompts }

// ListPrompts asks for one page of prompts; nil params ask for the first.
//
// Nothing is sent, and the error is a *NotOfferedError, if the server's discovery does not declare prompts. Otherwise it
// is a *ProtocolError or *LimitError for a list that is not as it should be, or an error of the exchange.
//
// Spec: 2026-07-28 server/prompts#listing-prompts.
func (c *Client) ListPrompts(ctx context.Context, params *ListParams) (*PromptsPage, error) {
	return promptsList.list(ctx, c, params)
}

// Prompts yields all prompts of the server in its order, page by page, as SnapshotPrompts reads them. After an error,
// which is yielded last and without a prompt, nothing more comes. Every page has Timeouts.List of its own.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*Prompt, error] {
	return promptsList.all(ctx, c)
}

// SnapshotPrompts reads the whole list of prompts, under the rules and bounds of SnapshotTools.
//
// Spec: 2026-07-28 server/prompts#listing-prompts, server/utilities/pagination.
func (c *Client) SnapshotPrompts(ctx context.Context) (*PromptsSnapshot, error) {
	return c.WalkPrompts(ctx, nil)
}

// WalkPrompts is to SnapshotPrompts what WalkTools is to SnapshotTools.
func (c *Client) WalkPrompts(ctx context.Context, prev *PromptsSnapshot) (*PromptsSnapshot, error) {
	var known []*PromptsPage
	if prev != nil {
		known = prev.Pages
	}
	pages, same, err := promptsList.walk(ctx, c, known)
	switch {
	case err != nil:
		return nil, err
	case same:
		return prev, nil
	}
	return newPromptsSnapshot(pages), nil
}

// NewPromptsSnapshot puts pages together that were obtained one by one, as NewToolsSnapshot does.
func NewPromptsSnapshot(pages ...*PromptsPage) (*PromptsSnapshot, error) {
	if err := promptsList.whole(pages); err != nil {
		return nil, err
	}
	return newPromptsSnapshot(pages), nil
}

func newPromptsSnapshot(pages []*PromptsPage) *PromptsSnapshot {
	s := &PromptsSnapshot{Pages: pages}
	s.SnapshotInfo, s.Prompts = promptsList.sum(pages)
	return s
}
