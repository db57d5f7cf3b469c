package gitrepo_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/gitrepo"
)

func repository(t *testing.T) string {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	if out, err := exec.Command(git, "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return dir
}

func TestConfig(t *testing.T) {
	dir := repository(t)
	ctx := t.Context()
	if err := gitrepo.Check(ctx, dir); err != nil {
		t.Fatal(err)
	}
	const key, value = "merge.mcpcat.driver", "mcpcat lock merge %O %A %B"
	if got, set, err := gitrepo.Config(ctx, dir, key); got != "" || set || err != nil {
		t.Errorf("before: %q, %v, %v", got, set, err)
	}
	if err := gitrepo.SetConfig(ctx, dir, key, value); err != nil {
		t.Fatal(err)
	}
	if got, set, err := gitrepo.Config(ctx, dir, key); got != value || !set || err != nil {
		t.Errorf("after: %q, %v, %v, want %q", got, set, err, value)
	}
	t.Setenv("GIT_DIR", filepath.Join(repository(t), ".git"))
	if got, set, err := gitrepo.Config(ctx, dir, key); got != value || !set || err != nil {
		t.Errorf("with GIT_DIR of another repository: %q, %v, %v", got, set, err)
	}
	if err := gitrepo.SetConfig(ctx, dir, "nosection", "x"); err == nil {
		t.Error("a key without a section was set")
	}
}

func TestNoRepository(t *testing.T) {
	dir := repository(t)
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(filepath.Dir(dir)))
	if err := gitrepo.Check(t.Context(), filepath.Dir(dir)); !errors.Is(err, gitrepo.ErrNoRepository) {
		t.Errorf("beside the repository: %v", err)
	}
	if err := gitrepo.SetConfig(t.Context(), filepath.Dir(dir), "a.b", "c"); err == nil {
		t.Error("set without a repository")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := gitrepo.Check(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	t.Setenv("PATH", "")
	if err := gitrepo.Check(t.Context(), dir); !errors.Is(err, gitrepo.ErrNoGit) {
		t.Errorf("without git: %v", err)
	}
}
