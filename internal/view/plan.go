package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Text prints a whole plan: body, diagnostics, summary.
func Text(w io.Writer, p *plan.Plan, o Options) error {
	if err := PlanBody(w, p, o); err != nil {
		return err
	}
	if len(p.Diagnostics) > 0 {
		if err := diag.Write(w, p.Diagnostics, diag.WriteOptions{Color: o.Color, Width: o.Width}); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	return PlanSummary(w, p, o)
}

// PlanBody prints what a plan found, without diagnostics and summary. It ends with an empty line, and prints nothing when
// there is nothing to show.
//
// Servers with changes come first, the most dangerous on top, then unchanged ones, then those that were not checked,
// then refused ones. Within a server the order is: denied, removed, widened, other changes, added; then by address.
func PlanBody(w io.Writer, p *plan.Plan, o Options) error {
	v := &planView{printer: printer{o: o}, p: p, changes: map[string][]*plan.Change{}, shown: map[string]bool{}}
	for i := range p.Changes {
		c := &p.Changes[i]
		v.changes[serverOf(c.Address)] = append(v.changes[serverOf(c.Address)], c)
		v.shown[c.Address] = true
	}
	for _, list := range v.changes {
		slices.SortStableFunc(list, func(a, b *plan.Change) int { return cmp.Compare(changeRank(a), changeRank(b)) })
	}
	if p.HasChanges() || !p.Complete || o.ShowUnchanged {
		v.heading()
		v.servers()
		v.agents()
		v.settings()
	}
	return v.writeTo(w)
}

type planView struct {
	printer
	p       *plan.Plan
	changes map[string][]*plan.Change // by server
	shown   map[string]bool           // addresses of changed tools
}

func serverOf(item string) string {
	a, err := addr.ParseItem(item)
	if err != nil {
		return ""
	}
	return a.Server.String()
}

// Ranks of the order in which changes are shown.
const (
	rankDenied = iota
	rankRemoved
	rankWidened
	rankOther
	rankAdded
	rankUnchanged
	rankDisabled
	rankNotChecked
	rankRefused
)

func changeRank(c *plan.Change) int {
	switch {
	case c.Decision == plan.Deny:
		return rankDenied
	case c.Action == plan.Remove:
		return rankRemoved
	case c.Action == plan.Add:
		return rankAdded
	case slices.ContainsFunc(c.Classes, plan.Class.Widening):
		return rankWidened
	}
	return rankOther
}

func (v *planView) serverRank(s *plan.Server) int {
	rank := rankUnchanged
	switch {
	case s.Status == plan.Refused:
		return rankRefused
	case s.Status == plan.NotChecked:
		return rankNotChecked
	case s.Status == plan.Disabled:
		return rankDisabled
	case s.Decision() == plan.Deny:
		rank = rankDenied
	case s.Status == plan.Removed:
		rank = rankRemoved
	case slices.ContainsFunc(s.Changes, func(l plan.Leaf) bool { return l.Class.Widening() }):
		rank = rankWidened
	case slices.ContainsFunc(s.Changes, func(l plan.Leaf) bool { return l.Class == plan.ServerAdded }):
		rank = rankAdded
	case len(s.Changes) > 0:
		rank = rankOther
	}
	for _, c := range v.changes[s.Address] {
		rank = min(rank, changeRank(c))
	}
	return rank
}

func (v *planView) heading() {
	against := esc(v.p.Base.Lock)
	if v.p.Base.Root != nil {
		against += fmt.Sprintf(" (serial %d)", v.p.Base.Serial)
	} else {
		against += ", which does not exist yet"
	}
	v.flow("", 0, "", span{text: fmt.Sprintf("mcpcat compared %s with %s.", plural(len(v.p.Servers), "server"), against)})
	v.blank()
	v.flow("", 2, "", span{text: "  "}, span{green, "+"}, span{text: " add   "}, span{yellow, "~"}, span{text: " change   "},
		span{red, "-"}, span{text: " remove   "}, span{yellow, "!"}, span{text: " not checked   "}, span{red, "x"}, span{text: " refused"})
	v.blank()
}

func (v *planView) servers() {
	servers := make([]*plan.Server, len(v.p.Servers))
	for i := range v.p.Servers {
		servers[i] = &v.p.Servers[i]
	}
	slices.SortStableFunc(servers, func(a, b *plan.Server) int { return cmp.Compare(v.serverRank(a), v.serverRank(b)) })
	for _, s := range servers {
		v.server(s)
		for _, c := range v.changes[s.Address] {
			v.change(c)
		}
	}
}

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
	default:
		v.checked(rows, s)
	}
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
		r.add("", span{text: fmt.Sprintf("%d %s not declared: %s", n, are, list(s.UndeclaredTools))})
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
			r.leaf(l, esc(name), s.Label)
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

func (r *rows) leaf(l plan.Leaf, name, label string) {
	comment := serverComment([]plan.Leaf{l}, label)
	if l.Note != "" {
		comment += ", " + l.Note
	}
	if len(l.Words) > 0 && longText(l) {
		r.add(comment, append([]span{{text: name + " "}}, r.p.words(l.Words)...)...)
		return
	}
	switch l.Op {
	case "add":
		r.add(comment, span{text: name + ", new: " + valueText(l.After)})
	case "remove":
		r.add(comment, span{text: name + ", gone: " + valueText(l.Before)})
	default:
		r.add(comment, span{text: name + " " + valueText(l.Before) + " -> " + valueText(l.After)})
	}
}

func (v *planView) agents() {
	for _, a := range v.p.Agents {
		symbol, color := symbolOf(a.Action)
		r := &rows{p: &v.printer, first: symbol + " agent." + esc(a.Name), symbol: 2, color: color}
		for _, c := range a.Changes {
			if c.Address != "" && v.shown[c.Address] && c.Class != plan.ExposedNameChanged {
				continue // stands with the tool
			}
			text := ""
			switch c.Class {
			case plan.AgentAdded:
				text = "new agent, names " + esc(c.After)
			case plan.AgentRemoved:
				text = "no longer declared"
			case plan.AgentGains:
				text = "gains " + esc(c.Address) + " as " + esc(c.After)
			case plan.AgentLoses:
				text = "loses " + esc(c.Address)
			default:
				text = "names " + esc(c.Before) + " -> " + esc(c.After)
				if c.Address != "" {
					text = esc(c.Address) + " is now named " + esc(c.After) + ", was " + esc(c.Before)
				}
			}
			r.add(decisionText(c.Decision), span{text: text})
		}
		if r.done {
			v.blank()
		}
	}
}

func (v *planView) settings() {
	if v.p.Gate == nil {
		return
	}
	r := &rows{p: &v.printer, first: "gate"}
	for _, l := range v.p.Gate.Changes {
		name := strings.TrimPrefix(l.Path, "/")
		if name == "" { // nothing was pinned
			r.add(serverComment([]plan.Leaf{l}, ""), span{text: "settings " + valueText(l.After)})
			continue
		}
		r.leaf(l, esc(name), "")
	}
	v.blank()
}

func symbolOf(a plan.Action) (string, style) {
	switch a {
	case plan.Add:
		return "+", green
	case plan.Remove:
		return "-", red
	}
	return "~", yellow
}

func decisionText(d plan.Decision) string {
	switch d {
	case plan.Auto:
		return "auto"
	case plan.Ask:
		return "forces re-approval"
	}
	return "DENIED"
}

// PlanSummary prints the last lines of a plan.
func PlanSummary(w io.Writer, p *plan.Plan, o Options) error {
	v := &printer{o: o}
	s := p.Summary
	open := ""
	if s.ServersNotChecked > 0 {
		open += ", " + fmt.Sprintf("%d not checked", s.ServersNotChecked)
	}
	if s.ServersRefused > 0 {
		open += ", " + fmt.Sprintf("%d refused", s.ServersRefused)
	}
	faults := 0
	for _, d := range p.Diagnostics {
		if d.Code == plan.CodeNotListed || d.Code == plan.CodeExcluded {
			faults++
		}
	}
	if !p.HasChanges() {
		match := fmt.Sprintf("%s on %s match %s (serial %d).", plural(s.Unchanged, "tool"), plural(s.ServersChecked, "server"), esc(p.Base.Lock), p.Base.Serial)
		switch {
		case faults > 0:
			v.flow("", 0, "", span{text: fmt.Sprintf("Nothing to pin, but %s not offered. %s", isAre(faults, "declared tool"), match)})
		case open != "":
			if s.ServersChecked == 0 {
				match = ""
			}
			v.flow("", 0, "", span{text: "Nothing to pin, but not everything was checked: " + open[2:] + ". " + match})
		default:
			v.flow("", 0, "", span{text: "No changes. " + match})
		}
		return v.writeTo(w)
	}
	line := fmt.Sprintf("Plan: %d to add, %d to change, %d to remove.", s.Add, s.Change, s.Remove)
	if s.Unchanged > 0 || s.KeptUnchecked > 0 {
		line += fmt.Sprintf(" %d unchanged", s.Unchanged)
		if s.KeptUnchecked > 0 {
			line += fmt.Sprintf(", %d kept unchecked", s.KeptUnchecked)
		}
		line += "."
	}
	if s.Denied > 0 {
		line += fmt.Sprintf(" %d denied.", s.Denied)
	}
	v.flow("", 0, "", span{bold, line})
	var second []string
	if need := approvals(p); need != "" {
		second = append(second, need)
	}
	if open != "" {
		second = append(second, fmt.Sprintf("Servers: %d checked%s.", s.ServersChecked, open))
	}
	if faults > 0 {
		second = append(second, isAre(faults, "declared tool")+" not offered, so this plan cannot be applied.")
	}
	if o.SavedTo != "" {
		second = append(second, fmt.Sprintf("Saved to %s; apply with: mcpcat apply %s", esc(o.SavedTo), esc(o.SavedTo)))
	}
	if len(second) > 0 {
		v.flow("", 0, "", span{text: strings.Join(second, " ")})
	}
	return v.writeTo(w)
}

// approvals says how many changes of which sort a person has to agree to.
func approvals(p *plan.Plan) string {
	tools, servers, agents, settings := 0, 0, 0, 0
	for _, c := range p.Changes {
		if c.Decision == plan.Ask {
			tools++
		}
	}
	for i := range p.Servers {
		if p.Servers[i].Decision() == plan.Ask {
			servers++
		}
	}
	for i := range p.Agents {
		if p.Agents[i].Decision() == plan.Ask {
			agents++
		}
	}
	if p.Gate != nil {
		settings = len(p.Gate.Changes)
	}
	var parts []string
	total := 0
	for _, x := range []struct {
		n    int
		what string
	}{{tools, "tool change"}, {servers, "server change"}, {agents, "agent change"}, {settings, "setting"}} {
		if x.n > 0 {
			parts = append(parts, plural(x.n, x.what))
			total += x.n
		}
	}
	if total == 0 {
		return ""
	}
	verb := " need approval."
	if total == 1 {
		verb = " needs approval."
	}
	if len(parts) > 1 {
		parts[len(parts)-2] += " and " + parts[len(parts)-1]
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, ", ") + verb
}

func isAre(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}

func lowerFirst(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && (s[1] < 'A' || s[1] > 'Z') {
		return string(s[0]+'a'-'A') + s[1:]
	}
	return s
}

// ownText cleans a text of ours in which foreign text is escaped already: brackets stay, everything else is escaped.
func ownText(s string) string {
	const open = "\u27e8"
	parts := strings.Split(s, open)
	for i := range parts {
		parts[i] = esc(parts[i])
	}
	return strings.Join(parts, open)
}
