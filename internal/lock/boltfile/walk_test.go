package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	bolt "go.etcd.io/bbolt"
)

// judge loads a damaged copy of a file and fails unless the damage is noticed or without effect.
func judge(t *testing.T, what string, original, mutant []byte, want *lock.Lock) (refused bool) {
	t.Helper()
	loaded, err := LoadBytes(mutant)
	if err != nil {
		return true
	}
	if !reflect.DeepEqual(want, loaded.Lock) {
		t.Fatalf("%s: the file is read with other content:\n%s", what, cmp.Diff(want, loaded.Lock))
	}
	if loaded.Canonical != bytes.Equal(original, mutant) {
		t.Fatalf("%s: Canonical = %v for a file that differs", what, loaded.Canonical)
	}
	return false
}

// TestMutants damages a lock file in every way that was seen to make bbolt panic, fault, loop or lie. Every mutant is
// refused or has the same content; none of them ends the process or the patience of the test.
func TestMutants(t *testing.T) {
	l := makeLock(t, 40, 700)
	original := mustEncode(t, l)
	pages := len(original) / pageSize
	if pages < 15 {
		t.Fatalf("fixture has %d pages, too few for a test of pages", pages)
	}
	if judge(t, "the original", original, original, l) {
		t.Fatal("the original is refused")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []struct {
		name   string
		rounds int
		mutate func(b []byte) []byte
		least  int // refusals among 100 mutants
	}{
		{"one byte", 1000, func(b []byte) []byte { b[r.IntN(len(b))] ^= byte(1 + r.IntN(255)); return b }, 30},
		{"16 bytes", 500, func(b []byte) []byte {
			at := r.IntN(len(b) - 16)
			for i := range 16 {
				b[at+i] = byte(r.Uint32())
			}
			return b
		}, 30},
		{"page header and elements", 800, func(b []byte) []byte {
			at := r.IntN(pages)*pageSize + r.IntN(16+64)
			for i := range 4 {
				b[at+i] = byte(r.Uint32())
			}
			return b
		}, 70},
		{"small number in a page header", 800, func(b []byte) []byte {
			b[r.IntN(pages)*pageSize+r.IntN(16)] = byte(r.IntN(32))
			return b
		}, 40},
		{"cut off", 200, func(b []byte) []byte { return b[:r.IntN(len(b))] }, 100},
		{"one page zeroed", 200, func(b []byte) []byte { clear(b[r.IntN(pages)*pageSize:][:pageSize]); return b }, 80},
		{"two pages swapped", 200, func(b []byte) []byte {
			i, j := r.IntN(pages), r.IntN(pages)
			page := bytes.Clone(b[i*pageSize:][:pageSize])
			copy(b[i*pageSize:], b[j*pageSize:][:pageSize])
			copy(b[j*pageSize:], page)
			return b
		}, 80},
		{"one page copied over another", 200, func(b []byte) []byte {
			copy(b[r.IntN(pages)*pageSize:][:pageSize], b[r.IntN(pages)*pageSize:])
			return b
		}, 80},
		{"page reference", 300, func(b []byte) []byte {
			// Any 8 bytes that hold the number of a page get that of another.
			for {
				at := r.IntN(len(b)/8) * 8
				if n := le.Uint64(b[at:]); n > 0 && n < uint64(pages) {
					le.PutUint64(b[at:], uint64(r.IntN(pages)))
					return b
				}
			}
		}, 60},
		{"bytes behind the end", 100, func(b []byte) []byte {
			b = append(b, make([]byte, 1+r.IntN(2*pageSize))...)
			b[len(original)+r.IntN(len(b)-len(original))] = 1
			return b
		}, 100},
		{"zero bytes behind the end", 50, func(b []byte) []byte { return append(b, make([]byte, 1+r.IntN(2*pageSize))...) }, 0},
		{"meta with a right checksum", 600, func(b []byte) []byte {
			m := b[r.IntN(2)*pageSize+pageHeaderSize:]
			switch at := 16 + 8*r.IntN(5); r.IntN(2) {
			case 0:
				le.PutUint64(m[at:], uint64(r.IntN(2*pages)))
			default:
				m[r.IntN(metaSummed)] ^= byte(1 + r.IntN(255))
			}
			sum := fnv.New64a()
			sum.Write(m[:metaSummed])
			le.PutUint64(m[metaSummed:], sum.Sum64())
			return b
		}, 40},
	} {
		t.Run(kind.name, func(t *testing.T) {
			refused, changed := 0, 0
			for i := range kind.rounds {
				mutant := kind.mutate(bytes.Clone(original))
				if bytes.Equal(mutant, original) {
					continue
				}
				changed++
				if judge(t, fmt.Sprintf("mutant %d", i), original, mutant, l) {
					refused++
				}
			}
			if 100*refused < kind.least*changed {
				t.Errorf("%d of %d mutants were refused, want at least %d in 100: the mutation does no harm", refused, changed, kind.least)
			}
		})
	}
}

// branch returns the offset of a branch page of a file.
func branch(t *testing.T, b []byte) int {
	t.Helper()
	for at := 2 * pageSize; at < len(b); at += pageSize {
		if le.Uint64(b[at:]) == uint64(at/pageSize) && le.Uint16(b[at+8:]) == branchPage {
			return at
		}
	}
	t.Fatal("file has no branch page")
	return 0
}

func TestWalkNamesTheFault(t *testing.T) {
	good := mustEncode(t, makeLock(t, 80, 700))
	leafAt := 4 * pageSize
	for name, c := range map[string]struct {
		mutate func(b []byte) []byte
		want   string
	}{
		"branch that names itself": {func(b []byte) []byte {
			at := branch(t, b)
			le.PutUint64(b[at+pageHeaderSize+8:], uint64(at/pageSize))
			return b
		}, "is reached twice"},
		"branch that names one page twice": {func(b []byte) []byte {
			at := branch(t, b)
			le.PutUint64(b[at+pageHeaderSize+8:], le.Uint64(b[at+pageHeaderSize+branchElementSize+8:]))
			return b
		}, "does not begin with the key"},
		"reference over the end": {func(b []byte) []byte {
			le.PutUint64(b[branch(t, b)+pageHeaderSize+8:], 1<<40)
			return b
		}, "there is a reference to page 1099511627776"},
		"reference to a meta": {func(b []byte) []byte {
			le.PutUint64(b[branch(t, b)+pageHeaderSize+8:], 1)
			return b
		}, "there is a reference to page 1,"},
		"empty branch":        {func(b []byte) []byte { le.PutUint16(b[branch(t, b)+10:], 0); return b }, "is empty"},
		"branch too full":     {func(b []byte) []byte { le.PutUint16(b[branch(t, b)+10:], 65535); return b }, "more elements than room"},
		"branch key position": {func(b []byte) []byte { b[branch(t, b)+pageHeaderSize]++; return b }, "is out of place"},
		"empty leaf":          {func(b []byte) []byte { le.PutUint16(b[leafAt+10:], 0); return b }, "is empty"},
		"leaf too full":       {func(b []byte) []byte { le.PutUint16(b[leafAt+10:], 65535); return b }, "more elements than room"},
		"page number":         {func(b []byte) []byte { b[leafAt]++; return b }, "page 4 says that it is page 5"},
		"page flags":          {func(b []byte) []byte { b[leafAt+8] = 0x20; return b }, "flags 0x20"},
		"overflow":            {func(b []byte) []byte { le.PutUint32(b[leafAt+12:], 1<<31); return b }, "runs over the end"},
		"overflow into next":  {func(b []byte) []byte { b[leafAt+12]++; return b }, "is reached twice"},
		"nested bucket":       {func(b []byte) []byte { b[leafAt+pageHeaderSize] = bucketFlag; return b }, "is not an entry"},
		"value size":          {func(b []byte) []byte { le.PutUint32(b[leafAt+pageHeaderSize+12:], 1<<31); return b }, "out of place"},
		"key order": {func(b []byte) []byte {
			// The first bytes of the second key of the first page are made small.
			second := leafAt + pageHeaderSize + leafElementSize
			clear(b[second+int(le.Uint32(b[second+4:])):][:3])
			return b
		}, "not greater than the one before"},
		"checksum":        {func(b []byte) []byte { b[pageHeaderSize+16]++; return b }, "meta page 0 has a wrong checksum"},
		"bbolt version":   {func(b []byte) []byte { b[pageHeaderSize+4]++; return b }, "bbolt version 3"},
		"magic":           {func(b []byte) []byte { b[pageSize+pageHeaderSize]++; return b }, "meta page 1 has a wrong magic"},
		"meta flags":      {func(b []byte) []byte { b[8] = 0; return b }, "page 0 is not a meta page"},
		"cut":             {func(b []byte) []byte { return b[:len(b)-1] }, "it is cut off"},
		"cut to a page":   {func(b []byte) []byte { return b[:pageSize] }, "it is cut off"},
		"cut to a word":   {func(b []byte) []byte { return b[:18] }, "it is cut off"},
		"longer":          {func(b []byte) []byte { return append(b, 0, 1) }, "something behind its last page"},
		"free list gone":  {func(b []byte) []byte { b[len(b)-pageSize+8] = leafPage; return b }, "not the list of free pages"},
		"free list short": {func(b []byte) []byte { b[len(b)-pageSize+10] = 1; return b }, "neither used nor free"},
		"free list long":  {func(b []byte) []byte { le.PutUint16(b[len(b)-pageSize+10:], 60000); return b }, "than it has room for"},
		"free list huge": {func(b []byte) []byte {
			le.PutUint16(b[len(b)-pageSize+10:], 65535)
			le.PutUint64(b[len(b)-pageSize+16:], 1<<63)
			return b
		}, "than it has room for"},
		"used page free": {func(b []byte) []byte { b[len(b)-pageSize+pageHeaderSize+8] = 4; return b }, "is used or listed before"},
		"meta page free": {func(b []byte) []byte { b[len(b)-pageSize+pageHeaderSize] = 1; return b }, "page 1 is listed as free"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadBytes(c.mutate(bytes.Clone(good)))
			var corrupt *lock.CorruptError
			if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("LoadBytes = %v, want a damage with %q", err, c.want)
			}
		})
	}
	// A small lock lies inside the element of its bucket.
	tiny := laidOut([]lock.KV{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("2")}})
	if kvs, err := walk(tiny); err != nil || len(kvs) != 2 {
		t.Fatalf("walk of a bucket in its element = %v, %v", kvs, err)
	}
	element := 4*pageSize + pageHeaderSize
	header := element + leafElementSize + len(bucketName)
	for name, c := range map[string]struct {
		at   int
		to   byte
		want string
	}{
		"page has a number": {header + 16, 9, "not a leaf"},
		"page is a branch":  {header + 24, branchPage, "not a leaf"},
		"page too full":     {header + 26, 200, "more elements than room"},
		"sequence":          {header + 8, 1, "sequence"},
		"root and page":     {header, 5, "want 16"},
		"no room":           {element + 12, 20, "has no page"},
		"no header":         {element + 12, 3, "has no header"},
	} {
		b := bytes.Clone(tiny)
		b[c.at] = c.to
		if _, err := walk(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("bucket in its element, %s: walk = %v, want %q", name, err, c.want)
		}
	}
}

// TestForeignDatabases are sound for bbolt and are no locks.
func TestForeignDatabases(t *testing.T) {
	make := func(fill func(tx *bolt.Tx) error) []byte {
		path := t.TempDir() + "/x"
		db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: pageSize})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = errors.Join(db.Update(fill), db.View(func(tx *bolt.Tx) error { _, err := tx.WriteTo(&out); return err }), db.Close())
		if err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	bucket := func(tx *bolt.Tx, name string) *bolt.Bucket {
		b, err := tx.CreateBucket([]byte(name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		fill func(tx *bolt.Tx) error
		want string
	}{
		"no bucket":     {func(*bolt.Tx) error { return nil }, "not a lock file"},
		"other bucket":  {func(tx *bolt.Tx) error { return bucket(tx, "pins").Put([]byte("a"), nil) }, "not a lock file"},
		"second bucket": {func(tx *bolt.Tx) error { bucket(tx, "pins"); return bucket(tx, bucketName).Put([]byte("a"), nil) }, "not a lock file"},
		"nested bucket": {func(tx *bolt.Tx) error { _, err := bucket(tx, bucketName).CreateBucket([]byte("a")); return err }, "is not an entry"},
		"sequence":      {func(tx *bolt.Tx) error { return bucket(tx, bucketName).SetSequence(3) }, "has a sequence"},
		"empty bucket":  {func(tx *bolt.Tx) error { bucket(tx, bucketName); return nil }, `entry "meta/format": it is missing`},
		"other entries": {func(tx *bolt.Tx) error { return bucket(tx, bucketName).Put([]byte("a"), nil) }, `entry "meta/format": it is missing`},
	} {
		if _, err := LoadBytes(make(c.fill)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: LoadBytes = %v, want %q", name, err, c.want)
		}
	}

	// Right entries, written in two transactions: readable, but what was overwritten may still be in the file.
	l := makeLock(t, 5, 300)
	entries, err := l.Entries()
	if err != nil {
		t.Fatal(err)
	}
	b := make(func(tx *bolt.Tx) error {
		b := bucket(tx, bucketName)
		for _, e := range slices.Backward(entries) {
			if err := b.Put([]byte(e.Key), e.Value); err != nil {
				return err
			}
		}
		return b.Put([]byte("extra"), []byte("x"))
	})
	if _, err := LoadBytes(b); err == nil {
		t.Error("a lock with an extra entry is accepted")
	}
	path := put(t, mustEncode(t, l))
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = errors.Join(
		db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucketName)).Put([]byte("extra"), []byte("x")) }),
		db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucketName)).Delete([]byte("extra")) }),
		db.View(func(tx *bolt.Tx) error { _, err := tx.WriteTo(&out); return err }),
		db.Close())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadBytes(out.Bytes())
	if err != nil || loaded.Canonical {
		t.Errorf("a lock edited in place: %v, want it readable and not canonical", err)
	}
}

func FuzzLoadBytes(f *testing.F) {
	l := makeLock(f, 12, 400)
	original := mustEncode(f, l)
	f.Add(uint32(0), []byte{})
	f.Add(uint32(4*pageSize), []byte{1, 2, 3})
	f.Add(uint32(pageHeaderSize), []byte{0xED, 0xDA, 0x0C})
	f.Fuzz(func(t *testing.T, at uint32, over []byte) {
		mutant := bytes.Clone(original)
		copy(mutant[int(at)%len(mutant):], over)
		judge(t, "mutant", original, mutant, l)
		// The bytes alone must not harm either.
		if loaded, err := LoadBytes(over); err == nil && loaded.Lock == nil {
			t.Error("LoadBytes gives neither lock nor error")
		}
	})
}
