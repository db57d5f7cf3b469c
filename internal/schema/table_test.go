package schema

import (
	"fmt"
	"strings"
)

// row is a vector with the bytes of schema and instance with which other validators were measured: most of them needed
// more than twenty seconds, or hundreds of megabytes.
type row struct {
	vector
	schemaBytes, instanceBytes int
}

func numbered(from, n int, format string) string {
	return joined(n, func(i int) string { return fmt.Sprintf(format, from+i) })
}

// padded makes a schema object so long.
func padded(schema string, size int) string {
	return `{"title":"` + strings.Repeat("x", max(0, size-len(schema)-len(`"title":"",`))) + `",` + schema[1:]
}

func shortDynamicChain(n, size int) string {
	return padded(`{"$id":"https://x.example/r","$dynamicAnchor":"n","items":{"$dynamicRef":"#n"},"$defs":{`+numbered(0, n, `"d%d":{"$id":"r%[1]d","$dynamicAnchor":"n"}`)+`}}`, size)
}

func longPointers(levels, size int) string {
	ref := `{"$ref":"#/$defs/x` + strings.Repeat("/properties/a", levels) + `"}`
	return padded(`{"$defs":{"x":`+nest(`{"properties":{"a":`, `{}`, `}}`, levels)+`},"allOf":[`+joined(6, func(int) string { return ref })+`]}`, size)
}

// table is every schema under which a validator was seen to hang, to die or to fetch. A row that is made smaller no
// longer shows what it is there for: the test compares the sizes.
func table() []row {
	return []row{
		{vector{"ref to itself", `{"$ref":"#"}`, `1`, "schema"}, 12, 1},
		{vector{"allOf to itself", `{"allOf":[{"$ref":"#"}]}`, `1`, "schema"}, 24, 1},
		{vector{"ref cycle through $defs", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `1`, "schema"}, 80, 1},
		{vector{"billion laughs, allOf 2^28", chain("allOf", 28, `{"type":"integer"}`), `1`, "expensive"}, 1820, 1},
		{vector{"billion laughs, anyOf 2^22", chain("anyOf", 22, `{"type":"string"}`), `1`, "expensive"}, 1435, 1},
		{vector{"billion laughs, oneOf 2^26", chain("oneOf", 26, `{"type":"string"}`), `1`, "expensive"}, 1691, 1},
		{vector{"anyOf of two self references under items", `{"$defs":{"t":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/t"},{"$ref":"#/$defs/t"}]}}},"$ref":"#/$defs/t"}`, nest("[", "1", "]", 26), "expensive"}, 113, 53},
		{vector{"contains in contains, 8 levels, 8 wide", nest(`{"contains":`, `{"maximum":10}`, `}`, 8), nestWide(7, 8), "expensive"}, 118, 4_793_489},
		{vector{"not, 6,000 deep", nest(`{"not":`, `{}`, `}`, 6000), `1`, "expensive"}, 48_002, 1},
		{vector{"items, 4,500 deep", nest(`{"items":`, `{}`, `}`, 4500), nest("[", "", "]", 4500), "expensive"}, 45_002, 9_000},
		{vector{"backtracking pattern", `{"type":"string","pattern":"^(a+)+$"}`, `"` + strings.Repeat("a", 32) + `!"`, "invalid"}, 37, 35},
		{vector{"polynomial pattern on 20 KB", `{"pattern":"^(.*a){20}$"}`, `"` + strings.Repeat("x", 20_000) + `"`, "invalid"}, 25, 20_002},
		{vector{"program size of 60 KB of patterns", `{"patternProperties":{` + numbered(0, 2_200, `"^%d[\\pL\\pN]{1000}$":{}`) + `}}`, `{}`, "expensive"}, 60_513, 2},
		{vector{"nested repetition on 256 KB", `{"pattern":"(((x{0,30}){0,30}){1})!"}`, `"` + strings.Repeat("x", 262_144) + `"`, "expensive"}, 37, 262_146},
		{vector{"repetition of anything on 1 MB", `{"pattern":"^((.{0,900}.{0,90}){1})z"}`, `"` + strings.Repeat("x", 1<<20) + `"`, "expensive"}, 38, 1_048_578},
		{vector{"2,000 patternProperties x 20,000 properties", `{"patternProperties":{` + numbered(0, 2_000, `"^x%d.*$":{}`) + `}}`, `{` + numbered(0, 20_000, `"property-name-number-%d":1`) + `}`, "expensive"}, 28_913, 608_891},
		{vector{"uniqueItems on 40,000 objects", `{"uniqueItems":true}`, `[` + numbered(0, 40_000, `{"a":%d}`) + `]`, "valid"}, 20, 468_891},
		{vector{"uniqueItems on 6,000 numbers 1e99999x", `{"uniqueItems":true}`, `[` + numbered(1, 6_000, `1e99999%d`) + `]`, "expensive"}, 20, 70_894},
		{vector{"enum of 5,000 numbers on 1e1000000", `{"enum":[` + numbered(1, 5_000, `1e9999%d`) + `]}`, `1e1000000`, "expensive"}, 53_903, 9},
		{vector{"multipleOf 3e-1000000 on 1e1000000", `{"multipleOf":3e-1000000}`, `1e1000000`, "expensive"}, 25, 9},
		{vector{"minimum on 1e9999999", `{"minimum":1}`, `1e9999999`, "expensive"}, 13, 9},
		{vector{"integer type on 2,000 x 1e1000000", `{"items":{"type":"integer"}}`, `[` + joined(2_000, func(int) string { return `1e1000000` }) + `]`, "expensive"}, 28, 20_001},
		{vector{"enum of 7,000 strings x 20,000 items", `{"items":{"enum":[` + numbered(0, 7_000, `"v%d"`) + `]}}`, `[` + joined(20_000, func(int) string { return `"v6999"` }) + `]`, "expensive"}, 54_910, 160_001},
		{vector{"oneOf of 2,500 objects x 5,000 items", `{"items":{"oneOf":[` + numbered(0, 2_500, `{"const":"%d!"}`) + `]}}`, `[` + joined(5_000, func(int) string { return `null` }) + `]`, "expensive"}, 43_911, 25_001},
		{vector{"unevaluatedProperties under 1,500 allOf", `{"unevaluatedProperties":false,"allOf":[` + numbered(0, 1_500, `{"properties":{"p%d":true}}`) + `]}`, `{` + numbered(0, 1_500, `"p%d":1`) + `}`, "expensive"}, 43_931, 13_891},
		{vector{"$dynamicRef through 400 resources", shortDynamicChain(400, 18_335), nest("[", "1", "]", 12), "expensive"}, 18_335, 25},
		{vector{"200,000 errors", `{"type":"array","items":{"type":"string","maxLength":3}}`, `[` + joined(200_000, func(int) string { return `1` }) + `]`, "expensive"}, 56, 400_001},
		{vector{"ref to a device", `{"$ref":"file:///dev/zero"}`, `1`, "unsupported"}, 27, 1},
		{vector{"ref to a file", `{"$ref":"file:///etc/passwd"}`, `1`, "unsupported"}, 29, 1},
		{vector{"ref to the network", `{"$ref":"http://127.0.0.1:9/x"}`, `1`, "unsupported"}, 31, 1},
		{vector{"$schema points at itself", `{"$schema":"mem:///schema.json"}`, `1`, "unsupported"}, 32, 1},
		{vector{"pointer walk, six references of 5 KB", longPointers(386, 38_490), `1`, "expensive"}, 38_490, 1},
	}
}
