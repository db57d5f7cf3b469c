package mcp

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// textCodec decodes an object with the member name, a string, and encodes it.
type textCodec struct{ name string }

func (c textCodec) Decode(v jsontext.Value) (string, error) {
	m, ok := (Wire{[]byte(v)}).Member(c.name)
	if !ok || len(m) < 2 || m[0] != '"' {
		return "", errors.New("canary-of-codec")
	}
	return strconv.Unquote(string(m))
}

func (c textCodec) Encode(s string) (jsontext.Value, error) {
	if s == "refused" {
		return nil, errors.New("not this one")
	}
	if raw, ok := strings.CutPrefix(s, "raw:"); ok {
		return jsontext.Value(raw), nil
	}
	return jsontext.Value(`{ "` + c.name + `": ` + strconv.Quote(s) + ` }`), nil
}

const (
	tides = "com.example/tides"
	tasks = "io.modelcontextprotocol/tasks"
)

func mustRegister(t testing.TB, r *ExtensionRegistry, id string) ExtensionKey[string] {
	t.Helper()
	k, err := RegisterExtension(r, id, textCodec{"datum"})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestExtensionIdentifiers(t *testing.T) {
	for id, fine := range map[string]bool{
		tides: true, tasks: true, "a/b": true, "a-1.b2/c_d.e-f": true, "com.example/": true,
		"tides": false, "": false, "/tides": false, "1a/b": false, "a-/b": false, "a..b/c": false, "a/b/c": false, "a/_b": false,
		"a/b_": false, "é/b": false, "a/b c": false, "a/" + strings.Repeat("b", 255): false, "a/" + strings.Repeat("b", 254): true,
	} {
		r := NewExtensionRegistry()
		k, err := RegisterExtension(r, id, textCodec{})
		if fine {
			if err != nil || k.ID() != id {
				t.Errorf("%q: %v, want it registered", id, err)
			}
			_, err = RegisterExtension(r, id, textCodec{})
		}
		as[*RequestError](t, err)
		if c := (ClientCapabilities{Extensions: map[string]jsontext.Value{id: jsontext.Value(`{}`)}}); (c.check() == "") != fine {
			t.Errorf("%q declared by hand: %q, want allowed %v", id, c.check(), fine)
		}
	}
	_, err := RegisterExtension[string](nil, tides, textCodec{})
	as[*RequestError](t, err)
	_, err = RegisterExtension[string](NewExtensionRegistry(), tides, nil)
	as[*RequestError](t, err)
}

func TestRegisteringAdvertisesNothing(t *testing.T) {
	r := NewExtensionRegistry()
	k := mustRegister(t, r, tides)
	if _, err := RegisterResultType(k, "tide", textCodec{"high"}); err != nil {
		t.Fatal(err)
	}
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Result(r, `{"resultType":"complete","content":[]}`)
	}), WithExtensions(r))
	params := &CallToolParams{Tool: mustTool(t, tide)}
	if _, err := c.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	var declared ClientCapabilities
	if err := k.Advertise(&declared, "MSL"); err != nil {
		t.Fatal(err)
	}
	params.Meta.Capabilities = &declared
	if _, err := c.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`{}`, `{}`, `{"extensions":{"com.example/tides":{"datum":"MSL"}}}`} {
		meta, _ := p.Requests()[i].Params.Get("_meta")
		if got, _ := meta.Get(keyCapabilities); string(got) != want {
			t.Errorf("request %d declares %s, want %s", i, got, want)
		}
	}
}

func TestAdvertise(t *testing.T) {
	r := NewExtensionRegistry()
	k, other := mustRegister(t, r, tides), mustRegister(t, r, tasks)
	var first ClientCapabilities
	if err := k.Advertise(&first, "a"); err != nil {
		t.Fatal(err)
	}
	second := first
	if err := errors.Join(other.Advertise(&second, "b"), k.Advertise(&second, "c")); err != nil {
		t.Fatal(err)
	}
	if got := string(first.append(nil)); got != `{"extensions":{"com.example/tides":{"datum":"a"}}}` {
		t.Errorf("the first capabilities became %s", got)
	}
	if got := string(second.append(nil)); got != `{"extensions":{"com.example/tides":{"datum":"c"},"io.modelcontextprotocol/tasks":{"datum":"b"}}}` {
		t.Errorf("the second capabilities are %s", got)
	}
	for _, bad := range []string{"refused", "raw:", "raw:[]", "raw:null", `raw:{"a":1,"a":2}`, `raw:{}{}`, `raw:{"a":"` + strings.Repeat("x", 64<<10) + `"}`} {
		as[*RequestError](t, k.Advertise(&second, bad))
	}
	as[*RequestError](t, ExtensionKey[string]{}.Advertise(&second, "a"))
	as[*RequestError](t, k.Advertise(nil, "a"))
	for _, settings := range []string{``, `[]`, `null`, `{"a":1,"a":2}`} {
		_, err := Connect(t.Context(), NewIOTransport(nil, nil), WithCapabilities(ClientCapabilities{Extensions: map[string]jsontext.Value{tides: jsontext.Value(settings)}}))
		as[*RequestError](t, err)
	}
}

func TestExtensionsOfServer(t *testing.T) {
	const declared = `{"com.example/tides":{"datum":"MSL","x":1.0},"com.example/other":{"deep":{"ratio":0.5,"note":null}}}`
	d, err := ParseDiscovery([]byte(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"extensions":` + declared +
		`,"experimental":{"x":{"y":[null]}}},"ttlMs":0,"cacheScope":"public"}`))
	if err != nil {
		t.Fatal(err)
	}
	r := NewExtensionRegistry()
	if v, ok, err := mustRegister(t, r, tides).FromServer(d); v != "MSL" || !ok || err != nil {
		t.Errorf("FromServer = %q, %v, %v", v, ok, err)
	}
	if v, ok, err := mustRegister(t, r, tasks).FromServer(d); v != "" || ok || err != nil {
		t.Errorf("FromServer of what is not declared = %q, %v, %v", v, ok, err)
	}
	_, ok, err := mustRegister(t, r, "com.example/other").FromServer(d)
	if e := as[*ProtocolError](t, err); !ok || e.Path != "/capabilities/extensions/com.example~1other" || strings.Contains(err.Error(), "canary") {
		t.Errorf("FromServer of settings that the codec refuses: %v", err)
	}
	if got, _ := d.Capabilities.Member("extensions"); string(got) != declared {
		t.Errorf("declarations became %s", got)
	}
	if got := string(d.Capabilities.Extensions["com.example/other"]); got != `{"deep":{"ratio":0.5,"note":null}}` {
		t.Errorf("unknown declaration became %s", got)
	}
}

func TestResultTypesOfExtensions(t *testing.T) {
	r := NewExtensionRegistry()
	k := mustRegister(t, r, tides)
	key, err := RegisterResultType(k, "tide", textCodec{"high"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := RegisterResultType(mustRegister(t, r, tasks), "task", textCodec{"high"})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	c, _ := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, answers[r.Method]) }), WithExtensions(r))
	late, err := RegisterResultType(k, "late", textCodec{"high"})
	if err != nil {
		t.Fatal(err)
	}
	var declared ClientCapabilities
	if err := k.Advertise(&declared, "MSL"); err != nil {
		t.Fatal(err)
	}
	call := func(answer string, meta RequestMeta) (*Round[CallToolResult], error) {
		answers[methodToolsCall] = answer
		return c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, berth), Meta: meta})
	}
	const good = `{"resultType":"tide","high":"06:12","unknown":[1.0]}`

	round, err := call(good, RequestMeta{Capabilities: &declared})
	if err != nil || round.Complete != nil || round.InputRequired != nil || round.Extension == nil {
		t.Fatalf("CallTool = %+v, %v", round, err)
	}
	e := round.Extension
	if v, ok := key.From(e); v != "06:12" || !ok || e.Type != "tide" || e.Extension != tides || string(e.Raw()) != good {
		t.Errorf("extension result = %+v, %q, %v", e, v, ok)
	}
	for _, k := range []ResultKey[string]{other, late, {}} {
		if _, ok := k.From(e); ok {
			t.Error("another key takes the result")
		}
	}
	if _, ok := key.From(nil); ok {
		t.Error("no result is a result")
	}
	_, err = round.Result()
	if as[*ExtensionResultError](t, err).Result != e || !Delivered(err) {
		t.Errorf("Result of the round: %v", err)
	}

	// Not advertised, of an extension that is not advertised, registered after Connect, refused by the codec, not of the type.
	for answer, meta := range map[string]RequestMeta{
		good:                                   {},
		`{"resultType":"task","high":"06:12"}`: {Capabilities: &declared},
		`{"resultType":"late","high":"06:12"}`: {Capabilities: &declared},
		`{"resultType":"Tide","high":"06:12"}`: {Capabilities: &declared},
		`{"resultType":"tide","high":6}`:       {Capabilities: &declared},
		`{"resultType":"tide","high":"06:12","_meta":{"io.modelcontextprotocol/serverInfo":1}}`: {Capabilities: &declared},
		`{"resultType":7,"high":"06:12"}`: {Capabilities: &declared},
		`{"high":"06:12"}`:                {Capabilities: &declared},
	} {
		round, err := call(answer, meta)
		as[*ProtocolError](t, err)
		if round != nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %+v, %v", answer, round, err)
		}
	}

	answers["com.example/tide"], answers[methodToolsList] = good, good
	meta := RequestMeta{Capabilities: &declared}
	result, err := c.Call(t.Context(), "com.example/tide", nil, meta)
	if v, ok := key.From(as[*ExtensionResultError](t, err).Result); v != "06:12" || !ok || result != nil {
		t.Errorf("Call = %s, %v", result, err)
	}
	_, err = c.Call(t.Context(), "com.example/tide", nil, RequestMeta{})
	as[*ProtocolError](t, err)
	_, err = c.ListTools(t.Context(), &ListParams{Meta: meta})
	as[*ExtensionResultError](t, err)
	_, err = c.ListTools(t.Context(), nil)
	as[*ProtocolError](t, err)
}

func TestResultTypeRegistration(t *testing.T) {
	r := NewExtensionRegistry()
	k, other := mustRegister(t, r, tides), mustRegister(t, r, tasks)
	if _, err := RegisterResultType(k, "tide", textCodec{}); err != nil {
		t.Fatal(err)
	}
	for _, typ := range []string{"", "complete", "input_required", "tide", "a\xff", strings.Repeat("x", 257)} {
		_, err := RegisterResultType(other, typ, textCodec{})
		as[*RequestError](t, err)
	}
	if _, err := RegisterResultType(other, "Complete", textCodec{}); err != nil {
		t.Errorf("a type that differs in case: %v", err)
	}
	_, err := RegisterResultType(ExtensionKey[string]{}, "x", textCodec{})
	as[*RequestError](t, err)
	_, err = RegisterResultType[string, string](k, "x", nil)
	as[*RequestError](t, err)
}

func TestMetaKeysOfExtensions(t *testing.T) {
	r := NewExtensionRegistry()
	k, official := mustRegister(t, r, tides), mustRegister(t, r, tasks)
	for key, of := range map[string]ExtensionKey[string]{
		"plain": k, "progressToken": k, "traceparent": k, "": k, "com.example/a b": k, "io.modelcontextprotocol/x": k, "com.mcp/x": k, "com.mcp/y": official,
		keyVersion: official, keyCapabilities: official, keyClientInfo: official, keyLogLevel: official, keyServerInfo: official,
		"io.modelcontextprotocol/subscriptionId": official, "IO.ModelContextProtocol/protocolVersion": official,
	} {
		_, err := RegisterMetaKey(of, key, textCodec{})
		as[*RequestError](t, err)
	}
	vendor, err := RegisterMetaKey(k, "com.example/station", textCodec{"s"})
	if err != nil {
		t.Fatal(err)
	}
	task, err := RegisterMetaKey(official, "io.modelcontextprotocol/related-task", textCodec{"taskId"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = RegisterMetaKey(k, "com.example/station", textCodec{"s"})
	as[*RequestError](t, err)

	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		c.Result(r, `{"resultType":"complete","content":[]}`)
	}), WithExtensions(r))
	send := func(m RequestMeta) error {
		_, err := c.CallTool(t.Context(), &CallToolParams{Tool: mustTool(t, tide), Meta: m})
		return err
	}
	var declared ClientCapabilities
	if err := errors.Join(official.Advertise(&declared, "x"), k.Advertise(&declared, "x")); err != nil {
		t.Fatal(err)
	}
	var plain RequestMeta
	meta := plain
	if err := errors.Join(task.Set(&meta, "7"), vendor.Set(&meta, "north")); err != nil {
		t.Fatal(err)
	}
	as[*RequestError](t, send(meta)) // nothing is advertised
	meta.Capabilities = &ClientCapabilities{Extensions: map[string]jsontext.Value{tides: jsontext.Value(`{}`)}}
	as[*RequestError](t, send(meta)) // only the other one
	meta.Capabilities = &declared
	if err := send(meta); err != nil {
		t.Fatal(err)
	}
	if got := len(p.Requests()); got != 2 {
		t.Fatalf("sent %d requests, want discovery and one call", got)
	}
	sent, _ := p.Requests()[1].Params.Get("_meta")
	for key, want := range map[string]string{
		"io.modelcontextprotocol/related-task": `{"taskId":"7"}`, "com.example/station": `{"s":"north"}`, keyVersion: `"2026-07-28"`,
	} {
		if got, _ := sent.Get(key); string(got) != want {
			t.Errorf("%s = %s, want %s", key, got, want)
		}
	}
	if v, ok, err := task.From(jsontext.Value(sent)); v != "7" || !ok || err != nil {
		t.Errorf("From = %q, %v, %v", v, ok, err)
	}
	if v, ok, err := task.From(nil); v != "" || ok || err != nil {
		t.Errorf("From nothing = %q, %v, %v", v, ok, err)
	}
	_, ok, err := task.From(jsontext.Value(`{"io.modelcontextprotocol/related-task":1}`))
	if e := as[*ProtocolError](t, err); !ok || e.Path != "/_meta/io.modelcontextprotocol~1related-task" {
		t.Errorf("From a value that the codec refuses: %v", err)
	}
	// The door is the key, not its name.
	plain.Capabilities = &declared
	plain.Extra = map[string]jsontext.Value{"io.modelcontextprotocol/related-task": jsontext.Value(`{"taskId":"7"}`)}
	as[*RequestError](t, send(plain))
	meta.Extra = map[string]jsontext.Value{"com.example/station": jsontext.Value(`1`)}
	as[*RequestError](t, send(meta)) // twice
	foreign, err := RegisterMetaKey(mustRegister(t, NewExtensionRegistry(), tides), "com.example/station", textCodec{"s"})
	if err != nil {
		t.Fatal(err)
	}
	var wrong RequestMeta
	wrong.Capabilities = &declared
	if err := foreign.Set(&wrong, "x"); err != nil {
		t.Fatal(err)
	}
	as[*RequestError](t, send(wrong)) // another registry's
	for _, bad := range []string{"refused", "raw:", "raw:{}{}", `raw:{"a":1,"a":2}`, `raw:"` + strings.Repeat("x", 64<<10) + `"`} {
		as[*RequestError](t, task.Set(&wrong, bad))
	}
	big := RequestMeta{Capabilities: &declared}
	half := `raw:"` + strings.Repeat("x", 40<<10) + `"`
	if err := errors.Join(task.Set(&big, half), vendor.Set(&big, half)); err != nil {
		t.Fatal(err)
	}
	as[*RequestError](t, send(big))
}
