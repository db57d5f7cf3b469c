package mcp

import (
	"context"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Resource is a resource as its server lists it. Raw is the exact definition, and what digests are taken over; the fields
// are a view of it. A Resource is not to be changed: use ParseResource to make one.
//
// URI is any non-empty string, at most Limits.URIBytes long; that it is a URI is the server's claim. Size is in bytes, as
// the server says it.
//
// Spec: 2026-07-28 server/resources#resource.
type Resource struct {
	Wire
	URI         string
	Name        string
	Title       *string
	Description *string
	MIMEType    *string
	Size        *int64
	Icons       []Icon
	Annotations *Annotations
	Meta        jsontext.Value // _meta, an object, or nil
}

// ResourceTemplate is a template of URIs as its server lists it, with the same rules as a Resource. URITemplate is meant
// to be an RFC 6570 template; this package carries and never expands it.
//
// Spec: 2026-07-28 server/resources#resource-templates.
type ResourceTemplate struct {
	Wire
	URITemplate string
	Name        string
	Title       *string
	Description *string
	MIMEType    *string
	Icons       []Icon
	Annotations *Annotations
	Meta        jsontext.Value // _meta, an object, or nil
}

// ResourcesPage is one page of resources/list. Resources keep the server's order and have unique URIs.
//
// Spec: 2026-07-28 server/resources#listing-resources.
type ResourcesPage struct {
	PageInfo
	Resources []*Resource
}

// ResourcesSnapshot is a whole resources list: all its pages, of one cache scope, with URIs unique over all of them.
type ResourcesSnapshot struct {
	SnapshotInfo
	Pages     []*ResourcesPage
	Resources []*Resource
}

// Resource returns the resource of that exact URI, or nil.
func (s *ResourcesSnapshot) Resource(uri string) *Resource {
	for _, r := range s.Resources {
		if r.URI == uri {
			return r
		}
	}
	return nil
}

// ResourceTemplatesPage is one page of resources/templates/list. Templates keep the server's order and have unique texts.
//
// Spec: 2026-07-28 server/resources#resource-templates.
type ResourceTemplatesPage struct {
	PageInfo
	ResourceTemplates []*ResourceTemplate
}

// ResourceTemplatesSnapshot is a whole list of resource templates: all its pages, of one cache scope, with template texts
// unique over all of them.
type ResourceTemplatesSnapshot struct {
	SnapshotInfo
	Pages             []*ResourceTemplatesPage
	ResourceTemplates []*ResourceTemplate
}

// ResourceTemplate returns the template of that exact text, or nil.
func (s *ResourceTemplatesSnapshot) ResourceTemplate(uriTemplate string) *ResourceTemplate {
	for _, t := range s.ResourceTemplates {
		if t.URITemplate == uriTemplate {
			return t
		}
	}
	return nil
}

var resourcesList = &listKind[*ResourcesPage, Resource]{
	method: methodResourcesList, member: "resources", noun: "resource", plural: "resources", capability: "resources",
	offered:    offersResources,
	item:       decodeResource,
	key:        func(r *Resource) string { return r.URI },
	page:       func(info PageInfo, list []*Resource, _ bool) *ResourcesPage { return &ResourcesPage{info, list} },
	definition: (*Resource).definition,
}

var resourceTemplatesList = &listKind[*ResourceTemplatesPage, ResourceTemplate]{
	method: methodResourceTemplatesList, member: "resourceTemplates", noun: "resource template", plural: "resource templates",
	capability: "resources",
	offered:    offersResources,
	item:       decodeResourceTemplate,
	key:        func(t *ResourceTemplate) string { return t.URITemplate },
	page: func(info PageInfo, list []*ResourceTemplate, _ bool) *ResourceTemplatesPage {
		return &ResourceTemplatesPage{info, list}
	},
	definition: (*ResourceTemplate).definition,
}

func offersResources(c *Capabilities) bool { return c.Resources != nil }

func (p *ResourcesPage) items() []*Resource                 { return p.Resources }
func (p *ResourceTemplatesPage) items() []*ResourceTemplate { return p.ResourceTemplates }

// ListResources asks for one page of resources; nil params ask for the first.
//
// Nothing is sent, and the error is a *NotOfferedError, if the server's discovery does not declare resources. Otherwise it
// is a *ProtocolError or *LimitError for a list that is not as it should be, or an error of the exchange.
//
// Spec: 2026-07-28 server/resources#listing-resources.
func (c *Client) ListResources(ctx context.Context, params *ListParams) (*ResourcesPage, error) {
	return resourcesList.list(ctx, c, params)
}

// Resources yields all resources of the server in its order, page by page, as SnapshotResources reads them. After an
// error, which is yielded last and without a resource, nothing more comes. Every page has Timeouts.List of its own.
func (c *Client) Resources(ctx context.Context) iter.Seq2[*Resource, error] {
	return resourcesList.all(ctx, c)
}

// SnapshotResources reads the whole list of resources, under the rules and bounds of SnapshotTools. What must not come
// twice is a URI, compared byte for byte.
//
// Spec: 2026-07-28 server/resources#listing-resources, server/utilities/pagination.
func (c *Client) SnapshotResources(ctx context.Context) (*ResourcesSnapshot, error) {
	return c.WalkResources(ctx, nil)
}

// WalkResources is to SnapshotResources what WalkTools is to SnapshotTools.
func (c *Client) WalkResources(ctx context.Context, prev *ResourcesSnapshot) (*ResourcesSnapshot, error) {
	var known []*ResourcesPage
	if prev != nil {
		known = prev.Pages
	}
	pages, same, err := resourcesList.walk(ctx, c, known)
	switch {
	case err != nil:
		return nil, err
	case same:
		return prev, nil
	}
	return newResourcesSnapshot(pages), nil
}

// NewResourcesSnapshot puts pages together that were obtained one by one, as NewToolsSnapshot does.
func NewResourcesSnapshot(pages ...*ResourcesPage) (*ResourcesSnapshot, error) {
	if err := resourcesList.whole(pages); err != nil {
		return nil, err
	}
	return newResourcesSnapshot(pages), nil
}

func newResourcesSnapshot(pages []*ResourcesPage) *ResourcesSnapshot {
	s := &ResourcesSnapshot{Pages: pages}
	s.SnapshotInfo, s.Resources = resourcesList.sum(pages)
	return s
}

// ListResourceTemplates asks for one page of resource templates; nil params ask for the first. The errors are those of
// ListResources.
//
// Spec: 2026-07-28 server/resources#resource-templates.
func (c *Client) ListResourceTemplates(ctx context.Context, params *ListParams) (*ResourceTemplatesPage, error) {
	return resourceTemplatesList.list(ctx, c, params)
}

// ResourceTemplates yields all resource templates of the server, as Resources does resources.
func (c *Client) ResourceTemplates(ctx context.Context) iter.Seq2[*ResourceTemplate, error] {
	return resourceTemplatesList.all(ctx, c)
}

// SnapshotResourceTemplates reads the whole list of resource templates, under the rules and bounds of SnapshotTools. What
// must not come twice is the text of a template, compared byte for byte.
//
// Spec: 2026-07-28 server/resources#resource-templates, server/utilities/pagination.
func (c *Client) SnapshotResourceTemplates(ctx context.Context) (*ResourceTemplatesSnapshot, error) {
	return c.WalkResourceTemplates(ctx, nil)
}

// WalkResourceTemplates is to SnapshotResourceTemplates what WalkTools is to SnapshotTools.
func (c *Client) WalkResourceTemplates(ctx context.Context, prev *ResourceTemplatesSnapshot) (*ResourceTemplatesSnapshot, error) {
	var known []*ResourceTemplatesPage
	if prev != nil {
		known = prev.Pages
	}
	pages, same, err := resourceTemplatesList.walk(ctx, c, known)
	switch {
	case err != nil:
		return nil, err
	case same:
		return prev, nil
	}
	return newResourceTemplatesSnapshot(pages), nil
}

// NewResourceTemplatesSnapshot puts pages together that were obtained one by one, as NewToolsSnapshot does.
func NewResourceTemplatesSnapshot(pages ...*ResourceTemplatesPage) (*ResourceTemplatesSnapshot, error) {
	if err := resourceTemplatesList.whole(pages); err != nil {
		return nil, err
	}
	return newResourceTemplatesSnapshot(pages), nil
}

func newResourceTemplatesSnapshot(pages []*ResourceTemplatesPage) *ResourceTemplatesSnapshot {
	s := &ResourceTemplatesSnapshot{Pages: pages}
	s.SnapshotInfo, s.ResourceTemplates = resourceTemplatesList.sum(pages)
	return s
}
