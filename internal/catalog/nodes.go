package catalog

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// nodeState tells how far a declaration that others may refer to has been evaluated.
type nodeState int

const (
	unvisited nodeState = iota
	visiting
	visited
)

// visit evaluates a declaration once, when the first expression needs it or when its turn comes. It reports whether its
// value is known. A declaration that needs itself is reported with the loop.
func (l *loader) visit(name string, r hcl.Range, state *nodeState, failed *bool, evaluate func() bool) bool {
	switch *state {
	case visited:
		return !*failed
	case visiting:
		loop := append(slices.Clone(l.path[slices.Index(l.path, name):]), name)
		l.fail("catalog.cycle", "Declarations refer to each other in a circle", r, where{}, "%s.", diag.Escape(strings.Join(loop, " -> ")))
		*failed = true
		return false
	}
	*state = visiting
	l.path = append(l.path, name)
	ok := evaluate()
	l.path = l.path[:len(l.path)-1]
	*state = visited
	*failed = *failed || !ok
	return !*failed
}
