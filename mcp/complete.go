package mcp

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// maxCompletions is how many values the specification lets a server return.
const maxCompletions = 100

// CompletionRef says what the argument belongs to: a PromptRef or a ResourceRef.
type CompletionRef interface {
	// target returns the type of the reference, the member that names the target, and the target.
	target() (typ, member, text string)
}

// PromptRef refers to a prompt by its name.
type PromptRef struct{ Name string }

// ResourceRef refers to a resource template by its text, or to a resource by its URI.
type ResourceRef struct{ URI string }

func (r PromptRef) target() (typ, member, text string)   { return "ref/prompt", "name", r.Name }
func (r ResourceRef) target() (typ, member, text string) { return "ref/resource", "uri", r.URI }

// CompletionArgument is the argument that is being completed: its name, and what of its value there is so far, "" for
// nothing.
type CompletionArgument struct{ Name, Value string }

// CompleteParams are the parameters of Complete. They are never written to.
type CompleteParams struct {
	Ref      CompletionRef
	Argument CompletionArgument
	// Context are the arguments that have a value already; nil sends none.
	Context map[string]string
	Meta    RequestMeta
}

// CompleteResult is the result of completion/complete: at most 100 values, in the order of the server. Total and HasMore
// are nil if the server did not say.
//
// Spec: 2026-07-28 server/utilities/completion.
type CompleteResult struct {
	Wire
	Values     []string
	Total      *int64
	HasMore    *bool
	ServerInfo *Implementation
	Meta       jsontext.Value // _meta, an object, or nil
}

// Complete asks for values of an argument of a prompt or of a resource template. The server cannot ask for input first.
//
// Nothing is sent, and the error is a *NotOfferedError, if the server's discovery does not declare completions, or a
// *RequestError if something is wrong with params. Other errors are those of the exchange and of the protocol.
//
// Spec: 2026-07-28 server/utilities/completion.
func (c *Client) Complete(ctx context.Context, params *CompleteParams) (_ *CompleteResult, err error) {
	defer c.name(&err)
	if params == nil {
		return nil, &RequestError{Method: methodComplete, Reason: "no parameters"}
	}
	if c.discovery.Capabilities.Completions == nil {
		return nil, &NotOfferedError{Method: methodComplete, Capability: "completions"}
	}
	members, err := c.encodeCompletion(params)
	if err != nil {
		return nil, err
	}
	r, err := c.newRequest(methodComplete, &params.Meta, c.opts.timeouts.Call, func(dst []byte) []byte { return append(dst, members...) })
	if err != nil {
		return nil, err
	}
	result, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	done, f := decodeCompleteResult(result)
	return done, f.hide(c.opts.redact).err(methodComplete)
}

// encodeCompletion returns the members of params behind _meta, with a comma in front.
func (c *Client) encodeCompletion(params *CompleteParams) ([]byte, error) {
	limit := c.opts.limits.NameBytes
	switch ref := params.Ref.(type) {
	case PromptRef:
	case *PromptRef:
		if ref == nil {
			return nil, &RequestError{Method: methodComplete, Reason: "ref is nil"}
		}
	case ResourceRef:
		limit = c.opts.limits.URIBytes
	case *ResourceRef:
		if ref == nil {
			return nil, &RequestError{Method: methodComplete, Reason: "ref is nil"}
		}
		limit = c.opts.limits.URIBytes
	default:
		return nil, &RequestError{Method: methodComplete, Reason: "ref is nil"}
	}
	typ, member, text := params.Ref.target()
	target, err := encodeKey(methodComplete, member+" of ref", text, limit)
	if err != nil {
		return nil, err
	}
	name, err := encodeString(methodComplete, "name of argument", params.Argument.Name)
	if err != nil {
		return nil, err
	}
	value, err := encodeString(methodComplete, "value of argument", params.Argument.Value)
	if err != nil {
		return nil, err
	}
	known, err := encodeStrings(methodComplete, "context", params.Context)
	if err != nil {
		return nil, err
	}

	dst := append([]byte(nil), `,"ref":`...)
	ref := object(dst)
	ref.text("type", &typ)
	ref.raw(member, target)
	dst = append(ref.end(), `,"argument":`...)
	argument := object(dst)
	argument.raw("name", name)
	argument.raw("value", value)
	dst = argument.end()
	if known != nil {
		dst = append(append(append(dst, `,"context":{"arguments":`...), known...), '}')
	}
	return dst, nil
}

func decodeCompleteResult(result strictjson.Value) (*CompleteResult, *fault) {
	if f := onlyComplete(methodComplete, result); f != nil {
		return nil, f
	}
	r := &CompleteResult{Wire: Wire{result}}
	ok := false
	for key, m := range result.Members() {
		var f *fault
		switch key {
		case "completion":
			ok = true
			f = r.decodeCompletion(m).under(key)
		case "_meta":
			r.Meta = jsontext.Value(m)
			r.ServerInfo, f = decodeResultMeta(m)
		}
		if f != nil {
			return nil, f
		}
	}
	if !ok {
		return nil, missing("completion", "an object")
	}
	return r, nil
}

func (r *CompleteResult) decodeCompletion(v strictjson.Value) *fault {
	if v.Kind() != strictjson.KindObject {
		return faultf("is %s, want an object", kindName(v))
	}
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "values":
			r.Values, f = asStrings(key, m)
			if len(r.Values) > maxCompletions {
				f = faultf("has %d values, want at most %d", len(r.Values), maxCompletions).under(key)
			}
		case "total":
			r.Total, f = asWhole(key, m)
			if f == nil && *r.Total < 0 {
				f = faultf("is negative").under(key)
			}
		case "hasMore":
			var more bool
			more, f = asBool(key, m)
			r.HasMore = &more
		}
		if f != nil {
			return f
		}
	}
	if r.Values == nil {
		return missing("values", "an array")
	}
	return nil
}
