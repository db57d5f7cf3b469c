package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// pin is the lock entry of a checked server.
func pin(decl *catalog.Server, seen *surface.Server) (lock.Server, error) {
	e := lock.Server{
		Addr: decl.Addr, Endpoint: decl.Endpoint(), EndpointDigest: decl.EndpointDigest(), Timeouts: decl.Timeouts.Posture(),
		Limits: decl.Limits.Posture(), Recheck: decl.RecheckPosture(),
		Protocol: seen.Protocol, Instructions: seen.Instructions,
		Snapshots:  maps.Clone(seen.Snapshots),
		ToolsTTLMs: seen.ToolsTTLMs, ToolsCacheScope: seen.ToolsCacheScope, ToolOrder: slices.Clone(seen.ToolOrder),
	}
	if seen.Identity != nil {
		e.Identity = &lock.Identity{Name: seen.Identity.Name, Version: seen.Identity.Version}
	}
	if len(seen.Capabilities) > 0 {
		c, err := strictjson.AppendCanonical(nil, seen.Capabilities, strictjson.Limits{})
		if err != nil {
			return lock.Server{}, fmt.Errorf("%s: capabilities: %w", decl.Addr, err)
		}
		e.Capabilities = c
	}
	return e, nil
}

// sections compares the pinned entry of a server with the next one and writes the differences into s.
func (m *maker) sections(s *Server, pinned *lock.Server, entry *lock.Server, declared map[string]bool) {
	before := pinned
	if before == nil {
		before = &lock.Server{}
	}
	s.Identity = &IdentityPair{Before: identityOf(before.Identity), After: identityOf(entry.Identity)}
	s.Snapshots = map[string]SnapshotPair{}
	for _, side := range []*lock.Server{before, entry} {
		for name := range side.Snapshots {
			s.Snapshots[name] = SnapshotPair{Before: digestOf(before.Snapshots, name), After: digestOf(entry.Snapshots, name)}
		}
	}
	s.Changes = []Leaf{}
	if pinned == nil {
		s.Changes = append(s.Changes, newLeaf("", ServerAdded, nil, quoted(s.Endpoint)))
		s.Declared = declaredOf(m.cat.Server(entry.Addr))
	} else {
		if s.PreviousAddress != "" {
			s.Changes = append(s.Changes, newLeaf("", ToolMoved, quoted(s.PreviousAddress), quoted(s.Address)))
		}
		s.Changes = append(s.Changes, declaredLeaves(m.cat.Server(entry.Addr), pinned)...)
		s.Changes = append(s.Changes, identityLeaves(s.Identity)...)
		if pinned.Protocol != entry.Protocol {
			s.Changes = append(s.Changes, newLeaf("/protocol", CapabilitiesChanged, quoted(pinned.Protocol), quoted(entry.Protocol)))
		}
		s.Changes = append(s.Changes, objectLeaves("/capabilities", CapabilitiesChanged, pinned.Capabilities, entry.Capabilities)...)
		if b, a := textValue(pinned.Instructions), textValue(entry.Instructions); !same(b, a) {
			s.Changes = append(s.Changes, newLeaf("/instructions", InstructionsChanged, b, a))
		}
		s.Changes = append(s.Changes, listLeaves(pinned, entry, declared)...)
		relisted := !maps.Equal(setOf(pinned.ToolOrder), setOf(entry.ToolOrder))
		s.Changes = append(s.Changes, evidenceLeaves(s, relisted || m.touched[entry.Addr])...)
	}
	if concerns(s.Changes, ServerAdded, InstructionsChanged, IdentityChanged) {
		s.Flags = sectionFlags(entry)
	}
	if !sameEntry(pinned, entry) || s.PreviousAddress != "" {
		s.After = &Pinned{
			Protocol: entry.Protocol, Capabilities: entry.Capabilities, Instructions: entry.Instructions,
			ToolsTTLMs: entry.ToolsTTLMs, ToolsCacheScope: entry.ToolsCacheScope,
			ToolOrder: append([]string{}, entry.ToolOrder...),
		}
		if s.After.Capabilities == nil {
			s.After.Capabilities = null
		}
	}
	if !m.touched[entry.Addr] {
		s.Label = labelOf(s.Changes)
	}
}

func identityOf(id *lock.Identity) *surface.Identity {
	if id == nil {
		return nil
	}
	return &surface.Identity{Name: id.Name, Version: id.Version}
}

func digestOf(set map[string]digest.Digest, name string) *digest.Digest {
	d, ok := set[name]
	if !ok {
		return nil
	}
	return &d
}

// declaredOf is what apply will pin of a server beside its answers.
func declaredOf(decl *catalog.Server) *Declared {
	return &Declared{Endpoint: shownEndpoint(decl.Endpoint()), Timeouts: decl.Timeouts.Posture(), Limits: decl.Limits.Posture(), Recheck: decl.RecheckPosture()}
}

// declaredLeaves is how the catalog differs from what is pinned of a server.
func declaredLeaves(decl *catalog.Server, pinned *lock.Server) []Leaf {
	leaves := endpointLeaves(pinned, decl.Endpoint(), decl.EndpointDigest())
	leaves = append(leaves, objectLeaves("/timeouts", GuardChanged, pinned.Timeouts, decl.Timeouts.Posture())...)
	leaves = append(leaves, objectLeaves("/limits", GuardChanged, pinned.Limits, decl.Limits.Posture())...)
	return append(leaves, objectLeaves("/recheck", GuardChanged, pinned.Recheck, decl.RecheckPosture())...)
}

func identityLeaves(id *IdentityPair) []Leaf {
	b, a := id.Before, id.After
	if b == nil || a == nil {
		if b == a {
			return nil
		}
		return []Leaf{newLeaf("/serverInfo", IdentityChanged, identityValue(b), identityValue(a))}
	}
	var leaves []Leaf
	if b.Name != a.Name {
		leaves = append(leaves, newLeaf("/serverInfo/name", IdentityChanged, quoted(b.Name), quoted(a.Name)))
	}
	if b.Version != a.Version {
		leaves = append(leaves, newLeaf("/serverInfo/version", IdentityChanged, quoted(b.Version), quoted(a.Version)))
	}
	return leaves
}

func identityValue(id *surface.Identity) strictjson.Value {
	if id == nil {
		return nil
	}
	return strictjson.Value(fmt.Sprintf(`{"name":%s,"version":%s}`, quoted(id.Name), quoted(id.Version)))
}

// listLeaves compares what the list says beside its declared tools.
func listLeaves(pinned, entry *lock.Server, declared map[string]bool) []Leaf {
	var leaves []Leaf
	if pinned.ToolsTTLMs != entry.ToolsTTLMs {
		leaves = append(leaves, newLeaf("/tools/ttlMs", CacheChanged, number(pinned.ToolsTTLMs), number(entry.ToolsTTLMs)))
	}
	if pinned.ToolsCacheScope != entry.ToolsCacheScope {
		leaves = append(leaves, newLeaf("/tools/cacheScope", CacheChanged, quoted(pinned.ToolsCacheScope), quoted(entry.ToolsCacheScope)))
	}
	was, is := setOf(pinned.ToolOrder), setOf(entry.ToolOrder)
	only := func(list []string, other map[string]bool) []string {
		var out []string
		for _, name := range list {
			if !other[name] && !declared[name] {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return out
	}
	both := func(list []string, other map[string]bool) []string {
		return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !other[name] })
	}
	if b, a := both(pinned.ToolOrder, is), both(entry.ToolOrder, was); !slices.Equal(b, a) {
		leaves = append(leaves, newLeaf("/tools/order", OrderChanged, stringArray(b), stringArray(a)))
	}
	if gone := only(pinned.ToolOrder, is); len(gone) > 0 {
		leaves = append(leaves, newLeaf("/tools/listed", ListingChanged, stringArray(gone), nil))
	}
	if came := only(entry.ToolOrder, was); len(came) > 0 {
		leaves = append(leaves, newLeaf("/tools/listed", ListingChanged, nil, stringArray(came)))
	}
	return leaves
}

// evidenceLeaves reports whole answers that differ although no section of them does: other metadata, or tools that
// nobody declared. With listed set, other tools explain the list.
func evidenceLeaves(s *Server, listed bool) []Leaf {
	var leaves []Leaf
	for _, name := range slices.Sorted(maps.Keys(s.Snapshots)) {
		pair := s.Snapshots[name]
		if same(digestValue(pair.Before), digestValue(pair.After)) {
			continue
		}
		explained := concerns(s.Changes, IdentityChanged)
		class, note := MetadataChanged, "metadata of the answer"
		if name == surface.SnapshotTools {
			explained = explained || listed || concerns(s.Changes, CacheChanged, OrderChanged)
			if len(s.UndeclaredTools)+len(s.ExcludedTools) > 0 {
				class, note = ListingChanged, "tools that are not declared, or metadata of the answer"
			}
		} else {
			explained = explained || concerns(s.Changes, CapabilitiesChanged, InstructionsChanged)
		}
		if explained {
			continue
		}
		l := newLeaf("/snapshots/"+escapePointer(name), class, digestValue(pair.Before), digestValue(pair.After))
		l.Note, l.Words = note, nil
		leaves = append(leaves, l)
	}
	return leaves
}

// sectionFlags finds concealed characters in what a server says about itself.
func sectionFlags(entry *lock.Server) []Flag {
	return concealedFlags(strictjson.Value(fmt.Sprintf(`{"instructions":%s,"serverInfo":%s}`,
		orNull(textValue(entry.Instructions)), orNull(identityValue(identityOf(entry.Identity))))))
}

func orNull(v strictjson.Value) strictjson.Value {
	if v == nil {
		return strictjson.Value(null)
	}
	return v
}

// labelOf names the sort of changes that touch no tool, empty if they are of several sorts.
func labelOf(leaves []Leaf) string {
	sorts := map[Class]string{
		OrderChanged: LabelOrder, CacheChanged: LabelCache, MetadataChanged: LabelMetadata, IdentityChanged: LabelMetadata,
	}
	label := ""
	for _, l := range leaves {
		sort := sorts[l.Class]
		if sort == "" || label != "" && label != sort {
			return ""
		}
		label = sort
	}
	return label
}

func concerns(leaves []Leaf, classes ...Class) bool {
	return slices.ContainsFunc(leaves, func(l Leaf) bool { return slices.Contains(classes, l.Class) })
}

// objectLeaves compares two JSON objects member by member, two levels deep.
func objectLeaves(path string, class Class, before, after json.RawMessage) []Leaf {
	return jsonLeaves(path, class, strictjson.Value(before), strictjson.Value(after), 2)
}

func jsonLeaves(path string, class Class, before, after strictjson.Value, levels int) []Leaf {
	if same(before, after) {
		return nil
	}
	if levels == 0 || !objects(before, after) {
		return []Leaf{newLeaf(path, class, before, after)}
	}
	b, a := members(before), members(after)
	if tooLong(path, b, a) {
		return []Leaf{newLeaf(path, class, before, after)}
	}
	var leaves []Leaf
	for _, key := range union(b, a) {
		leaves = append(leaves, jsonLeaves(path+"/"+escapePointer(key), class, b[key], a[key], levels-1)...)
	}
	return leaves
}

// sameEntry reports whether writing entry would change nothing.
func sameEntry(pinned, entry *lock.Server) bool {
	if pinned == nil {
		return false
	}
	return pinned.EndpointDigest == entry.EndpointDigest &&
		same(strictjson.Value(pinned.Endpoint), strictjson.Value(entry.Endpoint)) &&
		same(strictjson.Value(pinned.Timeouts), strictjson.Value(entry.Timeouts)) &&
		same(strictjson.Value(pinned.Limits), strictjson.Value(entry.Limits)) &&
		same(strictjson.Value(pinned.Recheck), strictjson.Value(entry.Recheck)) &&
		pinned.Protocol == entry.Protocol &&
		same(identityValue(identityOf(pinned.Identity)), identityValue(identityOf(entry.Identity))) &&
		same(strictjson.Value(pinned.Capabilities), strictjson.Value(entry.Capabilities)) &&
		same(textValue(pinned.Instructions), textValue(entry.Instructions)) &&
		maps.Equal(pinned.Snapshots, entry.Snapshots) &&
		pinned.ToolsTTLMs == entry.ToolsTTLMs && pinned.ToolsCacheScope == entry.ToolsCacheScope &&
		slices.Equal(pinned.ToolOrder, entry.ToolOrder)
}

func quoted(s string) strictjson.Value { return strictjson.Value(strictjson.AppendString(nil, s)) }

func number(n int64) strictjson.Value { return strictjson.Value(fmt.Appendf(nil, "%d", n)) }

func textValue(s *string) strictjson.Value {
	if s == nil {
		return nil
	}
	return quoted(*s)
}

func digestValue(d *digest.Digest) strictjson.Value {
	if d == nil {
		return nil
	}
	return quoted(d.String())
}

func stringArray(list []string) strictjson.Value {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strictjson.AppendString(b, s)
	}
	return append(b, ']')
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}
