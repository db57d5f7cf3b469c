package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

func init() {
	// holds the lock file open for writing with bbolt, until standard input ends
	children["hold"] = func() {
		db, err := bolt.Open(childPlace().lock, 0o600, &bolt.Options{Timeout: time.Second})
		must(err)
		fmt.Println("ready")
		_, err = io.Copy(io.Discard, os.Stdin)
		must(err)
		must(db.Close())
	}
}

func TestHeldByAnotherProcess(t *testing.T) {
	t.Parallel()
	casetest.Dir(t, "lock/held-by-another-process")
	p := newPlace(t)
	first := makeLock(t, 20, 300)
	p.replace(t, nil, first)
	c := start(t, "hold", "MCPCAT_TEST_DIR="+p.dir)
	c.line(t)

	begin := time.Now()
	read := make(chan error, 1)
	go func() {
		_, err := Load(context.Background(), p.lock)
		read <- err
	}()
	w := p.writer(t)
	write := w.Replace(first.Base(), following(t, first, "second"), p.mirror)
	for what, err := range map[string]error{"Load": <-read, "Replace": write} {
		var busy *lock.BusyError
		if !errors.As(err, &busy) || !strings.Contains(err.Error(), p.lock) || !strings.Contains(err.Error(), "is in use by") {
			t.Errorf("%s = %v, want that the file is in use", what, err)
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v to say so", took)
	}
	if got := names(t, p.dir); len(got) != 3 {
		t.Errorf("directory holds %v", got)
	}
	c.end(t)
	if loaded := mustLoad(t, p.lock); loaded.Lock.Serial != 1 {
		t.Errorf("serial = %d, want 1", loaded.Lock.Serial)
	}
}

// TestHeldBeforeTheRename lets the foreign holder come between the comparison and the rename.
func TestHeldBeforeTheRename(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := makeLock(t, 20, 300)
	p.replace(t, nil, first)
	w := p.writer(t)
	w.timeout = 0
	_, info, err := w.current()
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, "hold", "MCPCAT_TEST_DIR="+p.dir)
	c.line(t)
	temp := p.lock + ".tmp"
	if err := os.WriteFile(temp, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	var busy *lock.BusyError
	if err := w.rename(first.Base(), info, temp); !errors.As(err, &busy) {
		t.Errorf("rename = %v, want it busy", err)
	}
	c.end(t)
	same(t, p.lock, mustEncode(t, first))
}

func TestTruncatedFile(t *testing.T) {
	dir := casetest.Dir(t, "lock/truncated-file")
	good := mustEncode(t, makeLock(t, 30, 600))
	sample, err := os.ReadFile(filepath.Join(dir, "sample.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"half.db", "two-pages.db", "bytes-6000.db"} {
		cut, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(sample, cut) {
			t.Fatalf("%s is not the beginning of sample.db", name)
		}
		// The same damage to a lock of our own.
		n := len(cut)
		if name == "half.db" {
			n = len(good) / 2
			// The half of the stand-in is whole up to its last page, but it is no lock.
			if _, err := LoadBytes(cut); err == nil {
				t.Errorf("%s is accepted", name)
			}
		} else if _, err := LoadBytes(cut); err == nil || !strings.Contains(err.Error(), "lock file damaged") {
			t.Errorf("%s: LoadBytes = %v, want it damaged", name, err)
		}
		path := put(t, good[:n])
		_, err = Load(context.Background(), path)
		var corrupt *lock.CorruptError
		if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "lock file damaged") || !strings.Contains(err.Error(), path) {
			t.Errorf("lock cut as %s: Load = %v, want it damaged", name, err)
		}
		same(t, path, good[:n])
		// Nothing is held: a good copy in the same place is read at once, also exclusively.
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
		mustLoad(t, path)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		held, err := tryLock(f, true)
		if err := errors.Join(err, f.Close()); held || err != nil {
			t.Errorf("the file is still locked: %v, %v", held, err)
		}
	}
}

func TestNotADatabase(t *testing.T) {
	dir := casetest.Dir(t, "lock/not-a-database")
	for name, want := range map[string]string{
		"conflict.db": "conflict text", "pointer.db": "Git LFS pointer", "json.db": "JSON text", "random.db": "unknown bytes",
	} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		path := put(t, content)
		_, err = Load(context.Background(), path)
		if !errors.Is(err, lock.ErrNotLock) || !strings.Contains(err.Error(), "not a lock file") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Load = %v, want that it is no lock file but %s", name, err, want)
		}
		w, err := OpenWriter(context.Background(), path, filepath.Join(filepath.Dir(path), ".mcpcat"), time.Second, "mcpcat apply")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Replace(nil, makeLock(t, 2, 100), ""); !errors.Is(err, lock.ErrNotLock) {
			t.Errorf("%s: Replace = %v, want that it is no lock file", name, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		same(t, path, content)
	}
}

func TestNewerFormat(t *testing.T) {
	casetest.Dir(t, "lock/newer-format")
	edit := func(key string, change func([]byte) []byte) string {
		path := put(t, mustEncode(t, makeLock(t, 30, 600)))
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(db.Update(func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(bucketName))
			return b.Put([]byte(key), change(bytes.Clone(b.Get([]byte(key)))))
		}), db.Close())
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		key  string
		old  string
		new  string
		as   any
		want string
	}{
		"twin, unchanged": {"meta/format", `"major":1`, `"major":1`, nil, ""},
		"newer":           {"meta/format", `"major":1`, `"major":2`, new(*lock.FormatError), "needs mcpcat with lock format 2.0"},
		"digest version":  {"tool/server.s1/tool_00005", `"sha256:`, `"v999:`, new(*lock.DigestVersionError), `unknown digest version "v999"`},
	} {
		path := edit(c.key, func(v []byte) []byte {
			if !bytes.Contains(v, []byte(c.old)) {
				t.Fatalf("no %s in %s", c.old, c.key)
			}
			return bytes.Replace(v, []byte(c.old), []byte(c.new), 1)
		})
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(context.Background(), path)
		if c.want == "" {
			if err != nil || loaded.Canonical {
				t.Errorf("%s: Load = %v, want it read and not canonical", name, err)
			}
			continue
		}
		if loaded != nil || !errors.As(err, c.as) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "upgrade mcpcat") {
			t.Errorf("%s: Load = %v, want %q and a hint to upgrade", name, err, c.want)
		}
		w, err := OpenWriter(context.Background(), path, filepath.Join(filepath.Dir(path), ".mcpcat"), time.Second, "mcpcat apply")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Replace(nil, makeLock(t, 2, 100), ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Replace = %v, want %q", name, err, c.want)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		same(t, path, content)
	}
}

func TestConcurrentApplies(t *testing.T) {
	t.Parallel()
	casetest.Dir(t, "lock/concurrent-applies")
	p := newPlace(t)
	p.replace(t, nil, makeLock(t, 20, 300))
	for round := range 50 {
		var both []*child
		for _, note := range []string{"a", "b"} {
			both = append(both, start(t, "apply", "MCPCAT_TEST_DIR="+p.dir, fmt.Sprintf("MCPCAT_TEST_NOTE=%s%d", note, round)))
		}
		for _, c := range both {
			c.line(t)
		}
		begin := time.Now()
		for _, c := range both {
			if err := c.stdin.Close(); err != nil {
				t.Fatal(err)
			}
		}
		results := both[0].line(t) + " " + both[1].line(t)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("round %d took %v", round, took)
		}
		for _, c := range both {
			if err := c.cmd.Wait(); err != nil {
				t.Errorf("round %d: %v, %s", round, err, c.err.String())
			}
		}
		winner := "a"
		switch results {
		case "done stale":
		case "stale done":
			winner = "b"
		default:
			t.Fatalf("round %d: results are %q, want one done and one stale", round, results)
		}
		loaded := mustLoad(t, p.lock)
		if want := fmt.Sprintf(`{"note":"%s%d","recheck":"each_call"}`, winner, round); string(loaded.Lock.Gate) != want || loaded.Lock.Serial != uint64(2+round) || !loaded.Canonical {
			t.Fatalf("round %d: lock holds %s with serial %d, want %s with serial %d", round, loaded.Lock.Gate, loaded.Lock.Serial, want, 2+round)
		}
		same(t, p.mirror, lock.Mirror(loaded.Lock))
	}
}
