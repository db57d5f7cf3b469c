package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
)

// place is a catalog of one fakeserver, outside of any checkout.
type place struct {
	t    *testing.T
	dir  string // the catalog directory
	root string
}

func newPlace(t *testing.T, tools ...string) *place {
	t.Helper()
	p := &place{t: t, root: t.TempDir()}
	p.dir = filepath.Join(p.root, "catalog")
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	p.write("catalog/catalog.hcl", "server \"harbour\" {\n  stdio {\n    command = \"fakeserver\"\n    args    = [\"../offer.json\"]\n  }\n  tools = "+string(quoted)+"\n}\n")
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.root, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// offer makes the server answer tools/list with the result of an answer that was kept.
func (p *place) offer(answer []byte) {
	p.t.Helper()
	var m struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(answer, &m); err != nil {
		p.t.Fatal(err)
	}
	p.write("offer.json", `{"result":`+string(m.Result)+`}`)
}

// run wants an exit status and returns both outputs.
func (p *place) run(status int, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("mcpcat", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(p.root, "state"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var code *exec.ExitError
	if err != nil && !errors.As(err, &code) {
		p.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != status {
		p.t.Fatalf("mcpcat %s exited %d, want %d\n%s", strings.Join(args, " "), got, status, &out)
	}
	return out.String()
}

// locked returns the bytes of lock and mirror.
func (p *place) locked() string {
	p.t.Helper()
	var all []byte
	for _, name := range []string{"catalog.lock.db", "catalog.lock.txt"} {
		b, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, b...)
	}
	return string(all)
}

// TestFirstPlanAppliedTwice: a plan made against nothing has an identity too, and is good for once.
func TestFirstPlanAppliedTwice(t *testing.T) {
	const name = "lock/first-plan-applied-twice"
	p := newPlace(t, toolNames(t, casetest.Read(t, name, "before.json"))...)
	p.offer(casetest.Read(t, name, "before.json"))
	p.run(0, "plan", "-contact=all", "-out=plan-1")
	p.run(0, "apply", "plan-1")
	pinned := p.locked()
	p.offer(casetest.Read(t, name, "after.json"))
	if out := p.run(7, "apply", "plan-1"); !strings.Contains(out, "stale") {
		t.Errorf("the second apply does not say stale:\n%s", out)
	}
	if p.locked() != pinned {
		t.Error("the refused apply changed lock or mirror")
	}
	p.run(0, "plan", "-out=plan-2")
	p.run(0, "apply", "plan-2")
	if p.locked() == pinned {
		t.Error("the fresh plan changed nothing")
	}
}

// TestTwoFirstPlans: of two plans made from the same empty state one wins, and the refused one leaves the lock free.
func TestTwoFirstPlans(t *testing.T) {
	casetest.Dir(t, "lock/two-first-plans")
	tool := func(text string) []byte {
		return []byte(`{"result":{"resultType":"complete","tools":[{"name":"berth_status","description":"` + text + `","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}}`)
	}
	p := newPlace(t, "berth_status")
	p.offer(tool("one"))
	p.run(0, "plan", "-contact=all", "-out=plan-1")
	p.offer(tool("two"))
	p.run(0, "plan", "-contact=all", "-out=plan-2")
	p.run(0, "apply", "plan-1")
	pinned := p.locked()
	if out := p.run(7, "apply", "plan-2"); !strings.Contains(out, "stale") {
		t.Errorf("the second plan does not say stale:\n%s", out)
	}
	if p.locked() != pinned {
		t.Error("the refused apply changed lock or mirror")
	}
	p.run(2, "plan", "-detailed-exitcode", "-out=plan-3")
	p.run(0, "apply", "plan-3", "-lock-timeout=0s")
	p.run(0, "verify")
}

func toolNames(t *testing.T, answer []byte) []string {
	t.Helper()
	var m struct {
		Result struct {
			Tools []struct{ Name string }
		}
	}
	if err := json.Unmarshal(answer, &m); err != nil || len(m.Result.Tools) == 0 {
		t.Fatalf("no tools in the case: %v", err)
	}
	var names []string
	for _, tool := range m.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}
