package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// Replace makes next the content of the lock file, if the file is still in the state base (nil: there is no lock file);
// otherwise the error is a *lock.StaleError and nothing is changed. The mirror is written to mirrorPath, unless that is
// empty. Readers see the old lock or the new one, never anything else, also after a crash at any point.
//
// next continues base: its lineage is the same, its serial greater and its parent the root of base. Root and seal of
// next are computed and need not be set.
//
// After any error but an *IncompleteError, lock and mirror are as they were and no temporary file is left.
func (w *Writer) Replace(base *lock.Base, next *lock.Lock, mirrorPath string) error {
	if w.side == nil {
		return errors.New("the writer of the lock is closed")
	}
	if err := w.replace(base, next, mirrorPath); err != nil {
		var incomplete *IncompleteError
		var stale *lock.StaleError
		var busy *lock.BusyError
		if errors.As(err, &incomplete) || errors.As(err, &stale) || errors.As(err, &busy) {
			return err
		}
		return fmt.Errorf("lock %q was not changed: %w", w.path, err)
	}
	return nil
}

// IncompleteError says that the new lock is in place, but that something which belongs to a write failed behind it: the
// mirror is still the old one, or the change may not survive a loss of power.
type IncompleteError struct {
	LockPath string
	Err      error
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("lock %q was written, but %v", e.LockPath, e.Err)
}

func (e *IncompleteError) Unwrap() error { return e.Err }

func (w *Writer) replace(base *lock.Base, next *lock.Lock, mirrorPath string) (err error) {
	if err := checkTarget(w.path, LockSuffix); err != nil {
		return err
	}
	if mirrorPath != "" {
		if err := checkTarget(mirrorPath, MirrorSuffix); err != nil {
			return fmt.Errorf("mirror %q: %w", mirrorPath, err)
		}
	}
	current, info, err := w.current()
	if err != nil {
		return err
	}
	if !lock.SameBase(current.Base(), base) {
		return &lock.StaleError{Got: current.Base(), Want: base}
	}
	if err := continues(current, next); err != nil {
		return err
	}
	b, err := Encode(next)
	if err != nil {
		return err
	}

	// Writing and checking do not depend on each other; the check reads the same bytes that are written.
	temp := w.path + tempSuffix
	written := make(chan error, 1)
	go func() { written <- w.store(temp, b, info) }()
	defer func() { err = errors.Join(err, removeTemp(temp)) }()
	loaded, err := verify(b, next)
	if err := errors.Join(<-written, err); err != nil {
		return err
	}
	if mirrorPath == "" {
		if err := w.rename(base, info, temp); err != nil {
			return err
		}
		return w.settle(nil, filepath.Dir(w.path))
	}

	mirrorTemp := mirrorPath + tempSuffix
	mirrorInfo, err := lstatIfThere(mirrorPath)
	if err != nil {
		return fmt.Errorf("mirror %q: %w", mirrorPath, err)
	}
	defer func() { err = errors.Join(err, removeTemp(mirrorTemp)) }()
	if err := w.store(mirrorTemp, lock.Mirror(loaded.Lock), mirrorInfo); err != nil {
		return fmt.Errorf("mirror %q: %w", mirrorPath, err)
	}
	if err := w.rename(base, info, temp); err != nil {
		return err
	}
	if err := replaceFile(mirrorTemp, mirrorPath, nil); err != nil {
		return w.settle(fmt.Errorf("its mirror %q was not: %w", mirrorPath, err), filepath.Dir(w.path))
	}
	return w.settle(nil, filepath.Dir(w.path), filepath.Dir(mirrorPath))
}

// settle makes renames in dirs durable. A fault now, and one given, leave the new lock in place.
func (w *Writer) settle(fault error, dirs ...string) error {
	for _, dir := range slices.Compact(dirs) {
		if err := syncDir(dir); err != nil {
			fault = errors.Join(fault, fmt.Errorf("its directory was not synced: %w", err))
		}
	}
	if fault != nil {
		return &IncompleteError{LockPath: w.path, Err: fault}
	}
	return nil
}

// current returns the lock as it is now and what identifies its file; nil and nil if there is none. A file that cannot be
// read as a lock is an error: it is never written over.
func (w *Writer) current() (*lock.Lock, fs.FileInfo, error) {
	// The wait is bounded, and a process that is to end may be killed here: nothing was written yet.
	b, info, err := read(context.Background(), w.path)
	if errors.Is(err, lock.ErrAbsent) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	loaded, err := LoadBytes(b)
	if err != nil {
		return nil, nil, err
	}
	return loaded.Lock, info, nil
}

// continues holds a new lock to the one before it.
func continues(current, next *lock.Lock) error {
	switch {
	case current == nil:
		return nil
	case next.Lineage != current.Lineage:
		return fmt.Errorf("lineage would change from %q to %q", current.Lineage, next.Lineage)
	case next.Serial <= current.Serial:
		return fmt.Errorf("serial would go from %d to %d, want a greater one", current.Serial, next.Serial)
	case next.Parent != current.Root:
		return fmt.Errorf("parent of the new lock is %s, want the present root %s", next.Parent, current.Root)
	case next.Minor < current.Minor:
		return &lock.FormatError{Found: fmt.Sprintf("%d.%d", lock.FormatMajor, current.Minor), Known: fmt.Sprintf("%d.%d", lock.FormatMajor, next.Minor), Newer: true}
	}
	return nil
}

// verify reads the bytes that are about to become the lock as a reader will.
func verify(b []byte, next *lock.Lock) (*Loaded, error) {
	loaded, err := LoadBytes(b)
	if err != nil {
		return nil, fmt.Errorf("the new lock does not hold: %w", err)
	}
	if !loaded.Canonical || loaded.Lock.Lineage != next.Lineage || loaded.Lock.Serial != next.Serial || loaded.Lock.Parent != next.Parent {
		return nil, errors.New("the new lock does not read as it was written")
	}
	return loaded, nil
}

// rename makes the temporary file the lock, under an exclusive kernel lock on the present one, so that a foreign holder
// is noticed. info identifies the file that was compared with base; if another stands there now, it is compared again.
func (w *Writer) rename(base *lock.Base, info fs.FileInfo, temp string) error {
	held, now, err := w.hold()
	if err != nil {
		return err
	}
	if !unchanged(info, now) {
		err := errors.New("it was replaced by another program meanwhile")
		if held != nil {
			// A reader of our own must not wait for our own lock.
			err = errors.Join(err, held.Close())
		}
		current, _, cerr := w.current()
		if cerr != nil {
			return errors.Join(err, cerr)
		}
		if !lock.SameBase(current.Base(), base) {
			return &lock.StaleError{Got: current.Base(), Want: base}
		}
		return err
	}
	err = replaceFile(temp, w.path, held)
	if held != nil {
		// Of a file that was only read, and that replaceFile may have closed before, no error of Close tells anything.
		_ = held.Close()
	}
	return err
}

// hold opens the present lock file under an exclusive kernel lock; nil and nil if there is none.
func (w *Writer) hold() (*os.File, fs.FileInfo, error) {
	f, info, err := openRegular(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	// Readers hold the file for the moment of reading; even a writer that was told not to wait waits for those.
	err = waitLock(context.Background(), f, true, max(w.timeout, time.Second))
	if errors.Is(err, errHeld) {
		err = &lock.BusyError{Path: w.path}
	} else if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func unchanged(before, now fs.FileInfo) bool {
	if before == nil || now == nil {
		return before == nil && now == nil
	}
	return os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}
