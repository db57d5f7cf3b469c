//go:build unix

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// shellSetup makes a shell load the script and show how it understood a command line instead of running it.
var shellSetup = map[string]struct {
	args   []string
	script string
}{
	"bash": {[]string{"--noprofile", "--norc", "-i"}, `
complete -r
source <(command mcpcat completion bash)
mcpcat() {
  if [[ $1 == __complete ]]; then command mcpcat "$@"; else printf '<%s>' "$@"; printf '<%s>\n' END; fi
}
bind 'set bell-style none'
bind 'set page-completions off'
bind 'set enable-bracketed-paste off'
PS1='ready> '
`},
	"zsh": {[]string{"-f", "-i"}, `
autoload -Uz compinit && compinit -D -u
source <(command mcpcat completion zsh)
mcpcat() {
  if [[ $1 == __complete ]]; then command mcpcat "$@"; else printf '<%s>' "$@"; printf '<%s>\n' END; fi
}
unsetopt beep prompt_cr prompt_sp
LISTMAX=0
PROMPT='ready> '
`},
	"fish": {[]string{"--no-config", "-i"}, `
command mcpcat completion fish | source
function mcpcat
  if test "$argv[1]" = __complete
    command mcpcat $argv
  else
    printf '<%s>' $argv
    printf '<%s>\n' END
  end
end
function fish_prompt
  printf 'ready> '
end
`},
}

// typist is a person at a shell.
type typist struct {
	t    *testing.T
	tty  *os.File
	mu   sync.Mutex
	text bytes.Buffer
}

// atShell starts a shell in dir; the test is skipped where there is none.
func atShell(t *testing.T, name, dir string) *typist {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("there is no %s here", name)
	}
	setup := shellSetup[name]
	home := t.TempDir()
	file := filepath.Join(home, "setup")
	if err := os.WriteFile(file, []byte(setup.script), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, setup.args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm", "LANG=C.UTF-8", "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home, "HISTFILE="}
	s := &typist{t: t}
	if s.tty, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 180}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := s.tty.Read(buf)
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has nothing to lose
		_ = cmd.Wait()
		_ = s.tty.Close()
		<-done
	})
	s.typed("source " + file + "\n")
	s.shows("ready> ", "the setup")
	return s
}

func (s *typist) typed(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until the shell has printed want since the last call, and returns what it printed until then.
func (s *typist) shows(want, what string) string {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		all := s.text.String()
		if i := strings.Index(all, want); i >= 0 {
			s.text.Next(i + len(want))
			s.mu.Unlock()
			return all[:i+len(want)]
		}
		s.mu.Unlock()
		if time.Now().After(end) {
			s.t.Fatalf("%s: the shell did not print %q; it printed\n%q", what, want, all)
		}
	}
}

func TestCompletionInShells(t *testing.T) {
	dir := completionPlace(t)
	const both = `<server.wiki["eu"].tool["a.b"]>`
	tests := []struct {
		name, typed string
		shells      string // empty: all
		want        string
	}{
		{"command", "mcpcat verif\t", "", "<verify><END>"},
		{"command within a command", "mcpcat lock sho\tx", "", "<lock><show><x><END>"},
		{"flag", "mcpcat plan -detai\t", "", "<plan><-detailed-exitcode><END>"},
		{"flag with two hyphens", "mcpcat plan --detai\t", "", "<plan><--detailed-exitcode><END>"},
		{"flag with a value", "mcpcat plan -conta\tl\t", "", "<plan><-contact=locked><END>"},
		{"value behind a blank", "mcpcat plan -contact l\t", "", "<plan><-contact><locked><END>"},
		{"agent", "mcpcat call -agent=p\tx", "", "<call><-agent=pilot><x><END>"},
		{"agent behind a blank", "mcpcat call -agent p\tx", "", "<call><-agent><pilot><x><END>"},
		{"name that the agent sees", "mcpcat call -agent=pilot bo\t", "", "<call><-agent=pilot><both><END>"},
		{"address", `mcpcat call server.yard.\t`, "", "<call><server.yard.tool.crane><END>"},
		{"address with brackets", `mcpcat call server.wiki\[\"eu\"\].tool\[\t`, "bash zsh", "<call>" + both + "<END>"},
		{"address with brackets", `mcpcat call server.wiki[\"eu\"].tool[\"\t`, "fish", "<call>" + both + "<END>"},
		{"address in two steps", `mcpcat call server.w\t\[\t`, "bash zsh", "<call>" + both + "<END>"},
		{"address in single quotes", `mcpcat call 'server.wiki["eu"].tool["\t`, "", "<call>" + both + "<END>"},
		{"address in double quotes", `mcpcat call "server.wiki[\"eu\"].tool[\t`, "bash", "<call>" + both + "<END>"},
		{"address in the lock", `mcpcat lock show 'server.wiki["eu"].tool.\t`, "", `<lock><show><server.wiki["eu"].tool.search><END>`},
		{"server", "mcpcat lock list server.y\t", "", "<lock><list><server.yard><END>"},
		{"kind", "mcpcat schema lock_s\t", "", "<schema><lock_show><END>"},
		{"shell", "mcpcat completion fi\t", "", "<completion><fish><END>"},
		{"file", "mcpcat digest dat\t", "", "<digest><data.json><END>"},
		{"file of a flag", "mcpcat apply -lock=catalog.lock.d\t", "", "<apply><-lock=catalog.lock.db><END>"},
		{"file behind an at sign", "mcpcat call server.yard.tool.crane @dat\t", "", "<call><server.yard.tool.crane><@data.json><END>"},
		{"file in a directory behind an at sign", "mcpcat call server.yard.tool.crane @su\tno\t", "", "<call><server.yard.tool.crane><@sub/note.txt><END>"},
		{"directory", "mcpcat -chdir=su\tx", "bash fish", "<-chdir=sub/x><END>"},
		{"directory behind a blank", "mcpcat -chdir su\tx", "bash fish", "<-chdir><sub/x><END>"},
		{"nothing is run", "mcpcat call $(touch ran) serv\t", "", ""},
	}
	for _, name := range []string{"bash", "zsh", "fish"} {
		t.Run(name, func(t *testing.T) {
			s := atShell(t, name, dir)
			for _, tt := range tests {
				if tt.shells != "" && !strings.Contains(tt.shells, name) {
					continue
				}
				if tt.name == "nothing is run" {
					s.typed("mcpcat call $(touch ran) serv\t")
					time.Sleep(300 * time.Millisecond)
					if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
						t.Error("completion has run a command of the line")
					}
					s.typed("\n")
					s.shows("<END>", tt.name)
					s.shows("ready> ", tt.name)
					if err := os.Remove(filepath.Join(dir, "ran")); err != nil {
						t.Error(err)
					}
					continue
				}
				s.typed(strings.ReplaceAll(tt.typed, `\t`, "\t"))
				time.Sleep(50 * time.Millisecond)
				s.typed("\n")
				got := s.shows("<END>", tt.name)
				if !strings.HasSuffix(got, tt.want) {
					t.Errorf("%s: %q was understood as %q, want %s", tt.name, tt.typed, got, tt.want)
				}
				s.shows("ready> ", tt.name)
			}
			s.typed("mcpcat loc\t\t")
			s.typed("\t\t")
			if got := s.shows("what is pinned", "descriptions"); !strings.Contains(got, "list") {
				t.Errorf("descriptions are shown as %q", got)
			}
		})
	}
}

// TestCompletionDoesNotWait holds the lock file as a writer does.
func TestCompletionDoesNotWait(t *testing.T) {
	dir := completionPlace(t)
	f, err := os.OpenFile(filepath.Join(dir, "catalog.lock.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	got := answer(t, dir, "", "fish", "--", "call", "")
	if took := time.Since(began); took > 4*time.Second { // boltfile itself waits for longer
		t.Errorf("it took %s", took)
	}
	want := []string{":", `server.wiki["eu"].tool["a.b"]`, `server.wiki["eu"].tool.search`, "server.yard.tool.crane"}
	if !slices.Equal(got, want) {
		t.Errorf("the answer is %q, want %q", got, want)
	}
}
