// Package contact decides which declared servers may be contacted at all.
//
// Starting a command or sending a secret because a file in a pull request says so is how planning itself runs hostile
// code. An endpoint may be contacted only if it equals the one in the lock, if this user accepted it on this machine
// before, if a person says so now, or if the caller was told to contact all. The package approves contact and nothing
// else: what a server then offers is pinned by plan and apply. It stands on the edge floor of the drawing, beside cli.
package contact

import (
	"context"
	"fmt"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Mode says how far contact may go without a person.
type Mode string

// The modes of the flag -contact.
const (
	All    Mode = "all"    // every declared server
	Locked Mode = "locked" // servers whose endpoint is pinned or was accepted on this machine
	None   Mode = "none"   // nobody
)

// ParseMode reads a mode.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case All, Locked, None:
		return m, nil
	}
	return "", fmt.Errorf("got %q, want all, locked or none", s)
}

// Question is what a person is asked before a first contact.
type Question struct {
	Server string // address
	Stdio  bool   // a command is started; otherwise requests are sent
	Token  bool   // a command is started that prints the token of these requests
	Why    string
	// Posture is everything that is contacted, sent or passed on; a secret is its reference, never its value.
	Posture []Attribute
}

// Attribute is one attribute of an endpoint, such as env.LOG_LEVEL. Was is its pinned value where the server is pinned with
// another one, and nil where it is not pinned or the same; Gone says that only the pinned endpoint has it.
type Attribute struct {
	Name, Value string
	Was         *string
	New, Gone   bool
}

// Keeper decides for the servers of one catalog. It is not safe for concurrent use: people answer one question at a time.
type Keeper struct {
	Mode Mode
	// Dir is the catalog directory, absolute.
	Dir string
	// Base is the lock whose endpoints count as approved, nil for none.
	Base *lock.Lock
	// Moved are the moved blocks of the catalog: a server counts as locked under the address that it had before.
	Moved []catalog.Moved
	// State is the directory where acceptances are remembered; empty: nothing is remembered.
	State string
	// Ask puts a question to a person; nil where there is none.
	Ask func(context.Context, Question) (bool, error)
}

// NotApprovedError says why a server may not be contacted.
type NotApprovedError struct{ Server, Reason string }

func (e *NotApprovedError) Error() string { return e.Server + ": " + e.Reason }

// Approve returns nil if the server may be contacted and a *NotApprovedError if not. Other errors come from Ask or from
// the file of acceptances, and mean no.
func (k *Keeper) Approve(ctx context.Context, s *catalog.Server) error {
	name := s.Addr.String()
	switch k.Mode {
	case All:
		return nil
	case None:
		return &NotApprovedError{name, "not contacted, because of -contact=none"}
	case Locked:
	default:
		return &NotApprovedError{name, fmt.Sprintf("unknown contact mode %q", k.Mode)}
	}

	why := k.locked(s)
	if why == "" {
		return nil
	}
	mem, err := loadMemory(k.State, k.Dir)
	if err != nil {
		return err
	}
	if mem.has(s.EndpointDigest()) {
		return nil
	}
	if k.Ask == nil {
		return &NotApprovedError{name, why}
	}
	var before strictjson.Value
	if pinned := k.pinned(s); pinned != nil {
		before = strictjson.Value(pinned.Endpoint)
	}
	yes, err := k.Ask(ctx, Question{Server: name, Stdio: s.Stdio != nil, Token: s.Stdio == nil && started(s) != nil, Why: why, Posture: posture(before, strictjson.Value(s.Endpoint()))})
	if err != nil {
		return err
	}
	if !yes {
		return &NotApprovedError{name, "contact was declined"}
	}
	return mem.add(s.EndpointDigest())
}

// locked returns why the lock does not vouch for the endpoint, empty if it does.
func (k *Keeper) locked(s *catalog.Server) string {
	if k.Base == nil {
		return "its endpoint is not approved: nothing is locked yet"
	}
	pinned := k.pinned(s)
	if pinned == nil {
		return "its endpoint is not approved: the server is not in the lock"
	}
	if pinned.EndpointDigest != s.EndpointDigest() {
		return "its endpoint is not approved: it differs from the one in the lock"
	}
	if c := started(s); c != nil {
		if why := k.local(c); why != "" {
			return "its endpoint is not approved: " + why
		}
	}
	return ""
}

// pinned is the lock's entry of a server, nil if there is none.
func (k *Keeper) pinned(s *catalog.Server) *lock.Server {
	if k.Base == nil {
		return nil
	}
	if pinned := k.Base.ServerByAddr(s.Addr); pinned != nil {
		return pinned
	}
	for _, m := range k.Moved {
		if m.To == (catalog.Place{Server: s.Addr}) {
			return k.Base.ServerByAddr(m.From.Server)
		}
	}
	return nil
}

// started is the command that contact with the server starts, nil if it starts none.
func started(s *catalog.Server) *catalog.Stdio {
	if h := s.HTTP; h != nil && len(h.AuthCommand) > 0 {
		return &catalog.Stdio{Command: h.AuthCommand[0], Args: h.AuthCommand[1:]}
	}
	return s.Stdio
}
