package catalog

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

const (
	lockSuffix   = ".lock.db"
	mirrorSuffix = ".lock.txt"
	defaultLock  = "catalog" + lockSuffix
	maxPathBytes = 255
)

// settingsVersion reads required_version and protocol before anything else is looked at, so that a binary that is too
// old says so instead of complaining about a language that it does not know.
func (l *loader) settingsVersion(files []*source) {
	before := len(l.diags)
	for _, f := range slices.Concat(files, l.partial) {
		if f.body == nil {
			continue
		}
		for _, b := range f.body.Blocks {
			if b.Type != "mcpcat" || len(b.Labels) > 0 {
				continue
			}
			if l.settings == nil {
				l.settings = b
			}
			l.checkVersions(b)
		}
	}
	if own := l.diags[before:]; own.HasErrors() {
		l.diags, l.dropped = own, 0
	}
}

func (l *loader) checkVersions(b *hclsyntax.Block) {
	w := where{context: "mcpcat"}
	if a := b.Body.Attributes["required_version"]; a != nil {
		if constraint, ok := l.literalString(a, w); ok {
			allowed, err := versionAllowed(constraint, l.opts.Version)
			switch {
			case err != nil:
				l.fail("catalog.value", "Invalid version constraint", a.Expr.Range(), w, "required_version: %s. Write it like \">= 0.1.0, < 2.0.0\".", err)
			case !allowed:
				l.fail("catalog.version", "Catalog is for another version of mcpcat", a.Expr.Range(), w, "The catalog requires mcpcat %s, this is %s. Use such a version, or change required_version.", diag.Quote(constraint, 0), diag.Escape(l.opts.Version))
			}
		}
	}
	if a := b.Body.Attributes["protocol"]; a != nil {
		if p, ok := l.literalString(a, w); ok && p != Protocol {
			l.fail("catalog.value", "Protocol revision not supported", a.Expr.Range(), w, "protocol must be %q: mcpcat speaks this revision and no other.", Protocol)
		}
	}
}

// literalString returns an argument that must be a text without references.
func (l *loader) literalString(a *hclsyntax.Attribute, w where) (string, bool) {
	v, ok := l.literal(a.Name, a.Expr, w)
	if !ok {
		return "", false
	}
	if v.IsNull() || v.Type() != cty.String {
		l.fail("catalog.type", "Wrong type", a.Expr.Range(), w, "%s is %s, want a text.", a.Name, typeName(v))
		return "", false
	}
	return asString(v), true
}

// literal evaluates an expression that may neither refer to anything nor call a function.
func (l *loader) literal(what string, e hclsyntax.Expression, w where) (cty.Value, bool) {
	var bad hclsyntax.Node
	good := true
	nodes(e, func(n hclsyntax.Node) {
		switch n := n.(type) {
		case *hclsyntax.ObjectConsExpr:
			good = l.distinctKeys(n, w) && good
		case *hclsyntax.ScopeTraversalExpr, *hclsyntax.FunctionCallExpr:
			if bad == nil {
				bad = n
			}
		}
	})
	if !good {
		return cty.NilVal, false
	}
	if bad != nil {
		l.fail("catalog.reference", "Plain value needed", bad.Range(), w, "%s must be written out: no references and no functions. A text needs quotes.", what)
		return cty.NilVal, false
	}
	return l.evalUsing(e, w, &uses{ok: true})
}

// readSettings reads the mcpcat block, or sets the defaults if there is none.
func (l *loader) readSettings(b *hclsyntax.Block) {
	l.cat.Gate.Recheck.Mode = RecheckEachCall
	l.cat.Timeouts = DefaultTimeouts
	lock, mirror := "", ""
	if b != nil {
		w := where{context: "mcpcat"}
		c := l.contents(b.Body, w, mcpcatBlock)
		if lb := c.blocks["lock"]; lb != nil {
			lc := l.contents(lb.Body, where{context: "mcpcat, lock"}, mcpcatBlock.block("lock"))
			lock = lc.path("path", lockSuffix)
			mirror = lc.path("mirror", mirrorSuffix)
		}
		if gb := c.blocks["gate"]; gb != nil {
			l.readGate(gb)
		}
		if db := c.blocks["defaults"]; db != nil {
			dc := l.contents(db.Body, where{context: "mcpcat, defaults"}, mcpcatBlock.block("defaults"))
			l.cat.Timeouts = l.readTimeouts(dc.blocks["timeouts"], dc.w, l.cat.Timeouts)
			l.cat.Limits = l.readLimits(dc.blocks["limits"], dc.w, l.cat.Limits)
		}
	}
	l.setLock(lock, mirror)
}

// setLock decides the two paths. The mirror follows the lock's name unless it is given beside it.
func (l *loader) setLock(lock, mirror string) {
	if p := l.opts.LockPath; p != "" {
		if msg := lockPathFault(p, lockSuffix); msg != "" {
			l.add(diag.Errorf("catalog.lock_path", "Invalid lock path", "-lock=%s: the path %s.", diag.Quote(p, maxPathBytes), msg))
			return
		}
		if p != lock {
			mirror = ""
		}
		lock = p
	}
	if lock == "" {
		lock = defaultLock
	}
	if mirror == "" {
		mirror = strings.TrimSuffix(lock, lockSuffix) + mirrorSuffix
	}
	l.cat.Lock, l.cat.Mirror = lock, mirror
	for _, p := range []string{lock, mirror} {
		if link := linkOnTheWay(l.opts.Dir, p); link != "" {
			l.add(diag.Errorf("catalog.lock_path", "Invalid lock path", "%s leads through the symbolic link %s. The lock and its mirror lie inside the catalog directory.", diag.Quote(p, maxPathBytes), diag.Quote(link, maxPathBytes)))
		}
	}
}

// linkOnTheWay returns the first directory of a relative path that is a symbolic link, "" if there is none. The file
// itself is opened without following a link by those who open it.
func linkOnTheWay(dir, p string) string {
	parts := strings.Split(p, "/")
	for i := 1; i < len(parts); i++ {
		part := strings.Join(parts[:i], "/")
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(part))); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return part
		}
	}
	return ""
}

func (c *contents) path(name, suffix string) string {
	p, ok := c.text(name, maxPathBytes)
	if !ok {
		return ""
	}
	if msg := lockPathFault(p, suffix); msg != "" {
		c.l.fail("catalog.lock_path", "Invalid lock path", c.args[name].Expr.Range(), c.w, "The path %s.", msg)
		return ""
	}
	return p
}

// lockPathFault returns what is wrong with a path, or "".
func lockPathFault(p, suffix string) string {
	switch {
	case len(p) > maxPathBytes:
		return "is too long"
	case !cleanRelative(p):
		return "must be relative, inside the catalog directory, with forward slashes and without . or .. in it"
	case !strings.HasSuffix(p, suffix) || strings.HasSuffix(p, "/"+suffix) || p == suffix:
		return "must end in NAME" + suffix
	}
	if _, _, found := diag.Concealed(p); found || strings.ContainsAny(p, "\n\t") {
		return "contains a character that readers cannot see"
	}
	return ""
}

func (l *loader) readGate(b *hclsyntax.Block) {
	c := l.contents(b.Body, where{context: "mcpcat, gate"}, gateBlock)
	r, _ := c.recheck(l.cat.Gate.Recheck)
	if a := c.args["max_age"]; a != nil && r.Mode != RecheckListChanged {
		l.fail("catalog.value", "max_age without list_changed", a.NameRange, c.w, "max_age belongs to recheck = \"list_changed\": with a duration as recheck one comparison serves that long, and with \"each_call\" none serves twice.")
	} else if d, ok := c.duration("max_age", time.Second, maxRecheck); ok {
		r.MaxAge = d
	}
	l.cat.Gate.Recheck = r
}

// maxRecheck is how long a comparison may serve at most.
const maxRecheck = 24 * time.Hour

// recheck reads the argument recheck. It returns base if that is absent or in error; own says that it is there.
func (c *contents) recheck(base Recheck) (r Recheck, own bool) {
	s, ok := c.text("recheck", 64)
	switch {
	case !ok:
		return base, false
	case s == RecheckListChanged && base.Mode == RecheckListChanged:
		return base, true // with its max_age
	case s == RecheckEachCall, s == RecheckListChanged:
		return Recheck{Mode: s}, true
	}
	if _, err := time.ParseDuration(s); err != nil {
		hint := ""
		if near := nearest(s, []string{RecheckEachCall, RecheckListChanged}); near != "" {
			hint = fmt.Sprintf(" Did you mean %q?", near)
		}
		c.l.fail("catalog.value", "Invalid recheck mode", c.exprRange("recheck"), c.w, "recheck must be \"each_call\", \"list_changed\" or a duration such as \"60s\".%s", hint)
		return base, false
	}
	d, ok := c.duration("recheck", time.Second, maxRecheck)
	if !ok {
		return base, false
	}
	return Recheck{Mode: RecheckInterval, Every: d}, true
}

// readTimeouts reads a timeouts block over the values of base; b may be nil.
func (l *loader) readTimeouts(b *hclsyntax.Block, outer where, base Timeouts) Timeouts {
	if b == nil {
		return base
	}
	c := l.contents(b.Body, outer.inside("timeouts"), timeoutsBlock)
	for name, to := range map[string]*time.Duration{"connect": &base.Connect, "discover": &base.Discover, "list": &base.List, "call": &base.Call} {
		if d, ok := c.duration(name, time.Millisecond, MaxTimeout); ok {
			*to = d
		}
	}
	return base
}

// inside is the context of a block within another.
func (c *contents) inside(name string) where { return c.w.inside(name) }

func (w where) inside(name string) where {
	w.context += ", " + name
	return w
}

// exprRange is the place of an argument's value, or of the body if the argument is absent.
func (c *contents) exprRange(name string) hcl.Range {
	if a := c.args[name]; a != nil {
		return a.Expr.Range()
	}
	return c.body.MissingItemRange()
}
