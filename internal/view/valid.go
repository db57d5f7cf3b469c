package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// Valid is the result of validate: how much a catalog declares, and what it needs at run time.
type Valid struct {
	Files   []string `json:"files"`
	Servers int      `json:"servers"` // blocks, those of a for_each counted once
	// Instances counts the servers themselves.
	Instances int `json:"instances"`
	// Items are those written out, on all instances; patterns are counted for themselves.
	Tools             int `json:"tools"`
	Patterns          int `json:"patterns"`
	Prompts           int `json:"prompts"`
	Resources         int `json:"resources"`
	ResourceTemplates int `json:"resource_templates"`
	Toolsets          int `json:"toolsets"`
	Agents            int `json:"agents"`
	Policies          int `json:"policies"`
	// Needs are the secrets that are not there.
	Needs []catalog.Need `json:"needs"`
}

// NewValid counts what a catalog declares.
func NewValid(c *catalog.Catalog) Valid {
	d := Valid{
		Files: c.Files, Instances: len(c.Servers), Toolsets: len(c.Toolsets), Agents: len(c.Agents), Policies: len(c.Policies),
		Needs: append([]catalog.Need{}, c.Needs()...),
	}
	labels := map[string]bool{}
	for _, s := range c.Servers {
		labels[s.Addr.Label] = true
		d.Tools += len(s.Tools)
		d.Patterns += len(s.Patterns)
		d.Prompts += len(s.Prompts)
		d.Resources += len(s.Resources)
		d.ResourceTemplates += len(s.ResourceTemplates)
	}
	d.Servers = len(labels)
	return d
}

// Text prints one line of what there is, and one of what is needed if something is.
func (d Valid) Text(w io.Writer) error {
	servers := plural(d.Servers, "server")
	if d.Instances != d.Servers {
		servers += " (" + plural(d.Instances, "instance") + ")"
	}
	parts := []string{servers, plural(d.Tools, "tool")}
	for _, x := range []struct {
		n    int
		what string
	}{
		{d.Patterns, "pattern"}, {d.Prompts, "prompt"}, {d.Resources, "resource"}, {d.ResourceTemplates, "resource template"}, {d.Toolsets, "toolset"},
	} {
		if x.n > 0 {
			parts = append(parts, plural(x.n, x.what))
		}
	}
	parts = append(parts, plural(d.Agents, "agent"))
	switch d.Policies {
	case 0:
	case 1:
		parts = append(parts, "1 policy")
	default:
		parts = append(parts, fmt.Sprintf("%d policies", d.Policies))
	}
	text := fmt.Sprintf("The catalog is valid: %s in %s.\n", strings.Join(parts, ", "), plural(len(d.Files), "file"))
	if len(d.Needs) > 0 {
		var needs []string
		for _, n := range d.Needs {
			need := esc(n.Ref)
			if n.Environment != "" && !strings.Contains(n.Ref, addr.Quote(n.Environment)) {
				need += " (" + esc(n.Environment) + ")"
			}
			needs = append(needs, need)
		}
		text += "Needs at run time: " + strings.Join(needs, ", ") + ".\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
