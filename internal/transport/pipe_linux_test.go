package transport

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// shrink leaves a pipe as little room as there can be, so that it is often full.
func shrink(t testing.TB, f *os.File) {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBuf) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
