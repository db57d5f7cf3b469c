package mcp

import (
	"context"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Executable is a tool that a program can hand to a model and then execute: a *ToolProxy, or a program's own.
//
// Manifest returns the same each time. Execute is safe for concurrent use; it returns a *ToolError, and no result, if the
// tool was run and failed.
type Executable interface {
	Manifest() ToolManifest
	Execute(ctx context.Context, arguments jsontext.Value) (*CallToolResult, error)
}

// ToolManifest is what a model is told of a tool. Parameters is the schema of its arguments, an object whose type is
// "object"; OutputSchema that of structuredContent, or nil. The bytes are those of the definition.
//
// Annotations are hints from an unverified party, nil if there are none. They authorise nothing.
type ToolManifest struct {
	Name         string
	Title        *string
	Description  *string
	Parameters   jsontext.Value
	OutputSchema jsontext.Value
	Annotations  *ToolAnnotations
}

// ToolProxy is a tool of a server, to be executed there: the definition that was listed, with the client that listed it.
// What the server lists later does not change it.
type ToolProxy struct {
	*Tool
	client *Client
}

// Proxy returns an executable proxy of a tool with this definition, for example a pinned one.
func (c *Client) Proxy(t *Tool) *ToolProxy { return &ToolProxy{Tool: t, client: c} }

// GetTools yields an executable proxy of each tool that Tools yields, and ends as Tools does.
func (c *Client) GetTools(ctx context.Context) iter.Seq2[*ToolProxy, error] {
	return func(yield func(*ToolProxy, error) bool) {
		for t, err := range c.Tools(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(c.Proxy(t), nil) {
				return
			}
		}
	}
}

// Manifest returns what a model is told of the tool: inputSchema as Parameters, outputSchema as OutputSchema.
func (p *ToolProxy) Manifest() ToolManifest {
	if p == nil || p.Tool == nil {
		return ToolManifest{}
	}
	return ToolManifest{
		Name: p.Name, Title: p.Title, Description: p.Description,
		Parameters: p.InputSchema, OutputSchema: p.OutputSchema, Annotations: p.Annotations,
	}
}

// Execute calls the tool once, as Client.CallTool does, and returns its complete result. A result with isError is a
// *ToolError: the tool was run at the server and failed. A round that is not complete is an *InputRequiredError or an
// *ExtensionResultError. All other errors are those of CallTool, so what failed can be told apart: *RPCError for an
// answer that is an error, *SchemaError for a result that does not conform, *TransportError below the protocol.
func (p *ToolProxy) Execute(ctx context.Context, arguments jsontext.Value) (_ *CallToolResult, err error) {
	if p == nil || p.client == nil {
		return nil, &RequestError{Method: methodToolsCall, Reason: "proxy is of no client"}
	}
	defer p.client.name(&err)
	round, err := p.client.CallTool(ctx, &CallToolParams{Tool: p.Tool, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	result, err := round.Result()
	if err != nil {
		return nil, err
	}
	if err := result.Err(); err != nil {
		return nil, err
	}
	return result, nil
}

// RegistryBuilder collects tools into a Registry. Its zero value is ready to use; it is not safe for concurrent use.
type RegistryBuilder struct{ tools []Executable }

// NewRegistryBuilder returns an empty builder.
func NewRegistryBuilder() *RegistryBuilder { return &RegistryBuilder{} }

// Add adds a tool. What is wrong with it, Build says.
func (b *RegistryBuilder) Add(t Executable) { b.tools = append(b.tools, t) }

// Build returns the registry of all that was added. The error is a *RequestError if a tool is nil or its manifest could not
// be that of a tool, or if a name was added twice, also when the tools are equal or of different servers.
func (b *RegistryBuilder) Build() (*Registry, error) {
	r := &Registry{byName: make(map[string]Executable, len(b.tools))}
	for _, t := range b.tools {
		if t == nil {
			return nil, &RequestError{Reason: "registry: tool is nil"}
		}
		m := t.Manifest()
		if err := m.check(t); err != nil {
			return nil, &RequestError{Reason: "registry", Err: err}
		}
		if r.byName[m.Name] != nil {
			return nil, &RequestError{Reason: "registry: tool " + quote(m.Name) + " is added twice"}
		}
		r.byName[m.Name] = t
	}
	r.tools = slices.Clone(b.tools)
	return r, nil
}

// check refuses the manifest of t if it is not one of a tool.
func (m *ToolManifest) check(t Executable) error {
	if p, ok := t.(*ToolProxy); ok && p != nil && p.Tool != nil {
		_, err := p.usable()
		return err
	}
	for name, schema := range map[string]jsontext.Value{"parameters": m.Parameters, "output schema": m.OutputSchema} {
		if err := strictjson.CheckObject(schema, strictjson.Limits{Bytes: defaultSchemaBytes}); err != nil && schema != nil {
			return &RequestError{Reason: name + " of tool " + quote(m.Name), Err: err}
		}
	}
	_, err := ParseTool((&Tool{
		Name: m.Name, Title: m.Title, Description: m.Description, InputSchema: m.Parameters, OutputSchema: m.OutputSchema,
	}).append(nil))
	return err
}

// Registry holds tools under unique names, in the order in which they were added. It does not change.
type Registry struct {
	tools  []Executable
	byName map[string]Executable
}

// Tools returns the tools in their order.
func (r *Registry) Tools() []Executable { return slices.Clone(r.tools) }

// Tool returns the tool of that exact name, or nil.
func (r *Registry) Tool(name string) Executable { return r.byName[name] }
