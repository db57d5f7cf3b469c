package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// ValueKind tells what a Value is.
type ValueKind int

// The kinds of values.
const (
	ValueNull ValueKind = iota
	ValueText
	ValueNumber
	ValueBool
	ValueList
	ValueSet
	ValueMap
	ValueReference // to a server, an item, a toolset or a policy
	ValueSensitive // refers to a secret; nothing else is said of it
)

// Value is the value of an expression, in plain Go. The zero Value is null.
type Value struct {
	Kind ValueKind
	// Text is the text, the decimal digits of a number, or the address that a reference stands for.
	Text string
	Bool bool
	// Elements are those of a list, of a set in its order, or of a map behind its Keys, which are sorted.
	Elements []Value
	Keys     []string
}

const (
	// valueColumns is the longest list or map that is written on one line.
	valueColumns = 80
	// valueIndents is how deep lists and maps are indented. Further in they stand on one line, however long.
	valueIndents = 32
)

// plainValue takes a value out of cty. ok is false if a part of it is unknown or of a type that has no Value.
func plainValue(v cty.Value) (out Value, ok bool) {
	if v.IsNull() {
		return Value{}, true
	}
	if !v.IsKnown() || v.IsMarked() {
		return Value{}, false
	}
	switch t := v.Type(); {
	case t == cty.String:
		return Value{Kind: ValueText, Text: asString(v)}, true
	case t == cty.Number:
		return Value{Kind: ValueNumber, Text: numberOf(v).Text('f', -1)}, true
	case t == cty.Bool:
		return Value{Kind: ValueBool, Bool: v.True()}, true
	case t.IsSetType():
		out.Kind = ValueSet
	case isSequence(t):
		out.Kind = ValueList
	case t.IsObjectType(), t.IsMapType():
		if address, ok := referenceOf(v); ok {
			return Value{Kind: ValueReference, Text: address}, true
		}
		out.Kind = ValueMap
	default:
		return Value{}, false
	}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		x, ok := plainValue(e)
		if !ok {
			return Value{}, false
		}
		if out.Kind == ValueMap {
			out.Keys = append(out.Keys, asString(k))
		}
		out.Elements = append(out.Elements, x)
	}
	return out, true
}

// referenceOf returns the address of an object of the scope, as people write it. Objects of a catalog's own that have an
// address and something else are none.
func referenceOf(v cty.Value) (string, bool) {
	address, ok := addressOf(v)
	if !ok {
		return "", false
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if !v.Type().HasAttribute(name) {
				return false
			}
		}
		return true
	}
	if s, err := addr.ParseServer(address); err == nil && has("label", string(addr.Tool)) {
		return s.String(), true
	}
	if i, err := addr.ParseItem(address); err == nil && has("name") {
		return i.String(), true
	}
	root, name, _ := strings.Cut(address, ".")
	return address, (root == "toolset" && has(listName(addr.Tool)) || root == "policy" && has("on")) && addr.ValidLabel(name)
}

// String returns the value in the syntax of the catalog language, without a line end behind it: a short list or map on one
// line, a long one over several. A secret is (sensitive), a reference its address. Characters that cannot be seen are
// written as escapes, and so is what a CI runner would obey.
func (v Value) String() string {
	var b strings.Builder
	v.write(&b, 0)
	if !strings.Contains(b.String(), "\n") {
		return b.String()
	}
	return formatExpression([]byte(b.String()))
}

func (v Value) write(b *strings.Builder, indent int) {
	if len(v.Elements) == 0 {
		v.inline(b, 0)
		return
	}
	var line strings.Builder
	switch {
	case indent == valueIndents:
		v.inline(b, 0)
		return
	case v.inline(&line, valueColumns-2*indent):
		b.WriteString(line.String())
		return
	}
	open, shut := v.brackets()
	b.WriteString(open + "\n")
	for i, e := range v.Elements {
		b.WriteString(strings.Repeat("  ", indent+1))
		if v.Kind == ValueMap {
			b.WriteString(keyText(v.Keys[i]) + " = ")
		}
		e.write(b, indent+1)
		if v.Kind != ValueMap {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString(strings.Repeat("  ", indent) + shut)
}

func (v Value) brackets() (open, shut string) {
	switch v.Kind {
	case ValueSet:
		return "toset([", "])"
	case ValueMap:
		return "{", "}"
	}
	return "[", "]"
}

// inline writes the value on one line. It gives up and returns false behind most bytes; 0 means no limit.
func (v Value) inline(b *strings.Builder, most int) bool {
	switch v.Kind {
	case ValueNull:
		b.WriteString("null")
	case ValueText:
		if most > 0 && len(v.Text) > most {
			return false
		}
		b.WriteString(quoted(v.Text))
	case ValueNumber, ValueReference:
		b.WriteString(v.Text)
	case ValueBool:
		b.WriteString(strconv.FormatBool(v.Bool))
	case ValueSensitive:
		b.WriteString(secret.Mask)
	default:
		open, shut := v.brackets()
		space := ""
		if v.Kind == ValueMap && len(v.Elements) > 0 {
			space = " "
		}
		b.WriteString(open + space)
		for i, e := range v.Elements {
			if i > 0 {
				b.WriteString(", ")
			}
			if v.Kind == ValueMap {
				b.WriteString(keyText(v.Keys[i]) + " = ")
			}
			if !e.inline(b, most) || most > 0 && b.Len() > most {
				return false
			}
		}
		b.WriteString(space + shut)
	}
	return most == 0 || b.Len() <= most
}

// quoted is a text of the language that no CI runner obeys.
func quoted(s string) string {
	q := addr.Quote(s)
	if strings.Contains(q, "##") {
		q = strings.ReplaceAll(q, "#", `\u0023`)
	}
	return q
}

// keyText is a key of a map: bare where the language takes it for a name.
func keyText(s string) string {
	switch s {
	case "for", "if", "in", "null", "true", "false":
		return quoted(s)
	}
	if !plainName(s, false) || !hclsyntax.ValidIdentifier(s) {
		return quoted(s)
	}
	return s
}

// MarshalJSON returns the value as JSON: numbers with all their digits, sets as lists, a reference as {"address": …}. A
// secret has no JSON value, and marshalling one is an error.
func (v Value) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := v.appendJSON(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (v Value) appendJSON(b *bytes.Buffer) error {
	text := func(s string) {
		// A Go string always has a JSON form.
		raw, _ := json.Marshal(s)
		b.Write(raw)
	}
	switch v.Kind {
	case ValueNull:
		b.WriteString("null")
	case ValueText:
		text(v.Text)
	case ValueNumber:
		b.WriteString(v.Text)
	case ValueBool:
		b.WriteString(strconv.FormatBool(v.Bool))
	case ValueReference:
		b.WriteString(`{"address":`)
		text(v.Text)
		b.WriteByte('}')
	case ValueList, ValueSet, ValueMap:
		open, shut := byte('['), byte(']')
		if v.Kind == ValueMap {
			open, shut = '{', '}'
		}
		b.WriteByte(open)
		for i, e := range v.Elements {
			if i > 0 {
				b.WriteByte(',')
			}
			if v.Kind == ValueMap {
				text(v.Keys[i])
				b.WriteByte(':')
			}
			if err := e.appendJSON(b); err != nil {
				return err
			}
		}
		b.WriteByte(shut)
	default:
		return errors.New("a secret has no JSON value")
	}
	return nil
}
