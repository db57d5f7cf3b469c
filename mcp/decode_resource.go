package mcp

import (
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// decodeKey reads the member by which an item is referred to, before the others, so that every other complaint can say
// which item it is about.
func decodeKey(v strictjson.Value, noun, member string, limit int) (string, *fault) {
	if v.Kind() != strictjson.KindObject {
		return "", faultf("is %s, want an object", kindName(v))
	}
	m, ok := v.Get(member)
	if !ok {
		return "", missing(member, "a string")
	}
	key, f := asString(member, m)
	switch {
	case f != nil:
		return "", f
	case key == "":
		return "", faultf("is empty, and nothing could refer to such a %s", noun).under(member)
	case len(key) > limit:
		return "", tooMuchf(limit, "bytes", "%s of %s %s", member, noun, peer(key))
	}
	return key, nil
}

func asName(key string, v strictjson.Value, noun, of string, lim *Limits) (string, *fault) {
	name, f := asString(key, v)
	if f == nil && len(name) > lim.NameBytes {
		if of == "" {
			return "", tooMuch("name of "+noun, lim.NameBytes, "bytes")
		}
		return "", tooMuchf(lim.NameBytes, "bytes", "name of %s %s", noun, peer(of))
	}
	return name, f
}

// asWhole decodes a whole number, however it is spelled.
func asWhole(key string, v strictjson.Value) (*int64, *fault) {
	n, ok := v.Int()
	if !ok {
		return nil, faultf("is %s that is not a whole number of 64 bits, want one", kindName(v)).under(key)
	}
	return &n, nil
}

func decodeResource(v strictjson.Value, lim *Limits) (*Resource, *fault) {
	uri, f := decodeKey(v, "resource", "uri", lim.URIBytes)
	if f != nil {
		return nil, f
	}
	r := &Resource{Wire: Wire{v}}
	if f := r.decodeMembers(v, lim); f != nil {
		return nil, f.of("resource", uri)
	}
	return r, nil
}

// decodeMembers reads the members of a resource, which are those of a link to one too.
func (r *Resource) decodeMembers(v strictjson.Value, lim *Limits) *fault {
	var uri, name bool
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "uri":
			uri = true
			r.URI, f = asString(key, m)
		case "name":
			name = true
			r.Name, f = asName(key, m, "resource", r.URI, lim)
		case "title":
			r.Title, f = asOptional(key, m)
		case "description":
			r.Description, f = asOptional(key, m)
		case "mimeType":
			r.MIMEType, f = asOptional(key, m)
		case "size":
			r.Size, f = asWhole(key, m)
		case "icons":
			r.Icons, f = decodeIcons(m)
		case "annotations":
			r.Annotations, f = decodeAnnotations(m)
		case "_meta":
			r.Meta, f = decodeMeta(m)
		}
		if f != nil {
			return f
		}
	}
	switch {
	case !uri:
		return missing("uri", "a string")
	case !name:
		return missing("name", "a string")
	}
	return nil
}

func decodeResourceTemplate(v strictjson.Value, lim *Limits) (*ResourceTemplate, *fault) {
	template, f := decodeKey(v, "resource template", "uriTemplate", lim.URIBytes)
	if f != nil {
		return nil, f
	}
	t := &ResourceTemplate{Wire: Wire{v}, URITemplate: template}
	if f := t.decodeMembers(v, lim); f != nil {
		return nil, f.of("resource template", template)
	}
	return t, nil
}

func (t *ResourceTemplate) decodeMembers(v strictjson.Value, lim *Limits) *fault {
	name := false
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "name":
			name = true
			t.Name, f = asName(key, m, "resource template", t.URITemplate, lim)
		case "title":
			t.Title, f = asOptional(key, m)
		case "description":
			t.Description, f = asOptional(key, m)
		case "mimeType":
			t.MIMEType, f = asOptional(key, m)
		case "icons":
			t.Icons, f = decodeIcons(m)
		case "annotations":
			t.Annotations, f = decodeAnnotations(m)
		case "_meta":
			t.Meta, f = decodeMeta(m)
		}
		if f != nil {
			return f
		}
	}
	if !name {
		return missing("name", "a string")
	}
	return nil
}

// decode reads a complete result of resources/read.
func (r *ReadResourceResult) decode(result strictjson.Value) *fault {
	r.Wire = Wire{result}
	ttl := false
	for key, m := range result.Members() {
		var f *fault
		switch key {
		case "contents":
			r.Contents, f = asList(key, m, decodeResourceContents)
		case "ttlMs":
			ttl = true
			r.TTLMs, f = asTTL(m)
			r.TTL = duration(r.TTLMs)
		case "cacheScope":
			r.CacheScope, f = asScope(m)
		case "_meta":
			r.Meta = jsontext.Value(m)
			r.ServerInfo, f = decodeResultMeta(m)
		}
		if f != nil {
			return f
		}
	}
	switch {
	case r.Contents == nil:
		return missing("contents", "an array")
	case !ttl:
		return missing("ttlMs", "a whole number >= 0")
	case r.CacheScope == "":
		return missing("cacheScope", `"public" or "private"`)
	}
	return nil
}

// append appends the definition of a resource that was built by hand.
func (r *Resource) append(dst []byte) []byte {
	b := object(dst)
	b.text("uri", &r.URI)
	b.text("name", &r.Name)
	b.text("title", r.Title)
	b.text("description", r.Description)
	b.text("mimeType", r.MIMEType)
	b.number("size", r.Size)
	b.icons(r.Icons)
	b.annotations(r.Annotations)
	b.raw("_meta", r.Meta)
	return b.end()
}

// append appends the definition of a template that was built by hand.
func (t *ResourceTemplate) append(dst []byte) []byte {
	b := object(dst)
	b.text("uriTemplate", &t.URITemplate)
	b.text("name", &t.Name)
	b.text("title", t.Title)
	b.text("description", t.Description)
	b.text("mimeType", t.MIMEType)
	b.icons(t.Icons)
	b.annotations(t.Annotations)
	b.raw("_meta", t.Meta)
	return b.end()
}

// append appends contents that were built by hand. What they must not be, both text and blob for example, their decoder
// refuses.
func (r *ResourceContents) append(dst []byte) []byte {
	b := object(dst)
	b.text("uri", &r.URI)
	b.text("mimeType", r.MIMEType)
	b.text("text", r.Text)
	if r.Blob != nil {
		blob := base64.StdEncoding.EncodeToString(r.Blob)
		b.text("blob", &blob)
	}
	b.raw("_meta", r.Meta)
	return b.end()
}

func (r *Resource) definition() (strictjson.Value, error) {
	return definitionOf(r, r.raw, "resource "+quote(r.URI), decodeResource, r.append)
}

func (t *ResourceTemplate) definition() (strictjson.Value, error) {
	return definitionOf(t, t.raw, "resource template "+quote(t.URITemplate), decodeResourceTemplate, t.append)
}

func (r *ResourceContents) definition() (strictjson.Value, error) {
	decode := func(v strictjson.Value, _ *Limits) (*ResourceContents, *fault) {
		c, f := decodeResourceContents(v)
		return &c, f
	}
	return definitionOf(r, r.raw, "contents of "+quote(r.URI), decode, r.append)
}
