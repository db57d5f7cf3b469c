package digest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

var update = flag.Bool("update", false, "rewrite testdata/digest/vectors.json")

var vectorsFile = filepath.Join("..", "..", "testdata", "digest", "vectors.json")

// vector is one published input with its digest. Exactly one of Text, Base64 and Pages is the input; Canonical and Digest,
// or Refused, is the outcome.
type vector struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Text      *string  `json:"text,omitempty"`
	Base64    *string  `json:"base64,omitempty"`
	Pages     []string `json:"pages,omitempty"`
	Canonical *string  `json:"canonical"`
	Digest    *string  `json:"digest"`
	Refused   string   `json:"refused,omitempty"`
}

type vectors struct {
	About   []string `json:"about"`
	Vectors []vector `json:"vectors"`
}

// itemKinds are the kinds whose texts are one item: they must be objects, and of a resource some members are left out.
var itemKinds = map[digest.Kind]bool{
	digest.KindTool: true, digest.KindPrompt: true, digest.KindResource: true, digest.KindResourceTemplate: true,
}

// TestVectors compares the published vectors with the code; -update writes what the code says, to be reviewed.
func TestVectors(t *testing.T) {
	got := makeVectors(t)
	if len(got.Vectors) < 200 {
		t.Errorf("%d vectors, want at least 200", len(got.Vectors))
	}
	var b bytes.Buffer
	b.WriteString("{\n  \"about\": [\n")
	for i, line := range got.About {
		fmt.Fprintf(&b, "    %q%s\n", line, comma(i, len(got.About)))
	}
	b.WriteString("  ],\n  \"vectors\": [\n")
	for i, v := range got.Vectors {
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "    %s%s\n", bytes.TrimSpace(line.Bytes()), comma(i, len(got.Vectors)))
	}
	b.WriteString("  ]\n}\n")
	if *update {
		if err := os.WriteFile(vectorsFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		gotLines, wantLines := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				t.Fatalf("line %d is\n%s\nwant\n%s", i+1, gotLines[i], wantLines[i])
			}
		}
		t.Fatalf("got %d lines, want %d", len(gotLines), len(wantLines))
	}
}

func comma(i, n int) string {
	if i < n-1 {
		return ","
	}
	return ""
}

func makeVectors(t *testing.T) vectors {
	t.Helper()
	out := vectors{About: []string{
		"Digest: sha256 of the line mcpcat:<kind>:v1, a line feed, and the canonical JSON, in UTF-8.",
		"Input: text, or base64 of bytes that are not UTF-8. Limits: 16 MiB, depth 128, 400 digits, exponent 10000.",
		"The kinds tool, prompt, resource and resource_template take one object; of a resource the members size and",
		"annotations.lastModified are left out. The other kinds take any JSON value.",
		"Refused inputs have a reason (syntax, trailing, bom, utf8, surrogate, control, duplicate, kind, depth, digits,",
		"exponent) and neither canonical form nor digest.",
		"Pages instead of a text: the results of a snapshot, of which docs/digest.md makes the document that is hashed.",
	}}
	names := map[string]bool{}
	for _, in := range slices.Concat(vectorInputs(), snapshotInputs()) {
		if names[in.name] {
			t.Fatalf("two vectors are named %q", in.name)
		}
		names[in.name] = true
		if in.pages != nil {
			out.Vectors = append(out.Vectors, snapshotVector(t, in))
			continue
		}
		v := vector{Name: in.name, Kind: string(in.kind)}
		if utf8.ValidString(in.text) {
			v.Text = &in.text
		} else {
			s := base64.StdEncoding.EncodeToString([]byte(in.text))
			v.Base64 = &s
		}
		var d digest.Digest
		var err error
		if itemKinds[in.kind] {
			d, err = digest.OfItem(in.kind, []byte(in.text))
		} else {
			d, err = digest.OfJSON(in.kind, []byte(in.text), strictjson.Limits{})
		}
		checkPreimage(t, in, d, err)
		var fault *strictjson.Error
		if errors.As(err, &fault) {
			v.Refused = string(fault.Class)
		} else if err != nil {
			t.Fatalf("%s: %v", in.name, err)
		} else {
			canonical := in.canonical
			if canonical == "" {
				form, err := strictjson.AppendCanonical(nil, []byte(in.text), strictjson.Limits{})
				if err != nil {
					t.Fatalf("%s: %v", in.name, err)
				}
				canonical = string(form)
			}
			// The published canonical text must be what was hashed.
			if digest.OfBytes(in.kind, []byte(canonical)) != d {
				t.Fatalf("%s: canonical text %s does not have digest %s", in.name, canonical, d)
			}
			s := d.String()
			v.Canonical, v.Digest = &canonical, &s
		}
		if in.refused != v.Refused {
			t.Fatalf("%s: refused as %q, want %q (%v)", in.name, v.Refused, in.refused, err)
		}
		out.Vectors = append(out.Vectors, v)
	}
	return out
}

// checkPreimage holds that what is shown as hashed is what was hashed.
func checkPreimage(t *testing.T, in input, d digest.Digest, fault error) {
	t.Helper()
	var b []byte
	var err error
	if itemKinds[in.kind] {
		b, err = digest.AppendPreimage(nil, in.kind, []byte(in.text))
	} else {
		b, err = digest.AppendJSONPreimage(nil, in.kind, []byte(in.text), strictjson.Limits{})
	}
	if (err == nil) != (fault == nil) || err != nil && err.Error() != fault.Error() {
		t.Errorf("%s: the preimage's error is %v, the digest's %v", in.name, err, fault)
	}
	if err == nil && sha256.Sum256(b) != d {
		t.Errorf("%s: preimage %q does not have digest %s", in.name, b, d)
	}
}
