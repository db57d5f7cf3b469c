package plan_test

import (
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/plan"
)

// TestGuards: limits and recheck of a server are changes that a person confirms, expect is part of its endpoint, and once they
// are applied nothing is left to do.
func TestGuards(t *testing.T) {
	with := func(lines string) string {
		return strings.Replace(harbourHCL, "  tools = [\"", lines+"\n  tools = [\"", 1)
	}
	cat, _ := load(t, harbourHCL)
	base := pinned(t, cat, harbour(berth, arrival))
	for lines, want := range map[string]struct {
		class plan.Class
		path  string
	}{
		"  limits {\n    tools = 64\n  }":         {plan.GuardChanged, "/limits"},
		"  recheck = \"60s\"":                     {plan.GuardChanged, "/recheck"},
		"  expect {\n    name = \"harbour\"\n  }": {plan.EndpointChanged, "/endpoint/expect"},
	} {
		changed, _ := load(t, with(lines))
		p, err := plan.Make(plan.Input{Catalog: changed, Base: base, LockName: changed.Lock, Observed: observe(t, changed, harbour(berth, arrival))})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, l := range p.Servers[0].Changes {
			found = found || l.Class == want.class && strings.HasPrefix(l.Path, want.path) && l.Op == "add"
		}
		if !found || p.Servers[0].Decision() == plan.Auto {
			t.Errorf("%s: changes %+v, decision %s", lines, p.Servers[0].Changes, p.Servers[0].Decision())
		}
		applied := pinned(t, changed, harbour(berth, arrival))
		again, err := plan.Make(plan.Input{Catalog: changed, Base: applied, LockName: changed.Lock, Observed: observe(t, changed, harbour(berth, arrival))})
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Servers[0].Changes) != 0 {
			t.Errorf("%s: after apply there is still %+v", lines, again.Servers[0].Changes)
		}
		// And the way back is a change as well.
		back, err := plan.Make(plan.Input{Catalog: cat, Base: applied, LockName: cat.Lock, Observed: observe(t, cat, harbour(berth, arrival))})
		if err != nil {
			t.Fatal(err)
		}
		if len(back.Servers[0].Changes) != 1 || back.Servers[0].Changes[0].Op != "remove" {
			t.Errorf("%s: taken away: %+v", lines, back.Servers[0].Changes)
		}
	}
}
