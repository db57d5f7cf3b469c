package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// limits bound a plan document: definitions of the usual depth stand some levels down in it.
var limits = strictjson.Limits{Bytes: MaxBytes, Depth: strictjson.DefaultMaxDepth + 16}

// Encode returns the document as canonical JSON (RFC 8785 where that is lossless) on one line, without a line end.
// Characters that a reader cannot see are written as \uXXXX. The digest is over the canonical form without those
// escapes and without plan_digest.
func (p *Plan) Encode() ([]byte, error) {
	src, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("plan document: %w", err)
	}
	out, err := strictjson.AppendCanonical(make([]byte, 0, len(src)), src, limits)
	if err != nil {
		return nil, fmt.Errorf("plan document: %w", err)
	}
	return diag.EscapeJSON(out), nil
}

// Decode reads what Encode wrote; one line end after it is allowed. It refuses unknown members, any other spelling of
// the same document, and a document that is not the one that plan_digest names.
//
// The error is a *FormatError for another version, a *MismatchError if the document was edited, and a *strictjson.Error
// if it is no JSON document.
func Decode(src []byte) (*Plan, error) {
	src = bytes.TrimSuffix(src, []byte("\n"))
	v, err := strictjson.Parse(src, limits)
	if err != nil {
		return nil, err
	}
	if v.Kind() != strictjson.KindObject {
		return nil, &MismatchError{What: "this is no plan", Detail: "want a JSON object"}
	}
	if s := member(v, "kind"); s != Kind {
		return nil, &MismatchError{What: "this is no plan", Detail: fmt.Sprintf("kind is %s, want %q", diag.Quote(s, 32), Kind)}
	}
	if s := member(v, "format_version"); s != FormatVersion {
		return nil, &FormatError{Found: diag.Escape(cutText(s))}
	}
	p := new(Plan)
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		return nil, &MismatchError{What: "the plan was edited", Detail: diag.Escape(cutText(err.Error()))}
	}
	again, err := p.Encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, src) {
		return nil, edited(src, again)
	}
	if e := p.check(); e != nil {
		return nil, e
	}
	d, err := p.digest()
	if err != nil {
		return nil, err
	}
	if d != p.PlanDigest {
		return nil, &MismatchError{
			What: "the plan was edited", Pointer: "/plan_digest",
			Detail: fmt.Sprintf("it says %s, the document gives %s", p.PlanDigest, d),
		}
	}
	return p, nil
}

// edited names the first difference between a document and the one that its content gives.
func edited(got, want []byte) *MismatchError {
	e := &MismatchError{What: "the plan was edited"}
	w, g := members(strictjson.Value(want)), members(strictjson.Value(got))
	keys := union(w, g)
	// The digest follows everything else, so it differs whenever anything does: it comes last.
	slices.SortStableFunc(keys, func(a, b string) int { return last(a) - last(b) })
	for _, key := range keys {
		if e.Pointer = firstDifference("/"+escapePointer(diag.Escape(cutText(key))), w[key], g[key]); e.Pointer != "" {
			break
		}
	}
	if e.Pointer == "" {
		e.Detail = "white space, order or spelling of its JSON is not as mcpcat writes it"
	}
	return e
}

func last(member string) int {
	if member == "plan_digest" {
		return 1
	}
	return 0
}

// firstDifference is the JSON Pointer of the first place where two values differ, going by the order of names; empty if
// they are equal.
func firstDifference(at string, want, got strictjson.Value) string {
	if same(want, got) {
		return ""
	}
	if len(at) > maxPointer {
		return at
	}
	if objects(want, got) {
		w, g := members(want), members(got)
		for _, key := range union(w, g) {
			if !same(w[key], g[key]) {
				return firstDifference(at+"/"+escapePointer(diag.Escape(cutText(key))), w[key], g[key])
			}
		}
	}
	if want.Kind() == strictjson.KindArray && got.Kind() == strictjson.KindArray {
		w, g := slices.Collect(want.Elements()), slices.Collect(got.Elements())
		i := 0
		for i < min(len(w), len(g)) && same(w[i], g[i]) {
			i++
		}
		at += "/" + strconv.Itoa(i)
		if i < min(len(w), len(g)) {
			return firstDifference(at, w[i], g[i])
		}
	}
	return at
}

func member(v strictjson.Value, name string) string {
	m, _ := v.Get(name)
	s, _ := m.Text()
	return s
}

// finish chooses the base and takes the digest, when everything else is in place.
func (m *maker) finish() error {
	p := m.plan
	if m.in.Base != nil {
		root := m.in.Base.Root
		p.Base = Base{Lock: m.in.LockName, Lineage: m.in.Base.Lineage, Serial: m.in.Base.Serial, Root: &root}
	} else {
		body, err := p.without("base", "plan_digest")
		if err != nil {
			return err
		}
		d, err := digest.OfJSON(digest.KindLineage, body, limits)
		if err != nil {
			return fmt.Errorf("lineage: %w", err)
		}
		p.Base = Base{Lock: m.in.LockName, Lineage: d.Hex()[:32]}
	}
	d, err := p.digest()
	if err != nil {
		return err
	}
	p.PlanDigest = d
	return nil
}

func (p *Plan) digest() (digest.Digest, error) {
	body, err := p.without("plan_digest")
	if err != nil {
		return digest.Digest{}, err
	}
	d, err := digest.OfJSON(digest.KindPlan, body, limits)
	if err != nil {
		return digest.Digest{}, fmt.Errorf("plan digest: %w", err)
	}
	return d, nil
}

// without is the document without some of its top-level members.
func (p *Plan) without(names ...string) ([]byte, error) {
	src, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("plan document: %w", err)
	}
	drop := setOf(names)
	out := append(make([]byte, 0, len(src)), '{')
	for name, v := range strictjson.Value(src).Members() {
		if drop[name] {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = strictjson.AppendString(out, name)
		out = append(append(out, ':'), v...)
	}
	return append(out, '}'), nil
}
