package boltfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// buildFile returns an empty file for bbolt, in memory, and what is to be called when bbolt has closed it.
func buildFile() (f *os.File, remove func() error, err error) {
	fd, err := unix.MemfdCreate("mcpcat-lock", unix.MFD_CLOEXEC)
	if err != nil {
		return tempBuildFile()
	}
	return os.NewFile(uintptr(fd), "mcpcat-lock"), func() error { return nil }, nil
}
