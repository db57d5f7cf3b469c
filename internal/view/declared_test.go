package view

import (
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// TestDeclaredSettings: digests are cut for reading, several are a choice, and secrets are references.
func TestDeclaredSettings(t *testing.T) {
	a, b := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	r := &rows{p: &printer{}}
	for value, want := range map[string]string{
		`"` + a + `"`:               strings.Repeat("a", 12),
		`["` + a + `","` + b + `"]`: strings.Repeat("a", 12) + " or " + strings.Repeat("b", 12),
	} {
		if got := r.tlsSetting(strictjson.Value(value)); got != want {
			t.Errorf("%s is shown as %q, want %q", value, got, want)
		}
	}
	for value, want := range map[string]string{
		`{"command":["acme-token","--audience","wiki"]}`:                                `command "acme-token", "--audience", "wiki"`,
		`{"header":"X-Api-Key","value":{"secret":"var.key"}}`:                           `header "X-Api-Key", value ${var.key}`,
		`{"oauth":{"client_secret":{"secret":"var.key"},"grant":"client_credentials"}}`: `oauth client_secret = ${var.key}, grant = "client_credentials"`,
	} {
		if got := settingText("auth", strictjson.Value(value)); got != want {
			t.Errorf("%s is shown as %q, want %q", value, got, want)
		}
	}
}
