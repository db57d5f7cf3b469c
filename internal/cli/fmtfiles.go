package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// Bounds of one run of fmt.
const (
	maxFmtFiles   = 4096
	maxFmtEntries = 200_000 // files and directories that -recursive looks at
)

// fmtFile is a file to be formatted. It is reached beneath dir only, whatever links there are.
type fmtFile struct {
	dir   string
	name  string // with slashes
	shown string
}

// fmtList finds the files that the arguments stand for, each once. What cannot be looked at is in the diagnostics.
func (a *app) fmtList(ctx context.Context, args []string, recursive bool) ([]fmtFile, diag.List, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var (
		files []fmtFile
		diags diag.List
		seen  = map[string]bool{}
	)
	add := func(dir, name string) {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if !seen[full] {
			seen[full] = true
			files = append(files, fmtFile{dir: dir, name: name, shown: filepath.ToSlash(a.short(full))})
		}
	}
	entries := 0
	for _, arg := range args {
		full := a.path(arg)
		info, err := os.Stat(full)
		switch {
		case err != nil:
			diags = append(diags, unreadable(a.short(full), err))
			continue
		case !info.IsDir():
			add(filepath.Dir(full), filepath.Base(full))
			continue
		}
		found := false
		err = walkCatalogs(full, recursive, func(name string, isFile bool) error {
			if entries++; entries > maxFmtEntries {
				return fmt.Errorf("more than %d files and directories are beneath it; name those to be formatted", maxFmtEntries)
			}
			if isFile {
				found = true
				add(full, name)
			}
			return ctx.Err()
		})
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil:
			diags = append(diags, unreadable(a.short(full), err))
		case !found && !recursive:
			diags = append(diags, diag.Errorf("catalog.none", "No catalog file",
				"%s has no catalog.hcl, no file whose name ends in .catalog.hcl, and no file of values. Name the directory or the file, or look into its directories with -recursive.", diag.Escape(a.short(full))))
		case !found:
			diags = append(diags, diag.Errorf("catalog.none", "No catalog file", "There is no catalog file in or beneath %s. Name the directory or the file.", diag.Escape(a.short(full))))
		}
	}
	if len(files) > maxFmtFiles {
		return nil, nil, fail(exitFailed, diag.Errorf("catalog.limit", "Too many catalog files", "%d files would be formatted; at most %d are at a time. Nothing was written.", len(files), maxFmtFiles))
	}
	return files, diags, nil
}

// walkCatalogs calls visit for the entries of a directory and, if recursive, of those beneath that are neither hidden nor
// links.
func walkCatalogs(dir string, recursive bool, visit func(name string, isFile bool) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read through
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir():
			if !recursive || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return visit(name, false)
		}
		return visit(name, catalog.IsFile(d.Name()))
	})
}

func unreadable(shown string, err error) diag.Diagnostic {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	shown = diag.Escape(filepath.ToSlash(shown))
	return diag.Errorf("catalog.read", "Catalog file cannot be read", "%s: %s.", shown, diag.Escape(err.Error())).At(diag.Range{File: shown})
}

// format formats one file, and writes it if that is asked for.
func (x fmtFile) format(f fmtFlags) (view.FormattedFile, diag.List) {
	failed := view.FormattedFile{File: x.shown, State: view.FileFailed}
	root, err := os.OpenRoot(x.dir)
	if err != nil {
		return failed, diag.List{unreadable(x.shown, err)}
	}
	defer root.Close() //nolint:errcheck // files are closed by themselves
	src, err := readIn(root, x.name)
	if err != nil {
		return failed, diag.List{unreadable(x.shown, err)}
	}
	file, text, diags := formatText(x.shown, src, f)
	if file.State != view.FileChanged || !f.write {
		return file, diags
	}
	if err := replaceIn(root, x.name, src, text); err != nil {
		failed.Diff = file.Diff
		return failed, append(diags, diag.Errorf("fmt.not_written", "File was not written", "%s: %s. It is as it was.", diag.Escape(x.shown), diag.Escape(err.Error())).At(diag.Range{File: diag.Escape(x.shown)}))
	}
	file.State = view.FileWritten
	return file, diags
}

// readIn reads a regular file beneath root, at most catalog.MaxFileBytes of it.
func readIn(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name) // opening a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, catalog.MaxFileBytes+1))
	if err == nil && len(b) > catalog.MaxFileBytes {
		err = fmt.Errorf("it is larger than %d bytes", catalog.MaxFileBytes)
	}
	return b, err
}

// replaceIn puts text in the place of the file's content, whole or not at all, with the file's mode and owner. It refuses
// if the file is a link, may not be written, or does not hold src any more.
func replaceIn(root *os.Root, name string, src, text []byte) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := root.Readlink(name)
		if err != nil {
			return err
		}
		return fmt.Errorf("it is a link to %s; name that file", target)
	}
	// A rename asks for the rights of the directory alone.
	f, err := root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	temporary := path.Join(path.Dir(name), ".mcpcat-"+rand.Text())
	f, err = root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, keepOwner(f, info), f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
	if err == nil {
		var now []byte
		switch now, err = readIn(root, name); {
		case err == nil && !bytes.Equal(now, src):
			err = errors.New("it was changed in the meantime; try again")
		case err == nil:
			err = root.Rename(temporary, name)
		}
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}
