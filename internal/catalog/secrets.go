package catalog

import (
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// Secrets returns every secret value of the block, for a secret.Redactor: of the URL, the headers, auth, the proxy and env as
// they are sent, what follows the scheme of a credential, and the values of the catalog that they are made of. A private key is
// not among them: no server is given one.
func (s *Server) Secrets() []secret.String {
	values := s.blockSecrets()
	for _, v := range values {
		if _, credential, ok := strings.Cut(v.Expose(), " "); ok {
			values = append(values, secret.New(strings.TrimLeft(credential, " "), v.Ref()))
		}
	}
	return append(values, s.parts...)
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

// setParts remembers which of the catalog's secrets stand within those of the block, as the token does in a header
// "Token ${var.token}".
func (s *Server) setParts(all []secret.String) {
	s.parts = nil
	for _, x := range all {
		part := x.Expose()
		if len(part) < secret.MinRedacted {
			continue
		}
		for _, v := range s.blockSecrets() {
			if whole := v.Expose(); whole != part && strings.Contains(whole, part) {
				s.parts = append(s.parts, x)
				break
			}
		}
	}
}
