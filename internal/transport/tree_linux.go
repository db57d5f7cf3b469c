package transport

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpcat-dev/mcpcat/internal/procs"
)

// looks is how often the table of processes is read again because a process ended, or began, while it was looked at.
const looks = 20

func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// tree is a process, its leader, and all that it has started. That a process belongs to it is known from any of these:
//
//   - its parent is a member, or was when it was last seen;
//   - it is of the leader's process group, or of a group that a member leads;
//   - it is of a session of a member other than the one in which the leader began: a session is only inherited, or made;
//   - its environment carries the tree's mark;
//   - it was adopted by this process, and no other child can have left it (procs.Child.Sole).
//
// So a process is found even if it has changed group and session and lost its parent, unless it has changed its
// environment as well before it was seen for the first time. None of these can be true of a process that another child
// of this program has started. That a process once was a member is only believed of the same number and start time.
type tree struct {
	pid     int
	mark    string
	child   *procs.Child
	begun   uint64 // a start time that no process of the tree precedes
	session int    // the session in which the leader began, which is the host's; 0 if not known

	mu    sync.Mutex
	seen  map[int]uint64 // start times of members, the leader left out
	blank map[int]uint64 // start times of strangers that once showed no environment
	over  bool           // the leader may be reaped: its number is not ours any more
}

// roots are what is known of a tree before its leader is started.
type roots struct {
	begun   uint64
	session int
}

func newRoots() roots {
	session, err := unix.Getsid(0)
	if err != nil {
		session = 0 // less is found then
	}
	return roots{begun: procs.Now(), session: session}
}

func newTree(leader *os.Process, child *procs.Child, from roots, mark string) (*tree, error) {
	return &tree{
		pid: leader.Pid, mark: mark, child: child, begun: from.begun, session: from.session,
		seen: map[int]uint64{}, blank: map[int]uint64{},
	}, nil
}

// awaitExit returns when the leader has ended and what was left of the tree has been ended. The leader is not reaped yet,
// so its number cannot be another process's or group's.
func (t *tree) awaitExit() {
	if !t.pollExit() {
		t.ended(0)
	}
	now := t.members()
	if len(now.living) > 0 {
		asked := t.signal(now.living, unix.SIGTERM, unix.SIGCONT)
		procs.AwaitEnd(asked, leftTime)
		now.whole = false
	}
	if !now.whole {
		now = t.end()
	}
	t.group(unix.SIGKILL) // also where there is no procfs
	procs.Reap(now.dead)
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

// dead reports whether the leader has ended, reaped or not.
func (t *tree) dead() bool { return t.ended(unix.WNOHANG) }

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
	t.signal(t.members().living, unix.SIGTERM, unix.SIGCONT) // one that was stopped must run to end
}

// kill kills all processes of the tree.
func (t *tree) kill() { t.end() }

// end kills all processes of the tree, and again what they have started meanwhile, for no longer than sweepTime. It
// returns what it saw last.
func (t *tree) end() members {
	end := time.Now().Add(sweepTime)
	for again, pause := 0, time.Duration(0); ; {
		now := t.members()
		mortal := t.signal(now.living, unix.SIGKILL)
		left := time.Until(end)
		switch {
		case left <= 0:
			return now
		case len(mortal) > 0:
			procs.AwaitEnd(mortal, min(left, moment))
		case now.whole || again >= looks:
			return now
		default:
			again++
			time.Sleep(pause) // for an exec that was under way; the first time, some process has just ended most likely
			pause = min(2*pause+100*time.Microsecond, 5*time.Millisecond)
		}
	}
}

// moment is how long the end of killed processes is waited for before the table is looked at again.
const moment = 100 * time.Millisecond

// signal sends signals to the leader's group, at once and as a whole, so that no process escapes by forking, and then to
// the members that are not of it. It returns the members that a signal can reach: others run as another user.
func (t *tree) signal(members []procs.Process, sigs ...unix.Signal) (reached []procs.Process) {
	t.group(sigs...)
	for _, p := range members {
		theirs := sigs
		if p.Group == t.pid {
			theirs = []unix.Signal{0} // had it
		}
		if err := p.Signal(theirs...); !errors.Is(err, unix.EPERM) {
			reached = append(reached, p)
		}
	}
	return reached
}

func (t *tree) group(sigs ...unix.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sig := range sigs {
		if !t.over {
			_ = unix.Kill(-t.pid, sig) // it has at least the leader, which may be a zombie
		}
	}
}

// members is what was seen of a tree at one time.
type members struct {
	living, dead []procs.Process // the dead have not been waited for
	whole        bool            // false if one may be missing that a look a moment later would find
}

// members returns the processes of the tree. Where there is no procfs, it finds none, and the leader's group is all that
// can be signalled.
func (t *tree) members() members {
	all, whole, err := procs.Since(t.begun) // older processes cannot have been started by the leader
	if err != nil {
		return members{whole: true}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.judge(all, os.Getpid(), t.child.Sole(), func(pid int) sign { return signOf(pid, t.mark) })
	now.whole = now.whole && whole
	return now
}

// judge finds the members among all processes that began with the leader or later. self is this process; sole says that
// all it has adopted is of this tree. look says what a process's environment shows of the mark.
func (t *tree) judge(all []procs.Process, self int, sole bool, look func(pid int) sign) members {
	f := finding{in: make(map[int]bool, len(all)), sessions: map[int]bool{}, session: t.session}
	for _, p := range all {
		begun, known := t.seen[p.PID]
		if p.PID == self {
			continue
		}
		if !t.over && (p.PID == t.pid || p.Group == t.pid) || known && begun == p.Begun || sole && p.Parent == self {
			f.add(p)
		}
	}
	f.grow(all)
	now := members{whole: true}
	for _, p := range all {
		if f.in[p.PID] || p.Dead || p.PID == self {
			continue
		}
		switch look(p.PID) {
		case marked:
			f.add(p)
		case early:
			now.whole = false
		case blank:
			// For a moment an exec looks like this, too.
			if t.blank[p.PID] != p.Begun {
				t.blank[p.PID], now.whole = p.Begun, false
			}
		}
	}
	f.grow(all)
	clear(t.seen)
	for _, p := range all {
		if !f.in[p.PID] {
			continue
		}
		if p.PID != t.pid {
			t.seen[p.PID] = p.Begun
		}
		if p.Dead {
			now.dead = append(now.dead, p)
		} else {
			now.living = append(now.living, p)
		}
	}
	return now
}

// finding is the members that were found so far.
type finding struct {
	in       map[int]bool
	sessions map[int]bool // sessions that were made within the tree
	session  int          // the one in which the leader began, 0 if not known
	grown    bool
}

func (f *finding) add(p procs.Process) {
	f.in[p.PID], f.grown = true, true
	if f.session != 0 && p.Session != f.session && p.Session != 0 {
		f.sessions[p.Session] = true
	}
}

// grow adds what belongs to members by parent, group or session.
func (f *finding) grow(all []procs.Process) {
	for f.grown {
		f.grown = false
		for _, p := range all {
			if !f.in[p.PID] && (f.in[p.Parent] || f.in[p.Group] || f.sessions[p.Session]) {
				f.add(p)
			}
		}
	}
}
