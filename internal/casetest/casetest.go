// Package casetest opens the inputs under testdata/cases for tests and keeps count of which test claims which case.
//
// It is for tests only. The test of this package compares the claims found in the sources with testdata/cases/unclaimed.txt.
package casetest

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Root is the repository's testdata/cases.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "testdata", "cases")
}

// Dir returns the directory of the case name, "area/name", and records that the running test claims it. Name is
// written as a literal in the test's source, where the walker finds it.
//
// With MCPCAT_CASE_CLAIMS set to a directory, a marker is left there when the test ends without being skipped, so that
// a claim by a test that did not run can be told from one that did.
func Dir(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(Root(), filepath.FromSlash(name))
	if _, err := os.Stat(filepath.Join(dir, "case.md")); err != nil {
		t.Fatalf("case %q: %v", name, err)
	}
	if marks := os.Getenv("MCPCAT_CASE_CLAIMS"); marks != "" {
		t.Cleanup(func() {
			if t.Skipped() {
				return
			}
			mark := filepath.Join(marks, strings.ReplaceAll(name, "/", "__"))
			if err := os.WriteFile(mark, []byte(t.Name()+"\n"), 0o644); err != nil {
				t.Errorf("case %q: %v", name, err)
			}
		})
	}
	return dir
}

// Read returns one file of a case and claims the case as Dir does.
func Read(t testing.TB, name, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(Dir(t, name), file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// WithIDs replaces the ids 7001, 7002, ... of a case's bytes by the raw id tokens that the fake peer has seen, in order.
// A quoted "7001" becomes the quoted text of the token.
func WithIDs(b []byte, raw ...string) []byte {
	for i, id := range raw {
		want := "700" + string(rune('1'+i))
		b = bytes.ReplaceAll(b, []byte(`"`+want+`"`), []byte(`"`+strings.Trim(id, `"`)+`"`))
		b = bytes.ReplaceAll(b, []byte(want), []byte(id))
	}
	return b
}
