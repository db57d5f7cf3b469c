package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func sum(preimage string) string {
	d := sha256.Sum256([]byte(preimage))
	return "sha256:" + hex.EncodeToString(d[:])
}

func TestPreimage(t *testing.T) {
	d, err := OfJSON(KindTools, []byte(` {"b":1.0,"a":[ ]} `), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if want := sum("mcpcat:tools:v1\n" + `{"a":[],"b":1}`); d.String() != want {
		t.Errorf("OfJSON = %s, want %s", d, want)
	}
	if got, want := OfBytes(KindLineage, []byte("x \n")).String(), sum("mcpcat:lineage:v1\nx \n"); got != want {
		t.Errorf("OfBytes = %s, want %s", got, want)
	}
	d, err = OfItem(KindTool, []byte(`{"name":"n","description":"d"}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := sum("mcpcat:tool:v1\n" + `{"description":"d","name":"n"}`); d.String() != want {
		t.Errorf("OfItem = %s, want %s", d, want)
	}
}

func TestResourceLeavesOut(t *testing.T) {
	base := `{"uri":"file:///tides","name":"tides","annotations":{"audience":["user"],"priority":0.5}}`
	want, err := OfItem(KindResource, []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	if plain := sum("mcpcat:resource:v1\n" + `{"annotations":{"audience":["user"],"priority":0.5},"name":"tides","uri":"file:///tides"}`); want.String() != plain {
		t.Errorf("OfItem(resource) = %s, want %s", want, plain)
	}
	same := []string{
		`{"uri":"file:///tides","name":"tides","size":12,"annotations":{"audience":["user"],"priority":0.5}}`,
		`{"s\u0069ze":{"x":1},"uri":"file:///tides","name":"tides","annotations":{"lastModified":"2026-11-01T00:00:00Z","audience":["user"],"priority":5e-1}}`,
	}
	for _, s := range same {
		if got, err := OfItem(KindResource, []byte(s)); err != nil || got != want {
			t.Errorf("OfItem(resource, %s) = %v, %v, want %s", s, got, err, want)
		}
	}
	different := []string{
		`{"uri":"file:///tides","name":"tides","annotations":{"audience":["user"],"priority":0.5,"size":1}}`,
		`{"uri":"file:///tides","name":"tides","lastModified":"x","annotations":{"audience":["user"],"priority":0.5}}`,
		`{"uri":"file:///tides","name":"tides","Size":12,"annotations":{"audience":["user"],"priority":0.5}}`,
		`{"uri":"file:///tides","name":"tides","annotations":{"audience":["user"],"priority":0.6}}`,
		`{"uri":"file:///tides","name":"tides"}`,
		`{"uri":"file:///tides","name":"tides","annotations":{"audience":["user"],"priority":0.5},"_meta":{"size":1}}`,
	}
	for _, s := range different {
		if got, err := OfItem(KindResource, []byte(s)); err != nil || got == want {
			t.Errorf("OfItem(resource, %s) = %v, %v, want another digest than %s", s, got, err, want)
		}
	}
	// Annotations of another type are not looked into, and an emptied object stays an object.
	odd, err := OfItem(KindResource, []byte(`{"annotations":["lastModified"],"size":null}`))
	if want := sum("mcpcat:resource:v1\n" + `{"annotations":["lastModified"]}`); err != nil || odd.String() != want {
		t.Errorf("OfItem = %v, %v, want %s", odd, err, want)
	}
	empty, err := OfItem(KindResource, []byte(`{"annotations":{"lastModified":1}}`))
	if want := sum("mcpcat:resource:v1\n" + `{"annotations":{}}`); err != nil || empty.String() != want {
		t.Errorf("OfItem = %v, %v, want %s", empty, err, want)
	}
	// Other kinds leave nothing out.
	for _, kind := range []Kind{KindTool, KindPrompt, KindResourceTemplate} {
		a, errA := OfItem(kind, []byte(`{"size":1,"annotations":{"lastModified":1}}`))
		b, errB := OfItem(kind, []byte(`{"size":2,"annotations":{"lastModified":1}}`))
		c, errC := OfItem(kind, []byte(`{"size":1,"annotations":{"lastModified":2}}`))
		if err := errors.Join(errA, errB, errC); err != nil || a == b || a == c {
			t.Errorf("OfItem(%s) left something out (%v)", kind, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, src := range []string{`{"a":1,"a":1}`, `{"a":1} ` + "\ufeff", `[1e10001]`, `"\ud800"`, ``} {
		var fault *strictjson.Error
		if d, err := OfJSON(KindTools, []byte(src), strictjson.Limits{}); !errors.As(err, &fault) || !d.IsZero() {
			t.Errorf("OfJSON(%q) = %v, %v, want the zero digest and a *strictjson.Error", src, d, err)
		}
	}
	for _, kind := range []Kind{KindTool, KindResource} {
		for _, src := range []string{`[]`, `null`, `"x"`, `{"size":1,"size":1}`, `{"annotations":{"lastModified":1,"lastModified":1}}`, `{} {}`} {
			if d, err := OfItem(kind, []byte(src)); err == nil || !d.IsZero() {
				t.Errorf("OfItem(%s, %s) = %v, %v, want an error", kind, src, d, err)
			}
		}
	}
	if _, err := OfJSON(KindTools, []byte(`[[1]]`), strictjson.Limits{Depth: 1}); !errors.Is(err, strictjson.ErrLimit) {
		t.Errorf("OfJSON beyond the depth = %v, want a limit", err)
	}
}

func TestText(t *testing.T) {
	d := OfBytes(KindConfig, []byte("x"))
	if d.String() != "sha256:"+d.Hex() || len(d.Hex()) != 64 || d.Short() != d.Hex()[:12] || strings.ToLower(d.Hex()) != d.Hex() {
		t.Errorf("String %s, Hex %s, Short %s do not fit together", d, d.Hex(), d.Short())
	}
	if got, err := Parse(d.String()); err != nil || got != d {
		t.Errorf("Parse(String) = %v, %v, want %s", got, err, d)
	}
	var doc struct{ D Digest }
	b, err := json.Marshal(struct{ D Digest }{d})
	if err != nil || json.Unmarshal(b, &doc) != nil || doc.D != d {
		t.Errorf("through JSON: %s, %v", b, err)
	}
	if (Digest{}).IsZero() != true || d.IsZero() || !d.Equal(d) || d.Equal(Digest{}) {
		t.Error("IsZero or Equal is wrong")
	}
	hex := d.Hex()
	for _, s := range []string{
		"", hex, "sha256:", "sha256:" + hex[1:], "sha256:" + hex + "0", "SHA256:" + hex, "sha256:" + strings.ToUpper("ab"+hex[2:]),
		"sha512:" + hex, " sha256:" + hex, "sha256:" + hex[1:] + "g", "sha256:" + hex[2:] + "é",
	} {
		if got, err := Parse(s); err == nil || !got.IsZero() {
			t.Errorf("Parse(%q) = %v, %v, want an error", s, got, err)
		}
		keep := d
		if err := keep.UnmarshalText([]byte(s)); err == nil || keep != d {
			t.Errorf("UnmarshalText(%q) = %v, want an error and the digest unchanged", s, err)
		}
	}
}

// TestAllocations holds the steady state: no allocation per digest.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool forget")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pools
	src, large := toolsResult(20), toolsOfSize(4<<20)
	tool := []byte(`{"name":"n","description":"d"}`)
	b := []byte("x")
	for name, f := range map[string]func() error{
		"OfJSON":  func() error { return discard(OfJSON(KindTools, src, strictjson.Limits{})) },
		"4 MiB":   func() error { return discard(OfJSON(KindTools, large, strictjson.Limits{})) },
		"OfItem":  func() error { return discard(OfItem(KindTool, tool)) },
		"OfBytes": func() error { return discard(OfBytes(KindConfig, b), nil) },
	} {
		n := testing.AllocsPerRun(20, func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0.5 {
			t.Errorf("%s: %v allocations a run, want 0", name, n)
		}
	}
}

func TestMemo(t *testing.T) {
	var m Memo
	a, b := toolsResult(2), toolsResult(3)
	for range 2 {
		for _, src := range [][]byte{a, a, b, b, bytes.Clone(b)} {
			want, err := OfJSON(KindTools, src, strictjson.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := m.OfJSON(KindTools, src, strictjson.Limits{}); err != nil || got != want {
				t.Fatalf("Memo.OfJSON = %v, %v, want %s", got, err, want)
			}
		}
	}
	// Another kind or other limits are another question.
	want, _ := OfJSON(KindPrompts, b, strictjson.Limits{})
	if got, err := m.OfJSON(KindPrompts, b, strictjson.Limits{}); err != nil || got != want {
		t.Errorf("Memo.OfJSON of another kind = %v, %v, want %s", got, err, want)
	}
	if _, err := m.OfJSON(KindPrompts, b, strictjson.Limits{Depth: 2}); !errors.Is(err, strictjson.ErrLimit) {
		t.Errorf("Memo.OfJSON under lower limits = %v, want a limit", err)
	}
	// A refused text is not remembered as good, nor does it spoil what was.
	bad := append(bytes.Clone(b), 'x')
	for range 2 {
		if d, err := m.OfJSON(KindPrompts, bad, strictjson.Limits{}); err == nil || !d.IsZero() {
			t.Errorf("Memo.OfJSON of a bad text = %v, %v, want an error", d, err)
		}
	}
	// The caller may reuse its buffer.
	buf := bytes.Clone(a)
	first, err := m.OfJSON(KindTools, buf, strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	buf = bytes.Replace(buf, []byte("Reserve a berth"), []byte("reserve a berth"), 1)
	if second, err := m.OfJSON(KindTools, buf, strictjson.Limits{}); err != nil || second == first {
		t.Errorf("Memo.OfJSON of a changed text = %v, %v, want another digest than before", second, err)
	}
}
