// Package interop holds tests that run the built mcpcat binary against programs it shares no code with: servers and a
// client of the official Go SDK, a misbehaving server and a reference client written by hand (all in testdata/peers).
//
// Nothing of mcpcat is imported. Whatever these tests find, a user finds. Run them with -count=1: the cache of go test does
// not know that they build mcpcat from the directory above.
package interop
