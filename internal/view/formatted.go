package view

import (
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// The values of FormattedFile.State.
const (
	FileUnchanged = "unchanged" // it is formatted
	FileChanged   = "changed"   // it is not formatted, and was left as it is
	FileWritten   = "written"   // it was not formatted, and is now
	FileFailed    = "failed"    // a diagnostic says why
)

// Formatted is the result of fmt.
type Formatted struct {
	Files []FormattedFile `json:"files"`
	// Formatted is what standard input was formatted to, nil where it was not asked for.
	Formatted *string `json:"text,omitempty"`
}

// FormattedFile is what became of one file.
type FormattedFile struct {
	File  string `json:"file"` // from the working directory
	State string `json:"state"`
	Diff  string `json:"diff,omitempty"` // unified, see UnifiedDiff
}

// Text prints the text, or the diffs, or the names of the files that are not or were not formatted, one a line.
func (d Formatted) Text(w io.Writer) error {
	var b strings.Builder
	for _, f := range d.Files {
		switch {
		case f.State != FileChanged && f.State != FileWritten:
		case f.Diff != "":
			b.WriteString(f.Diff)
		case d.Formatted == nil:
			b.WriteString(esc(f.File) + "\n")
		}
	}
	if d.Formatted != nil {
		b.WriteString(*d.Formatted)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// UnifiedDiff returns the difference of two texts of the file name, with three lines around each change. Line ends are LF,
// and no line is one that a CI runner obeys; other characters must be fit to print.
func UnifiedDiff(name, before, after string) string {
	name = esc(name)
	diff := udiff.Unified("a/"+name, "b/"+name, before, after)
	var b strings.Builder
	for line := range strings.Lines(diff) {
		b.WriteString(diag.Defuse(line))
	}
	return b.String()
}
