// Package view turns documents into text and JSON: plans, verifications, lock entries, what a server offers.
//
// A view gets a finished document and a writer; it decides nothing, asks nobody and knows no file. Whatever text comes
// from a server or a lock passes through diag's escaper here, so no output holds a control character besides line feeds
// and the view's own colours. In the drawing it is an edge: cli imports it, and it imports plan, catalog, lock, surface and diag.
//
//	err := view.Text(os.Stdout, p, view.Options{Width: 100})
package view

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
)

// Options say how text is printed. The zero value prints without colour and never wraps.
type Options struct {
	Color         bool   // ANSI colours
	Width         int    // columns of the terminal; 0 if unknown: lines are not wrapped
	Full          bool   // whole digests, and unchanged sentences too
	ShowUnchanged bool   // name unchanged tools
	SavedTo       string // name of the plan file that was written, for the last line
}

type style int

const (
	plain style = iota
	red
	green
	yellow
	bold
	faint
)

var ansi = map[style]string{red: "\x1b[31m", green: "\x1b[32m", yellow: "\x1b[33m", bold: "\x1b[1m", faint: "\x1b[2m"}

// span is a piece of text that is ready to print: escaped, with line feeds as the only control characters.
type span struct {
	style style
	text  string
}

// printer lays out lines. Nothing but flow writes to it.
type printer struct {
	b strings.Builder
	o Options
}

// minWidth is the width below which lines are not broken further, minText the columns that an indent leaves for text.
const (
	minWidth = 40
	minText  = 16
)

// commentColumn is where comments stand if the line is shorter.
const commentColumn = 55

// blank ends a group.
func (p *printer) blank() { p.b.WriteByte('\n') }

// flow prints spans as one paragraph behind prefix. Further lines are indented by hang columns. The comment, if any, is
// put behind the last line, or on a line of its own if it does not fit.
func (p *printer) flow(prefix string, hang int, comment string, spans ...span) {
	l := &layout{p: p, hang: hang}
	if p.o.Width > 0 {
		l.limit = max(p.o.Width, minWidth)
		l.hang = min(hang, l.limit-minText)
	}
	l.span(span{text: prefix})
	for _, s := range spans {
		l.span(s)
	}
	l.comment(comment)
	l.end()
}

type layout struct {
	p     *printer
	hang  int
	limit int // 0: none
	col   int
	begun bool // something stands on this line behind the indent
	gap   int  // spaces owed before the next word
}

func (l *layout) raw(s style, text string) {
	if code := ansi[s]; code != "" && l.p.o.Color && text != "" {
		l.p.b.WriteString(code + text + "\x1b[0m")
		return
	}
	l.p.b.WriteString(text)
}

func (l *layout) newline() {
	l.end()
	l.p.b.WriteString(strings.Repeat(" ", l.hang))
	l.col, l.begun, l.gap = l.hang, false, 0
}

func (l *layout) end() {
	// Spaces are owed and not written, so no line ends in one.
	l.p.b.WriteByte('\n')
}

func (l *layout) span(s span) {
	text := s.text
	for text != "" {
		switch {
		case text[0] == '\n':
			l.newline()
			text = text[1:]
		case text[0] == ' ':
			n := len(text) - len(strings.TrimLeft(text, " "))
			l.gap += n
			text = text[n:]
		default:
			n := strings.IndexAny(text, " \n")
			if n < 0 {
				n = len(text)
			}
			l.word(s.style, text[:n])
			text = text[n:]
		}
	}
}

func (l *layout) word(s style, word string) {
	w := width(word)
	if l.limit > 0 && l.begun && l.col+l.gap+w > l.limit && l.hang+w <= l.limit {
		l.newline()
	}
	if l.begun || l.gap > 0 {
		l.p.b.WriteString(strings.Repeat(" ", l.gap))
		l.col += l.gap
		l.gap = 0
	}
	if !l.begun {
		word = guard(word)
	}
	l.begun = true
	for l.limit > 0 && l.col+width(word) > l.limit {
		cut := fit(word, max(l.limit-l.col, 1))
		if cut == len(word) {
			break
		}
		l.raw(s, word[:cut])
		word = guard(word[cut:])
		l.newline()
		l.begun = true
	}
	l.raw(s, word)
	l.col += width(word)
}

func (l *layout) comment(text string) {
	if text == "" {
		return
	}
	text = "# " + text
	l.gap = 0
	pad := max(commentColumn-l.col, 2)
	if l.limit > 0 && l.col+pad+width(text) > l.limit {
		if short := 2; l.col+short+width(text) <= l.limit {
			pad = short
		} else {
			l.newline()
			pad = 0
			if commentColumn+width(text) <= l.limit {
				pad = max(commentColumn-l.col, 0)
			}
		}
	}
	l.p.b.WriteString(strings.Repeat(" ", pad))
	l.col += pad
	l.begun = true
	s := faint
	switch {
	case strings.Contains(text, "DENIED"):
		s = red
	case strings.Contains(text, "forces re-approval"):
		s = yellow
	}
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			l.gap = 1
		}
		l.word(s, word)
	}
}

// guard defuses what a CI runner obeys at the beginning of a line, where wrapping may have brought it.
func guard(word string) string {
	lower := strings.ToLower(word)
	if strings.HasPrefix(lower, "::") || strings.HasPrefix(lower, "[command]") {
		return fmt.Sprintf("⟨U+%04X⟩", word[0]) + word[1:]
	}
	return word
}

// fit is the number of bytes of s that fill at most columns, at least one character. It does not cut into an escape.
func fit(s string, columns int) int {
	col, escape := 0, -1
	for i, r := range s {
		if r == '⟨' {
			escape = i
		}
		col += runeWidth(r)
		if col > columns && i > 0 {
			if escape > 0 {
				return escape
			}
			return i
		}
		if r == '⟩' {
			escape = -1
		}
	}
	return len(s)
}

func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is the number of terminal columns of a character: none for marks, two for the wide scripts and pictographs.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.Is(unicode.Mn, r):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

func (p *printer) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

// digest is the short form for reading, or the whole one.
func (p *printer) digest(d digest.Digest) string {
	if p.o.Full {
		return d.String()
	}
	return d.Short()
}

// esc makes foreign text of one line printable, escLines text of several lines.
func esc(s string) string      { return diag.Escape(s) }
func escLines(s string) string { return diag.EscapeLines(s) }

// quoteText is foreign text between quotes, whole, lines kept.
func quoteText(s string) string {
	return `"` + escLines(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)) + `"`
}

// pad fills s with spaces to n columns, one space at least.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-width(s), 1))
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// list joins names, escaped.
func list(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = esc(n)
	}
	return strings.Join(out, ", ")
}

// mostNames is how many names of things that nobody declared are shown.
const mostNames = 8

// some joins the first names, escaped, and counts the others; all of them with Full.
func (p *printer) some(names []string) string {
	if more := len(names) - mostNames; more > 1 && !p.o.Full {
		return fmt.Sprintf("%s and %d more", list(names[:mostNames]), more)
	}
	return list(names)
}
