package view

import (
	"encoding/json"
	"fmt"
	"io"
)

// Called is the outcome of call: a result, or with -dry-run only that the call would pass.
type Called struct {
	Address string          `json:"address"`
	Allowed bool            `json:"allowed"`
	Result  json.RawMessage `json:"result,omitempty"` // as the server sent it
	IsError *bool           `json:"is_error,omitempty"`
}

// Text prints that the call would pass. A result itself is printed as it came, not by a view.
func (d Called) Text(w io.Writer) error {
	_, err := fmt.Fprintf(w, "The gate would let this call of %s pass.\n", esc(d.Address))
	return err
}
