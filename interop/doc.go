// Package interop holds tests that run the built mcpcat binary against programs it shares no code with: servers and a
// client of the official Go SDK, a misbehaving server and a reference client written by hand (all in testdata/peers).
//
// Nothing of mcpcat is imported. Whatever these tests find, a user finds.
package interop
