package transport

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

// traceBytes is how much of a message or of a line of standard error an Event shows, counted after escaping.
const traceBytes = 4 << 10

// EventKind says what an Event is about.
type EventKind int

// The kinds of events.
const (
	EventSent     EventKind = iota // a message is about to be sent; over HTTP with the request that carries it
	EventReceived                  // a message, or what came in place of one
	EventStatus                    // the status and the header of an HTTP answer, before its body
	EventStderr                    // a line of a child's standard error
	EventStart                     // a child was started
	EventExit                      // it has ended
)

// Event is something that has happened on a connection, for people to read. All texts are redacted whole, then cut, then
// escaped: a text of 4 KiB, a name or a value of 256 bytes.
type Event struct {
	Kind   EventKind
	Method string // of the message, or of the request that it answers; "" if that is not known
	ID     string // of the message, as JSON text; "" if it has none
	Size   int    // bytes of the message, or of the redacted line, before it was cut
	Text   string // the message or the line

	// Over HTTP, of what is sent and of a status.
	URL        string // without user information, query and fragment
	Redirected bool   // the URL is one that the server has named
	Status     int    // of a status
	// Header is the fields, sorted: a name, or where the value can be no secret "name: value". Of an answer fields
	// that are not well known are counted only, since a server can put anything into a name and net/http changes its case.
	Header []string

	// Of a start and an exit.
	Command string // without its arguments
	Args    int    // how many arguments it has
	Env     []string
	PID     int
	Exit    string // how it ended
}

// Trace is told what happens on a connection, by several goroutines, each of which waits for it. Nil is told nothing, which
// costs nothing.
type Trace func(*Event)

// traced is text for an Event.
func (f Redact) traced(text []byte) string { return cutText(f.of(text), traceBytes, appendLegible) }

// word is a name, an id or a value for an Event.
func (f Redact) word(text string) string {
	return cutText(f.of([]byte(text)), defaultExcerpt, appendLegible)
}

// appendLegible is appendEscaped for what stands by itself and not between quotation marks.
func appendLegible(dst, b []byte) ([]byte, int) {
	if b[0] == '"' || b[0] == '\\' {
		return append(dst, b[0]), 1
	}
	return appendEscaped(dst, b)
}

// traceSent tells of a message that is about to be written to a pipe.
func (s *Stdio) traceSent(method string, id jsonrpc.ID, body []byte) {
	e := &Event{Kind: EventSent, Method: s.redact.word(method), Size: len(body), Text: s.redact.traced(body)}
	if !id.IsZero() {
		e.ID = s.redact.word(id.Raw())
	}
	s.trace(e)
}

// traceLine tells of a line that has been read; m is what it holds, nil if it is no message.
func (s *Stdio) traceLine(line []byte, m *jsonrpc.Message) {
	e := &Event{Kind: EventReceived, Size: len(line), Text: s.redact.traced(line)}
	if m != nil {
		method := m.Method
		if method == "" {
			s.mu.Lock()
			if w := s.calls.pending[m.ID]; w != nil {
				method = w.method
			}
			s.mu.Unlock()
		}
		e.about(m, method, s.redact.word)
	}
	s.trace(e)
}

// about says which message it is.
func (e *Event) about(m *jsonrpc.Message, method string, word func(string) string) {
	e.Method = word(method)
	if !m.ID.IsZero() {
		e.ID = word(m.ID.Raw())
	}
}

// traceStart tells of the start of the process.
func (s *Stdio) traceStart(c *StdioConfig) {
	e := s.processEvent(EventStart, c)
	for _, v := range c.Env {
		name, _, _ := strings.Cut(v, "=")
		e.Env = append(e.Env, s.redact.word(name))
	}
	s.trace(e)
}

// traceExit tells of its end.
func (s *Stdio) traceExit(c *StdioConfig, how string) {
	e := s.processEvent(EventExit, c)
	e.Exit = how
	s.trace(e)
}

func (s *Stdio) processEvent(kind EventKind, c *StdioConfig) *Event {
	return &Event{Kind: kind, Command: s.redact.word(c.Command), Args: len(c.Args), PID: s.proc.cmd.Process.Pid}
}

// stderrQuiet is how long standard error is silent before what it said is told.
const stderrQuiet = 50 * time.Millisecond

// maxBefore is how much of the last line that was told is redacted once more with what follows.
const maxBefore = 4 << 10

// stderrTrace tells of standard error line by line. What comes without a pause is redacted together, with the line in front of
// it, since a secret may have several lines, of which a short one is not recognised alone.
type stderrTrace struct {
	s *Stdio

	mu      sync.Mutex
	quiet   *time.Timer
	before  []byte // the end of the last line that was told
	text    []byte // not told yet, at most Limits.StderrBytes
	long    bool   // text is the beginning of a line that is longer
	skipped int    // bytes of that line beyond text
	ended   bool
}

// Write takes what was read at once.
func (t *stderrTrace) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		if t.long {
			end := bytes.IndexByte(p, '\n')
			if end < 0 {
				t.skipped += len(p)
				t.more(p)
				break
			}
			t.skipped += end
			t.cut()
			t.more(p[:end])
			p = p[end+1:]
			continue
		}
		k := min(len(p), t.s.limits.StderrBytes-len(t.text))
		t.text, p = append(t.text, p[:k]...), p[k:]
		if len(p) > 0 && !t.lines() {
			t.long, t.before = true, t.before[:0]
			t.more(t.text)
		}
	}
	if t.quiet == nil {
		t.quiet = time.AfterFunc(stderrQuiet, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if !t.long && !t.ended {
				t.lines()
			}
		})
	} else {
		t.quiet.Reset(stderrQuiet)
	}
	return n, nil
}

// lines tells of the lines that are whole, and reports whether there are any.
func (t *stderrTrace) lines() bool {
	end := bytes.LastIndexByte(t.text, '\n')
	if end < 0 {
		return false
	}
	t.tell(t.text[:end])
	t.text = t.text[:copy(t.text, t.text[end+1:])]
	return true
}

// cut tells of the beginning of a long line, whose last word may be a part of a secret.
func (t *stderrTrace) cut() {
	shown := t.s.redact.traced(withoutLastWord(t.text))
	t.s.trace(&Event{Kind: EventStderr, Size: len(t.text) + t.skipped, Text: shown})
	t.text, t.long, t.skipped = t.text[:0], false, 0
}

// more keeps the end of the line in front.
func (t *stderrTrace) more(line []byte) {
	t.before = append(t.before, line...)
	if n := len(t.before) - maxBefore; n > 0 {
		t.before = t.before[:copy(t.before, t.before[n:])]
	}
}

// tell tells of whole lines. If a secret begins in the line before them, what is behind it on its last line is left out.
func (t *stderrTrace) tell(text []byte) {
	clean := t.s.redact.of(slices.Concat(t.before, []byte("\n"), text))
	t.before = t.before[:0]
	t.more(text[bytes.LastIndexByte(text, '\n')+1:])
	_, clean, found := bytes.Cut(clean, []byte("\n"))
	if !found {
		return
	}
	for line := range bytes.SplitSeq(clean, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		t.s.trace(&Event{Kind: EventStderr, Size: len(line), Text: cutText(line, traceBytes, appendLegible)})
	}
}

// end tells of what is left, when the stream has ended.
func (t *stderrTrace) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.long:
		t.cut()
	case len(t.text) > 0:
		t.tell(bytes.TrimSuffix(t.text, []byte("\n")))
	}
	t.ended = true
	if t.quiet != nil {
		t.quiet.Stop()
	}
}

// drainStderr keeps the end of standard error, and tells of it.
func (s *Stdio) drainStderr() {
	into := io.Writer(s.stderr)
	if s.trace != nil {
		lines := &stderrTrace{s: s}
		defer lines.end()
		into = io.MultiWriter(s.stderr, lines)
	}
	_, _ = io.Copy(into, s.proc.stderr) // ends when the stream does or is closed
}

// traceSent tells of a request that is about to go to target.
func (x *exchange) traceSent(target *url.URL) {
	x.h.trace(&Event{
		Kind: EventSent, Method: x.word(x.call.Method), ID: x.word(x.call.ID.Raw()), Size: len(x.call.Body),
		Text: Redact(x.redact).traced(x.call.Body), URL: x.place(target), Redirected: target != x.h.url, Header: x.fields(x.header, false),
	})
}

// traceStatus tells of the header of an answer.
func (x *exchange) traceStatus(resp *http.Response, target *url.URL) {
	x.h.trace(&Event{
		Kind: EventStatus, Method: x.word(x.call.Method), URL: x.place(target), Redirected: target != x.h.url,
		Status: resp.StatusCode, Header: x.fields(resp.Header, true),
	})
}

// traceBody tells of a body or the data of an event; m is what it holds, nil if it is no message.
func (x *exchange) traceBody(body []byte, size int, m *jsonrpc.Message) {
	e := &Event{Kind: EventReceived, Method: x.word(x.call.Method), Size: size, Text: Redact(x.redact).traced(body)}
	if m != nil {
		method := m.Method
		if method == "" {
			method = x.call.Method
		}
		e.about(m, method, x.word)
	}
	x.h.trace(e)
}

func (x *exchange) word(text string) string { return Redact(x.redact).word(text) }

// place is a URL for people.
func (x *exchange) place(u *url.URL) string {
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	if path := string(x.redact([]byte(u.Path))); path != u.Path {
		shown = u.Scheme + "://" + u.Host + path // whatever the escapes in it were
	}
	return x.quote([]byte(shown))
}

// plainFields are those whose value says nothing that anybody keeps to himself.
var plainFields = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Content-Encoding": true, "Content-Length": true, "Content-Type": true, "Date": true,
	"Mcp-Method": true, "Mcp-Protocol-Version": true, "Retry-After": true,
}

// knownFields are the other fields of an answer whose names are told.
var knownFields = map[string]bool{
	"Age": true, "Allow": true, "Alt-Svc": true, "Cache-Control": true, "Connection": true, "Content-Language": true, "Content-Location": true,
	"Content-Security-Policy": true, "Etag": true, "Expires": true, "Last-Modified": true, "Link": true, "Location": true,
	"Mcp-Session-Id": true, "Proxy-Authenticate": true, "Referrer-Policy": true, "Server": true, "Server-Timing": true, "Set-Cookie": true,
	"Strict-Transport-Security": true, "Trailer": true, "Transfer-Encoding": true, "Vary": true, "Via": true, "Warning": true,
	"Www-Authenticate": true, "X-Accel-Buffering": true, "X-Cache": true, "X-Content-Type-Options": true, "X-Correlation-Id": true,
	"X-Frame-Options": true, "X-Powered-By": true, "X-Ratelimit-Limit": true, "X-Ratelimit-Remaining": true, "X-Ratelimit-Reset": true,
	"X-Request-Id": true, "X-Xss-Protection": true,
}

// fields lists a header for people; theirs says that the server has made it.
func (x *exchange) fields(header http.Header, theirs bool) []string {
	list, others := make([]string, 0, len(header)), 0
	for name, values := range header {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case plainFields[canonical]:
			list = append(list, name+": "+x.word(strings.Join(values, ", ")))
		case theirs && !knownFields[canonical]:
			others++
		default:
			list = append(list, x.word(name))
		}
	}
	slices.Sort(list)
	if others > 0 {
		list = append(list, "and "+strconv.Itoa(others)+" more")
	}
	return list
}
