package view

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// LockList is what a lock holds, without definitions.
type LockList struct {
	Lock    string        `json:"lock"`
	Lineage string        `json:"lineage"`
	Serial  uint64        `json:"serial"`
	Root    digest.Digest `json:"root"`
	Servers []LockServer  `json:"servers"`
	Items   []LockEntry   `json:"items"`
	Agents  []LockAgent   `json:"agents"`

	servers map[string]addr.Server
}

// LockEntry is one pinned item.
type LockEntry struct {
	Address string        `json:"address"`
	Digest  digest.Digest `json:"digest"`
	server  addr.Server
}

// LockAgent is what one agent was given.
type LockAgent struct {
	Name  string          `json:"name"`
	Names string          `json:"names"`
	Tools []LockAgentTool `json:"tools"`
}

// LockAgentTool is one tool of an agent.
type LockAgentTool struct {
	Name    string        `json:"name"`
	Address string        `json:"address"`
	Digest  digest.Digest `json:"digest"`
}

// LockServer is one pinned server.
type LockServer struct {
	Address        string                   `json:"address"`
	Endpoint       json.RawMessage          `json:"endpoint"`
	EndpointDigest digest.Digest            `json:"endpoint_digest"`
	Timeouts       json.RawMessage          `json:"timeouts,omitempty"`
	Limits         json.RawMessage          `json:"limits,omitempty"`
	Recheck        json.RawMessage          `json:"recheck,omitempty"`
	Protocol       string                   `json:"protocol"`
	Identity       *lockIdentity            `json:"identity"`
	Capabilities   json.RawMessage          `json:"capabilities"`
	Instructions   *string                  `json:"instructions"`
	Snapshots      map[string]digest.Digest `json:"snapshots"`
	ToolOrder      []string                 `json:"tool_order"`
}

type lockIdentity struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// NewLockList lists the lock l, which is called name.
func NewLockList(l *lock.Lock, name string) LockList {
	d := LockList{
		Lock: name, Lineage: l.Lineage, Serial: l.Serial, Root: l.Root,
		Servers: []LockServer{}, Items: []LockEntry{}, Agents: []LockAgent{},
		servers: map[string]addr.Server{},
	}
	for i := range l.Servers {
		d.Servers = append(d.Servers, NewLockServer(&l.Servers[i]))
		d.servers[l.Servers[i].Addr.String()] = l.Servers[i].Addr
	}
	for _, it := range l.Items {
		d.Items = append(d.Items, LockEntry{Address: it.Addr.String(), Digest: it.Digest, server: it.Addr.Server})
	}
	for _, a := range l.Agents {
		out := LockAgent{Name: a.Name, Names: a.Names, Tools: []LockAgentTool{}}
		for _, t := range a.Tools {
			out.Tools = append(out.Tools, LockAgentTool{Name: t.Name, Address: t.Address.String(), Digest: t.Digest})
		}
		d.Agents = append(d.Agents, out)
	}
	return d
}

// Of is the part of the list that belongs to one server, without agents.
func (d LockList) Of(s addr.Server) LockList {
	d.Servers = slices.DeleteFunc(slices.Clone(d.Servers), func(x LockServer) bool { return d.servers[x.Address] != s })
	d.Items = slices.DeleteFunc(slices.Clone(d.Items), func(x LockEntry) bool { return x.server != s })
	d.Agents = []LockAgent{}
	return d
}

// Text prints one line an item, and with Full servers and agents too, with whole digests.
func (d LockList) Text(w io.Writer, o Options) error {
	p := &printer{o: o}
	p.o.Width = 0 // one line an entry, whatever its length
	widest := 0
	for _, it := range d.Items {
		widest = max(widest, min(width(esc(it.Address)), 60))
	}
	for _, s := range d.Servers {
		if o.Full {
			p.flow(pad(esc(s.Address), widest+2), 0, "", span{text: p.digest(s.EndpointDigest)})
		}
		for _, it := range d.Items {
			if it.server == d.servers[s.Address] {
				p.flow(pad(esc(it.Address), widest+2), 0, "", span{text: p.digest(it.Digest)})
			}
		}
	}
	if o.Full {
		for _, a := range d.Agents {
			for _, t := range a.Tools {
				p.flow(pad("agent."+esc(a.Name), widest+2), 0, "", span{text: esc(t.Name) + " = " + esc(t.Address)})
			}
		}
		p.flow("", 0, "", span{text: fmt.Sprintf("%s: serial %d, root %s, lineage %s", esc(d.Lock), d.Serial, p.digest(d.Root), esc(d.Lineage))})
	}
	return p.writeTo(w)
}

// NewLockServer shows one pinned server.
func NewLockServer(s *lock.Server) LockServer {
	d := LockServer{
		Address: s.Addr.String(), Endpoint: s.Endpoint, EndpointDigest: s.EndpointDigest, Timeouts: s.Timeouts, Limits: s.Limits, Recheck: s.Recheck, Protocol: s.Protocol,
		Capabilities: s.Capabilities, Instructions: s.Instructions, Snapshots: s.Snapshots, ToolOrder: append([]string{}, s.ToolOrder...),
	}
	if s.Identity != nil {
		d.Identity = &lockIdentity{s.Identity.Name, s.Identity.Version}
	}
	if d.Endpoint == nil {
		d.Endpoint = json.RawMessage("null")
	}
	if d.Capabilities == nil {
		d.Capabilities = json.RawMessage("null")
	}
	return d
}

// Text prints the entry in full.
func (d LockServer) Text(w io.Writer, o Options) error {
	p := &printer{o: o}
	p.flow("", 2, "", span{bold, esc(d.Address)})
	p.row("endpoint", span{text: esc(string(d.Endpoint))})
	p.row("", span{text: p.digest(d.EndpointDigest)})
	if d.Timeouts != nil {
		p.row("timeouts", span{text: esc(string(d.Timeouts))})
	}
	if d.Limits != nil {
		p.row("limits", span{text: esc(string(d.Limits))})
	}
	if d.Recheck != nil {
		p.row("recheck", span{text: esc(string(d.Recheck))})
	}
	p.row("protocol", span{text: esc(d.Protocol)})
	if d.Identity != nil {
		p.row("identity", span{text: esc(d.Identity.Name + " " + d.Identity.Version)})
	}
	p.row("capabilities", span{text: esc(string(d.Capabilities))})
	if d.Instructions != nil {
		p.row("instructions", span{text: quoteText(*d.Instructions)})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Snapshots)) {
		p.row(esc(name), span{text: p.digest(d.Snapshots[name])})
	}
	p.row("tools", span{text: list(d.ToolOrder)})
	return p.writeTo(w)
}

// LockItem is one pinned item with its definition.
type LockItem struct {
	Address    string          `json:"address"`
	Digest     digest.Digest   `json:"digest"`
	Definition json.RawMessage `json:"definition"`
}

// NewLockItem shows one pinned item.
func NewLockItem(it *lock.Item) LockItem {
	return LockItem{Address: it.Addr.String(), Digest: it.Digest, Definition: it.Definition}
}

// Text prints the digest and the definition, every member of it.
func (d LockItem) Text(w io.Writer, o Options) error {
	p := &printer{o: o}
	p.flow("", 2, "", span{bold, esc(d.Address)})
	p.row("digest", span{text: p.digest(d.Digest)})
	p.definition(strictjson.Value(d.Definition))
	return p.writeTo(w)
}
