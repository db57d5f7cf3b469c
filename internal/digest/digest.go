// Package digest takes the digests by which mcpcat recognises a definition: SHA-256 over one line that names the kind,
// and the canonical JSON of the definition.
//
//	mcpcat:tool:v1
//	{"description":"...","inputSchema":{...},"name":"tide_table"}
//
// The kind keeps equal texts of different meaning apart, the version makes room for another preimage. What is canonical
// is defined by internal/strictjson; testdata/digest/vectors.json publishes inputs with their digests, and
// conformance/digest reproduces them without Go.
//
// A digest of an item covers the exact object that a server sent, members that nobody knows included. It is not a
// judgement about which changes matter: that is for those who compare.
//
// The package stands directly on strictjson and is used by mcp, surface, lock, plan and gate.
package digest

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Kind names what a digest is of. It is part of the preimage: lower-case ASCII letters and underscores.
type Kind string

// Kinds of items, each the object of a list.
const (
	KindTool             Kind = "tool"
	KindPrompt           Kind = "prompt"
	KindResource         Kind = "resource"
	KindResourceTemplate Kind = "resource_template"
)

// Kinds of snapshots, each a whole result.
const (
	KindDiscovery         Kind = "discovery"
	KindTools             Kind = "tools"
	KindPrompts           Kind = "prompts"
	KindResources         Kind = "resources"
	KindResourceTemplates Kind = "resource_templates"
	KindResourceRead      Kind = "resource_read"
)

// Kinds of mcpcat's own documents.
const (
	KindEndpoint Kind = "endpoint"
	KindAgent    Kind = "agent"
	KindConfig   Kind = "config"
	KindPlan     Kind = "plan"
	KindLineage  Kind = "lineage"
	KindLock     Kind = "lock"
)

// Digest is a SHA-256 digest. The zero Digest stands for none.
type Digest [sha256.Size]byte

const prefix = "sha256:"

// String returns "sha256:" and 64 lower-case hexadecimal digits.
func (d Digest) String() string { return prefix + d.Hex() }

// Hex returns 64 lower-case hexadecimal digits.
func (d Digest) Hex() string { return hex.EncodeToString(d[:]) }

// Short returns the first 12 hexadecimal digits: for reading, never for comparing.
func (d Digest) Short() string { return hex.EncodeToString(d[:6]) }

// IsZero reports whether d is the zero Digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// Equal compares in constant time, for digests that stand for a secret.
func (d Digest) Equal(e Digest) bool { return subtle.ConstantTimeCompare(d[:], e[:]) == 1 }

// MarshalText returns String.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is Parse.
func (d *Digest) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Parse reads what String returns, and nothing else: upper-case digits, other lengths and other algorithms are refused.
func Parse(s string) (Digest, error) {
	var d Digest
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return d, fmt.Errorf("digest: got no %q in front, want it and 64 hexadecimal digits", prefix)
	}
	if len(digits) != 2*len(d) {
		return d, fmt.Errorf("digest: got %d characters after %q, want 64 hexadecimal digits", len(digits), prefix)
	}
	if strings.Trim(digits, "0123456789abcdef") != "" {
		return d, fmt.Errorf("digest: got other characters than 0-9 and a-f after %q", prefix)
	}
	if _, err := hex.Decode(d[:], []byte(digits)); err != nil {
		return Digest{}, fmt.Errorf("digest: %w", err)
	}
	return d, nil
}

// scratch holds preimages between calls.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

const maxScratch = 32 << 20

func withScratch(kind Kind, fill func([]byte) ([]byte, error)) (Digest, error) {
	buf := scratch.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= maxScratch {
			scratch.Put(buf)
		}
	}()
	b, err := fill(appendLine((*buf)[:0], kind))
	if err != nil {
		return Digest{}, err
	}
	*buf = b[:0]
	return sha256.Sum256(b), nil
}

func appendLine(dst []byte, kind Kind) []byte {
	dst = append(dst, "mcpcat:"...)
	dst = append(dst, kind...)
	return append(dst, ":v1\n"...)
}

// OfJSON returns the SHA-256 of the line "mcpcat:<kind>:v1\n" followed by the canonical form of the JSON text src. The
// error is a *strictjson.Error if src is not acceptable under lim.
func OfJSON(kind Kind, src []byte, lim strictjson.Limits) (Digest, error) {
	return withScratch(kind, func(b []byte) ([]byte, error) {
		return strictjson.AppendCanonical(b, src, lim)
	})
}

// OfBytes returns the SHA-256 of the line "mcpcat:<kind>:v1\n" followed by b as it is.
func OfBytes(kind Kind, b []byte) Digest {
	h := sha256.New()
	var line [64]byte
	h.Write(appendLine(line[:0], kind))
	h.Write(b)
	var d Digest
	h.Sum(d[:0])
	return d
}

// OfItem returns the digest by which a tool, prompt, resource or resource template is pinned: OfJSON of its definition,
// which must be an object within the default limits. For a resource the members size and annotations.lastModified are
// left out, because they change with its content; everything else counts, members that nobody knows included.
func OfItem(kind Kind, definition []byte) (Digest, error) {
	definition, err := gated(kind, definition)
	if err != nil {
		return Digest{}, err
	}
	return withScratch(kind, func(b []byte) ([]byte, error) {
		return strictjson.AppendCanonicalObject(b, definition, strictjson.Limits{})
	})
}

// withoutVolatile returns the definition of a resource without the members that OfItem leaves out.
func withoutVolatile(definition strictjson.Value) strictjson.Value {
	return rebuild(definition, func(name string, v strictjson.Value) strictjson.Value {
		switch name {
		case "size":
			return nil
		case "annotations":
			return rebuild(v, func(name string, v strictjson.Value) strictjson.Value {
				if name == "lastModified" {
					return nil
				}
				return v
			})
		}
		return v
	})
}

// rebuild returns an object of what member returns for each member, without those for which it returns nil. Another
// value is returned as it is.
func rebuild(v strictjson.Value, member func(string, strictjson.Value) strictjson.Value) strictjson.Value {
	if v.Kind() != strictjson.KindObject {
		return v
	}
	out := []byte{'{'}
	for name, m := range v.Members() {
		if m = member(name, m); m == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(strictjson.AppendString(out, name), ':'), m...)
	}
	return append(out, '}')
}
