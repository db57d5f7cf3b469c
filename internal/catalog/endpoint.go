package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Endpoint returns the resolved posture of the server as canonical JSON: transport, url or command, args, env and
// inherit_env, headers by name, auth, egress, and tls where there is such a block, and what it is expected to call itself. A secret is {"secret": REF}; a url with
// secrets, that of a proxy too, is an array of its parts; a file is the digest of its content, and a private key is left
// out. Nothing in it depends on the machine: a relative command stays as written.
func (s *Server) Endpoint() json.RawMessage {
	endpoint, _ := s.resolved()
	return slices.Clone(endpoint)
}

// EndpointDigest is the digest of kind "endpoint" over Endpoint.
func (s *Server) EndpointDigest() digest.Digest {
	_, d := s.resolved()
	return d
}

// resolved returns what Load computed, or computes it for a Server that was put together by hand.
func (s *Server) resolved() (json.RawMessage, digest.Digest) {
	if s.endpoint != nil {
		return s.endpoint, s.digest
	}
	c := *s
	if err := c.resolveEndpoint(); err != nil {
		panic("mcpcat: internal error: " + err.Error()) // texts and their JSON have no other form
	}
	return c.endpoint, c.digest
}

// EndpointText returns the URL, or the command and its arguments, on one line and safe to print: secrets are shown by
// reference.
func (s *Server) EndpointText() string {
	if s.HTTP != nil {
		return diag.Escape(s.HTTP.URL.String())
	}
	words := make([]string, 0, 1+len(s.Stdio.Args))
	for _, w := range append([]string{s.Stdio.Command}, s.Stdio.Args...) {
		words = append(words, shellWord(w))
	}
	return diag.Escape(strings.Join(words, " "))
}

// shellWord quotes w if it has to be, for reading and copying; nothing runs the result.
func shellWord(w string) string {
	plain := w != "" && strings.IndexFunc(w, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r))
	}) < 0
	if plain {
		return w
	}
	w = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(w)
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// SecretRefs returns the references of all secrets that contacting the server uses, sorted, each once.
func (s *Server) SecretRefs() []string {
	var refs []string
	add := func(t Text) {
		if t.Secret() {
			refs = append(refs, t.Ref())
		}
	}
	if h := s.HTTP; h != nil {
		for _, p := range h.URL {
			add(p)
		}
		for _, x := range h.Headers {
			add(x.Value)
		}
		if h.Bearer != nil {
			refs = append(refs, h.Bearer.Ref())
		}
		if h.AuthHeader != nil {
			add(h.AuthHeader.Value)
		}
		if o := h.OAuth; o != nil && o.ClientSecret != nil {
			refs = append(refs, o.ClientSecret.Ref())
		}
		if o := h.OAuth; o != nil && o.Key != nil {
			refs = append(refs, "private_key_file")
		}
		if h.Proxy != nil {
			for _, p := range h.Proxy.URL {
				add(p)
			}
		}
		if h.TLS != nil && h.TLS.Certificate != nil {
			refs = append(refs, keyRef)
		}
	}
	if c := s.Stdio; c != nil {
		for _, x := range c.Env {
			add(x.Value)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

func (s *Server) resolveEndpoint() error {
	src, err := json.Marshal(s.posture())
	if err != nil {
		return fmt.Errorf("%s: endpoint: %w", s.Addr, err)
	}
	if s.endpoint, err = strictjson.AppendCanonical(nil, src, strictjson.Limits{}); err != nil {
		return fmt.Errorf("%s: endpoint: %w", s.Addr, err)
	}
	if s.digest, err = digest.OfJSON("endpoint", s.endpoint, strictjson.Limits{}); err != nil {
		return fmt.Errorf("%s: endpoint: %w", s.Addr, err)
	}
	return nil
}

func (s *Server) posture() map[string]any {
	p := s.transportPosture()
	if s.Expect != nil {
		p["expect"] = s.Expect.posture()
	}
	return p
}

func (s *Server) transportPosture() map[string]any {
	if h := s.HTTP; h != nil {
		headers := map[string]any{}
		for _, x := range h.Headers {
			headers[x.Name] = shape(x.Value)
		}
		egress := map[string]any{"allow_private": h.AllowPrivate}
		if x := h.Proxy; x != nil && x.Environment {
			egress["proxy"] = environment
		} else if x != nil {
			egress["proxy"] = x.URL.shape()
		}
		if h.AllowHosts != nil {
			egress["allow_hosts"] = h.AllowHosts
		}
		if h.Redirects > 0 {
			egress["redirects"] = h.Redirects
		}
		p := map[string]any{"transport": "http", "headers": headers, "egress": egress, "url": h.URL.shape()}
		if auth := h.authPosture(); auth != nil {
			p["auth"] = auth
		}
		if h.TLS != nil {
			p["tls"] = h.TLS.posture()
		}
		return p
	}
	env := map[string]any{}
	for _, x := range s.Stdio.Env {
		env[x.Name] = shape(x.Value)
	}
	args := s.Stdio.Args
	if args == nil {
		args = []string{}
	}
	p := map[string]any{"transport": "stdio", "command": s.Stdio.Command, "args": args, "env": env}
	s.Stdio.programPosture(p)
	if s.Stdio.InheritSet {
		inherit := s.Stdio.InheritEnv
		if inherit == nil {
			inherit = []string{}
		}
		p["inherit_env"] = inherit
	}
	return p
}

// shape is how a URL stands in the posture: an array of its parts if one of them is secret.
func (t Template) shape() any {
	if !t.Secret() {
		return t.String()
	}
	parts := make([]any, len(t))
	for i, p := range t {
		parts[i] = shape(p)
	}
	return parts
}

// shape is how a value stands in the posture.
func shape(t Text) any {
	if t.Secret() {
		return map[string]string{"secret": t.Ref()}
	}
	return t.plain
}
