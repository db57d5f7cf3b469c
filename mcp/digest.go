package mcp

import (
	"encoding/hex"
	"strconv"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// maxSnapshotBytes bounds the encoding of a snapshot, before it is brought into canonical form.
const maxSnapshotBytes = 8 << 20

// Snapshot is what ComputeSnapshotDigest takes: a Discovery or a ToolsSnapshot, or a pointer to one.
type Snapshot interface{ snapshot() }

func (Discovery) snapshot()     {}
func (ToolsSnapshot) snapshot() {}

// SnapshotDigest identifies all that a server answered, hints and order included. It is evidence: it changes when a
// server changes only a ttlMs, so nothing is refused because of it. See ItemDigest.
type SnapshotDigest [32]byte

// String returns 64 lower-case hexadecimal digits.
func (d SnapshotDigest) String() string { return hex.EncodeToString(d[:]) }

// ItemDigest identifies one definition: every member of the object as it was received, whatever its order and spelling.
// It is what pins are made of, and another type than SnapshotDigest so that the two are not mixed up.
type ItemDigest [32]byte

// String returns "sha256:" and 64 lower-case hexadecimal digits.
func (d ItemDigest) String() string { return digest.Digest(d).String() }

// ComputeToolDigest returns the digest of one tool: SHA-256 over the line "mcpcat:tool:v1\n" and the canonical JSON of
// the definition, members that this package does not know included.
//
// The error is a *RequestError for a tool whose fields were changed after it was received, and a *ProtocolError or
// *LimitError for one that was built by hand and is no valid definition.
func ComputeToolDigest(t *Tool) (ItemDigest, error) {
	if t == nil {
		return ItemDigest{}, &RequestError{Reason: "digest: tool is nil"}
	}
	tool, err := t.usable()
	if err != nil {
		return ItemDigest{}, err
	}
	d, err := digest.OfItem(digest.KindTool, tool.raw)
	if err != nil {
		return ItemDigest{}, fromStrict("", err, strictjson.Limits{Bytes: strictjson.DefaultMaxBytes})
	}
	return ItemDigest(d), nil
}

// ComputeSnapshotDigest returns the digest of a whole answer. It first writes the snapshot by the strict rules of the
// wire, refuses more than 8 MiB of that, and then takes SHA-256 over a line that names version and kind of the snapshot,
// "mcpcat:discovery:v1\n" or "mcpcat:tools:v1\n", and the canonical JSON. It includes ttlMs, cacheScope, the order of
// entries, and all members and metadata that came with them. A value and a pointer to it have the same digest.
//
// A tools list of one page is written as its result without nextCursor. One of several pages is the object
// {"pages": [...]} of such results in order. Excluded tools do not stand among the tools; their names and reasons follow
// in a member "excluded" of the second form, which is then used for one page too.
//
// The error is a *LimitError for a snapshot that is too large, a *RequestError for one that is put together wrongly or
// was changed after it was received, and a *ProtocolError for values that the wire does not allow.
func ComputeSnapshotDigest(s Snapshot) (SnapshotDigest, error) {
	kind, doc, err := encodeSnapshot(s)
	if err != nil {
		return SnapshotDigest{}, err
	}
	if len(doc) > maxSnapshotBytes {
		return SnapshotDigest{}, tooMuch("snapshot", maxSnapshotBytes, "bytes").err("")
	}
	lim := snapshotLimits
	d, err := digest.OfJSON(kind, doc, lim)
	if err != nil {
		return SnapshotDigest{}, fromStrict("", err, lim)
	}
	return SnapshotDigest(d), nil
}

func encodeSnapshot(s Snapshot) (digest.Kind, []byte, error) {
	switch s := s.(type) {
	case *Discovery:
		if s != nil {
			doc, err := s.encode()
			return digest.KindDiscovery, doc, err
		}
	case Discovery:
		doc, err := s.encode()
		return digest.KindDiscovery, doc, err
	case *ToolsSnapshot:
		if s != nil {
			doc, err := s.encode()
			return digest.KindTools, doc, err
		}
	case ToolsSnapshot:
		doc, err := s.encode()
		return digest.KindTools, doc, err
	}
	return "", nil, &RequestError{Reason: "digest: snapshot is nil"}
}

// rest appends the members of the object that was received, except those named.
func (b *builder) rest(received strictjson.Value, except ...string) {
members:
	for name, v := range received.Members() {
		for _, e := range except {
			if name == e {
				continue members
			}
		}
		b.raw(name, v)
	}
}

// hints appends what every cacheable result has, by the rules of the wire.
func (b *builder) hints(ttlMs int64, scope CacheScope) error {
	if ttlMs < 0 || ttlMs > maxSafeInteger {
		return &ProtocolError{Path: "/ttlMs", Reason: "is " + strconv.FormatInt(ttlMs, 10) + ", want 0 to 2^53-1"}
	}
	if scope != CachePublic && scope != CachePrivate {
		return &ProtocolError{Path: "/cacheScope", Reason: "is " + quote(string(scope)) + `, want "public" or "private"`}
	}
	complete, name := typeComplete, string(scope)
	b.text("resultType", &complete)
	b.key("ttlMs")
	b.dst = strconv.AppendInt(b.dst, ttlMs, 10)
	b.text("cacheScope", &name)
	return nil
}

func (d *Discovery) encode() ([]byte, error) {
	b := object(make([]byte, 0, len(d.raw)+256))
	if err := b.hints(d.TTLMs, d.CacheScope); err != nil {
		return nil, err
	}
	b.texts("supportedVersions", d.SupportedVersions)
	b.text("instructions", d.Instructions)
	b.key("capabilities")
	b.dst = d.Capabilities.append(b.dst)
	if d.raw == nil && d.ServerInfo != nil {
		b.key("_meta")
		inner := object(b.dst)
		inner.key(keyServerInfo)
		inner.dst = d.ServerInfo.append(inner.dst)
		b.dst = inner.end()
	}
	b.rest(d.raw, "resultType", "ttlMs", "cacheScope", "supportedVersions", "instructions", "capabilities")
	return b.end(), nil
}

func (s *ToolsSnapshot) encode() ([]byte, error) {
	total, tools := 0, 0
	var excluded []ExcludedTool
	for _, p := range s.Pages {
		if p == nil {
			return nil, &RequestError{Reason: "digest: page is nil"}
		}
		for _, t := range p.Tools {
			if tools == len(s.Tools) || s.Tools[tools] != t {
				return nil, &RequestError{Reason: "digest: tools of the snapshot are not those of its pages"}
			}
			tools++
		}
		total += len(p.raw) + 128
		excluded = append(excluded, p.Excluded...)
	}
	if len(s.Pages) == 0 || tools != len(s.Tools) {
		return nil, &RequestError{Reason: "digest: snapshot has no pages, or tools that are on none of them"}
	}
	if total > 2*maxSnapshotBytes {
		return nil, tooMuch("snapshot", maxSnapshotBytes, "bytes").err("")
	}
	dst := make([]byte, 0, total)
	if len(s.Pages) == 1 && len(excluded) == 0 {
		return s.Pages[0].append(dst)
	}
	b := object(dst)
	b.key("pages")
	b.dst = append(b.dst, '[')
	for i, p := range s.Pages {
		if i > 0 {
			b.dst = append(b.dst, ',')
		}
		var err error
		if b.dst, err = p.append(b.dst); err != nil {
			return nil, err
		}
	}
	b.dst = append(b.dst, ']')
	if len(excluded) > 0 {
		b.key("excluded")
		for i := range excluded {
			b.dst = append(b.dst, "[,"[min(i, 1)])
			e := object(b.dst)
			e.text("name", &excluded[i].Name)
			e.text("reason", &excluded[i].Reason)
			b.dst = e.end()
		}
		b.dst = append(b.dst, ']')
	}
	return b.end(), nil
}

// append appends the page as its result, without nextCursor and the tools that were excluded.
func (p *ToolsPage) append(dst []byte) ([]byte, error) {
	b := object(dst)
	if err := b.hints(p.TTLMs, p.CacheScope); err != nil {
		return nil, err
	}
	b.key("tools")
	b.dst = append(b.dst, '[')
	for i, t := range p.Tools {
		if t == nil {
			return nil, &RequestError{Reason: "digest: tool is nil"}
		}
		tool, err := t.usable()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.dst = append(b.dst, ',')
		}
		b.dst = append(b.dst, tool.raw...)
	}
	b.dst = append(b.dst, ']')
	b.raw("_meta", p.Meta)
	b.rest(p.raw, "resultType", "ttlMs", "cacheScope", "tools", "_meta", "nextCursor")
	return b.end(), nil
}
