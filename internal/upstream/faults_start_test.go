//go:build linux

package upstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// TestFaultyCommands starts what cannot be started: each error says so, names the server and the command, and tells the
// ways apart.
func TestFaultyCommands(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := measure(t)
	for _, c := range []struct {
		name, command string
		is            error
	}{
		{"missing", filepath.Join(dir, "missing"), fs.ErrNotExist},
		{"missing in PATH", "mcpcat-no-such-command", exec.ErrNotFound},
		{"in a missing directory", filepath.Join(dir, "gone", "harbour"), fs.ErrNotExist},
		{"below a file", filepath.Join(write("file", "", 0o644), "harbour"), syscall.ENOTDIR},
		{"a directory", filepath.Join(dir, "directory"), syscall.EISDIR},
		{"not executable", write("plain", "#!/bin/sh\n", 0o644), fs.ErrPermission},
		{"no program", write("text", "harbour\n", 0o755), syscall.ENOEXEC},
		{"empty", write("empty", "", 0o755), syscall.ENOEXEC},
		{"without its interpreter", write("script", "#!/no/such/interpreter\n", 0o755), fs.ErrNotExist},
	} {
		s, d := server(t, fmt.Sprintf("  stdio {\n    command = %q\n  }", c.command))
		ctx, cancel := context.WithTimeout(t.Context(), faultTime)
		client, err := d.Connect(ctx, s)
		cancel()
		if err == nil {
			t.Errorf("%s: it started", c.name)
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		var lower *mcp.TransportError
		if !errors.As(err, &lower) || lower.Op != "start" || lower.Delivered || !errors.Is(err, c.is) {
			t.Errorf("%s: got %s, want a *mcp.TransportError of the start that is %q: %v", c.name, seen(err), c.is, err)
		}
		for _, trouble := range troubles(err) {
			t.Errorf("%s: %s: %v", c.name, trouble, err)
		}
	}
	before.compare(t, true)
}
