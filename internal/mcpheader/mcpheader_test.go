package mcpheader_test

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/mcpheader"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func TestEncode(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"us-west1", "us-west1"},
		{"us west 1", "us west 1"},
		{"a\tb", "a\tb"},
		{"~ !", "~ !"},
		{" us-west1", "=?base64?IHVzLXdlc3Qx?="},
		{"us-west1 ", "=?base64?dXMtd2VzdDEg?="},
		{" padded ", "=?base64?IHBhZGRlZCA=?="},
		{"\tindented", "=?base64?CWluZGVudGVk?="},
		{"日本語", "=?base64?5pel5pys6Kqe?="},
		{"line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="},
		{"\x00", "=?base64?AA==?="},
		{"\x7f", "=?base64?fw==?="},
		{"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
		{"=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"=?base64?x", "=?base64?x"},
		{"x?=", "x?="},
		{"=?BASE64?x?=", "=?BASE64?x?="},
	}
	for _, tt := range tests {
		if got := mcpheader.Encode(tt.in); got != tt.want {
			t.Errorf("Encode(%q) = %q, want %q", tt.in, got, tt.want)
		}
		if got, err := mcpheader.Decode(tt.want); err != nil || got != tt.in {
			t.Errorf("Decode(%q) = %q, %v, want %q", tt.want, got, err, tt.in)
		}
	}
}

func TestDecode(t *testing.T) {
	literal := []string{
		"", "=?base64?=", "=?base64?", "?=", "=?", "=?base64?SGVsbG8=", "SGVsbG8=?=", "=?BASE64?SGVsbG8=?=", "=?Base64?SGVsbG8=?=",
		"x=?base64?SGVsbG8=?=", "=?base64?SGVsbG8=?= ", "=?base64 ?SGVsbG8=?=", "=?base64?SGVsbG8=?=x",
	}
	for _, v := range literal {
		if got, err := mcpheader.Decode(v); err != nil || got != v {
			t.Errorf("Decode(%q) = %q, %v, want itself", v, got, err)
		}
	}
	if got, err := mcpheader.Decode("=?base64?SGVsbG8=?="); err != nil || got != "Hello" {
		t.Errorf("Decode = %q, %v, want Hello", got, err)
	}
	if got, err := mcpheader.Decode("=?base64??="); err != nil || got != "" {
		t.Errorf("Decode of nothing encoded = %q, %v, want nothing", got, err)
	}
	bad := []string{
		"=?base64?SGVsbG8?=",                     // no padding
		"=?base64?SGVsbG9=?=",                    // bits left over
		"=?base64?SGVs bG8=?=",                   // space inside
		"=?base64?PT9iYXNlNjQ_bGl0ZXJhbD89?=",    // the other alphabet
		"=?base64?=?=",                           // padding alone
		"=?base64?SGVsbG8==?=",                   // too much padding
		"=?base64?/w==?=",                        // not UTF-8
		"=?base64?7aCA?=",                        // a surrogate
		"é", "a\x00", "a\r\nb", "\x7f", "a\x1fb", // no header value
		"=?base64?SGVs\r\nbG8=?=",
	}
	for _, v := range bad {
		if got, err := mcpheader.Decode(v); err == nil || got != "" {
			t.Errorf("Decode(%q) = %q, %v, want an error", v, got, err)
		}
	}
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "plain", " x", "x\t", "é", "=?base64?=", "=?base64?x?=", "a\nb", "=?", "\xff"} {
		f.Add(s)
	}
	// Decoding undoes encoding, also after a trip through HTTP; what is encoded is header-safe; a literal stays one.
	f.Fuzz(func(t *testing.T, v string) {
		h := mcpheader.Encode(v)
		if strings.Trim(h, " \t") != h || strings.ContainsFunc(h, func(r rune) bool { return r != '\t' && (r < 0x20 || r > 0x7E) }) {
			t.Fatalf("Encode(%q) = %q is not header-safe", v, h)
		}
		got, err := mcpheader.Decode(h)
		if utf8.ValidString(v) && (err != nil || got != v) {
			t.Fatalf("Decode(Encode(%q)) = %q, %v", v, got, err)
		}
		if !utf8.ValidString(v) && err == nil {
			t.Fatalf("Decode(Encode(%q)) = %q, want an error", v, got)
		}
		if got, err := mcpheader.Decode(v); err == nil && !utf8.ValidString(got) {
			t.Fatalf("Decode(%q) = %q is not UTF-8", v, got)
		}
	})
}

// modelcontextprotocol/rust-sdk#1111: annotations of nested properties were not found.
func TestScan(t *testing.T) {
	tests := []struct {
		name, schema string
		want         []string // header=path:type
	}{
		{"none", `{"type":"object","properties":{"a":{"type":"string"}}}`, nil},
		{"no properties", `{}`, nil},
		{"not an object", `true`, nil},
		{"one of each", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"x-mcp-header":"b","type":"integer"},"c":{"type":"boolean","x-mcp-header":"C-1"}}}`, []string{"A=a:string", "b=b:integer", "C-1=c:boolean"}},
		{"nested", `{"properties":{"target":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}}`, []string{"Region=target/region:string"}},
		{"nested in an annotated one's sibling", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"o":{"properties":{"a":{"type":"string","x-mcp-header":"B"},"p":{"properties":{"a":{"type":"string","x-mcp-header":"C"}}}}}}}`, []string{"A=a:string", "B=o/a:string", "C=o/p/a:string"}},
		{"every token character", "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"Aa0!#$%&'*+-.^_`|~\"}}}", []string{"Aa0!#$%&'*+-.^_`|~=a:string"}},
		{"escaped spelling", `{"properties":{"a":{"type":"str\u0069ng","\u0078-mcp-header":"\u0041"}}}`, []string{"A=a:string"}},
		{"name of a header of HTTP", `{"properties":{"a":{"type":"string","x-mcp-header":"Method"}}}`, []string{"Method=a:string"}},
		{"property of that name", `{"properties":{"x-mcp-header":{"type":"string"}}}`, nil},
		{"property of that name, annotated", `{"properties":{"x-mcp-header":{"type":"string","x-mcp-header":"H"}}}`, []string{"H=x-mcp-header:string"}},
		{"property named properties", `{"properties":{"properties":{"type":"string","x-mcp-header":"P"}}}`, []string{"P=properties:string"}},
		{"property named default", `{"properties":{"default":{"type":"string","x-mcp-header":"D"}}}`, []string{"D=default:string"}},
		{"data", `{"default":{"x-mcp-header":"A"},"properties":{"a":{"type":"object","default":{"x-mcp-header":"B"},"const":{"x-mcp-header":1},"enum":[{"x-mcp-header":"C"}],"examples":[{"x-mcp-header":"D"}]}}}`, nil},
		{"definition of that name", `{"$defs":{"x-mcp-header":{"type":"string"}},"patternProperties":{"x-mcp-header":{}},"definitions":{"x-mcp-header":{}},"dependentSchemas":{"x-mcp-header":{}}}`, nil},
		{"boolean property", `{"properties":{"x-mcp-header":true,"a":false}}`, nil},
		{"required of that name", `{"required":["x-mcp-header"]}`, nil},
	}
	for _, tt := range tests {
		params, err := mcpheader.Scan(strictjson.Value(tt.schema))
		if err != nil {
			t.Errorf("%s: Scan: %v", tt.name, err)
			continue
		}
		var got []string
		for _, p := range params {
			got = append(got, p.Header+"="+strings.Join(p.Path, "/")+":"+p.Type)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: Scan = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// modelcontextprotocol/go-sdk#1250: an annotation in a place that no argument reaches was accepted.
func TestScanInvalid(t *testing.T) {
	property := func(p string) string { return `{"properties":{"a":` + p + `}}` }
	tests := []struct{ name, schema, reason string }{
		{"empty", property(`{"type":"string","x-mcp-header":""}`), "is empty"},
		{"space", property(`{"type":"string","x-mcp-header":"bad name"}`), "no header token"},
		{"colon", property(`{"type":"string","x-mcp-header":"a:b"}`), "no header token"},
		{"control", property(`{"type":"string","x-mcp-header":"a\r\nb"}`), "no header token"},
		{"not ASCII", property(`{"type":"string","x-mcp-header":"\u212a"}`), "no header token"},
		{"number", property(`{"type":"string","x-mcp-header":1}`), "is a number, want a string"},
		{"null", property(`{"type":"string","x-mcp-header":null}`), "is null, want a string"},
		{"object", property(`{"type":"string","x-mcp-header":{}}`), "is an object, want a string"},
		{"type number", property(`{"type":"number","x-mcp-header":"A"}`), "another type"},
		{"type object", property(`{"type":"object","x-mcp-header":"A"}`), "another type"},
		{"type array", property(`{"type":"array","x-mcp-header":"A"}`), "another type"},
		{"type null", property(`{"type":"null","x-mcp-header":"A"}`), "another type"},
		{"type String", property(`{"type":"String","x-mcp-header":"A"}`), "another type"},
		{"nullable", property(`{"type":["string","null"],"x-mcp-header":"A"}`), "another type"},
		{"list of one type", property(`{"type":["string"],"x-mcp-header":"A"}`), "another type"},
		{"no type", property(`{"x-mcp-header":"A"}`), "without type"},
		{"twice", `{"properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"REGION"}}}`, `repeats "REGION"`},
		{"twice, one nested", `{"properties":{"a":{"type":"string","x-mcp-header":"R"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"r"}}}}}`, `repeats "r"`},
		{"root", `{"type":"string","x-mcp-header":"A"}`, "properties steps alone"},
		{"items", property(`{"items":{"type":"string","x-mcp-header":"A"}}`), "properties steps alone"},
		{"properties under items", property(`{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}`), "properties steps alone"},
		{"prefixItems", property(`{"prefixItems":[{"type":"string","x-mcp-header":"A"}]}`), "properties steps alone"},
		{"oneOf", `{"oneOf":[{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}]}`, "properties steps alone"},
		{"anyOf", property(`{"anyOf":[{"type":"string","x-mcp-header":"A"}]}`), "properties steps alone"},
		{"allOf", property(`{"allOf":[{},{"type":"string","x-mcp-header":"A"}]}`), "properties steps alone"},
		{"not", property(`{"not":{"type":"string","x-mcp-header":"A"}}`), "properties steps alone"},
		{"if", `{"if":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}`, "properties steps alone"},
		{"then", `{"then":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}`, "properties steps alone"},
		{"else", `{"else":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}`, "properties steps alone"},
		{"$defs, unused", `{"$defs":{"R":{"type":"string","x-mcp-header":"R"}}}`, "properties steps alone"},
		{"definitions", `{"definitions":{"R":{"properties":{"x":{"type":"string","x-mcp-header":"R"}}}}}`, "properties steps alone"},
		{"patternProperties", `{"patternProperties":{"^a":{"type":"string","x-mcp-header":"R"}}}`, "properties steps alone"},
		{"additionalProperties", `{"additionalProperties":{"type":"string","x-mcp-header":"R"}}`, "properties steps alone"},
		{"dependentSchemas", `{"dependentSchemas":{"a":{"type":"string","x-mcp-header":"R"}}}`, "properties steps alone"},
		{"unknown keyword", `{"x-other":{"type":"string","x-mcp-header":"R"}}`, "properties steps alone"},
		{"lists in lists", `{"x-other":[[{"type":"string","x-mcp-header":"R"}]]}`, "properties steps alone"},
		{"properties a list", `{"properties":[{"type":"string","x-mcp-header":"R"}]}`, "properties steps alone"},
	}
	for _, tt := range tests {
		params, err := mcpheader.Scan(strictjson.Value(tt.schema))
		if err == nil || params != nil || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%s: Scan = %v, %v, want an error with %q", tt.name, params, err, tt.reason)
		}
	}
	// The reason names the place, escaped and cut.
	_, err := mcpheader.Scan(strictjson.Value(`{"properties":{"a/b":{"properties":{"` + "\u202e" + `":{"x-mcp-header":"A"}}}}}`))
	if want := `x-mcp-header at "/a~1b/\u202e" is on a property without type, want string, integer or boolean`; err == nil || err.Error() != want {
		t.Errorf("Scan = %v, want %s", err, want)
	}
	_, err = mcpheader.Scan(strictjson.Value(`{"properties":{"` + strings.Repeat("n", 9000) + `":{"x-mcp-header":"A"}}}`))
	if err == nil || len(err.Error()) > 500 {
		t.Errorf("Scan's error text has %d bytes", len(err.Error()))
	}
}

func TestValues(t *testing.T) {
	params, err := mcpheader.Scan(strictjson.Value(`{"properties":{"s":{"type":"string","x-mcp-header":"S"},` +
		`"i":{"type":"integer","x-mcp-header":"I"},"b":{"type":"boolean","x-mcp-header":"B"},` +
		`"o":{"properties":{"s":{"type":"string","x-mcp-header":"O-S"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args string
		want []mcpheader.Header
	}{
		{``, nil},
		{`{}`, nil},
		{`{"s":null,"i":null,"b":null,"o":null}`, nil},
		{`{"o":{}}`, nil},
		{`{"o":{"s":null}}`, nil},
		{`{"o":"s"}`, nil},
		{`{"S":"x","x":{"s":"x"}}`, nil},
		{`{"s":""}`, []mcpheader.Header{{Name: "Mcp-Param-S"}}},
		{
			`{"o":{"s":"é"},"b":false,"i":-7,"s":"us west"}`,
			[]mcpheader.Header{{"Mcp-Param-S", "us west"}, {"Mcp-Param-I", "-7"}, {"Mcp-Param-B", "false"}, {"Mcp-Param-O-S", "=?base64?w6k=?="}},
		},
		{`{"i":1e3,"b":true}`, []mcpheader.Header{{"Mcp-Param-I", "1000"}, {"Mcp-Param-B", "true"}}},
		{`{"i":21000000}`, []mcpheader.Header{{"Mcp-Param-I", "21000000"}}},
		{`{"i":42.0}`, []mcpheader.Header{{"Mcp-Param-I", "42"}}},
		{`{"i":-0}`, []mcpheader.Header{{"Mcp-Param-I", "0"}}},
		{`{"i":9007199254740991}`, []mcpheader.Header{{"Mcp-Param-I", "9007199254740991"}}},
		{`{"i":-9007199254740991}`, []mcpheader.Header{{"Mcp-Param-I", "-9007199254740991"}}},
	}
	for _, tt := range tests {
		got, err := mcpheader.Values(params, strictjson.Value(tt.args))
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("Values(%s) = %v, %v, want %v", tt.args, got, err, tt.want)
		}
	}
	for _, args := range []string{
		`{"i":9007199254740992}`, `{"i":-9007199254740992}`, `{"i":0.5}`, `{"i":1e400}`, `{"i":"7"}`, `{"s":7}`, `{"s":{}}`, `{"b":"true"}`,
		`{"b":1}`, `{"o":{"s":["secret"]}}`,
	} {
		got, err := mcpheader.Values(params, strictjson.Value(args))
		if err == nil || got != nil {
			t.Errorf("Values(%s) = %v, want an error", args, got)
		} else if strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "Mcp-Param-") {
			t.Errorf("Values(%s): %v", args, err)
		}
	}
}

// tool returns the schema of the tool name from a tools/list answer.
func tool(t *testing.T, list []byte, name string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse(list, strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v, _ = v.Get("result")
	v, _ = v.Get("tools")
	for e := range v.Elements() {
		if n, _ := e.Get("name"); n != nil {
			if s, _ := n.Text(); s == name {
				schema, _ := e.Get("inputSchema")
				return schema
			}
		}
	}
	t.Fatalf("no tool %q", name)
	return nil
}

// overTheWire sends headers in a request and returns the lines that arrived under name.
func overTheWire(t *testing.T, headers []mcpheader.Header, name string) (lines []string, parsed http.Header) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		req.Header.Set(h.Name, h.Value)
	}
	var b bytes.Buffer
	if err := req.Write(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(b.String(), "\r\n") {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			lines = append(lines, strings.TrimPrefix(value, " "))
		}
	}
	got, err := http.ReadRequest(bufio.NewReader(&b))
	if err != nil {
		t.Fatal(err)
	}
	return lines, got.Header
}

func TestCases(t *testing.T) {
	t.Run("value encoding", func(t *testing.T) {
		const name = "headers/value-encoding"
		params, err := mcpheader.Scan(tool(t, casetest.Read(t, name, "tools-list.json"), "pilot_call"))
		if err != nil || len(params) != 1 {
			t.Fatalf("Scan = %v, %v", params, err)
		}
		expected := strictjson.Value(bytes.TrimSpace(casetest.Read(t, name, "expected.json")))
		n := 0
		for label, value := range strictjson.Value(bytes.TrimSpace(casetest.Read(t, name, "values.json"))).Members() {
			n++
			raw, _ := expected.Get(label)
			want, ok := raw.Text()
			if !ok {
				t.Fatalf("%s: no expected value", label)
			}
			args := append(append([]byte(`{"port":`), value...), '}')
			headers, err := mcpheader.Values(params, args)
			if err != nil || len(headers) != 1 || headers[0] != (mcpheader.Header{Name: "Mcp-Param-Port", Value: want}) {
				t.Errorf("%s: Values = %.100v, %v, want %.100q", label, headers, err, want)
				continue
			}
			lines, parsed := overTheWire(t, headers, "Mcp-Param-Port")
			if len(lines) != 1 || lines[0] != want {
				t.Errorf("%s: lines %.100q on the wire, want one, %.100q", label, lines, want)
			}
			sent, _ := value.Text()
			if got, err := mcpheader.Decode(parsed.Get("Mcp-Param-Port")); err != nil || got != sent {
				t.Errorf("%s: the server reads %.100q, %v, want %.100q", label, got, err, sent)
			}
		}
		if n < 10 {
			t.Errorf("%d values", n)
		}
	})
	t.Run("name", func(t *testing.T) {
		const name = "headers/non-ascii-name"
		tool(t, casetest.Read(t, name, "tools-list.json"), "潮汐")
		line := strings.TrimSpace(string(casetest.Read(t, name, "expected-headers.txt")))
		if got := "Mcp-Name: " + mcpheader.Encode("潮汐"); got != line {
			t.Errorf("got %s, want %s", got, line)
		}
	})
	t.Run("nested", func(t *testing.T) {
		const name = "headers/nested-annotation"
		params, err := mcpheader.Scan(tool(t, casetest.Read(t, name, "tools-list.json"), "pilot_call"))
		if err != nil {
			t.Fatal(err)
		}
		args := bytes.TrimSpace(casetest.Read(t, name, "args.json"))
		got, err := mcpheader.Values(params, args)
		if err != nil || !slices.Equal(got, []mcpheader.Header{{Name: "Mcp-Param-Port", Value: "north"}}) {
			t.Errorf("Values = %v, %v, want Mcp-Param-Port: north", got, err)
		}
		if got, err := mcpheader.Values(params, strictjson.Value(`{}`)); err != nil || got != nil {
			t.Errorf("Values without the argument = %v, %v, want none", got, err)
		}
	})
}
