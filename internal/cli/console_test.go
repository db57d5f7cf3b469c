package cli_test

import (
	"strings"
	"testing"
)

// TestConsoleLimits gives the console the longest line and one byte more, and as many expressions as it takes and one more.
func TestConsoleLimits(t *testing.T) {
	const longest, most = 1 << 18, 10_000
	text := func(n int) string {
		return `length(split(",", "` + strings.Repeat("x", n-len(`length(split(",", ""))`)) + `"))`
	}
	for _, c := range []struct {
		name, input string
		code        int
		want        string
	}{
		{"longest line", text(longest), 0, "1\n"},
		{"longer line", text(longest + 3), 1, "the line has more than 262144 bytes"},
		{"most expressions", strings.Repeat("1\n", most), 0, "1\n"},
		{"more expressions", strings.Repeat("1\n", most+1), 1, "at most 10000 expressions"},
	} {
		p := emptyPlace(t)
		p.stdin = c.input
		p.file("catalog.hcl", "locals {\n  a = 1\n}\n")
		if code, out, faults := p.streams("console"); code != c.code || !strings.Contains(out+faults, c.want) {
			t.Errorf("%s: status %d, want %d and %q:\n%.300s%s", c.name, code, c.code, c.want, out, faults)
		}
	}
}
