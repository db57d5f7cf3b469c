package diag

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteOptions say how Write prints.
type WriteOptions struct {
	// Color adds ANSI colours to the words Error and Warning.
	Color bool
	// Width is the number of columns that details are wrapped to; 0 means 90.
	Width int
}

// Write prints the diagnostics in the order of l, a blank line between two:
//
//	Error: Server speaks an older protocol
//
//	  on catalog.hcl line 171, in server "crm":
//	  171: server "crm" {
//
//	  server/discover answered -32022 and offers only 2025-11-25.
//
// More than five warnings of one code and summary are one, with all their addresses, or places where they have none, and
// every detail once:
//
//	Warning: Server not checked (7)
//
//	  server.depot, server.harbour, server.silo, server.wiki["eu"], server.wiki["us"], server.yard:
//	  No connection within 5s. Nothing of it is pinned.
//
//	  server.crane:
//	  No answer within 10s. Its 2 pinned tools stay as they are.
//
// Whatever the fields contain, the output has no control character but line feeds and Write's own colours, no concealed
// character, and no line that a CI runner obeys. The error is that of w.
func Write(w io.Writer, l List, opts WriteOptions) error {
	if opts.Width <= 0 {
		opts.Width = 90
	}
	var b strings.Builder
	groups := map[kind][]Diagnostic{}
	for _, d := range l {
		if d.Severity == Warning {
			groups[kind{d.Code, d.Summary}] = append(groups[kind{d.Code, d.Summary}], d)
		}
	}
	for _, d := range l {
		group := groups[kind{d.Code, d.Summary}]
		many := d.Severity == Warning && (len(group) > mostAlike || group == nil)
		if many && group == nil {
			continue // stands with the first of its kind
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if many {
			writeGroup(&b, group, opts)
			groups[kind{d.Code, d.Summary}] = nil
			continue
		}
		writeOne(&b, d, opts)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mostAlike is how many warnings of one kind are printed one by one.
const mostAlike = 5

type kind struct{ code, summary string }

// writeGroup prints warnings of one kind as one.
func writeGroup(b *strings.Builder, group []Diagnostic, opts WriteOptions) {
	head := group[0]
	writeOne(b, Diagnostic{Severity: Warning, Summary: fmt.Sprintf("%s (%d)", head.Summary, len(group))}, opts)
	var details []string
	names := map[string][]string{}
	for _, d := range group {
		name := d.Address
		if name == "" && d.Range != nil {
			name = d.Range.String()
		}
		detail := strings.TrimPrefix(d.Detail, d.Address+": ")
		if names[detail] == nil {
			details = append(details, detail)
		}
		names[detail] = append(names[detail], name)
	}
	for _, detail := range details {
		b.WriteByte('\n')
		writeParagraphs(b, strings.Join(names[detail], ", ")+":", opts)
		writeParagraphs(b, detail, opts)
	}
}

func writeOne(b *strings.Builder, d Diagnostic, opts WriteOptions) {
	word, color := "Error", "\x1b[1;31m"
	if d.Severity == Warning {
		word, color = "Warning", "\x1b[1;33m"
	}
	if opts.Color {
		word = color + word + ":\x1b[0m"
	} else {
		word += ":"
	}
	b.WriteString(word + " " + own(d.Summary) + "\n")
	switch {
	case d.Range != nil:
		b.WriteString("\n  on " + own(d.Range.File))
		if d.Range.Start.Line > 0 {
			fmt.Fprintf(b, " line %d", d.Range.Start.Line)
		}
		if d.Context != "" {
			b.WriteString(", in " + own(d.Context))
		}
		b.WriteString(":\n")
		if d.Snippet != "" {
			fmt.Fprintf(b, "  %d: %s\n", d.Range.Start.Line, own(strings.TrimRight(d.Snippet, " ")))
		}
	case d.Address != "":
		b.WriteString("\n  " + own("on "+d.Address) + ":\n")
	case d.Context != "":
		b.WriteString("\n  " + own("in "+d.Context) + ":\n")
	}
	if d.Detail == "" {
		return
	}
	b.WriteByte('\n')
	writeParagraphs(b, d.Detail, opts)
}

func writeParagraphs(b *strings.Builder, text string, opts WriteOptions) {
	for line := range strings.SplitSeq(ownLines(text), "\n") {
		if line == "" {
			b.WriteByte('\n')
			continue
		}
		for _, part := range wrap(line, opts.Width-2) {
			// Wrapping may have brought a word to the beginning of a line where a runner would obey it.
			b.WriteString("  " + own(part) + "\n")
		}
	}
}

// own cleans a text of ours. It keeps brackets, because foreign text in it has been escaped already.
func own(s string) string { return (&escaper{}).text(s) }

func ownLines(s string) string { return (&escaper{}).lines(s) }

// wrap breaks a line at spaces into parts of at most width columns where words allow it. A line that begins with a
// space stays whole.
func wrap(line string, width int) []string {
	if strings.HasPrefix(line, " ") || utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	var parts []string
	var cur strings.Builder
	n := 0
	for word := range strings.SplitSeq(line, " ") {
		size := utf8.RuneCountInString(word)
		if n > 0 && n+1+size > width {
			parts = append(parts, cur.String())
			cur.Reset()
			n = 0
		}
		if n > 0 {
			cur.WriteByte(' ')
			n++
		}
		cur.WriteString(word)
		n += size
	}
	return append(parts, cur.String())
}
