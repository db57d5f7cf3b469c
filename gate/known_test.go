package gate

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// stacklok/toolhive#6088: a filter read an event stream line by line and the client behind it event by event, so a list
// could be written in a way that only the client understood. Here one parser reads what is compared and what is handed on.
func TestListInEventsOfEveryForm(t *testing.T) {
	forms := map[string]struct {
		write func(message string) string
		known bool // as what the list was pinned from; otherwise it is no list
	}{
		"one line":      {func(m string) string { return "data: " + m + "\n\n" }, true},
		"no space":      {func(m string) string { return "data:" + m + "\n\n" }, true},
		"named":         {func(m string) string { return "event: message\nid: 7\nretry: 1\ndata: " + m + "\n\n" }, true},
		"several lines": {func(m string) string { return "data: " + strings.ReplaceAll(m, `,"`, ",\ndata:\ndata:\"") + "\n\n" }, true},
		"mixed ends": {func(m string) string {
			return ": c\r\r\nevent:message\rdata: " + strings.Replace(m, `,"`, ",\r\ndata: \"", 2) + "\n\r"
		}, true},
		"byte order": {func(m string) string { return "\ufeffdata: " + m + "\n\n" }, true},
		"comment inside": {func(m string) string {
			return "data: " + strings.Replace(m, `,"`, ",\n: data: {}\ndata: \"", 1) + "\n\n"
		}, true},
		"note before": {func(m string) string {
			return "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\ndata: " + m + "\n\n"
		}, true},
		"more behind": {func(m string) string {
			return "data: " + m + "\n\ndata: " + strings.ReplaceAll(m, "free", "taken") + "\n\n"
		}, true},
		"two in one":    {func(m string) string { return "data: " + m + "\ndata: " + m + "\n\n" }, false},
		"other event":   {func(m string) string { return "event: list\ndata: " + m + "\n\n" }, false},
		"no blank line": {func(m string) string { return "data: " + m + "\n" }, false},
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			for _, live := range []string{berthStatus, strings.Replace(berthStatus, "free", "taken", 1)} {
				o := newOffice(t)
				var lists atomic.Int32
				o.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil || !bytes.Contains(body, []byte(`"tools/list"`)) {
						r.Body = io.NopCloser(bytes.NewReader(body))
						o.ServeHTTP(w, r)
						return
					}
					lists.Add(1)
					r.Body = io.NopCloser(bytes.NewReader(body))
					answer := httptest.NewRecorder()
					o.ServeHTTP(answer, r)
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, form.write(answer.Body.String()))
				})
				o.offer([]string{live})
				_, err := open(t, o, "clerk", berthStatus).Call(t.Context(), Request{Name: "berth_status"})
				var r *Refusal
				errors.As(err, &r)
				want := pass
				switch {
				case !form.known:
					want = Unverified
				case live != berthStatus:
					want = Drift
				}
				if (want == pass) != (err == nil) || (want != pass && (r == nil || r.Reason != want)) {
					t.Errorf("Call: %v, want %s", err, want)
				}
				if calls := len(o.calls()); (calls > 0) != (want == pass) || lists.Load() == 0 {
					t.Errorf("the server saw %d calls and %d lists", calls, lists.Load())
				}
			}
		})
	}
}
