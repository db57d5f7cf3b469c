package digest

import "github.com/mcpcat-dev/mcpcat/internal/strictjson"

// AppendPreimage appends the bytes whose SHA-256 OfItem returns: the line "mcpcat:<kind>:v1\n" and the canonical form.
// They are for a person who wants to see what a digest covers. The errors are those of OfItem; after one, what was
// appended is of no use.
func AppendPreimage(dst []byte, kind Kind, definition []byte) ([]byte, error) {
	definition, err := gated(kind, definition)
	if err != nil {
		return dst, err
	}
	return strictjson.AppendCanonicalObject(appendLine(dst, kind), definition, strictjson.Limits{})
}

// AppendJSONPreimage appends the bytes whose SHA-256 OfJSON returns. The errors are those of OfJSON;
// after one, what was appended is of no use.
func AppendJSONPreimage(dst []byte, kind Kind, src []byte, lim strictjson.Limits) ([]byte, error) {
	return strictjson.AppendCanonical(appendLine(dst, kind), src, lim)
}

// gated returns the part of a definition that the gate compares.
func gated(kind Kind, definition []byte) ([]byte, error) {
	if kind != KindResource {
		return definition, nil
	}
	v, err := strictjson.Parse(definition, strictjson.Limits{})
	if err != nil {
		return nil, err
	}
	return withoutVolatile(v), nil
}
