// Package contact decides which declared servers may be contacted at all.
//
// Starting a command or sending a secret because a file in a pull request says so is how planning itself runs hostile
// code. An endpoint may be contacted only if it equals the one in the lock, if this user accepted it on this machine
// before, if a person says so now, or if the caller was told to contact all. The package approves contact and nothing
// else: what a server then offers is pinned by plan and apply. It stands on the edge floor of the drawing, beside cli.
package contact

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// Mode says how far contact may go without a person.
type Mode string

// The modes of the flag -contact.
const (
	All    Mode = "all"    // every declared server
	Locked Mode = "locked" // servers whose endpoint is pinned or was accepted on this machine
	None   Mode = "none"   // nobody
)

// ParseMode reads a mode.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case All, Locked, None:
		return m, nil
	}
	return "", fmt.Errorf("got %q, want all, locked or none", s)
}

// Question is what a person is asked before a first contact. Secrets are names, never values.
type Question struct {
	Server, Transport, Target string
	Why                       string
	Secrets                   []string
}

// Keeper decides for the servers of one catalog. It is not safe for concurrent use: people answer one question at a time.
type Keeper struct {
	Mode Mode
	// Dir is the catalog directory, absolute.
	Dir string
	// Base is the lock whose endpoints count as approved, nil for none.
	Base *lock.Lock
	// State is the directory where acceptances are remembered; empty: nothing is remembered.
	State string
	// Ask puts a question to a person; nil where there is none.
	Ask func(context.Context, Question) (bool, error)
}

// NotApprovedError says why a server may not be contacted.
type NotApprovedError struct{ Server, Reason string }

func (e *NotApprovedError) Error() string { return e.Server + ": " + e.Reason }

// Approve returns nil if the server may be contacted and a *NotApprovedError if not. Other errors come from Ask or from
// the file of acceptances, and mean no.
func (k *Keeper) Approve(ctx context.Context, s *catalog.Server) error {
	name := s.Addr.String()
	switch k.Mode {
	case All:
		return nil
	case None:
		return &NotApprovedError{name, "not contacted, because of -contact=none"}
	case Locked:
	default:
		return &NotApprovedError{name, fmt.Sprintf("unknown contact mode %q", k.Mode)}
	}

	why := k.locked(s)
	if why == "" {
		return nil
	}
	mem, err := loadMemory(k.State, k.Dir)
	if err != nil {
		return err
	}
	if mem.has(s.EndpointDigest()) {
		return nil
	}
	if k.Ask == nil {
		return &NotApprovedError{name, why}
	}
	transport := "http"
	if s.Stdio != nil {
		transport = "stdio"
	}
	yes, err := k.Ask(ctx, Question{Server: name, Transport: transport, Target: s.EndpointText(), Why: why, Secrets: s.SecretRefs()})
	if err != nil {
		return err
	}
	if !yes {
		return &NotApprovedError{name, "contact was declined"}
	}
	return mem.add(s.EndpointDigest())
}

// locked returns why the lock does not vouch for the endpoint, empty if it does.
func (k *Keeper) locked(s *catalog.Server) string {
	if k.Base == nil {
		return "its endpoint is not approved: nothing is locked yet"
	}
	pinned := k.Base.ServerByAddr(s.Addr)
	if pinned == nil {
		return "its endpoint is not approved: the server is not in the lock"
	}
	if pinned.EndpointDigest != s.EndpointDigest() {
		return "its endpoint is not approved: it differs from the one in the lock"
	}
	if s.Stdio != nil {
		if file := k.inCheckout(s.Stdio); file != "" {
			return fmt.Sprintf("its endpoint is not approved: it runs %q from the checkout, whose content the lock does not pin", file)
		}
	}
	return ""
}

// inCheckout returns the first part of the command line that runs a file below the checkout, empty if there is none. A
// pull request can change such a file without changing the endpoint.
//
// The command itself counts always. An argument that names a file counts if the command is an interpreter, or if the
// file is a program by its mode, its name or its first bytes; other files are data of a program outside the checkout.
func (k *Keeper) inCheckout(c *catalog.Stdio) string {
	root := checkout(k.Dir)
	command := c.Command
	if !strings.ContainsRune(command, '/') {
		path, err := exec.LookPath(command)
		if err != nil {
			return ""
		}
		command = path
	}
	if k.below(root, command) {
		return c.Command
	}
	runsFiles := interpreter(c.Command) || interpreter(resolved(k.resolve(command)))
	for _, arg := range c.Args {
		for _, candidate := range []string{arg, afterEquals(arg)} {
			if candidate == "" || !k.below(root, candidate) {
				continue
			}
			path := k.resolve(candidate)
			info, err := os.Stat(path)
			if err != nil || info.IsDir() {
				continue
			}
			if runsFiles || info.Mode()&0o111 != 0 || program(path) {
				return arg
			}
		}
	}
	return ""
}

// interpreters run the file that an argument names. Versions are cut off before the look-up: python3.12 is python.
var interpreters = map[string]bool{
	"ash": true, "bash": true, "bun": true, "bunx": true, "cmd": true, "csh": true, "dash": true, "deno": true, "dotnet": true, "env": true, "fish": true,
	"go": true, "java": true, "ksh": true, "lua": true, "make": true, "node": true, "nodejs": true, "npm": true, "npx": true, "perl": true, "php": true, "pipx": true,
	"pnpm": true, "powershell": true, "pwsh": true, "pypy": true, "python": true, "pythonw": true, "ruby": true, "sh": true, "sudo": true, "tsx": true, "uv": true,
	"uvx": true, "wasmtime": true, "xargs": true, "yarn": true, "zsh": true,
}

func interpreter(command string) bool {
	name := strings.ToLower(filepath.Base(command))
	name = strings.TrimSuffix(name, ".exe")
	return interpreters[strings.TrimRight(name, "0123456789.-")]
}

// suffixes of files that are run.
var suffixes = map[string]bool{
	".bash": true, ".bat": true, ".cjs": true, ".cmd": true, ".dll": true, ".exe": true, ".go": true, ".jar": true, ".js": true, ".lua": true, ".mjs": true, ".mts": true,
	".php": true, ".pl": true, ".ps1": true, ".py": true, ".pyz": true, ".rb": true, ".sh": true, ".so": true, ".ts": true, ".tsx": true, ".wasm": true, ".zsh": true,
}

// program reports whether a file is a script or a program by its name or its first bytes. One that cannot be read
// counts as one.
func program(path string) bool {
	if suffixes[strings.ToLower(filepath.Ext(path))] {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	head := make([]byte, 4)
	n, err := io.ReadFull(f, head)
	if closeErr := f.Close(); closeErr != nil || err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return true
	}
	head = head[:n]
	return bytes.HasPrefix(head, []byte("#!")) || bytes.HasPrefix(head, []byte("\x7fELF")) || bytes.HasPrefix(head, []byte("MZ"))
}

func afterEquals(arg string) string {
	if strings.HasPrefix(arg, "-") {
		if _, v, ok := strings.Cut(arg, "="); ok {
			return v
		}
	}
	return ""
}

func (k *Keeper) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(k.Dir, path)
}

// below reports whether a path, links resolved, lies in root.
func (k *Keeper) below(root, path string) bool {
	path = resolved(k.resolve(path))
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// checkout is the nearest directory above dir that holds a .git entry, or dir itself.
func checkout(dir string) string {
	dir = resolved(dir)
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

func resolved(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return filepath.Clean(path)
}
