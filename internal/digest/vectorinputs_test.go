package digest_test

import (
	"fmt"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
)

// input is a vector to be made. Canonical is given where it is not the canonical form of the text, refused where the
// text is to be refused.
type input struct {
	name      string
	kind      digest.Kind
	text      string
	pages     []string // of a snapshot, instead of a text
	canonical string
	refused   string
}

func vectorInputs() []input {
	var all []input
	accept := func(area string, texts ...string) {
		for i, text := range texts {
			all = append(all, input{name: fmt.Sprintf("%s %d", area, i+1), kind: digest.KindTools, text: text})
		}
	}
	refuse := func(class string, texts ...string) {
		for i, text := range texts {
			all = append(all, input{name: fmt.Sprintf("refused %s %d", class, i+1), kind: digest.KindTools, text: text, refused: class})
		}
	}

	accept("scalar", "null", "true", "false", `""`, "0", " \t\r\n[ ]\n", "{ }", `[null,true,false,"",0,[],{}]`)

	accept("one", "1", "1.0", "1e0", "1E+0", "1e-0", "10e-1", "0.1e1", "1.000000000000000000000000000000", "0.0001e4", "1e00000000000000000000")
	accept("zero", "-0", "0.0", "-0.0", "0e0", "0E-5", "0e99999999999999999999999", "-0e-99999999999999999999999", "0.00000000000000000000")
	accept("integer", "-1", "10", "100", "1e2", "123456789012345", "999999999999999", "1234567890123456", "9007199254740991",
		"9007199254740992", "9007199254740993", "9007199254740994", "9007199254740995", "-9007199254740993", "9999999999999999",
		"12345678901234567", "12345678901234568", "9223372036854775807", "9223372036854775808", "18446744073709551615",
		"18446744073709551616", "18446744073709552000", "100000000000000000000", "123456789012345678901", "999999999999999900000",
		"1000000000000000000000", "1e20", "1e21", "1e22", "123e18", "123e19", "-1e21", "60000", "60000.0", "6e4", "1e23", "9.5e20")
	accept("fraction", "0.5", "0.50", "-1.5", "0.1", "0.2", "0.3", "0.30000000000000004", "0.30000000000000003", "0.299999999999999988897769753748",
		"3.141592653589793", "3.1415926535897932", "3.141592653589793116", "4.35", "1e-1", "1e-6", "1e-7", "0.000001", "0.0000001",
		"0.0000015", "0.00000015", "0.000123456789012345", "123.456", "123.456e3", "123.456e2", "1.7976931348623157e308",
		"1.7976931348623159e308", "5e-324", "2e-324", "4.9406564584124654e-324", "2.2250738585072014e-308", "333333333.33333329",
		"333333333.3333333", "1e309", "1e-400", "4503599627370497.5", "4503599627370496.5", "9007199254740992.5", "0.1000000000000000055511151231257827",
		"1.00000000000000000001", "2.5e-5", "6.02214076e23", "1.6e-35", "1E400")
	accept("bound", "1e10000", "-1e10000", "1e-10000", "0.1e10001", "10e9999", "100e-10002", "1"+strings.Repeat("0", 500),
		"0."+strings.Repeat("0", 500)+"1", "1"+strings.Repeat("0", 500)+"e-500", strings.Repeat("7", 400), "1."+strings.Repeat("0", 398)+"1",
		strings.Repeat("7", 400)+strings.Repeat("0", 300), "0."+strings.Repeat("0", 300)+strings.Repeat("3", 400)+"e9000")
	refuse("exponent", "1e10001", "1e-10001", "[10e10000]", `{"a":0.1e10002}`, "1e99999999999999999999999", "1e-99999999999999999999999", "0.01e-9999")
	refuse("digits", strings.Repeat("7", 401), "1."+strings.Repeat("0", 399)+"1", "-0."+strings.Repeat("9", 401)+"e5")

	accept("order", `{"b":1,"a":2}`, `{"a":2,"b":1}`, `{"b":{"d":1,"c":2},"a":[{"z":0,"y":0}]}`, `{"B":1,"a":2,"A":3,"b":4}`, `{"10":1,"9":2,"1":3}`,
		`{"aa":1,"a":2,"":3}`, `{"a b":1,"a":2,"a!":3}`, `{"é":1,"e":2,"f":3,"z":4}`, `{"€":1,"ö":2,"z":3}`,
		`{"\ufb33":1,"😀":2,"€":3,"a":4,"\r":5}`, `{"\r":5,"a":4,"€":3,"😀":2,"\ufb33":1}`, `{"\uffff":1,"\ud800\udc00":2,"\ue000":3,"\ud7ff":4}`,
		`{"😀\uffff":1,"😀😀":2,"\uffff":3}`, `{"\"":1,"!":2,"#":3}`, `{"\\":1,"[":2,"]":3}`, `{"a\u0000":1,"a":2,"a\u0001":3}`,
		`{"\u0061":1,"B":2}`, `{"aaaaaaaab":1,"aaaaaaaaa":2,"aaaaaaaa":3}`, `[3,1,2]`, `[{"b":1,"a":2},{"a":2,"b":1}]`,
		`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":["integer","null"]}},"required":["b","a"]}`)
	accept("space", "{\"a\": [1, 2], \"b\": {}}", "{\r\n\t\"b\" : 1 ,\r\n\t\"a\" : [ ]\r\n}", `[" a ","\t"]`)
	accept("escape", `"\u0041"`, `"\u00e9"`, `"é"`, `"\/"`, `"/"`, `"\""`, `"\u0022"`, `"\\"`, `"\u005C"`, `"\u005c"`, `"\b\f\n\r\t"`,
		`"\u0008\u000c\u000a\u000d\u0009"`, `"\u0000"`, `"\u000B"`, `"\u001f"`, `"\u001F"`, `"\u007f"`, "\"\x7f\"", `"\u2028\u2029"`, `"<>&'"`,
		`"\ud83d\ude00"`, `"😀"`, `"\uD83D\uDE00"`, `"\ufeff"`, `"\ufffd"`, `"\uffff"`, `"\udbff\udfff"`, `"a\u0062c\u0064e"`)
	accept("twins", `"caf\u00e9"`, `"cafe\u0301"`, `{"\u00e9":1,"e\u0301":2}`, `"\ufb01"`, `"fi"`, `"\u212b"`, `"\u00c5"`, `"A\u030a"`, `"\u200b"`, `"\u202e"`)
	accept("depth", strings.Repeat("[", 128)+strings.Repeat("]", 128), strings.Repeat(`{"a":`, 127)+"{}"+strings.Repeat("}", 127))
	refuse("depth", strings.Repeat("[", 129)+strings.Repeat("]", 129), strings.Repeat(`{"a":`, 128)+"{}"+strings.Repeat("}", 128),
		`{"a":`+strings.Repeat("[", 128)+strings.Repeat("]", 128)+"}")

	refuse("duplicate", `{"a":1,"a":1}`, `{"a":1,"\u0061":2}`, `{"":1,"":2}`, `{"a":{"b":1,"b":2}}`, `[[{"x":{"y":1,"z":2,"y":3}}]]`,
		`{"😀":1,"\ud83d\ude00":2}`, `{"/":1,"\/":2}`, `{"z":1,"y":2,"x":3,"y":4}`, `{"a":null,"a":null}`)
	refuse("surrogate", `"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\ude00\ud83d"`, `"\ud83d x"`, `"\ud83d\u0041"`, `{"\ud800":1}`, `"\uDFFF"`)
	refuse("utf8", "\"\x80\"", "\"\xff\"", "\"\xc0\xaf\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"", "\"\xf0\x80\x80\x80\"", "\"\xf4\x90\x80\x80\"",
		"\"\xe2\x82\"", "{\"\xc3\":1}")
	refuse("bom", "\ufeff{}", "\ufeff", "\ufeff \"a\"")
	refuse("trailing", "{}{}", "1 1", "[]]", "{} x", "null\x00", "{}\ufeff", "\"a\"\v")
	refuse("control", "\"\n\"", "\"\t\"", "\"\x00\"", "{\"\x1f\":1}", "\"12345678\r\"")
	refuse("syntax", "", " ", "{", "[1,]", `{"a":1,}`, "[,1]", `{"a"}`, `{a:1}`, `{'a':1}`, "01", "-", "+1", ".5", "1.", "1e", "1.e5", "-a", "NaN", "Infinity",
		"True", "nul", `"a`, `"\x41"`, `"\u00g0"`, `"\u12"`, "[1 2]", `{"a":1 "b":2}`, "// x", "\u00a01", "[\v1]")

	// The same text under every kind: as many digests.
	tool := `{"name":"tide_table","title":"Tides","description":"High and low water.\n","inputSchema":{"type":"object",` +
		`"properties":{"harbour":{"type":"string"},"day":{"type":"string","format":"date"}},"required":["harbour"]},` +
		`"annotations":{"readOnlyHint":true},"_meta":{"org.harbour/level":1.0},"x-unknown":[]}`
	for _, kind := range []digest.Kind{
		digest.KindTool, digest.KindPrompt, digest.KindResource, digest.KindResourceTemplate, digest.KindDiscovery, digest.KindTools,
		digest.KindPrompts, digest.KindResources, digest.KindResourceTemplates, digest.KindResourceRead, digest.KindEndpoint,
		digest.KindAgent, digest.KindConfig, digest.KindPlan, digest.KindLineage, digest.KindLock,
	} {
		all = append(all, input{name: "kind " + string(kind), kind: kind, text: tool})
	}
	for _, kind := range []digest.Kind{digest.KindTool, digest.KindResource} {
		for i, text := range []string{"[]", "null", `"{}"`, "1"} {
			all = append(all, input{name: fmt.Sprintf("refused kind %s %d", kind, i+1), kind: kind, text: text, refused: "kind"})
		}
	}

	resource := func(name, text, canonical string) {
		all = append(all, input{name: "resource " + name, kind: digest.KindResource, text: text, canonical: canonical})
	}
	bare := `{"name":"tides","uri":"file:///tides"}`
	resource("bare", `{"uri":"file:///tides","name":"tides"}`, bare)
	resource("size", `{"uri":"file:///tides","size":4096,"name":"tides"}`, bare)
	resource("size escaped", `{"uri":"file:///tides","\u0073ize":4096,"name":"tides"}`, bare)
	resource("size null", `{"size":null,"uri":"file:///tides","name":"tides"}`, bare)
	resource("Size", `{"uri":"file:///tides","Size":1,"name":"tides"}`, `{"Size":1,"name":"tides","uri":"file:///tides"}`)
	resource("lastModified", `{"annotations":{"priority":0.50,"lastModified":"2026-11-01T00:00:00Z"},"uri":"file:///tides"}`,
		`{"annotations":{"priority":0.5},"uri":"file:///tides"}`)
	resource("lastModified alone", `{"annotations":{"lastModified":"x"}}`, `{"annotations":{}}`)
	resource("lastModified outside", `{"lastModified":"x","annotations":{}}`, `{"annotations":{},"lastModified":"x"}`)
	resource("size inside", `{"annotations":{"size":1},"_meta":{"size":2}}`, `{"_meta":{"size":2},"annotations":{"size":1}}`)
	resource("annotations a list", `{"annotations":["lastModified"],"size":1}`, `{"annotations":["lastModified"]}`)
	all = append(all,
		input{name: "resource duplicate in what is left out", kind: digest.KindResource, text: `{"size":{"a":1,"a":2}}`, refused: "duplicate"},
		input{name: "resource duplicate size", kind: digest.KindResource, text: `{"size":1,"size":1}`, refused: "duplicate"},
		input{name: "template keeps size", kind: digest.KindResourceTemplate, text: `{"size":1,"annotations":{"lastModified":"x"}}`},
		input{name: "tool keeps size", kind: digest.KindTool, text: `{"size":1,"annotations":{"lastModified":"x"}}`},
		input{name: "snapshot keeps size", kind: digest.KindResources, text: `{"resources":[{"size":1,"annotations":{"lastModified":"x"}}]}`},
	)
	return all
}
