//go:build !linux

package boltfile

import "os"

// buildFile returns an empty file for bbolt and what is to be called when bbolt has closed it.
func buildFile() (f *os.File, remove func() error, err error) { return tempBuildFile() }
