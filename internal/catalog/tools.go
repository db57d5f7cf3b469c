package catalog

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

const (
	maxTools    = 10_000  // of one server, of one agent; prompts, resources and templates each as well
	maxPatterns = 256     // of one server
	maxDeclared = 200_000 // items of all servers
	maxGiven    = 500_000 // items of all agents
)

// ItemDecl is one prompt, resource or resource template that a server declares. Name is the upstream name, the URI or the
// URI template, byte for byte.
type ItemDecl struct {
	Name    string
	Pattern string // that matched the name; "" if it is written out
	Range   diag.Range
}

// Pattern is an entry of a server's list in which each * stands for any characters, none included. What it matches is
// known when the server has been asked, and is pinned by name.
type Pattern struct {
	Kind  addr.Kind
	Text  string
	Range diag.Range
}

// Match reports whether the whole name matches.
func (p Pattern) Match(name string) bool {
	parts := strings.Split(p.Text, "*")
	last := len(parts) - 1
	if last == 0 {
		return name == p.Text
	}
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	for _, part := range parts[1:last] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[last])
}

// declared returns the names of one kind that are written out, sorted.
func (s *Server) declared(k addr.Kind) []string {
	var out []string
	if k == addr.Tool {
		for _, t := range s.Tools {
			out = append(out, t.Name)
		}
		return out
	}
	for _, d := range s.items(k) {
		out = append(out, d.Name)
	}
	return out
}

func (s *Server) items(k addr.Kind) []ItemDecl {
	switch k {
	case addr.Prompt:
		return s.Prompts
	case addr.Resource:
		return s.Resources
	case addr.ResourceTemplate:
		return s.ResourceTemplates
	}
	return nil
}

// readItems reads what is declared on a server.
func (l *loader) readItems(i *instance) {
	for _, k := range kinds {
		names := l.readNames(i, k)
		switch k {
		case addr.Tool:
			for _, d := range names {
				i.Tools = append(i.Tools, ToolDecl{Name: d.Name, Range: d.Range})
			}
		case addr.Prompt:
			i.Prompts = names
		case addr.Resource:
			i.Resources = names
		case addr.ResourceTemplate:
			i.ResourceTemplates = names
		}
	}
	l.readToolBlocks(i)
	for _, k := range kinds {
		l.items += len(i.all(k))
	}
	if l.items > maxDeclared {
		l.items = -maxDeclared // said once
		l.fail("catalog.limit", "Too many items", header(i.node.block), i.at, "The servers declare more than %d items. Split the catalog.", maxDeclared)
	}
	slices.SortFunc(i.Tools, func(a, b ToolDecl) int { return strings.Compare(a.Name, b.Name) })
}

// readNames reads one list, sorted by name, and keeps its patterns.
func (l *loader) readNames(i *instance, k addr.Kind) []ItemDecl {
	c := i.contents
	what := strings.ReplaceAll(string(k), "_", " ")
	most := addr.MaxNameBytes
	if k == addr.Resource || k == addr.ResourceTemplate {
		most = addr.MaxURIBytes
	}
	list, _ := c.texts(listName(k), maxTools, most)
	if k != addr.Tool && len(list) > 0 {
		l.notEnforced(listName(k), c.args[listName(k)].NameRange, c.w)
	}
	first := map[string]hcl.Range{}
	var out []ItemDecl
	patterns := 0
	for _, e := range list {
		earlier, twice := first[e.text]
		first[e.text] = e.rng
		at := l.rangeOf(e.rng)
		switch {
		case e.text == "":
			l.fail("catalog.value", "Empty name", e.rng, c.w, "The name of a %s is not empty.", what)
		case strings.ContainsAny(e.text, "\n\t"):
			l.fail("catalog.text", "Character not allowed in a catalog", e.rng, c.w, "The name of a %s contains a line end or a tab.", what)
		case twice:
			l.fail("catalog.duplicate", strings.ToUpper(what[:1])+what[1:]+" listed twice", e.rng, c.w, "The %s %s was already listed at %s.", what, diag.Quote(e.text, 0), place(earlier))
			first[e.text] = earlier
		case k != addr.ResourceTemplate && strings.Contains(e.text, "**"):
			l.fail("catalog.value", "Invalid pattern", e.rng, c.w, "%s has two * in a row; one stands for any characters already.", diag.Quote(e.text, 0))
		case k != addr.ResourceTemplate && strings.Contains(e.text, "*"): // a template may have one, {path*}
			if patterns++; patterns == maxPatterns+1 {
				l.fail("catalog.limit", "Too many patterns", e.rng, c.w, "%s has more than %d patterns.", listName(k), maxPatterns)
			}
			i.Patterns = append(i.Patterns, Pattern{Kind: k, Text: e.text, Range: at})
		default:
			out = append(out, ItemDecl{Name: e.text, Range: at})
		}
	}
	slices.SortFunc(out, func(a, b ItemDecl) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// readToolBlocks adds the tools that have a block of their own.
func (l *loader) readToolBlocks(i *instance) {
	listed := map[string]diag.Range{}
	for _, t := range i.Tools {
		listed[t.Name] = t.Range
	}
	for _, b := range i.contents.repeated["tool"] {
		name := b.Labels[0]
		w := i.at.inside(blockName(b))
		r := b.LabelRanges[0]
		switch earlier, twice := listed[name]; {
		case name == "" || len(name) > addr.MaxNameBytes || strings.ContainsAny(name, "\n\t"):
			l.fail("catalog.labels", "Invalid name", r, w, "The name of a tool has 1 to %d bytes and neither line ends nor tabs.", addr.MaxNameBytes)
			continue
		case twice:
			l.fail("catalog.duplicate", "Tool declared twice", r, w, "The tool %s stands in tools at %s, too. Take it out there.", diag.Quote(name, 0), earlier)
			continue
		case !l.checkPlain("The name of a tool", name, addr.MaxNameBytes, r, w):
			continue
		}
		if strings.Contains(name, "*") {
			l.warn("catalog.pattern", "No pattern", r, w, "A tool block is for the tool of exactly this name. A pattern stands in tools.")
		}
		if len(i.Tools) == maxTools {
			l.fail("catalog.limit", "List too long", r, w, "The server declares more than %d tools.", maxTools)
			return
		}
		i.Tools = append(i.Tools, ToolDecl{Name: name, Range: l.rangeOf(header(b)), block: b, at: w})
	}
}

// readToolBlock reads what surface has left of the tool blocks of a server.
func (l *loader) readTool(t *ToolDecl) {
	if t.block == nil {
		return
	}
	c := l.contents(t.block.Body, t.at, toolBlock)
	if as, ok := c.text("as", maxExposedBytes); ok {
		if !plainName(as, false) {
			l.fail("name.invalid", "Invalid tool name", c.exprRange("as"), t.at, "as is the name that agents see: letters, digits, \"_\" and \"-\", at most %d of them.", maxExposedBytes)
		}
		t.As = as
	}
	t.Description, _ = c.text("description", maxDescription)
	t.Disabled = !c.boolean("enabled", true)
	t.Policy = l.readPolicyRef(c, "policy")
	if b := c.blocks["input"]; b != nil {
		t.Input = l.readInput(b, c.w)
	}
	if b := c.blocks["output"]; b != nil {
		t.Output = l.readOutput(b, c.w)
	}
}
