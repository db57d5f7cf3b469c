package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

const canary = "canary-7f3a/+ü\"x"

// TestStringHides prints, encodes and logs a secret in every way that a careless line might.
func TestStringHides(t *testing.T) {
	s := New(canary, "var.token")
	type holder struct {
		Public  String
		private String
		list    []String
		ptr     *String
		any     any
		m       map[string]String
	}
	h := holder{s, s, []String{s}, &s, s, map[string]String{"k": s}}
	var outputs []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10s"} {
		for _, v := range []any{s, &s, h, &h, []any{h}, []String{s}, map[string]holder{"k": h}, fmt.Errorf("wrapped: %v", s)} {
			outputs = append(outputs, fmt.Sprintf(verb, v))
		}
	}
	outputs = append(outputs, fmt.Sprint(s), s.String(), s.GoString(), errors.New(fmt.Sprint(h)).Error())
	for _, v := range []any{s, h, map[string]any{"a": s}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, string(b))
	}
	text, err := s.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	outputs = append(outputs, string(text))
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("x", "secret", s, "holder", h)
		slog.New(h).Info("x", slog.Group("g", "secret", &s))
	}
	outputs = append(outputs, log.String())
	for _, out := range outputs {
		for _, part := range []string{"canary", "63616e617279", "[99 97"} {
			if strings.Contains(out, part) {
				t.Errorf("a secret comes out: %s", out)
			}
		}
	}
	if s.Expose() != canary || s.Ref() != "var.token" || s.IsZero() {
		t.Error("the secret does not come out of Expose")
	}
	var zero String
	if zero.Expose() != "" || zero.Ref() != "" || !zero.IsZero() || fmt.Sprint(zero) != Mask {
		t.Error("the zero String is not an absent secret")
	}
}

func jsonText(t *testing.T, s string, html bool) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestRedactForms(t *testing.T) {
	value := "p/ss+wörd<&>\n\"tail\""
	r := NewRedactor(New(value, "var.a"), New("short", "var.b"), New("key-0123456789", "var.c"))
	for name, text := range map[string]string{
		"plain":        "x " + value + " y",
		"JSON":         jsonText(t, value, true),
		"JSON no HTML": jsonText(t, value, false),
		"Go":           fmt.Sprintf("%q", value),
		"Go ASCII":     fmt.Sprintf("%+q", value),
		"base64":       base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 url":   base64.RawURLEncoding.EncodeToString([]byte(value)),
		"basic auth":   base64.StdEncoding.EncodeToString([]byte("user:" + value)),
		"basic auth 1": base64.StdEncoding.EncodeToString([]byte("u:" + value + ":more")),
		"basic auth 0": base64.StdEncoding.EncodeToString([]byte("use" + value + ":more")),
		"query":        url.QueryEscape(value),
		"path":         url.PathEscape(value),
		"lower hex":    strings.ToLower(url.QueryEscape(value)),
		"other":        "Bearer key-0123456789\n",
	} {
		got := r.RedactString(text)
		if !strings.Contains(got, Mask) {
			t.Errorf("%s: %q stays", name, text)
		}
		for _, part := range []string{"wörd", "w\\u00f6rd", "w%C3%B6rd", "w%c3%b6rd", "0123456789"} {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q is left of %q", name, got, text)
			}
		}
	}
	for _, text := range []string{"", "a short text", "key-012345678", "canary", "p/ss+w"} {
		if got := r.RedactString(text); got != text {
			t.Errorf("Redact(%q) = %q, want no change", text, got)
		}
	}
	lines := NewRedactor(New("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n", "var.k"))
	if got := lines.RedactString("debug: AQEFAASCBKcwggSjAgEAAoIB"); strings.Contains(got, "AQEF") {
		t.Errorf("a line of a key stays: %q", got)
	}
	var none *Redactor
	if got := none.RedactString("x"); got != "x" || string(none.Redact([]byte("y"))) != "y" {
		t.Errorf("the nil Redactor changes text to %q", got)
	}
}

func TestRedactOverlap(t *testing.T) {
	r := NewRedactor(New("abcdef", "a"), New("defghi", "b"), New("zzzzzz", "c"))
	for text, want := range map[string]string{
		"xabcdefghiy":     "x" + Mask + "y",
		"abcdefabcdef":    Mask + Mask,
		"zzzzzzzzzzz":     Mask,
		"abcdeabcdefghzz": "abcde" + Mask + "ghzz",
	} {
		if got := r.RedactString(text); got != want {
			t.Errorf("Redact(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestWriterSplit cuts texts in every place, and at random, and wants what Redact gives for the whole.
func TestWriterSplit(t *testing.T) {
	r := NewRedactor(New("abcdef", "a"), New("defghi", "b"), New("zzzzzz", "c"), New("p\"q\nrst", "d"))
	texts := []string{"one abcdef two", "abcdefghi", "zzzzzzzzzzzzzz", "abcdeabcdefabc", `{"x":"p\"q\nrst"}`, "abcde", "defghabcdefghi", "p\"q\nrst"}
	write := func(text string, cuts ...int) string {
		var b bytes.Buffer
		w := r.Writer(&b)
		last := 0
		for _, c := range append(cuts, len(text)) {
			if n, err := w.Write([]byte(text[last:c])); err != nil || n != c-last {
				t.Fatalf("Write = %d, %v", n, err)
			}
			last = c
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, text := range texts {
		want := r.RedactString(text)
		for i := 0; i <= len(text); i++ {
			for j := i; j <= len(text); j++ {
				if got := write(text, i, j); got != want {
					t.Fatalf("%q cut at %d and %d gives %q, want %q", text, i, j, got, want)
				}
			}
		}
	}
	for range 2000 {
		var b strings.Builder
		for range rnd.IntN(40) {
			b.WriteByte("abcdefghiz"[rnd.IntN(10)])
		}
		text := b.String()
		var cuts []int
		for i := range len(text) {
			if rnd.IntN(3) == 0 {
				cuts = append(cuts, i)
			}
		}
		if got, want := write(text, cuts...), r.RedactString(text); got != want {
			t.Fatalf("%q cut at %v gives %q, want %q", text, cuts, got, want)
		}
	}
}

// TestWriterKeepsLittle checks that a line without secrets is written at once, and that what is kept back is bounded.
func TestWriterKeepsLittle(t *testing.T) {
	r := NewRedactor(New("zzzzzz", "c"))
	var b bytes.Buffer
	w := r.Writer(&b)
	if _, err := w.Write([]byte("a whole line\n")); err != nil || b.String() != "a whole line\n" {
		t.Errorf("written so far: %q, %v", b.String(), err)
	}
	for range 1000 {
		if _, err := w.Write([]byte("zzzzzzzz")); err != nil {
			t.Fatal(err)
		}
		if len(w.kept) > r.forms().longest {
			t.Fatalf("%d bytes are kept back", len(w.kept))
		}
	}
	if err := w.Flush(); err != nil || b.String() != "a whole line\n"+Mask {
		t.Errorf("in all: %q, %v", b.String(), err)
	}
}

type failing struct{ short bool }

func (f failing) Write(p []byte) (int, error) {
	if f.short {
		return len(p) - 1, nil
	}
	return 0, io.ErrClosedPipe
}

func TestWriterErrors(t *testing.T) {
	r := NewRedactor(New("zzzzzz", "c"))
	if n, err := r.Writer(failing{}).Write([]byte("x")); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write = %d, %v", n, err)
	}
	if _, err := r.Writer(failing{short: true}).Write([]byte("x")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("short write: %v", err)
	}
	w := r.Writer(failing{})
	if _, err := w.Write([]byte("z")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Close: %v", err)
	}
}

// FuzzRedact: no value of six bytes or more is left, and redacting twice changes nothing more.
func FuzzRedact(f *testing.F) {
	f.Add("secret-value", "x secret-value y")
	f.Add("sensitive)", "(sensitive)")
	f.Fuzz(func(t *testing.T, value, text string) {
		if len(value) < MinRedacted || strings.Contains(Mask+Mask, value) || strings.ContainsAny(value, "()sentiv") {
			return // a Mask may then complete a value
		}
		r := NewRedactor(New(value, "var.x"))
		got := r.RedactString(text + value + text)
		if strings.Contains(got, value) {
			t.Fatalf("%q is left in %q", value, got)
		}
		if again := r.RedactString(got); again != got {
			t.Fatalf("redacting again: %q, then %q", got, again)
		}
	})
}
