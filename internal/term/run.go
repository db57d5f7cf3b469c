package term

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/procs"
)

// SweepTime is how long what mcpcat has left behind as processes is ended for, at most, when mcpcat ends.
const SweepTime = 2 * time.Second

// Run is the whole of a program: it makes the process, calls main with a context that ends at the first interrupt, and
// returns the exit status.
//
// On Linux the process adopts whatever descends from it and has lost its parent, so that nothing that a server has
// started can leave it: such orphans are reaped while main runs. However the program ends, by the end of main or by a
// second interrupt, all that still descends from it is killed and reaped before, for no longer than SweepTime. A program
// that is killed by SIGKILL, or that crashes, cannot do that.
func Run(main func(ctx context.Context, args []string, p *Process) int) int {
	process, err := Current()
	if err != nil {
		// There is nobody else to tell.
		_, _ = fmt.Fprintln(os.Stderr, "mcpcat:", err)
		return 1
	}
	// Where the kernel refuses, mcpcat runs on like any program that uses the library: servers are ended as far as they
	// can be found.
	orphans, _ := procs.Adopt()
	sweep := func() {
		if orphans != nil {
			orphans.Sweep(SweepTime)
		}
	}
	defer sweep()
	ctx, stop := interruptible(context.Background(), sweep)
	defer stop()
	return main(ctx, os.Args[1:], process)
}

// interruptible returns a context that ends at the first interrupt, termination signal or hang-up, with a cause that
// Interrupted recognises. A second signal ends the process with ExitInterrupted as soon as last has returned. The returned
// function stops listening.
func interruptible(parent context.Context, last func()) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	// A reader of our output that goes away makes the next write fail, and mcpcat ends in order. Otherwise it would end
	// where it stands. Nobody reads this channel: whose pipe it was cannot be told.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for first := true; ; first = false {
			select {
			case <-signals:
				if !first {
					last()
					os.Exit(ExitInterrupted)
				}
				cancel(errInterrupted)
			case <-done:
				return
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(pipe)
		close(done)
		wg.Wait()
		cancel(context.Canceled)
	}
}

var errInterrupted = errors.New("interrupted")

// Interrupted reports whether ctx ended because of a signal.
func Interrupted(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errInterrupted) }
