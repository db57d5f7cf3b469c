//go:build linux

package upstream

import "github.com/mcpcat-dev/mcpcat/internal/mcptest"

// messageWants is what becomes of the messages that are wrong whatever carries them. CARRIER stands for what the transport
// says of the place. Over stdio those that are no message of the protocol end the connection (frame); the others, and all
// over HTTP, fail one request.
var messageWants = []struct {
	names []string
	frame bool
	want  want
}{
	{[]string{"not-json", "control-bytes", "nul-bytes"}, true, want{kind: "not JSON", seen: "ProtocolError CARRIER (at the top: got a byte, want a value)"}},
	{[]string{"cut-message"}, true, want{kind: "JSON cut off", seen: "ProtocolError CARRIER (at P got the end of the text)"}},
	{[]string{"two-messages", "text-behind"}, true, want{kind: "something behind the message", seen: "ProtocolError CARRIER (at the top: bytes after the value)"}},
	{[]string{"batch"}, true, want{kind: "batch", seen: "ProtocolError CARRIER (not a JSON-RPC message: got an array (a batch), want an object)"}},
	{[]string{"number"}, true, want{kind: "no object", seen: "ProtocolError CARRIER (not a JSON-RPC message: got a number, want an object)"}},
	{[]string{"duplicate-member", "duplicate-escaped"}, true, want{kind: "duplicate member", seen: "ProtocolError CARRIER (at the top: duplicate member name …)"}},
	{[]string{"depth-bomb"}, true, want{kind: "too deep", seen: "LimitError at P nested deeper than 128"}},
	{[]string{"result-and-error"}, true, want{kind: "result and error", seen: "ProtocolError CARRIER (not a JSON-RPC message: got both result and error, want one)"}},
	{[]string{"no-result", "result-of-another-case"}, true, want{kind: "neither result nor error", seen: "ProtocolError CARRIER (not a JSON-RPC message: got none of method, result and error)"}},
	{[]string{"wrong-version"}, true, want{kind: "another JSON-RPC", seen: "ProtocolError CARRIER (not a JSON-RPC message: member jsonrpc is not the string 2.0)"}},
	{[]string{"no-version"}, true, want{kind: "no JSON-RPC", seen: "ProtocolError CARRIER (not a JSON-RPC message: member jsonrpc is missing)"}},
	{[]string{"foreign-id", "id-as-text"}, true, want{kind: "answer to nobody", seen: "ProtocolError answer to id"}},
	{[]string{"foreign-error"}, true, want{kind: "error to nobody", seen: "ProtocolError answer to id: JSON-RPC error -32603"}},
	{[]string{"null-id"}, true, want{kind: "result with null id", seen: "ProtocolError CARRIER (not a JSON-RPC message: id is null, want a string or a whole number)"}},
	{[]string{"null-id-error", "no-id-error"}, true, want{kind: "error without id", seen: "ProtocolError answer without an id: JSON-RPC error -32700"}},
	{[]string{"no-id"}, true, want{kind: "result without id", seen: "ProtocolError CARRIER (not a JSON-RPC message: result without id)"}},
	{[]string{"fraction-id"}, true, want{kind: "fractional id", seen: "ProtocolError CARRIER (not a JSON-RPC message: id is a number with fraction or exponent, want a string or a whole number)"}},
	{[]string{"object-id"}, true, want{kind: "id of another type", seen: "ProtocolError CARRIER (not a JSON-RPC message: id is an object, want a string or a whole number)"}},
	{[]string{"result-no-object"}, true, want{kind: "result is no object", seen: "ProtocolError CARRIER (not a JSON-RPC message: member result is a string, want an object)"}},
	{[]string{"error-no-object"}, true, want{kind: "error is no object", seen: "ProtocolError CARRIER (not a JSON-RPC message: member error is a string, want an object)"}},
	{[]string{"error-without-code"}, true, want{kind: "error without code", seen: "ProtocolError CARRIER (not a JSON-RPC message: error.code is missing)"}},
	{[]string{"server-request"}, true, want{kind: "request of the server", seen: "ProtocolError the server sent a request, which it may not"}},
	{[]string{"echo"}, true, want{kind: "echo", seen: "ProtocolError the server sent the request back", at: at(mcptest.StepDiscover, "NotMCPError it sends back what it is sent")}},
	{[]string{"bad-utf8"}, true, want{kind: "not UTF-8", seen: "ProtocolError CARRIER (at P invalid UTF-8)"}},
	{[]string{"byte-order-mark"}, true, want{kind: "byte order mark", seen: "ProtocolError CARRIER (at the top: byte order mark before the value)"}},
	{[]string{"lone-surrogate"}, true, want{kind: "lone surrogate", seen: "ProtocolError CARRIER (at P escaped surrogate without its partner)"}},
	{[]string{"no-result-type"}, false, want{kind: "no resultType", seen: "ProtocolError /resultType is missing, want …"}},
	{[]string{"unknown-result-type"}, false, want{kind: "unknown resultType", seen: "ProtocolError /resultType is …, which is no result type of this revision"}},
	{[]string{"input-required-empty"}, false, want{
		kind: "interim result", seen: "ProtocolError /resultType is …, which M may not answer",
		at: at(mcptest.StepCall, "ProtocolError  has neither inputRequests nor requestState, want at least one of them"),
	}},
	{[]string{"error"}, false, want{kind: "error of the server", seen: "RPCError -32603"}},
	{[]string{"header-mismatch"}, false, want{kind: "header mismatch", seen: "HeaderMismatchError"}},
	{[]string{"capability"}, false, want{kind: "missing capability", seen: "MissingCapabilityError malformed=false"}},
	{[]string{"capability-malformed"}, false, want{kind: "missing capability, unclear", seen: "MissingCapabilityError malformed=true"}},
	{[]string{"version"}, false, want{kind: "another version", seen: "UnsupportedVersionError malformed=false"}},
	{[]string{"version-malformed"}, false, want{kind: "another version, unclear", seen: "UnsupportedVersionError malformed=true"}},
	{[]string{"legacy"}, false, want{kind: "unknown method", seen: "RPCError -32601", at: at(mcptest.StepDiscover, "LegacyServerError")}},
}

// listenWants are the faults of subscriptions.
var listenWants = map[string]want{
	"event-before-acknowledgement":  {kind: "event before acknowledgement", seen: "ProtocolError  notifications/tools/list_changed: came before the acknowledgement"},
	"acknowledges-another":          {kind: "another subscription", seen: "ProtocolError " + subscriptionPath + " notifications/subscriptions/acknowledged: " + anotherID},
	"acknowledges-as-text":          {kind: "another subscription", seen: "ProtocolError " + subscriptionPath + " notifications/subscriptions/acknowledged: " + anotherID},
	"acknowledges-nothing":          {kind: "no subscription", seen: "ProtocolError /_meta notifications/subscriptions/acknowledged: is missing, want an object with the subscription's id"},
	"acknowledges-more":             {kind: "more than asked", seen: "ProtocolError /notifications/promptsListChanged notifications/subscriptions/acknowledged: was not asked for"},
	"result-before-acknowledgement": {kind: "result before acknowledgement", seen: "ProtocolError  the result came before the acknowledgement"},
	"cancel-before-acknowledgement": {kind: "cancelled before acknowledgement", seen: "ProtocolError  notifications/cancelled: came before the acknowledgement"},
	"second-acknowledgement":        {kind: "second acknowledgement", seen: "ProtocolError  notifications/subscriptions/acknowledged: came twice"},
	"event-of-another":              {kind: "another subscription", seen: "ProtocolError " + subscriptionPath + " notifications/tools/list_changed: " + anotherID},
	"event-without-id":              {kind: "no subscription", seen: "ProtocolError /_meta notifications/tools/list_changed: is missing, want an object with the subscription's id"},
	"event-not-asked-for":           {kind: "event not asked for", seen: "ProtocolError  notifications/prompts/list_changed: is not in the acknowledged filter"},
	"result-of-another":             {kind: "another subscription", seen: "ProtocolError " + subscriptionPath + " " + anotherID},
	"server-cancels":                {kind: "cancelled by the server", seen: "ErrSubscriptionCancelled"},
	"server-ends":                   {kind: "ended by the server", seen: "success"},
}

const (
	subscriptionPath = "/_meta/io.modelcontextprotocol~1subscriptionId"
	anotherID        = "is not the id of the subscription, want the request's id with its type"
)
