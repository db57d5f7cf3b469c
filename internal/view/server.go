package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// labelColumn is where the facts of a server begin.
const labelColumn = 16

func (v *planView) server(s *plan.Server) {
	symbol, color := "", plain
	switch s.Status {
	case plan.NotChecked:
		symbol, color = "! ", yellow
	case plan.Refused:
		symbol, color = "x ", red
	case plan.Removed:
		symbol, color = "- ", red
	default:
		if slices.ContainsFunc(s.Changes, func(l plan.Leaf) bool { return l.Class == plan.ServerAdded }) {
			symbol, color = "+ ", green
		}
	}
	rows := &rows{p: &v.printer, first: symbol + esc(s.Address), symbol: len(symbol), color: color}
	switch s.Status {
	case plan.NotChecked, plan.Refused:
		v.failed(rows, s)
	case plan.Disabled:
		rows.add("", span{text: "disabled: not asked, " + kept(*s.KeptTools)})
	case plan.Removed:
		rows.add(serverComment(s.Changes, ""), span{text: "no longer declared: " + esc(s.Endpoint)})
		if s.RemovedAt != "" && len(s.Changes) > 0 {
			rows.add("", span{text: strings.TrimPrefix(intended(s.RemovedAt, s.Changes[0].Note), ", ")})
		}
	default:
		v.checked(rows, s)
	}
	rows.decided(s.DecidedBy)
	v.blank()
}

func kept(n int) string {
	switch n {
	case 0:
		return "nothing of it is pinned"
	case 1:
		return "its 1 pinned tool stays as it is"
	}
	return fmt.Sprintf("its %d pinned tools stay as they are", n)
}

func (v *planView) failed(r *rows, s *plan.Server) {
	word := "not checked"
	if s.Status == plan.Refused {
		word = "refused"
	}
	message := "no reason given"
	if s.Error != nil {
		message = lowerFirst(strings.TrimSuffix(s.Error.Message, "."))
	}
	// The message is ours; foreign text in it is escaped already, and escaping it again only marks brackets twice.
	r.add("", span{text: word + ": " + ownText(message)})
	if s.KeptTools != nil {
		r.add("", span{text: kept(*s.KeptTools)})
	}
	if s.PreviousAddress != "" {
		r.add("", span{text: "it stays pinned as " + esc(s.PreviousAddress)})
	}
	if s.Declared != nil && (s.Status == plan.NotChecked || v.o.Full) {
		r.add("", span{text: "declared: " + esc(s.Endpoint)})
		r.declared(s.Declared)
	}
	r.differs(s.Differs)
}

// capabilityText is what a server says it can do, whole.
func capabilityText(v strictjson.Value) string {
	if v.Kind() != strictjson.KindObject {
		return "none"
	}
	return esc(string(v))
}

func (v *planView) checked(r *rows, s *plan.Server) {
	added := slices.ContainsFunc(s.Changes, func(l plan.Leaf) bool { return l.Class == plan.ServerAdded })
	switch {
	case added:
		r.add(serverComment(s.Changes, ""), span{text: "new: " + esc(s.Endpoint)})
		if id := s.Identity; id != nil && id.After != nil {
			r.add("", span{text: "calls itself " + esc(id.After.Name+" "+id.After.Version)})
		}
		if s.After != nil && s.After.Instructions != nil {
			r.add("", span{text: "instructions " + quoteText(*s.After.Instructions)})
		}
		if s.Declared != nil {
			r.declared(s.Declared)
		}
		if s.After != nil {
			r.attribute("protocol", esc(s.After.Protocol))
			r.attribute("capabilities", capabilityText(strictjson.Value(s.After.Capabilities)))
		}
	case len(s.Changes) == 0 && len(v.changes[s.Address]) == 0:
		line := "unchanged, " + plural(*s.DeclaredTools, "tool")
		if tools, ok := s.Snapshots["tools"]; ok && tools.After != nil {
			line = pad(line, commentColumn-labelColumn-1) + " " + v.digest(*tools.After)
		}
		r.add("", span{text: line})
	default:
		v.sections(r, s)
	}
	for _, f := range s.Flags {
		r.add("DENIED: "+string(f.Class), span{text: "concealed text at " + esc(f.Path) + ": " + ownText(f.Note)})
	}
	if n := len(s.UndeclaredTools); n > 0 && (len(s.Changes) > 0 || v.o.ShowUnchanged) && !newlyListed(s) {
		are := "listed tools are"
		if n == 1 {
			are = "listed tool is"
		}
		r.add("", span{text: fmt.Sprintf("%d %s not declared: %s", n, are, v.some(s.UndeclaredTools))})
	}
	for _, x := range s.ExcludedTools {
		r.add("", span{text: "not usable: " + diag.Quote(x.Name, 0) + ": " + ownText(x.Reason)})
	}
	if len(s.ChangesByItself) > 0 {
		r.add("", span{text: "changes by itself between two walks: " + list(s.ChangesByItself)})
	}
	if v.o.ShowUnchanged && len(s.UnchangedTools) > 0 {
		r.add("", span{text: "unchanged: " + list(s.UnchangedTools)})
	}
}

// sections prints the differences of a server that was pinned before.
func (v *planView) sections(r *rows, s *plan.Server) {
	if id := s.Identity; id != nil && id.After != nil {
		text := esc(id.After.Name + " " + id.After.Version)
		if id.Before != nil && *id.Before != *id.After {
			text = esc(id.Before.Name) + " " + esc(id.Before.Version) + " -> "
			if id.Before.Name != id.After.Name {
				text += esc(id.After.Name) + " "
			}
			text += esc(id.After.Version)
		}
		identity := slices.DeleteFunc(slices.Clone(s.Changes), func(l plan.Leaf) bool { return l.Class != plan.IdentityChanged })
		r.add(serverComment(identity, s.Label), span{text: text})
	} else {
		for _, l := range s.Changes {
			if l.Class == plan.IdentityChanged {
				r.leaf(l, "identity", s.Label)
			}
		}
	}
	if tools, ok := s.Snapshots["tools"]; ok && tools.Before != nil && tools.After != nil && *tools.Before != *tools.After {
		r.add("", span{text: "tools/list " + v.digest(*tools.Before) + " -> " + v.digest(*tools.After)})
	}
	for _, l := range s.Changes {
		switch l.Class {
		case plan.IdentityChanged:
		case plan.ToolMoved:
			r.add(serverComment([]plan.Leaf{l}, s.Label), span{text: "was " + esc(s.PreviousAddress) + "; the endpoint is the same"})
		case plan.OrderChanged:
			r.add(serverComment([]plan.Leaf{l}, s.Label), span{text: "order " + nameList(l.Before) + " -> " + nameList(l.After)})
		case plan.ListingChanged:
			switch {
			case l.Op == "add":
				r.add(serverComment([]plan.Leaf{l}, s.Label), span{text: "newly listed, not declared: " + nameList(l.After)})
			case l.Op == "remove":
				r.add(serverComment([]plan.Leaf{l}, s.Label), span{text: "no longer listed, not declared: " + nameList(l.Before)})
			default:
				r.add(serverComment([]plan.Leaf{l}, s.Label), span{text: "differs in " + l.Note})
			}
		case plan.MetadataChanged:
			r.add(serverComment([]plan.Leaf{l}, s.Label), span{text: strings.TrimPrefix(l.Path, "/snapshots/") + " differs in " + l.Note})
		default:
			name := strings.TrimPrefix(l.Path, "/")
			if l.Class == plan.CacheChanged {
				name = strings.TrimPrefix(name, "tools/")
			}
			r.leaf(l, name, s.Label)
		}
	}
}

// newlyListed reports whether the undeclared tools of s are exactly those that a line about the list names.
func newlyListed(s *plan.Server) bool {
	return slices.ContainsFunc(s.Changes, func(l plan.Leaf) bool {
		return l.Class == plan.ListingChanged && l.Op == "add" && nameList(l.After) == list(s.UndeclaredTools)
	})
}

func nameList(raw []byte) string {
	var names []string
	for e := range strictjson.Value(raw).Elements() {
		s, _ := e.Text()
		names = append(names, s)
	}
	return list(names)
}

// serverComment words the classes and the decision of leaves, or their label.
func serverComment(leaves []plan.Leaf, label string) string {
	if len(leaves) == 0 {
		return ""
	}
	var classes []string
	decision := plan.Auto
	for _, l := range leaves {
		if name := string(l.Class); !slices.Contains(classes, name) {
			classes = append(classes, name)
		}
		if l.Decision != plan.Auto {
			decision = l.Decision
		}
	}
	what := strings.Join(classes, ", ")
	if label != "" {
		what = label
	}
	return what + ": " + string(decision)
}

// rows prints the facts of a server: the first behind its address, the others beneath.
type rows struct {
	p      *printer
	first  string
	symbol int
	color  style
	done   bool
}

func (r *rows) add(comment string, spans ...span) {
	prefix := strings.Repeat(" ", labelColumn+r.symbol)
	if !r.done {
		r.done = true
		head := span{bold, r.first}
		if r.symbol > 0 {
			head.style = r.color
		}
		gap := strings.Repeat(" ", max(labelColumn+r.symbol-width(r.first), 2))
		r.p.flow("", labelColumn+r.symbol, comment, append([]span{head, {text: gap}}, spans...)...)
		return
	}
	r.p.flow(prefix, labelColumn+r.symbol, comment, spans...)
}

// hang is add with further lines indented by more columns.
func (r *rows) hang(comment string, more int, spans ...span) {
	at := labelColumn + r.symbol
	r.p.flow(strings.Repeat(" ", at), at+more, comment, spans...)
}

func (r *rows) leaf(l plan.Leaf, name, label string) {
	r.leafComment(l, name, joinNote(serverComment([]plan.Leaf{l}, label), l.Note))
}

func (r *rows) leafComment(l plan.Leaf, name, comment string) {
	name = esc(name)
	if len(l.Words) > 0 && longText(l) {
		r.add(comment, append([]span{{text: name + " "}}, r.p.words(l.Words)...)...)
		return
	}
	text := func(raw []byte) string { return valueText(raw) }
	if strings.HasPrefix(l.Path, "/endpoint/") {
		last := l.Path[strings.LastIndexByte(l.Path, '/')+1:]
		if last == "inherit_env" && l.Op != "replace" {
			r.add(comment, span{text: name + " " + settingText(last, strictjson.Value(l.Before)) + " -> " + settingText(last, strictjson.Value(l.After))})
			return
		}
		switch {
		case strings.HasPrefix(l.Path, "/endpoint/tls/"):
			text = func(raw []byte) string { return r.tlsSetting(strictjson.Value(raw)) }
		case last != "args": // where one ends and the next begins is not to be guessed
			text = func(raw []byte) string { return settingText(last, strictjson.Value(raw)) }
		}
	}
	switch l.Op {
	case "add":
		r.add(comment, span{text: name + ", new: " + text(l.After)})
	case "remove":
		r.add(comment, span{text: name + ", gone: " + text(l.Before)})
	default:
		r.add(comment, span{text: name + " " + text(l.Before) + " -> " + text(l.After)})
	}
}
