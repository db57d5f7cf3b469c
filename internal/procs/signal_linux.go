package procs

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// awaited is how many processes are waited for at a time, each with a descriptor.
const awaited = 64

// Signal sends signals, one after the other, to exactly the process that was seen, not to one that has got its number
// since. The error is unix.ESRCH if the process has ended, and unix.EPERM if it is another user's.
func (p Process) Signal(sigs ...unix.Signal) error {
	fd, err := p.open()
	switch {
	case err == nil:
		defer unix.Close(fd)
	case !errors.Is(err, errors.ErrUnsupported):
		return err
	}
	for _, sig := range sigs {
		if fd >= 0 {
			err = unix.PidfdSendSignal(fd, sig, nil, 0)
		} else {
			err = unix.Kill(p.PID, sig) // it was there a moment ago, and numbers are given out in a circle
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open returns a file of the process that was seen. The error is unix.ESRCH if there is none, ErrUnsupported before
// Linux 5.3.
func (p Process) open() (fd int, err error) {
	fd, err = unix.PidfdOpen(p.PID, 0)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		// EPERM is what a filter of system calls says; a process that is not there, or is a thread, gives EINVAL too.
		if now, ok := Look(p.PID); ok && now.Begun == p.Begun {
			return -1, errors.ErrUnsupported
		}
		return -1, unix.ESRCH
	case err != nil:
		return -1, err
	}
	if now, ok := Look(p.PID); !ok || now.Begun != p.Begun {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, nil
}

// AwaitEnd returns when all processes of list have ended, or when the time is over.
func AwaitEnd(list []Process, within time.Duration) {
	for end := time.Now().Add(within); len(list) > 0; {
		n := min(len(list), awaited)
		if !awaitEnd(list[:n], end) {
			return
		}
		list = list[n:]
	}
}

// awaitEnd reports whether all processes have ended before end.
func awaitEnd(list []Process, end time.Time) bool {
	var fds []unix.PollFd
	defer func() {
		for _, f := range fds {
			unix.Close(int(f.Fd))
		}
	}()
	var blind []Process
	for _, p := range list {
		if fd, err := p.open(); err == nil {
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		} else if !errors.Is(err, unix.ESRCH) {
			blind = append(blind, p)
		}
	}
	for len(fds) > 0 {
		left := time.Until(end)
		if left <= 0 {
			return false
		}
		// A moment at a time: a thread that waits for longer is not worth what a later look costs.
		if _, err := unix.Poll(fds, int(min(left, 100*time.Millisecond)/time.Millisecond)+1); err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
		rest := fds[:0]
		for _, f := range fds {
			if f.Revents == 0 {
				rest = append(rest, f)
			} else {
				unix.Close(int(f.Fd))
			}
		}
		fds = rest
	}
	for pause := 200 * time.Microsecond; len(blind) > 0; pause = min(2*pause, 20*time.Millisecond) {
		p := blind[0]
		if now, ok := Look(p.PID); !ok || now.Dead || now.Begun != p.Begun {
			blind = blind[1:]
			continue
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}
