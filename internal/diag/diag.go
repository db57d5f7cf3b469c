// Package diag holds what mcpcat tells people about their catalogs, locks and servers: diagnostics, their order and
// their text, and the one escaper for text that somebody else wrote.
//
// A Diagnostic is for a person to read. Errors that Go code branches on are errors and live with the code that returns
// them. Every string in a Diagnostic must be safe to print: no secret, and foreign text passed through Escape or Quote.
// The package does no I/O beyond the writer it is given and uses the standard library only.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity tells whether a diagnostic stops the command.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Pos is a place in a file: line and column, both counted from 1, the column in characters.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Range is a stretch of a file. File is relative to the catalog directory, with forward slashes; End is exclusive.
type Range struct {
	File  string `json:"file"`
	Start Pos    `json:"start"`
	End   Pos    `json:"end"`
}

// String returns file:line.
func (r Range) String() string { return fmt.Sprintf("%s:%d", r.File, r.Start.Line) }

// Diagnostic is one thing to tell.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	// Code is a dotted word for machines, such as server.unstable.
	Code string `json:"code"`
	// Summary is fixed words without names, one line, no full stop.
	Summary string `json:"summary"`
	// Detail is whole sentences: what was found and what was wanted, and what to do. A line that begins with a space is
	// printed as it is, for commands.
	Detail string `json:"detail"`
	// Address is the server or item meant, if there is one.
	Address string `json:"address,omitempty"`
	Range   *Range `json:"range,omitempty"`
	// Snippet is the source line at Range.Start with its texts left out, or empty.
	Snippet string `json:"-"`
	// Context names the block around the place, such as: server "crm".
	Context string `json:"-"`
}

// Errorf returns an error diagnostic whose detail is formatted like fmt.Sprintf. Foreign text among args goes through
// Escape or Quote first.
func Errorf(code, summary, format string, args ...any) Diagnostic {
	return Diagnostic{Severity: Error, Code: code, Summary: summary, Detail: fmt.Sprintf(format, args...)}
}

// Warningf is Errorf for a warning.
func Warningf(code, summary, format string, args ...any) Diagnostic {
	return Diagnostic{Severity: Warning, Code: code, Summary: summary, Detail: fmt.Sprintf(format, args...)}
}

// At returns d with a range.
func (d Diagnostic) At(r Range) Diagnostic { d.Range = &r; return d }

// For returns d with an address.
func (d Diagnostic) For(address string) Diagnostic { d.Address = address; return d }

// Error returns one line: place, summary and detail.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if d.Range != nil {
		b.WriteString(d.Range.String() + ": ")
	} else if d.Address != "" {
		b.WriteString(d.Address + ": ")
	}
	b.WriteString(d.Summary)
	if d.Detail != "" {
		b.WriteString(": " + strings.Join(strings.Fields(d.Detail), " "))
	}
	return b.String()
}

// List is a set of diagnostics. The nil List is empty and ready to be appended to.
type List []Diagnostic

// HasErrors reports whether one of the diagnostics is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Errors returns the errors alone.
func (l List) Errors() List { return l.only(Error) }

// Warnings returns the warnings alone.
func (l List) Warnings() List { return l.only(Warning) }

func (l List) only(s Severity) List {
	var out List
	for _, d := range l {
		if d.Severity == s {
			out = append(out, d)
		}
	}
	return out
}

// Err returns l as an error if it has errors, otherwise nil. Find it again with errors.As and a List.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error returns the first error and how many more there are.
func (l List) Error() string {
	errs := l.Errors()
	switch len(errs) {
	case 0:
		return "no errors"
	case 1:
		return errs[0].Error()
	}
	return fmt.Sprintf("%s (and %d more)", errs[0].Error(), len(errs)-1)
}

// Sorted returns a copy with the warnings first, so that errors stand at the end where a terminal shows them, and each
// group by file, line, column, address, code and detail. Equal diagnostics are merged.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, compare)
	return slices.CompactFunc(out, func(a, b Diagnostic) bool { return compare(a, b) == 0 && a.Summary == b.Summary })
}

func compare(a, b Diagnostic) int {
	rank := func(s Severity) int {
		if s == Warning {
			return 0
		}
		return 1
	}
	place := func(d Diagnostic) Range {
		if d.Range == nil {
			return Range{}
		}
		return *d.Range
	}
	ra, rb := place(a), place(b)
	return cmp.Or(
		cmp.Compare(rank(a.Severity), rank(b.Severity)),
		strings.Compare(ra.File, rb.File),
		cmp.Compare(ra.Start.Line, rb.Start.Line),
		cmp.Compare(ra.Start.Column, rb.Start.Column),
		strings.Compare(a.Address, b.Address),
		strings.Compare(a.Code, b.Code),
		strings.Compare(a.Detail, b.Detail),
	)
}
