package observe

import (
	"crypto/sha256"
	"strings"
	"testing"
)

// TestEvidenceOfEveryKind takes the digest of one kept answer of every kind, and of two pages of every list.
func TestEvidenceOfEveryKind(t *testing.T) {
	result := func(member, items, more string) []byte {
		return []byte(`{"resultType":"complete","ttlMs":0,"cacheScope":"public","` + member + `":[` + items + `]` + more + `}`)
	}
	members := map[string]string{"tools": "tools", "resources": "resources", "resource_templates": "resourceTemplates", "prompts": "prompts", "resource_read": "contents"}
	items := map[string]string{
		"tools": `{"name":"@","inputSchema":{"type":"object"}}`, "resources": `{"uri":"@:","name":"n"}`, "resource_templates": `{"uriTemplate":"@:","name":"n"}`,
		"prompts": `{"name":"@"}`, "resource_read": `{"uri":"@:","text":""}`,
	}
	seen := map[string]string{}
	for _, kind := range EvidenceKinds {
		one := []byte(goodDiscovery)
		item := func(name string) string { return strings.ReplaceAll(items[kind], "@", name) }
		if kind != "discovery" {
			one = result(members[kind], item("a")+","+item("b"), "")
		}
		d, form, err := Evidence(kind, one)
		if err != nil || sha256.Sum256(form) != d || !strings.HasPrefix(string(form), "mcpcat:"+kind+":v1\n") {
			t.Fatalf("%s: %s over %q: %v", kind, d, form, err)
		}
		if other := seen[d.String()]; other != "" {
			t.Errorf("%s and %s have one digest", kind, other)
		}
		seen[d.String()] = kind
		first := result(members[kind], item("a"), `,"nextCursor":"x"`)
		last := result(members[kind], item("b"), "")
		switch two, form, err := Evidence(kind, first, last); {
		case kind == "discovery" || kind == "resource_read":
			if err == nil {
				t.Errorf("%s: two results have a digest", kind)
			}
			continue
		case err != nil || two == d || !strings.Contains(string(form), `{"pages":[`):
			t.Errorf("%s: two pages: %q, %v", kind, form, err)
		}
		if _, _, err := Evidence(kind, first, []byte("{}")); err == nil || !strings.HasPrefix(err.Error(), "page 2: ") {
			t.Errorf("%s: a bad second page: %v", kind, err)
		}
		for name, bad := range map[string][][]byte{"not the last": {first}, "behind the last": {last, first}, "none": {}, "twice": {first, result(members[kind], item("a"), "")}} {
			if _, _, err := Evidence(kind, bad...); err == nil {
				t.Errorf("%s: %s has a digest", kind, name)
			}
		}
	}
	if _, _, err := Evidence("prompt", []byte("{}")); err == nil || !strings.Contains(err.Error(), "resource_templates, prompts") {
		t.Errorf("unknown kind: %v", err)
	}
}
