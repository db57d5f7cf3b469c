package boltfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

func TestLoad(t *testing.T) {
	l := makeLock(t, 30, 600)
	b := mustEncode(t, l)
	loaded := mustLoad(t, put(t, b))
	if diff := cmp.Diff(l, loaded.Lock); diff != "" {
		t.Errorf("lock read back (-want +got):\n%s", diff)
	}
	if !loaded.Canonical {
		t.Error("a file that Encode wrote is not canonical")
	}
	// The lock holds on to nothing of the bytes.
	clear(loaded.Bytes)
	if diff := cmp.Diff(l, loaded.Lock); diff != "" {
		t.Errorf("lock changes with the bytes:\n%s", diff)
	}
}

// TestLoadStates tells the five states apart in which there is nothing to rely on, and what is no lock file at all.
func TestLoadStates(t *testing.T) {
	good := mustEncode(t, makeLock(t, 3, 100))
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	target := write("target.lock.db", good)
	link := filepath.Join(dir, "link.lock.db")
	if err := os.Symlink(target, link); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "folder.lock.db")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	large := write("large.lock.db", good)
	if err := os.Truncate(large, MaxFileBytes+1); err != nil {
		t.Fatal(err)
	}
	zero := write("zero.lock.db", nil)
	if err := os.Truncate(zero, 3*pageSize); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		path string
		is   error
		want string
	}{
		"absent":           {filepath.Join(dir, "none.lock.db"), lock.ErrAbsent, "there is no lock file"},
		"absent directory": {filepath.Join(dir, "none", "none.lock.db"), lock.ErrAbsent, "there is no lock file"},
		"empty":            {write("empty.lock.db", nil), lock.ErrEmpty, "lock file is empty"},
		"text":             {write("text.lock.db", []byte("Hello\n")), lock.ErrNotLock, "it holds text"},
		"zero bytes":       {zero, lock.ErrNotLock, "nothing but zero bytes"},
		"sqlite":           {write("sqlite.lock.db", []byte("SQLite format 3\x00....")), lock.ErrNotLock, "an SQLite database"},
		"link":             {link, nil, "it is a symbolic link"},
		"directory":        {folder, nil, "it is a directory"},
		"too large":        {large, nil, "it has 536870913 bytes, want at most 536870912"},
		"other name":       {write("catalog.db", good), nil, `name does not end in ".lock.db"`},
		"the target":       {target, nil, ""},
	} {
		if runtime.GOOS == "windows" && name == "link" {
			continue
		}
		_, err := Load(context.Background(), c.path)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: Load = %v, want it read", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.Base(c.path))):
			t.Errorf("%s: Load = %v, want %q and the path", name, err, c.want)
		case c.is != nil && !errors.Is(err, c.is):
			t.Errorf("%s: Load = %v, want it to be %v", name, err, c.is)
		}
		for _, other := range []error{lock.ErrAbsent, lock.ErrEmpty, lock.ErrNotLock} {
			if other != c.is && errors.Is(err, other) {
				t.Errorf("%s: Load = %v, which is also %v", name, err, other)
			}
		}
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	path := put(t, mustEncode(t, makeLock(t, 3, 100)))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if held, err := tryLock(f, true); held || err != nil {
		t.Fatal(held, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := Load(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Load = %v, want the deadline", err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("Load took %v after its context ended", took)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, path)
}

func TestLooks(t *testing.T) {
	for text, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid": "a Git LFS pointer (fetch the file with git lfs pull)",
		"a\n<<<<<<< HEAD\nb\n":                            "conflict text of a git merge (restore one side, then plan and apply)",
		" {\"a\":1}":                                      "JSON text",
		strings.Repeat("é", 300):                          "text",
		"\xff\xfe":                                        "unknown bytes",
	} {
		if got := looks([]byte(text)); got != want {
			t.Errorf("looks(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestNotRegular(t *testing.T) {
	for mode, want := range map[fs.FileMode]string{fs.ModeSymlink: "symbolic link", fs.ModeDir: "directory", fs.ModeNamedPipe: "not a regular file"} {
		if got := notRegular(mode).Error(); !strings.Contains(got, want) {
			t.Errorf("notRegular(%v) = %q, want %q", mode, got, want)
		}
	}
}
