// Package client holds tests of the public package mcp, used as a host would use it, against servers that share no code with
// it: programs of the official Go SDK and of mcp-go as they come, and a ferry office written once with mcp-go
// (testdata/peers-mcpgo) and once with the TypeScript SDK (conformance/typescript).
//
// The versions of all of them are pinned. What a server is known to offer stands in the test, so that a client that loses
// something fails. The TypeScript server needs npm: it is installed when its test runs, and the test fails if that fails.
package client
