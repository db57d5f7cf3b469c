package diag

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

func TestEscape(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"plain text, naïve 日本語 العربية", "plain text, naïve 日本語 العربية"},
		{"a\nb\tc\r", "a⟨U+000A⟩b⟨U+0009⟩c⟨U+000D⟩"},
		{"\x1b[2J\x07\x7f\u0085", "⟨U+001B⟩[2J⟨U+0007⟩⟨U+007F⟩⟨U+0085⟩"},
		{"a\u202eb\u2066c\u061c", "a⟨U+202E⟩b⟨U+2066⟩c⟨U+061C⟩"},
		{"a\u200b\u200d\ufeff\u00ad\u2060", "a⟨U+200B⟩⟨U+200D⟩⟨U+FEFF⟩⟨U+00AD⟩⟨U+2060⟩"},
		{"\U000e0049\U000e0067", "⟨U+E0049⟩⟨U+E0067⟩"},
		{"\u2764\ufe0f 1\ufe0f\u20e3 \U0001f600", "\u2764\ufe0f 1\ufe0f\u20e3 \U0001f600"},
		{"a\ufe0f\u2764\ufe00\U000e0100", "a⟨U+FE0F⟩\u2764⟨U+FE00⟩⟨U+E0100⟩"},
		{"\u3164\u2800\u115f\u034f", "⟨U+3164⟩⟨U+2800⟩⟨U+115F⟩⟨U+034F⟩"},
		{"a\u2028b\u2029", "a⟨U+2028⟩b⟨U+2029⟩"},
		{"\ue000\U0010fffd\u0378", "⟨U+E000⟩⟨U+10FFFD⟩⟨U+0378⟩"},
		{"a\xffb\xe2\x80", "a⟨0xFF⟩b⟨0xE2⟩⟨0x80⟩"},
		{"\ufffd", "\ufffd"},
		{"⟨U+0041⟩", "⟨U+27E8⟩U+0041⟩"},
		{"a" + strings.Repeat(" ", 23) + "b", "a" + strings.Repeat(" ", 23) + "b"},
		{"a" + strings.Repeat(" ", 412) + "b", "a⟨412 spaces⟩b"},
		{strings.Repeat(" \u00a0\u3000", 10), "⟨30 spaces⟩"},
		{"::set-output name=a::b", "⟨U+003A⟩:set-output name=a::b"},
		{"  ::warning::x", "  ⟨U+003A⟩:warning::x"},
		{"std::string", "std::string"},
		{"a ##[error]x ##VSO[task]", "a ⟨U+0023⟩#[error]x ⟨U+0023⟩#VSO[task]"},
		{"##teamcity[x]", "⟨U+0023⟩#teamcity[x]"},
		{"## heading", "## heading"},
		{"[Command]rm", "⟨U+005B⟩Command]rm"},
		{"a [command]rm", "a [command]rm"},
	} {
		if got := Escape(tt.in); got != tt.want {
			t.Errorf("Escape(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestEscapeLines(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a\r\nb\n\nc\n", "a\nb\n\nc\n"},
		{"a\n::error::b", "a\n⟨U+003A⟩:error::b"},
		{"a\n\n\n\n\nb", "a\n⟨4 blank lines⟩\nb"},
		{"a\n\n \n\nb", "a\n\n \n\nb"},
		{"a\rb", "a⟨U+000D⟩b"},
	} {
		if got := EscapeLines(tt.in); got != tt.want {
			t.Errorf("EscapeLines(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, tt := range []struct {
		in   string
		max  int
		want string
	}{
		{`a"b\c`, 0, `"a\"b\\c"`},
		{"\u202e", 0, `"⟨U+202E⟩"`},
		{"abcdef", 3, `"abc"… (6 bytes)`},
		{"abc", 3, `"abc"`},
		{"aéé", 2, `"a"… (5 bytes)`},
		{strings.Repeat("x", 257), 0, `"` + strings.Repeat("x", 256) + `"… (257 bytes)`},
		{"\x80\x80\x80\x80\x80\x80", 5, `"⟨0x80⟩"… (6 bytes)`},
	} {
		if got := Quote(tt.in, tt.max); got != tt.want {
			t.Errorf("Quote(%q, %d) = %s, want %s", tt.in, tt.max, got, tt.want)
		}
	}
}

func TestDefuse(t *testing.T) {
	tests := []struct{ in, want string }{
		{" a\tb" + strings.Repeat(" ", 30) + "c\n", " a\tb" + strings.Repeat(" ", 30) + "c\n"},
		{" \t::error::x\n", " \t⟨U+003A⟩:error::x\n"},
		{"+::error::x", "+::error::x"},
		{" [command]x", " ⟨U+005B⟩command]x"},
		{"-  # ##vso[x] ##[y]", "-  # ⟨U+0023⟩#vso[x] ⟨U+0023⟩#[y]"},
		{"a ⟨ü⟩ # b", "a ⟨ü⟩ # b"},
	}
	for _, tt := range tests {
		if got := Defuse(tt.in); got != tt.want {
			t.Errorf("Defuse(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	in := "{\n\t\"a\u200b\": \"\U000e0041 \u2764\ufe0f x\u202e\u007f\u0085\", \"b\": \"é日\"}"
	got := EscapeJSON([]byte(in))
	want := "{\n\t\"a\\u200b\": \"\\udb40\\udc41 \u2764\ufe0f x\\u202e\\u007f\\u0085\", \"b\": \"é日\"}"
	if string(got) != want {
		t.Errorf("EscapeJSON = %s, want %s", got, want)
	}
	var a, b any
	if err := errors.Join(json.Unmarshal([]byte(in), &a), json.Unmarshal(got, &b)); err != nil || !cmp.Equal(a, b) {
		t.Errorf("the value changed: %v", err)
	}
	if s := `{"a":1}`; EscapeJSON(s) != s || string(EscapeJSON(json.RawMessage(s))) != s {
		t.Error("a visible text changed")
	}
}

// forbidden reports what may not come out of the escaper, by tables of its own.
func forbidden(prev, r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f, r == 0xad, r == 0x34f, r == 0x61c, r >= 0x180b && r <= 0x180f,
		r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0x3164, r == 0xfeff,
		r == 0xffa0, r >= 0xfff0 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff, r >= 0xfe00 && r <= 0xfe0d,
		unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Cs, r):
		return true
	case r == 0xfe0e || r == 0xfe0f:
		return unicode.IsLetter(prev) && prev != 0x2139 && prev != 0x24c2 || prev == ' '
	}
	return false
}

var runnerCommand = regexp.MustCompile(`(?im)^\s*(::|\[command\])|##\[|##vso\[|##teamcity\[`)

func checkVisible(t *testing.T, what, out string, lines bool) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Fatalf("%s is not UTF-8: %q", what, out)
	}
	prev := rune(0)
	for _, r := range out {
		if forbidden(prev, r) && !(lines && r == '\n') {
			t.Fatalf("%s contains %U: %q", what, r, out)
		}
		prev = r
	}
	if runnerCommand.MatchString(out) {
		t.Fatalf("%s contains a command for a runner: %q", what, out)
	}
	if strings.Contains(out, strings.Repeat(" ", longRun)) {
		t.Fatalf("%s contains a long run of spaces: %q", what, out)
	}
}

// FuzzEscape: nothing forbidden comes out, different texts stay different, and visible texts stay as they are.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a\u202eb", "::x", "a\n::x\n\n\n\n\n", "\ufe0f1\ufe0f", "⟨U+0041⟩", "##[x", strings.Repeat(" ", 30), "\xff\xfe"} {
		f.Add(s, s+"x", 5)
	}
	f.Fuzz(func(t *testing.T, a, b string, max int) {
		ea := Escape(a)
		checkVisible(t, "Escape", ea, false)
		checkVisible(t, "EscapeLines", EscapeLines(a), true)
		checkVisible(t, "Quote", Quote(a, max%64), false)
		if a != b && ea == Escape(b) && !strings.Contains(ea, " spaces⟩") {
			t.Fatalf("%q and %q both give %q", a, b, ea)
		}
		var out strings.Builder
		d := Diagnostic{Severity: Error, Code: "x", Summary: a, Detail: b, Address: a, Context: b, Snippet: a, Range: &Range{File: b, Start: Pos{Line: 1}}}
		if err := Write(&out, List{d, {Summary: b, Detail: a, Address: b}}, WriteOptions{Width: 20}); err != nil {
			t.Fatal(err)
		}
		checkVisible(t, "Write", out.String(), true)
		if raw, err := json.Marshal(a); err == nil {
			escaped := EscapeJSON(raw)
			var x, y string
			if err := errors.Join(json.Unmarshal(raw, &x), json.Unmarshal(escaped, &y)); err != nil || x != y {
				t.Fatalf("EscapeJSON(%s) = %s: %v", raw, escaped, err)
			}
			prev := rune(0)
			for _, r := range string(escaped) {
				if forbidden(prev, r) {
					t.Fatalf("EscapeJSON(%q) contains %U", a, r)
				}
				prev = r
			}
		}
		if _, _, found := Concealed(a); !found && !strings.ContainsAny(a, "\n\t⟨#:[") && !strings.Contains(ea, " spaces⟩") && ea != a {
			t.Fatalf("Escape(%q) = %q, want no change", a, ea)
		}
	})
}

func TestConcealed(t *testing.T) {
	for _, tt := range []struct {
		in     string
		offset int
		r      rune
		ok     bool
	}{
		{"a\n\tb é", 0, 0, false},
		{"é\u200bx", 2, 0x200b, true},
		{"a\xff", 1, utf8.RuneError, true},
		{"\ufffd", 0, 0, false},
		{"a\rb", 1, '\r', true},
	} {
		if offset, r, ok := Concealed(tt.in); offset != tt.offset || r != tt.r || ok != tt.ok {
			t.Errorf("Concealed(%q) = %d, %U, %v, want %d, %U, %v", tt.in, offset, r, ok, tt.offset, tt.r, tt.ok)
		}
	}
}

// sample is the list of the golden file, out of order and with one diagnostic twice.
func sample() List {
	crm := Errorf("server.protocol_unsupported", "Server speaks an older protocol",
		"server/discover answered -32022 and offers only 2025-11-25. mcpcat speaks %s and nothing older, so no tool of server.crm can be pinned. Upgrade the server, or set enabled = false.", "2026-07-28").
		At(Range{"catalog.hcl", Pos{171, 1}, Pos{171, 13}}).For("server.crm")
	crm.Snippet, crm.Context = `server "crm" {`, `server "crm"`
	wiki := Warningf("server.connect_timeout", "Server not checked",
		"No connection to server.wiki[\"eu\"] within 5s. The plan leaves its lock entries alone.\nSay that this is expected:\n\n    mcpcat plan -exclude='server.wiki[\"eu\"]'").
		At(Range{"catalog.hcl", Pos{158, 1}, Pos{158, 14}}).For(`server.wiki["eu"]`)
	wiki.Snippet, wiki.Context = `server "wiki" {   `, `server "wiki"`
	return List{
		crm, wiki, crm,
		Errorf("lock.busy", "Lock is busy", "Another process holds it.").For("catalog.lock.db"),
		{Severity: Warning, Code: "x.context", Summary: "Context alone", Context: `agent "a"`},
		Errorf("x.hostile", "Peer \x1b[2J said", "::error::first\nthen %s and ##[group] more words that are wrapped at the width of the terminal ::so this must not begin a line", Quote("a\u202eb\nc", 0)).
			At(Range{File: "a\nb.hcl", Start: Pos{3, 1}}),
	}
}

func TestWriteGolden(t *testing.T) {
	var b strings.Builder
	list := sample().Sorted()
	if err := Write(&b, list, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.WriteString("=== narrow\n")
	if err := Write(&b, list[len(list)-2:len(list)-1], WriteOptions{Width: 30}); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/write.golden"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	checkVisible(t, "Write", b.String(), true)

	var color strings.Builder
	if err := Write(&color, list, WriteOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("\x1b[1;31m", "", "\x1b[1;33m", "", "\x1b[0m", "").Replace(color.String())
	if head, _, _ := strings.Cut(b.String(), "=== narrow"); plain != head || plain == color.String() {
		t.Error("colour changes more than colour")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestList(t *testing.T) {
	if err := Write(broken{}, sample(), WriteOptions{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write: %v", err)
	}
	l := sample()
	if !l.HasErrors() || l.Err() == nil || len(l.Errors()) != 4 || len(l.Warnings()) != 2 || l.Warnings().Err() != nil {
		t.Errorf("errors %v, warnings %v", l.Errors(), l.Warnings())
	}
	var back List
	if !errors.As(fmt.Errorf("x: %w", l.Err()), &back) || len(back) != len(l) {
		t.Error("the list is not found in its error")
	}
	if got, want := l.Error(), "catalog.hcl:171: Server speaks an older protocol: server/discover answered"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "(and 3 more)") {
		t.Errorf("Error = %q", got)
	}
	if got := (List{}).Error(); got != "no errors" {
		t.Errorf("Error of nothing = %q", got)
	}
	if got, want := l[3].Error(), "catalog.lock.db: Lock is busy: Another process holds it."; got != want {
		t.Errorf("Error = %q, want %q", got, want)
	}
	s := l.Sorted()
	if len(s) != 5 || s[0].Severity != Warning || s[1].Severity != Warning || len(l) != 6 {
		t.Errorf("sorted: %v", s)
	}
	raw, err := json.Marshal(l[0])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"severity":"error","code":"server.protocol_unsupported","summary":"Server speaks an older protocol","detail":"server/discover answered -32022 and offers only 2025-11-25. mcpcat speaks 2026-07-28 and nothing older, so no tool of server.crm can be pinned. Upgrade the server, or set enabled = false.","address":"server.crm","range":{"file":"catalog.hcl","start":{"line":171,"column":1},"end":{"line":171,"column":13}}}`
	if string(raw) != want {
		t.Errorf("JSON = %s, want %s", raw, want)
	}
}

// More than five warnings of one kind are one, and no name and no detail of them is lost; five are five.
func TestWriteGroups(t *testing.T) {
	warning := func(n int, why string) Diagnostic {
		name := fmt.Sprintf("server.s%d", n)
		return Warningf("server.timeout", "Server not checked", "%s: %s", name, why).For(name).At(Range{File: "catalog.hcl", Start: Pos{Line: n}})
	}
	var l List
	for n := range 5 {
		l = append(l, warning(n+1, "No answer."))
	}
	l = append(l, Errorf("server.timeout", "Server not checked", "An error of the same name."), Warningf("catalog.x", "Another", "One of its kind."))
	var b strings.Builder
	if err := Write(&b, l, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "Warning: Server not checked\n"); n != 5 {
		t.Errorf("five warnings are printed as %d", n)
	}
	l = append(l, warning(6, "No connection."), warning(7, "No answer."))
	b.Reset()
	if err := Write(&b, l, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = "Warning: Server not checked (7)\n\n" +
		"  server.s1, server.s2, server.s3, server.s4, server.s5, server.s7:\n  No answer.\n\n" +
		"  server.s6:\n  No connection.\n\n" +
		"Error: Server not checked\n\n  An error of the same name.\n\n" +
		"Warning: Another\n\n  One of its kind.\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
