package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// spoken are secrets that a peer repeats. No fragment of theirs occurs in ordinary text.
var spoken = []string{"Qz7WKp9LmVb5Tn8Rc3Yw", "Qz7W x4Xk\tKp9L\"Lm2V\\Vb5T/Tn8R~Rc3Y"}

// fragments are the pieces of a secret that must not be seen: every four characters of its words.
func fragments(value string) []string {
	var out []string
	for _, word := range regexp.MustCompile(`[A-Za-z0-9]{4,}`).FindAllString(value, -1) {
		for i := 0; i+4 <= len(word); i++ {
			out = append(out, word[i:i+4])
		}
	}
	return out
}

func spokenIn(text, value string) string {
	for _, f := range fragments(value) {
		if strings.Contains(text, f) {
			return f
		}
	}
	return ""
}

// TestRedactorBeforeTheCut has a peer say a secret in every answer there is, at every distance from the place where peer
// text is cut. Without the redactor it is seen, which shows that the answers do what they are for.
func TestRedactorBeforeTheCut(t *testing.T) {
	answers := map[string]func(pad, value string) string{ // result or error
		"message": func(pad, v string) string { return `{"code":1,"message":` + jsonText(pad+v+pad) + `}` },
		"capability": func(pad, v string) string {
			return `{"code":-32021,"message":"m","data":{"requiredCapabilities":{` + jsonText(pad+v) + `:{}}}}`
		},
		"version": func(pad, v string) string {
			return `{"code":-32022,"message":"m","data":{"supported":[` + jsonText(pad+v) + `],"requested":"2026-07-28"}}`
		},
		"type": func(pad, v string) string { return `{"resultType":` + jsonText(pad+v) + `}` },
		"member": func(pad, v string) string {
			return `{"resultType":"complete","content":[],"a":{` + jsonText(pad+v) + `:1,` + jsonText(pad+v) + `:1}}`
		},
		"below": func(pad, v string) string {
			return `{"resultType":"complete","content":[],"a":{` + jsonText(pad+v) + `:{"x":1,"x":2}}}`
		},
		"block": func(pad, v string) string {
			return `{"resultType":"complete","content":[{"type":` + jsonText(pad+v) + `}]}`
		},
		"key": func(pad, v string) string {
			return `{"resultType":"input_required","inputRequests":{` + jsonText(pad+v) + `:{"method":"x"}}}`
		},
		"structured": func(pad, v string) string {
			return `{"resultType":"complete","content":[],"structuredContent":{` + jsonText(pad+v) + `:"s"}}`
		},
		"no message": func(pad, v string) string { return "LINE[" + jsonText(pad+v) + "]" },
		"foreign":    func(pad, v string) string { return `LINE{"jsonrpc":"2.0","id":` + jsonText(pad+v) + `,"result":{}}` },
		"half":       func(pad, v string) string { return `LINE{"jsonrpc":"2.0",` + jsonText(pad+v) },
	}
	for name, answer := range answers {
		for _, over := range []string{"stdio", "http"} {
			for _, value := range spoken {
				r := secret.NewRedactor(secret.New(value, "x"))
				shown := 0
				for _, n := range []int{0, 1, 30, 50, 62, 64, 100, 150, 200, 220, 226, 230, 235, 240, 242, 245, 250, 252, 254, 255, 256, 257, 270} {
					body := answer(strings.Repeat("p", n), value)
					for _, redact := range []func([]byte) []byte{nil, r.Redact} {
						err := hostileCall(t, redacting(t, over, redact, func(c *mcptest.Conn, r mcptest.Request) {
							line, raw := strings.CutPrefix(body, "LINE")
							switch {
							case raw:
								c.Line(line)
							case strings.HasPrefix(body, `{"code"`):
								c.Error(r, body)
							default:
								c.Result(r, body)
							}
						}), RequestMeta{})
						if err == nil {
							t.Fatalf("%s over %s: no error", name, over)
						}
						for e := err; e != nil; e = errors.Unwrap(e) {
							text := e.Error() + fmt.Sprintf("%+v", e)
							var version *UnsupportedVersionError
							if errors.As(e, &version) {
								text += strings.Join(version.Supported, " ")
							}
							f := spokenIn(text, value)
							if f == "" {
								continue
							}
							shown++
							if redact != nil {
								t.Fatalf("%s over %s behind %d bytes: %q is seen in %T %s", name, over, n, f, e, text)
							}
						}
					}
				}
				if shown == 0 {
					t.Errorf("%s over %s: nothing is seen without the redactor either", name, over)
				}
			}
		}
	}
}

func redacting(t *testing.T, over string, redact func([]byte) []byte, h mcptest.Handler) *Client {
	t.Helper()
	var tr Transport
	if over == "stdio" {
		p := mcptest.Pipe(t, mcptest.Serve(h))
		tr = NewIOTransport(p.R, p.W)
	} else {
		p := mcptest.HTTP(t, mcptest.Serve(h))
		own := NewStreamableHTTPTransport(p.URL)
		own.AllowPrivate = true
		tr = own
	}
	c, err := Connect(short(t), tr, WithRedactor(redact))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, c) })
	return c
}

// TestRedactorOfLists: the names and URIs of lists, and cursors, stand in faults too.
func TestRedactorOfLists(t *testing.T) {
	page := `"ttlMs":0,"cacheScope":"private"`
	for name, result := range map[string]string{
		"twice":  `{"resultType":"complete","tools":[{"name":NAME,"inputSchema":{"type":"object"}},{"name":NAME,"inputSchema":{"type":"object"}}],` + page + `}`,
		"tool":   `{"resultType":"complete","tools":[{"name":NAME,"inputSchema":{"type":"array"}}],` + page + `}`,
		"schema": `{"resultType":"complete","tools":[{"name":NAME,"inputSchema":{"type":"object","x":"` + strings.Repeat("x", 4096) + `"}}],` + page + `}`,
		"scope":  `{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":NAME}`,
		"cursor": `{"resultType":"complete","tools":[],"nextCursor":NAME,` + page + `}`,
	} {
		for _, value := range spoken {
			shown := 0
			for _, n := range []int{0, 40, 200, 240, 250, 255} {
				body := strings.ReplaceAll(result, "NAME", jsonText(strings.Repeat("p", n)+value))
				for _, redact := range []func([]byte) []byte{nil, secret.NewRedactor(secret.New(value, "x")).Redact} {
					p := mcptest.Pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, body) }))
					c, err := Connect(short(t), NewIOTransport(p.R, p.W), WithRedactor(redact), WithLimits(Limits{SchemaBytes: 4096}))
					if err != nil {
						t.Fatal(err)
					}
					_, err = c.SnapshotTools(short(t))
					closed(t, c)
					if err == nil {
						t.Fatalf("%s: no error", name)
					}
					if f := spokenIn(err.Error(), value); f != "" {
						if shown++; redact != nil {
							t.Errorf("%s behind %d bytes: %q is seen in %v", name, n, f, err)
						}
					}
				}
			}
			if shown == 0 {
				t.Errorf("%s: nothing is seen without the redactor either", name)
			}
		}
	}
}

// TestRedactorLeavesData: what is received stays as it was received.
func TestRedactorLeavesData(t *testing.T) {
	value := spoken[0]
	c := redacting(t, "stdio", secret.NewRedactor(secret.New(value, "x")).Redact, func(c *mcptest.Conn, r mcptest.Request) {
		if r.Method == methodToolsList {
			c.Error(r, `{"code":7,"message":"`+value+`","data":"`+value+`"}`)
			return
		}
		c.Result(r, `{"resultType":"complete","content":[{"type":"text","text":"`+value+`"}]}`)
	})
	round, err := c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, tide)})
	if err != nil || !bytes.Contains(round.Complete.Raw(), []byte(value)) || round.Complete.Content[0].(*TextContent).Text != value {
		t.Errorf("a result was changed: %v", err)
	}
	_, err = c.ListTools(short(t), nil)
	e := as[*RPCError](t, err)
	if e.Message != value || string(e.Data) != `"`+value+`"` || spokenIn(e.Error(), value) != "" {
		t.Errorf("error %+v prints as %v", *e, e)
	}
}

// TestRedactorOfStderr cuts the end of standard error at every byte of a secret.
func TestRedactorOfStderr(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	for _, value := range spoken {
		dir := t.TempDir()
		redact := secret.NewRedactor(secret.New(value, "x")).Redact
		shown := 0
		for n := 256 - len(value); n <= 257; n += 3 {
			for _, control := range []bool{true, false} {
				text := "first line " + value + " end\n" + value + strings.Repeat("p", n)
				if err := os.WriteFile(filepath.Join(dir, "said"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				tr := NewStdioTransport("/bin/sh", []string{"-c", "cat said >&2; exit 3"})
				tr.Dir = dir
				var opts []Option
				if !control {
					opts = append(opts, WithRedactor(redact))
				}
				_, err := Connect(short(t), tr, opts...)
				e := as[*TransportError](t, err)
				if e.Stderr == "" || !strings.Contains(e.Stderr, "pppp") {
					t.Fatalf("stderr = %q", e.Stderr)
				}
				if f := spokenIn(e.Stderr+fmt.Sprintf("%v %+v", err, errors.Unwrap(err)), value); f != "" {
					if shown++; !control {
						t.Errorf("%q is seen in %q", f, e.Stderr)
					}
				}
			}
		}
		if shown == 0 {
			t.Error("nothing is seen without the redactor either")
		}
		// A request that takes too long tells of standard error as well.
		tr := NewStdioTransport("/bin/sh", []string{"-c", "cat said >&2; exec sleep 5"})
		tr.Dir, tr.Grace = dir, time.Millisecond
		_, err := Connect(short(t), tr, WithRedactor(redact), WithTimeouts(Timeouts{Discover: 300 * time.Millisecond}))
		if e := as[*TimeoutError](t, err); !strings.Contains(e.Stderr, "pppp") || spokenIn(e.Stderr, value) != "" {
			t.Errorf("stderr after a timeout = %q", e.Stderr)
		}
	}
}

// TestRedactorOfChallenges: headers of an answer are peer text too.
func TestRedactorOfChallenges(t *testing.T) {
	value := spoken[0]
	for status, want := range map[int]string{http.StatusUnauthorized: "*mcp.AuthError", http.StatusTemporaryRedirect: "*mcp.TransportError", http.StatusTeapot: "*mcp.TransportError"} {
		p := mcptest.HTTP(t, func(c *mcptest.Conn, _ mcptest.Request) {
			fmt.Fprintf(c, "HTTP/1.1 %d X\r\nWWW-Authenticate: Bearer realm=\"%s\"\r\nLocation: /%s/x\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", status, value, value, len(value), value)
		})
		tr := NewStreamableHTTPTransport(p.URL)
		tr.AllowPrivate = true
		_, err := Connect(short(t), tr, WithRedactor(secret.NewRedactor(secret.New(value, "x")).Redact))
		text := fmt.Sprintf("%v %+v", err, err)
		var auth *AuthError
		if errors.As(err, &auth) {
			text += auth.Challenge
		}
		if fmt.Sprintf("%T", err) != want || spokenIn(text, value) != "" || !strings.Contains(text, secret.Mask) {
			t.Errorf("%d: %T %s", status, err, text)
		}
	}
}
