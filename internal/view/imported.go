package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/importer"
)

// Imported is the result of import. It holds no value of a secret.
type Imported struct {
	// File is the catalog file, from the working directory.
	File    string            `json:"file"`
	Written bool              `json:"written"` // false for a dry run
	Servers []importer.Server `json:"servers"` // in the order of the config
	// Variables are to be set as MCPCAT_VAR_ and the name, Environment as they are.
	Variables   []importer.Variable `json:"variables"`
	Environment []string            `json:"environment"`
	// Content is the text of the file, for a dry run.
	Content *string `json:"text,omitempty"`
}

// NewImported shows an import into file.
func NewImported(r *importer.Result, file string, written bool) Imported {
	d := Imported{File: file, Written: written, Servers: r.Servers, Variables: append([]importer.Variable{}, r.Variables...), Environment: append([]string{}, r.Environment...)}
	if !written {
		text := string(r.Text)
		d.Content = &text
	}
	return d
}

// Text prints what was written and what is to be done next, or for a dry run the catalog file and nothing else.
func (d Imported) Text(w io.Writer) error {
	if d.Content != nil {
		_, err := io.WriteString(w, *d.Content)
		return err
	}
	var b strings.Builder
	off := 0
	for _, s := range d.Servers {
		if !s.Enabled {
			off++
		}
	}
	fmt.Fprintf(&b, "Wrote %s: %s", esc(d.File), plural(len(d.Servers), "server"))
	if off > 0 {
		fmt.Fprintf(&b, ", %d of them with enabled = false", off)
	}
	b.WriteString(".\n")
	toSet(&b, d.Variables, d.Environment)
	b.WriteString("\nNothing is pinned yet. Choose the tools that mcpcat plan lists.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// toSet lists what an import left behind.
func toSet(b *strings.Builder, variables []importer.Variable, environment []string) {
	if len(variables)+len(environment) == 0 {
		return
	}
	b.WriteString("\nSecrets were left behind. Set in the environment:\n")
	width := 0
	for _, v := range variables {
		width = max(width, len(v.Name))
	}
	for _, v := range variables {
		fmt.Fprintf(b, "  MCPCAT_VAR_%-*s  %s\n", width, v.Name, ownText(v.Use))
	}
	for _, name := range environment {
		fmt.Fprintf(b, "  %s\n", esc(name))
	}
}
