package schema

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// Bounds on a schema before anything is compiled.
const (
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 64      // nesting of the JSON text
	maxSchemaNodes = 100_000 // values in the JSON text
	maxSubschemas  = 2_000
	maxNumberSum   = 400_000   // numberCost of all numbers in the text
	maxResources   = 64        // $id, $anchor and $dynamicAnchor
	maxPointerSum  = 512 << 10 // bytes of the pointers of all subschemas, which the compiler compares with each other
	maxURI         = 512       // bytes of one $id or reference
	maxEnumSteps   = 60_000    // comparing the values of enums with each other, which a meta-schema asks for
	maxFarTargets  = 100_000   // (references to places that are no known subschema) x subschemas
)

// The keywords whose values are schemas, in both dialects. Reading them in the dialect that does not have them only
// counts more.
var (
	schemaKeywords = map[string]bool{
		"not": true, "if": true, "then": true, "else": true, "additionalItems": true, "additionalProperties": true,
		"contains": true, "propertyNames": true, "contentSchema": true, "unevaluatedItems": true, "unevaluatedProperties": true, "items": true,
	}
	schemaListKeywords = map[string]bool{"allOf": true, "anyOf": true, "oneOf": true, "prefixItems": true, "items": true}
	schemaMapKeywords  = map[string]bool{
		"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true, "dependencies": true,
	}
	newKeywords = map[string]bool{ // those of them that draft-07 does not have
		"$defs": true, "dependentSchemas": true, "prefixItems": true, "contentSchema": true, "unevaluatedItems": true, "unevaluatedProperties": true,
	}
)

// scanned is what the walk over the text found.
type scanned struct {
	patterns       patterns
	subschemas     int
	resources      int
	pointers       int
	numbers        int
	enums          int
	at             map[string]bool // pointers of the subschemas; true where draft-07 knows no schema
	draft07        bool            // declared somewhere
	refs           []reference
	dynamicAnchors []string // pointers
	ids            []string // pointers
	unevaluated    bool
}

type reference struct{ pointer, value string }

// scan walks the places of doc where schemas stand and refuses what must not reach the compiler.
func scan(doc any) (*scanned, error) {
	s := &scanned{at: map[string]bool{}}
	if err := s.schema(doc, "", false); err != nil {
		return nil, err
	}
	if err := s.data(doc); err != nil {
		return nil, err
	}
	return s, s.references(doc)
}

func (s *scanned) schema(v any, ptr string, isNew bool) error {
	if _, ok := s.at[ptr]; ok {
		return nil
	}
	s.at[ptr] = isNew
	if s.subschemas++; s.subschemas > maxSubschemas {
		return &TooExpensiveError{What: "subschemas", Limit: maxSubschemas}
	}
	if s.pointers += len(ptr); s.pointers > maxPointerSum {
		return &TooExpensiveError{What: "bytes in the pointers to subschemas", Limit: maxPointerSum}
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for name, v := range obj {
		if err := s.keyword(name, v, ptr); err != nil {
			return err
		}
		at := ptr + "/" + escapeToken(name)
		isNew := isNew || newKeywords[name]
		if schemaKeywords[name] {
			switch v.(type) {
			case bool, map[string]any:
				if err := s.schema(v, at, isNew); err != nil {
					return err
				}
			}
		}
		if arr, ok := v.([]any); ok && schemaListKeywords[name] {
			for i, item := range arr {
				if err := s.schema(item, at+"/"+strconv.Itoa(i), isNew); err != nil {
					return err
				}
			}
		}
		if m, ok := v.(map[string]any); ok && schemaMapKeywords[name] {
			for key, sub := range m {
				if _, isList := sub.([]any); isList && name == "dependencies" {
					continue
				}
				if name == "patternProperties" {
					if err := s.pattern(key, at); err != nil {
						return err
					}
				}
				if err := s.schema(sub, at+"/"+escapeToken(key), isNew); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// keyword looks at the keywords of one schema object that are more than assertions.
func (s *scanned) keyword(name string, v any, ptr string) error {
	text, isText := v.(string)
	switch name {
	case "$schema":
		switch {
		case !isText:
		case dialect(text) == "draft-07":
			s.draft07 = true
		case dialect(text) == "":
			return &UnsupportedError{Pointer: cut(ptr), Reason: "dialect " + strconv.Quote(cut(text)) + " is not supported, want 2020-12 or draft-07"}
		}
	case "$id", "$anchor", "$dynamicAnchor":
		if s.resources++; s.resources > maxResources {
			return &TooExpensiveError{What: "identifiers and anchors in a schema", Limit: maxResources}
		}
		if len(text) > maxURI {
			return &TooExpensiveError{What: "bytes in an identifier", Got: int64(len(text)), Limit: maxURI}
		}
		switch name {
		case "$dynamicAnchor":
			s.dynamicAnchors = append(s.dynamicAnchors, ptr)
		case "$id":
			s.ids = append(s.ids, ptr)
		}
	case "$ref", "$dynamicRef":
		if isText {
			s.refs = append(s.refs, reference{ptr + "/" + name, text})
		}
	case "$recursiveRef", "$recursiveAnchor", "$vocabulary":
		return &UnsupportedError{Pointer: cut(ptr), Reason: "keyword " + name + " is not supported"}
	case "enum":
		if values, ok := v.([]any); ok {
			if s.enums += compareSteps(values); s.enums > maxEnumSteps {
				return &TooExpensiveError{What: "steps in comparing the values of enums", Limit: maxEnumSteps}
			}
		}
	case "pattern":
		if isText {
			return s.pattern(text, ptr+"/pattern")
		}
	case "unevaluatedItems", "unevaluatedProperties":
		s.unevaluated = true
	}
	return nil
}

// compareSteps prices the search for equal values in a list: up to 20 are compared in pairs, more are hashed.
func compareSteps(values []any) int {
	steps := len(values) / 8
	for _, v := range values {
		switch v.(type) {
		case json.Number, map[string]any, []any:
			size, _ := weigh(v)
			steps += size
		}
	}
	if len(values) <= 20 {
		steps *= max(len(values)/2, 1)
	}
	return steps
}

func (s *scanned) pattern(expr, ptr string) error {
	_, err := s.patterns.compile(expr)
	var tooMuch *TooExpensiveError
	if err == nil || errors.As(err, &tooMuch) {
		return err
	}
	return &UnsupportedError{Pointer: cut(ptr), Reason: err.Error()}
}

// data bounds the numbers of the text wherever they stand: enum values and limits become big.Rat.
func (s *scanned) data(v any) error {
	switch v := v.(type) {
	case json.Number:
		if s.numbers += numberCost(v); s.numbers > maxNumberSum {
			return &TooExpensiveError{What: "digits in the schema's numbers", Limit: maxNumberSum}
		}
	case map[string]any:
		for _, sub := range v {
			if err := s.data(sub); err != nil {
				return err
			}
		}
	case []any:
		for _, sub := range v {
			if err := s.data(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// references walks the targets of local references that no keyword makes a schema, because the compiler will compile
// them too, and for each of them copies what it knows of the document.
func (s *scanned) references(doc any) error {
	far := map[string]bool{}
	for i := 0; i < len(s.refs); i++ { // walking a target may add references
		ref := s.refs[i]
		if len(ref.value) > maxURI {
			return &TooExpensiveError{What: "bytes in a reference", Got: int64(len(ref.value)), Limit: maxURI}
		}
		base, fragment, _ := strings.Cut(ref.value, "#")
		if u, err := url.Parse(base); err != nil {
			return &InvalidError{Pointer: cut(ref.pointer), Reason: "reference is no URI"}
		} else if u.IsAbs() && dialect(base) != "" { // others are found in the graph; this one says where
			return &UnsupportedError{Pointer: cut(ref.pointer), Reason: "reference to a meta-schema"}
		}
		pointer, err := url.PathUnescape(fragment)
		if err != nil {
			return &InvalidError{Pointer: cut(ref.pointer), Reason: "reference fragment is malformed"}
		}
		if pointer != "" && !strings.HasPrefix(pointer, "/") || far[ref.value] {
			continue
		}
		if isNew, ok := s.at[pointer]; ok && base == "" && !(isNew && s.draft07) {
			continue
		}
		far[ref.value] = true
		if len(far)*s.subschemas > maxFarTargets {
			return &TooExpensiveError{What: "references to places that are no subschemas", Limit: int64(maxFarTargets / s.subschemas)}
		}
		if base != "" {
			continue // relative to another resource of this document, or refused by the loader
		}
		target, ok := lookup(doc, pointer)
		if !ok {
			return &InvalidError{Pointer: cut(ref.pointer), Reason: "reference to nothing in the schema"}
		}
		if err := s.schema(target, pointer, true); err != nil {
			return err
		}
	}
	return nil
}

// dialect returns the name of a supported dialect, or "".
func dialect(uri string) string {
	uri = strings.TrimSuffix(uri, "#")
	if rest, ok := strings.CutPrefix(uri, "https:"); ok {
		uri = "http:" + rest
	}
	switch uri {
	case "http://json-schema.org/draft/2020-12/schema":
		return "2020-12"
	case "http://json-schema.org/draft-07/schema":
		return "draft-07"
	}
	return ""
}

func escapeToken(tok string) string {
	if !strings.ContainsAny(tok, "~/") {
		return tok
	}
	return strings.ReplaceAll(strings.ReplaceAll(tok, "~", "~0"), "/", "~1")
}

func lookup(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for _, tok := range strings.Split(pointer, "/")[1:] {
		tok = strings.ReplaceAll(strings.ReplaceAll(tok, "~1", "/"), "~0", "~")
		switch w := v.(type) {
		case map[string]any:
			sub, ok := w[tok]
			if !ok {
				return nil, false
			}
			v = sub
		case []any:
			i, err := strconv.Atoi(tok)
			if err != nil || i < 0 || i >= len(w) {
				return nil, false
			}
			v = w[i]
		default:
			return nil, false
		}
	}
	return v, true
}
