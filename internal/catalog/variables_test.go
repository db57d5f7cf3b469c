package catalog

import (
	"strings"
	"testing"
)

// TestMisspeltEnvironment: a value that reaches no variable is told about when a variable is called nearly like that.
func TestMisspeltEnvironment(t *testing.T) {
	dir := writeFiles(t, one("variable \"github_token\" {\n  default = null\n}\nvariable \"region\" {\n  default = \"eu\"\n}\n"))
	for entry, want := range map[string]string{
		"MCPCAT_VAR_github_tokn=canary":        "Did you mean MCPCAT_VAR_github_token?",
		"MCPCAT_VAR_GITHUB_TOKEN=canary":       "Did you mean MCPCAT_VAR_github_token?",
		"MCPCAT_VAR_regoin=canary":             "Did you mean MCPCAT_VAR_region?",
		"MCPCAT_VAR_region=canary":             "",
		"MCPCAT_VAR_something_else=canary":     "",
		"MCPCAT_VAR_=canary":                   "",
		"MCPCAT_VARregion=canary":              "",
		"PATH=/bin":                            "",
		"MCPCAT_VAR_regi\u202eon=canary\nMCPC": "Did you mean MCPCAT_VAR_region?",
	} {
		c, list := Load(Options{Dir: dir, Environ: func() []string { return []string{"A=1", entry, entry} }})
		text := ""
		for _, d := range list {
			text += d.Error()
		}
		switch {
		case c == nil || list.HasErrors():
			t.Errorf("%q: %v", entry, list)
		case want == "" && len(list) > 0, want != "" && (len(list) != 1 || !strings.Contains(text, want)), strings.Contains(text, "canary"), strings.Contains(text, "\u202e"):
			t.Errorf("%q: %s, want %q", entry, text, want)
		}
	}
}
