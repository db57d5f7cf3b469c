package plan

import (
	"fmt"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// check reports where a document that was read lacks what its own words ask for, so that those who print it need not
// doubt it: members that go with a status or an action, known classes and decisions, addresses.
func (p *Plan) check() *MismatchError {
	bad := func(pointer, format string, args ...any) *MismatchError {
		return &MismatchError{What: "the plan was edited", Pointer: pointer, Detail: fmt.Sprintf(format, args...)}
	}
	if p.Base.Root == nil && p.Base.Serial != 0 {
		return bad("/base", "there is a serial without a root")
	}
	if !p.Summary.Decision.known() {
		return bad("/summary/decision", "unknown decision")
	}
	for i := range p.Servers {
		if what := p.Servers[i].check(); what != "" {
			return bad(fmt.Sprintf("/servers/%d", i), "%s", what)
		}
	}
	servers := map[string]bool{}
	for _, s := range p.Servers {
		servers[s.Address], servers[s.PreviousAddress] = true, true
	}
	for i := range p.Changes {
		if a, err := addr.ParseItem(p.Changes[i].Address); err == nil && !servers[a.Server.String()] {
			return bad(fmt.Sprintf("/changes/%d/address", i), "its server is not in the document")
		}
		if what := p.Changes[i].check(); what != "" {
			return bad(fmt.Sprintf("/changes/%d", i), "%s", what)
		}
	}
	for i, a := range p.Agents {
		for _, c := range a.Changes {
			if !c.Class.known() || !c.Decision.known() || !knownReasons(a.DecidedBy) {
				return bad(fmt.Sprintf("/agents/%d", i), "unknown class or decision")
			}
		}
		if a.Action != Add && a.Action != Modify && a.Action != Remove {
			return bad(fmt.Sprintf("/agents/%d/action", i), "unknown action")
		}
	}
	for name, s := range map[string]*Settings{"/gate": p.Gate, "/policy": p.Policy} {
		if s != nil && (!knownLeaves(s.Changes) || !knownReasons(s.DecidedBy)) {
			return bad(name, "unknown class or decision")
		}
	}
	return nil
}

func (s *Server) check() string {
	if _, err := addr.ParseServer(s.Address); err != nil {
		return "the address is none"
	}
	switch s.Status {
	case Checked:
		if s.ListedTools == nil || s.DeclaredTools == nil || s.Changes == nil || s.Identity == nil {
			return "a checked server lacks what was seen of it"
		}
	case NotChecked, Refused:
		if s.Error == nil || s.KeptTools == nil {
			return "a server that was not checked lacks the reason or the number of its pins"
		}
	case Disabled, Removed:
		if s.KeptTools == nil {
			return "the number of pins is missing"
		}
	default:
		return "unknown status"
	}
	if !knownLeaves(s.Changes) || !knownFlags(s.Flags) || !knownReasons(s.DecidedBy) {
		return "unknown class or decision"
	}
	return ""
}

func (c *Change) check() string {
	if _, err := addr.ParseItem(c.Address); err != nil {
		return "the address is none"
	}
	both := c.Action == Modify || c.Action == Move
	before, after := both || c.Action == Remove, both || c.Action == Add
	if _, err := addr.ParseItem(c.PreviousAddress); (c.Action == Move) != (err == nil) {
		return "the action does not go with the previous address"
	}
	if !before && !after {
		return "unknown action"
	}
	if (c.Before != nil) != before || (c.After != nil) != after {
		return "the action does not go with before and after"
	}
	for _, v := range []*Version{c.Before, c.After} {
		if v != nil && strictjson.Value(v.Definition).Kind() != strictjson.KindObject {
			return "a definition is no object"
		}
	}
	if !c.Decision.known() || !knownLeaves(c.Diff) || !knownFlags(c.Flags) || !knownReasons(c.DecidedBy) {
		return "unknown class or decision"
	}
	for _, class := range c.Classes {
		if !class.known() {
			return "unknown class"
		}
	}
	return ""
}

func knownLeaves(leaves []Leaf) bool {
	for _, l := range leaves {
		if !l.Class.known() || !l.Decision.known() || l.Op != "add" && l.Op != "remove" && l.Op != "replace" {
			return false
		}
	}
	return true
}

func knownFlags(flags []Flag) bool {
	for _, f := range flags {
		if !f.Class.known() || !f.Decision.known() {
			return false
		}
	}
	return true
}

func knownReasons(list []DecidedBy) bool {
	for _, x := range list {
		if !x.Decision.known() || x.Class != "" && !x.Class.known() {
			return false
		}
	}
	return true
}

func (d Decision) known() bool { return d == Auto || d == Ask || d == Deny }

func (c Class) known() bool { _, ok := classDecisions[c]; return ok }
