package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/importer"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// importedFile is the catalog file that an import writes.
const importedFile = "imported.catalog.hcl"

func (a *app) importCommand() *cli.Command {
	var f struct {
		format importer.Format
		out    string
		dry    bool
	}
	f.format = importer.Auto
	return &cli.Command{
		Name:      "import",
		Usage:     "make a catalog file of the config of an agent program",
		ArgsUsage: "FILE|-",
		Description: "Reads mcpServers (.mcp.json, claude_desktop_config.json, Cursor's mcp.json) or VS Code's servers with inputs, and writes\n" +
			"one block for each server to " + importedFile + ", with nothing pinned. Values in env and headers that may be secrets are\n" +
			"left behind and named. What a catalog cannot say is named, too. Contacts nobody, and never overwrites a file.",
		Flags: concat([]cli.Flag{
			&cli.GenericFlag{Name: "format", Usage: "read the config of `auto|mcp|claude|vscode|cursor`: mcp is .mcp.json, claude the desktop app; auto takes the members of all", Value: (*formatFlag)(&f.format), OnlyOnce: true},
			&cli.StringFlag{Name: "out", Usage: "write to the directory `DIR` instead of the catalog's", OnlyOnce: true, Destination: &f.out},
			&cli.BoolFlag{Name: "dry-run", Usage: "write nothing and print the catalog file", OnlyOnce: true, Destination: &f.dry},
		}, a.varFlags()),
		Action: func(_ context.Context, c *cli.Command) error {
			a.kind = "import"
			if c.Args().Len() != 1 {
				return usage("import takes one file, such as .mcp.json, got %d arguments.", c.Args().Len())
			}
			dir := a.dir()
			if f.out != "" {
				dir = a.path(f.out)
			}
			return a.importFile(c.Args().First(), f.format, dir, f.dry)
		},
	}
}

// formatFlag is a -format of import.
type formatFlag importer.Format

func (f *formatFlag) Set(s string) error {
	v, err := importer.ParseFormat(s)
	if err == nil {
		*f = formatFlag(v)
	}
	return err
}

func (f *formatFlag) Get() any       { return string(*f) }
func (f *formatFlag) String() string { return string(*f) }

func (a *app) importFile(name string, format importer.Format, dir string, dry bool) error {
	r, diags, err := a.importConfig(name, format)
	if err != nil {
		return err
	}
	shown := filepath.ToSlash(a.short(filepath.Join(dir, importedFile)))
	root, err := os.OpenRoot(dir)
	if err != nil {
		return a.notWritten(shown, err)
	}
	defer root.Close() //nolint:errcheck // files are closed by themselves
	if err := absentIn(root, importedFile); err != nil {
		return a.importExists(shown, err)
	}
	if err := a.checkUnsaved(dir, catalog.UnsavedFile{Name: importedFile, Text: r.Text}); err != nil {
		return err
	}
	if !dry {
		if err := createIn(root, importedFile, r.Text); err != nil {
			return a.notWritten(shown, err)
		}
	}
	doc := view.NewImported(r, shown, !dry)
	if a.flags.json {
		return view.Envelope(a.out, a.kind, diags, doc)
	}
	a.warn(diags)
	return doc.Text(a.out)
}

// importConfig reads a client config.
func (a *app) importConfig(name string, format importer.Format) (*importer.Result, diag.List, error) {
	src, err := a.input(name, importer.MaxBytes)
	if err != nil {
		return nil, nil, err
	}
	return a.importText(src, name, format)
}

// importText is importConfig for a file that was read.
func (a *app) importText(src []byte, name string, format importer.Format) (*importer.Result, diag.List, error) {
	home, ok := a.Lookup("HOME")
	if !ok {
		home, _ = a.Lookup("USERPROFILE")
	}
	if name == "-" {
		name = standardInput
	}
	r, diags := importer.Import(src, importer.Options{Name: name, Format: format, Home: home})
	if r == nil {
		return nil, nil, &exitError{code: exitFailed, diags: diags}
	}
	return r, diags, nil
}

// checkUnsaved loads the catalog of dir together with a file that is to be written there. What is declared in both is an error
// that names both places.
func (a *app) checkUnsaved(dir string, file catalog.UnsavedFile) error {
	o, err := a.catalogOptions(true)
	if err != nil {
		return err
	}
	o.Dir, o.Unsaved = dir, []catalog.UnsavedFile{file}
	_, _, err = a.readCatalogWith(o)
	var e *exitError
	if errors.As(err, &e) {
		e.diags = append(e.diags, diag.Errorf("import.not_written", "Nothing was written", "%s would not load beside the catalog files of %s, as told above. Rename a server in one of the two, or write to another directory with -out=DIR.",
			file.Name, diag.Escape(filepath.ToSlash(a.short(dir)))))
	}
	return err
}

func (a *app) importExists(shown string, err error) error {
	if !errors.Is(err, fs.ErrExist) {
		return a.notWritten(shown, err)
	}
	return fail(exitFailed, diag.Errorf("import.exists", "File exists already",
		"%s exists, and an import overwrites nothing. Give the file the name of what it is for, such as team.catalog.hcl, or write to another directory with -out=DIR.", diag.Escape(shown)))
}

func (a *app) notWritten(shown string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fail(exitFailed, diag.Errorf("import.not_written", "Nothing was written", "%s: %s.", diag.Escape(shown), diag.Escape(err.Error())))
}

// absentIn returns fs.ErrExist if there is something called name beneath root, be it a link to nothing.
func absentIn(root *os.Root, name string) error {
	switch _, err := root.Lstat(name); {
	case err == nil:
		return fs.ErrExist
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// createIn writes a new file beneath root, whole or not at all. The error is fs.ErrExist if there is one of that name.
func createIn(root *os.Root, name string, text []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%w", errors.Join(err, root.Remove(name)))
	}
	return nil
}
