package jsonrpc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func parseID(t *testing.T, raw string) jsonrpc.ID {
	t.Helper()
	id, err := jsonrpc.ParseID(strictjson.Value(raw))
	if err != nil {
		t.Fatalf("ParseID(%s): %v", raw, err)
	}
	return id
}

func TestDecode(t *testing.T) {
	tests := []struct {
		in     string
		kind   jsonrpc.Kind
		id     string
		method string
		params string
		result string
		nullID bool
	}{
		{in: ` {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{ "a":1 }} `, kind: jsonrpc.Request, id: "1", method: "tools/list", params: `{ "a":1 }`},
		{in: `{"method":"x","id":"\u0031","jsonrpc":"2.0"}`, kind: jsonrpc.Request, id: `"\u0031"`, method: "x"},
		{in: `{"jsonrpc":"2\u002e0","\u006dethod":"a\/b","id":-7}`, kind: jsonrpc.Request, id: "-7", method: "a/b"},
		{in: `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`, kind: jsonrpc.Notification, method: "notifications/progress", params: "{}"},
		{in: `{"jsonrpc":"2.0","id":9007199254740993,"result":{"x":1.0}}`, kind: jsonrpc.Result, id: "9007199254740993", result: `{"x":1.0}`},
		{in: `{"jsonrpc":"2.0","id":"","result":{}}`, kind: jsonrpc.Result, id: `""`, result: `{}`},
		{in: `{"jsonrpc":"2.0","id":1,"result":{},"x":1,"ID":2,"Result":3,"Error":null,"Method":4}`, kind: jsonrpc.Result, id: "1", result: `{}`},
		{in: `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"a":[1.0]}}}`, kind: jsonrpc.Failure, id: "1"},
		{in: `{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}`, kind: jsonrpc.Failure},
		{in: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`, kind: jsonrpc.Failure, nullID: true},
	}
	for _, tt := range tests {
		m, err := jsonrpc.Decode([]byte(tt.in), strictjson.Limits{})
		if err != nil {
			t.Errorf("Decode(%s): %v", tt.in, err)
			continue
		}
		if m.Kind != tt.kind || m.ID.Raw() != tt.id || m.Method != tt.method || string(m.Params) != tt.params ||
			string(m.Result) != tt.result || m.NullID != tt.nullID || string(m.Raw) != strings.TrimSpace(tt.in) ||
			(m.Err != nil) != (tt.kind == jsonrpc.Failure) {
			t.Errorf("Decode(%s) = %+v", tt.in, m)
		}
	}
}

func TestDecodeFailure(t *testing.T) {
	tests := []struct {
		in   string
		want jsonrpc.Error
	}{
		{`{"code":-32601,"message":"no \u00e9","data":[ 1.0 ]}`, jsonrpc.Error{Code: -32601, Message: "no é", Data: strictjson.Value("[ 1.0 ]")}},
		{`{"message":"","code":1403.0,"data":null,"x":1}`, jsonrpc.Error{Code: 1403, Data: strictjson.Value("null")}},
		{`{"message":"m","code":9223372036854775807}`, jsonrpc.Error{Code: 1<<63 - 1, Message: "m"}},
	}
	for _, tt := range tests {
		m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"error":`+tt.in+`}`), strictjson.Limits{})
		if err != nil {
			t.Errorf("Decode(%s): %v", tt.in, err)
			continue
		}
		if m.Err.Code != tt.want.Code || m.Err.Message != tt.want.Message || string(m.Err.Data) != string(tt.want.Data) ||
			(m.Err.Data == nil) != (tt.want.Data == nil) {
			t.Errorf("Decode(%s) = %+v, want %+v", tt.in, m.Err, tt.want)
		}
	}
}

func TestShapeErrors(t *testing.T) {
	tests := []struct{ in, reason, id string }{
		{`[]`, "got an array (a batch), want an object", ""},
		{` [{"jsonrpc":"2.0","id":1,"method":"x"}]`, "got an array (a batch), want an object", ""},
		{`null`, "got null, want an object", ""},
		{`"x"`, "got a string, want an object", ""},
		{`7`, "got a number, want an object", ""},
		{`{}`, "member jsonrpc is missing", ""},
		{`{"id":1,"method":"x"}`, "member jsonrpc is missing", "1"},
		{`{"JSONRPC":"2.0","id":1,"method":"x"}`, "member jsonrpc is missing", "1"},
		{`{"jsonrpc":"1.0","id":1,"method":"x"}`, "member jsonrpc is not the string 2.0", "1"},
		{`{"jsonrpc":2.0,"id":1,"method":"x"}`, "member jsonrpc is not the string 2.0", "1"},
		{`{"jsonrpc":null,"id":1,"method":"x"}`, "member jsonrpc is not the string 2.0", "1"},
		{`{"jsonrpc":"2.0 ","id":1,"method":"x"}`, "member jsonrpc is not the string 2.0", "1"},
		{`{"jsonrpc":"2.0"}`, "got none of method, result and error", ""},
		{`{"jsonrpc":"2.0","id":1}`, "got none of method, result and error", "1"},
		{`{"jsonrpc":"2.0","id":1,"Result":{}}`, "got none of method, result and error", "1"},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, "got both result and error, want one", "1"},
		{`{"jsonrpc":"2.0","id":1,"error":null,"result":{}}`, "got both result and error, want one", "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","result":{}}`, "got a method together with result or error", "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","error":{"code":1,"message":""}}`, "got a method together with result or error", "1"},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, "member method is null, want a string", "1"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, "member method is a number, want a string", "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":[]}`, "member params is an array, want an object", "1"},
		{`{"jsonrpc":"2.0","method":"x","params":null}`, "member params is null, want an object", ""},
		{`{"jsonrpc":"2.0","id":1,"result":{},"params":{}}`, "got params in an answer", "1"},
		{`{"jsonrpc":"2.0","id":1,"result":[]}`, "member result is an array, want an object", "1"},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, "member result is null, want an object", "1"},
		{`{"jsonrpc":"2.0","id":1,"result":"x"}`, "member result is a string, want an object", "1"},
		{`{"jsonrpc":"2.0","result":{}}`, "result without id", ""},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, "id is null, want a string or a whole number", ""},
		{`{"jsonrpc":"2.0","id":null,"method":"x"}`, "id is null, want a string or a whole number", ""},
		{`{"jsonrpc":"2.0","id":true,"method":"x"}`, "id is true, want a string or a whole number", ""},
		{`{"jsonrpc":"2.0","id":{},"method":"x"}`, "id is an object, want a string or a whole number", ""},
		{`{"jsonrpc":"2.0","id":1.0,"method":"x"}`, "id is a number with fraction or exponent, want a string or a whole number", ""},
		{`{"jsonrpc":"2.0","id":1e0,"result":{}}`, "id is a number with fraction or exponent, want a string or a whole number", ""},
		{`{"jsonrpc":"2.0","id":1E2,"error":{"code":1,"message":""}}`, "id is a number with fraction or exponent, want a string or a whole number", ""},
		{`{"jsonrpc":"2.0","id":1,"error":null}`, "member error is null, want an object", "1"},
		{`{"jsonrpc":"2.0","id":1,"error":"x"}`, "member error is a string, want an object", "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{}}`, "error.code is missing", "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{"Code":1,"message":""}}`, "error.code is missing", "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}`, "error.code is not a whole number of 64 bits", "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}`, "error.code is not a whole number of 64 bits", "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":9223372036854775808,"message":""}}`, "error.code is not a whole number of 64 bits", "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, "error.message is missing", "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}`, "error.message is null, want a string", "1"},
	}
	for _, tt := range tests {
		m, err := jsonrpc.Decode([]byte(tt.in), strictjson.Limits{})
		var fault *jsonrpc.ShapeError
		if !errors.As(err, &fault) || m != nil || fault.Reason != tt.reason || fault.ID.Raw() != tt.id {
			t.Errorf("Decode(%s) = %v, %v, want ShapeError %q with id %q", tt.in, m, err, tt.reason, tt.id)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	for _, in := range []string{
		``, `{`, `{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}{}`, "\ufeff{}", `[1,]`, `nul`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":[{"b":1,"b":2}]}}`, `[{"a":1,"a":1}]`, `{"jsonrpc":"2.0","id":1e99999,"method":"x"}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"x"}`,
	} {
		m, err := jsonrpc.Decode([]byte(in), strictjson.Limits{})
		var fault *strictjson.Error
		if !errors.As(err, &fault) || m != nil {
			t.Errorf("Decode(%q) = %v, %v, want a *strictjson.Error", in, m, err)
		}
	}
	if _, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":[]}}`), strictjson.Limits{Depth: 2}); !errors.Is(err, strictjson.ErrLimit) {
		t.Errorf("Decode beyond the depth = %v, want a limit", err)
	}
}

func TestID(t *testing.T) {
	if a, b := parseID(t, `"a"`), parseID(t, `"a"`); parseID(t, "1") != jsonrpc.IntID(1) || a != b {
		t.Error("equal ids are not equal")
	}
	ids := []jsonrpc.ID{{}, parseID(t, "1"), parseID(t, `"1"`), parseID(t, `"\u0031"`), parseID(t, "-1"), parseID(t, "0"), parseID(t, "-0"), parseID(t, `""`)}
	for i, a := range ids {
		for j, b := range ids {
			if (a == b) != (i == j) {
				t.Errorf("ids %q and %q: equal is %v", a, b, a == b)
			}
		}
		if a.IsZero() != (i == 0) {
			t.Errorf("id %q: IsZero is %v", a, a.IsZero())
		}
	}
	// The bound of a token, at and beyond it.
	long := `"` + strings.Repeat("x", 1022) + `"`
	if id := parseID(t, long); id.Raw() != long {
		t.Errorf("an id of 1,024 bytes came back with %d", len(id.Raw()))
	}
	if _, err := jsonrpc.ParseID(strictjson.Value(`"` + strings.Repeat("x", 1023) + `"`)); err == nil {
		t.Error("an id of 1,025 bytes is accepted")
	}
	for _, raw := range []string{"", "1.0", "1e3", "null", "true", "{}", "[]"} {
		if id, err := jsonrpc.ParseID(strictjson.Value(raw)); err == nil || !id.IsZero() {
			t.Errorf("ParseID(%q) = %v, %v, want an error", raw, id, err)
		}
	}
}

func TestAppend(t *testing.T) {
	e := &jsonrpc.Error{Code: -32602, Message: "unknown \"tool\"\n"}
	tests := []struct {
		got  []byte
		want string
	}{
		{jsonrpc.AppendRequest([]byte("x"), jsonrpc.IntID(-3), "tools/list", []byte(`{"a":1.0}`)), `x{"jsonrpc":"2.0","id":-3,"method":"tools/list","params":{"a":1.0}}`},
		{jsonrpc.AppendRequest(nil, parseID(t, `"\u0031"`), "a\"b", nil), `{"jsonrpc":"2.0","id":"\u0031","method":"a\"b"}`},
		{jsonrpc.AppendNotification(nil, "n", []byte(`{}`)), `{"jsonrpc":"2.0","method":"n","params":{}}`},
		{jsonrpc.AppendNotification(nil, "n", nil), `{"jsonrpc":"2.0","method":"n"}`},
		{jsonrpc.AppendResult(nil, jsonrpc.IntID(1), []byte(`{ "x":1 }`)), `{"jsonrpc":"2.0","id":1,"result":{ "x":1 }}`},
		{jsonrpc.AppendError(nil, jsonrpc.IntID(1), e), `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown \"tool\"\n"}}`},
		{jsonrpc.AppendError(nil, jsonrpc.ID{}, &jsonrpc.Error{Code: 1, Data: strictjson.Value("null")}), `{"jsonrpc":"2.0","error":{"code":1,"message":"","data":null}}`},
	}
	for _, tt := range tests {
		if string(tt.got) != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
			continue
		}
		if _, err := jsonrpc.Decode(tt.got[strings.IndexByte(tt.want, '{'):], strictjson.Limits{}); err != nil {
			t.Errorf("Decode(%s): %v", tt.got, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	e := &jsonrpc.Error{Code: -32603, Message: "bad \u202e thing" + strings.Repeat("x", 5000)}
	if s := e.Error(); !strings.HasPrefix(s, `peer answered with error -32603: "bad \u202e thingxxx`) || len(s) > 400 {
		t.Errorf("Error = %s", s)
	}
}

// TestCases feeds answers that must be refused whatever the request was.
func TestCases(t *testing.T) {
	refused := func(t *testing.T, name string, files []string, reason string) {
		t.Helper()
		for _, file := range files {
			b := casetest.WithIDs(casetest.Read(t, name, file), "12")
			m, err := jsonrpc.Decode(b, strictjson.Limits{})
			if err == nil || m != nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: Decode = %v, %v, want an error with %q", file, m, err, reason)
			}
		}
	}
	t.Run("both members", func(t *testing.T) {
		refused(t, "jsonrpc/result-and-error", []string{"a.json", "b.json"}, "both result and error")
	})
	t.Run("jsonrpc member", func(t *testing.T) {
		refused(t, "jsonrpc/wrong-jsonrpc-member", []string{"a.json", "b.json", "c.json"}, "member jsonrpc is")
	})
	t.Run("id with fraction", func(t *testing.T) {
		refused(t, "jsonrpc/id-with-fraction", []string{"a.json", "b.json"}, "id is a number with fraction or exponent")
	})
	t.Run("duplicate members", func(t *testing.T) {
		const name = "jsonrpc/duplicate-members"
		refused(t, name, []string{"a.json"}, `at the top (byte 355): duplicate member name "result"`)
		refused(t, name, []string{"b.json"}, `at /result/tools/0 (byte`)
		refused(t, name, []string{"c.json"}, `at /result/tools/0/inputSchema/properties (byte`)
		refused(t, name, []string{"d.json"}, `at /result/_meta (byte`)
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":1}}`,
		`{"jsonrpc":"2.0","method":"n"}`,
		`{"jsonrpc":"2.0","id":"x","result":{"a":[]}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"a":[1.0]}}}`,
		`[{"jsonrpc":"2.0"}]`,
	} {
		f.Add([]byte(s))
	}
	// Written again, a message reads as the same message.
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := jsonrpc.Decode(src, strictjson.Limits{})
		if err != nil {
			if m != nil {
				t.Fatalf("Decode returned both %+v and %v", m, err)
			}
			return
		}
		var b []byte
		switch m.Kind {
		case jsonrpc.Request:
			b = jsonrpc.AppendRequest(nil, m.ID, m.Method, m.Params)
		case jsonrpc.Notification:
			b = jsonrpc.AppendNotification(nil, m.Method, m.Params)
		case jsonrpc.Result:
			b = jsonrpc.AppendResult(nil, m.ID, m.Result)
		case jsonrpc.Failure:
			b = jsonrpc.AppendError(nil, m.ID, m.Err)
		}
		n, err := jsonrpc.Decode(b, strictjson.Limits{})
		if err != nil {
			t.Fatalf("Decode(%s): %v", b, err)
		}
		if n.Kind != m.Kind || n.ID != m.ID || n.Method != m.Method || string(n.Params) != string(m.Params) || string(n.Result) != string(m.Result) {
			t.Fatalf("%s became %s", src, b)
		}
	})
}
