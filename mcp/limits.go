package mcp

import (
	"fmt"
	"maps"
	"time"
)

// Limits bounds what a Client reads from its peer. A field that is zero has the default given beside it; there is no
// value that means "without a limit", and a negative one makes Connect fail. What passes a limit is refused with a
// *LimitError, except where it says something else here.
type Limits struct {
	MessageBytes int // one line, SSE event or JSON body: 16 MiB
	JSONDepth    int // nesting of one message: 128
	StderrBytes  int // kept end of a child's standard error; what came before is dropped: 64 KiB

	// Over HTTP.
	HeaderBytes    int // header of one answer, with the informational ones before it; answer of a proxy: 256 KiB
	Events         int // SSE events of one answer, the last one included; a subscription may have any number: 10,000
	ChallengeBytes int // WWW-Authenticate headers of one answer; AuthError.Challenge is cut: 4 KiB
	ErrorBytes     int // body of an answer with a status of 400 and more; a longer one is only excerpted: 256 KiB
	Connections    int // TCP connections at a time; a request that finds none free waits for one: 256

	// ExcerptBytes is how much an error quotes of what could not be read as an answer, or of the end of standard error; the
	// rest is cut. Names and texts out of messages that could be read are always cut at 256. 256.
	ExcerptBytes int

	Pages       int // pages of one list: 1,000
	Items       int // items of one list, all pages: 10,000
	ListBytes   int // raw results of one list, all pages: 8 MiB
	NameBytes   int // name of one tool, resource, prompt or prompt argument: 1 KiB
	URIBytes    int // one URI or URI template: 8 KiB
	SchemaBytes int // one inputSchema or outputSchema: 256 KiB
	SchemaDepth int // nesting of one schema: 64

	// What passes these is dropped and counted: see RequestMeta.OnDropped and Client.Dropped.
	Progress int // progress notes handed over per call: 100
	Logs     int // log messages handed over per call: 100
	LogBytes int // parameters of these log messages together: 1 MiB

	Subscriptions int // subscriptions at a time: 64
	Changes       int // announced changes of one subscription that wait to be read; more are counted by generation: 64
}

// The default limits.
const (
	defaultMessageBytes = 16 << 20
	defaultJSONDepth    = 128
	defaultStderrBytes  = 64 << 10
	defaultHeaderBytes  = 256 << 10
	defaultEvents       = 10_000
	defaultChallenge    = 4 << 10
	defaultErrorBytes   = 256 << 10
	defaultConnections  = 256
	defaultPages        = 1_000
	defaultItems        = 10_000
	defaultListBytes    = 8 << 20
	defaultNameBytes    = 1 << 10
	defaultURIBytes     = 8 << 10
	defaultSchemaBytes  = 256 << 10
	defaultSchemaDepth  = 64
	defaultNotes        = 100
	defaultLogBytes     = 1 << 20
	defaultListens      = 64

	// maxNoteBytes bounds the text of one progress note; what is longer is cut, as it is for reading only.
	maxNoteBytes = 1 << 10
	// maxLogBytes bounds the parameters of one log message or progress note; longer ones are dropped and counted.
	maxLogBytes = 64 << 10
)

// fields lists the limits with their names and defaults.
func (l *Limits) fields() []struct {
	name  string
	value *int
	def   int
} {
	return []struct {
		name  string
		value *int
		def   int
	}{
		{"MessageBytes", &l.MessageBytes, defaultMessageBytes},
		{"JSONDepth", &l.JSONDepth, defaultJSONDepth},
		{"StderrBytes", &l.StderrBytes, defaultStderrBytes},
		{"HeaderBytes", &l.HeaderBytes, defaultHeaderBytes},
		{"Events", &l.Events, defaultEvents},
		{"ChallengeBytes", &l.ChallengeBytes, defaultChallenge},
		{"ErrorBytes", &l.ErrorBytes, defaultErrorBytes},
		{"Connections", &l.Connections, defaultConnections},
		{"ExcerptBytes", &l.ExcerptBytes, maxExcerpt},
		{"Pages", &l.Pages, defaultPages},
		{"Items", &l.Items, defaultItems},
		{"ListBytes", &l.ListBytes, defaultListBytes},
		{"NameBytes", &l.NameBytes, defaultNameBytes},
		{"URIBytes", &l.URIBytes, defaultURIBytes},
		{"SchemaBytes", &l.SchemaBytes, defaultSchemaBytes},
		{"SchemaDepth", &l.SchemaDepth, defaultSchemaDepth},
		{"Progress", &l.Progress, defaultNotes},
		{"Logs", &l.Logs, defaultNotes},
		{"LogBytes", &l.LogBytes, defaultLogBytes},
		{"Subscriptions", &l.Subscriptions, defaultListens},
		{"Changes", &l.Changes, defaultListens},
	}
}

// filled returns l with zero fields taken from base, and from the defaults where base is zero too.
func (l Limits) filled(base Limits) (Limits, error) {
	other := base.fields()
	for i, f := range l.fields() {
		if *f.value == 0 {
			*f.value = *other[i].value
		}
		if *f.value == 0 {
			*f.value = f.def
		}
		if *f.value < 0 {
			return l, &RequestError{Method: "connect", Reason: fmt.Sprintf("limit %s is %d, want a positive number, or 0 for the default of %d", f.name, *f.value, f.def)}
		}
	}
	return l, nil
}

// Timeouts bounds how long a Client waits. A field that is zero has the default given beside it; a negative one makes
// Connect fail.
type Timeouts struct {
	Connect  time.Duration // starting the child, or dialling and the TLS handshake: 5 s
	Discover time.Duration // the answer to server/discover, and the acknowledgement of a subscription: 10 s
	List     time.Duration // one list request, and a whole snapshot of a list: 20 s
	Call     time.Duration // one call, read, prompt, completion or extension call: 60 s; RequestMeta.Timeout overrides it
	// Idle is how long a message that has begun may pause, a line on stdio, a JSON body or an SSE event: 10 s. Between
	// messages silence is bounded by the times above, and on a subscription by nothing.
	Idle time.Duration
}

// MaxCallTimeout is the longest that any single call may take, whatever Timeouts.Call and RequestMeta.Timeout say.
const MaxCallTimeout = 10 * time.Minute

func (t Timeouts) filled() (Timeouts, error) {
	for _, f := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"Connect", &t.Connect, 5 * time.Second},
		{"Discover", &t.Discover, 10 * time.Second},
		{"List", &t.List, 20 * time.Second},
		{"Call", &t.Call, 60 * time.Second},
		{"Idle", &t.Idle, 10 * time.Second},
	} {
		if *f.value < 0 {
			return t, &RequestError{Method: "connect", Reason: fmt.Sprintf("timeout %s is %s, want a positive duration, or 0 for the default of %s", f.name, *f.value, f.def)}
		}
		if *f.value == 0 {
			*f.value = f.def
		}
		*f.value = min(*f.value, MaxCallTimeout)
	}
	return t, nil
}

// An Option changes how Connect makes a Client.
type Option func(*options)

type options struct {
	info         Implementation
	capabilities ClientCapabilities
	timeouts     Timeouts
	limits       Limits
	extensions   *ExtensionRegistry
	redact       func([]byte) []byte
	trace        func(TraceEvent)
	name         string
}

// WithClientInfo sets the identity that every request carries as clientInfo. Name must not be empty. The default names
// mcpcat and the version of this module.
func WithClientInfo(info Implementation) Option {
	return func(o *options) { o.info = info }
}

// WithCapabilities sets the client capabilities that requests declare unless RequestMeta.Capabilities says otherwise. The
// default is none: {}. They are never inferred from anything else.
func WithCapabilities(c ClientCapabilities) Option {
	c.Extensions = maps.Clone(c.Extensions)
	return func(o *options) { o.capabilities = c }
}

// WithTimeouts sets the timeouts.
func WithTimeouts(t Timeouts) Option {
	return func(o *options) { o.timeouts = t }
}

// WithRedactor makes everything that is said for people about the server pass through redact, so that a server which
// repeats what it was given (a token in a header, a password in its environment) does not bring it into logs: the texts of
// errors and the peer text in their fields, the end of a child's standard error, and Progress.Message. Each piece of
// peer text is redacted whole, before it is cut or escaped. Redact returns what may be shown; it must not change what it
// is given, and it is called by several goroutines.
//
// What is data stays as it was received: results, definitions, digests, log messages, everything that has a Raw, and
// Message and Data of an *RPCError, whose Error is redacted. The text of a *ToolError is that of a result.
func WithRedactor(redact func(text []byte) []byte) Option {
	return func(o *options) { o.redact = redact }
}

// WithLimits sets the limits; fields that are zero here are taken from the transport's Limits, then from the defaults.
func WithLimits(l Limits) Option {
	return func(o *options) { o.limits = l }
}
