//go:build !unix

package procs

import "time"

// Any reports whether this process has a child. That is not known here.
func Any() bool { return true }

// Orphans are the processes that this one has adopted: here none.
type Orphans struct{}

// Adopt does nothing here: only Linux lets a process adopt orphans.
func Adopt() (*Orphans, error) { return &Orphans{}, nil }

// Sweep lets no child be started any more. On Windows the system ends those that run when the program ends, with all that
// they have started: internal/transport puts each into a job object that is closed then. It returns 0.
func (*Orphans) Sweep(time.Duration) (left int) {
	children.mu.Lock()
	defer children.mu.Unlock()
	children.ending = true
	return 0
}
