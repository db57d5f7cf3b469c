package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// tempSuffix makes the one temporary name beside a file. There is one, not one for each process, so that a killed
// process leaves at most one file, which the next writer removes.
const tempSuffix = ".tmp"

// writeTemp writes b to a new file at path, with the mode of the file that it will replace, and syncs it.
func writeTemp(path string, b []byte, replaces fs.FileInfo) (err error) {
	if err := removeTemp(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openFlags, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if replaces != nil {
		if err := f.Chmod(replaces.Mode().Perm()); err != nil {
			return err
		}
	}
	if _, err := io.Copy(f, bytes.NewReader(b)); err != nil {
		return err
	}
	return f.Sync()
}

// removeTemp removes what a killed writer left at path. What is no regular file was not left by one and stays.
func removeTemp(path string) error {
	if _, err := lstatIfThere(path); err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkTarget refuses a path that must not be replaced: another name, or something that is not a regular file.
func checkTarget(path, suffix string) error {
	if err := checkName(path, suffix); err != nil {
		return err
	}
	_, err := lstatIfThere(path)
	return err
}

// lstatIfThere is lstatRegular, and nil for a file that does not exist.
func lstatIfThere(path string) (fs.FileInfo, error) {
	info, err := lstatRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}
