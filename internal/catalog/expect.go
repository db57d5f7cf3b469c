package catalog

import (
	"fmt"

	goversion "github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxIdentityBytes bounds what a server is expected to say about itself, and what is compared with it.
const maxIdentityBytes = 256

// Expect is what a server must say about itself in serverInfo of server/discover. It is a hint against mistakes, never an
// authorisation: a server says what it likes.
type Expect struct {
	Name    string // byte for byte; "": any
	Version string // clauses such as "~> 3.1" or ">= 1.0, < 2.0"; "": any
}

func (l *loader) readExpect(b *hclsyntax.Block, w where) *Expect {
	c := l.contents(b.Body, w, expectBlock)
	if len(b.Body.Attributes)+len(b.Body.Blocks) == 0 {
		l.fail("catalog.missing", "Missing argument", header(b), w, "An expect block needs name, version or both.")
		return nil
	}
	e := &Expect{}
	if name, ok := c.text("name", maxIdentityBytes); ok {
		if name == "" {
			l.fail("catalog.value", "Invalid name", c.exprRange("name"), w, "name is empty. Leave it out to expect any.")
		}
		e.Name = name
	}
	if v, ok := c.text("version", maxIdentityBytes); ok {
		if _, err := goversion.NewConstraint(v); err != nil {
			l.fail("catalog.value", "Invalid version constraint", c.exprRange("version"), w, "version is no list of clauses, each an operator (= != > >= < <= ~>) and a version. Write it like \"~> 3.1\" or \">= 1.0, < 2.0\".")
		}
		e.Version = v
	}
	if *e == (Expect{}) {
		return nil
	}
	return e
}

// Check returns what is wrong with an identity, in words, or "". Named is false for a server that does not say who it is.
func (e *Expect) Check(named bool, name, version string) string {
	switch {
	case !named:
		return fmt.Sprintf("the server does not say who it is, want %s", e)
	case e.Name != "" && name != e.Name:
		return fmt.Sprintf("the server calls itself %s, want %s", diag.Quote(name, maxIdentityBytes), diag.Quote(e.Name, 0))
	case e.Version == "":
		return ""
	}
	constraint, err := goversion.NewConstraint(e.Version)
	if err != nil {
		return fmt.Sprintf("the expected version %s cannot be compared", diag.Quote(e.Version, 0))
	}
	if len(version) > maxIdentityBytes {
		return fmt.Sprintf("the server says a version of %d bytes, want %s", len(version), diag.Quote(e.Version, 0))
	}
	v, err := goversion.NewVersion(version)
	if err != nil {
		return fmt.Sprintf("the server says the version %s, which cannot be compared, want %s", diag.Quote(version, maxIdentityBytes), diag.Quote(e.Version, 0))
	}
	if !constraint.Check(v) {
		return fmt.Sprintf("the server says the version %s, want %s", diag.Quote(version, maxIdentityBytes), diag.Quote(e.Version, 0))
	}
	return ""
}

func (e *Expect) String() string {
	switch {
	case e.Version == "":
		return diag.Quote(e.Name, 0)
	case e.Name == "":
		return "a version " + diag.Quote(e.Version, 0)
	}
	return diag.Quote(e.Name, 0) + " in a version " + diag.Quote(e.Version, 0)
}

func (e *Expect) posture() map[string]string {
	p := map[string]string{}
	if e.Name != "" {
		p["name"] = e.Name
	}
	if e.Version != "" {
		p["version"] = e.Version
	}
	return p
}
