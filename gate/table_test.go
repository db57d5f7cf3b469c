package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/observe"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/upstream"
)

func TestExposedNames(t *testing.T) {
	o := newOffice(t, berthStatus)
	g := open(t, o, "master", berthStatus)
	tools := g.Tools()
	want := `{"inputSchema":{"type":"object"},"x-office":{"n":1.0},"description":"Says which berths are free.","name":"office__berth_status"}`
	if len(tools) != 1 || string(tools[0].Definition) != want || tools[0].Address != "server.office.tool.berth_status" {
		t.Errorf("Tools = %+v, want %s", tools, want)
	}
	passed(t, g, "office__berth_status", "{}")
	if diff := cmp.Diff([]string{"berth_status"}, o.calls()); diff != "" {
		t.Error(diff)
	}
	plain := open(t, o, "clerk", berthStatus)
	if got := plain.Tools()[0].Definition; string(got) != berthStatus {
		t.Errorf("definition %s, want the pinned bytes", got)
	}
	if name, ok := plain.ByAddress("server.office.tool.berth_status"); !ok || name != "berth_status" {
		t.Errorf("ByAddress = %q, %v", name, ok)
	}
}

func TestRenamedKeepsAllOtherBytes(t *testing.T) {
	for def, want := range map[string]string{
		`{"name":"a"}`:                        `{"name":"b\"c"}`,
		`{"x":{"name":"a"},"name":"a","y":1}`: `{"x":{"name":"a"},"name":"b\"c","y":1}`,
		`{"n\u0061me":"\u0061","name2":"a"}`:  `{"n\u0061me":"b\"c","name2":"a"}`,
		` { "d" : "\\\"" , "name" : "a" } `:   ` { "d" : "\\\"" , "name" : "b\"c" } `,
	} {
		got, err := renamed([]byte(def), "a", `b"c`)
		if def[0] == ' ' {
			got, err = renamed([]byte(strings.TrimSpace(def)), "a", `b"c`)
			want = strings.TrimSpace(want)
		}
		if err != nil || string(got) != want {
			t.Errorf("renamed(%s) = %s, %v, want %s", def, got, err, want)
		}
	}
}

func TestCatalogAndLock(t *testing.T) {
	o := newOffice(t, tideTable, berthStatus)
	other := newOffice(t, tideTable, berthStatus)
	both := o.catalogText("", "tide_table", "berth_status")
	// patterns declares the tools otherwise and gives agents the whole server.
	patterns := func(tools string, more ...string) string {
		text := strings.Replace(both, `  tools = ["tide_table", "berth_status"]`, "  tools = ["+tools+"]\n"+strings.Join(more, "\n"), 1)
		return strings.ReplaceAll(text, "tools = [server.office.tool.tide_table, server.office.tool.berth_status]", "tools = [server.office]")
	}
	cases := []struct {
		name, catalog string
		edit          func(*lock.Lock)
		want          map[string]Reason // "unknown" for ErrUnknownTool
	}{
		{"as applied", both, nil, map[string]Reason{"tide_table": pass, "berth_status": pass}},
		{"a tool taken away", o.catalogText("", "tide_table"), nil, map[string]Reason{"tide_table": pass, "berth_status": "unknown"}},
		{"server switched off", strings.Replace(both, "  tools = [", "  enabled = false\n  tools = [", 1), nil, map[string]Reason{"tide_table": "unknown"}},
		{"patterns in place of names", patterns(`"*_table", "berth_*"`), nil, map[string]Reason{"tide_table": pass, "berth_status": pass}},
		{"a pattern that matches less than is pinned", patterns(`"tide_*"`), nil, map[string]Reason{"tide_table": pass, "berth_status": "unknown"}},
		{"a tool denied", strings.Replace(both, "  names = \"plain\"\n", "  names = \"plain\"\n  deny = [server.office.tool.tide_table]\n", 1), nil, map[string]Reason{"tide_table": "unknown", "berth_status": pass}},
		{"a tool under another name", patterns(`"berth_status"`, `tool "tide_table" { as = "tides" }`), nil, map[string]Reason{"tide_table": "unknown", "tides": Lock, "berth_status": pass}},
		{"a tool added", o.catalogText("", "tide_table", "berth_status", "close_gate"), nil, map[string]Reason{"tide_table": pass, "close_gate": NotPinned}},
		{"another endpoint", other.catalogText("", "tide_table", "berth_status"), nil, map[string]Reason{"tide_table": Lock, "berth_status": Lock}},
		{"another header", o.catalogText(`headers = { "X-Office" = "2" }`, "tide_table", "berth_status"), nil, map[string]Reason{"tide_table": Lock}},
		{"agent without the tool", both, func(l *lock.Lock) {
			for i := range l.Agents {
				l.Agents[i].Tools = l.Agents[i].Tools[:1]
			}
		}, map[string]Reason{"berth_status": pass, "tide_table": Lock}},
		{"settings not applied", both + "\nmcpcat {\n  gate {\n    recheck = \"10s\"\n  }\n}\n", nil, map[string]Reason{"tide_table": Lock}},
		{"settings applied", both + "\nmcpcat {\n  gate {\n    recheck = \"10s\"\n  }\n}\n", func(l *lock.Lock) {
			l.Gate = json.RawMessage(`{"every":"10s","recheck":"interval"}`)
		}, map[string]Reason{"tide_table": pass}},
		{"settings stricter than applied", both, func(l *lock.Lock) {
			l.Gate = json.RawMessage(`{"every":"10s","recheck":"interval"}`)
		}, map[string]Reason{"tide_table": pass}},
		{"timeouts not applied", both, func(l *lock.Lock) {
			l.Servers[0].Timeouts = json.RawMessage(`{"call":"1ms","connect":"5s","discover":"10s","list":"20s"}`)
		}, map[string]Reason{"tide_table": Lock}},
		{"no timeouts applied", both, func(l *lock.Lock) {
			l.Servers[0].Timeouts = nil
		}, map[string]Reason{"tide_table": Lock}},
		{"pinned for another revision", both, func(l *lock.Lock) {
			l.Servers[0].Protocol = "2027-01-01"
		}, map[string]Reason{"tide_table": Lock}},
		{"timeouts applied", both, func(l *lock.Lock) {
			l.Servers[0].Timeouts = json.RawMessage(`{"call":"1m0s","connect":"5s","discover":"10s","list":"20s"}`)
		}, map[string]Reason{"tide_table": pass}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := write(t, both)
			l := pin(t, load(t, dir), tideTable, berthStatus)
			if c.edit != nil {
				c.edit(l)
				if err := lock.Seal(l); err != nil {
					t.Fatal(err)
				}
			}
			writeLock(t, dir, l)
			rewrite(t, dir, c.catalog)
			verifyAgrees(t, dir, l, c.want)
			g := opened(t, Options{Dir: dir, Agent: "clerk"})
			before := len(o.calls()) + len(other.calls())
			for name, want := range c.want {
				arguments := `{"day":"x"}`
				_, err := g.Call(t.Context(), Request{Name: name, Arguments: json.RawMessage(arguments)})
				var r *Refusal
				switch {
				case want == pass:
					if err != nil {
						t.Errorf("%s: %v, want it to pass", name, err)
					}
					before++
				case want == "unknown":
					if !errors.Is(err, ErrUnknownTool) {
						t.Errorf("%s: %v, want ErrUnknownTool", name, err)
					}
				case !errors.As(err, &r) || r.Reason != want:
					t.Errorf("%s: %v, want a refusal for %s", name, err, want)
				}
				listed := false
				for _, tool := range g.Tools() {
					listed = listed || tool.Name == name
				}
				if listed != (want == pass) {
					t.Errorf("%s is listed: %v", name, listed)
				}
			}
			if after := len(o.calls()) + len(other.calls()); after != before {
				t.Errorf("the servers saw %d calls, want %d", after, before)
			}
		})
	}
}

// verifyAgrees checks that verify ends with the status for drift exactly if the gate refuses one of the calls.
func verifyAgrees(t *testing.T, dir string, l *lock.Lock, want map[string]Reason) {
	t.Helper()
	cat := load(t, dir)
	seen, err := observe.Servers(t.Context(), cat.Servers, observe.Options{Dialer: upstream.Dialer{Dir: dir, Lookup: os.LookupEnv}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := plan.Verify(plan.Input{Catalog: cat, Base: l, LockName: cat.Lock, Observed: seen})
	if err != nil {
		t.Fatal(err)
	}
	refused := false
	for _, r := range want {
		refused = refused || r != pass && r != "unknown"
	}
	if got := v.ExitCode() == plan.ExitDrift; got != refused {
		t.Errorf("verify ends with %d (%+v, %+v), and the gate refuses: %v", v.ExitCode(), v.Summary, v.Posture, refused)
	}
	for _, it := range v.Items {
		a, err := addr.ParseItem(it.Address)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := want[a.Name]; ok && r == pass && it.State != plan.StateOK {
			t.Errorf("%s: verify says %s, and the gate lets it pass", a.Name, it.State)
		}
	}
}

func TestOpenRefusesWhatIsNotSound(t *testing.T) {
	o := newOffice(t, berthStatus)
	good := o.catalogText("", "berth_status")
	for _, c := range []struct {
		name  string
		agent string
		spoil func(dir string)
		what  string
		is    error
	}{
		{"no lock", "clerk", func(dir string) { os.Remove(filepath.Join(dir, "catalog.lock.db")) }, "lock", lock.ErrAbsent},
		{"empty lock", "clerk", func(dir string) { spoilFile(dir, "catalog.lock.db", nil) }, "lock", lock.ErrEmpty},
		{"text for a lock", "clerk", func(dir string) { spoilFile(dir, "catalog.lock.db", []byte("hello")) }, "lock", lock.ErrNotLock},
		{"byte behind the lock", "clerk", func(dir string) {
			b, _ := os.ReadFile(filepath.Join(dir, "catalog.lock.db"))
			spoilFile(dir, "catalog.lock.db", append(b, make([]byte, 4096)...))
		}, "lock", nil},
		{"catalog with an error", "clerk", func(dir string) { spoilFile(dir, "catalog.hcl", []byte(good+"\nnothing {}\n")) }, "catalog", nil},
		{"catalog with what is not enforced", "clerk", func(dir string) {
			spoilFile(dir, "catalog.hcl", []byte(strings.Replace(good, "agent \"clerk\"", "server \"other\" {\n http {\n  url = \"https://other.example/mcp\"\n }\n tool \"x\" {\n  output {\n   drop_structured = true\n  }\n }\n}\n\nagent \"clerk\"", 1)))
		}, "catalog", nil},
		{"unknown agent", "nobody", func(string) {}, "agent", nil},
		{"no agent", "", func(string) {}, "agent", nil},
	} {
		dir := write(t, good)
		writeLock(t, dir, pin(t, load(t, dir), berthStatus))
		c.spoil(dir)
		g, err := Open(t.Context(), Options{Dir: dir, Agent: c.agent})
		var got *OpenError
		if !errors.As(err, &got) || got.What != c.what || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want an OpenError about the %s", c.name, err, c.what)
		}
		if g != nil {
			t.Errorf("%s: got a gate", c.name)
		}
	}
}

func spoilFile(dir, name string, b []byte) {
	_ = os.WriteFile(filepath.Join(dir, name), b, 0o600) // a failure shows in the verdict
}

// TestOperator exposes every declared and pinned tool under its address.
func TestOperator(t *testing.T) {
	o := newOffice(t, tideTable, berthStatus)
	dir := write(t, o.catalogText("", "tide_table", "berth_status"))
	cat := load(t, dir)
	asked := 0
	g, err := New(Config{Catalog: cat, Lock: pin(t, cat, berthStatus), Approve: func(_ context.Context, s *catalog.Server) error {
		if asked++; asked == 1 {
			return errors.New("contact was declined")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if got := names(g); got != "server.office.tool.berth_status" {
		t.Errorf("Tools = %s", got)
	}
	if r := refused(t, g, "server.office.tool.tide_table", `{"day":"x"}`); r.Reason != NotPinned {
		t.Errorf("refusal %v", r)
	}
	if r := refused(t, g, "server.office.tool.berth_status", ""); r.Reason != Unverified || !strings.Contains(r.Error(), "declined") || o.walks() != 0 {
		t.Errorf("refusal %v", r)
	}
	time.Sleep(firstWait)
	if err := g.Check(t.Context(), Request{Name: "server.office.tool.berth_status"}); err != nil {
		t.Error(err)
	}
	if len(o.calls()) != 0 {
		t.Error("Check called the tool")
	}
	passed(t, g, "server.office.tool.berth_status", "")

	// A tool that is switched off is nobody's.
	rewrite(t, dir, strings.Replace(o.catalogText("", "berth_status"), "  tools = [", "  tool \"tide_table\" { enabled = false }\n  tools = [", 1))
	off, err := New(Config{Catalog: load(t, dir), Lock: pin(t, cat, berthStatus, tideTable)})
	if err != nil {
		t.Fatal(err)
	}
	defer off.Close()
	if got := names(off); got != "server.office.tool.berth_status" {
		t.Errorf("with tide_table switched off Tools = %s", got)
	}
}

// TestNotEnforceable: a definition that cannot be enforced is in no list from the start and every call of it is refused;
// one beside it with a schema just within the bounds is listed and can be called.
func TestNotEnforceable(t *testing.T) {
	bomb := `{"a":{"type":"string"}`
	for i := range 20 {
		before := "a"
		if i > 0 {
			before = fmt.Sprint("b", i-1)
		}
		bomb += fmt.Sprintf(`,"b%d":{"allOf":[{"$ref":"#/$defs/%s"},{"$ref":"#/$defs/%s"}]}`, i, before, before)
	}
	for name, schemas := range map[string]string{
		"remote reference":   `"inputSchema":{"type":"object","properties":{"x":{"$ref":"https://schemas.example/x.json"}}}`,
		"reference bomb":     `"inputSchema":{"type":"object","$ref":"#/$defs/b19","$defs":` + bomb + `}}`,
		"cycle":              `"inputSchema":{"type":"object","allOf":[{"$ref":"#"}]}`,
		"subschemas":         `"inputSchema":{"type":"object","allOf":[` + strings.Repeat(`{},`, 2100) + `{}]}`,
		"output is the same": `"inputSchema":{"type":"object"},"outputSchema":{"type":"object","$ref":"https://schemas.example/x.json"}`,
	} {
		t.Run(name, func(t *testing.T) {
			bad := `{"name":"close_gate",` + schemas + `}`
			o := newOffice(t, bad, berthStatus)
			dir := write(t, o.catalogText("", "close_gate", "berth_status"))
			l := pin(t, load(t, dir), bad, berthStatus)
			writeLock(t, dir, l)
			verifyAgrees(t, dir, l, map[string]Reason{"close_gate": Policy, "berth_status": pass})
			walks := o.walks()
			g := opened(t, Options{Dir: dir, Agent: "clerk"})
			if got := names(g); got != "berth_status" {
				t.Errorf("listed: %s, want berth_status alone", got)
			}
			if r := refused(t, g, "close_gate", `{}`); r.Reason != Policy || r.Err == nil {
				t.Errorf("refusal %v, want policy with a reason", r)
			}
			if o.walks() != walks {
				t.Error("the server was walked for a tool that is refused from the start")
			}
			passed(t, g, "berth_status", `{}`)
			if got := names(g); got != "berth_status" {
				t.Errorf("listed after a walk: %s, want berth_status alone", got)
			}
			if r := refused(t, g, "close_gate", `{}`); r.Reason != Policy {
				t.Errorf("refusal after a walk: %v", r)
			}
		})
	}
}

// TestOlderWalk: what a walk found is not overwritten by one that began before it, in whichever order they are judged.
func TestOlderWalk(t *testing.T) {
	o := newOffice(t, berthStatus)
	g := open(t, o, "clerk", berthStatus)
	tl := g.tools["berth_status"]
	good := sight{complete: true, listed: true, digest: tl.digest}
	bad := sight{complete: true, listed: true, digest: digest.Digest{1}, definition: []byte(tideTable)}
	if r := tl.judge(bad, 5); r == nil || r.Reason != Drift {
		t.Fatalf("judge = %v, want drift", r)
	}
	if r := tl.judge(good, 4); r == nil || r.Reason != Drift || tl.refused() == nil {
		t.Errorf("an older walk that passes lifted the refusal of a newer one: %v", r)
	}
	if r := tl.judge(good, 6); r != nil || tl.refused() != nil {
		t.Errorf("a newer walk that passes did not lift the refusal: %v", r)
	}
	if r := tl.judge(bad, 5); r == nil || r.Reason != Drift {
		t.Errorf("a call that rests on an older walk passed against what that walk saw: %v", r)
	}
	if tl.refused() != nil {
		t.Error("an older walk put a refusal over a newer pass")
	}
	if r := tl.judge(bad, 7); r == nil || tl.refused() != r || tl.judge(bad, 8) != r {
		t.Error("the same finding is not the same refusal")
	}
}
