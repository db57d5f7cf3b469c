package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

const (
	maxRange    = 1000 // elements of range()
	maxCompared = 1000 // elements of distinct(), which compares each with each
	maxJSONDeep = 64   // nesting of the text given to jsondecode()
	maxPattern  = 1000 // bytes of a regular expression
)

var errTooLarge = errors.New("the result would be too large")

// functions returns the functions of the language. None of them reads a clock or the network; env asks Options.Lookup, file
// and secret_file read files. Arguments and results are charged to the budget, and functions that can blow up a small argument
// refuse to before they begin.
func (l *loader) functions() map[string]function.Function {
	out := map[string]function.Function{
		"try": tryFunc, "can": tryfunc.CanFunc, // they evaluate their arguments themselves
		"env": l.envFunc(), "file": l.bounded(l.fileFunc(), nil), "secret_file": l.bounded(l.secretFileFunc(), nil),
		"sensitive": l.sensitiveFunc(),
	}
	plain := map[string]function.Function{
		"upper": stdlib.UpperFunc, "lower": stdlib.LowerFunc, "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc,
		"trimsuffix": stdlib.TrimSuffixFunc, "trimspace": stdlib.TrimSpaceFunc, "replace": stdlib.ReplaceFunc,
		"split": stdlib.SplitFunc, "join": stdlib.JoinFunc,
		"format": stdlib.FormatFunc, "formatlist": stdlib.FormatListFunc, "substr": stdlib.SubstrFunc,
		"strlen": stdlib.StrlenFunc, "concat": stdlib.ConcatFunc, "flatten": stdlib.FlattenFunc,
		"distinct": stdlib.DistinctFunc, "contains": stdlib.ContainsFunc, "keys": stdlib.KeysFunc,
		"values": stdlib.ValuesFunc, "lookup": stdlib.LookupFunc, "merge": stdlib.MergeFunc, "element": stdlib.ElementFunc,
		"slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "reverse": stdlib.ReverseListFunc,
		"setunion": stdlib.SetUnionFunc, "setintersection": stdlib.SetIntersectionFunc,
		"setsubtract": stdlib.SetSubtractFunc, "zipmap": stdlib.ZipmapFunc, "range": stdlib.RangeFunc,
		"length": stdlib.LengthFunc, "min": stdlib.MinFunc, "max": stdlib.MaxFunc, "abs": stdlib.AbsoluteFunc,
		"ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "jsondecode": stdlib.JSONDecodeFunc,
		"jsonencode": stdlib.JSONEncodeFunc, "coalesce": stdlib.CoalesceFunc,
		"tostring": stdlib.MakeToFunc(cty.String), "tonumber": stdlib.MakeToFunc(cty.Number),
		"tobool": stdlib.MakeToFunc(cty.Bool), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"alltrue": quantifier(true), "anytrue": quantifier(false),
		"startswith": textPredicate(strings.HasPrefix), "endswith": textPredicate(strings.HasSuffix),
		"urlencode": textFunc(url.QueryEscape, "+", "%20"), "sha256": textFunc(hexSHA256),
	}
	for name, f := range plain {
		out[name] = l.bounded(f, amplifiers[name])
	}
	out["regex"] = l.bounded(stdlib.RegexFunc, l.checkRegex)
	out["regexall"] = l.bounded(stdlib.RegexAllFunc, l.checkRegex)
	return out
}

// bounded charges the arguments and the result of f to the budget; check, if not nil, sees the arguments first.
func (l *loader) bounded(f function.Function, check func([]cty.Value) error) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		// Type runs before Impl in every call and already does the work in some functions, so the checks stand here.
		Type: func(args []cty.Value) (cty.Type, error) {
			size, work := 0, 0
			for _, a := range args {
				size += l.budget.sizeOf(a)
				work += l.budget.workOf(a)
			}
			if size > maxValueBytes || !l.budget.spend(work) {
				return cty.NilType, errors.New("the arguments are too large")
			}
			if check != nil {
				if err := check(args); err != nil {
					return cty.NilType, err
				}
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err == nil && !l.budget.spend(l.budget.workOf(v)) {
				return cty.DynamicVal, errTooLarge
			}
			return v, err
		},
	})
}

// amplifiers are the checks of functions whose result can be much larger than their arguments, or whose work can.
var amplifiers = map[string]func([]cty.Value) error{
	"format":     checkFormat,
	"formatlist": checkFormat,
	"replace": func(args []cty.Value) error {
		s, ok := texts(args)
		if ok && len(s) == 3 && len(s[0])+(strings.Count(s[0], s[1])+1)*len(s[2]) > maxValueBytes {
			return errTooLarge
		}
		return nil
	},
	"join": func(args []cty.Value) error {
		m := measure{}
		for _, a := range args {
			m.add(a)
		}
		if sep, ok := texts(args[:1]); ok && m.elements*len(sep[0])+m.bytes > maxValueBytes {
			return errTooLarge
		}
		return nil
	},
	"distinct": func(args []cty.Value) error {
		if m := (&measure{}); len(args) == 1 {
			if m.add(args[0]); m.elements > maxCompared {
				return fmt.Errorf("at most %d elements can be compared", maxCompared)
			}
		}
		return nil
	},
	"split": func(args []cty.Value) error {
		if s, ok := texts(args); ok && len(s) == 2 && strings.Count(s[1], s[0]) > maxElements {
			return errTooLarge
		}
		return nil
	},
	"range": checkRange,
	"jsondecode": func(args []cty.Value) error {
		s, ok := texts(args)
		if !ok || len(s) != 1 {
			return nil
		}
		switch depth, values := jsonShape(s[0]); {
		case depth > maxJSONDeep:
			return fmt.Errorf("the JSON text is nested more than %d deep", maxJSONDeep)
		case values > maxElements:
			return fmt.Errorf("the JSON text has more than %d values", maxElements)
		}
		return nil
	},
}

// checkRegex refuses patterns that are none, without repeating them, and charges what matching takes: the states of the
// pattern for each byte of the text.
func (l *loader) checkRegex(args []cty.Value) error {
	s, ok := texts(args)
	if !ok || len(s) != 2 {
		return nil
	}
	if len(s[0]) > maxPattern {
		return fmt.Errorf("the pattern has more than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(s[0], syntax.Perl)
	var fault *syntax.Error
	switch {
	case errors.As(err, &fault):
		return fmt.Errorf("the pattern is not a regular expression: %s", fault.Code)
	case err != nil:
		return errors.New("the pattern is not a regular expression")
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return errors.New("the pattern is not a regular expression")
	}
	if l.budget.matching -= len(program.Inst) * (len(s[1]) + 1); l.budget.matching < 0 {
		return errors.New("matching takes too long: the patterns or the texts of the catalog are too large")
	}
	if len(s[1]) > maxElements {
		if re, err := regexp.Compile(s[0]); err == nil && len(re.FindAllStringIndex(s[1], maxElements+1)) > maxElements {
			return errTooLarge
		}
	}
	return nil
}

// texts returns the arguments if all of them are known texts.
func texts(args []cty.Value) ([]string, bool) {
	var out []string
	for _, a := range args {
		if a.IsNull() || !a.IsKnown() || a.Type() != cty.String {
			return nil, false
		}
		out = append(out, asString(a))
	}
	return out, true
}

// wideVerb is a width or precision of four digits or more.
var wideVerb = regexp.MustCompile(`[0-9]{4}`)

func checkFormat(args []cty.Value) error {
	if len(args) == 0 {
		return nil
	}
	f, ok := texts(args[:1])
	if !ok {
		return nil
	}
	if strings.Contains(f[0], "%") && wideVerb.MatchString(f[0]) {
		return errors.New("a width or precision may have three digits at most")
	}
	m := measure{}
	for _, a := range args {
		m.add(a)
	}
	// A verb takes a width of up to 999 columns, and a list repeats the whole format for each element.
	if m.elements*(len(f[0])+1000*strings.Count(f[0], "%"))+m.bytes > 16*maxValueBytes {
		return errTooLarge
	}
	return nil
}

func checkRange(args []cty.Value) error {
	for _, a := range args {
		if a.IsNull() || !a.IsKnown() || a.Type() != cty.Number {
			return nil
		}
	}
	n := func(i int) float64 { f, _ := numberOf(args[i]).Float64(); return f }
	from, to, step := 0.0, 0.0, 1.0
	switch len(args) {
	case 1:
		to = n(0)
	case 2:
		from, to = n(0), n(1)
	case 3:
		from, to, step = n(0), n(1), n(2)
	}
	if d := (to - from) / step; d > maxRange || d < -maxRange && len(args) < 3 {
		return fmt.Errorf("a range has at most %d elements", maxRange)
	}
	return nil
}

// jsonShape is how deep brackets are nested outside of strings, and at most how many values there are.
func jsonShape(s string) (most, values int) {
	depth := 0
	values = 1
	inText := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == ',':
			values++
		case c == '[', c == '{':
			depth++
			values++
			most = max(most, depth)
		case c == ']', c == '}':
			depth--
		}
	}
	return most, values
}

// envFunc is env(NAME[, DEFAULT]). That NAME is written out and set was checked before.
func (l *loader) envFunc() function.Function {
	return function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam: &function.Parameter{Name: "default", Type: cty.String},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !slices.Contains(l.envAllowed, asString(args[0])) {
				return cty.DynamicVal, errors.New("the name is not written out")
			}
			if v, ok := l.lookup(asString(args[0])); ok {
				value := cty.StringVal(v)
				l.secrets = secretsIn(l.secrets, value, fmt.Sprintf("env(%q)", asString(args[0])))
				return value, nil
			}
			if len(args) > 1 {
				return args[1], nil
			}
			return cty.UnknownVal(cty.String), nil
		},
	})
}

// sensitiveFunc is sensitive(V): V itself. That the call is there makes the expression secret.
func (l *loader) sensitiveFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true}},
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			l.secrets = secretsIn(l.secrets, args[0], "sensitive")
			return args[0], nil
		},
	})
}

// tryFunc is tryfunc.TryFunc, which evaluates its arguments twice and so takes exponentially long when it is nested.
var tryFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "expressions", Type: customdecode.ExpressionClosureType},
	Type:     function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if len(args) == 0 {
			return cty.NilVal, errors.New("at least one argument is required")
		}
		why := ""
		for _, arg := range args {
			v, diags := customdecode.ExpressionClosureFromVal(arg).Value()
			if diags.HasErrors() {
				why = diags[0].Summary
				continue
			}
			if !v.IsWhollyKnown() {
				return cty.DynamicVal, nil // what is known later may choose another argument
			}
			return v, nil
		}
		return cty.NilVal, fmt.Errorf("no expression succeeded, the last one because of: %s", why)
	},
})

// quantifier is alltrue or anytrue: whether every, or some, element is true.
func quantifier(all bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			for it := args[0].ElementIterator(); it.Next(); {
				_, v := it.Element()
				if !v.IsKnown() {
					return cty.UnknownVal(cty.Bool), nil
				}
				if v.IsNull() {
					return cty.DynamicVal, errors.New("an element is null")
				}
				if v.True() != all {
					return cty.BoolVal(!all), nil
				}
			}
			return cty.BoolVal(all), nil
		},
	})
}

func textPredicate(f func(s, x string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(f(asString(args[0]), asString(args[1]))), nil
		},
	})
}

// textFunc makes a function of one text; pairs are replacements in its result.
func textFunc(f func(string) string, pairs ...string) function.Function {
	r := strings.NewReplacer(pairs...)
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.StringVal(r.Replace(f(asString(args[0])))), nil
		},
	})
}

func hexSHA256(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
