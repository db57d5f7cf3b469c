package boltfile

import (
	"errors"
	"io/fs"
	"os"
)

// tempBuildFile returns an empty temporary file and what removes it. Where the system allows it, the name is removed at
// once, so that a killed process leaves nothing behind.
func tempBuildFile() (f *os.File, remove func() error, err error) {
	f, err = os.CreateTemp("", "mcpcat-lock-*")
	if err != nil {
		return nil, nil, err
	}
	if os.Remove(f.Name()) == nil {
		return f, func() error { return nil }, nil
	}
	return f, func() error {
		if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}, nil
}
