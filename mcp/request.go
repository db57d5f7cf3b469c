package mcp

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/transport"
)

// Methods that a client sends.
const (
	methodDiscover              = "server/discover"
	methodToolsList             = "tools/list"
	methodToolsCall             = "tools/call"
	methodResourcesList         = "resources/list"
	methodResourceTemplatesList = "resources/templates/list"
	methodResourcesRead         = "resources/read"
	methodPromptsList           = "prompts/list"
	methodPromptsGet            = "prompts/get"
	methodComplete              = "completion/complete"
)

// maxRequestBytes bounds what a caller may put into one request.
const maxRequestBytes = 16 << 20

// request is one request that is ready to be sent.
type request struct {
	method   string
	id       jsonrpc.ID
	body     []byte
	declared ClientCapabilities
	timeout  time.Duration
	meta     *RequestMeta
	call     callHeaders
	params   strictjson.Value // as they stand in body
	cont     *Continuation    // what the parameters continue, if anything

	// What do needs, in here so that one allocation serves for all.
	notes notes
	sent  transport.Call
}

// spareRequests are requests that are over, for the next ones: a request and its body are most of what a call over stdio
// allocates. maxSpareBody is the longest body that is kept.
var spareRequests = sync.Pool{New: func() any { return new(request) }}

const maxSpareBody = 16 << 10

// release gives the request up, when nobody has anything of it any more. Over HTTP the body may still be read after the
// exchange, so there it is left to the collector.
func (c *Client) release(r *request) {
	if !c.kind.lines {
		return
	}
	body := r.body[:0]
	if cap(body) > maxSpareBody {
		body = nil
	}
	*r = request{body: body}
	spareRequests.Put(r)
}

// newRequest builds the request: params is _meta and whatever members appends, each with a comma in front. The token
// of progress is the request's id, so it is unique among the requests in flight.
func (c *Client) newRequest(method string, meta *RequestMeta, timeout time.Duration, members func([]byte) []byte) (*request, error) {
	if reason := meta.check(); reason != "" {
		return nil, &RequestError{Method: method, Reason: reason}
	}
	declared := c.opts.capabilities
	if meta.Capabilities != nil {
		declared = *meta.Capabilities
	}
	if reason := c.opts.extensions.checkMeta(meta, &declared); reason != "" {
		return nil, &RequestError{Method: method, Reason: reason}
	}
	if meta.Timeout > 0 {
		timeout = min(meta.Timeout, MaxCallTimeout)
	}
	id := jsonrpc.IntID(c.lastID.Add(1))

	r := spareRequests.Get().(*request)
	body := r.body
	if body == nil {
		body = make([]byte, 0, 512+len(c.clientInfo))
	}
	body = jsonrpc.AppendRequest(body, id, method, nil)
	body = append(body[:len(body)-1], `,"params":`...) // its closing brace comes last
	start := len(body)
	body = append(body, `{"_meta":{"`+keyVersion+`":"`+ProtocolVersion+`","`+keyCapabilities+`":`...)
	body = declared.append(body)
	body = append(body, `,"`+keyClientInfo+`":`...)
	body = append(body, c.clientInfo...)
	if meta.LogLevel != "" {
		body = append(body, `,"`+keyLogLevel+`":"`...)
		body = append(append(body, meta.LogLevel...), '"')
	}
	if meta.OnProgress != nil {
		body = append(append(body, `,"`+keyProgress+`":`...), id.Raw()...)
	}
	body = appendExtensionMeta(body, meta.extensions)
	body = appendExtra(body, meta.Extra)
	body = append(body, '}')
	if members != nil {
		body = members(body)
	}
	body = append(body, '}')
	end := len(body)
	if end-start > maxRequestBytes {
		return nil, &RequestError{Method: method, Reason: "request is larger than 16 MiB"}
	}
	body = append(body, '}')
	*r = request{
		method: method, id: id, body: body, declared: declared, timeout: timeout, meta: meta, params: strictjson.Value(body[start:end:end]),
	}
	return r, nil
}

// check refuses metadata that must not be sent.
func (m *RequestMeta) check() string {
	if m.LogLevel != "" && m.LogLevel.rank() < 0 {
		return "log level " + quote(string(m.LogLevel)) + " is none of the eight"
	}
	if m.Timeout < 0 {
		return "timeout is negative"
	}
	if m.Capabilities != nil {
		if reason := m.Capabilities.check(); reason != "" {
			return reason
		}
	}
	return checkExtra(m.Extra)
}

// appendExtra appends the caller's members in the order of their names; they have been checked.
func appendExtra(dst []byte, extra map[string]jsontext.Value) []byte {
	if len(extra) == 0 {
		return dst
	}
	keys := make([]string, 0, len(extra))
	for key := range extra {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		dst = strictjson.AppendString(append(dst, ','), key)
		dst = append(append(dst, ':'), extra[key]...)
	}
	return dst
}

// appendExtensionMeta appends the members that extensions define in the order of their names; they have been checked.
func appendExtensionMeta(dst []byte, entries map[*metaKey]jsontext.Value) []byte {
	if len(entries) == 0 {
		return dst
	}
	keys := slices.SortedFunc(maps.Keys(entries), func(a, b *metaKey) int { return strings.Compare(a.key, b.key) })
	for _, k := range keys {
		dst = strictjson.AppendString(append(dst, ','), k.key)
		dst = append(append(dst, ':'), entries[k]...)
	}
	return dst
}

// oneLine replaces line ends in the body by blanks. A JSON text can have them only between tokens, where they mean
// nothing.
func oneLine(body []byte) {
	if bytes.IndexByte(body, '\n') < 0 && bytes.IndexByte(body, '\r') < 0 { // much cheaper than to look at each byte
		return
	}
	for i, b := range body {
		if b == '\n' || b == '\r' {
			body[i] = ' '
		}
	}
}

// protocolMethods are the methods of this revision and those that it removed: Call sends none of them.
var protocolMethods = map[string]bool{
	methodDiscover: true, methodToolsList: true, methodToolsCall: true,
	methodResourcesList: true, methodResourceTemplatesList: true, methodResourcesRead: true,
	methodPromptsList: true, methodPromptsGet: true, methodComplete: true, "subscriptions/listen": true,

	"initialize": true, "ping": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true,
	methodElicit: true, methodSample: true, methodRoots: true,
}

// checkExtension returns why method cannot be sent by Call, "" if it can.
func checkExtension(method string) string {
	switch {
	case method == "" || len(method) > maxExcerpt:
		return "it is empty or longer than 256 bytes"
	case !isPrintable(method, " \"\\"):
		return "it has characters other than printable ASCII"
	case protocolMethods[method]:
		return "it belongs to the protocol, and Call sends extension methods only"
	case strings.HasPrefix(method, "notifications/"), strings.HasPrefix(method, "rpc."):
		return "it is no method of a request"
	case strings.HasPrefix(method, "tasks/"):
		return "it was removed from the protocol"
	}
	return ""
}
