package gate

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestComparisonIsNeeded builds this package with the comparison of digests taken out of decide and shows that
// TestDriftedToolIsRefused then fails: no other check stands in for it.
func TestComparisonIsNeeded(t *testing.T) {
	if testing.Short() || os.Getenv("MCPCAT_MUTANT") != "" {
		t.Skip("builds the package once more")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command to build the mutant with")
	}
	src, err := os.ReadFile("decide.go")
	if err != nil {
		t.Fatal(err)
	}
	const comparison = "case s.digest != pinned:"
	if strings.Count(string(src), comparison) != 1 {
		t.Fatalf("decide.go does not have %q once", comparison)
	}
	run := func(name, replacement string) (string, error) {
		dir := t.TempDir()
		mutant := filepath.Join(dir, "decide.go")
		if err := os.WriteFile(mutant, []byte(strings.Replace(string(src), comparison, replacement, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		here, err := filepath.Abs("decide.go")
		if err != nil {
			t.Fatal(err)
		}
		overlay, err := json.Marshal(map[string]map[string]string{"Replace": {here: mutant}})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "overlay.json")
		if err := os.WriteFile(file, overlay, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), tool, "test", "-count=1", "-overlay="+file, "-run=^TestDriftedToolIsRefused$", ".")
		cmd.Env = append(os.Environ(), "MCPCAT_MUTANT="+name)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("control", comparison); err != nil {
		t.Fatalf("the package as it is fails the test: %v\n%s", err, out)
	}
	out, err := run("mutant", "case s.digest != pinned && false:")
	if err == nil || !strings.Contains(out, "--- FAIL: TestDriftedToolIsRefused") {
		t.Errorf("without the comparison the test passes: %v\n%s", err, out)
	}
}
