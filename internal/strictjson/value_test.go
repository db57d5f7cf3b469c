package strictjson_test

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func parse(t *testing.T, src string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte(src), strictjson.Limits{})
	if err != nil {
		t.Fatalf("Parse(%q): %v", src, err)
	}
	return v
}

func TestKind(t *testing.T) {
	tests := map[string]strictjson.Kind{
		" {} ": strictjson.KindObject, "[1]": strictjson.KindArray, `"x"`: strictjson.KindString, "-1": strictjson.KindNumber,
		"7": strictjson.KindNumber, "true": strictjson.KindTrue, "false": strictjson.KindFalse, "null": strictjson.KindNull,
	}
	for in, want := range tests {
		if got := parse(t, in).Kind(); got != want {
			t.Errorf("Kind(%s) = %v, want %v", in, got, want)
		}
	}
	if k := strictjson.Value(nil).Kind(); k != strictjson.KindInvalid || k.String() != "nothing" {
		t.Errorf("Kind of nil = %v, want nothing", k)
	}
}

func TestMembers(t *testing.T) {
	v := parse(t, ` { "a" : 1 , "b\n\u0062" :[ {"a":2} , "]" ] ,"":{"x":"}\""},"n":null,"s":"," , "t":-1.5e3 } `)
	var got []string
	for name, member := range v.Members() {
		got = append(got, name+"="+string(member))
	}
	want := []string{"a=1", "b\nb=[ {\"a\":2} , \"]\" ]", `={"x":"}\""}`, "n=null", `s=","`, "t=-1.5e3"}
	if !slices.Equal(got, want) {
		t.Errorf("Members = %q, want %q", got, want)
	}
	got = nil
	for f := v.Fields(); f.Next(); {
		got = append(got, string(f.Name)+"="+string(f.Value))
		_ = append(f.Name, "overwritten"...)
		_ = append(f.Value, "overwritten"...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("Fields = %q, want %q", got, want)
	}
	for range v.Members() {
		break // stopping early is allowed
	}
	for _, name := range []string{"a", "b\nb", "", "n", "s", "t"} {
		if _, ok := v.Get(name); !ok {
			t.Errorf("Get(%q) found nothing", name)
		}
	}
	for _, name := range []string{"A", "b\\n\\u0062", "x", "a ", "b"} {
		if got, ok := v.Get(name); ok {
			t.Errorf("Get(%q) = %s, want nothing", name, got)
		}
	}
	if got, _ := v.Get("a"); string(got) != "1" {
		t.Errorf("Get(a) = %s, want 1", got)
	}
	for _, other := range []strictjson.Value{nil, parse(t, "[1]"), parse(t, `"a"`)} {
		for range other.Members() {
			t.Errorf("%q has members", other)
		}
		if f := other.Fields(); f.Next() {
			t.Errorf("%q has fields", other)
		}
		if _, ok := other.Get("a"); ok {
			t.Errorf("Get on %q found something", other)
		}
	}
}

func TestElements(t *testing.T) {
	tests := map[string][]string{
		"[]":                              nil,
		"[ ]":                             nil,
		`[1, "a]" ,[ 2 , [3]],{"b":[4]}]`: {"1", `"a]"`, "[ 2 , [3]]", `{"b":[4]}`},
		"[true,false,null,-1.5e+3]":       {"true", "false", "null", "-1.5e+3"},
		`{"a":1}`:                         nil,
	}
	for in, want := range tests {
		var got []string
		for e := range parse(t, in).Elements() {
			got = append(got, string(e))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Elements(%s) = %q, want %q", in, got, want)
		}
	}
}

func TestText(t *testing.T) {
	tests := map[string]string{
		`""`: "", `"plain"`: "plain", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u00e9\ud83d\ude00x"`: "é😀x", `"é"`: "é",
	}
	for in, want := range tests {
		if got, ok := parse(t, in).Text(); !ok || got != want {
			t.Errorf("Text(%s) = %q, %v, want %q", in, got, ok, want)
		}
	}
	if _, ok := parse(t, "1").Text(); ok {
		t.Error("Text of a number is ok")
	}
}

func TestInt(t *testing.T) {
	good := map[string]int64{
		"0": 0, "-0": 0, "-0.0": 0, "7": 7, "60000.0": 60000, "6e4": 60000, "0.6e5": 60000, "600000E-1": 60000, "1e18": 1e18,
		"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64, "9007199254740993": 9007199254740993,
		"92233720368547758070e-1": math.MaxInt64, "-1": -1, "-9223372036854775807": -math.MaxInt64, "0e9999999": 0,
	}
	for in, want := range good {
		if got, ok := parse(t, in).Int(); !ok || got != want {
			t.Errorf("Int(%s) = %d, %v, want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"0.5", "1e-1", "9223372036854775808", "-9223372036854775809", "1e19", "1e9999", "1.00000000000000000001", "null", `"1"`, "true", "10000000000000000000", "18446744073709551617"} {
		if got, ok := parse(t, in).Int(); ok {
			t.Errorf("Int(%s) = %d, want none", in, got)
		}
	}
}

func TestBool(t *testing.T) {
	for in, want := range map[string][2]bool{"true": {true, true}, "false": {false, true}, "null": {}, "1": {}, `"true"`: {}} {
		if v, ok := parse(t, in).Bool(); v != want[0] || ok != want[1] {
			t.Errorf("Bool(%s) = %v, %v, want %v", in, v, ok, want)
		}
	}
}

func TestEqual(t *testing.T) {
	same := [][2]string{
		{"1", "1.0"}, {`{"a":1,"b":[2]}`, ` { "b" : [2e0] , "\u0061" : 1 }`}, {`"\/"`, `"/"`}, {"null", "null"}, {"-0", "0"},
	}
	for _, p := range same {
		if !strictjson.Equal(parse(t, p[0]), parse(t, p[1])) {
			t.Errorf("Equal(%s, %s) is false", p[0], p[1])
		}
	}
	different := [][2]string{
		{"9007199254740993", "9007199254740992"}, {`"1"`, "1"}, {"[1,2]", "[2,1]"}, {`"é"`, "\"e\u0301\""}, {"null", "false"},
	}
	for _, p := range different {
		if strictjson.Equal(parse(t, p[0]), parse(t, p[1])) {
			t.Errorf("Equal(%s, %s) is true", p[0], p[1])
		}
	}
	if !strictjson.Equal(nil, strictjson.Value{}) || strictjson.Equal(nil, strictjson.Value("null")) || strictjson.Equal(strictjson.Value("null"), nil) {
		t.Error("an absent value equals itself only")
	}
}

func TestAppendFields(t *testing.T) {
	fields, err := strictjson.AppendFields(nil, []byte(` {"b" : {"y":1,"x":2} ,"\u0061":[ ],"c":"x"} `), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fields {
		got = append(got, string(f.Name)+"="+string(f.Value))
	}
	if want := []string{`b={"y":1,"x":2}`, "a=[ ]", `c="x"`}; !slices.Equal(got, want) {
		t.Errorf("AppendFields = %q, want %q", got, want)
	}
	for _, in := range []string{"{}", " { } "} {
		if fields, err := strictjson.AppendFields(nil, []byte(in), strictjson.Limits{}); err != nil || len(fields) != 0 {
			t.Errorf("AppendFields(%s) = %v, %v", in, fields, err)
		}
	}
	for _, in := range []string{"[]", `{"a":1,"a":2}`, `{"b":1,"a":2,"b":3}`, `{"a":`, `{} {}`} {
		if fields, err := strictjson.AppendFields(nil, []byte(in), strictjson.Limits{}); err == nil || len(fields) != 0 {
			t.Errorf("AppendFields(%s) = %v, %v, want an error", in, fields, err)
		}
	}
	var b strings.Builder
	for i := range 500 { // more members than are sorted by insertion
		b.WriteString("{,"[min(i, 1):][:1] + `"n` + strconv.Itoa(999-i) + `":` + strconv.Itoa(i))
	}
	fields, err = strictjson.AppendFields(nil, []byte(b.String()+"}"), strictjson.Limits{})
	if err != nil || len(fields) != 500 || string(fields[499].Value) != "499" || string(fields[0].Name) != "n999" {
		t.Errorf("AppendFields of 500 members: %d fields, %v", len(fields), err)
	}
}

// TestUncheckedValues holds the promise for bytes that were never checked: something comes back.
func TestUncheckedValues(t *testing.T) {
	for _, in := range []string{
		"{", "[", `"`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, "[1", "[[", "[,", "{]", "[}", `["\`, "-", "x", "[x", `{"a":x}`,
		`{"\u12`, "[\xff\xff]", "[:]", "1x", "--", "1e", `{"a" "b"}`, `"\u`,
	} {
		v := strictjson.Value(in)
		for name := range v.Members() {
			_ = name
		}
		for e := range v.Elements() {
			e.Kind()
		}
		v.Get("a")
		v.Text()
		v.Int()
		v.Number()
		v.Bool()
		strictjson.Equal(v, v)
		strictjson.AppendCompact(nil, v)
	}
}

func TestParseAliases(t *testing.T) {
	src := []byte(" [1] ")
	v, err := strictjson.Parse(src, strictjson.Limits{})
	if err != nil || string(v) != "[1]" || !bytes.Equal(src[1:4], v) {
		t.Fatalf("Parse = %q, %v", v, err)
	}
	if _ = append(v, 'x'); src[4] != ' ' {
		t.Error("appending to the value wrote into the text")
	}
}
