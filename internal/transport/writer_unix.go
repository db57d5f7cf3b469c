//go:build unix

package transport

import (
	"os"
	"syscall"
)

// fastWriter writes to a file as much as goes without waiting, in the caller's goroutine. Almost every line fits into
// the pipe's buffer, and then no goroutine and no timer is needed to keep the caller's context.
type fastWriter struct {
	conn syscall.RawConn
	once func(fd uintptr) bool // writes in; made once, so that a write allocates nothing
	in   []byte
	n    int
	err  error
}

func newFastWriter(f *os.File) *fastWriter {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	w := &fastWriter{conn: conn}
	w.once = func(fd uintptr) bool {
		for {
			w.n, w.err = syscall.Write(int(fd), w.in)
			if w.err != syscall.EINTR {
				return true
			}
		}
	}
	return w
}

// write returns how much was written. Having no room is not an error.
func (w *fastWriter) write(b []byte) (int, error) {
	w.in = b
	err := w.conn.Write(w.once)
	w.in = nil
	if err != nil {
		return 0, err
	}
	n := max(w.n, 0)
	if w.err == syscall.EAGAIN {
		return n, nil
	}
	return n, w.err
}
