// Package term is the door to the process: standard streams, terminal, environment, directories, signals, and the
// processes that it leaves behind.
//
// cmd/mcpcat calls Run, which makes one Process and hands it to internal/cli; nothing else in the module touches os.Stdin,
// os.Stdout, os.Stderr, the environment or signals. It decides nothing about mcpcat. See docs/architecture.md, row
// "process".
package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// ExitInterrupted is the exit status after an interrupt.
const ExitInterrupted = 130

// Process is everything of the process that a command may touch. Tests fill it by hand.
type Process struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdinTerminal, StdoutTerminal and StderrTerminal say which stream is a terminal.
	StdinTerminal, StdoutTerminal, StderrTerminal bool
	// Width is the number of columns of the terminal on Stdout, 0 where it is none.
	Width int
	// Lookup reads one environment variable.
	Lookup func(name string) (string, bool)
	// Environ lists the environment as NAME=value, to find names that are misspelt; nil for tests without one.
	Environ func() []string
	// Dir is the working directory, absolute.
	Dir string
	// State is the directory for what mcpcat remembers on this machine, absolute. It is outside any checkout and may
	// not exist yet. Empty: the user has none.
	State string
	// Executable is the path of the running binary, for messages and generated snippets.
	Executable string
}

// Current returns the running process.
func Current() (*Process, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	// net/http logs bytes that a server pushes onto an idle connection through package log. They are neither cut nor
	// ours to print.
	log.SetOutput(io.Discard)
	p := &Process{
		Stdin:          os.Stdin,
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Lookup:         os.LookupEnv,
		Environ:        os.Environ,
		Dir:            dir,
	}
	if p.StdoutTerminal {
		if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			p.Width = w
		}
	}
	p.State = stateDir(p.Lookup)
	if exe, err := os.Executable(); err == nil {
		p.Executable = exe
	}
	return p, nil
}

// stateDir follows the XDG Base Directory Specification (XDG_STATE_HOME) on Unix systems other than macOS and the
// platform's own place elsewhere.
func stateDir(lookup func(string) (string, bool)) string {
	if dir, ok := lookup("XDG_STATE_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcpcat")
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	switch runtime.GOOS {
	case "windows":
		if dir, ok := lookup("LocalAppData"); ok && filepath.IsAbs(dir) {
			return filepath.Join(dir, "mcpcat")
		}
		return filepath.Join(home, "AppData", "Local", "mcpcat")
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "mcpcat")
	default:
		return filepath.Join(home, ".local", "state", "mcpcat")
	}
}

// Interactive reports whether a person can be asked: standard input and standard error are both terminals.
func (p *Process) Interactive() bool { return p.StdinTerminal && p.StderrTerminal }

// Color says whether text for a stream may carry colour. NO_COLOR (set and not empty) and TERM=dumb turn it off,
// CLICOLOR_FORCE=1 turns it on where off did not; otherwise it follows the terminal.
func (p *Process) Color(terminal, off bool) bool {
	if v, ok := p.Lookup("NO_COLOR"); off || (ok && v != "") {
		return false
	}
	if v, ok := p.Lookup("CLICOLOR_FORCE"); ok && v == "1" {
		return true
	}
	if v, ok := p.Lookup("TERM"); ok && v == "dumb" {
		return false
	}
	return terminal
}

// ErrNotInteractive says that a question could not be put because no person is at the terminal.
var ErrNotInteractive = errors.New("standard input and standard error are not both a terminal")

// Ask prints a prompt on standard error and reads one line, without its line end. The line is at most 1 KiB long.
// The error is ErrNotInteractive, ctx's error, or io.EOF at the end of the input.
func (p *Process) Ask(ctx context.Context, prompt string) (string, error) {
	if !p.Interactive() {
		return "", ErrNotInteractive
	}
	if _, err := io.WriteString(p.Stderr, prompt); err != nil {
		return "", err
	}
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	// A read from a terminal cannot be interrupted; on an interrupt the process ends, and the goroutine with it.
	go func() {
		line, err := bufio.NewReader(io.LimitReader(p.Stdin, 1024)).ReadString('\n')
		if err == io.EOF && line != "" {
			err = nil
		}
		got <- answer{strings.TrimRight(line, "\r\n"), err}
	}()
	select {
	case a := <-got:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
