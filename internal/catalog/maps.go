package catalog

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// mapEntry is one entry of a map argument whose values may be secret.
type mapEntry struct {
	key                  string
	value                Text
	keyRange, valueRange hcl.Range
}

// textMap reads a map from texts to texts in source order. A map that is written out may have secret values, each for
// itself; a map that is computed may not, because its keys could not be told apart from its secrets.
func (c *contents) textMap(name string, maxCount, maxBytes int) []mapEntry {
	a := c.args[name]
	if a == nil {
		return nil
	}
	var out []mapEntry
	if o, ok := a.Expr.(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range o.Items {
			if e, ok := c.mapItem(name, item, maxBytes); ok {
				out = append(out, e)
			}
		}
	} else {
		out = c.computedMap(name, a, maxBytes)
	}
	if len(out) > maxCount {
		c.l.fail("catalog.limit", "Map too large", a.Expr.Range(), c.w, "%s has %d entries, at most %d are allowed.", name, len(out), maxCount)
		return nil
	}
	return out
}

func (c *contents) mapItem(name string, item hclsyntax.ObjectConsItem, maxBytes int) (mapEntry, bool) {
	e := mapEntry{keyRange: item.KeyExpr.Range(), valueRange: item.ValueExpr.Range()}
	k, ok := c.l.evalPublic("A key of "+name, item.KeyExpr, c.w, false)
	if !ok {
		return e, false
	}
	if k.IsNull() || k.Type() != cty.String {
		c.wrongType("a key of "+name, e.keyRange, k, "a text")
		return e, false
	}
	e.key = asString(k)
	if !c.l.checkPlain("a key of "+name, e.key, 1024, e.keyRange, c.w) {
		return e, false
	}
	e.value, ok = c.l.mayBeSecret(item.ValueExpr, fmt.Sprintf("%s[%s]", name, diag.Quote(e.key, 64)), maxBytes, c.w)
	return e, ok
}

func (c *contents) computedMap(name string, a *hclsyntax.Attribute, maxBytes int) []mapEntry {
	r := a.Expr.Range()
	u := c.l.uses(a.Expr, c.w, false)
	if !u.ok {
		return nil
	}
	if u.secret() { // and is not evaluated: see evalPublic
		c.l.fail("catalog.secret_place", "Secret not allowed here", r, c.w, "%s is computed and refers to %s. Write the map out, %s = { NAME = … }, so that each value is a secret or not.", name, u.secrets[0], name)
		return nil
	}
	v, ok := c.l.evalUsing(a.Expr, c.w, u)
	if !ok || v.IsNull() {
		return nil
	}
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		c.wrongType(name, r, v, "a map of texts")
		return nil
	}
	var out []mapEntry
	for it := v.ElementIterator(); it.Next(); {
		k, x := it.Element()
		e := mapEntry{key: asString(k), keyRange: r, valueRange: r}
		what := fmt.Sprintf("%s[%s]", name, diag.Quote(e.key, 64))
		if x.IsNull() || x.Type() != cty.String {
			c.wrongType(what, r, x, "a text")
			continue
		}
		e.value = PlainText(asString(x))
		if c.l.checkPlain("a key of "+name, e.key, 1024, r, c.w) && c.l.checkPlain(what, asString(x), maxBytes, r, c.w) {
			out = append(out, e)
		}
	}
	return out
}
