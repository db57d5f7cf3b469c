package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func readSettings(value []byte) (json.RawMessage, error) {
	if err := strictjson.CheckObject(value, jsonLimits); err != nil {
		return nil, err
	}
	return value, checkCanonical(value)
}

func (l *Lock) readServer(part string, value []byte) error {
	a, err := parseServerPart(part)
	if err != nil {
		return err
	}
	s := Server{Addr: a}
	if err := s.read(value); err != nil {
		return err
	}
	l.Servers = append(l.Servers, s)
	return nil
}

func (s *Server) read(value []byte) error {
	m, err := readObject(value, "endpoint", "endpoint_digest", "protocol", "?capabilities", "?identity", "?instructions", "?limits", "?recheck", "?snapshots", "?timeouts", "?tools")
	if err != nil {
		return err
	}
	if s.Endpoint, err = m.object("endpoint"); err != nil {
		return err
	}
	if s.EndpointDigest, err = m.digest("endpoint_digest"); err != nil {
		return err
	}
	want, err := digest.OfJSON("endpoint", s.Endpoint, jsonLimits)
	if err != nil {
		return err
	}
	if want != s.EndpointDigest {
		return fmt.Errorf("endpoint_digest is %s, but the endpoint gives %s", s.EndpointDigest, want)
	}
	if s.Protocol, err = m.text("protocol"); err != nil {
		return err
	}
	if s.Capabilities, err = m.object("capabilities"); err != nil {
		return err
	}
	if s.Timeouts, err = m.object("timeouts"); err != nil {
		return err
	}
	if s.Limits, err = m.object("limits"); err != nil {
		return err
	}
	if s.Recheck, err = m.object("recheck"); err != nil {
		return err
	}
	if _, ok := m["instructions"]; ok {
		text, err := m.text("instructions")
		if err != nil {
			return err
		}
		s.Instructions = &text
	}
	if v, ok := m["identity"]; ok {
		id, err := readObject(v, "name", "version")
		if err != nil {
			return fmt.Errorf("identity: %w", err)
		}
		s.Identity = &Identity{}
		if s.Identity.Name, err = id.text("name"); err != nil {
			return fmt.Errorf("identity: %w", err)
		}
		if s.Identity.Version, err = id.text("version"); err != nil {
			return fmt.Errorf("identity: %w", err)
		}
	}
	if v, ok := m["snapshots"]; ok {
		if err := s.readSnapshots(v); err != nil {
			return fmt.Errorf("snapshots: %w", err)
		}
	}
	if v, ok := m["tools"]; ok {
		if err := s.readTools(v); err != nil {
			return fmt.Errorf("tools: %w", err)
		}
	}
	// What was read must be all that there is, in the one way of writing it.
	again, err := encodeServer(s)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, value) {
		return errors.New("value is not written as mcpcat writes it")
	}
	return nil
}

func (s *Server) readSnapshots(v strictjson.Value) error {
	if v.Kind() != strictjson.KindObject {
		return errors.New("it is not an object")
	}
	s.Snapshots = map[string]digest.Digest{}
	for kind, value := range v.Members() {
		d, err := readDigest(value)
		if err != nil {
			return err
		}
		s.Snapshots[kind] = d
	}
	return nil
}

func (s *Server) readTools(v strictjson.Value) error {
	m, err := readObject(v, "cache_scope", "order", "ttl_ms")
	if err != nil {
		return err
	}
	if s.ToolsCacheScope, err = m.text("cache_scope"); err != nil {
		return err
	}
	ttl, ok := m["ttl_ms"].Int()
	if !ok {
		return errors.New("ttl_ms is not a whole number")
	}
	s.ToolsTTLMs = ttl
	if s.ToolOrder, err = m.texts("order"); err != nil {
		return err
	}
	return nil
}

// read checks {"digest":"sha256:...","definition":{...}}. The definition is kept as it is; that it is strict JSON and has
// no white space follows from the checks below.
func (it *Item) read(value []byte) error {
	rest, ok := bytes.CutPrefix(value, []byte(itemBegin))
	if !ok {
		return errors.New("value does not begin with a digest")
	}
	text, rest, ok := bytes.Cut(rest, []byte(`"`))
	if !ok {
		return errors.New("value ends in its digest")
	}
	d, err := parseDigest(string(text))
	if err != nil {
		return err
	}
	rest, ok = bytes.CutPrefix(rest, []byte(itemMiddle[1:]))
	if !ok || len(rest) < 2 || rest[len(rest)-1] != '}' {
		return errUnknownMember("value is not a digest and a definition")
	}
	definition := rest[: len(rest)-1 : len(rest)-1]
	want, err := digest.OfItem(digest.Kind(it.Addr.Kind), definition)
	if err != nil {
		return fmt.Errorf("definition: %w", err)
	}
	if want != d {
		return fmt.Errorf("digest is %s, but the definition gives %s", d, want)
	}
	// The digest was computed, so the definition is one strict JSON text.
	if !isCompact(definition) {
		return errors.New("definition has white space between its tokens")
	}
	member := nameMember(it.Addr.Kind)
	name, _ := strictjson.Value(definition).Get(member)
	if text, ok := name.Text(); !ok || text != it.Addr.Name {
		return fmt.Errorf("%s in the definition is not the name in the key", member)
	}
	it.Digest, it.Definition = d, definition
	return nil
}

// isCompact reports whether a checked JSON text has no white space between its tokens.
func isCompact(src []byte) bool {
	for len(src) > 0 {
		switch src[0] {
		case ' ', '\t', '\n', '\r':
			return false
		case '"':
			src = src[1:]
			for {
				i := bytes.IndexByte(src, '"')
				if i < 0 {
					return true
				}
				backslashes := 0
				for backslashes < i && src[i-1-backslashes] == '\\' {
					backslashes++
				}
				src = src[i+1:]
				if backslashes%2 == 0 {
					break
				}
			}
		default:
			src = src[1:]
		}
	}
	return true
}

// nameMember is the member of a definition that names the item.
func nameMember(kind addr.Kind) string {
	switch kind {
	case addr.Resource:
		return "uri"
	case addr.ResourceTemplate:
		return "uriTemplate"
	}
	return "name"
}

func (l *Lock) readAgent(name string, value []byte) error {
	m, err := readObject(value, "names", "tools")
	if err != nil {
		return err
	}
	a := Agent{Name: name}
	if a.Names, err = m.text("names"); err != nil {
		return err
	}
	if m["tools"].Kind() != strictjson.KindArray {
		return errors.New("tools is not an array")
	}
	for v := range m["tools"].Elements() {
		tm, err := readObject(v, "address", "digest", "name")
		if err != nil {
			return err
		}
		var t AgentTool
		if t.Name, err = tm.text("name"); err != nil {
			return err
		}
		if t.Digest, err = tm.digest("digest"); err != nil {
			return err
		}
		address, err := tm.text("address")
		if err != nil {
			return err
		}
		if t.Address, err = addr.ParseItem(address); err != nil {
			return err
		}
		if len(a.Tools) > 0 && t.Name <= a.Tools[len(a.Tools)-1].Name {
			return fmt.Errorf("exposed name %s is not greater than the one before", quote(t.Name))
		}
		a.Tools = append(a.Tools, t)
	}
	again, err := encodeAgent(&a)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, value) {
		return errors.New("value is not written as mcpcat writes it")
	}
	l.Agents = append(l.Agents, a)
	return nil
}

// errUnknownMember marks a value with a member that this version does not know; see judge.
type errUnknownMember string

func (e errUnknownMember) Error() string { return string(e) }

type members map[string]strictjson.Value

// readObject reads an object that has exactly the named members; one whose name begins with "?" may be absent.
func readObject(src []byte, names ...string) (members, error) {
	if err := strictjson.CheckObject(src, jsonLimits); err != nil {
		return nil, err
	}
	v, err := strictjson.Parse(src, jsonLimits)
	if err != nil {
		return nil, err
	}
	m := members{}
	for name, value := range v.Members() {
		if !slices.Contains(names, name) && !slices.Contains(names, "?"+name) {
			return nil, errUnknownMember(fmt.Sprintf("unknown member %s", quote(name)))
		}
		m[name] = value
	}
	for _, name := range names {
		if _, ok := m[name]; !ok && name[0] != '?' {
			return nil, fmt.Errorf("member %q is missing", name)
		}
	}
	return m, nil
}

// object returns a member that is an object, and nil if there is no such member.
func (m members) object(name string) (json.RawMessage, error) {
	v, ok := m[name]
	if !ok {
		return nil, nil
	}
	if v.Kind() != strictjson.KindObject {
		return nil, fmt.Errorf("%s is not an object", name)
	}
	return json.RawMessage(v), nil
}

func (m members) text(name string) (string, error) {
	s, ok := m[name].Text()
	if !ok {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return s, nil
}

func (m members) texts(name string) ([]string, error) {
	if m[name].Kind() != strictjson.KindArray {
		return nil, fmt.Errorf("%s is not an array", name)
	}
	var all []string
	for v := range m[name].Elements() {
		s, ok := v.Text()
		if !ok {
			return nil, fmt.Errorf("%s holds something that is not a string", name)
		}
		all = append(all, s)
	}
	return all, nil
}

func (m members) digest(name string) (digest.Digest, error) {
	d, err := readDigest(m[name])
	if err != nil {
		return digest.Digest{}, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// readDigest reads a JSON string of the form "sha256:" and 64 lower-case hex digits.
func readDigest(v strictjson.Value) (digest.Digest, error) {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return digest.Digest{}, errors.New("digest is not a string")
	}
	return parseDigest(string(v[1 : len(v)-1]))
}

func parseDigest(s string) (digest.Digest, error) {
	if version, _, ok := strings.Cut(s, ":"); ok && version != "sha256" {
		return digest.Digest{}, &DigestVersionError{Found: version[:min(len(version), 32)]}
	}
	d, err := digest.Parse(s)
	if err != nil {
		return digest.Digest{}, fmt.Errorf("digest: %w", err)
	}
	if d.String() != s {
		return digest.Digest{}, errors.New("digest is not written in lower-case hex")
	}
	return d, nil
}
