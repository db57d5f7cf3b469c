package plan

import "github.com/mcpcat-dev/mcpcat/internal/strictjson"

// Looks reports whether a file looks like a plan document, whole or not as it should be: it is a JSON object that says so.
// It is for those who are about to replace a file or to tell what it is; Decode checks.
func Looks(src []byte) bool {
	v, err := strictjson.Parse(src, limits)
	return err == nil && v.Kind() == strictjson.KindObject && member(v, "kind") == Kind
}
