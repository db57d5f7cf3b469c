package mcp

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// ReadResourceParams are the parameters of ReadResourceRound. They are never written to.
type ReadResourceParams struct {
	// URI is sent byte for byte.
	URI string
	// Continue answers a round that asked for input; URI must be that of the round.
	Continue *Continuation
	Meta     RequestMeta
}

// ReadResourceResult is the complete result of resources/read. Contents may be several, with other URIs than the one that
// was asked for, or none. TTL and CacheScope are hints, as in Discovery: nothing is cached.
//
// Spec: 2026-07-28 server/resources#reading-resources.
type ReadResourceResult struct {
	Wire
	Contents   []ResourceContents
	TTL        time.Duration
	TTLMs      int64
	CacheScope CacheScope
	ServerInfo *Implementation
	Meta       jsontext.Value // _meta, an object, or nil
}

// ReadResourceRound reads a resource and returns one round: the complete result, or what the server asks for first.
// Rounds are not answered here: see InputRequired.Answer and ReadResourceParams.Continue. No resource is fetched in
// another way than by asking the server.
//
// Nothing is sent, and the error is a *NotOfferedError, if the server's discovery does not declare resources, or a
// *RequestError if something is wrong with params. Other errors are those of the exchange and of the protocol.
//
// Spec: 2026-07-28 server/resources#reading-resources, basic/patterns/mrtr.
func (c *Client) ReadResourceRound(ctx context.Context, params *ReadResourceParams) (_ *Round[ReadResourceResult], err error) {
	defer c.name(&err)
	if params == nil {
		return nil, &RequestError{Method: methodResourcesRead, Reason: "no parameters"}
	}
	if !offersResources(&c.discovery.Capabilities) {
		return nil, &NotOfferedError{Method: methodResourcesRead, Capability: "resources"}
	}
	uri, err := c.encodeURI(methodResourcesRead, params.URI)
	if err != nil {
		return nil, err
	}
	r, err := c.newRequest(methodResourcesRead, &params.Meta, c.opts.timeouts.Call, func(dst []byte) []byte {
		return params.Continue.append(append(append(dst, `,"uri":`...), uri...))
	})
	if err != nil {
		return nil, err
	}
	r.call, r.cont = callHeaders{name: params.URI, hasName: true}, params.Continue
	return doRound(ctx, c, r, (*ReadResourceResult).decode)
}

// ReadResource is ReadResourceRound for hosts that answer no rounds: if the server asks for something first, the error is
// an *InputRequiredError.
func (c *Client) ReadResource(ctx context.Context, params *ReadResourceParams) (_ *ReadResourceResult, err error) {
	defer c.name(&err)
	round, err := c.ReadResourceRound(ctx, params)
	if err != nil {
		return nil, err
	}
	return round.Result()
}

// GetPromptParams are the parameters of GetPromptRound. They are never written to.
type GetPromptParams struct {
	Name string
	// Arguments are sent in the order of their names; nil sends none.
	Arguments map[string]string
	// Continue answers a round that asked for input; Name and Arguments must be those of that round.
	Continue *Continuation
	Meta     RequestMeta
}

// GetPromptResult is the complete result of prompts/get. It has no cache hints.
//
// Spec: 2026-07-28 server/prompts#getting-a-prompt.
type GetPromptResult struct {
	Wire
	Messages    []PromptMessage
	Description *string
	ServerInfo  *Implementation
	Meta        jsontext.Value // _meta, an object, or nil
}

// PromptMessage is one message of a prompt. Role is "user" or "assistant".
//
// Spec: 2026-07-28 server/prompts#promptmessage.
type PromptMessage struct {
	Wire
	Role    string
	Content ContentBlock
}

// GetPromptRound gets a prompt and returns one round: the complete result, or what the server asks for first. Rounds are
// not answered here: see InputRequired.Answer and GetPromptParams.Continue.
//
// Nothing is sent, and the error is a *NotOfferedError, if the server's discovery does not declare prompts, or a
// *RequestError if something is wrong with params. Other errors are those of the exchange and of the protocol.
//
// Spec: 2026-07-28 server/prompts#getting-a-prompt, basic/patterns/mrtr.
func (c *Client) GetPromptRound(ctx context.Context, params *GetPromptParams) (_ *Round[GetPromptResult], err error) {
	defer c.name(&err)
	if params == nil {
		return nil, &RequestError{Method: methodPromptsGet, Reason: "no parameters"}
	}
	if !offersPrompts(&c.discovery.Capabilities) {
		return nil, &NotOfferedError{Method: methodPromptsGet, Capability: "prompts"}
	}
	name, err := c.encodeName(methodPromptsGet, params.Name)
	if err != nil {
		return nil, err
	}
	arguments, err := encodeStrings(methodPromptsGet, "arguments", params.Arguments)
	if err != nil {
		return nil, err
	}
	r, err := c.newRequest(methodPromptsGet, &params.Meta, c.opts.timeouts.Call, func(dst []byte) []byte {
		dst = append(append(dst, `,"name":`...), name...)
		if arguments != nil {
			dst = append(append(dst, `,"arguments":`...), arguments...)
		}
		return params.Continue.append(dst)
	})
	if err != nil {
		return nil, err
	}
	r.call, r.cont = callHeaders{name: params.Name, hasName: true}, params.Continue
	return doRound(ctx, c, r, (*GetPromptResult).decode)
}

// GetPrompt is GetPromptRound for hosts that answer no rounds: if the server asks for something first, the error is an
// *InputRequiredError.
func (c *Client) GetPrompt(ctx context.Context, params *GetPromptParams) (_ *GetPromptResult, err error) {
	defer c.name(&err)
	round, err := c.GetPromptRound(ctx, params)
	if err != nil {
		return nil, err
	}
	return round.Result()
}

// encodeURI returns the JSON text of the URI of a request.
func (c *Client) encodeURI(method, uri string) (strictjson.Value, error) {
	return encodeKey(method, "uri", uri, c.opts.limits.URIBytes)
}

// encodeName returns the JSON text of the name of a request.
func (c *Client) encodeName(method, name string) (strictjson.Value, error) {
	return encodeKey(method, "name", name, c.opts.limits.NameBytes)
}

func encodeKey(method, what, s string, limit int) (strictjson.Value, error) {
	switch {
	case s == "":
		return nil, &RequestError{Method: method, Reason: what + " is empty"}
	case len(s) > limit:
		return nil, &RequestError{Method: method, Reason: what, Err: &LimitError{What: what, Max: int64(limit), Unit: "bytes"}}
	}
	return encodeString(method, what, s)
}

func encodeString(method, what, s string) (strictjson.Value, error) {
	if len(s) > maxRequestBytes {
		return nil, &RequestError{Method: method, Reason: what + " is larger than 16 MiB"}
	}
	v := strictjson.Value(strictjson.AppendString(nil, s))
	if err := strictjson.Check(v, strictjson.Limits{Bytes: 6*maxRequestBytes + 2}); err != nil {
		return nil, &RequestError{Method: method, Reason: what, Err: err}
	}
	return v, nil
}

// encodeStrings returns the JSON text of a map of strings, nil for nil.
func encodeStrings(method, what string, m map[string]string) (strictjson.Value, error) {
	if m == nil {
		return nil, nil
	}
	b := object(nil)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, err := encodeString(method, what, name); err != nil {
			return nil, err
		}
		v, err := encodeString(method, what, m[name])
		if err != nil {
			return nil, err
		}
		b.raw(name, v)
	}
	return b.end(), nil
}
