package catalog

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

const (
	maxURLBytes    = 2048
	maxHeaders     = 64
	maxHeaderBytes = 8192
)

func (l *loader) readHTTP(b *hclsyntax.Block, w where) *HTTP {
	c := l.contents(b.Body, w, httpBlock)
	h := &HTTP{}
	if tb := c.blocks["tls"]; tb != nil {
		h.TLS = l.readTLS(tb, c.inside("tls"))
	}
	if eb := c.blocks["egress"]; eb != nil {
		l.readEgress(eb, c.inside("egress"), h)
	}
	if a := c.args["url"]; a == nil {
		l.fail("catalog.missing", "Missing argument", c.body.MissingItemRange(), w, "The block needs url.")
	} else if t, ok := l.readURL(a.Expr, w); ok {
		h.URL = t
		if u := l.checkURL(h, a.Expr.Range(), w); u != nil {
			l.checkEncrypted(c, h, u)
			l.checkAllowed(c, h, u)
		}
	}
	h.Headers = l.readHeaders(c)
	if ab := c.blocks["auth"]; ab != nil {
		l.readAuth(ab, c.inside("auth"), h)
	}
	return h
}

// checkEncrypted refuses settings of a connection that is never made for the endpoint u.
func (l *loader) checkEncrypted(c *contents, h *HTTP, u *url.URL) {
	if class, _ := classify(u.Hostname()); h.Proxy != nil && class == hostLoopback {
		l.fail("catalog.proxy", "Proxy for a server on this machine", c.blocks["egress"].Body.Attributes["proxy"].NameRange, c.inside("egress"),
			"url names this machine, to which no proxy is ever asked to connect. Leave out proxy.")
	}
	if b := c.blocks["tls"]; b != nil && u.Scheme == "http" {
		l.fail("catalog.tls", "TLS settings without TLS", header(b), c.w, "url begins with http://, so nothing is encrypted and there is no certificate. Use https://, or leave out the block tls.")
	}
}

// ownedHeaders belong to the protocol, to HTTP, or to proxies; ownedPrefixes begin the names of families of them.
var (
	ownedHeaders = []string{
		"accept", "accept-charset", "accept-encoding", "age", "alt-svc", "cache-control", "connection", "date", "expect",
		"forwarded", "host", "http2-settings", "keep-alive", "last-event-id", "origin", "referer", "te", "trailer",
		"transfer-encoding", "upgrade", "via", "x-real-ip", "x-http-method-override",
	}
	ownedPrefixes = []string{"mcp-", "content-", "proxy-", "sec-", "x-forwarded-", "access-control-", "if-", "x-mcpcat-"}
)

func (l *loader) readHeaders(c *contents) []Header {
	var out []Header
	first := map[string]hcl.Range{}
	for _, e := range c.textMap("headers", maxHeaders, maxHeaderBytes) {
		folded := strings.ToLower(e.key)
		earlier, twice := first[folded]
		if !l.checkHeaderName(e.key, e.keyRange, c.w) {
			continue
		}
		if twice {
			l.fail("catalog.header", "Invalid header", e.keyRange, c.w, "The header %s was already set at %s; case does not matter.", diag.Quote(e.key, 256), place(earlier))
			continue
		}
		first[folded] = e.keyRange
		if !l.checkHeaderValue(e.key, e.value, e.valueRange, c.w) {
			continue
		}
		l.warnLiteral(e, c.w)
		out = append(out, Header{Name: e.key, Value: e.value})
	}
	slices.SortFunc(out, func(a, b Header) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return out
}

func (l *loader) checkHeaderName(name string, r hcl.Range, w where) bool {
	switch {
	case !ValidHeaderName(name):
		l.fail("catalog.header", "Invalid header", r, w, "The name of a header has letters, digits and hyphens (and !#$%%&'*+.^_`|~), at most 256 of them.")
	case OwnedHeader(name):
		l.fail("catalog.header", "Header not allowed", r, w, "The header %s belongs to the protocol, to HTTP or to proxies, and cannot be set.", diag.Quote(name, 256))
	default:
		return true
	}
	return false
}

func (l *loader) checkHeaderValue(name string, value Text, r hcl.Range, w where) bool {
	if validHeaderValue(value.Expose()) {
		return true
	}
	l.fail("catalog.value", "Invalid header value", r, w, "The value of the header %s contains a line end, another control character, a letter that is not ASCII, or a blank at one of its ends. It is not shown.", diag.Quote(name, 256))
	return false
}

// OwnedHeader reports whether a header belongs to the protocol, to HTTP or to proxies, so that no catalog may set it.
func OwnedHeader(name string) bool {
	folded := strings.ToLower(name)
	return slices.Contains(ownedHeaders, folded) || slices.ContainsFunc(ownedPrefixes, func(p string) bool { return strings.HasPrefix(folded, p) })
}

// ValidHeaderName reports whether a catalog may name a header so.
func ValidHeaderName(s string) bool {
	if s == "" || len(s) > 256 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return true
}

func validHeaderValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c > '~' {
			return false
		}
	}
	return strings.Trim(s, " \t") == s
}
