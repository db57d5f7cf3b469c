package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/schema"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// tool is one row of the table that answers both lists and calls.
type tool struct {
	name       string // exposed
	upstream   string // the server's own name for it
	address    string
	server     *session
	digest     digest.Digest // pinned
	pinned     []byte        // pinned definition
	definition json.RawMessage
	parsed     *mcp.Tool
	input      func() (*schema.Schema, error)

	fault *Refusal                // what catalog and lock alone say; nil if they agree
	seen  atomic.Pointer[finding] // what the last walk said; nil if it passed
}

// finding is a refusal and the digest that led to it.
type finding struct {
	refusal *Refusal
	live    digest.Digest
}

// refused returns why the tool is known to be refused, or nil. A server that cannot be reached is no such knowledge.
func (t *tool) refused() *Refusal {
	if t.fault != nil {
		return t.fault
	}
	if f := t.seen.Load(); f != nil {
		return f.refusal
	}
	return nil
}

// judge applies decide to one walk and remembers the outcome.
func (t *tool) judge(s sight) *Refusal {
	reason := decide(t.digest, s)
	known := t.seen.Load()
	switch {
	case reason == pass:
		if known != nil {
			t.seen.Store(nil)
		}
		return nil
	case known != nil && known.refusal.Reason == reason && known.live == s.digest:
		return known.refusal
	}
	r := &Refusal{Reason: reason, Address: t.address, Locked: t.digest.String()}
	if s.listed {
		r.Live = s.digest.String()
		if reason == Drift {
			r.Changed = changed(t.pinned, s.definition)
		}
	}
	if reason != Unverified {
		t.seen.Store(&finding{r, s.digest})
	}
	return r
}

// expose builds the table: a name that catalog and lock both give to the agent, for the same item. What only the lock
// gives was taken away and is unknown; what only the catalog gives, or what it states otherwise, is refused.
func (g *Gate) expose(c Config, sessions map[addr.Server]*session) error {
	var posture error
	if !sameRecheck(c.Lock.Gate, c.Catalog.Gate.Recheck) {
		posture = errors.New("the gate block of the catalog is not the applied one: plan and apply it")
	}
	exposed, pinnedNames, err := agentTables(c)
	if err != nil {
		return err
	}
	for _, e := range exposed {
		s := sessions[e.Item.Server]
		if s == nil {
			return &OpenError{What: "catalog", Err: fmt.Errorf("%s belongs to no declared server", e.Item)}
		}
		t := &tool{name: e.Name, upstream: e.Item.Name, address: e.Item.String(), server: s}
		item := c.Lock.Find(e.Item)
		inLock := pinnedNames == nil || pinnedNames[e.Name] == e.Item
		switch {
		case item == nil:
			t.fault = t.refusal(NotPinned, errors.New("it is not in the lock: plan and apply it"))
		case !inLock:
			t.fault = t.refusal(Lock, fmt.Errorf("the lock does not give it to agent %q under this name: plan and apply it", g.agent))
		case posture != nil:
			t.fault = t.refusal(Lock, posture)
		default:
			if err := sameServer(s.decl, c.Lock.ServerByAddr(e.Item.Server)); err != nil {
				t.fault = t.refusal(Lock, err)
			}
		}
		if item != nil {
			if err := t.pin(item); err != nil {
				return &OpenError{What: "lock", Err: fmt.Errorf("%s: %w", t.address, err)}
			}
		}
		if t.fault != nil {
			t.fault.Locked = t.lockedText()
		}
		g.tools[t.name] = t
		g.order = append(g.order, t)
		s.tools = append(s.tools, t)
	}
	return nil
}

func (t *tool) refusal(reason Reason, err error) *Refusal {
	return &Refusal{Reason: reason, Address: t.address, Err: err}
}

func (t *tool) lockedText() string {
	if t.digest.IsZero() {
		return ""
	}
	return t.digest.String()
}

// agentTables returns what the catalog exposes, by name, and the lock's entry for the agent; for an operator every
// declared tool under its address, and no entry.
func agentTables(c Config) ([]catalog.Exposed, map[string]addr.Item, error) {
	if c.Agent == "" {
		var all []catalog.Exposed
		for _, s := range c.Catalog.Servers {
			if !s.Enabled {
				continue
			}
			for _, d := range s.Tools {
				item := addr.Item{Server: s.Addr, Kind: addr.Tool, Name: d.Name}
				all = append(all, catalog.Exposed{Name: item.String(), Item: item})
			}
		}
		slices.SortFunc(all, byName)
		return all, nil, nil
	}
	declared := c.Catalog.Agent(c.Agent)
	if declared == nil {
		return nil, nil, &OpenError{What: "agent", Err: fmt.Errorf("the catalog declares no agent %q", c.Agent)}
	}
	entry := c.Lock.AgentByName(c.Agent)
	if entry == nil {
		return nil, nil, &OpenError{What: "agent", Err: fmt.Errorf("the lock has no agent %q: plan and apply it", c.Agent)}
	}
	names := map[string]addr.Item{}
	for _, t := range entry.Tools {
		item := c.Lock.Find(t.Address)
		if item == nil || item.Digest != t.Digest {
			continue // an entry for another definition gives nothing
		}
		names[t.Name] = t.Address
	}
	exposed := slices.Clone(declared.Tools)
	slices.SortFunc(exposed, byName)
	return exposed, names, nil
}

func byName(a, b catalog.Exposed) int {
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

// pin takes over the pinned definition.
func (t *tool) pin(item *lock.Item) error {
	t.digest, t.pinned = item.Digest, slices.Clone(item.Definition)
	parsed, err := mcp.ParseTool(t.pinned)
	if err != nil {
		return err
	}
	if parsed.Name != t.upstream {
		return fmt.Errorf("the pinned definition has the name %q", parsed.Name)
	}
	t.parsed = parsed
	t.definition, err = renamed(t.pinned, t.upstream, t.name)
	input := []byte(parsed.InputSchema)
	t.input = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(input) })
	return err
}

// sameServer compares the posture that the catalog states with the applied one.
func sameServer(decl *catalog.Server, pinned *lock.Server) error {
	switch {
	case pinned == nil:
		return errors.New("its server is not in the lock: plan and apply it")
	case decl.EndpointDigest() != pinned.EndpointDigest:
		return errors.New("the endpoint in the catalog is not the applied one: plan and apply it")
	case pinned.Protocol != mcp.ProtocolVersion:
		return fmt.Errorf("it was pinned for protocol %q, want %q", pinned.Protocol, mcp.ProtocolVersion)
	case pinned.Timeouts != nil && !bytes.Equal(pinned.Timeouts, decl.Timeouts.Posture()):
		return errors.New("the timeouts in the catalog are not the applied ones: plan and apply them")
	}
	return nil
}

// sameRecheck says whether the catalog checks at least as often as what was applied. To check more often only takes away.
func sameRecheck(pinned json.RawMessage, r catalog.Recheck) bool {
	if r.Mode == catalog.RecheckEachCall {
		return true
	}
	g, err := catalog.ParseGate(pinned)
	return err == nil && g.Recheck.Mode == r.Mode && r.Every > 0 && r.Every <= g.Recheck.Every
}

// renamed returns the definition with the exposed name in place of the server's, all other bytes untouched.
func renamed(def []byte, from, to string) (json.RawMessage, error) {
	if from == to {
		return def, nil
	}
	for name, at := range strictjson.Value(def).Spans() {
		if name == "name" {
			out := make([]byte, 0, len(def)+len(to))
			out = append(out, def[:at.Value]...)
			out = strictjson.AppendString(out, to)
			return append(out, def[at.End:]...), nil
		}
	}
	return nil, errors.New("definition has no member \"name\"")
}
