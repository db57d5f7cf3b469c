//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package term

// processOutput has nothing to do where raw mode is about input alone.
func processOutput(int) error { return nil }
