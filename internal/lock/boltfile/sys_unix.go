//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package boltfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from following a link and from waiting for the writer of a named pipe.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// tryLock takes the kernel lock that bbolt takes too. held reports that somebody else has it.
func tryLock(f *os.File, exclusive bool) (held bool, err error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return false, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return true, nil
		case errors.Is(err, unix.ENOLCK):
			return false, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		default:
			return false, err
		}
	}
}

// replaceFile makes from the file at to. The kernel lock of an open file at to does not hinder it.
func replaceFile(from, to string, _ *os.File) error { return os.Rename(from, to) }

// syncDir makes the renames in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system that has no sync of directories keeps their order itself
	}
	return errors.Join(err, d.Close())
}

// writableDir reports why this process may not create files in dir.
func writableDir(dir string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "write", Path: filepath.Clean(dir), Err: err}
	}
	return nil
}
