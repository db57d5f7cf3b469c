// Package gate calls MCP tools behind a lock: a call reaches its server only if the server, asked after the call arrived,
// still offers exactly the definition that was reviewed and pinned.
//
//	g, err := gate.Open(ctx, gate.Options{Dir: "catalog", Agent: "clerk"})
//	if err != nil {
//		return err
//	}
//	defer g.Close()
//	result, err := g.Call(ctx, gate.Request{Name: "harbour__tide_table", Arguments: []byte(`{"date":"2026-10-01"}`)})
//
// A Gate belongs to one agent of one catalog and its lock. It reads both once, contacts servers when they are first
// needed, and writes nothing: what is pinned changes by plan and apply only. Everything that is not certain is a
// *Refusal: an unknown state is never taken for an unchanged one.
//
// It is not an MCP server (internal/proxy puts one in front of it) and it does not judge what a tool does with a call.
// Whoever runs as the same user as this program can change the lock it reads.
//
// In the drawing of the project it stands below the command line and the proxy, and it alone holds upstream sessions at
// run time. It stands on internal/upstream, catalog, lock, schema and package mcp.
package gate
