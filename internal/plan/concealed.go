package plan

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// maxSpelled bounds how much of a hidden message is spelled out in a note.
const maxSpelled = 64

// maxFlags bounds the places that are named for one definition; one is enough to deny it.
const maxFlags = 16

// concealedFlags finds the strings of a definition, member names included, in which characters stand that a reader
// cannot see.
func concealedFlags(v strictjson.Value) []Flag {
	var flags []Flag
	findConcealed(v, "", &flags)
	return flags
}

func findConcealed(v strictjson.Value, path string, flags *[]Flag) {
	if len(*flags) >= maxFlags {
		return
	}
	note := func(s, path string) {
		if n := concealedNote(s); n != "" && len(*flags) < maxFlags {
			*flags = append(*flags, Flag{Class: ConcealedText, Path: path, Decision: decisionOf(ConcealedText), Note: n})
		}
	}
	under := func(step string) string {
		if len(path)+len(step)+1 > maxPointer {
			return path
		}
		return path + "/" + escapePointer(step)
	}
	switch v.Kind() {
	case strictjson.KindString:
		s, _ := v.Text()
		note(s, path)
	case strictjson.KindObject:
		for name, m := range v.Members() {
			note(name, under(name))
			findConcealed(m, under(name), flags)
		}
	case strictjson.KindArray:
		i := 0
		for e := range v.Elements() {
			findConcealed(e, under(strconv.Itoa(i)), flags)
			i++
		}
	}
}

// concealedNote counts the characters of s that a reader cannot see, by sort; empty if there is none. The line end of
// other systems, CR LF, is not counted.
func concealedNote(s string) string {
	if _, _, ok := diag.Concealed(s); !ok {
		return ""
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	counts := map[string]int{}
	var spelled []byte // what tag characters spell
	for {
		at, r, ok := diag.Concealed(s)
		if !ok {
			break
		}
		counts[concealedSort(r)]++
		if c := r - 0xe0000; c >= ' ' && c <= '~' && len(spelled) < maxSpelled {
			spelled = append(spelled, byte(c))
		}
		_, n := utf8.DecodeRuneInString(s[at:])
		s = s[at+n:]
	}
	var parts []string
	for i, sort := range concealedSorts {
		n := counts[sort]
		if n == 0 {
			continue
		}
		part := fmt.Sprintf("%d %ss", n, sort)
		if n == 1 {
			part = "1 " + sort
		}
		if i == 0 && len(spelled) > 0 {
			part += " that spell " + diag.Quote(string(spelled), maxSpelled)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

var concealedSorts = []string{
	"tag character", "direction control", "zero-width character", "control character", "variation selector", "hidden character",
}

func concealedSort(r rune) string {
	switch {
	case r >= 0xe0000 && r <= 0xe007f:
		return concealedSorts[0]
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return concealedSorts[1]
	case r >= 0x200b && r <= 0x200d, r == 0x2060, r == 0xfeff:
		return concealedSorts[2]
	case unicode.IsControl(r):
		return concealedSorts[3]
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef:
		return concealedSorts[4]
	}
	return concealedSorts[5]
}
