package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// Suffixes that the names of lock and mirror must have, so that no configuration can aim a write at another file.
const (
	LockSuffix   = ".lock.db"
	MirrorSuffix = ".lock.txt"
)

// How long a reader waits for a file that another process holds, and how often anybody who waits looks again.
const (
	readWait = 5 * time.Second
	pollWait = 50 * time.Millisecond
)

// Loaded is a lock with the bytes of the file that it was read from.
type Loaded struct {
	Lock  *lock.Lock // refers to nothing in Bytes
	Bytes []byte

	// Canonical reports whether Bytes are exactly what Encode gives for Lock. A file that reads well and is not canonical
	// was not written by mcpcat: it may hold, in pages that nothing refers to, what was in it before.
	Canonical bool
}

// Load reads and checks the lock file at path, whose name ends in LockSuffix. It holds a shared kernel lock while it
// reads, waits for one at most five seconds, and keeps nothing open. Links are not followed.
//
// The errors, which all name the path, are lock.ErrAbsent, lock.ErrEmpty, *lock.NotLockError, *lock.FormatError,
// *lock.CorruptError, *lock.DigestVersionError, *lock.BusyError, or those of the file system and of ctx. A lock that is not
// canonical is no error here.
func Load(ctx context.Context, path string) (*Loaded, error) {
	b, _, err := read(ctx, path)
	var busy *lock.BusyError
	if errors.As(err, &busy) {
		return nil, err // it names the path itself
	}
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", path, err)
	}
	loaded, err := LoadBytes(b)
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", path, err)
	}
	return loaded, nil
}

// LoadBytes checks the bytes of a lock file. The result refers to nothing in b but Bytes, which is b.
// Its errors are those of Load.
func LoadBytes(b []byte) (*Loaded, error) {
	if len(b) == 0 {
		return nil, lock.ErrEmpty
	}
	if len(b) > MaxFileBytes {
		return nil, errTooLarge(int64(len(b)))
	}
	entries, err := walk(b)
	if err != nil {
		return nil, err
	}
	l, err := lock.FromEntries(entries)
	if err != nil {
		return nil, err
	}
	// FromEntries accepts an entry only in the one form that Entries writes, so the entries are those of l.
	return &Loaded{Lock: l, Bytes: b, Canonical: isLayout(b, entries)}, nil
}

func errTooLarge(size int64) error {
	return fmt.Errorf("it has %d bytes, want at most %d", size, MaxFileBytes)
}

// read returns the bytes of the file at path and what identifies that file.
func read(ctx context.Context, path string) (b []byte, info fs.FileInfo, err error) {
	if err := checkName(path, LockSuffix); err != nil {
		return nil, nil, err
	}
	f, info, err := openRegular(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, lock.ErrAbsent
		}
		return nil, nil, err
	}
	// Closing gives the kernel lock back too.
	defer func() { err = errors.Join(err, f.Close()) }()
	switch {
	case info.Size() == 0:
		return nil, nil, lock.ErrEmpty
	case info.Size() > MaxFileBytes:
		return nil, nil, errTooLarge(info.Size())
	}
	if err := waitLock(ctx, f, false, readWait); err != nil {
		if errors.Is(err, errHeld) {
			return nil, nil, &lock.BusyError{Path: path}
		}
		return nil, nil, err
	}
	// One byte more than the file should have tells whether it grew since it was opened.
	b = make([]byte, info.Size()+1)
	n, err := io.ReadFull(f, b)
	switch {
	case err == nil:
		return nil, nil, errors.New("it grew while it was read")
	case !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF):
		return nil, nil, err
	}
	return b[:n:n], info, nil
}

// checkName refuses paths that cannot be those of a lock or a mirror.
func checkName(path, suffix string) error {
	if !strings.HasSuffix(path, suffix) {
		return fmt.Errorf("name does not end in %q", suffix)
	}
	return nil
}

// openRegular opens a regular file for reading, without following a link in its last component and without waiting for
// the other end of a pipe.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	before, err := lstatRegular(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		// Replaced in between, which every apply does: what was opened is as good, if it is a file.
		if !after.Mode().IsRegular() {
			err = notRegular(after.Mode())
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, after, nil
}

// lstatRegular describes the file at path itself and refuses what is not a regular file.
func lstatRegular(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(info.Mode())
	}
	return info, nil
}

func notRegular(mode fs.FileMode) error {
	switch {
	case mode&fs.ModeSymlink != 0:
		return errors.New("it is a symbolic link, want a regular file")
	case mode.IsDir():
		return errors.New("it is a directory, want a regular file")
	}
	return errors.New("it is not a regular file")
}

var errHeld = errors.New("held by another process")

// waitLock takes the kernel lock of f, shared or exclusive, looking again every pollWait until timeout. A file system
// without such locks is no obstacle to a reader: the file only ever changes by being replaced.
func waitLock(ctx context.Context, f *os.File, exclusive bool, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for {
		held, err := tryLock(f, exclusive)
		if err == nil && !held {
			return nil
		}
		if err != nil {
			if !exclusive && errors.Is(err, errors.ErrUnsupported) {
				return nil
			}
			return fmt.Errorf("take the kernel lock: %w", err)
		}
		left := time.Until(deadline)
		if left <= 0 {
			return errHeld
		}
		timer := time.NewTimer(min(left, pollWait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}
