package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLockPathThroughLink: neither the catalog nor -lock can send the lock or its mirror out of the catalog directory
// through a directory that is a link.
func TestLockPathThroughLink(t *testing.T) {
	outside := t.TempDir()
	for name, tt := range map[string]struct{ block, flag string }{
		"lock":   {block: "path = \"sub/x.lock.db\""},
		"mirror": {block: "mirror = \"sub/x.lock.txt\""},
		"flag":   {flag: "sub/x.lock.db"},
		"deeper": {block: "path = \"real/sub/x.lock.db\""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text := "mcpcat {\n  lock {\n    " + tt.block + "\n  }\n}\n"
			if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
				t.Fatal(err)
			}
			load := func() string {
				_, diags := Load(Options{Dir: dir, LockPath: tt.flag})
				return diags.Errors().Error()
			}
			if got := load(); strings.Contains(got, "symbolic link") {
				t.Fatalf("without a link: %s", got)
			}
			link := filepath.Join(dir, "sub")
			if name == "deeper" {
				link = filepath.Join(dir, "real", "sub")
			}
			if err := os.Symlink(outside, link); err != nil {
				t.Skip(err)
			}
			if got := load(); !strings.Contains(got, "Invalid lock path") || !strings.Contains(got, "symbolic link") {
				t.Errorf("errors = %q, want the link named", got)
			}
		})
	}
}
