package strictjson

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestRedacted: names are redacted whole, before the pointer and the reason cut them.
func TestRedacted(t *testing.T) {
	redact := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("to/ken"), []byte("***")) }
	long := strings.Repeat("p", 61)
	for src, want := range map[string][2]string{
		`{"a":{"to/ken":[1,{"x":tru}]}}`:                              {"/a/***/1/x", ""},
		`{"a":{"t\u006f/ken":[`:                                       {"/a/***/0", ""},
		`{"` + long + `to/ken":1,"` + long + `to/ken":2}`:             {"", `duplicate member name "` + long + `***"`},
		`{"b":{"to/ken":1,"c":2,"t\u006f\/ken":2}}`:                   {"/b", `duplicate member name "***"`},
		`{"` + strings.Repeat("p", 240) + `":{"to/ken":{"a":[tru]}}}`: {"/" + strings.Repeat("p", 240) + "/***/a/0", ""},
	} {
		err := Check([]byte(src), Limits{})
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", src, err)
		}
		before := *e
		r := e.Redacted([]byte(src), redact)
		if r.Pointer != want[0] || want[1] != "" && r.Reason != want[1] || want[1] == "" && r.Reason != e.Reason || *e != before {
			t.Errorf("%.60s: %q %q, want %q", src, r.Pointer, r.Reason, want)
		}
		if e.Redacted([]byte(src), nil) != e {
			t.Errorf("%.60s: nil changes the error", src)
		}
	}
}
