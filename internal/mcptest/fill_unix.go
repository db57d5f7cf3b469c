//go:build unix

package mcptest

import (
	"net"
	"syscall"
	"time"
)

// fill makes the listener one that has no room for another connection: it accepts none, and its queue is full. What still
// comes is kept waiting by the kernel.
func (f *Faulty) fill() {
	l, ok := f.listener.(*net.TCPListener)
	if !ok {
		return
	}
	_ = l.SetDeadline(time.Unix(1, 0)) // ends accept, and not the listener
	if raw, err := l.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.Listen(int(fd), 0) })
	}
	for range 4 {
		c, err := net.DialTimeout("tcp", l.Addr().String(), 100*time.Millisecond)
		if err != nil {
			return // it is full
		}
		f.mu.Lock()
		f.fillers = append(f.fillers, c)
		f.mu.Unlock()
	}
}
