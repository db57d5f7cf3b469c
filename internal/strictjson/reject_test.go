package strictjson_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func TestReject(t *testing.T) {
	const (
		syntax    = strictjson.ClassSyntax
		duplicate = strictjson.ClassDuplicate
		surrogate = strictjson.ClassSurrogate
		utf8      = strictjson.ClassUTF8
		control   = strictjson.ClassControl
		trailing  = strictjson.ClassTrailing
	)
	tests := []struct {
		in      string
		class   strictjson.Class
		offset  int
		pointer string
	}{
		{"", syntax, 0, ""},
		{"  ", syntax, 2, ""},
		{"\xef\xbb\xbf{}", strictjson.ClassBOM, 0, ""},
		{"\ufeff", strictjson.ClassBOM, 0, ""},
		{"{}\ufeff", trailing, 2, ""},
		{"[\ufeff]", syntax, 1, "/0"},
		{"{} {}", trailing, 3, ""},
		{"1 2", trailing, 2, ""},
		{"{}x", trailing, 2, ""},
		{"{}\x00", trailing, 2, ""},
		{"{}\v", trailing, 2, ""},
		{"\u00a0{}", syntax, 0, ""},
		{"nul", syntax, 0, ""},
		{"nulL", syntax, 0, ""},
		{"tru", syntax, 0, ""},
		{"fals", syntax, 0, ""},
		{"True", syntax, 0, ""},
		{"truex", trailing, 4, ""},
		{"NaN", syntax, 0, ""},
		{"-Infinity", syntax, 1, ""},
		{"'a'", syntax, 0, ""},
		{"// x\n1", syntax, 0, ""},
		{"[1,]", syntax, 3, "/1"},
		{"[,1]", syntax, 1, "/0"},
		{"[1 2]", syntax, 3, "/0"},
		{"[1", syntax, 2, "/0"},
		{"[1,", syntax, 3, "/1"},
		{"[", syntax, 1, "/0"},
		{"[[1]", syntax, 4, "/0"},
		{"[1}", syntax, 2, "/0"},
		{"]", syntax, 0, ""},
		{"}", syntax, 0, ""},
		{"{", syntax, 1, ""},
		{`{"a"`, syntax, 4, "/a"},
		{`{"a":`, syntax, 5, "/a"},
		{`{"a":1`, syntax, 6, "/a"},
		{`{"a":1,`, syntax, 7, ""},
		{`{"a":1,}`, syntax, 7, ""},
		{`{"a" 1}`, syntax, 5, "/a"},
		{`{"a":1 "b":2}`, syntax, 7, "/a"},
		{`{"a":1]`, syntax, 6, "/a"},
		{`{a:1}`, syntax, 1, ""},
		{`{1:1}`, syntax, 1, ""},
		{`{,}`, syntax, 1, ""},
		{`{"a":}`, syntax, 5, "/a"},
		{"01", syntax, 1, ""},
		{"-01", syntax, 2, ""},
		{"00", syntax, 1, ""},
		{"-", syntax, 1, ""},
		{"+1", syntax, 0, ""},
		{".5", syntax, 0, ""},
		{"1.", syntax, 2, ""},
		{"[1.]", syntax, 3, "/0"},
		{"1.e5", syntax, 2, ""},
		{"1e", syntax, 2, ""},
		{"1e+", syntax, 3, ""},
		{"[1e-]", syntax, 4, "/0"},
		{"0x10", trailing, 1, ""},
		{"1_000", trailing, 1, ""},
		{`"abc`, syntax, 4, ""},
		{`"abcdefghij`, syntax, 11, ""},
		{`"\`, syntax, 2, ""},
		{`"\"`, syntax, 3, ""},
		{`"\x41"`, syntax, 2, ""},
		{`"\U0041"`, syntax, 2, ""},
		{`"\u004"`, syntax, 1, ""},
		{`"\u00g0"`, syntax, 1, ""},
		{`"\u+041"`, syntax, 1, ""},
		{`"\u`, syntax, 1, ""},
		{"\"a\nb\"", control, 2, ""},
		{"\"\x00\"", control, 1, ""},
		{"\"12345678\x1f\"", control, 9, ""},
		{"{\"\t\":1}", control, 2, ""},
		{`"\ud800"`, surrogate, 1, ""},
		{`"\udc00"`, surrogate, 1, ""},
		{`"\ud800\ud800"`, surrogate, 1, ""},
		{`"\ud800\u0041"`, surrogate, 1, ""},
		{`"\udfff\ud800"`, surrogate, 1, ""},
		{`"\ud83d\n"`, surrogate, 1, ""},
		{`"\ud83d\ude0"`, surrogate, 1, ""},
		{`{"\ud800":1}`, surrogate, 2, ""},
		{"\"\x80\"", utf8, 1, ""},
		{"\"\xff\"", utf8, 1, ""},
		{"\"\xc0\x80\"", utf8, 1, ""},
		{"\"\xc1\xbf\"", utf8, 1, ""},
		{"\"\xe0\x9f\xbf\"", utf8, 1, ""},
		{"\"\xed\xa0\x80\"", utf8, 1, ""}, // a surrogate in three bytes
		{"\"\xed\xb0\x80\"", utf8, 1, ""},
		{"\"\xf0\x8f\xbf\xbf\"", utf8, 1, ""},
		{"\"\xf4\x90\x80\x80\"", utf8, 1, ""}, // beyond U+10FFFF
		{"\"\xf5\x80\x80\x80\"", utf8, 1, ""},
		{"\"\xe2\x82\"", utf8, 1, ""},
		{"\"\xe2\x82", utf8, 1, ""},
		{"\"é\xe2\x28\xa1\"", utf8, 3, ""},
		{"{\"\xff\":1}", utf8, 2, ""},
		{"[\xff]", syntax, 1, "/0"},
		{`{"a":1,"a":1}`, duplicate, 7, ""},
		{`{"a":1,"\u0061":2}`, duplicate, 7, ""},
		{`{"\u0061":1,"a":2}`, duplicate, 12, ""},
		{`{"":1,"":2}`, duplicate, 6, ""},
		{`{"a/b":{"c~d":[0,{"b":0,"a":1,"b":2}]}}`, duplicate, 30, "/a~1b/c~0d/1"},
		{`{"😀":1,"\ud83d\ude00":2}`, duplicate, 10, ""},
		{`{"z":0,"é":{"x":1,"x":1}}`, duplicate, 19, "/é"},
		{`{"a":1,"a":1} x`, duplicate, 7, ""},
	}
	for _, tt := range tests {
		err := strictjson.Check([]byte(tt.in), strictjson.Limits{})
		var fault *strictjson.Error
		if !errors.As(err, &fault) {
			t.Errorf("Check(%q) = %v, want a *strictjson.Error", tt.in, err)
			continue
		}
		if fault.Class != tt.class || fault.Offset != tt.offset || fault.Pointer != tt.pointer {
			t.Errorf("Check(%q) = class %s, byte %d, pointer %q (%v)\nwant class %s, byte %d, pointer %q",
				tt.in, fault.Class, fault.Offset, fault.Pointer, err, tt.class, tt.offset, tt.pointer)
		}
		if errors.Is(err, strictjson.ErrLimit) {
			t.Errorf("Check(%q) = %v is a limit", tt.in, err)
		}
		if _, other := strictjson.AppendCanonical(nil, []byte(tt.in), strictjson.Limits{}); other == nil || other.Error() != err.Error() {
			t.Errorf("AppendCanonical(%q) = %v, Check says %v", tt.in, other, err)
		}
		if v, err := strictjson.Parse([]byte(tt.in), strictjson.Limits{}); err == nil || v != nil {
			t.Errorf("Parse(%q) = %q, %v, want nil and an error", tt.in, v, err)
		}
	}
}

// TestAcceptTwins holds the last good neighbour of each class above.
func TestAcceptTwins(t *testing.T) {
	for _, in := range []string{
		"{}\r\n", "\t1 ", `"\ufeff"`, "\"\ufeff\"", `"\ud83d\ude00"`, `"\uD800\uDC00"`, `"\udbff\udfff"`, `"\u0000"`,
		"\"\x7f\"", "\"\u0080\"", "\"\ud7ff\ue000\uffff\U00010000\U0010ffff\"", `{"a":1,"A":1}`, `{"a":1,"a ":1}`,
		`[{"a":1},{"a":1}]`, `{"a":{"a":{"a":1}}}`, "-0", "-0.0e-0", "0E+0", `{"é":1,"e` + "\u0301" + `":2}`,
	} {
		if err := strictjson.Check([]byte(in), strictjson.Limits{}); err != nil {
			t.Errorf("Check(%q): %v", in, err)
		}
	}
}

func TestCheckObject(t *testing.T) {
	for _, tt := range []struct {
		in    string
		class strictjson.Class
	}{
		{"[]", strictjson.ClassKind},
		{`"x"`, strictjson.ClassKind},
		{" 1", strictjson.ClassKind},
		{"null", strictjson.ClassKind},
		{"", strictjson.ClassSyntax},
		{"x", strictjson.ClassSyntax},
		{`{"a":1,"a":2}`, strictjson.ClassDuplicate},
	} {
		var fault *strictjson.Error
		if err := strictjson.CheckObject([]byte(tt.in), strictjson.Limits{}); !errors.As(err, &fault) || fault.Class != tt.class {
			t.Errorf("CheckObject(%q) = %v, want class %s", tt.in, err, tt.class)
		}
	}
	if err := strictjson.CheckObject([]byte(" {\"a\":[]}\n"), strictjson.Limits{}); err != nil {
		t.Errorf("CheckObject(object): %v", err)
	}
}

// TestErrorText shows what a person reads, and that no value and not much of a name gets there.
func TestErrorText(t *testing.T) {
	long := strings.Repeat("n", 5000)
	tests := []struct{ in, want string }{
		{`{"a":{"b":{"x":"secret","x":"secret"}}}`, `at /a/b (byte 24): duplicate member name "x"`},
		{`[1,tru]`, `at /1 (byte 3): got byte 0x74, want a value`},
		{`{"a":`, `at /a (byte 5): got the end of the text, want a value`},
		{"{\"\u202e\n", "at the top (byte 5): control character in a string"},
		{"{\"\u202ex\":[01]}", `at /\u202ex/0 (byte 10): number with a leading zero`},
		{"{\"\u202ex\":1,\"\u202ex\":2}", `at the top (byte 10): duplicate member name "\u202ex"`},
		{
			`{"` + long + `":1,"` + long + `":2}`,
			`at the top (byte 5006): duplicate member name "` + strings.Repeat("n", 64) + `"...`,
		},
		{`{"a":{"` + long + `":[x`, `at /a/... (byte 5010): got byte 0x78, want a value`},
		{`[` + strings.Repeat(`{"abcdefg":`, 40), `at ` + "/0" + strings.Repeat("/abcdefg", 31) + `/... (byte 441): got the end of the text, want a value`},
	}
	for _, tt := range tests {
		err := strictjson.Check([]byte(tt.in), strictjson.Limits{})
		if err == nil || err.Error() != tt.want {
			t.Errorf("Check(%.60q):\n got %v\nwant %s", tt.in, err, tt.want)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("error text holds a value: %v", err)
		}
	}
}
