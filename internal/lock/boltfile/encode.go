package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
	bolt "go.etcd.io/bbolt"
)

// errByteOrder is the one thing that bbolt cannot do for us: it writes numbers in the byte order of the machine.
var errByteOrder = errors.New("lock files cannot be written on a big-endian machine")

// Encode returns the bytes of the lock file for l. Equal content gives equal bytes, whatever the order of l's lists, the
// process, the machine or its page size. Root and seal are computed; l is not changed.
//
// The file is built by bbolt in a file without a name (in memory on Linux), in one transaction into one flat bucket:
// nested buckets would be written in the order of a Go map.
func Encode(l *lock.Lock) ([]byte, error) {
	entries, err := l.Entries()
	if err != nil {
		return nil, err
	}
	return encodeEntries(entries)
}

func encodeEntries(entries []lock.KV) (b []byte, err error) {
	if littleEndian := (*[2]byte)(unsafe.Pointer(&[]uint16{1}[0]))[0] == 1; !littleEndian {
		return nil, errByteOrder
	}
	size := 8 * pageSize
	for _, e := range entries {
		// Two elements a page at least, so this is near enough for the first mapping; bbolt maps anew if it is not.
		size += 2*(leafElementSize+len(e.Key)+len(e.Value)) + pageSize/8
	}
	if size/2 > MaxFileBytes {
		return nil, fmt.Errorf("lock would exceed %d bytes", MaxFileBytes)
	}
	file, remove, err := buildFile()
	if err != nil {
		return nil, fmt.Errorf("build lock file: %w", err)
	}
	defer func() {
		if rerr := remove(); err == nil && rerr != nil {
			b, err = nil, fmt.Errorf("build lock file: %w", rerr)
		}
	}()
	db, err := bolt.Open(file.Name(), 0o600, &bolt.Options{
		Timeout:         time.Second,
		PageSize:        pageSize,
		FreelistType:    bolt.FreelistArrayType,
		InitialMmapSize: size,
		MaxSize:         4 * MaxFileBytes, // while it is built; the result is held to MaxFileBytes below
		NoSync:          true,             // the finished bytes are synced by whoever stores them
		NoGrowSync:      true,
		NoStatistics:    true,
		OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return file, nil },
	})
	if err != nil {
		return nil, fmt.Errorf("build lock file: %v", err)
	}
	b, err = fill(db, entries)
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("build lock file: %v", err)
	}
	if len(b) > MaxFileBytes {
		return nil, fmt.Errorf("lock has %d bytes, want at most %d", len(b), MaxFileBytes)
	}
	return b, nil
}

func fill(db *bolt.DB, entries []lock.KV) ([]byte, error) {
	err := db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte(bucketName))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := bucket.Put([]byte(e.Key), e.Value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = db.View(func(tx *bolt.Tx) error {
		out.Grow(int(tx.Size()) + bytes.MinRead)
		_, err := tx.WriteTo(&out)
		return err
	})
	return out.Bytes(), err
}
