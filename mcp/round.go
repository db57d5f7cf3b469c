package mcp

import (
	"context"
	"errors"

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
func doRound[T any](ctx context.Context, c *Client, r *request, decode func(*T, strictjson.Value) *fault) (*Round[T], error) {
	defer c.release(r)
	if err := r.cont.fits(r); err != nil {
		return nil, err
	}
	result, err := c.do(ctx, r)
	if err != nil {
		var extension *ExtensionResultError
		if errors.As(err, &extension) {
			return &Round[T]{Extension: extension.Result}, nil
		}
		return nil, err
	}
	round, f := decodeRound(result, r.declared, decode)
	if f != nil {
		return nil, f.hide(c.opts.redact).err(r.method)
	}
	if round.InputRequired != nil {
		round.InputRequired.origin = r.subject()
	}
	return round, nil
}

// decodeRound reads the result of a method that the server may interrupt; declared is what the request said that the
// client can do.
func decodeRound[T any](result strictjson.Value, declared ClientCapabilities, decode func(*T, strictjson.Value) *fault) (*Round[T], *fault) {
	typ, f := resultType(result)
	if f != nil {
		return nil, f
	}
	switch typ {
	case typeComplete:
		whole := &struct { // one allocation for both
			round  Round[T]
			result T
		}{}
		whole.round.Complete = &whole.result
		if f = decode(&whole.result, result); f == nil {
			return &whole.round, nil
		}
	case typeInputRequired:
		var required *InputRequired
		if required, f = decodeInputRequired(result, declared); f == nil {
			return &Round[T]{InputRequired: required}, nil
		}
	default:
		f = unknownType(typ)
	}
	return nil, f
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
	if params, ok := v.Get("params"); ok {
		r.Params = jsontext.Value(params)
	}
	return r, r.check()
}

// check checks the method and the parameters that belong to it; params are checked JSON text or nil.
func (r *InputRequest) check() *fault {
	params := strictjson.Value(r.Params)
	if r.Params != nil {
		if f := asObject("params", params); f != nil {
			return f
		}
	}
	var f *fault
	switch r.Method {
	case methodElicit:
		f = checkElicit(params)
	case methodSample:
		f = checkSample(params)
	case methodRoots:
		if meta, has := params.Get("_meta"); has {
			f = asObject("_meta", meta).under("params")
		}
		return f
	default:
		return faultf("is %s, which no round may ask for", peer(r.Method)).under("method")
	}
	if r.Params == nil {
		return missing("params", "an object")
	}
	return f.under("params")
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
		f := needString(params, "url")
		if f == nil && !isURI(textOf(params, "url")) {
			f = faultf("is no absolute URI").under("url")
		}
		return f
	case "form":
	default:
		return faultf(`is %s, want "form" or "url"`, peer(mode)).under("mode")
	}
	schema, ok := params.Get("requestedSchema")
	if !ok {
		return missing("requestedSchema", "an object")
	}
	_, f := decodeForm(schema)
	return f.under("requestedSchema")
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
	switch r.Method {
	case methodElicit:
		mode := elicitMode(params)
		if (mode == "form" && !c.ElicitationForm) || (mode == "url" && !c.ElicitationURL) {
			return undeclared("elicitation by " + mode)
		}
	case methodSample:
		switch {
		case !c.Sampling:
			return undeclared("sampling")
		case !c.SamplingTools && samplesTools(params):
			return undeclared("sampling with tools")
		case !c.SamplingContext && wantsContext(params):
			return undeclared("sampling with context of servers")
		}
	case methodRoots:
		if !c.Roots {
			return undeclared("roots")
		}
	}
	return nil
}

// elicitMode returns the mode of checked parameters; form is what it is unless it is said.
func elicitMode(params strictjson.Value) string {
	if v, ok := params.Get("mode"); ok {
		mode, _ := v.Text()
		return mode
	}
	return "form"
}

// wantsContext reports whether checked parameters ask for what servers have said before.
func wantsContext(params strictjson.Value) bool {
	include := textOf(params, "includeContext")
	return include == "thisServer" || include == "allServers"
}
