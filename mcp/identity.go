package mcp

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// ProtocolVersion is the only revision of MCP that this package speaks.
const ProtocolVersion = "2026-07-28"

// CacheScope says who may share a cached result: CachePublic or CachePrivate.
type CacheScope string

// The cache scopes of the specification; every other value is a protocol error.
const (
	CachePublic  CacheScope = "public"
	CachePrivate CacheScope = "private"
)

// Implementation is the self-description of a client or server. It is unverified: show it, never decide by it.
//
// Spec: 2026-07-28 basic#general-fields, schema Implementation.
type Implementation struct {
	Wire
	Name        string
	Version     string
	Title       *string
	Description *string
	WebsiteURL  *string
	Icons       []Icon
}

// Icon is a picture that a peer offers. It is carried as data and never fetched.
type Icon struct {
	Wire
	Src      string
	MIMEType *string
	Sizes    []string
	Theme    *string // "light" or "dark"
}

// Discovery is the answer to server/discover.
//
// TTLMs is the server's number of milliseconds, 0 to 2^53-1; TTL is the same as a duration, at most the longest there is.
// Both are hints: this package caches nothing. ServerInfo comes from the result's _meta only, nil if there was none.
// Instructions is text for a model from a party that nobody has vouched for.
//
// Spec: 2026-07-28 server/discover.
type Discovery struct {
	Wire
	SupportedVersions []string
	Capabilities      Capabilities
	Instructions      *string
	TTL               time.Duration
	TTLMs             int64
	CacheScope        CacheScope
	ServerInfo        *Implementation
}

// Capabilities is what the server says it can do. A nil field was not declared. Declarations that this package does not
// know are kept in Raw and switch nothing on; neither do Logging and Experimental.
type Capabilities struct {
	Wire
	Tools        *ToolsCapability
	Resources    *ResourcesCapability
	Prompts      *PromptsCapability
	Logging      jsontext.Value
	Completions  jsontext.Value
	Experimental map[string]jsontext.Value
	Extensions   map[string]jsontext.Value
}

// ToolsCapability is capabilities.tools.
type ToolsCapability struct {
	Wire
	ListChanged bool
}

// ResourcesCapability is capabilities.resources.
type ResourcesCapability struct {
	Wire
	ListChanged bool
	Subscribe   bool
}

// PromptsCapability is capabilities.prompts.
type PromptsCapability struct {
	Wire
	ListChanged bool
}

// ClientCapabilities is what a request declares that its sender can do. The zero value declares nothing.
type ClientCapabilities struct {
	// ElicitationForm and ElicitationURL let the server ask for input by a form or by a web address.
	ElicitationForm, ElicitationURL bool
	// Sampling lets the server ask for a model's answer; SamplingTools and SamplingContext widen it.
	Sampling, SamplingTools, SamplingContext bool
	// Roots lets the server ask for the client's roots.
	Roots bool
	// Extensions declares extensions: the identifier, which has a prefix, and a JSON object of settings, {} for none.
	// ExtensionKey.Advertise makes such an entry.
	Extensions map[string]jsontext.Value
}
