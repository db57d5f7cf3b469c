package catalog

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// foreignFunctions are functions of Terraform that are left out, and what to do instead.
var foreignFunctions = map[string]string{
	"templatefile":  "A text with ${ } in a local is a template; file(PATH) reads a text as it is.",
	"yamldecode":    "jsondecode reads JSON.",
	"yamlencode":    "jsonencode writes JSON.",
	"timestamp":     "A plan must be repeatable, so there is no clock. Pass the value in as a variable.",
	"plantimestamp": "A plan must be repeatable, so there is no clock. Pass the value in as a variable.",
	"uuid":          "A plan must be repeatable, so nothing is random. Pass the value in as a variable.",
	"bcrypt":        "A plan must be repeatable, so nothing is random. Pass the value in as a variable.",
	"nonsensitive":  "Nothing makes a secret public: what is made of one is secret whole.",
	"abspath":       "Paths are relative to the catalog directory.",
	"pathexpand":    "Paths are relative to the catalog directory, or absolute.",
	"fileexists":    "A file is there, or the catalog has an error.",
	"sum":           "Add the elements up, or count them with length.",
	"one":           "Write element(LIST, 0).",
	"title":         "There are upper and lower.",
	"md5":           "There is sha256.",
	"sha1":          "There is sha256.",
	"filesha256":    "Write sha256(file(PATH)).",
	"base64encode":  "auth { bearer } takes a token as it is.",
	"strcontains":   "Write can(regex(PATTERN, TEXT)).",
	"compact":       "Write [for x in LIST : x if x != \"\"].",
}

// foreignRoots are words that begin references in Terraform.
var foreignRoots = map[string]string{
	"data":      "Nothing is read from elsewhere: values come from variables, env() and file().",
	"module":    "There are no modules: the files of one directory form one catalog.",
	"resource":  "A server is server.NAME, and what it offers server.NAME.resource[\"URI\"].",
	"terraform": "There are no workspaces: use a directory for each, or -var-file.",
	"count":     "A server with for_each has each.key and each.value.",
	"self":      "What is declared has its whole name, such as server.NAME.",
	"vars":      "A variable is var.NAME.",
	"variable":  "A variable is var.NAME.",
	"locals":    "A local is local.NAME.",
	"env":       "An environment variable is env(\"NAME\").",
	"agent":     "Nothing refers to an agent.",
}

// rootHint says what to write in place of a reference whose first word is none of the language.
func (v *useWalker) rootHint(root string, roots []string) string {
	if hint := foreignRoots[root]; hint != "" {
		return " " + hint
	}
	switch {
	case v.l.servers[root] != nil && v.servers:
		return fmt.Sprintf(" Did you mean server.%s?", root)
	case v.l.toolsets[root] != nil && v.servers:
		return fmt.Sprintf(" Did you mean toolset.%s?", root)
	case v.l.variables[root] != nil:
		return fmt.Sprintf(" Did you mean var.%s?", root)
	case v.l.locals[root] != nil:
		return fmt.Sprintf(" Did you mean local.%s?", root)
	}
	if s := nearest(root, roots); s != "" && len(root) <= 8 {
		return fmt.Sprintf(" Did you mean %q?", s)
	}
	return ""
}

// behindHint says what to write in place of a word that has no meaning behind the address of a server.
func (i *instance) behindHint(word string) string {
	for _, k := range kinds {
		for _, name := range i.declared(k) {
			if name == word {
				return fmt.Sprintf(" Did you mean %s?", diag.Escape(addr.Item{Server: i.Addr, Kind: k, Name: name}.String()))
			}
		}
	}
	if near := nearest(word, []string{"tool", "prompt", "resource", "resource_template"}); near != "" {
		return fmt.Sprintf(" Did you mean .%s?", near)
	}
	return ""
}

// typeHint says what to write in place of a value of another type. want is as messages put it.
func typeHint(name string, got cty.Value, want string) string {
	if got == cty.NilVal || got.IsNull() || !got.IsKnown() {
		return ""
	}
	t := got.Type()
	text := t == cty.String
	reference := false
	if t.IsObjectType() {
		_, reference = referenceOf(got)
	}
	switch {
	case strings.HasPrefix(want, "a list of") && (text || reference):
		return fmt.Sprintf(" Put it into brackets: %s = [ … ].", name)
	case want == "a text" && (t == cty.Number || t == cty.Bool):
		return " Put it into quotes."
	case want == "a text" && name == "command" && isSequence(t):
		return " It is the program alone: its arguments stand in args."
	case (want == "a whole number" || want == "a number" || want == "true or false") && text:
		return " Write it without quotes."
	}
	return ""
}

// repeated reports a diagnostic of the HCL library about a place of which another one says more: a character that does not
// belong to the language is no expression either.
func repeated(d *hcl.Diagnostic, all hcl.Diagnostics) bool {
	if d.Summary != "Invalid expression" || d.Subject == nil {
		return false
	}
	for _, x := range all {
		if x.Summary == "Invalid character" && x.Subject != nil && x.Subject.Filename == d.Subject.Filename && x.Subject.Start.Line == d.Subject.Start.Line {
			return true
		}
	}
	return false
}

// labelHint is a label that looks like one that is none. A long one may be a credential that was pasted.
func labelHint(label, blockType string) string {
	if label == "" || len(label) > 24 {
		return ""
	}
	return fmt.Sprintf(" Write for example %q.", addr.MakeLabel(label, blockType))
}
