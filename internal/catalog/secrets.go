package catalog

import (
	"net/url"
	"strings"
	"sync"

	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// Secrets returns every secret value of the block, for a secret.Redactor: of the URL, the headers, auth, the proxy and env as
// they are sent, what follows the scheme of a credential, the values of the catalog that they are made of, and what Learn was
// given. A private key is not among them: no server is given one.
func (s *Server) Secrets() []secret.String {
	values := append(s.blockSecrets(), s.learned()...)
	for _, v := range values {
		if _, credential, ok := strings.Cut(v.Expose(), " "); ok {
			values = append(values, secret.New(strings.TrimLeft(credential, " "), v.Ref()))
		}
	}
	return append(values, s.parts...)
}

// Learn adds a secret that the server is given and that the catalog does not have: a token that auth { command } has printed.
// The newest 64 count.
func (s *Server) Learn(v secret.String) {
	if s.HTTP != nil && s.HTTP.tokens != nil {
		s.HTTP.tokens.Add(v)
	}
}

func (s *Server) learned() []secret.String {
	if s.HTTP == nil || s.HTTP.tokens == nil {
		return nil
	}
	return s.HTTP.tokens.Values()
}

// OnSecret has f called after each secret that a server learns, before the server is given it.
func (c *Catalog) OnSecret(f func()) {
	for _, s := range c.Servers {
		if s.HTTP != nil && s.HTTP.tokens != nil {
			s.HTTP.tokens.Tell(f)
		}
	}
}

func (s *Server) blockSecrets() []secret.String {
	var values []secret.String
	add := func(t Text) {
		if t.Secret() {
			values = append(values, t.sec)
		}
	}
	if h := s.HTTP; h != nil {
		for _, t := range h.URL {
			add(t)
		}
		for _, x := range h.Headers {
			add(x.Value)
		}
		if h.Bearer != nil {
			values = append(values, *h.Bearer)
		}
		if h.AuthHeader != nil {
			add(h.AuthHeader.Value)
		}
		if h.OAuth != nil && h.OAuth.ClientSecret != nil {
			values = append(values, *h.OAuth.ClientSecret)
		}
		if h.Proxy != nil {
			for _, t := range h.Proxy.URL {
				add(t)
			}
			values = append(values, h.Proxy.given...)
		}
	}
	if c := s.Stdio; c != nil {
		for _, x := range c.Env {
			add(x.Value)
		}
	}
	return values
}

// setParts remembers which of the catalog's secrets stand within those of the block: as they are, as the token does in a
// header "Token ${var.token}", or in another spelling, as the key does in a URL that holds urlencode(var.key). The server
// is given both. It also sees what the secrets of its URL stand for, and may repeat that.
func (s *Server) setParts(all []searched) {
	s.parts = nil
	if s.HTTP != nil {
		s.parts = s.HTTP.decoded()
	}
	for _, x := range all {
		for _, v := range s.blockSecrets() {
			if x.in(v.Expose()) {
				s.parts = append(s.parts, x.String)
				break
			}
		}
	}
}

// searched is a secret with the spellings in which it may stand in another one, which are worked out when they are needed:
// most secrets stand in no other.
type searched struct {
	secret.String
	spellings func() *secret.Redactor
}

func search(all []secret.String) []searched {
	var out []searched
	for _, x := range all {
		if len(x.Expose()) >= secret.MinRedacted {
			out = append(out, searched{x, sync.OnceValue(func() *secret.Redactor { return secret.NewRedactor(x) })})
		}
	}
	return out
}

// in reports whether the secret is a part of whole, and not all of it.
func (x searched) in(whole string) bool {
	part := x.Expose()
	switch {
	case whole == part:
		return false
	case strings.Contains(whole, part):
		return true
	}
	// No other spelling is shorter, and of equal length is that of a blank in a query alone.
	return (len(whole) > len(part) || strings.Contains(whole, "+")) && x.spellings().Holds([]byte(whole))
}

// decoded are the values for which secrets of the URL stand, where they are others than those written.
func (h *HTTP) decoded() []secret.String {
	var values []secret.String
	for _, t := range h.URL {
		if !t.Secret() {
			continue
		}
		written := t.Expose()
		for _, unescape := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
			if v, err := unescape(written); err == nil && v != written {
				values = append(values, secret.New(v, t.Ref()))
			}
		}
	}
	return values
}
