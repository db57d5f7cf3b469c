package cli

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/importer"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// skeleton is the catalog that init writes.
//
//go:embed skeleton.hcl
var skeleton []byte

// catalogFile is the file that init writes.
const catalogFile = "catalog.hcl"

// ignored are the lines that a catalog directory has in .gitignore: working files of mcpcat, and saved plans.
var ignored = []string{".mcpcat/", "*.mcpplan"}

type initFlags struct {
	from       string
	git, force bool
}

func (a *app) initCommand() *cli.Command {
	var f initFlags
	return &cli.Command{
		Name:  "init",
		Usage: "start a catalog in this directory, offline",
		Description: "Writes catalog.hcl from a short skeleton, and to .gitignore what is not to be committed. -from takes the catalog from a\n" +
			"file: one in HCL is copied, the config of an agent program is imported. What is there already is left as it is, so it\n" +
			"may be run again. No other command needs it.",
		Flags: concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "take the catalog from `FILE`, a catalog file or the config of an agent program", OnlyOnce: true, Destination: &f.from},
			&cli.BoolFlag{Name: "git", Usage: "tell git what the lock file and its mirror are, in .gitattributes and, for programs that git runs, in the repository's config", OnlyOnce: true, Destination: &f.git},
			&cli.BoolFlag{Name: "force", Usage: "replace catalog.hcl if it is there", OnlyOnce: true, Destination: &f.force},
		}, a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "init"
			if err := noArgs(c); err != nil {
				return err
			}
			return a.init(ctx, f)
		},
	}
}

// init looks at everything first, so that nothing is written if something is in the way.
func (a *app) init(ctx context.Context, f initFlags) error {
	root, err := os.OpenRoot(a.dir())
	if err != nil {
		return a.initFailed(a.dir(), err)
	}
	defer root.Close() //nolint:errcheck // files are closed by themselves
	start, err := a.initSource(f.from)
	if err != nil {
		return err
	}
	edits := make([]edit, 0, 3)
	first, err := a.initCatalog(root, start.text, f)
	if err != nil {
		return err
	}
	edits = append(edits, first)
	cat, warnings, err := a.initLoad(first, f)
	if err != nil {
		return err
	}
	next, err := a.lineEdit(root, ".gitignore", func(old []byte) []byte { return withLines(old, ignored) })
	if err != nil {
		return err
	}
	edits = append(edits, next)
	var drivers gitDrivers
	if f.git {
		drivers = driversOf(a.has)
		next, err := a.lineEdit(root, ".gitattributes", func(old []byte) []byte { return withAttributes(old, drivers.attributes(cat.Lock, cat.Mirror)) })
		if err != nil {
			return err
		}
		edits = append(edits, next)
	}
	doc := view.Initialised{Files: []view.InitialisedFile{}, GitConfig: []view.GitSetting{}, Variables: []importer.Variable{}, Environment: []string{}}
	if r := start.imported; r != nil && first.state != view.InitUnchanged {
		doc.Variables, doc.Environment = append(doc.Variables, r.Variables...), append(doc.Environment, r.Environment...)
		warnings = append(start.remarks, warnings...)
	}
	for _, e := range edits {
		if err := e.write(root); err != nil {
			return a.initFailed(e.shown, err)
		}
		doc.Files = append(doc.Files, view.InitialisedFile{File: e.shown, State: e.state})
	}
	if doc.GitConfig, err = drivers.configure(ctx, a.dir()); err != nil {
		return err
	}
	if a.flags.json {
		return view.Envelope(a.out, a.kind, warnings, doc)
	}
	a.warn(warnings)
	return doc.Text(a.out)
}

// initStart is the text of a catalog, and what an import said if it is of one.
type initStart struct {
	text     []byte
	imported *importer.Result
	remarks  diag.List
}

// initSource returns the catalog to start with: the skeleton, a copy, or the skeleton's settings with imported servers.
func (a *app) initSource(from string) (initStart, error) {
	if from == "" {
		return initStart{text: skeleton}, nil
	}
	src, err := a.input(from, importer.MaxBytes)
	if err != nil {
		return initStart{}, err
	}
	if importer.IsJSON(src) {
		r, remarks, err := a.importText(src, from, importer.Auto)
		if err != nil {
			return initStart{}, err
		}
		settings, _, _ := bytes.Cut(skeleton, []byte("\n}\n"))
		return initStart{text: slices.Concat(settings, []byte("\n}\n\n"), r.Text), imported: r, remarks: remarks}, nil
	}
	if _, list := catalog.Format(from, src); list.HasErrors() {
		return initStart{}, &exitError{code: exitFailed, diags: list}
	}
	return initStart{text: src}, nil
}

// initCatalog says what becomes of catalog.hcl.
func (a *app) initCatalog(root *os.Root, text []byte, f initFlags) (edit, error) {
	e := edit{name: catalogFile, shown: filepath.ToSlash(a.short(filepath.Join(a.dir(), catalogFile))), text: text, state: view.InitCreated}
	if err := absentIn(root, catalogFile); err == nil {
		return e, nil
	} else if !errors.Is(err, fs.ErrExist) {
		return e, a.initFailed(e.shown, err)
	}
	old, err := readIn(root, catalogFile)
	switch {
	case err != nil:
		return e, a.initFailed(e.shown, err)
	case bytes.Equal(old, text), f.from == "" && !f.force:
		e.old, e.text, e.state = old, old, view.InitUnchanged
	case !f.force:
		return e, fail(exitFailed, diag.Errorf("init.exists", "Catalog exists already", "%s exists and is not what -from=%s would give. Nothing was written. Replace it with -force, or make another file of a client config with mcpcat import.",
			diag.Escape(e.shown), diag.Escape(f.from)))
	default:
		e.old, e.state = old, view.InitReplaced
	}
	return e, nil
}

// initLoad checks that what is to be written loads, together with what is there. Of a copied catalog only variables without a
// value may be missing, which is a warning. Where a catalog is left as it is, only -git asks what it says.
func (a *app) initLoad(e edit, f initFlags) (*catalog.Catalog, diag.List, error) {
	if e.state == view.InitUnchanged && !f.git {
		return nil, nil, nil
	}
	o, err := a.catalogOptions(true)
	if err != nil {
		return nil, nil, err
	}
	o.Unsaved = []catalog.UnsavedFile{{Name: e.name, Text: e.text}}
	cat, list, err := a.readCatalogWith(o)
	var failed *exitError
	if f.git || e.state == view.InitUnchanged || !errors.As(err, &failed) {
		return cat, list, err
	}
	for i, d := range failed.diags {
		if d.Severity == diag.Error && d.Code != "variable.missing" {
			return nil, nil, err
		}
		failed.diags[i].Severity = diag.Warning
	}
	return nil, failed.diags, nil
}

func (a *app) initFailed(shown string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fail(exitFailed, diag.Errorf("init.not_written", "Directory could not be prepared", "%s: %s.", diag.Escape(filepath.ToSlash(shown)), diag.Escape(err.Error())))
}

// edit is what becomes of one file. old is what it holds now, nil if it is not there.
type edit struct {
	name, shown string
	old, text   []byte
	state       string
}

func (e edit) write(root *os.Root) error {
	switch {
	case e.state == view.InitUnchanged:
		return nil
	case e.old == nil:
		return createIn(root, e.name, e.text)
	}
	return replaceIn(root, e.name, e.old, e.text)
}

// lineEdit is the change of a file of lines, which is made if it is not there.
func (a *app) lineEdit(root *os.Root, name string, change func(old []byte) []byte) (edit, error) {
	e := edit{name: name, shown: filepath.ToSlash(a.short(filepath.Join(a.dir(), name))), state: view.InitCreated}
	switch err := absentIn(root, name); {
	case err == nil:
		e.text = change(nil)
		return e, nil
	case !errors.Is(err, fs.ErrExist):
		return e, a.initFailed(e.shown, err)
	}
	old, err := readIn(root, name)
	if err != nil {
		return e, a.initFailed(e.shown, err)
	}
	e.old = append([]byte{}, old...)
	e.text, e.state = change(old), view.InitChanged
	if bytes.Equal(e.text, old) {
		e.state = view.InitUnchanged
	}
	return e, nil
}

// withLines adds lines that a file does not have, at its end and with its line ends.
func withLines(old []byte, want []string) []byte {
	has := map[string]bool{}
	for line := range strings.Lines(string(old)) {
		has[strings.TrimPrefix(strings.TrimRight(line, " \t\r\n"), "/")] = true
	}
	var missing []string
	for _, line := range want {
		if !has[line] {
			missing = append(missing, line)
		}
	}
	return appendLines(old, missing)
}

func appendLines(old []byte, lines []string) []byte {
	if len(lines) == 0 {
		return old
	}
	end := "\n"
	if bytes.Contains(old, []byte("\r\n")) {
		end = "\r\n"
	}
	out := slices.Clone(old)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, end...)
	}
	return append(out, strings.Join(lines, end)+end...)
}

// has reports whether this build has a command, named by its words.
func (a *app) has(words ...string) bool {
	commands := a.root().Commands
	for _, word := range words {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == word })
		if i < 0 {
			return false
		}
		commands = commands[i].Commands
	}
	return true
}
