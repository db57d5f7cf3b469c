package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// EnvelopeVersion is the format_version of every document that Envelope writes.
const EnvelopeVersion = "1.0"

// Envelope writes one JSON document on one line: format_version, kind, the members of doc, diagnostics. doc is a struct
// whose JSON is an object without those three members, or nil. Characters that cannot be seen are written as \uXXXX.
func Envelope(w io.Writer, kind string, diags diag.List, doc any) error {
	head, err := json.Marshal(struct {
		FormatVersion string `json:"format_version"`
		Kind          string `json:"kind"`
	}{EnvelopeVersion, kind})
	if err != nil {
		return fmt.Errorf("%s document: %w", kind, err)
	}
	out := head[:len(head)-1]
	if doc != nil {
		body, err := json.Marshal(doc)
		if err != nil {
			return fmt.Errorf("%s document: %w", kind, err)
		}
		v := strictjson.Value(body)
		if v.Kind() != strictjson.KindObject {
			return errors.New(kind + " document: no object")
		}
		if len(body) > len("{}") {
			out = append(append(out, ','), body[1:len(body)-1]...)
		}
	}
	if diags == nil {
		diags = diag.List{}
	}
	list, err := json.Marshal(diags)
	if err != nil {
		return fmt.Errorf("%s document: %w", kind, err)
	}
	out = append(append(out, `,"diagnostics":`...), list...)
	return writeJSON(w, append(out, '}'))
}

// PlanJSON writes the plan document on one line.
func PlanJSON(w io.Writer, p *plan.Plan) error {
	b, err := p.Encode()
	if err != nil {
		return err
	}
	return writeJSON(w, b)
}

// VerificationJSON writes the document of verify on one line.
func VerificationJSON(w io.Writer, v *plan.Verification) error {
	b, err := v.Encode()
	if err != nil {
		return err
	}
	return writeJSON(w, b)
}

func writeJSON(w io.Writer, b []byte) error {
	_, err := w.Write(append(diag.EscapeJSON(b), '\n'))
	return err
}
