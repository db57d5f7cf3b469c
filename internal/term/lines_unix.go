//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package term

import "golang.org/x/sys/unix"

// processOutput lets a terminal in raw mode go on to make line ends of line feeds.
func processOutput(fd int) error {
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return err
	}
	t.Oflag |= unix.OPOST
	return unix.IoctlSetTermios(fd, setTermios, t)
}
