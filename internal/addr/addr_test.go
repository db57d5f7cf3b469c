package addr

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestItemString(t *testing.T) {
	github := Server{Label: "github"}
	for _, tt := range []struct {
		item Item
		want string
	}{
		{Item{github, Tool, "create_issue"}, "server.github.tool.create_issue"},
		{Item{github, Tool, "create-issue"}, "server.github.tool.create-issue"},
		{Item{github, Tool, "admin.list"}, `server.github.tool["admin.list"]`},
		{Item{github, Tool, "2fa"}, `server.github.tool["2fa"]`},
		{Item{github, Tool, "-x"}, `server.github.tool["-x"]`},
		{Item{github, Prompt, `a"b\c`}, `server.github.prompt["a\"b\\c"]`},
		{Item{github, Tool, "a\n\x1b\u202e\u200b\U000e0041\ufe0f"}, `server.github.tool["a\n\u001B\u202E\u200B\U000E0041\uFE0F"]`},
		{Item{github, Tool, "${x}%{y}$z"}, `server.github.tool["$${x}%%{y}$z"]`},
		{Item{github, Resource, "file:///srv/é"}, `server.github.resource["file:///srv/é"]`},
		{Item{Server{"wiki", "eu", true}, ResourceTemplate, "x"}, `server.wiki["eu"].resource_template.x`},
	} {
		got := tt.item.String()
		if got != tt.want {
			t.Errorf("String = %s, want %s", got, tt.want)
		}
		back, err := ParseItem(got)
		if err != nil || back != tt.item {
			t.Errorf("ParseItem(%s) = %v, %v, want %v", got, back, err, tt.item)
		}
	}
}

func TestParseForms(t *testing.T) {
	want := Item{Server{Label: "a"}, Tool, "x"}
	for _, s := range []string{"server.a.tool.x", `server.a.tool["x"]`, `server.a.tool["\u0078"]`} {
		if got, err := ParseItem(s); err != nil || got != want {
			t.Errorf("ParseItem(%s) = %v, %v, want %v", s, got, err, want)
		}
	}
	long := strings.Repeat("x", MaxNameBytes)
	if _, err := ParseItem("server.a.tool." + long); err != nil {
		t.Errorf("a name of %d bytes: %v", len(long), err)
	}
	for _, bad := range []string{
		"", "server", "server.", "server.A", "server.a__b", "server.a_", "server._a", "server.1", "server.a ", " server.a",
		"server.a.tool", "server.a.tool.", "server.a.tools.x", "server.a.tool[x]", `server.a.tool[""]`, `server.a.tool["x"`,
		`server.a.tool["x]`, `server.a.tool["x"]y`, `server.a.tool["\q"]`, `server.a.tool["\u12"]`, `server.a.tool["\ud800"]`,
		`server.a.tool["\U00110000"]`, `server.a.tool["${x}"]`, "server.a.tool[\"a\nb\"]", "server.a.tool[\"\xff\"]", "server.a.tool.1x",
		`server.a["<"].tool.x`, `server.a[""].tool.x`, `server.a["é"].tool.x`, `server.a.tool["\`, "server.a.tool." + long + "x",
		"server." + strings.Repeat("a", MaxLabelBytes+1) + ".tool.x",
	} {
		if got, err := ParseItem(bad); err == nil {
			t.Errorf("ParseItem(%q) = %v, want an error", bad, got)
		} else if !strings.HasPrefix(err.Error(), "address: byte ") {
			t.Errorf("ParseItem(%q): %v", bad, err)
		}
	}
	for _, bad := range []string{"server.a.tool.x", `server.a["x"`, "srv.a", `server.a["` + strings.Repeat("k", MaxKeyBytes+1) + `"]`} {
		if got, err := ParseServer(bad); err == nil {
			t.Errorf("ParseServer(%q) = %v, want an error", bad, got)
		}
	}
}

func TestOrder(t *testing.T) {
	want := []Item{
		{Server{Label: "a"}, Tool, "B"},
		{Server{Label: "a"}, Tool, "a"},
		{Server{Label: "a"}, Prompt, "a"},
		{Server{Label: "a"}, Resource, "a"},
		{Server{Label: "a"}, ResourceTemplate, "a"},
		{Server{"a", "eu", true}, Tool, "a"},
		{Server{"a", "us", true}, Tool, "a"},
		{Server{Label: "a_b"}, Tool, "a"},
		{Server{Label: "b"}, Tool, "a"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Item.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("sorted %v, want %v", got, want)
	}
	for i, a := range want {
		for j, b := range want {
			if c := a.Compare(b); (c < 0) != (i < j) || (c == 0) != (i == j) {
				t.Errorf("%v.Compare(%v) = %d", a, b, c)
			}
		}
	}
}

func TestText(t *testing.T) {
	i := Item{Server{"wiki", "eu", true}, Tool, "a.b"}
	b, err := i.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var j Item
	if err := j.UnmarshalText(b); err != nil || i != j {
		t.Errorf("round trip gives %v, %v, want %v", j, err, i)
	}
	if err := j.UnmarshalText([]byte("x")); err == nil || i != j {
		t.Errorf("a wrong text: %v, %v", j, err)
	}
	var s Server
	if b, err = i.Server.MarshalText(); err != nil {
		t.Fatal(err)
	}
	if err := s.UnmarshalText(b); err != nil || s != i.Server {
		t.Errorf("round trip gives %v, %v", s, err)
	}
	if err := s.UnmarshalText([]byte("server.a.b")); err == nil {
		t.Error("a wrong text is accepted")
	}
}

// FuzzItem: String is injective and visible, and ParseItem undoes it; what ParseItem reads has a fixed canonical text.
func FuzzItem(f *testing.F) {
	f.Add("admin.list", `server.a.tool["x"]`)
	f.Add("${a}\u202e\"\\", `server.a["k"].resource.x`)
	f.Fuzz(func(t *testing.T, name, text string) {
		if name != "" && len(name) <= MaxNameBytes && utf8.ValidString(name) {
			i := Item{Server{"wiki", "eu", true}, Tool, name}
			s := i.String()
			for _, r := range s {
				if !unicode.IsPrint(r) || unseen(r) {
					t.Fatalf("String of %q contains %U", name, r)
				}
			}
			if back, err := ParseItem(s); err != nil || back != i {
				t.Fatalf("ParseItem(%s) = %v, %v", s, back, err)
			}
		}
		i, err := ParseItem(text)
		if err != nil {
			return
		}
		if back, err := ParseItem(i.String()); err != nil || back != i {
			t.Fatalf("%q gives %v, its text %s gives %v, %v", text, i, i, back, err)
		}
	})
}

func TestMakeLabel(t *testing.T) {
	long := strings.Repeat("ab ", 40)
	for s, want := range map[string]string{
		"github": "github", "GitHub (work)": "github_work", "my--server__x": "my_server_x", "@scope/pkg": "scope_pkg", "7zip": "p_7zip",
		"": "p", "日本": "p", "_a_": "a", "a1.B2": "a1_b2", "ÄÖa": "a", long: strings.TrimRight(strings.ReplaceAll(long, " ", "_")[:63], "_"), strings.Repeat("x", 70): strings.Repeat("x", 63),
		strings.Repeat("x", 62) + "-y": strings.Repeat("x", 62),
	} {
		got := MakeLabel(s, "p")
		if got != want || !ValidLabel(got) {
			t.Errorf("MakeLabel(%q) = %q, want %q", s, got, want)
		}
	}
}
