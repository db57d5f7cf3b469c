package transport

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/procs"
)

// The times of an end, in this order. A server that ends by itself when its stdin is closed meets none of them, and Close
// then returns as soon as it is gone; one that does nothing is gone after DefaultGrace and termTime. What keeps the
// connection's goroutines, its pipes for example, is given up after settle.
const (
	// DefaultGrace is how long a server gets to end by itself after its stdin was closed. Then all of its tree is sent
	// SIGTERM, where there is such a thing.
	DefaultGrace = 2 * time.Second
	// termTime is how long the server has to end then. After that all of its tree is killed.
	termTime = time.Second
	// killTime is how long the end of a killed server is waited for. A process in an uninterruptible wait of the kernel
	// may not be gone after it; it is left to end by itself.
	killTime = 2 * time.Second
	// leftTime is how long what a server has left behind gets after SIGTERM, once the server itself has ended. After that
	// it is killed.
	leftTime = 200 * time.Millisecond
	// sweepTime bounds how long the processes of a tree are killed again because they start new ones.
	sweepTime = time.Second
)

// StdioConfig says which process to start.
type StdioConfig struct {
	// Command is the program: an absolute path, a path with a separator, relative to Dir, or a bare name that is looked
	// up in this process's PATH and never in the current directory. No shell is involved.
	Command string
	Args    []string
	// Env is the whole environment of the child as "NAME=value"; nil is an empty one. On Linux one more variable is
	// added, MCPCAT_PROCESS_TREE with a random value, by which processes are found that have left their parent. In a
	// process that carries it itself the value has the one of that in front.
	Env []string
	// Dir is the working directory, "" the current one.
	Dir string
	// Grace is how long Close waits for the server to end by itself. Zero means DefaultGrace.
	Grace  time.Duration
	Limits Limits
	Redact Redact
	Trace  Trace
	// Notify, if set, is given every notification, after the calls in flight have had it, whether or not there are any.
	// What is said of Call.Notify holds for it; it may still be called while Close runs.
	Notify func(*jsonrpc.Message)
}

// StartStdio starts a server and returns the connection to it. The process outlives ctx, which only guards the start; it
// ends with Close, or when the connection fails. It leads a process group of its own.
//
// When the process ends, so does everything it has started, asked with SIGTERM first:
//
//   - on Linux the processes of its group, its descendants, the sessions they have made, and all that carry its
//     MCPCAT_PROCESS_TREE, also when they have lost their parent;
//   - on Windows all of its job object, which is its whole tree; there is no SIGTERM, they are killed;
//   - on other Unix systems its process group.
//
// These escape: on Linux a process that has left parent, group and session and has changed its environment before it was
// first looked at (the tree is looked at when the connection ends and when the process does), unless this process adopts
// orphans; a process that runs as another user, which may not be signalled; what another program starts on request, such
// as a service manager, a container engine or at. If this process is killed by SIGKILL nobody ends them; servers then read
// the end of their stdin.
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
	return attach(p, c, limits), nil
}

// attach returns the connection over the pipes of a process.
func attach(p *process, c StdioConfig, limits Limits) *Stdio {
	s := newStdio(p.stdout, p.stdin, limits)
	s.redact, s.trace, s.stray = c.Redact, c.Trace, c.Notify
	s.proc, s.stderr, s.errDone = p, &tail{limit: limits.StderrBytes}, make(chan struct{})
	if s.trace != nil {
		s.traceStart(&c)
	}
	s.wg.Go(s.read)
	s.wg.Go(func() {
		defer close(s.errDone)
		s.drainStderr()
	})
	s.wg.Go(func() {
		how := "killed, and has not ended"
		select {
		case <-p.exited:
			how, _ = p.status()
		case <-p.abandoned:
		}
		if s.trace != nil {
			s.traceExit(&c, how)
		}
		// What the process has written is still read. A stranger that holds the pipe open does not hold the calls.
		wait := time.NewTimer(settle)
		defer wait.Stop()
		select {
		case <-s.readDone:
		case <-wait.C:
			_ = p.stdout.Close()
		}
	})
	return s
}

// process is a running child and our ends of its pipes.
type process struct {
	cmd                   *exec.Cmd
	child                 *procs.Child
	stdin, stdout, stderr *os.File
	grace                 time.Duration
	tree                  *tree
	exited                chan struct{} // closed when the process has been reaped and its tree ended
	abandoned             chan struct{} // closed when it did not end although it was killed
}

func start(c StdioConfig) (*process, error) {
	path, err := resolve(c)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", c.Command, err)
	}
	p := &process{grace: c.Grace, exited: make(chan struct{}), abandoned: make(chan struct{})}
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
		err = p.launch(mark)
	}
	if err != nil {
		for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
			if f != nil {
				_ = f.Close()
			}
		}
		return nil, fmt.Errorf("%q: %w", c.Command, explain(p.cmd, err))
	}
	go p.wait() // ends with the process: not within Close if that cannot be ended
	return p, nil
}

// launch starts the command and takes hold of what will be its tree.
func (p *process) launch(mark string) (err error) {
	from := newRoots()
	p.child, err = procs.Start(func() (int, error) {
		if err := p.cmd.Start(); err != nil {
			return 0, err
		}
		return p.cmd.Process.Pid, nil
	})
	if err != nil {
		return err
	}
	if p.tree, err = newTree(p.cmd.Process, p.child, from, mark); err != nil {
		_ = p.cmd.Process.Kill() // it has done nothing yet, and may have ended
		_ = p.child.Wait(p.cmd.Wait)
	}
	return err
}

// wait returns when the process has ended, everything it has left behind is killed, and it is reaped.
func (p *process) wait() {
	p.tree.awaitExit()
	_ = p.child.Wait(p.cmd.Wait) // the way it ended is in ProcessState
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

// stop waits for the process to end by itself, then terminates and kills it and its tree. It is called once and returns
// within grace, termTime, sweepTime and killTime together.
func (p *process) stop(grace time.Duration) {
	if p.ends(grace) {
		return
	}
	p.tree.terminate()
	if p.ends(termTime) {
		return
	}
	p.tree.kill()
	if !p.ends(killTime) {
		close(p.abandoned)
	}
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
