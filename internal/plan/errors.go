package plan

import (
	"errors"
	"fmt"
	"strings"
)

var errWord = errors.New("a word is an array of two strings")

// StaleError says that the lock is not the one that the plan was made from.
type StaleError struct {
	Got, Want string // "no lock", or lineage, serial and root in words
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("the plan is stale: it was made from %s, and there is %s now", e.Want, e.Got)
}

// MismatchError says that a plan document is not what its own content, the base lock and the catalog give.
type MismatchError struct {
	What    string // "the document was edited", "the plan was made from other configuration"
	Pointer string // JSON Pointer of the first difference in the document, if known
	Files   []string
	Detail  string
}

func (e *MismatchError) Error() string {
	s := e.What
	if e.Pointer != "" {
		s += " at " + e.Pointer
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if len(e.Files) > 0 {
		s += " (" + strings.Join(e.Files, ", ") + ")"
	}
	return s
}

// DeniedError says that a plan holds changes that may not be applied.
type DeniedError struct {
	Addresses []string
}

func (e *DeniedError) Error() string {
	return "the plan holds denied changes: " + strings.Join(e.Addresses, ", ")
}

// FaultyError says that a plan was made with errors, other than servers that were not checked, and cannot be applied.
type FaultyError struct {
	Addresses []string
}

func (e *FaultyError) Error() string {
	return "the plan was made with errors and cannot be applied: " + strings.Join(e.Addresses, ", ")
}

// FormatError is a plan file of a version that this program does not read.
type FormatError struct {
	Found string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("the plan has format version %q, want %q", e.Found, FormatVersion)
}
