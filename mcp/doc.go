// Package mcp is a strict client for the Model Context Protocol, revision 2026-07-28 and no other.
//
//	client, err := mcp.Connect(ctx, mcp.NewStdioTransport("my-mcp-server", nil))
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	snapshot, err := client.SnapshotTools(ctx)
//
// Connect sends server/discover first and goes on only with a server that offers exactly this revision. There is no
// initialize, no session, no negotiation and no fallback. The package never retries, answers a round, caches or refreshes
// by itself, and what a peer sends is either exactly what the specification allows or a typed error.
//
// Every value that came from a peer keeps the exact bytes it came in (Wire), so that its digest, and whoever it is handed
// on to, see what the server said. A tool is called by its definition, not by its name alone: what was pinned is what
// headers and result checks are made from.
//
// It contains no server, no policy and no pins: package gate puts this client behind a lock.
//
// # Limits
//
// Everything is bounded: see Limits and Timeouts for the numbers. A passed limit is a *LimitError, never a cut value.
//
// # Errors
//
// All error types are pointers for errors.As. If the caller's context has ended, its error wins (*ContextError). Delivered
// tells whether a failed call may have had effect.
//
// In the drawing of the project it stands on internal/transport (and through it internal/jsonrpc and
// internal/strictjson), internal/mcpheader, internal/digest and internal/schema; gate and internal/observe stand on it.
package mcp
