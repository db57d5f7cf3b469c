package gate

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// within puts lines into the block of the office.
func within(text, lines string) string {
	return strings.Replace(text, "  tools = [", lines+"\n  tools = [", 1)
}

// applied opens a gate whose lock holds what the catalog says.
func applied(t *testing.T, o *office, text string) *Gate {
	t.Helper()
	dir := write(t, text)
	cat := load(t, dir)
	l := pin(t, cat, berthStatus)
	l.Gate = cat.Gate.Posture()
	for i := range l.Servers {
		s := cat.Server(l.Servers[i].Addr)
		l.Servers[i].Limits, l.Servers[i].Recheck = s.Limits.Posture(), s.RecheckPosture()
	}
	if err := lock.Seal(l); err != nil {
		t.Fatal(err)
	}
	writeLock(t, dir, l)
	return opened(t, Options{Dir: dir, Agent: "clerk"})
}

// TestConcurrency: so many calls are in flight at a time and no more; the others wait, and one that is given up leaves no
// place taken.
func TestConcurrency(t *testing.T) {
	o := newOffice(t, berthStatus)
	var inFlight, most atomic.Int32
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	o.set(func() {
		o.answer = func(w http.ResponseWriter, r *http.Request, id, _ string, _ []byte) bool {
			n := inFlight.Add(1)
			for {
				old := most.Load()
				if n <= old || most.CompareAndSwap(old, n) {
					break
				}
			}
			arrived <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
			}
			inFlight.Add(-1)
			return false
		}
	})
	g := applied(t, o, within(o.catalogText("", "berth_status"), "  limits {\n    concurrency = 2\n  }"))
	done := make(chan error, 10)
	call := func(ctx context.Context) { _, err := g.Call(ctx, Request{Name: "berth_status"}); done <- err }
	for range 2 {
		go call(t.Context())
	}
	<-arrived
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	call(ctx)
	if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call that waits in vain: %v", err)
	}
	if err := g.Check(ctx, Request{Name: "nobody"}); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("what can be said at once waits: %v", err)
	}
	for range 3 {
		go call(t.Context())
	}
	close(release)
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 2 {
		t.Errorf("%d calls in flight, want 2", most.Load())
	}
	for range 3 { // a check leaves again
		if err := g.Check(t.Context(), Request{Name: "berth_status"}); err != nil {
			t.Error(err)
		}
	}
	passed(t, g, "berth_status", "")
}

// TestRecheckOfAServer: a server's own recheck holds for it, and list_changed compares for each call.
func TestRecheckOfAServer(t *testing.T) {
	settings := func(recheck string) string {
		return "\nmcpcat {\n  gate {\n    recheck = \"" + recheck + "\"\n  }\n}\n"
	}
	for name, test := range map[string]struct {
		text  func(o *office) string
		walks int
	}{
		"own interval": {func(o *office) string { return within(o.catalogText("", "berth_status"), "  recheck = \"1h\"") }, 1},
		"own each_call": {func(o *office) string {
			return within(o.catalogText("", "berth_status"), "  recheck = \"each_call\"") + settings("1h")
		}, 3},
		"the gate's interval": {func(o *office) string { return o.catalogText("", "berth_status") + settings("1h") }, 1},
		"list_changed":        {func(o *office) string { return o.catalogText("", "berth_status") + settings("list_changed") }, 3},
	} {
		o := newOffice(t, berthStatus)
		g := applied(t, o, test.text(o))
		for range 3 {
			passed(t, g, "berth_status", "")
		}
		if o.walks() != test.walks {
			t.Errorf("%s: %d walks for 3 calls, want %d", name, o.walks(), test.walks)
		}
	}
}

// TestGuardsThatAreNotApplied: a lock that does not hold what the catalog says, also one from before there was such a thing,
// refuses.
func TestGuardsThatAreNotApplied(t *testing.T) {
	o := newOffice(t, berthStatus)
	for _, lines := range []string{"  limits {\n    tools = 64\n  }", "  recheck = \"60s\"", "  recheck = \"list_changed\""} {
		dir := write(t, within(o.catalogText("", "berth_status"), lines))
		writeLock(t, dir, pin(t, load(t, dir), berthStatus))
		g := opened(t, Options{Dir: dir, Agent: "clerk"})
		if r := refused(t, g, "berth_status", ""); r.Reason != Lock {
			t.Errorf("%s: refusal %v, want lock", lines, r)
		}
	}
	// What was applied and is gone from the catalog would be looser.
	for member, value := range map[string]string{"limits": `{"tools":64}`, "recheck": `{"recheck":"each_call"}`} {
		dir := write(t, o.catalogText("", "berth_status")+"\nmcpcat {\n  gate {\n    recheck = \"1h\"\n  }\n}\n")
		l := pin(t, load(t, dir), berthStatus)
		l.Gate = json.RawMessage(`{"every":"1h0m0s","recheck":"interval"}`)
		if member == "limits" {
			l.Servers[0].Limits = json.RawMessage(value)
		} else {
			l.Servers[0].Recheck = json.RawMessage(value)
		}
		if err := lock.Seal(l); err != nil {
			t.Fatal(err)
		}
		writeLock(t, dir, l)
		g := opened(t, Options{Dir: dir, Agent: "clerk"})
		if r := refused(t, g, "berth_status", ""); r.Reason != Lock {
			t.Errorf("%s is gone: refusal %v, want lock", member, r)
		}
	}
}
