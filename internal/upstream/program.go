package upstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/transport"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// maxPinnedBytes bounds a file whose digest is taken before a command starts.
const maxPinnedBytes = 1 << 30

// ContentError says that a file is not what sha256 or files of a stdio block say, so that the command was not started.
type ContentError struct {
	Attribute string          // "sha256" or "files"
	Path      string          // as the catalog writes it
	Got       digest.Digest   // of its content
	Want      []digest.Digest // one of these
}

func (e *ContentError) Error() string {
	want := make([]string, len(e.Want))
	for i, d := range e.Want {
		want[i] = d.String()
	}
	return fmt.Sprintf("%q has the digest %s, and %s wants %s: it was not started. If it was changed on purpose, put the new digest there, then plan and apply",
		e.Path, e.Got, e.Attribute, strings.Join(want, " or "))
}

// checkProgram checks the directory that a command starts in, and what is pinned of the program and of further files. The
// error is a *ContentError, or what keeps one of them from being looked at.
func (d Dialer) checkProgram(ctx context.Context, c *catalog.Stdio) error {
	if err := d.checkWorkdir(c); err != nil {
		return err
	}
	if len(c.SHA256) > 0 {
		path, err := transport.Program(transport.StdioConfig{Command: d.Command(c), Dir: d.Dir})
		if err != nil {
			return errors.Unwrap(err)
		}
		if err := checkContent(ctx, "sha256", c.Command, path, c.SHA256); err != nil {
			return err
		}
	}
	for _, f := range c.Files {
		path := f.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(d.Dir, filepath.FromSlash(path))
		}
		if err := checkContent(ctx, "files", f.Path, path, []digest.Digest{f.Digest}); err != nil {
			return err
		}
	}
	return nil
}

// workdir is the directory that a command starts in.
func (d Dialer) workdir(c *catalog.Stdio) string {
	if c.Workdir == "" || filepath.IsAbs(c.Workdir) {
		if c.Workdir == "" {
			return d.Dir
		}
		return c.Workdir
	}
	return filepath.Join(d.Dir, filepath.FromSlash(c.Workdir))
}

func (d Dialer) checkWorkdir(c *catalog.Stdio) error {
	if c.Workdir == "" {
		return nil
	}
	fault := func(err error) error { return fmt.Errorf("workdir %q: %w", c.Workdir, bare(err)) }
	path, err := filepath.EvalSymlinks(d.workdir(c))
	if err != nil {
		return fault(err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fault(err)
	case !info.IsDir():
		return fault(syscall.ENOTDIR)
	case filepath.IsAbs(c.Workdir):
		return nil
	}
	root, err := filepath.EvalSymlinks(d.Dir)
	if err != nil {
		return fault(err)
	}
	if rel, err := filepath.Rel(root, path); err != nil || !filepath.IsLocal(rel) {
		return fault(errors.New("a link on the way leads out of the catalog directory; an absolute path may lie anywhere"))
	}
	return nil
}

// bare is an error of the system without the path, which the caller names.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// checkContent reads the file once and compares its digest. Links are followed: what counts is what is at their end.
func checkContent(ctx context.Context, attribute, written, path string, want []digest.Digest) error {
	got, err := contentOf(ctx, path)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%q, of which %s wants a digest: %w", written, attribute, bare(err))
	}
	if !slices.Contains(want, got) {
		return &ContentError{Attribute: attribute, Path: written, Got: got, Want: want}
	}
	return nil
}

func contentOf(ctx context.Context, path string) (digest.Digest, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe would wait for a writer
	if err != nil {
		return digest.Digest{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return digest.Digest{}, err
	case !info.Mode().IsRegular():
		return digest.Digest{}, errors.New("not a regular file")
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(reader{ctx, f}, maxPinnedBytes+1))
	switch {
	case err != nil:
		return digest.Digest{}, err
	case n > maxPinnedBytes:
		return digest.Digest{}, fmt.Errorf("more than %d bytes", maxPinnedBytes)
	}
	return digest.Digest(h.Sum(nil)), nil
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// notStarted is an error about a command that was not started.
func notStarted(s *catalog.Server, err error) error {
	return &mcp.ServerError{Server: s.Addr.String(), Err: &mcp.TransportError{Method: "connect", Op: "start", Err: err}}
}
