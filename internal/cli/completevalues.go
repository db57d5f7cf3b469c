package cli

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/docs/schema"
	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/lock/boltfile"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// values are the candidates for a form of a usage text: words between bars are themselves, words in capitals stand for
// something.
func (a *app) values(ctx context.Context, q *question, form string) completion {
	var out completion
	for _, word := range strings.Split(strings.ReplaceAll(form, "...", ""), "|") {
		switch word = strings.Trim(word, "[]*"); word {
		case "FILE", "PLAN", "LOCK", "PATH", "OLD", "NEW":
			out.files = true
		case "@FILE":
			if name, ok := strings.CutPrefix(q.current, "@"); ok {
				out.candidates = append(out.candidates, a.filesFor(q, name)...)
			}
		case "DIR", "DIRECTORY":
			out.directories = true
		case "KIND":
			for _, kind := range schema.Kinds() {
				out.candidates = append(out.candidates, candidate{kind, schema.Title(kind)})
			}
		case "NAME", "AGENT":
			if word == "AGENT" || q.value != nil && slices.Contains(q.value.Names(), "agent") {
				out.candidates = append(out.candidates, a.known(ctx, q).agents()...)
			}
		case "SERVER":
			out.candidates = append(out.candidates, a.known(ctx, q).servers(q)...)
		case "ADDR", "ADDRESS":
			out.candidates = append(out.candidates, a.known(ctx, q).addresses(q)...)
		default:
			if word != "" && word == strings.ToLower(word) && word != "-" {
				out.candidates = append(out.candidates, candidate{value: word})
			}
		}
	}
	if out.files {
		out.directories = false
	}
	return out
}

// filesFor are files behind an at sign, which shells know nothing of.
func (a *app) filesFor(q *question, name string) []candidate {
	dir, base := path.Split(name)
	entries, err := os.ReadDir(resolve(resolve(a.Dir, q.last("chdir")), filepath.FromSlash(dir)))
	if err != nil {
		return nil
	}
	var out []candidate
	for _, e := range entries {
		value := "@" + dir + e.Name()
		if e.IsDir() {
			value += "/"
		}
		if printable := diag.Escape(value) == value; printable && (!strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(base, ".")) {
			out = append(out, candidate{value: value})
		}
	}
	return out
}

// names is what catalog and lock know about; either may be nil.
type names struct {
	catalog *catalog.Catalog
	lock    *lock.Lock
}

// known loads catalog and lock as the flags on the line say, without secrets and without asking anybody. What cannot be
// loaded within the time of ctx is left out.
func (a *app) known(ctx context.Context, q *question) names {
	got := make(chan names, 1)
	quiet := &app{Process: a.Process, out: a.out, err: a.err}
	quiet.flags.chdir, quiet.flags.lock = q.last("chdir"), q.last("lock")
	for _, s := range q.given["var"] {
		if v, err := parseVar(s); err == nil {
			quiet.flags.vars = append(quiet.flags.vars, v)
		}
	}
	for _, s := range q.given["var-file"] {
		// Standard input is not for us, and a pipe would be waited for.
		if info, err := os.Stat(quiet.path(s)); err == nil && info.Mode().IsRegular() {
			quiet.flags.vars = append(quiet.flags.vars, catalog.VarSource{File: quiet.path(s)})
		}
	}
	go func() {
		var n names
		file := quiet.path("catalog.lock.db")
		cat, diags := catalog.Load(catalog.Options{
			Dir: quiet.dir(), Lookup: a.Lookup, Vars: quiet.flags.vars, AllowMissingSecrets: true, LockPath: quiet.flags.lock, Version: version,
		})
		if !diags.HasErrors() {
			n.catalog, file = cat, quiet.lockPath(cat)
		}
		if quiet.flags.lock != "" {
			file = quiet.path(quiet.flags.lock)
		}
		// A lock that is being written is waited for, but not for so long that the catalog is lost too.
		short, cancel := context.WithTimeout(ctx, completionTime/3)
		defer cancel()
		if loaded, err := boltfile.Load(short, file); err == nil {
			n.lock = loaded.Lock
		}
		got <- n
	}()
	select {
	case n := <-got:
		if n.catalog != nil && a.hide(n.catalog) != nil {
			return names{}
		}
		return n
	case <-ctx.Done():
		return names{} // the goroutine ends with the program
	}
}

func (n names) agents() []candidate {
	var out []candidate
	if n.catalog != nil {
		for _, x := range n.catalog.Agents {
			out = append(out, candidate{x.Name, x.Description})
		}
	} else if n.lock != nil {
		for _, x := range n.lock.Agents {
			out = append(out, candidate{value: x.Name})
		}
	}
	return out
}

// servers are the addresses of servers: those of the lock where a command looks into the lock, otherwise all.
func (n names) servers(q *question) []candidate {
	described := map[addr.Server]string{}
	if n.catalog != nil && !ofLock(q) {
		for _, s := range n.catalog.Servers {
			described[s.Addr] = s.Description
		}
	}
	if n.lock != nil {
		for _, s := range n.lock.Servers {
			if _, ok := described[s.Addr]; !ok {
				described[s.Addr] = ""
				if n.catalog != nil && n.catalog.Server(s.Addr) != nil {
					described[s.Addr] = n.catalog.Server(s.Addr).Description
				}
			}
		}
	}
	out := make([]candidate, 0, len(described))
	for _, s := range sortedBy(described, addr.Server.Compare) {
		text := described[s]
		if text == "" {
			text = "server"
		}
		out = append(out, candidate{s.String(), text})
	}
	return out
}

func ofLock(q *question) bool { return strings.HasPrefix(q.path, "lock ") }

// addresses are what an ADDR may be: for call the tools that may be called, with the names that the agent sees; for commands
// that look into the lock its servers and items; otherwise all that catalog and lock know.
func (n names) addresses(q *question) []candidate {
	described := map[addr.Item]string{}
	add := func(x addr.Item, description string) {
		if described[x] == "" {
			described[x] = description
		}
	}
	var out []candidate
	agent := q.last("agent")
	call := q.path == "call"
	switch {
	case n.catalog == nil || ofLock(q):
	case call && agent != "":
		if x := n.catalog.Agent(agent); x != nil {
			for _, t := range x.Tools {
				add(t.Item, n.describe(t.Item))
				out = append(out, candidate{t.Name, n.describe(t.Item)})
			}
		}
	default:
		for _, s := range n.catalog.Servers {
			for _, t := range s.Tools {
				x := addr.Item{Server: s.Addr, Kind: addr.Tool, Name: t.Name}
				add(x, n.describe(x))
			}
			if !call {
				for _, x := range declaredItems(s) {
					add(x, n.describe(x))
				}
			}
		}
	}
	// A pattern of the catalog stands for what is pinned, and without a catalog that is all there is.
	if n.lock != nil && !(call && agent != "") {
		for _, it := range n.lock.Items {
			if !call || it.Addr.Kind == addr.Tool {
				add(it.Addr, n.describe(it.Addr))
			}
		}
	}
	if !call {
		out = append(out, n.servers(q)...)
	}
	for _, x := range sortedBy(described, addr.Item.Compare) {
		out = append(out, candidate{x.String(), described[x]})
	}
	return out
}

// describe is the first line that the pinned definition of an item says about it.
func (n names) describe(x addr.Item) string {
	if n.lock == nil {
		return ""
	}
	it := n.lock.Find(x)
	if it == nil {
		return "not pinned"
	}
	for _, member := range []string{"title", "description"} {
		if v, ok := strictjson.Value(it.Definition).Get(member); ok {
			if text, ok := v.Text(); ok && strings.TrimSpace(text) != "" {
				first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
				return first
			}
		}
	}
	return ""
}

func declaredItems(s *catalog.Server) []addr.Item {
	var out []addr.Item
	for _, list := range []struct {
		kind  addr.Kind
		items []catalog.ItemDecl
	}{{addr.Prompt, s.Prompts}, {addr.Resource, s.Resources}, {addr.ResourceTemplate, s.ResourceTemplates}} {
		for _, d := range list.items {
			out = append(out, addr.Item{Server: s.Addr, Kind: list.kind, Name: d.Name})
		}
	}
	return out
}

func sortedBy[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, compare)
	return out
}
