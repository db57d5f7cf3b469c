package catalog

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// maxTools bounds the tools of one server and of one agent.
const maxTools = 10_000

func (l *loader) readServer(b *hclsyntax.Block) {
	s := &Server{Addr: addr.Server{Label: b.Labels[0]}, Name: b.Labels[0]}
	w := where{context: blockName(b), address: s.Addr.String()}
	s.Range = l.sources[b.TypeRange.Filename].rangeOf(header(b))
	l.servers[s.Addr.Label] = s
	l.cat.Servers = append(l.cat.Servers, s)
	c := l.contents(b.Body, w, serverBlock)
	if name, ok := c.text("name", addr.MaxLabelBytes); ok {
		if !validPrefix(name) {
			l.fail("name.invalid", "Invalid server name", c.exprRange("name"), w,
				"name is the prefix of the exposed tools: letters and digits, with single hyphens or underscores between them, at most %d characters.", addr.MaxLabelBytes)
		}
		s.Name = name
	}
	s.Description, _ = c.text("description", maxDescription)
	s.Enabled = c.boolean("enabled", true)
	s.Timeouts = l.readTimeouts(c.blocks["timeouts"], w, l.cat.Timeouts)

	switch http, stdio := c.blocks["http"], c.blocks["stdio"]; {
	case http != nil && stdio != nil:
		l.fail("catalog.transport", "Two transports", header(stdio), w, "A server has either an http block or a stdio block; there is an http block at %s.", place(header(http)))
	case http != nil:
		s.HTTP = l.readHTTP(http, c.inside("http"))
	case stdio != nil:
		s.Stdio = l.readStdio(stdio, c.inside("stdio"))
	default:
		l.fail("catalog.transport", "No transport", header(b), w, "A server needs one block http { url = … } or stdio { command = … }.")
	}
	l.readTools(c, s)
}

// validPrefix is the form of a server's name: the two underscores that separate it from the tool cannot occur in it.
func validPrefix(s string) bool {
	if s == "" || len(s) > addr.MaxLabelBytes {
		return false
	}
	separator := true
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			separator = false
		case (c == '_' || c == '-') && !separator:
			separator = true
		default:
			return false
		}
	}
	return !separator
}

func (l *loader) readTools(c *contents, s *Server) {
	list, _ := c.texts("tools", maxTools, addr.MaxNameBytes)
	first := map[string]hcl.Range{}
	for _, e := range list {
		switch earlier, twice := first[e.text]; {
		case e.text == "":
			l.fail("catalog.value", "Invalid tool name", e.rng, c.w, "The name of a tool is not empty.")
		case strings.Contains(e.text, "*"):
			l.fail("catalog.unsupported", "Patterns are not supported", e.rng, c.w,
				"%s contains \"*\". Patterns are not supported by this version of mcpcat: write out the name of each tool.", diag.Quote(e.text, 0))
		case strings.ContainsAny(e.text, "\n\t"):
			l.fail("catalog.text", "Character not allowed in a catalog", e.rng, c.w, "The name of a tool contains a line end or a tab.")
		case twice:
			l.fail("catalog.duplicate", "Tool listed twice", e.rng, c.w, "The tool %s was already listed at %s.", diag.Quote(e.text, 0), place(earlier))
		default:
			first[e.text] = e.rng
			s.Tools = append(s.Tools, ToolDecl{Name: e.text, Range: l.sources[e.rng.Filename].rangeOf(e.rng)})
		}
	}
	slices.SortFunc(s.Tools, func(a, b ToolDecl) int { return strings.Compare(a.Name, b.Name) })
}

// checkServerNames refuses two servers whose names would prefix tools alike.
func (l *loader) checkServerNames() {
	first := map[string]*Server{}
	for _, s := range l.cat.Servers {
		folded := strings.ToLower(s.Name)
		if other := first[folded]; other != nil {
			l.add(diag.Errorf("name.collision", "Two servers with one name", "%s and %s (%s) are both called %q when case is ignored. Give one of them another name.", s.Addr, other.Addr, other.Range, s.Name).
				At(s.Range).For(s.Addr.String()))
			continue
		}
		first[folded] = s
	}
}

// serverScope is the value of server in an expression: objects with address, label and, per tool, its address.
func (l *loader) serverScope() cty.Value {
	if l.scope != cty.NilVal {
		return l.scope
	}
	servers := map[string]cty.Value{}
	for label, s := range l.servers {
		tools := map[string]cty.Value{}
		for _, d := range s.Tools {
			tools[d.Name] = cty.ObjectVal(map[string]cty.Value{
				"address": cty.StringVal(addr.Item{Server: s.Addr, Kind: addr.Tool, Name: d.Name}.String()),
				"name":    cty.StringVal(d.Name),
			})
		}
		servers[label] = cty.ObjectVal(map[string]cty.Value{
			"address": cty.StringVal(s.Addr.String()), "label": cty.StringVal(label), "tool": cty.ObjectVal(tools),
		})
	}
	l.scope = cty.ObjectVal(servers)
	return l.scope
}
