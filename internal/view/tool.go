package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Columns of a tool's block.
const (
	toolIndent = 6  // names of members
	toolValue  = 19 // their values
)

var classText = map[plan.Class]string{
	plan.TitleChanged: "title", plan.DescriptionChanged: "description", plan.SchemaTextChanged: "schema text",
	plan.InputWidened: "input widened", plan.InputNarrowed: "input narrowed", plan.InputUnclear: "input unclear",
	plan.OutputChanged: "output", plan.HeaderMappingChanged: "header mapping",
	plan.HintsWeakened: "hints weakened", plan.HintsRelaxed: "hints relaxed", plan.HintsChanged: "hints",
	plan.IconsChanged: "icons", plan.MetaChanged: "_meta", plan.UnknownChanged: "unknown member",
}

func classList(classes []plan.Class) string {
	var out []string
	for _, c := range classes {
		if s, ok := classText[c]; ok {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

// change prints one tool.
func (v *planView) change(c *plan.Change) {
	symbol, color := symbolOf(c.Action)
	comment := decisionText(c.Decision)
	switch {
	case c.Decision == plan.Deny:
		var denied []string
		for _, f := range c.Flags {
			if f.Decision == plan.Deny && !slices.Contains(denied, string(f.Class)) {
				denied = append(denied, string(f.Class))
			}
		}
		for _, l := range c.Diff {
			if l.Decision == plan.Deny && !slices.Contains(denied, string(l.Class)) {
				denied = append(denied, string(l.Class))
			}
		}
		for _, d := range c.DecidedBy {
			if name := decider(d); d.Decision == plan.Deny && !slices.Contains(denied, name) {
				denied = append(denied, name)
			}
		}
		comment += ": " + strings.Join(denied, ", ")
	case c.Action == plan.Modify:
		comment = classList(c.Classes) + ", " + comment
	case c.Action == plan.Add && c.DeclaredAt != "":
		comment = esc(c.DeclaredAt) + ", " + comment
	}
	v.flow("  ", 4, comment, span{color, symbol}, span{bold, " " + esc(c.Address)})
	switch c.Action {
	case plan.Remove:
		v.removed(c)
	case plan.Move:
		v.flow(strings.Repeat(" ", toolIndent), toolIndent, "", span{text: "was " + esc(c.PreviousAddress) + "; the definition is the same"})
		if c.After != nil {
			v.row("digest", span{text: v.digest(c.After.Digest)})
		}
	case plan.Add:
		if c.After != nil {
			v.row("digest", span{text: v.digest(c.After.Digest)})
			v.definition(strictjson.Value(c.After.Definition))
		}
		if c.Note != "" {
			v.flow(strings.Repeat(" ", toolIndent), toolIndent, "", span{yellow, ownText(c.Note)})
		}
	default:
		v.changed(c)
	}
	if c.NotCallable != "" {
		v.flow("", toolIndent, "", span{text: strings.Repeat(" ", toolIndent)},
			span{yellow, "pinned as text, not callable: " + ownText(c.NotCallable)})
	}
	for _, f := range c.Flags {
		v.flow("", toolIndent, "", span{text: strings.Repeat(" ", toolIndent)},
			span{red, "concealed text at " + esc(f.Path) + ": " + ownText(f.Note) + ". It is invisible in most viewers but is read by models."})
	}
	v.gains(c.Agents)
	for _, d := range shownDeciders(c.DecidedBy) {
		v.row("policy", span{text: decidedText(d)})
	}
	v.blank()
}

// shownDeciders leaves out classes that ask: the decision stands beside each change already.
func shownDeciders(list []plan.DecidedBy) []plan.DecidedBy {
	return slices.DeleteFunc(slices.Clone(list), func(d plan.DecidedBy) bool { return d.Rule == "" && d.Decision != plan.Deny })
}

// decider is the class or rule that decided.
func decider(d plan.DecidedBy) string {
	if d.Rule != "" {
		return "rule " + esc(d.Rule)
	}
	return string(d.Class)
}

// decidedText says which policy decided, by what, and where that stands.
func decidedText(d plan.DecidedBy) string {
	text := "policy." + esc(d.Policy)
	switch {
	case d.Applied:
		text += " as it was applied"
	case d.At != "":
		text += " (" + esc(d.At) + ")"
	}
	text += ": " + decider(d) + " is " + string(d.Decision)
	if d.Message != "" {
		text += ": " + quoteText(d.Message)
	}
	return text
}

func (v *planView) removed(c *plan.Change) {
	reason := "no longer declared"
	still := ""
	if c.DeclaredAt != "" {
		still = "; still declared at " + esc(c.DeclaredAt)
	}
	switch c.Reason {
	case plan.NotListedUpstream:
		reason = "no longer listed by the server" + still
	case plan.ExcludedByClient:
		reason = "listed by the server but not usable: " + ownText(c.Note) + still
	case plan.NotDeclared:
		reason += intended(c.RemovedAt, c.Note)
	}
	v.flow(strings.Repeat(" ", toolIndent), toolIndent, "", span{text: reason})
	if c.Before != nil {
		v.row("digest", span{text: v.digest(c.Before.Digest)})
	}
}

// intended says which removed block means a removal, and why.
func intended(at, reason string) string {
	switch {
	case at == "":
		return ""
	case reason == "":
		return ", as " + esc(at) + " says"
	}
	return ", as " + esc(at) + " says: " + ownText(reason)
}

func (v *planView) gains(g plan.Gains) {
	var parts []string
	for _, name := range g.Gain {
		parts = append(parts, esc(name)+" gains it")
	}
	for _, name := range g.Lose {
		parts = append(parts, esc(name)+" loses it")
	}
	if len(parts) > 0 {
		v.row("agents", span{text: strings.Join(parts, ", ")})
	}
}

// row prints a named value of a tool.
func (p *printer) row(name string, spans ...span) { p.rowComment(name, "", spans...) }

func (p *printer) rowComment(name, comment string, spans ...span) {
	prefix := strings.Repeat(" ", toolIndent) + pad(name, toolValue-toolIndent)
	p.flow(prefix, toolValue, comment, spans...)
}

// marked prints a named difference of a tool: a symbol in front of the name.
func (p *printer) marked(op, name, comment string, spans ...span) {
	symbol, color := opSymbol(op)
	all := append([]span{{text: strings.Repeat(" ", toolIndent-2)}, {color, symbol}, {text: " " + pad(name, toolValue-toolIndent)}}, spans...)
	p.flow("", toolValue, comment, all...)
}

func opSymbol(op string) (string, style) {
	switch op {
	case "add":
		return "+", green
	case "remove":
		return "-", red
	}
	return "~", yellow
}

// changed prints the differences of a definition, in the order of the document, schemas as trees.
func (v *planView) changed(c *plan.Change) {
	if c.Before == nil || c.After == nil {
		return
	}
	v.row("digest", span{text: v.digest(c.Before.Digest) + " -> " + v.digest(c.After.Digest)})
	before, after := strictjson.Value(c.Before.Definition), strictjson.Value(c.After.Definition)
	seen := map[string]bool{}
	for i := 0; i < len(c.Diff); {
		top := segment(c.Diff[i].Path)
		seen[top] = true
		n := 1
		for i+n < len(c.Diff) && segment(c.Diff[i+n].Path) == top {
			n++
		}
		group := c.Diff[i : i+n]
		i += n
		if top == "inputSchema" || top == "outputSchema" {
			if n == 1 && group[0].Path == "/"+top {
				v.wholeSchema(top, &group[0])
			} else {
				v.schemaTree(top, group, before, after)
			}
			continue
		}
		for _, l := range group {
			v.leaf(l)
		}
	}
	var same []string
	for name := range after.Members() {
		if _, ok := before.Get(name); ok && !seen[name] && name != "name" && name != "_meta" {
			same = append(same, esc(name))
		}
	}
	if len(same) > 0 {
		slices.Sort(same)
		v.flow(strings.Repeat(" ", toolIndent), toolIndent, "", span{faint, "(" + strings.Join(same, ", ") + " unchanged)"})
	}
}

// segment is the first name of a JSON Pointer.
func segment(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return unescapePointer(first)
}

func unescapePointer(s string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
}

func leafComment(l plan.Leaf) string {
	comment := decisionText(l.Decision)
	switch {
	case l.Effect != "":
		comment = l.Effect + ", " + comment
	case l.Class == plan.HintsRelaxed || l.Class == plan.HintsWeakened:
		comment = classText[l.Class] + ", " + comment
	}
	if l.Note != "" {
		comment += "; " + l.Note
	}
	return ownText(comment)
}

// leaf prints one difference outside a schema.
func (v *planView) leaf(l plan.Leaf) {
	parts := strings.Split(strings.TrimPrefix(l.Path, "/"), "/")
	for i := range parts {
		parts[i] = esc(unescapePointer(parts[i]))
	}
	name := strings.Join(parts, ".")
	if name == "" {
		name = "(member)"
	}
	v.marked(l.Op, name, leafComment(l), v.difference(l)...)
}

// difference is a leaf's value or both.
func (p *printer) difference(l plan.Leaf) []span {
	switch {
	case l.Op == "add":
		return []span{{green, valueText(l.After)}}
	case l.Op == "remove":
		return []span{{red, valueText(l.Before)}}
	case len(l.Words) > 0 && longText(l):
		return p.words(l.Words)
	}
	return []span{{red, valueText(l.Before)}, {text: " -> "}, {green, valueText(l.After)}}
}

// longText reports whether a word by word difference reads better than both texts side by side.
func longText(l plan.Leaf) bool {
	if l.Class == plan.DescriptionChanged || l.Class == plan.InstructionsChanged {
		return true
	}
	return len(l.Before) > 48 || len(l.After) > 48 || strings.Contains(string(l.Before)+string(l.After), `\n`)
}

// valueText prints any JSON value: a text between quotes, anything else in its canonical spelling.
func valueText(raw []byte) string {
	v := strictjson.Value(raw)
	if s, ok := v.Text(); ok {
		return quoteText(s)
	}
	return esc(string(raw))
}

// words prints a word difference. Without colours what went stands in [-...-] and what came in {+...+}; sentences in
// which nothing changed are counted.
func (p *printer) words(words []plan.Word) []span {
	var out []span
	for i, w := range words {
		switch w.Op {
		case "-":
			out = append(out, mark(p.o.Color, red, "[-", w.Text, "-]"))
		case "+":
			out = append(out, mark(p.o.Color, green, "{+", w.Text, "+}"))
		default:
			text := w.Text
			if !p.o.Full {
				text = collapse(text, i > 0, i < len(words)-1)
			}
			out = append(out, span{text: text})
		}
	}
	return out
}

func mark(color bool, s style, open, text, end string) span {
	text = escLines(text)
	if color {
		return span{s, text}
	}
	return span{s, open + text + end}
}

// collapse escapes an unchanged text and replaces the sentences in its middle by their number. The sentence beside a
// difference stays: before and after say on which sides there is one.
func collapse(text string, before, after bool) string {
	s := sentences(text)
	from, to := 0, len(s)
	if before {
		from = 1
	}
	if after {
		to--
	}
	if hidden := to - from; hidden >= 2 {
		head := ""
		if from > 0 {
			head = strings.TrimRight(escLines(s[0]), " ") + " "
		}
		return head + fmt.Sprintf("… (%d sentences) ", hidden) + strings.TrimLeft(escLines(strings.Join(s[to:], "")), " ")
	}
	return escLines(text)
}

// sentences splits after ". ", "! ", "? " and line ends; joined they give text.
func sentences(text string) []string {
	var out []string
	start := 0
	for i := 0; i+1 < len(text); i++ {
		end := text[i] == '\n' || text[i+1] == ' ' && (text[i] == '.' || text[i] == '!' || text[i] == '?')
		if end && i+1 > start {
			out = append(out, text[start:i+1])
			start = i + 1
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}
