package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Seal puts l in order and binds it: the lists are sorted, JSON values are made canonical, and Root and Seal are
// computed. The error says which part of l no lock can hold.
func Seal(l *Lock) error {
	normal, entries, err := l.normal()
	if err != nil {
		return err
	}
	normal.Root = rootOf(entries)
	normal.Seal = sealOf(normal.Minor, normal.Lineage, normal.Serial, normal.Parent, normal.Root)
	*l = *normal
	return nil
}

// Entries returns the entries of l, sorted by the bytes of their keys. Root and seal are computed anew; the fields Root
// and Seal of l are not read and l is not changed. The order of the lists of l does not matter.
//
// The error says which part of l no lock can hold. Digests are written as l states them: FromEntries is the check.
func (l *Lock) Entries() ([]KV, error) {
	normal, entries, err := l.normal()
	if err != nil {
		return nil, err
	}
	root := rootOf(entries)
	seal := sealOf(normal.Minor, normal.Lineage, normal.Serial, normal.Parent, root)
	entries = append(entries,
		KV{keyFormat, appendFormat(nil, normal.Minor)},
		KV{keyLineage, fmt.Appendf(nil, "%q", normal.Lineage)},
		KV{keySerial, strconv.AppendUint(nil, normal.Serial, 10)},
		KV{keyParent, appendParent(nil, normal.Parent)},
		KV{keyRoot, appendDigest(nil, root)},
		KV{keySeal, appendDigest(nil, seal)},
	)
	sortEntries(entries)
	return entries, nil
}

func sortEntries(entries []KV) {
	slices.SortFunc(entries, func(a, b KV) int { return strings.Compare(a.Key, b.Key) })
}

// normal returns a copy of l in order and its entries outside meta/, sorted by key.
func (l *Lock) normal() (*Lock, []KV, error) {
	if !validLineage(l.Lineage) {
		return nil, nil, fmt.Errorf("lineage is %s, want 32 lower-case hex digits", quote(l.Lineage))
	}
	if err := checkSerial(l.Serial, l.Parent); err != nil {
		return nil, nil, err
	}
	if l.Minor > MaxSerial {
		return nil, nil, fmt.Errorf("minor format is %d, want at most %d", l.Minor, uint64(MaxSerial))
	}
	c := *l
	c.Servers = slices.Clone(l.Servers)
	c.Items = slices.Clone(l.Items)
	c.Agents = slices.Clone(l.Agents)
	slices.SortFunc(c.Servers, func(a, b Server) int { return a.Addr.Compare(b.Addr) })
	slices.SortFunc(c.Items, func(a, b Item) int { return a.Addr.Compare(b.Addr) })
	slices.SortFunc(c.Agents, func(a, b Agent) int { return strings.Compare(a.Name, b.Name) })

	entries := make([]KV, 0, len(c.Servers)+len(c.Items)+len(c.Agents)+len(metaKeys)+2)
	for _, x := range []struct {
		key   string
		value *json.RawMessage
	}{{keyGate, &c.Gate}, {keyPolicy, &c.Policy}} {
		if *x.value == nil {
			continue
		}
		src, err := canonicalObject(*x.value)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", x.key, err)
		}
		*x.value = src
		entries = append(entries, KV{x.key, src})
	}
	for i := range c.Servers {
		v, err := encodeServer(&c.Servers[i])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.Servers[i].Addr, err)
		}
		entries = append(entries, KV{serverKey(c.Servers[i].Addr), v})
	}
	// Items are nearly all of the bytes: they are written on every processor.
	items, faults := make([]KV, len(c.Items)), make([]error, len(c.Items))
	parallel(len(c.Items), func(i int) {
		items[i].Value, faults[i] = encodeItem(&c.Items[i])
		items[i].Key = itemKey(c.Items[i].Addr)
	})
	for i, err := range faults {
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", quote(c.Items[i].Addr.String()), err)
		}
	}
	entries = append(entries, items...)
	for i := range c.Agents {
		v, err := encodeAgent(&c.Agents[i])
		if err != nil {
			return nil, nil, fmt.Errorf("agent %s: %w", quote(c.Agents[i].Name), err)
		}
		entries = append(entries, KV{agentKey(c.Agents[i].Name), v})
	}
	sortEntries(entries)
	for i := range entries {
		if i > 0 && entries[i].Key == entries[i-1].Key {
			return nil, nil, fmt.Errorf("entry %s appears twice", quote(entries[i].Key))
		}
		if err := checkSize(entries[i]); err != nil {
			return nil, nil, err
		}
	}
	if n := len(entries) + len(metaKeys); n > MaxEntries {
		return nil, nil, fmt.Errorf("lock has %d entries, want at most %d", n, MaxEntries)
	}
	return &c, entries, nil
}

func checkSize(e KV) error {
	if len(e.Key) > MaxKeyBytes {
		return fmt.Errorf("entry %s: key has %d bytes, want at most %d", quote(e.Key), len(e.Key), MaxKeyBytes)
	}
	if len(e.Value) > MaxValueBytes {
		return fmt.Errorf("entry %s: value has %d bytes, want at most %d", quote(e.Key), len(e.Value), MaxValueBytes)
	}
	return nil
}

// checkSerial also holds serial and parent together: a first lock has no parent, every later one does.
func checkSerial(serial uint64, parent digest.Digest) error {
	switch {
	case serial < 1 || serial > MaxSerial:
		return fmt.Errorf("serial is %d, want 1 to %d", serial, uint64(MaxSerial))
	case serial == 1 && !parent.IsZero():
		return errors.New("serial is 1, but there is a parent")
	case serial > 1 && parent.IsZero():
		return fmt.Errorf("serial is %d, but there is no parent", serial)
	}
	return nil
}

// encodeServer writes the canonical JSON object of a server and makes the JSON values of s canonical. Members stand in
// the order of their names, as canonical JSON wants.
func encodeServer(s *Server) ([]byte, error) {
	var err error
	if s.Endpoint, err = canonicalObject(s.Endpoint); err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	var b []byte
	b = append(b, '{')
	if s.Capabilities != nil {
		if s.Capabilities, err = canonicalObject(s.Capabilities); err != nil {
			return nil, fmt.Errorf("capabilities: %w", err)
		}
		b = append(b, `"capabilities":`...)
		b = append(b, s.Capabilities...)
		b = append(b, ',')
	}
	b = append(b, `"endpoint":`...)
	b = append(b, s.Endpoint...)
	b = append(b, `,"endpoint_digest":`...)
	b = appendDigest(b, s.EndpointDigest)
	if s.Identity != nil {
		b = append(b, `,"identity":{"name":`...)
		b = strictjson.AppendString(b, s.Identity.Name)
		b = append(b, `,"version":`...)
		b = strictjson.AppendString(b, s.Identity.Version)
		b = append(b, '}')
	}
	if s.Instructions != nil {
		b = append(b, `,"instructions":`...)
		b = strictjson.AppendString(b, *s.Instructions)
	}
	if s.Limits != nil {
		if s.Limits, err = canonicalObject(s.Limits); err != nil {
			return nil, fmt.Errorf("limits: %w", err)
		}
		b = append(b, `,"limits":`...)
		b = append(b, s.Limits...)
	}
	b = append(b, `,"protocol":`...)
	b = strictjson.AppendString(b, s.Protocol)
	if s.Recheck != nil {
		if s.Recheck, err = canonicalObject(s.Recheck); err != nil {
			return nil, fmt.Errorf("recheck: %w", err)
		}
		b = append(b, `,"recheck":`...)
		b = append(b, s.Recheck...)
	}
	if len(s.Snapshots) > 0 {
		b = append(b, `,"snapshots":{`...)
		for i, kind := range slices.Sorted(maps.Keys(s.Snapshots)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = strictjson.AppendString(b, kind)
			b = append(b, ':')
			b = appendDigest(b, s.Snapshots[kind])
		}
		b = append(b, '}')
	}
	if s.Timeouts != nil {
		if s.Timeouts, err = canonicalObject(s.Timeouts); err != nil {
			return nil, fmt.Errorf("timeouts: %w", err)
		}
		b = append(b, `,"timeouts":`...)
		b = append(b, s.Timeouts...)
	}
	if s.ToolsTTLMs < 0 || s.ToolsTTLMs > MaxSerial {
		return nil, fmt.Errorf("ttl of the tools list is %d ms, want 0 to %d", s.ToolsTTLMs, int64(MaxSerial))
	}
	if !validCacheScope(s.ToolsCacheScope) {
		return nil, fmt.Errorf("cache scope of the tools list is %s, want \"public\" or \"private\"", quote(s.ToolsCacheScope))
	}
	if s.ToolsCacheScope == "" && (s.ToolsTTLMs != 0 || len(s.ToolOrder) > 0) {
		return nil, errors.New("there is a ttl or an order of a tools list, but no cache scope")
	}
	if s.ToolsCacheScope != "" {
		b = append(b, `,"tools":{"cache_scope":`...)
		b = strictjson.AppendString(b, s.ToolsCacheScope)
		b = append(b, `,"order":[`...)
		for i, name := range s.ToolOrder {
			if i > 0 {
				b = append(b, ',')
			}
			b = strictjson.AppendString(b, name)
		}
		b = append(b, `],"ttl_ms":`...)
		b = strconv.AppendInt(b, s.ToolsTTLMs, 10)
		b = append(b, '}')
	}
	b = append(b, '}')
	// One check for all strings above: it refuses what is no valid UTF-8, and proves the order of the members.
	if err := checkCanonical(b); err != nil {
		return nil, err
	}
	return b, nil
}

func validCacheScope(s string) bool { return s == "" || s == "public" || s == "private" }

const (
	itemBegin  = `{"digest":"`
	itemMiddle = `","definition":`
)

func encodeItem(it *Item) ([]byte, error) {
	if !it.Addr.Kind.Valid() {
		return nil, fmt.Errorf("unknown kind %s", quote(string(it.Addr.Kind)))
	}
	if len(it.Definition) == 0 {
		return nil, errors.New("there is no definition")
	}
	b := make([]byte, 0, len(itemBegin)+len("sha256:")+64+len(itemMiddle)+len(it.Definition)+1)
	b = append(b, itemBegin...)
	b = append(b, it.Digest.String()...)
	b = append(b, itemMiddle...)
	b = append(b, it.Definition...)
	return append(b, '}'), nil
}

func encodeAgent(a *Agent) ([]byte, error) {
	if a.Name == "" {
		return nil, errors.New("it has no name")
	}
	if a.Names != "prefixed" && a.Names != "plain" {
		return nil, fmt.Errorf("names is %s, want \"prefixed\" or \"plain\"", quote(a.Names))
	}
	a.Tools = slices.Clone(a.Tools)
	sort.Slice(a.Tools, func(i, j int) bool { return a.Tools[i].Name < a.Tools[j].Name })
	b := []byte(`{"names":"`)
	b = append(b, a.Names...)
	b = append(b, `","tools":[`...)
	for i, t := range a.Tools {
		if i > 0 {
			b = append(b, ',')
			if t.Name == a.Tools[i-1].Name {
				return nil, fmt.Errorf("exposed name %s appears twice", quote(t.Name))
			}
		}
		b = append(b, `{"address":`...)
		b = strictjson.AppendString(b, t.Address.String())
		b = append(b, `,"digest":`...)
		b = appendDigest(b, t.Digest)
		b = append(b, `,"name":`...)
		b = strictjson.AppendString(b, t.Name)
		b = append(b, '}')
	}
	b = append(b, `]}`...)
	if err := checkCanonical(b); err != nil {
		return nil, err
	}
	return b, nil
}

// jsonLimits bounds every JSON value of a lock. A value that was received at the greatest depth lies a little deeper here.
var jsonLimits = strictjson.Limits{Bytes: MaxValueBytes, Depth: strictjson.DefaultMaxDepth + 2}

func canonicalObject(src []byte) ([]byte, error) {
	if err := strictjson.CheckObject(src, jsonLimits); err != nil {
		return nil, err
	}
	return strictjson.AppendCanonical(nil, src, jsonLimits)
}

func checkCanonical(src []byte) error {
	c, err := strictjson.AppendCanonical(nil, src, jsonLimits)
	if err != nil {
		return err
	}
	if !bytes.Equal(c, src) {
		return errors.New("value is not canonical JSON")
	}
	return nil
}
