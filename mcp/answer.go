package mcp

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Answer builds what the next call of the same request carries: the responses, whose keys must be exactly those of
// Requests, and the round's state. With no Requests, responses must be empty. The state of another round never gets into
// it: a round without state sends none. The call that follows has an id of its own.
//
// A response is the bare result of the request it answers, a JSON object without an envelope, and as strictly checked as
// what is received:
//
//   - of elicitation/create, an action "accept", "decline" or "cancel"; with content only if a form was accepted, and then
//     with values that the form allows;
//   - of sampling/createMessage, a role, content and model; the content one block or an array of text, image, audio and
//     tool_use blocks, the last only for tools that the request offers;
//   - of roots/list, roots, whose URIs begin with "file://".
//
// A refused elicitation has an answer ("decline", "cancel"); for refused sampling or roots there is none, and the request
// is not to be sent again. What is wrong with responses, or with a round built by hand, is a *RequestError.
//
// Spec: 2026-07-28 basic/patterns/mrtr, client/elicitation, client/sampling, client/roots.
func (r *InputRequired) Answer(responses map[string]jsontext.Value) (*Continuation, error) {
	refuse := func(reason string) (*Continuation, error) { return nil, &RequestError{Reason: "answer: " + reason} }
	requests, state, f := r.asked()
	if f != nil {
		return refuse("round: " + f.text())
	}
	for key := range requests {
		if _, ok := responses[key]; !ok {
			return refuse("no response to " + quote(key))
		}
	}
	c := &Continuation{state: slices.Clone(state), origin: r.origin}
	if requests == nil {
		if len(responses) > 0 {
			return refuse("the round asked for no responses")
		}
		return c, nil
	}
	keys := make([]string, 0, len(responses))
	for key, value := range responses {
		request, ok := requests[key]
		if !ok {
			return refuse("response to " + quote(key) + ", which was not asked for")
		}
		if err := strictjson.CheckObject(value, answerLimits); err != nil {
			return refuse("response to " + quote(key) + ": " + err.Error())
		}
		if f := request.checkAnswer(trimmed(value)); f != nil {
			return refuse("response to " + quote(key) + ": " + f.text())
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b := object(nil)
	for _, key := range keys {
		b.raw(key, responses[key])
	}
	c.responses = b.end()
	return c, nil
}

// answerLimits bound one response.
var answerLimits = strictjson.Limits{Bytes: maxRequestBytes, Depth: defaultSchemaDepth}

// trimmed returns checked JSON text without the white space around it.
func trimmed(v []byte) strictjson.Value { return strictjson.Value(bytes.Trim(v, " \t\r\n")) }

// text is f as a reason of a refusal.
func (f *fault) text() string {
	switch {
	case f.limit != nil:
		return f.limit.Error()
	case f.path == "":
		return f.reason
	}
	return f.path + ": " + f.reason
}

// asked returns what the round asks for. Of a round that was received it is what was received, whatever was done to the
// fields since; one that was built by hand is checked here.
func (r *InputRequired) asked() (map[string]InputRequest, jsontext.Value, *fault) {
	if r.raw != nil {
		state, _ := r.raw.Get("requestState")
		v, ok := r.raw.Get("inputRequests")
		if !ok {
			return nil, jsontext.Value(state), nil
		}
		requests := map[string]InputRequest{}
		for key, m := range v.Members() {
			request, f := decodeInputRequest(m)
			if f != nil {
				return nil, nil, f.under(key)
			}
			requests[key] = request
		}
		return requests, jsontext.Value(state), nil
	}
	if r.State != nil {
		v, err := strictjson.Parse(r.State, answerLimits)
		if err != nil || v.Kind() != strictjson.KindString {
			return nil, nil, faultf("is no JSON string").under("requestState")
		}
	}
	if r.Requests == nil {
		return nil, r.State, nil
	}
	requests := map[string]InputRequest{}
	for key, request := range r.Requests {
		if request.Params != nil {
			if err := strictjson.CheckObject(request.Params, answerLimits); err != nil {
				return nil, nil, faultf("%s", err.Error()).under("params").under(key)
			}
			request.Params = jsontext.Value(trimmed(request.Params))
		}
		if f := request.check(); f != nil {
			return nil, nil, f.under(key)
		}
		requests[key] = request
	}
	return requests, r.State, nil
}

// envelope are the members that make a response of what should be a bare result.
var envelope = []string{"resultType", "jsonrpc", "id", "method", "params", "result", "error"}

// checkAnswer holds a response against the request it answers.
func (r *InputRequest) checkAnswer(v strictjson.Value) *fault {
	for _, name := range envelope {
		if _, ok := v.Get(name); ok {
			return faultf("is there, and a response is a bare result").under(name)
		}
	}
	params := strictjson.Value(r.Params)
	var f *fault
	switch r.Method {
	case methodElicit:
		f = checkElicited(v, params)
	case methodSample:
		f = checkSampled(v, params)
	case methodRoots:
		f = checkRoots(v)
	}
	if meta, ok := v.Get("_meta"); ok && f == nil {
		_, f = decodeMeta(meta)
	}
	return f
}

// checkElicited checks an ElicitResult.
func checkElicited(v, params strictjson.Value) *fault {
	action, ok := v.Get("action")
	if !ok {
		return missing("action", `"accept", "decline" or "cancel"`)
	}
	if f := asOneOf("action", action, "accept", "decline", "cancel"); f != nil {
		return f
	}
	content, has := v.Get("content")
	filled := textOf(v, "action") == "accept" && elicitMode(params) == "form"
	switch {
	case has && !filled:
		return faultf("is there, and only an accepted form has content").under("content")
	case !filled:
		return nil
	case !has:
		content = strictjson.Value(`{}`)
	}
	if f := asObject("content", content); f != nil {
		return f
	}
	schema, _ := params.Get("requestedSchema")
	form, f := decodeForm(schema)
	if f != nil {
		return f
	}
	return form.check(content).under("content")
}

// checkSampled checks a CreateMessageResult.
func checkSampled(v, params strictjson.Value) *fault {
	use, f := checkSampleMessage(v)
	if f != nil {
		return f
	}
	if f := needString(v, "model"); f != nil {
		return f
	}
	if reason, ok := v.Get("stopReason"); ok {
		if _, f := asString("stopReason", reason); f != nil {
			return f
		}
	}
	if len(use.results) > 0 {
		return faultf("has tool_result, which no answer of a model has").under("content")
	}
	if len(use.tools) == 0 {
		return nil
	}
	choice, _ := params.Get("toolChoice")
	offered := []string{}
	if tools, ok := params.Get("tools"); ok && textOf(choice, "mode") != "none" {
		if offered, f = sampleTools(tools); f != nil {
			return f
		}
	}
	for _, name := range use.tools {
		if !slices.Contains(offered, name) {
			return faultf("uses tool %s, which the request does not offer", peer(name)).under("content")
		}
	}
	return nil
}

// checkRoots checks a ListRootsResult.
func checkRoots(v strictjson.Value) *fault {
	roots, ok := v.Get("roots")
	if !ok {
		return missing("roots", "an array")
	}
	if f := asArray("roots", roots); f != nil {
		return f
	}
	i := 0
	for root := range roots.Elements() {
		if f := checkRoot(root); f != nil {
			return f.at(i).under("roots")
		}
		i++
	}
	return nil
}

func checkRoot(v strictjson.Value) *fault {
	if v.Kind() != strictjson.KindObject {
		return faultf("is %s, want an object", kindName(v))
	}
	if f := needString(v, "uri"); f != nil {
		return f
	}
	if uri := textOf(v, "uri"); !strings.HasPrefix(uri, "file://") || !isURI(uri) {
		return faultf("is no URI that begins with file://").under("uri")
	}
	if name, ok := v.Get("name"); ok {
		if _, f := asString("name", name); f != nil {
			return f
		}
	}
	if meta, ok := v.Get("_meta"); ok {
		_, f := decodeMeta(meta)
		return f
	}
	return nil
}

// subject stands for the method and parameters of a request, without its metadata and what continues a round.
type subject [sha256.Size]byte

func (r *request) subject() subject {
	b := object(append([]byte(r.method), '\n'))
	start := len(b.dst) - 1
	for name, m := range r.params.Members() {
		switch name {
		case "_meta", "inputResponses", "requestState":
		default:
			b.raw(name, m)
		}
	}
	doc := b.end()
	canonical, err := strictjson.AppendCanonical(slices.Clone(doc[:start]), doc[start:], strictjson.Limits{Bytes: 2 * maxRequestBytes})
	if err != nil {
		canonical = doc // it has been checked; equal bytes are still equal
	}
	return sha256.Sum256(canonical)
}

// fits refuses a continuation of another request's round.
func (c *Continuation) fits(r *request) error {
	if c == nil || c.origin == (subject{}) || c.origin == r.subject() {
		return nil
	}
	return &RequestError{Method: r.method, Reason: "continuation belongs to a round of another request"}
}

// append appends the members of a retry: the state as the token it came as.
func (c *Continuation) append(dst []byte) []byte {
	if c == nil {
		return dst
	}
	if c.responses != nil {
		dst = append(append(dst, `,"inputResponses":`...), c.responses...)
	}
	if c.state != nil {
		dst = append(append(dst, `,"requestState":`...), c.state...)
	}
	return dst
}
