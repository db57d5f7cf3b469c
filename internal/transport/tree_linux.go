package transport

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// markName is the environment variable that every process of a tree inherits.
const markName = "MCPCAT_PROCESS_TREE"

const (
	// sweepTime bounds the killing of what a process has left behind.
	sweepTime = time.Second
	// environBytes is how much of a process's environment is looked at.
	environBytes = 256 << 10
)

// newMark returns the variable that marks a tree, and the environment with it in front.
func newMark(env []string) (mark string, with []string) {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	mark = markName + "=" + hex.EncodeToString(random[:])
	return mark, append([]string{mark}, slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		return len(v) > len(markName) && v[:len(markName)+1] == markName+"="
	})...)
}

func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// tree is a process and all that it has started. A process belongs to it if it is of the leader's group, descends from a
// member, is of a session that a member leads, carries the mark in its environment, or was seen as a member before. So a
// process is found even if it has changed its group and session and has lost its parent, unless it has changed its
// environment as well before it was seen for the first time.
type tree struct {
	pid   int
	mark  []byte
	begun uint64 // the leader's start time, in clock ticks since boot; 0 if not known

	mu   sync.Mutex
	seen map[int]uint64 // start times of members, the leader left out
	over bool           // the leader may be reaped: its number is not ours any more
}

func newTree(leader *os.Process, mark string) *tree {
	t := &tree{pid: leader.Pid, mark: []byte(mark), seen: map[int]uint64{}}
	if p, ok := readStat(leader.Pid); ok {
		t.begun = p.begun
	}
	return t
}

// awaitExit returns when the leader has ended and what was left of the tree has been killed. The leader is not reaped
// yet, so its number cannot be another process's or group's.
func (t *tree) awaitExit() {
	if !t.pollExit() {
		t.ended(0)
	}
	t.kill()
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
}

// ended reports whether the leader has ended, after waiting for it unless option is WNOHANG.
func (t *tree) ended(option int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, t.pid, &info, unix.WEXITED|unix.WNOWAIT|option, nil)
		if !errors.Is(err, unix.EINTR) {
			return err != nil || info.Signo != 0
		}
	}
}

// pollExit waits in the network poller, so that a server that runs costs no thread. It returns false where the kernel
// has no file to wait for.
func (t *tree) pollExit() bool {
	fd, err := unix.PidfdOpen(t.pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	return conn.Read(func(uintptr) bool { return t.ended(unix.WNOHANG) }) == nil
}

// reaped is called when the leader's number may be used again.
func (t *tree) reaped() {}

// note records who belongs to the tree now, for the time when its members have lost their parents.
func (t *tree) note() { t.members() }

// terminate asks all processes of the tree to end.
func (t *tree) terminate() {
	members := t.members()
	t.signalGroup(unix.SIGTERM)
	for _, p := range members {
		if p.group != t.pid {
			t.signal(p, unix.SIGTERM)
		}
	}
}

// kill kills all processes of the tree, and again what they have started meanwhile.
func (t *tree) kill() {
	members := t.members()
	for end, pause := time.Now().Add(sweepTime), 200*time.Microsecond; ; {
		t.signalGroup(unix.SIGKILL) // also where there is no /proc to find members in
		if len(members) == 0 {
			return
		}
		for _, p := range members {
			t.signal(p, unix.SIGKILL)
		}
		if time.Now().After(end) {
			return
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
		members = t.members()
	}
}

func (t *tree) signalGroup(sig unix.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		_ = unix.Kill(-t.pid, sig) // it has at least the leader, which may be a zombie
	}
}

// signal sends sig to exactly the process that was seen, not to one that has got its number since.
func (t *tree) signal(p stat, sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if errors.Is(err, unix.ENOSYS) {
			_ = unix.Kill(p.pid, sig)
		}
		return
	}
	defer unix.Close(fd)
	if now, ok := readStat(p.pid); ok && now.begun == p.begun {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// members returns the living processes of the tree.
func (t *tree) members() []stat {
	t.mu.Lock()
	defer t.mu.Unlock()
	self := os.Getpid()
	var all []stat
	for _, pid := range processes() {
		// Older processes cannot have been started by the leader.
		if p, ok := readStat(pid); ok && pid != self && p.begun >= t.begun {
			all = append(all, p)
		}
	}
	in := make(map[int]bool, len(all))
	for _, p := range all {
		begun, known := t.seen[p.pid]
		in[p.pid] = p.pid == t.pid || p.group == t.pid || (known && begun == p.begun) || (!p.dead && t.marked(p.pid))
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.pid] && (in[p.parent] || in[p.session]) {
				in[p.pid], grown = true, true
			}
		}
	}
	clear(t.seen)
	members := all[:0]
	for _, p := range all {
		if !in[p.pid] {
			continue
		}
		if p.pid != t.pid {
			t.seen[p.pid] = p.begun
		}
		if !p.dead {
			members = append(members, p)
		}
	}
	return members
}

func (t *tree) marked(pid int) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	defer f.Close()
	env, _ := io.ReadAll(io.LimitReader(f, environBytes)) // a process that ends meanwhile is no member any more
	return bytes.HasPrefix(env, append(t.mark[:len(t.mark):len(t.mark)], 0)) ||
		bytes.Contains(env, slices.Concat([]byte{0}, t.mark, []byte{0}))
}

// stat is what /proc says about a process.
type stat struct {
	pid, parent, group, session int
	begun                       uint64
	dead                        bool // a zombie
}

func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is better than nothing
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func readStat(pid int) (stat, bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return stat{}, false
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return stat{}, false
	}
	// pid (name) state ppid pgrp session ...; the name may hold anything, also a parenthesis.
	line := buf[:max(n, 0)]
	i := bytes.LastIndexByte(line, ')')
	if i < 0 {
		return stat{}, false
	}
	fields := bytes.Fields(line[i+1:])
	if len(fields) < 20 {
		return stat{}, false
	}
	number := func(i int) int {
		v, _ := strconv.Atoi(string(fields[i])) // the kernel writes numbers
		return v
	}
	begun, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	state := fields[0][0]
	return stat{
		pid: pid, parent: number(1), group: number(2), session: number(3), begun: begun,
		dead: state == 'Z' || state == 'X' || state == 'x',
	}, true
}
