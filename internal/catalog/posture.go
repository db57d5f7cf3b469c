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
func (g Gate) Posture() json.RawMessage {
	if g.Recheck.Mode == RecheckInterval {
		return fmt.Appendf(nil, `{"every":%q,"recheck":%q}`, g.Recheck.Every, g.Recheck.Mode)
	}
	return fmt.Appendf(nil, `{"recheck":%q}`, g.Recheck.Mode)
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
		default:
			return Gate{}, fmt.Errorf("gate settings: unknown member %q", name)
		}
	}
	switch {
	case g.Recheck.Mode == RecheckEachCall && g.Recheck.Every == 0, g.Recheck.Mode == RecheckInterval && g.Recheck.Every > 0:
		return g, nil
	}
	return Gate{}, fmt.Errorf("gate settings: recheck is %q every %s, want each_call, or interval and a duration", g.Recheck.Mode, g.Recheck.Every)
}

// AtLeast reports whether g checks at least as often as the applied settings, as Gate.Posture wrote them. What is not
// such a text, or absent, was applied for no interval. To check more often only takes away, so a catalog that does is
// obeyed at once; one that checks less often refuses every call.
func (g Gate) AtLeast(applied json.RawMessage) bool {
	if g.Recheck.Mode == RecheckEachCall {
		return true
	}
	was, err := ParseGate(applied)
	return err == nil && was.Recheck.Mode == g.Recheck.Mode && g.Recheck.Every > 0 && g.Recheck.Every <= was.Recheck.Every
}

// CheckApplied says in which way the server is declared otherwise than it was applied, nil if it is not: its endpoint by
// digest, the protocol revision, its time limits as Timeouts.Posture wrote them (absent: none were applied). A server
// with such an error may not be called; verify and the gate both ask here.
func (s *Server) CheckApplied(endpoint digest.Digest, protocol string, timeouts json.RawMessage) error {
	switch {
	case s.EndpointDigest() != endpoint:
		return errors.New("the endpoint in the catalog is not the applied one: plan and apply it")
	case protocol != Protocol:
		return fmt.Errorf("it was pinned for protocol %q, want %q", protocol, Protocol)
	case !bytes.Equal(timeouts, s.Timeouts.Posture()):
		return errors.New("the timeouts in the catalog are not the applied ones: plan and apply them")
	}
	return nil
}
