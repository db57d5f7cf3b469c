package mcpheader

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Header is one header line. Value is already encoded.
type Header struct{ Name, Value string }

// Prefix is what every mirrored parameter's header begins with.
const Prefix = "Mcp-Param-"

// maxInt is the largest whole number, both ways, that every peer reads exactly: 2^53-1.
const maxInt = 1<<53 - 1

// Values returns the headers of a call with these arguments, in the order of params; Name includes Prefix. A value that
// is absent at any step or null has no header; an empty string has an empty one. Numbers are written by value: 1e3 is
// 1000. The error names a parameter whose value is of another type than declared, or a number beyond ±(2^53-1).
//
// Nil arguments are an empty object.
func Values(params []Param, arguments strictjson.Value) ([]Header, error) {
	var out []Header
	for _, p := range params {
		v, ok := lookup(arguments, p.Path)
		if !ok || v.Kind() == strictjson.KindNull {
			continue
		}
		text, err := p.text(v)
		if err != nil {
			return nil, fmt.Errorf("argument %s for header %s%s: %w", pathText(p.Path), Prefix, cut(p.Header), err)
		}
		out = append(out, Header{Name: Prefix + p.Header, Value: Encode(text)})
	}
	return out, nil
}

func lookup(v strictjson.Value, path []string) (strictjson.Value, bool) {
	for _, step := range path {
		next, ok := v.Get(step)
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

func (p Param) text(v strictjson.Value) (string, error) {
	switch p.Type {
	case "string":
		if s, ok := v.Text(); ok {
			return s, nil
		}
	case "boolean":
		if b, ok := v.Bool(); ok {
			return strconv.FormatBool(b), nil
		}
	case "integer":
		if v.Kind() != strictjson.KindNumber {
			break
		}
		n, ok := v.Int()
		if !ok || n > maxInt || n < -maxInt {
			return "", errors.New("number is not a whole one within ±(2^53-1)")
		}
		return strconv.FormatInt(n, 10), nil
	}
	return "", fmt.Errorf("got %s, want %s", v.Kind(), p.Type)
}
