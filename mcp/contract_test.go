package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// TestRequestsMatchSpec holds every request that the client can send against the official schema.
func TestRequestsMatchSpec(t *testing.T) {
	s := openSpec(t)
	title, theme := "T", "dark"
	c, p := pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		if r.Method == "tools/list" {
			c.Result(r, page(""))
			return
		}
		c.Result(r, `{"resultType":"input_required","requestState":"s"}`)
	}), WithCapabilities(ClientCapabilities{ElicitationForm: true, ElicitationURL: true, Sampling: true, SamplingTools: true, SamplingContext: true, Roots: true}),
		WithClientInfo(Implementation{Name: "n", Version: "1", Title: &title, WebsiteURL: &title, Icons: []Icon{{Src: "data:,x", Theme: &theme, Sizes: []string{"any"}}}}))
	cursor := ""
	meta := RequestMeta{
		LogLevel: LogEmergency, OnProgress: func(Progress) {},
		Extra: map[string]jsontext.Value{"com.example/x": jsontext.Value(`[1]`), "traceparent": jsontext.Value(traceparent)},
	}
	if _, err := c.ListTools(t.Context(), &ListParams{Cursor: &cursor, Meta: meta}); err != nil {
		t.Fatal(err)
	}
	params := &CallToolParams{Tool: mustTool(t, tide), Arguments: jsontext.Value(`{"harbour":"north"}`), Meta: meta}
	round, err := c.CallTool(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if params.Continue, err = round.InputRequired.Answer(nil); err != nil {
		t.Fatal(err)
	}
	params.Meta.Capabilities = &ClientCapabilities{}
	if _, err := c.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	form := &InputRequired{Requests: map[string]InputRequest{"k": {Method: methodElicit, Params: jsontext.Value(`{"message":"m","mode":"url","url":"https://a.example"}`)}}}
	if params.Continue, err = form.Answer(map[string]jsontext.Value{"k": jsontext.Value(`{"action":"decline"}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	defs := map[string]string{"server/discover": "DiscoverRequest", "tools/list": "ListToolsRequest", "tools/call": "CallToolRequest"}
	requests := p.Requests()
	if len(requests) != 5 {
		t.Fatalf("sent %q, want five requests", p.Methods())
	}
	for _, r := range requests {
		for _, def := range []string{defs[r.Method], "JSONRPCRequest", "ClientRequest"} {
			if err := s.validate(t, def, r.Raw); err != nil {
				t.Errorf("%s is no %s: %v", r.Raw, def, err)
			}
		}
	}
}

// TestTypesMatchSpec compares the members that the decoders look at with those of the official schema, both ways: a
// member that the schema knows and whose type is wrong must be refused, and one that it requires must not be left out.
func TestTypesMatchSpec(t *testing.T) {
	s := openSpec(t)
	limits, _ := Limits{}.filled(Limits{})
	all := ClientCapabilities{ElicitationForm: true, ElicitationURL: true, Sampling: true, SamplingTools: true, SamplingContext: true, Roots: true}
	inTool := func(member string) func(strictjson.Value) *fault {
		return func(v strictjson.Value) *fault {
			text := `{"name":"a","inputSchema":{"type":"object"},"` + member + `":` + string(v) + `}`
			_, f := decodeTool(strictjson.Value(text), &limits)
			return f
		}
	}
	block := func(v strictjson.Value) *fault { _, f := decodeBlock(v); return f }
	for def, test := range map[string]struct {
		good   string
		decode func(strictjson.Value) *fault
		// free are members of any type.
		free []string
	}{
		"Tool": {
			`{"name":"a","title":"","description":"","icons":[],"inputSchema":{"type":"object"},"outputSchema":{},"annotations":{},"_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeTool(v, &limits); return f }, nil,
		},
		"ToolAnnotations": {`{"title":"","readOnlyHint":true,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}`, inTool("annotations"), nil},
		"Icon":            {`{"src":"","mimeType":"","sizes":[],"theme":"dark"}`, func(v strictjson.Value) *fault { _, f := decodeIcon(v); return f }, nil},
		"Implementation": {
			`{"name":"","version":"","title":"","description":"","websiteUrl":"","icons":[]}`,
			func(v strictjson.Value) *fault { _, f := decodeImplementation(v); return f }, nil,
		},
		"ListToolsResult": {
			`{"resultType":"complete","tools":[],"nextCursor":"","ttlMs":0,"cacheScope":"public","_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeToolsPage(v, &limits, true); return f }, nil,
		},
		"DiscoverResult": {
			`{"resultType":"complete","supportedVersions":[],"capabilities":{},"instructions":"","ttlMs":0,"cacheScope":"public","_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeDiscovery(v); return f }, nil,
		},
		"ServerCapabilities": {
			`{"tools":{},"resources":{},"prompts":{},"logging":{},"completions":{},"experimental":{},"extensions":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeCapabilities(v); return f }, nil,
		},
		"CallToolResult": {
			`{"resultType":"complete","content":[],"structuredContent":1,"isError":false,"_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeRound(v, all, (*CallToolResult).decode); return f },
			[]string{"structuredContent"},
		},
		"InputRequiredResult": {
			`{"resultType":"input_required","inputRequests":{},"requestState":"","_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeRound(v, all, (*CallToolResult).decode); return f }, nil,
		},
		"TextContent":      {`{"type":"text","text":"","annotations":{},"_meta":{}}`, block, nil},
		"ImageContent":     {`{"type":"image","data":"","mimeType":"","annotations":{},"_meta":{}}`, block, nil},
		"AudioContent":     {`{"type":"audio","data":"","mimeType":"","annotations":{},"_meta":{}}`, block, nil},
		"ResourceLink":     {`{"type":"resource_link","uri":"a:b","name":"","title":"","description":"","mimeType":"","size":1,"icons":[],"annotations":{},"_meta":{}}`, block, nil},
		"EmbeddedResource": {`{"type":"resource","resource":{"uri":"a:b","text":""},"annotations":{},"_meta":{}}`, block, nil},
		"TextResourceContents": {
			`{"uri":"a:b","text":"","mimeType":"","_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeResourceContents(v); return f }, nil,
		},
		"BlobResourceContents": {
			`{"uri":"a:b","blob":"","mimeType":"","_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeResourceContents(v); return f }, nil,
		},
		"Resource": {
			`{"uri":"a:b","name":"","title":"","description":"","mimeType":"","size":1,"icons":[],"annotations":{},"_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeResource(v, &limits); return f }, nil,
		},
		"ResourceTemplate": {
			`{"uriTemplate":"a:{b}","name":"","title":"","description":"","mimeType":"","icons":[],"annotations":{},"_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeResourceTemplate(v, &limits); return f }, nil,
		},
		"Prompt": {
			`{"name":"a","title":"","description":"","arguments":[],"icons":[],"_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodePrompt(v, &limits); return f }, nil,
		},
		"PromptArgument": {
			`{"name":"","title":"","description":"","required":true}`,
			func(v strictjson.Value) *fault { _, f := decodePromptArgument(v, &limits); return f }, nil,
		},
		"PromptMessage": {
			`{"role":"user","content":{"type":"text","text":""}}`,
			func(v strictjson.Value) *fault { _, f := decodePromptMessage(v); return f }, nil,
		},
		"ListResourcesResult": {
			`{"resultType":"complete","resources":[],"nextCursor":"","ttlMs":0,"cacheScope":"public","_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := resourcesList.decode(v, &limits, true); return f }, nil,
		},
		"ListResourceTemplatesResult": {
			`{"resultType":"complete","resourceTemplates":[],"nextCursor":"","ttlMs":0,"cacheScope":"public","_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := resourceTemplatesList.decode(v, &limits, true); return f }, nil,
		},
		"ListPromptsResult": {
			`{"resultType":"complete","prompts":[],"nextCursor":"","ttlMs":0,"cacheScope":"public","_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := promptsList.decode(v, &limits, true); return f }, nil,
		},
		"ReadResourceResult": {
			`{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"public","_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeRound(v, all, (*ReadResourceResult).decode); return f }, nil,
		},
		"GetPromptResult": {
			`{"resultType":"complete","messages":[],"description":"","_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeRound(v, all, (*GetPromptResult).decode); return f }, nil,
		},
		"CompleteResult": {
			`{"resultType":"complete","completion":{"values":[]},"_meta":{}}`,
			func(v strictjson.Value) *fault { _, f := decodeCompleteResult(v); return f }, nil,
		},
		"Annotations": {`{"audience":[],"priority":0,"lastModified":""}`, func(v strictjson.Value) *fault { _, f := decodeAnnotations(v); return f }, nil},
	} {
		if f := test.decode(strictjson.Value(test.good)); f != nil {
			t.Errorf("%s: %s is refused: %v", def, test.good, f)
			continue
		}
		if err := s.validate(t, def, []byte(test.good)); err != nil {
			t.Errorf("%s: %s is not valid by the schema: %v", def, test.good, err)
		}
		members := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(test.good), &members); err != nil {
			t.Fatal(err)
		}
		known := s.defs[def]
		for name := range members {
			if _, ok := known.Properties[name]; !ok {
				t.Errorf("%s: member %s is not in the schema", def, name)
			}
		}
		for name := range known.Properties {
			if _, ok := members[name]; !ok {
				t.Errorf("%s: member %s of the schema is not tested", def, name)
			}
			// An object with null or a fraction in it is not among these: the schema's JSONValue leaves both out by mistake.
			for _, wrong := range []string{`null`, `[null]`, `-1.5`, `{"a":true}`} {
				changed := with(members, name, wrong)
				if s.validate(t, def, changed) != nil && test.decode(changed) == nil && !slices.Contains(test.free, name) {
					t.Errorf("%s: %s is accepted, the schema refuses it", def, changed)
				}
			}
		}
		for _, name := range known.Required {
			if changed := with(members, name, ""); test.decode(changed) == nil {
				t.Errorf("%s: %s is accepted without the required %s", def, changed, name)
			}
		}
		if changed := with(members, "com.example/unknown", `{"a":[null,1.5]}`); test.decode(changed) != nil {
			t.Errorf("%s: an unknown member is refused: %v", def, test.decode(changed))
		}
	}
}

// with returns the object with the member set to value, or without it if value is empty.
func with(members map[string]json.RawMessage, name, value string) strictjson.Value {
	var out []string
	for key, v := range members {
		if key != name {
			out = append(out, fmt.Sprintf("%q:%s", key, v))
		}
	}
	if value != "" {
		out = append(out, fmt.Sprintf("%q:%s", name, value))
	}
	return strictjson.Value("{" + strings.Join(out, ",") + "}")
}
