package transport

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

// streamed makes a call whose answer is the stream in a case's file, in pieces of the given size, 0 for one piece. The
// stream ends after it unless open is set.
func streamed(t *testing.T, dir, file string, c *Call, piece int, open bool) (outcome, []*jsonrpc.Message, *rawServer) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	srv := serveRaw(t, func(p *peer) {
		p.streamHead()
		b := p.withID(text)
		step := piece
		if step == 0 {
			step = len(b)
		}
		for len(b) > 0 {
			n := min(step, len(b))
			if p.chunk(b[:n]) != nil {
				return
			}
			b = b[n:]
		}
		if open {
			p.untilGone()
			return
		}
		io.WriteString(p, "0\r\n\r\n")
	})
	var notes []*jsonrpc.Message
	c.Notify = func(m *jsonrpc.Message) { notes = append(notes, m) }
	h := srv.client(t)
	m, err := h.Do(t.Context(), c)
	for _, r := range srv.requests() {
		if r.header.Get("Last-Event-Id") != "" {
			t.Errorf("%s: Last-Event-ID was sent", file)
		}
	}
	if n := len(srv.requests()); n != 1 {
		t.Errorf("%s: %d requests, want one", file, n)
	}
	return outcome{m, err}, notes, srv
}

// withToken is a call that asks for progress.
func withToken(id int, token string) *Call {
	c := call(id, "tools/list")
	c.Body = body(id, "tools/list", `{"_meta":{"progressToken":`+token+`}}`)
	return c
}

func TestCaseAfterTheAnswer(t *testing.T) {
	begin := time.Now()
	o, notes, _ := streamed(t, casetest.Dir(t, "sse/after-the-answer"), "stream.sse", withToken(1, `"p-1"`), 0, true)
	good(t, o, "1")
	if len(notes) != 0 {
		t.Errorf("%d notifications from behind the answer", len(notes))
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %v with the stream open", took)
	}
}

func TestCaseBytewiseStream(t *testing.T) {
	dir := casetest.Dir(t, "sse/bytewise-stream")
	one, _, _ := streamed(t, dir, "stream.sse", withToken(1, `"p-1"`), 0, false)
	cut, notes, _ := streamed(t, dir, "stream.sse", withToken(1, `"p-1"`), 1, false)
	want, got := good(t, one, "1"), good(t, cut, "1")
	if got != want || !strings.Contains(got, "潮位 🌊 højvande") || len(notes) != 1 {
		t.Errorf("bytewise: %s with %d notifications\nin one piece: %s", got, len(notes), want)
	}
}

func TestCaseComments(t *testing.T) {
	o, _, _ := streamed(t, casetest.Dir(t, "sse/comments"), "stream.sse", call(1, "tools/list"), 0, false)
	if result := good(t, o, "1"); !strings.Contains(result, "Lists high and low water for one harbour and one day.") {
		t.Errorf("result %s", result)
	}
}

func TestCaseCRLFLines(t *testing.T) {
	o, notes, _ := streamed(t, casetest.Dir(t, "sse/crlf-lines"), "stream.sse", withToken(1, `"p-1"`), 0, false)
	good(t, o, "1")
	if len(notes) != 1 || notes[0].Method != "notifications/progress" {
		t.Errorf("notifications %v, want one of progress", notes)
	}
}

func TestCaseEmptyDataEvent(t *testing.T) {
	o, notes, srv := streamed(t, casetest.Dir(t, "sse/empty-data-event"), "stream.sse", call(1, "tools/list"), 0, false)
	good(t, o, "1")
	if len(notes) != 0 || len(srv.requests()) != 1 {
		t.Errorf("%d notifications", len(notes))
	}
}

func TestCaseEOFBeforeAnswer(t *testing.T) {
	begin := time.Now()
	o, notes, srv := streamed(t, casetest.Dir(t, "sse/eof-before-answer"), "stream.sse", withToken(1, `"p-1"`), 0, false)
	var e *Error
	if !errors.As(o.err, &e) || !e.Delivered || !errors.Is(o.err, io.ErrUnexpectedEOF) || !strings.Contains(o.err.Error(), "ended before the response") {
		t.Errorf("Do = %v, want the stream's early end", o.err)
	}
	time.Sleep(50 * time.Millisecond)
	if len(notes) != 2 || len(srv.requests()) != 1 || time.Since(begin) > time.Second {
		t.Errorf("%d notifications, %d requests, %v", len(notes), len(srv.requests()), time.Since(begin))
	}
}

func TestCaseFieldOddities(t *testing.T) {
	o, _, srv := streamed(t, casetest.Dir(t, "sse/field-oddities"), "stream.sse", call(1, "tools/list"), 0, false)
	good(t, o, "1")
	time.Sleep(20 * time.Millisecond)
	if n := len(srv.requests()); n != 1 {
		t.Errorf("%d requests after retry: 1", n)
	}
}

func TestCaseForeignNotification(t *testing.T) {
	dir := casetest.Dir(t, "sse/foreign-notification")
	for _, c := range []*Call{call(1, "tools/list"), withToken(1, `"p-9"`)} {
		o, notes, _ := streamed(t, dir, "stream.sse", c, 0, false)
		var framing *FramingError
		if !errors.As(o.err, &framing) {
			t.Errorf("Do = %v, want an error about the notification", o.err)
		}
		// With the token the progress is its own, and the list change is what does not belong.
		if want := strings.Count(string(c.Body), "p-9"); len(notes) != want {
			t.Errorf("%d notifications reached the caller, want %d", len(notes), want)
		}
	}
}

func TestCaseLeadingBOM(t *testing.T) {
	dir := casetest.Dir(t, "sse/leading-bom")
	for _, piece := range []int{0, 1} {
		o, _, _ := streamed(t, dir, "stream.sse", call(1, "tools/list"), piece, false)
		good(t, o, "1")
		o, notes, _ := streamed(t, dir, "stream-2.sse", withToken(1, `"p-1"`), piece, false)
		if !errors.Is(o.err, io.ErrUnexpectedEOF) || len(notes) != 1 {
			t.Errorf("a second BOM: %v with %d notifications, want an early end after one", o.err, len(notes))
		}
	}
}

func TestCaseSeveralDataLines(t *testing.T) {
	o, _, _ := streamed(t, casetest.Dir(t, "sse/several-data-lines"), "stream.sse", call(1, "tools/list"), 0, false)
	good(t, o, "1")
}
