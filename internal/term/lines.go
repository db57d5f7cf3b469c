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

// Lines reads lines that a person types at the terminal, with editing keys and a history of the last hundred. Between two
// reads the terminal is in its usual mode, so other output needs no care.
type Lines struct {
	in     *os.File
	editor *term.Terminal
	keys   *keys
	out    int // file descriptor for the size, -1 if unknown
}

// NewLines returns a reader that prints prompt on standard error. The error is ErrNotInteractive where there is no person.
func (p *Process) NewLines(prompt string) (*Lines, error) {
	in, ok := p.Stdin.(*os.File)
	if !ok || !p.Interactive() {
		return nil, ErrNotInteractive
	}
	l := &Lines{in: in, keys: &keys{r: in}, out: -1}
	if f, ok := p.Stderr.(*os.File); ok {
		l.out = int(f.Fd())
	}
	l.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{l.keys, p.Stderr}, prompt)
	return l, nil
}

// Read returns the next line without its end. The error is io.EOF at the end of the input (Ctrl-D), ErrInterruptKey,
// ErrLineTooLong, or ctx's error; after ctx's error no further line can be read.
func (l *Lines) Read(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	before, err := term.MakeRaw(int(l.in.Fd()))
	if err != nil {
		return "", fmt.Errorf("terminal: %w", err)
	}
	restore := func() error { return term.Restore(int(l.in.Fd()), before) }
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
		if err := restore(); err != nil {
			return "", fmt.Errorf("terminal: %w", err)
		}
		if r.err == nil && utf8.RuneCountInString(r.line) >= maxTyped {
			return "", ErrLineTooLong
		}
		return r.line, r.err
	case <-ctx.Done():
		_ = restore() // the process ends, with ctx's error
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
