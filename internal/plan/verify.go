package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// State is what verify found out about one declared item.
type State string

// The states.
const (
	StateOK        State = "ok"
	StateDrift     State = "drift"      // the live definition is another one
	StateMissing   State = "missing"    // pinned, and no longer listed
	StateNotPinned State = "not_pinned" // declared, and not in the lock
	StateEndpoint  State = "endpoint"   // the catalog's endpoint or limits are not the pinned ones
	StateSettings  State = "settings"   // the catalog's run-time settings check less often than the pinned ones
	// StateNotCallable is a pinned definition that cannot be enforced, so that no call of it is allowed.
	StateNotCallable State = "not_callable"
	StateNotChecked  State = "not_checked" // the server could not be asked or was refused
)

// refused reports whether the gate would refuse the item.
func (s State) refused() bool { return s != StateOK && s != StateNotChecked }

// Verification is the document of verify: whether the gate would refuse something that the catalog declares. It changes
// nothing.
type Verification struct {
	FormatVersion string         `json:"format_version"`
	Kind          string         `json:"kind"` // "verify"
	Lock          string         `json:"lock"`
	Base          *Base          `json:"base"` // nil: no lock
	Summary       VerifySummary  `json:"summary"`
	Servers       []VerifyServer `json:"servers"` // declared and enabled, by address
	Items         []VerifyItem   `json:"items"`   // declared on them, by address
	Posture       []Posture      `json:"posture"` // settings and agents of which the catalog says more than the lock
	Diagnostics   diag.List      `json:"diagnostics"`
}

// VerifySummary counts items. Seen is the number of items of servers that were checked; less than Expected is a failure.
type VerifySummary struct {
	Expected   int `json:"expected"`
	Seen       int `json:"seen"`
	OK         int `json:"ok"`
	Refused    int `json:"refused"` // the gate would refuse these
	NotChecked int `json:"not_checked"`
	Notes      int `json:"notes"` // differences that refuse nothing
}

// VerifyServer is one server. Changes are differences of its own, all of them notes; what refuses its items stands with
// them.
type VerifyServer struct {
	Address string   `json:"address"`
	Status  Status   `json:"status"`
	Error   *Failure `json:"error,omitempty"`
	Changes []Leaf   `json:"changes"`
}

// VerifyItem is one declared tool. Changed names the top-level members that differ.
type VerifyItem struct {
	Address string         `json:"address"`
	State   State          `json:"state"`
	Locked  *digest.Digest `json:"locked"`
	Live    *digest.Digest `json:"live"`
	Changed []string       `json:"changed,omitempty"`
	Reason  string         `json:"reason,omitempty"` // for endpoint, settings and not_callable
}

// Posture is one way in which the catalog states more than the lock holds.
type Posture struct {
	Subject string `json:"subject"` // "gate": refuses every call; "agent support_bot": refuses calls of this agent
	Detail  string `json:"detail"`
}

// Verify compares what was observed with the lock. It does not look for changes to apply: an item is ok exactly when the
// gate would pass a call to it.
//
// The error is that of Make for input whose parts do not belong together.
func Verify(in Input) (*Verification, error) {
	unjudged, applied := in, json.RawMessage(nil)
	if in.Base != nil { // policies judge plans: neither the gate nor verify asks them
		base := *in.Base
		applied, base.Policy = base.Policy, nil
		unjudged.Base = &base
	}
	m, err := compute(unjudged, nil)
	if err != nil {
		return nil, err
	}
	v := &Verification{
		FormatVersion: FormatVersion, Kind: "verify", Lock: in.LockName,
		Servers: []VerifyServer{}, Items: []VerifyItem{}, Posture: []Posture{}, Diagnostics: diag.List{},
	}
	if in.Base != nil {
		base := m.plan.Base
		v.Base = &base
	}
	for _, s := range m.plan.Servers {
		if s.Status == Removed || s.Status == Disabled {
			continue
		}
		a, err := addr.ParseServer(s.Address)
		if err != nil {
			return nil, err
		}
		decl := m.cat.Server(a)
		vs := VerifyServer{Address: s.Address, Status: s.Status, Error: s.Error, Changes: append([]Leaf{}, s.Changes...)}
		vs.Changes = append(vs.Changes, s.Differs...)
		v.Servers = append(v.Servers, vs)
		for _, l := range vs.Changes {
			if l.Class != ServerAdded && l.Class != EndpointChanged && l.Class != GuardChanged {
				v.Summary.Notes++
			}
		}
		for _, t := range decl.Tools {
			v.item(m, decl, t.Name, s.Status)
		}
	}
	if m.plan.Gate != nil && m.cat.Gate.AtLeast(m.base.Gate) && in.Base != nil {
		v.Summary.Notes++ // it checks more often than was applied, which is obeyed
	}
	if in.Base != nil && !bytes.Equal(applied, m.next.Policy) {
		v.Summary.Notes++
	}
	sortByAddress(v.Items, func(it VerifyItem) string { return it.Address })
	v.posture(m)
	v.conclude(m)
	return v, nil
}

// item judges one declared tool by what the gate asks, from the same functions, whether or not its server was asked:
// catalog.Gate.AtLeast, catalog.Server.CheckApplied, package schema. Where several things refuse it, the state is the one
// that plan and apply may mend.
func (v *Verification) item(m *maker, decl *catalog.Server, name string, status Status) {
	a := addr.Item{Server: decl.Addr, Kind: addr.Tool, Name: name}
	it := VerifyItem{Address: a.String()}
	pinned := m.base.Find(a)
	if pinned != nil {
		it.Locked = &pinned.Digest
	}
	v.Summary.Expected++
	var live surface.Item
	listed := false
	if status == Checked {
		v.Summary.Seen++
		if live, listed = m.observed[decl.Addr].Tool(name); listed {
			it.Live = &live.Digest
		}
	}
	var unapplied, unenforced error
	if pinned != nil {
		if entry := m.base.ServerByAddr(decl.Addr); entry == nil {
			unapplied = errors.New("its server is not in the lock")
		} else {
			unapplied = decl.CheckApplied(catalog.Applied{
				Endpoint: entry.EndpointDigest, Protocol: entry.Protocol, Timeouts: entry.Timeouts, Limits: entry.Limits, Recheck: entry.Recheck, Gate: m.base.Gate,
			})
		}
		unenforced = m.callable(strictjson.Value(pinned.Definition))
	}
	switch {
	case pinned == nil:
		it.State = StateNotPinned
	case unapplied != nil:
		it.State, it.Reason = StateEndpoint, unapplied.Error()
	case !m.cat.Gate.AtLeast(m.base.Gate):
		it.State, it.Reason = StateSettings, "the gate block of the catalog is not the applied one: plan and apply it"
	case status == Checked && !listed:
		it.State = StateMissing
	case status == Checked && live.Digest != pinned.Digest:
		it.State = StateDrift
		it.Changed = changedMembers(pinned.Definition, live.Definition)
	case unenforced != nil:
		it.State, it.Reason = StateNotCallable, diag.Escape(cutText(unenforced.Error()))
	case status != Checked:
		it.State = StateNotChecked
	default:
		it.State = StateOK
	}
	switch {
	case it.State == StateOK:
		v.Summary.OK++
	case it.State.refused():
		v.Summary.Refused++
	default:
		v.Summary.NotChecked++
	}
	v.Items = append(v.Items, it)
}

// changedMembers names the top-level members in which two definitions differ, sorted.
func changedMembers(before, after []byte) []string {
	b, a := members(strictjson.Value(before)), members(strictjson.Value(after))
	var out []string
	for _, key := range union(b, a) {
		if !same(b[key], a[key]) {
			out = append(out, cutText(key))
		}
	}
	return out
}

// posture compares settings and agents. Only what the catalog states beyond the lock refuses calls; what it takes away is
// obeyed.
func (v *Verification) posture(m *maker) {
	if !m.cat.Gate.AtLeast(m.base.Gate) {
		v.Posture = append(v.Posture, Posture{"gate", "the catalog checks less often than the pinned settings: every call is refused"})
	}
	for _, a := range m.cat.Agents {
		pinned := m.base.AgentByName(a.Name)
		if pinned == nil {
			v.Posture = append(v.Posture, Posture{"agent " + a.Name, "the agent is not pinned"})
			continue
		}
		names := exposedNames(pinned)
		for _, t := range pinned.Tools {
			if it := m.base.Find(t.Address); it == nil || it.Digest != t.Digest {
				delete(names, t.Address) // an entry for another definition gives nothing
			}
		}
		for _, t := range a.Tools {
			switch name, ok := names[t.Item]; {
			case !ok && m.base.Find(t.Item) != nil:
				v.Posture = append(v.Posture, Posture{"agent " + a.Name, "not pinned for it: " + t.Item.String()})
			case ok && name != t.Name:
				v.Posture = append(v.Posture, Posture{
					"agent " + a.Name, fmt.Sprintf("%s is pinned as %s and declared as %s", t.Item, diag.Quote(name, 0), diag.Quote(t.Name, 0)),
				})
			}
		}
	}
}

func (v *Verification) conclude(m *maker) {
	for _, d := range m.plan.Diagnostics {
		if d.Code != CodeNotListed && d.Code != CodeExcluded { // said by the item itself
			v.Diagnostics = append(v.Diagnostics, d)
		}
	}
	if v.Summary.Expected == 0 {
		v.Diagnostics = append(v.Diagnostics, diag.Errorf("verify.nothing_declared", "Nothing to verify",
			"The catalog declares no tool on an enabled server, so nothing was checked."))
	}
}

// OK reports whether everything that is declared was seen and would pass the gate.
func (v *Verification) OK() bool { return v.ExitCode() == ExitDone }

// ExitCode is what verify ends with: ExitDrift if the gate would refuse something declared, ExitIncomplete if less was
// seen than expected or nothing was expected, otherwise 0.
func (v *Verification) ExitCode() int {
	switch {
	case v.Summary.Refused > 0 || len(v.Posture) > 0:
		return ExitDrift
	case v.Summary.Seen < v.Summary.Expected || v.Summary.Expected == 0 || v.Summary.OK < v.Summary.Expected || v.unchecked():
		return ExitIncomplete
	}
	return ExitDone
}

// unchecked reports whether a server was not checked, even one of which nothing is declared.
func (v *Verification) unchecked() bool {
	return slices.ContainsFunc(v.Servers, func(s VerifyServer) bool { return s.Status != Checked })
}

// Encode returns the document as canonical JSON on one line.
func (v *Verification) Encode() ([]byte, error) {
	src, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("verify document: %w", err)
	}
	out, err := strictjson.AppendCanonical(nil, src, limits)
	if err != nil {
		return nil, fmt.Errorf("verify document: %w", err)
	}
	return diag.EscapeJSON(out), nil
}
