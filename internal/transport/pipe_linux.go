package transport

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeBuf is up to which length a write to a pipe goes in whole or not at all (PIPE_BUF).
const pipeBuf = 4096

// isPipe reports whether f is an end of a pipe.
func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// unread is how many bytes of a pipe its other end has not taken yet, 0 if that cannot be told.
func unread(f *os.File) (n int) {
	conn, err := f.SyscallConn()
	if err != nil || !isPipe(f) {
		return 0
	}
	_ = conn.Control(func(fd uintptr) { // of a closed file nothing can be told
		if left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			n = left
		}
	})
	return n
}
