package mcp

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
)

const traceparent = `"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"`

func TestCallerMetaKeys(t *testing.T) {
	table := string(casetest.Read(t, "jsonrpc/caller-meta-keys", "keys.tsv"))
	c, p := pipe(t, fixed(answer(`{"resultType":"complete","content":[]}`)))
	send := func(key string, value jsontext.Value) error {
		_, err := c.CallTool(t.Context(), &CallToolParams{
			Tool: mustTool(t, tide), Meta: RequestMeta{Extra: map[string]jsontext.Value{key: value}},
		})
		return err
	}
	rows := strings.Split(strings.TrimSpace(table), "\n")
	if len(rows) < 10 {
		t.Fatalf("keys.tsv has %d rows", len(rows))
	}
	for _, row := range rows {
		key, verdict, _ := strings.Cut(row, "\t")
		value := jsontext.Value(`{"v":1.0}`)
		if key == "traceparent" {
			value = jsontext.Value(traceparent)
		}
		before := len(p.Requests())
		err := send(key, value)
		requests := p.Requests()
		switch verdict {
		case "refuse":
			as[*RequestError](t, err)
			if len(requests) != before {
				t.Errorf("%s: something was sent", key)
			}
		case "allow":
			if err != nil {
				t.Errorf("%s: %v, want it allowed", key, err)
				continue
			}
			meta, _ := requests[len(requests)-1].Params.Get("_meta")
			if got, _ := meta.Get(key); string(got) != string(value) {
				t.Errorf("%s went out as %s, want %s", key, got, value)
			}
			if got, _ := meta.Get(keyVersion); string(got) != `"2026-07-28"` {
				t.Errorf("%s: protocolVersion went out as %s", key, got)
			}
		default:
			t.Fatalf("row %q", row)
		}
	}
	for key, value := range map[string]string{
		"progressToken": `1`, "": `1`, "a/b/c": `1`, "é": `1`, "IO.ModelContextProtocol/x": `1`, "x.MCP/y": `1`, "a.b": `"\ud800"`, "a": `{"x":1,"x":1}`,
		"b": ``, "c": strings.Repeat("[", 65) + strings.Repeat("]", 65), "d": `"` + strings.Repeat("x", 64<<10) + `"`,
		"_x": `1`, "x_": `1`, "x y": `1`, "/x": `1`, ".a/x": `1`,
	} {
		as[*RequestError](t, send(key, jsontext.Value(value)))
	}
}

func TestTraceKeys(t *testing.T) {
	for key, values := range map[string]map[string]bool{
		"traceparent": {
			traceparent: true, `"00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"`: false, `"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"`: true,
			`"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"`: false, `"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"`: false,
			`"00-00000000000000000000000000000000-00f067aa0ba902b7-01"`: false, `7`: false, `""`: false,
		},
		"tracestate": {
			`"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"`: true, `"a"`: false, `"A=b"`: false, `"a=b,,c=d"`: true, `{}`: false,
			`"a=b,a=c"`: false, `"1a@sys=b"`: true, `"_a=b"`: false, `"a@=b"`: false, `"a@1=b"`: false, `"a@b@c=d"`: false, `"a= "`: false, `"a=b=c"`: false,
		},
		"baggage": {`"userId=alice,serverNode=DF%2028;prop=1"`: true, `"a b=c"`: false, `"x"`: false, `"a=\"b\""`: false, `null`: false},
	} {
		for value, fine := range values {
			if got := checkExtra(map[string]jsontext.Value{key: jsontext.Value(value)}); (got == "") != fine {
				t.Errorf("%s %s: %q, want allowed %v", key, value, got, fine)
			}
		}
	}
}

func TestCapabilitiesOnTheWire(t *testing.T) {
	for want, c := range map[string]ClientCapabilities{
		`{}`: {},
		`{"elicitation":{"form":{}},"roots":{},"sampling":{"context":{},"tools":{}}}`: {ElicitationForm: true, Roots: true, Sampling: true, SamplingTools: true, SamplingContext: true},
		`{"elicitation":{"url":{}},"sampling":{}}`:                                    {ElicitationURL: true, Sampling: true},
		`{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}}}`:                {ElicitationForm: true, ElicitationURL: true, Sampling: true, SamplingTools: true},
	} {
		if got := string(c.append(nil)); got != want {
			t.Errorf("%+v = %s, want %s", c, got, want)
		}
	}
}

func TestMinimalEnv(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/h", "SECRET=x", "LC_ALL=C", "LANG=de", "TERM=vt100", "PATHX=1", "Path=2", "=C:=x", "TZ=UTC"}
	if got := strings.Join(minimalEnv(environ, "linux"), " "); got != "PATH=/bin HOME=/h LC_ALL=C LANG=de TERM=vt100 TZ=UTC" {
		t.Errorf("minimalEnv on linux = %s", got)
	}
	if got := strings.Join(minimalEnv([]string{"Path=2", "SystemRoot=w", "SECRET=x", "=C:=x"}, "windows"), " "); got != "Path=2 SystemRoot=w" {
		t.Errorf("minimalEnv on windows = %s", got)
	}
}
