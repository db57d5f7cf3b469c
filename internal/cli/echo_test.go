package cli_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/cli"
	"github.com/mcpcat-dev/mcpcat/internal/term"
)

// echoed are tokens that a server says again. Their pieces occur in nothing else.
var echoed = map[string]string{
	"plain": "Qz7WKp9LmVb5Tn8Rc3Yw",
	"odd":   "Qz7WKp9L Vb5T\tn8Rc\"3YwX\\Jh6G/Fd4S~Az2Q Wk1P",
}

// spellings are the forms in which a server may say a token.
var spellings = map[string]func(string) string{
	"plain":      func(s string) string { return s },
	"base64":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"basic":      func(s string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + s)) },
	"URL":        url.QueryEscape,
	"JSON":       func(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) },
	"Go":         func(s string) string { return strings.Trim(strconv.Quote(s), `"`) },
	"pointer":    func(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) },
	"behind 250": func(s string) string { return strings.Repeat("p", 250) + s },
}

// pieces of a token and its spellings: each six characters of a word of it.
func pieces(token string) []string {
	var out []string
	for _, form := range []string{token, spellings["base64"](token), spellings["basic"](token), url.QueryEscape(token)} {
		for _, word := range regexp.MustCompile(`[A-Za-z0-9]{6,}`).FindAllString(form, -1) {
			for i := 0; i+6 <= len(word); i++ {
				if word[i:i+6] != "bWU6UX" { // "me:Q"
					out = append(out, word[i:i+6])
				}
			}
		}
	}
	return out
}

func pieceIn(text []byte, token string) string {
	for _, p := range pieces(token) {
		if bytes.Contains(text, []byte(p)) {
			return p
		}
	}
	return ""
}

const (
	goodDiscovery = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
	goodTool      = `{"name":"berth","description":"d","inputSchema":{"type":"object"}}`
	listTail      = `"ttlMs":0,"cacheScope":"private"`
)

// places are where a server says it: T is the JSON text of the token. The first word of an entry is the method whose
// answer is replaced.
var places = map[string]string{
	"error message":     `server/discover error {"code":-32603,"message":T}`,
	"error data":        `server/discover error {"code":-32603,"message":"m","data":[T]}`,
	"legacy":            `server/discover error {"code":-32601,"message":T}`,
	"version":           `server/discover error {"code":-32022,"message":T,"data":{"supported":["2025-11-25",T],"requested":"2026-07-28"}}`,
	"supportedVersions": `server/discover result {"resultType":"complete","supportedVersions":["2025-11-25",T],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`,
	"offered beside":    `server/discover result {"resultType":"complete","supportedVersions":["2026-07-28",T],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`,
	"result type":       `server/discover result {"resultType":T}`,
	"duplicate":         `server/discover result {"resultType":"complete",T:1,T:2}`,
	"not JSON":          `server/discover line T`,
	"foreign id":        `server/discover line {"jsonrpc":"2.0","id":T,"result":{}}`,
	"instructions":      `server/discover result {"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":T,"ttlMs":0,"cacheScope":"private"}`,
	"capabilities":      `server/discover result {"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"experimental":{"x":{T:1}}},"ttlMs":0,"cacheScope":"private"}`,
	"serverInfo":        `server/discover result {"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":T,"version":"1"}}}`,
	"serverInfo list":   `tools/list result {"resultType":"complete","tools":[` + goodTool + `],` + listTail + `,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":T}}}`,
	"tool name":         `tools/list result {"resultType":"complete","tools":[` + goodTool + `,{"name":T,"inputSchema":{"type":"object"}}],` + listTail + `}`,
	"description":       `tools/list result {"resultType":"complete","tools":[{"name":"berth","description":T,"inputSchema":{"type":"object"}}],` + listTail + `}`,
	"property":          `tools/list result {"resultType":"complete","tools":[{"name":"berth","description":"d","inputSchema":{"type":"object","properties":{T:{}}}}],` + listTail + `}`,
	"excluded":          `tools/list result {"resultType":"complete","tools":[` + goodTool + `,{"name":T,"inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":T}}}}],` + listTail + `}`,
	"excluded reason":   `tools/list result {"resultType":"complete","tools":[` + goodTool + `,{"name":"b","inputSchema":{"type":"object","properties":{T:{"type":"object","x-mcp-header":"x"}}}}],` + listTail + `}`,
	"tool twice":        `tools/list result {"resultType":"complete","tools":[{"name":T,"inputSchema":{"type":"object"}},{"name":T,"inputSchema":{"type":"object"}}],` + listTail + `}`,
	"bad tool":          `tools/list result {"resultType":"complete","tools":[{"name":T,"inputSchema":{T:1}}],` + listTail + `}`,
	"cursor":            `tools/list result {"resultType":"complete","tools":[],"nextCursor":T,` + listTail + `}`,
	"scope":             `tools/list result {"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":T}`,
	"list error":        `tools/list error {"code":-32000,"message":T}`,
}

// callPlaces are those of calls.
var callPlaces = map[string]string{
	"call error":   `tools/call error {"code":-32603,"message":T,"data":T}`,
	"call result":  `tools/call result {"resultType":"complete","content":[{"type":"text","text":T}]}`,
	"call type":    `tools/call result {"resultType":T}`,
	"call member":  `tools/call result {"resultType":"complete","content":[],T:1,T:2}`,
	"call content": `tools/call result {"resultType":"complete","content":[{"type":T}]}`,
	"call line":    `tools/call line T`,
}

// echoing is the body of the answer to a method, with said in it.
func echoing(place, said, method, id string) string {
	want, rest, _ := strings.Cut(place, " ")
	kind, body, _ := strings.Cut(rest, " ")
	text, _ := json.Marshal(said)
	body = strings.NewReplacer(":T", ":"+string(text), "[T", "["+string(text), ",T", ","+string(text), "{T", "{"+string(text)).Replace(body)
	if body == "T" {
		body = said
	}
	switch {
	case method == want && kind == "line":
		return body
	case method == want:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, id, kind, body)
	case method == "server/discover":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, goodDiscovery)
	case method == "tools/list":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[%s],%s}}`, id, goodTool, listTail)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[]}}`, id)
}

// echoPlace is a catalog directory, in which commands run within this process.
type echoPlace struct {
	t       *testing.T
	dir     string
	secret  string // what else to write where secrets are, "" for nothing
	other   string // a directory for the test's own files, "" for none
	env     map[string]string
	stdin   string
	wrote   map[string]bool   // paths of the test's own files
	targets map[string]string // what discover is told to find a server, by label
	out     bytes.Buffer      // of all runs
}

// emptyPlace makes a directory without a catalog.
func emptyPlace(t *testing.T) *echoPlace {
	t.Helper()
	return &echoPlace{t: t, dir: t.TempDir(), env: map[string]string{}, wrote: map[string]bool{}}
}

// file writes a file of the test's own.
func (p *echoPlace) file(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	mode := fs.FileMode(0o600)
	if filepath.Ext(name) == ".sh" {
		mode = 0o700
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		p.t.Fatal(err)
	}
	p.wrote[path] = true
	return path
}

// newEchoPlace makes a catalog of one server that is given a token.
func newEchoPlace(t *testing.T, token, block string) *echoPlace {
	t.Helper()
	p := emptyPlace(t)
	p.env["MCPCAT_VAR_token"] = token
	p.file("catalog.hcl", "variable \"token\" {\n  type = string\n  sensitive = true\n}\nserver \"office\" {\n"+block+"\n  tools = [\"berth\"]\n}\n")
	return p
}

// conversation is standard input that ends once something was written to standard output.
type conversation struct {
	io.Reader
	io.Writer
	answered chan struct{}
	once     sync.Once
}

func (c *conversation) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if err == io.EOF {
		select {
		case <-c.answered:
		case <-time.After(10 * time.Second):
		}
	}
	return n, err
}

func (c *conversation) Write(b []byte) (int, error) {
	defer c.once.Do(func() { close(c.answered) })
	return c.Writer.Write(b)
}

func (p *echoPlace) run(args ...string) (code int, out string) {
	p.t.Helper()
	code, out, _ = p.streams(args...)
	return code, out
}

// streams is run with both streams.
func (p *echoPlace) streams(args ...string) (code int, out, diagnostics string) {
	p.t.Helper()
	var both [2]bytes.Buffer
	c := &conversation{Reader: strings.NewReader(p.stdin), Writer: &both[0], answered: make(chan struct{})}
	stdin := io.Reader(c)
	if !slices.Contains(args, "serve") {
		stdin = c.Reader // nobody waits for an answer
	}
	code = cli.Main(context.Background(), args, &term.Process{
		Stdin: stdin, Stdout: c, Stderr: &both[1], Dir: p.dir, State: p.state(),
		Lookup: p.lookup,
	})
	for i := range both {
		p.out.Write(both[i].Bytes())
	}
	return code, both[0].String(), both[1].String()
}

func (p *echoPlace) lookup(name string) (string, bool) { v, ok := p.env[name]; return v, ok }

func (p *echoPlace) state() string {
	return filepath.Join(p.dir, "..", "state-of-"+filepath.Base(p.dir))
}

// everything is what the commands wrote: both streams, and every file of the catalog and of the state but the test's own.
func (p *echoPlace) everything() []byte {
	p.t.Helper()
	all := bytes.Clone(p.out.Bytes())
	for _, dir := range []string{p.dir, p.state()} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && path == p.state() {
				return nil // nothing was ever accepted
			}
			if err != nil || d.IsDir() || p.wrote[path] {
				return err
			}
			b, err := os.ReadFile(path)
			all = append(all, b...)
			return err
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return all
}

// session runs the commands that ask a server, and wants JSON where JSON was promised.
func (p *echoPlace) session() {
	p.t.Helper()
	p.run("plan", "-contact=all", "-out=p.mcpplan", "-full", "-show-unchanged")
	for _, args := range [][]string{
		{"plan", "-json", "-contact=all"},
		{"show", "-json", "p.mcpplan"},
		{"apply", "-auto-approve", "-allow-incomplete", "-contact=all", "-json"},
		{"verify", "-json", "-contact=all"},
		{"call", "-contact=all", "-json", "server.office.tool.berth", "{}"},
	} {
		if _, out := p.run(args...); out != "" && !json.Valid([]byte(out)) {
			p.t.Errorf("mcpcat %s printed something else than JSON: %.300s", strings.Join(args, " "), out)
		}
	}
	p.run("show", "p.mcpplan")
	p.run("apply", "p.mcpplan", "-allow-incomplete")
	p.run("verify", "-contact=all")
	p.run("call", "-contact=all", "server.office.tool.berth", "{}")
}

func echoServer(t *testing.T, place string, said *string, raw func(http.ResponseWriter) bool) string {
	t.Helper()
	return changingServer(t, &place, said, raw)
}

// changingServer is a server whose place and text may change between two commands.
func changingServer(t *testing.T, place, said *string, raw func(http.ResponseWriter) bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(b, &m)
		if raw != nil && raw(w) {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, echoing(*place, *said, m.Method, string(m.ID)))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const bearer = "auth {\n      bearer = var.token\n    }"

const httpBlock = "  http {\n    url = \"%s\"\n    %s\n    egress {\n      allow_private = true\n    }\n  }"

// TestServerRepeatsItsToken: whatever a server does with its token, no byte of it is in an output or a file. The same
// text with another token in the catalog is shown or pinned, which shows that the place is one where it could come out.
func TestServerRepeatsItsToken(t *testing.T) {
	for place, answer := range places {
		t.Run(strings.ReplaceAll(place, " ", "-"), func(t *testing.T) {
			t.Parallel()
			for name, token := range echoed {
				shown := 0
				for spelling, spell := range spellings {
					if name == "plain" && spelling != "plain" && spelling != "behind 250" {
						continue // the other spellings make more of a difference to the odd one
					}
					said := spell(token)
					address := echoServer(t, answer, &said, nil)
					p := newEchoPlace(t, token, fmt.Sprintf(httpBlock, address, bearer))
					if strings.ContainsAny(token, "\t\"\\ ") {
						p = newEchoPlace(t, token, fmt.Sprintf(httpBlock, address, `headers = { "X-Token" = "Token ${var.token}" }`))
					}
					if spelling == "plain" || spelling == "behind 250" {
						p.session()
					} else {
						p.run("plan", "-contact=all", "-out=p.mcpplan", "-full", "-show-unchanged")
						p.run("apply", "-auto-approve", "-contact=all", "-json")
					}
					if piece := pieceIn(p.everything(), token); piece != "" {
						t.Errorf("%s token said as %s: %q is in the output:\n%s", name, spelling, piece, around(p.everything(), piece))
					}
					if spelling != "plain" {
						continue
					}
					control := newEchoPlace(t, "another-"+name, fmt.Sprintf(httpBlock, address, bearer))
					control.session()
					if pieceIn(control.everything(), token) != "" {
						shown++
					}
				}
				if shown == 0 && place != "error data" && place != "offered beside" && place != "legacy" {
					t.Errorf("%s token: not even a text that is no secret came out", name)
				}
			}
		})
	}
}

func around(b []byte, piece string) string {
	i := bytes.Index(b, []byte(piece))
	return string(b[max(i-200, 0):min(i+200, len(b))])
}

// TestChildRepeatsItsToken: a child that prints its environment and ends, with the token at every place of what is kept.
func TestChildRepeatsItsToken(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	for name, token := range echoed {
		shown := 0
		for _, pad := range []int{0, 100, 220, 236, 240, 244, 246, 248, 250, 252, 254, 255, 256, 300} {
			for _, control := range []bool{false, true} {
				value := token
				if control {
					value = "another-token"
				}
				p := newEchoPlace(t, value, "  stdio {\n    command = \"./child.sh\"\n    env = { TOKEN = var.token }\n  }")
				text := "usage:\n\t" + token + "\nlast " + token + strings.Repeat("p", pad)
				p.file("text.said", text)
				p.file("child.sh", "#!/bin/sh\ncat text.said >&2\nexit 3\n")
				code, _ := p.run("plan", "-contact=all", "-out=p.mcpplan")
				p.run("plan", "-contact=all", "-json")
				p.run("plan", "-contact=all", "-log-level=trace")
				if code != 5 {
					t.Fatalf("plan exited %d:\n%s", code, &p.out)
				}
				piece := pieceIn(p.everything(), token)
				switch {
				case piece != "" && control:
					shown++
				case piece != "":
					t.Errorf("%s token, %d bytes before the end: %q is in the output:\n%s", name, pad, piece, around(p.everything(), piece))
				}
			}
		}
		if shown == 0 {
			t.Errorf("%s token: not even a text that is no secret came out", name)
		}
	}
}

// rawAnswers say it by status, header and body.
var rawAnswers = map[string]func(http.ResponseWriter, string){
	"500": func(w http.ResponseWriter, s string) { http.Error(w, s, http.StatusInternalServerError) },
	"401": func(w http.ResponseWriter, s string) {
		w.Header().Set("WWW-Authenticate", s)
		http.Error(w, s, http.StatusUnauthorized)
	},
	"redirect": func(w http.ResponseWriter, s string) {
		w.Header().Set("Location", "/"+s)
		w.WriteHeader(http.StatusTemporaryRedirect)
	},
	"type":     func(w http.ResponseWriter, s string) { w.Header().Set("Content-Type", "text/"+s) },
	"encoding": func(w http.ResponseWriter, s string) { w.Header().Set("Content-Encoding", s); w.WriteHeader(200) },
	"events": func(w http.ResponseWriter, s string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+s+"\n\n")
	},
}

// TestHTTPRepeatsItsToken: the same by status, header and body, and a token in the path of the address.
func TestHTTPRepeatsItsToken(t *testing.T) {
	token := echoed["plain"]
	for name, raw := range rawAnswers {
		for _, pad := range []int{0, 236, 240, 245, 250, 255} {
			said := strings.Repeat("p", pad) + token
			address := echoServer(t, "", &said, func(w http.ResponseWriter) bool { raw(w, said); return true })
			p := newEchoPlace(t, token, fmt.Sprintf(httpBlock, address+"/${var.token}?k=${var.token}", ""))
			p.session()
			if piece := pieceIn(p.everything(), token); piece != "" {
				t.Errorf("%s behind %d bytes: %q is in the output:\n%s", name, pad, piece, around(p.everything(), piece))
			}
		}
	}
}

// TestServeLogHoldsNoToken: a pinned server turns, and neither the log nor the agent hears its token.
func TestServeLogHoldsNoToken(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	turned := maps.Clone(callPlaces)
	for name, place := range places {
		turned[name] = place
	}
	for name, token := range echoed {
		shown := 0
		for turn, answer := range turned {
			for _, control := range []bool{false, true} {
				place, said, value := "", strings.Repeat("p", 240)+token, token
				if control {
					value, said = "another-token", token
				}
				address := changingServer(t, &place, &said, nil)
				block := bearer
				if name == "odd" {
					block = `headers = { "X-Token" = "Token ${var.token}" }`
				}
				p := newEchoPlace(t, value, fmt.Sprintf(httpBlock, address, block))
				p.file("agent.catalog.hcl", "agent \"pilot\" {\n  tools = [server.office]\n}\n")
				if code, _ := p.run("apply", "-contact=all", "-auto-approve"); code != 0 {
					t.Fatalf("apply exited %d:\n%s", code, &p.out)
				}
				place = answer
				p.stdin = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"office__berth","arguments":{},` + meta + "}}\n"
				for _, format := range []string{"text", "json"} {
					if code, out := p.run("serve", "-stdio", "-agent=pilot", "-log-level=debug", "-log-format="+format); code != 0 || !strings.Contains(out, `"id":1`) {
						t.Fatalf("%s: serve exited %d: %s\n%s", turn, code, out, &p.out)
					}
				}
				piece := pieceIn(p.everything(), token)
				switch {
				case piece != "" && control:
					shown++
				case piece != "":
					t.Errorf("%s token in %s: %q is in the output:\n%s", name, turn, piece, around(p.everything(), piece))
				}
			}
		}
		if shown < 6 {
			t.Errorf("%s token: only %d texts that are no secrets came out", name, shown)
		}
	}
}

// TestShortSecretIsAWord: a secret that is a word of mcpcat's documents breaks none of them.
func TestShortSecretIsAWord(t *testing.T) {
	for _, token := range []string{"server", "checked", "format", "endpoint", "refused", "berths"} {
		said := "nothing"
		address := echoServer(t, places["description"], &said, nil)
		p := newEchoPlace(t, token, fmt.Sprintf(httpBlock, address, bearer))
		for _, args := range [][]string{{"plan", "-json", "-contact=all"}, {"validate", "-json"}, {"plan", "-json", "-contact=all", "-bad-flag"}} {
			_, out := p.run(args...)
			var doc map[string]any
			if err := json.Unmarshal([]byte(out), &doc); err != nil || doc["format_version"] == nil || doc["diagnostics"] == nil {
				t.Errorf("secret %q: mcpcat %s: %v: %.200s", token, strings.Join(args, " "), err, out)
			}
		}
		if len(token) < 8 {
			if code, _ := p.run("plan", "-contact=all", "-out=p.mcpplan"); code != 0 {
				t.Errorf("secret %q: no plan file:\n%s", token, &p.out)
			}
		}
	}
}

// TestPlanSecret: what the catalog itself says in the plain cannot be a secret, and is not written.
func TestPlanSecret(t *testing.T) {
	said := "nothing"
	address := echoServer(t, places["description"], &said, nil)
	token := "berth-4711-berth"
	p := newEchoPlace(t, token, fmt.Sprintf(httpBlock, address+"/"+token, bearer))
	code, _ := p.run("plan", "-contact=all", "-out=p.mcpplan")
	if _, err := os.Stat(filepath.Join(p.dir, "p.mcpplan")); err == nil || code != 1 || !strings.Contains(p.out.String(), "value of var.token") {
		t.Errorf("plan exited %d, file %v:\n%s", code, err, &p.out)
	}
	if _, out := p.run("plan", "-contact=all", "-out=p.mcpplan", "-json"); !strings.Contains(out, `"plan.secret"`) {
		t.Errorf("no code: %s", out)
	}
	if code, _ := p.run("apply", "-contact=all", "-auto-approve"); code != 1 {
		t.Errorf("apply exited %d", code)
	}
	if bytes.Contains(p.everything(), []byte(token)) {
		t.Errorf("the token is in the output:\n%s", around(p.everything(), token))
	}
}
