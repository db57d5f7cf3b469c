package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/mcpcat-dev/mcpcat/gate"
	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

const (
	methodDiscover = "server/discover"
	methodList     = "tools/list"
	methodCall     = "tools/call"
	methodInit     = "initialize"
	methodCancel   = "notifications/cancelled"
)

// Members of _meta that this revision defines.
const (
	versionKey      = "io.modelcontextprotocol/protocolVersion"
	capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"
	logLevelKey     = "io.modelcontextprotocol/logLevel"
	serverInfoKey   = "io.modelcontextprotocol/serverInfo"
	subscriptionKey = "io.modelcontextprotocol/subscriptionId"
)

var logLevels = map[string]bool{
	"debug": true, "info": true, "notice": true, "warning": true, "error": true, "critical": true, "alert": true, "emergency": true,
}

// fault is an error answer. Status is what HTTP gives it; 0 is 200.
type fault struct {
	jsonrpc.Error
	status int
}

func newFault(status int, code int64, message string) *fault {
	return &fault{Error: jsonrpc.Error{Code: code, Message: message}, status: status}
}

func invalidParams(message string) *fault {
	return newFault(http.StatusOK, jsonrpc.CodeInvalidParams, message)
}

// unsupported names the one version there is.
func unsupported(requested string) *fault {
	f := newFault(http.StatusBadRequest, jsonrpc.CodeUnsupportedVersion, "unsupported protocol version: this server speaks "+Version)
	f.Data = strictjson.AppendString([]byte(`{"supported":["`+Version+`"],"requested":`), bounded(requested))
	f.Data = append(f.Data, '}')
	return f
}

// bounded cuts what an agent sent before it is repeated.
func bounded(s string) string {
	if len(s) <= 256 {
		return s
	}
	n := 256
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

// read decodes one message. Faults without an id belong to texts whose id cannot be known.
func read(src []byte) (*jsonrpc.Message, jsonrpc.ID, *fault) {
	lim := strictjson.Limits{Bytes: MaxMessageBytes, Depth: maxDepth}
	m, err := jsonrpc.Decode(src, lim)
	if err == nil {
		return m, m.ID, nil
	}
	var syntax *strictjson.Error
	if errors.As(err, &syntax) {
		switch syntax.Class {
		case strictjson.ClassDuplicate, strictjson.ClassDepth, strictjson.ClassExponent, strictjson.ClassDigits, strictjson.ClassKind:
			return nil, jsonrpc.ID{}, newFault(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "invalid request: "+syntax.Error())
		}
		return nil, jsonrpc.ID{}, newFault(http.StatusBadRequest, jsonrpc.CodeParse, "parse error: "+syntax.Error())
	}
	// The text is one checked JSON value; its id may be good although the rest is not.
	var id jsonrpc.ID
	if v, ok := strictjson.Value(bytes.TrimSpace(src)).Get("id"); ok {
		if parsed, err := jsonrpc.ParseID(v); err == nil {
			id = parsed
		}
	}
	return nil, id, newFault(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "invalid request: "+err.Error())
}

// request is one request under check.
type request struct {
	*jsonrpc.Message
	meta      strictjson.Value // params._meta, an object, or nil
	name      strictjson.Value // params.name
	arguments strictjson.Value // params.arguments, nil if absent
}

func newRequest(m *jsonrpc.Message) *request {
	r := &request{Message: m}
	for name, v := range m.Params.Members() {
		switch name {
		case "_meta":
			r.meta = v
		case "name":
			r.name = v
		case "arguments":
			r.arguments = v
		}
	}
	return r
}

// version returns the protocol version that the body names. The fault is that it names none.
func (r *request) version() (string, *fault) {
	bad := func(what string) (string, *fault) {
		return "", newFault(http.StatusBadRequest, jsonrpc.CodeInvalidParams, what)
	}
	switch r.meta.Kind() {
	case strictjson.KindObject:
	case strictjson.KindInvalid:
		return bad("params._meta is missing: every request of " + Version + " has it")
	default:
		return bad("params._meta is " + r.meta.Kind().String() + ", want an object")
	}
	v, ok := r.meta.Get(versionKey)
	if !ok {
		return bad("params._meta has no " + versionKey)
	}
	text, ok := v.Text()
	if !ok {
		return bad("params._meta: " + versionKey + " is " + v.Kind().String() + ", want a string")
	}
	return text, nil
}

// checkMeta checks what _meta must have beside the version.
//
// Spec: 2026-07-28 basic#_meta.
func (r *request) checkMeta() *fault {
	bad := func(what string) *fault { return newFault(http.StatusBadRequest, jsonrpc.CodeInvalidParams, what) }
	capabilities, ok := r.meta.Get(capabilitiesKey)
	switch {
	case !ok:
		return bad("params._meta has no " + capabilitiesKey)
	case capabilities.Kind() != strictjson.KindObject:
		return bad("params._meta: " + capabilitiesKey + " is " + capabilities.Kind().String() + ", want an object")
	}
	if v, ok := r.meta.Get("progressToken"); ok {
		if _, err := jsonrpc.ParseID(v); err != nil {
			return bad("params._meta: progressToken is neither a string nor a whole number")
		}
	}
	if v, ok := r.meta.Get(logLevelKey); ok {
		if level, isText := v.Text(); !isText || !logLevels[level] {
			return invalidParams("params._meta: " + logLevelKey + " is no log level")
		}
	}
	return nil
}

// checkParams checks the params of a known method, in which everything else is open.
func (r *request) checkParams() *fault {
	switch r.Method {
	case methodList:
		if cursor, ok := r.Params.Get("cursor"); ok {
			if cursor.Kind() != strictjson.KindString {
				return invalidParams("params.cursor is " + cursor.Kind().String() + ", want a string")
			}
			return invalidParams("params.cursor is not one that this server gave out: the list has one page")
		}
	case methodCall:
		switch {
		case r.name == nil:
			return invalidParams("params.name is missing")
		case r.name.Kind() != strictjson.KindString:
			return invalidParams("params.name is " + r.name.Kind().String() + ", want a string")
		case r.arguments != nil && r.arguments.Kind() != strictjson.KindObject:
			return invalidParams("params.arguments is " + r.arguments.Kind().String() + ", want an object")
		}
	}
	return nil
}

func known(method string) bool {
	return method == methodDiscover || method == methodList || method == methodCall
}

func methodNotFound(method string) *fault {
	return newFault(http.StatusNotFound, jsonrpc.CodeMethodNotFound, "method not found: "+strconv.QuoteToASCII(bounded(method)))
}

// serve answers a request whose checks have passed up to its params. Nil, nil means that nothing is to be sent: the request
// was cancelled. Headers, if not nil, checks the Mcp-Param headers of the tool that is called.
func (s *Server) serve(ctx context.Context, r *request, overHTTP bool, headers func(gate.Tool) *fault) ([]byte, *fault) {
	if f := r.checkParams(); f != nil {
		return nil, f
	}
	switch r.Method {
	case methodDiscover:
		return s.discover, nil
	case methodList:
		return s.list(overHTTP), nil
	}
	name, _ := r.name.Text()
	tool, found := s.opts.Gate.Lookup(name)
	if found && headers != nil {
		if _, err := s.headerParams(tool); err != nil {
			return nil, unknownTool(name)
		}
		if f := headers(tool); f != nil {
			return nil, f
		}
	}
	release, ok := s.slot()
	if !ok {
		return s.toolError("Too many calls are running. Call again later."), nil
	}
	defer release()
	result, err := s.opts.Gate.Call(ctx, gate.Request{Name: name, Arguments: json.RawMessage(r.arguments)})
	if ctx.Err() != nil {
		return nil, nil
	}
	if err != nil {
		return s.refused(name, err)
	}
	return s.ownMeta(strictjson.Value(result.Raw)), nil
}

func unknownTool(name string) *fault {
	return invalidParams("unknown tool: " + strconv.QuoteToASCII(bounded(name)))
}

// refused turns the error of a call into an answer. Its texts are ours, but for those that a server is free to choose.
func (s *Server) refused(name string, err error) ([]byte, *fault) {
	var (
		refusal   *gate.Refusal
		arguments *gate.ArgumentsError
		upstream  *gate.UpstreamError
	)
	switch {
	case errors.Is(err, gate.ErrUnknownTool):
		return nil, unknownTool(name)
	case errors.As(err, &arguments):
		return s.toolError(arguments.Error()), nil
	case errors.As(err, &refusal):
		f := newFault(http.StatusOK, jsonrpc.CodeRefused, message(refusal.Reason))
		f.Data = refusalData(refusal)
		return nil, f
	case errors.As(err, &upstream):
		f := newFault(http.StatusOK, upstream.Code, upstream.Message)
		f.Data = strictjson.Value(upstream.Data)
		return nil, f
	case errors.Is(err, gate.ErrClosed):
		return nil, newFault(http.StatusOK, jsonrpc.CodeInternal, "mcpcat is shutting down")
	}
	s.log.Error("call failed", "tool", name, "error", err)
	return nil, newFault(http.StatusOK, jsonrpc.CodeInternal, "internal error")
}

// message is the fixed text of a refusal.
func message(r gate.Reason) string {
	switch r {
	case gate.Drift:
		return "call refused: the tool is not as it was reviewed"
	case gate.NotPinned:
		return "call refused: the tool was not reviewed"
	case gate.Missing:
		return "call refused: the server does not offer the tool any more"
	case gate.Unverified:
		return "call refused: the tool could not be verified"
	case gate.Policy:
		return "call refused: the tool cannot be called under the policy in force"
	case gate.Identity:
		return "call refused: the server is not the one that was reviewed"
	case gate.Secret:
		return "answer withheld: it held a secret of the server's configuration"
	case gate.Lock:
		return "call refused: catalog and lock differ"
	}
	return "call refused"
}

func refusalData(r *gate.Refusal) []byte {
	text := func(dst []byte, name, s string) []byte {
		dst = append(append(append(dst, ',', '"'), name...), '"', ':')
		if s == "" {
			return append(dst, "null"...)
		}
		return strictjson.AppendString(dst, s)
	}
	d := strictjson.AppendString([]byte(`{"reason":`), string(r.Reason))
	d = text(d, "address", r.Address)
	d = text(d, "locked", r.Locked)
	d = text(d, "live", r.Live)
	d = append(d, `,"changed":[`...)
	for i, name := range r.Changed {
		if i > 0 {
			d = append(d, ',')
		}
		d = strictjson.AppendString(d, name)
	}
	return append(d, `]}`...)
}
