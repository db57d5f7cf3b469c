//go:build unix

package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

// listening is a pipe whose every notification is noted in order.
func listening(t *testing.T, noted *[]string) *pipes {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	p := &pipes{in: bufio.NewReader(r2), out: w1}
	p.Stdio = NewPipe(r1, w2, Limits{}, nil, nil, func(m *jsonrpc.Message) { *noted = append(*noted, "all "+m.Method) })
	t.Cleanup(func() { p.Close() })
	return p
}

func TestMessagesAreSeenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		p := listening(t, &seen)
		c := call(1, methodListen)
		c.Notify = func(m *jsonrpc.Message) { seen = append(seen, "call "+m.Method) }
		c.Answered = func(m *jsonrpc.Message) { seen = append(seen, "answer "+m.ID.Raw()) }
		ended, _ := p.begin(t, t.Context(), c)
		// In one write, so that Do has no chance to run between the answer and what follows.
		p.out.Write([]byte(`{"jsonrpc":"2.0","method":"a"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" +
			`{"jsonrpc":"2.0","method":"b"}` + "\n"))
		good(t, <-ended, "1")
		synctest.Wait()
		p.out.Write([]byte(`{"jsonrpc":"2.0","method":"c"}` + "\n"))
		synctest.Wait()
		// Whether the call still hears b depends on when Do leaves; all the rest is fixed.
		seen = slices.DeleteFunc(seen, func(s string) bool { return s == "call b" })
		if got, want := strings.Join(seen, ", "), "call a, all a, answer 1, all b, all c"; got != want {
			t.Errorf("seen %q, want %q", got, want)
		}
	})
}

func TestWithdrawnCallIsNotCancelled(t *testing.T) {
	for _, withdrawn := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes(t, Limits{})
			ctx, cancel := context.WithCancelCause(t.Context())
			ended, _ := p.begin(t, ctx, call(1, methodListen))
			synctest.Wait()
			if withdrawn {
				cancel(ErrWithdrawn)
			} else {
				cancel(nil)
			}
			if o := <-ended; !errors.Is(o.err, context.Canceled) {
				t.Errorf("Do = %v, want the context's error", o.err)
			}
			if !withdrawn {
				if line := string(readLine(t, p.in)); !strings.Contains(line, `"notifications/cancelled","params":{"requestId":1}`) {
					t.Errorf("sent %s, want the notice", line)
				}
			}
			p.out.Write(resultLine("1")) // late, and dropped
			second, id := p.begin(t, t.Context(), call(2, "tools/list"))
			p.out.Write(resultLine(id))
			good(t, <-second, "2") // what begin has read was this call, not a notice
		})
	}
}

func TestAnsweredOverHTTP(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for _, stream := range []bool{true, false} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if stream {
				w.Header().Set("Content-Type", mediaSSE)
				io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\ndata: "+answer+"\n\n")
				return
			}
			w.Header().Set("Content-Type", mediaJSON)
			io.WriteString(w, answer)
		}))
		h, err := NewHTTP(HTTPConfig{URL: srv.URL, AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		c := call(1, methodListen)
		c.Notify = func(m *jsonrpc.Message) { seen = append(seen, m.Method) }
		c.Answered = func(m *jsonrpc.Message) { seen = append(seen, "answer") }
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		m, err := h.Do(ctx, c)
		cancel()
		good(t, outcome{m, err}, "1")
		want := "answer"
		if stream {
			want = "a answer"
		}
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("seen %q, want %q", got, want)
		}
		h.Close()
		srv.Close()
	}
}
