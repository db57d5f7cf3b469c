package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

func TestConnectAsksForDiscoveryFirst(t *testing.T) {
	c, p := pipe(t, mcptest.Serve(nil))
	got := p.Requests()
	if len(got) != 1 || got[0].Method != "server/discover" {
		t.Fatalf("Connect sent %s, want server/discover alone", p.Methods())
	}
	for key, want := range map[string]string{
		keyVersion: `"2026-07-28"`, keyCapabilities: `{}`,
	} {
		meta, _ := got[0].Params.Get("_meta")
		if v, _ := meta.Get(key); string(v) != want {
			t.Errorf("_meta has %s = %s, want %s", key, v, want)
		}
	}
	d := c.Discovery()
	if string(d.Raw()) != mcptest.Discover {
		t.Errorf("Discovery().Raw() = %s, want the bytes that were sent", d.Raw())
	}
	if d.TTL != time.Minute || d.TTLMs != 60000 || d.CacheScope != CachePublic || d.ServerInfo.Name != "harbour" || !d.Capabilities.Tools.ListChanged {
		t.Errorf("Discovery() = %+v", d)
	}
}

func TestDiscoveryKeepsWhatItDoesNotKnow(t *testing.T) {
	const result = `{ "resultType":"complete","supportedVersions":["2099-01-01","2026-07-28"],"capabilities":{"sampling":{},"logging":{"a":null},` +
		`"extensions":{"com.example/x":{"ratio":0.5,"note":null}},"experimental":{"e":{}},"prompts":{},"resources":{"subscribe":true}},` +
		`"instructions":"Moor here.","ttlMs":6e4,"cacheScope":"private","serverInfo":{"name":"old"},"x":1.0}`
	c, _ := pipe(t, func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, result) })
	d := c.Discovery()
	if string(d.Raw()) != result {
		t.Errorf("Raw = %s", d.Raw())
	}
	if v, ok := d.Member("x"); !ok || string(v) != "1.0" {
		t.Errorf("Member(x) = %s, %v", v, ok)
	}
	if _, ok := d.Member("X"); ok {
		t.Error("Member(X) is there, want names compared exactly")
	}
	if d.ServerInfo != nil {
		t.Errorf("ServerInfo = %+v, want none: only _meta has it", d.ServerInfo)
	}
	if got := string(d.Capabilities.Extensions["com.example/x"]); got != `{"ratio":0.5,"note":null}` {
		t.Errorf("extension = %s", got)
	}
	if d.Capabilities.Tools != nil || d.Capabilities.Prompts == nil || !d.Capabilities.Resources.Subscribe || d.TTLMs != 60000 || *d.Instructions != "Moor here." {
		t.Errorf("Discovery() = %+v", d)
	}
	_, err := c.ListTools(t.Context(), nil)
	if e := as[*NotOfferedError](t, err); e.Capability != "tools" || Delivered(err) {
		t.Errorf("ListTools without the capability = %v, delivered %v", e, Delivered(err))
	}
}

func TestDiscoveryMalformed(t *testing.T) {
	good := mcptest.Discover
	for _, test := range []struct{ old, new, path string }{
		{`"resultType":"complete",`, ``, "/resultType"},
		{`"resultType":"complete"`, `"resultType":null`, "/resultType"},
		{`"resultType":"complete"`, `"resultType":"Complete"`, "/resultType"},
		{`"resultType":"complete"`, `"resultType":"input_required"`, "/resultType"},
		{`"supportedVersions":["2026-07-28"],`, ``, "/supportedVersions"},
		{`["2026-07-28"]`, `["2026-07-28",7]`, "/supportedVersions/1"},
		{`["2026-07-28"]`, `"2026-07-28"`, "/supportedVersions"},
		{`"capabilities":{"tools":{"listChanged":true}},`, ``, "/capabilities"},
		{`{"tools":{"listChanged":true}}`, `null`, "/capabilities"},
		{`{"listChanged":true}`, `true`, "/capabilities/tools"},
		{`{"listChanged":true}`, `{"listChanged":1}`, "/capabilities/tools/listChanged"},
		{`{"tools":{"listChanged":true}}`, `{"extensions":{"x":{}}}`, "/capabilities/extensions/x"},
		{`{"tools":{"listChanged":true}}`, `{"extensions":{"com.example/x":null}}`, "/capabilities/extensions/com.example~1x"},
		{`"ttlMs":60000,`, ``, "/ttlMs"},
		{`"ttlMs":60000`, `"ttlMs":-1`, "/ttlMs"},
		{`"ttlMs":60000`, `"ttlMs":0.5`, "/ttlMs"},
		{`"cacheScope":"public",`, ``, "/cacheScope"},
		{`"cacheScope":"public"`, `"cacheScope":"Public"`, "/cacheScope"},
		{`"cacheScope":"public"`, `"cacheScope":"public","instructions":null`, "/instructions"},
		{`"name":"harbour",`, ``, "/_meta/io.modelcontextprotocol~1serverInfo/name"},
		{`"version":"1"`, `"version":1`, "/_meta/io.modelcontextprotocol~1serverInfo/version"},
	} {
		result := strings.Replace(good, test.old, test.new, 1)
		if result == good {
			t.Fatalf("%q is not in the good result", test.old)
		}
		sent, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, result) })
		var e *ProtocolError
		if !errors.As(err, &e) || e.Path != test.path || e.Method != "server/discover" {
			t.Errorf("Connect with %s = %v, want a *ProtocolError at %s", test.new, err, test.path)
		}
		if sent != "server/discover" {
			t.Errorf("sent %q, want server/discover alone", sent)
		}
	}
}

func TestUnsupportedVersion(t *testing.T) {
	response := casetest.Read(t, "jsonrpc/unsupported-version-error", "response.json")
	sent, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) {
		c.Line(string(casetest.WithIDs(response, r.ID)))
	})
	legacy := as[*LegacyServerError](t, err)
	if !slices.Equal(legacy.Versions, []string{"2025-11-25", "2025-06-18"}) {
		t.Errorf("Versions = %q, want those of the answer", legacy.Versions)
	}
	if e := as[*UnsupportedVersionError](t, err); e.RPC == nil || e.Malformed {
		t.Errorf("UnsupportedVersionError = %+v", e)
	}
	wantText(t, err, "2025-11-25", "2026-07-28")
	if sent != "server/discover" {
		t.Errorf("sent %q, want no second request", sent)
	}
}

func TestDiscoverUnknownMethod(t *testing.T) {
	response := casetest.Read(t, "jsonrpc/discover-unknown-method", "response.json")
	sent, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) {
		c.Line(string(casetest.WithIDs(response, r.ID)))
	})
	if e := as[*LegacyServerError](t, err); len(e.Versions) != 0 {
		t.Errorf("Versions = %q, want none", e.Versions)
	}
	as[*RPCError](t, err)
	wantText(t, err, "older revision of MCP than 2026-07-28")
	if sent != "server/discover" {
		t.Errorf("sent %q, want one message and no initialize", sent)
	}
}

// TestRecognisesOlderServers feeds what real servers of older revisions answer to server/discover over stdio, and what
// only resembles that.
//
// mark3labs/mcp-go v1.2.1 as a client goes on whatever supportedVersions says.
func TestRecognisesOlderServers(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		legacy       bool
		versions     []string
	}{
		{"typescript", `"error":{"code":-32601,"message":"Method not found"}`, true, nil},
		{"go-sdk", `"error":{"code":0,"message":"method \"server/discover\" is invalid during session initialization"}`, true, nil},
		{"fastmcp", `"error":{"code":-32000,"message":"Unsupported protocol version: 2026-07-28 (supported versions: 2025-11-25, 2024-11-05)"}`, true, []string{"2025-11-25", "2024-11-05"}},
		{"stateful go-sdk", `"result":{"resultType":"complete","supportedVersions":["2025-11-25","2025-06-18"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`, true, []string{"2025-11-25", "2025-06-18"}},
		{"newer only", `"result":{"resultType":"complete","supportedVersions":["2027-01-01"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`, false, nil},
		{"none", `"result":{"resultType":"complete","supportedVersions":[],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`, false, nil},
		{"padded", `"result":{"resultType":"complete","supportedVersions":[" 2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`, false, nil},
		{"contradiction", `"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}`, false, nil},
		{"invalid params", `"error":{"code":-32602,"message":"bad _meta"}`, false, nil},
	} {
		sent, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) {
			c.Line(`{"jsonrpc":"2.0","id":` + r.ID + `,` + test.answer + `}`)
		})
		var legacy *LegacyServerError
		if got := errors.As(err, &legacy); got != test.legacy {
			t.Errorf("%s: Connect = %v, legacy %v, want %v", test.name, err, got, test.legacy)
		} else if got && !slices.Equal(legacy.Versions, test.versions) {
			t.Errorf("%s: Versions = %q, want %q", test.name, legacy.Versions, test.versions)
		}
		if sent != "server/discover" {
			t.Errorf("%s: sent %q, want one request", test.name, sent)
		}
	}
}

// mark3labs/mcp-go v1.2.1 reads another member than requiredCapabilities.
func TestMalformedErrorDataDoesNotHideTheCode(t *testing.T) {
	for _, data := range []string{``, `,"data":null`, `,"data":{}`, `,"data":{"supported":"x"}`, `,"data":{"supported":["2025-11-25"]}`} {
		_, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) {
			c.Error(r, `{"code":-32022,"message":"no"`+data+`}`)
		})
		if e := as[*UnsupportedVersionError](t, err); !e.Malformed || e.RPC.Code != -32022 {
			t.Errorf("data %s: %+v, want it flagged", data, e)
		}
	}
	c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Error(r, `{"code":-32021,"message":"need more","data":{"requiredCapabilities":{"sampling":{}}}}`)
	}))
	_, err := c.ListTools(t.Context(), nil)
	if e := as[*MissingCapabilityError](t, err); e.Malformed || string(e.Required) != `{"sampling":{}}` {
		t.Errorf("MissingCapabilityError = %+v", e)
	}
	c, _ = pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Error(r, `{"code":-32021,"message":"need more","data":{"requiredCapabilities":[]}}`)
	}))
	_, err = c.ListTools(t.Context(), nil)
	if e := as[*MissingCapabilityError](t, err); !e.Malformed || string(e.RPC.Data) != `{"requiredCapabilities":[]}` {
		t.Errorf("MissingCapabilityError = %+v", e)
	}
}

func TestConnectToWhatIsNoServer(t *testing.T) {
	t.Run("echo", func(t *testing.T) {
		_, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) { c.Line(string(r.Raw)) })
		as[*NotMCPError](t, err)
	})
	t.Run("end", func(t *testing.T) {
		_, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) { c.Close() })
		as[*TransportError](t, err)
		wantText(t, err, "server/discover")
	})
	t.Run("garbage", func(t *testing.T) {
		_, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) { c.Line("Listening on port 8080\x1b[2J") })
		as[*ProtocolError](t, err)
		wantText(t, err, "Listening on port 8080")
		if strings.Contains(err.Error(), "\x1b") {
			t.Errorf("error %q has a raw escape", err)
		}
	})
	t.Run("another id", func(t *testing.T) {
		_, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) {
			r.ID = `"` + r.ID + `"`
			c.Result(r, mcptest.Discover)
		})
		as[*ProtocolError](t, err)
	})
}

func TestConnectTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := mcptest.Pipe(t, func(*mcptest.Conn, mcptest.Request) {})
		start := time.Now()
		_, err := Connect(t.Context(), NewIOTransport(p.R, p.W))
		if e := as[*TimeoutError](t, err); e.After != 10*time.Second || !e.Delivered || e.Op != "server/discover" {
			t.Errorf("TimeoutError = %+v", e)
		}
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("Connect = %v after %s, want a deadline after 10s", err, time.Since(start))
		}
		wantText(t, err, "server/discover: no answer within 10s")
	})
	synctest.Test(t, func(t *testing.T) {
		p := mcptest.Pipe(t, func(*mcptest.Conn, mcptest.Request) {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Connect(ctx, NewIOTransport(p.R, p.W))
		if e := as[*ContextError](t, err); !errors.Is(e, context.DeadlineExceeded) {
			t.Errorf("Connect = %v, want the context's error", err)
		}
	})
}

func TestConnectRefusesBadOptions(t *testing.T) {
	p := mcptest.Pipe(t, func(*mcptest.Conn, mcptest.Request) { t.Error("something was sent") })
	for name, opt := range map[string]Option{
		"limit":      WithLimits(Limits{Pages: -1}),
		"timeout":    WithTimeouts(Timeouts{Call: -1}),
		"name":       WithClientInfo(Implementation{Version: "1"}),
		"text":       WithClientInfo(Implementation{Name: "a\xff"}),
		"capability": WithCapabilities(ClientCapabilities{SamplingTools: true}),
	} {
		_, err := Connect(t.Context(), NewIOTransport(p.R, p.W), opt)
		var e *RequestError
		if !errors.As(err, &e) || Delivered(err) {
			t.Errorf("%s: Connect = %v, want a *RequestError", name, err)
		}
	}
	for name, transport := range map[string]Transport{"nil": nil, "no command": NewStdioTransport("", nil)} {
		if _, err := Connect(t.Context(), transport); err == nil {
			t.Errorf("%s: Connect succeeded", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Connect(ctx, NewIOTransport(p.R, p.W))
	if !errors.Is(err, context.Canceled) || Delivered(err) {
		t.Errorf("Connect with an ended context = %v, delivered %v", err, Delivered(err))
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := mcptest.Pipe(t, mcptest.Serve(func(*mcptest.Conn, mcptest.Request) {}))
		c, err := Connect(t.Context(), NewIOTransport(p.R, p.W))
		if err != nil {
			t.Fatal(err)
		}
		result := make(chan error, 1)
		go func() {
			_, err := c.ListTools(t.Context(), nil)
			result <- err
		}()
		synctest.Wait()
		closed(t, c)
		if err := <-result; !errors.Is(err, ErrClosed) || !Delivered(err) {
			t.Errorf("request in flight = %v, delivered %v, want ErrClosed and true", err, Delivered(err))
		}
		<-c.Done()
		if !errors.Is(c.Err(), ErrClosed) {
			t.Errorf("Err() = %v, want ErrClosed", c.Err())
		}
		_, err = c.ListTools(t.Context(), nil)
		if !errors.Is(err, ErrClosed) || Delivered(err) {
			t.Errorf("request after Close = %v, delivered %v, want ErrClosed and false", err, Delivered(err))
		}
		closed(t, c)
	})
}

func TestCommandThatDoesNotStart(t *testing.T) {
	_, err := Connect(short(t), NewStdioTransport("/does/not/exist", nil))
	if e := as[*TransportError](t, err); e.Op != "start" || e.Delivered {
		t.Errorf("Connect = %+v, want op start", e)
	}
}
