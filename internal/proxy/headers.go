package proxy

import (
	"net/http"
	"net/textproto"
	"strings"

	"github.com/mcpcat-dev/mcpcat/gate"
	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/mcpheader"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

func mismatch(what string) *fault {
	return newFault(http.StatusBadRequest, jsonrpc.CodeHeaderMismatch, what)
}

// one returns the only line of a header. Absent and empty are different things.
func one(h http.Header, name string) (value string, present bool, f *fault) {
	lines := h[name]
	if len(lines) > 1 {
		return "", true, mismatch("header " + name + " is there more than once")
	}
	if len(lines) == 0 {
		return "", false, nil
	}
	return lines[0], true, nil
}

// checkHeaders holds the headers of a request against its body, up to the name.
//
// Spec: 2026-07-28 basic/transports/streamable-http#request-headers.
func (r *request) checkHeaders(h http.Header) *fault {
	header, present, f := one(h, versionHeader)
	switch {
	case f != nil:
		return f
	case !present:
		return mismatch("header " + versionHeader + " is missing: this server speaks " + Version)
	}
	body, f := r.version()
	switch {
	case f != nil && header != Version:
		return unsupported(header) // says more than that the body names none
	case f != nil:
		return f
	case header != body:
		return mismatch("header " + versionHeader + " is not what the body says: this server speaks " + Version)
	case body != Version:
		return unsupported(body)
	}

	method, present, f := one(h, methodHeader)
	switch {
	case f != nil:
		return f
	case !present:
		return mismatch("header " + methodHeader + " is missing")
	case method != r.Method:
		return mismatch("header " + methodHeader + " is not the method of the body")
	}
	return r.checkName(h)
}

// checkName compares Mcp-Name for the three methods that have it.
func (r *request) checkName(h http.Header) *fault {
	member := "name"
	switch r.Method {
	case methodCall, "prompts/get":
	case "resources/read":
		member = "uri"
	default:
		return nil
	}
	raw, present, f := one(h, nameHeader)
	switch {
	case f != nil:
		return f
	case !present:
		return mismatch("header " + nameHeader + " is missing")
	}
	decoded, err := mcpheader.Decode(raw)
	if err != nil {
		return mismatch("header " + nameHeader + ": " + err.Error())
	}
	v, _ := r.Params.Get(member)
	if name, ok := v.Text(); ok && name != decoded { // of another kind it is a fault of the params
		return mismatch("header " + nameHeader + " is not params." + member)
	}
	return nil
}

// checkParamHeaders compares the Mcp-Param headers with the arguments that the tool's schema mirrors.
//
// Spec: 2026-07-28 basic/transports/streamable-http#custom-headers-from-tool-parameters.
func (s *Server) checkParamHeaders(t gate.Tool, arguments strictjson.Value, h http.Header) *fault {
	params, err := s.headerParams(t)
	if err != nil || len(params) == 0 {
		return nil
	}
	want := map[string]string{}
	values, err := mcpheader.Values(params, arguments)
	if err != nil {
		return nil // the arguments do not satisfy the schema; the gate says so in words that a model can use
	}
	for _, v := range values {
		want[textproto.CanonicalMIMEHeaderKey(v.Name)] = v.Value
	}
	for _, p := range params {
		key := textproto.CanonicalMIMEHeaderKey(mcpheader.Prefix + p.Header)
		raw, present, f := one(h, key)
		expected, needed := want[key]
		switch {
		case f != nil:
			return f
		case needed && !present:
			return mismatch("header " + key + " is missing: the argument has a value")
		case !needed && present:
			return mismatch("header " + key + " is there: the argument has no value")
		case !needed:
			continue
		}
		got, err := mcpheader.Decode(raw)
		if err != nil {
			return mismatch("header " + key + ": " + err.Error())
		}
		wanted, err := mcpheader.Decode(expected)
		if err != nil || got != wanted && !(p.Type == "integer" && sameNumber(got, wanted)) {
			return mismatch("header " + key + " is not the argument")
		}
	}
	return nil
}

// sameNumber compares by value: 42.0 is 42.
func sameNumber(a, b string) bool {
	lim := strictjson.Limits{Bytes: 1 << 10}
	x, err := strictjson.Parse([]byte(strings.TrimSpace(a)), lim)
	if err != nil || x.Kind() != strictjson.KindNumber {
		return false
	}
	y, err := strictjson.Parse([]byte(b), lim)
	return err == nil && strictjson.Equal(x, y)
}
