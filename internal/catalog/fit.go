package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// fitter compares the value of a variable with its type, before it is converted: a conversion may neither change nor drop
// anything. Texts that are numbers, true or false count as such, because the environment has nothing but texts.
type fitter struct {
	// secret tells that keys of the value are not shown. The value itself never is.
	secret bool
}

// fit returns what is wrong with v, a sentence without its full stop that begins with the path of the element meant, or "".
func (f fitter) fit(path string, v cty.Value, want cty.Type) string {
	if v.IsNull() || want == cty.DynamicPseudoType {
		return ""
	}
	got := v.Type()
	switch {
	case want.IsPrimitiveType():
		return f.primitive(path, v, want)
	case (want.IsListType() || want.IsSetType()) && isSequence(got):
		return f.elements(path, v, func(int) cty.Type { return want.ElementType() }, want.IsSetType())
	case want.IsTupleType() && isSequence(got):
		types := want.TupleElementTypes()
		if n := v.LengthInt(); n != len(types) {
			return fmt.Sprintf("%s has the length %d, want %d", path, n, len(types))
		}
		return f.elements(path, v, func(i int) cty.Type { return types[i] }, false)
	case want.IsMapType() && (got.IsMapType() || got.IsObjectType()):
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			if fault := f.fit(path+f.key(asString(k)), e, want.ElementType()); fault != "" {
				return fault
			}
		}
		return ""
	case want.IsObjectType() && (got.IsMapType() || got.IsObjectType()):
		return f.attributes(path, v, want)
	}
	return fmt.Sprintf("%s is %s, want %s", path, typeName(v), wantName(want))
}

func (f fitter) primitive(path string, v cty.Value, want cty.Type) string {
	switch got := v.Type(); {
	case got == want:
		return ""
	case got == cty.String:
		if _, err := convert.Convert(v, want); err == nil && (want != cty.Number || checkNumber([]byte(asString(v))) == "") {
			return ""
		}
		if want == cty.Number {
			return path + " is a text that is not a number, want a number"
		}
		return path + " is a text other than \"true\" and \"false\", want true or false"
	case want == cty.String && (got == cty.Number || got == cty.Bool):
		return fmt.Sprintf("%s is %s, want a text: put it in quotes", path, typeName(v))
	}
	return fmt.Sprintf("%s is %s, want %s", path, typeName(v), wantName(want))
}

func (f fitter) elements(path string, v cty.Value, want func(int) cty.Type, distinct bool) string {
	first := map[string]int{}
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		_, e := it.Element()
		here := fmt.Sprintf("%s[%d]", path, i)
		if fault := f.fit(here, e, want(i)); fault != "" {
			return fault
		}
		if !distinct {
			continue
		}
		converted, err := convert.Convert(e, want(i))
		if err != nil {
			return fmt.Sprintf("%s is %s, want %s", here, typeName(e), wantName(want(i)))
		}
		raw, err := jsonOf(converted)
		if err != nil {
			return here + " has no JSON form"
		}
		if earlier, twice := first[string(raw)]; twice {
			return fmt.Sprintf("%s is equal to %s[%d], and a set has each element once", here, path, earlier)
		}
		first[string(raw)] = i
	}
	return ""
}

func (f fitter) attributes(path string, v cty.Value, want cty.Type) string {
	types := want.AttributeTypes()
	given := map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		given[asString(k)] = e
	}
	for _, name := range keys(given) {
		t, declared := types[name]
		if !declared {
			what, hint := "an attribute", ""
			if !f.secret {
				what = "the attribute " + diag.Quote(name, maxShownWord)
				if near := nearest(name, keys(types)); near != "" {
					hint = fmt.Sprintf(" (did you mean %q?)", near)
				}
			}
			return fmt.Sprintf("%s has %s, which its type does not have%s", path, what, hint)
		}
		if fault := f.fit(path+attributeStep(name), given[name], t); fault != "" {
			return fault
		}
	}
	for _, name := range keys(types) {
		if _, ok := given[name]; !ok && !want.AttributeOptional(name) {
			return fmt.Sprintf("%s lacks the attribute %s", path, diag.Quote(name, maxShownWord))
		}
	}
	return ""
}

// key is the step to an element of a map.
func (f fitter) key(name string) string {
	if f.secret {
		return "[\"" + ellipsis + "\"]"
	}
	return "[" + diag.Quote(name, maxShownWord) + "]"
}

// attributeStep is the step to an attribute, whose name is declared.
func attributeStep(name string) string {
	if addr.ValidLabel(name) {
		return "." + name
	}
	return "[" + diag.Quote(name, maxShownWord) + "]"
}

// wantName is a type in the words of typeName, followed by its notation where that says more.
func wantName(t cty.Type) string {
	switch {
	case t == cty.String:
		return "a text"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "true or false"
	}
	what := "a map"
	if isSequence(t) {
		what = "a list"
	}
	return what + ": " + diag.Escape(cutText(typeexpr.TypeString(t), 256))
}

// convertTo gives a value the type of the variable, with defaults of optional attributes. fault is what is wrong with it.
func (x *variable) convertTo(v cty.Value) (converted cty.Value, fault string) {
	f, path := fitter{secret: x.sensitive}, "var."+x.name
	if fault = f.fit(path, v, x.typ); fault != "" {
		return cty.NilVal, fault
	}
	if x.optional != nil && !v.IsNull() {
		v = x.optional.Apply(v)
	}
	converted, err := convert.Convert(v, x.typ)
	if err != nil {
		// Elements of type any are all of one type, and that is what is left to go wrong.
		return cty.NilVal, path + " has elements of different types where its type, " + cutText(typeexpr.TypeString(x.typ), 256) + ", wants one"
	}
	if x.typ.HasDynamicTypes() && x.typ != cty.DynamicPseudoType {
		// A type was chosen for any.
		if fault = f.fit(path, v, converted.Type()); fault != "" {
			return cty.NilVal, fault
		}
	}
	return converted, ""
}

// sourceName is where a value comes from, in words that follow "from".
func (x *variable) sourceName(source string) string {
	switch source {
	case fromEnvironment:
		return "the environment variable " + envPrefix + x.name
	case fromFlag:
		return "-var " + x.name
	case fromFile:
		return "a file of values"
	case fromDefault:
		return "its default"
	}
	return "the plan"
}

// misspelt warns about environment variables that look like values of variables and belong to none.
func (l *loader) misspelt() {
	if l.opts.Environ == nil {
		return
	}
	var names []string
	for _, entry := range l.opts.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if rest, ok := strings.CutPrefix(name, envPrefix); ok && l.variables[rest] == nil {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		near := nearest(name, keys(l.variables))
		for _, x := range l.order {
			if strings.EqualFold(x.name, name) {
				near = x.name
			}
		}
		if near == "" {
			continue
		}
		l.add(diag.Warningf("variable.undeclared", "Environment variable is for no variable",
			"The environment sets %s, and the catalog declares no variable %s, so that has no effect. Did you mean %s%s?",
			diag.Escape(cutText(envPrefix+name, 256)), strconv.Quote(diag.Escape(cutText(name, maxShownWord))), envPrefix, near))
	}
}
