package catalog

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// Unsupported returns an error for each place of the catalog that is read and checked but that this version does not
// enforce. Whoever plans, verifies, calls or serves refuses such a catalog; a part of it that was passed over quietly would
// look like a promise. The list is sorted.
func (c *Catalog) Unsupported() diag.List { return slices.Clone(c.unsupported) }

// notEnforced records a place for Unsupported. What is the argument or block as people write it. The catalog itself loads.
func (l *loader) notEnforced(what string, r hcl.Range, w where) {
	d := diag.Errorf("catalog.unsupported", "Not enforced by this version",
		"%s is understood, but this version of mcpcat does not enforce it, so plan, apply, verify, call and serve refuse a catalog that has it. Leave it out.", what)
	d.Context, d.Address = w.context, w.address
	if s := l.sources[r.Filename]; s != nil {
		d = d.At(s.rangeOf(r))
		d.Snippet = s.snippet(r.Start.Line)
	}
	l.cat.unsupported = append(l.cat.unsupported, d)
}
