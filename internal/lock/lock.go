// Package lock holds what a lock file says: which servers, tools and agents were reviewed and pinned, and the digests
// that bind them together.
//
// A Lock is turned into key and value pairs by Entries and read back, with every digest computed again, by FromEntries.
// Mirror prints the same content as text for a review. The package decides and does no I/O: the file itself belongs to
// boltfile, what to write belongs to plan, and who may call what belongs to gate.
//
// In the drawing it is a noun: plan, gate and boltfile import it; it imports addr, diag, digest and strictjson.
//
// The format is described in docs/lock-format.md.
package lock

import (
	"encoding/json"
	"sort"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
)

// The lock format that this package writes, and the newest that it knows.
const (
	FormatMajor = 1
	FormatMinor = 0
)

// Limits of a lock.
const (
	MaxSerial     = 1<<53 - 1 // the largest serial: the largest whole number that every JSON reader keeps
	MaxEntries    = 1 << 20   // keys in one lock
	MaxKeyBytes   = 32 << 10  // bytes of one key, after escaping; bbolt takes no longer one
	MaxValueBytes = 16 << 20  // bytes of one value
)

// Lock is one state of the lock. Entries, Seal and FromEntries keep its lists in order: servers and items as package
// addr compares their addresses, agents by the bytes of their names. Find, ServerByAddr and AgentByName need that order.
type Lock struct {
	Minor   uint64        // minor format number as read; 0 in a new lock
	Lineage string        // 32 lower-case hex digits, chosen by the first plan and never changed
	Serial  uint64        // 1 for a first lock, then one more for each change; at most MaxSerial
	Parent  digest.Digest // root before the last change; zero in a first lock
	Root    digest.Digest // digest of everything but the meta entries
	Seal    digest.Digest // digest of format, lineage, serial, parent and root

	Gate    json.RawMessage // canonical JSON object: the run-time posture that was applied; nil for none
	Policy  json.RawMessage // canonical JSON object, given by the caller: the policies that were applied; nil for none
	Servers []Server
	Items   []Item
	Agents  []Agent
}

// Server is what was pinned of one server beside its items.
type Server struct {
	Addr           addr.Server
	Endpoint       json.RawMessage // canonical JSON object; secrets are references
	EndpointDigest digest.Digest   // digest.OfJSON("endpoint", Endpoint)
	Protocol       string          // the protocol revision spoken, "2026-07-28"
	Identity       *Identity       // what the server called itself; nil if it did not say
	Capabilities   json.RawMessage // canonical JSON object, nil if it did not say
	Instructions   *string         // nil if the server sent none

	// Timeouts is a canonical JSON object, given by the caller: the time limits that were applied. nil for none.
	Timeouts json.RawMessage
	// Limits and Recheck are canonical JSON objects, given by the caller: the limits that were set, and when the server's list
	// is compared if not as the gate says. nil for none.
	Limits, Recheck json.RawMessage

	// Snapshots holds the digests of whole answers, by kind ("discovery", "tools"). They are evidence and not gated.
	Snapshots       map[string]digest.Digest
	ToolsTTLMs      int64    // the smallest ttlMs of the tools list; at least 0
	ToolsCacheScope string   // "public" or "private"; empty if no list was walked
	ToolOrder       []string // names of all tools offered, in the server's order
}

// Identity is a server's own name and version.
type Identity struct{ Name, Version string }

// Item is one pinned tool, prompt, resource or resource template.
type Item struct {
	Addr       addr.Item
	Digest     digest.Digest // digest.OfItem(kind, Definition)
	Definition []byte        // the JSON object as received, without white space between tokens
}

// Agent is what one agent may use.
type Agent struct {
	Name  string
	Names string      // "prefixed" or "plain"
	Tools []AgentTool // by exposed name, in byte order, without repetition
}

// AgentTool is one tool that an agent sees.
type AgentTool struct {
	Name    string        // the exposed name
	Address addr.Item     // a pinned tool of this lock
	Digest  digest.Digest // digest of the effective definition; in format 1.0 that is the pinned item's digest
}

// KV is one entry of the lock file.
type KV struct {
	Key   string
	Value []byte
}

// Base names one state of a lock. Plans and writers compare it with == to notice that somebody else wrote first.
type Base struct {
	Lineage string
	Serial  uint64
	Root    digest.Digest
}

// Base returns the state that l is, and nil for a nil lock: no lock yet.
func (l *Lock) Base() *Base {
	if l == nil {
		return nil
	}
	return &Base{Lineage: l.Lineage, Serial: l.Serial, Root: l.Root}
}

// SameBase reports whether a and b name the same state. nil is the state without a lock and equals only itself.
func SameBase(a, b *Base) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return *a == *b
}

// Find returns the pinned item at a, or nil.
func (l *Lock) Find(a addr.Item) *Item {
	i, ok := sort.Find(len(l.Items), func(i int) int { return a.Compare(l.Items[i].Addr) })
	if !ok {
		return nil
	}
	return &l.Items[i]
}

// Names returns the names of what is pinned of one kind on a server, sorted; nil if nothing is, also for a nil lock.
func (l *Lock) Names(a addr.Server, k addr.Kind) []string {
	if l == nil {
		return nil
	}
	first := addr.Item{Server: a, Kind: k}
	i, _ := sort.Find(len(l.Items), func(i int) int { return first.Compare(l.Items[i].Addr) })
	var names []string
	for ; i < len(l.Items) && l.Items[i].Addr.Server == a && l.Items[i].Addr.Kind == k; i++ {
		names = append(names, l.Items[i].Addr.Name)
	}
	return names
}

// ServerByAddr returns the pinned server at a, or nil.
func (l *Lock) ServerByAddr(a addr.Server) *Server {
	i, ok := sort.Find(len(l.Servers), func(i int) int { return a.Compare(l.Servers[i].Addr) })
	if !ok {
		return nil
	}
	return &l.Servers[i]
}

// AgentByName returns the agent called name, or nil.
func (l *Lock) AgentByName(name string) *Agent {
	i, ok := sort.Find(len(l.Agents), func(i int) int { return strings.Compare(name, l.Agents[i].Name) })
	if !ok {
		return nil
	}
	return &l.Agents[i]
}

// Tool returns the tool that the agent sees as name, or nil.
func (a *Agent) Tool(name string) *AgentTool {
	i, ok := sort.Find(len(a.Tools), func(i int) int { return strings.Compare(name, a.Tools[i].Name) })
	if !ok {
		return nil
	}
	return &a.Tools[i]
}
