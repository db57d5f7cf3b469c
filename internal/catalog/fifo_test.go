//go:build unix

package catalog

import "syscall"

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }
