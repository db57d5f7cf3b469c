package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/gate"
)

// exchange sends raw bytes to the handler and returns what came back.
func exchange(t *testing.T, s *Server, raw string) (status int, header http.Header, body string) {
	t.Helper()
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(b)
}

// post is the raw text of a good POST with these headers in addition to, or without, the usual ones.
func post(body string, lines ...string) string {
	usual := []string{"Host: 127.0.0.1", "Content-Type: application/json", "Accept: application/json, text/event-stream", "MCP-Protocol-Version: 2026-07-28"}
	var m struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	_ = json.Unmarshal([]byte(body), &m) // bad bodies are sent without the two headers
	if m.Method != "" {
		usual = append(usual, "Mcp-Method: "+m.Method)
	}
	if m.Params.Name != "" {
		usual = append(usual, "Mcp-Name: "+m.Params.Name)
	}
	for _, l := range lines {
		name, remove := strings.CutPrefix(l, "-")
		if !remove {
			continue
		}
		for i, u := range usual {
			if strings.HasPrefix(u, name+":") {
				usual = append(usual[:i], usual[i+1:]...)
				break
			}
		}
	}
	var b strings.Builder
	b.WriteString("POST /mcp HTTP/1.1\r\n")
	for _, l := range usual {
		b.WriteString(l + "\r\n")
	}
	for _, l := range lines {
		if !strings.HasPrefix(l, "-") {
			b.WriteString(l + "\r\n")
		}
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.String()
}

func call(id, name, arguments string) string {
	if arguments != "" {
		arguments = `,"arguments":` + arguments
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + meta + `,"name":"` + name + `"` + arguments + `}}`
}

func TestHTTPChecks(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + meta + `}}`
	replaced := func(s, from, to string) string { return strings.Replace(s, from, to, 1) }
	cases := []struct {
		name, raw string
		status    int
		body      string // of the whole answer, or of its error: code and a part of its message
	}{
		{"origin", post(list, "Origin: http://127.0.0.1"), 403, "origin"},
		{"origin null, also on GET", "GET /mcp HTTP/1.1\r\nHost: x\r\nOrigin: null\r\n\r\n", 403, "origin"},
		{"origin that begins like an allowed one", post(list, "Origin: https://agents.example.evil.example"), 403, "origin"},
		{"allowed origin", post(list, "Origin: https://agents.example"), 200, `"id":7`},
		{"get", "GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n", 405, "POST"},
		{"delete on another path is a method first", "DELETE /x HTTP/1.1\r\nHost: x\r\n\r\n", 405, "POST"},
		{"path", replaced(post(list), "/mcp", "/mcp/"), 404, "/mcp"},
		{"no content type", post(list, "-Content-Type"), 415, "application/json"},
		{"other content type", replaced(post(list), "application/json\r", "text/plain\r"), 415, "application/json"},
		{"content type in capitals", replaced(post(list), "application/json\r", "Application/JSON; charset=UTF-8\r"), 200, `"id":7`},
		{"content encoding", post(list, "Content-Encoding: gzip"), 415, "Content-Encoding"},
		{"accept", post(list, "-Accept", "Accept: text/html, application/json;q=0"), 406, "application/json"},
		{"no accept", post(list, "-Accept"), 200, `"id":7`},
		{"size", replaced(post(list), "Content-Length: ", "Content-Length: 16777217\r\nX-Was: "), 413, "16777216"},
		{"json", post(`{"jsonrpc":`), 400, "-32700"},
		{"bom", post("\xef\xbb\xbf" + list), 400, "-32700"},
		{"duplicate member", post(replaced(list, `"id":7`, `"id":7,"id":8`)), 400, "-32600"},
		{"duplicate member after unescaping, deep", post(replaced(list, `"params":{`, `"params":{"x":[{"a":1,"\u0061":2}],`)), 400, "-32600"},
		{"batch", post("[" + list + "]"), 400, "-32600"},
		{"depth", post(replaced(list, `"params":{`, `"params":{"x":`+strings.Repeat("[", 128)+strings.Repeat("]", 128)+`,`)), 400, "-32600"},
		{"version of json-rpc, id echoed", post(replaced(list, `"2.0"`, `"1.0"`)), 400, `"id":7,"error":{"code":-32600`},
		{"id null", post(replaced(list, `"id":7`, `"id":null`)), 400, "-32600"},
		{"id with a fraction", post(replaced(list, `"id":7`, `"id":7.5`)), 400, "-32600"},
		{"answer", post(`{"jsonrpc":"2.0","id":7,"result":{}}`), 400, "-32600"},
		{"no version header", post(list, "-MCP-Protocol-Version"), 400, "-32020"},
		{"version header twice", post(list, "MCP-Protocol-Version: 2026-07-28"), 400, "-32020"},
		{"no version in the body", post(replaced(list, `"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, ``)), 400, "-32602"},
		{"no meta", post(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`), 400, "-32602"},
		{"meta is a list", post(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":[]}}`), 400, "-32602"},
		{"versions differ", post(replaced(list, "2026-07-28", "2025-11-25")), 400, "-32020"},
		{
			"other version", replaced(post(replaced(list, "2026-07-28", "2099-01-01")), "Version: 2026-07-28", "Version: 2099-01-01"), 400,
			`"code":-32022,"message":"unsupported protocol version: this server speaks 2026-07-28","data":{"supported":["2026-07-28"],"requested":"2099-01-01"}`,
		},
		{"other version, none in the body", replaced(post(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}`), "Version: 2026-07-28", "Version: 2025-11-25"), 400, "-32022"},
		{"initialize of an older revision", post(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, "-MCP-Protocol-Version"), 400, "2026-07-28"},
		{"no method header", post(list, "-Mcp-Method"), 400, "-32020"},
		{"other method header", post(list, "-Mcp-Method", "Mcp-Method: tools/call"), 400, "-32020"},
		{"encoded method header", post(list, "-Mcp-Method", "Mcp-Method: =?base64?dG9vbHMvbGlzdA==?="), 400, "-32020"},
		{"no name header", post(call("7", "a", ""), "-Mcp-Name"), 400, "-32020"},
		{"other name header", post(call("7", "a", ""), "-Mcp-Name", "Mcp-Name: b"), 400, "-32020"},
		{"name header twice", post(call("7", "a", ""), "Mcp-Name: a"), 400, "-32020"},
		{"broken base64 in the name header", post(call("7", "a", ""), "-Mcp-Name", "Mcp-Name: =?base64?YQ?="), 400, "-32020"},
		{"encoded name header", post(call("7", "世界", ""), "-Mcp-Name", "Mcp-Name: =?base64?5LiW55WM?="), 200, `"id":7,"result"`},
		{"name header that only looks encoded", post(call("7", "=?base64?=", ""), "-Mcp-Name", "Mcp-Name: =?base64?="), 200, `unknown tool: \"=?base64?=\"`},
		{"the same, encoded", post(call("7", "=?base64?=", ""), "-Mcp-Name", "Mcp-Name: =?base64?PT9iYXNlNjQ/PQ==?="), 200, `unknown tool: \"=?base64?=\"`},
		{"mark in capitals is literal", post(call("7", "=?BASE64?YQ==?=", ""), "-Mcp-Name", "Mcp-Name: =?BASE64?YQ==?="), 200, `unknown tool: \"=?BASE64?YQ==?=\"`},
		{"mark in capitals stands for nothing", post(call("7", "a", ""), "-Mcp-Name", "Mcp-Name: =?BASE64?YQ==?="), 400, "-32020"},
		{"name header in another case", post(call("7", "a", ""), "-Mcp-Name", "Mcp-Name: A"), 400, "-32020"},
		{"empty name header", post(call("7", "a", ""), "-Mcp-Name", "Mcp-Name:"), 400, "-32020"},
		{"raw name header", post(call("7", "世界", ""), "-Mcp-Name", "Mcp-Name: 世界"), 400, "-32020"},
		{"other alphabet in the name header", post(call("7", "??>", ""), "-Mcp-Name", "Mcp-Name: =?base64?Pz8-?="), 400, "-32020"},
		{"version header twice", post(list, "MCP-Protocol-Version: 2026-07-28"), 400, "-32020"},
		{"method header twice", post(list, "Mcp-Method: tools/list"), 400, "-32020"},
		{"method header in another case", post(list, "-Mcp-Method", "Mcp-Method: Tools/list"), 400, "-32020"},
		{"no capabilities", post(replaced(list, `,"io.modelcontextprotocol/clientCapabilities":{}`, ``)), 400, "-32602"},
		{"capabilities are a list", post(replaced(list, `clientCapabilities":{}`, `clientCapabilities":[]`)), 400, "-32602"},
		{"log level", post(replaced(list, `clientCapabilities":{}`, `clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud"`)), 200, "-32602"},
		{"good log level", post(replaced(list, `clientCapabilities":{}`, `clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info"`)), 200, `"id":7,"result"`},
		{"progress token", post(replaced(list, `clientCapabilities":{}`, `clientCapabilities":{},"progressToken":1.5`)), 400, "-32602"},
		{"method", post(replaced(list, "tools/list", "prompts/list")), 404, "-32601"},
		{"listen", post(replaced(list, "tools/list", "subscriptions/listen")), 404, "-32601"},
		{"ping", post(replaced(list, "tools/list", "ping")), 404, "-32601"},
		{"cursor", post(replaced(list, `"params":{`, `"params":{"cursor":"",`)), 200, "-32602"},
		{"no tool name", post(replaced(call("7", "a", ""), `,"name":"a"`, ``), "Mcp-Name: a"), 200, "-32602"},
		{"tool name is a number", post(replaced(call("7", "a", ""), `"name":"a"`, `"name":1`), "Mcp-Name: 1"), 200, "-32602"},
		{"arguments are a list", post(call("7", "a", "[]")), 200, "-32602"},
		{"arguments are null", post(call("7", "a", "null")), 200, "-32602"},
		{"tool", post(call("7", "nobody", "")), 200, `"code":-32602,"message":"unknown tool: \"nobody\""`},
		{"tool with a broken annotation", post(call("7", "broken", "")), 200, `"code":-32602,"message":"unknown tool: \"broken\""`},
		{"parameter header missing", post(call("7", "b", `{"region":"eu"}`)), 400, "-32020"},
		{"parameter header of another value", post(call("7", "b", `{"region":"eu"}`), "Mcp-Param-Region: us"), 400, "-32020"},
		{"parameter header without argument", post(call("7", "b", `{}`), "Mcp-Param-Region: eu"), 400, "-32020"},
		{"parameter header with a null argument", post(call("7", "b", `{"region":null}`), "Mcp-Param-Region: "), 400, "-32020"},
		{"parameter header twice", post(call("7", "b", `{"region":"eu"}`), "Mcp-Param-Region: eu", "Mcp-Param-Region: eu"), 400, "-32020"},
		{"parameter header with bad base64", post(call("7", "b", `{"region":"eu"}`), "Mcp-Param-Region: =?base64?e?="), 400, "-32020"},
		{"parameter headers", post(call("7", "b", `{"region":"eu","n":42}`), "mcp-param-region: =?base64?ZXU=?=", "Mcp-Param-N: 42.0"), 200, `"id":7,"result"`},
		{"empty value without a header", post(call("7", "b", `{"region":""}`)), 400, "-32020"},
		{"empty header without a value", post(call("7", "b", `{}`), "Mcp-Param-Region:"), 400, "-32020"},
		{"encoded nothing is empty", post(call("7", "b", `{"region":""}`), "Mcp-Param-Region: =?base64??="), 200, `"id":7,"result"`},
		{"interior tab", post(call("7", "b", `{"region":"e\tu"}`), "Mcp-Param-Region: e\tu"), 200, `"id":7,"result"`},
		{"interior tab, encoded", post(call("7", "b", `{"region":"e\tu"}`), "Mcp-Param-Region: =?base64?ZQl1?="), 200, `"id":7,"result"`},
		{"interior tab is no blank", post(call("7", "b", `{"region":"e\tu"}`), "Mcp-Param-Region: e u"), 400, "-32020"},
		{"blanks at the ends need encoding", post(call("7", "b", `{"region":" eu "}`), "Mcp-Param-Region:  eu "), 400, "-32020"},
		{"blanks at the ends, encoded", post(call("7", "b", `{"region":" eu "}`), "Mcp-Param-Region: =?base64?IGV1IA==?="), 200, `"id":7,"result"`},
		{"value that only looks encoded", post(call("7", "b", `{"region":"=?base64?="}`), "Mcp-Param-Region: =?base64?="), 200, `"id":7,"result"`},
		{"integer by value", post(call("7", "b", `{"n":4.2e1}`), "Mcp-Param-N: 42"), 200, `"id":7,"result"`},
		{"integer by value, the other way", post(call("7", "b", `{"n":42}`), "Mcp-Param-N: 4.20E+1"), 200, `"id":7,"result"`},
		{"another integer", post(call("7", "b", `{"n":42}`), "Mcp-Param-N: 43"), 400, "-32020"},
		{"close to an integer", post(call("7", "b", `{"n":9007199254740991}`), "Mcp-Param-N: 9007199254740992"), 400, "-32020"},
		{"integer as no JSON number", post(call("7", "b", `{"n":42}`), "Mcp-Param-N: +42"), 400, "-32020"},
		{"string by its text", post(call("7", "b", `{"region":"42"}`), "Mcp-Param-Region: 42.0"), 400, "-32020"},
		{"empty parameter header", post(call("7", "b", `{"region":""}`), "Mcp-Param-Region:"), 200, `"id":7,"result"`},
		{"foreign parameter header", post(call("7", "a", ""), "Mcp-Param-Other: x"), 200, `"id":7,"result"`},
		{"notification", post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`), 202, ""},
		{"large integer id", post(replaced(list, `"id":7`, `"id":9007199254740993`)), 200, `"id":9007199254740993,"result"`},
		{"string id with escapes", post(replaced(list, `"id":7`, `"id":"\u0037\/"`)), 200, `"id":"\u0037\/","result"`},
		{"session header is ignored", post(list, "Mcp-Session-Id: x", "Last-Event-ID: 1"), 200, `"id":7,"result"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newFake()
			s := New(Options{Gate: g, Version: "1.2.3", Origins: []string{"https://agents.example"}})
			status, header, body := exchange(t, s, c.raw)
			if status != c.status || !strings.Contains(body, c.body) {
				t.Errorf("got %d %s, want %d with %s", status, body, c.status, c.body)
			}
			if status == 202 && body != "" {
				t.Errorf("a notification was answered with %s", body)
			}
			if status == 405 && header.Get("Allow") != "POST" {
				t.Errorf("Allow is %q", header.Get("Allow"))
			}
			if header.Get("Mcp-Session-Id") != "" || header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers %v", header)
			}
			if len(g.made()) > 0 && status != 200 {
				t.Errorf("the gate was called for a refused request")
			}
		})
	}
}

func TestHostOfALoopbackServer(t *testing.T) {
	s := New(Options{Gate: newFake(), Hosts: LoopbackHosts})
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + meta + `}}`
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "localhost": 200, "LOCALHOST:1": 200, "[::1]:8080": 200, "[::1]": 200,
		"rebound.example": 403, "127.0.0.1.rebound.example": 403, "localhost.": 403,
	} {
		status, _, body := exchange(t, s, strings.Replace(post(list), "Host: 127.0.0.1", "Host: "+host, 1))
		if status != want {
			t.Errorf("Host %s: %d %s, want %d", host, status, body, want)
		}
	}
}

// TestAnswers compares whole answers.
func TestAnswers(t *testing.T) {
	withMeta := `{ "resultType" : "complete" , "_meta" : {"x": 1.0 ,"io.modelcontextprotocol/serverInfo":{"name":"up"}, "io.modelcontextprotocol/subscriptionId":3 , "y":"s\u0041"} ,"content":[] }`
	digest := "sha256:" + strings.Repeat("0", 64)
	cases := []struct {
		name   string
		result string
		err    error
		want   string
	}{
		{
			"bytes pass", `{"resultType":"complete","content":[{"type":"text","text":"a\/b\u003c"}],"structuredContent":{"n":1.0,"m":9007199254740993},"zz":null}`, nil,
			`"result":{"resultType":"complete","content":[{"type":"text","text":"a\/b\u003c"}],"structuredContent":{"n":1.0,"m":9007199254740993},"zz":null,` + own + `}`,
		},
		{
			"identity replaced, subscription removed", withMeta, nil,
			`"result":{ "resultType" : "complete" , "_meta" : {"io.modelcontextprotocol/serverInfo":` + info + `,"x": 1.0,"y":"s\u0041"} ,"content":[] }`,
		},
		{"unknown tool", "", gate.ErrUnknownTool, `"error":{"code":-32602,"message":"unknown tool: \"a\""}`},
		{
			"arguments", "", &gate.ArgumentsError{Pointer: "/x", Keyword: "type"},
			`"result":{"resultType":"complete","content":[{"type":"text","text":"arguments do not satisfy the tool's inputSchema: keyword \"type\" at \"/x\""}],"isError":true,` + own + `}`,
		},
		{
			"drift", "", &gate.Refusal{Reason: gate.Drift, Address: "server.x.tool.a", Locked: digest, Live: digest, Changed: []string{"description", "other"}, Err: errors.New("secret-detail")},
			`"error":{"code":1403,"message":"call refused: the tool is not as it was reviewed","data":{"reason":"drift","address":"server.x.tool.a","locked":"` + digest + `","live":"` + digest + `","changed":["description","other"]}}`,
		},
		{
			"unverified", "", &gate.Refusal{Reason: gate.Unverified, Address: "server.x.tool.a", Locked: digest},
			`"error":{"code":1403,"message":"call refused: the tool could not be verified","data":{"reason":"unverified","address":"server.x.tool.a","locked":"` + digest + `","live":null,"changed":[]}}`,
		},
		{
			"upstream error", "", &gate.UpstreamError{Code: 4711, Message: "tide is out", Data: json.RawMessage(`{"retry":1.0}`)},
			`"error":{"code":4711,"message":"tide is out","data":{"retry":1.0}}`,
		},
		{"closed", "", gate.ErrClosed, `"error":{"code":-32603,"message":"mcpcat is shutting down"}`},
		{"anything else", "", errors.New("secret-detail"), `"error":{"code":-32603,"message":"internal error"}`},
	}
	for _, c := range cases {
		g := newFake()
		g.call = func(context.Context, gate.Request) (*gate.Result, error) {
			if c.err != nil {
				return nil, c.err
			}
			return &gate.Result{Raw: json.RawMessage(c.result)}, nil
		}
		status, _, body := exchange(t, newServer(g), post(call("7", "a", `{"x":1.0}`)))
		if want := `{"jsonrpc":"2.0","id":7,` + c.want + `}`; status != 200 || body != want {
			t.Errorf("%s: %d\n got %s\nwant %s", c.name, status, body, want)
		}
		if made := g.made(); len(made) != 1 || string(made[0].Arguments) != `{"x":1.0}` {
			t.Errorf("%s: calls %v", c.name, made)
		}
	}
}

// TestEveryReasonHasAText keeps the fixed messages complete.
func TestEveryReasonHasAText(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range []gate.Reason{gate.Drift, gate.NotPinned, gate.Missing, gate.Unverified, gate.Policy, gate.Identity, gate.Secret, gate.Lock} {
		if m := message(r); seen[m] || m == "call refused" {
			t.Errorf("message(%s) = %q", r, m)
		} else {
			seen[m] = true
		}
	}
}

func TestDiscoverAndList(t *testing.T) {
	s := newServer(newFake())
	_, _, body := exchange(t, s, post(`{"jsonrpc":"2.0","id":"x","method":"server/discover","params":{`+meta+`}}`))
	if want := `{"jsonrpc":"2.0","id":"x","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private",` + own + `}}`; body != want {
		t.Errorf("discover\n got %s\nwant %s", body, want)
	}
	_, _, body = exchange(t, s, post(`{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{`+meta+`}}`))
	if want := `{"jsonrpc":"2.0","id":"x","result":{"resultType":"complete","tools":[` + plainTool + `,` + regionTool + `,` + namedTool + `],"ttlMs":0,"cacheScope":"private",` + own + `}}`; body != want {
		t.Errorf("list\n got %s\nwant %s", body, want)
	}
	if w := s.Withheld(); len(w) != 1 || w["broken"] == "" {
		t.Errorf("Withheld = %v", w)
	}
}

// TestEqualIDsOfTwoAgents runs two calls with one id at the same time and lets the second agent leave.
func TestEqualIDsOfTwoAgents(t *testing.T) {
	g := newFake()
	started, release := make(chan string, 2), make(chan struct{})
	left := make(chan struct{})
	g.call = func(ctx context.Context, r gate.Request) (*gate.Result, error) {
		started <- r.Name
		if r.Name == "b" {
			<-ctx.Done()
			close(left)
			return nil, ctx.Err()
		}
		<-release
		return &gate.Result{Raw: json.RawMessage(`{"resultType":"complete","content":[],"from":"a"}`)}, nil
	}
	srv := httptest.NewServer(newServer(g).Handler())
	defer srv.Close()
	dial := func(raw string) net.Conn {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.WriteString(c, raw); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := dial(post(call("1", "a", "")))
	defer first.Close()
	second := dial(post(call("1", "b", "")))
	<-started
	<-started
	second.Close()
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Fatal("the call of an agent that left was not cancelled")
	}
	close(release)
	res, err := http.ReadResponse(bufio.NewReader(first), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if !strings.Contains(string(b), `"id":1,"result"`) || !strings.Contains(string(b), `"from":"a"`) {
		t.Errorf("the other call was answered with %s", b)
	}
}

func TestTooManyCalls(t *testing.T) {
	g := newFake()
	release, started := make(chan struct{}), make(chan struct{}, 1)
	g.call = func(context.Context, gate.Request) (*gate.Result, error) {
		started <- struct{}{}
		<-release
		return &gate.Result{Raw: json.RawMessage(`{"resultType":"complete","content":[]}`)}, nil
	}
	s := New(Options{Gate: g, Version: "1.2.3", MaxCalls: 1})
	done := make(chan string)
	go func() {
		_, _, body := exchange(t, s, post(call("1", "a", "")))
		done <- body
	}()
	<-started
	_, _, body := exchange(t, s, post(call("2", "a", "")))
	if !strings.Contains(body, `"isError":true`) || !strings.Contains(body, "Too many calls") {
		t.Errorf("the second call was answered with %s", body)
	}
	close(release)
	if body := <-done; strings.Contains(body, "isError") {
		t.Errorf("the first call was answered with %s", body)
	}
	if _, _, body := exchange(t, s, post(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{`+meta+`}}`)); !strings.Contains(body, `"id":3,"result"`) {
		t.Errorf("list was answered with %s", body)
	}
}

// FuzzOwnMeta holds the splicing against decoding: all members but the two keys stay, in order.
func FuzzOwnMeta(f *testing.F) {
	f.Add(`{"_meta":{"a":1},"content":[]}`)
	f.Add(`{}`)
	f.Add(`{"content":[ ] , "_meta" : { "io.modelcontextprotocol/serverInfo" : {} } }`)
	f.Add(`{"\u005fmeta":{"io.modelcontextprotocol\/subscriptionId":1},"x":"\""}`)
	f.Add(`{"_meta":7}`)
	s := newServer(newFake())
	f.Fuzz(func(t *testing.T, src string) {
		m, _, fault := read([]byte(`{"jsonrpc":"2.0","id":1,"result":` + src + `}`))
		if fault != nil || m.Result.Kind() != '{' {
			return
		}
		before := map[string]json.RawMessage{}
		if err := json.Unmarshal(m.Result, &before); err != nil {
			return
		}
		var was map[string]json.RawMessage
		if v, ok := before["_meta"]; ok {
			_ = json.Unmarshal(v, &was) // what is no object has no members
		}
		out := s.ownMeta(m.Result)
		again, _, fault := read(append(append([]byte(`{"jsonrpc":"2.0","id":1,"result":`), out...), '}'))
		if fault != nil {
			t.Fatalf("ownMeta(%s) = %s, which is no message: %v", src, out, fault)
		}
		after := map[string]json.RawMessage{}
		if err := json.Unmarshal(again.Result, &after); err != nil {
			t.Fatal(err)
		}
		var is map[string]json.RawMessage
		if err := json.Unmarshal(after["_meta"], &is); err != nil || string(is[serverInfoKey]) != info {
			t.Fatalf("ownMeta(%s) = %s", src, out)
		}
		delete(is, serverInfoKey)
		delete(was, serverInfoKey)
		delete(was, subscriptionKey)
		delete(before, "_meta")
		delete(after, "_meta")
		same := func(a, b map[string]json.RawMessage) bool {
			for k, v := range a {
				if string(b[k]) != string(v) {
					return false
				}
			}
			return len(a) == len(b)
		}
		if !same(before, after) || !same(was, is) {
			t.Fatalf("ownMeta(%s) = %s", src, out)
		}
	})
}
