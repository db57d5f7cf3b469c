package catalog

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

const (
	maxRate             = 1_000_000
	maxAgentConcurrency = 10_000
)

func (l *loader) readAgent(b *hclsyntax.Block) {
	a := &Agent{Name: b.Labels[0], Range: l.rangeOf(header(b))}
	l.cat.Agents = append(l.cat.Agents, a)
	before := l.errors
	c := l.contents(b.Body, where{context: blockName(b)}, agentBlock)
	a.Description, _ = c.text("description", maxDescription)
	a.Names = c.word("names", NamesPrefixed)
	a.Instructions = c.boolean("instructions", false)
	a.Completion = c.boolean("completion", false)
	a.InputRequests = l.readInputRequests(c)
	a.Rate = l.readRate(c)
	concurrency, _ := c.integer("concurrency", 1, maxAgentConcurrency)
	a.Concurrency = int(concurrency)
	for name, set := range map[string]bool{
		"instructions": a.Instructions, "completion": a.Completion, "input_requests": a.InputRequests != nil,
		"rate": a.Rate != nil, "concurrency": a.Concurrency > 0,
	} {
		if set {
			l.notEnforced(name, c.args[name].NameRange, c.w)
		}
	}
	a.Toolsets, a.grants = l.readToolsets(c)
	for _, k := range kinds {
		a.grants = append(a.grants, l.readGrants(c, k)...)
	}
	denied := l.readDeny(c)
	a.deny = denied
	if a := c.args["deny"]; a != nil && !c.broken && l.errors == before {
		if t, written := a.Expr.(*hclsyntax.TupleConsExpr); len(denied) == 0 && (!written || len(t.Exprs) > 0) {
			l.warn("catalog.unused", "Nothing is denied", a.Expr.Range(), c.w, "deny is computed, and the list that comes out is empty.")
		}
	}
	if l.errors > before || c.broken {
		return
	}
	for _, d := range expose(l.cat, a) {
		l.add(d)
	}
	for _, k := range kinds {
		l.given += len(*a.exposedTo(k))
	}
	if l.given > maxGiven {
		l.given = -maxGiven // said once
		l.fail("catalog.limit", "Too many items", header(b), c.w, "The agents have more than %d items. Split the catalog.", maxGiven)
	}
	for _, b := range c.repeated["tool"] {
		l.readAgentTool(a, b, c.w)
	}
	slices.SortFunc(a.Narrowed, func(x, y Narrowed) int { return x.Item.Compare(y.Item) })
}

// readAgentTool reads the narrowing of one tool that the agent has.
func (l *loader) readAgentTool(a *Agent, b *hclsyntax.Block, outer where) {
	w := outer.inside(b.Type)
	r := b.LabelRanges[0]
	item, err := addr.ParseItem(b.Labels[0])
	if err != nil || item.Kind != addr.Tool || item.String() != b.Labels[0] {
		l.fail("catalog.labels", "Invalid address", r, w, "The label is the address of a tool as plans write it, such as \"server.github.tool.create_issue\".")
		return
	}
	w.address = item.String()
	has := make([]string, len(a.Tools))
	for i, t := range a.Tools {
		has[i] = t.Item.String()
	}
	if !slices.Contains(has, b.Labels[0]) {
		hint := ""
		if near := nearest(b.Labels[0], has); near != "" {
			hint = " Did you mean " + addr.Quote(near) + "?"
		}
		l.fail("catalog.reference", "Tool is not the agent's", r, w, "The agent does not have %s, or has it by a pattern only.%s", diag.Escape(b.Labels[0]), hint)
		return
	}
	c := l.contents(b.Body, w, agentToolBlock)
	inner := c.blocks["input"]
	if inner == nil {
		l.fail("catalog.missing", "Missing block", header(b), w, "The block narrows a tool for the agent: it needs input { … }.")
		return
	}
	if in := l.readInput(inner, w); in != nil {
		a.Narrowed = append(a.Narrowed, Narrowed{Item: item, Input: in, Range: l.rangeOf(header(b))})
	}
}

// readInputRequests reads the kinds of input that servers may ask the agent for, sorted.
func (l *loader) readInputRequests(c *contents) []string {
	list, _ := c.texts("input_requests", 16, 64)
	var out []string
	for _, e := range list {
		switch {
		case !c.allowed("input_requests", e.text, e.rng):
		case slices.Contains(out, e.text):
			l.fail("catalog.duplicate", "Listed twice", e.rng, c.w, "%q is listed twice.", e.text)
		default:
			out = append(out, e.text)
		}
	}
	slices.Sort(out)
	return out
}

// readRate reads a number of calls in a time, such as "60/1m".
func (l *loader) readRate(c *contents) *Rate {
	s, ok := c.text("rate", 64)
	if !ok {
		return nil
	}
	calls, per, slash := strings.Cut(s, "/")
	n, err := strconv.Atoi(calls)
	d, err2 := time.ParseDuration(per)
	if !slash || err != nil || err2 != nil || n < 1 || n > maxRate || d < time.Second || d > 24*time.Hour || strconv.Itoa(n) != calls {
		l.fail("catalog.value", "Invalid rate", c.exprRange("rate"), c.w, "rate is a number of calls from 1 to %d and a time from 1s to 24h, such as \"60/1m\".", maxRate)
		return nil
	}
	return &Rate{Calls: n, Per: d}
}

// Rate is a number of calls in a time.
type Rate struct {
	Calls int           // 1 to 1,000,000
	Per   time.Duration // 1s to 24h
}

// exposedTo returns the exposed items of one kind.
func (a *Agent) exposedTo(k addr.Kind) *[]Exposed {
	switch k {
	case addr.Prompt:
		return &a.Prompts
	case addr.Resource:
		return &a.Resources
	case addr.ResourceTemplate:
		return &a.ResourceTemplates
	}
	return &a.Tools
}
