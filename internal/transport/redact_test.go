package transport

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestTailWithoutTheFirstLine: what is kept of standard error may begin within a secret, whose rest is not recognised.
func TestTailWithoutTheFirstLine(t *testing.T) {
	redact := Redact(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("secret-value"), []byte("***")) })
	for said, want := range map[string]string{
		"secret-value\nlast":                              "***\nlast",
		strings.Repeat("x", 40) + "secret-value\nlast li": "last li",
		strings.Repeat("x", 90):                           "",
	} {
		s := &Stdio{redact: redact, stderr: &tail{limit: 20}}
		if _, err := s.stderr.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
		if got := string(s.StderrTail()); got != want {
			t.Errorf("after %q: %q, want %q", said, got, want)
		}
		s.redact = nil
		if got := string(s.StderrTail()); !strings.HasSuffix(said, got) || got == "" {
			t.Errorf("after %q without a redactor: %q", said, got)
		}
	}
}

// TestLineCutWithinASecret: a line may end within a secret, whose beginning is not recognised. Without secrets it is shown
// to its end.
func TestLineCutWithinASecret(t *testing.T) {
	redact := Redact(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("secret-value"), []byte("***")) })
	for _, of := range []Redact{redact, nil} {
		answers, out := io.Pipe()
		in, w := io.Pipe()
		defer in.Close()
		s := NewPipe(answers, w, Limits{}, of, nil, nil)
		if _, err := io.WriteString(out, `{"token":"secret-value","again":"secret-val`); err != nil {
			t.Fatal(err)
		}
		out.Close()
		<-s.Done()
		text := s.Err().Error()
		if cut := strings.Contains(text, "secret-val"); cut != (of == nil) || !strings.Contains(text, "again") {
			t.Errorf("redacted %t: %s", of != nil, text)
		}
		s.Close()
	}
}
