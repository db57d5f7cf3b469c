package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
	"github.com/mcpcat-dev/mcpcat/internal/upstream"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

func TestMain(m *testing.M) {
	if os.Getenv("OBSERVE_CHILD") == "exit" {
		fmt.Fprintln(os.Stderr, "no licence")
		os.Exit(3)
	}
	goleak.VerifyTestMain(m)
}

// peer answers each method with a result; a missing method is not found.
type peer struct {
	mu      sync.Mutex
	results map[string]string
	asked   []string
	running atomic.Int32
	most    atomic.Int32
	pause   time.Duration
}

const goodDiscovery = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`

func list(tools string) string {
	return `{"resultType":"complete","tools":[` + tools + `],"ttlMs":0,"cacheScope":"private"}`
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := p.running.Add(1)
	defer p.running.Add(-1)
	for {
		most := p.most.Load()
		if now <= most || p.most.CompareAndSwap(most, now) {
			break
		}
	}
	time.Sleep(p.pause)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	v, err := strictjson.Parse(body, strictjson.Limits{})
	if err != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	method, _ := v.Get("method")
	name, _ := method.Text()
	id, _ := v.Get("id")
	p.mu.Lock()
	p.asked = append(p.asked, name)
	result, ok := p.results[name]
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, id)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// servers loads a catalog with one http server a URL, called s0, s1 and so on.
func servers(t *testing.T, urls ...string) []*catalog.Server {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	for i, u := range urls {
		fmt.Fprintf(&text, "server \"s%d\" {\n  http {\n    url = %q\n    egress {\n      allow_private = true\n    }\n  }\n  timeouts {\n    connect = \"1s\"\n    discover = \"1s\"\n  }\n  tools = [\"a\"]\n}\n", i, u)
	}
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	cat, diags := catalog.Load(catalog.Options{Dir: dir})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return cat.Servers
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// serveTLS has a certificate that nobody has vouched for.
func serveTLS(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

func dialer() upstream.Dialer {
	return upstream.Dialer{Dir: "/", Lookup: func(string) (string, bool) { return "", false }, Version: "test"}
}

// TestServers asks a good server and one bad one of each sort at the same time: each outcome stands at its place, and
// the bad ones do not touch the good one.
func TestServers(t *testing.T) {
	good := &peer{results: map[string]string{"server/discover": goodDiscovery, "tools/list": list(`{"name":"a","inputSchema":{"type":"object"}}`)}}
	bare := &peer{results: map[string]string{"server/discover": strings.Replace(goodDiscovery, `"tools":{}`, ``, 1)}}
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	// Not a port that the kernel hands out: one that was just closed may be the next server's.
	const gone = "http://127.0.0.1:1/mcp"
	tests := []struct {
		name string
		url  string
		want surface.Status
		code string
	}{
		{"good", serve(t, good), surface.Checked, ""},
		{"no tools offered", serve(t, bare), surface.Checked, ""},
		{"not found", serve(t, status(http.StatusNotFound)), "", ""},
		{"unauthorized", serve(t, status(http.StatusUnauthorized)), surface.NotChecked, CodeUnauthorized},
		{"unavailable", serve(t, status(http.StatusServiceUnavailable)), surface.NotChecked, CodeHTTPStatus},
		{"nobody there", gone, surface.NotChecked, CodeConnect},
		{"web page", serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>hello</html>")
		})), surface.Refused, CodeNotMCP},
		{"older", serve(t, &peer{}), surface.Refused, CodeUnsupported},
		{"other versions", serve(t, &peer{results: map[string]string{"server/discover": strings.Replace(goodDiscovery, "2026-07-28", "2025-11-25", 1)}}), surface.Refused, CodeUnsupported},
		{"broken list", serve(t, &peer{results: map[string]string{"server/discover": goodDiscovery, "tools/list": list(`{"name":"a"}`)}}), surface.Refused, CodeProtocol},
		{"listed twice", serve(t, &peer{results: map[string]string{"server/discover": goodDiscovery, "tools/list": list(`{"name":"a","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}`)}}), surface.Refused, CodeProtocol},
		{"no list", serve(t, &peer{results: map[string]string{"server/discover": goodDiscovery}}), surface.Refused, CodeRPC},
		{"too long a name", serve(t, &peer{results: map[string]string{"server/discover": goodDiscovery, "tools/list": list(`{"name":"` + strings.Repeat("n", 1025) + `","inputSchema":{"type":"object"}}`)}}), surface.Refused, CodeLimit},
		{"silent", serve(t, &peer{results: map[string]string{"server/discover": goodDiscovery}, pause: 1500 * time.Millisecond}), surface.NotChecked, CodeTimeout},
		{"hangs up", serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"jsonrpc"`)
		})), surface.NotChecked, CodeLost},
		{"unknown certificate", serveTLS(t, good), surface.NotChecked, CodeTLS},
	}
	urls := make([]string, len(tests))
	for i, tt := range tests {
		urls[i] = tt.url
	}
	decls := servers(t, urls...)
	got, err := Servers(t.Context(), decls, Options{Dialer: dialer()})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range decls {
		// Servers are ordered by address: s10 comes before s2.
		var n int
		fmt.Sscanf(d.Addr.Label, "s%d", &n)
		tt, s := tests[n], got[i]
		if s.Addr != d.Addr || s.EndpointDigest != d.EndpointDigest() {
			t.Errorf("%s: answer of %s at the place of %s", tt.name, s.Addr, d.Addr)
		}
		if tt.want == "" {
			if s.Status == surface.Checked {
				t.Errorf("%s: checked", tt.name)
			}
			continue
		}
		code := ""
		if s.Failure != nil {
			code = s.Failure.Code
			if s.Failure.Message == "" || strings.ContainsAny(s.Failure.Message, "\n\x1b") {
				t.Errorf("%s: message %q", tt.name, s.Failure.Message)
			}
		}
		if s.Status != tt.want || code != tt.code {
			t.Errorf("%s: %s %q (%+v), want %s %q", tt.name, s.Status, code, s.Failure, tt.want, tt.code)
		}
		if (s.Status == surface.Checked) != (s.Failure == nil) {
			t.Errorf("%s: %s with failure %v", tt.name, s.Status, s.Failure)
		}
	}

	// Two walks: discovery and list are each asked twice; a server without tools is never asked for a list.
	if want := "server/discover tools/list server/discover tools/list"; strings.Join(good.asked, " ") != want {
		t.Errorf("the good server was asked %v, want %s", good.asked, want)
	}
	if want := "server/discover server/discover"; strings.Join(bare.asked, " ") != want {
		t.Errorf("the server without tools was asked %v, want %s", bare.asked, want)
	}
}

// TestStalled: the message says what a child wrote before it stopped.
func TestStalled(t *testing.T) {
	decls := servers(t, "http://127.0.0.1:1/mcp")
	f := classify(&mcp.ServerError{Server: "server.s0", Err: &mcp.StallError{
		Method: "tools/list", Where: "a line", After: 10 * time.Second, Bytes: 7, Stderr: `out of paper\n`,
	}}, decls[0])
	want := "tools/list: the server stopped within a line: nothing came for 10s after 7 bytes; it wrote to standard error: out of paper."
	if f.Code != CodeStalled || f.status != surface.NotChecked || !f.Retryable || f.Message != want {
		t.Errorf("classify = %+v, want %s with %q", f, CodeStalled, want)
	}
}

// flipping changes its list after some requests.
type flipping struct {
	peer
	lists atomic.Int32
	later string
}

func (f *flipping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Mcp-Method") == "tools/list" && f.lists.Add(1) == 2 {
		f.mu.Lock()
		f.results["tools/list"] = f.later
		f.mu.Unlock()
	}
	f.peer.ServeHTTP(w, r)
}

// TestTwoWalks: a list that changes between two walks is unstable; one whose order or cache hints change is not.
func TestTwoWalks(t *testing.T) {
	const a, b = `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{"type":"object"}}`
	for _, tt := range []struct {
		name, later string
		unstable    bool
		byItself    string
	}{
		{"same", list(a + "," + b), false, ""},
		{"white space", list(a + " , " + b), false, ""},
		{"order", list(b + "," + a), false, "order"},
		{"cache hints", strings.Replace(list(a+","+b), `"ttlMs":0`, `"ttlMs":5`, 1), false, "ttlMs"},
		{"one more", list(a + "," + b + `,{"name":"c","inputSchema":{"type":"object"}}`), true, ""},
		{"one less", list(a), true, ""},
		{"description", list(a + `,{"name":"b","description":"new","inputSchema":{"type":"object"}}`), true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &flipping{later: tt.later, peer: peer{results: map[string]string{"server/discover": goodDiscovery, "tools/list": list(a + "," + b)}}}
			got, err := Servers(t.Context(), servers(t, serve(t, f)), Options{Dialer: dialer()})
			if err != nil {
				t.Fatal(err)
			}
			s := got[0]
			if unstable := s.Failure != nil && s.Failure.Code == CodeUnstable; unstable != tt.unstable {
				t.Errorf("unstable = %v (%+v), want %v", unstable, s.Failure, tt.unstable)
			}
			if by := strings.Join(s.ByItself, " "); by != tt.byItself {
				t.Errorf("changes by itself = %q, want %q", by, tt.byItself)
			}
		})
	}
}

func TestParallelismAndApproval(t *testing.T) {
	p := &peer{results: map[string]string{"server/discover": goodDiscovery, "tools/list": list("")}, pause: 20 * time.Millisecond}
	url := serve(t, p)
	decls := servers(t, url, url, url, url, url, url)
	if _, err := Servers(t.Context(), decls, Options{Dialer: dialer(), Parallelism: 2}); err != nil {
		t.Fatal(err)
	}
	if most := p.most.Load(); most != 2 {
		t.Errorf("%d servers were asked at a time, want 2", most)
	}
	before := len(p.asked)
	approve := map[string]error{}
	for _, d := range decls[1:] {
		approve[d.Addr.String()] = errors.New("its endpoint is not approved")
	}
	got, err := Servers(t.Context(), decls, Options{Dialer: dialer(), Approve: approve})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.asked) - before; n != 4 {
		t.Errorf("%d requests were sent, want the 4 of the one approved server", n)
	}
	for i, s := range got {
		if refused := s.Failure != nil && s.Failure.Code == CodeNotApproved; refused != (i > 0) {
			t.Errorf("%s: %+v", s.Addr, s.Failure)
		}
	}
}

// TestInterrupt: after an interrupt there is no result at all, and nothing is left running.
func TestInterrupt(t *testing.T) {
	p := &peer{results: map[string]string{"server/discover": goodDiscovery}, pause: 300 * time.Millisecond}
	url := serve(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	got, err := Servers(ctx, servers(t, url, url, url), Options{Dialer: dialer(), Parallelism: 1})
	if !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("Servers = %v, %v, want no result and context.Canceled", got, err)
	}
}

func TestTimeout(t *testing.T) {
	p := &peer{results: map[string]string{"server/discover": goodDiscovery}, pause: 400 * time.Millisecond}
	got, err := Servers(t.Context(), servers(t, serve(t, p)), Options{Dialer: dialer(), Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if f := got[0].Failure; f == nil || f.Code != CodeTimeout && f.Code != CodeConnectTimeout || !f.Retryable {
		t.Errorf("failure = %+v, want a timeout that may be tried again", f)
	}
}

func TestEvidence(t *testing.T) {
	d, form, err := Evidence("tools", []byte(list(`{"name":"a","inputSchema":{"type":"object"}}`)))
	if err != nil || d.IsZero() || !strings.HasPrefix(string(form), "mcpcat:tools:v1\n") {
		t.Errorf("Evidence = %s, %q, %v", d, form, err)
	}
	for _, bad := range [][2]string{{"tools", goodDiscovery}, {"discovery", list("")}, {"shoes", "{}"}, {"tools", ""}} {
		if _, _, err := Evidence(bad[0], []byte(bad[1])); err == nil {
			t.Errorf("Evidence(%s, %s) has no error", bad[0], bad[1])
		}
	}
}

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{"": "", "no answer": "No answer.", "server/discover: x": "server/discover: x.", "Done.": "Done."} {
		if got := sentence(in); got != want {
			t.Errorf("sentence(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLastWords(t *testing.T) {
	for in, want := range map[string]string{
		"": "", `\n\n`: "", `no book\n`: "no book", `bad flag\nUsage:\n\t-x`: "bad flag … -x", `a\nb`: "a / b",
	} {
		if got := lastWords(in); got != want {
			t.Errorf("lastWords(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestChildThatEnds: a child that ends at once is one that exited, however far the first request got; one that cannot be
// started is another thing.
func TestChildThatEnds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stdio := func(command string) *catalog.Server {
		dir := t.TempDir()
		text := fmt.Sprintf("server \"s\" {\n  stdio {\n    command = %q\n    env = {\n      OBSERVE_CHILD = \"exit\"\n    }\n  }\n  tools = [\"a\"]\n}\n", command)
		if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cat, diags := catalog.Load(catalog.Options{Dir: dir})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return cat.Servers[0]
	}
	ends, absent := stdio(self), stdio(self+"-that-is-not-there")
	var many []*catalog.Server
	for range 40 {
		many = append(many, ends)
	}
	many = append(many, absent)
	got, err := Servers(t.Context(), many, Options{Dialer: dialer()})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range got {
		want := CodeExited
		if i == 40 {
			want = CodeStart
		}
		if s.Failure == nil || s.Status != surface.NotChecked || s.Failure.Code != want {
			t.Errorf("run %d: %s %+v, want %s", i, s.Status, s.Failure, want)
		}
		if i < 40 && (s.Failure == nil || !strings.Contains(s.Failure.Message, "no licence")) {
			t.Errorf("run %d: %+v does not quote the last words", i, s.Failure)
		}
	}
}

// TestTrustHint: a certificate that is not accepted is explained by what the server's block says about certificates.
func TestTrustHint(t *testing.T) {
	file, name := &catalog.File{}, "ledger.example"
	for _, test := range []struct {
		reason string
		block  *catalog.TLS
		want   string // "" for no hint
	}{
		{"untrusted", nil, `tls { ca_file = "FILE" }`},
		{"untrusted", &catalog.TLS{ServerName: name}, "discover takes -ca-file=FILE"},
		{"untrusted", &catalog.TLS{CA: file}, "only the certificates of ca_file are trusted"},
		{"name", nil, `tls { server_name = "NAME" }`},
		{"name", &catalog.TLS{ServerName: name}, "server_name says which name"},
		{"pin", &catalog.TLS{Pins: []catalog.Pin{{}}}, "put the new one into pin_sha256"},
		{"client certificate", nil, "tls { client_cert_file ="},
		{"client certificate", &catalog.TLS{Certificate: file}, "It was shown that of client_cert_file."},
		{"expired", nil, ""},
		{"not tls", nil, ""},
		{"handshake", &catalog.TLS{CA: file}, ""},
	} {
		s := &catalog.Server{HTTP: &catalog.HTTP{TLS: test.block}}
		plain := classify(&mcp.TransportError{Method: "server/discover", Op: "connect", Err: &mcp.TLSError{Reason: test.reason, Host: "h:1"}}, s)
		if plain.Code != CodeTLS || plain.Retryable {
			t.Errorf("%s: %+v", test.reason, plain)
		}
		sentence, hint, _ := strings.Cut(plain.Message, ". ")
		if !strings.HasPrefix(sentence, `server/discover: TLS with "h:1": `) || !strings.Contains(hint, test.want) || (hint == "") != (test.want == "") {
			t.Errorf("%s with %+v: %q, want the hint %q", test.reason, test.block, plain.Message, test.want)
		}
	}
}
