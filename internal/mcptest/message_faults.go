package mcptest

import "strings"

// messageFault is a message that is none, or none that may stand where the answer is expected. It is the same as a line on
// stdio, as a body and as an event.
type messageFault struct {
	name string
	make func(r Request) string
}

// messageFaults are about single messages. What they have in common: a request waits, and this is what comes for it.
var messageFaults = []messageFault{
	{"not-json", func(Request) string { return "Harbour server 1.0 is ready" }},
	{"control-bytes", func(Request) string { return "\x1b[31mready\x1b[0m\x07" }},
	{"cut-message", func(r Request) string { return half(respond(r.ID, result(r))) }},
	{"two-messages", func(r Request) string { return respond(r.ID, result(r)) + " " + respond(r.ID, result(r)) }},
	{"text-behind", func(r Request) string { return respond(r.ID, result(r)) + " done" }},
	{"batch", func(r Request) string { return "[" + respond(r.ID, result(r)) + "]" }},
	{"number", func(Request) string { return "42" }},
	{"duplicate-member", func(r Request) string {
		return `{"jsonrpc":"2.0","id":` + r.ID + `,"id":` + r.ID + `,"result":` + result(r) + `}`
	}},
	{"duplicate-escaped", func(r Request) string {
		return `{"jsonrpc":"2.0","id":` + r.ID + `,"result":` + result(r) + `,"r\u0065sult":` + result(r) + `}`
	}},
	{"depth-bomb", func(r Request) string { return respond(r.ID, nested(10_000)) }},
	{"result-and-error", func(r Request) string {
		return `{"jsonrpc":"2.0","id":` + r.ID + `,"result":` + result(r) + `,"error":{"code":-32603,"message":"x"}}`
	}},
	{"no-result", func(r Request) string { return `{"jsonrpc":"2.0","id":` + r.ID + `}` }},
	{"result-of-another-case", func(r Request) string { return `{"jsonrpc":"2.0","id":` + r.ID + `,"Result":` + result(r) + `}` }},
	{"wrong-version", func(r Request) string { return `{"jsonrpc":"1.0","id":` + r.ID + `,"result":` + result(r) + `}` }},
	{"no-version", func(r Request) string { return `{"id":` + r.ID + `,"result":` + result(r) + `}` }},
	{"foreign-id", func(r Request) string { return respond("7"+r.ID, result(r)) }},
	{"id-as-text", func(r Request) string { return respond(`"`+r.ID+`"`, result(r)) }},
	{"foreign-error", func(Request) string { return `{"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"boom"}}` }},
	{"null-id", func(r Request) string { return respond("null", result(r)) }},
	{"null-id-error", func(Request) string { return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"boom"}}` }},
	{"no-id", func(r Request) string { return `{"jsonrpc":"2.0","result":` + result(r) + `}` }},
	{"no-id-error", func(Request) string { return `{"jsonrpc":"2.0","error":{"code":-32700,"message":"boom"}}` }},
	{"fraction-id", func(r Request) string { return respond(r.ID+".5", result(r)) }},
	{"object-id", func(r Request) string { return respond("{}", result(r)) }},
	{"result-no-object", func(r Request) string { return respond(r.ID, `"ok"`) }},
	{"error-no-object", func(r Request) string { return `{"jsonrpc":"2.0","id":` + r.ID + `,"error":"boom"}` }},
	{"error-without-code", func(r Request) string { return `{"jsonrpc":"2.0","id":` + r.ID + `,"error":{"message":"boom"}}` }},
	{"server-request", func(Request) string { return `{"jsonrpc":"2.0","id":"s1","method":"roots/list"}` }},
	{"echo", func(r Request) string { return string(r.Raw) }},
	{"bad-utf8", func(r Request) string {
		return strings.Replace(respond(r.ID, result(r)), "complete", "comp\xff\xfelete", 1)
	}},
	{"byte-order-mark", func(r Request) string { return "\ufeff" + respond(r.ID, result(r)) }},
	{"nul-bytes", func(r Request) string { return "\x00\x00" + respond(r.ID, result(r)) }},
	{"lone-surrogate", func(r Request) string {
		return strings.Replace(respond(r.ID, result(r)), "complete", `\ud800`, 1)
	}},
	{"no-result-type", func(r Request) string { return respond(r.ID, `{}`) }},
	{"unknown-result-type", func(r Request) string {
		return respond(r.ID, strings.Replace(result(r), "complete", "partial", 1))
	}},
	{"input-required-empty", func(r Request) string { return respond(r.ID, `{"resultType":"input_required"}`) }},
	{"error", func(r Request) string {
		return `{"jsonrpc":"2.0","id":` + r.ID + `,"error":{"code":-32603,"message":"boom \u001b[31m` + strings.Repeat("x", 4<<10) + `"}}`
	}},
	{"header-mismatch", typedError(-32020, `null`)},
	{"capability", typedError(-32021, `{"requiredCapabilities":{"sampling":{}}}`)},
	{"capability-malformed", typedError(-32021, `{"requiredCapabilities":["sampling"]}`)},
	{"version", typedError(-32022, `{"supported":["2027-01-01"],"requested":"2026-07-28"}`)},
	{"version-malformed", typedError(-32022, `{"supported":"2027-01-01"}`)},
	{"legacy", typedError(-32601, `{}`)},
}

func typedError(code int, data string) func(Request) string {
	return func(r Request) string { return errorWith(r.ID, code, data) }
}

func errorWith(id string, code int, data string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + itoa(code) + `,"message":"boom","data":` + data + `}}`
}
