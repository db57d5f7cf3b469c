package mcp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

const (
	askRoots = `{"method":"roots/list"}`
	askURL   = `{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example/x"}}`
	askForm  = `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","required":["name"],"properties":{` +
		`"name":{"type":"string","minLength":2,"maxLength":4},"mail":{"type":"string","format":"email"},"page":{"type":"string","format":"uri"},` +
		`"day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},` +
		`"n":{"type":"integer","minimum":-1,"maximum":9007199254740993},"x":{"type":"number","minimum":0.5,"maximum":1e400},"ok":{"type":"boolean"},` +
		`"one":{"type":"string","enum":["a","b"],"enumNames":["A","B"]},"titled":{"type":"string","oneOf":[{"const":"a","title":"A"}]},` +
		`"many":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]}},` +
		`"any":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}}}}}`
	askSample = `{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":10}}`
	askTools  = `{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":10,"tools":[{"name":"pilot","inputSchema":{"type":"object"}}]}}`
	askNoTool = `{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":10,"toolChoice":{"mode":"none"},` +
		`"tools":[{"name":"pilot","inputSchema":{"type":"object"}}]}}`
)

var everything = ClientCapabilities{
	ElicitationForm: true, ElicitationURL: true, Sampling: true, SamplingTools: true, SamplingContext: true, Roots: true,
}

// asks is a round as it is received, with one request under each key.
func asks(t *testing.T, requests map[string]string, state string) *InputRequired {
	t.Helper()
	b := object(nil)
	b.raw("resultType", []byte(`"input_required"`))
	if requests != nil {
		b.key("inputRequests")
		inner := object(b.dst)
		for key, r := range requests {
			inner.raw(key, []byte(r))
		}
		b.dst = inner.end()
	}
	if state != "" {
		b.raw("requestState", []byte(state))
	}
	r, f := decodeInputRequired(strictjson.Value(b.end()), everything)
	if f != nil {
		t.Fatal(f.err(""))
	}
	return r
}

// TestAnswers holds answers against what was asked for: those marked with ! are refused.
func TestAnswers(t *testing.T) {
	for request, answers := range map[string][]string{
		askForm: {
			`{"action":"accept","content":{"name":"abc"}}`,
			` {"action":"decline"} `,
			`{"action":"cancel","unknown":1}`,
			`{"action":"accept","content":{"name":"日本語"},"_meta":{"a":1}}`,
			`{"action":"accept","content":{"name":"ab","mail":"a@b.example","page":"https://a.example/?q","day":"2026-07-28","at":"2026-07-28T10:00:00.5+02:00"}}`,
			`{"action":"accept","content":{"name":"ab","n":9007199254740993,"x":0.5,"ok":false,"one":"b","titled":"a","many":["c","a"],"any":[]}}`,
			`{"action":"accept","content":{"name":"ab","n":1e3,"x":1e399}}`,
			`!{"action":"accept"}`,
			`!{"action":"accept","content":{}}`,
			`!{"action":"accept","content":null}`,
			`!{"action":"accept","content":[]}`,
			`!{"action":"decline","content":{"name":"abc"}}`,
			`!{"action":"cancel","content":{}}`,
			`!{"action":"Accept","content":{"name":"abc"}}`,
			`!{"action":null}`,
			`!{}`,
			`!{"action":"accept","content":{"name":"a"}}`,
			`!{"action":"accept","content":{"name":"abcde"}}`,
			`!{"action":"accept","content":{"name":7}}`,
			`!{"action":"accept","content":{"name":null}}`,
			`!{"action":"accept","content":{"name":"ab","surplus":"x"}}`,
			`!{"action":"accept","content":{"name":"ab","mail":"A <a@b.example>"}}`,
			`!{"action":"accept","content":{"name":"ab","mail":"nobody"}}`,
			`!{"action":"accept","content":{"name":"ab","page":"/x"}}`,
			`!{"action":"accept","content":{"name":"ab","day":"2026-02-30"}}`,
			`!{"action":"accept","content":{"name":"ab","at":"2026-07-28"}}`,
			`!{"action":"accept","content":{"name":"ab","n":1.5}}`,
			`!{"action":"accept","content":{"name":"ab","n":-2}}`,
			`!{"action":"accept","content":{"name":"ab","n":9007199254740994}}`,
			`!{"action":"accept","content":{"name":"ab","n":"1"}}`,
			`!{"action":"accept","content":{"name":"ab","x":0.49999999999999999999}}`,
			`!{"action":"accept","content":{"name":"ab","x":1.1e400}}`,
			`!{"action":"accept","content":{"name":"ab","ok":"true"}}`,
			`!{"action":"accept","content":{"name":"ab","one":"c"}}`,
			`!{"action":"accept","content":{"name":"ab","titled":"A"}}`,
			`!{"action":"accept","content":{"name":"ab","many":[]}}`,
			`!{"action":"accept","content":{"name":"ab","many":["a","b","c"]}}`,
			`!{"action":"accept","content":{"name":"ab","many":["d"]}}`,
			`!{"action":"accept","content":{"name":"ab","many":"a"}}`,
			`!{"action":"accept","content":{"name":"ab","any":[1]}}`,
			`!{"action":"accept","content":{"name":"ab","name":"ab"}}`,
			`!{"action":"decline","resultType":"complete"}`,
			`!{"action":"decline","id":1}`,
			`!{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`,
			`!{"result":{"action":"decline"}}`,
			`!{"error":{"code":1,"message":"m"}}`,
			`!{"action":"decline","_meta":1}`,
			`!{"action":"decline"}{}`,
			`!"decline"`,
			`!`,
		},
		askURL: {
			`{"action":"accept"}`,
			`{"action":"decline"}`,
			`!{"action":"accept","content":{}}`,
		},
		askRoots: {
			`{"roots":[]}`,
			`{"roots":[{"uri":"file:///a/b","name":"n","_meta":{}},{"uri":"file://host/c"}]}`,
			`!{}`,
			`!{"roots":{}}`,
			`!{"roots":[1]}`,
			`!{"roots":[{"name":"n"}]}`,
			`!{"roots":[{"uri":"https://a.example"}]}`,
			`!{"roots":[{"uri":"FILE:///a"}]}`,
			`!{"roots":[{"uri":"/etc"}]}`,
			`!{"roots":[{"uri":"file:/a"}]}`,
			`!{"roots":[{"uri":"file:///%zz"}]}`,
			`!{"roots":[{"uri":"file:///a","name":1}]}`,
			`!{"roots":[{"uri":"file:///a","_meta":[]}]}`,
			`!{"action":"decline"}`,
		},
		askSample: {
			`{"role":"assistant","content":{"type":"text","text":""},"model":"m"}`,
			`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"model":"m","stopReason":"own"}`,
			`{"role":"assistant","content":{"type":"audio","data":"","mimeType":"audio/wav"},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"text","text":"a"}}`,
			`!{"role":"assistant","model":"m"}`,
			`!{"content":{"type":"text","text":"a"},"model":"m"}`,
			`!{"role":"system","content":{"type":"text","text":"a"},"model":"m"}`,
			`!{"role":"assistant","content":"a","model":"m"}`,
			`!{"role":"assistant","content":{"type":"text"},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"video"},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"image","data":"A","mimeType":"image/png"},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"image","data":"SGVs\nbG8=","mimeType":"image/png"},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"image","data":"SGVsbG9=","mimeType":"image/png"},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"image","data":"-_-_","mimeType":"image/png"},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"resource_link","uri":"a:b","name":"n"},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"resource","resource":{"uri":"a:b","text":""}},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"text","text":"a"},"model":7}`,
			`!{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":null}`,
			`!{"role":"assistant","content":{"type":"tool_use","id":"1","name":"pilot","input":{}},"model":"m"}`,
			`!{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[]},"model":"m"}`,
			`!{"roots":[]}`,
		},
		askTools: {
			`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"pilot","input":{},"_meta":{}},` +
				`{"type":"tool_use","id":"2","name":"pilot","input":{"a":1}}],"model":"m","stopReason":"toolUse"}`,
			`!{"role":"user","content":{"type":"tool_use","id":"1","name":"pilot","input":{}},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"tool_use","id":"1","name":"other","input":{}},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"tool_use","id":"1","name":"pilot"},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"tool_use","id":1,"name":"pilot","input":{}},"model":"m"}`,
			`!{"role":"assistant","content":{"type":"tool_use","id":"1","name":"pilot","input":[]},"model":"m"}`,
			`!{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"pilot","input":{}},{"type":"tool_use","id":"1","name":"pilot","input":{}}],"model":"m"}`,
		},
		askNoTool: {
			`{"role":"assistant","content":[],"model":"m"}`,
			`!{"role":"assistant","content":{"type":"tool_use","id":"1","name":"pilot","input":{}},"model":"m"}`,
		},
	} {
		received := asks(t, map[string]string{"k": request}, "")
		built := &InputRequired{Requests: map[string]InputRequest{"k": {
			Method: received.Requests["k"].Method, Params: received.Requests["k"].Params,
		}}}
		if built.Requests["k"].Params != nil {
			r := built.Requests["k"]
			r.Params = append(append(jsontext.Value("\n "), r.Params...), ' ')
			built.Requests["k"] = r
		}
		for name, round := range map[string]*InputRequired{"received": received, "built": built} {
			for _, answer := range answers {
				text, bad := strings.CutPrefix(answer, "!")
				c, err := round.Answer(map[string]jsontext.Value{"k": jsontext.Value(text)})
				switch {
				case bad && err == nil:
					t.Errorf("%s %s: answer %s is accepted", name, request, text)
				case bad:
					as[*RequestError](t, err)
				case err != nil:
					t.Errorf("%s %s: answer %s is refused: %v", name, request, text, err)
				case string(c.append(nil)) != `,"inputResponses":{"k":`+text+`}`:
					t.Errorf("%s: answer %s became %s", name, text, c.append(nil))
				}
			}
		}
	}
}

func TestAnswerKeysAndState(t *testing.T) {
	const decline = `{"action":"decline"}`
	responses := func(keys ...string) map[string]jsontext.Value {
		out := map[string]jsontext.Value{}
		for _, key := range keys {
			out[key] = jsontext.Value(decline)
		}
		return out
	}
	two := map[string]string{"b": askURL, "a\u2028/": askForm}
	for _, test := range []struct {
		requests  map[string]string
		state     string
		responses map[string]jsontext.Value
		want      string // "" for a refusal
	}{
		{two, `"s\/<\u00e9"`, responses("b", "a\u2028/"), `,"inputResponses":{"a` + "\u2028" + `/":` + decline + `,"b":` + decline + `},"requestState":"s\/<\u00e9"`},
		{two, "", responses("b", "a\u2028/"), `,"inputResponses":{"a` + "\u2028" + `/":` + decline + `,"b":` + decline + `}`},
		{two, `""`, responses("b"), ""},
		{two, "", nil, ""},
		{two, "", responses("b", "a\u2028/", "c"), ""},
		{two, "", responses("b", "A\u2028/"), ""},
		{map[string]string{}, `""`, nil, `,"inputResponses":{},"requestState":""`},
		{map[string]string{}, "", responses("b"), ""},
		{nil, `""`, nil, `,"requestState":""`},
		{nil, `"x"`, responses(), `,"requestState":"x"`},
		{nil, `"x"`, responses("b"), ""},
	} {
		round := asks(t, test.requests, test.state)
		// What a host does to the fields does not change what the server asked for.
		round.Requests, round.State = map[string]InputRequest{"z": {}}, jsontext.Value(`"other"`)
		c, err := round.Answer(test.responses)
		switch {
		case test.want == "":
			as[*RequestError](t, err)
		case err != nil:
			t.Errorf("%v: %v", test.requests, err)
		case string(c.append(nil)) != test.want:
			t.Errorf("continuation is %s, want %s", c.append(nil), test.want)
		}
	}
	if got := string((*Continuation)(nil).append(nil)); got != "" {
		t.Errorf("no continuation appends %s", got)
	}
}

func TestAnswerToMalformedRounds(t *testing.T) {
	for name, round := range map[string]*InputRequired{
		"no method":         {Requests: map[string]InputRequest{"k": {}}},
		"foreign method":    {Requests: map[string]InputRequest{"k": {Method: "tasks/create", Params: jsontext.Value(`{}`)}}},
		"no parameters":     {Requests: map[string]InputRequest{"k": {Method: methodElicit}}},
		"no JSON":           {Requests: map[string]InputRequest{"k": {Method: methodElicit, Params: jsontext.Value(`{"message`)}}},
		"no form":           {Requests: map[string]InputRequest{"k": {Method: methodElicit, Params: jsontext.Value(`{"message":"m"}`)}}},
		"state no JSON":     {State: jsontext.Value(`"a`)},
		"state no string":   {State: jsontext.Value(`{}`)},
		"state null":        {State: jsontext.Value(`null`)},
		"state empty":       {State: jsontext.Value{}},
		"state twice":       {State: jsontext.Value(`"a""b"`)},
		"state a surrogate": {State: jsontext.Value(`"\ud800"`)},
	} {
		responses := map[string]jsontext.Value{}
		for key := range round.Requests {
			responses[key] = jsontext.Value(`{"action":"decline"}`)
		}
		if _, err := round.Answer(responses); err == nil {
			t.Errorf("%s: Answer succeeded", name)
		} else {
			as[*RequestError](t, err)
		}
	}
}

// TestInputRequestShapes tries requests of rounds; those marked with ! are refused.
func TestInputRequestShapes(t *testing.T) {
	field := func(s string) string {
		return `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"f":` + s + `}}}}`
	}
	sample := func(members string) string {
		return `{"method":"sampling/createMessage","params":{"maxTokens":1,` + members + `}}`
	}
	talk := func(messages string) string { return sample(`"messages":[` + messages + `]`) }
	const (
		user  = `{"role":"user","content":{"type":"text","text":"t"}}`
		use   = `{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"1","name":"n","input":{}}]}`
		other = `{"role":"assistant","content":{"type":"tool_use","id":"2","name":"n","input":{}}}`
		done  = `{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"t"}],"isError":false,"structuredContent":null}}`
	)
	for _, request := range []string{
		askForm, askURL, askRoots, askSample, askTools, askNoTool,
		field(`{"type":"string","title":"t","description":"d","default":"x","unknown":[1.5,null]}`),
		field(`{"type":"boolean","default":true}`), field(`{"type":"number","default":0.5}`),
		field(`{"type":"string","enum":[]}`), field(`{"type":"array","items":{"type":"string","enum":[]},"default":["a"]}`),
		`!` + field(`{"type":"string","title":1}`), `!` + field(`{"type":"boolean","description":null}`),
		`!` + field(`{"type":"string","minLength":-1}`), `!` + field(`{"type":"string","maxLength":1.5}`),
		`!` + field(`{"type":"string","format":"ipv4"}`), `!` + field(`{"type":"string","format":1}`), `!` + field(`{"type":"string","default":1}`),
		`!` + field(`{"type":"string","enum":[1]}`), `!` + field(`{"type":"string","enum":"a"}`), `!` + field(`{"type":"string","enum":["a"],"enumNames":[1]}`),
		`!` + field(`{"type":"string","oneOf":[{"const":"a"}]}`), `!` + field(`{"type":"string","oneOf":[{"const":1,"title":"t"}]}`),
		`!` + field(`{"type":"string","oneOf":[1]}`), `!` + field(`{"type":"string","enum":["a"],"oneOf":[{"const":"a","title":"t"}]}`),
		`!` + field(`{"type":"number","minimum":"1"}`), `!` + field(`{"type":"integer","maximum":null}`), `!` + field(`{"type":"number","default":"1"}`),
		`!` + field(`{"type":"boolean","default":1}`), `!` + field(`{"type":"object"}`), `!` + field(`{"type":["string"]}`), `!` + field(`{}`), `!` + field(`1`),
		`!` + field(`{"type":"array"}`), `!` + field(`{"type":"array","items":{"type":"number","enum":["a"]}}`), `!` + field(`{"type":"array","items":{"type":"string"}}`),
		`!` + field(`{"type":"array","items":1}`), `!` + field(`{"type":"array","items":{"type":"string","enum":["a"],"anyOf":[]}}`),
		`!` + field(`{"type":"array","items":{"type":"string","enum":["a"]},"minItems":-1}`), `!` + field(`{"type":"array","items":{"type":"string","enum":["a"]},"default":"a"}`),
		`!{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{},"required":[1]}}}`,
		`!{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{},"$schema":1}}}`,
		`!{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}`,
		`!{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"/relative"}}`,
		`!{"method":"elicitation/create","params":{"mode":null,"message":"m","url":"https://a.example"}}`,

		sample(`"messages":[],"systemPrompt":"s","includeContext":"allServers","temperature":0.5,"stopSequences":["a"],"metadata":{"a":1},"toolChoice":{},` +
			`"modelPreferences":{"hints":[{"name":"n"},{}],"costPriority":0,"speedPriority":1,"intelligencePriority":0.5}`),
		`!` + sample(`"messages":[],"systemPrompt":1`), `!` + sample(`"messages":[],"includeContext":"all"`), `!` + sample(`"messages":[],"temperature":"1"`),
		`!` + sample(`"messages":[],"stopSequences":"a"`), `!` + sample(`"messages":[],"metadata":[]`), `!` + sample(`"messages":[],"toolChoice":{"mode":"any"}`),
		`!` + sample(`"messages":[],"toolChoice":1`), `!` + sample(`"messages":[],"tools":{}`), `!` + sample(`"messages":[],"tools":[{"name":"n"}]`),
		`!` + sample(`"messages":[],"tools":[{"name":"n","inputSchema":{"type":"object"}},{"name":"n","inputSchema":{"type":"object"}}]`),
		`!` + sample(`"messages":[],"modelPreferences":1`), `!` + sample(`"messages":[],"modelPreferences":{"costPriority":1.5}`),
		`!` + sample(`"messages":[],"modelPreferences":{"hints":{}}`), `!` + sample(`"messages":[],"modelPreferences":{"hints":[1]}`),
		`!` + sample(`"messages":[],"modelPreferences":{"hints":[{"name":1}]}`), `!` + sample(`"messages":{}`), `!` + sample(`"x":1`),
		`!{"method":"sampling/createMessage","params":{"messages":[]}}`,

		talk(user), talk(user + `,` + use + `,` + done), talk(use + `,` + done + `,` + user + `,` + use + `,` + done),
		`!` + talk(use),
		`!` + talk(use+`,`+user),
		`!` + talk(use+`,`+user+`,`+done),
		`!` + talk(done),
		`!` + talk(other+`,`+done),
		`!` + talk(use+`,`+strings.Replace(done, `"role":"user"`, `"role":"assistant"`, 1)),
		`!` + talk(use+`,{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]},{"type":"text","text":"t"}]}`),
		`!` + talk(use+`,{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]},{"type":"tool_result","toolUseId":"1","content":[]}]}`),
		`!` + talk(use+`,{"role":"user","content":{"type":"tool_result","toolUseId":"1"}}`),
		`!` + talk(use+`,{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[{"type":"tool_use","id":"1","name":"n","input":{}}]}}`),
		`!` + talk(use+`,{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[],"isError":"no"}}`),
		`!` + talk(`1`), `!` + talk(`{"role":"user"}`), `!` + talk(`{"role":"user","content":1}`), `!` + talk(`{"role":"user","content":[1]}`),
		`!` + talk(`{"role":"user","content":{"type":"text","text":"t"},"_meta":1}`),
		`!{"method":"Roots/list"}`,
	} {
		text, bad := strings.CutPrefix(request, "!")
		result := strictjson.Value(`{"resultType":"input_required","inputRequests":{"k":` + text + `}}`)
		if err := strictjson.Check(result, strictjson.Limits{}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r, f := decodeInputRequired(result, everything)
		if bad != (f != nil) {
			t.Errorf("%s: %v, want refused %v", text, f.err(""), bad)
		}
		if !bad && f == nil && !bytes.Equal(r.Requests["k"].Raw(), []byte(text)) {
			t.Errorf("%s became %s", text, r.Requests["k"].Raw())
		}
	}
}

// TestUndeclaredInput refuses what goes beyond the declared capabilities, each with the capability that makes it fine.
func TestUndeclaredInput(t *testing.T) {
	without := func(change func(*ClientCapabilities)) ClientCapabilities {
		c := everything
		change(&c)
		return c
	}
	sample := func(members string) string {
		return `{"method":"sampling/createMessage","params":{"maxTokens":1,` + members + `}}`
	}
	for request, declared := range map[string]ClientCapabilities{
		askForm:                                 without(func(c *ClientCapabilities) { c.ElicitationForm = false }),
		askURL:                                  without(func(c *ClientCapabilities) { c.ElicitationURL = false }),
		askRoots:                                without(func(c *ClientCapabilities) { c.Roots = false }),
		askSample:                               without(func(c *ClientCapabilities) { c.Sampling = false }),
		askTools:                                without(func(c *ClientCapabilities) { c.SamplingTools = false }),
		sample(`"messages":[],"toolChoice":{}`): without(func(c *ClientCapabilities) { c.SamplingTools = false }),
		sample(`"messages":[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n","input":{}}},` +
			`{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[]}}]`): without(func(c *ClientCapabilities) { c.SamplingTools = false }),
		sample(`"messages":[],"includeContext":"thisServer"`): without(func(c *ClientCapabilities) { c.SamplingContext = false }),
		sample(`"messages":[],"includeContext":"allServers"`): without(func(c *ClientCapabilities) { c.SamplingContext = false }),
	} {
		result := strictjson.Value(`{"resultType":"input_required","inputRequests":{"k":` + request + `}}`)
		if _, f := decodeInputRequired(result, declared); f == nil || !strings.Contains(f.reason, "did not declare") {
			t.Errorf("%s: %v, want it refused as undeclared", request, f)
		}
		if _, f := decodeInputRequired(result, everything); f != nil {
			t.Errorf("%s: %v, want it accepted with all declared", request, f)
		}
	}
	none := strictjson.Value(`{"resultType":"input_required","inputRequests":{"k":` + sample(`"messages":[],"includeContext":"none"`) + `}}`)
	if _, f := decodeInputRequired(none, ClientCapabilities{Sampling: true}); f != nil {
		t.Errorf("includeContext none: %v, want it accepted", f)
	}
}

// TestContinuation plays two rounds: each retry has an id of its own and only what its own round gave it, and the
// continuation of a round goes with no other request.
func TestContinuation(t *testing.T) {
	n := 0
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		n++
		switch n {
		case 1:
			c.Result(r, `{"resultType":"input_required","inputRequests":{"k":`+askURL+`},"requestState":"one"}`)
		case 2:
			c.Result(r, `{"resultType":"input_required","inputRequests":{"l":`+askURL+`}}`)
		default:
			c.Result(r, `{"resultType":"complete","content":[]}`)
		}
	}), WithCapabilities(everything))
	params := CallToolParams{Tool: mustTool(t, tide), Arguments: jsontext.Value(`{"harbour":"north","n":1.0}`)}
	for _, key := range []string{"k", "l"} {
		round, err := c.CallTool(t.Context(), &params)
		if err != nil {
			t.Fatal(err)
		}
		_, err = round.Result()
		as[*InputRequiredError](t, err)
		if params.Continue, err = round.InputRequired.Answer(map[string]jsontext.Value{key: jsontext.Value(`{"action":"accept"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	sent := len(p.Requests())
	for name, change := range map[string]func(*CallToolParams){
		"tool":         func(p *CallToolParams) { p.Tool = mustTool(t, berth) },
		"arguments":    func(p *CallToolParams) { p.Arguments = jsontext.Value(`{"harbour":"north","n":2}`) },
		"no arguments": func(p *CallToolParams) { p.Arguments = nil },
	} {
		other := params
		change(&other)
		if _, err := c.CallTool(t.Context(), &other); err == nil {
			t.Errorf("%s: the continuation of another request was sent", name)
		} else {
			as[*RequestError](t, err)
		}
	}
	if len(p.Requests()) != sent {
		t.Error("something was sent")
	}
	params.Arguments = jsontext.Value("{\"n\": 1,\n \"harbour\":\"north\"}") // the same value in other words
	if round, err := c.CallTool(t.Context(), &params); err != nil || round.Complete == nil {
		t.Fatalf("last call = %+v, %v", round, err)
	}
	ids := map[string]bool{}
	var rest []string
	for _, r := range p.Requests() {
		if ids[r.ID] {
			t.Errorf("id %s comes twice", r.ID)
		}
		ids[r.ID] = true
		responses, _ := r.Params.Get("inputResponses")
		state, _ := r.Params.Get("requestState")
		rest = append(rest, string(responses)+string(state))
	}
	if got, want := strings.Join(rest, "|"), `||{"k":{"action":"accept"}}"one"|{"l":{"action":"accept"}}`; got != want {
		t.Errorf("requests carried %s, want %s", got, want)
	}
}

// TestAnswersMatchSpec holds answers of each kind against the official schema.
func TestAnswersMatchSpec(t *testing.T) {
	s := openSpec(t)
	for def, answers := range map[string][]string{
		"ElicitResult":        {`{"action":"decline"}`, `{"action":"accept","content":{"name":"ab","ok":true,"many":["a"],"n":1}}`},
		"CreateMessageResult": {`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"pilot","input":{}}],"model":"m","stopReason":"toolUse"}`},
		"ListRootsResult":     {`{"roots":[{"uri":"file:///a","name":"n"}]}`},
	} {
		request := map[string]string{"ElicitResult": askForm, "CreateMessageResult": askTools, "ListRootsResult": askRoots}[def]
		for _, answer := range answers {
			c, err := asks(t, map[string]string{"k": request}, `"s"`).Answer(map[string]jsontext.Value{"k": jsontext.Value(answer)})
			if err != nil {
				t.Fatal(err)
			}
			for def, text := range map[string]string{def: answer, "InputResponses": string(c.responses)} {
				if err := s.validate(t, def, []byte(text)); err != nil {
					t.Errorf("%s is no %s: %v", text, def, err)
				}
			}
		}
	}
}
