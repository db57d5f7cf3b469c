package plan

import (
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// expand puts names in place of the catalog's patterns: what is pinned and, for a plan, what checked servers offer. For
// verify only what is pinned counts, because nothing else can be called. The observations need their sections only.
func expand(cat *catalog.Catalog, base *lock.Lock, observed []surface.Server) (*catalog.Catalog, diag.List) {
	offered := map[addr.Server][]string{}
	for _, s := range observed {
		if s.Status == surface.Checked {
			offered[s.Addr] = usable(s)
		}
	}
	return cat.Expand(func(a addr.Server, k addr.Kind) []string {
		if k != addr.Tool {
			return nil
		}
		pinned := base.Names(a, k)
		seen, ok := offered[a]
		if !ok && pinned == nil {
			return nil
		}
		return append(append([]string{}, seen...), pinned...)
	})
}

// usable returns the names of the tools that a server offers in a way that can be used.
func usable(s surface.Server) []string {
	return slices.DeleteFunc(slices.Clone(s.ToolOrder), func(name string) bool {
		return slices.ContainsFunc(s.Excluded, func(x surface.Excluded) bool { return x.Name == name })
	})
}
