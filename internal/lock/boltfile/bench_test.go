package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// timed runs f n times and returns the mean.
func timed(b *testing.B, n int, f func() error) time.Duration {
	b.Helper()
	start := time.Now()
	for range n {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start) / time.Duration(n)
}

// BenchmarkLoad loads and fully checks a lock: structure, every digest, root, seal, canonical form. The metric ms/lock is
// the figure to reach.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			l := makeLock(b, n, 2048)
			path := put(b, mustEncode(b, l))
			b.ReportAllocs()
			for b.Loop() {
				loaded, err := Load(context.Background(), path)
				if err != nil || !loaded.Canonical {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/lock")
		})
	}
}

// BenchmarkOneKey opens a lock of 10,000 tools and finds one of them, as a fresh process does, and compares with bbolt
// opening the same file and reading the key: without any check. kept/bbolt is a lookup in a lock that is loaded already,
// which is how the gate does it.
func BenchmarkOneKey(b *testing.B) {
	l := makeLock(b, 10000, 2048)
	path := put(b, mustEncode(b, l))
	want := l.Items[4321]
	key := []byte(fmt.Sprintf("tool/%s/%s", want.Addr.Server, want.Addr.Name))
	base := timed(b, 200, func() error {
		db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
		if err != nil {
			return err
		}
		err = db.View(func(tx *bolt.Tx) error {
			if v := tx.Bucket([]byte(bucketName)).Get(key); !bytes.Contains(v, want.Definition) {
				return errors.New("key not found")
			}
			return nil
		})
		return errors.Join(err, db.Close())
	})
	kept := mustLoad(b, path).Lock
	lookup := timed(b, 10000, func() error {
		if kept.Find(want.Addr) == nil {
			return errors.New("item not found")
		}
		return nil
	})
	for b.Loop() {
		loaded, err := Load(context.Background(), path)
		if err != nil {
			b.Fatal(err)
		}
		if it := loaded.Lock.Find(want.Addr); it == nil || it.Digest != want.Digest {
			b.Fatal("item not found")
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(base), "checked/bbolt")
	b.ReportMetric(float64(lookup)/float64(base), "kept/bbolt")
	b.ReportMetric(float64(base.Nanoseconds())/1000, "bbolt-µs")
}

// BenchmarkWrite writes a lock of 10,000 tools of 2 KB durably. The metric raw is the ratio to writing their definitions,
// concatenated, to one file and syncing it; both are done in turn, so that they meet the same disk.
func BenchmarkWrite(b *testing.B) {
	l := makeLock(b, 10000, 2048)
	var raw []byte
	for i := range l.Items {
		raw = append(raw, l.Items[i].Definition...)
	}
	sync := func(path string, content []byte) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return errors.Join(err, f.Sync(), f.Close())
	}
	run := func(b *testing.B, write func(dir string) error) {
		dir := b.TempDir()
		var floor time.Duration
		for b.Loop() {
			b.StopTimer()
			floor += timed(b, 1, func() error { return sync(filepath.Join(dir, "raw"), raw) })
			if err := os.Remove(filepath.Join(dir, "raw")); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if err := write(dir); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed())/float64(floor), "raw")
		b.ReportMetric(float64(floor.Microseconds())/1000/float64(b.N), "raw-ms")
	}
	// Building the bytes and storing them.
	b.Run("encode", func(b *testing.B) {
		run(b, func(dir string) error {
			content, err := Encode(l)
			if err != nil {
				return err
			}
			path := filepath.Join(dir, "encoded")
			return errors.Join(sync(path, content), os.Remove(path))
		})
	})
	// All of the last step of an apply: compare with the base, build, check what was built, store, rename.
	b.Run("replace", func(b *testing.B) {
		p := newPlace(b)
		w := p.writer(b)
		if err := w.Replace(nil, l, ""); err != nil {
			b.Fatal(err)
		}
		current := l
		run(b, func(string) error {
			b.StopTimer()
			next := following(b, current, fmt.Sprint(current.Serial))
			b.StartTimer()
			if err := w.Replace(current.Base(), next, ""); err != nil {
				return err
			}
			current = next
			return nil
		})
	})
}

// BenchmarkHeld measures the moment in which an apply keeps readers out: from the exclusive kernel lock to the end of the
// rename, with a lock of 10,000 tools in place. Closing the old file, which gives the lock back first, frees its blocks
// afterwards and is not counted.
func BenchmarkHeld(b *testing.B) {
	p := newPlace(b)
	content := mustEncode(b, makeLock(b, 10000, 2048))
	if err := os.WriteFile(p.lock, content, 0o644); err != nil {
		b.Fatal(err)
	}
	w := p.writer(b)
	for b.Loop() {
		b.StopTimer()
		if err := writeTemp(p.lock+tempSuffix, content, nil); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		held, _, err := w.hold()
		if err == nil {
			err = replaceFile(p.lock+tempSuffix, p.lock, held)
		}
		b.StopTimer()
		if err != nil {
			b.Fatal(err)
		}
		if err := held.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "held-ms")
}

// BenchmarkParts shows where the time of a load and of a write goes, for 10,000 tools.
func BenchmarkParts(b *testing.B) {
	l := makeLock(b, 10000, 2048)
	file := mustEncode(b, l)
	entries, err := walk(file)
	if err != nil {
		b.Fatal(err)
	}
	for name, part := range map[string]func() error{
		"walk":        func() error { _, err := walk(file); return err },
		"fromEntries": func() error { _, err := lock.FromEntries(entries); return err },
		"isLayout": func() error {
			if !isLayout(file, entries) {
				return errors.New("not canonical")
			}
			return nil
		},
		"entries": func() error { _, err := l.Entries(); return err },
		"bbolt":   func() error { _, err := encodeEntries(entries); return err },
		"layout":  func() error { layout(entries, func(uint64, []byte) bool { return true }); return nil },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := part(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
