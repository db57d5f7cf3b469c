package importer

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// placeholder stands for a url that cannot be written. The server is not enabled then.
const placeholder = "https://replace-me.invalid/mcp"

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// urlPiece is a stretch of a url behind its host; credential says that it looks like one. name is the parameter of the query
// that it is the value of.
type urlPiece struct {
	text, name string
	credential bool
}

// urlTail takes path and query apart. Joined together, the texts are s. before is what stands in front of s behind the host;
// a parameter that it leaves open goes on in s.
func urlTail(before, s string) []urlPiece {
	var out []urlPiece
	add := func(p urlPiece) {
		if n := len(out); n > 0 && !p.credential && !out[n-1].credential {
			out[n-1].text += p.text
		} else if p.text != "" {
			out = append(out, p)
		}
	}
	query := s
	_, open, inQuery := strings.Cut(before, "?")
	if !inQuery {
		var path string
		path, query, inQuery = strings.Cut(s, "?")
		for i, segment := range strings.Split(path, "/") {
			if i > 0 {
				add(urlPiece{text: "/"})
			}
			add(urlPiece{text: segment, credential: credentialValue(segment)})
		}
		if !inQuery {
			return out
		}
		add(urlPiece{text: "?"})
	}
	open = open[strings.LastIndexByte(open, '&')+1:]
	for i, parameter := range strings.Split(query, "&") {
		if i > 0 {
			add(urlPiece{text: "&"})
			open = ""
		}
		name, _, has := strings.Cut(open+parameter, "=")
		if !has {
			add(urlPiece{text: parameter, credential: credentialValue(parameter)})
			continue
		}
		value := parameter[max(0, len(name)+1-len(open)):]
		if len(name)+1 > len(open) {
			add(urlPiece{text: parameter[:len(parameter)-len(value)]})
		}
		add(urlPiece{text: value, name: name, credential: !harmless(name, value) && (credentialName(name) || credentialValue(value))})
	}
	return out
}

// credentialURL returns what in a url looks like a credential.
func credentialURL(s string) (values []string, found bool) {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		return nil, false
	}
	authority, tail := cutAuthority(rest)
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user := authority[:i]
		if _, password, ok := strings.Cut(user, ":"); ok {
			values = append(values, user, password)
		} else if credentialValue(user) {
			values = append(values, user)
		}
	}
	tail, _, _ = strings.Cut(tail, "#")
	for _, p := range urlTail("", tail) {
		if p.credential {
			values = append(values, p.text)
		}
	}
	return values, len(values) > 0
}

// cutAuthority splits what stands behind "://".
func cutAuthority(rest string) (authority, tail string) {
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[:i], rest[i:]
	}
	return rest, ""
}

// convertURL converts the url of a server. Scheme, host and port are public; in path and query secrets may stand.
func (im *importer) convertURL(s *server) (e expr, private bool) {
	unusable := func(format string, args ...any) (expr, bool) {
		im.disable(s, "import.disabled", say("Its url cannot be written: %s.", say(format, args...)), "")
		return text(placeholder), false
	}
	var head, tail string // the public form so far: up to the end of the host, and behind it
	inTail := false
	for _, p := range split(s.url) {
		if p.ref == nil {
			lit := p.lit
			if !inTail {
				scheme, rest, found := strings.Cut(head+lit, "://")
				if !found {
					head += lit
					e = append(e, piece{lit: lit})
					continue
				}
				authority, behind := cutAuthority(rest)
				if i := strings.LastIndexByte(authority, '@'); i >= 0 {
					if len(e) > 0 {
						return unusable("it has a user name behind a reference")
					}
					im.userInfo(s)
					authority = authority[i+1:]
				}
				whole := scheme + "://" + authority
				if len(e) == 0 {
					e = append(e, piece{lit: whole})
				} else {
					e = append(e, piece{lit: lit[:len(lit)-len(behind)]})
				}
				head, lit = whole, behind
				inTail = behind != ""
			}
			lit, _, cut := strings.Cut(lit, "#")
			for _, stretch := range urlTail(tail, lit) {
				if !stretch.credential {
					tail += stretch.text
					e = append(e, piece{lit: stretch.text})
					continue
				}
				im.keepSecret(stretch.text)
				name := stretch.name
				if name == "" {
					name = "url_secret"
				}
				if s.urlSecrets++; s.urlSecrets > 1 {
					name = fmt.Sprintf("%s_%d", name, s.urlSecrets)
				}
				x := im.secretFor(s, "url parameter", name, say("What stands in the url of %s there, as it is written in a URL.", s.address()))
				im.note(s, "import.changed", "A part of its url looks like a credential and is the variable %s now.", strings.TrimPrefix(x, "var."))
				tail += "x"
				e = append(e, piece{ref: x})
			}
			if cut {
				im.note(s, "import.left_out", "The fragment of its url, which is not sent to a server.")
				break
			}
			continue
		}
		if !inTail {
			x, why := im.publicRef(s, p.ref)
			if why.format != "" {
				return unusable("in scheme, host or port %s", why)
			}
			if p.ref.kind != refEnv || !p.ref.hasDef {
				return unusable("scheme, host or port refer to %s", foreign(p.ref.raw))
			}
			head += p.ref.def
			e = append(e, x)
			if _, rest, found := strings.Cut(head, "://"); found {
				authority, behind := cutAuthority(rest)
				if strings.Contains(authority, "@") {
					return unusable("it has a user name behind a reference")
				}
				if behind != "" {
					head, tail, inTail = strings.TrimSuffix(head, behind), behind, true
				}
			}
			continue
		}
		if p.ref.kind != refEnv && p.ref.kind != refInput {
			return unusable("it refers to %s", foreign(p.ref.raw))
		}
		x, _ := im.secretRef(s, p.ref)
		tail += "x"
		e = append(e, x)
	}
	return im.checkedURL(s, join(e), head, tail, unusable)
}

// checkedURL looks at the public form of a url, with an x for each secret.
func (im *importer) checkedURL(s *server, e expr, head, tail string, unusable func(string, ...any) (expr, bool)) (expr, bool) {
	u, err := url.Parse(head)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return unusable("it is no https or http address")
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		if len(e) == 0 || !strings.HasPrefix(e[0].lit, "http://") {
			return unusable("it is not encrypted")
		}
		e[0].lit = "https://" + e[0].lit[len("http://"):]
		head = "https://" + head[len("http://"):]
		im.disable(s, "import.disabled", say("Its url begins with http://, which mcpcat speaks with this machine only."), "It is written with https://; check that the server has it.")
	}
	private := catalog.PrivateHost(u.Hostname())
	if fault := catalog.URLFault(head+tail, private); fault != "" {
		return unusable("%s", strings.TrimSuffix(fault, "."))
	}
	if im.exposes(e.literals()) {
		return unusable("it holds a value that stands in env or headers, where literals are taken for secrets")
	}
	if private {
		im.note(s, "import.changed", "Its url names this machine or a private network, so egress { allow_private = true } was added.")
	}
	return e, private
}

// userInfo replaces the user information of a url by a header.
func (im *importer) userInfo(s *server) {
	for _, h := range s.headers {
		if strings.EqualFold(h.name, "Authorization") {
			im.note(s, "import.left_out", "The user name and password in its url, because headers has an Authorization too.")
			return
		}
	}
	x := im.secretFor(s, "header", "Authorization", say("The whole header, Basic and the base64 form of USER:PASSWORD."))
	s.http.headers = append(s.http.headers, outPair{"Authorization", ref(x)})
	im.note(s, "import.changed", "The user name and password in its url became the header Authorization, which is the variable %s: Basic and the base64 form of USER:PASSWORD.", strings.TrimPrefix(x, "var."))
}
