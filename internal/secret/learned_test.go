package secret

import (
	"fmt"
	"testing"
)

func TestLearned(t *testing.T) {
	var l Learned
	told := 0
	r := NewRedactor(New("first-secret", "a"))
	l.Tell(func() {
		told++
		r.Set(append(l.Values(), New("first-secret", "a"))...)
	})
	const text = "first-secret and learned-00 and learned-64"
	for i := range maxLearned {
		l.Add(New(fmt.Sprintf("learned-%02d", i), "b"))
	}
	l.Add(New("learned-63", "b")) // known
	if got, want := r.RedactString(text), Mask+" and "+Mask+" and learned-64"; told != maxLearned || got != want {
		t.Errorf("after %d: told %d times, %q, want %q", maxLearned, told, got, want)
	}
	l.Add(New("learned-64", "b")) // the oldest goes
	if got, want := r.RedactString(text), Mask+" and learned-00 and "+Mask; told != maxLearned+1 || len(l.Values()) != maxLearned || got != want {
		t.Errorf("after one more: told %d times, %d kept, %q, want %q", told, len(l.Values()), got, want)
	}
}
