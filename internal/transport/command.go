package transport

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// resolve finds the program of a command once, so that the file that was found is the one that runs. It refuses what no
// program can be given.
func resolve(c StdioConfig) (string, error) {
	command := c.Command
	switch {
	case command == "":
		return "", errors.New("no command")
	case strings.ContainsRune(command, 0):
		return "", errors.New("a NUL byte in the command")
	}
	for i, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			return "", fmt.Errorf("a NUL byte in argument %d", i+1)
		}
	}
	for _, v := range c.Env {
		if strings.ContainsRune(v, 0) {
			name, _, _ := strings.Cut(v, "=") // the value may be a secret
			return "", fmt.Errorf("a NUL byte in the environment variable %.64q", name)
		}
	}
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		if !filepath.IsAbs(command) {
			abs, err := filepath.Abs(filepath.Join(c.Dir, command))
			if err != nil {
				return "", err
			}
			command = abs
		}
	}
	path, err := exec.LookPath(command)
	if err != nil {
		return "", reason(err)
	}
	return filepath.Abs(path)
}

// reason takes off what os/exec and os say about the name and the call; the caller names the command.
func reason(err error) error {
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err
}

// explain is reason for a command that was found and did not start. What the system says of the file is often meant of
// another one.
func explain(c *exec.Cmd, err error) error {
	err = reason(err)
	if c.Dir != "" {
		if info, dirErr := os.Stat(c.Dir); dirErr != nil {
			return fmt.Errorf("its working directory %q: %w", c.Dir, reason(dirErr))
		} else if !info.IsDir() {
			return fmt.Errorf("its working directory %q: %w", c.Dir, syscall.ENOTDIR)
		}
	}
	interpreter := interpreterOf(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && interpreter != "":
		return fmt.Errorf("its first line asks for the interpreter %.256q: %w", interpreter, err)
	case errors.Is(err, fs.ErrPermission) && interpreter != "":
		return fmt.Errorf("it, or the interpreter %.256q that its first line asks for: %w", interpreter, err)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("neither a program for this machine nor a script that begins with #!: %w", err)
	case errors.Is(err, syscall.E2BIG):
		size := 0
		for _, list := range [][]string{c.Args, c.Env} {
			for _, s := range list {
				size += len(s) + 1
			}
		}
		return fmt.Errorf("arguments and environment have %d bytes, which is too much in all or one of them is too long: %w", size, err)
	}
	return err
}

// interpreterOf returns the program that the first line of a script names, "" if it names none.
func interpreterOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadSlice('\n') // a line that is cut says enough
	name, ok := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), "#!")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(strings.TrimLeft(name, " \t"), " ")
	return name
}

// Program returns the absolute path of the program that a command with this configuration would start: what its name leads
// to, before links are followed.
func Program(c StdioConfig) (string, error) {
	path, err := resolve(c)
	if err != nil {
		return "", &Error{Op: "start", Err: fmt.Errorf("%q: %w", c.Command, err)}
	}
	return path, nil
}
