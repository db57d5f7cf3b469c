//go:build unix

package procs

import "syscall"

// killGroups kills the process groups that the children of Start lead. None of them has been reaped, so their numbers are
// theirs.
func killGroups() {
	children.mu.Lock()
	defer children.mu.Unlock()
	for pid := range children.own {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // it may lead none, or have ended
	}
}
