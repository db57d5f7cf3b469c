//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

func init() {
	// looks at a lock in a directory that it may not write, as an ordinary user
	children["look"] = func() {
		if os.Geteuid() == 0 {
			const nobody = 65534
			must(syscall.Setgroups(nil))
			must(syscall.Setgid(nobody))
			must(syscall.Setuid(nobody))
		}
		p := childPlace()
		loaded, err := Load(context.Background(), p.lock)
		must(err)
		fmt.Println("serial", loaded.Lock.Serial)
		fmt.Println(CheckWritable(p.lock))
		_, err = OpenWriter(context.Background(), p.lock, p.side, 0, "mcpcat apply")
		fmt.Println(err)
	}
}

func TestReadOnlyPlace(t *testing.T) {
	dir := casetest.Dir(t, "lock/read-only-place")
	sample, err := os.ReadFile(filepath.Join(dir, "sample.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadBytes(sample); !errors.Is(err, lock.ErrNotLock) {
		t.Errorf("the stand-in: LoadBytes = %v, want that it is no lock file", err)
	}
	p := newPlace(t)
	if err := os.WriteFile(p.lock, mustEncode(t, makeLock(t, 20, 300)), 0o444); err != nil {
		t.Fatal(err)
	}
	// The child's user must come as far as the directory, whatever the umask of this process is.
	for _, path := range []string{p.dir, filepath.Dir(p.dir)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(p.dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(p.dir, 0o755); err != nil {
			t.Error(err)
		}
	})
	c := start(t, "look", "MCPCAT_TEST_DIR="+p.dir)
	if got := c.line(t); got != "serial 1" {
		t.Errorf("reading gives %q, want serial 1", got)
	}
	for _, what := range []string{"CheckWritable", "OpenWriter"} {
		if got := c.line(t); !strings.Contains(got, "cannot be written") || !strings.Contains(got, p.lock) || !strings.Contains(got, "permission denied") {
			t.Errorf("%s says %q, want that the path cannot be written", what, got)
		}
	}
	c.end(t)
	if got := names(t, p.dir); !slices.Equal(got, []string{"catalog.lock.db"}) {
		t.Errorf("directory holds %v", got)
	}
}

// TestPipe shows that a named pipe in the place of the lock does not make a reader wait for its other end.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.lock.db")
	if err := unix.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Load(context.Background(), path)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("Load of a pipe = %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("Load waits for a pipe")
	}
}
