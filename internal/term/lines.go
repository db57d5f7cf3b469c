package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"golang.org/x/term"
)

// Why Lines has no line to give.
var (
	ErrInterruptKey = errors.New("interrupt key")
	ErrLineTooLong  = fmt.Errorf("the line has %d characters or more, and what was typed behind them is lost", maxTyped)
)

// maxTyped is how long a line may be, in characters: the editor drops what is typed beyond it, and a line that was cut may
// mean something else.
const maxTyped = 4096

// Lines reads lines that a person types at the terminal, with editing keys and a history of the last hundred. From
// NewLines to Close the terminal hands over every key as it is typed, also what is typed ahead of a question; what is
// written to it is shown as usual.
type Lines struct {
	in     int // file descriptors; out is for the size, -1 if unknown
	out    int
	before *term.State
	editor *term.Terminal
	keys   *keys
}

// NewLines returns a reader that prints prompt on standard error. The error is ErrNotInteractive where there is no person.
// The caller closes it.
func (p *Process) NewLines(prompt string) (*Lines, error) {
	in, ok := p.Stdin.(*os.File)
	if !ok || !p.Interactive() {
		return nil, ErrNotInteractive
	}
	l := &Lines{in: int(in.Fd()), out: -1, keys: &keys{r: in}}
	if f, ok := p.Stderr.(*os.File); ok {
		l.out = int(f.Fd())
	}
	var err error
	if l.before, err = term.MakeRaw(l.in); err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	if err := processOutput(l.in); err != nil {
		return nil, errors.Join(fmt.Errorf("terminal: %w", err), l.Close())
	}
	l.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{l.keys, p.Stderr}, prompt)
	return l, nil
}

// Close puts the terminal back into the mode that it was in.
func (l *Lines) Close() error {
	if err := term.Restore(l.in, l.before); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

// Read returns the next line without its end. The error is io.EOF at the end of the input (Ctrl-D), ErrInterruptKey,
// ErrLineTooLong, or ctx's error; after ctx's error no further line can be read.
func (l *Lines) Read(ctx context.Context) (string, error) {
	if l.out >= 0 {
		if w, h, err := term.GetSize(l.out); err == nil && w > 0 {
			_ = l.editor.SetSize(w, h) // without a size it keeps the one before
		}
	}
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	// A read from a terminal cannot be interrupted; on an interrupt the process ends, and the goroutine with it.
	go func() {
		line, err := l.editor.ReadLine()
		if err == io.EOF && l.keys.interrupted {
			err = ErrInterruptKey
		}
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		if r.err == nil && utf8.RuneCountInString(r.line) >= maxTyped {
			return "", ErrLineTooLong
		}
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// keys remembers whether the interrupt key was among the bytes read, which the editor takes for the end of the input.
type keys struct {
	r           io.Reader
	interrupted bool
}

func (k *keys) Read(b []byte) (int, error) {
	n, err := k.r.Read(b)
	k.interrupted = k.interrupted || bytes.IndexByte(b[:n], 3) >= 0
	return n, err
}
