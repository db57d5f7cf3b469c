package mcp

import "github.com/go-json-experiment/json/jsontext"

// Wire is the part of a value that came from the peer: the exact bytes it was decoded from. Every type of this package
// that describes something received embeds it, so members that this package does not know are never lost.
//
// The zero Wire belongs to a value that was built by hand.
type Wire struct{ raw jsontext.Value }

// Raw returns the JSON text as it was received, without surrounding white space; nil for a value built by hand. The bytes
// are shared and must not be changed.
func (w Wire) Raw() jsontext.Value { return w.raw }
