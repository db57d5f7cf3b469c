package cli

import (
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/term"
)

const bashBreaks = " \t\n\"'@><=;|&(:"

func TestParseBash(t *testing.T) {
	tests := []struct {
		line          string
		words         []string
		current, done string
		quote         byte
	}{
		{"mcpcat ", []string{"mcpcat"}, "", "", 0},
		{"mcpcat pl", []string{"mcpcat"}, "pl", "", 0},
		{"  mcpcat\tplan  -out=a b ", []string{"mcpcat", "plan", "-out=a", "b"}, "", "", 0},
		{"mcpcat plan -contact=lo", []string{"mcpcat", "plan"}, "-contact=lo", "-contact=", 0},
		{`mcpcat call server.wiki\[\"e`, []string{"mcpcat", "call"}, `server.wiki["e`, "", 0},
		{`mcpcat call 'server.wiki["e`, []string{"mcpcat", "call"}, `server.wiki["e`, "", '\''},
		{`mcpcat call "server.wiki[\"e`, []string{"mcpcat", "call"}, `server.wiki["e`, "", '"'},
		{`mcpcat call 'server.wiki["eu"]'.t`, []string{"mcpcat", "call"}, `server.wiki["eu"].t`, `server.wiki["eu"]`, 0},
		{`mcpcat -lock='a b' x`, []string{"mcpcat", "-lock=a b"}, "x", "", 0},
		{`mcpcat '' "" `, []string{"mcpcat", "", ""}, "", "", 0},
		{`mcpcat a\`, []string{"mcpcat"}, "a", "", 0},
		{`mcpcat "a\`, []string{"mcpcat"}, "a", "", '"'},
		{`mcpcat "a\b\$`, []string{"mcpcat"}, `a\b$`, "", '"'},
		{`mcpcat call x @da`, []string{"mcpcat", "call", "x"}, "@da", "", 0},
		{"", nil, "", "", 0},
	}
	for _, tt := range tests {
		l := parseBash(tt.line, bashBreaks)
		if !slices.Equal(l.words, tt.words) || l.current != tt.current || l.done != tt.done || l.quote != tt.quote {
			t.Errorf("%q: words %q, current %q, done %q, quote %q; want %q, %q, %q, %q", tt.line, l.words, l.current, l.done, l.quote, tt.words, tt.current, tt.done, tt.quote)
		}
	}
}

// TestInsertIsUnderstood completes words in every quoting style and wants bash to understand them as they were meant.
func TestInsertIsUnderstood(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("there is no bash here; the lines are read by our own parser only")
	}
	values := []string{`server.wiki["eu"].tool["a.b"]`, `-contact=all`, `server.x.resource["https://a.example/x?y=z&w=$HOME;(a)"]`, `a'b`, "`id`", `\n`, "ä ö", "~x", "!!x", "*?{a,b}#"}
	rng := rand.New(rand.NewPCG(1, 2))
	const alphabet = "ab[]\"'\\$`:=@&;(){}<>|!*?~# .ä"
	for range 40 {
		runes := []rune(alphabet)
		v := ""
		for range 1 + rng.IntN(12) {
			v += string(runes[rng.IntN(len(runes))])
		}
		values = append(values, v)
	}
	var script strings.Builder
	var want []string
	for _, v := range values {
		for cut := range len(v) + 1 {
			for _, typed := range spellings(v[:cut]) {
				line := "x " + typed
				l := parseBash(line, bashBreaks)
				if l.current != v[:cut] {
					t.Fatalf("%q was read as %q, want %q", line, l.current, v[:cut])
				}
				// What bash replaces begins behind what it keeps.
				kept, ok := keptText(line, l)
				if !ok {
					continue
				}
				whole := kept + l.insert(v)
				if l.quote != 0 {
					whole += string(l.quote)
				}
				back := parseBash(whole+" ", bashBreaks)
				if len(back.words) != 2 || back.words[1] != v {
					t.Fatalf("%q was completed to %q, which is %q, want %q", line, whole, back.words, v)
				}
				script.WriteString("printf '%s\\n' " + strings.TrimPrefix(whole, "x ") + "\n")
				want = append(want, v)
			}
		}
	}
	if len(want) < 1000 {
		t.Fatalf("%d completions were tried", len(want))
	}
	if bash == "" {
		return
	}
	cmd := exec.Command(bash, "--noprofile", "--norc")
	cmd.Stdin = strings.NewReader(script.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if !slices.Equal(got, want) {
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("bash reads %q as %q, want %q", strings.Split(script.String(), "\n")[i], got[min(i, len(got)-1)], want[i])
			}
		}
	}
}

// spellings writes a word that is not complete yet as people do.
func spellings(v string) []string {
	single := "'" + strings.ReplaceAll(v, "'", `'\''`)
	double := `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "$", `\$`, "`", "\\`").Replace(v)
	var bare strings.Builder
	for i := range len(v) {
		if c := v[i]; c < 0x80 && !plainInShell(c) || strings.IndexByte(bashBreaks, c) >= 0 {
			bare.WriteByte('\\')
		}
		bare.WriteByte(v[i])
	}
	return []string{single, double, bare.String()}
}

// keptText is the part of a line that bash keeps: all up to the open quote, or the last break that is not quoted.
func keptText(line string, l bashLine) (string, bool) {
	for cut := len(line); cut >= 2; cut-- {
		kept := parseBash(line[:cut], bashBreaks)
		if kept.current == l.done && kept.quote == l.quote && (cut == 2 || l.quote != 0 || strings.IndexByte(bashBreaks, line[cut-1]) >= 0) {
			if l.quote != 0 && line[cut-1] != l.quote {
				continue
			}
			return line[:cut], true
		}
	}
	return "", false
}

func TestQuotePowerShell(t *testing.T) {
	for value, want := range map[string]string{
		"plan": "plan", "-contact=all": "-contact=all", "server.x.tool.y": "server.x.tool.y",
		`server.wiki["eu"].tool["a.b"]`: `'server.wiki["eu"].tool["a.b"]'`, "a'b": "'a''b'", "@x": "'@x'", "a b": "'a b'", "$x": "'$x'",
	} {
		if got := quotePowerShell(value); got != want {
			t.Errorf("%q is written %s, want %s", value, got, want)
		}
	}
}

// TestPlaceholdersAreTheValues: completion offers what stands between the bars of a flag's help, so all of it must be taken
// and nothing else.
func TestPlaceholdersAreTheValues(t *testing.T) {
	n := 0
	var walk func(c *cli.Command)
	walk = func(c *cli.Command) {
		for _, f := range c.Flags {
			form := placeholder(f)
			if !strings.Contains(form, "|") || form != strings.ToLower(form) {
				continue
			}
			var take func(string) error
			switch f := f.(type) {
			case *cli.StringFlag:
				take = f.Validator
			case *cli.GenericFlag:
				take = f.Value.Set
			}
			if take == nil {
				t.Errorf("mcpcat %s -%s is said to be %s, and nothing checks that", c.Name, f.Names()[0], form)
				continue
			}
			n++
			for _, value := range strings.Split(form, "|") {
				if err := take(value); err != nil {
					t.Errorf("mcpcat %s -%s=%s: %v", c.Name, f.Names()[0], value, err)
				}
			}
			if take("nosuch") == nil {
				t.Errorf("mcpcat %s -%s takes anything", c.Name, f.Names()[0])
			}
		}
		for _, sub := range c.Commands {
			walk(sub)
		}
	}
	walk((&app{Process: &term.Process{}}).root())
	if n < 8 {
		t.Errorf("saw %d flags with a list of values", n)
	}
}
