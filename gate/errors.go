package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrUnknownTool is the error of a call to a name that the agent does not have, whether or not a server offers it.
var ErrUnknownTool = errors.New("unknown tool")

// ErrClosed is the error of calls after Close, and of calls that Close ended.
var ErrClosed = errors.New("gate is closed")

// Reason says why a call was refused.
type Reason string

// The reasons of a *Refusal.
const (
	// Drift: the server offers another definition than the pinned one.
	Drift Reason = "drift"
	// NotPinned: the catalog gives the tool to the agent, and the lock does not hold it.
	NotPinned Reason = "not_pinned"
	// Missing: the server's complete list does not have the tool.
	Missing Reason = "missing"
	// Unverified: the server's list could not be read completely, so nothing is known.
	Unverified Reason = "unverified"
	// Policy: the pinned definition cannot be enforced, for example because its inputSchema is beyond the bounds.
	Policy Reason = "policy"
	// Identity: what is reached is not what is pinned: the program or a file of it has another digest, no key of the certificate
	// chain is a pinned one, or the server does not call itself what expect says.
	Identity Reason = "identity"
	// Secret: the answer held a secret of the server's own block and was withheld. The call may have had effect.
	Secret Reason = "secret"
	// Lock: catalog and lock say different things.
	Lock Reason = "lock"
)

// Refusal is a call that was not made, or, with the reason Secret, an answer that was not handed over. Nothing in it is
// text of the server.
type Refusal struct {
	Reason  Reason
	Address string // of the tool, such as server.harbour.tool.tide_table
	Locked  string // digest that is pinned, "sha256:" and 64 digits; empty if none is
	Live    string // digest that the server offers now, likewise; empty if it is not known
	// Changed are the members of the definition that differ, sorted: names that MCP defines, and "other" for all others.
	Changed []string
	Err     error // for the operator: what happened; nil if there is no more to say
}

func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: call refused (%s)", r.Address, r.Reason)
	if r.Locked != "" && r.Live != "" && r.Locked != r.Live {
		fmt.Fprintf(&b, ": locked %s, live %s", r.Locked, r.Live)
	}
	if len(r.Changed) > 0 {
		fmt.Fprintf(&b, ", changed: %s", strings.Join(r.Changed, ", "))
	}
	if r.Err != nil {
		fmt.Fprintf(&b, ": %v", r.Err)
	}
	return b.String()
}

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }

// ArgumentsError says that the arguments of a call are no JSON object, or do not satisfy the pinned inputSchema. The call
// was not made. Its text is ours but for the parts below and may be shown to a model; they stand in it quoted.
type ArgumentsError struct {
	Pointer string // JSON Pointer into the arguments, "" for the whole, at most 256 bytes
	Keyword string // of the schema; "" if the arguments are no JSON object
	Missing string // name of a property that the object at Pointer lacks, as the schema spells it, at most 256 bytes
	Syntax  string // what is wrong with the JSON, if it is no object
}

func (e *ArgumentsError) Error() string {
	switch {
	case e.Syntax != "":
		return "arguments are not one JSON object: " + e.Syntax
	case e.Missing != "":
		at := e.Pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(e.Missing)
		return "arguments do not satisfy the tool's inputSchema: " + strconv.Quote(at) + " is missing"
	}
	return "arguments do not satisfy the tool's inputSchema: keyword " + strconv.Quote(e.Keyword) + " at " + strconv.Quote(e.Pointer)
}

// UpstreamError is a call that was made, or was about to be, and did not end in a result. Code and Message are what an
// agent may be told.
//
// Where the server answered with an error of its own (a code outside -32768 to -32000, or -32602 or -32603), Code, Message
// and Data are the server's. Everything else, reserved codes, broken answers and lost connections, has the code -32603 and
// a text of this package.
//
// Spec: 2026-07-28 basic#errors.
type UpstreamError struct {
	Address   string // of the tool
	Code      int64
	Message   string
	Data      json.RawMessage // exact JSON text, nil if there was none
	Delivered bool            // the call may have had effect
	Err       error           // for the operator
}

func (e *UpstreamError) Error() string {
	s := e.Address + ": " + strconv.Quote(e.Message)
	if e.Err != nil {
		s = fmt.Sprintf("%s: %v", e.Address, e.Err)
	}
	return s
}

// Unwrap returns Err.
func (e *UpstreamError) Unwrap() error { return e.Err }

// OpenError says that catalog or lock is not sound. No Gate was made.
type OpenError struct {
	What string // "catalog", "lock" or "agent"
	Err  error
}

func (e *OpenError) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *OpenError) Unwrap() error { return e.Err }
