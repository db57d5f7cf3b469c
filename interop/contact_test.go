//go:build unix

package interop

import (
	"strings"
	"testing"
)

// TestFirstContact: nothing is started before somebody said so, by the record that the server writes when it starts.
func TestFirstContact(t *testing.T) {
	t.Parallel()
	p := newPlace(t, harbourCatalog)
	p.write(t, "harbour.release", "1")
	untouched := func(args ...string) {
		t.Helper()
		o := p.run(t, args...)
		if o.exit == 0 {
			t.Errorf("an endpoint that nobody approved is no success: %v", o)
		}
		if b := p.read(t, "harbour.calls"); b != nil {
			t.Fatalf("the server was started: %v", o)
		}
	}

	for _, c := range []struct{ command, contact string }{{"plan", ""}, {"plan", "-contact=locked"}, {"plan", "-contact=none"}, {"verify", ""}} {
		if c.contact == "" {
			untouched(c.command)
		} else {
			untouched(c.command, c.contact)
		}
	}
	if o := p.must(t, 5, "plan"); !strings.Contains(o.stderr, "-contact=all") {
		t.Errorf("the diagnostic does not name the flag: %v", o)
	}
	untouched("call", "server.harbour.tool.list_berths", "{}")

	// Pinned: contacted without the flag. Another command line: an endpoint that nobody approved again.
	p.pin(t)
	p.must(t, 0, "plan", "-detailed-exitcode")
	p.must(t, 0, "call", "server.harbour.tool.list_berths", "{}")
	p.write(t, "catalog.hcl", strings.Replace(harbourCatalog, "harbour.calls", "other.calls", 1))
	for _, args := range [][]string{{"plan"}, {"verify"}, {"call", "server.harbour.tool.list_berths", "{}"}} {
		o := p.run(t, args...)
		if o.exit != 3 && o.exit != 5 {
			t.Errorf("want exit status 3 or 5: %v", o)
		}
		if b := p.read(t, "other.calls"); b != nil {
			t.Fatalf("the server was started with other arguments: %v", o)
		}
	}
}
