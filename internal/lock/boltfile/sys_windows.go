package boltfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// openFlags: Windows has no links that an open follows unless somebody with the right to make them did; Lstat sees them.
const openFlags = 0

// lockRange is the byte that bbolt locks: the last one that an offset can name, so that nobody is kept from reading.
func lockRange() *windows.Overlapped {
	const last = 1<<32 - 1
	return &windows.Overlapped{Offset: last, OffsetHigh: last}
}

// tryLock takes the kernel lock that bbolt takes too. held reports that somebody else has it.
func tryLock(f *os.File, exclusive bool) (held bool, err error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockRange())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return true, nil
	}
	return false, err
}

// replaceFile makes from the file at to. held is closed first: Windows replaces no open file.
func replaceFile(from, to string, held *os.File) error {
	if held != nil {
		if err := held.Close(); err != nil {
			return err
		}
	}
	return os.Rename(from, to)
}

// syncDir does nothing: Windows keeps renames itself.
func syncDir(string) error { return nil }

// writableDir reports why this process may not create files in dir. Windows answers only those who try.
func writableDir(dir string) error {
	f, err := os.CreateTemp(dir, ".mcpcat-probe-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
