package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// built stands for a build with the commands named.
func built(commands ...string) func(...string) bool {
	return func(words ...string) bool { return slices.Contains(commands, strings.Join(words, " ")) }
}

func TestGitAttributes(t *testing.T) {
	none, both := driversOf(built()), driversOf(built("lock dump", "lock merge"))
	for _, tt := range []struct{ name, old, want string }{
		{"new", "", "catalog.lock.db binary\ncatalog.lock.txt text eol=lf\n"},
		{"again", "catalog.lock.db binary\ncatalog.lock.txt text eol=lf\n", "catalog.lock.db binary\ncatalog.lock.txt text eol=lf\n"},
		{"beside others", "*.go text", "*.go text\ncatalog.lock.db binary\ncatalog.lock.txt text eol=lf\n"},
		{"line ends", "a text\r\nb text\r\n", "a text\r\nb text\r\ncatalog.lock.db binary\r\ncatalog.lock.txt text eol=lf\r\n"},
		{"of a build with drivers", "catalog.lock.db diff=mcpcat merge=mcpcat -text\ncatalog.lock.txt text eol=lf\n# end\n", "catalog.lock.db binary\ncatalog.lock.txt text eol=lf\n# end\n"},
		{"twice", "catalog.lock.db -diff -merge -text\ncatalog.lock.db binary\n", "catalog.lock.db binary\ncatalog.lock.txt text eol=lf\n"},
		{"of the user", "catalog.lock.db text\n", "catalog.lock.db text\ncatalog.lock.db binary\ncatalog.lock.txt text eol=lf\n"},
	} {
		got := string(withAttributes([]byte(tt.old), none.attributes("catalog.lock.db", "catalog.lock.txt")))
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if again := string(withAttributes([]byte(got), none.attributes("catalog.lock.db", "catalog.lock.txt"))); again != got {
			t.Errorf("%s: not the same when it is done again: %q", tt.name, again)
		}
	}
	got := string(withAttributes([]byte("catalog.lock.db binary\n"), both.attributes("catalog.lock.db", "")))
	if want := "catalog.lock.db diff=mcpcat merge=mcpcat -text\n"; got != want {
		t.Errorf("with drivers: %q, want %q", got, want)
	}
	for path, want := range map[string]string{"a.lock.db": "a.lock.db", "my locks/a.lock.db": `"my locks/a.lock.db"`, "#[a].lock.db": `\#\[a].lock.db`} {
		if got := gitPattern(path); got != want {
			t.Errorf("pattern of %q: %q, want %q", path, got, want)
		}
	}
}

func TestWithLines(t *testing.T) {
	for _, tt := range []struct{ old, want string }{
		{"", ".mcpcat/\n*.mcpplan\n"},
		{"bin", "bin\n.mcpcat/\n*.mcpplan\n"},
		{"/.mcpcat/ \n", "/.mcpcat/ \n*.mcpplan\n"},
		{"*.mcpplan\r\n", "*.mcpplan\r\n.mcpcat/\r\n"},
		{".mcpcat/\n*.mcpplan", ".mcpcat/\n*.mcpplan"},
	} {
		if got := string(withLines([]byte(tt.old), ignored)); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.old, got, tt.want)
		}
	}
}

// TestGitConfig: drivers are set for a build that has their commands, in the repository alone, and a setting that is there
// stays. Git then finds them for the lock.
func TestGitConfig(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(git, append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q")
	if got, err := driversOf(built()).configure(t.Context(), dir); err != nil || len(got) != 0 {
		t.Errorf("a build without drivers: %v, %v", got, err)
	}
	if got, err := driversOf(built("lock dump")).configure(t.Context(), dir); err != nil || len(got) != 1 || !got[0].Set {
		t.Errorf("a build with dump: %v, %v", got, err)
	}
	run("config", "--local", "merge.mcpcat.driver", "mine %A")
	both := driversOf(built("lock dump", "lock merge"))
	got, err := both.configure(t.Context(), dir)
	want := []view.GitSetting{
		{Key: "diff.mcpcat.textconv", Value: "mcpcat lock dump"},
		{Key: "merge.mcpcat.name", Value: "lock files of mcpcat", Set: true},
		{Key: "merge.mcpcat.driver", Value: "mine %A"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if got := run("config", "--local", "diff.mcpcat.textconv"); got != "mcpcat lock dump" {
		t.Errorf("textconv is %q", got)
	}
	text := withAttributes(nil, both.attributes("catalog.lock.db", "catalog.lock.txt"))
	if err := os.WriteFile(filepath.Join(dir, ".gitattributes"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	for attribute, want := range map[string]string{"diff": "mcpcat", "merge": "mcpcat", "text": "unset"} {
		if got := run("check-attr", attribute, "catalog.lock.db"); !strings.HasSuffix(got, ": "+want) {
			t.Errorf("git says %q, want %s", got, want)
		}
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(filepath.Dir(dir)))
	var failed *exitError
	if _, err := both.configure(t.Context(), filepath.Dir(dir)); !errors.As(err, &failed) || failed.diags[0].Code != "init.git" {
		t.Errorf("outside a repository: %v", err)
	}
}
