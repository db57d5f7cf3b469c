package view

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// ClientConfig is what an agent program is configured with so that it speaks with mcpcat: one server, under its name.
type ClientConfig struct {
	Servers map[string]ClientServer
	// VSCode says that the list of servers is called as VS Code calls it.
	VSCode bool
}

// ClientServer is one server of an agent program. Either Command or URL is set.
type ClientServer struct {
	Type    string   `json:"type,omitempty"` // stdio or http; "" where the program tells by the other members
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
}

// MarshalJSON gives the form that the program reads.
func (c ClientConfig) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	name := "mcpServers"
	if c.VSCode {
		name = "servers"
	}
	err := e.Encode(map[string]any{name: c.Servers})
	return bytes.TrimSpace(b.Bytes()), err
}

// Text prints the JSON, indented, and nothing else.
func (c ClientConfig) Text(w io.Writer) error {
	compact, err := c.MarshalJSON()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, diag.EscapeJSON(compact), "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err = w.Write(b.Bytes())
	return err
}
