// Package schema compiles JSON Schemas that a stranger wrote and validates values against them within fixed bounds.
//
// It is for the inputSchema and outputSchema of tools and stands in front of a validator that cannot be interrupted: a
// schema is measured before it is compiled and a value is measured before it is validated, and what lies beyond a bound
// is refused with a *TooExpensiveError. Nothing is ever loaded from the network or a file. It is not a general
// validator: the dialects are 2020-12 (also without $schema) and draft-07, patterns are those of ECMA-262 that RE2 can run,
// and a schema that needs more gives an *UnsupportedError.
//
//	s, err := schema.Compile(inputSchema)
//	if err != nil {
//		return err // the tool cannot be called
//	}
//	err = s.Validate(arguments)
//
// Whoever uses one schema again and again, or has many, keeps a Ref instead.
//
// In the import drawing it stands above strictjson, through which every text comes in, and below mcp and gate.
//
// Bounds of a schema are 256 KiB, 64 levels of JSON, 2,000 subschemas, 16 KiB and 10,000 instructions of patterns, and
// 10,000 subschemas for one value through allOf, anyOf, $ref and their like. Bounds of one validation are 250,000 values,
// 128 levels and 2,000,000 steps, which are some tenths of a second. docs/schema-limits.md has all of them, and why.
//
// Spec: 2026-07-28 basic/index#json-schema-usage; JSON Schema 2020-12 and draft-07.
package schema

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	maxInstanceNodes = 250_000
	maxInstanceDepth = 128

	// location is the name of the document in the compiler. It is no place that could be loaded, and it has a path:
	// against an opaque URI every relative reference would resolve to the document itself.
	location = base + "root"
	base     = "mcpcat://schema/"

	// What a compiled schema takes, measured.
	bytesOfSubschema   = 1_300
	bytesOfText        = 6
	bytesOfInstruction = 64
)

// Schema is a compiled schema. It is immutable and safe for concurrent use. Whoever compiles one keeps it, or leaves that
// to a Ref.
type Schema struct {
	compiled *jsonschema.Schema
	graph    *graph
	size     int64 // estimated memory in bytes
}

// Compile compiles one schema, which is a JSON object, true or false.
//
// The error is a *TooExpensiveError for a schema beyond a bound, an *UnsupportedError for a dialect, pattern or
// reference that this package does not evaluate, and an *InvalidError for a schema that is not valid in its dialect. In
// all three cases nothing can be said about any value.
func Compile(schema []byte) (*Schema, error) {
	if len(schema) > maxSchemaBytes {
		return nil, &TooExpensiveError{What: "schema bytes", Got: int64(len(schema)), Limit: maxSchemaBytes}
	}
	doc, _, err := decode(schema, maxSchemaDepth, maxSchemaNodes)
	if err != nil {
		var syntax *InstanceError
		switch {
		case errors.As(err, &syntax):
			return nil, &InvalidError{Reason: "not JSON at byte " + strconv.Itoa(syntax.Offset) + ": " + syntax.Reason}
		case errors.Is(err, errTooManyNodes):
			return nil, &TooExpensiveError{What: "values in a schema", Limit: maxSchemaNodes}
		}
		return nil, err
	}
	switch doc.(type) {
	case bool, map[string]any:
	default:
		return nil, &InvalidError{Reason: "a schema is an object, true or false"}
	}
	found, err := scan(doc)
	if err != nil {
		return nil, err
	}

	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	compiling := true // false once other goroutines may come in by the format regex
	c.UseRegexpEngine(func(expr string) (jsonschema.Regexp, error) {
		if !compiling {
			return readable(expr)
		}
		return found.patterns.compile(expr)
	})
	if err := c.AddResource(location, doc); err != nil {
		return nil, &InvalidError{Reason: "schema cannot be registered"}
	}
	compiled, err := c.Compile(location)
	if err != nil {
		return nil, compileError(err)
	}
	dynamic := map[*jsonschema.Schema]bool{}
	for _, ptr := range found.dynamicAnchors {
		sch, err := c.Compile(location + "#" + (&url.URL{Fragment: ptr}).EscapedFragment())
		if err != nil {
			return nil, compileError(err)
		}
		dynamic[sch] = !slices.ContainsFunc(found.ids, func(id string) bool {
			return id != "" && (ptr == id || strings.HasPrefix(ptr, id+"/"))
		})
	}
	g, err := newGraph(compiled, dynamic, found.unevaluated)
	if err != nil {
		return nil, err
	}
	compiling = false
	size := bytesOfSubschema*int64(len(g.order)) + bytesOfText*int64(len(schema)) + bytesOfInstruction*int64(found.patterns.program)
	return &Schema{compiled: compiled, graph: g, size: size}, nil
}

// noLoader refuses everything: a schema is one document.
type noLoader struct{}

var errLoad = errors.New("reference leaves the document")

func (noLoader) Load(string) (any, error) { return nil, errLoad }

// Validate checks one JSON text against the schema. Numbers are compared by value, without rounding; format is an
// annotation in 2020-12 and an assertion in draft-07.
//
// The error is a *ValidationError for a value that does not conform, a *TooExpensiveError if checking it would cost more
// than the bounds allow, and an *InstanceError for bytes that are not strict JSON.
func (s *Schema) Validate(instance []byte) error {
	v, sh, err := decode(instance, maxInstanceDepth, maxInstanceNodes)
	if err != nil {
		if errors.Is(err, errTooManyNodes) {
			return &TooExpensiveError{What: "values in an instance", Limit: maxInstanceNodes}
		}
		return err
	}
	if !s.graph.cheap(sh) && !s.graph.affordable(v) {
		return &TooExpensiveError{What: "steps in one validation", Limit: maxSteps}
	}
	if err := s.compiled.Validate(v); err != nil {
		return validationError(err)
	}
	return nil
}

// compileError maps what the compiler says to this package's errors, without its texts: they repeat the schema's.
func compileError(err error) error {
	var (
		tooMuch *TooExpensiveError
		load    *jsonschema.LoadURLError
		meta    *jsonschema.SchemaValidationError
		dialect *jsonschema.UnsupportedDraftError
		vocab   *jsonschema.UnsupportedVocabularyError
		cycle   *jsonschema.MetaSchemaCycleError
		regex   *jsonschema.InvalidRegexError
		nowhere *jsonschema.JSONPointerNotFoundError
		anchor  *jsonschema.AnchorNotFoundError
		twice   *jsonschema.DuplicateIDError
		anchors *jsonschema.DuplicateAnchorError
	)
	switch {
	case errors.As(err, &tooMuch):
		return tooMuch
	case errors.As(err, &load):
		return &UnsupportedError{Reason: "reference to " + strconv.Quote(cut(strings.TrimPrefix(load.URL, base))) + " leaves the document and is not loaded"}
	case errors.As(err, &dialect), errors.As(err, &vocab), errors.As(err, &cycle):
		return &UnsupportedError{Reason: "dialect is not supported, want 2020-12 or draft-07"}
	case errors.As(err, &regex):
		return &UnsupportedError{Pointer: pointerOf(regex.URL), Reason: "pattern is not a regular expression that RE2 accepts"}
	case errors.As(err, &nowhere):
		return &InvalidError{Reason: "reference to nothing in the schema"}
	case errors.As(err, &anchor):
		return &InvalidError{Reason: "reference to an anchor that the schema does not have"}
	case errors.As(err, &twice):
		return &InvalidError{Reason: "two subschemas have one $id"}
	case errors.As(err, &anchors):
		return &InvalidError{Reason: "two subschemas have one anchor"}
	case errors.As(err, &meta):
		inner := &ValidationError{}
		if errors.As(validationError(meta.Err), &inner) {
			at := pointerOf(meta.URL) + inner.InstancePointer
			return &InvalidError{Pointer: cut(at), Reason: "the dialect's meta-schema refuses it: keyword " + strconv.Quote(inner.Keyword)}
		}
		return &InvalidError{Pointer: pointerOf(meta.URL), Reason: "the dialect's meta-schema refuses it"}
	}
	return &InvalidError{Reason: "schema does not compile"}
}

// pointerOf returns the fragment of a schema location, bounded.
func pointerOf(loc string) string {
	_, fragment, _ := strings.Cut(loc, "#")
	if p, err := url.PathUnescape(fragment); err == nil {
		fragment = p
	}
	return cut(fragment)
}

// validationError picks one failure of the many that the validator found, the same one every time: the first by
// pointer, then by keyword. Failures inside anyOf, oneOf and not are named by that keyword.
func validationError(err error) error {
	var top *jsonschema.ValidationError
	if !errors.As(err, &top) {
		return &ValidationError{Keyword: "schema"}
	}
	var best *ValidationError
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
			if len(e.Causes) > 0 {
				for _, sub := range e.Causes {
					walk(sub)
				}
				return
			}
		}
		var b strings.Builder
		for _, tok := range e.InstanceLocation {
			b.WriteByte('/')
			b.WriteString(escapeToken(tok))
			if b.Len() > maxPointer {
				break
			}
		}
		got := &ValidationError{InstancePointer: cut(b.String()), Keyword: keywordOf(e.ErrorKind), Missing: missing(e.ErrorKind)}
		if best == nil || got.InstancePointer < best.InstancePointer ||
			got.InstancePointer == best.InstancePointer && (got.Keyword < best.Keyword || got.Keyword == best.Keyword && got.Missing < best.Missing) {
			best = got
		}
	}
	walk(top)
	return best
}

// missing returns the first property, by name, that an object lacks.
func missing(k jsonschema.ErrorKind) string {
	var names []string
	switch k := k.(type) {
	case *kind.Required:
		names = k.Missing
	case *kind.DependentRequired:
		names = k.Missing
	}
	if len(names) == 0 {
		return ""
	}
	return cut(slices.Min(names))
}

func keywordOf(k jsonschema.ErrorKind) string {
	switch k.(type) {
	case nil:
		return "schema"
	case *kind.FalseSchema:
		return "false"
	case *kind.Not:
		return "not"
	case *kind.RefCycle:
		return "$ref"
	case *kind.Dependency:
		return "dependencies"
	}
	if path := k.KeywordPath(); len(path) > 0 {
		return path[0]
	}
	return "schema"
}
