package catalog

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// envPrefix stands before the name of a variable in the environment.
const envPrefix = "MCPCAT_VAR_"

// maxDescription is the longest description in bytes.
const maxDescription = 4096

// The sources of a value, as in VariableValue.Source.
const (
	fromDefault     = "default"
	fromEnvironment = "environment"
	fromFile        = "file"
	fromFlag        = "flag"
)

type variable struct {
	name                string
	rng                 hcl.Range
	w                   where
	typ                 cty.Type
	optional            *typeexpr.Defaults
	sensitive, nullable bool
	validations         []*validation
	state               nodeState // of the validations
	failed              bool
	fallback            cty.Value // the default; NilVal: none
	value               cty.Value // NilVal: none yet
	source              string
	bad                 bool // a value was refused and that was reported
}

func (l *loader) declareVariable(b *hclsyntax.Block) {
	x := &variable{name: b.Labels[0], rng: header(b), w: where{context: blockName(b)}, typ: cty.DynamicPseudoType, nullable: true}
	c := l.contents(b.Body, x.w, variableBlock)
	l.variables[x.name] = x
	l.order = append(l.order, x)
	if a := c.args["type"]; a != nil {
		l.declareType(x, a.Expr)
	}
	x.sensitive = c.literalBool("sensitive", false)
	x.nullable = c.literalBool("nullable", true)
	if a := c.args["description"]; a != nil {
		if s, ok := l.literalString(a, x.w); ok {
			l.checkPlain("description", s, maxDescription, a.Expr.Range(), x.w)
		}
	}
	for _, v := range c.repeated["validation"] {
		l.declareValidation(x, v, variableBlock.block("validation"))
	}
	a := c.args["default"]
	if a == nil {
		return
	}
	v, ok := l.literal("default", a.Expr, x.w)
	if !ok {
		return
	}
	if x.sensitive && !v.IsNull() {
		l.fail("variable.exposed", "Secret in the catalog", a.NameRange, x.w,
			"A sensitive variable has no default: the value would stand in the file. Set %s%s, or pass -var-file with a file outside the catalog directory.", envPrefix, x.name)
		return
	}
	l.set(x, v, fromDefault, a.Expr.Range(), x.w)
}

func (c *contents) literalBool(name string, fallback bool) bool {
	a := c.args[name]
	if a == nil {
		return fallback
	}
	v, ok := c.l.literal(name, a.Expr, c.w)
	if !ok {
		return fallback
	}
	if v.IsNull() || v.Type() != cty.Bool {
		c.wrongType(name, a.Expr.Range(), v, "true or false")
		return fallback
	}
	return v.True()
}

// declareType reads a type constraint. Defaults of optional attributes are written out: the library evaluates them, and
// does not meter what it does.
func (l *loader) declareType(x *variable, e hclsyntax.Expression) {
	var bad hclsyntax.Node
	before := l.errors
	nodes(e, func(n hclsyntax.Node) {
		switch n := n.(type) {
		case *hclsyntax.ObjectConsExpr:
			l.distinctKeys(n, x.w)
		case *hclsyntax.ForExpr, *hclsyntax.BinaryOpExpr, *hclsyntax.ConditionalExpr, *hclsyntax.SplatExpr:
			if bad == nil {
				bad = n
			}
		}
	})
	switch {
	case l.errors > before:
		return
	case bad != nil:
		l.fail("catalog.reference", "Plain value needed", bad.Range(), x.w, "A type is written out, and so are the defaults in it: nothing is computed.")
		return
	}
	if _, quoted := literalText(e); quoted {
		l.fail("catalog.type", "Type in quotes", e.Range(), x.w, "A type is written without quotes, such as type = string or type = list(string).")
		return
	}
	t, optional, diags := typeexpr.TypeConstraintWithDefaults(e)
	if diags.HasErrors() {
		l.addHCL(diags, x.w, e, false)
		return
	}
	x.typ, x.optional = t, optional
}

// set converts a value to the type of the variable and keeps it. Null for a variable with nullable = false means its
// default.
func (l *loader) set(x *variable, v cty.Value, source string, r hcl.Range, w where) {
	if v.IsNull() && !x.nullable {
		if source != fromDefault && x.fallback != cty.NilVal {
			x.value, x.source = x.fallback, fromDefault
			return
		}
		x.bad = true
		l.fail("variable.null", "Null not allowed", r, w, "The variable %q is declared with nullable = false and cannot be null.", x.name)
		return
	}
	converted, fault := x.convertTo(v)
	if fault != "" {
		x.bad = true
		from := ""
		if source == fromEnvironment || source == fromFlag {
			from = " The value is from " + x.sourceName(source) + "."
		}
		l.fail("catalog.type", "Wrong type", r, w, "%s.%s", fault, from)
		return
	}
	x.value, x.source = converted, source
	if source == fromDefault {
		x.fallback = converted
	}
}

// values gives every declared variable its value and fills Catalog.Variables.
func (l *loader) values(files []*source) {
	slices.SortFunc(l.order, func(a, b *variable) int { return strings.Compare(a.name, b.name) })
	l.environment()
	l.misspelt()
	for _, f := range files {
		l.valuesFile(f, true)
	}
	for _, v := range l.opts.Vars {
		if v.File != "" || v.Data != nil {
			l.varFile(v)
		} else {
			l.varFlag(v)
		}
	}
	if l.opts.Planned != nil {
		l.planned()
	}
	for _, x := range l.order {
		l.complete(x)
	}
}

func (l *loader) environment() {
	for _, x := range l.order {
		text, ok := l.lookup(envPrefix + x.name)
		if !ok {
			continue
		}
		if v, ok := l.parseValue(x, "environment variable "+envPrefix+x.name, text); ok {
			l.set(x, v, fromEnvironment, x.rng, x.w)
		} else {
			x.bad = true
		}
	}
}

// parseValue reads a value given as one text: as it is for texts, numbers and true or false, as an expression without
// references for other types.
func (l *loader) parseValue(x *variable, from, text string) (cty.Value, bool) {
	if len(text) > maxValueBytes || !faithful(text) || strings.ContainsRune(text, 0) {
		l.fail("catalog.text", "Value cannot be kept", x.rng, x.w,
			"The %s holds more than %d bytes, a NUL, bytes that are not UTF-8, or characters that are not in Unicode normal form C.", from, maxValueBytes)
		return cty.NilVal, false
	}
	if x.typ == cty.DynamicPseudoType || x.typ.IsPrimitiveType() {
		return cty.StringVal(text), true
	}
	if len(text) > MaxFileBytes {
		l.fail("catalog.limit", "Value too large", x.rng, x.w, "The %s is an expression of more than %d bytes. Put it into a file of values, split over several variables.", from, MaxFileBytes)
		return cty.NilVal, false
	}
	s := &source{name: from, text: normalise([]byte(text)), hidden: true}
	l.sources[from] = s
	if d, bad := s.checkText(); bad {
		d.Range = nil
		l.add(d.For("var." + x.name))
		return cty.NilVal, false
	}
	s.tokens, _ = hclsyntax.LexExpression(s.text, from, hcl.InitialPos) // the parser reports the same again
	if d, bad := s.checkTokens(true); bad {
		d.Range = nil
		l.add(d.For("var." + x.name))
		return cty.NilVal, false
	}
	e, diags := hclsyntax.ParseExpression(s.text, from, hcl.InitialPos)
	if diags.HasErrors() {
		l.addHCL(diags, x.w, nil, x.sensitive)
		return cty.NilVal, false
	}
	return l.literal("The value", e, x.w)
}

// valuesFile takes the arguments of a file of values. inside tells that the file lies in the catalog directory.
func (l *loader) valuesFile(f *source, inside bool) {
	for _, b := range f.body.Blocks {
		l.fail("catalog.unknown_block", "Block in a file of values", header(b), where{}, "A file of values has arguments only: NAME = value.")
	}
	for _, a := range sortedAttributes(f.body) {
		x := l.variables[a.Name]
		if x == nil {
			l.fail("variable.undeclared", "Variable not declared", a.NameRange, where{}, "There is no variable %s.%s", diag.Quote(a.Name, maxShownWord), suggest(a.Name, keys(l.variables), nil))
			continue
		}
		if x.sensitive && inside {
			x.bad = true
			l.fail("variable.exposed", "Secret in the catalog directory", a.NameRange, where{},
				"The variable %q is sensitive and may not be set from a file in the catalog directory. Set %s%s, or pass -var-file with a file outside of it.", x.name, envPrefix, x.name)
			continue
		}
		if v, ok := l.literal(a.Name, a.Expr, where{}); ok {
			l.set(x, v, fromFile, a.Expr.Range(), where{})
		}
	}
}

func (l *loader) varFile(v VarSource) {
	name := diag.Escape(v.File)
	text := v.Data
	inside := false
	if text == nil {
		f, err := os.Open(v.File)
		if err == nil {
			text, err = readBounded(f, MaxFileBytes)
			err = cmp.Or(err, f.Close())
		}
		if err != nil {
			l.add(diag.Errorf("variable.file", "File of values cannot be read", "-var-file=%s: %s.", diag.Quote(v.File, 0), reason(err)))
			return
		}
		inside = l.insideDir(v.File)
	}
	if s := l.valuesSource(name, text); s != nil {
		l.valuesFile(s, inside)
	}
}

// insideDir reports whether a path leads into the catalog directory; what cannot be told counts as inside.
func (l *loader) insideDir(file string) bool {
	resolve := func(p string) (string, error) {
		p, err := filepath.Abs(p)
		if err != nil {
			return "", err
		}
		return filepath.EvalSymlinks(p)
	}
	dir, err1 := resolve(cmp.Or(l.opts.Dir, "."))
	target, err2 := resolve(file)
	if err1 != nil || err2 != nil {
		return true
	}
	rel, err := filepath.Rel(dir, target)
	return err != nil || filepath.IsLocal(rel)
}

func (l *loader) varFlag(v VarSource) {
	x := l.variables[v.Name]
	if x == nil {
		// A secret whose name was forgotten may hold a "=", too.
		if !addr.ValidLabel(v.Name) || strings.Trim(v.Value, "=") == "" && v.Value != "" {
			l.add(diag.Errorf("variable.undeclared", "Variable not declared", "-var gives a value to what is no name, so it is not shown. Write -var 'NAME=VALUE'."))
			return
		}
		l.add(diag.Errorf("variable.undeclared", "Variable not declared", "-var names %s, which the catalog does not declare.%s", diag.Quote(v.Name, maxShownWord), suggest(v.Name, keys(l.variables), nil)))
		return
	}
	if x.sensitive {
		l.add(diag.Warningf("variable.flag", "Secret on the command line",
			"The variable %q is sensitive. A value given with -var stays in the history of the shell and is seen by others in the list of processes. Set %s%s, or use -var-file.", x.name, envPrefix, x.name))
	}
	if value, ok := l.parseValue(x, "value of -var for "+x.name, v.Value); ok {
		l.set(x, value, fromFlag, x.rng, x.w)
	}
}

// planned replaces the values by those of a saved plan.
func (l *loader) planned() {
	given := map[string]VariableValue{}
	for _, p := range l.opts.Planned {
		if l.variables[p.Name] == nil {
			l.add(diag.Errorf("variable.undeclared", "Variable not declared", "The plan has a value for %s, which the catalog does not declare.", diag.Quote(p.Name, maxShownWord)))
		}
		given[p.Name] = p
	}
	for _, x := range l.order {
		p, ok := given[x.name]
		x.value, x.source = cty.NilVal, p.Source
		if !ok || p.Sensitive != x.sensitive || (p.Value == nil) != x.sensitive {
			x.bad = true
			l.fail("variable.missing", "Plan and catalog disagree", x.rng, x.w, "The plan has no value that fits the variable %q as it is declared now.", x.name)
			continue
		}
		if x.sensitive {
			continue
		}
		t, err := ctyjson.ImpliedType(p.Value)
		if err != nil {
			l.fail("catalog.type", "Wrong type", x.rng, x.w, "The plan's value of the variable %q is no JSON value.", x.name)
			continue
		}
		v, err := ctyjson.Unmarshal(p.Value, t)
		if err != nil {
			l.fail("catalog.type", "Wrong type", x.rng, x.w, "The plan's value of the variable %q is no JSON value.", x.name)
			continue
		}
		l.set(x, v, p.Source, x.rng, x.w)
	}
}

// complete checks that a variable has a value and records it.
func (l *loader) complete(x *variable) {
	shown := VariableValue{Name: x.name, Source: x.source, Sensitive: x.sensitive}
	switch {
	case x.value != cty.NilVal:
	case x.sensitive && (l.opts.AllowMissingSecrets || l.opts.Planned != nil):
		x.value = cty.UnknownVal(x.typ)
		l.need("var."+x.name, envPrefix+x.name)
	case x.bad:
		return
	default:
		l.fail("variable.missing", "Variable without a value", x.rng, x.w,
			"The variable %q has no default and no value. Set %s%s, or pass -var='%s=…' or -var-file=FILE.", x.name, envPrefix, x.name, x.name)
		return
	}
	if x.sensitive {
		l.secrets = secretsIn(l.secrets, x.value, "var."+x.name)
	} else {
		raw, err := jsonOf(x.value)
		if err != nil {
			l.fail("catalog.type", "Value cannot be recorded", x.rng, x.w, "The value of the variable %q has no JSON form.", x.name)
			return
		}
		shown.Value = raw
	}
	l.cat.Variables = append(l.cat.Variables, shown)
}

// ReadVarFile reads a file of values from r, for VarSource.Data: at most MaxFileBytes, otherwise an error.
func ReadVarFile(r io.Reader) ([]byte, error) {
	b, err := readBounded(r, MaxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	return b, nil
}
