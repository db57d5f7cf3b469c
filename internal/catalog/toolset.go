package catalog

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// Toolset is a named list of items that agents share. Its entries are in the agents that name it.
type Toolset struct {
	Name        string
	Description string
	Range       diag.Range // of the block header

	grants []grant
}

type toolsetNode struct {
	*Toolset
	block  *hclsyntax.Block
	state  nodeState
	failed bool
	value  cty.Value // in the scope of expressions
}

func (l *loader) declareToolset(b *hclsyntax.Block) {
	l.toolsets[b.Labels[0]] = &toolsetNode{
		block:   b,
		Toolset: &Toolset{Name: b.Labels[0], Range: l.rangeOf(header(b))},
	}
}

// readToolset evaluates a toolset. It reports whether its entries are known.
func (l *loader) readToolset(t *toolsetNode) bool {
	return l.visit("toolset."+t.Name, header(t.block), &t.state, &t.failed, func() bool {
		before := l.errors
		c := l.contents(t.block.Body, where{context: blockName(t.block)}, toolsetBlock)
		t.Description, _ = c.text("description", maxDescription)
		value := map[string]cty.Value{"address": cty.StringVal("toolset." + t.Name)}
		lists := false
		for _, k := range kinds {
			t.grants = append(t.grants, l.readGrants(c, k)...)
			value[listName(k)] = cty.EmptyTupleVal
			if v, ok := c.lists[listName(k)]; ok {
				value[listName(k)] = v
			}
			lists = lists || c.args[listName(k)] != nil
		}
		if !lists && l.errors == before {
			l.fail("catalog.missing", "Empty toolset", header(t.block), c.w, "A toolset needs one of tools, prompts, resources, resource_templates.")
		}
		t.value = cty.ObjectVal(value)
		l.cat.Toolsets = append(l.cat.Toolsets, t.Toolset)
		return !c.broken && l.errors == before
	})
}

// toolset checks a reference toolset.NAME.
func (v *useWalker) toolset(t hcl.Traversal, r hcl.Range) {
	name, ok := stepName(t, 1)
	if !ok {
		v.fail(r, "catalog.reference", "Incomplete reference", "Write toolset.NAME.")
		return
	}
	n := v.l.toolsets[name]
	if n == nil {
		v.unknown("toolset", "toolset", name, keys(v.l.toolsets), r)
		return
	}
	if !v.l.readToolset(n) {
		v.u.ok = false
		return
	}
	v.u.toolsets = append(v.u.toolsets, name)
}

// toolsetOf returns the toolset that an object of the scope stands for, or nil.
func (l *loader) toolsetOf(e cty.Value) *Toolset {
	address, ok := addressOf(e)
	if !ok {
		return nil
	}
	name, _ := strings.CutPrefix(address, "toolset.")
	if t := l.toolsets[name]; t != nil && t.state == visited && !t.failed {
		return t.Toolset
	}
	return nil
}
