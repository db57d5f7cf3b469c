package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// place is a directory for one lock with its mirror.
type place struct{ dir, lock, mirror, side string }

func newPlace(t testing.TB) place {
	dir := t.TempDir()
	return place{dir, filepath.Join(dir, "catalog.lock.db"), filepath.Join(dir, "catalog.lock.txt"), filepath.Join(dir, ".mcpcat")}
}

func (p place) writer(t testing.TB) *Writer {
	t.Helper()
	w, err := OpenWriter(context.Background(), p.lock, p.side, 5*time.Second, "mcpcat test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (p place) replace(t testing.TB, base *lock.Base, next *lock.Lock) {
	t.Helper()
	w := p.writer(t)
	if err := errors.Join(w.Replace(base, next, p.mirror), w.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestReplace(t *testing.T) {
	p := newPlace(t)
	first := makeLock(t, 12, 300)
	p.replace(t, nil, first)
	if got := names(t, p.dir); !slices.Equal(got, []string{".mcpcat", "catalog.lock.db", "catalog.lock.txt"}) {
		t.Errorf("directory holds %v", got)
	}
	if got := names(t, p.side); !slices.Equal(got, []string{".gitignore", "writer.lock"}) {
		t.Errorf("side directory holds %v", got)
	}
	same(t, p.lock, mustEncode(t, first))
	same(t, p.mirror, lock.Mirror(first))
	if runtime.GOOS != "windows" {
		if err := os.Chmod(p.lock, 0o640); err != nil {
			t.Fatal(err)
		}
	}

	second := following(t, first, "second")
	p.replace(t, first.Base(), second)
	loaded := mustLoad(t, p.lock)
	if !lock.SameBase(loaded.Lock.Base(), second.Base()) || !loaded.Canonical || loaded.Lock.Parent != first.Root {
		t.Errorf("lock is %+v, want %+v", loaded.Lock.Base(), second.Base())
	}
	same(t, p.mirror, lock.Mirror(second))
	if info, err := os.Stat(p.lock); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode of the lock = %v, %v, want that of the file before", info.Mode(), err)
	}
	if info, err := os.Stat(p.mirror); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		t.Errorf("mode of the mirror = %v, %v", info.Mode(), err)
	}
}

// TestReplaceRefuses changes nothing and leaves nothing in each of these cases.
func TestReplaceRefuses(t *testing.T) {
	first := makeLock(t, 3, 100)
	second := following(t, first, "second")
	other := *second
	other.Lineage = strings.Repeat("f", 32)
	if err := lock.Seal(&other); err != nil {
		t.Fatal(err)
	}
	wrongDigest := *second
	wrongDigest.Items = slices.Clone(second.Items)
	wrongDigest.Items[0].Digest = wrongDigest.Items[1].Digest
	invalid := *second
	invalid.Agents = []lock.Agent{{Name: "x", Names: "other"}}
	orphan := *second
	orphan.Parent[0] ^= 1
	wrongBase := *first.Base()
	wrongBase.Root[5] ^= 1

	for name, c := range map[string]struct {
		setup func(t *testing.T, p *place)
		base  *lock.Base
		next  *lock.Lock
		want  string
	}{
		"no lock expected":      {nil, nil, first, "it is now serial 1"},
		"other root":            {nil, &wrongBase, second, "want serial 1"},
		"other serial":          {nil, second.Base(), second, "want serial 2"},
		"other lineage":         {nil, first.Base(), &other, "lineage would change"},
		"serial stays":          {nil, first.Base(), first, "serial would go from 1 to 1"},
		"foreign parent":        {nil, first.Base(), &orphan, "parent of the new lock"},
		"digest that is wrong":  {nil, first.Base(), &wrongDigest, "the new lock does not hold"},
		"lock nobody can write": {nil, first.Base(), &invalid, `want "prefixed" or "plain"`},
		"mirror is a directory": {func(t *testing.T, p *place) { mkdir(t, p.mirror) }, first.Base(), second, "it is a directory"},
		"mirror is a link":      {func(t *testing.T, p *place) { symlink(t, p.lock, p.mirror) }, first.Base(), second, "symbolic link"},
		"mirror misnamed":       {func(_ *testing.T, p *place) { p.mirror = filepath.Join(p.dir, "README.md") }, first.Base(), second, `does not end in ".lock.txt"`},
		"temp is a directory":   {func(t *testing.T, p *place) { mkdir(t, p.lock+".tmp") }, first.Base(), second, "it is a directory"},
		"temp is a link":        {func(t *testing.T, p *place) { symlink(t, p.lock, p.lock+".tmp") }, first.Base(), second, "symbolic link"},
		"mirror temp is a link": {func(t *testing.T, p *place) { symlink(t, p.lock, p.mirror+".tmp") }, first.Base(), second, "symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.replace(t, nil, first)
			if err := os.Remove(p.mirror); err != nil {
				t.Fatal(err)
			}
			if c.setup != nil {
				c.setup(t, &p)
			}
			before, content := names(t, p.dir), mustEncode(t, first)
			w := p.writer(t)
			if err := w.Replace(c.base, c.next, p.mirror); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Replace = %v, want %q", err, c.want)
			}
			same(t, p.lock, content)
			if after := names(t, p.dir); !slices.Equal(before, after) {
				t.Errorf("directory held %v, now %v", before, after)
			}
		})
	}
}

func TestReplaceWhatIsNoLock(t *testing.T) {
	first := makeLock(t, 3, 100)
	good := mustEncode(t, first)
	damaged := slices.Clone(good)
	damaged[5*pageSize+40] ^= 1
	for name, content := range map[string][]byte{"empty": {}, "text": []byte("<<<<<<< ours\n"), "cut": good[:6000], "damaged": damaged} {
		for _, base := range []*lock.Base{nil, first.Base()} {
			p := newPlace(t)
			if err := os.WriteFile(p.lock, content, 0o644); err != nil {
				t.Fatal(err)
			}
			err := p.writer(t).Replace(base, following(t, first, "x"), p.mirror)
			var stale *lock.StaleError
			if err == nil || errors.As(err, &stale) {
				t.Errorf("%s: Replace = %v, want the fault of the file", name, err)
			}
			same(t, p.lock, content)
		}
	}
	// A lock that vanished is stale, not a first lock.
	p := newPlace(t)
	var stale *lock.StaleError
	if err := p.writer(t).Replace(first.Base(), following(t, first, "x"), p.mirror); !errors.As(err, &stale) || stale.Got != nil || *stale.Want != *first.Base() {
		t.Errorf("Replace of a lock that is gone = %v, want it stale", err)
	}
}

// TestFullDisk lets the disk be full while the lock, or its mirror, is half written. The control writes both.
func TestFullDisk(t *testing.T) {
	first := makeLock(t, 12, 300)
	for _, suffix := range []string{LockSuffix + tempSuffix, MirrorSuffix + tempSuffix, "none"} {
		p := newPlace(t)
		p.replace(t, nil, first)
		before := names(t, p.dir)
		w := p.writer(t)
		w.store = func(path string, b []byte, replaces fs.FileInfo) error {
			if !strings.HasSuffix(path, suffix) {
				return writeTemp(path, b, replaces)
			}
			return errors.Join(writeTemp(path, b[:len(b)/2], replaces), syscall.ENOSPC)
		}
		err := w.Replace(first.Base(), following(t, first, "second"), p.mirror)
		if suffix == "none" {
			if err != nil {
				t.Errorf("Replace on a disk with room = %v", err)
			}
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "was not changed") {
			t.Errorf("Replace on a full disk = %v", err)
		}
		same(t, p.lock, mustEncode(t, first))
		same(t, p.mirror, lock.Mirror(first))
		if after := names(t, p.dir); !slices.Equal(before, after) {
			t.Errorf("directory held %v, now %v", before, after)
		}
	}
}

// TestMirrorFailsLast makes the mirror impossible to replace at the last moment: the lock is new, and the error says that
// only the mirror is not.
func TestMirrorFailsLast(t *testing.T) {
	p := newPlace(t)
	first := makeLock(t, 12, 300)
	p.replace(t, nil, first)
	second := following(t, first, "second")
	w := p.writer(t)
	w.store = func(path string, b []byte, replaces fs.FileInfo) error {
		if strings.HasSuffix(path, MirrorSuffix+tempSuffix) {
			if err := os.Remove(p.mirror); err != nil {
				return err
			}
			mkdir(t, p.mirror)
		}
		return writeTemp(path, b, replaces)
	}
	err := w.Replace(first.Base(), second, p.mirror)
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || !strings.Contains(err.Error(), p.lock) || !strings.Contains(err.Error(), "was written, but its mirror") || errors.Unwrap(incomplete) == nil {
		t.Errorf("Replace = %v, want that only the mirror failed", err)
	}
	same(t, p.lock, mustEncode(t, second))
	if got := names(t, p.dir); !slices.Equal(got, []string{".mcpcat", "catalog.lock.db", "catalog.lock.txt"}) {
		t.Errorf("directory holds %v", got)
	}
}

func TestReplaceCleansUp(t *testing.T) {
	p := newPlace(t)
	first := makeLock(t, 3, 100)
	for _, path := range []string{p.lock + ".tmp", p.mirror + ".tmp"} {
		if err := os.WriteFile(path, []byte("left by a killed writer"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.replace(t, nil, first)
	if got := names(t, p.dir); !slices.Equal(got, []string{".mcpcat", "catalog.lock.db", "catalog.lock.txt"}) {
		t.Errorf("directory holds %v", got)
	}
	same(t, p.lock, mustEncode(t, first))
}

func TestNoMirror(t *testing.T) {
	p := newPlace(t)
	w := p.writer(t)
	if err := w.Replace(nil, makeLock(t, 3, 100), ""); err != nil {
		t.Fatal(err)
	}
	if got := names(t, p.dir); !slices.Equal(got, []string{".mcpcat", "catalog.lock.db"}) {
		t.Errorf("directory holds %v", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Replace(nil, makeLock(t, 3, 100), ""); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Replace of a closed writer = %v", err)
	}
}

func TestWriterIsAlone(t *testing.T) {
	p := newPlace(t)
	w := p.writer(t)
	_, err := OpenWriter(context.Background(), p.lock, p.side, 60*time.Millisecond, "mcpcat other")
	var busy *lock.BusyError
	if !errors.As(err, &busy) || busy.Path != p.lock || busy.Holder != fmt.Sprintf("pid %d (mcpcat test)", os.Getpid()) {
		t.Errorf("second OpenWriter = %v, want the holder", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, err := OpenWriter(ctx, p.lock, p.side, time.Minute, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("OpenWriter whose context ends = %v", err)
	}
	// One that waits gets the right when it is given back.
	got := make(chan error, 1)
	go func() {
		second, err := OpenWriter(context.Background(), p.lock, p.side, 10*time.Second, "mcpcat waiter")
		if err == nil {
			err = second.Close()
		}
		got <- err
	}()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("waiting OpenWriter = %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(p.side, "writer.lock")); err != nil || len(b) != 0 {
		t.Errorf("side file holds %q, %v after everybody left", b, err)
	}
}

func TestOpenWriterRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		setup func(t *testing.T, p *place)
		want  string
	}{
		"name":                {func(_ *testing.T, p *place) { p.lock = filepath.Join(p.dir, "main.go") }, `does not end in ".lock.db"`},
		"no directory":        {func(_ *testing.T, p *place) { p.lock = filepath.Join(p.dir, "none", "catalog.lock.db") }, "cannot be written"},
		"lock is a link":      {func(t *testing.T, p *place) { symlink(t, p.dir, p.lock) }, "symbolic link"},
		"lock is a directory": {func(t *testing.T, p *place) { mkdir(t, p.lock) }, "it is a directory"},
		"side is a file":      {func(t *testing.T, p *place) { p.side = put(t, []byte("x")) }, "is not a directory"},
		"side is a link":      {func(t *testing.T, p *place) { symlink(t, p.dir, p.side) }, "is not a directory"},
		"side file is a link": {func(t *testing.T, p *place) {
			mkdir(t, p.side)
			symlink(t, p.dir, filepath.Join(p.side, "writer.lock"))
		}, "symbolic link"},
		"no room for the side": {func(_ *testing.T, p *place) { p.side = filepath.Join(p.dir, "a", "b") }, "cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.setup(t, &p)
			w, err := OpenWriter(context.Background(), p.lock, p.side, 0, "x")
			if err == nil {
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("OpenWriter = %v, want %q", err, c.want)
			}
		})
	}
}

func TestHolderIsData(t *testing.T) {
	for content, want := range map[string]string{
		"12 mcpcat apply\n":                      "pid 12 (mcpcat apply)",
		"12":                                     "pid 12",
		"":                                       "",
		"x y\n":                                  "",
		"-3 y\n":                                 "",
		"12 a\x1b[2Jb\n":                         `pid 12 (a\x1b[2Jb)`,
		"12 " + strings.Repeat("a", 5000) + "\n": "pid 12 (" + strings.Repeat("a", maxHolderBytes-3) + ")",
	} {
		path := filepath.Join(t.TempDir(), "writer.lock")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := readHolder(path); got != want {
			t.Errorf("readHolder of %q = %q, want %q", content, got, want)
		}
	}
}

// TestSideFileRemoved shows that removing the side file by hand does not let two writers in: the one who waits for the old
// file notices that the name leads elsewhere.
func TestSideFileRemoved(t *testing.T) {
	p := newPlace(t)
	first := p.writer(t)
	waiting := make(chan *Writer, 1)
	go func() {
		w, err := OpenWriter(context.Background(), p.lock, p.side, 10*time.Second, "second")
		if err != nil {
			t.Error(err)
		}
		waiting <- w
	}()
	time.Sleep(2 * pollWait) // lets the other open the file that is going to be removed; without that it waits for nothing
	if err := os.Remove(filepath.Join(p.side, "writer.lock")); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("an open file cannot be removed")
		}
		t.Fatal(err)
	}
	third := p.writer(t)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-waiting:
		t.Fatal("a second writer came in while the third holds the lock")
	case <-time.After(4 * pollWait):
	}
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	if second := <-waiting; second != nil {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestForeignReplacement puts another lock in place between the comparison and the rename, as git does, without the
// writer's lock.
func TestForeignReplacement(t *testing.T) {
	p := newPlace(t)
	first := makeLock(t, 3, 100)
	p.replace(t, nil, first)
	w := p.writer(t)
	_, info, err := w.current()
	if err != nil {
		t.Fatal(err)
	}
	foreign := mustEncode(t, following(t, first, "foreign"))
	if err := os.Remove(p.lock); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.lock, foreign, 0o644); err != nil {
		t.Fatal(err)
	}
	temp := p.lock + ".tmp"
	if err := os.WriteFile(temp, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	var stale *lock.StaleError
	if err := w.rename(first.Base(), info, temp); !errors.As(err, &stale) || stale.Got.Serial != 2 {
		t.Errorf("rename = %v, want it stale", err)
	}
	same(t, p.lock, foreign)
}

// TestServeNeverBlocksApply holds a lock loaded while it is replaced, and loads all the time.
func TestServeNeverBlocksApply(t *testing.T) {
	p := newPlace(t)
	current := makeLock(t, 50, 500)
	p.replace(t, nil, current)
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !stop.Load() {
				if loaded, err := Load(context.Background(), p.lock); err != nil || !loaded.Canonical {
					t.Errorf("Load beside a writer = %v", err)
				}
			}
		})
	}
	for i := range 30 {
		next := following(t, current, fmt.Sprint(i))
		p.replace(t, current.Base(), next)
		current = next
	}
	stop.Store(true)
	readers.Wait()
}

func TestCheckWritable(t *testing.T) {
	p := newPlace(t)
	if err := CheckWritable(p.lock); err != nil {
		t.Errorf("CheckWritable of a new lock = %v", err)
	}
	p.replace(t, nil, makeLock(t, 3, 100))
	if err := CheckWritable(p.lock); err != nil {
		t.Errorf("CheckWritable of a lock = %v", err)
	}
	for _, path := range []string{filepath.Join(p.dir, "none", "a.lock.db"), filepath.Join(p.dir, "a.db"), p.side + ".lock.db/../x"} {
		if err := CheckWritable(path); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", path)) {
			t.Errorf("CheckWritable(%q) = %v, want an error that names the path", path, err)
		}
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("no right to make links")
		}
		t.Fatal(err)
	}
}
