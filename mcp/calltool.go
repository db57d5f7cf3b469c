package mcp

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcpheader"
	"github.com/mcpcat-dev/mcpcat/internal/schema"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/transport"
)

// callHeaders are the parts of a request that HTTP mirrors in headers.
type callHeaders struct {
	name    string
	hasName bool
	params  []transport.Header
}

// toolUse is what is worked out of a definition when it is first used, and kept with it.
type toolUse struct {
	received Tool // the fields as they were decoded

	headers    sync.Once
	params     []mcpheader.Param
	headersErr error

	input, output schema.Ref
}

// headerParams returns the arguments that the tool mirrors in headers, or why its annotations are not valid.
func (t *Tool) headerParams() ([]mcpheader.Param, error) {
	// The escape shows that an annotation may be spelled in another way.
	if !bytes.Contains(t.InputSchema, []byte("x-mcp-header")) && !bytes.ContainsRune(t.InputSchema, '\\') {
		return nil, nil
	}
	t.use.headers.Do(func() { t.use.params, t.use.headersErr = mcpheader.Scan(strictjson.Value(t.InputSchema)) })
	return t.use.params, t.use.headersErr
}

func (t *Tool) headerFault() error {
	_, err := t.headerParams()
	return err
}

// outputChecker returns the compiled outputSchema, nil if there is none.
func (t *Tool) outputChecker() (*schema.Schema, error) {
	if t.OutputSchema == nil {
		return nil, nil
	}
	return t.use.output.Compile(t.OutputSchema)
}

// CheckArguments holds the arguments of a call against the tool's inputSchema, for those who want to know before they
// call: CallTool itself does not, because the server has the last word. Arguments is one JSON object; nil is checked as
// {}, which is what absent arguments mean. Nothing is sent and nothing is fetched.
//
// The error is a *SchemaError: for arguments that do not conform, with the place and the keyword; or, without a keyword,
// for a schema that cannot be used, such as one with a reference to elsewhere or beyond the limits of
// docs/schema-limits.md. Arguments that are no JSON object and a definition that was changed after it was received are a
// *RequestError.
//
// Spec: 2026-07-28 server/tools#tool, basic#json-schema-usage.
func (t *Tool) CheckArguments(arguments jsontext.Value) error {
	tool, err := t.usable()
	if err != nil {
		return &RequestError{Reason: "tool definition", Err: err}
	}
	if arguments == nil {
		arguments = jsontext.Value("{}")
	}
	if err := strictjson.CheckObject(arguments, strictjson.Limits{Bytes: maxRequestBytes}); err != nil {
		return &RequestError{Reason: "arguments", Err: err}
	}
	input, err := t.use.input.Compile(tool.InputSchema)
	if err != nil {
		return &SchemaError{Tool: tool.Name, Side: SideArguments, Reason: "inputSchema cannot be used: " + err.Error(), Err: err}
	}
	err = input.Validate(arguments)
	var invalid *schema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return &SchemaError{Tool: tool.Name, Side: SideArguments, Path: invalid.InstancePointer, Keyword: invalid.Keyword, Reason: "do not conform to the inputSchema", Err: err}
	}
	return &SchemaError{Tool: tool.Name, Side: SideArguments, Reason: "could not be checked: " + err.Error(), Err: err}
}

// CallTool calls a tool by its definition and returns one round: the complete result, or what the server asks for first.
// The definition decides over the name, over HTTP the Mcp-Param headers, and the check of structuredContent against
// outputSchema; what the server lists now is not looked at.
//
// A result with IsError is a result, not an error; it is not checked against outputSchema. Rounds are not answered here:
// see InputRequired.Answer and CallToolParams.Continue.
//
// What is wrong with params is a *RequestError, or a *SchemaError for an outputSchema that cannot be used, and nothing is
// sent. A result that does not conform to outputSchema is a *SchemaError. Other errors are those of the exchange and of
// the protocol; Delivered tells for all of them whether the call may have had effect. Params are never written to.
//
// Spec: 2026-07-28 server/tools#calling-tools, basic/patterns/mrtr, basic/transports/streamable-http.
func (c *Client) CallTool(ctx context.Context, params *CallToolParams) (_ *Round[CallToolResult], err error) {
	defer c.name(&err)
	r, output, err := c.newCall(params)
	if err != nil {
		return nil, err
	}
	round, err := doRound(ctx, c, r, (*CallToolResult).decode)
	if err != nil {
		return nil, err
	}
	if done := round.Complete; done != nil && output != nil && !done.IsError {
		if err := c.checkOutput(params.Tool.Name, output, done); err != nil {
			return nil, err
		}
	}
	return round, nil
}

// newCall checks the parameters and builds the request, with the checker of its result.
func (c *Client) newCall(params *CallToolParams) (*request, *schema.Schema, error) {
	refuse := func(reason string, err error) (*request, *schema.Schema, error) {
		return nil, nil, &RequestError{Method: methodToolsCall, Reason: reason, Err: err}
	}
	if params == nil || params.Tool == nil {
		return refuse("no tool definition", nil)
	}
	tool, err := params.Tool.usable()
	if err != nil {
		return refuse("tool definition", err)
	}
	var arguments strictjson.Value
	if params.Arguments != nil {
		lim := strictjson.Limits{Bytes: maxRequestBytes, Depth: defaultJSONDepth - 3}
		if err := strictjson.CheckObject(params.Arguments, lim); err != nil {
			return refuse("arguments", err)
		}
		arguments = strictjson.Value(bytes.TrimSpace(params.Arguments))
	}
	output, err := tool.outputChecker()
	if err != nil {
		return nil, nil, &SchemaError{Tool: tool.Name, Side: SideStructuredContent, Reason: "outputSchema cannot be used: " + err.Error(), Err: err}
	}
	headers := callHeaders{name: tool.Name, hasName: true}
	if c.kind.headers {
		scanned, err := tool.headerParams()
		if err != nil {
			return refuse("tool "+quote(tool.Name)+" cannot be called over HTTP", err)
		}
		values, err := mcpheader.Values(scanned, arguments)
		if err != nil {
			return refuse("arguments of tool "+quote(tool.Name), err)
		}
		for _, h := range values {
			headers.params = append(headers.params, transport.Header(h))
		}
	}
	r, err := c.newRequest(methodToolsCall, &params.Meta, c.opts.timeouts.Call, func(dst []byte) []byte {
		dst = strictjson.AppendString(append(dst, `,"name":`...), tool.Name)
		if arguments != nil {
			dst = append(append(dst, `,"arguments":`...), arguments...)
		}
		return params.Continue.append(dst)
	})
	if err != nil {
		return nil, nil, err
	}
	r.call, r.cont = headers, params.Continue
	return r, output, nil
}

// checkOutput holds structuredContent against the outputSchema.
func (c *Client) checkOutput(tool string, output *schema.Schema, r *CallToolResult) error {
	if r.StructuredContent == nil {
		return &SchemaError{Tool: tool, Side: SideStructuredContent, Reason: "structuredContent is missing, and the tool has an outputSchema", Delivered: true}
	}
	tool = c.redacted([]string{tool})[0]
	err := output.Validate(r.StructuredContent)
	var invalid *schema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		if c.opts.redact != nil {
			clean := *invalid
			clean.InstancePointer = c.redactedPointer(clean.InstancePointer)
			invalid, err = &clean, &clean
		}
		return &SchemaError{
			Tool: tool, Side: SideStructuredContent, Path: invalid.InstancePointer, Keyword: invalid.Keyword,
			Reason: "does not conform to the outputSchema", Delivered: true, Err: err,
		}
	}
	return &SchemaError{Tool: tool, Side: SideStructuredContent, Reason: "structuredContent could not be checked: " + c.redacted([]string{err.Error()})[0], Delivered: true, Err: err}
}
