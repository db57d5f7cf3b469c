package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
)

func TestParseKeptAnswers(t *testing.T) {
	page, err := ParseToolsPage([]byte(` {"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}}],"ttlMs":1,"cacheScope":"private"} `))
	if err != nil {
		t.Fatal(err)
	}
	list, err := NewToolsSnapshot(page)
	if err != nil {
		t.Fatal(err)
	}
	disc, err := ParseDiscovery([]byte(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Snapshot{list, disc} {
		want, err := ComputeSnapshotDigest(s)
		if err != nil {
			t.Fatal(err)
		}
		pre, err := AppendSnapshotPreimage(nil, s)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(pre)
		if got := hex.EncodeToString(sum[:]); got != want.String() {
			t.Errorf("%T: SHA-256 of the preimage = %s, want the digest %s", s, got, want)
		}
	}

	var fault *ProtocolError
	for _, src := range []string{`[]`, `{}`, `{"resultType":"complete","tools":null,"ttlMs":0,"cacheScope":"private"}`, `{"resultType":"complete","resultType":"complete"}`, ``} {
		if _, err := ParseToolsPage([]byte(src)); !errors.As(err, &fault) {
			t.Errorf("ParseToolsPage(%s) = %v, want a *ProtocolError", src, err)
		}
		if _, err := ParseDiscovery([]byte(src)); !errors.As(err, &fault) {
			t.Errorf("ParseDiscovery(%s) = %v, want a *ProtocolError", src, err)
		}
	}
}
