package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Posture returns the time limits as the canonical JSON that the lock holds, durations as Go writes them:
//
//	{"call":"1m0s","connect":"5s","discover":"10s","list":"20s"}
func (t Timeouts) Posture() json.RawMessage {
	return fmt.Appendf(nil, `{"call":%q,"connect":%q,"discover":%q,"list":%q}`, t.Call, t.Connect, t.Discover, t.List)
}

// Posture returns the run-time settings as the canonical JSON that the lock holds:
//
//	{"recheck":"each_call"}
//	{"every":"1m0s","recheck":"interval"}
//	{"max_age":"5m0s","recheck":"list_changed"}
func (g Gate) Posture() json.RawMessage { return g.Recheck.posture() }

func (r Recheck) posture() json.RawMessage {
	switch {
	case r.Mode == RecheckInterval:
		return fmt.Appendf(nil, `{"every":%q,"recheck":%q}`, r.Every, r.Mode)
	case r.MaxAge != 0:
		return fmt.Appendf(nil, `{"max_age":%q,"recheck":%q}`, r.MaxAge, r.Mode)
	}
	return fmt.Appendf(nil, `{"recheck":%q}`, r.Mode)
}

// RecheckPosture returns the server's own recheck as the canonical JSON that the lock holds, in the form of Gate.Posture; nil if
// that of the gate holds for it.
func (s *Server) RecheckPosture() json.RawMessage {
	if !s.OwnRecheck {
		return nil
	}
	return s.Recheck.posture()
}

// ParseGate reads what Gate.Posture returns and nothing else.
func ParseGate(posture []byte) (Gate, error) {
	if err := strictjson.CheckObject(posture, strictjson.Limits{}); err != nil {
		return Gate{}, fmt.Errorf("gate settings: %w", err)
	}
	var g Gate
	for name, v := range strictjson.Value(posture).Members() {
		text, ok := v.Text()
		switch {
		case ok && name == "recheck":
			g.Recheck.Mode = text
		case ok && name == "every":
			every, err := time.ParseDuration(text)
			if err != nil {
				return Gate{}, fmt.Errorf("gate settings: %w", err)
			}
			g.Recheck.Every = every
		case ok && name == "max_age":
			age, err := time.ParseDuration(text)
			if err != nil {
				return Gate{}, fmt.Errorf("gate settings: %w", err)
			}
			if age <= 0 {
				return Gate{}, fmt.Errorf("gate settings: max_age is %s, want a positive duration", age)
			}
			g.Recheck.MaxAge = age
		default:
			return Gate{}, fmt.Errorf("gate settings: unknown member %q", name)
		}
	}
	switch r := g.Recheck; {
	case r.Mode == RecheckEachCall && r.Every == 0 && r.MaxAge == 0,
		r.Mode == RecheckListChanged && r.Every == 0,
		r.Mode == RecheckInterval && r.Every > 0 && r.MaxAge == 0:
		return g, nil
	}
	return Gate{}, fmt.Errorf("gate settings: recheck is %q every %s, want each_call, list_changed, or interval and a duration", g.Recheck.Mode, g.Recheck.Every)
}

// AtLeast reports whether g checks at least as often as the applied settings, as Gate.Posture wrote them. What is not
// such a text, or absent, was applied for each call. To check more often only takes away, so a catalog that does is
// obeyed at once; one that checks less often, or on another occasion, refuses every call.
func (g Gate) AtLeast(applied json.RawMessage) bool { return g.Recheck.atLeast(applied) }

func (r Recheck) atLeast(applied json.RawMessage) bool {
	if r.Mode == RecheckEachCall {
		return true
	}
	was, err := ParseGate(applied)
	if err != nil || was.Recheck.Mode != r.Mode {
		return false
	}
	switch r.Mode {
	case RecheckInterval:
		return r.Every > 0 && r.Every <= was.Recheck.Every
	case RecheckListChanged:
		return was.Recheck.MaxAge == 0 || r.MaxAge > 0 && r.MaxAge <= was.Recheck.MaxAge
	}
	return false
}

// Applied is the posture of a server as the lock holds it.
type Applied struct {
	Endpoint digest.Digest
	Protocol string
	// Timeouts, Limits and Recheck are as Timeouts.Posture, Limits.Posture and Server.RecheckPosture wrote them, nil for none.
	Timeouts, Limits, Recheck json.RawMessage
	// Gate is that of the whole catalog, which holds where Recheck is nil.
	Gate json.RawMessage
}

// CheckApplied says in which way the server is declared otherwise than it was applied, nil if it is not. What the lock does not
// hold was not applied. A server with such an error may not be called; verify and the gate both ask here.
func (s *Server) CheckApplied(a Applied) error {
	recheck := a.Recheck
	if recheck == nil {
		recheck = a.Gate
	}
	switch {
	case s.EndpointDigest() != a.Endpoint:
		return errors.New("the endpoint in the catalog is not the applied one: plan and apply it")
	case a.Protocol != Protocol:
		return fmt.Errorf("it was pinned for protocol %q, want %q", a.Protocol, Protocol)
	case !bytes.Equal(a.Timeouts, s.Timeouts.Posture()):
		return errors.New("the timeouts in the catalog are not the applied ones: plan and apply them")
	case !bytes.Equal(a.Limits, s.Limits.Posture()):
		return errors.New("the limits in the catalog are not the applied ones: plan and apply them")
	case (s.OwnRecheck || a.Recheck != nil) && !s.Recheck.atLeast(recheck):
		return errors.New("the catalog's recheck for it checks less often than the applied one: plan and apply it")
	}
	return nil
}
