//go:build unix

package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// goodServer is the catalog with one server that behaves.
const goodServer = `
server "good" {
  stdio {
    command = "odd"
    args    = ["-mode=ok"]
  }
  tools = ["first", "second"]
}

agent "reader" {
  tools = [server.good.tool.first, server.good.tool.second]
}
`

// withOdd adds a server that does not.
func withOdd(block string) string {
	return goodServer + fmt.Sprintf(`
server "strange" {
  %s
  timeouts {
    connect  = "3s"
    discover = "3s"
    list     = "3s"
  }
  tools = ["first", "second"]
}
`, block)
}

// A planJSON is the part of the plan document that these tests look at.
type planJSON struct {
	Kind     string
	Complete bool
	Servers  []struct {
		Address, Status string
		Error           *struct{ Code, Message string }
	}
	Changes     []struct{ Address string }
	Diagnostics []struct{ Severity, Code, Summary, Detail, Address string }
}

func document(t *testing.T, o outcome) planJSON {
	t.Helper()
	var doc planJSON
	dec := json.NewDecoder(strings.NewReader(o.stdout))
	if err := dec.Decode(&doc); err != nil || doc.Kind != "plan" {
		t.Fatalf("want one plan document on stdout, got kind %q, %v: %v", doc.Kind, err, o)
	}
	if dec.More() {
		t.Fatalf("more than one document on stdout: %v", o)
	}
	return doc
}

// TestBadServers declares one server that misbehaves beside one that is pinned and behaves: the plan names the bad one
// and the reason, ends with 5, leaves the good one and the lock alone.
func TestBadServers(t *testing.T) {
	t.Parallel()
	// Not a port that the kernel hands out: one that was just closed may be the next server's.
	const nobody = "http://127.0.0.1:1/mcp"

	for _, c := range []struct {
		mode   string // of cmd/odd, or what is in its place
		http   bool
		status string
		code   []string
		reason []string // texts of the reason
	}{
		{mode: "legacy", status: "refused", code: []string{"server.protocol_unsupported"}, reason: []string{"2026-07-28"}},
		{mode: "legacy-versions", status: "refused", code: []string{"server.protocol_unsupported"}, reason: []string{"2025-11-25", "2026-07-28"}},
		{mode: "unsupported", status: "refused", code: []string{"server.protocol_unsupported"}, reason: []string{"2025-11-25", "2026-07-28"}},
		{mode: "silent", status: "not_checked", code: []string{"server.timeout"}, reason: []string{"server/discover"}},
		{mode: "slow-list", status: "not_checked", code: []string{"server.timeout"}, reason: []string{"tools/list"}},
		{mode: "garbage", status: "refused", code: []string{"server.not_mcp", "server.protocol_error"}, reason: []string{"Welcome to the harbour"}},
		{mode: "echo", status: "refused", code: []string{"server.not_mcp"}},
		{mode: "exit", status: "not_checked", code: []string{"server.exited", "server.start_failed"}, reason: []string{"cannot find the harbour"}},
		{mode: "duplicate-members", status: "refused", code: []string{"server.protocol_error"}, reason: []string{"ttlMs"}},
		{mode: "duplicate-tool", status: "refused", code: []string{"server.protocol_error"}, reason: []string{"first"}},
		{mode: "changes", status: "refused", code: []string{"server.unstable"}, reason: []string{"first"}},
		{mode: "absent", status: "not_checked", code: []string{"server.start_failed"}, reason: []string{"no-such-program"}},

		{mode: "legacy", http: true, status: "refused", code: []string{"server.protocol_unsupported"}, reason: []string{"2025-11-25", "2026-07-28"}},
		{mode: "legacy-versions", http: true, status: "refused", code: []string{"server.protocol_unsupported"}, reason: []string{"2025-11-25", "2026-07-28"}},
		{mode: "unsupported", http: true, status: "refused", code: []string{"server.protocol_unsupported"}, reason: []string{"2025-11-25", "2026-07-28"}},
		{mode: "silent", http: true, status: "not_checked", code: []string{"server.timeout"}, reason: []string{"server/discover"}},
		{mode: "slow-list", http: true, status: "not_checked", code: []string{"server.timeout"}, reason: []string{"tools/list"}},
		{mode: "html", http: true, status: "refused", code: []string{"server.not_mcp"}, reason: []string{"web page"}},
		{mode: "duplicate-members", http: true, status: "refused", code: []string{"server.protocol_error"}, reason: []string{"ttlMs"}},
		{mode: "duplicate-tool", http: true, status: "refused", code: []string{"server.protocol_error"}, reason: []string{"first"}},
		{mode: "changes", http: true, status: "refused", code: []string{"server.unstable"}, reason: []string{"first"}},
		{mode: "absent", http: true, status: "not_checked", code: []string{"server.connect_failed"}},
	} {
		name := c.mode + "-stdio"
		if c.http {
			name = c.mode + "-http"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			block := fmt.Sprintf("stdio {\n    command = \"odd\"\n    args    = [\"-mode=%s\"]\n  }", c.mode)
			switch {
			case c.http && c.mode == "absent":
				block = everythingAt(nobody)
			case c.http:
				block = everythingAt(serveHTTP(t, "odd", "-http=127.0.0.1:0", "-mode="+c.mode))
			case c.mode == "absent":
				block = "stdio {\n    command = \"no-such-program\"\n  }"
			}
			p := newPlace(t, goodServer)
			p.pin(t)
			lock := p.locked(t)
			p.write(t, "catalog.hcl", withOdd(block))

			o := p.must(t, 5, "plan", "-contact=all", "-json")
			doc := document(t, o)
			if doc.Complete {
				t.Error("the plan says that it is complete")
			}
			if len(doc.Servers) != 2 {
				t.Fatalf("the plan has %d servers, want 2", len(doc.Servers))
			}
			for _, s := range doc.Servers {
				if s.Address == "server.good" {
					if s.Status != "checked" || s.Error != nil {
						t.Errorf("server.good is %s, %v; want checked without an error", s.Status, s.Error)
					}
					continue
				}
				if s.Status != c.status || s.Error == nil || !slices.Contains(c.code, s.Error.Code) {
					t.Errorf("server.strange is %s, %+v; want %s, %v", s.Status, s.Error, c.status, c.code)
				}
			}
			for _, change := range doc.Changes {
				if strings.HasPrefix(change.Address, "server.good.") {
					t.Errorf("the plan changes %s", change.Address)
				}
			}
			var errs int
			for _, d := range doc.Diagnostics {
				if d.Address == "server.strange" {
					errs++
					for _, text := range c.reason {
						if !strings.Contains(d.Summary+" "+d.Detail, text) {
							t.Errorf("the diagnostic does not hold %q: %+v", text, d)
						}
					}
				}
			}
			if errs != 1 || len(doc.Diagnostics) != 1 {
				t.Errorf("want one diagnostic, of server.strange: %+v", doc.Diagnostics)
			}

			o = p.must(t, 5, "plan", "-contact=all", "-out=odd.mcpplan")
			for _, text := range append([]string{"server.strange"}, c.reason...) {
				if !strings.Contains(o.stdout+o.stderr, text) {
					t.Errorf("the text does not hold %q: %v", text, o)
				}
			}
			if strings.Contains(o.stdout+o.stderr, "No changes.") {
				t.Errorf("an incomplete plan says %q: %v", "No changes.", o)
			}
			p.must(t, 0, "call", "server.good.tool.first", "{}")
			if o := p.run(t, "call", "server.strange.tool.first", "{}"); o.exit == 0 {
				t.Errorf("a tool that was never pinned was called: %v", o)
			}
			if p.locked(t) != lock {
				t.Error("lock or mirror differ from before")
			}
		})
	}
}

// TestHandEditedFiles: a plan file and a lock in which one byte was changed by hand are refused by name.
func TestHandEditedFiles(t *testing.T) {
	t.Parallel()
	t.Run("plan", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, goodServer)
		p.must(t, 0, "plan", "-contact=all", "-out=p.mcpplan")
		text := string(p.read(t, "p.mcpplan"))
		const was, is = "The first tool.", "The thirst tool"
		if !strings.Contains(text, was) {
			t.Fatalf("the plan does not hold %q: %s", was, text)
		}
		p.write(t, "p.mcpplan", strings.ReplaceAll(text, was, is))
		if o := p.must(t, 1, "apply", "p.mcpplan"); !strings.Contains(o.stderr, "p.mcpplan") || !strings.Contains(o.stderr, "plan_digest") {
			t.Errorf("the diagnostic does not name the file and what differs: %v", o)
		}
		if got := p.locked(t); got != [2]string{} {
			t.Error("a lock was written")
		}
	})
	t.Run("lock", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, goodServer)
		p.pin(t)
		lock := p.locked(t)
		const was, is = "The first tool.", "The thirst tool"
		if !strings.Contains(lock[0], was) {
			t.Fatalf("the lock does not hold %q", was)
		}
		p.write(t, "catalog.lock.db", strings.ReplaceAll(lock[0], was, is))
		edited := p.locked(t)
		for _, args := range [][]string{{"plan"}, {"verify"}, {"call", "server.good.tool.first", "{}"}, {"call", "server.good.tool.second", "{}"}, {"lock", "list"}} {
			if o := p.must(t, 1, args...); !strings.Contains(o.stderr, "catalog.lock.db") || !strings.Contains(o.stderr, "server.good/first") {
				t.Errorf("the diagnostic does not name the file and the entry: %v", o)
			}
		}
		if p.locked(t) != edited {
			t.Error("a command wrote the lock")
		}
	})
}
