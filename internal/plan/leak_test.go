package plan_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// A server that says a secret back is refused as a whole, and the secret is in no output.
func TestSecretEchoed(t *testing.T) {
	const hcl = `variable "token" {
  type      = string
  sensitive = true
}

server "harbour" {
  http {
    url = "https://office.harbour.example/mcp"
    auth {
      bearer = var.token
    }
  }
  tools = ["berth_status", "log_arrival"]
}
`
	const secret = `s3cr"et-<value>`
	cat := loadWith(t, hcl, secret)
	esc := `s3cr\"et-\u003cvalue>` // spelled otherwise than encoders do
	for name, o := range map[string]map[string]offer{
		"definition": harbour(strings.Replace(berth, "Says", esc, 1), arrival),
		"undeclared": harbour(berth, arrival, `{"name":"`+esc+`"}`),
		"discovery":  {"server.harbour": {Discover: json.RawMessage(`{"capabilities":{},"instructions":"` + esc + `"}`)}},
		"excluded":   {"server.harbour": {Excluded: []surface.Excluded{{Name: secret, Reason: "r"}}}},
	} {
		p := makePlan(t, cat, nil, o)
		if p.Servers[0].Status != plan.Refused || p.Servers[0].Error.Code != plan.CodeSecretEchoed || p.ExitCode(false) != plan.ExitIncomplete {
			t.Errorf("%s: server %+v, exit code %d", name, p.Servers[0], p.ExitCode(false))
		}
		for _, out := range []string{string(encode(t, p)), textOf(t, p)} {
			if strings.Contains(out, "s3cr") {
				t.Errorf("%s: the secret is in the output: %s", name, out)
			}
			if !strings.Contains(out, "var.token") {
				t.Errorf("%s: the output does not name the reference", name)
			}
		}
		// Applying needs no secret.
		if _, err := decode(t, encode(t, p)).Next(nil, loadWith(t, hcl, "")); err != nil {
			t.Errorf("%s: Next = %v", name, err)
		}
	}
	if p := makePlan(t, cat, nil, harbour(berth, arrival)); p.Servers[0].Status != plan.Checked {
		t.Error("control: a server that keeps the secret is refused")
	}
}

func loadWith(t testing.TB, hcl, token string) *catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(hcl), 0o644); err != nil {
		t.Fatal(err)
	}
	cat, diags := catalog.Load(catalog.Options{Dir: dir, AllowMissingSecrets: true, Lookup: func(name string) (string, bool) {
		return token, name == "MCPCAT_VAR_token" && token != ""
	}})
	if cat == nil {
		t.Fatalf("catalog: %v", diags)
	}
	return cat
}
