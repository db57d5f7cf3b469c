package cli

import (
	"bytes"
	"context"
	"strings"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// standardInput is what messages call the text of fmt -.
const standardInput = "<stdin>"

type fmtFlags struct {
	check, diff, write, recursive bool
}

func (a *app) fmtCommand() *cli.Command {
	var f fmtFlags
	return &cli.Command{
		Name:      "fmt",
		Usage:     "bring catalog files into the canonical form",
		ArgsUsage: "[FILE|DIRECTORY...|-]",
		Description: "Changes nothing but spaces between words, and lists the files that it changed. A directory stands for its catalog\n" +
			"files and files of values; without arguments it is the catalog directory. With - standard input is formatted to\n" +
			"standard output. Nothing is evaluated, so neither variables nor secrets are needed.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "write nothing; exit 2 if a file is not formatted", OnlyOnce: true, Destination: &f.check},
			&cli.BoolFlag{Name: "diff", Usage: "print what changes; what looks like a credential is left out of it", OnlyOnce: true, Destination: &f.diff},
			&cli.BoolFlag{Name: "write", Usage: "write the files; -write=false only lists them", Value: true, OnlyOnce: true, Destination: &f.write},
			&cli.BoolFlag{Name: "recursive", Usage: "go into directories too, except hidden ones; links are not followed", OnlyOnce: true, Destination: &f.recursive},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "fmt"
			args := c.Args().Slice()
			if f.check && c.IsSet("write") && f.write {
				return usage("-check writes nothing, so it takes no -write.")
			}
			f.write = f.write && !f.check
			for _, arg := range args {
				if arg == "-" && (len(args) > 1 || f.recursive || c.IsSet("write")) {
					return usage("fmt - formats standard input to standard output; it takes no other argument, no -recursive and no -write.")
				}
			}
			if len(args) == 1 && args[0] == "-" {
				return a.fmtInput(f)
			}
			return a.fmtFiles(ctx, args, f)
		},
	}
}

// fmtInput formats standard input. Nothing is printed if it cannot be formatted, so that an editor keeps its text.
func (a *app) fmtInput(f fmtFlags) error {
	src, err := a.input("-", catalog.MaxFileBytes)
	if err != nil {
		return err
	}
	doc := view.Formatted{}
	file, text, diags := formatText(standardInput, src, f)
	doc.Files = append(doc.Files, file)
	if file.State != view.FileFailed && !f.check && (!f.diff || a.flags.json) {
		s := string(text)
		doc.Formatted = &s
	}
	return a.formatted(doc, diags, f)
}

func (a *app) fmtFiles(ctx context.Context, args []string, f fmtFlags) error {
	files, diags, err := a.fmtList(ctx, args, f.recursive)
	if err != nil {
		return err
	}
	doc := view.Formatted{Files: make([]view.FormattedFile, 0, len(files))}
	for _, x := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		file, more := x.format(f)
		doc.Files = append(doc.Files, file)
		diags = append(diags, more...)
	}
	return a.formatted(doc, diags, f)
}

// formatted prints what became of the files. Those with errors do not keep the others from being formatted.
func (a *app) formatted(doc view.Formatted, diags diag.List, f fmtFlags) error {
	for _, x := range doc.Files {
		if x.State == view.FileChanged && f.check {
			a.code = exitPending
		}
	}
	diags = diags.Sorted()
	if a.flags.json {
		if err := view.Envelope(a.out, a.kind, diags, doc); err != nil {
			return err
		}
	} else if err := doc.Text(a.out); err != nil {
		return err
	}
	if diags.HasErrors() {
		return &exitError{code: exitFailed, diags: diags, told: a.flags.json}
	}
	a.warn(diags)
	return nil
}

// formatText formats one text and says what became of it; its diagnostics are bounded by catalog.Format.
func formatText(name string, src []byte, f fmtFlags) (view.FormattedFile, []byte, diag.List) {
	file := view.FormattedFile{File: name, State: view.FileFailed}
	text, diags := catalog.Format(name, src)
	if diags.HasErrors() {
		return file, nil, diags
	}
	file.State = view.FileUnchanged
	if !bytes.Equal(text, src) {
		file.State = view.FileChanged
		if f.diff {
			before, hidden := catalog.Shown(src)
			after, _ := catalog.Shown(text)
			file.Diff = view.UnifiedDiff(name, string(before), string(after))
			if hidden && strings.Contains(file.Diff, catalog.Ellipsis) {
				diags = append(diags, diag.Warningf("fmt.hidden", "Texts left out of a difference",
					"%s: texts that look like credentials are shown as %s, so no program can apply the difference.", diag.Escape(name), catalog.Ellipsis))
			}
		}
	}
	return file, text, diags
}
