package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// sideName is the file in the side directory that writers lock. It is never replaced or removed, which a lock on the
// lock file itself could not survive: that file is replaced by every write.
const sideName = "writer.lock"

// maxHolderBytes bounds what is read of the holder's own words.
const maxHolderBytes = 256

// Writer holds the right to write one lock file until Close. It is not safe for concurrent use.
type Writer struct {
	path    string
	side    *os.File
	timeout time.Duration
	store   func(path string, b []byte, replaces fs.FileInfo) error // writeTemp, but for tests of a full disk
}

// CheckWritable reports why the lock at lockPath could not be written: a directory that is missing or read-only, a name
// without LockSuffix, something that is not a regular file. It writes nothing, on Windows nothing that stays, so that a
// command can ask before it does any work. It cannot promise that a later write succeeds.
func CheckWritable(lockPath string) error {
	if err := checkTarget(lockPath, LockSuffix); err != nil {
		return fmt.Errorf("lock %q cannot be written: %w", lockPath, err)
	}
	if err := writableDir(filepath.Dir(lockPath)); err != nil {
		return fmt.Errorf("lock %q cannot be written: %w", lockPath, err)
	}
	return nil
}

// OpenWriter takes the right to write the lock file at lockPath, by a kernel lock on writer.lock in sideDir, which is made
// if it is missing. It waits at most timeout (0: it does not wait) or until ctx ends. command is what this process is
// called in the *lock.BusyError of others, "mcpcat apply"; at most 200 bytes of it are kept.
//
// On network file systems where kernel locks are local to a host, only writers of one host exclude each other.
func OpenWriter(ctx context.Context, lockPath, sideDir string, timeout time.Duration, command string) (*Writer, error) {
	if err := CheckWritable(lockPath); err != nil {
		return nil, err
	}
	if err := makeSideDir(sideDir); err != nil {
		return nil, fmt.Errorf("lock %q cannot be written: %w", lockPath, err)
	}
	sidePath := filepath.Join(sideDir, sideName)
	deadline := time.Now().Add(timeout)
	for {
		side, current, err := holdSide(ctx, sidePath, time.Until(deadline))
		if errors.Is(err, errHeld) {
			return nil, &lock.BusyError{Path: lockPath, Holder: readHolder(sidePath)}
		}
		if err != nil {
			return nil, fmt.Errorf("writer lock %q: %w", sidePath, err)
		}
		if !current {
			// Somebody removed the side file while this process waited for it; others may hold a new one.
			if err := side.Close(); err != nil {
				return nil, fmt.Errorf("writer lock %q: %w", sidePath, err)
			}
			if time.Now().After(deadline) {
				return nil, &lock.BusyError{Path: lockPath, Holder: readHolder(sidePath)}
			}
			continue
		}
		if err := writeHolder(side, command); err != nil {
			return nil, fmt.Errorf("writer lock %q: %w", sidePath, errors.Join(err, side.Close()))
		}
		return &Writer{path: lockPath, side: side, timeout: timeout, store: writeTemp}, nil
	}
}

// makeSideDir makes the directory of the side file and tells git to ignore it.
func makeSideDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%q is not a directory", dir)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	err = os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
	if err != nil {
		return err
	}
	return nil
}

// holdSide opens and locks the side file. current reports that the name still leads to the file that is locked.
func holdSide(ctx context.Context, path string, timeout time.Duration) (side *os.File, current bool, err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, false, notRegular(info.Mode())
	}
	side, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|openFlags, 0o644)
	if err != nil {
		return nil, false, err
	}
	if err := waitLock(ctx, side, true, timeout); err != nil {
		return nil, false, errors.Join(err, side.Close())
	}
	held, err := side.Stat()
	if err != nil {
		return nil, false, errors.Join(err, side.Close())
	}
	named, err := os.Lstat(path)
	return side, err == nil && os.SameFile(held, named), nil
}

// writeHolder leaves pid and command in the side file for those who wait.
func writeHolder(side *os.File, command string) error {
	text := strconv.Itoa(os.Getpid()) + " " + command[:min(len(command), 200)] + "\n"
	if err := side.Truncate(0); err != nil {
		return err
	}
	_, err := side.WriteAt([]byte(text), 0)
	return err
}

// readHolder says who holds the side file, as far as it can be told.
func readHolder(path string) string {
	f, _, err := openRegular(path)
	if err != nil {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, maxHolderBytes))
	if errors.Join(err, f.Close()) != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	pid, command, _ := strings.Cut(line, " ")
	if n, err := strconv.Atoi(pid); err != nil || n <= 0 {
		return ""
	}
	if command == "" {
		return "pid " + pid
	}
	return fmt.Sprintf("pid %s (%s)", pid, strings.Trim(fmt.Sprintf("%+q", command), `"`))
}

// Close gives the right to write back. The side file stays, empty.
func (w *Writer) Close() error {
	if w.side == nil {
		return nil
	}
	err := w.side.Truncate(0)
	err = errors.Join(err, w.side.Close())
	w.side = nil
	return err
}
