//go:build !linux

package transport

import "os"

// pipeBuf is up to which length a write to a pipe goes in whole or not at all; POSIX promises no more.
const pipeBuf = 512

// isPipe reports whether f is an end of a pipe.
func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// unread is how many bytes of a pipe its other end has not taken yet, which is asked of Linux only.
func unread(*os.File) int { return 0 }
