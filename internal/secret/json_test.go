package secret

import (
	"encoding/json"
	"testing"
)

// TestRedactJSON: what was JSON stays JSON, with the same structure.
func TestRedactJSON(t *testing.T) {
	r := NewRedactor(New("server", "a"), New("tok-1234", "b"), New("pass\"w\n", "c"))
	for in, want := range map[string]string{
		`{"server":"server","servers": [ "a server" , 1 ] }`: `{"server":"(sensitive)","servers": [ "a (sensitive)" , 1 ] }`,
		`{"tok-1234":{"x":"tok\u002d1234é\u200b"}}`:          `{"(sensitive)":{"x":"(sensitive)\u00e9\u200b"}}`,
		`{"a":"pass\"w\n","b":"\\"}` + "\n":                  `{"a":"(sensitive)","b":"\\"}` + "\n",
		`{"a":"😀 tok-1234"}`:                                 `{"a":"\ud83d\ude00 (sensitive)"}`,
		`{"a":"nothing é"}`:                                  `{"a":"nothing é"}`,
		`no JSON "tok-1234`:                                  `no JSON "(sensitive)`,
		`"\x tok-1234"`:                                      `"\x (sensitive)"`,
		``:                                                   ``,
	} {
		if got := string(r.RedactJSON([]byte(in))); got != want {
			t.Errorf("RedactJSON(%s)\n got %s\nwant %s", in, got, want)
		}
	}
}

func FuzzRedactJSON(f *testing.F) {
	f.Add(`{"server":["server",{"a":"tok-\u0031234"}]}`)
	r := NewRedactor(New("server", "a"), New("tok-1234", "b"))
	f.Fuzz(func(t *testing.T, s string) {
		out := r.RedactJSON([]byte(s))
		if json.Valid([]byte(s)) && !json.Valid(out) {
			t.Fatalf("%q becomes %q, which is no JSON", s, out)
		}
		if again := r.RedactJSON(out); string(again) != string(out) {
			t.Fatalf("%q becomes %q and then %q", s, out, again)
		}
	})
}

func TestMoreForms(t *testing.T) {
	value := "a/b~c \"d\te\\f"
	r := NewRedactor(New(value, "x"))
	for name, text := range map[string]string{
		"pointer":             pointerEscape.Replace(value),
		"pointer of Go text":  pointerEscape.Replace(quotings(value)[3]),
		"Go text of pointer":  quotings(pointerEscape.Replace(value))[3],
		"JSON in JSON":        quotings(quotings(value)[0])[0],
		"JSON of a Go string": quotings(quotings(value)[3])[0],
	} {
		if got := r.RedactString("x " + text + " y"); got != "x "+Mask+" y" {
			t.Errorf("%s: %s becomes %s", name, text, got)
		}
	}
	if got := AtLeast(3, New("ab", "1"), New("abc", "2")); len(got) != 1 || got[0].Ref() != "2" {
		t.Errorf("AtLeast = %v", got)
	}
}
