package catalog

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

const (
	maxURLBytes    = 2048
	maxHeaders     = 64
	maxHeaderBytes = 8192
)

func (l *loader) readHTTP(b *hclsyntax.Block, w where) *HTTP {
	c := l.contents(b.Body, w, grammar{args: []string{"url", "headers"}, blocks: []string{"auth", "egress"}, later: []string{"tls"}})
	h := &HTTP{}
	if eb := c.blocks["egress"]; eb != nil {
		ec := l.contents(eb.Body, c.inside("egress"), grammar{args: []string{"allow_private"}, later: []string{"allow_hosts", "redirects", "proxy"}})
		h.AllowPrivate = ec.boolean("allow_private", false)
	}
	if a := c.args["url"]; a == nil {
		l.fail("catalog.missing", "Missing argument", c.body.MissingItemRange(), w, "The block needs url.")
	} else if t, ok := l.readURL(a.Expr, w); ok {
		h.URL = t
		l.checkURL(h, a.Expr.Range(), w)
	}
	h.Headers = l.readHeaders(c)
	if ab := c.blocks["auth"]; ab != nil {
		l.readAuth(ab, c.inside("auth"), h)
	}
	return h
}

func (l *loader) readAuth(b *hclsyntax.Block, w where, h *HTTP) {
	c := l.contents(b.Body, w, grammar{args: []string{"bearer"}, later: []string{"header", "value", "command", "oauth"}})
	a := c.args["bearer"]
	if a == nil {
		if len(b.Body.Attributes)+len(b.Body.Blocks) == 0 {
			l.fail("catalog.missing", "Missing argument", header(b), w, "An auth block needs bearer.")
		}
		return
	}
	t, ok := l.mayBeSecret(a.Expr, "bearer", maxHeaderBytes, w)
	if !ok {
		return
	}
	r := a.Expr.Range()
	if !t.Secret() {
		l.fail("catalog.secret_needed", "Token in the catalog", r, w,
			"bearer must refer to a secret: a variable with sensitive = true, or env(\"NAME\"). A token written into the catalog is known to everybody who reads it.")
		return
	}
	if v := t.Expose(); !l.missing(t) && (v == "" || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' })) {
		l.fail("catalog.value", "Invalid token", r, w, "The value of %s is empty, or contains a blank, a line end or another character that a bearer token cannot have. It is not shown.", diag.Escape(t.Ref()))
		return
	}
	for _, x := range h.Headers {
		if strings.EqualFold(x.Name, "Authorization") {
			l.fail("catalog.header", "Two authorisations", r, w, "headers sets Authorization, and so does bearer. Keep one of the two.")
		}
	}
	sec := t.sec
	h.Bearer = &sec
}

// missing reports whether a secret has no value because Options allow that.
func (l *loader) missing(t Text) bool {
	return t.Secret() && t.Expose() == "" && (l.opts.AllowMissingSecrets || l.opts.Planned != nil)
}

// readURL evaluates url. One with secrets must be a template, so that its public parts are known.
func (l *loader) readURL(e hclsyntax.Expression, w where) (Template, bool) {
	u := l.uses(e, w, false)
	if !u.ok {
		return nil, false
	}
	inner := e
	for {
		p, ok := inner.(*hclsyntax.ParenthesesExpr)
		if !ok {
			break
		}
		inner = p.Expression
	}
	t, isTemplate := inner.(*hclsyntax.TemplateExpr)
	if !u.secret() {
		text, ok := l.mayBeSecret(e, "url", maxURLBytes, w)
		return Template{text}, ok
	}
	if !isTemplate {
		l.fail("catalog.secret_place", "Secret not allowed here", e.Range(), w,
			"url refers to %s as a whole. A secret may stand in its path and query only: write \"https://host/path/${…}\".", u.secrets[0])
		return nil, false
	}
	var out Template
	for _, part := range t.Parts {
		pu := l.uses(part, w, false)
		if pu.secret() {
			x, ok := l.mayBeSecret(part, "url", maxURLBytes, w)
			if !ok {
				return nil, false
			}
			out = append(out, x)
			continue
		}
		v, ok := l.evalUsing(part, w, pu)
		if !ok {
			return nil, false
		}
		s, err := convert.Convert(v, cty.String)
		if err != nil || s.IsNull() {
			l.fail("catalog.type", "Wrong type", part.Range(), w, "A part of url is %s, want a text.", typeName(v))
			return nil, false
		}
		if !l.checkPlain("url", asString(s), maxURLBytes, part.Range(), w) {
			return nil, false
		}
		if n := len(out); n > 0 && !out[n-1].Secret() {
			out[n-1].plain += asString(s)
		} else {
			out = append(out, PlainText(asString(s)))
		}
	}
	return out, true
}

// checkURL checks the rules for endpoints. Messages never hold the URL: it may be a credential pasted into the wrong
// argument.
func (l *loader) checkURL(h *HTTP, r hcl.Range, w where) {
	fail := func(code, format string, args ...any) { l.fail(code, "Invalid endpoint URL", r, w, format, args...) }
	// Secrets stand as one harmless character, so that what is judged is the public part.
	var public strings.Builder
	for _, p := range h.URL {
		if !p.Secret() {
			public.WriteString(p.plain)
			continue
		}
		before := public.String()
		_, rest, found := strings.Cut(before, "://")
		if !found || !strings.ContainsAny(rest, "/?") {
			l.fail("catalog.secret_place", "Secret not allowed here", r, w, "Scheme, host and port of url must be public; %s stands in them.", diag.Escape(p.Ref()))
			return
		}
		if v := p.Expose(); !l.missing(p) && !urlPiece(v, strings.Contains(rest, "?")) {
			fail("endpoint.url", "The value of %s does not fit into a URL: it is empty, is \".\" or \"..\", or has characters that must be written %%XX. Use urlencode(). It is not shown.", diag.Escape(p.Ref()))
			return
		}
		public.WriteByte('x')
	}
	s := public.String()
	if len(s) > maxURLBytes {
		fail("endpoint.url", "url has more than %d bytes.", maxURLBytes)
		return
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\\\"<>^`{|}", r) }) {
		fail("endpoint.url", "url contains a blank or a character that must be written %%XX; a host with other letters is written in its ASCII form (xn--).")
		return
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		fail("endpoint.url", "url is not a URL.")
	case u.Scheme != "https" && u.Scheme != "http" || !strings.HasPrefix(s, u.Scheme+"://"):
		fail("endpoint.url", "url must begin with https://, or http:// for a server on this machine.")
	case u.User != nil || strings.Contains(u.Host, "@"):
		fail("endpoint.url", "url may not contain user information. Use auth { bearer } or headers.")
	case strings.Contains(s, "#"):
		fail("endpoint.url", "url may not have a fragment.")
	case dotSegment(u.Path):
		fail("endpoint.url", "The path of url may not have the segments \".\" and \"..\".")
	default:
		l.checkHost(u, h.AllowPrivate, r, w)
	}
}

// dotSegment reports whether a decoded path has a segment that programs on the way would resolve.
func dotSegment(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
}

// urlPiece reports whether a secret may stand in a path segment or in the query.
func urlPiece(s string, query bool) bool {
	if s == "" || s == "." || s == ".." {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~!$'()*+,;=:@", c) >= 0:
		case query && (c == '/' || c == '?' || c == '&'):
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
		default:
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// checkHost checks host and port, and that the address class is one that the block allows. Names are looked up when
// the server is dialled, and checked again then.
func (l *loader) checkHost(u *url.URL, allowPrivate bool, r hcl.Range, w where) {
	fail := func(code, format string, args ...any) { l.fail(code, "Invalid endpoint URL", r, w, format, args...) }
	host := u.Hostname()
	if p := u.Port(); strings.HasSuffix(u.Host, ":") || p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 || strings.HasPrefix(p, "0") {
			fail("endpoint.url", "The port of url must be a number from 1 to 65535.")
			return
		}
	}
	class, ok := classify(host)
	if !ok {
		fail("endpoint.url", "The host of url must be a name of letters, digits, hyphens and dots, or an IP address in its usual form.")
		return
	}
	if u.Scheme == "http" && class != hostLoopback {
		l.fail("endpoint.plaintext", "Endpoint without encryption", r, w, "http:// is allowed for a server on this machine only (localhost, 127.0.0.0/8, ::1). Use https://.")
		return
	}
	switch {
	case class == hostInvalid:
		fail("endpoint.url", "The host of url is an address that no server can have.")
	case class != hostPublic && !allowPrivate:
		l.fail("endpoint.private", "Private endpoint", r, w, "The host of url is this machine or lies in a private network. Say that this is meant:\n\n    egress {\n      allow_private = true\n    }")
	}
}

type hostClass int

const (
	hostPublic   hostClass = iota
	hostLoopback           // this machine
	hostPrivate            // private, shared, link-local or documentation use
	hostInvalid            // unspecified or multicast
)

var (
	hostLabel  = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	numberLike = regexp.MustCompile(`^(0[xX][0-9A-Fa-f]*|[0-9]+)$`)
	nonGlobal  = []netip.Prefix{
		netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
		netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("64:ff9b::/96"),
		netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("fec0::/10"),
	}
)

// classify tells what a literal host is. ok is false for what is neither a host name nor an IP address in canonical
// form; spellings such as 127.1 or 0x7f.0.0.1, which some resolvers accept, are not.
func classify(host string) (hostClass, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return hostInvalid, false
		}
		return classifyAddr(a.Unmap()), true
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || len(name) > 253 {
		return hostInvalid, false
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !hostLabel.MatchString(label) {
			return hostInvalid, false
		}
	}
	switch last := labels[len(labels)-1]; {
	case numberLike.MatchString(last):
		return hostInvalid, false
	case last == "localhost":
		return hostLoopback, true
	case last == "local" || last == "internal":
		return hostPrivate, true
	}
	return hostPublic, true
}

func classifyAddr(a netip.Addr) hostClass {
	switch {
	case a.IsUnspecified(), a.IsMulticast():
		return hostInvalid
	case a.IsLoopback():
		return hostLoopback
	case a.IsPrivate(), a.IsLinkLocalUnicast(), slices.ContainsFunc(nonGlobal, func(p netip.Prefix) bool { return p.Contains(a) }):
		return hostPrivate
	}
	return hostPublic
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
		switch {
		case !validHeaderName(e.key):
			l.fail("catalog.header", "Invalid header", e.keyRange, c.w, "The name of a header has letters, digits and hyphens (and !#$%%&'*+.^_`|~), at most 256 of them.")
			continue
		case twice:
			l.fail("catalog.header", "Invalid header", e.keyRange, c.w, "The header %s was already set at %s; case does not matter.", diag.Quote(e.key, 256), place(earlier))
			continue
		case slices.Contains(ownedHeaders, folded) || slices.ContainsFunc(ownedPrefixes, func(p string) bool { return strings.HasPrefix(folded, p) }):
			l.fail("catalog.header", "Header not allowed", e.keyRange, c.w, "The header %s belongs to the protocol, to HTTP or to proxies, and cannot be set.", diag.Quote(e.key, 256))
			continue
		}
		first[folded] = e.keyRange
		if v := e.value.Expose(); !validHeaderValue(v) {
			l.fail("catalog.value", "Invalid header value", e.valueRange, c.w, "The value of the header %s contains a line end, another control character, a letter that is not ASCII, or a blank at one of its ends. It is not shown.", diag.Quote(e.key, 256))
			continue
		}
		l.warnLiteral(e, c.w)
		out = append(out, Header{Name: e.key, Value: e.value})
	}
	slices.SortFunc(out, func(a, b Header) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return out
}

func validHeaderName(s string) bool {
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

var (
	secretName  = regexp.MustCompile(`(?i)(authorization|token|secret|passw|api[-_]?key|cookie|credential|private[-_]?key)`)
	secretValue = regexp.MustCompile(`(?i)^((bearer|basic|token)\s+\S{6,}|(ghp_|gho_|ghs_|github_pat_|glpat-|sk-|xox[abpr]-|AKIA|eyJ)\S{10,})`)
)

// warnLiteral warns about a value that stands in the catalog and looks like a credential. It does not show the line.
func (l *loader) warnLiteral(e mapEntry, w where) {
	v := e.value.plain
	if e.value.Secret() || !secretValue.MatchString(v) && (!secretName.MatchString(e.key) || len(v) < 6) {
		return
	}
	l.warn("catalog.literal_credential", "Credential in the catalog", e.keyRange, w,
		"The value of %s looks like a credential and stands in the catalog, where everybody reads it. Use a variable with sensitive = true, or env(\"NAME\").", diag.Quote(e.key, 256))
}

// mapEntry is one entry of a map argument whose values may be secret.
type mapEntry struct {
	key                  string
	value                Text
	keyRange, valueRange hcl.Range
}

// textMap reads a map from texts to texts in source order. A map that is written out may have secret values, each for
// itself; a map that is computed may not, because its keys could not be told apart from its secrets.
func (c *contents) textMap(name string, maxCount, maxBytes int) []mapEntry {
	a := c.args[name]
	if a == nil {
		return nil
	}
	var out []mapEntry
	if o, ok := a.Expr.(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range o.Items {
			if e, ok := c.mapItem(name, item, maxBytes); ok {
				out = append(out, e)
			}
		}
	} else {
		out = c.computedMap(name, a, maxBytes)
	}
	if len(out) > maxCount {
		c.l.fail("catalog.limit", "Map too large", a.Expr.Range(), c.w, "%s has %d entries, at most %d are allowed.", name, len(out), maxCount)
		return nil
	}
	return out
}

func (c *contents) mapItem(name string, item hclsyntax.ObjectConsItem, maxBytes int) (mapEntry, bool) {
	e := mapEntry{keyRange: item.KeyExpr.Range(), valueRange: item.ValueExpr.Range()}
	k, u, ok := c.l.eval(item.KeyExpr, c.w, false)
	if !ok || !c.l.public("A key of "+name, e.keyRange, c.w, u) {
		return e, false
	}
	if k.IsNull() || k.Type() != cty.String {
		c.wrongType("a key of "+name, e.keyRange, k, "a text")
		return e, false
	}
	e.key = asString(k)
	if !c.l.checkPlain("a key of "+name, e.key, 1024, e.keyRange, c.w) {
		return e, false
	}
	e.value, ok = c.l.mayBeSecret(item.ValueExpr, fmt.Sprintf("%s[%s]", name, diag.Quote(e.key, 64)), maxBytes, c.w)
	return e, ok
}

func (c *contents) computedMap(name string, a *hclsyntax.Attribute, maxBytes int) []mapEntry {
	r := a.Expr.Range()
	v, u, ok := c.l.eval(a.Expr, c.w, false)
	if !ok {
		return nil
	}
	if u.secret() {
		c.l.fail("catalog.secret_place", "Secret not allowed here", r, c.w, "%s is computed and refers to %s. Write the map out, %s = { NAME = … }, so that each value is a secret or not.", name, u.secrets[0], name)
		return nil
	}
	if v.IsNull() {
		return nil
	}
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		c.wrongType(name, r, v, "a map of texts")
		return nil
	}
	var out []mapEntry
	for it := v.ElementIterator(); it.Next(); {
		k, x := it.Element()
		e := mapEntry{key: asString(k), keyRange: r, valueRange: r}
		what := fmt.Sprintf("%s[%s]", name, diag.Quote(e.key, 64))
		if x.IsNull() || x.Type() != cty.String {
			c.wrongType(what, r, x, "a text")
			continue
		}
		e.value = PlainText(asString(x))
		if c.l.checkPlain("a key of "+name, e.key, 1024, r, c.w) && c.l.checkPlain(what, asString(x), maxBytes, r, c.w) {
			out = append(out, e)
		}
	}
	return out
}
