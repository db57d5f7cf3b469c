package catalog

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// suggest names the nearest of candidates, or lists the names that would be right.
func suggest(name string, candidates, right []string) string {
	if s := nearest(name, candidates); s != "" {
		return fmt.Sprintf(" Did you mean %q?", s)
	}
	if len(right) == 0 {
		return ""
	}
	return " Known here: " + strings.Join(right, ", ") + "."
}

// suggest says what to write in place of a word that a block does not have.
func (b *BlockType) suggest(name string, known []string) string {
	if home := b.home(name); home != "" {
		return fmt.Sprintf(" It belongs into %s.", home)
	}
	if hint := foreignWords[name]; hint != "" {
		return " " + hint
	}
	return suggest(name, known, known)
}

// home is the nested block in which a word has a meaning, the nearest to b; "" if there is none.
func (b *BlockType) home(name string) string {
	for _, inner := range b.Blocks {
		if !inner.AnyArgument && (inner.argument(name) != nil || inner.block(name) != nil) {
			return inner.Type + " { … }"
		}
	}
	for _, inner := range b.Blocks {
		if deeper := inner.home(name); deeper != "" {
			return inner.Type + " { " + deeper + " }"
		}
	}
	return ""
}

// nearest returns the candidate that is at most two edits, or a third of name's length, away; "" if there is none. Two
// letters that changed places are one edit.
func nearest(name string, candidates []string) string {
	if name == "" || len(name) > 4*maxShownWord {
		return ""
	}
	best, bestDistance := "", max(min(len(name)-1, 2), len(name)/3, 1)+1
	for _, c := range candidates {
		d := levenshtein.Distance(name, c, nil)
		if d == 2 && swapped(name, c) {
			d = 1
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// swapped reports whether a is b with two neighbours exchanged.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) - 1 {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}
