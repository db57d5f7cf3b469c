package view

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
)

// Applied is the result of apply.
type Applied struct {
	Lock   string         `json:"lock"`
	Serial uint64         `json:"serial"`
	Root   *digest.Digest `json:"root"` // nil: there is no lock
	Plan   *plan.Plan     `json:"-"`
}

// MarshalJSON adds the plan's digest and summary.
func (a Applied) MarshalJSON() ([]byte, error) {
	type applied Applied
	doc := struct {
		applied
		Changed    bool           `json:"changed"`
		PlanDigest *digest.Digest `json:"plan_digest,omitempty"`
		Summary    *plan.Summary  `json:"summary,omitempty"`
	}{applied: applied(a)}
	if a.Plan != nil {
		doc.Changed = a.Plan.HasChanges()
		doc.PlanDigest, doc.Summary = &a.Plan.PlanDigest, &a.Plan.Summary
	}
	return json.Marshal(doc)
}

// Text prints what was pinned, in one or two lines.
func (a Applied) Text(w io.Writer) error {
	root := ""
	if a.Root != nil {
		root = ", root " + a.Root.Short()
	}
	if a.Plan == nil || !a.Plan.HasChanges() {
		_, err := fmt.Fprintf(w, "Nothing to apply: %s stays at serial %d%s.\n", esc(a.Lock), a.Serial, root)
		return err
	}
	s := a.Plan.Summary
	if _, err := fmt.Fprintf(w, "Applied: %d added, %d changed, %d removed. %s is now at serial %d%s.\n",
		s.Add, s.Change, s.Remove, esc(a.Lock), a.Serial, root); err != nil {
		return err
	}
	if s.ServersNotChecked+s.ServersRefused == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s not checked, %d refused: what is pinned of them stays as it was.\n",
		plural(s.ServersNotChecked, "server"), s.ServersRefused)
	return err
}

// Console is the result of console.
type Console struct {
	Results []ConsoleResult `json:"results"` // in the order of the expressions
}

// MarshalJSON writes no result as an empty list.
func (d Console) MarshalJSON() ([]byte, error) {
	type console Console
	if d.Results == nil {
		d.Results = []ConsoleResult{}
	}
	return json.Marshal(console(d))
}

// ConsoleResult is the answer to one expression: Value alone, or why there is none.
type ConsoleResult struct {
	Line      int             `json:"line"` // of standard input; 1 for an expression of the command line
	Value     json.RawMessage `json:"value,omitempty"`
	Sensitive bool            `json:"sensitive,omitempty"` // the expression refers to a secret
	Failed    bool            `json:"failed,omitempty"`    // the diagnostics say why
}

// DigestDoc is the result of digest.
type DigestDoc struct {
	Kind   string        `json:"digest_kind"`
	Digest digest.Digest `json:"digest"`
}

// Version is the result of version.
type Version struct {
	Version    string `json:"mcpcat_version"`
	Protocol   string `json:"protocol"`
	LockFormat string `json:"lock_format"`
	PlanFormat string `json:"plan_format"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	Revision   string `json:"revision,omitempty"`
}

// Text prints one fact a line.
func (d Version) Text(w io.Writer) error {
	revision := ""
	if d.Revision != "" {
		revision = " (" + esc(d.Revision) + ")"
	}
	_, err := fmt.Fprintf(w, "mcpcat %s%s\nprotocol %s\nlock format %s\nplan format %s\n%s %s\n",
		esc(d.Version), revision, esc(d.Protocol), esc(d.LockFormat), esc(d.PlanFormat), esc(d.Go), esc(d.Platform))
	return err
}
