package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// specSum and specCommit pin the official schema of revision 2026-07-28: the SHA-256 of schema/2026-07-28/schema.json
// and a commit of the specification's repository that has it. testdata/wire/MANIFEST.json and the Makefile say the same.
const (
	specSum    = "ef70b61f99b6d2e5e3b46863822eab08dff6a45bedc7a08914e0e5b133f40203"
	specCommit = "271ecc9accafdd9b83a3c869fa67c22953b2af80"
)

// spec is the official schema, which is not part of the repository.
type spec struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	defs     map[string]struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
}

// specPlaces lists where the schema may be, the first that is there counts.
func specPlaces(env, repo string) []string {
	const name = "mcp-2026-07-28.schema.json"
	places := []string{filepath.Join(repo, "testdata", "spec", name), filepath.Join(repo, "..", "shared", "schema", name)}
	if env != "" {
		places = append([]string{env}, places...)
	}
	return places
}

// findSpec returns the bytes of the first of the places that can be read.
func findSpec(places []string) ([]byte, error) {
	var err error
	for _, place := range places {
		var b []byte
		if b, err = os.ReadFile(place); err == nil {
			return b, nil
		}
	}
	return nil, err
}

// specAbsent says once per run that the schema is not there.
var specAbsent sync.Once

// openSpec finds the schema, or skips the test; with MCPCAT_REQUIRE_SPEC=1 its absence is an error.
func openSpec(t *testing.T) *spec {
	t.Helper()
	s, err := loadSpec()
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		specAbsent.Do(func() {
			t.Log("official schema not found, nothing is held against it: run make schema, or set MCPCAT_SPEC_SCHEMA")
		})
		t.SkipNow()
	}
	return s
}

// loadSpec reads the schema once. It is nil if the schema is not there and nobody requires it.
var loadSpec = sync.OnceValues(func() (*spec, error) {
	repo, err := filepath.Abs("..")
	if err != nil {
		return nil, err
	}
	b, err := findSpec(specPlaces(os.Getenv("MCPCAT_SPEC_SCHEMA"), repo))
	if err != nil {
		if os.Getenv("MCPCAT_REQUIRE_SPEC") != "1" {
			return nil, nil
		}
		return nil, fmt.Errorf("official schema: %w: run make schema, or set MCPCAT_SPEC_SCHEMA", err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != specSum {
		return nil, fmt.Errorf("official schema has SHA-256 %x, want %s", sum, specSum)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	s := &spec{compiler: jsonschema.NewCompiler()}
	if err := s.compiler.AddResource("spec.json", doc); err != nil {
		return nil, err
	}
	var parsed struct {
		Defs json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(b, &parsed); err != nil {
		return nil, err
	}
	return s, json.Unmarshal(parsed.Defs, &s.defs)
})

// holdToSpec holds what the peer received against the schema when the test ends.
func holdToSpec(t testing.TB, p *mcptest.Peer) {
	tt, ok := t.(*testing.T)
	if !ok {
		return
	}
	t.Cleanup(func() {
		s, err := loadSpec()
		if err != nil {
			t.Error(err)
		}
		if s == nil {
			return
		}
		for _, r := range p.Requests() {
			if err := sentMatches(tt, s, r.Raw); err != nil {
				t.Errorf("sent %s, which the schema refuses: %v", r.Raw, err)
			}
		}
	})
}

// has reports whether the schema has a definition of that name.
func (s *spec) has(def string) bool { _, ok := s.defs[def]; return ok }

// validate holds a JSON text against one definition of the schema.
func (s *spec) validate(t *testing.T, def string, b []byte) error {
	t.Helper()
	s.mu.Lock() // the compiler keeps what it has compiled
	defer s.mu.Unlock()
	if !s.has(def) {
		t.Fatalf("the official schema has no definition %q", def)
	}
	schema, err := s.compiler.Compile("spec.json#/$defs/" + def)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// TestSpecIsFound tries the places in their order, with files that are not the schema: no other is read for them.
func TestSpecIsFound(t *testing.T) {
	repo, env := filepath.Join(t.TempDir(), "repo"), filepath.Join(t.TempDir(), "env.json")
	places := specPlaces(env, repo)
	if len(places) != 3 || len(specPlaces("", repo)) != 2 {
		t.Fatalf("places = %q, want three, two of them without the variable", places)
	}
	if _, err := findSpec(places); err == nil {
		t.Error("found where nothing is")
	}
	for i := len(places) - 1; i >= 0; i-- { // the last first, so that every one before it wins over it
		if err := os.MkdirAll(filepath.Dir(places[i]), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(places[i], []byte(places[i]), 0o644); err != nil {
			t.Fatal(err)
		}
		if b, err := findSpec(places); err != nil || string(b) != places[i] {
			t.Errorf("found %q, %v, want %q", b, err, places[i])
		}
	}
}
