package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// wire is a listener that keeps every byte that reaches it.
type wire struct {
	net.Listener
	mu    sync.Mutex
	got   bytes.Buffer
	conns int
}

func newWire(t *testing.T) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &wire{Listener: l}
}

func (w *wire) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns++
	return &wireConn{Conn: c, w: w}, nil
}

type wireConn struct {
	net.Conn
	w *wire
}

func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.got.Write(p[:n])
	return n, err
}

// seen is what has come so far, and over how many connections.
func (w *wire) seen() ([]byte, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.got.Bytes()), w.conns
}

// each gives every connection to serve, which need not close it, until the test ends.
func (w *wire) each(t *testing.T, serve func(net.Conn)) {
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := w.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() { _ = w.Close(); running.Wait() })
}

// mark stands in front of what a server says again, and is no secret: where it comes out, a secret could.
const mark = "echoed-by-the-server"

// echoMode is what a server does with what it was sent.
type echoMode struct {
	place string                            // see places and callPlaces; "" is a good answer
	raw   func(http.ResponseWriter, string) // or an answer written whole
	step  string                            // the method that raw is for, "" for all
	notes []string                          // or notifications before the good answer, with T for the text
	spell func(string) string               // how it is said, nil for as it is
}

// echoOrigin is an HTTP server that says again everything it is sent, as its mode wants it.
type echoOrigin struct {
	*httptest.Server
	wire *wire
	mu   sync.Mutex
	mode echoMode
	got  strings.Builder // requests in the plain, also over TLS
}

// newEchoOrigin starts one; secure, if given, makes it speak TLS.
func newEchoOrigin(t *testing.T, secure func(*httptest.Server)) *echoOrigin {
	t.Helper()
	o := &echoOrigin{wire: newWire(t)}
	o.Server = httptest.NewUnstartedServer(o)
	_ = o.Server.Listener.Close()
	o.Server.Listener = o.wire
	if secure != nil {
		secure(o.Server)
		o.StartTLS()
	} else {
		o.Start()
	}
	t.Cleanup(o.Close)
	return o
}

func (o *echoOrigin) set(m echoMode) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mode = m
}

func (o *echoOrigin) received() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.got.String()
}

func (o *echoOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal(body, &m)
	path, _ := url.PathUnescape(r.URL.EscapedPath())
	decoded, _ := url.QueryUnescape(r.Header.Get("X-Encoded"))
	// The secrets come first: of a long text the beginning is shown.
	said := []string{mark, r.Header.Get("Authorization"), r.Header.Get("X-Canary"), decoded, path, r.URL.Query().Get("k"), r.RequestURI}
	for name, values := range r.Header {
		said = append(said, name+": "+strings.Join(values, ", "))
	}
	text := strings.Join(said, " ")
	o.mu.Lock()
	mode := o.mode
	fmt.Fprintf(&o.got, "%s\n%s\n", text, body)
	o.mu.Unlock()
	if mode.spell != nil {
		text = mark + " " + mode.spell(text)
	}
	if mode.raw != nil && (mode.step == "" || mode.step == m.Method) {
		mode.raw(w, text)
		return
	}
	if len(mode.notes) > 0 {
		w.Header().Set("Content-Type", "text/event-stream")
		quoted, _ := json.Marshal(text) // a string
		for _, note := range mode.notes {
			fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(strings.ReplaceAll(note, "ID", string(m.ID)), "T", string(quoted)))
		}
		fmt.Fprintf(w, ": %s\n\nid: %s\nevent: message\ndata: %s\n\n", text, text, echoing("", text, m.Method, string(m.ID)))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Echo", text)
	w.Header().Set("Set-Cookie", "k="+text)
	_, _ = io.WriteString(w, echoing(mode.place, text, m.Method, string(m.ID)))
}

// echoNotes are notifications with the text in every place that they have.
var echoNotes = []string{
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":ID,"progress":1,"total":2,"message":T}}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","logger":T,"data":T}}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":T,"data":{"x":T}}}`,
}

// hijack writes an answer byte for byte.
func hijack(w http.ResponseWriter, answer string) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // HTTP/2
	}
	_, _ = io.WriteString(c, answer)
	_ = c.Close()
}

// canaryRaw are further answers that say it, beside rawAnswers.
var canaryRaw = map[string]func(http.ResponseWriter, string){
	"reason": func(w http.ResponseWriter, s string) {
		hijack(w, "HTTP/1.1 500 "+s+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	},
	"reason of a 200": func(w http.ResponseWriter, s string) {
		hijack(w, "HTTP/1.1 200 "+s+"\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{}")
	},
	"status line": func(w http.ResponseWriter, s string) { hijack(w, s+"\r\n\r\n") },
	"status":      func(w http.ResponseWriter, s string) { hijack(w, "HTTP/1.1 "+s+" OK\r\n\r\n") },
	"header line": func(w http.ResponseWriter, s string) { hijack(w, "HTTP/1.1 200 OK\r\n"+s+"\r\n\r\n") },
	"length": func(w http.ResponseWriter, s string) {
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "+s+"\r\n\r\n{}")
	},
	"transfer": func(w http.ResponseWriter, s string) {
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: "+s+"\r\n\r\n{}")
	},
	"chunk": func(w http.ResponseWriter, s string) {
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+s+"\r\n")
	},
	"challenges": func(w http.ResponseWriter, s string) {
		w.Header().Add("WWW-Authenticate", "Bearer realm=\""+s+"\", error_description=\""+s+"\"")
		w.Header().Add("WWW-Authenticate", s)
		http.Error(w, s, http.StatusForbidden)
	},
	"rpc in a 400": func(w http.ResponseWriter, s string) {
		q, _ := json.Marshal(s) // a string
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":%s,"data":%s},"id":null}`, q, q)
	},
	"page": func(w http.ResponseWriter, s string) {
		w.Header().Set("Content-Type", "text/html; charset="+url.QueryEscape(s))
		fmt.Fprintf(w, "<title>%s</title>", s)
	},
	"retry": func(w http.ResponseWriter, s string) {
		w.Header().Set("Retry-After", s)
		http.Error(w, s, http.StatusServiceUnavailable)
	},
	"cut": func(w http.ResponseWriter, s string) {
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{\"jsonrpc\":\"2.0\",\"x\":\""+s)
	},
	"cut stream": func(w http.ResponseWriter, s string) {
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: "+s+"\ndata: {\"x\":\""+s)
	},
}

// echoChild is the stdio server: it says again the environment it was given. Its arguments are a file with its mode, which
// is a place, "notes", or "exit METHOD", and a file for what it was given.
func echoChild() {
	env := os.Environ()
	slices.SortFunc(env, func(a, b string) int { // the secret comes first: of a long text the beginning is shown
		return strings.Compare(b, a)
	})
	at := slices.IndexFunc(env, func(s string) bool { return strings.HasPrefix(s, "CANARY=") })
	if at >= 0 {
		env[0], env[at] = env[at], env[0]
	}
	text := mark + " " + strings.Join(env, " ")
	record, err := os.OpenFile(os.Args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(record, text)
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		_, _ = record.Write(line)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(line, &m)
		fmt.Fprintf(os.Stderr, "%s: %s\n%s\n", m.Method, text, strings.Repeat("p", 200))
		mode, err := os.ReadFile(os.Args[1])
		if err != nil {
			os.Exit(1)
		}
		place := string(mode)
		if method, ok := strings.CutPrefix(place, "exit "); ok && method == m.Method {
			fmt.Fprintf(os.Stderr, "last words: %s\n", text)
			os.Exit(3)
		}
		if len(m.ID) == 0 {
			continue
		}
		if place == "notes" {
			quoted, _ := json.Marshal(text) // a string
			for _, note := range echoNotes {
				fmt.Println(strings.ReplaceAll(strings.ReplaceAll(note, "ID", string(m.ID)), "T", string(quoted)))
			}
		}
		fmt.Println(echoing(place, text, m.Method, string(m.ID)))
	}
}

// lockedBuffer is written by several connections.
type lockedBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b)
}
