package mcp

import "slices"

// RegistryBuilder collects tool definitions into a Registry. Its zero value is ready to use; it is not safe for
// concurrent use.
type RegistryBuilder struct{ tools []*Tool }

// NewRegistryBuilder returns an empty builder.
func NewRegistryBuilder() *RegistryBuilder { return &RegistryBuilder{} }

// Add adds a definition. What is wrong with it, Build says.
func (b *RegistryBuilder) Add(t *Tool) { b.tools = append(b.tools, t) }

// Build returns the registry of all that was added. The error is a *RequestError if a definition is nil or unusable, or a
// name was added twice, also when the definitions are equal.
func (b *RegistryBuilder) Build() (*Registry, error) {
	r := &Registry{byName: make(map[string]*Tool, len(b.tools))}
	for _, t := range b.tools {
		if t == nil {
			return nil, &RequestError{Reason: "registry: tool is nil"}
		}
		if _, err := t.usable(); err != nil {
			return nil, &RequestError{Reason: "registry", Err: err}
		}
		if r.byName[t.Name] != nil {
			return nil, &RequestError{Reason: "registry: tool " + quote(t.Name) + " is added twice"}
		}
		r.byName[t.Name] = t
	}
	r.tools = slices.Clone(b.tools)
	return r, nil
}

// Registry holds definitions under unique names, in the order in which they were added. It does not change.
type Registry struct {
	tools  []*Tool
	byName map[string]*Tool
}

// Tools returns the definitions in their order.
func (r *Registry) Tools() []*Tool { return slices.Clone(r.tools) }

// Tool returns the definition of that exact name, or nil.
func (r *Registry) Tool(name string) *Tool { return r.byName[name] }
