package mcp

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// What no error may print. Over HTTP the peer says the first three again wherever it can.
const (
	canaryToken  = "canary-authorization-3f9a"
	canaryCookie = "canary-cookie-77b1"
	canaryKey    = "canary-key-0c44"
	canaryBlob   = "Y2FuYXJ5"
	canaryValue  = "canary-value-11d2"
	canaryState  = "canary-state-92ee"
	canaryTail   = "canary-tail-5b5b" // stands behind 300 bytes of other text
	canaryStderr = "canary-stderr-e001"
	canaryQuery  = "canary-query-41aa"
	canaryCodec  = "canary-of-codec"
)

var (
	longText = strings.Repeat("long text. ", 28) + canaryTail
	canaries = []string{canaryToken, canaryCookie, canaryKey, canaryBlob, canaryValue, canaryState, canaryTail, canaryStderr, canaryQuery, canaryCodec}
)

// maxErrorText is far above what an error of several layers has, and far below what a peer can send.
const maxErrorText = 8 << 10

// errorWatch looks at errors and keeps the names of the types it has seen.
type errorWatch struct {
	seen   map[string]bool
	n      int
	failed string
}

func (w *errorWatch) look(t *testing.T, from string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", from)
		return
	}
	w.n++
	for _, text := range printings(err) {
		if t.Failed() && w.failed == from {
			break // once is enough
		}
		for _, canary := range canaries {
			if strings.Contains(text, canary) {
				t.Errorf("%s: %T prints %s: %.400s", from, err, canary, text)
				w.failed = from
			}
		}
		if len(text) > maxErrorText {
			t.Errorf("%s: %T prints %d bytes: %.400s", from, err, len(text), text)
		}
		if i := strings.IndexFunc(strings.TrimSuffix(text, "\n"), func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }); i >= 0 {
			t.Errorf("%s: %T prints a control character: %.400q", from, err, text)
		}
	}
	w.chain(err)
}

func (w *errorWatch) chain(err error) {
	for err != nil {
		w.seen[reflect.TypeOf(err).String()] = true
		err = errors.Unwrap(err)
	}
}

// printings are the ways in which err may come into a log.
func printings(err error) []string {
	var out []string
	for e := err; e != nil; e = errors.Unwrap(e) {
		var text, object bytes.Buffer
		slog.New(slog.NewTextHandler(&text, nil)).Error("m", "err", e)
		slog.New(slog.NewJSONHandler(&object, nil)).Error("m", "err", e, slog.Group("g", "err", e))
		out = append(out, e.Error(), fmt.Sprintf("%v", e), fmt.Sprintf("%+v", e), fmt.Sprintf("%s", e), text.String(), object.String(),
			fmt.Errorf("outer: %w", e).Error(), fmt.Sprintf("%+v", struct{ Err error }{e}))
		var codec *codecError
		if errors.As(e, &codec) {
			break // the program's own error, which this package wraps and does not print
		}
	}
	return out
}

type codecError struct{}

func (*codecError) Error() string { return canaryCodec }

type refusingCodec struct{}

func (refusingCodec) Decode(jsontext.Value) (string, error) { return "", &codecError{} }
func (refusingCodec) Encode(string) (jsontext.Value, error) { return jsontext.Value(`{}`), nil }

// reflection is what the peer says again: over HTTP what it was sent in headers.
func reflection(r mcptest.Request) string {
	if r.Header == nil {
		return longText
	}
	return r.Header.Get("Authorization") + " " + r.Header.Get("Cookie") + " " + r.Header.Get("X-Key") + " \u202e\u0007" + longText
}

func jsonText(s string) string { return string(appendJSON(s)) }

func appendJSON(s string) []byte {
	b := object(nil)
	b.text("x", &s)
	return b.dst[len(`{"x":`):]
}

// hostileAnswers answer tools/call.
var hostileAnswers = map[string]func(*mcptest.Conn, mcptest.Request){
	"rpc": func(c *mcptest.Conn, r mcptest.Request) {
		c.Error(r, `{"code":-32603,"message":`+jsonText(reflection(r))+`,"data":{"x":"`+canaryValue+`"}}`)
	},
	"header mismatch": func(c *mcptest.Conn, r mcptest.Request) {
		c.Error(r, `{"code":-32020,"message":`+jsonText(reflection(r))+`,"data":"`+canaryValue+`"}`)
	},
	"capability": func(c *mcptest.Conn, r mcptest.Request) {
		c.Error(r, `{"code":-32021,"message":`+jsonText(reflection(r))+`,"data":{"requiredCapabilities":{"elicitation":{"url":{"x":"`+canaryValue+`"}},"roots":{}}}}`)
	},
	"capability malformed": func(c *mcptest.Conn, r mcptest.Request) {
		c.Error(r, `{"code":-32021,"message":"m","data":{"requiredCapabilities":"`+canaryValue+`"}}`)
	},
	"version": func(c *mcptest.Conn, r mcptest.Request) {
		c.Error(r, `{"code":-32022,"message":`+jsonText(reflection(r))+`,"data":{"supported":[`+strings.Repeat(jsonText(longText)+",", 50)+`"x"],"requested":"x"}}`)
	},
	"foreign id": func(c *mcptest.Conn, r mcptest.Request) {
		c.Line(`{"jsonrpc":"2.0","id":"` + longText + `","error":{"code":1,"message":` + jsonText(reflection(r)) + `}}`)
	},
	"no id": func(c *mcptest.Conn, r mcptest.Request) {
		c.Line(`{"jsonrpc":"2.0","error":{"code":-32700,"message":` + jsonText(reflection(r)) + `}}`)
	},
	"no JSON":    func(c *mcptest.Conn, r mcptest.Request) { c.Line(reflection(r)) },
	"no message": func(c *mcptest.Conn, r mcptest.Request) { c.Line(`["` + longText + `"]`) },
	"request": func(c *mcptest.Conn, r mcptest.Request) {
		c.Line(`{"jsonrpc":"2.0","id":7,"method":"` + longText + `"}`)
	},
	"closed": func(c *mcptest.Conn, _ mcptest.Request) { c.Close() },
	"cut off": func(c *mcptest.Conn, r mcptest.Request) {
		if r.Header != nil {
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n"))
		}
		_, _ = c.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"` + longText))
		c.Close()
	},
	"stalled": func(c *mcptest.Conn, r mcptest.Request) {
		if r.Header != nil {
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n"))
		}
		_, _ = c.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"` + reflection(r)))
		c.Wait()
	},
	"too much": func(c *mcptest.Conn, r mcptest.Request) {
		c.Result(r, `{"resultType":"complete","content":[{"type":"text","text":"`+strings.Repeat(canaryValue, 8<<10)+`"}]}`)
	},
	"too deep": func(c *mcptest.Conn, r mcptest.Request) {
		c.Result(r, `{"resultType":"complete","content":[],"x":`+strings.Repeat("[", 200)+`"`+canaryValue+`"`+strings.Repeat("]", 200)+`}`)
	},
	"result type":      result(`{"resultType":"` + longText + `"}`),
	"no result type":   result(`{"x":"` + canaryValue + `"}`),
	"member twice":     result(`{"resultType":"complete","` + longText + `":1,"` + longText + `":"` + canaryValue + `"}`),
	"content type":     result(`{"resultType":"complete","content":[{"type":"` + longText + `"}]}`),
	"blob":             result(`{"resultType":"complete","content":[{"type":"image","mimeType":"a/b","data":"` + canaryBlob + `!"}]}`),
	"blob of resource": result(`{"resultType":"complete","content":[{"type":"resource","resource":{"uri":"a:b","blob":"` + strings.Repeat(canaryBlob, 100) + `\n"}}]}`),
	"audience":         result(`{"resultType":"complete","content":[{"type":"text","text":"","annotations":{"audience":["` + longText + `"]}}]}`),
	"structured":       result(`{"resultType":"complete","content":[],"structuredContent":{"free":"` + canaryValue + `"}}`),
	"structured path":  result(`{"resultType":"complete","content":[],"structuredContent":{"free":1,"\u001b[31m\n\u202e` + longText + `":"` + canaryValue + `"}}`),
	"structured none":  result(`{"resultType":"complete","content":[]}`),
	"tool":             result(`{"resultType":"complete","isError":true,"content":[{"type":"text","text":"\u0007\n` + longText + `"}],"structuredContent":"` + canaryValue + `"}`),
	"tool without text": result(`{"resultType":"complete","isError":true,"content":[{"type":"image","mimeType":"a/b","data":"` + canaryBlob + `"}],` +
		`"structuredContent":"` + canaryValue + `"}`),
	"input":            result(`{"resultType":"input_required","requestState":"` + canaryState + `","inputRequests":{"` + longText + `":` + askRoots + `}}`),
	"input undeclared": result(`{"resultType":"input_required","requestState":"` + canaryState + `","inputRequests":{"` + longText + `":` + askSample + `}}`),
	"input malformed":  result(`{"resultType":"input_required","requestState":"` + canaryState + `","inputRequests":{"k":{"method":"` + longText + `"}}}`),
	"extension":        result(`{"resultType":"tide","high":"` + canaryValue + `"}`),
	"extension codec":  result(`{"resultType":"task","high":"` + canaryValue + `"}`),
}

func result(s string) func(*mcptest.Conn, mcptest.Request) {
	return func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, s) }
}

// hostileHTTP are further answers, which only HTTP can give.
var hostileHTTP = map[string]string{
	"500":        "HTTP/1.1 500 X\r\nSet-Cookie: " + canaryCookie + "\r\nContent-Type: text/plain\r\n\r\nREFLECT",
	"500 json":   "HTTP/1.1 500 X\r\nContent-Type: application/json\r\n\r\n{\"x\":\"REFLECT\"}",
	"500 rpc":    "HTTP/1.1 500 X\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"REFLECT\"}}",
	"404":        "HTTP/1.1 404 X\r\nContent-Type: text/html\r\n\r\n<html>REFLECT",
	"401":        "HTTP/1.1 401 X\r\nWWW-Authenticate: Bearer realm=\"REFLECT\", nonce=\"" + canaryValue + "\"\r\n\r\nREFLECT",
	"403":        "HTTP/1.1 403 X\r\nContent-Type: text/plain\r\n\r\nREFLECT",
	"302":        "HTTP/1.1 302 X\r\nLocation: /other?" + canaryQuery + "=REFLECT\r\n\r\n",
	"307":        "HTTP/1.1 307 X\r\nLocation: https://a.example/?REFLECT\r\n\r\n",
	"202":        "HTTP/1.1 202 X\r\n\r\nREFLECT",
	"media type": "HTTP/1.1 200 X\r\nContent-Type: text/REFLECT\r\n\r\nREFLECT",
	"encoding":   "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Encoding: REFLECT\r\n\r\nREFLECT",
	"no http":    "REFLECT\r\n\r\n",
	"bad header": "HTTP/1.1 200 X\r\nREFLECT\r\n\r\n",
	"sse":        "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\ndata: REFLECT\n\n",
	"sse cut":    "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\ndata: REFLECT",
}

// hostileCall calls a tool and makes an error of whatever comes.
func hostileCall(t *testing.T, c *Client, meta RequestMeta) error {
	round, err := c.CallTool(short(t), &CallToolParams{
		Tool: mustTool(t, `{"name":"n","inputSchema":{"type":"object"},"outputSchema":{"type":"object","additionalProperties":{"type":"integer"}}}`),
		Meta: meta, Arguments: jsontext.Value(`{"secret":"` + canaryValue + `"}`),
	})
	if err != nil {
		return err
	}
	done, err := round.Result()
	if err != nil {
		return err
	}
	return done.Err()
}

// TestErrorsPrintNoSecrets drives the client into every type of error over both transports, with a peer that says again
// what it was sent, and looks at every way in which an error may be printed.
func TestErrorsPrintNoSecrets(t *testing.T) {
	w := &errorWatch{seen: map[string]bool{}}
	registry := NewExtensionRegistry()
	tidesKey, tasksKey := mustRegister(t, registry, tides), mustRegister(t, registry, tasks)
	if _, err := RegisterResultType(tidesKey, "tide", textCodec{"high"}); err != nil {
		t.Fatal(err)
	}
	if _, err := RegisterResultType(tasksKey, "task", refusingCodec{}); err != nil {
		t.Fatal(err)
	}
	declared := ClientCapabilities{Roots: true}
	if err := errors.Join(tidesKey.Advertise(&declared, "x"), tasksKey.Advertise(&declared, "x")); err != nil {
		t.Fatal(err)
	}
	opts := []Option{WithExtensions(registry), WithCapabilities(declared), WithLimits(Limits{MessageBytes: 64 << 10}), WithTimeouts(Timeouts{Idle: 50 * time.Millisecond})}
	connect := map[string]func(*testing.T, mcptest.Handler) (*Client, *mcptest.Peer, error){
		"stdio": func(t *testing.T, h mcptest.Handler) (*Client, *mcptest.Peer, error) {
			p := mcptest.Pipe(t, h)
			c, err := Connect(short(t), NewIOTransport(p.R, p.W), opts...)
			return c, p, err
		},
		"http": func(t *testing.T, h mcptest.Handler) (*Client, *mcptest.Peer, error) {
			p := mcptest.HTTP(t, h)
			tr := NewStreamableHTTPTransport(p.URL + "?q=" + canaryQuery)
			tr.AllowPrivate = true
			tr.Headers = http.Header{"Cookie": {"sid=" + canaryCookie}, "X-Key": {canaryKey}}
			tr.Authorize = func(_ context.Context, h http.Header) error {
				h.Set("Authorization", "Bearer "+canaryToken)
				return nil
			}
			c, err := Connect(short(t), tr, opts...)
			return c, p, err
		},
	}
	for over, connect := range connect {
		run := func(name string, answer func(*mcptest.Conn, mcptest.Request)) {
			from := over + " " + name
			c, p, err := connect(t, mcptest.Serve(answer))
			if err != nil {
				t.Fatalf("%s: Connect: %v", from, err)
			}
			w.look(t, from, hostileCall(t, c, RequestMeta{}))
			if err := c.Err(); err != nil {
				w.look(t, from+" (Err)", err)
			}
			for _, r := range p.Requests() {
				if over == "http" && (r.Header.Get("Authorization") != "Bearer "+canaryToken || r.Header.Get("X-Key") != canaryKey) {
					t.Errorf("%s: the canaries were not sent, so nothing was tested", from)
				}
			}
			closed(t, c)
			// The same, in place of the answer to discovery.
			c, _, err = connect(t, answer)
			if err == nil {
				closed(t, c)
			}
			w.look(t, from+" (Connect)", err)
		}
		for name, answer := range hostileAnswers {
			run(name, answer)
		}
		if over == "http" {
			for name, raw := range hostileHTTP {
				run(name, func(c *mcptest.Conn, r mcptest.Request) {
					text := strings.NewReplacer("\u0007", "", "\u202e", "").Replace(reflection(r))
					_, _ = c.Write([]byte(strings.ReplaceAll(raw, "REFLECT", text)))
				})
			}
		}
		silent, _, err := connect(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
			if r.Header != nil {
				c.Wait()
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		w.look(t, over+" timeout", hostileCall(t, silent, RequestMeta{Timeout: 20 * time.Millisecond}))
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New(canaryValue))
		_, err = silent.ListTools(ended, nil)
		w.look(t, over+" context", err)
		_, err = silent.ListPrompts(t.Context(), nil)
		w.look(t, over+" not offered", err)
		w.localErrors(t, over, silent)
		closed(t, silent)
		w.look(t, over+" closed", hostileCall(t, silent, RequestMeta{}))
		old, _, err := connect(t, result(`{"resultType":"complete","supportedVersions":["2025-11-25","`+longText+`"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}`))
		if err == nil {
			closed(t, old)
		}
		w.look(t, over+" legacy", err)
		silent.opts.name = "harbour"
		w.look(t, over+" named", hostileCall(t, silent, RequestMeta{}))
	}
	w.connectErrors(t)
	for _, name := range errorTypes(t) {
		if !w.seen["*mcp."+name] {
			t.Errorf("no error of type %s was seen", name)
		}
	}
	if w.n < 100 {
		t.Errorf("only %d errors were looked at", w.n)
	}
}

// localErrors are those of requests that are refused before anything is sent.
func (w *errorWatch) localErrors(t *testing.T, over string, c *Client) {
	t.Helper()
	call := func(name string, p CallToolParams) {
		_, err := c.CallTool(short(t), &p)
		w.look(t, over+" "+name, err)
	}
	call("arguments", CallToolParams{Tool: mustTool(t, tide), Arguments: jsontext.Value(`{"a":"` + canaryValue + `","a":1}`)})
	call("arguments no object", CallToolParams{Tool: mustTool(t, tide), Arguments: jsontext.Value(`"` + canaryValue + `"`)})
	call("extra", CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{Extra: map[string]jsontext.Value{"x": jsontext.Value(`"` + canaryValue)}}})
	call("trace", CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{Extra: map[string]jsontext.Value{"traceparent": jsontext.Value(`"` + canaryValue + `"`)}}})
	call("key", CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{Extra: map[string]jsontext.Value{longText: jsontext.Value(`1`)}}})
	call("level", CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{LogLevel: LogLevel(longText)}})
	call("no name", CallToolParams{Tool: &Tool{}})
	call("schema", CallToolParams{Tool: mustTool(t, `{"name":"n","inputSchema":{"type":"object"},"outputSchema":{"$ref":"https://a.example/`+strings.ReplaceAll(longText, " ", "-")+`"}}`)})
	_, err := c.Call(short(t), "com.example/x", jsontext.Value(`{"_meta":{"x":"`+canaryValue+`"}}`), RequestMeta{})
	w.look(t, over+" call", err)
	_, err = c.Call(short(t), longText, nil, RequestMeta{})
	w.look(t, over+" method", err)
	for _, answer := range []string{
		`{"action":"accept","content":{"name":"` + canaryValue + canaryValue + `"}}`, `{"action":"` + canaryTail, `{"action":"accept","content":{"name":7,"` + canaryTail,
	} {
		_, err = asks(t, map[string]string{"k": askForm}, `"`+canaryState+`"`).Answer(map[string]jsontext.Value{"k": jsontext.Value(answer)})
		w.look(t, over+" answer", err)
	}
	_, err = asks(t, map[string]string{"k": askRoots}, `"`+canaryState+`"`).Answer(map[string]jsontext.Value{"k": jsontext.Value(`{"roots":[{"uri":"https://` + canaryValue + `"}]}`)})
	w.look(t, over+" roots", err)
}

// connectErrors are those of transports that do not come about.
func (w *errorWatch) connectErrors(t *testing.T) {
	t.Helper()
	tr := NewStreamableHTTPTransport("")
	tr.Headers = http.Header{"Authorization": {"Bearer " + canaryToken}}
	for _, url := range []string{
		"http://10.0.0.1/mcp?q=" + canaryQuery, "http://user:" + canaryValue + "@127.0.0.1:1/mcp", "http://127.0.0.1:1/mcp?q=" + canaryQuery,
		"https://127.0.0.1:1/" + canaryQuery + "?q=" + canaryQuery, "http://[::1]:namedport/" + canaryQuery, "ftp://a.example/" + canaryQuery,
		"https://127.0.0.1:1/%zz" + canaryQuery,
	} {
		for _, private := range []bool{false, true} {
			tr.URL, tr.AllowPrivate = url, private
			c, err := Connect(short(t), tr, WithTimeouts(Timeouts{Connect: time.Second}))
			if err == nil {
				closed(t, c)
			}
			w.look(t, fmt.Sprintf("connect %.24s %v", url, private), err)
		}
	}
	tr.URL, tr.AllowPrivate = "http://127.0.0.1:1/", true
	tr.Headers = http.Header{"X-Key": {canaryKey + "\r\n"}}
	_, err := Connect(short(t), tr)
	w.look(t, "header value", err)
	tr.Headers = http.Header{"Mcp-Name": {canaryKey}}
	_, err = Connect(short(t), tr)
	w.look(t, "header name", err)

	// What the certificate says is the server's word too.
	names := []string{longText[:60], canaryToken, "a\u202e\u0007.example", longText[250:]}
	tr = NewStreamableHTTPTransport(certified(t, names) + "/" + canaryQuery)
	tr.AllowPrivate = true
	tr.Headers = http.Header{"Authorization": {"Bearer " + canaryToken}}
	_, err = Connect(short(t), tr)
	w.look(t, "certificate", err)
	as[*TLSError](t, err)
	tr.Proxy = func(*url.URL) (*url.URL, error) {
		return url.Parse("http://user:" + canaryValue + "@127.0.0.1:1/" + canaryQuery)
	}
	tr.URL = "https://a.example/"
	_, err = Connect(short(t), tr)
	w.look(t, "proxy URL", err)
	tr.Proxy = func(*url.URL) (*url.URL, error) { return nil, errors.New(canaryValue) }
	_, err = Connect(short(t), tr)
	w.look(t, "proxy function", err)
	tr.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("http://user:" + canaryValue + "@127.0.0.1:1") }
	_, err = Connect(short(t), tr)
	w.look(t, "proxy", err)
	as[*ConnectError](t, err)

	dir := t.TempDir()
	script := filepath.Join(dir, "server")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho "+canaryStderr+" >&2\nread line\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{script, filepath.Join(dir, "none")} {
		st := NewStdioTransport(command, []string{"-token", canaryValue})
		st.Env = []string{"TOKEN=" + canaryToken, "PATH=" + os.Getenv("PATH")}
		c, err := Connect(short(t), st)
		if err == nil {
			closed(t, c)
		}
		w.look(t, "stdio "+filepath.Base(command), err)
	}
}

// certified is the URL of a TLS server whose certificate, which nobody has vouched for, is for the names.
func certified(t *testing.T, names []string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0], Organization: names}, NotAfter: time.Now().Add(time.Hour),
	}, &x509.Certificate{Subject: pkix.Name{CommonName: names[0]}}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL
}

// errorTypes names the exported types of the package that are errors.
func errorTypes(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, name := range exportedNames(t) {
		if of, method, _ := strings.Cut(name, "."); method == "Error" && regexp.MustCompile(`Error$`).MatchString(of) {
			names = append(names, of)
		}
	}
	if len(names) < 15 || !slices.Contains(names, "ToolError") {
		t.Fatalf("error types found: %q", names)
	}
	return names
}
