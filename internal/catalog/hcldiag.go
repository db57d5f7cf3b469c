package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// addHCL reports what the HCL library found, at most five of it. The library's summaries are fixed words. Its details
// may repeat values: they are replaced if secret, and texts of literals are taken out otherwise.
func (l *loader) addHCL(diags hcl.Diagnostics, w where, expr hclsyntax.Expression, secret bool) {
	shown := 0
	for _, d := range diags {
		if d.Severity != hcl.DiagError || repeated(d, diags) {
			continue
		}
		if shown++; shown > 5 {
			return
		}
		r := hcl.Range{}
		if d.Subject != nil {
			r = *d.Subject
		}
		detail := "The expression refers to a secret, so the reason is not shown. Try it with a plain value in mcpcat console."
		if !secret {
			detail = l.scrub(d.Detail, d.Expression, expr) + l.missingHint(d, expr)
			if strings.HasPrefix(d.Detail, "Single quotes are not valid.") {
				detail = "A text stands between double quotes, not between single ones."
			}
		}
		if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d); ok && isFileError(call.FunctionCallError()) {
			l.fail("catalog.file", "File cannot be read", r, w, "%s.", upperFirst(call.FunctionCallError().Error()))
			continue
		}
		code := "catalog.expression"
		if d.Summary == exhaustedSummary {
			code = "catalog.limit"
		}
		l.fail(code, d.Summary, r, w, "%s", detail)
	}
}

// typeWords are the words of type constraints.
var typeWords = []string{"any", "bool", "list", "map", "number", "object", "optional", "set", "string", "tuple"}

// missingHint names what is nearest to a word that the HCL library does not know, which it does itself for arguments and
// blocks only: the words of types and the attributes of objects. "" if there is nothing near.
func (l *loader) missingHint(d *hcl.Diagnostic, expr hclsyntax.Expression) string {
	if d.Subject == nil {
		return ""
	}
	hint := func(name string, known []string) string {
		if near := nearest(name, known); near != "" {
			return fmt.Sprintf(" Did you mean %q?", near)
		}
		return ""
	}
	if s := l.sources[d.Subject.Filename]; s != nil && d.Summary == "Invalid type specification" && d.Subject.CanSliceBytes(s.text) {
		word, _, _ := strings.Cut(string(d.Subject.SliceBytes(s.text)), "(")
		if slices.Contains(typeWords, word) {
			return "" // used in a wrong way
		}
		return hint(word, typeWords)
	}
	if d.EvalContext == nil || d.Summary != "Unsupported attribute" && d.Summary != "Invalid index" {
		return ""
	}
	out := ""
	nodes(expr, func(n hclsyntax.Node) {
		t, ok := n.(*hclsyntax.ScopeTraversalExpr)
		if !ok || out != "" || !contains(t.Traversal.SourceRange(), *d.Subject) {
			return
		}
		for i := 1; i < len(t.Traversal); i++ {
			name, named := stepName(t.Traversal, i)
			if !named || !overlap(t.Traversal[i].SourceRange(), *d.Subject) {
				continue
			}
			v, diags := t.Traversal[:i].TraverseAbs(d.EvalContext)
			if !diags.HasErrors() {
				out = hint(name, attributeNames(v))
			}
			return
		}
	})
	return out
}

// contains reports whether outer has the whole of inner.
func contains(outer, inner hcl.Range) bool {
	return outer.Filename == inner.Filename && outer.Start.Byte <= inner.Start.Byte && inner.End.Byte <= outer.End.Byte
}

func overlap(a, b hcl.Range) bool { return a.Start.Byte < b.End.Byte && b.Start.Byte < a.End.Byte }
