package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// inputSchema returns the schema of the only tool in a tools/list answer.
func inputSchema(t *testing.T, dir, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct {
			Tools []struct {
				InputSchema json.RawMessage `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(b, &answer); err != nil || len(answer.Result.Tools) != 1 {
		t.Fatalf("%s: %v", file, err)
	}
	return answer.Result.Tools[0].InputSchema
}

func read(t *testing.T, dir, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCaseArguments validates the arguments of the cases whose schema is accepted.
func TestCaseArguments(t *testing.T) {
	cases := []struct {
		name      string
		good, bad []string
		want      []ValidationError // one for each of bad
	}{
		{
			"schema/recursive-tree",
			[]string{"args-ok.json"},
			[]string{"args-bad.json"},
			[]ValidationError{{InstancePointer: "/root/inner/0/inner/0/inner/0/inner/0", Keyword: "additionalProperties"}},
		},
		{
			"schema/draft-07-tuple",
			[]string{"args-ok.json"},
			[]string{"args-bad.json", "args-long.json"},
			[]ValidationError{{InstancePointer: "/at/1", Keyword: "type"}, {InstancePointer: "/at", Keyword: "additionalItems"}},
		},
		{"schema/boolean-subschemas", []string{"args-ok.json"}, []string{"args-bad.json"}, []ValidationError{{InstancePointer: "/none", Keyword: "false"}}},
		{
			"schema/integral-float",
			[]string{"args-ok-1.json", "args-ok-2.json", "args-ok-3.json"},
			[]string{"args-bad.json"},
			[]ValidationError{{InstancePointer: "/n", Keyword: "type"}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := casetest.Dir(t, c.name)
			s, err := Compile(inputSchema(t, dir, "tools-list.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range c.good {
				if err := s.Validate(read(t, dir, file)); err != nil {
					t.Errorf("%s: %v, want it accepted", file, err)
				}
			}
			for i, file := range c.bad {
				var got *ValidationError
				if err := s.Validate(read(t, dir, file)); !errors.As(err, &got) || *got != c.want[i] {
					t.Errorf("%s: %v, want %+v", file, err, c.want[i])
				}
			}
		})
	}
}

// TestCaseSchemas compiles the schemas of the cases that must not be used.
func TestCaseSchemas(t *testing.T) {
	t.Run("schema/remote-references", func(t *testing.T) {
		dir := casetest.Dir(t, "schema/remote-references")
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan struct{}, 16)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				asked <- struct{}{}
				c.Close()
			}
		}()
		for _, file := range []string{"a.json", "b.json", "c.json", "d.json", "e.json"} {
			// The port of the case is closed; one that listens shows an attempt.
			schema := bytes.ReplaceAll(inputSchema(t, dir, file), []byte("127.0.0.1:9/"), []byte(l.Addr().String()+"/"))
			var unsupported *UnsupportedError
			_, err := Compile(schema)
			if !errors.As(err, &unsupported) {
				t.Errorf("%s: %v, want an UnsupportedError", file, err)
				continue
			}
			named := unsupported.Error()
			if !strings.Contains(named, l.Addr().String()) && !strings.Contains(named, "hostname") {
				t.Errorf("%s: %q does not name the reference", file, named)
			}
		}
		time.Sleep(10 * time.Millisecond)
		l.Close()
		if len(asked) != 0 {
			t.Error("a reference was followed")
		}
	})
	t.Run("schema/look-ahead-pattern", func(t *testing.T) {
		dir := casetest.Dir(t, "schema/look-ahead-pattern")
		_, err := Compile(inputSchema(t, dir, "tools-list.json"))
		want := &UnsupportedError{Pointer: "/properties/ref/pattern", Reason: "pattern is not a regular expression that RE2 accepts: invalid or unsupported Perl syntax"}
		var got *UnsupportedError
		if errors.As(err, &got); !cmp.Equal(got, want) {
			t.Errorf("Compile = %v, want %v", err, want)
		}
	})
	t.Run("schema/deep-schema", func(t *testing.T) {
		dir := casetest.Dir(t, "schema/deep-schema")
		b := read(t, dir, "tools-list.json")
		_, deep, _ := bytes.Cut(b, []byte(`"inputSchema":`))
		deep = deep[:bytes.LastIndex(deep, []byte(`}],"ttlMs"`))]
		_, err := Compile(deep)
		want := &TooExpensiveError{What: "levels of nesting", Limit: maxSchemaDepth}
		var got *TooExpensiveError
		if errors.As(err, &got); !cmp.Equal(got, want) {
			t.Errorf("Compile = %v, want %v", err, want)
		}
	})
	t.Run("schema/required-in-wrong-place", func(t *testing.T) {
		dir := casetest.Dir(t, "schema/required-in-wrong-place")
		for file, pointer := range map[string]string{
			"a.json": "/properties/required", "b.json": "/properties/berth/type", "c.json": "/properties/berth/minLength", "d.json": "/required",
		} {
			var got *InvalidError
			if _, err := Compile(inputSchema(t, dir, file)); !errors.As(err, &got) || got.Pointer != pointer {
				t.Errorf("%s: %v, want an InvalidError at %s", file, err, pointer)
			}
		}
	})
}

// TestVerdicts has one row for each keyword, with a value on either side of it.
func TestVerdicts(t *testing.T) {
	cases := []struct{ schema, good, bad, where string }{
		{`true`, `1`, ``, ``},
		{`false`, ``, `1`, ` false`},
		{`{"type":"integer","maximum":9007199254740992}`, `9007199254740992`, `9007199254740993`, ` maximum`},
		{`{"type":["string","null"]}`, `null`, `1`, ` type`},
		{`{"const":{"a":[1.0]}}`, `{"a":[1]}`, `{"a":[2]}`, ` const`},
		{`{"enum":["a",1]}`, `1e0`, `"b"`, ` enum`},
		{`{"minLength":2,"maxLength":2}`, `"日本"`, `"日"`, ` minLength`},
		{`{"pattern":"^\\u0041[\\d]\\/$"}`, `"A1/"`, `"B1/"`, ` pattern`},
		{`{"multipleOf":0.1}`, `0.3`, `0.35`, ` multipleOf`},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a",1]`, `/1 false`},
		{`{"contains":{"const":1},"minContains":2}`, `[1,1]`, `[1]`, ` minContains`},
		{`{"uniqueItems":true}`, `[1,"1"]`, `[1,1.0]`, ` uniqueItems`},
		{`{"required":["a"]}`, `{"a":null}`, `{}`, ` required`},
		{`{"properties":{"a/b":{"type":"string"}}}`, `{"a/b":""}`, `{"a/b":1}`, `/a~1b type`},
		{`{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"x1":""}`, `{"y":""}`, ` additionalProperties`},
		{`{"propertyNames":{"maxLength":1}}`, `{"a":1}`, `{"ab":1}`, ` propertyNames`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`, ` dependentRequired`},
		{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1,"b":1}`, `{"a":1}`, ` required`},
		{`{"allOf":[{"minimum":1},{"maximum":2}]}`, `2`, `3`, ` maximum`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `null`, `1`, ` anyOf`},
		{`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `1`, `2`, ` oneOf`},
		{`{"not":{"type":"string"}}`, `1`, `""`, ` not`},
		{`{"if":{"type":"string"},"then":{"minLength":1},"else":{"minimum":1}}`, `"a"`, `0`, ` minimum`},
		{`{"properties":{"a":true},"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`, `/b false`},
		{`{"$ref":"#/$defs/x","$defs":{"x":{"$anchor":"y","minimum":1}},"properties":{"z":{"$ref":"#y"}}}`, `1`, `0`, ` minimum`},
		{`{"$id":"https://x.example/a","$defs":{"b":{"$id":"b","minimum":1}},"$ref":"b"}`, `1`, `0`, ` minimum`},
		{`{"format":"date"}`, `"not a date"`, ``, ``},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"date"}`, `"2026-07-28"`, `"not a date"`, ` format`},
		{`{"$schema":"http://json-schema.org/draft-07/schema","definitions":{"x":{"minimum":1}},"items":{"$ref":"#/definitions/x","minimum":9}}`, `[1]`, `[0]`, `/0 minimum`},
		{`{"$schema":"http://json-schema.org/draft-07/schema","dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"b":1}`, `{"a":1}`, ` dependencies`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","components":{"x":{"minimum":1}},"$ref":"#/components/x"}`, `1`, `0`, ` minimum`},
	}
	for _, c := range cases {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if c.good != "" {
			if err := s.Validate([]byte(c.good)); err != nil {
				t.Errorf("%s accepts %s not: %v", c.schema, c.good, err)
			}
		}
		if c.bad == "" {
			continue
		}
		for range 20 { // the same failure every time
			var got *ValidationError
			if err := s.Validate([]byte(c.bad)); !errors.As(err, &got) || got.InstancePointer+" "+got.Keyword != c.where {
				t.Errorf("%s on %s: %v, want %s", c.schema, c.bad, err, c.where)
				break
			}
		}
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`1`, `invalid schema at "": a schema is an object, true or false`},
		{`{"a":1,"a":2}`, `invalid schema at "": not JSON at byte 7: duplicate member name "a"`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, `schema not supported at "": dialect "http://json-schema.org/draft-04/schema#" is not supported, want 2020-12 or draft-07`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema"}`, `schema not supported at "": dialect "https://json-schema.org/draft/2019-09/schema" is not supported, want 2020-12 or draft-07`},
		{`{"$recursiveRef":"#"}`, `schema not supported at "": keyword $recursiveRef is not supported`},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `schema not supported at "/$ref": reference to a meta-schema`},
		{`{"$ref":"#/nowhere"}`, `invalid schema at "/$ref": reference to nothing in the schema`},
		{`{"$ref":"#nowhere"}`, `invalid schema at "": reference to an anchor that the schema does not have`},
		{`{"$ref":"other.json"}`, `schema not supported at "": reference to "other.json" leaves the document and is not loaded`},
		{`{"patternProperties":{"(?=a)":{}}}`, `schema not supported at "/patternProperties": pattern is not a regular expression that RE2 accepts: invalid or unsupported Perl syntax`},
		{`{"pattern":"\\1"}`, `schema not supported at "/pattern": pattern is not a regular expression that RE2 accepts: invalid escape sequence`},
		{`{"properties":{"a":{"enum":1}}}`, `invalid schema at "/properties/a/enum": the dialect's meta-schema refuses it: keyword "type"`},
	} {
		_, err := Compile([]byte(c.schema))
		if err == nil || err.Error() != c.want {
			t.Errorf("Compile(%s) = %v, want %s", c.schema, err, c.want)
		}
	}
}

// TestErrorsHoldNoValues looks for a canary from the instance in every kind of failure.
func TestErrorsHoldNoValues(t *testing.T) {
	const canary = "canary-4711"
	for _, schema := range []string{
		`{"properties":{"a":{"type":"integer"}}}`, `{"properties":{"a":{"const":"x"}}}`, `{"properties":{"a":{"enum":["x"]}}}`,
		`{"properties":{"a":{"pattern":"^x"}}}`, `{"properties":{"a":{"maxLength":1}}}`,
	} {
		s, err := Compile([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		err = s.Validate([]byte(`{"a":"` + canary + `"}`))
		if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "/a") {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestLongPointersAreCut(t *testing.T) {
	s, err := Compile([]byte(`{"additionalProperties":false,"patternProperties":{"^":{"type":"null"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got *ValidationError
	if err := s.Validate([]byte(`{"` + strings.Repeat("é", 10_000) + `":1}`)); !errors.As(err, &got) || len(got.InstancePointer) > maxPointer+3 ||
		!strings.HasSuffix(got.InstancePointer, "é…") {
		t.Errorf("Validate = %v", err)
	}
}

// TestConcurrentUse validates with one schema from several goroutines, also where validation reads patterns.
func TestConcurrentUse(t *testing.T) {
	s, err := Compile([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"regex","pattern":"^[ab(]"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				if err := s.Validate(fmt.Appendf(nil, `{"a":"a%d"}`, i)); err != nil {
					t.Error(err)
				}
				if err := s.Validate(fmt.Appendf(nil, `{"a":"(%d"}`, i)); err == nil {
					t.Error("an open group is a pattern")
				}
			}
		})
	}
	wg.Wait()
}

// FuzzDecode holds decode against the strict door, which says what is accepted, and against encoding/json, which says
// what is read.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+3,true,false,null,"\u00e9\ud83d\ude00\n"]}`, `"\ud800"`, `01`, `[1,]`, "\"\xff\"", `{"a":1,"a":2}`, ` [ ] `, `{"":{},"b" : [[],[1 , 2]]}`, `1e20000`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		const depth, nodes = 20, 1000
		got, sh, err := decode(src, depth, nodes)
		if checked := strictjson.Check(src, strictjson.Limits{Depth: depth}); (err == nil) != (checked == nil) {
			if checked == nil && (errors.Is(err, errTooManyNodes) || len(src) > maxNumberBytes || bytes.ContainsAny(src, "eE")) {
				return // the bounds that the strict door does not have
			}
			t.Fatalf("decode(%q) = %v, the strict door says %v", src, err, checked)
		}
		if err != nil {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(src))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("decode(%q) accepts what encoding/json refuses: %v", src, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("decode(%q): %s", src, diff)
		}
		if size, _ := weigh(got); size > sh.nodes {
			t.Fatalf("decode(%q) counted %d values, want at least %d", src, sh.nodes, size)
		}
	})
}

// FuzzCheapIsAffordable holds the sums against the exact walk: what the sums let through, the walk lets through too.
func FuzzCheapIsAffordable(f *testing.F) {
	for _, v := range vectors() {
		if len(v.schema)+len(v.instance) < 20_000 {
			f.Add([]byte(v.schema), []byte(v.instance))
		}
	}
	f.Fuzz(func(t *testing.T, schema, instance []byte) {
		s, err := Compile(schema)
		if err != nil {
			return
		}
		v, sh, err := decode(instance, maxInstanceDepth, maxInstanceNodes)
		if err != nil {
			return
		}
		if s.graph.cheap(sh) && !s.graph.affordable(v) {
			t.Errorf("schema %s: the sums allow an instance of %+v, the walk does not", schema, sh)
		}
	})
}

// TestMissing: a property that is asked for and not there is named as the schema spells it, always the same one.
func TestMissing(t *testing.T) {
	for _, tt := range []struct{ schema, value, at, keyword, missing string }{
		{`{"type":"object","required":["b","a/c","z"]}`, `{"z":1}`, "", "required", "a/c"},
		{`{"properties":{"in":{"required":["day"]}}}`, `{"in":{}}`, "/in", "required", "day"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "", "dependentRequired", "b"},
		{`{"required":["` + strings.Repeat("n", 300) + `"]}`, `{}`, "", "required", strings.Repeat("n", maxPointer) + "…"},
		{`{"type":"object"}`, `[]`, "", "type", ""},
	} {
		s, err := Compile([]byte(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		var got *ValidationError
		if err := s.Validate([]byte(tt.value)); !errors.As(err, &got) || *got != (ValidationError{tt.at, tt.keyword, tt.missing}) {
			t.Errorf("%s in %s: %v", tt.value, tt.schema, err)
		}
	}
}
