package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/mcpheader"
)

// Header values that are the same for every request. The transport does not write to them.
var (
	valueJSON     = []string{"application/json"}
	valueAccept   = []string{"application/json, text/event-stream"}
	valueIdentity = []string{"identity"}
	valueVersion  = []string{ProtocolVersion}
	valueAgent    = []string{"mcpcat"}
)

// header returns the header of a request: what the configuration and Authorize add, and then what the protocol owns.
func (h *HTTP) header(ctx context.Context, c *Call) (http.Header, error) {
	header := make(http.Header, 8+len(h.static)+len(c.Params))
	header["User-Agent"] = valueAgent
	for name, values := range h.static {
		header[name] = values
	}
	if h.authorize != nil {
		own := http.Header{}
		if err := h.authorize(ctx, own); err != nil {
			return nil, fmt.Errorf("authorize: %w", err)
		}
		checked, err := checkHeader(own)
		if err != nil {
			return nil, err
		}
		for name, values := range checked {
			header[name] = values
		}
	}
	if !safeValue(c.Method) || c.Method == "" {
		return nil, errors.New("method is not a header value")
	}
	header["Content-Type"] = valueJSON
	header["Accept"] = valueAccept
	header["Accept-Encoding"] = valueIdentity
	header["MCP-Protocol-Version"] = valueVersion
	header["Mcp-Method"] = []string{c.Method}
	if c.HasName {
		header["Mcp-Name"] = []string{mcpheader.Encode(c.Name)}
	}
	for _, p := range c.Params {
		if len(p.Name) <= len(paramPrefix) || !strings.EqualFold(p.Name[:len(paramPrefix)], paramPrefix) || !token(p.Name) || !safeValue(p.Value) {
			return nil, fmt.Errorf("parameter header %q is not one", p.Name)
		}
		header[p.Name] = []string{p.Value}
	}
	return header, nil
}

const paramPrefix = "Mcp-Param-"

// owned are the headers, besides those with an ownedPrefix, that the protocol, HTTP and proxies between use: a
// configured header of that name would change what a request is. The last two would make net/http send it again.
var owned = map[string]bool{
	"Connection": true, "Date": true, "Expect": true, "Forwarded": true, "Host": true, "Http2-Settings": true, "Keep-Alive": true,
	"Last-Event-Id": true, "Range": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "Via": true,
	"Idempotency-Key": true, "X-Idempotency-Key": true,
}

var ownedPrefixes = []string{"Mcp-", "Accept", "Content-", "Proxy-", "If-"}

// checkHeader returns a copy of header with canonical names, or says which field may not be sent. It never says a value.
func checkHeader(header http.Header) (http.Header, error) {
	checked := make(http.Header, len(header))
	for name, values := range header {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !token(name):
			return nil, fmt.Errorf("header %q: not a header name", name)
		case owned[canonical]:
			return nil, fmt.Errorf("header %q: belongs to the protocol and cannot be set", name)
		case checked[canonical] != nil:
			return nil, fmt.Errorf("header %q: set in two spellings", name)
		}
		for _, p := range ownedPrefixes {
			if strings.HasPrefix(canonical, p) {
				return nil, fmt.Errorf("header %q: belongs to the protocol and cannot be set", name)
			}
		}
		if len(values) == 0 {
			continue
		}
		for _, v := range values {
			if err := checkValue(v); err != nil {
				return nil, fmt.Errorf("header %q: %w", name, err)
			}
		}
		checked[canonical] = append([]string{}, values...)
	}
	return checked, nil
}

func checkValue(v string) error {
	switch {
	case v == "":
		return errors.New("the value is empty")
	case strings.Trim(v, " \t") == "", !safeValue(v):
		return errors.New("the value has a line end or another byte that no header may have")
	case strings.Trim(v, " \t") != v:
		return errors.New("the value begins or ends with white space")
	}
	return nil
}

// safeValue reports whether v can be sent: no control bytes except tabs.
func safeValue(v string) bool {
	for i := range len(v) {
		if c := v[i]; (c < 0x20 && c != '\t') || c == 0x7F {
			return false
		}
	}
	return true
}

// token reports whether s is a header name (RFC 9110, token).
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// redact takes what was sent in the configured headers out of text that comes back: whole values, and what follows the
// scheme of a credential. Values under six bytes are too common to look for.
func redact(text []byte, header http.Header, static http.Header, params []Header) []byte {
	out := string(text)
	hide := func(v string) {
		if len(v) >= 6 {
			out = strings.ReplaceAll(out, v, "(sensitive)")
		}
	}
	for name, values := range header {
		if _, configured := static[name]; !configured && protocolHeader(name, params) {
			continue
		}
		for _, v := range values {
			hide(v)
			if _, rest, ok := strings.Cut(v, " "); ok {
				hide(strings.TrimLeft(rest, " "))
			}
		}
	}
	return []byte(out)
}

// protocolHeader reports whether this package has set the header by itself.
func protocolHeader(name string, params []Header) bool {
	switch name {
	case "User-Agent", "Content-Type", "Accept", "Accept-Encoding", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name":
		return true
	}
	for _, p := range params {
		if p.Name == name {
			return true
		}
	}
	return false
}
