// Package gitrepo runs git: it is the one place of the product that does, for what belongs to the repository in which a catalog
// lies. It reads and sets the repository's own settings and nothing else; it knows nothing of catalogs and locks.
//
// Every git is bounded in time and output, and gets no terminal to ask at. In the drawing it stands beside contact: cli imports
// it, and it imports procs.
//
//	value, set, err := gitrepo.Config(ctx, dir, "merge.mcpcat.driver")
package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/procs"
)

// ErrNoRepository says that a directory lies in no repository that git would work in.
var ErrNoRepository = errors.New("it is not in a git repository")

// ErrNoGit says that there is no git.
var ErrNoGit = errors.New("there is no program git in PATH")

const (
	timeout   = 10 * time.Second
	maxOutput = 64 << 10
)

// Config returns a setting of the repository's own file, without those of the user and the machine. set is false if it has
// none.
func Config(ctx context.Context, dir, key string) (value string, set bool, err error) {
	out, code, err := run(ctx, dir, "config", "--local", "--get", key)
	switch {
	case err != nil:
		return "", false, err
	case code == 1 && out == "":
		return "", false, nil
	case code != 0:
		return "", false, fmt.Errorf("git config --get %s ended with status %d", key, code)
	}
	return strings.TrimSuffix(out, "\n"), true, nil
}

// SetConfig sets a setting in the repository's own file.
func SetConfig(ctx context.Context, dir, key, value string) error {
	_, code, err := run(ctx, dir, "config", "--local", key, value)
	if err == nil && code != 0 {
		err = fmt.Errorf("git config %s ended with status %d", key, code)
	}
	return err
}

// Check returns ErrNoGit, ErrNoRepository, or why git cannot be asked in dir.
func Check(ctx context.Context, dir string) error {
	_, code, err := run(ctx, dir, "rev-parse", "--git-dir")
	if err == nil && code != 0 {
		err = ErrNoRepository
	}
	return err
}

// run runs git in dir and returns its standard output and exit status. The error is for a git that could not be run to its end.
func run(ctx context.Context, dir string, args ...string) (string, int, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return "", 0, ErrNoGit
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"-C", dir}, args...)...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), elsewhere), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out := &bounded{}
	cmd.Stdout = out
	child, err := procs.Start(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		return "", 0, fmt.Errorf("git: %w", err)
	}
	err = child.Wait(cmd.Wait)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", 0, fmt.Errorf("git %s: %w", args[0], ctx.Err())
	case errors.As(err, &exit) && exit.Exited():
		return out.String(), exit.ExitCode(), nil
	case err != nil:
		return "", 0, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.String(), 0, nil
}

// elsewhere reports whether an environment variable would make git work on something else than the repository around dir, as in
// a hook of another one.
func elsewhere(variable string) bool {
	return strings.HasPrefix(variable, "GIT_") && !strings.HasPrefix(variable, "GIT_CEILING_DIRECTORIES=")
}

// bounded keeps what git prints, up to maxOutput.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("more than %d bytes of output", maxOutput)
	}
	return b.Buffer.Write(p)
}
