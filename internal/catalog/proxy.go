package catalog

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// Proxy says by which HTTP proxy connections to an https endpoint are made, with CONNECT (RFC 9110, section 9.3.6). It is
// either that of the environment or URL.
type Proxy struct {
	// Environment leaves it to HTTPS_PROXY and NO_PROXY; see ProxyVariables.
	Environment bool
	// URL is http://[USER[:PASSWORD]@]HOST:PORT. Its password is secret.
	URL Template

	given []secret.String // the credentials that the proxy is given, without %XX
}

const environment = "environment"

// readProxy reads egress { proxy }; nil if it is absent, or after an error.
func (l *loader) readProxy(c *contents) *Proxy {
	a := c.args["proxy"]
	if a == nil {
		return nil
	}
	u := l.uses(a.Expr, c.w, false)
	if !u.ok {
		return nil
	}
	p := &Proxy{}
	if u.secret() {
		t, ok := l.readTemplate(a.Expr, "proxy", "in its user information only: write \"http://user:${…}@host:port\"", c.w)
		if !ok {
			return nil
		}
		p.URL = t
	} else {
		text, ok := c.text("proxy", maxURLBytes)
		if !ok {
			return nil
		}
		if text == environment {
			p.Environment = true
			p.given = environmentCredentials(l.lookup)
			l.secrets = append(l.secrets, p.given...)
			return p
		}
		p.URL = Template{PlainText(text)}
	}
	if !l.checkProxy(p, a.Expr.Range(), c.w) {
		return nil
	}
	if u, err := url.Parse(p.URL.Expose()); err == nil && u.User != nil && p.URL.Secret() {
		ref := p.URL[slices.IndexFunc(p.URL, Text.Secret)].Ref()
		p.given = credentials(u.User, ref)
		l.secrets = append(l.secrets, p.given...)
	}
	return p
}

// checkProxy checks the rules for the URL of a proxy. Messages never hold it, since it may have a password in it.
func (l *loader) checkProxy(p *Proxy, r hcl.Range, w where) bool {
	fail := func(code, summary, format string, args ...any) bool {
		l.fail(code, summary, r, w, format, args...)
		return false
	}
	invalid := func(format string, args ...any) bool {
		return fail("catalog.proxy", "Invalid proxy", format, args...)
	}
	// Secrets stand as one harmless character, so that what is judged is the public part.
	var public strings.Builder
	secrets := map[int]Text{}
	for _, t := range p.URL {
		if !t.Secret() {
			public.WriteString(t.plain)
			continue
		}
		secrets[public.Len()] = t
		public.WriteByte('x')
	}
	s := public.String()
	const want = "want \"environment\", or \"http://host:port\""
	scheme, rest, isURL := strings.Cut(s, "://")
	begin := len(scheme) + len("://")
	end := begin + strings.LastIndexByte(authority(rest), '@')
	for at, t := range secrets {
		if !isURL || at < begin || at >= end {
			return fail("catalog.secret_place", "Secret not allowed here", "Of the URL of a proxy only user name and password may be secret; %s stands elsewhere in proxy.", shownRef(t))
		}
		if !l.missing(t) && !userInfo(t.Expose()) {
			return invalid("The value of %s does not fit into a URL: it is empty, or has characters that must be written %%XX. Use urlencode(). It is not shown.", shownRef(t))
		}
	}
	if !isURL {
		hint := ""
		if nearest(strings.ToLower(s), []string{environment}) != "" {
			hint = " Did you mean \"environment\"?"
		}
		return invalid("proxy is no URL, %s.%s", want, hint)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\\\"<>^`{|}", r) }) {
		return invalid("proxy contains a blank or a character that must be written %%XX.")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return invalid("proxy is no URL, %s.", want)
	case u.Scheme == "https":
		return invalid("Proxies that are spoken to over https:// are not supported, %s. The connection to the server is encrypted through an http:// proxy, too.", want)
	case strings.HasPrefix(u.Scheme, "socks"):
		return invalid("SOCKS proxies are not supported, %s: a proxy that understands CONNECT.", want)
	case u.Scheme != "http" || !strings.HasPrefix(s, "http://"):
		return invalid("The scheme of proxy is not supported, %s.", want)
	case strings.Count(authority(rest), "@") > 1:
		return invalid("proxy has \"@\" more than once: within user name and password it is written %%40.")
	case u.Path != "" && u.Path != "/" || strings.ContainsAny(s, "?#"):
		return invalid("The URL of a proxy ends behind its port, %s.", want)
	}
	if class, ok := classify(u.Hostname()); !ok || class == hostInvalid {
		return invalid("The host of proxy must be a name of letters, digits, hyphens and dots, or an IP address in its usual form.")
	}
	if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 || strings.HasPrefix(u.Port(), "0") {
		return invalid("The URL of a proxy names its port, a number from 1 to 65535: \"http://host:port\".")
	}
	if colon := begin + strings.IndexByte(rest, ':'); u.User != nil && colon < end {
		plain := true
		for at := range secrets {
			plain = plain && at < colon
		}
		if plain {
			return fail("catalog.secret_needed", "Password in the catalog", "The password of a proxy must refer to a secret: a variable with sensitive = true, or env(\"NAME\"), as in \"http://user:${…}@host:port\". A password written into the catalog is known to everybody who reads it.")
		}
	}
	return true
}

// authority is the part of a URL behind "://" that holds user information, host and port.
func authority(s string) string {
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		return s[:i]
	}
	return s
}

// userInfo reports whether a secret may stand in the user information of a URL. A secret may be name and password in one.
func userInfo(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~!$&'()*+,;=:", c) >= 0:
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
		default:
			return false
		}
	}
	return s != ""
}

// credentials are what the user information of a proxy gives away: the password, or a name that stands for one.
func credentials(u *url.Userinfo, ref string) []secret.String {
	if password, ok := u.Password(); ok && password != "" {
		return []secret.String{secret.New(password, ref)}
	}
	return []secret.String{secret.New(u.Username(), ref)}
}

// ProxyVariables returns what the environment says about proxies for https: the value of HTTPS_PROXY and that of NO_PROXY,
// each in lower case if it is empty in upper case. Nil is an empty environment.
func ProxyVariables(lookup func(string) (string, bool)) (proxy, except string) {
	get := func(names ...string) string {
		for _, name := range names {
			if lookup == nil {
				break
			}
			if v, ok := lookup(name); ok && v != "" {
				return v
			}
		}
		return ""
	}
	return get("HTTPS_PROXY", "https_proxy"), get("NO_PROXY", "no_proxy")
}

// ParseProxy reads the value of HTTPS_PROXY: a URL, or host and port alone. The error does not repeat the text.
func ParseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(withScheme(text))
	switch {
	case err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("HTTPS_PROXY is not the URL of a proxy, want http://host:port")
	case u.Scheme != "http":
		return nil, errors.New("HTTPS_PROXY names a kind of proxy that is not supported, want http://host:port")
	}
	return u, nil
}

// withScheme is a proxy as a URL: many write host and port alone.
func withScheme(text string) string {
	if strings.Contains(text, "://") {
		return text
	}
	return "http://" + text
}

// environmentCredentials are those of the proxy that the environment names. Of a value that is no URL everything before
// the last "@" counts.
func environmentCredentials(lookup func(string) (string, bool)) []secret.String {
	const ref = "HTTPS_PROXY"
	text, _ := ProxyVariables(lookup)
	u, err := url.Parse(withScheme(text))
	switch {
	case err == nil && u.User != nil:
		return credentials(u.User, ref)
	case err != nil:
		if i := strings.LastIndexByte(text, '@'); i >= 0 {
			user := text[:i]
			if _, rest, ok := strings.Cut(user, "://"); ok {
				user = rest
			}
			_, password, ok := strings.Cut(user, ":")
			if !ok {
				password = user
			}
			return []secret.String{secret.New(password, ref)}
		}
	}
	return nil
}
