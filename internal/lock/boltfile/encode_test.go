package boltfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
	bolt "go.etcd.io/bbolt"
)

// The SHA-256 of the files of three locks. They change only with the format; then docs/lock-format.md changes too.
var fixtureSums = []struct {
	tools, size int
	sum         string
}{
	{0, 0, "e24737befc815cd48061441e777932749776b9e3dfa4a4cf1dc4f061e0dab52c"},
	{10, 700, "0e31f7b8e7c5e0cf61ef21d656a90095c2dcc411184d39550c0361dd922aff76"},
	{300, 2048, "c3dbc392bce8d3267d80d920ae204a6ccd7533e2bc14fa88a91f0d8bd6b5f128"},
}

// TestEncodeIsDeterministic encodes the same content again and again, the largest 200 times, in different orders of its
// lists.
func TestEncodeIsDeterministic(t *testing.T) {
	for i, f := range fixtureSums {
		l := makeLock(t, f.tools, f.size)
		for range []int{20, 50, 200}[i] {
			if got := fmt.Sprintf("%x", sha256.Sum256(mustEncode(t, shuffled(l)))); got != f.sum {
				t.Fatalf("lock of %d tools has SHA-256 %s, want %s", f.tools, got, f.sum)
			}
		}
	}
}

func init() {
	children["encode"] = func() {
		for _, f := range fixtureSums {
			fmt.Printf("%x\n", sha256.Sum256(mustEncode(childTB{}, makeLock(childTB{}, f.tools, f.size))))
		}
	}
}

// childTB lets a child process use the helpers of tests.
type childTB struct{ testing.TB }

func (childTB) Helper()               {}
func (childTB) Fatal(args ...any)     { fmt.Fprintln(os.Stderr, args...); os.Exit(1) }
func (childTB) Errorf(string, ...any) { os.Exit(1) }

// TestEncodeIsTheSameInEveryProcess starts processes, because Go seeds the order of its maps for each.
func TestEncodeIsTheSameInEveryProcess(t *testing.T) {
	for i := range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "MCPCAT_TEST_CHILD=encode", fmt.Sprintf("GOMAXPROCS=%d", 1+i%2), fmt.Sprintf("GOGC=%d", 10+100*(i%3)))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for j, got := range strings.Fields(string(out)) {
			if got != fixtureSums[j].sum {
				t.Errorf("process %d: SHA-256 %s, want %s", i, got, fixtureSums[j].sum)
			}
		}
	}
}

// entriesOf makes n entries with values of random sizes, sorted by key.
func entriesOf(n, maxKey, maxValue int) []lock.KV {
	seen := map[string]bool{}
	var kvs []lock.KV
	for len(kvs) < n {
		key := make([]byte, 1+rand.IntN(maxKey))
		for i := range key {
			key[i] = "abcdefgh/%"[rand.IntN(10)]
		}
		if seen[string(key)] {
			key = fmt.Appendf(key, "%d", len(kvs))
		}
		seen[string(key)] = true
		kvs = append(kvs, lock.KV{Key: string(key), Value: bytes.Repeat([]byte{'v'}, rand.IntN(maxValue+1))})
	}
	slices.SortFunc(kvs, func(a, b lock.KV) int { return strings.Compare(a.Key, b.Key) })
	return kvs
}

func laidOut(entries []lock.KV) []byte {
	var file []byte
	pages := layout(entries, func(id uint64, page []byte) bool {
		if need := int(id)*pageSize + len(page); len(file) < need {
			file = append(file, make([]byte, need-len(file))...)
		}
		copy(file[id*pageSize:], page)
		return true
	})
	return file[:pages*pageSize]
}

// TestLayoutIsWhatBoltWrites holds the two writers to the same bytes, around every boundary of the rules: small buckets,
// pages that just fit, values of many pages, several levels of branches.
func TestLayoutIsWhatBoltWrites(t *testing.T) {
	check := func(entries []lock.KV) {
		t.Helper()
		want, err := encodeEntries(entries)
		if err != nil {
			t.Fatal(err)
		}
		if got := laidOut(entries); !bytes.Equal(got, want) {
			t.Fatalf("layout of %d entries differs from what bbolt writes (%d and %d bytes)", len(entries), len(got), len(want))
		}
		if !isLayout(want, entries) {
			t.Fatalf("isLayout denies its own layout of %d entries", len(entries))
		}
		want[rand.IntN(len(want))] ^= 1
		if isLayout(want, entries) {
			t.Fatalf("isLayout of %d entries overlooks a changed bit", len(entries))
		}
		kvs, err := walk(laidOut(entries))
		if err != nil {
			t.Fatalf("walk of %d entries: %v", len(entries), err)
		}
		if len(kvs) != len(entries) {
			t.Fatalf("walk finds %d entries, want %d", len(kvs), len(entries))
		}
		for i := range kvs {
			if kvs[i].Key != entries[i].Key || !bytes.Equal(kvs[i].Value, entries[i].Value) {
				t.Fatalf("walk reads entry %q as %q", entries[i].Key, kvs[i].Key)
			}
		}
	}
	for n := range 12 {
		for _, value := range []int{0, 50, 150, 500, 2000, 4000, 5000, 20000} {
			check(entriesOf(n, 20, value))
		}
	}
	// One byte more and less around the size at which a bucket leaves its element, and at which a page is full.
	for _, total := range []int{pageSize / 4, pageSize} {
		for d := -2; d <= 2; d++ {
			for n := 1; n <= 6; n++ {
				entries := entriesOf(n, 10, 0)
				size := pageHeaderSize
				for _, e := range entries {
					size += leafElementSize + len(e.Key)
				}
				entries[n-1].Value = make([]byte, max(0, total+d-size))
				check(entries)
			}
		}
	}
	for range 20 {
		check(entriesOf(1+rand.IntN(3000), 1+rand.IntN(200), rand.IntN(3000)))
	}
	check(entriesOf(3000, 3000, 10)) // long keys make many levels
}

// TestBoltReadsWhatItWrote shows that the file is a sound bbolt database for every other program.
func TestBoltReadsWhatItWrote(t *testing.T) {
	l := makeLock(t, 40, 500)
	entries, err := l.Entries()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, mustEncode(t, l), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("bbolt check: %v", err)
		}
		i := 0
		err := tx.Bucket([]byte("mcpcat")).ForEach(func(k, v []byte) error {
			if string(k) != entries[i].Key || !bytes.Equal(v, entries[i].Value) {
				t.Errorf("entry %d is %q, want %q", i, k, entries[i].Key)
			}
			i++
			return nil
		})
		if i != len(entries) {
			t.Errorf("bbolt finds %d entries, want %d", i, len(entries))
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestTempBuildFile builds in a temporary file, as systems without files in memory do, and leaves none behind.
func TestTempBuildFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	f, remove, err := tempBuildFile()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && len(names(t, dir)) != 0 {
		t.Errorf("the file has a name while it is used: %v", names(t, dir))
	}
	if err := errors.Join(f.Close(), remove()); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
