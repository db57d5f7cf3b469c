package mcp

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// ParseTool reads one tool definition, for example a pinned one: one JSON object as tools/list gives it, with no more
// around it than white space. It is as strict as the client is, and keeps a copy of the bytes. The default limits hold.
//
// The error is a *ProtocolError or a *LimitError.
func ParseTool(definition []byte) (*Tool, error) {
	_, t, err := parseItem(slices.Clone(definition), decodeTool)
	return t, err
}

func decodeTool(v strictjson.Value, lim *Limits) (*Tool, *fault) {
	name, f := decodeKey(v, "tool", "name", lim.NameBytes)
	if f != nil {
		return nil, f
	}
	t := &Tool{Wire: Wire{v}, Name: name, use: &toolUse{}}
	if f := t.decodeMembers(v, lim); f != nil {
		return nil, f.of("tool", t.Name)
	}
	t.use.received = *t
	return t, nil
}

func (t *Tool) decodeMembers(v strictjson.Value, lim *Limits) *fault {
	for e := v.Fields(); e.Next(); {
		m := e.Value
		var f *fault
		switch string(e.Name) {
		case "title":
			t.Title, f = asOptional("title", m)
		case "description":
			t.Description, f = asOptional("description", m)
		case "icons":
			t.Icons, f = decodeIcons(m)
		case "inputSchema":
			t.InputSchema = jsontext.Value(m)
			if f = checkSchema("inputSchema", t.Name, m, lim); f == nil {
				f = checkRootType(m).under("inputSchema")
			}
		case "outputSchema":
			t.OutputSchema = jsontext.Value(m)
			f = checkSchema("outputSchema", t.Name, m, lim)
		case "annotations":
			t.Annotations, f = decodeToolAnnotations(m)
			f = f.under("annotations")
		case "_meta":
			t.Meta, f = decodeMeta(m)
		}
		if f != nil {
			return f
		}
	}
	if t.InputSchema == nil {
		return missing("inputSchema", "an object")
	}
	return nil
}

// checkSchema checks what the protocol itself asks of a schema: that it is an object, with a string $schema if any.
// Whether it is a valid JSON Schema is for those who use it.
func checkSchema(key, tool string, v strictjson.Value, lim *Limits) *fault {
	if f := asObject(key, v); f != nil {
		return f
	}
	switch {
	case len(v) > lim.SchemaBytes:
		return tooMuchf(lim.SchemaBytes, "bytes", "%s of tool %s", key, peer(tool))
	case deeper(v, lim.SchemaDepth):
		return tooMuchf(lim.SchemaDepth, "levels", "%s of tool %s", key, peer(tool))
	}
	if dialect, ok := v.Get("$schema"); ok {
		_, f := asString("$schema", dialect)
		return f.under(key)
	}
	return nil
}

func checkRootType(schema strictjson.Value) *fault {
	v, ok := schema.Get("type")
	if !ok {
		return missing("type", `"object"`)
	}
	if s, _ := v.Text(); s != "object" {
		return faultf(`is %s other than "object", want "object"`, kindName(v)).under("type")
	}
	return nil
}

// deeper reports whether the checked text v nests objects and arrays more than limit deep.
func deeper(v []byte, limit int) bool {
	depth, inString := 0, false
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch {
		case inString:
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

func decodeToolAnnotations(v strictjson.Value) (*ToolAnnotations, *fault) {
	if v.Kind() != strictjson.KindObject {
		return nil, faultf("is %s, want an object", kindName(v))
	}
	a := &ToolAnnotations{Wire: Wire{v}}
	for e := v.Fields(); e.Next(); {
		m := e.Value
		var hint **bool
		switch string(e.Name) {
		case "title":
			var f *fault
			if a.Title, f = asOptional("title", m); f != nil {
				return nil, f
			}
			continue
		case "readOnlyHint":
			hint = &a.ReadOnlyHint
		case "destructiveHint":
			hint = &a.DestructiveHint
		case "idempotentHint":
			hint = &a.IdempotentHint
		case "openWorldHint":
			hint = &a.OpenWorldHint
		default:
			continue
		}
		b, f := asBool(string(e.Name), m)
		if f != nil {
			return nil, f
		}
		*hint = &b
	}
	return a, nil
}
