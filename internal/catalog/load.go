package catalog

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// maxDiagnostics bounds what one Load reports.
const maxDiagnostics = 50

// Load reads the catalog files of a directory and returns what they declare. The Catalog is nil if the list has
// errors; warnings may come with one. The list is sorted, holds at most 50 diagnostics, and never contains a secret or
// the text of a string literal.
//
// Files are catalog.hcl and *.catalog.hcl; values of variables come, later ones winning, from defaults, the environment
// (MCPCAT_VAR_name), catalog.vars.hcl, *.auto.vars.hcl in lexical order, and Options.Vars. Hidden files are skipped and
// links that leave the directory are refused. The limits are MaxFiles, MaxFileBytes and those of the constants beside
// MaxDepth.
func Load(o Options) (*Catalog, diag.List) {
	s, list := Open(o)
	if s == nil {
		return nil, list
	}
	return s.Catalog, list
}

// list is what there is to report, sorted and bounded.
func (l *loader) list() diag.List {
	list := oncePerPlace(l.diags.Sorted())
	if n := len(list) - maxDiagnostics; n > 0 {
		// Warnings stand first; if there are errors, those are what matters now.
		kept := list
		if list.HasErrors() {
			kept = list.Errors()
		}
		list = append(list[:0:0], kept[:min(len(kept), maxDiagnostics)]...)
		l.dropped += n
	}
	if l.dropped > 0 {
		more := diag.Errorf
		if !list.HasErrors() {
			more = diag.Warningf
		}
		list = append(list, more("catalog.more", "More diagnostics", "%d more were left out.", l.dropped))
	}
	return list
}

// oncePerPlace leaves out what was reported of the same place already: the servers of one for_each share their source.
func oncePerPlace(list diag.List) diag.List {
	type said struct {
		at           diag.Range
		code, detail string
	}
	seen := map[said]bool{}
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool {
		if d.Range == nil {
			return false
		}
		s := said{*d.Range, d.Code, d.Detail}
		again := seen[s]
		seen[s] = true
		return again
	})
}

type loader struct {
	opts     Options
	cat      *Catalog
	diags    diag.List
	errors   int                // reported so far, left out ones included
	dropped  int                // diagnostics beyond what is kept
	sources  map[string]*source // by name, for snippets and references
	partial  []*source          // with syntax errors; body holds what could be read
	settings *hclsyntax.Block
	policies []*hclsyntax.Block
	// agentNames are those that are declared.
	agentNames []string
	variables  map[string]*variable
	locals     map[string]*local
	order      []*variable // as declared
	servers    map[string]*serverNode
	// serverOrder are their labels as declared.
	serverOrder []string
	toolsets    map[string]*toolsetNode
	path        []string // what is being evaluated, for visit
	// items are declared so far, given to agents so far.
	items, given int
	funcs        map[string]function.Function
	budget       *budget
	works        works
	secrets      []secret.String
	named        []*File // that the catalog names, private keys left out
	// texts are the files that file was asked for, secretTexts those of secret_file, by path.
	texts, secretTexts map[string]textFile
	known              map[string]bool    // for scrub
	literals           map[hcl.Range]bool // places with credentials, which are reported once
	// tokens and blockCount are those of the files read so far.
	tokens, blockCount int
	// envAllowed are the names that env may be asked for in the expression being evaluated: those that made it secret.
	envAllowed []string
}

func newLoader(o Options) *loader {
	l := &loader{
		opts:      o,
		cat:       &Catalog{Dir: o.Dir},
		sources:   map[string]*source{},
		variables: map[string]*variable{},
		locals:    map[string]*local{},
		servers:   map[string]*serverNode{},
		toolsets:  map[string]*toolsetNode{},
		literals:  map[hcl.Range]bool{},
		texts:     map[string]textFile{}, secretTexts: map[string]textFile{},
		budget: newBudget(), works: works{},
	}
	l.funcs = l.functions()
	return l
}

// where is the block in which an expression stands: its name for diagnostics, and what it adds to the scope.
type where struct {
	context, address string
	each             *each
	looking          bool // the console, where nothing is decided
	checking         bool // the condition of a variable: it may look at values before they are known to be good
	policies         bool // policies are values, for whoever asks what they say
}

// each is the element of for_each that a server block is evaluated for.
type each struct{ key, value cty.Value }

func (l *loader) load() {
	catalogs, values := l.files()
	if l.settingsVersion(catalogs); l.errors > 0 {
		return
	}
	for _, s := range catalogs {
		l.cat.Files = append(l.cat.Files, s.name)
	}
	read := slices.Concat(catalogs, values)

	l.warnLiterals(read)

	blocks := l.blocks(catalogs)
	l.policies = blocks["policy"]
	for _, b := range blocks["agent"] {
		l.agentNames = append(l.agentNames, b.Labels[0])
	}
	before := l.errors
	for _, b := range blocks["variable"] {
		l.declareVariable(b)
	}
	for _, b := range blocks["locals"] {
		l.declareLocals(b)
	}
	for _, b := range blocks["server"] {
		l.declareServer(b)
	}
	for _, b := range blocks["toolset"] {
		l.declareToolset(b)
	}
	// Without the values that names stand for, everything that uses them would be reported as wrong.
	if l.errors > before {
		return
	}
	if l.values(values); l.errors > before {
		return
	}
	for _, x := range l.order {
		l.validated(x)
	}
	if l.errors > before {
		return
	}
	// What the rest refers to is evaluated when it is needed, in whatever order it was written.
	for _, name := range keys(l.locals) {
		l.evaluate(l.locals[name])
	}
	l.readSettings(l.settings)
	l.readPolicies(l.policies)
	for _, label := range l.serverOrder {
		l.surface(l.servers[label])
	}
	slices.SortFunc(l.cat.Servers, func(a, b *Server) int { return a.Addr.Compare(b.Addr) })
	for _, label := range l.serverOrder {
		for _, i := range l.servers[label].instances {
			l.readServer(i)
		}
	}
	l.checkServerNames()
	l.checkPoliciesUsed()
	l.readMoved(blocks["moved"], blocks["removed"])
	for _, name := range keys(l.toolsets) {
		l.readToolset(l.toolsets[name])
	}
	for _, b := range blocks["agent"] {
		l.readAgent(b)
	}
	if l.errors > 0 {
		return
	}
	for _, s := range l.cat.Servers {
		if err := s.resolveEndpoint(); err != nil {
			l.add(diag.Errorf("catalog.endpoint", "Endpoint cannot be recorded", "%s.", diag.Escape(err.Error())).At(s.Range).For(s.Addr.String()))
		}
	}
	l.finish(read)
}

func (l *loader) finish(read []*source) {
	l.cat.Digest = configDigest(append(read, l.namedSources()...))
	slices.SortFunc(l.cat.Toolsets, func(a, b *Toolset) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(l.cat.Agents, func(a, b *Agent) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range l.cat.Servers {
		for i := range s.Tools {
			s.Tools[i].block, s.Tools[i].at = nil, where{}
		}
		if s.HTTP != nil {
			l.secrets = append(l.secrets, s.HTTP.decoded()...)
		}
	}
	l.cat.secrets = l.secrets
	l.cat.unsupported = l.cat.unsupported.Sorted()
	all := search(l.secrets)
	for _, s := range l.cat.Servers {
		s.setParts(all)
	}
}

// blocks sorts the blocks of all files by type and refuses what is not in the grammar and what is declared twice.
func (l *loader) blocks(files []*source) map[string][]*hclsyntax.Block {
	out := map[string][]*hclsyntax.Block{}
	first := map[string]hcl.Range{}
	for _, f := range files {
		for _, a := range sortedAttributes(f.body) {
			l.fail("catalog.unknown_argument", "Argument outside a block", a.NameRange, where{},
				"%s stands outside a block. A catalog file has blocks only: %s.", diag.Quote(a.Name, maxShownWord), strings.Join(languageNames, ", "))
		}
		for _, b := range f.body.Blocks {
			t := findBlock(language, b.Type)
			switch {
			case t == nil:
				l.unknownBlock(b, where{}, &BlockType{Blocks: language}, languageNames)
				continue
			case !l.labels(b, t):
				continue
			}
			if len(t.Labels) > 0 || !t.Repeated {
				name := strings.Join(append([]string{b.Type}, b.Labels...), " ")
				if earlier, twice := first[name]; twice {
					l.fail("catalog.duplicate", "Declared twice", header(b), where{context: blockName(b)},
						"%s was already declared at %s. Keep one of the two.", blockName(b), place(earlier))
					continue
				}
				first[name] = header(b)
			}
			out[b.Type] = append(out[b.Type], b)
		}
	}
	return out
}

// labels checks number and form of the labels of a block. Labels other than NAME are checked by whoever reads the block.
func (l *loader) labels(b *hclsyntax.Block, t *BlockType) bool {
	if len(b.Labels) != len(t.Labels) {
		form := b.Type
		for _, what := range t.Labels {
			form += " " + addr.Quote(what)
		}
		l.fail("catalog.labels", "Wrong number of labels", header(b), where{}, "The block has %d labels, want %d: %s {", len(b.Labels), len(t.Labels), form)
		return false
	}
	if len(t.Labels) == 1 && t.Labels[0] == "NAME" && !addr.ValidLabel(b.Labels[0]) {
		l.fail("catalog.labels", "Invalid name", b.LabelRanges[0], where{},
			"The label of %s begins with a lower-case letter and has lower-case letters, digits and single underscores, at most %d characters.%s", b.Type, addr.MaxLabelBytes, labelHint(b.Labels[0], b.Type))
		return false
	}
	return true
}

// unknownBlock reports a block that has no meaning in a block of type t.
func (l *loader) unknownBlock(b *hclsyntax.Block, w where, t *BlockType, known []string) {
	if hint := reservedBlocks[b.Type]; hint != "" && (t.Type == "" || t.home(b.Type) == "") {
		l.fail("catalog.unsupported", "Block type is reserved", header(b), w, "The block type %q is reserved and has no meaning in a catalog. %s", b.Type, hint)
		return
	}
	l.fail("catalog.unknown_block", "Unknown block type", header(b), w, "There is no block type %s here.%s", diag.Quote(b.Type, maxShownWord), t.suggest(b.Type, known))
}

// contents are the arguments and blocks of a body that follow the language.
type contents struct {
	l    *loader
	w    where
	typ  *BlockType
	body *hclsyntax.Body
	args map[string]*hclsyntax.Attribute
	// blocks holds the blocks that may stand once, repeated the others in source order.
	blocks   map[string]*hclsyntax.Block
	repeated map[string][]*hclsyntax.Block
	// lists holds the values of lists of references. broken tells that one of them is not known, which was reported where
	// it comes from.
	lists  map[string]cty.Value
	broken bool
}

// contents checks a body against the type of its block. What is wrong is reported and left out.
func (l *loader) contents(body *hclsyntax.Body, w where, t *BlockType) *contents {
	c := &contents{
		l: l, w: w, typ: t, body: body, args: map[string]*hclsyntax.Attribute{},
		blocks: map[string]*hclsyntax.Block{}, repeated: map[string][]*hclsyntax.Block{}, lists: map[string]cty.Value{},
	}
	names, types := t.argumentNames(), blockNames(t.Blocks)
	for _, a := range sortedAttributes(body) {
		switch arg := t.argument(a.Name); {
		case arg != nil:
			c.args[a.Name] = a
		case t.block(a.Name) != nil:
			l.fail("catalog.unknown_argument", "Block written as an argument", a.NameRange, w, "%s is a block: write %s { … } without the equals sign.", a.Name, a.Name)
		default:
			l.fail("catalog.unknown_argument", "Unknown argument", a.NameRange, w, "There is no argument %s here.%s", diag.Quote(a.Name, maxShownWord), t.suggest(a.Name, names))
		}
	}
	for _, b := range body.Blocks {
		switch inner := t.block(b.Type); {
		case inner != nil:
			c.nested(b, inner)
		case t.argument(b.Type) != nil:
			l.fail("catalog.unknown_block", "Argument written as a block", header(b), w, "%s is an argument: write %s = …", b.Type, b.Type)
		default:
			l.unknownBlock(b, w, t, types)
		}
	}
	return c
}

func (c *contents) nested(b *hclsyntax.Block, t *BlockType) {
	if !c.l.labels(b, t) {
		return
	}
	if !t.Repeated {
		if earlier := c.blocks[b.Type]; earlier != nil {
			c.l.fail("catalog.duplicate", "Block written twice", header(b), c.w, "There is already a block %s at %s.", b.Type, place(header(earlier)))
			return
		}
		c.blocks[b.Type] = b
		return
	}
	if len(t.Labels) > 0 {
		for _, earlier := range c.repeated[b.Type] {
			if slices.Equal(earlier.Labels, b.Labels) {
				c.l.fail("catalog.duplicate", "Block written twice", header(b), c.w, "There is already a block %s at %s.", blockName(b), place(header(earlier)))
				return
			}
		}
	}
	c.repeated[b.Type] = append(c.repeated[b.Type], b)
}

func sortedAttributes(body *hclsyntax.Body) []*hclsyntax.Attribute {
	out := make([]*hclsyntax.Attribute, 0, len(body.Attributes))
	for _, a := range body.Attributes {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *hclsyntax.Attribute) int { return a.NameRange.Start.Byte - b.NameRange.Start.Byte })
	return out
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// header is the range of type and labels.
func header(b *hclsyntax.Block) hcl.Range {
	if n := len(b.LabelRanges); n > 0 {
		return hcl.RangeBetween(b.TypeRange, b.LabelRanges[n-1])
	}
	return b.TypeRange
}

// blockName is the block as a person writes it: server "crm".
func blockName(b *hclsyntax.Block) string {
	if len(b.Labels) == 0 {
		return b.Type
	}
	return fmt.Sprintf("%s %q", b.Type, b.Labels[0])
}

func place(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

func (l *loader) add(d diag.Diagnostic) {
	if d.Severity == diag.Error {
		l.errors++
	}
	// Twice the limit, because equal ones are merged; the first error is kept whatever stands before it.
	if len(l.diags) >= 2*maxDiagnostics && (d.Severity != diag.Error || l.errors > 1) {
		l.dropped++
		return
	}
	if d.Range != nil && d.Snippet == "" {
		if s := l.sources[d.Range.File]; s != nil {
			d.Snippet = s.snippet(d.Range.Start.Line)
		}
	}
	l.diags = append(l.diags, d)
}

// fail reports an error at a range of a source.
func (l *loader) fail(code, summary string, r hcl.Range, w where, format string, args ...any) {
	l.addAt(diag.Errorf(code, summary, format, args...), r, w)
}

func (l *loader) warn(code, summary string, r hcl.Range, w where, format string, args ...any) {
	l.addAt(diag.Warningf(code, summary, format, args...), r, w)
}

func (l *loader) addAt(d diag.Diagnostic, r hcl.Range, w where) {
	d.Context, d.Address = w.context, w.address
	s := l.sources[r.Filename]
	if s == nil {
		s = &source{name: r.Filename}
	}
	if s.hidden {
		d.Detail = s.name + ": " + d.Detail
	} else {
		d = d.At(s.rangeOf(r))
	}
	l.add(d)
}

func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + ellipsis
}

// cleanRelative reports whether p is a slash-separated path inside the directory it is relative to, in its shortest
// form.
func cleanRelative(p string) bool {
	return p != "" && p != "." && path.Clean(p) == p && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../") &&
		!strings.ContainsAny(p, `\:`)
}
