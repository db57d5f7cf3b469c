package procs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Process is one process at the moment at which it was seen.
type Process struct {
	PID, Parent, Group, Session int
	// Begun is the start time in clock ticks since boot. With PID it tells a process from a later one of that number.
	Begun uint64
	// Dead says that it has ended, all its threads have, and has not been waited for.
	Dead bool
	// kernel says that it is a thread of the kernel.
	kernel bool
}

// Now is the present time as a start time: no process that is started from now on has an earlier one. It is 0 where the
// kernel does not say.
func Now() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	const tick = int64(time.Second) / 100 // USER_HZ of every architecture that Go has
	return uint64(t.Nano() / tick)
}

// old remembers when processes began. A process is known by its number and by the inode that procfs gave its directory,
// which is new for each process; the same process may get another one, and then is looked at again.
type old struct {
	pid   int
	inode uint64
	begun uint64
}

// remembered is what the last look at the table knew, ordered by number. Reading the directory costs a twentieth of
// opening the file of each process in it, and on most machines nearly all processes are older than any server.
var remembered atomic.Pointer[[]old]

// Since returns the processes that began at begun or later, ordered by number, threads of the kernel left out. whole says
// that each of them could be looked at; if not, one has ended after it was listed, and what it had started may be missing.
// Where there is no procfs the error is of the type *fs.PathError.
func Since(begun uint64) (list []Process, whole bool, err error) {
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false, &fs.PathError{Op: "open", Path: "/proc", Err: err}
	}
	defer unix.Close(dir)
	var known []old
	if p := remembered.Load(); p != nil {
		known = *p
	}
	now := make([]old, 0, len(known)+16)
	whole = true
	err = eachProcess(dir, func(pid int, inode uint64) {
		for len(known) > 0 && known[0].pid < pid {
			known = known[1:]
		}
		if len(known) > 0 && known[0].pid == pid && known[0].inode == inode && known[0].begun < begun {
			now = append(now, known[0])
			return
		}
		p, ok := read(dir, pid)
		if !ok {
			whole = false
			return
		}
		if inode != 0 {
			now = append(now, old{pid, inode, p.Begun})
		}
		if p.Begun >= begun && !p.kernel {
			list = append(list, p)
		}
	})
	if err != nil {
		return nil, false, &fs.PathError{Op: "readdirent", Path: "/proc", Err: err}
	}
	remembered.Store(&now)
	return list, whole, nil
}

// eachProcess calls f for each entry of /proc that is a process, in the order of their numbers.
func eachProcess(dir int, f func(pid int, inode uint64)) error {
	type entry struct {
		pid   int
		inode uint64
	}
	var entries []entry
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(dir, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n <= 0 {
			break
		}
		// struct linux_dirent64: inode (8 bytes), offset (8), length of the record (2), type (1), name, NUL.
		const name = 19
		for rest := buf[:n]; len(rest) > name; {
			size := int(binary.NativeEndian.Uint16(rest[16:]))
			if size <= name || size > len(rest) {
				return unix.EIO
			}
			if pid, ok := number(rest[name:size]); ok {
				entries = append(entries, entry{pid, binary.NativeEndian.Uint64(rest)})
			}
			rest = rest[size:]
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return a.pid - b.pid }) // procfs lists them so already
	for _, e := range entries {
		f(e.pid, e.inode)
	}
	return nil
}

// number reads a decimal number that ends with a NUL.
func number(text []byte) (n int, ok bool) {
	for i, c := range text {
		switch {
		case c == 0:
			return n, i > 0
		case c < '0' || c > '9' || i > 9:
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return 0, false
}

// Look returns the process with the number pid. ok is false if there is none.
func Look(pid int) (p Process, ok bool) { return read(unix.AT_FDCWD, pid) }

// read reads the file stat of a process; dir is the open directory /proc, or AT_FDCWD.
func read(dir, pid int) (Process, bool) {
	path := strconv.Itoa(pid) + "/stat"
	if dir == unix.AT_FDCWD {
		path = "/proc/" + path
	}
	fd, err := unix.Openat(dir, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Process{}, false
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Read(fd, buf[:])
	}
	if err != nil {
		return Process{}, false
	}
	return parseStat(pid, buf[:max(n, 0)])
}

// parseStat reads "pid (name) state parent group session ...". The name may hold anything, also a parenthesis.
// Source: proc_pid_stat(5).
func parseStat(pid int, line []byte) (Process, bool) {
	rest := line[bytes.LastIndexByte(line, ')')+1:]
	p := Process{PID: pid}
	for i := range 20 {
		rest = bytes.TrimLeft(rest, " ")
		end := bytes.IndexByte(rest, ' ')
		if end <= 0 {
			return Process{}, false
		}
		field := rest[:end]
		rest = rest[end:]
		if i == 0 {
			p.Dead = field[0] == 'Z' || field[0] == 'X' || field[0] == 'x'
			continue
		}
		if i > 3 && i != 6 && i != 17 && i != 19 {
			continue
		}
		n, err := strconv.ParseUint(string(bytes.TrimPrefix(field, []byte("-"))), 10, 64)
		if err != nil {
			return Process{}, false
		}
		switch i {
		case 1:
			p.Parent = int(n)
		case 2:
			p.Group = int(n)
		case 3:
			p.Session = int(n)
		case 6:
			const kernelThread = 0x200000 // PF_KTHREAD of the kernel's sched.h
			p.kernel = n&kernelThread != 0
		case 17:
			p.Dead = p.Dead && n <= 1 // its first thread may have ended before the others
		case 19:
			p.Begun = n
		}
	}
	return p, true
}
