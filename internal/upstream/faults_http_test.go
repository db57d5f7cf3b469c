//go:build linux

package upstream

import (
	"maps"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

const (
	noHeader = "TimeoutError M: the header of the answer"
	notHTTP  = "ProtocolError the answer is not HTTP as it should be"
	page     = "NotMCPError it answers with a web page"
	nowhere  = "NotMCPError there is no MCP endpoint at this address"

	bodyLimit   = "LimitError a JSON body"
	headerLimit = "LimitError the header of the answer"
)

// httpWants says what becomes of each fault of plain HTTP/1.1, but those of streams of events.
func httpWants() map[string]want {
	const carrier = "the body is not a JSON-RPC message"
	wants := map[string]want{
		"refused":                    {kind: "no connection: refused", seen: "ConnectError refused", undelivered: true, stuck: true},
		"closes-at-first-byte":       {kind: "lost before the answer", seen: "LostError before the answer"},
		"resets-at-first-byte":       {kind: "lost before the answer", seen: "LostError before the answer"},
		"accepts-and-reads-nothing":  {kind: "no answer", seen: noHeader},
		"reads-header-only":          {kind: "does not read", seen: "TimeoutError M: the server to read the request"},
		"closes-before-answer":       {kind: "lost before the answer", seen: "LostError before the answer"},
		"resets-before-answer":       {kind: "lost before the answer", seen: "LostError before the answer"},
		"resets-kept-connection":     {kind: "lost before the answer", seen: "LostError before the answer"},
		"closes-kept-connection":     {kind: "lost before the answer", seen: "LostError before the answer"},
		"never-accepts":              {kind: "no connection in time", seen: "TimeoutError connect: a connection", undelivered: true, stuck: true},
		"no-answer":                  {kind: "no answer", seen: noHeader},
		"half-a-header-then-silence": {kind: "no answer", seen: noHeader},
		"slow-header":                {kind: "no answer", seen: noHeader},
		"half-a-header-then-close":   {kind: "lost in the header", seen: "LostError in the header"},
		"half-a-header-then-reset":   {kind: "lost in the header", seen: "LostError in the header"},
		"garbage":                    {kind: "not HTTP", seen: notHTTP},
		"binary-garbage":             {kind: "not HTTP", seen: notHTTP},
		"text-status":                {kind: "not HTTP", seen: notHTTP},
		"other-protocol":             {kind: "not HTTP", seen: notHTTP},
		"header-without-colon":       {kind: "not HTTP", seen: notHTTP},
		"length-text":                {kind: "not HTTP", seen: notHTTP},
		"length-negative":            {kind: "not HTTP", seen: notHTTP},
		"length-twice":               {kind: "not HTTP", seen: notHTTP},
		"unknown-transfer-encoding":  {kind: "not HTTP", seen: notHTTP},
		"endless-status-line":        {kind: "header too long", seen: headerLimit},
		"endless-header":             {kind: "header too long", seen: headerLimit},
		"endless-interim":            {kind: "header too long", seen: headerLimit},
		"upgrade":                    {kind: "status of another kind", seen: "ProtocolError HTTP status 101, which is no answer to a request"},
		"no-content-type":            {kind: "no media type", seen: "ProtocolError HTTP status 200 without a Content-Type, want application/json or text/event-stream"},
		"two-content-types":          {kind: "two media types", seen: "ProtocolError HTTP status 200 with 2 Content-Type headers"},
		"text-plain":                 {kind: "another media type", seen: "ProtocolError HTTP status 200 with media type …, want application/json or text/event-stream"},
		"web-page":                   {kind: "another media type", seen: "ProtocolError HTTP status 200 with media type …, want application/json or text/event-stream", at: at(mcptest.StepDiscover, page), kinds: at(mcptest.StepDiscover, "web page")},
		"short-body":                 {kind: "lost in the body", seen: "LostError in a JSON body"},
		"half-a-body-then-close":     {kind: "lost in the body", seen: "LostError in a JSON body"},
		"half-a-body-then-reset":     {kind: "lost in the body", seen: "LostError in a JSON body"},
		"no-last-chunk":              {kind: "lost in the body", seen: "LostError in a JSON body"},
		"short-body-then-silence":    {kind: "silence in the body", seen: "StallError a JSON body"},
		"half-a-body-then-silence":   {kind: "silence in the body", seen: "StallError a JSON body"},
		"slow-body":                  {kind: "slow body", seen: "TimeoutError M: the rest of a JSON body"},
		"long-body":                  {kind: "JSON cut off", seen: "ProtocolError " + carrier + " (at P got the end of the text)"},
		"empty-body":                 {kind: "JSON cut off", seen: "ProtocolError " + carrier + " (at the top: got the end of the text)"},
		"broken-chunk-size":          {kind: "not HTTP", seen: notHTTP},
		"broken-chunk-end":           {kind: "not HTTP", seen: notHTTP},
		"endless-chunk-extension":    {kind: "not HTTP", seen: notHTTP},
		"endless-trailer":            {kind: "not HTTP", seen: notHTTP},
		"endless-body":               {kind: "body too long", seen: bodyLimit},
		"body-over-limit":            {kind: "body too long", seen: bodyLimit},
		"length-over-limit":          {kind: "body too long", seen: bodyLimit},
		"compressed":                 {kind: "compressed", seen: "ProtocolError HTTP status 200 with Content-Encoding …, want none"},
	}
	for _, m := range messageWants {
		w := m.want
		w.seen = strings.ReplaceAll(w.seen, "CARRIER", carrier)
		for _, name := range m.names {
			wants[name] = w
		}
	}
	maps.Copy(wants, statusWants())
	return wants
}

// statusWants says what becomes of the answers with another status than 200.
func statusWants() map[string]want {
	discover := mcptest.StepDiscover
	wants := map[string]want{
		"202":                    {kind: "status without an answer", seen: "ProtocolError HTTP status 202, which is no answer to a request"},
		"204":                    {kind: "status without an answer", seen: "ProtocolError HTTP status 204, which is no answer to a request"},
		"206":                    {kind: "status without an answer", seen: "ProtocolError HTTP status 206, which is no answer to a request"},
		"304":                    {kind: "status 304", seen: "TransportError status 304"},
		"600":                    {kind: "status 600", seen: "TransportError status 600"},
		"407":                    {kind: "status 407", seen: "TransportError status 407"},
		"401":                    {kind: "unauthorized", seen: "AuthError 401"},
		"401-bare":               {kind: "unauthorized", seen: "AuthError 401"},
		"401-error":              {kind: "unauthorized", seen: "AuthError 401"},
		"401-long-challenge":     {kind: "unauthorized", seen: "AuthError 401"},
		"403":                    {kind: "forbidden", seen: "AuthError 403"},
		"404-method":             {kind: "unknown method", seen: "RPCError -32601", at: at(discover, "LegacyServerError")},
		"redirect-nowhere":       {kind: "redirect 307", seen: "TransportError status 307"},
		"redirect-control-bytes": {kind: "redirect 307", seen: "TransportError status 307"},
	}
	for _, code := range []string{"301", "302", "303", "307", "308"} {
		w := want{kind: "redirect " + code, seen: "TransportError status " + code}
		wants["redirect-"+code+"-elsewhere"], wants["redirect-"+code+"-loop"] = w, w
	}
	for _, code := range []string{"400", "404", "405", "406", "413", "415", "429", "431", "500", "502", "503", "504"} {
		w := want{kind: "status " + code, seen: "TransportError status " + code}
		foreign := want{kind: "status " + code + " with an error that is no answer", seen: w.seen + " RPC -32603"}
		if code == "404" || code == "405" {
			w.at, foreign.at = at(discover, nowhere), at(discover, nowhere)
			w.kinds, foreign.kinds = at(discover, "no endpoint"), at(discover, "no endpoint")
		}
		wants[code], wants[code+"-text"] = w, w
		wants[code+"-result"] = w
		html := w
		html.at, html.kinds = at(discover, page), at(discover, "web page")
		wants[code+"-page"] = html
		for _, id := range []string{"without-id", "null-id", "foreign-id"} {
			wants[code+"-error-"+id] = foreign
		}
		wants[code+"-error"] = want{kind: "error of the server", seen: "RPCError -32603"}
		if code == "400" || code == "404" || code == "500" {
			// A body that has not come to its end is no answer, whatever of it has come.
			for _, cut := range []string{"-half-a-body-then-silence", "-half-a-body-then-close", "-endless-body"} {
				wants[code+cut] = w
			}
		}
	}
	for _, name := range []string{"header-mismatch", "capability", "version"} {
		for _, more := range []string{"", "-malformed"} {
			for _, m := range messageWants {
				if m.names[0] == name+more || (name == "header-mismatch" && m.names[0] == name) {
					wants["400-"+name+more] = m.want
				}
			}
		}
	}
	return wants
}
