package mcp

import (
	"maps"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// ExtensionResult is a result whose resultType an extension has added. It is an outcome of its own, neither complete nor
// a question: what it means, the extension says. ResultKey.From gives it as the type of its codec.
type ExtensionResult struct {
	Wire
	Type      string // resultType
	Extension string // the identifier of the extension that defines it

	codec *resultCodec
	value any
}

// ExtensionResultError is how a method that has no Round returns an ExtensionResult. The server has answered; it is an
// outcome, not a failure.
type ExtensionResultError struct {
	Method string
	Result *ExtensionResult
}

// Error gives the type of the result and the extension that it belongs to.
func (e *ExtensionResultError) Error() string {
	s := "server answered with a result of type " + quote(e.Result.Type) + " of extension " + quote(e.Result.Extension)
	if e.Method != "" {
		s = e.Method + ": " + s
	}
	return s
}

// ResultKey refers to a result type of an extension, whose results are decoded to a T.
type ResultKey[T any] struct{ codec *resultCodec }

// RegisterResultType adds a result type to a registered extension, with the codec of such results. A result of the type
// is accepted as an answer to a request that advertises the extension, and to no other.
//
// The error is a *RequestError if the type is empty, longer than 256 bytes, one of the protocol's own, or registered
// already, by whichever extension.
func RegisterResultType[S, T any](k ExtensionKey[S], resultType string, codec ExtensionCodec[T]) (ResultKey[T], error) {
	refuse := func(reason string) (ResultKey[T], error) {
		return ResultKey[T]{}, &RequestError{Reason: "result type " + quote(resultType) + ": " + reason}
	}
	switch {
	case k.registry == nil || codec == nil:
		return refuse("extension key or codec is nil")
	case resultType == "" || len(resultType) > maxExtensionName || strictjson.Check(strictjson.AppendString(nil, resultType), strictjson.Limits{}) != nil:
		return refuse("is empty, no valid UTF-8 or longer than 256 bytes")
	case resultType == typeComplete || resultType == typeInputRequired:
		return refuse("belongs to the protocol")
	}
	r := k.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.results[resultType] != nil {
		return refuse("is registered already")
	}
	c := &resultCodec{extension: k.id, typ: resultType, decode: func(v jsontext.Value) (any, error) {
		value, err := codec.Decode(v)
		return value, err
	}}
	r.results[resultType] = c
	return ResultKey[T]{codec: c}, nil
}

// From returns the decoded result, and whether r is a result of this key's type.
func (k ResultKey[T]) From(r *ExtensionResult) (T, bool) {
	var none T
	if r == nil || k.codec == nil || r.codec != k.codec {
		return none, false
	}
	value, ok := r.value.(T)
	return value, ok
}

// result reads an answer whose resultType belongs to an extension that the request advertises; nil if it does not.
func (r *ExtensionRegistry) result(result strictjson.Value, declared *ClientCapabilities) (*ExtensionResult, *fault) {
	if r == nil || len(r.results) == 0 || len(declared.Extensions) == 0 {
		return nil, nil
	}
	typ, f := resultType(result)
	if f != nil {
		return nil, f
	}
	c := r.results[typ]
	if c == nil {
		return nil, nil
	}
	if _, advertised := declared.Extensions[c.extension]; !advertised {
		return nil, nil
	}
	if meta, ok := result.Get("_meta"); ok {
		if _, f := decodeResultMeta(meta); f != nil {
			return nil, f
		}
	}
	value, err := c.decode(jsontext.Value(result))
	if err != nil {
		return nil, refusedByCodec(typ, err)
	}
	return &ExtensionResult{Wire: Wire{result}, Type: typ, Extension: c.extension, codec: c, value: value}, nil
}

// MetaKey refers to a _meta key that an extension defines, whose values are of type T.
type MetaKey[T any] struct {
	key   *metaKey
	codec ExtensionCodec[T]
}

// RegisterMetaKey adds a _meta key to a registered extension, with the codec of its values. It is the only way to write a
// key under a prefix that belongs to the protocol, and then the extension must have that prefix itself.
//
// The error is a *RequestError if the key is malformed, has no prefix, is one of the protocol's own or of another
// extension's prefix, or is registered already.
func RegisterMetaKey[S, T any](k ExtensionKey[S], key string, codec ExtensionCodec[T]) (MetaKey[T], error) {
	refuse := func(reason string) (MetaKey[T], error) {
		return MetaKey[T]{}, &RequestError{Reason: "_meta key " + quote(key) + ": " + reason}
	}
	switch {
	case k.registry == nil || codec == nil:
		return refuse("extension key or codec is nil")
	case !isExtensionID(key):
		return refuse("is not well-formed, want a prefix, a slash and a name")
	case isProtocolKey(key):
		return refuse("belongs to the protocol")
	case isReservedKey(key) && !samePrefix(key, k.id):
		return refuse("has a prefix of the protocol that is not the extension's own")
	}
	r := k.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.metas[key] != nil {
		return refuse("is registered already")
	}
	m := &metaKey{extension: k.id, key: key}
	r.metas[key] = m
	return MetaKey[T]{key: m, codec: codec}, nil
}

// isProtocolKey reports whether the protocol itself defines the key, in whatever case its prefix is written.
func isProtocolKey(key string) bool {
	for _, own := range []string{keyVersion, keyCapabilities, keyClientInfo, keyLogLevel, keyServerInfo, "io.modelcontextprotocol/subscriptionId"} {
		if strings.EqualFold(key, own) {
			return true
		}
	}
	return false
}

func samePrefix(a, b string) bool {
	a, _, _ = strings.Cut(a, "/")
	b, _, _ = strings.Cut(b, "/")
	return strings.EqualFold(a, b)
}

// Set makes requests with m carry the key. They are refused, with a *RequestError, unless they advertise the extension and
// their client has it registered. Copies of m that were made before are not changed.
//
// The error is a *RequestError if the codec refuses value, or what it returns is no JSON text of at most 64 KiB and 64
// levels.
func (k MetaKey[T]) Set(m *RequestMeta, value T) error {
	if k.key == nil || m == nil {
		return &RequestError{Reason: "_meta key or metadata are nil"}
	}
	raw, err := k.codec.Encode(value)
	if err == nil {
		err = strictjson.Check(raw, extensionLimits)
	}
	if err != nil {
		return &RequestError{Reason: "value of _meta key " + quote(k.key.key), Err: err}
	}
	entries := maps.Clone(m.extensions)
	if entries == nil {
		entries = map[*metaKey]jsontext.Value{}
	}
	entries[k.key] = jsontext.Value(strictjson.AppendCompact(nil, raw))
	m.extensions = entries
	return nil
}

// From returns the value of the key in a _meta object that was received, and whether it is there. A value that the codec
// refuses is a *ProtocolError.
func (k MetaKey[T]) From(meta jsontext.Value) (T, bool, error) {
	var none T
	if k.key == nil || strictjson.Value(meta).Kind() != strictjson.KindObject {
		return none, false, nil
	}
	v, ok := strictjson.Value(meta).Get(k.key.key)
	if !ok {
		return none, false, nil
	}
	value, err := k.codec.Decode(jsontext.Value(v))
	if err != nil {
		f := faultf("value is refused by the codec of the extension").under(k.key.key).under("_meta")
		return none, true, &ProtocolError{Path: f.path, Reason: f.reason, Err: err}
	}
	return value, true, nil
}

// checkMeta refuses keys of extensions that the request does not advertise or the client does not know.
func (r *ExtensionRegistry) checkMeta(m *RequestMeta, declared *ClientCapabilities) string {
	total := 0
	for k, value := range m.extensions {
		if r == nil || r.metas[k.key] != k {
			return "_meta key " + quote(k.key) + " is of an extension that this client has not registered"
		}
		if _, advertised := declared.Extensions[k.extension]; !advertised {
			return "_meta key " + quote(k.key) + " is of extension " + quote(k.extension) + ", which the request does not advertise"
		}
		if _, twice := m.Extra[k.key]; twice {
			return "_meta key " + quote(k.key) + " is in Extra as well"
		}
		if total += len(k.key) + len(value); total > maxExtraBytes {
			return "_meta keys of extensions have more than 64 KiB"
		}
	}
	return ""
}

func refusedByCodec(typ string, err error) *fault {
	f := faultf("result of type %s is refused by the codec of its extension", peer(typ))
	f.cause = err
	return f
}
