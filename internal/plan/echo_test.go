package plan_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// TestSecretInEveryForm: what the gate and the streams know as a form of a secret is not pinned either.
func TestSecretInEveryForm(t *testing.T) {
	const hcl = "variable \"token\" {\n  type = string\n  sensitive = true\n}\n\nserver \"harbour\" {\n  http {\n    url = \"https://office.harbour.example/mcp\"\n    auth {\n      bearer = var.token\n    }\n  }\n  tools = [\"berth_status\", \"log_arrival\"]\n}\n"
	const value = "s3cr/et~4711:abcd"
	cat := loadWith(t, hcl, value)
	for name, form := range map[string]string{
		"raw": value, "base64": base64.StdEncoding.EncodeToString([]byte("me:" + value)), "URL": url.QueryEscape(value), "pointer": "/a/s3cr~1et~04711:abcd/b",
	} {
		text, err := json.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		for place, o := range map[string]map[string]offer{
			"description":  harbour(strings.Replace(berth, "Says", form, 1), arrival),
			"instructions": {"server.harbour": {Discover: json.RawMessage(`{"capabilities":{},"instructions":` + string(text) + `}`)}},
			"excluded":     {"server.harbour": {Excluded: []surface.Excluded{{Name: "x", Reason: "r " + form}}}},
		} {
			p := makePlan(t, cat, nil, o)
			if p.Servers[0].Status != plan.Refused || p.Servers[0].Error.Code != plan.CodeSecretEchoed || strings.Contains(string(encode(t, p)), form) {
				t.Errorf("%s in %s: %+v", name, place, p.Servers[0])
			}
		}
	}
}
