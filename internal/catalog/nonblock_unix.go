//go:build unix

package catalog

import "syscall"

const nonblock = syscall.O_NONBLOCK
