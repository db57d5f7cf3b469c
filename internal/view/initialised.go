package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/importer"
)

// The values of InitialisedFile.State.
const (
	InitCreated   = "created"
	InitReplaced  = "replaced"  // with -force
	InitChanged   = "changed"   // lines were added
	InitUnchanged = "unchanged" // it was as it should be, or is left as it is
)

// Initialised is the result of init.
type Initialised struct {
	Files []InitialisedFile `json:"files"`
	// GitConfig are the settings of the repository that were looked at, for -git.
	GitConfig []GitSetting `json:"git_config"`
	// Variables and Environment are those of Imported, where the catalog was made of a client config.
	Variables   []importer.Variable `json:"variables"`
	Environment []string            `json:"environment"`
}

// InitialisedFile is what became of one file.
type InitialisedFile struct {
	File  string `json:"file"` // from the working directory
	State string `json:"state"`
}

// GitSetting is one setting of a repository. Set is false if it had this value, or another one that was left.
type GitSetting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Set   bool   `json:"set"`
}

// Text prints one line for each file and setting, and what is to be done next.
func (d Initialised) Text(w io.Writer) error {
	var b strings.Builder
	for _, f := range d.Files {
		state := f.State
		if state == InitUnchanged {
			state = "left as it is"
		}
		fmt.Fprintf(&b, "%s: %s\n", esc(f.File), state)
	}
	for _, s := range d.GitConfig {
		state := "left as it is"
		if s.Set {
			state = "set"
		}
		fmt.Fprintf(&b, "git config %s = %s: %s\n", esc(s.Key), esc(s.Value), state)
	}
	toSet(&b, d.Variables, d.Environment)
	_, err := io.WriteString(w, b.String())
	return err
}
