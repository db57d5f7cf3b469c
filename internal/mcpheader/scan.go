package mcpheader

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Param is one mirrored parameter of a tool.
type Param struct {
	// Header is the annotation: the header's name without the leading "Mcp-Param-".
	Header string
	// Path leads from the root of the arguments to the value, one member name a step.
	Path []string
	// Type is "string", "integer" or "boolean".
	Type string
}

// annotation is the schema member that marks a mirrored parameter.
const annotation = "x-mcp-header"

// Scan returns the annotated parameters of a tool's inputSchema in the order of the text. The error says why the tool is
// invalid: the annotation is no token of RFC 9110, is used twice (ignoring ASCII case), stands on a property whose type
// is not exactly string, integer or boolean, or stands where a path of properties steps does not lead. A property named
// x-mcp-header is no annotation, and neither is data under const, default, enum and examples.
//
// The schema must have been checked. The cost is that of reading it once for each level of nesting; a schema without the
// annotation, which is nearly every one, is searched for it and no more.
//
// Spec: 2026-07-28 server/tools (x-mcp-header), basic/transports/streamable-http.
func Scan(inputSchema strictjson.Value) ([]Param, error) {
	if !bytes.Contains(inputSchema, []byte(annotation)) && !bytes.Contains(inputSchema, []byte(`\u`)) {
		return nil, nil // neither spelled plainly nor with an escape
	}
	s := scanner{seen: map[string]bool{}}
	if err := s.schema(inputSchema, nil, true); err != nil {
		return nil, err
	}
	return s.params, nil
}

type scanner struct {
	params []Param
	seen   map[string]bool
}

// schema visits one schema. Reached says whether only properties steps lead to it.
func (s *scanner) schema(v strictjson.Value, path []string, reached bool) error {
	if v.Kind() != strictjson.KindObject {
		return nil
	}
	for name, member := range v.Members() {
		var err error
		switch name {
		case annotation:
			err = s.annotated(v, member, path, reached)
		case "const", "default", "enum", "examples":
			// data, not schema
		case "properties":
			err = s.properties(member, path, reached)
		case "patternProperties", "dependentSchemas", "$defs", "definitions", "dependencies":
			err = s.properties(member, path, false)
		default:
			err = s.other(member, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// properties visits the schemas of an object whose member names are not keywords.
func (s *scanner) properties(v strictjson.Value, path []string, reached bool) error {
	if v.Kind() != strictjson.KindObject {
		return s.other(v, path)
	}
	for name, member := range v.Members() {
		if member.Kind() != strictjson.KindObject {
			continue
		}
		if err := s.schema(member, append(slices.Clip(path), name), reached); err != nil {
			return err
		}
	}
	return nil
}

// other visits what stands under another keyword: a schema or a list of schemas, off the path in both cases.
func (s *scanner) other(v strictjson.Value, path []string) error {
	switch v.Kind() {
	case strictjson.KindObject:
		return s.schema(v, path, false)
	case strictjson.KindArray:
		for e := range v.Elements() {
			if err := s.other(e, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scanner) annotated(schema, value strictjson.Value, path []string, reached bool) error {
	where := pathText(path)
	header, ok := value.Text()
	switch {
	case !ok:
		return fmt.Errorf("%s at %s is %s, want a string", annotation, where, value.Kind())
	case header == "":
		return fmt.Errorf("%s at %s is empty", annotation, where)
	case !token(header):
		return fmt.Errorf("%s at %s is no header token, want letters, digits and !#$%%&'*+-.^_`|~ only", annotation, where)
	case !reached || len(path) == 0:
		return fmt.Errorf("%s at %s is not on a property that properties steps alone lead to", annotation, where)
	}
	typ, ok := schema.Get("type")
	name, isText := typ.Text()
	switch {
	case !ok:
		return fmt.Errorf("%s at %s is on a property without type, want string, integer or boolean", annotation, where)
	case !isText || (name != "string" && name != "integer" && name != "boolean"):
		return fmt.Errorf("%s at %s is on a property of another type than string, integer or boolean", annotation, where)
	}
	folded := strings.ToLower(header) // ASCII only, as just checked
	if s.seen[folded] {
		return fmt.Errorf("%s at %s repeats %q", annotation, where, cut(header))
	}
	s.seen[folded] = true
	s.params = append(s.params, Param{Header: header, Path: slices.Clone(path), Type: name})
	return nil
}

func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// pathText names a place in a schema for an error text, at most 256 bytes, in printable ASCII.
func pathText(path []string) string {
	if len(path) == 0 {
		return "the root"
	}
	var b strings.Builder
	for _, step := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(cut(step)))
		if b.Len() > maxExcerpt {
			break
		}
	}
	return strconv.QuoteToASCII(cut(b.String()))
}

const maxExcerpt = 256

func cut(s string) string {
	if len(s) > maxExcerpt/2 {
		return s[:maxExcerpt/2] + "..."
	}
	return s
}
