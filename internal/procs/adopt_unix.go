//go:build unix && !linux

package procs

import "time"

// Any reports whether this process has a child. That is not known here.
func Any() bool { return true }

// Orphans are the processes that this one has adopted: here none.
type Orphans struct{}

// Adopt does nothing here: only Linux lets a process adopt orphans.
func Adopt() (*Orphans, error) { return &Orphans{}, nil }

// Sweep lets no child be started any more, kills the process groups of those that still run and waits until they have
// been waited for, for no longer than within. It returns how many are left.
func (*Orphans) Sweep(within time.Duration) (left int) {
	for end := time.Now().Add(within); ; time.Sleep(time.Millisecond) {
		children.mu.Lock()
		children.ending = true
		left = len(children.own)
		children.mu.Unlock()
		if left == 0 || time.Now().After(end) {
			return left
		}
		killGroups()
	}
}
