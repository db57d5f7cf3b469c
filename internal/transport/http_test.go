package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"
)

// padded is a result for id 1 of exactly n bytes.
func padded(n int) []byte {
	head, tail := `{"jsonrpc":"2.0","id":1,"result":{"x":"`, `"}}`
	return []byte(head + strings.Repeat("a", n-len(head)-len(tail)) + tail)
}

func TestBodyLimit(t *testing.T) {
	const limit = 100_000
	for _, chunked := range []bool{false, true} {
		for n, ok := range map[int]bool{limit - 1: true, limit: true, limit + 1: false, 2 * limit: false} {
			srv := serveRaw(t, func(p *peer) {
				if !chunked {
					p.answer("application/json", padded(n))
					return
				}
				io.WriteString(p, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
				p.chunk(padded(n))
				io.WriteString(p, "0\r\n\r\n")
			})
			c := srv.config()
			c.Limits.MessageBytes = limit
			_, err := newClient(t, c).Do(t.Context(), call(1, "x"))
			var over *LimitError
			if ok != (err == nil) || (!ok && (!errors.As(err, &over) || over.Limit != limit)) {
				t.Errorf("a body of %d, chunked %v: %v", n, chunked, err)
			}
		}
	}
}

// modelcontextprotocol/rust-sdk#970: the events of a stream had no bound.
func TestEventLimits(t *testing.T) {
	const limit = 50_000
	stream := func(text ...string) *rawServer {
		return serveRaw(t, func(p *peer) {
			p.streamHead()
			for _, s := range text {
				if p.chunk([]byte(s)) != nil {
					return
				}
			}
			io.WriteString(p, "0\r\n\r\n")
		})
	}
	for n, ok := range map[int]bool{limit - 1: true, limit: true, limit + 1: false} {
		comment := ": " + strings.Repeat("c", 2*limit) + "\n" // does not count
		c := stream(comment, "data: "+string(padded(n-len("data: ")-1))+"\r\n", comment, "\r\n").config()
		c.Limits.MessageBytes = limit
		_, err := newClient(t, c).Do(t.Context(), call(1, "x"))
		var over *LimitError
		if ok != (err == nil) || (!ok && (!errors.As(err, &over) || over.Limit != limit)) {
			t.Errorf("an event of %d: %v", n, err)
		}
	}
	const note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"
	final := "data: " + string(padded(60)) + "\n\n"
	for notes, ok := range map[int]bool{9: true, 10: false} {
		for _, method := range []string{"tools/call", methodListen} {
			c := stream(strings.Repeat(note, notes), final).config()
			c.Limits.Events = 10
			_, err := newClient(t, c).Do(t.Context(), call(1, method))
			var over *LimitError
			if (ok || method == methodListen) != (err == nil) || (err != nil && !errors.As(err, &over)) {
				t.Errorf("%s with %d events: %v", method, notes+1, err)
			}
		}
	}
}

func TestConnectionIsUsedAgainAfterAStream(t *testing.T) {
	srv := serveRaw(t, func(p *peer) {
		p.streamHead()
		p.chunk([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":" + p.id() + ",\"result\":{}}\n\n"))
		time.Sleep(300 * time.Microsecond) // so that the end comes by itself
		io.WriteString(p, "0\r\n\r\n")
		p.keep = true
	})
	h := srv.client(t)
	for id := 1; id <= 20; id++ {
		if _, err := h.Do(t.Context(), call(id, "x")); err != nil {
			t.Fatal(err)
		}
	}
	if srv.conns > 15 { // on a busy machine the end may come too late now and then
		t.Errorf("%d TCP connections for 20 calls", srv.conns)
	}
}

// TestRefusedAnswers has the server answer in ways that end the call.
//
// mark3labs/mcp-go v1.2.1 takes the answer to any id for its own. vercel/ai#15963, danny-avila/LibreChat#12266: credentials
// went along with a redirect.
func TestRefusedAnswers(t *testing.T) {
	head := func(status, rest string) string {
		return "HTTP/1.1 " + status + "\r\n" + rest + "Connection: close\r\n\r\n"
	}
	const asJSON, asStream = "Content-Type: application/json\r\n", "Content-Type: text/event-stream\r\n"
	const good = `{"jsonrpc":"2.0","id":7001,"result":{}}`
	for name, test := range map[string]struct {
		answer string
		want   any
		text   string
	}{
		"accepted":                {head("202 Accepted", "Content-Length: 0\r\n"), new(*FramingError), "HTTP status 202"},
		"no content":              {head("204 No Content", ""), new(*FramingError), "HTTP status 204"},
		"result with another 2xx": {head("201 Created", asJSON) + good, new(*FramingError), "HTTP status 201"},
		"result with 500":         {head("500 Oops", asJSON) + good, new(*HTTPStatusError), "HTTP status 500"},
		"result with 304":         {head("304 Not Modified", ""), new(*HTTPStatusError), "HTTP status 304"},
		"compressed":              {head("200 OK", asJSON+"Content-Encoding: gzip\r\n") + good, new(*FramingError), "Content-Encoding"},
		"two media types":         {head("200 OK", asJSON+asStream) + good, new(*FramingError), "2 Content-Type"},
		"cut body":                {head("200 OK", asJSON+"Content-Length: 100\r\n") + good, new(*LostError), "lost in a JSON body: unexpected EOF"},
		"empty body":              {head("200 OK", asJSON), new(*FramingError), "not a JSON-RPC message"},
		"notification":            {head("200 OK", asJSON) + `{"jsonrpc":"2.0","method":"x"}`, new(*FramingError), "want the response"},
		"echo":                    {head("200 OK", asJSON) + `{"jsonrpc":"2.0","id":7001,"method":"tools/list","params":{}}`, new(*FramingError), "sent the request back"},
		"another id":              {head("200 OK", asJSON) + `{"jsonrpc":"2.0","id":7099,"result":{}}`, new(*ForeignIDError), "answer to id 7099, want 1"},
		"error with null id":      {head("200 OK", asJSON) + `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"m"}}`, new(*ForeignIDError), "-32000"},
		"400 with another id":     {head("400 Bad", asJSON) + `{"jsonrpc":"2.0","id":7099,"error":{"code":-32020,"message":"mis\u0007match"}}`, new(*HTTPStatusError), `HTTP status 400: JSON-RPC error -32020 "mis\amatch"`},
		"403":                     {head("403 No", asJSON) + `{"jsonrpc":"2.0","error":{"code":-32000,"message":"origin"}}`, new(*ChallengeError), "403"},
		"text":                    {head("400 Bad", "Content-Type: text/plain\r\n") + "Unsupported protocol version\n", new(*HTTPStatusError), `HTTP status 400: "Unsupported protocol version"`},
		"our own token":           {head("500 Oops", "Content-Type: text/plain\r\n") + "you sent Bearer canary-secret-token!\x1b", new(*HTTPStatusError), "(sensitive)"},
		"token in a message":      {head("500 Oops", asJSON) + `{"jsonrpc":"2.0","error":{"code":1,"message":"canary-secret-token"}}`, new(*HTTPStatusError), "(sensitive)"},
		"token in the header":     {"HTTP/1.1 canary-secret-token\r\n\r\n", new(*FramingError), "malformed"},
		"not HTTP":                {"\x1b[31mSSH-2.0" + strings.Repeat("x", 9000) + "\r\n\r\n", new(*FramingError), "not HTTP"},
		"hang-up":                 {"", new(*LostError), "lost before the answer: unexpected EOF"},
		"cut status":              {"HTTP/1.1 20", new(*LostError), "lost in the header: unexpected EOF"},
		"cut header 2":            {"HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n", new(*LostError), "lost in the header: unexpected EOF"},
		"malformed header":        {"HTTP/1.1 200 OK\r\nContent-Type\r\n\r\n", new(*FramingError), "not HTTP"},
		"cut header":              {"HTTP/1.1 200 OK\r\nContent-Ty", new(*LostError), "lost in the header: unexpected EOF"},
		"stream: request":         {head("200 OK", asStream) + "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n\n", new(*FramingError), "may not"},
		"stream: another id":      {head("200 OK", asStream) + "data: {\"jsonrpc\":\"2.0\",\"id\":7099,\"result\":{}}\n\n", new(*ForeignIDError), "7099"},
		"stream: no message":      {head("200 OK", asStream) + "data: hello\n\n", new(*FramingError), "an event is not"},
		"stream: no blank line":   {head("200 OK", asStream) + "data: " + good + "\n", new(*LostError), "ended before the response"},
		"stream: other event":     {head("200 OK", asStream) + "event: endpoint\ndata: /messages\n\n", new(*LostError), "ended before the response"},
		"stream: list change":     {head("200 OK", asStream) + "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n", new(*FramingError), "list_changed"},
		"redirect away":           {head("307 Go", "Location: https://elsewhere.example/a?token=query-secret\r\n"), new(*RedirectError), "leaves the origin"},
		"redirect to a user":      {head("308 Go", "Location: //user:query-secret@127.0.0.1/\r\n"), new(*RedirectError), "leaves the origin"},
		"redirect nowhere":        {head("307 Go", ""), new(*RedirectError), "names no place"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serveRaw(t, func(p *peer) { p.Write(p.withID([]byte(test.answer))) })
			c := srv.config()
			c.Headers, c.Redirects = secretHeaders(), 2
			m, err := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
			var e *Error
			if !errors.As(err, test.want) || !errors.As(err, &e) || !e.Delivered || e.Op != "receive" || !strings.Contains(err.Error(), test.text) {
				t.Fatalf("Do = %+v, %v, want %T with %q", m, err, test.want, test.text)
			}
			printable(t, err)
			if text := fmt.Sprintf("%v %#v", err, e); strings.Contains(err.Error(), "secret") || strings.Contains(e.Err.Error(), "secret") || len(err.Error()) > 600 {
				t.Errorf("error %s", text)
			}
			if n := len(srv.requests()); n != 1 {
				t.Errorf("%d requests, want one", n)
			}
		})
	}
}

func TestNothingIsSentAgain(t *testing.T) {
	// The second request meets a connection that the server closes at that moment.
	srv := serveRaw(t, func(p *peer) {
		if p.n == 1 {
			p.result()
		}
	})
	h := srv.client(t)
	if _, err := h.Do(t.Context(), call(1, "tools/call")); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := h.Do(t.Context(), call(2, "tools/call")); !errors.As(err, &e) || !e.Delivered {
		t.Errorf("Do = %v, want an error after delivery", err)
	}
	if n := len(srv.requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestCancelClosesItsOwnAnswerOnly(t *testing.T) {
	gone := make(chan struct{})
	release := make(chan struct{})
	srv := serveRaw(t, func(p *peer) {
		p.streamHead()
		if p.id() == "1" {
			p.chunk([]byte(": waiting\n\n"))
			p.untilGone()
			close(gone)
			return
		}
		<-release
		p.chunk([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n"))
		io.WriteString(p, "0\r\n\r\n")
	})
	h := srv.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan outcome, 1), make(chan outcome, 1)
	go func() { m, err := h.Do(ctx, call(1, "x")); first <- outcome{m, err} }()
	go func() { m, err := h.Do(t.Context(), call(2, "x")); second <- outcome{m, err} }()
	for len(srv.requests()) < 2 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if o := <-first; !errors.Is(o.err, context.Canceled) {
		t.Errorf("Do = %v, want the context's error", o.err)
	}
	select {
	case <-gone:
	case <-time.After(2 * time.Second):
		t.Error("the server does not see that the client has gone")
	}
	close(release)
	good(t, <-second, "2")
	if n := len(srv.requests()); n != 2 {
		t.Errorf("%d requests: a cancellation is no message over HTTP", n)
	}
}

func TestHTTPCloseEndsCalls(t *testing.T) {
	srv := serveRaw(t, func(p *peer) {
		if p.id() == "1" {
			p.streamHead()
			p.chunk([]byte(": waiting\n\n"))
		}
		p.untilGone()
	})
	h := srv.client(t)
	ended := make(chan error, 2)
	for id := 1; id <= 2; id++ {
		go func() { _, err := h.Do(t.Context(), call(id, "x")); ended <- err }()
	}
	for len(srv.requests()) < 2 {
		time.Sleep(time.Millisecond)
	}
	if h.Err() != nil {
		t.Errorf("Err() = %v before Close", h.Err())
	}
	begin := time.Now()
	h.Close()
	h.Close()
	for range 2 {
		var e *Error
		if err := <-ended; !errors.Is(err, ErrClosed) || !errors.As(err, &e) || !e.Delivered {
			t.Errorf("Do = %v, want ErrClosed", err)
		}
	}
	if took := time.Since(begin); took > 300*time.Millisecond {
		t.Errorf("Close took %v", took)
	}
	<-h.Done()
	if _, err := h.Do(t.Context(), call(3, "x")); !errors.Is(err, ErrClosed) || h.Err() != ErrClosed {
		t.Errorf("Do after Close = %v", err)
	}
}

func TestUndelivered(t *testing.T) {
	// Not a port that the kernel hands out: one that was just closed may be the next server's.
	const address = "127.0.0.1:1"
	plain := httptest.NewUnstartedServer(http.NotFoundHandler()) // with a certificate that nobody has vouched for
	plain.Config.ErrorLog = log.New(io.Discard, "", 0)
	plain.StartTLS()
	defer plain.Close()
	for url, text := range map[string]string{"http://" + address: "refused", plain.URL: "certificate not signed"} {
		h := newClient(t, HTTPConfig{URL: url + "/?k=query-secret", AllowPrivate: true})
		_, err := h.Do(t.Context(), call(1, "x"))
		var e *Error
		if !errors.As(err, &e) || e.Delivered || e.Op != "connect" || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Do = %v, want %q before delivery", err, text)
		}
	}
}

// deaf is a connection that takes nothing any more once it is shut.
type deaf struct {
	net.Conn
	shut, asked atomic.Bool
}

func (d *deaf) Write(p []byte) (int, error) {
	if d.shut.Load() {
		d.asked.Store(true)
		return 0, syscall.EPIPE
	}
	return d.Conn.Write(p)
}

// TestKeptConnectionIsGone: a request of which a kept connection took nothing goes to a new one, and if there is none it was
// not delivered.
func TestKeptConnectionIsGone(t *testing.T) {
	for _, refused := range []bool{false, true} {
		srv := serveRaw(t, func(p *peer) {
			p.keep = true
			p.result()
		})
		h := newClient(t, srv.config())
		var first *deaf
		h.pool.Load().DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if refused && first != nil {
				return nil, &ConnectError{Reason: ConnectRefused, Host: address}
			}
			c, err := h.dialPlain(ctx, network, address)
			if err == nil && first == nil {
				first = &deaf{Conn: c.(*http1Conn).Conn}
				c.(*http1Conn).Conn = first
			}
			return c, err
		}
		m, err := h.Do(t.Context(), call(1, "tools/list"))
		good(t, outcome{m, err}, "1")
		first.shut.Store(true)
		m, err = h.Do(t.Context(), call(2, "tools/call"))
		var e *Error
		var connect *ConnectError
		switch {
		case !refused:
			good(t, outcome{m, err}, "2")
		case !errors.As(err, &e) || e.Op != "connect" || e.Delivered || !errors.As(err, &connect):
			t.Errorf("Do = %#v, want a refused connection and nothing delivered", err)
		}
		if !first.asked.Load() {
			t.Error("the kept connection was not used again")
		}
	}
}

func TestTLS(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		var proto string
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			proto = r.Proto
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done() // the client leaves at the answer
		}))
		srv.EnableHTTP2 = h2
		srv.StartTLS()
		pool := x509.NewCertPool()
		pool.AddCert(srv.Certificate())
		h := newClient(t, HTTPConfig{URL: srv.URL, AllowPrivate: true, TLS: &tls.Config{RootCAs: pool}})
		m, err := h.Do(t.Context(), call(1, "x"))
		good(t, outcome{m, err}, "1")
		if want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2]; proto != want {
			t.Errorf("spoke %s, want %s", proto, want)
		}
		h.Close()
		srv.Close()
	}
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxy := serveRaw(t, func(p *peer) { p.result() })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"} {
		t.Setenv(name, "http://"+proxy.addr)
	}
	srv := serveRaw(t, func(p *peer) { p.result() })
	if _, err := srv.client(t).Do(t.Context(), call(1, "x")); err != nil {
		t.Error(err)
	}
	if len(proxy.requests()) != 0 {
		t.Error("the proxy was asked")
	}
}

func TestHeadersThatAreRefused(t *testing.T) {
	for _, name := range []string{
		"Host", "te", "Transfer-Encoding", "Mcp-Session-Id", "mcp-anything", "accept-language", "Content-Length", "Connection", "Proxy-Authorization",
		"Expect", "Last-Event-ID", "If-None-Match", "Idempotency-Key", "Upgrade", "Keep-Alive", "bad name", "", "a:b",
	} {
		if _, err := NewHTTP(HTTPConfig{URL: "https://tools.example", Headers: http.Header{name: {"canary-secret"}}}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("header %q: %v", name, err)
		}
	}
	for _, value := range []string{"canary-secret\r\nX: y", "canary-secret\x00", "canary-secret ", "\tcanary-secret", "canary-secret\x7f", " "} {
		if _, err := NewHTTP(HTTPConfig{URL: "https://tools.example", Headers: http.Header{"X-Key": {value}}}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("value %q: %v", value, err)
		}
	}
	twice := http.Header{"X-Key": {"1"}, "x-key": {"2"}}
	if _, err := NewHTTP(HTTPConfig{URL: "https://tools.example", Headers: twice}); err == nil {
		t.Error("two spellings of a header are accepted")
	}
	srv := serveRaw(t, func(p *peer) { p.result() })
	for _, p := range []Header{{"X-Param", "v"}, {"Mcp-Param-", "v"}, {"Mcp-Param-a b", "v"}, {"Mcp-Param-A", "v\n"}} {
		c := call(1, "tools/call")
		c.Params = []Header{p}
		if _, err := srv.client(t).Do(t.Context(), c); err == nil {
			t.Errorf("parameter header %q is accepted", p)
		}
	}
	if len(srv.requests()) != 0 {
		t.Error("a request was sent")
	}
}

func TestAuthorizeReplacesAndFails(t *testing.T) {
	srv := serveRaw(t, func(p *peer) { p.result() })
	c := srv.config()
	c.Headers = http.Header{"Authorization": {"Bearer old"}, "X-Trace": {"1"}}
	wrong := errors.New("no token today")
	n := 0
	c.Authorize = func(_ context.Context, h http.Header) error {
		if n++; n == 3 {
			return wrong
		}
		h.Set("authorization", fmt.Sprint("Bearer new ", n))
		return nil
	}
	h := newClient(t, c)
	for id := 1; id <= 2; id++ {
		if _, err := h.Do(t.Context(), call(id, "x")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Do(t.Context(), call(3, "x")); !errors.Is(err, wrong) {
		t.Errorf("Do = %v, want the error of Authorize", err)
	}
	r := srv.requests()
	if len(r) != 2 || r[1].header.Get("Authorization") != "Bearer new 2" || r[1].header.Get("X-Trace") != "1" {
		t.Errorf("requests %+v", r)
	}
}

// FuzzEvents compares the events that eventReader finds, however the stream is cut, with those that another parser finds
// in the whole stream.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: a\n\n: c\r\ndata:b\rdata\r\n\r\n\ufeffdata: x\n\n"), uint64(1))
	f.Add([]byte("\ufeffdata: a\r\n\r\n\n\nid: 1\n: x\n\nevent: e\ndata: "+strings.Repeat("y", 9000)+"\n\ndata: cut"), uint64(7))
	f.Add([]byte(": c\n\ufeffdata: a\n\n"), uint64(3))
	f.Add([]byte("\xef\xbbdata: a\n\n"), uint64(3))
	f.Add([]byte("data\ndata\ndata:\ndata: \ndata:  a:b\nevent:x\nevent\n\ndata\n\ndata:1\nevent: e:f\n\n"), uint64(5))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		// A mark of byte order that is not at the very beginning is data, which the other parser gets wrong after comments
		// and blank lines: they are given a field that stands for nothing.
		plain := text
		if !bytes.HasPrefix(text, []byte(byteOrderMark)) {
			plain = append([]byte("x\n"), text...)
		}
		var want, got []string
		for e, err := range sse.Read(bytes.NewReader(plain), &sse.ReadConfig{MaxEventSize: 1 << 20}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Data != "" { // the others are skipped anyway
				want = append(want, e.Type+"|"+e.Data)
			}
		}
		r := &eventReader{watch: &watch{body: io.NopCloser(cutUp(text, seed))}, limit: 1 << 20}
		for {
			kind, data, err := r.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > 0 {
				got = append(got, kind+"|"+string(data))
			}
		}
		if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("%q: events %q, want %q", text, got, want)
		}
	})
}

func TestProgressToken(t *testing.T) {
	for request, want := range map[string]string{
		`{"params":{"_meta":{"progressToken":7}}}`: "7", `{"params":{"_meta":{"progressToken":"a"}}}`: `"a"`,
		`{"params":{"_meta":{}}}`: "", `{"params":[]}`: "", `{}`: "", `{`: "",
	} {
		if got := string(progressToken([]byte(request))); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
}
