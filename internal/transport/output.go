package transport

import (
	"bytes"
	"context"
	"io"
	"os"
	"time"
)

// Output runs a program to its end, with an empty standard input, and returns what it has written to its standard output, at
// most limit bytes. When it returns, the program and all that it has started have ended, as far as StartStdio says.
//
// Of c the fields Grace, Redact and Notify are not used; of its Limits StderrBytes and ExcerptBytes are. Redact, which may be
// nil, is given the output and returns what takes out of the standard error what nobody may read.
//
// The error is ctx's, or an *Error: with Op "start"; with Op "exit" and an *ExitError if the program ends with another status
// than 0; with Op "receive" and a *LimitError.
func Output(ctx context.Context, c StdioConfig, limit int, redact func(output []byte) Redact) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limits := c.Limits.withDefaults()
	p, err := start(c)
	if err != nil {
		return nil, &Error{Op: "start", Err: err}
	}
	_ = p.stdin.Close()
	var (
		stderr  = &tail{limit: limits.StderrBytes}
		out     bytes.Buffer
		outDone = make(chan struct{})
		errDone = make(chan struct{})
		tooLong = make(chan struct{})
	)
	go func() {
		defer close(outDone)
		n, _ := io.CopyN(&out, p.stdout, int64(limit)+1) // ends when the stream does or is closed
		if n > int64(limit) {
			close(tooLong)
		}
	}()
	go func() {
		defer close(errDone)
		_, _ = io.Copy(stderr, p.stderr) // likewise
	}()

	select {
	case <-p.exited:
	case <-ctx.Done():
		err = ctx.Err()
	case <-tooLong:
		err = outputLimit(limit)
	}
	if err != nil {
		p.stop(0)
	}
	// A stranger that holds the pipes open does not hold the caller.
	wait := time.NewTimer(settle)
	defer wait.Stop()
	for _, s := range []struct {
		done chan struct{}
		ours *os.File
	}{{outDone, p.stdout}, {errDone, p.stderr}} {
		select {
		case <-s.done:
		case <-wait.C:
			wait.Reset(0) // once, for both
		}
		_ = s.ours.Close()
		<-s.done
	}
	status, code := p.status()
	switch {
	case err != nil:
		return nil, err
	case out.Len() > limit: // it has ended as well
		return nil, outputLimit(limit)
	case code == 0:
		return out.Bytes(), nil
	}
	failed := &Error{Op: "exit", Err: &ExitError{Status: status, Code: code}}
	said, whole := stderr.end()
	if redact != nil {
		said = redact(out.Bytes()).of(said)
		if !whole { // the rest of the first line may hold the end of a secret
			_, said, _ = bytes.Cut(said, []byte("\n"))
		}
	}
	failed.Stderr = excerptEnd(bytes.TrimSpace(said), limits.ExcerptBytes)
	return nil, failed
}

func outputLimit(limit int) error {
	return &Error{Op: "receive", Err: &LimitError{What: "standard output", Limit: int64(limit), Unit: "bytes"}}
}
