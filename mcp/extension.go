package mcp

import (
	"maps"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// ExtensionCodec reads and writes one kind of payload of an extension as a type of the caller's. Decode gets the exact
// JSON text that was received, checked and not to be changed; what it refuses makes the message that holds the payload a
// *ProtocolError. Encode returns one JSON text, which is checked before it is used.
//
// Both must be safe for concurrent use, and must put nothing into an error that is not to be logged.
type ExtensionCodec[T any] interface {
	Decode(payload jsontext.Value) (T, error)
	Encode(value T) (jsontext.Value, error)
}

// ExtensionRegistry holds the codecs of the extensions that a program knows. It is the boundary at which payloads of
// extensions become types of the program's own.
//
// To register an extension advertises and enables nothing. A request declares an extension only if its
// ClientCapabilities have an entry for it (ExtensionKey.Advertise), and only for such a request are the result types and
// _meta keys of the extension in use. What a server declares beyond the registry stays in Capabilities as it was received
// and has no effect.
//
// Connect takes a copy: what is registered later counts for later connections. A registry is safe for concurrent use.
//
// Spec: 2026-07-28 basic/versioning#extensions.
type ExtensionRegistry struct {
	mu      sync.Mutex
	ids     map[string]bool
	results map[string]*resultCodec // by result type
	metas   map[string]*metaKey     // by key
}

// resultCodec is a result type that an extension adds.
type resultCodec struct {
	extension, typ string
	decode         func(jsontext.Value) (any, error)
}

// metaKey is a _meta key that an extension defines.
type metaKey struct{ extension, key string }

// NewExtensionRegistry returns an empty registry.
func NewExtensionRegistry() *ExtensionRegistry {
	return &ExtensionRegistry{ids: map[string]bool{}, results: map[string]*resultCodec{}, metas: map[string]*metaKey{}}
}

// WithExtensions gives the client the codecs of r, as they are when Connect is called.
func WithExtensions(r *ExtensionRegistry) Option {
	return func(o *options) { o.extensions = r }
}

// snapshot copies what requests and answers are held against.
func (r *ExtensionRegistry) snapshot() *ExtensionRegistry {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &ExtensionRegistry{ids: maps.Clone(r.ids), results: maps.Clone(r.results), metas: maps.Clone(r.metas)}
}

// ExtensionKey refers to a registered extension whose settings are of type T.
type ExtensionKey[T any] struct {
	registry *ExtensionRegistry
	id       string
	codec    ExtensionCodec[T]
}

// RegisterExtension adds an extension: id is its identifier, a prefix, a slash and a name, of a vendor
// ("com.example/tides") or official ("io.modelcontextprotocol/tasks"); codec is that of its settings, which both sides
// declare as a JSON object.
//
// The error is a *RequestError if the identifier is malformed or is registered already.
func RegisterExtension[T any](r *ExtensionRegistry, id string, codec ExtensionCodec[T]) (ExtensionKey[T], error) {
	refuse := func(reason string) (ExtensionKey[T], error) {
		return ExtensionKey[T]{}, &RequestError{Reason: "extension " + quote(id) + ": " + reason}
	}
	switch {
	case r == nil || codec == nil:
		return refuse("registry or codec is nil")
	case !isExtensionID(id):
		return refuse("is no identifier, want a prefix, a slash and a name")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids[id] {
		return refuse("is registered already")
	}
	r.ids[id] = true
	return ExtensionKey[T]{registry: r, id: id, codec: codec}, nil
}

// isExtensionID reports whether id is a well-formed _meta key with a prefix, which here is not optional.
func isExtensionID(id string) bool {
	return len(id) <= maxExtensionName && strings.Contains(id, "/") && checkMetaKey(id) == ""
}

// maxExtensionName bounds identifiers, result types and keys that are registered.
const maxExtensionName = 256

// ID returns the extension's identifier.
func (k ExtensionKey[T]) ID() string { return k.id }

// FromServer returns the settings that the server declares for the extension, and whether it declares it. Settings that
// the codec refuses are a *ProtocolError.
func (k ExtensionKey[T]) FromServer(d *Discovery) (T, bool, error) {
	var none T
	settings, ok := d.Capabilities.Extensions[k.id]
	if !ok || k.codec == nil {
		return none, false, nil
	}
	value, err := k.codec.Decode(settings)
	if err != nil {
		f := faultf("settings are refused by the codec of the extension").under(k.id).under("extensions").under("capabilities")
		return none, true, &ProtocolError{Method: methodDiscover, Path: f.path, Reason: f.reason, Err: err}
	}
	return value, true, nil
}

// Advertise declares the extension in c, with settings, in place of what c declared for it. Nothing is sent: c takes
// effect by WithCapabilities or RequestMeta.Capabilities. Copies of c that were made before are not changed.
//
// The error is a *RequestError if the codec refuses the settings, or what it returns is no JSON object of at most 64 KiB
// and 64 levels.
func (k ExtensionKey[T]) Advertise(c *ClientCapabilities, settings T) error {
	if k.codec == nil || c == nil {
		return &RequestError{Reason: "extension key or capabilities are nil"}
	}
	raw, err := k.codec.Encode(settings)
	if err == nil {
		err = strictjson.CheckObject(raw, extensionLimits)
	}
	if err != nil {
		return &RequestError{Reason: "settings of extension " + quote(k.id), Err: err}
	}
	extensions := maps.Clone(c.Extensions)
	if extensions == nil {
		extensions = map[string]jsontext.Value{}
	}
	extensions[k.id] = jsontext.Value(strictjson.AppendCompact(nil, raw))
	c.Extensions = extensions
	return nil
}

// extensionLimits bound one payload that a codec writes.
var extensionLimits = strictjson.Limits{Bytes: maxExtraBytes, Depth: defaultSchemaDepth}

// checkExtensions refuses declarations of extensions that could not be sent.
func checkExtensions(extensions map[string]jsontext.Value) string {
	total := 0
	for id, settings := range extensions {
		if !isExtensionID(id) {
			return "extension " + quote(id) + " is no identifier, want a prefix, a slash and a name"
		}
		if err := strictjson.CheckObject(settings, extensionLimits); err != nil {
			return "settings of extension " + quote(id) + ": " + err.Error()
		}
		if total += len(id) + len(settings); total > maxExtraBytes {
			return "declared extensions have more than 64 KiB"
		}
	}
	return ""
}
