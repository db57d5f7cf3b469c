package schema

import (
	"errors"
	"fmt"
	"strings"
)

// vector is a schema and an instance that make a validator run for long, and what must come of it here.
type vector struct {
	name             string
	schema, instance string
	want             string // "valid", "invalid" (value), "schema" (invalid schema), "unsupported", "expensive"
}

func nest(open, inner, shut string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
}

func joined(n int, f func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, ",")
}

// chain is $defs in which each entry names the next one twice.
func chain(keyword string, levels int, last string) string {
	return `{"$ref":"#/$defs/d0","$defs":{` + joined(levels, func(i int) string {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		return fmt.Sprintf(`"d%d":{"%s":[%s,%s]}`, i, keyword, ref, ref)
	}) + fmt.Sprintf(`,"d%d":%s}}`, levels, last)
}

// vectors stand beside those of table: what lies just inside the bounds, and what was found while they were drawn.
func vectors() []vector {
	return []vector{
		{"allOf chain 2^10 is affordable", chain("allOf", 10, `{"type":"integer"}`), `1`, "valid"},
		{"two self references under items", `{"items":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]},"type":"array","minItems":1}`, nest("[", "1", "]", 26), "expensive"},
		{"two self references, flat", `{"items":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]},"type":["array","integer"]}`, `[[1],[2]]`, "valid"},
		{"program size", `{"patternProperties":{` + joined(60, func(i int) string {
			return fmt.Sprintf(`"^%d[\\pL\\pN]{1000}%s$":{}`, i, strings.Repeat(`x`, 980))
		}) + `}}`, `{}`, "expensive"},
		{
			"2,000 patternProperties", `{"patternProperties":{` + joined(1990, func(i int) string { return fmt.Sprintf(`"x%d":{}`, i) }) + `}}`,
			`{` + joined(20_000, func(i int) string { return fmt.Sprintf(`"property-number-%d":%d`, i, i) }) + `}`, "expensive",
		},
		{"uniqueItems on 30,000 objects", `{"uniqueItems":true}`, `[` + joined(30_000, func(i int) string { return fmt.Sprintf(`{"a":%d}`, i) }) + `]`, "valid"},
		{"uniqueItems on big exponents", `{"uniqueItems":true}`, `[` + joined(6_000, func(i int) string { return fmt.Sprintf(`1e9%03d`, i%1000) }) + `]`, "expensive"},
		{"enum of big exponents", `{"enum":[` + joined(5_000, func(i int) string { return fmt.Sprintf(`1e9%03d`, i%1000) }) + `]}`, `1e9999`, "expensive"},
		{"multipleOf with big exponents", `{"multipleOf":3e-9999}`, `1e9999`, "invalid"},
		{"exponent beyond any bound", `{"minimum":1}`, `1e9999999`, "expensive"},
		{"integer type on big exponents", `{"items":{"type":"integer"}}`, `[` + joined(20_000, func(int) string { return `1e9999` }) + `]`, "expensive"},
		{"a million digits", `{"maximum":5}`, strings.Repeat("9", 1_000_000), "expensive"},
		{
			"enum of 12,000 strings x 20,000 items", `{"items":{"enum":[` + joined(12_000, func(i int) string { return fmt.Sprintf(`"v%04d"`, i%10_000) }) + `]}}`,
			`[` + joined(20_000, func(int) string { return `"v9999"` }) + `]`, "expensive",
		},
		{
			"oneOf of 1,900 objects x 5,000 items", `{"items":{"oneOf":[` + joined(1_900, func(i int) string { return fmt.Sprintf(`{"type":"x%d"}`, i) }) + `]}}`,
			`[` + joined(5_000, func(int) string { return `1` }) + `]`, "schema",
		},
		{
			"oneOf of 1,900 constants x 5,000 items", `{"items":{"oneOf":[` + joined(1_900, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `]}}`,
			`[` + joined(5_000, func(int) string { return `-1` }) + `]`, "expensive",
		},
		{
			"200-way anyOf under items, 200 KB", `{"items":{"anyOf":[` + joined(200, func(i int) string { return fmt.Sprintf(`{"type":"string","minLength":%d}`, i+9) }) + `]}}`,
			`[` + joined(60_000, func(int) string { return `"x"` }) + `]`, "expensive",
		},
		{
			"unevaluatedProperties under 1,500 allOf", `{"unevaluatedProperties":false,"allOf":[` + joined(1_500, func(i int) string { return fmt.Sprintf(`{"properties":{"p%d":{}}}`, i) }) + `]}`,
			`{` + joined(1_500, func(i int) string { return fmt.Sprintf(`"p%d":1`, i) }) + `}`, "expensive",
		},
		{"$dynamicRef through 800 resources", dynamicChain(800), nest("[", "", "]", 12), "expensive"},
		{"$dynamicRef through 20 resources", dynamicChain(20), nest("[", "", "]", 12), "valid"},
		{"50,000 errors", `{"type":"array","items":{"type":"string"}}`, `[` + joined(50_000, func(int) string { return `1` }) + `]`, "invalid"},
		{"200,000 errors, deeper schema", `{"items":{"type":"integer","minimum":5,"maximum":-5,"multipleOf":7}}`, `[` + joined(200_000, func(int) string { return `1` }) + `]`, "expensive"},
		{"$schema is the schema", `{"$schema":"mcpcat://schema/root"}`, `1`, "unsupported"},
		{"1,900 references to unknown places", `{"x":{` + joined(1_900, func(i int) string { return fmt.Sprintf(`"y%d":{}`, i) }) + `},"allOf":[` +
			joined(1_900, func(i int) string { return fmt.Sprintf(`{"$ref":"#/x/y%d"}`, i) }) + `]}`, `1`, "expensive"},
		{"990 references into $defs of draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{` + numbered(0, 990, `"d%d":{"type":"string"}`) + `},"anyOf":[` +
			numbered(0, 990, `{"$ref":"#/$defs/d%d"}`) + `]}`, `1`, "expensive"},
		{"220 references into $defs of draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{` + numbered(0, 220, `"d%d":{"type":"string"}`) + `},"anyOf":[` +
			numbered(0, 220, `{"$ref":"#/$defs/d%d"}`) + `]}`, `1`, "invalid"},
		{"meta-schema by way of $id", `{"$id":"https://json-schema.org/draft/2020-12/x","items":{"$ref":"schema"}}`, `[{}]`, "unsupported"},
		{"meta-schema of another dialect", `{"items":{"$ref":"http://json-schema.org/draft-04/schema#"}}`, `[{}]`, "unsupported"},
		{"part of a meta-schema", `{"items":{"$ref":"https://json-schema.org/draft/2020-12/meta/core"}}`, `[{}]`, "unsupported"},
		{"16 MiB of members", `{}`, `{` + numbered(1_000_000, 1_500_000, `"%d":1`) + `}`, "expensive"},
		{"schema above the byte bound", `{"description":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, `1`, "expensive"},
		{"draft-07 regex format on the instance", `{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`, `"` + strings.Repeat(`\\pL{1000}`, 100_000) + `"`, "expensive"},
		{
			"draft-07 regex format on many instances", `{"$schema":"http://json-schema.org/draft-07/schema#","items":{"format":"regex"}}`,
			`[` + joined(5_000, func(int) string { return `"(abcdefgh){700}"` }) + `]`, "expensive",
		},
		{
			"draft-07 regex format", `{"$schema":"http://json-schema.org/draft-07/schema#","items":{"format":"regex"}}`,
			`[` + joined(50, func(i int) string { return fmt.Sprintf(`"(abcdefgh){70%d}"`, i%10) }) + `]`, "valid",
		},
		{"draft-07 enum of equal arrays", `{"$schema":"http://json-schema.org/draft-07/schema#","enum":[` + joined(20, func(i int) string {
			return `[` + strings.Repeat("1,", 4_000) + fmt.Sprint(i) + `]`
		}) + `]}`, `1`, "expensive"},
		{"long property name above many", `{"properties":{"` + strings.Repeat("x", 200_000) + `":{"properties":{` +
			joined(1_900, func(i int) string { return fmt.Sprintf(`"p%04d":{}`, i) }) + `}}}}`, `1`, "expensive"},
		{"medium property name above many", `{"properties":{"` + strings.Repeat("x", 200) + `":{"properties":{` +
			joined(1_900, func(i int) string { return fmt.Sprintf(`"p%04d":{}`, i) }) + `}}}}`, `1`, "valid"},
		{"long identifier under many references", `{"$id":"https://x.example/` + strings.Repeat("x", 100_000) + `","anyOf":[` +
			joined(1_900, func(int) string { return `{"$ref":"#/$defs/a"}` }) + `],"$defs":{"a":true}}`, `1`, "expensive"},
		{"many references", `{"$id":"https://x.example/` + strings.Repeat("x", 450) + `","anyOf":[` +
			joined(1_900, func(int) string { return `{"$ref":"#/$defs/a"}` }) + `],"$defs":{"a":true}}`, `1`, "valid"},
		{"2,000 flat subschemas", `{"properties":{` + joined(1_990, func(i int) string { return fmt.Sprintf(`"property%04d":{"type":"string","minLength":1}`, i) }) + `}}`, `{}`, "valid"},
		{"unique small arrays of big arrays", `{"uniqueItems":true}`, `[` + joined(20, func(i int) string {
			return `[` + strings.Repeat("1,", 10_000) + fmt.Sprint(i) + `]`
		}) + `]`, "expensive"},
		{"a quarter of a million values", `{"items":{"items":{"type":"integer"}}}`, `[` + strings.TrimSuffix(strings.Repeat(`[`+strings.TrimSuffix(strings.Repeat("1,", 100), ",")+`],`, 3_000), ",") + `]`, "expensive"},
	}
}

func nestWide(levels, width int) string {
	if levels == 0 {
		return "1"
	}
	inner := nestWide(levels-1, width)
	return "[" + strings.TrimSuffix(strings.Repeat(inner+",", width), ",") + "]"
}

func dynamicChain(n int) string {
	return `{"$id":"https://x.example/r0","$dynamicAnchor":"n","type":"array","items":{"$dynamicRef":"#n"},"$defs":{` + joined(n, func(i int) string {
		return fmt.Sprintf(`"d%d":{"$id":"https://x.example/r%d","$dynamicAnchor":"n","items":{"$dynamicRef":"#n"}}`, i, i+1)
	}) + `}}`
}

func verdict(schema, instance []byte) string {
	compiled, err := Compile(schema)
	if err == nil {
		err = compiled.Validate(instance)
	}
	var (
		expensive   *TooExpensiveError
		unsupported *UnsupportedError
		bad         *InvalidError
		value       *ValidationError
	)
	switch {
	case err == nil:
		return "valid"
	case errors.As(err, &expensive):
		return "expensive"
	case errors.As(err, &unsupported):
		return "unsupported"
	case errors.As(err, &bad):
		return "schema"
	case errors.As(err, &value):
		return "invalid"
	}
	return err.Error()
}
