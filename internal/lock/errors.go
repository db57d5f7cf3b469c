package lock

import (
	"errors"
	"fmt"
)

// The states of a lock file in which there is nothing to read. None of them means "nothing is pinned".
var (
	ErrAbsent  = errors.New("there is no lock file")
	ErrEmpty   = errors.New("lock file is empty: restore it from version control")
	ErrNotLock = errors.New("not a lock file")
)

// NotLockError is a file that is no lock at all. It is an ErrNotLock.
type NotLockError struct {
	Looks string // what the content looks like, in our words: "git conflict text"
}

func (e *NotLockError) Error() string {
	return fmt.Sprintf("%v: it holds %s", ErrNotLock, e.Looks)
}

// Is makes a NotLockError an ErrNotLock.
func (e *NotLockError) Is(target error) bool { return target == ErrNotLock }

// CorruptError is a lock file whose structure or digests do not hold.
type CorruptError struct {
	Key    string // the entry, empty if the fault is not in one entry
	Reason string
}

func (e *CorruptError) Error() string {
	if e.Key == "" {
		return "lock file damaged: " + e.Reason
	}
	return fmt.Sprintf("lock file damaged: entry %s: %s", quote(e.Key), e.Reason)
}

// FormatError is a lock in a format that this version does not read.
type FormatError struct {
	Found string // "2.0", or "1.3" for an unknown minor with content that this version does not know
	Known string // the newest format that this version reads
	Newer bool   // Found is newer than Known; otherwise it is older
}

func (e *FormatError) Error() string {
	if e.Newer {
		return fmt.Sprintf("lock file needs mcpcat with lock format %s, this one reads %s: upgrade mcpcat", e.Found, e.Known)
	}
	return fmt.Sprintf("lock file has the old format %s, this mcpcat reads %s: plan and apply anew", e.Found, e.Known)
}

// DigestVersionError is an entry whose digest has a form that this version cannot compute.
type DigestVersionError struct {
	Key   string
	Found string // the version prefix found, bounded
}

func (e *DigestVersionError) Error() string {
	return fmt.Sprintf("entry %s cannot be verified: unknown digest version %s, want \"sha256\": upgrade mcpcat", quote(e.Key), quote(e.Found))
}

// BusyError says that somebody else holds the lock file or the right to write it.
type BusyError struct {
	Path   string // the file that is held
	Holder string // "pid 12 (mcpcat apply)", empty if unknown
}

func (e *BusyError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("lock file %q is in use by %s", e.Path, holder)
}

// StaleError says that the lock is not the one that the change was made from.
type StaleError struct {
	Got, Want *Base // nil: no lock
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("lock was changed by somebody else: it is now %s, want %s: make a new plan", describe(e.Got), describe(e.Want))
}

func describe(b *Base) string {
	if b == nil {
		return "absent"
	}
	return fmt.Sprintf("serial %d of lineage %s with root %s", b.Serial, quote(b.Lineage), b.Root.Short())
}

// quote makes text from a file safe to print: at most 256 bytes of it, escaped to ASCII.
func quote(s string) string {
	if len(s) > 256 {
		return fmt.Sprintf("%+q (cut)", s[:256])
	}
	return fmt.Sprintf("%+q", s)
}
