//go:build unix

package interop

import (
	"os"
	"strings"
	"testing"
)

// TestPlansAreClaims follows saved plans: they apply without servers, once, on the base they were made from, and to the
// same bytes everywhere.
func TestPlansAreClaims(t *testing.T) {
	t.Parallel()
	p := newPlace(t, harbourCatalog)
	p.write(t, "harbour.release", "1")
	p.must(t, 0, "plan", "-contact=all", "-out=one.mcpplan")
	p.must(t, 0, "plan", "-contact=all", "-out=two.mcpplan")

	// Two directories, no server in reach: the same bytes.
	other := newPlace(t, harbourCatalog)
	other.write(t, "one.mcpplan", string(p.read(t, "one.mcpplan")))
	for _, at := range []*place{p, other} {
		cmd := at.command("apply", "one.mcpplan")
		cmd.Env = append(cmd.Env, "PATH="+t.TempDir())
		if o := finish(t, cmd); o.exit != 0 {
			t.Fatal(o)
		}
	}
	lock := p.locked(t)
	if lock[0] == "" || lock != other.locked(t) {
		t.Fatal("one plan gives different locks in two directories")
	}

	// The same plan again, and the other first plan, are stale.
	for _, plan := range []string{"one.mcpplan", "two.mcpplan"} {
		o := p.must(t, 7, "apply", plan)
		if p.locked(t) != lock {
			t.Errorf("a stale plan changed lock or mirror: %v", o)
		}
		if !strings.Contains(o.stderr, "stale") && !strings.Contains(o.stderr, "another") {
			t.Errorf("the diagnostic does not say why: %v", o)
		}
	}

	// A refused apply lets go of the lock: a new plan works at once.
	p.must(t, 0, "plan", "-detailed-exitcode")

	// Two plans from one base: the second is stale after the first, and a fresh one works.
	p.write(t, "harbour.release", "2")
	p.must(t, 2, "plan", "-detailed-exitcode", "-out=three.mcpplan")
	p.must(t, 2, "plan", "-detailed-exitcode", "-out=four.mcpplan")
	p.must(t, 0, "apply", "three.mcpplan")
	lock = p.locked(t)
	p.must(t, 7, "apply", "four.mcpplan")
	if p.locked(t) != lock {
		t.Error("a stale plan changed lock or mirror")
	}
	p.write(t, "harbour.release", "1")
	p.must(t, 2, "plan", "-detailed-exitcode", "-out=five.mcpplan")
	p.must(t, 0, "apply", "five.mcpplan")
	p.must(t, 0, "verify")
	if p.locked(t) == lock {
		t.Error("the fresh plan changed nothing")
	}

	// Nothing but the lock and its mirror was written beside the catalog.
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "harbour."), strings.HasSuffix(name, ".mcpplan"):
		case name == "catalog.hcl", name == "catalog.lock.db", name == "catalog.lock.txt", name == ".mcpcat":
		default:
			t.Errorf("%s was left in the catalog directory", name)
		}
	}
}

// TestOtherConfiguration: a plan is refused where the catalog is another one.
func TestOtherConfiguration(t *testing.T) {
	t.Parallel()
	p := newPlace(t, goodServer)
	p.must(t, 0, "plan", "-contact=all", "-out=p.mcpplan")
	p.write(t, "catalog.hcl", strings.Replace(goodServer, "server.good.tool.first, ", "", 1))
	o := p.run(t, "apply", "p.mcpplan")
	if o.exit != 1 && o.exit != 7 {
		t.Errorf("want exit status 1 or 7: %v", o)
	}
	if !strings.Contains(o.stderr, "catalog.hcl") {
		t.Errorf("the diagnostic does not name the file: %v", o)
	}
	if got := p.locked(t); got != [2]string{} {
		t.Error("a lock was written")
	}
}
