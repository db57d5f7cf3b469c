package mcptest

import "strings"

// httpStatuses are the answers with another status than 200.
func httpStatuses() []Fault {
	status := func(name, line string, lines []string, text func(r Request) string) Fault {
		return raw(name, func(r Request, _ string) string {
			s := ""
			if text != nil {
				s = text(r)
			}
			return header(line, append(lines, "Content-Length: "+itoa(len(s)), "Connection: close")...) + s
		})
	}
	asJSON := []string{"Content-Type: application/json"}
	failure := func(id string) func(Request) string {
		return func(r Request) string {
			return errorWith(strings.ReplaceAll(id, "ID", r.ID), -32603, "null")
		}
	}
	out := []Fault{
		status("202", "202 Accepted", nil, nil),
		status("204", "204 No Content", nil, nil),
		status("206", "206 Partial Content", asJSON, func(r Request) string { return answer(r) }),
		status("304", "304 Not Modified", nil, nil),
		status("600", "600 Tide", asJSON, nil),
	}
	for _, code := range []string{"301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"} {
		name := "redirect-" + code[:3]
		out = append(out,
			status(name+"-elsewhere", code, []string{"Location: https://elsewhere.example/mcp?token=x"}, nil),
			plain(name+"-loop", func(x *Exchange, _ Request, _ string) {
				x.Send(header(code, "Location: "+x.f.URL, "Content-Length: 0", "Connection: close"))
			}))
	}
	out = append(out,
		status("redirect-nowhere", "307 Temporary Redirect", nil, nil),
		status("redirect-control-bytes", "307 Temporary Redirect", []string{"Location: /\xff\xfe%0a%1b[31m"}, nil),
	)
	for _, code := range []string{
		"400 Bad Request", "404 Not Found", "405 Method Not Allowed", "406 Not Acceptable", "413 Content Too Large", "415 Unsupported Media Type",
		"429 Too Many Requests", "431 Request Header Fields Too Large", "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout",
	} {
		name := code[:3]
		out = append(out,
			status(name, code, nil, nil),
			status(name+"-text", code, []string{"Content-Type: text/plain"}, func(Request) string { return "no \x1b[31mtide\x1b[0m table\x00" }),
		)
		out = append(out,
			status(name+"-page", code, []string{"Content-Type: text/html"}, func(Request) string { return "<title>" + code + "</title>" }),
			status(name+"-error", code, asJSON, failure("ID")),
			status(name+"-error-without-id", code, asJSON, func(Request) string { return `{"jsonrpc":"2.0","error":{"code":-32603,"message":"boom"}}` }),
			status(name+"-error-null-id", code, asJSON, failure("null")),
			status(name+"-error-foreign-id", code, asJSON, failure("7ID")),
			status(name+"-result", code, asJSON, func(r Request) string { return respond(r.ID, result(r)) }),
		)
		if name == "400" || name == "404" || name == "500" { // the ways of cutting a body are the same for all
			out = append(out,
				plain(name+"-half-a-body-then-silence", func(x *Exchange, r Request, _ string) {
					x.Send(header(code, "Content-Type: application/json", "Content-Length: 4096") + failure("ID")(r))
					x.Hold()
				}),
				plain(name+"-half-a-body-then-close", func(x *Exchange, r Request, _ string) {
					x.Send(header(code, "Content-Type: application/json", "Content-Length: 4096") + failure("ID")(r))
				}),
				plain(name+"-endless-body", func(x *Exchange, r Request, _ string) {
					x.Send(header(code, "Content-Type: application/json") + failure("ID")(r))
					x.Endless(x.Send, " ")
				}))
		}
	}
	for _, typed := range []struct {
		name       string
		code       int
		good, poor string
	}{
		{"header-mismatch", -32020, `{"header":"Mcp-Method"}`, `"x"`},
		{"capability", -32021, `{"requiredCapabilities":{"sampling":{}}}`, `{"requiredCapabilities":[]}`},
		{"version", -32022, `{"supported":["2027-01-01"],"requested":"2026-07-28"}`, `{"supported":{}}`},
	} {
		out = append(out,
			status("400-"+typed.name, "400 Bad Request", asJSON, typedError(typed.code, typed.good)),
			status("400-"+typed.name+"-malformed", "400 Bad Request", asJSON, typedError(typed.code, typed.poor)))
	}
	return append(out,
		status("404-method", "404 Not Found", asJSON, typedError(-32601, "null")),
		status("401", "401 Unauthorized", []string{`WWW-Authenticate: Bearer realm="harbour", error="invalid_token"`}, nil),
		status("401-bare", "401 Unauthorized", nil, nil),
		status("401-error", "401 Unauthorized", asJSON, failure("ID")),
		status("401-long-challenge", "401 Unauthorized", []string{"WWW-Authenticate: Bearer realm=\"" + strings.Repeat("x", 64<<10) + `"`}, nil),
		status("403", "403 Forbidden", []string{`WWW-Authenticate: Bearer error="insufficient_scope"`}, nil),
		status("407", "407 Proxy Authentication Required", []string{`Proxy-Authenticate: Basic realm="proxy"`}, nil),
	)
}
