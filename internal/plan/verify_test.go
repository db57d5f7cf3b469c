package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

func TestVerify(t *testing.T) {
	cat, _ := load(t, harbourHCL)
	base := pinned(t, cat, harbour(berth, arrival))
	down := map[string]offer{"server.harbour": {Status: surface.NotChecked, Failure: &surface.Failure{Code: "server.timeout", Message: "No answer."}}}
	moved := strings.Replace(harbourHCL, "harbour.example", "harbor.example", 1)
	more := strings.Replace(harbourHCL, `"log_arrival"]`, `"log_arrival", "tide_table"]`, 1)
	gains := strings.Replace(harbourHCL, "berth_status]", "berth_status, server.harbour.tool.log_arrival]", 1)
	newAgent := harbourHCL + "\nagent \"pilot\" {\n  tools = [server.harbour.tool.log_arrival]\n}\n"
	slower := "mcpcat {\n  gate {\n    recheck = \"60s\"\n  }\n}\n\n" + harbourHCL
	longer := strings.Replace(harbourHCL, "  tools = [\"", "  timeouts {\n    call = \"2m\"\n  }\n  tools = [\"", 1)
	bounded := strings.Replace(longer, "timeouts {\n    call = \"2m\"", "limits {\n    tools = 64", 1)
	seldomer := strings.Replace(harbourHCL, "  tools = [\"", "  recheck = \"60s\"\n  tools = [\"", 1)
	expecting := strings.Replace(longer, "timeouts {\n    call = \"2m\"", "expect {\n    name = \"harbour\"", 1)
	fewer := strings.Replace(harbourHCL, `, "log_arrival"]`, `]`, 1)
	nothing := strings.Split(harbourHCL, "  tools")[0] + "}\n"
	catSeldom, _ := load(t, strings.Replace(slower, "60s", "90s", 1))
	seldom := pinned(t, catSeldom, harbour(berth, arrival))
	edited := func(edit func(*lock.Server)) *lock.Lock {
		l := *base
		l.Servers = slices.Clone(base.Servers)
		edit(&l.Servers[0])
		return &l
	}
	limitless := edited(func(s *lock.Server) { s.Timeouts = nil })
	foreign := edited(func(s *lock.Server) { s.Protocol = "2027-01-01" })
	remote := `{"name":"log_arrival","inputSchema":{"type":"object","properties":{"x":{"$ref":"https://schemas.example/x.json"}}}}`
	textOnly := pinned(t, cat, harbour(berth, remote))
	tests := []struct {
		name   string
		hcl    string
		base   *lock.Lock
		offers map[string]offer
		exit   int
		states []string
		want   plan.VerifySummary
	}{
		{"as pinned", harbourHCL, base, harbour(berth, arrival), 0, []string{"ok", "ok"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 2}},
		{"another order", harbourHCL, base, harbour(arrival, berth), 0, []string{"ok", "ok"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 2, Notes: 1}},
		{"one changed", harbourHCL, base, harbour(strings.Replace(berth, "30", "31", 1), arrival), 3, []string{"drift", "ok"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 1, Refused: 1}},
		{"one gone", harbourHCL, base, harbour(berth), 3, []string{"ok", "missing"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 1, Refused: 1}},
		{"one not pinned", more, base, harbour(berth, arrival, strings.Replace(arrival, "log_arrival", "tide_table", 1)), 3, []string{"ok", "ok", "not_pinned"}, plan.VerifySummary{Expected: 3, Seen: 3, OK: 2, Refused: 1}},
		{"another endpoint", moved, base, harbour(berth, arrival), 3, []string{"endpoint", "endpoint"}, plan.VerifySummary{Expected: 2, Seen: 2, Refused: 2}},
		{"another endpoint that is down", moved, base, down, 3, []string{"endpoint", "endpoint"}, plan.VerifySummary{Expected: 2, Refused: 2}},
		{"other limits", longer, base, harbour(berth, arrival), 3, []string{"endpoint", "endpoint"}, plan.VerifySummary{Expected: 2, Seen: 2, Refused: 2}},
		{"limits that are not applied", bounded, base, harbour(berth, arrival), 3, []string{"endpoint", "endpoint"}, plan.VerifySummary{Expected: 2, Seen: 2, Refused: 2}},
		{"a recheck that is not applied", seldomer, base, harbour(berth, arrival), 3, []string{"endpoint", "endpoint"}, plan.VerifySummary{Expected: 2, Seen: 2, Refused: 2}},
		{"an expectation that is not applied", expecting, base, harbour(berth, arrival), 3, []string{"endpoint", "endpoint"}, plan.VerifySummary{Expected: 2, Seen: 2, Refused: 2}},
		{"settings that check less often", slower, base, harbour(berth, arrival), 3, []string{"settings", "settings"}, plan.VerifySummary{Expected: 2, Seen: 2, Refused: 2}},
		{"settings that check less often, and down", slower, base, down, 3, []string{"settings", "settings"}, plan.VerifySummary{Expected: 2, Refused: 2}},
		{"settings that check more often", harbourHCL, seldom, harbour(berth, arrival), 0, []string{"ok", "ok"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 2, Notes: 1}},
		{"an interval that is shorter", slower, seldom, harbour(berth, arrival), 0, []string{"ok", "ok"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 2, Notes: 1}},
		{"a lock without limits", harbourHCL, limitless, harbour(berth, arrival), 3, []string{"endpoint", "endpoint"}, plan.VerifySummary{Expected: 2, Seen: 2, Refused: 2}},
		{"pinned for another revision", harbourHCL, foreign, harbour(berth, arrival), 3, []string{"endpoint", "endpoint"}, plan.VerifySummary{Expected: 2, Seen: 2, Refused: 2, Notes: 1}},
		{"not callable", harbourHCL, textOnly, harbour(berth, remote), 3, []string{"ok", "not_callable"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 1, Refused: 1}},
		{"not callable and down", harbourHCL, textOnly, down, 3, []string{"not_checked", "not_callable"}, plan.VerifySummary{Expected: 2, Refused: 1, NotChecked: 1}},
		{"not callable and changed", harbourHCL, textOnly, harbour(berth, arrival), 3, []string{"ok", "drift"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 1, Refused: 1}},
		{"an agent gains", gains, base, harbour(berth, arrival), 3, []string{"ok", "ok"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 2}},
		{"a new agent", newAgent, base, harbour(berth, arrival), 3, []string{"ok", "ok"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 2}},
		{"not checked", harbourHCL, base, down, 5, []string{"not_checked", "not_checked"}, plan.VerifySummary{Expected: 2, NotChecked: 2}},
		{"not asked", harbourHCL, base, nil, 5, []string{"not_checked", "not_checked"}, plan.VerifySummary{Expected: 2, NotChecked: 2}},
		{"a tool taken away is obeyed", fewer, base, harbour(berth, arrival), 0, []string{"ok"}, plan.VerifySummary{Expected: 1, Seen: 1, OK: 1}},
		{"nothing declared", nothing, base, harbour(berth, arrival), 5, nil, plan.VerifySummary{}},
		{"no lock", harbourHCL, nil, harbour(berth, arrival), 3, []string{"not_pinned", "not_pinned"}, plan.VerifySummary{Expected: 2, Seen: 2, Refused: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cat, _ := load(t, tt.hcl)
			v, err := plan.Verify(plan.Input{Catalog: cat, Base: tt.base, LockName: cat.Lock, Observed: observe(t, cat, tt.offers)})
			if err != nil {
				t.Fatal(err)
			}
			if got := v.ExitCode(); got != tt.exit {
				t.Errorf("exit code = %d, want %d", got, tt.exit)
			}
			if (tt.exit == 0) != v.OK() {
				t.Errorf("OK = %v with exit code %d", v.OK(), tt.exit)
			}
			var states []string
			for _, it := range v.Items {
				states = append(states, string(it.State))
			}
			if diff := cmp.Diff(tt.states, states); diff != "" {
				t.Error(diff)
			}
			got := v.Summary
			got.Notes = min(got.Notes, 1)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			b, err := v.Encode()
			if err != nil || !json.Valid(b) {
				t.Errorf("Encode = %s, %v", b, err)
			}
		})
	}
}

func TestVerifyNamesWhatChanged(t *testing.T) {
	cat, _ := load(t, harbourHCL)
	base := pinned(t, cat, harbour(berth, arrival))
	now := harbour(berth, `{"name":"log_arrival","inputSchema":{},"description":"x"}`)
	v, err := plan.Verify(plan.Input{Catalog: cat, Base: base, LockName: cat.Lock, Observed: observe(t, cat, now)})
	if err != nil {
		t.Fatal(err)
	}
	it := v.Items[1]
	if diff := cmp.Diff([]string{"description", "inputSchema"}, it.Changed); diff != "" || it.Locked == nil || it.Live == nil || *it.Locked == *it.Live {
		t.Errorf("changed members: %s; digests %v and %v", diff, it.Locked, it.Live)
	}
}

// The text of verify says which calls are refused and why, and its last line does not call that as pinned.
func TestVerifyText(t *testing.T) {
	cat, _ := load(t, harbourHCL)
	base := pinned(t, cat, harbour(berth, arrival))
	remote := `{"name":"log_arrival","inputSchema":{"type":"object","$ref":"https://schemas.example/x.json"}}`
	for _, tt := range []struct {
		name, hcl string
		base      *lock.Lock
		offers    map[string]offer
		want      []string
	}{
		{
			"settings", "mcpcat {\n  gate {\n    recheck = \"60s\"\n  }\n}\n\n" + harbourHCL, base, harbour(berth, arrival),
			[]string{
				"x server.harbour.tool.berth_status                   # the gate refuses it", "checks less often than the pinned settings",
				"Verified 2 of 2 declared tools: 0 as pinned, 2 would be refused (lock catalog.lock.db, serial 1).",
			},
		},
		{
			"not callable", harbourHCL, pinned(t, cat, harbour(berth, remote)), harbour(berth, remote),
			[]string{`pinned as text, not callable: inputSchema: schema not supported at "": reference to "https://schemas.example/x.json"`, "1 as pinned, 1 would be refused"},
		},
		{
			"endpoint, and not asked", strings.Replace(harbourHCL, "office.harbour", "office.harbor", 1), base, nil,
			[]string{"endpoint_changed", `endpoint/url "https://office.harbour.example/mcp" -> "https://office.harbor.example/mcp"`, "Verified 0 of 2 declared tools: 0 as pinned, 2 would be refused"},
		},
		{
			"an agent", strings.Replace(harbourHCL, "berth_status]", "berth_status, server.harbour.tool.log_arrival]", 1), base, harbour(berth, arrival),
			[]string{"x agent clerk", "2 as pinned, some refused for agent clerk (lock"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cat, _ := load(t, tt.hcl)
			v, err := plan.Verify(plan.Input{Catalog: cat, Base: tt.base, LockName: cat.Lock, Observed: observe(t, cat, tt.offers)})
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := view.Verification(&b, v, view.Options{}); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(b.String(), want) {
					t.Errorf("the text lacks %q:\n%s", want, b.String())
				}
			}
		})
	}
}
