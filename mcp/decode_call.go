package mcp

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func (r *CallToolResult) decode(result strictjson.Value) *fault {
	r.Wire = Wire{result}
	for e := result.Fields(); e.Next(); {
		m := e.Value
		var f *fault
		switch string(e.Name) {
		case "content":
			r.Content, f = decodeContent("content", m)
		case "structuredContent":
			r.StructuredContent = jsontext.Value(m)
		case "isError":
			r.IsError, f = asBool("isError", m)
		case "_meta":
			r.Meta = jsontext.Value(m)
			r.ServerInfo, f = decodeResultMeta(m)
		}
		if f != nil {
			return f
		}
	}
	if r.Content == nil {
		return missing("content", "an array")
	}
	return nil
}

func decodeContent(key string, v strictjson.Value) ([]ContentBlock, *fault) {
	return asList(key, v, decodeBlock)
}

func decodeBlock(v strictjson.Value) (ContentBlock, *fault) {
	if v.Kind() != strictjson.KindObject {
		return nil, faultf("is %s, want an object", kindName(v))
	}
	tag, ok := v.Get("type")
	if !ok {
		return nil, missing("type", "a string")
	}
	if string(tag) == `"text"` { // the usual case costs no allocation
		return decodeText(v)
	}
	typ, f := asString("type", tag)
	if f != nil {
		return nil, f
	}
	switch typ {
	case "text":
		return decodeText(v)
	case "image":
		b := &ImageContent{Wire: Wire{v}}
		b.Data, b.MIMEType, b.Annotations, b.Meta, f = decodeBinary(v)
		return asBlock(b, f)
	case "audio":
		b := &AudioContent{Wire: Wire{v}}
		b.Data, b.MIMEType, b.Annotations, b.Meta, f = decodeBinary(v)
		return asBlock(b, f)
	case "resource_link":
		return decodeLink(v)
	case "resource":
		return decodeEmbedded(v)
	}
	return nil, faultf("is %s, which is no kind of content", peer(typ)).under("type")
}

func asBlock[T ContentBlock](b T, f *fault) (ContentBlock, *fault) {
	if f != nil {
		return nil, f
	}
	return b, nil
}

func decodeText(v strictjson.Value) (ContentBlock, *fault) {
	b := &TextContent{Wire: Wire{v}}
	ok := false
	for e := v.Fields(); e.Next(); {
		m := e.Value
		var f *fault
		switch string(e.Name) {
		case "text":
			ok = true
			b.Text, f = asString("text", m)
		case "annotations":
			b.Annotations, f = decodeAnnotations(m)
		case "_meta":
			b.Meta, f = decodeMeta(m)
		}
		if f != nil {
			return nil, f
		}
	}
	if !ok {
		return nil, missing("text", "a string")
	}
	return b, nil
}

func decodeBinary(v strictjson.Value) (data []byte, mime string, a *Annotations, meta jsontext.Value, f *fault) {
	hasMIME := false
	for key, m := range v.Members() {
		switch key {
		case "data":
			data, f = asBase64(key, m)
		case "mimeType":
			hasMIME = true
			mime, f = asString(key, m)
		case "annotations":
			a, f = decodeAnnotations(m)
		case "_meta":
			meta, f = decodeMeta(m)
		}
		if f != nil {
			return nil, "", nil, nil, f
		}
	}
	switch {
	case data == nil:
		f = missing("data", "a string")
	case !hasMIME:
		f = missing("mimeType", "a string")
	}
	return data, mime, a, meta, f
}

func decodeLink(v strictjson.Value) (ContentBlock, *fault) {
	var r Resource
	if f := r.decodeMembers(v, &anyLimits); f != nil {
		return nil, f
	}
	return &ResourceLink{
		Wire: Wire{v}, URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, Size: r.Size,
		Icons: r.Icons, Annotations: r.Annotations, Meta: r.Meta,
	}, nil
}

func decodeEmbedded(v strictjson.Value) (ContentBlock, *fault) {
	b := &EmbeddedResource{Wire: Wire{v}}
	ok := false
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "resource":
			ok = true
			b.Resource, f = decodeResourceContents(m)
			f = f.under(key)
		case "annotations":
			b.Annotations, f = decodeAnnotations(m)
		case "_meta":
			b.Meta, f = decodeMeta(m)
		}
		if f != nil {
			return nil, f
		}
	}
	if !ok {
		return nil, missing("resource", "an object")
	}
	return b, nil
}

func decodeResourceContents(v strictjson.Value) (ResourceContents, *fault) {
	r := ResourceContents{Wire: Wire{v}}
	if v.Kind() != strictjson.KindObject {
		return r, faultf("is %s, want an object", kindName(v))
	}
	uri := false
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "uri":
			uri = true
			r.URI, f = asString(key, m)
		case "mimeType":
			r.MIMEType, f = asOptional(key, m)
		case "text":
			r.Text, f = asOptional(key, m)
		case "blob":
			r.Blob, f = asBase64(key, m)
		case "_meta":
			r.Meta, f = decodeMeta(m)
		}
		if f != nil {
			return r, f
		}
	}
	switch {
	case !uri:
		return r, missing("uri", "a string")
	case r.Text != nil && r.Blob != nil:
		return r, faultf("has both text and blob, want one of them")
	case r.Text == nil && r.Blob == nil:
		return r, faultf("has neither text nor blob, want one of them")
	}
	return r, nil
}

func decodeAnnotations(v strictjson.Value) (*Annotations, *fault) {
	a := &Annotations{Wire: Wire{v}}
	f := asObject("annotations", v)
	if f != nil {
		return nil, f
	}
	for key, m := range v.Members() {
		switch key {
		case "audience":
			if a.Audience, f = asStrings(key, m); f != nil {
				break
			}
			for i, who := range a.Audience {
				if who != "user" && who != "assistant" {
					f = faultf(`is %s, want "user" or "assistant"`, peer(who)).at(i).under(key)
				}
			}
		case "priority":
			var p float64
			if p, f = asNumber(key, m); f == nil && (p < 0 || p > 1) {
				f = faultf("is outside of 0 to 1").under(key)
			}
			a.Priority = &p
		case "lastModified":
			a.LastModified, f = asOptional(key, m)
		}
		if f != nil {
			return nil, f.under("annotations")
		}
	}
	return a, nil
}

// asBase64 decodes a string of the standard alphabet with padding and zero trailing bits; it is never nil. The decoder
// of the standard library skips line ends even when it is strict, so they are looked for first.
func asBase64(key string, v strictjson.Value) ([]byte, *fault) {
	s, f := asString(key, v)
	if f != nil {
		return nil, f
	}
	if strings.ContainsAny(s, "\r\n") {
		return nil, faultf("is base64 with a line end in it").under(key)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, faultf("is a string that is no padded base64 of the standard alphabet").under(key)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}
