package mcp

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Wire is the part of a value that came from the peer: the exact bytes it was decoded from. Every type of this package
// that describes something received embeds it, so members that this package does not know are never lost.
//
// The zero Wire belongs to a value that was built by hand.
type Wire struct{ raw strictjson.Value }

// Raw returns the JSON text as it was received, without surrounding white space; nil for a value built by hand. The bytes
// are shared and must not be changed.
func (w Wire) Raw() jsontext.Value { return jsontext.Value(w.raw) }

// Member returns the member name, compared byte for byte after unescaping, of the object that was received, and whether
// it is there. A member that is null is there.
func (w Wire) Member(name string) (jsontext.Value, bool) {
	if w.raw.Kind() != strictjson.KindObject {
		return nil, false
	}
	v, ok := w.raw.Get(name)
	return jsontext.Value(v), ok
}
