package mcp

import (
	"encoding/hex"
	"strconv"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// maxSnapshotBytes bounds the encoding of a snapshot, before it is brought into canonical form.
const maxSnapshotBytes = 8 << 20

// Snapshot is what ComputeSnapshotDigest takes: a Discovery, a ToolsSnapshot, ResourcesSnapshot, ResourceTemplatesSnapshot
// or PromptsSnapshot, a ReadResourceResult, or a pointer to one of them.
type Snapshot interface{ snapshot() }

func (Discovery) snapshot()                 {}
func (ToolsSnapshot) snapshot()             {}
func (ResourcesSnapshot) snapshot()         {}
func (ResourceTemplatesSnapshot) snapshot() {}
func (PromptsSnapshot) snapshot()           {}
func (ReadResourceResult) snapshot()        {}

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
	return itemDigest(digest.KindTool, t.definition)
}

// ComputeResourceDigest returns the digest of one resource: SHA-256 over the line "mcpcat:resource:v1\n" and the canonical
// JSON of the definition, members that this package does not know included. The members size and annotations.lastModified
// are left out, because they change with what the resource holds. The errors are those of ComputeToolDigest.
func ComputeResourceDigest(r *Resource) (ItemDigest, error) {
	if r == nil {
		return ItemDigest{}, &RequestError{Reason: "digest: resource is nil"}
	}
	return itemDigest(digest.KindResource, r.definition)
}

// ComputeResourceTemplateDigest returns the digest of one resource template, over the line
// "mcpcat:resource_template:v1\n" and the canonical JSON of the definition, all of it. The errors are those of
// ComputeToolDigest.
func ComputeResourceTemplateDigest(t *ResourceTemplate) (ItemDigest, error) {
	if t == nil {
		return ItemDigest{}, &RequestError{Reason: "digest: resource template is nil"}
	}
	return itemDigest(digest.KindResourceTemplate, t.definition)
}

// ComputePromptDigest returns the digest of one prompt, over the line "mcpcat:prompt:v1\n" and the canonical JSON of the
// definition, all of it. The errors are those of ComputeToolDigest.
func ComputePromptDigest(p *Prompt) (ItemDigest, error) {
	if p == nil {
		return ItemDigest{}, &RequestError{Reason: "digest: prompt is nil"}
	}
	return itemDigest(digest.KindPrompt, p.definition)
}

func itemDigest(kind digest.Kind, definition func() (strictjson.Value, error)) (ItemDigest, error) {
	text, err := definition()
	if err != nil {
		return ItemDigest{}, err
	}
	d, err := digest.OfItem(kind, text)
	if err != nil {
		return ItemDigest{}, fromStrict("", err, strictjson.Limits{Bytes: strictjson.DefaultMaxBytes})
	}
	return ItemDigest(d), nil
}

// ComputeSnapshotDigest returns the digest of a whole answer. It first writes the snapshot by the strict rules of the
// wire, refuses more than 8 MiB of that, and then takes SHA-256 over a line that names version and kind of the snapshot,
// and the canonical JSON. The line is "mcpcat:<kind>:v1\n" with the kind discovery, tools, resources, resource_templates,
// prompts or resource_read. The digest includes ttlMs, cacheScope, the order of entries, and all members and metadata that
// came with them; of resources nothing is left out. A value and a pointer to it have the same digest.
//
// A list of one page is written as its result without nextCursor. One of several pages is the object
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
	case Discovery:
		return encodeSnapshot(&s)
	case ToolsSnapshot:
		return encodeSnapshot(&s)
	case ResourcesSnapshot:
		return encodeSnapshot(&s)
	case ResourceTemplatesSnapshot:
		return encodeSnapshot(&s)
	case PromptsSnapshot:
		return encodeSnapshot(&s)
	case ReadResourceResult:
		return encodeSnapshot(&s)
	case *Discovery:
		if s != nil {
			doc, err := s.encode()
			return digest.KindDiscovery, doc, err
		}
	case *ToolsSnapshot:
		if s != nil {
			doc, err := toolsList.encode(s.Pages, s.Tools)
			return digest.KindTools, doc, err
		}
	case *ResourcesSnapshot:
		if s != nil {
			doc, err := resourcesList.encode(s.Pages, s.Resources)
			return digest.KindResources, doc, err
		}
	case *ResourceTemplatesSnapshot:
		if s != nil {
			doc, err := resourceTemplatesList.encode(s.Pages, s.ResourceTemplates)
			return digest.KindResourceTemplates, doc, err
		}
	case *PromptsSnapshot:
		if s != nil {
			doc, err := promptsList.encode(s.Pages, s.Prompts)
			return digest.KindPrompts, doc, err
		}
	case *ReadResourceResult:
		if s != nil {
			doc, err := s.encode()
			return digest.KindResourceRead, doc, err
		}
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

// encode writes a list, whose items must be those of its pages.
func (k *listKind[P, T]) encode(pages []P, items []*T) ([]byte, error) {
	var none P
	total, n := 0, 0
	var excluded []ExcludedTool
	for _, p := range pages {
		if p == none {
			return nil, &RequestError{Reason: "digest: page is nil"}
		}
		for _, item := range p.items() {
			if n == len(items) || items[n] != item {
				return nil, &RequestError{Reason: "digest: " + k.plural + " of the snapshot are not those of its pages"}
			}
			n++
		}
		total += len(p.info().raw) + 128
		excluded = append(excluded, p.excluded()...)
	}
	if len(pages) == 0 || n != len(items) {
		return nil, &RequestError{Reason: "digest: snapshot has no pages, or " + k.plural + " that are on none of them"}
	}
	if total > 2*maxSnapshotBytes {
		return nil, tooMuch("snapshot", maxSnapshotBytes, "bytes").err("")
	}
	dst := make([]byte, 0, total)
	if len(pages) == 1 && len(excluded) == 0 {
		return k.appendPage(dst, pages[0])
	}
	b := object(dst)
	b.key("pages")
	b.dst = append(b.dst, '[')
	for i, p := range pages {
		if i > 0 {
			b.dst = append(b.dst, ',')
		}
		var err error
		if b.dst, err = k.appendPage(b.dst, p); err != nil {
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

// appendPage appends the page as its result, without nextCursor and what was excluded.
func (k *listKind[P, T]) appendPage(dst []byte, page P) ([]byte, error) {
	p := page.info()
	b := object(dst)
	if err := b.hints(p.TTLMs, p.CacheScope); err != nil {
		return nil, err
	}
	b.key(k.member)
	b.dst = append(b.dst, '[')
	for i, item := range page.items() {
		if item == nil {
			return nil, &RequestError{Reason: "digest: " + k.noun + " is nil"}
		}
		text, err := k.definition(item)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.dst = append(b.dst, ',')
		}
		b.dst = append(b.dst, text...)
	}
	b.dst = append(b.dst, ']')
	b.raw("_meta", p.Meta)
	b.rest(p.raw, "resultType", "ttlMs", "cacheScope", k.member, "_meta", "nextCursor")
	return b.end(), nil
}

func (r *ReadResourceResult) encode() ([]byte, error) {
	b := object(make([]byte, 0, len(r.raw)+128))
	if err := b.hints(r.TTLMs, r.CacheScope); err != nil {
		return nil, err
	}
	b.key("contents")
	b.dst = append(b.dst, '[')
	for i := range r.Contents {
		text, err := r.Contents[i].definition()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.dst = append(b.dst, ',')
		}
		b.dst = append(b.dst, text...)
	}
	b.dst = append(b.dst, ']')
	b.raw("_meta", r.Meta)
	b.rest(r.raw, "resultType", "ttlMs", "cacheScope", "contents", "_meta")
	return b.end(), nil
}
