// Package surface holds what an MCP server offers: the sections of its discovery and the exact definitions of its tools.
//
// A Server is either observed (built by Observe from the raw answers of one walk) or failed (a status and a reason).
// The package is for values only: it asks nobody, reads no file and decides nothing about what may be used; observe
// fills it, plan compares it with the lock, gate looks an item up in it. It stands among the nouns of the drawing and
// imports addr, digest and strictjson.
package surface

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Protocol is the MCP revision whose answers this package understands.
const Protocol = "2026-07-28"

// Names of the evidence in Server.Snapshots.
const (
	SnapshotDiscover = "discover"
	SnapshotTools    = "tools"
)

// serverInfoKey is the member of a result's _meta in which a server names itself. A top-level serverInfo belongs to
// older revisions and is an unknown member here.
const serverInfoKey = "io.modelcontextprotocol/serverInfo"

// Status says whether a server's answers were obtained.
type Status string

const (
	// Checked means that discovery and every list were read completely, twice where that was asked for.
	Checked Status = "checked"
	// NotChecked means that nothing is known: no connection, a timeout, or no permission to contact the endpoint.
	NotChecked Status = "not_checked"
	// Refused means that the server answered and its answers cannot be pinned: another protocol, a broken list, a list
	// that changed between two walks.
	Refused Status = "refused"
)

// Failure says why a server was not checked or was refused. Message is one sentence for people; foreign text in it is
// already cut and escaped.
type Failure struct {
	Code      string   // dotted words, "server.connect_timeout"
	Message   string   // "No connection within 5s."
	Retryable bool     // whether the same question may be answered later
	Offered   []string // protocol versions that the server named
	RPCCode   int64    // JSON-RPC error code, 0 if there was none
}

// Identity is what a server says about itself. It is a claim and never authorises anything.
type Identity struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Item is one definition. Definition is the object as received with the white space between tokens removed; Digest is
// its gate digest, over the canonical form and every member.
type Item struct {
	Addr       addr.Item
	Definition []byte
	Digest     digest.Digest
}

// Excluded is a listed tool that the client left out, with the reason.
type Excluded struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Server is everything known about one server at one time. Addr, Endpoint and EndpointDigest are always set; Failure is
// set unless Status is Checked, and everything below Failure only if it is.
type Server struct {
	Addr           addr.Server
	Endpoint       json.RawMessage // resolved posture, canonical JSON, secrets as references
	EndpointDigest digest.Digest
	Status         Status
	Failure        *Failure

	Discovery    json.RawMessage // the discover result as received, compact
	Protocol     string
	Identity     *Identity       // nil: the server does not name itself
	Instructions *string         // nil: absent
	Capabilities json.RawMessage // compact, as received

	Snapshots       map[string]digest.Digest // evidence over whole answers, by Snapshot name
	ToolsTTLMs      int64                    // smallest ttlMs of all pages
	ToolsCacheScope string                   // "public" or "private"
	ToolOrder       []string                 // names in list order
	Tools           []Item                   // by name, byte order
	Excluded        []Excluded               // by name, byte order
	ByItself        []string                 // what differed between two walks without counting, see SameWalk
}

// Tool returns the observed tool called name.
func (s *Server) Tool(name string) (Item, bool) {
	i, ok := slices.BinarySearchFunc(s.Tools, name, func(it Item, name string) int { return cmp.Compare(it.Addr.Name, name) })
	if !ok {
		return Item{}, false
	}
	return s.Tools[i], true
}

// Walk is the raw material of one complete walk over a server.
type Walk struct {
	Addr           addr.Server
	Endpoint       json.RawMessage
	EndpointDigest digest.Digest

	Discovery  []byte   // value of result of server/discover, as received
	Tools      [][]byte // definitions of all pages in list order, as received
	TTLMs      int64    // smallest of all pages
	CacheScope string
	ListInfo   *Identity // serverInfo of the tools/list result, used when discovery names nobody
	Excluded   []Excluded
	Snapshots  map[string]digest.Digest
}

// Observe builds the checked Server of one walk. It copies what it keeps.
//
// The error says which part is not what the protocol asks for: a discovery without capabilities, a definition without a
// name, a name that is listed twice. JSON faults are *strictjson.Error.
func Observe(w Walk) (Server, error) {
	s := Server{
		Addr: w.Addr, Endpoint: slices.Clone(w.Endpoint), EndpointDigest: w.EndpointDigest,
		Status: Checked, Protocol: Protocol,
		ToolsTTLMs: w.TTLMs, ToolsCacheScope: w.CacheScope,
		Snapshots: make(map[string]digest.Digest, len(w.Snapshots)),
		ToolOrder: make([]string, 0, len(w.Tools)), Tools: make([]Item, 0, len(w.Tools)),
		Excluded: slices.Clone(w.Excluded),
	}
	for name, d := range w.Snapshots {
		s.Snapshots[name] = d
	}
	if err := s.readDiscovery(w); err != nil {
		return Server{}, fmt.Errorf("server/discover: %w", err)
	}
	for i, def := range w.Tools {
		it, err := NewTool(w.Addr, def)
		if err != nil {
			return Server{}, fmt.Errorf("tools/list: tool %d: %w", i+1, err)
		}
		s.ToolOrder = append(s.ToolOrder, it.Addr.Name)
		s.Tools = append(s.Tools, it)
	}
	slices.SortFunc(s.Tools, func(a, b Item) int { return cmp.Compare(a.Addr.Name, b.Addr.Name) })
	for i := 1; i < len(s.Tools); i++ {
		if s.Tools[i].Addr.Name == s.Tools[i-1].Addr.Name {
			return Server{}, fmt.Errorf("tools/list: tool %q is listed twice", cut(s.Tools[i].Addr.Name))
		}
	}
	slices.SortFunc(s.Excluded, func(a, b Excluded) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Reason, b.Reason))
	})
	return s, nil
}

// NewTool builds the Item of one tool definition of server. The definition may hold white space; it is checked
// strictly, and the result does not alias it.
func NewTool(server addr.Server, definition []byte) (Item, error) {
	v, err := strictjson.Parse(definition, strictjson.Limits{})
	if err != nil {
		return Item{}, err
	}
	if v.Kind() != strictjson.KindObject {
		return Item{}, errors.New("the definition is no object")
	}
	raw, ok := v.Get("name")
	if !ok {
		return Item{}, errors.New("the definition has no name")
	}
	name, ok := raw.Text()
	if !ok || name == "" {
		return Item{}, errors.New("the name is no non-empty string")
	}
	d, err := digest.OfItem("tool", v)
	if err != nil {
		return Item{}, err
	}
	return Item{
		Addr:       addr.Item{Server: server, Kind: "tool", Name: name},
		Definition: strictjson.AppendCompact(nil, v),
		Digest:     d,
	}, nil
}

func (s *Server) readDiscovery(w Walk) error {
	v, err := strictjson.Parse(w.Discovery, strictjson.Limits{})
	if err != nil {
		return err
	}
	if v.Kind() != strictjson.KindObject {
		return errors.New("the result is no object")
	}
	s.Discovery = strictjson.AppendCompact(nil, v)
	caps, ok := v.Get("capabilities")
	if !ok || caps.Kind() != strictjson.KindObject {
		return errors.New("capabilities is no object")
	}
	s.Capabilities = strictjson.AppendCompact(nil, caps)
	if raw, ok := v.Get("instructions"); ok {
		text, ok := raw.Text()
		if !ok {
			return errors.New("instructions is no string")
		}
		s.Instructions = &text
	}
	s.Identity, err = identity(v)
	if err != nil {
		return err
	}
	if s.Identity == nil && w.ListInfo != nil {
		id := *w.ListInfo
		s.Identity = &id
	}
	return nil
}

// identity reads the serverInfo of a result's _meta; nil if there is none.
func identity(result strictjson.Value) (*Identity, error) {
	meta, ok := result.Get("_meta")
	if !ok || meta.Kind() != strictjson.KindObject {
		return nil, nil
	}
	info, ok := meta.Get(serverInfoKey)
	if !ok {
		return nil, nil
	}
	if info.Kind() != strictjson.KindObject {
		return nil, errors.New("serverInfo is no object")
	}
	var id Identity
	for _, f := range []struct {
		name string
		to   *string
	}{{"name", &id.Name}, {"version", &id.Version}} {
		raw, ok := info.Get(f.name)
		if !ok {
			return nil, fmt.Errorf("serverInfo has no %s", f.name)
		}
		if *f.to, ok = raw.Text(); !ok {
			return nil, fmt.Errorf("serverInfo.%s is no string", f.name)
		}
	}
	return &id, nil
}

// cut bounds peer text in errors.
func cut(s string) string {
	const most = 256
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
