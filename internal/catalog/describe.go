package catalog

import (
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty/function"
)

// Description says what a catalog of this version may hold, for programs that help to write one.
type Description struct {
	FileNames []string     `json:"file_names"` // patterns, as for IsFile
	Blocks    []*BlockType `json:"blocks"`     // of Language
	Functions []Function   `json:"functions"`  // by name
	Classes   []Class      `json:"classes"`
}

// Function is a function of the language.
type Function struct {
	Name       string      `json:"name"`
	Parameters []Parameter `json:"parameters"`
}

// Parameter is a parameter of a function. The last one may be Repeated: any number of arguments, none too.
type Parameter struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // in the notation of HCL; expression: evaluated by the function itself
	Repeated bool   `json:"repeated,omitempty"`
}

// Describe returns the description of the language.
func Describe() Description {
	d := Description{
		FileNames: []string{"catalog.hcl", "*.catalog.hcl", firstValues, "*.auto.vars.hcl"},
		Blocks:    Language(), Functions: []Function{}, Classes: Classes(),
	}
	l := &loader{budget: &budget{}}
	functions := l.functions()
	for _, name := range keys(functions) {
		f := Function{Name: name, Parameters: []Parameter{}}
		for _, p := range functions[name].Params() {
			f.Parameters = append(f.Parameters, parameter(p, false))
		}
		if p := functions[name].VarParam(); p != nil {
			f.Parameters = append(f.Parameters, parameter(*p, true))
		}
		d.Functions = append(d.Functions, f)
	}
	return d
}

func parameter(p function.Parameter, repeated bool) Parameter {
	out := Parameter{Name: p.Name, Type: "expression", Repeated: repeated}
	if p.Type != customdecode.ExpressionClosureType && p.Type != customdecode.ExpressionType {
		out.Type = typeexpr.TypeString(p.Type)
	}
	return out
}
