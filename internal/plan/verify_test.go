package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
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
	fewer := strings.Replace(harbourHCL, `, "log_arrival"]`, `]`, 1)
	nothing := strings.Split(harbourHCL, "  tools")[0] + "}\n"
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
		{"other settings", slower, base, harbour(berth, arrival), 3, []string{"ok", "ok"}, plan.VerifySummary{Expected: 2, Seen: 2, OK: 2}},
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
