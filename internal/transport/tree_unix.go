//go:build unix && !linux

package transport

import (
	"os"
	"syscall"

	"github.com/mcpcat-dev/mcpcat/internal/procs"
)

// newMark returns the environment of the child. Other processes' environments cannot be looked at here.
func newMark(env []string) (mark string, with []string) { return "", append([]string{}, env...) }

func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// roots are what is known of a tree before its leader is started: here nothing that is of use.
type roots struct{}

func newRoots() roots { return roots{} }

// tree is a process group. A process that has left the group is not found.
type tree struct{ pid int }

func newTree(leader *os.Process, _ *procs.Child, _ roots, _ string) (*tree, error) {
	return &tree{pid: leader.Pid}, nil
}

// awaitExit returns at once: here the end of the leader is only learnt by reaping it.
func (t *tree) awaitExit() {}

// reaped kills what is left of the group. While one of it lives, its number is not given to another group.
func (t *tree) reaped() { t.kill() }

// dead says nothing: here the end of the leader is only learnt by reaping it.
func (t *tree) dead() bool { return false }

func (t *tree) note() {}

// terminate and kill signal the group; there may be none of it left.
func (t *tree) terminate() { _ = syscall.Kill(-t.pid, syscall.SIGTERM) }

func (t *tree) kill() { _ = syscall.Kill(-t.pid, syscall.SIGKILL) }
