package mcp

import (
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

func TestComplete(t *testing.T) {
	const result = `{"resultType":"complete","completion":{"values":["b","a",""],"total":3.0,"hasMore":false,"z":1.0},"x":null,"_meta":{"k":1}}`
	both(t, func() mcptest.Handler { return answering(result) }, func(t *testing.T, c *Client, p *mcptest.Peer) {
		r, err := c.Complete(short(t), &CompleteParams{
			Ref: PromptRef{Name: "p"}, Argument: CompletionArgument{Name: "a", Value: "b\n"}, Context: map[string]string{"z": "1", "y": "2"},
		})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "values", r.Values, []string{"b", "a", ""})
		if *r.Total != 3 || r.HasMore == nil || *r.HasMore || string(r.Meta) != `{"k":1}` || string(r.Raw()) != result {
			t.Errorf("result = %+v", r)
		}
		for _, ref := range []CompletionRef{ResourceRef{URI: "a:{b}"}, &ResourceRef{URI: "a:{b}"}, &PromptRef{Name: "p"}} {
			if _, err := c.Complete(short(t), &CompleteParams{Ref: ref}); err != nil {
				t.Fatal(err)
			}
		}
		requests := p.Requests()[1:]
		for i, want := range []string{
			`"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b\n"},"context":{"arguments":{"y":"2","z":"1"}}}`,
			`"ref":{"type":"ref/resource","uri":"a:{b}"},"argument":{"name":"","value":""}}`,
			`"ref":{"type":"ref/resource","uri":"a:{b}"},"argument":{"name":"","value":""}}`,
			`"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"","value":""}}`,
		} {
			if r := requests[i]; r.Method != "completion/complete" || !strings.HasSuffix(string(r.Params), `},`+want) {
				t.Errorf("request %d is %s %s, want it to end in %s", i, r.Method, r.Params, want)
			}
			if h := requests[i].Header; h != nil && h.Values("Mcp-Name") != nil {
				t.Errorf("request %d has Mcp-Name %q", i, h.Values("Mcp-Name"))
			}
		}
	})
}

func TestCompleteRefused(t *testing.T) {
	values := func(n int) string {
		return `{"resultType":"complete","completion":{"values":[` + strings.TrimSuffix(strings.Repeat(`"v",`, n), ",") + `]}}`
	}
	c, _ := pipe(t, answering(values(100)))
	if r, err := c.Complete(t.Context(), &CompleteParams{Ref: PromptRef{"p"}}); err != nil || len(r.Values) != 100 || r.Total != nil || r.HasMore != nil {
		t.Errorf("100 values: %+v, %v", r, err)
	}
	c, _ = pipe(t, answering(values(0)))
	if r, err := c.Complete(t.Context(), &CompleteParams{Ref: PromptRef{"p"}}); err != nil || r.Values == nil {
		t.Errorf("no values: %+v, %v", r, err)
	}
	of := func(completion string) string { return `{"resultType":"complete","completion":` + completion + `}` }
	for _, test := range []struct{ result, path string }{
		{values(101), "/completion/values"},
		{of(`{"values":["a",1]}`), "/completion/values/1"},
		{of(`{"values":null}`), "/completion/values"},
		{of(`{}`), "/completion/values"},
		{of(`{"values":[],"total":1.5}`), "/completion/total"},
		{of(`{"values":[],"total":-1}`), "/completion/total"},
		{of(`{"values":[],"total":null}`), "/completion/total"},
		{of(`{"values":[],"hasMore":null}`), "/completion/hasMore"},
		{of(`{"values":[],"hasMore":1}`), "/completion/hasMore"},
		{of(`[]`), "/completion"},
		{of(`null`), "/completion"},
		{`{"resultType":"complete"}`, "/completion"},
		{`{"completion":{"values":[]}}`, "/resultType"},
		{`{"resultType":"input_required","requestState":""}`, "/resultType"},
		{of(`{"values":[]},"_meta":[]`), "/_meta"},
	} {
		c, p := pipe(t, answering(test.result))
		_, err := c.Complete(t.Context(), &CompleteParams{Ref: PromptRef{"p"}})
		if e := as[*ProtocolError](t, err); e.Path != test.path || e.Method != "completion/complete" {
			t.Errorf("%s: %v, want path %q", test.result, err, test.path)
		}
		if len(sent(p)) != 1 {
			t.Errorf("sent %q", p.Methods())
		}
	}
}
