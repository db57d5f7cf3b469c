package schema

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

const (
	newest = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
	old    = `"$schema":"http://json-schema.org/draft-07/schema#"`
)

// TestDialects tells the two dialects apart by a schema that they read differently: in draft-07 items may be a list, and
// the siblings of $ref and prefixItems say nothing.
func TestDialects(t *testing.T) {
	for _, c := range []struct{ schema, good, bad string }{
		{`{"prefixItems":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{`{` + newest + `,"prefixItems":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema#","prefixItems":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{`{` + old + `,"prefixItems":[{"type":"string"}]}`, `[1]`, ``},
		{`{` + old + `,"items":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{`{"$schema":"http://json-schema.org/draft-07/schema","items":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{`{"$schema":"https://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{`{` + newest + `,"items":{"$ref":"#/$defs/a","minimum":5},"$defs":{"a":{"type":"integer"}}}`, `[5]`, `[4]`},
		{`{` + old + `,"items":{"$ref":"#/definitions/a","minimum":5},"definitions":{"a":{"type":"integer"}}}`, `[4]`, `["a"]`},
		// Another dialect in a resource of its own inside the document.
		{`{` + newest + `,"properties":{"a":{` + old + `,"$id":"https://x.example/a","items":[{"type":"string"}]}}}`, `{"a":["x"]}`, `{"a":[1]}`},
		{`{` + old + `,"properties":{"a":{` + newest + `,"$id":"https://x.example/a","prefixItems":[{"type":"string"}]}}}`, `{"a":["x"]}`, `{"a":[1]}`},
		// Local references.
		{`{"$id":"https://x.example/a/","$defs":{"b":{"$id":"b/c","$defs":{"d":{"$id":"d","minimum":1}},"$ref":"d"}},"$ref":"b/c"}`, `1`, `0`},
		{`{"$id":"https://x.example/a","$defs":{"b":{"$id":"b","$anchor":"top","minimum":1}},"$ref":"b#top"}`, `1`, `0`},
		{`{"$id":"https://x.example/a","$ref":"https://x.example/a#/$defs/b","$defs":{"b":{"minimum":1}}}`, `1`, `0`},
		{`{"$id":"urn:uuid:8c7f4a3e-0000-4000-8000-000000000001","$ref":"#/$defs/b","$defs":{"b":{"minimum":1}}}`, `1`, `0`},
		{`{` + old + `,"definitions":{"b":{"$id":"#b","minimum":1}},"items":{"$ref":"#b"}}`, `[1]`, `[0]`},
		{`{"$ref":"#/$defs/a~1b%25","$defs":{"a/b%":{"minimum":1}}}`, `1`, `0`},
		{`{"$id":"https://x.example/t","$dynamicAnchor":"n","properties":{"v":{"type":"integer"},"n":{"$dynamicRef":"#n"}}}`, `{"n":{"n":{"v":1}}}`, `{"n":{"n":{"v":"x"}}}`},
		{`{"$ref":"list","$defs":{"s":{"$dynamicAnchor":"item","type":"string"},"list":{"$id":"list","items":{"$dynamicRef":"#item"},"$defs":{"any":{"$dynamicAnchor":"item"}}}}}`, `["a"]`, `[1]`},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if err := s.Validate([]byte(c.good)); err != nil {
			t.Errorf("%s on %s: %v, want it accepted", c.schema, c.good, err)
		}
		var bad *ValidationError
		if c.bad != "" && !errors.As(s.Validate([]byte(c.bad)), &bad) {
			t.Errorf("%s on %s: accepted", c.schema, c.bad)
		}
	}
}

func TestWhatIsNotSupported(t *testing.T) {
	for _, schema := range []string{
		`{"$schema":"http://json-schema.org/draft-04/schema#"}`, `{"$schema":"http://json-schema.org/draft-06/schema#"}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema"}`, `{"$schema":"http://json-schema.org/schema#"}`, `{"$schema":""}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema#a"}`, `{"$schema":"https://x.example/own"}`, `{"$schema":"file:///etc/passwd"}`,
		`{"properties":{"a":{"$schema":"http://json-schema.org/draft-04/schema#"}}}`,
		`{"$vocabulary":{"https://x.example/v":true}}`, `{"$recursiveRef":"#"}`, `{"$recursiveAnchor":true}`,
		// What a loader would fetch.
		`{"$ref":"https://x.example/a"}`, `{"$ref":"//x.example/a"}`, `{"$ref":"file:///etc/passwd"}`, `{"$ref":"other.json#/a"}`, `{"$ref":"urn:x:y"}`,
		`{"$id":"file:///etc/","$ref":"passwd"}`, `{"$id":"https://x.example/","items":{"$ref":"b"}}`, `{"$dynamicRef":"https://x.example/y#z"}`,
		// What the compiler has in its luggage.
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"$ref":"http://json-schema.org/draft-07/schema#"}`,
		`{"$ref":"http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger"}`, `{"$ref":"http://json-schema.org/draft-04/schema#"}`,
		`{"$ref":"https://json-schema.org/draft/2020-12/meta/core"}`, `{"$id":"https://json-schema.org/draft/2020-12/x","items":{"$ref":"schema"}}`,
		`{"$id":"https://json-schema.org/draft/2020-12/x","items":{"$dynamicRef":"meta/core#meta"}}`,
		// What RE2 does not have.
		`{"pattern":"(?=a)"}`, `{"pattern":"(?!a)"}`, `{"pattern":"(?<=a)b"}`, `{"pattern":"(?<!a)b"}`, `{"pattern":"(a)\\1"}`, `{"pattern":"(?<y>a)\\k<y>"}`,
		`{"pattern":"[^]"}`, `{"pattern":"[]"}`, `{"pattern":"a{1001}"}`, `{"pattern":"(?s)a.b"}`, `{"pattern":"(?i-s:a.)"}`, `{"pattern":"[[:alpha:].]"}`, `{"pattern":"\\A\\Q.\\E\\z"}`, `{"pattern":"\\x{41}"}`, `{"pattern":"\\u{110000}"}`, `{"pattern":"\\ca\\u12"}`,
		`{"patternProperties":{"(?=a)":true}}`, `{"pattern":"\\p{Script=Greek}"}`, `{"pattern":"a++"}`,
	} {
		_, err := Compile([]byte(schema))
		var unsupported *UnsupportedError
		if !errors.As(err, &unsupported) {
			t.Errorf("Compile(%s) = %v, want an UnsupportedError", schema, err)
		}
	}
}

// TestPatternsMeanWhatECMASays has the places where RE2 reads the same spelling otherwise.
func TestPatternsMeanWhatECMASays(t *testing.T) {
	for _, c := range []struct{ pattern, good, bad string }{
		{`^\s$`, "\u00a0", "a"},
		{`^\s$`, "\ufeff", "\u200b"},
		{`^\S$`, "a", "\u2003"},
		{`^[\s]$`, "\v", "a"},
		{`^[^\s]$`, "a", "\u3000"},
		{`^[\Sx]$`, "x", "\u00a0"},
		{`^[^\S]$`, "\u00a0", "x"},
		{`^.$`, "a", "\r"},
		{`^.$`, "\u2027", "\u2028"},
		{`^[.]$`, ".", "a"},
		{`^\.$`, ".", "a"},
		{`^a.b$`, "a\tb", "a\nb"},
		{`^\u0041\u{42}\u{1F600}$`, "AB\U0001f600", "AB"},
		{`^\ud83d\ude00$`, "\U0001f600", "\ufffd"},
		{`^[\ud83d\ude00-\ud83d\ude02]$`, "\U0001f601", "\U0001f603"},
		{`^\cI[\b]$`, "\t\b", "I\b"},
		{`^\/\-\\u0041$`, `/-\u0041`, `/-A`},
		{`^(?<year>\d{4})$`, "2026", "\u0662\u0660\u0662\u0666"},
		{`^(?i)A$`, "a", "b"},
		{`a$`, "ba", "a\n"},
		{`b`, "abc", "ac"}, // not anchored
		{`^\p{Lu}$`, "Ä", "ä"},
	} {
		quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
		s, err := Compile([]byte(`{"pattern":` + quoted(c.pattern) + `}`))
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if err := s.Validate([]byte(quoted(c.good))); err != nil {
			t.Errorf("%s on %q: %v", c.pattern, c.good, err)
		}
		if err := s.Validate([]byte(quoted(c.bad))); err == nil {
			t.Errorf("%s accepts %q", c.pattern, c.bad)
		}
	}
}

// TestSpaces compares the two sets character by character.
func TestSpaces(t *testing.T) {
	is, isNot := regexp.MustCompile("^["+spaces+"]$"), regexp.MustCompile("^["+notSpaces+"]$")
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		// ECMA-262: white space is tab, VT, FF, BOM and category Zs; line ends are LF, CR, LS and PS.
		want := strings.ContainsRune("\t\v\f\ufeff\n\r\u2028\u2029", r) || unicode.Is(unicode.Zs, r)
		if s := string(r); is.MatchString(s) != want || isNot.MatchString(s) == want {
			t.Errorf("%U is white space: %v, and not: %v, want %v", r, is.MatchString(s), isNot.MatchString(s), want)
		}
	}
}

// TestFormats: format is an assertion in draft-07, for the names that the documentation lists, and an annotation in 2020-12.
func TestFormats(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema-limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	for format, bad := range map[string]string{
		"date": "x", "time": "x", "date-time": "x", "duration": "x", "period": "x", "email": "x", "hostname": "-", "ipv4": "x", "ipv6": "x", "uri": "x",
		"uri-reference": ":", "iri": "x", "iri-reference": ":", "uri-template": "{", "uuid": "x", "json-pointer": "x", "relative-json-pointer": "x",
		"regex": "(", "semver": "x",
	} {
		if !strings.Contains(string(doc), "`"+format+"`") {
			t.Errorf("docs/schema-limits.md does not list the format %s", format)
		}
		for _, dialect := range []string{newest, old} {
			s, err := Compile([]byte(`{` + dialect + `,"format":"` + format + `"}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate([]byte(`"` + bad + `"`)); (err == nil) != (dialect == newest) {
				t.Errorf("%s, format %s on %q: %v", dialect, format, bad, err)
			}
		}
	}
	for _, dialect := range []string{newest, old} {
		s, err := Compile([]byte(`{` + dialect + `,"format":"int32"}`))
		if err != nil || s.Validate([]byte(`"x"`)) != nil {
			t.Errorf("%s: a format that nobody knows is refused", dialect)
		}
	}
}
