package mcp

import (
	"math/big"
	"net/mail"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// form is the schema of a form: a flat object whose fields are of simple types.
type form struct {
	fields   map[string]*formField
	required []string
}

// formField is one field of a form.
type formField struct {
	typ      string // string, number, integer, boolean or array
	format   string // of a string, "" for any
	options  []string
	choice   bool   // options are all there is, for a string or for each element of an array
	min, max *int64 // length in code points, or number of elements
	low      strictjson.Value
	high     strictjson.Value
}

// formFormats are the formats that a string may be asked for in, with their checks.
var formFormats = map[string]func(string) bool{
	"email": func(s string) bool {
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s
	},
	"uri":       isURI,
	"date":      func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil },
	"date-time": func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil },
}

// isURI reports whether s is an absolute URI, as far as net/url can tell.
func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs()
}

// decodeForm reads a requestedSchema.
//
// Spec: 2026-07-28 schema ElicitRequestFormParams, PrimitiveSchemaDefinition.
func decodeForm(schema strictjson.Value) (*form, *fault) {
	if schema.Kind() != strictjson.KindObject {
		return nil, faultf("is %s, want an object", kindName(schema))
	}
	if f := checkRootType(schema); f != nil {
		return nil, f
	}
	if dialect, ok := schema.Get("$schema"); ok {
		if _, f := asString("$schema", dialect); f != nil {
			return nil, f
		}
	}
	properties, ok := schema.Get("properties")
	if !ok {
		return nil, missing("properties", "an object")
	}
	if f := asObject("properties", properties); f != nil {
		return nil, f
	}
	out := &form{fields: map[string]*formField{}}
	for name, p := range properties.Members() {
		field, f := decodeFormField(name, p)
		if f != nil {
			return nil, f.under("properties")
		}
		out.fields[name] = field
	}
	if v, ok := schema.Get("required"); ok {
		var f *fault
		if out.required, f = asStrings("required", v); f != nil {
			return nil, f
		}
	}
	return out, nil
}

func decodeFormField(name string, p strictjson.Value) (*formField, *fault) {
	if f := asObject(name, p); f != nil {
		return nil, f
	}
	typ := textOf(p, "type")
	field := &formField{typ: typ}
	var f *fault
	switch typ {
	case "string":
		f = field.decodeString(p)
	case "number", "integer":
		f = field.decodeNumber(p)
	case "boolean":
		f = eachMember(p, func(key string, m strictjson.Value) *fault {
			if key == "default" {
				_, f := asBool(key, m)
				return f
			}
			return nil
		})
	case "array":
		f = field.decodeArray(p)
	default:
		f = faultf("has no type that a field of a form may have")
	}
	if f == nil {
		f = eachMember(p, func(key string, m strictjson.Value) *fault {
			if key == "title" || key == "description" {
				_, f := asString(key, m)
				return f
			}
			return nil
		})
	}
	if f != nil {
		return nil, f.under(name)
	}
	return field, nil
}

func eachMember(v strictjson.Value, check func(string, strictjson.Value) *fault) *fault {
	for key, m := range v.Members() {
		if f := check(key, m); f != nil {
			return f
		}
	}
	return nil
}

func (field *formField) decodeString(p strictjson.Value) *fault {
	lists := 0
	f := eachMember(p, func(key string, m strictjson.Value) *fault {
		var f *fault
		switch key {
		case "minLength":
			field.min, f = asCount(key, m)
		case "maxLength":
			field.max, f = asCount(key, m)
		case "format":
			if field.format, f = asString(key, m); f == nil && formFormats[field.format] == nil {
				f = faultf(`is %s, want "email", "uri", "date" or "date-time"`, peer(field.format)).under(key)
			}
		case "default":
			_, f = asString(key, m)
		case "enumNames":
			_, f = asStrings(key, m)
		case "enum":
			lists++
			field.choice = true
			field.options, f = asStrings(key, m)
		case "oneOf":
			lists++
			field.choice = true
			field.options, f = asTitled(key, m)
		}
		return f
	})
	if f == nil && lists > 1 {
		f = faultf("has both enum and oneOf, want one of them")
	}
	return f
}

func (field *formField) decodeNumber(p strictjson.Value) *fault {
	return eachMember(p, func(key string, m strictjson.Value) *fault {
		var f *fault
		switch key {
		case "minimum":
			field.low, f = m, wantNumber(key, m)
		case "maximum":
			field.high, f = m, wantNumber(key, m)
		case "default":
			f = wantNumber(key, m)
		}
		return f
	})
}

func (field *formField) decodeArray(p strictjson.Value) *fault {
	f := eachMember(p, func(key string, m strictjson.Value) *fault {
		var f *fault
		switch key {
		case "minItems":
			field.min, f = asCount(key, m)
		case "maxItems":
			field.max, f = asCount(key, m)
		case "default":
			_, f = asStrings(key, m)
		case "items":
			f = field.decodeItems(m).under(key)
		}
		return f
	})
	if f == nil && !field.choice {
		f = missing("items", "an object")
	}
	return f
}

// decodeItems reads what the elements of a multiple choice are.
func (field *formField) decodeItems(v strictjson.Value) *fault {
	if v.Kind() != strictjson.KindObject {
		return faultf("is %s, want an object", kindName(v))
	}
	field.choice = true
	enum, hasEnum := v.Get("enum")
	anyOf, hasAny := v.Get("anyOf")
	var f *fault
	switch {
	case hasEnum && hasAny:
		return faultf("has both enum and anyOf, want one of them")
	case hasAny:
		field.options, f = asTitled("anyOf", anyOf)
		return f
	case !hasEnum:
		return missing("enum", "an array of strings")
	}
	if t, _ := v.Get("type"); string(t) != `"string"` {
		return faultf(`is %s other than "string", want "string"`, kindName(t)).under("type")
	}
	field.options, f = asStrings("enum", enum)
	return f
}

// asTitled reads an array of choices with a title each.
func asTitled(name string, v strictjson.Value) ([]string, *fault) {
	if f := asArray(name, v); f != nil {
		return nil, f
	}
	options := []string{}
	for e := range v.Elements() {
		f := asObject("", e)
		if f != nil {
			return nil, faultf("is %s, want an object", kindName(e)).at(len(options)).under(name)
		}
		if f = needString(e, "const"); f == nil {
			f = needString(e, "title")
		}
		if f != nil {
			return nil, f.at(len(options)).under(name)
		}
		c, _ := e.Get("const")
		s, _ := c.Text()
		options = append(options, s)
	}
	return options, nil
}

func asCount(name string, v strictjson.Value) (*int64, *fault) {
	n, ok := v.Int()
	if !ok || n < 0 {
		return nil, faultf("is no whole number >= 0").under(name)
	}
	return &n, nil
}

func wantNumber(name string, v strictjson.Value) *fault {
	if v.Kind() != strictjson.KindNumber {
		return faultf("is %s, want a number", kindName(v)).under(name)
	}
	return nil
}

// ratOf is a number exactly, nil if v is none. Its size is bounded by the bounds of strictjson.
func ratOf(v strictjson.Value) *big.Rat {
	text, ok := v.Number()
	if !ok {
		return nil
	}
	r, _ := new(big.Rat).SetString(text)
	return r
}

// check holds what was filled in against the form. A field that the form does not have is refused: nobody asked for it.
func (s *form) check(content strictjson.Value) *fault {
	filled := map[string]bool{}
	for name, v := range content.Members() {
		filled[name] = true
		field := s.fields[name]
		if field == nil {
			return faultf("is no field of the form").under(name)
		}
		if f := field.check(v); f != nil {
			return f.under(name)
		}
	}
	for _, name := range s.required {
		if !filled[name] {
			return missing(name, "a value, as the form requires")
		}
	}
	return nil
}

func (field *formField) check(v strictjson.Value) *fault {
	switch field.typ {
	case "string":
		s, ok := v.Text()
		if !ok {
			return faultf("is %s, want a string", kindName(v))
		}
		return field.checkString(s)
	case "boolean":
		if _, ok := v.Bool(); !ok {
			return faultf("is %s, want true or false", kindName(v))
		}
		return nil
	case "array":
		return field.checkArray(v)
	}
	n, low, high := ratOf(v), ratOf(field.low), ratOf(field.high)
	switch {
	case n == nil:
		return faultf("is %s, want a number", kindName(v))
	case field.typ == "integer" && !n.IsInt():
		return faultf("is no whole number")
	case low != nil && n.Cmp(low) < 0:
		return faultf("is less than the form's minimum")
	case high != nil && n.Cmp(high) > 0:
		return faultf("is more than the form's maximum")
	}
	return nil
}

func (field *formField) checkString(s string) *fault {
	length := int64(utf8.RuneCountInString(s))
	switch {
	case field.min != nil && length < *field.min:
		return faultf("is shorter than the form's minLength")
	case field.max != nil && length > *field.max:
		return faultf("is longer than the form's maxLength")
	case field.choice && !slices.Contains(field.options, s):
		return faultf("is none of the form's choices")
	case field.format != "" && !formFormats[field.format](s):
		return faultf("is not of the format %q", field.format)
	}
	return nil
}

func (field *formField) checkArray(v strictjson.Value) *fault {
	if v.Kind() != strictjson.KindArray {
		return faultf("is %s, want an array of strings", kindName(v))
	}
	n := 0
	for e := range v.Elements() {
		s, ok := e.Text()
		switch {
		case !ok:
			return faultf("is %s, want a string", kindName(e)).at(n)
		case !slices.Contains(field.options, s):
			return faultf("is none of the form's choices").at(n)
		}
		n++
	}
	switch {
	case field.min != nil && int64(n) < *field.min:
		return faultf("has fewer elements than the form's minItems")
	case field.max != nil && int64(n) > *field.max:
		return faultf("has more elements than the form's maxItems")
	}
	return nil
}
