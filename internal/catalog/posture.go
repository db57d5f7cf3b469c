package catalog

import (
	"encoding/json"
	"fmt"
	"time"

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
