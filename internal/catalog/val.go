package catalog

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"golang.org/x/text/unicode/norm"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// Values leave cty in this file only. Nothing here formats a cty.Value.

// asString returns a known string value; everything else is a bug of the caller.
func asString(v cty.Value) string { return v.AsString() }

func numberOf(v cty.Value) *big.Float { return v.AsBigFloat() }

// typeName is the type in the words of the language.
func typeName(v cty.Value) string {
	if v == cty.NilVal || v.IsNull() {
		return "null"
	}
	switch t := v.Type(); {
	case t == cty.String:
		return "a text"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "true or false"
	case isSequence(t):
		return "a list"
	case t.IsObjectType(), t.IsMapType():
		if _, ok := referenceOf(v); ok {
			return "a reference"
		}
		return "a map"
	}
	return "something else"
}

// jsonOf returns the JSON of a value that is known and not secret.
func jsonOf(v cty.Value) (json.RawMessage, error) {
	return ctyjson.Marshal(v, v.Type())
}

// attributeNames are the names that a value has behind a dot or in brackets.
func attributeNames(v cty.Value) []string {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return nil
	}
	return keys(v.AsValueMap())
}

// secretsIn appends a secret for every text in a secret value, keys of maps included, and for every number, as it would be
// written.
func secretsIn(list []secret.String, v cty.Value, ref string) []secret.String {
	if v == cty.NilVal || !v.IsWhollyKnown() || v.IsNull() {
		return list
	}
	_ = cty.Walk(v, func(_ cty.Path, e cty.Value) (bool, error) { // the function returns no error
		if e.IsNull() {
			return true, nil
		}
		texts := []cty.Value{e}
		if e.Type().IsMapType() {
			texts = nil
			for it := e.ElementIterator(); it.Next(); {
				k, _ := it.Element()
				texts = append(texts, k)
			}
		}
		for _, t := range texts {
			if t.Type() != cty.String && t.Type() != cty.Number {
				continue
			}
			if s, err := convert.Convert(t, cty.String); err == nil && asString(s) != "" {
				list = append(list, secret.New(asString(s), ref))
			}
		}
		return true, nil
	})
	return list
}

// faithful reports whether cty keeps s as it is.
func faithful(s string) bool { return utf8.ValidString(s) && norm.NFC.IsNormalString(s) }

// value evaluates an argument that must not be secret. ok is false if it is absent, null, or in error; null counts as
// absent.
func (c *contents) value(name string) (cty.Value, bool) {
	v, ok := c.valueOrNull(name)
	return v, ok && !v.IsNull()
}

func (c *contents) valueOrNull(name string) (cty.Value, bool) {
	a := c.args[name]
	if a == nil {
		return cty.NilVal, false
	}
	v, ok := c.l.evalPublic(name, a.Expr, c.w, false)
	return v, ok && c.notNull(name, v)
}

// notNull reports null for an argument whose absence would lift what it restricts.
func (c *contents) notNull(name string, v cty.Value) bool {
	if arg := c.typ.argument(name); !v.IsNull() || arg == nil || !arg.NotNull {
		return true
	}
	c.l.fail("catalog.null", "Null not allowed", c.exprRange(name), c.w, "%s is null, which would lift what it restricts. Give it a value, or leave the argument out where nothing is to be restricted.", name)
	return false
}

// evalPublic evaluates an expression that must not be secret. A secret one is not evaluated: whether that has a value would
// tell something about the secret.
func (l *loader) evalPublic(name string, e hclsyntax.Expression, w where, servers bool) (cty.Value, bool) {
	u := l.uses(e, w, servers)
	if !u.ok || !l.public(name, e.Range(), w, u) {
		return cty.NilVal, false
	}
	return l.evalUsing(e, w, u)
}

// public reports an expression that is secret where no secret may stand.
func (l *loader) public(name string, r hcl.Range, w where, u *uses) bool {
	if !u.secret() {
		return true
	}
	l.fail("catalog.secret_place", "Secret not allowed here", r, w,
		"%s refers to %s, so its whole value is secret. Secrets may stand in the values of headers and env, in the auth block, in the path and query of url, and in the user information of proxy.", name, u.secrets[0])
	return false
}

func (c *contents) wrongType(name string, r hcl.Range, got cty.Value, want string) {
	c.l.fail("catalog.type", "Wrong type", r, c.w, "%s is %s, want %s.%s", name, typeName(got), want, typeHint(name, got, want))
}

// text returns a text argument, checked for characters that nobody sees. ok is false if it is absent or in error.
func (c *contents) text(name string, maxBytes int) (string, bool) {
	v, ok := c.value(name)
	if !ok {
		return "", false
	}
	return c.textOf(name, v, maxBytes)
}

// required is text for an argument that must be there.
func (c *contents) required(name string, maxBytes int) (string, bool) {
	if c.args[name] == nil {
		c.l.fail("catalog.missing", "Missing argument", c.body.MissingItemRange(), c.w, "The block needs %s.", name)
		return "", false
	}
	v, ok := c.valueOrNull(name)
	if !ok {
		return "", false
	}
	if v.IsNull() {
		c.l.fail("catalog.null", "Null not allowed", c.exprRange(name), c.w, "%s is null, want a text.", name)
		return "", false
	}
	return c.textOf(name, v, maxBytes)
}

func (c *contents) textOf(name string, v cty.Value, maxBytes int) (string, bool) {
	r := c.args[name].Expr.Range()
	if v.Type() != cty.String {
		c.wrongType(name, r, v, "a text")
		return "", false
	}
	s := asString(v)
	return s, c.l.checkPlain(name, s, maxBytes, r, c.w)
}

// checkPlain refuses texts that are too long or hold what a reader cannot see.
func (l *loader) checkPlain(name, s string, maxBytes int, r hcl.Range, w where) bool {
	if len(s) > maxBytes {
		l.fail("catalog.limit", "Value too large", r, w, "%s has %d bytes, at most %d are allowed.", name, len(s), maxBytes)
		return false
	}
	if _, bad, found := diag.Concealed(s); found {
		l.fail("catalog.text", "Character not allowed in a catalog", r, w, "%s contains U+%04X, which readers cannot see.", name, bad)
		return false
	}
	return true
}

func (c *contents) boolean(name string, fallback bool) bool {
	v, ok := c.value(name)
	if !ok {
		return fallback
	}
	if v.Type() != cty.Bool {
		c.wrongType(name, c.args[name].Expr.Range(), v, "true or false")
		return fallback
	}
	return v.True()
}

// word returns a text argument that must be one of the values that the language allows. The fallback holds if it is absent
// or in error.
func (c *contents) word(name, fallback string) string {
	s, ok := c.text(name, 64)
	if !ok || !c.allowed(name, s, c.exprRange(name)) {
		return fallback
	}
	return s
}

// allowed reports a text that is none of the values of an argument.
func (c *contents) allowed(name, s string, r hcl.Range) bool {
	values := c.typ.argument(name).Values
	if slices.Contains(values, s) {
		return true
	}
	hint := ""
	if near := nearest(s, values); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	c.l.fail("catalog.value", "Invalid value", r, c.w, "%s must be %s.%s", name, strings.Join(quoted, " or "), hint)
	return false
}

// duration returns a text such as "20s" between least and most. ok is false if it is absent or in error.
func (c *contents) duration(name string, least, most time.Duration) (time.Duration, bool) {
	v, ok := c.value(name)
	if ok && v.Type() == cty.Number {
		c.l.fail("catalog.type", "Wrong type", c.exprRange(name), c.w, "%s is a number, want a text with a unit, such as \"20s\".", name)
		return 0, false
	}
	if !ok {
		return 0, false
	}
	s, ok := c.textOf(name, v, 64)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		c.l.fail("catalog.value", "Invalid duration", c.args[name].Expr.Range(), c.w, "%s must be a duration with a unit, such as \"500ms\", \"20s\" or \"2m\".", name)
		return 0, false
	}
	if d < least || d > most {
		c.l.fail("catalog.value", "Duration out of range", c.args[name].Expr.Range(), c.w, "%s is %s, want %s to %s.", name, d, least, most)
		return 0, false
	}
	return d, true
}

// integer returns a whole number between least and most. ok is false if it is absent or in error.
func (c *contents) integer(name string, least, most int64) (int64, bool) {
	v, ok := c.value(name)
	if !ok {
		return 0, false
	}
	if v.Type() != cty.Number {
		c.wrongType(name, c.exprRange(name), v, "a whole number")
		return 0, false
	}
	n, accuracy := numberOf(v).Int64()
	if accuracy != big.Exact || n < least || n > most {
		c.l.fail("catalog.value", "Number out of range", c.exprRange(name), c.w, "%s must be a whole number from %d to %d.", name, least, most)
		return 0, false
	}
	return n, true
}

type sizeUnit struct {
	name  string
	bytes int64
}

// sizeUnits are the units of sizes, the smallest first.
var sizeUnits = []sizeUnit{{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}

// size returns a text such as "8MiB", or a number of bytes, between least and most. ok is false if it is absent or in error.
func (c *contents) size(name string, least, most int64) (int64, bool) {
	v, ok := c.value(name)
	if !ok {
		return 0, false
	}
	if v.Type() == cty.Number {
		return c.integer(name, least, most)
	}
	s, ok := c.textOf(name, v, 64)
	if !ok {
		return 0, false
	}
	digits := strings.TrimRight(s, "BKMGi")
	n, err := strconv.ParseUint(digits, 10, 31)
	unit := slices.IndexFunc(sizeUnits, func(u sizeUnit) bool { return u.name == s[len(digits):] })
	if err != nil || unit < 0 {
		c.l.fail("catalog.value", "Invalid size", c.exprRange(name), c.w, "%s must be a whole number with a unit, such as \"512B\", \"64KiB\" or \"8MiB\", or a number of bytes.", name)
		return 0, false
	}
	// At most 2^31 of the largest unit: no overflow.
	bytes := int64(n) * sizeUnits[unit].bytes
	if bytes < least || bytes > most {
		c.l.fail("catalog.value", "Size out of range", c.exprRange(name), c.w, "%s is %s, want %s to %s.", name, s, sizeText(least), sizeText(most))
		return 0, false
	}
	return bytes, true
}

// sizeText writes a number of bytes in the largest unit that divides it.
func sizeText(n int64) string {
	u := sizeUnits[0]
	for _, next := range sizeUnits[1:] {
		if n%next.bytes == 0 && n != 0 {
			u = next
		}
	}
	return strconv.FormatInt(n/u.bytes, 10) + u.name
}

func isSequence(t cty.Type) bool { return t.IsTupleType() || t.IsListType() || t.IsSetType() }

// element is one entry of a list argument.
type element struct {
	text string
	rng  hcl.Range
}

// texts returns the entries of a list of texts. present is false if the argument is absent or null.
func (c *contents) texts(name string, maxCount, maxBytes int) (list []element, present bool) {
	v, ok := c.value(name)
	if !ok {
		return nil, false
	}
	if !isSequence(v.Type()) {
		c.wrongType(name, c.exprRange(name), v, "a list of texts")
		return nil, true
	}
	return c.textsOf(name, v, maxCount, maxBytes), true
}

// textOrTexts reads an argument that is a text, or a list of 1 to maxCount texts. An empty list has the code and summary; instead,
// with maxCount in it, says what to write.
func (c *contents) textOrTexts(name string, maxCount, maxBytes int, code, summary, instead string) []element {
	v, ok := c.value(name)
	if !ok {
		return nil
	}
	r := c.exprRange(name)
	switch t := v.Type(); {
	case t == cty.String:
		if s, ok := c.textOf(name, v, maxBytes); ok {
			return []element{{s, r}}
		}
	case !isSequence(t):
		c.wrongType(name, r, v, "a text or a list of texts")
	case v.LengthInt() == 0:
		c.l.fail(code, summary, r, c.w, "%s is empty. "+instead, name, maxCount)
	default:
		return c.textsOf(name, v, maxCount, maxBytes)
	}
	return nil
}

// textsOf is texts for a value that is a list.
func (c *contents) textsOf(name string, v cty.Value, maxCount, maxBytes int) (list []element) {
	expr := c.args[name].Expr
	ranges := elementRanges(expr)
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		_, e := it.Element()
		r := expr.Range()
		if i < len(ranges) {
			r = ranges[i]
		}
		what := fmt.Sprintf("%s[%d]", name, i)
		if e.IsNull() || e.Type() != cty.String {
			c.wrongType(what, r, e, "a text")
			continue
		}
		if s := asString(e); c.l.checkPlain(what, s, maxBytes, r, c.w) {
			list = append(list, element{s, r})
		}
	}
	if i > maxCount {
		c.l.fail("catalog.limit", "List too long", expr.Range(), c.w, "%s has %d entries, at most %d are allowed.", name, i, maxCount)
	}
	return list
}

// elementRanges returns the places of the entries of a list that is written out.
func elementRanges(e hclsyntax.Expression) []hcl.Range {
	t, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		return nil
	}
	var out []hcl.Range
	for _, x := range t.Exprs {
		out = append(out, x.Range())
	}
	return out
}
