package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

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
	input      schema.Ref // of parsed.InputSchema

	output schema.Ref // of parsed.OutputSchema

	fault      *Refusal        // what catalog and lock alone say; nil if they agree
	unenforced func() *Refusal // what the pinned definition alone says; nil if it can be enforced

	mu     sync.Mutex
	seen   *Refusal      // what the newest walk that was judged said; nil if it passed
	live   digest.Digest // what it saw
	judged uint64        // its number
}

// refused returns why the tool is known to be refused, or nil. A server that cannot be reached is no such knowledge.
func (t *tool) refused() *Refusal {
	if t.fault != nil {
		return t.fault
	}
	if t.unenforced != nil {
		if r := t.unenforced(); r != nil {
			return r
		}
	}
	return t.found()
}

// found returns what the newest walk said, nil if it passed or there was none.
func (t *tool) found() *Refusal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

// judge applies decide to what one walk saw and remembers the outcome, unless a walk that began later was judged already:
// then what that one found holds as well, and is not overwritten.
func (t *tool) judge(s sight, walk uint64) *Refusal {
	reason := decide(t.digest, s)
	t.mu.Lock()
	defer t.mu.Unlock()
	newest := walk >= t.judged
	if reason == pass {
		if newest {
			t.seen, t.judged = nil, walk
		}
		return t.seen
	}
	if t.seen != nil && t.seen.Reason == reason && t.live == s.digest {
		if newest {
			t.judged = walk
		}
		return t.seen
	}
	r := &Refusal{Reason: reason, Address: t.address, Locked: t.digest.String()}
	if s.listed {
		r.Live = s.digest.String()
		if reason == Drift {
			r.Changed = changed(t.pinned, s.definition)
		}
	}
	if reason != Unverified && newest {
		t.seen, t.live, t.judged = r, s.digest, walk
	}
	return r
}

// expose builds the table: a name that catalog and lock both give to the agent, for the same item. What only the lock
// gives was taken away and is unknown; what only the catalog gives, or what it states otherwise, is refused.
func (g *Gate) expose(c Config, sessions map[addr.Server]*session) error {
	var posture error
	if !c.Catalog.Gate.AtLeast(c.Lock.Gate) {
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
			if err := sameServer(s.decl, c.Lock.ServerByAddr(e.Item.Server), c.Lock.Gate); err != nil {
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
				if d.Disabled {
					continue
				}
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
	t.unenforced = sync.OnceValue(t.enforce)
	return err
}

// enforce says why the pinned definition cannot be enforced, nil if it can. A definition of which a schema is beyond the
// bounds of package schema, or of a kind that it does not evaluate, is pinned as text: it allows nothing, and is in no
// list.
func (t *tool) enforce() *Refusal {
	_, err := t.input.Compile(t.parsed.InputSchema)
	if err != nil {
		err = fmt.Errorf("inputSchema: %w", err)
	} else if t.parsed.OutputSchema != nil {
		if _, err = t.output.Compile(t.parsed.OutputSchema); err != nil {
			err = fmt.Errorf("outputSchema: %w", err)
		}
	}
	if err == nil {
		return nil
	}
	t.server.log.Warn("tool is not offered: its pinned definition cannot be enforced", "tool", t.address, "error", err)
	return &Refusal{Reason: Policy, Address: t.address, Locked: t.digest.String(), Err: err}
}

// sameServer compares the posture that the catalog states with the applied one.
func sameServer(decl *catalog.Server, pinned *lock.Server, gate json.RawMessage) error {
	if pinned == nil {
		return errors.New("its server is not in the lock: plan and apply it")
	}
	return decl.CheckApplied(catalog.Applied{
		Endpoint: pinned.EndpointDigest, Protocol: pinned.Protocol, Timeouts: pinned.Timeouts, Limits: pinned.Limits, Recheck: pinned.Recheck, Gate: gate,
	})
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
