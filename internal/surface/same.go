package surface

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// UnstableError says what differed between two walks that had to be equal. Names are sorted.
type UnstableError struct {
	Server   string   // address
	Added    []string // tools that only the second walk found
	Removed  []string // tools that only the first walk found
	Changed  []string // tools with another gate digest
	Sections []string // "instructions", "capabilities", "identity", "excluded tools"
}

func (e *UnstableError) Error() string {
	var parts []string
	list := func(what string, names []string) {
		if len(names) == 0 {
			return
		}
		const most = 8
		quoted := make([]string, 0, most)
		for _, n := range names[:min(len(names), most)] {
			quoted = append(quoted, fmt.Sprintf("%q", cut(n)))
		}
		s := what + " " + strings.Join(quoted, ", ")
		if len(names) > most {
			s += fmt.Sprintf(" and %d more", len(names)-most)
		}
		parts = append(parts, s)
	}
	list("changed tools", e.Changed)
	list("tools only in the second", e.Added)
	list("tools only in the first", e.Removed)
	if len(e.Sections) > 0 {
		parts = append(parts, "other "+strings.Join(e.Sections, ", "))
	}
	return e.Server + ": two walks differ: " + strings.Join(parts, "; ")
}

// Map returns e with f applied to every name that the server gave.
func (e *UnstableError) Map(f func(string) string) *UnstableError {
	clean := *e
	for _, names := range []*[]string{&clean.Added, &clean.Removed, &clean.Changed} {
		list := slices.Clone(*names)
		for i, name := range list {
			list[i] = f(name)
		}
		*names = list
	}
	return &clean
}

// SameWalk compares two walks over one server. They are the same when they hold the same tools with the same gate
// digests, the same excluded tools and the same sections of discovery.
//
// What may differ is returned, sorted: "order", "ttlMs", "cacheScope", and "metadata" when the evidence differs although
// nothing else does. The error is an *UnstableError.
func SameWalk(a, b Server) (changedByItself []string, err error) {
	e := &UnstableError{Server: a.Addr.String()}
	for _, it := range a.Tools {
		other, ok := b.Tool(it.Addr.Name)
		switch {
		case !ok:
			e.Removed = append(e.Removed, it.Addr.Name)
		case other.Digest != it.Digest:
			e.Changed = append(e.Changed, it.Addr.Name)
		}
	}
	for _, it := range b.Tools {
		if _, ok := a.Tool(it.Addr.Name); !ok {
			e.Added = append(e.Added, it.Addr.Name)
		}
	}
	if !samePointer(a.Instructions, b.Instructions) {
		e.Sections = append(e.Sections, "instructions")
	}
	if !strictjson.Equal(strictjson.Value(a.Capabilities), strictjson.Value(b.Capabilities)) {
		e.Sections = append(e.Sections, "capabilities")
	}
	if !samePointer(a.Identity, b.Identity) {
		e.Sections = append(e.Sections, "identity")
	}
	if !slices.Equal(a.Excluded, b.Excluded) {
		e.Sections = append(e.Sections, "excluded tools")
	}
	if a.EndpointDigest != b.EndpointDigest {
		e.Sections = append(e.Sections, "endpoint")
	}
	if len(e.Added)+len(e.Removed)+len(e.Changed)+len(e.Sections) > 0 {
		return nil, e
	}

	if a.ToolsCacheScope != b.ToolsCacheScope {
		changedByItself = append(changedByItself, "cacheScope")
	}
	if !slices.Equal(a.ToolOrder, b.ToolOrder) {
		changedByItself = append(changedByItself, "order")
	}
	if a.ToolsTTLMs != b.ToolsTTLMs {
		changedByItself = append(changedByItself, "ttlMs")
	}
	if len(changedByItself) == 0 && !maps.Equal(a.Snapshots, b.Snapshots) {
		changedByItself = append(changedByItself, "metadata")
	}
	return changedByItself, nil
}

func samePointer[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
