// Package schema holds the JSON Schemas of the documents that mcpcat prints, for people and programs that read them, and
// for mcpcat schema.
//
// The files beside it are draft 2020-12. A file may refer to definitions of another one; Of returns schemas that stand
// alone. Objects are closed (additionalProperties false) except what a server wrote. It decides nothing and imports
// nothing of the module.
package schema

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed *.schema.json
var files embed.FS

const suffix = ".schema.json"

// Kinds returns the kinds of documents that have a schema, sorted. A kind is the member kind of its documents.
func Kinds() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // embedded
	}
	kinds := make([]string, 0, len(entries))
	for _, e := range entries {
		kinds = append(kinds, strings.TrimSuffix(e.Name(), suffix))
	}
	slices.Sort(kinds)
	return kinds
}

// Title returns the title of the schema of a kind; empty if there is none.
func Title(kind string) string {
	var s struct {
		Title string `json:"title"`
	}
	b, err := files.ReadFile(kind + suffix)
	if err != nil || json.Unmarshal(b, &s) != nil {
		return ""
	}
	return s.Title
}

var (
	foreign = regexp.MustCompile(`"\$ref": "([a-z_]+)\.schema\.json#/\$defs/([a-z_]+)"`)
	own     = regexp.MustCompile(`"\$ref": "#/\$defs/([a-z_]+)"`)
	// lastMember is the end of a file whose last member is $defs.
	lastMember = regexp.MustCompile(`\n?\s*\}\s*\}\s*$`)
)

// Of returns the schema of a kind. What it refers to in other files has become part of its $defs.
func Of(kind string) ([]byte, error) {
	text, err := files.ReadFile(kind + suffix)
	if err != nil {
		return nil, fmt.Errorf("there is no schema of kind %q", kind)
	}
	defs, err := definitions(kind)
	if err != nil {
		return nil, err
	}
	b := bundle{has: map[string]string{}}
	for name := range defs {
		b.has[name] = kind
	}
	text, err = b.localise(kind, text)
	if err != nil {
		return nil, err
	}
	for len(b.missing) > 0 {
		next := b.missing[0]
		b.missing = b.missing[1:]
		from, err := definitions(next.kind)
		if err != nil {
			return nil, err
		}
		def, ok := from[next.name]
		if !ok {
			return nil, fmt.Errorf("%s%s has no definition %s", next.kind, suffix, next.name)
		}
		def, err = b.localise(next.kind, def)
		if err != nil {
			return nil, err
		}
		comma := ","
		if len(defs) == 0 && len(b.added) == 0 {
			comma = ""
		}
		b.added = fmt.Appendf(b.added, "%s\n%q: %s", comma, next.name, def)
	}
	at := lastMember.FindIndex(text)
	if at == nil {
		return nil, fmt.Errorf("%s%s does not end with its definitions", kind, suffix)
	}
	whole := slices.Concat(text[:at[0]], b.added, []byte("}}"))
	var out bytes.Buffer
	if err := json.Indent(&out, whole, "", "  "); err != nil {
		return nil, fmt.Errorf("%s%s: %w", kind, suffix, err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func definitions(kind string) (map[string]json.RawMessage, error) {
	var s struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	b, err := files.ReadFile(kind + suffix)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", kind, suffix, err)
	}
	return s.Defs, nil
}

// bundle gathers the definitions of other files that a schema needs.
type bundle struct {
	has     map[string]string // the file that a definition is from
	missing []definition      // named, and not added yet
	added   []byte
}

type definition struct{ kind, name string }

// localise makes all references of a text of the file kind references within the bundle.
func (b *bundle) localise(kind string, text []byte) ([]byte, error) {
	var err error
	need := func(from, name string) {
		switch had, ok := b.has[name]; {
		case !ok:
			b.has[name] = from
			b.missing = append(b.missing, definition{from, name})
		case had != from:
			err = fmt.Errorf("two definitions %s, of %s and %s", name, had, from)
		}
	}
	for _, m := range own.FindAllSubmatch(text, -1) {
		need(kind, string(m[1]))
	}
	text = foreign.ReplaceAllFunc(text, func(ref []byte) []byte {
		m := foreign.FindSubmatch(ref)
		need(string(m[1]), string(m[2]))
		return fmt.Appendf(nil, `"$ref": "#/$defs/%s"`, m[2])
	})
	return text, err
}
