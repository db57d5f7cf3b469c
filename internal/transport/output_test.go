//go:build unix

package transport

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shell is a configuration that runs a script.
func shell(script string) StdioConfig {
	return StdioConfig{Command: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH"), "KEY=value"}}
}

func TestOutput(t *testing.T) {
	const limit = 16
	for name, test := range map[string]struct{ script, want string }{
		"output":       {`cat; printf '%s\n' "$KEY"; echo noise >&2`, "value\n"},
		"none":         {`:`, ""},
		"at the limit": {`printf 0123456789abcdef`, "0123456789abcdef"},
	} {
		got, err := Output(t.Context(), shell(test.script), limit, nil)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, test.want)
		}
	}

	hide := func(output []byte) Redact {
		return func(text []byte) []byte {
			return []byte(strings.ReplaceAll(string(text), strings.TrimSpace(string(output)), "(hidden)"))
		}
	}
	got, err := Output(t.Context(), shell(`echo t0ken; echo "no use for t0ken" >&2; exit 7`), limit, hide)
	var e *Error
	var exit *ExitError
	if !errors.As(err, &e) || !errors.As(err, &exit) || exit.Code != 7 || e.Op != "exit" || e.Stderr != "no use for (hidden)" || got != nil {
		t.Errorf("another status: %q, %#v", got, err)
	}
	_, err = Output(t.Context(), shell(`i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done >&2; exit 1`), limit, nil)
	if !errors.As(err, &e) || len(e.Stderr) > defaultExcerpt || !strings.HasSuffix(e.Stderr, "line 19999") {
		t.Errorf("much standard error: %#v", err)
	}

	var over *LimitError
	for _, script := range []string{`printf 0123456789abcdefg`, `while :; do echo y; done`} {
		if got, err := Output(t.Context(), shell(script), limit, nil); !errors.As(err, &over) || over.Limit != limit || got != nil {
			t.Errorf("%s: %q, %v, want a *LimitError", script, got, err)
		}
	}
	if _, err := Output(t.Context(), StdioConfig{Command: filepath.Join(t.TempDir(), "nowhere")}, limit, nil); !errors.As(err, &e) || e.Op != "start" {
		t.Errorf("no program: %v", err)
	}
}

// TestOutputEndsTheTree: neither time nor a helper in the background, which keeps the pipes open, holds the caller, and nothing
// of it is left.
func TestOutputEndsTheTree(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	read := func() (list []int) {
		b, err := os.ReadFile(pids)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, pid)
		}
		return list
	}
	for name, script := range map[string]string{
		"a helper stays":  `sleep 3600 & echo $! > ` + pids + `; echo done`,
		"it does not end": `sleep 3600 & echo $! $$ > ` + pids + `; trap '' TERM; echo done; wait; wait`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		begin := time.Now()
		got, err := Output(ctx, shell(script), 100, nil)
		cancel()
		switch {
		case name == "a helper stays" && (err != nil || string(got) != "done\n"):
			t.Errorf("%s: %q, %v", name, got, err)
		case name != "a helper stays" && !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if took := time.Since(begin); took > time.Second+termTime+sweepTime+killTime {
			t.Errorf("%s: took %v", name, took)
		}
		for _, pid := range read() {
			if alive(pid) {
				t.Errorf("%s: process %d is left", name, pid)
			}
		}
	}
}
