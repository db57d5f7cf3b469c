//go:build !unix && !windows

package transport

import (
	"os"
	"syscall"

	"github.com/mcpcat-dev/mcpcat/internal/procs"
)

// newMark returns the environment of the child.
func newMark(env []string) (mark string, with []string) { return "", append([]string{}, env...) }

func sysProcAttr() *syscall.SysProcAttr { return nil }

// roots are what is known of a tree before its leader is started: here nothing that is of use.
type roots struct{}

func newRoots() roots { return roots{} }

// tree is the process alone. Processes that it has started are not found and may outlive it.
type tree struct{ leader *os.Process }

func newTree(leader *os.Process, _ *procs.Child, _ roots, _ string) (*tree, error) {
	return &tree{leader: leader}, nil
}

func (t *tree) awaitExit() {}

// dead says nothing: here the end of the leader is only learnt by reaping it.
func (t *tree) dead() bool { return false }

func (t *tree) reaped() {}

func (t *tree) note() {}

// terminate kills: there is no way to ask.
func (t *tree) terminate() { t.kill() }

func (t *tree) kill() { _ = t.leader.Kill() } // it may have ended
