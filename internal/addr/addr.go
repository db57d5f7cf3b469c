// Package addr names the things a catalog declares: servers, and the tools, prompts, resources and resource templates
// declared on them.
//
// An address is what people read in plans and diagnostics, write in catalogs and on command lines, and what the lock is
// keyed by. It is a noun with a text form and an order; it knows nothing of catalogs, locks or the wire. The package
// uses the standard library only.
//
//	a, err := addr.ParseItem(`server.github.tool.create_issue`)
package addr

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the parts of an address, in bytes.
const (
	MaxLabelBytes = 63   // a server label
	MaxKeyBytes   = 128  // an instance key
	MaxNameBytes  = 1024 // a tool or prompt name
	MaxURIBytes   = 8192 // a resource URI or URI template
)

// Kind is the kind of an item, spelled as in an address.
type Kind string

// The kinds of items, in the order in which they are listed.
const (
	Tool             Kind = "tool"
	Prompt           Kind = "prompt"
	Resource         Kind = "resource"
	ResourceTemplate Kind = "resource_template"
)

// Valid reports whether k is one of the four kinds.
func (k Kind) Valid() bool { return k.rank() < 4 }

func (k Kind) rank() int {
	switch k {
	case Tool:
		return 0
	case Prompt:
		return 1
	case Resource:
		return 2
	case ResourceTemplate:
		return 3
	}
	return 4
}

func (k Kind) maxBytes() int {
	if k == Resource || k == ResourceTemplate {
		return MaxURIBytes
	}
	return MaxNameBytes
}

// Server is the address of a server block, or of one instance of it. Servers are comparable with ==; Key is "" unless
// HasKey.
type Server struct {
	Label  string
	Key    string
	HasKey bool
}

// Item is the address of one tool, prompt, resource or resource template. Name is the upstream name, or the URI or URI
// template, byte for byte. Items are comparable with ==.
type Item struct {
	Server Server
	Kind   Kind
	Name   string
}

// String returns the canonical text: server.github, or server.wiki["eu"].
func (s Server) String() string {
	if !s.HasKey {
		return "server." + s.Label
	}
	return "server." + s.Label + "[" + Quote(s.Key) + "]"
}

// String returns the canonical text: server.github.tool.create_issue if the name is an ASCII identifier (letters,
// digits, "_" and "-", not beginning with a digit or "-"), otherwise the index form server.x.tool["admin.list"].
//
// Characters that cannot be seen are written as \uXXXX, so the text is safe to print; ParseItem reads it back.
func (i Item) String() string {
	head := i.Server.String() + "." + string(i.Kind)
	if identifier(i.Name) {
		return head + "." + i.Name
	}
	return head + "[" + Quote(i.Name) + "]"
}

// MarshalText returns String.
func (s Server) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseServer.
func (s *Server) UnmarshalText(b []byte) error {
	v, err := ParseServer(string(b))
	if err == nil {
		*s = v
	}
	return err
}

// MarshalText returns String.
func (i Item) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText is ParseItem.
func (i *Item) UnmarshalText(b []byte) error {
	v, err := ParseItem(string(b))
	if err == nil {
		*i = v
	}
	return err
}

// Compare orders servers by label, then the server without a key first, then by key, all by bytes.
func (s Server) Compare(t Server) int {
	if c := strings.Compare(s.Label, t.Label); c != 0 {
		return c
	}
	if s.HasKey != t.HasKey {
		if t.HasKey {
			return -1
		}
		return 1
	}
	return strings.Compare(s.Key, t.Key)
}

// Compare orders items by server, then by kind (tool, prompt, resource, resource_template), then by the bytes of the
// name.
func (i Item) Compare(j Item) int {
	if c := i.Server.Compare(j.Server); c != 0 {
		return c
	}
	if c := cmp.Compare(i.Kind.rank(), j.Kind.rank()); c != 0 {
		return c
	}
	return strings.Compare(i.Name, j.Name)
}

// ValidLabel reports whether s may label a block: [a-z][a-z0-9]*(_[a-z0-9]+)*, at most MaxLabelBytes. There is no
// double underscore, because that separates server and tool in exposed names.
func ValidLabel(s string) bool {
	if s == "" || len(s) > MaxLabelBytes || s[0] < 'a' || s[0] > 'z' || s[len(s)-1] == '_' {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == '_' && s[i-1] != '_':
		default:
			return false
		}
	}
	return true
}

// ValidKey reports whether s may be an instance key: 1 to MaxKeyBytes of printable ASCII without backquote, pipe and
// angle brackets, so that it can stand in every view.
func ValidKey(s string) bool {
	if s == "" || len(s) > MaxKeyBytes {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte("`|<>", c) >= 0 {
			return false
		}
	}
	return true
}

// ParseServer reads server.LABEL or server.LABEL["KEY"]. The error tells what was expected at which byte and does not
// repeat the text.
func ParseServer(text string) (Server, error) {
	p := parser{rest: text, whole: len(text)}
	s, err := p.server()
	if err == nil && p.rest != "" {
		err = p.errorf("want the end of a server address")
	}
	if err != nil {
		return Server{}, err
	}
	return s, nil
}

// ParseItem reads SERVER.KIND.NAME or SERVER.KIND["NAME"]. Both forms are accepted for every name that is an
// identifier; String gives the canonical one. Inside the quotes the escapes of HCL strings hold: \" \\ \n \r \t \uXXXX
// \UXXXXXXXX $${ %%{.
func ParseItem(text string) (Item, error) {
	p := parser{rest: text, whole: len(text)}
	i, err := p.item()
	if err == nil && p.rest != "" {
		err = p.errorf("want the end of an item address")
	}
	if err != nil {
		return Item{}, err
	}
	return i, nil
}

type parser struct {
	rest  string
	whole int
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("address: byte %d: %w", p.whole-len(p.rest), fmt.Errorf(format, args...))
}

func (p *parser) server() (Server, error) {
	if !strings.HasPrefix(p.rest, "server.") {
		return Server{}, p.errorf(`want "server."`)
	}
	p.rest = p.rest[len("server."):]
	label := p.word()
	if !ValidLabel(label) {
		return Server{}, p.errorf("want a server label: lower-case letters, digits and single underscores, at most %d", MaxLabelBytes)
	}
	p.rest = p.rest[len(label):]
	s := Server{Label: label}
	if !strings.HasPrefix(p.rest, "[") {
		return s, nil
	}
	key, err := p.index()
	if err != nil {
		return Server{}, err
	}
	if !ValidKey(key) {
		return Server{}, p.errorf("the instance key must be 1 to %d printable ASCII characters without ` | < >", MaxKeyBytes)
	}
	s.Key, s.HasKey = key, true
	return s, nil
}

func (p *parser) item() (Item, error) {
	s, err := p.server()
	if err != nil {
		return Item{}, err
	}
	if !strings.HasPrefix(p.rest, ".") {
		return Item{}, p.errorf(`want "." and a kind: tool, prompt, resource or resource_template`)
	}
	p.rest = p.rest[1:]
	kind := Kind(p.word())
	if !kind.Valid() {
		return Item{}, p.errorf("want a kind: tool, prompt, resource or resource_template")
	}
	p.rest = p.rest[len(kind):]
	var name string
	switch {
	case strings.HasPrefix(p.rest, "."):
		p.rest = p.rest[1:]
		if name = p.word(); !identifier(name) {
			return Item{}, p.errorf(`want a name; other names are written in the index form, .%s["NAME"]`, kind)
		}
		p.rest = p.rest[len(name):]
	case strings.HasPrefix(p.rest, "["):
		if name, err = p.index(); err != nil {
			return Item{}, err
		}
	default:
		return Item{}, p.errorf(`want "." or "[" and a name`)
	}
	if name == "" || len(name) > kind.maxBytes() {
		return Item{}, p.errorf("the name has %d bytes, want 1 to %d", len(name), kind.maxBytes())
	}
	return Item{Server: s, Kind: kind, Name: name}, nil
}

// word returns the leading run of identifier characters.
func (p *parser) word() string {
	i := 0
	for i < len(p.rest) && identifierByte(p.rest[i]) {
		i++
	}
	return p.rest[:i]
}

func (p *parser) index() (string, error) {
	if !strings.HasPrefix(p.rest, `["`) {
		return "", p.errorf(`want ["`)
	}
	s, n, err := unquote(p.rest[1:])
	if err != nil {
		return "", p.errorf("%w", err)
	}
	p.rest = p.rest[1+n:]
	if !strings.HasPrefix(p.rest, "]") {
		return "", p.errorf(`want "]"`)
	}
	p.rest = p.rest[1:]
	return s, nil
}

func identifierByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func identifier(s string) bool {
	if s == "" || s[0] == '-' || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if !identifierByte(s[i]) {
			return false
		}
	}
	return true
}

// Quote returns s as an HCL string literal of visible characters only and without templates, as the index form of an
// address holds it. Invalid UTF-8 becomes \uFFFD.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case r == utf8.RuneError || !unicode.IsPrint(r) || unseen(r):
			if r > 0xffff {
				fmt.Fprintf(&b, `\U%08X`, r)
			} else {
				fmt.Fprintf(&b, `\u%04X`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unseen tells the letters and marks that unicode.IsPrint takes for visible though they have no shape of their own.
func unseen(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x2800, r == 0x3164, r == 0xffa0,
		r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// unquote reads the literal that begins at s[0] == '"' and returns its value and its length in s.
func unquote(s string) (string, int, error) {
	var b strings.Builder
	for i := 1; i < len(s); {
		switch c := s[i]; {
		case c == '"':
			return b.String(), i + 1, nil
		case c == '\\':
			n, err := unescape(&b, s[i:])
			if err != nil {
				return "", 0, err
			}
			i += n
		case c == '$' || c == '%':
			if strings.HasPrefix(s[i+1:], "{") {
				return "", 0, errors.New("want a plain text, without a template")
			}
			b.WriteByte(c)
			if i++; strings.HasPrefix(s[i:], string(c)+"{") {
				b.WriteByte('{')
				i += 2
			}
		case c < ' ':
			return "", 0, errors.New("a control character stands in the quotes")
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return "", 0, errors.New("invalid UTF-8")
			}
			b.WriteRune(r)
			i += n
		}
	}
	return "", 0, errors.New("the closing quote is missing")
}

func unescape(b *strings.Builder, s string) (int, error) {
	if len(s) < 2 {
		return 0, errors.New("the closing quote is missing")
	}
	var digits int
	switch s[1] {
	case '"', '\\':
		b.WriteByte(s[1])
		return 2, nil
	case 'n':
		b.WriteByte('\n')
		return 2, nil
	case 'r':
		b.WriteByte('\r')
		return 2, nil
	case 't':
		b.WriteByte('\t')
		return 2, nil
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return 0, errors.New("unknown escape")
	}
	if len(s) < 2+digits {
		return 0, errors.New("the escape is cut short")
	}
	var r rune
	for _, c := range []byte(s[2 : 2+digits]) {
		v := strings.IndexByte("0123456789abcdef", c|0x20)
		if v < 0 || r > utf8.MaxRune {
			return 0, errors.New("want hexadecimal digits in an escape")
		}
		r = r<<4 | rune(v)
	}
	if !utf8.ValidRune(r) {
		return 0, errors.New("the escape names no character")
	}
	b.WriteRune(r)
	return 2 + digits, nil
}

// MakeLabel returns a label that looks like s: lower-case letters and digits as they are, a single underscore for everything
// between them, cut to MaxLabelBytes. What would not begin with a letter gets prefix, which must be a label, in front.
func MakeLabel(s, prefix string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		if r < 'a' || r > 'z' {
			if r < '0' || r > '9' {
				gap = true
				continue
			}
			if b.Len() == 0 {
				b.WriteString(prefix)
				gap = true
			}
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(r)
		if b.Len() >= MaxLabelBytes {
			break
		}
	}
	if b.Len() == 0 {
		return prefix
	}
	return strings.TrimRight(b.String()[:min(b.Len(), MaxLabelBytes)], "_")
}
