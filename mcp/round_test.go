package mcp

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

func TestInterimResultOnToolsList(t *testing.T) {
	for name, message := range files(t, casetest.Dir(t, "mrtr/interim-result-on-tools-list")) {
		e := refusedList(t, message)
		if e.Method != "tools/list" || e.Path != "/resultType" {
			t.Errorf("%s: %v, want method and member named", name, e)
		}
		sent, err := refusedConnect(t, func(c *mcptest.Conn, r mcptest.Request) { c.Line(string(casetest.WithIDs(message, r.ID))) })
		wantText(t, err, "server/discover", "input_required")
		if sent != "server/discover" {
			t.Errorf("%s: sent %q, want nothing tried again", name, sent)
		}
		c, _ := pipe(t, fixed(message))
		_, err = c.Call(t.Context(), "com.example/x", nil, RequestMeta{})
		as[*ProtocolError](t, err)
	}
}

func TestStateOnly(t *testing.T) {
	message := casetest.Read(t, "mrtr/state-only", "response.json")
	c, p := pipe(t, fixed(message))
	params := &CallToolParams{Tool: mustTool(t, tide), Arguments: jsontext.Value(`{"harbour":"north"}`)}
	round, err := c.CallTool(t.Context(), params)
	if err != nil || round.Complete != nil || round.InputRequired == nil {
		t.Fatalf("CallTool = %+v, %v, want input required", round, err)
	}
	if got := string(round.InputRequired.State); got != `"resume-after-tide"` || round.InputRequired.Requests != nil {
		t.Errorf("InputRequired = %+v", round.InputRequired)
	}
	if n := strings.Count(p.Methods(), "tools/call"); n != 1 {
		t.Errorf("sent %d calls, want one", n)
	}
	_, err = round.Result()
	as[*InputRequiredError](t, err)

	again, err := round.InputRequired.Answer(nil)
	if err != nil {
		t.Fatal(err)
	}
	params.Continue = again
	if _, err := c.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	requests := p.Requests()
	first, second := requests[1], requests[2]
	if first.ID == second.ID {
		t.Error("the retry has the same id")
	}
	if v, _ := second.Params.Get("requestState"); string(v) != `"resume-after-tide"` {
		t.Errorf("requestState = %s", v)
	}
	if v, ok := second.Params.Get("inputResponses"); ok {
		t.Errorf("inputResponses = %s, want none", v)
	}
	for _, name := range []string{"name", "arguments"} {
		a, _ := first.Params.Get(name)
		b, _ := second.Params.Get(name)
		if string(a) != string(b) {
			t.Errorf("%s = %s, want %s as before", name, b, a)
		}
	}
}

func TestStateWithLoneSurrogate(t *testing.T) {
	message := casetest.Read(t, "mrtr/state-with-lone-surrogate", "response.json")
	round, _, err := call(t, mustTool(t, tide), message)
	as[*ProtocolError](t, err)
	if round != nil {
		t.Errorf("round = %+v", round)
	}
}

func TestUndeclaredCapability(t *testing.T) {
	message := casetest.Read(t, "mrtr/undeclared-capability", "response.json")
	_, calls, err := call(t, mustTool(t, tide), message)
	as[*ProtocolError](t, err)
	wantText(t, err, "sampling", "did not declare")
	if calls != 1 {
		t.Errorf("sent %d calls, want one", calls)
	}
	round, _, err := call(t, mustTool(t, tide), message, WithCapabilities(ClientCapabilities{Sampling: true}))
	if err != nil || round.InputRequired.Requests["m"].Method != "sampling/createMessage" {
		t.Errorf("CallTool with the capability declared = %+v, %v", round, err)
	}
}

func TestUnknownInputMethod(t *testing.T) {
	all := ClientCapabilities{ElicitationForm: true, ElicitationURL: true, Sampling: true, SamplingTools: true, Roots: true}
	want := map[string]string{"a.json": "/method", "b.json": "/method", "c.json": "/params/message", "d.json": "/params"}
	for name, message := range files(t, casetest.Dir(t, "mrtr/unknown-input-method")) {
		for _, declared := range []ClientCapabilities{{}, all} {
			_, _, err := call(t, mustTool(t, tide), message, WithCapabilities(declared))
			if e := as[*ProtocolError](t, err); e.Path != "/inputRequests/x"+want[name] {
				t.Errorf("%s: %v, want path %s", name, err, want[name])
			}
		}
	}
}

func TestInputRequiredMalformed(t *testing.T) {
	form := `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}`
	all := ClientCapabilities{ElicitationForm: true, Sampling: true, Roots: true}
	one := func(request string) string { return `"inputRequests":{"k":` + request + `}` }
	for _, test := range []struct {
		members, path string
		fine          bool
	}{
		{`"x":1`, "", false},
		{`"requestState":null`, "/requestState", false},
		{`"requestState":""`, "", true},
		{`"inputRequests":{}`, "", true},
		{`"inputRequests":null`, "/inputRequests", false},
		{`"inputRequests":[]`, "/inputRequests", false},
		{one(form), "", true},
		{one(strings.Replace(form, `"message"`, `"mode":"form","message"`, 1)), "", true},
		{one(strings.Replace(form, `"message"`, `"mode":"Form","message"`, 1)), "/inputRequests/k/params/mode", false},
		{one(strings.Replace(form, `"type":"string"`, `"type":"object"`, 1)), "/inputRequests/k/params/requestedSchema/properties/a", false},
		{one(`{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a"}}`), "/inputRequests/k/method", false},
		{one(`{"method":"elicitation/create","params":{"mode":"url","message":"m"}}`), "/inputRequests/k/params/url", false},
		{one(`{"method":"elicitation/create"}`), "/inputRequests/k/params", false},
		{one(`{"method":"roots/list"}`), "", true},
		{one(`{"method":"roots/list","params":{"_meta":1}}`), "/inputRequests/k/params/_meta", false},
		{one(`{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1.5}}`), "/inputRequests/k/params/maxTokens", false},
		{one(`{"method":"sampling/createMessage","params":{"messages":[{"role":"system","content":{}}],"maxTokens":1}}`), "/inputRequests/k/params/messages/0/role", false},
		{one(`{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}}`), "/inputRequests/k/method", false},
	} {
		_, _, err := call(t, mustTool(t, tide), answer(`{"resultType":"input_required",`+test.members+`}`), WithCapabilities(all))
		var e *ProtocolError
		if test.fine {
			if err != nil {
				t.Errorf("%s: %v, want it accepted", test.members, err)
			}
		} else if !errors.As(err, &e) || e.Path != test.path {
			t.Errorf("%s: %v, want a *ProtocolError at %q", test.members, err, test.path)
		}
	}
}
