package mcp

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// traceLog keeps what a client traces.
type traceLog struct {
	mu     sync.Mutex
	events []TraceEvent
}

func (l *traceLog) add(e TraceEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *traceLog) all() []TraceEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// find returns the events of a kind and a method.
func (l *traceLog) find(kind TraceKind, method string) []TraceEvent {
	var out []TraceEvent
	for _, e := range l.all() {
		if e.Kind == kind && e.Method == method {
			out = append(out, e)
		}
	}
	return out
}

// escapedForms are the forms of a secret that a peer may say, as they stand in a JSON text.
func escapedForms(value string) string {
	var u strings.Builder
	for _, r := range value {
		fmt.Fprintf(&u, `\u%04X`, r)
	}
	return jsonText(value) + `,"` + u.String() + `",` + jsonText(url.QueryEscape(value)) + "," + jsonText(jsonText(value)) + `,"` + hex.EncodeToString([]byte(value)) + `"`
}

// TestTraceBothWays: every message is told in both directions, with the headers of HTTP, and a secret that stands in any of
// them in any form is not. Without the redactor it is, which shows that it could be.
func TestTraceBothWays(t *testing.T) {
	for _, over := range []string{"stdio", "http"} {
		for _, value := range spoken {
			for _, redacting := range []bool{false, true} {
				forms := escapedForms(value)
				answer := func(c *mcptest.Conn, r mcptest.Request) {
					c.Line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":[` + forms + `]}}`)
					c.Result(r, `{"resultType":"complete","content":[],"structuredContent":[`+forms+`]}`)
				}
				var tr Transport
				if over == "stdio" {
					p := mcptest.Pipe(t, mcptest.Serve(answer))
					tr = NewIOTransport(p.R, p.W)
				} else {
					p := mcptest.HTTP(t, func(c *mcptest.Conn, r mcptest.Request) {
						if r.Method != "tools/call" {
							mcptest.Serve(answer)(c, r)
							return
						}
						body := "data: " + `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":[` + forms + `]}}` + "\n\n" +
							"data: " + `{"jsonrpc":"2.0","id":` + r.ID + `,"result":{"resultType":"complete","content":[],"structuredContent":[` + forms + `]}}` + "\n\n"
						fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nSet-Cookie: %s\r\nX-%s: 1\r\nServer: harbour\r\nContent-Length: %d\r\n\r\n%s", spoken[0], spoken[0], len(body), body)
					})
					own := NewStreamableHTTPTransport(p.URL + "?key=" + url.QueryEscape(value))
					own.AllowPrivate = true
					own.Headers = http.Header{"X-Key": {"Gh3Jx8Wq"}}
					tr = own
				}
				var log traceLog
				opts := []Option{WithName("server.harbour"), WithTrace(log.add)}
				if redacting {
					opts = append(opts, WithRedactor(secret.NewRedactor(secret.New(value, "x")).Redact))
				}
				c, err := Connect(short(t), tr, opts...)
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, tide), Arguments: jsontext.Value(`{"harbour":` + jsonText(value) + `}`)})
				if err != nil {
					t.Fatal(err)
				}
				closed(t, c)
				if testing.Verbose() && redacting && value == spoken[0] {
					for _, e := range log.all() {
						t.Logf("%+v", e)
					}
				}
				f := spokenIn(fmt.Sprintf("%+v", log.all()), value)
				if redacting != (f == "") {
					t.Errorf("over %s, redacting %t: %q is in the trace", over, redacting, f)
				}
				if strings.Contains(fmt.Sprintf("%+v", log.all()), "Gh3Jx8Wq") {
					t.Error("the value of a header is in the trace")
				}
				for _, method := range []string{"server/discover", "tools/call"} {
					sent, got := log.find(TraceSent, method), log.find(TraceReceived, method)
					if len(sent) != 1 || len(got) != 1 || sent[0].ID == "" || sent[0].ID != got[0].ID || sent[0].Server != "server.harbour" || sent[0].Size < 50 || got[0].Size < 50 {
						t.Fatalf("over %s: %s was sent as %+v and answered as %+v", over, method, sent, got)
					}
					if !strings.HasPrefix(sent[0].Text, `{"jsonrpc":"2.0","id":`+sent[0].ID+`,"method":"`+method+`"`) || !strings.Contains(got[0].Text, `"resultType":"complete"`) {
						t.Errorf("over %s: %s was sent as %s and answered as %s", over, method, sent[0].Text, got[0].Text)
					}
					if over == "stdio" {
						continue
					}
					status := log.find(TraceStatus, method)
					if len(status) != 1 || status[0].Status != 200 || !slices.Contains(sent[0].Header, "X-Key") || !slices.Contains(sent[0].Header, "Mcp-Method: "+method) ||
						!strings.HasPrefix(sent[0].URL, "http://127.0.0.1:") || strings.Contains(sent[0].URL, "key") || sent[0].Redirected {
						t.Errorf("%s: status %+v, sent to %s with %q", method, status, sent[0].URL, sent[0].Header)
					}
					if method == "tools/call" && !slices.Equal(status[0].Header, []string{"Content-Length: " + fmt.Sprint(contentLength(status[0].Header)), "Content-Type: text/event-stream", "Server", "Set-Cookie", "and 1 more"}) {
						t.Errorf("header of the answer: %q", status[0].Header)
					}
				}
				if note := log.find(TraceReceived, "notifications/message"); len(note) != 1 || note[0].ID != "" {
					t.Errorf("over %s: the notification is traced as %+v", over, note)
				}
			}
		}
	}
}

func contentLength(header []string) (n int) {
	for _, h := range header {
		_, _ = fmt.Sscanf(h, "Content-Length: %d", &n)
	}
	return n
}

// TestTraceIsBounded: a message is cut at 4 KiB and its size told; a secret at the cut leaves nothing of itself, and what
// cannot be seen is.
func TestTraceIsBounded(t *testing.T) {
	const bound = 4 << 10
	value := spoken[0]
	redact := WithRedactor(secret.NewRedactor(secret.New(value, "x")).Redact)
	result := func(n int, end string) string {
		return `{"resultType":"complete","content":[],"x":"` + strings.Repeat("p", n) + end + `"}`
	}
	call := func(result string) TraceEvent {
		t.Helper()
		var log traceLog
		p := mcptest.Pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, result) }))
		c, err := Connect(short(t), NewIOTransport(p.R, p.W), redact, WithTrace(log.add))
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, c)
		if _, err := c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, tide), Arguments: jsontext.Value(`{"harbour":"north"}`)}); err != nil {
			t.Fatal(err)
		}
		got := log.find(TraceReceived, "tools/call")
		if len(got) != 1 {
			t.Fatalf("traced: %+v", got)
		}
		return got[0]
	}
	empty := call(result(0, ""))
	whole := call(result(bound-len(empty.Text), ""))
	if len(whole.Text) != bound || whole.Size != bound || strings.HasSuffix(whole.Text, "…") {
		t.Errorf("%d bytes are shown as %d: …%s", whole.Size, len(whole.Text), whole.Text[len(whole.Text)-20:])
	}
	longer := call(result(bound-len(empty.Text)+1, ""))
	if len(longer.Text) > bound || longer.Size != bound+1 || !strings.HasSuffix(longer.Text, "ppp…") {
		t.Errorf("%d bytes are shown as %d: …%s", longer.Size, len(longer.Text), longer.Text[len(longer.Text)-20:])
	}
	if big := call(result(3<<20, value)); len(big.Text) > bound || big.Size < 3<<20 {
		t.Errorf("%d bytes are shown as %d", big.Size, len(big.Text))
	}
	for n := bound - len(empty.Text) - len(value) - 2; n < bound-len(empty.Text)+6; n++ {
		if e := call(result(n, value)); spokenIn(e.Text, value) != "" {
			t.Fatalf("behind %d bytes: …%s", n, e.Text[len(e.Text)-60:])
		}
	}
	if e := call(result(0, "a\u200b\u202e\U000e0041é")); !strings.Contains(e.Text, `"a\u200b\u202e\U000e0041é"`) {
		t.Errorf("what cannot be seen is shown as %s", e.Text)
	}
}

// TestTraceOfAChild: start, standard error and end of a child are told, of its environment the names.
func TestTraceOfAChild(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	value := "Qz7WKp9LmVb5Tn8R\nc3YwX2kQ" // the second line is too short to be looked for alone
	dir := t.TempDir()
	said := "one\x1b[31m " + value + "\r\n" + strings.Repeat("p", 70<<10) + " " + value + "\nlast " + value
	if err := os.WriteFile(filepath.Join(dir, "said"), []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	var log traceLog
	tr := NewStdioTransport("/bin/sh", []string{"-c", "cat said >&2; exit 3", value})
	tr.Dir, tr.Env = dir, []string{"KEY=" + value, "PATH=" + os.Getenv("PATH")}
	_, err := Connect(short(t), tr, WithTrace(log.add), WithName("server.depot"), WithRedactor(secret.NewRedactor(secret.New(value, "x")).Redact))
	as[*TransportError](t, err)
	events := log.all()
	first, last := events[0], log.find(TraceExit, "")
	if first.Kind != TraceStart || first.Command != "/bin/sh" || first.Args != 3 || first.PID == 0 || !slices.Equal(first.Env, []string{"KEY", "PATH"}) || first.Server != "server.depot" {
		t.Errorf("the start is %+v", first)
	}
	if len(last) != 1 || last[0].Exit != "exit status 3" || last[0].PID != first.PID {
		t.Errorf("the end is %+v", last)
	}
	var lines []string
	for _, e := range log.find(TraceStderr, "") {
		lines = append(lines, e.Text)
		if len(e.Text) > 4<<10 {
			t.Errorf("%d bytes of a line are shown", len(e.Text))
		}
	}
	if len(lines) < 3 || !strings.HasPrefix(lines[0], `one\x1b[31m `+secret.Mask) || !strings.HasPrefix(lines[1], "ppp") || !strings.HasSuffix(lines[1], "…") || lines[len(lines)-1] != "last "+secret.Mask {
		t.Errorf("standard error is traced as %.200q", lines)
	}
	if f := spokenIn(fmt.Sprintf("%+v", events), value); f != "" {
		t.Errorf("%q is in the trace", f)
	}
}

// TestTraceOfRefusals: the bodies of errors and redirects are told as well.
func TestTraceOfRefusals(t *testing.T) {
	value := spoken[0]
	for _, status := range []int{http.StatusUnauthorized, http.StatusInternalServerError, http.StatusTemporaryRedirect} {
		p := mcptest.HTTP(t, func(c *mcptest.Conn, r mcptest.Request) {
			text := "no: " + value
			fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Type: text/plain; x=%s\r\nLocation: /x/%s?k=%s\r\nContent-Length: %d\r\n\r\n%s", status, value, value, value, len(text), text)
		})
		tr := NewStreamableHTTPTransport(p.URL)
		tr.AllowPrivate, tr.Redirects = true, 1
		var log traceLog
		if _, err := Connect(short(t), tr, WithTrace(log.add), WithRedactor(secret.NewRedactor(secret.New(value, "x")).Redact), WithTimeouts(Timeouts{Discover: 5 * time.Second})); err == nil {
			t.Fatal("no error")
		}
		got, sent := log.find(TraceStatus, "server/discover"), log.find(TraceSent, "server/discover")
		body := log.find(TraceReceived, "server/discover")
		switch {
		case len(got) == 0 || got[0].Status != status || !slices.Contains(got[0].Header, "Content-Type: text/plain; x="+secret.Mask):
			t.Errorf("%d: %+v", status, got)
		case status == http.StatusTemporaryRedirect:
			if len(sent) != 2 || sent[0].Redirected || !sent[1].Redirected || !strings.HasSuffix(sent[1].URL, "/x/"+secret.Mask) {
				t.Errorf("%d: sent %+v", status, sent)
			}
		case len(body) != 1 || body[0].Text != "no: "+secret.Mask || body[0].Size != 4+len(value):
			t.Errorf("%d: %+v", status, body)
		}
		if f := spokenIn(fmt.Sprintf("%+v", log.all()), value); f != "" {
			t.Errorf("%d: %q is in the trace", status, f)
		}
	}
}
