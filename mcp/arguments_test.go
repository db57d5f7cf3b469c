package mcp

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckArguments(t *testing.T) {
	tool := func(input string) *Tool {
		t.Helper()
		tool, err := ParseTool([]byte(`{"name":"berth_status","inputSchema":` + input + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	berth := tool(`{"type":"object","properties":{"berth":{"type":"integer","maximum":9}},"required":["berth"]}`)
	draft7 := tool(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"at":{"items":[{"type":"string"},{"type":"integer"}]}}}`)
	for _, tt := range []struct {
		tool          *Tool
		arguments     string
		path, keyword string
	}{
		{berth, `{"berth":7}`, "", ""},
		{berth, `{"berth":7.0,"more":null}`, "", ""},
		{berth, `{"berth":10}`, "/berth", "maximum"},
		{berth, `{"berth":"7"}`, "/berth", "type"},
		{berth, `{}`, "", "required"},
		{berth, "", "", "required"}, // absent arguments are {}
		{draft7, `{"at":["a",1]}`, "", ""},
		{draft7, `{"at":[1]}`, "/at/0", "type"},
	} {
		var arguments []byte
		if tt.arguments != "" {
			arguments = []byte(tt.arguments)
		}
		err := tt.tool.CheckArguments(arguments)
		var se *SchemaError
		switch {
		case tt.keyword == "" && err != nil:
			t.Errorf("%s: %v, want nil", tt.arguments, err)
		case tt.keyword == "":
		case !errors.As(err, &se) || se.Side != SideArguments || se.Path != tt.path || se.Keyword != tt.keyword || se.Delivered:
			t.Errorf("%s: %#v, want %s at %q", tt.arguments, err, tt.keyword, tt.path)
		case !strings.Contains(err.Error(), "arguments"+tt.path):
			t.Errorf("%s: text %q does not name the place", tt.arguments, err)
		}
	}

	for _, bad := range []string{`[]`, `null`, `{`, `{"berth":1,"berth":2}`} {
		var re *RequestError
		if err := berth.CheckArguments([]byte(bad)); !errors.As(err, &re) {
			t.Errorf("%s: %v, want a *RequestError", bad, err)
		}
	}
	for _, schema := range []string{`{"type":"object","$ref":"file:///etc/passwd"}`, `{"type":"object","$ref":"http://127.0.0.1:1/x"}`, `{"type":"object","properties":{"a":{"pattern":"(?=x)"}}}`, `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`} {
		var se *SchemaError
		if err := tool(schema).CheckArguments([]byte(`{}`)); !errors.As(err, &se) || se.Keyword != "" || !strings.Contains(err.Error(), "cannot be used") {
			t.Errorf("schema %s: %v, want that it cannot be used", schema, err)
		}
	}
	changed := *berth
	changed.InputSchema = []byte(`{"type":"object"}`)
	var re *RequestError
	if err := changed.CheckArguments([]byte(`{}`)); !errors.As(err, &re) {
		t.Errorf("changed definition: %v, want a *RequestError", err)
	}
}
