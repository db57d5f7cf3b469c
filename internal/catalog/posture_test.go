package catalog

import (
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func TestPostureIsCanonicalAndReadsBack(t *testing.T) {
	gates := []Gate{{Recheck{Mode: RecheckEachCall}}, {Recheck{Mode: RecheckInterval, Every: 90 * time.Second}}}
	for _, g := range gates {
		got, err := ParseGate(g.Posture())
		if err != nil || got != g {
			t.Errorf("ParseGate(%s) = %v, %v, want %v", g.Posture(), got, err, g)
		}
	}
	for _, raw := range []string{string(gates[1].Posture()), string(DefaultTimeouts.Posture())} {
		canonical, err := strictjson.AppendCanonical(nil, []byte(raw), strictjson.Limits{})
		if err != nil || string(canonical) != raw {
			t.Errorf("canonical form of %s = %s, %v", raw, canonical, err)
		}
	}
	for _, raw := range []string{``, `[]`, `{}`, `{"recheck":"interval"}`, `{"recheck":"each_call","every":"1s"}`, `{"recheck":"never"}`, `{"recheck":1}`, `{"every":"x","recheck":"interval"}`, `{"recheck":"each_call","more":"x"}`} {
		if g, err := ParseGate([]byte(raw)); err == nil {
			t.Errorf("ParseGate(%s) = %v, want an error", raw, g)
		}
	}
}
