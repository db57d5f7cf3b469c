package mcp

import "github.com/go-json-experiment/json/jsontext"

// ContentBlock is one block of content: *TextContent, *ImageContent, *AudioContent, *ResourceLink or *EmbeddedResource.
// A block of another type makes the whole result a protocol error.
//
// Spec: 2026-07-28 schema ContentBlock.
type ContentBlock interface {
	// Raw returns the exact JSON text of the block.
	Raw() jsontext.Value
	content()
}

// Annotations are hints about whom content is for.
type Annotations struct {
	Wire
	Audience     []string // "user", "assistant"
	Priority     *float64 // 0 to 1
	LastModified *string
}

// TextContent is a block of type text.
type TextContent struct {
	Wire
	Text        string
	Annotations *Annotations
	Meta        jsontext.Value
}

// ImageContent is a block of type image. Data is decoded.
type ImageContent struct {
	Wire
	Data        []byte
	MIMEType    string
	Annotations *Annotations
	Meta        jsontext.Value
}

// AudioContent is a block of type audio. Data is decoded.
type AudioContent struct {
	Wire
	Data        []byte
	MIMEType    string
	Annotations *Annotations
	Meta        jsontext.Value
}

// ResourceLink is a block of type resource_link: a resource that could be read.
type ResourceLink struct {
	Wire
	URI         string
	Name        string
	Title       *string
	Description *string
	MIMEType    *string
	Size        *int64
	Icons       []Icon
	Annotations *Annotations
	Meta        jsontext.Value
}

// EmbeddedResource is a block of type resource: a resource with its content.
type EmbeddedResource struct {
	Wire
	Resource    ResourceContents
	Annotations *Annotations
	Meta        jsontext.Value
}

// ResourceContents is what a resource holds: exactly one of Text and Blob is set. Blob is decoded and not nil even when
// it is empty.
type ResourceContents struct {
	Wire
	URI      string
	MIMEType *string
	Text     *string
	Blob     []byte
	Meta     jsontext.Value
}

func (*TextContent) content()      {}
func (*ImageContent) content()     {}
func (*AudioContent) content()     {}
func (*ResourceLink) content()     {}
func (*EmbeddedResource) content() {}
