package mcp

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Methods that a round may ask the client for.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
)

// doRound sends the request of a method that the server may interrupt, and reads its answer as one round.
func doRound[T any](ctx context.Context, c *Client, r *request, decode func(strictjson.Value) (*T, *fault)) (*Round[T], error) {
	result, err := c.do(ctx, r)
	var extension *ExtensionResultError
	if errors.As(err, &extension) {
		return &Round[T]{Extension: extension.Result}, nil
	}
	if err != nil {
		return nil, err
	}
	round, f := decodeRound(result, r.declared, decode)
	if f != nil {
		return nil, f.err(r.method)
	}
	return round, nil
}

// decodeRound reads the result of a method that the server may interrupt; declared is what the request said that the
// client can do.
func decodeRound[T any](result strictjson.Value, declared ClientCapabilities, decode func(strictjson.Value) (*T, *fault)) (*Round[T], *fault) {
	typ, f := resultType(result)
	if f != nil {
		return nil, f
	}
	round := &Round[T]{}
	switch typ {
	case typeComplete:
		round.Complete, f = decode(result)
	case typeInputRequired:
		round.InputRequired, f = decodeInputRequired(result, declared)
	default:
		f = unknownType(typ)
	}
	if f != nil {
		return nil, f
	}
	return round, nil
}

// decodeInputRequired reads an interim result; declared is what the request said that the client can do.
func decodeInputRequired(result strictjson.Value, declared ClientCapabilities) (*InputRequired, *fault) {
	r := &InputRequired{Wire: Wire{result}}
	for key, m := range result.Members() {
		var f *fault
		switch key {
		case "inputRequests":
			r.Requests, f = decodeInputRequests(m, declared)
			f = f.under(key)
		case "requestState":
			_, f = asString(key, m)
			r.State = jsontext.Value(m)
		case "_meta":
			r.Meta = jsontext.Value(m)
			_, f = decodeResultMeta(m)
		}
		if f != nil {
			return nil, f
		}
	}
	if r.Requests == nil && r.State == nil {
		return nil, faultf("has neither inputRequests nor requestState, want at least one of them")
	}
	return r, nil
}

func decodeInputRequests(v strictjson.Value, declared ClientCapabilities) (map[string]InputRequest, *fault) {
	if v.Kind() != strictjson.KindObject {
		return nil, faultf("is %s, want an object", kindName(v))
	}
	requests := map[string]InputRequest{}
	for key, m := range v.Members() {
		r, f := decodeInputRequest(m)
		if f == nil {
			f = checkDeclared(r, declared)
		}
		if f != nil {
			return nil, f.under(key)
		}
		requests[key] = r
	}
	return requests, nil
}

func decodeInputRequest(v strictjson.Value) (InputRequest, *fault) {
	r := InputRequest{Wire: Wire{v}}
	if v.Kind() != strictjson.KindObject {
		return r, faultf("is %s, want an object", kindName(v))
	}
	method, ok := v.Get("method")
	if !ok {
		return r, missing("method", "a string")
	}
	var f *fault
	if r.Method, f = asString("method", method); f != nil {
		return r, f
	}
	params, ok := v.Get("params")
	if ok {
		r.Params = jsontext.Value(params)
		if f := asObject("params", params); f != nil {
			return r, f
		}
	}
	switch r.Method {
	case methodElicit:
		f = checkElicit(params)
	case methodSample:
		f = checkSample(params)
	case methodRoots:
		if meta, has := params.Get("_meta"); has {
			f = asObject("_meta", meta).under("params")
		}
		return r, f
	default:
		return r, faultf("is %s, which no round may ask for", quote(r.Method)).under("method")
	}
	if !ok {
		return r, missing("params", "an object")
	}
	return r, f.under("params")
}

func checkElicit(params strictjson.Value) *fault {
	mode := "form"
	if v, ok := params.Get("mode"); ok {
		var f *fault
		if mode, f = asString("mode", v); f != nil {
			return f
		}
	}
	if f := needString(params, "message"); f != nil {
		return f
	}
	switch mode {
	case "url":
		return needString(params, "url")
	case "form":
	default:
		return faultf(`is %s, want "form" or "url"`, quote(mode)).under("mode")
	}
	schema, ok := params.Get("requestedSchema")
	if !ok {
		return missing("requestedSchema", "an object")
	}
	f := asObject("requestedSchema", schema)
	if f != nil {
		return f
	}
	if f = checkRootType(schema); f == nil {
		properties, ok := schema.Get("properties")
		if !ok {
			f = missing("properties", "an object")
		} else {
			f = checkFormProperties(properties)
		}
	}
	return f.under("requestedSchema")
}

// formTypes are the types that a field of a form may have.
var formTypes = []string{"string", "number", "integer", "boolean", "array"}

func checkFormProperties(properties strictjson.Value) *fault {
	if f := asObject("properties", properties); f != nil {
		return f
	}
	for name, p := range properties.Members() {
		f := asObject(name, p)
		if f == nil {
			v, ok := p.Get("type")
			if typ, _ := v.Text(); !ok || !slices.Contains(formTypes, typ) {
				f = faultf("has no type that a field of a form may have").under(name)
			}
		}
		if f != nil {
			return f.under("properties")
		}
	}
	return nil
}

func checkSample(params strictjson.Value) *fault {
	messages, ok := params.Get("messages")
	if !ok {
		return missing("messages", "an array")
	}
	if f := asArray("messages", messages); f != nil {
		return f
	}
	i := 0
	for m := range messages.Elements() {
		if f := checkSampleMessage(m); f != nil {
			return f.at(i).under("messages")
		}
		i++
	}
	tokens, ok := params.Get("maxTokens")
	if !ok {
		return missing("maxTokens", "a whole number")
	}
	if _, ok := tokens.Int(); !ok {
		return faultf("is not a whole number").under("maxTokens")
	}
	return nil
}

func checkSampleMessage(m strictjson.Value) *fault {
	if m.Kind() != strictjson.KindObject {
		return faultf("is %s, want an object", kindName(m))
	}
	role, ok := m.Get("role")
	if !ok {
		return missing("role", "a string")
	}
	if s, _ := role.Text(); s != "user" && s != "assistant" {
		return faultf(`is not "user" or "assistant"`).under("role")
	}
	content, ok := m.Get("content")
	if !ok {
		return missing("content", "an object or an array")
	}
	if k := content.Kind(); k != strictjson.KindObject && k != strictjson.KindArray {
		return faultf("is %s, want an object or an array", kindName(content)).under("content")
	}
	return nil
}

func needString(v strictjson.Value, name string) *fault {
	m, ok := v.Get(name)
	if !ok {
		return missing(name, "a string")
	}
	_, f := asString(name, m)
	return f
}

// checkDeclared refuses what the request did not say that the client can do.
func checkDeclared(r InputRequest, c ClientCapabilities) *fault {
	undeclared := func(what string) *fault {
		return faultf("asks for %s, which the request did not declare", what).under("method")
	}
	params := strictjson.Value(r.Params)
	has := func(name string) bool {
		_, ok := params.Get(name)
		return ok
	}
	switch r.Method {
	case methodElicit:
		mode := "form"
		if v, ok := params.Get("mode"); ok {
			mode, _ = v.Text()
		}
		if (mode == "form" && !c.ElicitationForm) || (mode == "url" && !c.ElicitationURL) {
			return undeclared("elicitation by " + mode)
		}
	case methodSample:
		switch {
		case !c.Sampling:
			return undeclared("sampling")
		case !c.SamplingTools && (has("tools") || has("toolChoice")):
			return undeclared("sampling with tools")
		}
	case methodRoots:
		if !c.Roots {
			return undeclared("roots")
		}
	}
	return nil
}

// Answer builds what the next call of the same request carries: the responses, whose keys must be exactly those of
// Requests, and the round's state. A response is the bare result of the request it answers, an object. With no Requests,
// responses must be empty.
//
// The state of another round never gets into it: a round without state sends none.
//
// Spec: 2026-07-28 basic/patterns/mrtr.
func (r *InputRequired) Answer(responses map[string]jsontext.Value) (*Continuation, error) {
	refuse := func(reason string) (*Continuation, error) { return nil, &RequestError{Reason: "answer: " + reason} }
	for key := range r.Requests {
		if _, ok := responses[key]; !ok {
			return refuse("no response to " + quote(key))
		}
	}
	c := &Continuation{state: slices.Clone(r.State)}
	if r.Requests == nil {
		if len(responses) > 0 {
			return refuse("the round asked for no responses")
		}
		return c, nil
	}
	keys := make([]string, 0, len(responses))
	for key, value := range responses {
		if _, ok := r.Requests[key]; !ok {
			return refuse("response to " + quote(key) + ", which was not asked for")
		}
		if err := strictjson.CheckObject(value, strictjson.Limits{Bytes: maxRequestBytes, Depth: defaultSchemaDepth}); err != nil {
			return refuse("response to " + quote(key) + ": " + err.Error())
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	c.responses = append(c.responses, '{')
	for i, key := range keys {
		if i > 0 {
			c.responses = append(c.responses, ',')
		}
		c.responses = strictjson.AppendString(c.responses, key)
		c.responses = append(c.responses, ':')
		c.responses = append(c.responses, responses[key]...)
	}
	c.responses = append(c.responses, '}')
	return c, nil
}
