package catalog

import (
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
)

// readURL evaluates url.
func (l *loader) readURL(e hclsyntax.Expression, w where) (Template, bool) {
	return l.readTemplate(e, "url", "in its path and query only: write \"https://host/path/${…}\"", w)
}

// readTemplate evaluates the argument name, a URL that may have secrets at the places that hint names. One with secrets
// must be written as a template, so that its public parts are known.
func (l *loader) readTemplate(e hclsyntax.Expression, name, hint string, w where) (Template, bool) {
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
		text, ok := l.mayBeSecret(e, name, maxURLBytes, w)
		return Template{text}, ok
	}
	if !isTemplate {
		l.fail("catalog.secret_place", "Secret not allowed here", e.Range(), w,
			"%s refers to %s as a whole. A secret may stand %s.", name, u.secrets[0], hint)
		return nil, false
	}
	var out Template
	for _, part := range t.Parts {
		pu := l.uses(part, w, false)
		if pu.secret() {
			x, ok := l.mayBeSecret(part, name, maxURLBytes, w)
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
			l.fail("catalog.type", "Wrong type", part.Range(), w, "A part of %s is %s, want a text.", name, typeName(v))
			return nil, false
		}
		if !l.checkPlain(name, asString(s), maxURLBytes, part.Range(), w) {
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

// checkURL checks the rules for endpoints and returns the URL with an x for each secret, nil after an error. Messages never
// hold the URL: it may be a credential pasted into the wrong argument.
func (l *loader) checkURL(h *HTTP, r hcl.Range, w where) *url.URL {
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
			l.fail("catalog.secret_place", "Secret not allowed here", r, w, "Scheme, host and port of url must be public; %s stands in them.", shownRef(p))
			return nil
		}
		if v := p.Expose(); !l.missing(p) && !urlPiece(v, strings.Contains(rest, "?")) {
			fail("endpoint.url", "The value of %s does not fit into a URL: it is empty, is \".\" or \"..\", or has characters that must be written %%XX. Use urlencode(). It is not shown.", shownRef(p))
			return nil
		}
		public.WriteByte('x')
	}
	s := public.String()
	if len(s) > maxURLBytes {
		fail("endpoint.url", "url has more than %d bytes.", maxURLBytes)
		return nil
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\\\"<>^`{|}", r) }) {
		fail("endpoint.url", "url contains a blank or a character that must be written %%XX; a host with other letters is written in its ASCII form (xn--).")
		return nil
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
	case l.checkHost(u, h.AllowPrivate, r, w):
		return u
	}
	return nil
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
func (l *loader) checkHost(u *url.URL, allowPrivate bool, r hcl.Range, w where) bool {
	fail := func(code, format string, args ...any) { l.fail(code, "Invalid endpoint URL", r, w, format, args...) }
	host := u.Hostname()
	if p := u.Port(); strings.HasSuffix(u.Host, ":") || p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 || strings.HasPrefix(p, "0") {
			fail("endpoint.url", "The port of url must be a number from 1 to 65535.")
			return false
		}
	}
	class, ok := classify(host)
	if !ok {
		fail("endpoint.url", "The host of url must be a name of letters, digits, hyphens and dots, or an IP address in its usual form.")
		return false
	}
	if u.Scheme == "http" && class != hostLoopback {
		l.fail("endpoint.plaintext", "Endpoint without encryption", r, w, "http:// is allowed for a server on this machine only (localhost, 127.0.0.0/8, ::1). Use https://.")
		return false
	}
	switch {
	default:
		return true
	case class == hostInvalid:
		fail("endpoint.url", "The host of url is an address that no server can have.")
	case class != hostPublic && !allowPrivate:
		l.fail("endpoint.private", "Private endpoint", r, w, "The host of url is this machine or lies in a private network. Say that this is meant:\n\n    egress {\n      allow_private = true\n    }")
	}
	return false
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
