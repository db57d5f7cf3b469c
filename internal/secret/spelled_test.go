package secret

import (
	"fmt"
	"html"
	"strings"
	"testing"
)

func TestUnescaped(t *testing.T) {
	for in, want := range map[string]string{
		`a\u0041\n\/\"\\`: "aA\n/\"\\", `\ud83d\ude00x`: "😀x", `\ud83d`: "�", `\u12`: "u12", `\`: `\`, `\u00e9`: "é", `\x41\xZ`: "AxZ", `\U00000041`: "A",
	} {
		got, at := unescaped([]byte(in), nil, true)
		if string(got) != want || len(at) != len(got)+1 || at[len(got)] != len(in) {
			t.Errorf("unescaped(%s) = %q at %d, want %q", in, got, at, want)
		}
	}
}

func TestHolds(t *testing.T) {
	const value = "s3cret/ \t~x"
	r := NewRedactor(New(value, "a"))
	each := func(format, text string) string {
		var b strings.Builder
		for i := range len(text) {
			fmt.Fprintf(&b, format, text[i])
		}
		return b.String()
	}
	for _, text := range []string{
		`{"a":"s3cret/ \t~x"}`, `{"a":"s3cret\/ \t~x"}`, `{"s3\u0063ret/ \u0009~x":1}`, `"at /s3cret~1 \t~0x: bad"`,
		`"czNjcmV0LyAJfng="`, `"s3cret%2F+%09~x"`, `{"a":"{\"b\":\"s3cret/ \\t~x\"}"}`,
		each(`\u%04x`, value), each(`\u%04X`, value), each(`\x%02x`, value), each(`\\u%04x`, value), each(`\\\\u%04x`, value), each(`\U%08x`, value),
		each("%02x", value), each("%02X", value), each("%%%02x", value), each("%%%02X", value), html.EscapeString(value),
		`\u00e9` + each(`\u%04x`, value) + value + `\"`, value + `\u00e9` + each(`\u%04x`, value),
	} {
		text = "<" + text + ">"
		if !r.Holds([]byte(text)) {
			t.Errorf("%s: not found", text)
		}
		clean := r.RedactString(text)
		if !strings.HasPrefix(clean, "<") || !strings.HasSuffix(clean, ">") || !strings.Contains(clean, Mask) || r.Holds([]byte(clean)) || len(clean) > len(text)+len(Mask) {
			t.Errorf("%s is redacted to %s", text, clean)
		}
	}
	for _, text := range []string{``, `{}`, `{"a":"s3cret/"}`, `"\`, `\u`, `\\\\\`} {
		if r.Holds([]byte(text)) {
			t.Errorf("%s: found", text)
		}
	}
	if (*Redactor)(nil).Holds([]byte(`"x"`)) {
		t.Error("nil finds something")
	}
	if got := NewRedactor(New("sensitive", "a")).RedactString(`a sensitive\nword`); len(got) > 60 { // it is in Mask itself
		t.Errorf("redacted to %s", got)
	}
	if got, want := r.RedactString(`{"é":"\u00e9 `+each(`\u%04x`, value)+`\n"}`), `{"é":"\u00e9 `+Mask+`\n"}`; got != want {
		t.Errorf("what stands around it becomes %s, want %s", got, want)
	}
}
