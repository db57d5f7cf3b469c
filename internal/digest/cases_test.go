package digest_test

import (
	"errors"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/casetest"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// TestCases takes the digests of results as a snapshot of tools does for one page.
func TestCases(t *testing.T) {
	digestOf := func(t *testing.T, name, file string) digest.Digest {
		t.Helper()
		d, err := digest.OfJSON(digest.KindTools, casetest.Read(t, name, file), strictjson.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(d.Hex()) != 64 || d.IsZero() {
			t.Fatalf("%s: digest %q", file, d.Hex())
		}
		return d
	}
	for _, name := range []string{
		"digest/astral-and-bmp-keys",
		"digest/key-order",
		"digest/white-space",
	} {
		t.Run(name, func(t *testing.T) {
			if a, b := digestOf(t, name, "a.json"), digestOf(t, name, "b.json"); a != b {
				t.Errorf("digests %s and %s, want one", a, b)
			}
		})
	}
	for _, name := range []string{
		"digest/annotation-value",
		"digest/array-order-in-schema",
		"digest/cache-scope",
		"digest/server-info-in-meta",
		"digest/ttl",
		"digest/unicode-normalisation",
		"digest/unknown-member",
	} {
		t.Run(name, func(t *testing.T) {
			if a, b := digestOf(t, name, "a.json"), digestOf(t, name, "b.json"); a == b {
				t.Errorf("both have digest %s, want two", a)
			}
		})
	}

	t.Run("numbers", func(t *testing.T) {
		const name = "digest/number-spelling"
		one, zero := digestOf(t, name, "a.json"), digestOf(t, name, "y.json")
		for _, file := range []string{"b.json", "c.json", "d.json", "e.json"} {
			if d := digestOf(t, name, file); d != one {
				t.Errorf("%s: digest %s, want that of a.json, %s", file, d, one)
			}
		}
		if d := digestOf(t, name, "z.json"); d != zero {
			t.Errorf("z.json: digest %s, want that of y.json, %s", d, zero)
		}
		if one == zero {
			t.Errorf("one and zero have the same digest %s", one)
		}
	})

	t.Run("duplicates", func(t *testing.T) {
		for _, file := range []string{"a.json", "b.json"} {
			d, err := digest.OfJSON(digest.KindTools, casetest.Read(t, "digest/duplicate-member", file), strictjson.Limits{})
			var fault *strictjson.Error
			if !errors.As(err, &fault) || fault.Class != strictjson.ClassDuplicate || fault.Pointer != "/tools/0" || !d.IsZero() {
				t.Errorf("%s: %v, %v, want a duplicate at /tools/0", file, d, err)
			}
		}
	})
}
