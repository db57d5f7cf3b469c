package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
)

func TestUnknownMembersAreOther(t *testing.T) {
	got := changed([]byte(`{"name":"a","title":"x","x-a":1,"y":2}`), []byte(`{"name":"a","title":"y","x-a":2,"annotations":{}}`))
	if diff := cmp.Diff([]string{"annotations", "other", "title"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecide(t *testing.T) {
	d := digest.OfBytes("tool", []byte("a"))
	e := digest.OfBytes("tool", []byte("b"))
	for _, c := range []struct {
		s    sight
		want Reason
	}{
		{sight{}, Unverified},
		{sight{listed: true, digest: d}, Unverified},
		{sight{complete: true}, Missing},
		{sight{complete: true, digest: d}, Missing},
		{sight{complete: true, listed: true, digest: e}, Drift},
		{sight{complete: true, listed: true}, Drift},
		{sight{complete: true, listed: true, excluded: true, digest: e}, Drift},
		{sight{complete: true, listed: true, excluded: true, digest: d}, Policy},
		{sight{complete: true, listed: true, digest: d}, pass},
	} {
		if got := decide(d, c.s); got != c.want {
			t.Errorf("decide(%+v) = %q, want %q", c.s, got, c.want)
		}
	}
}

// BenchmarkDecision is what a call costs here when nothing is read and nothing is sent.
func BenchmarkDecision(b *testing.B) {
	d, err := digest.OfItem(digest.KindTool, []byte(berthStatus))
	if err != nil {
		b.Fatal(err)
	}
	t := &tool{name: "berth_status", upstream: "berth_status", digest: d}
	g := &Gate{tools: map[string]*tool{t.name: t}}
	v := &view{sights: map[string]sight{"berth_status": {listed: true, digest: d}}}
	b.ReportAllocs()
	for b.Loop() {
		t, ok := g.tools["berth_status"]
		if !ok || t.fault != nil || t.judge(v.sight(t.upstream), v.number) != nil {
			b.Fatal("refused")
		}
	}
}
