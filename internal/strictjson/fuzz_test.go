package strictjson_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

var fuzzSeeds = []string{
	`{"b":[1.50,{"d":"\u0041","c":null}],"a":{ "f":1e3, "e":2 },"x\u0079":"é","xx":0}`,
	"\t[ 1 , -0.0 , 1e21 , 9007199254740993 , \"\\ud83d\\ude00\\/\" , true ] \n",
	`{"€":1,"\r":2,"1":4,"😀":5,"\u0080":6,"ö":7,"` + "\ufb33" + `":0}`,
	`{"a":{"a":{"b":0,"a":[[[{"c":0,"b":1}]]]},"":1},"A":[]}`,
	`{"a":1,"\u0061":2}`,
	`"\ud800"`,
	"[\"\xff\"]",
	"[1e10001,0.000001,123456789012345678]",
	`{"p25":0,"p24":0,"p23":0,"p22":0,"p21":0,"p20":0,"p19":0,"p18":0,"p17":0,"p16":0,"p15":0,"p14":0,"p13":0,"p12":0,"p11":0,"p10":0,"p9":0,"p8":0,"p7":0,"p6":0,"p5":0,"p4":0,"p3":0,"p2":0,"p1":0,"p0":0}`,
}

// FuzzCanonical holds what callers build on: Check and AppendCanonical accept the same texts, which are those that
// another strict parser accepts except for the bounds of numbers; the canonical form is a fixed point and has no other
// value; compacting changes nothing but white space; where every number is ordinary, the form is RFC 8785's.
func FuzzCanonical(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		before := bytes.Clone(src)
		checked := strictjson.Check(src, strictjson.Limits{})
		form, err := strictjson.AppendCanonical(nil, src, strictjson.Limits{})
		if !bytes.Equal(src, before) {
			t.Fatal("the text was written to")
		}
		if (checked == nil) != (err == nil) || err != nil && err.Error() != checked.Error() {
			t.Fatalf("Check says %v, AppendCanonical %v", checked, err)
		}
		if err != nil {
			fault := err.(*strictjson.Error)
			if fault.Offset < 0 || fault.Offset > len(src) || len(fault.Pointer) > 256 || len(err.Error()) > 2000 {
				t.Fatalf("fault out of bounds: %#v", fault)
			}
			switch fault.Class {
			case strictjson.ClassDepth, strictjson.ClassSize, strictjson.ClassExponent, strictjson.ClassDigits:
			default:
				if jsontext.Value(src).IsValid() {
					t.Fatalf("%v, but jsontext accepts it", err)
				}
			}
			return
		}
		if !jsontext.Value(src).IsValid() {
			t.Fatal("accepted, but jsontext refuses it")
		}

		again, err := strictjson.AppendCanonical(nil, form, strictjson.Limits{})
		if err != nil || !bytes.Equal(again, form) {
			t.Fatalf("form %q has another form %q (%v)", form, again, err)
		}
		compact := strictjson.AppendCompact(nil, src)
		again, err = strictjson.AppendCanonical(nil, compact, strictjson.Limits{})
		if err != nil || !bytes.Equal(again, form) {
			t.Fatalf("compact text %q has another form %q (%v)", compact, again, err)
		}
		if want := jsontext.Value(bytes.Clone(src)); want.Compact() != nil || len(want) != len(compact) {
			t.Fatalf("compact text %q, want %q", compact, want)
		}
		if v := strictjson.Value(form); !strictjson.Equal(v, strictjson.Value(compact)) {
			t.Fatalf("%q and its form %q are not equal", src, form)
		}
		if ordinary(strictjson.Value(form)) {
			want := jsontext.Value(bytes.Clone(src))
			if err := want.Canonicalize(); err != nil || !bytes.Equal(want, form) {
				t.Fatalf("form %q, want %q (%v)", form, want, err)
			}
		}
		walk(t, strictjson.Value(form))
	})
}

// ordinary reports whether every number has at most 15 digits and is far from the ends of the doubles.
func ordinary(v strictjson.Value) bool {
	switch v.Kind() {
	case strictjson.KindObject:
		for _, m := range v.Members() {
			if !ordinary(m) {
				return false
			}
		}
	case strictjson.KindArray:
		for e := range v.Elements() {
			if !ordinary(e) {
				return false
			}
		}
	case strictjson.KindNumber:
		digits, exp, _ := strings.Cut(string(v), "e")
		return strings.Count(digits, "")-1 <= 15 && len(exp) <= 3 // e±99
	}
	return true
}

// walk holds that the accessors find everything: what they return, put together, is the value.
func walk(t *testing.T, v strictjson.Value) {
	out := []byte(nil)
	switch v.Kind() {
	case strictjson.KindObject:
		out = append(out, '{')
		for name, m := range v.Members() {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(strictjson.AppendString(out, name), ':'), m...)
			if got, ok := v.Get(name); !ok || !bytes.Equal(got, m) {
				t.Fatalf("Get(%q) of %q = %q, want %q", name, v, got, m)
			}
			walk(t, m)
		}
		out = append(out, '}')
	case strictjson.KindArray:
		out = append(out, '[')
		for e := range v.Elements() {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, e...)
			walk(t, e)
		}
		out = append(out, ']')
	case strictjson.KindString:
		s, ok := v.Text()
		if !ok {
			t.Fatalf("Text(%q) is not ok", v)
		}
		out = strictjson.AppendString(nil, s)
	case strictjson.KindNumber:
		s, ok := v.Number()
		if !ok {
			t.Fatalf("Number(%q) is not ok", v)
		}
		out = []byte(s)
	default:
		return
	}
	if !bytes.Equal(out, v) {
		t.Fatalf("the accessors give %q of %q", out, v)
	}
}

// FuzzValue holds that the accessors end and do not panic on bytes that were never checked.
func FuzzValue(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s), "a")
	}
	f.Fuzz(func(t *testing.T, src []byte, name string) {
		v := strictjson.Value(src)
		n := 0
		for range v.Members() {
			n++
		}
		for range v.Elements() {
			n++
		}
		if n > len(src) {
			t.Fatalf("%d parts of %d bytes", n, len(src))
		}
		v.Get(name)
		v.Text()
		v.Int()
		v.Number()
		v.Bool()
		strictjson.AppendCompact(nil, src)
	})
}

func TestSeedsAreNotEmpty(t *testing.T) {
	good := 0
	for _, s := range fuzzSeeds {
		if strictjson.Check([]byte(s), strictjson.Limits{}) == nil {
			good++
		}
	}
	if good < 4 || len(fuzzSeeds)-good < 3 {
		t.Errorf("%d of %d seeds are good, want some of both", good, len(fuzzSeeds))
	}
}
