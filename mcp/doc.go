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
// # Connecting
//
// A [Transport] is made by [NewStdioTransport], which starts a command, [NewStreamableHTTPTransport], which speaks to a URL,
// or [NewIOTransport], which speaks over two streams. [Connect] takes options: who asks ([WithClientInfo]), what the client can
// do ([WithCapabilities], by default nothing), bounds ([WithLimits], [WithTimeouts]), codecs ([WithExtensions]) and who
// watches ([WithTrace]). What the server said of itself is in [Client.Discovery].
//
// # Lists
//
// Tools, resources, resource templates and prompts are read in one of three ways: [Client.ListTools] asks for one page,
// [Client.Tools] yields all items, and [Client.SnapshotTools] takes the whole list or refuses it; [Client.WalkTools] is that
// for those who take one after another. The other kinds have the same methods. A cache hint is a hint: two calls are two
// requests.
//
// # Calls and rounds
//
// [Client.CallTool] calls a tool by its definition, which [ParseTool] reads if it was kept. [Client.ReadResourceRound] and
// [Client.GetPromptRound] are the two other methods that a server may interrupt to ask for input. The outcome is a [Round]: the
// complete result, or an [InputRequired], whose [InputRequired.Answer] makes the [Continuation] of the next call. A server may
// ask only for what the request declared. [Client.ReadResource], [Client.GetPrompt] and [Round.Result] make an error of a round
// that is not complete. [RequestMeta] is what a request says beside its parameters: progress, logs, a timeout, metadata.
//
// A [Registry] holds definitions under unique names; [ToolProxy.Manifest] and [ToolProxy.Execute] are for programs that
// call many tools in one way. [Client.Complete] completes arguments.
//
// # Subscriptions
//
// [Client.Listen] returns once the server has acknowledged. Events of a [Subscription] only say that something has changed.
// Their channel is bounded; [Subscription.Generation] counts every change, whether there was room for it or not.
//
// # Extensions
//
// [Client.Call] sends methods of extensions. An [ExtensionRegistry] turns their settings, result types and metadata into types
// of the program's own; [ExtensionKey.Advertise] declares one for those requests that say so, and nothing else does.
//
// # Digests
//
// [ComputeToolDigest] and its kin identify one definition by all its members, whatever their order and spelling: pins are made
// of that. [ComputeSnapshotDigest] identifies a whole answer, hints included: that is evidence.
//
// # Limits
//
// Everything is bounded, by default so: one message 16 MiB and 128 levels; one list 8 MiB, 1,000 pages and 10,000
// items; a name 1 KiB, a URI or template 8 KiB, each schema of a tool 256 KiB and 64 levels; 100 progress notes and 100
// log messages per call, a note's text 1 KiB, a log message 64 KiB and all of one call 1 MiB; the kept end of a child's
// standard error 64 KiB; 64 subscriptions at a time, each with 64 changes of 16 KiB that wait; caller metadata 64 keys
// and 64 KiB, a request 16 MiB; an excerpt of peer text in an error 256 bytes, a text of a trace 4 KiB; a snapshot's encoding
// 8 MiB. Over HTTP the
// header of an answer 256 KiB, its events 10,000, a challenge 4 KiB, the body of a refusal 256 KiB; 256 connections.
// Connecting may take 5 s, discovery 10 s, a list 20 s, a call 60 s and never more than 10 min, and a message that has begun
// may pause for 10 s. Limits and Timeouts change most of them.
//
// A passed limit is a *LimitError, never a cut value; only texts for reading are cut. Notifications beyond a limit are
// dropped and counted (Client.Dropped); those of a subscription are counted by generation before that.
//
// # Errors
//
// All error types are pointers for errors.As. If the caller's context has ended, its error wins (*ContextError). Delivered
// tells whether a failed call may have had effect.
//
// In the drawing of the project it stands on internal/transport (and through it internal/jsonrpc and
// internal/strictjson), internal/mcpheader, internal/digest and internal/schema; gate and internal/observe stand on it.
package mcp
