package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const completionCatalog = `variable "token" {
  type      = string
  sensitive = true
}

server "wiki" {
  for_each    = toset(["eu"])
  name        = "wiki_${each.key}"
  description = "The handbook."
  stdio {
    command = "fakeserver"
    args    = ["offer.json"]
    env     = { TOKEN = var.token }
  }
  tools = ["search"]
  tool "a.b" {
    as = "both"
  }
}

server "yard" {
  stdio {
    command = "fakeserver"
    args    = ["offer.json"]
  }
  tools = ["crane"]
}

agent "pilot" {
  description = "Finds its way."
  tools       = [server.wiki["eu"].tool["a.b"]]
}
`

const completionOffer = `{"tools": [
{"name": "a.b", "description": "Both of them.\nAnd more.", "inputSchema": {"type": "object"}},
{"name": "search", "title": "Search ⟨pages⟩", "inputSchema": {"type": "object"}},
{"name": "crane", "inputSchema": {"type": "object"}}
]}
`

// completionPlace is a directory with a catalog and a lock whose addresses have quotes and brackets.
func completionPlace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"catalog.hcl": completionCatalog, "offer.json": completionOffer, "first.mcpplan": "", "data.json": "{}", "sub/note.txt": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "first.mcpplan")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"plan", "-contact=all", "-out=first.mcpplan"}, {"apply", "first.mcpplan"}} {
		cmd := exec.Command("mcpcat", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "MCPCAT_VAR_token=a-token-of-the-handbook")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("mcpcat %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return dir
}

// answer is what the program tells a completion script, in an environment without secrets. It must end well and silently.
func answer(t *testing.T, dir, stdin string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("mcpcat", append([]string{"__complete"}, args...)...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Errorf("%q: %v, and on standard error: %s", args, err, errs.String())
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("%q took %s", args, took)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestCompletionAnswers(t *testing.T) {
	dir := completionPlace(t)
	const (
		server = `server.wiki["eu"]`
		both   = server + `.tool["a.b"]` + "\tBoth of them."
		search = server + ".tool.search\tSearch ⟨U+27E8⟩pages⟩"
		crane  = "server.yard.tool.crane"
	)
	type answers struct {
		words string   // the last one is at the cursor
		whole []string // the whole answer
		has   []string // beginnings of lines that are in it
		not   []string // beginnings of lines that are not
	}
	tests := []answers{
		{words: "verif", has: []string{":", "verify\tcheck that everything pinned is still what the servers offer", "plan\t"}, not: []string{"__complete", "help"}},
		{words: "lock ", whole: []string{":", "list\tlist what is pinned, one line an entry", "show\tshow one pinned definition and its digest"}},
		{words: "-", has: []string{"-chdir=\twork in DIR instead of the current directory", "-json\tprint one JSON document", "-help\t"}, not: []string{"-contact", "--"}},
		{words: "plan --", has: []string{"--json\t", "--contact=\tcontact all|locked|none of the servers"}, not: []string{"-json"}},
		{words: "plan -json -", has: []string{"-no-color\t"}, not: []string{"-json"}},
		{words: "plan -var=a=b -", has: []string{"-var=\tset a catalog variable: NAME=VALUE; may be repeated"}},
		{words: "plan -contact=", whole: []string{":", "-contact=all", "-contact=locked", "-contact=none"}},
		{words: "plan --contact=", whole: []string{":", "--contact=all", "--contact=locked", "--contact=none"}},
		{words: "plan -contact ", whole: []string{":", "all", "locked", "none"}},
		{words: "-log-format ", whole: []string{":", "text", "json"}},
		{words: "-log-level=", has: []string{"-log-level=trace"}},
		{words: "digest -kind ", has: []string{"tool", "prompts"}},
		{words: "call -agent ", whole: []string{":", "pilot\tFinds its way."}},
		{words: "call -agent=", whole: []string{":", "-agent=pilot\tFinds its way."}},
		{words: "call ", whole: []string{":", both, search, crane}},
		{words: "call -agent=pilot ", whole: []string{":", "both\tBoth of them.", both}},
		{words: "call -agent=nobody ", whole: []string{":"}},
		{words: "call server.yard.tool.crane ", whole: []string{":"}},
		{words: "call server.yard.tool.crane {} ", whole: []string{":"}},
		{words: "call server.yard.tool.crane @", has: []string{"@data.json", "@sub/"}, not: []string{"@."}},
		{words: "call server.yard.tool.crane @sub/", whole: []string{":", "@sub/note.txt"}},
		{words: "lock list ", whole: []string{":", server + "\tThe handbook.", "server.yard\tserver"}},
		{words: "lock show ", whole: []string{":", server + "\tThe handbook.", "server.yard\tserver", both, search, crane}},
		{words: "-lock=catalog.lock.db lock list ", whole: []string{":", server + "\tThe handbook.", "server.yard\tserver"}},
		{words: "-lock=nosuch.lock.db lock show ", whole: []string{":"}},
		{words: "-chdir=sub call ", whole: []string{":"}},
		{words: "-chdir " + dir + " lock list ", has: []string{"server.yard"}},
		{words: "apply ", whole: []string{":files"}},
		{words: "plan -out ", whole: []string{":files"}},
		{words: "plan -out=", whole: []string{":files"}},
		{words: "-chdir ", whole: []string{":directories"}},
		{words: "schema ", has: []string{"plan\tmcpcat plan document", "language\t"}},
		{words: "completion ", whole: []string{":", "bash", "zsh", "fish", "powershell"}},
		{words: "discover -- ", whole: []string{":files"}},
		{words: "nosuch ", whole: []string{":"}},
		{words: "plan -nosuch ", whole: []string{":"}},
		{words: "-json version ", whole: []string{":"}},
	}
	check := func(t *testing.T, dir string, tt answers) {
		t.Helper()
		got := answer(t, dir, "", append([]string{"fish", "--"}, strings.Split(tt.words, " ")...)...)
		if tt.whole != nil && !slices.Equal(got, tt.whole) {
			t.Errorf("the answer is %q, want %q", got, tt.whole)
		}
		begins := func(with string) bool {
			return slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, with) })
		}
		for _, want := range tt.has {
			if !begins(want) {
				t.Errorf("the answer is %q, want %q in it", got, want)
			}
		}
		for _, unwanted := range tt.not {
			if begins(unwanted) {
				t.Errorf("the answer is %q, want nothing that begins with %q", got, unwanted)
			}
		}
	}
	for _, tt := range tests {
		t.Run(tt.words, func(t *testing.T) { check(t, dir, tt) })
	}

	// Without a catalog that can be read, the lock is what there is; without both, nothing.
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte("server \"wiki\" {"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(t, dir, answers{words: "call ", whole: []string{":", both, search, crane}})
	check(t, dir, answers{words: "call -agent ", whole: []string{":", "pilot"}})
	check(t, t.TempDir(), answers{words: "call ", whole: []string{":"}})
	if err := os.WriteFile(filepath.Join(dir, "catalog.lock.db"), []byte("no lock"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(t, dir, answers{words: "call ", whole: []string{":"}})
}

func TestCompletionForms(t *testing.T) {
	dir := completionPlace(t)
	const breaks = " \t\n\"'@><=;|&(:"
	tests := []struct {
		name, stdin string
		args        []string
		want        []string
	}{
		{"bash inserts what it must quote", "", []string{"bash", "--", "mcpcat call server.w", breaks, "9", "80"}, []string{":", `server.wiki\[\"eu\"\].tool\[\"a.b\"\] `, `server.wiki\[\"eu\"\].tool.search `}},
		{"bash shows descriptions", "", []string{"bash", "--", "mcpcat call server.w", breaks, "63", "80"}, []string{":", `server.wiki["eu"].tool["a.b"]  Both of them.`, `server.wiki["eu"].tool.search  Search ⟨U+27E8⟩pages⟩`}},
		{"bash shows one a line", "", []string{"bash", "--", "mcpcat lock ", breaks, "63", "130"}, []string{":", "list  list what is pinned, one line an entry" + strings.Repeat(" ", 65-len("list  list what is pinned, one line an entry")), "show  show one pinned definition and its digest" + strings.Repeat(" ", 65-len("show  show one pinned definition and its digest"))}},
		{"bash cuts descriptions", "", []string{"bash", "--", "mcpcat call server.w", breaks, "63", "44"}, []string{":", `server.wiki["eu"].tool["a.b"]  Both of the…`, `server.wiki["eu"].tool.search  Search ⟨U+2…`}},
		{"bash has a narrow window", "", []string{"bash", "--", "mcpcat call server.w", breaks, "63", "10"}, []string{":", `server.wiki["eu"].tool["a.b"]`, `server.wiki["eu"].tool.search`}},
		{"bash lists one", "", []string{"bash", "--", "mcpcat call server.y", breaks, "63", "80"}, []string{":", "server.yard.tool.crane "}},
		{"bash has no columns", "", []string{"bash", "--", "mcpcat call server.y", breaks, "63", ""}, []string{":", "server.yard.tool.crane "}},
		{"PowerShell", "call\r\nserver.wiki\r\n", []string{"powershell"}, []string{":", `'server.wiki["eu"].tool["a.b"]'` + "\t" + `server.wiki["eu"].tool["a.b"]` + "\tBoth of them.", `'server.wiki["eu"].tool.search'` + "\t" + `server.wiki["eu"].tool.search` + "\tSearch ⟨U+27E8⟩pages⟩"}},
		{"PowerShell at the beginning", "\n", []string{"powershell"}, nil},
		{"nothing given", "", nil, []string{""}},
		{"too little given", "", []string{"bash", "--", "mcpcat "}, []string{""}},
		{"no words", "", []string{"zsh", "--"}, []string{""}},
		{"unknown shell", "", []string{"tcsh", "--", "call"}, []string{""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := answer(t, dir, tt.stdin, tt.args...)
			if tt.want == nil {
				if len(got) < 10 {
					t.Errorf("the answer is %q, want all commands", got)
				}
				return
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the answer is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}
