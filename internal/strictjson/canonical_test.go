package strictjson_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func canonical(t *testing.T, src string) string {
	t.Helper()
	got, err := strictjson.AppendCanonical(nil, []byte(src), strictjson.Limits{})
	if err != nil {
		t.Fatalf("AppendCanonical(%.200q): %v", src, err)
	}
	return string(got)
}

func TestCanonical(t *testing.T) {
	tests := []struct{ in, want string }{
		{`null`, `null`},
		{" \t\r\n true \n", `true`},
		{`[ ]`, `[]`},
		{`{ }`, `{}`},
		{`[ [ ] , { } , [ 1 , 2 ] ]`, `[[],{},[1,2]]`},
		{`[[[]],[[],[[1]]],2]`, `[[[]],[[],[[1]]],2]`},
		{`{"a":1,"b":2}`, `{"a":1,"b":2}`},
		{`{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{"{\n\t\"b\": 1,\n\t\"a\": 2\n}", `{"a":2,"b":1}`},
		{`{"a": {"d":1,"c":2}, "b":[{"f":1,"e":{"h":1,"g":2}}]}`, `{"a":{"c":2,"d":1},"b":[{"e":{"g":2,"h":1},"f":1}]}`},
		{`{"b":{"d":1,"c": 1.0 },"a":[ {"z":0,"y" :0}, {"x":"\/"} ]}`, `{"a":[{"y":0,"z":0},{"x":"/"}],"b":{"c":1,"d":1}}`},
		{`{"":1,"a":2}`, `{"":1,"a":2}`},
		{`{"a":2,"":1}`, `{"":1,"a":2}`},
		{`{"aaaaaaaab":1,"aaaaaaaaa":2,"aaaaaaaa":3}`, `{"aaaaaaaa":3,"aaaaaaaaa":2,"aaaaaaaab":1}`},
		{`{"a\u0000":1,"a":2}`, `{"a":2,"a\u0000":1}`},
		{`{"\"":1,"!":2,"#":3}`, `{"!":2,"\"":1,"#":3}`},
		{`{"€":1,"\r":2,"\ufb33":3,"1":4,"😀":5,"\u0080":6,"ö":7}`, `{"\r":2,"1":4,"` + "\u0080" + `":6,"ö":7,"€":1,"😀":5,"` + "\ufb33" + `":3}`},
		{`{"B":1,"a":2,"A":3}`, `{"A":3,"B":1,"a":2}`},
		{`"\u0041\u00e9\u65e5\ud83d\ude00"`, `"Aé日😀"`},
		{`"\u0022\u005C\u002f\/"`, `"\"\\//"`},
		{`"\u0008\u0009\u000A\u000c\u000D\u0000\u001F\u007f"`, `"\b\t\n\f\r\u0000\u001f` + "\x7f" + `"`},
		{`"\b\t\n\f\r\u0000\u001f"`, `"\b\t\n\f\r\u0000\u001f"`},
		{`"\u2028<>&"`, "\"\u2028<>&\""},
		{`"\/a\/bcdefghijklmnopqrstuvw\/"`, `"/a/bcdefghijklmnopqrstuvw/"`},
	}
	for _, tt := range tests {
		if got := canonical(t, tt.in); got != tt.want {
			t.Errorf("AppendCanonical(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestCanonicalNumbers(t *testing.T) {
	tests := []struct{ in, want string }{
		{"0", "0"},
		{"-0", "0"},
		{"-0.0e5", "0"},
		{"0e99999999999999999999", "0"},
		{"1", "1"},
		{"1.0", "1"},
		{"1e0", "1"},
		{"10e-1", "1"},
		{"1E+0", "1"},
		{"-1.50", "-1.5"},
		{"100", "100"},
		{"1e2", "100"},
		{"1e00000000000000000000000000000000002", "100"},
		{"123456789012345", "123456789012345"},
		{"9007199254740991", "9007199254740991"},
		{"9007199254740992", "9007199254740992"},
		{"9007199254740993", "9.007199254740993e+15"},
		{"-9007199254740993", "-9.007199254740993e+15"},
		{"9007199254740994", "9007199254740994"},
		{"12345678901234567", "1.2345678901234567e+16"},
		{"12345678901234568", "12345678901234568"},
		{"18446744073709551615", "1.8446744073709551615e+19"},
		{"18446744073709551616", "1.8446744073709551616e+19"}, // 2^64, but 18446744073709552000 is the shortest spelling
		{"18446744073709552000", "18446744073709552000"},
		{"100000000000000000000", "100000000000000000000"},
		{"1e20", "100000000000000000000"},
		{"1e21", "1e+21"},
		{"1000000000000000000000", "1e+21"},
		{"123e19", "1.23e+21"},
		{"0.000001", "0.000001"},
		{"0.0000001", "1e-7"},
		{"1e-6", "0.000001"},
		{"1.5e-6", "0.0000015"},
		{"15e-8", "1.5e-7"},
		{"0.00000123456789", "0.00000123456789"},
		{"0.1", "0.1"},
		{"0.10", "0.1"},
		{"0.30000000000000004", "0.30000000000000004"},
		{"0.30000000000000003", "3.0000000000000003e-1"},
		{"0.1000000000000000055511151231257827", "1.000000000000000055511151231257827e-1"},
		{"333333333.33333329", "3.3333333333333329e+8"}, // the example of RFC 8785, which prints another number
		{"4.35", "4.35"},
		{"123.456e1", "1234.56"},
		{"5e-324", "5e-324"},
		{"2e-324", "2e-324"},
		{"1.7976931348623157e308", "1.7976931348623157e+308"},
		{"1e309", "1e+309"},
		{"1e400", "1e+400"},
		{"1e10000", "1e+10000"},
		{"1e-10000", "1e-10000"},
		{"0.00001e10005", "1e+10000"},
	}
	for _, tt := range tests {
		if got := canonical(t, tt.in); got != tt.want {
			t.Errorf("AppendCanonical(%s) = %s, want %s", tt.in, got, tt.want)
		}
		got, ok := strictjson.Value(tt.in).Number()
		if !ok || got != tt.want {
			t.Errorf("Value(%s).Number() = %s, %v, want %s", tt.in, got, ok, tt.want)
		}
	}
}

// TestLimits tries each limit at the last value that is allowed and at the first that is not.
func TestLimits(t *testing.T) {
	nest := func(open, shut string, n int) string { return strings.Repeat(open, n) + "1" + strings.Repeat(shut, n) }
	tests := []struct {
		name     string
		lim      strictjson.Limits
		good     string
		bad      string
		class    strictjson.Class
		badWhere int
	}{
		{"bytes", strictjson.Limits{Bytes: 5}, `"abc"`, `"abcd"`, strictjson.ClassSize, 5},
		{"bytes with white space", strictjson.Limits{Bytes: 3}, ` 1 `, ` 1  `, strictjson.ClassSize, 3},
		{"arrays", strictjson.Limits{Depth: 3}, nest("[", "]", 3), nest("[", "]", 4), strictjson.ClassDepth, 3},
		{"objects", strictjson.Limits{Depth: 3}, nest(`{"a":`, "}", 3), nest(`{"a":`, "}", 4), strictjson.ClassDepth, 15},
		{"array in object", strictjson.Limits{Depth: 1}, `{"a":1}`, `{"a":[]}`, strictjson.ClassDepth, 5},
		{"object in array", strictjson.Limits{Depth: 1}, `[1]`, `[{}]`, strictjson.ClassDepth, 1},
		{"second array", strictjson.Limits{Depth: 2}, `[[],[]]`, `[[],[[]]]`, strictjson.ClassDepth, 5},
		{"default depth", strictjson.Limits{}, nest("[", "]", 128), nest("[", "]", 129), strictjson.ClassDepth, 128},
		{"largest depth", strictjson.Limits{Depth: 1 << 30}, nest("[", "]", 10000), nest("[", "]", 10001), strictjson.ClassDepth, 10000},
		{
			"default bytes",
			strictjson.Limits{},
			`"` + strings.Repeat("a", strictjson.DefaultMaxBytes-2) + `"`,
			`"` + strings.Repeat("a", strictjson.DefaultMaxBytes-1) + `"`, strictjson.ClassSize, strictjson.DefaultMaxBytes,
		},
		{"exponent", strictjson.Limits{}, `[1e10000]`, `[1e10001]`, strictjson.ClassExponent, 1},
		{"negative exponent", strictjson.Limits{}, `[1e-10000]`, `[1e-10001]`, strictjson.ClassExponent, 1},
		{"exponent by digits", strictjson.Limits{}, `[10e9999]`, `[10e10000]`, strictjson.ClassExponent, 1},
		{"exponent by fraction", strictjson.Limits{}, `[0.1e10001]`, `[0.1e10002]`, strictjson.ClassExponent, 1},
		{"exponent by length", strictjson.Limits{}, "[1" + strings.Repeat("0", 10000) + "]", "[1" + strings.Repeat("0", 10001) + "]", strictjson.ClassExponent, 1},
		{"exponent out of int64", strictjson.Limits{}, `[1]`, `[1e99999999999999999999999999]`, strictjson.ClassExponent, 1},
		{"negative out of int64", strictjson.Limits{}, `[1]`, `[1e-99999999999999999999999999]`, strictjson.ClassExponent, 1},
		{"digits", strictjson.Limits{}, "[" + strings.Repeat("7", 400) + "]", "[" + strings.Repeat("7", 401) + "]", strictjson.ClassDigits, 1},
		{"digits of a fraction", strictjson.Limits{}, "[0." + strings.Repeat("0", 99) + strings.Repeat("7", 400) + "000]", "[0." + strings.Repeat("7", 401) + "]", strictjson.ClassDigits, 1},
		{"zeros inside count", strictjson.Limits{}, "[1" + strings.Repeat("0", 398) + "1]", "[1" + strings.Repeat("0", 399) + "1]", strictjson.ClassDigits, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := strictjson.Check([]byte(tt.good), tt.lim); err != nil {
				t.Errorf("Check(allowed): %v", err)
			}
			if _, err := strictjson.AppendCanonical(nil, []byte(tt.good), tt.lim); err != nil {
				t.Errorf("AppendCanonical(allowed): %v", err)
			}
			err := strictjson.Check([]byte(tt.bad), tt.lim)
			var fault *strictjson.Error
			if !errors.As(err, &fault) || fault.Class != tt.class || fault.Offset != tt.badWhere {
				t.Fatalf("Check(one beyond) = %v, want class %s at byte %d", err, tt.class, tt.badWhere)
			}
			if !errors.Is(err, strictjson.ErrLimit) {
				t.Errorf("errors.Is(%v, ErrLimit) is false", err)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("error text has %d bytes", len(err.Error()))
			}
			if _, other := strictjson.AppendCanonical(nil, []byte(tt.bad), tt.lim); other == nil || other.Error() != err.Error() {
				t.Errorf("AppendCanonical says %v, Check says %v", other, err)
			}
		})
	}
}

// TestMemberOrder sorts random names, of every length and with shared beginnings, and compares with a sort by UTF-16.
func TestMemberOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	alphabets := [][]rune{
		[]rune("ab"),
		[]rune("\x00\x01\"\\/ab"),
		[]rune("a\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"),
		[]rune("\uee00\uefff\U0001f600\uf000"),
	}
	prefixes := []string{"", "x", strings.Repeat("p", 7), strings.Repeat("p", 8), strings.Repeat("p", 9), strings.Repeat("é", 40)}
	for round := range 400 {
		alphabet := alphabets[rng.IntN(len(alphabets))]
		prefix := prefixes[rng.IntN(len(prefixes))]
		n := 1 + rng.IntN(200)
		seen := map[string]bool{}
		var names []string
		for range n {
			var b strings.Builder
			b.WriteString(prefix)
			for range rng.IntN(20) {
				b.WriteRune(alphabet[rng.IntN(len(alphabet))])
			}
			if s := b.String(); !seen[s] {
				seen[s] = true
				names = append(names, s)
			}
		}
		src := objectOf(names, func(s string) string { return spell(rng, s) })
		slices.SortFunc(names, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		want := objectOf(names, func(s string) string { return string(strictjson.AppendString(nil, s)) })
		if got := canonical(t, src); got != want {
			t.Fatalf("round %d: AppendCanonical(%q)\n got %q\nwant %q", round, src, got, want)
		}

		// One name again, spelled another way: refused, at the place of the second.
		again := names[rng.IntN(len(names))]
		at := rng.IntN(len(names) + 1)
		twice := slices.Insert(slices.Clone(names), at, again)
		second := at
		if first := slices.Index(twice, again); first == at {
			second = slices.Index(twice[at+1:], again) + at + 1
		}
		var spelled []string
		for _, s := range twice {
			spelled = append(spelled, spell(rng, s))
		}
		offset := 1
		for _, s := range spelled[:second] {
			offset += len(s) + len(":0,")
		}
		i := 0
		src = objectOf(twice, func(string) string { i++; return spelled[i-1] })
		var fault *strictjson.Error
		if err := strictjson.Check([]byte(src), strictjson.Limits{}); !errors.As(err, &fault) ||
			fault.Class != strictjson.ClassDuplicate || fault.Offset != offset {
			t.Fatalf("round %d: Check(%q) = %v, want a duplicate at byte %d", round, src, err, offset)
		}
	}
}

func objectOf(names []string, spell func(string) string) string {
	var b strings.Builder
	for i, s := range names {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(spell(s) + ":0")
	}
	return b.String() + "}"
}

// spell writes s as a JSON string with some characters escaped that need not be.
func spell(rng *rand.Rand, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r >= 0x20 && r != '"' && r != '\\' && rng.IntN(4) > 0 {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04X`, u)
		}
	}
	return b.String() + `"`
}

func TestEarliestDuplicate(t *testing.T) {
	for _, n := range []int{3, 1000} {
		var b strings.Builder
		b.WriteString(`{"first":0,"first":0`)
		for i := range n {
			fmt.Fprintf(&b, `,"n%d":0`, n-i)
		}
		for i := range n {
			fmt.Fprintf(&b, `,"n%d":0`, i+1)
		}
		var fault *strictjson.Error
		err := strictjson.Check([]byte(b.String()+"}"), strictjson.Limits{})
		if !errors.As(err, &fault) || fault.Offset != len(`{"first":0,`) {
			t.Errorf("Check = %v, want the first duplicate", err)
		}
	}
}

// TestAllocations holds the steady state: no allocation per text, whatever the text.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool forget")
	}
	src := []byte(`{"b":[1.50,{"d":"\u0041","c":null}],"a":{ "f":1e3, "e":2 },"x\u0079":"é","xx":0}`)
	var buf []byte
	var fields []strictjson.Field
	plain := []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	run := map[string]func(){
		"Check": func() {
			if err := strictjson.Check(src, strictjson.Limits{}); err != nil {
				t.Fatal(err)
			}
		},
		"AppendCanonical": func() {
			var err error
			if buf, err = strictjson.AppendCanonical(buf[:0], src, strictjson.Limits{}); err != nil {
				t.Fatal(err)
			}
		},
		"AppendFields": func() {
			var err error
			if fields, err = strictjson.AppendFields(fields[:0], plain, strictjson.Limits{}); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, f := range run {
		if n := testing.AllocsPerRun(200, f); n > 0.5 {
			t.Errorf("%s: %v allocations a run, want 0", name, n)
		}
	}
}

func TestAppendKeepsPrefix(t *testing.T) {
	got, err := strictjson.AppendCanonical([]byte("head "), []byte(`{"b":1,"a":2}`), strictjson.Limits{})
	if err != nil || string(got) != `head {"a":2,"b":1}` {
		t.Errorf("AppendCanonical after a prefix = %q, %v", got, err)
	}
	got, err = strictjson.AppendCanonical([]byte("head "), []byte(`{"b":1,"b":2}`), strictjson.Limits{})
	if err == nil || string(got) != "head " {
		t.Errorf("AppendCanonical of a bad text = %q, %v, want the prefix and an error", got, err)
	}
}

func TestAppendCompact(t *testing.T) {
	tests := []struct{ in, want string }{
		{" { \"a b\" :\t[ 1 , 2.0 ] , \"\\\" \" : \" x \" }\r\n", `{"a b":[1,2.0],"\" ":" x "}`},
		{`{"a":1}`, `{"a":1}`},
		{"", ""},
	}
	for _, tt := range tests {
		if got := strictjson.AppendCompact(nil, []byte(tt.in)); string(got) != tt.want {
			t.Errorf("AppendCompact(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestAppendString(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", `""`},
		{"plain é 😀 / <", `"plain é 😀 / <"`},
		{"\"\\\b\t\n\f\r\x00\x1f\x7f", `"\"\\\b\t\n\f\r\u0000\u001f` + "\x7f" + `"`},
	}
	for _, tt := range tests {
		got := strictjson.AppendString(nil, tt.in)
		if string(got) != tt.want {
			t.Errorf("AppendString(%q) = %s, want %s", tt.in, got, tt.want)
		}
		if c := canonical(t, string(got)); !bytes.Equal([]byte(c), got) {
			t.Errorf("AppendString(%q) = %s is not canonical, %s is", tt.in, got, c)
		}
	}
}
