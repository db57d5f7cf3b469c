package mcptest

import (
	"slices"
	"strings"
)

// Transport says how a faulty peer is reached.
type Transport string

// The transports of faulty peers.
const (
	OverStdio Transport = "stdio" // a child process, see Child
	OverHTTP  Transport = "http"  // HTTP/1.1 on a loopback port, see StartFaulty
	OverTLS   Transport = "tls"   // the same in TLS
	OverHTTP2 Transport = "http2" // HTTP/2 in TLS, frame by frame
)

// Step is a part of a session.
type Step string

// The steps of a session, in the order in which they are taken.
const (
	StepDiscover Step = "discover" // reaching the server, and server/discover
	StepList     Step = "list"     // tools/list
	StepCall     Step = "call"     // tools/call
	StepListen   Step = "listen"   // subscriptions/listen up to its acknowledgement
	StepEvents   Step = "events"   // the open subscription behind it
)

// Steps are all steps in order.
var Steps = []Step{StepDiscover, StepList, StepCall, StepListen, StepEvents}

// More than a pipe, and more than the buffers of two sockets, take from a client whose server does not read.
const (
	morePipe   = 256 << 10
	moreSocket = 6 << 20
)

// Fault is one way in which a server can misbehave.
//
// A peer with a fault serves the steps before the chosen one well. At that step it misbehaves, nearly always once: what
// comes after is served well again, as far as anything still works, so that a client which tries again by itself is found
// out by its success. A Fault without a Name is a good server.
type Fault struct {
	// Name is words with hyphens, starting with the transport and a slash: "stdio/banner".
	Name string
	// Over is the transport that it belongs to.
	Over Transport
	// Steps are those at which it can be shown.
	Steps []Step
	// Legal says that the peer is odd and breaks no rule: the client has to cope.
	Legal bool
	// Untouched says that the server says it has not looked at the request, by which the transport may send it once more.
	Untouched bool
	// Between says that the fault shows after the answer before and without a request: over stdio, where the client
	// reads all the time, a test waits until the client has noticed before it takes the step.
	Between bool
	// Big is how many bytes the request of the step must have at least, to be more than what lies between the client and a
	// server that does not read; 0 if any request will do.
	Big int

	always bool // over HTTP: it misbehaves at every request of the step
	stdio  stdioFault
	http   httpFault
	frame  frameFault
}

// At reports whether the fault can be shown at the step.
func (f Fault) At(step Step) bool { return slices.Contains(f.Steps, step) }

// Faults returns all faults, in the order of their tables.
func Faults() []Fault {
	return slices.Concat(stdioFaults(), httpFaults())
}

// FindFault returns the fault of that name.
func FindFault(name string) (Fault, bool) {
	for _, f := range Faults() {
		if f.Name == name {
			return f, true
		}
	}
	return Fault{}, false
}

var (
	allSteps  = Steps
	requests  = Steps[:4] // those that begin with a request
	laterOnes = Steps[1:4]
)

// before is the step before, "" for the first one.
func (s Step) before() Step {
	if i := slices.Index(Steps, s); i > 0 {
		return Steps[i-1]
	}
	return ""
}

// request is the step whose request the step needs: an open subscription begins with the one that asks for it.
func (s Step) request() Step {
	if s == StepEvents {
		return StepListen
	}
	return s
}

// stepOf is the step that a request belongs to, "" if none.
func stepOf(method string) Step {
	return map[string]Step{
		"server/discover": StepDiscover, "tools/list": StepList, "tools/call": StepCall, "subscriptions/listen": StepListen,
	}[method]
}

// A good server, "harbour", with one tool.
const (
	Tools = `{"resultType":"complete","ttlMs":60000,"cacheScope":"public","tools":[{"name":"tide_table",` +
		`"description":"Lists high and low water.","inputSchema":{"type":"object","properties":{"harbour":{"type":"string"}}}}]}`
	Called = `{"resultType":"complete","content":[{"type":"text","text":"High water at 14:05."}]}`
)

// result is the good result of a request. That of a subscription ends it.
func result(r Request) string {
	switch r.Method {
	case "server/discover":
		return Discover
	case "tools/list":
		return Tools
	case "tools/call":
		return Called
	}
	return `{"resultType":"complete","_meta":` + subscription(r.ID) + `}`
}

func subscription(id string) string {
	return `{"io.modelcontextprotocol/subscriptionId":` + id + `}`
}

// respond is a response with the id as it stands on the wire.
func respond(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
}

// acknowledge is the message that opens the subscription id.
func acknowledge(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":` + subscription(id) +
		`,"notifications":{"toolsListChanged":true}}}`
}

// change is an event of the subscription id.
func change(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":` + subscription(id) + `}}`
}

// answer is the good answer to a request: a response, or for a subscription its acknowledgement.
func answer(r Request) string {
	if r.Method == "subscriptions/listen" {
		return acknowledge(r.ID)
	}
	return respond(r.ID, result(r))
}

// half is the first half of a text.
func half(s string) string { return s[:len(s)/2] }

// nested is an object around an object, n deep.
func nested(n int) string {
	return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
}
