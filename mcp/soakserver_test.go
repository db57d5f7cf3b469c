package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

const soakReportTool = `{"name":"report","inputSchema":{"type":"object"}}`

// soakBooks are kept by both servers.
type soakBooks struct {
	mu sync.Mutex
	soakReport
	ended map[string]chan struct{} // by id; closed when the call is cancelled
	nonce map[string]string        // by id
}

func (b *soakBooks) report() soakReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	return soakReport{maps.Clone(b.Seen), maps.Clone(b.Cancelled), maps.Clone(b.Held), append([]string(nil), b.Faults...)}
}

func (b *soakBooks) fault(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.Faults) < 10 {
		b.Faults = append(b.Faults, fmt.Sprintf(format, args...))
	}
}

// enter notes a call, and returns what is closed when it is cancelled.
func (b *soakBooks) enter(id string, o soakOrder) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended == nil {
		b.soakReport = soakReport{Seen: map[string]int{}, Cancelled: map[string]int{}, Held: map[string]string{}}
		b.ended, b.nonce = map[string]chan struct{}{}, map[string]string{}
	}
	b.Seen[o.Nonce]++
	if o.Hold {
		b.Held[o.Nonce] = id
	}
	ended := make(chan struct{})
	b.ended[id], b.nonce[id] = ended, o.Nonce
	return ended
}

// cancel notes the cancellation of the call with this id.
func (b *soakBooks) cancel(id string) {
	b.mu.Lock()
	nonce, known := b.nonce[id]
	twice := known && b.Cancelled[nonce] > 0
	if known && !twice {
		b.Cancelled[nonce]++
		delete(b.Held, nonce)
		close(b.ended[id])
	}
	b.mu.Unlock()
	switch {
	case !known:
		b.fault("a cancellation of request %s, which was not sent before", id)
	case twice:
		b.fault("a second cancellation of request %s", id)
	}
}

// soakRequest is what both servers read of a request.
type soakRequest struct {
	m     *jsonrpc.Message
	tool  string
	order soakOrder
	token string // of progress, raw
}

func readSoak(body []byte) (r soakRequest, err error) {
	if r.m, err = jsonrpc.Decode(body, strictjson.Limits{}); err != nil {
		return r, err
	}
	var params struct {
		Name      string    `json:"name"`
		Arguments soakOrder `json:"arguments"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	err = json.Unmarshal(r.m.Params, &params)
	r.tool, r.order, r.token = params.Name, params.Arguments, string(params.Meta.Token)
	return r, err
}

func (r soakRequest) note(i int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":%q}}`, r.token, i, r.order.Nonce)
}

func (r soakRequest) answer(text string) []byte {
	quoted, _ := json.Marshal(text) // a string
	return jsonrpc.AppendResult(nil, r.m.ID, fmt.Appendf(nil, `{"resultType":"complete","content":[{"type":"text","text":%s}]}`, quoted))
}

func (r soakRequest) pause() {
	if r.order.After > 0 {
		time.Sleep(time.Duration(r.order.After) * time.Microsecond)
	}
}

// soakChild is the server on stdio: the process itself.
func soakChild() int {
	var books soakBooks
	var out sync.Mutex
	say := func(message []byte) {
		out.Lock()
		defer out.Unlock()
		_, _ = os.Stdout.Write(append(message, '\n')) // the client's end shows in reading
	}
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		r, err := readSoak(line)
		switch {
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
			return 1
		case r.m.Kind == jsonrpc.Notification:
			id, _ := r.m.Params.Get("requestId")
			if r.m.Method != "notifications/cancelled" {
				books.fault("the notification %s", r.m.Method)
				continue
			}
			books.cancel(string(id))
		case r.m.Method == methodDiscover:
			say(jsonrpc.AppendResult(nil, r.m.ID, []byte(mcptest.Discover)))
		case r.tool == "report":
			text, _ := json.Marshal(books.report()) // of maps and strings
			say(r.answer(string(text)))
		default:
			ended := books.enter(r.m.ID.Raw(), r.order)
			go func() {
				for i := range r.order.Notes {
					say(r.note(i))
				}
				if r.order.Hold {
					<-ended
				} else {
					r.pause()
				}
				if !r.order.Hold || r.order.Late {
					say(r.answer(r.order.Nonce))
				}
			}()
		}
	}
}

// soakHTTP is the server over HTTP: it answers by turns with JSON and with a stream, and with a stream where there are
// notes.
type soakHTTP struct {
	books soakBooks
	turn  bool // under books.mu
}

func (h *soakHTTP) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil { // its context has ended before it was whole
		return
	}
	r, err := readSoak(body)
	if err != nil || req.Method != http.MethodPost || r.m.Kind != jsonrpc.Request {
		h.books.fault("%s of %.100s: %v", req.Method, body, err)
		return
	}
	id := r.m.ID.Raw()
	if r.m.Method == methodDiscover {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(jsonrpc.AppendResult(nil, r.m.ID, []byte(mcptest.Discover)))
		return
	}
	h.books.enter(id, r.order)
	h.books.mu.Lock()
	h.turn = !h.turn
	stream := h.turn || r.order.Notes > 0
	h.books.mu.Unlock()
	if !r.order.Hold { // which may be too late to notice it
		defer context.AfterFunc(req.Context(), func() { h.books.cancel(id) })()
	}
	media, before, behind := "application/json", "", ""
	if stream {
		media, before, behind = "text/event-stream", "data: ", "\n\n"
	}
	w.Header().Set("Content-Type", media)
	for i := range r.order.Notes {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", r.note(i))
		_ = http.NewResponseController(w).Flush() // whoever has gone is known by the context
	}
	if r.order.Hold {
		<-req.Context().Done()
		h.books.cancel(id)
		return
	}
	r.pause()
	_, _ = fmt.Fprintf(w, "%s%s%s", before, r.answer(r.order.Nonce), behind)
}
