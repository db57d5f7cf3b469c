package procs

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// moment is how long the end of killed processes is waited for before the table is looked at again.
const moment = 100 * time.Millisecond

// Orphans are the processes that this one has adopted. See Adopt.
type Orphans struct {
	// before are the children that the process had when it began to adopt, from the program that it was before an exec.
	before map[int]uint64

	signals chan os.Signal
	done    chan struct{}
	wg      sync.WaitGroup
	ending  sync.Once
	left    int
}

// Adopt makes this process the new parent of every process that descends from it and loses its own (a child subreaper,
// PR_SET_CHILD_SUBREAPER), and reaps those that end, until Sweep. It is for a program whose only children are those of
// Start, and to be called once, before the first. The error says that the kernel refused; nothing is adopted then, but
// what is adopted anyway, by the first process of a container, is still reaped.
//
// Source: prctl(2), wait(2).
func Adopt() (*Orphans, error) {
	o := &Orphans{signals: make(chan os.Signal, 1), done: make(chan struct{})}
	if Any() {
		o.before = map[int]uint64{}
		self := os.Getpid()
		list, _, err := Since(0)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if p.Parent == self {
				o.before[p.PID] = p.Begun
			}
		}
	}
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	children.mu.Lock()
	// The first process of a container is given orphans that nobody here has started, from docker exec for example.
	children.adopts = err == nil && len(o.before) == 0 && os.Getpid() != 1
	children.mu.Unlock()
	signal.Notify(o.signals, unix.SIGCHLD)
	o.wg.Go(o.reap)
	return o, err
}

// Any reports whether this process has a child, dead or alive. Without one it has no descendant that it adopts.
func Any() bool {
	_, some := waitable()
	return some
}

// waitable returns the number of a dead child that has not been waited for, 0 if there is none, and whether there is any
// child at all. It takes nothing from whoever waits.
func waitable() (pid int, some bool) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		switch {
		case err == nil:
			return pidOf(&info), true
		case !errors.Is(err, unix.EINTR):
			return 0, false // ECHILD
		}
	}
}

// pidOf is si_pid, the first member of the union behind three numbers, which begins where a pointer may stand.
func pidOf(info *unix.Siginfo) int {
	const size = unsafe.Sizeof(uintptr(0))
	const offset = (3*4 + size - 1) / size * size
	//nolint:gosec // within the structure, which has 128 bytes everywhere
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), offset)))
}

// reap waits for orphans that have ended, when a signal says that some child has.
func (o *Orphans) reap() {
	for {
		select {
		case <-o.signals:
		case <-o.done:
			return
		}
		for pause := time.Millisecond; !reapOrphans(); pause = min(2*pause, 100*time.Millisecond) {
			select {
			case <-time.After(pause):
			case <-o.done:
				return
			}
		}
	}
}

// reapOrphans waits for the orphans that have ended. done is false if it must be called again: a child is being started,
// or one that somebody else waits for is dead and hides what is behind it.
func reapOrphans() (done bool) {
	for {
		pid, _ := waitable()
		if pid == 0 {
			return true
		}
		if !children.gate.TryLock() {
			return false
		}
		mine := own(pid)
		if !mine {
			wait(pid)
		}
		children.gate.Unlock()
		if mine {
			return false
		}
	}
}

// wait reaps the dead child pid.
func wait(pid int) {
	for {
		// The error is ECHILD when another has been quicker.
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// Reap waits for the processes of list that have ended and are orphans that this process has adopted, so that none of
// them is left as a zombie. Others, and children of Start, are left alone.
func Reap(list []Process) {
	self := os.Getpid()
	for _, p := range list {
		// A start under way leaves them to whoever reaps for the whole process.
		if now, ok := Look(p.PID); !ok || !now.Dead || now.Begun != p.Begun || now.Parent != self || !children.gate.TryLock() {
			continue
		}
		if !own(p.PID) {
			wait(p.PID)
		}
		children.gate.Unlock()
	}
}

// Sweep ends what this process still has as a descendant: it lets no child be started any more, kills every descendant and
// reaps the orphans, again until there is none, for no longer than within. The children that the process had before
// Adopt, and their descendants, are left alone. It returns how many are left: processes of another user, or ones that the
// kernel does not let go. The program should end then; orphans are not reaped any more. Further calls wait for the first.
func (o *Orphans) Sweep(within time.Duration) (left int) {
	o.ending.Do(func() {
		end := time.Now().Add(within)
		children.mu.Lock()
		children.ending = true
		children.mu.Unlock()
		for until := time.Now().Add(within / 2); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if children.gate.TryLock() { // no start is under way; one that hangs goes on without us
				children.gate.Unlock()
				break
			}
		}
		signal.Stop(o.signals)
		close(o.done)
		o.wg.Wait()
		o.left = o.sweep(end)
	})
	return o.left
}

func (o *Orphans) sweep(end time.Time) (left int) {
	for misses := 0; ; {
		pid, some := waitable()
		for pid != 0 && !own(pid) {
			wait(pid)
			pid, some = waitable()
		}
		if !some {
			return 0 // and so no descendant
		}
		alive, whole := o.descendants()
		over := time.Now().After(end)
		if len(alive) == 0 && whole && pid == 0 || over {
			return len(alive)
		}
		mortal := alive[:0:0]
		for _, p := range alive {
			if err := p.Signal(unix.SIGKILL); !errors.Is(err, unix.EPERM) {
				mortal = append(mortal, p)
			}
		}
		if len(mortal) > 0 {
			AwaitEnd(mortal, min(time.Until(end), moment))
			continue
		}
		// Nobody is left to be killed. A child whose waiter has not come yet gets some time, and so does a process that
		// ended while it was looked at and may have started another one.
		if misses++; misses > 50 {
			return len(alive)
		}
		time.Sleep(time.Millisecond)
	}
}

// descendants returns the living descendants of this process, as far as they are to be ended. Without procfs these are
// the groups of the children of Start.
func (o *Orphans) descendants() (alive []Process, whole bool) {
	self := os.Getpid()
	me, _ := Look(self)
	list, whole, err := Since(me.Begun)
	if err != nil {
		killGroups()
		return nil, true
	}
	in := map[int]bool{self: true}
	for grown := true; grown; {
		grown = false
		for _, p := range list {
			begun, before := o.before[p.PID]
			if !in[p.PID] && in[p.Parent] && !(before && begun == p.Begun) {
				in[p.PID], grown = true, true
			}
		}
	}
	for _, p := range list {
		if in[p.PID] && p.PID != self && !p.Dead {
			alive = append(alive, p)
		}
	}
	return alive, whole
}
