package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

// DefaultGrace is how long a server gets to end by itself after its stdin was closed.
const DefaultGrace = 2 * time.Second

const (
	// termTime is how long a process has to end after it was asked to terminate, before it is killed.
	termTime = time.Second
	// killTime is how long the end of a killed process is waited for.
	killTime = 2 * time.Second
)

// StdioConfig says which process to start.
type StdioConfig struct {
	// Command is the program: an absolute path, a path with a separator, relative to Dir, or a bare name that is looked
	// up in this process's PATH and never in the current directory. No shell is involved.
	Command string
	Args    []string
	// Env is the whole environment of the child as "NAME=value"; nil is an empty one. On Linux one more variable is
	// added, MCPCAT_PROCESS_TREE with a random value, by which processes are found that have left their parent.
	Env []string
	// Dir is the working directory, "" the current one.
	Dir string
	// Grace is how long Close waits for the server to end by itself. Zero means DefaultGrace.
	Grace  time.Duration
	Limits Limits
	Redact Redact
	// Notify, if set, is given every notification, after the calls in flight have had it, whether or not there are any.
	// What is said of Call.Notify holds for it; it may still be called while Close runs.
	Notify func(*jsonrpc.Message)
}

// StartStdio starts a server and returns the connection to it. The process outlives ctx, which only guards the start; it
// ends with Close, or when the connection fails. It leads a process group of its own.
//
// When the process ends, so does everything it has started: on Linux the processes of its group, its descendants and
// all that carry its MCPCAT_PROCESS_TREE; on other Unix systems its group; on Windows the process alone.
//
// The error is an *Error with Op "start", or ctx's.
func StartStdio(ctx context.Context, c StdioConfig) (*Stdio, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limits := c.Limits.withDefaults()
	p, err := start(c)
	if err != nil {
		return nil, &Error{Op: "start", Err: err}
	}
	s := newStdio(p.stdout, p.stdin, limits)
	s.redact, s.stray = c.Redact, c.Notify
	s.proc, s.stderr, s.errDone = p, &tail{limit: limits.StderrBytes}, make(chan struct{})
	s.wg.Go(s.read)
	s.wg.Go(func() {
		defer close(s.errDone)
		_, _ = io.Copy(s.stderr, p.stderr) // ends when the stream does or is closed
	})
	s.wg.Go(func() {
		p.wait()
		// What the process has written is still read. A stranger that holds the pipe open does not hold the calls.
		wait := time.NewTimer(settle)
		defer wait.Stop()
		select {
		case <-s.readDone:
		case <-wait.C:
			_ = p.stdout.Close()
		}
	})
	return s, nil
}

// process is a running child and our ends of its pipes.
type process struct {
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File
	grace                 time.Duration
	tree                  *tree
	exited                chan struct{} // closed when the process has been reaped and its tree killed
}

func start(c StdioConfig) (*process, error) {
	path, err := resolve(c.Command, c.Dir)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", c.Command, err)
	}
	p := &process{grace: c.Grace, exited: make(chan struct{})}
	if p.grace <= 0 {
		p.grace = DefaultGrace
	}
	mark, env := newMark(c.Env)
	p.cmd = &exec.Cmd{Path: path, Args: append([]string{c.Command}, c.Args...), Env: env, Dir: c.Dir, SysProcAttr: sysProcAttr()}

	var theirs [3]*os.File
	defer func() {
		for _, f := range theirs {
			if f != nil {
				_ = f.Close()
			}
		}
	}()
	open := func(ours **os.File, i int, weWrite bool) {
		if err != nil {
			return
		}
		var r, w *os.File
		if r, w, err = os.Pipe(); err != nil {
			return
		}
		if weWrite {
			*ours, theirs[i] = w, r
		} else {
			*ours, theirs[i] = r, w
		}
	}
	open(&p.stdin, 0, true)
	open(&p.stdout, 1, false)
	open(&p.stderr, 2, false)
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
		err = p.cmd.Start()
	}
	if err != nil {
		for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
			if f != nil {
				_ = f.Close()
			}
		}
		return nil, fmt.Errorf("%q: %w", c.Command, reason(err))
	}
	p.tree = newTree(p.cmd.Process, mark)
	return p, nil
}

// resolve finds the program of a command once, so that the file that was found is the one that runs.
func resolve(command, dir string) (string, error) {
	switch {
	case command == "":
		return "", errors.New("no command")
	case strings.ContainsRune(command, 0):
		return "", errors.New("a NUL byte in the command")
	}
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		if !filepath.IsAbs(command) {
			abs, err := filepath.Abs(filepath.Join(dir, command))
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
	var path *os.PathError
	if errors.As(err, &path) && path.Op != "chdir" {
		err = path.Err
	}
	return err
}

// wait returns when the process has ended, everything it has left behind is killed, and it is reaped.
func (p *process) wait() {
	p.tree.awaitExit()
	_ = p.cmd.Wait() // the way it ended is in ProcessState
	p.tree.reaped()
	close(p.exited)
}

// status is the way the process ended, once exited is closed.
func (p *process) status() (text string, code int) {
	if p.cmd.ProcessState == nil {
		return "unknown", -1
	}
	return p.cmd.ProcessState.String(), p.cmd.ProcessState.ExitCode()
}

// stop waits for the process to end by itself, then terminates and kills it and its tree. It returns within grace,
// termTime and killTime together.
func (p *process) stop(grace time.Duration) {
	if p.ends(grace) {
		return
	}
	p.tree.terminate()
	if p.ends(termTime) {
		return
	}
	p.tree.kill()
	p.ends(killTime)
}

func (p *process) ends(within time.Duration) bool {
	wait := time.NewTimer(within)
	defer wait.Stop()
	select {
	case <-p.exited:
		return true
	case <-wait.C:
		return false
	}
}
