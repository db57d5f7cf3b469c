// Package procs knows the processes around this one: the children that this program has started, and on Linux the table
// of all processes, and the orphans that this process has adopted.
//
// It tells who is who and signals exactly the process that was seen; which processes belong to a server is judged by
// internal/transport, and when the program ends by internal/term. Nothing here changes the process unless Adopt is called,
// which cmd/mcpcat alone does, through internal/term: a library must not adopt what its host has left.
//
//	child, err := procs.Start(func() (int, error) { err := cmd.Start(); return cmd.Process.Pid, err })
//	...
//	err = child.Wait(cmd.Wait)
//
// In the drawing it stands at the bottom, beside strictjson: internal/transport and internal/term use it.
package procs

import (
	"errors"
	"sync"
)

// ErrEnding says that nothing is started any more because the program is ending.
var ErrEnding = errors.New("mcpcat is ending")

// children are what this program has started and not yet waited for.
//
// A process that has adopted orphans must wait for them, but never for a child that os/exec waits for: its exit status
// would be lost. The kernel does not tell the two apart. So every start goes through Start, which puts the child's number
// into own before gate is free again, and Wait takes it out after the child is reaped. With gate held for writing, a dead
// child that is not in own is therefore an orphan, and stays one: its number cannot become a new child's meanwhile.
var children struct {
	// gate is held for reading while a child is started. It is only ever tried for writing: a start can take long, for
	// example from a file system that hangs, and a waiting writer would hold up all other starts.
	gate sync.RWMutex

	mu       sync.Mutex
	own      map[int]*Child
	starting int  // starts under way
	started  int  // starts so far
	adopts   bool // every other child of this process is an orphan of one of them
	ending   bool
}

// Child is a process that was started with Start.
type Child struct {
	pid int
	// sole says that no other process descended from this one when the child was the seq-th to be started.
	sole bool
	seq  int
}

// Start calls start, which starts a child and returns its number, and keeps the child known until Wait. The error is
// start's, or ErrEnding.
func Start(start func() (pid int, err error)) (*Child, error) {
	children.gate.RLock()
	defer children.gate.RUnlock()
	c, err := begin()
	if err != nil {
		return nil, err
	}
	pid, err := start()
	children.mu.Lock()
	defer children.mu.Unlock()
	children.starting--
	if err != nil {
		return nil, err
	}
	if children.own == nil {
		children.own = map[int]*Child{}
	}
	c.pid = pid
	children.own[pid] = c
	return c, nil
}

func begin() (*Child, error) {
	children.mu.Lock()
	defer children.mu.Unlock()
	if children.ending {
		return nil, ErrEnding
	}
	children.started++
	c := &Child{seq: children.started}
	c.sole = children.adopts && children.starting+len(children.own) == 0 && !Any()
	children.starting++
	return c, nil
}

// Wait calls wait, which waits for the child and reaps it, and then forgets the child.
func (c *Child) Wait(wait func() error) error {
	err := wait()
	children.mu.Lock()
	defer children.mu.Unlock()
	// The number may be another child's by now.
	if children.own[c.pid] == c {
		delete(children.own, c.pid)
	}
	return err
}

// Sole reports whether every process that descends from this one, other than the child, descends from the child: this
// process adopts orphans, had no descendant when the child was started, and has started no other child since.
func (c *Child) Sole() bool {
	children.mu.Lock()
	defer children.mu.Unlock()
	return c.sole && children.started == c.seq
}

// own reports whether pid is a child that somebody else waits for.
func own(pid int) bool {
	children.mu.Lock()
	defer children.mu.Unlock()
	return children.own[pid] != nil
}
