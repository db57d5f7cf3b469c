package view

import (
	"encoding/json"
	"io"
)

// Schemas is the result of schema: kinds of documents, with the schema where one was asked for.
type Schemas struct {
	Schemas []Schema `json:"schemas"`
}

// Schema is the JSON Schema of one kind of document.
type Schema struct {
	Kind   string          `json:"kind"`
	Title  string          `json:"title"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Text prints one kind a line.
func (d Schemas) Text(w io.Writer) error {
	p := &printer{}
	widest := 0
	for _, s := range d.Schemas {
		widest = max(widest, width(s.Kind))
	}
	for _, s := range d.Schemas {
		p.flow(pad(esc(s.Kind), widest+2), 0, "", span{text: esc(s.Title)})
	}
	return p.writeTo(w)
}
