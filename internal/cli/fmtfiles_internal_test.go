//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/term"
)

func rootWith(t *testing.T, name, text string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, path
}

// alone wants the file to hold text and nothing to be beside it.
func alone(t *testing.T, path, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != text {
		t.Errorf("the file holds %q (%v), want %q", b, err, text)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v (%v), want the file alone", entries, err)
	}
}

func TestReplaceIn(t *testing.T) {
	root, path := rootWith(t, "a.hcl", "old")
	if err := replaceIn(root, "a.hcl", []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	alone(t, path, "new")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v (%v), want 0640", info.Mode(), err)
	}
	// Somebody has saved another text since it was read.
	if err := replaceIn(root, "a.hcl", []byte("old"), []byte("newer")); err == nil || !strings.Contains(err.Error(), "in the meantime") {
		t.Errorf("a file that was changed meanwhile: %v", err)
	}
	alone(t, path, "new")
	if err := replaceIn(root, "../a.hcl", []byte("old"), []byte("new")); err == nil {
		t.Error("a file outside was written")
	}
}

func TestReplaceInKeepsTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	root, path := rootWith(t, "a.hcl", "old")
	if err := os.Chown(path, 1234, 4321); err != nil {
		t.Fatal(err)
	}
	if err := replaceIn(root, "a.hcl", []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	alone(t, path, "new")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 1234 || s.Gid != 4321 {
		t.Errorf("it belongs to %d:%d, want 1234:4321", s.Uid, s.Gid)
	}
}

func TestReadInIsBounded(t *testing.T) {
	root, path := rootWith(t, "a.hcl", strings.Repeat("#", catalog.MaxFileBytes))
	if b, err := readIn(root, "a.hcl"); err != nil || len(b) != catalog.MaxFileBytes {
		t.Errorf("the largest file: %d bytes, %v", len(b), err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("#", catalog.MaxFileBytes+1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readIn(root, "a.hcl"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a larger one: %v", err)
	}
}

func TestFmtListIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range maxFmtFiles {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.catalog.hcl", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{Process: &term.Process{Dir: dir}}
	files, diags, err := a.fmtList(context.Background(), nil, false)
	if err != nil || diags.HasErrors() || len(files) != maxFmtFiles {
		t.Fatalf("%d files, %v, %v", len(files), diags, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "one-more.catalog.hcl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if files, _, err := a.fmtList(context.Background(), nil, false); err == nil || files != nil {
		t.Errorf("one more: %d files, %v", len(files), err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := a.fmtList(ended, nil, false); err == nil {
		t.Error("an interrupt did not end it")
	}
}
