package diag

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ExcerptBytes is how much of a peer's text a message repeats at most.
const ExcerptBytes = 256

// longRun is the number of spaces from which a run is counted instead of shown: a run that long pushes what follows out
// of a reader's window. blankRun is the same for blank lines.
const (
	longRun  = 24
	blankRun = 4
)

// Escape makes foreign text safe to show on one line: every control character (line ends and tabs too), ESC, DEL, C1,
// bidirectional control, zero-width and other format character, tag character, private or unassigned code point, and
// every variation selector that does not follow an emoji is written ⟨U+202E⟩, each byte of invalid UTF-8 ⟨0xFF⟩, a run
// of 24 or more spaces ⟨412 spaces⟩. The bracket ⟨ itself is written by number, so nothing can pose as an escape. What
// CI runners obey is defused: ##[, ##vso[ and ##teamcity[ everywhere, :: and [command] at the beginning.
func Escape(s string) string { return (&escaper{brackets: true}).text(s) }

// EscapeLines is Escape for text of several lines: it keeps \n, takes \r\n as \n, and replaces four or more blank lines
// by a count. Each line is treated as the beginning of a line.
func EscapeLines(s string) string { return (&escaper{brackets: true}).lines(s) }

// Quote returns s between double quotes, escaped as by Escape, with \" and \\ for quotes and backslashes. At most limit
// bytes of s are shown (ExcerptBytes if limit <= 0); a cut is marked after the closing quote with the full length.
func Quote(s string, limit int) string {
	if limit <= 0 {
		limit = ExcerptBytes
	}
	cut := s
	if len(s) > limit {
		n := limit
		for n > 0 && limit-n < utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		cut = s[:n]
	}
	out := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Escape(cut)) + `"`
	if len(cut) < len(s) {
		out += fmt.Sprintf("… (%d bytes)", len(s))
	}
	return out
}

// Defuse makes one line of text that holds no concealed character safe to print where a CI runner reads along: what runners
// obey is written as Escape does. Tabs and runs of spaces stay.
func Defuse(line string) string {
	var b strings.Builder
	start := true
	for i, r := range line {
		if obeyed(line[i:], start) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
		start = start && (r == ' ' || r == '\t')
	}
	return b.String()
}

// EscapeJSON writes the concealed characters of a JSON text as \uXXXX, so that the text can be shown and still has the
// same value. The argument must be valid JSON, or the inside of a JSON string; an argument without such characters is
// returned as it is.
func EscapeJSON[T ~string | ~[]byte](text T) T {
	s := string(text)
	var b []byte
	kept := 0
	prev := rune(0)
	for i, r := range s {
		if r == '\n' || r == '\r' || r == '\t' || !concealedAfter(prev, r) {
			prev = r
			continue
		}
		prev = r
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			continue // not valid JSON; nothing to escape it to
		}
		b = append(b, s[kept:i]...)
		if r > 0xffff {
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
			kept = i + 4
		} else {
			b = fmt.Appendf(b, `\u%04x`, r)
			kept = i + utf8.RuneLen(r)
		}
	}
	if b == nil {
		return text
	}
	return T(append(b, s[kept:]...))
}

// Concealed returns the byte offset and the code point of the first character of s that Escape would write by number
// because a reader cannot see it; tab and line feed are not counted. ok is false if there is none. Invalid UTF-8 is
// reported as U+FFFD.
func Concealed(s string) (offset int, r rune, ok bool) {
	prev := rune(0)
	for i, r := range s {
		if r != '\n' && r != '\t' && concealedAfter(prev, r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i, r, true
		}
		prev = r
	}
	return 0, 0, false
}

// concealedAfter reports whether r, standing behind prev, cannot be seen.
func concealedAfter(prev, r rune) bool {
	if r >= ' ' && r <= '~' {
		return false
	}
	if r == 0xfe0e || r == 0xfe0f {
		return !emoji(prev)
	}
	return !unicode.IsGraphic(r) || shapeless(r)
}

// shapeless tells the graphic code points that have no shape: fillers, joiners classed as marks, blank Braille, and the
// variation selectors.
func shapeless(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x2800, r == 0x3164, r == 0xffa0,
		r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// emoji reports whether a text or emoji presentation selector belongs behind r: the symbols that have both forms, the
// pictographs, and the keycap characters.
func emoji(r rune) bool {
	switch {
	case r >= '0' && r <= '9', r == '#', r == '*', r == 0xa9, r == 0xae, r == 0x203c, r == 0x2049, r == 0x2122, r == 0x2139,
		r >= 0x2194 && r <= 0x21aa, r >= 0x231a && r <= 0x23ff, r == 0x24c2, r >= 0x25aa && r <= 0x25fe,
		r >= 0x2600 && r <= 0x27bf, r == 0x2934, r == 0x2935, r >= 0x2b05 && r <= 0x2b55, r == 0x3030, r == 0x303d,
		r == 0x3297, r == 0x3299, r >= 0x1f000 && r <= 0x1faff:
		return true
	}
	return false
}

// escaper writes text without the characters that Escape names. Our own messages already contain escapes, so for them
// brackets is false.
type escaper struct {
	b        strings.Builder
	brackets bool
}

func (e *escaper) text(s string) string {
	e.line(s)
	return e.b.String()
}

func (e *escaper) lines(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	all := strings.Split(s, "\n")
	for i := 0; i < len(all); i++ {
		if i > 0 {
			e.b.WriteByte('\n')
		}
		n := 0
		for i+n < len(all) && strings.Trim(all[i+n], " ") == "" {
			n++
		}
		if n >= blankRun {
			fmt.Fprintf(&e.b, "⟨%d blank lines⟩", n)
			i += n - 1
			continue
		}
		e.line(all[i])
	}
	return e.b.String()
}

func (e *escaper) line(s string) {
	start := true // nothing but spaces so far
	prev := rune(0)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.Is(unicode.Zs, r):
			run, size := spaces(s[i:])
			if run >= longRun {
				fmt.Fprintf(&e.b, "⟨%d spaces⟩", run)
			} else {
				e.b.WriteString(s[i : i+size])
			}
			prev = ' '
			i += size
			continue
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&e.b, "⟨0x%02X⟩", s[i])
		case concealedAfter(prev, r), r == '⟨' && e.brackets, obeyed(s[i:], start):
			fmt.Fprintf(&e.b, "⟨U+%04X⟩", r)
		default:
			e.b.WriteString(s[i : i+n])
		}
		start = false
		prev = r
		i += n
	}
}

// spaces returns how many spaces of any width s begins with, and their length in bytes.
func spaces(s string) (run, size int) {
	for _, r := range s {
		if !unicode.Is(unicode.Zs, r) {
			break
		}
		run++
		size += utf8.RuneLen(r)
	}
	return run, size
}

// obeyed reports whether a CI runner takes what begins here as a command. GitHub's and Azure's runners look for ##[ and
// ##vso[ in the whole line, TeamCity for its prefix; :: and [command] count at the beginning of a line only.
func obeyed(s string, start bool) bool {
	if start && (strings.HasPrefix(s, "::") || hasPrefixFold(s, "[command]")) {
		return true
	}
	return strings.HasPrefix(s, "##") &&
		(strings.HasPrefix(s, "##[") || hasPrefixFold(s, "##vso[") || hasPrefixFold(s, "##teamcity["))
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
