package mcp

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// fuzzKinds are the kinds of snapshots in a fixed order, so that a number chooses one.
var fuzzKinds = slices.Sorted(maps.Keys(digestKinds))

// itemsOf returns the name of the member that holds the items of a snapshot, and the JSON text of each as it is encoded.
func itemsOf(t *testing.T, s Snapshot) (string, []strictjson.Value) {
	t.Helper()
	switch s := s.(type) {
	case *ToolsSnapshot:
		return "tools", definitions(t, toolsList, s.Tools)
	case *ResourcesSnapshot:
		return "resources", definitions(t, resourcesList, s.Resources)
	case *ResourceTemplatesSnapshot:
		return "resourceTemplates", definitions(t, resourceTemplatesList, s.ResourceTemplates)
	case *PromptsSnapshot:
		return "prompts", definitions(t, promptsList, s.Prompts)
	case *ReadResourceResult:
		var list []strictjson.Value
		for i := range s.Contents {
			text, err := s.Contents[i].definition()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, text)
		}
		return "contents", list
	}
	return "", nil
}

func definitions[P listPage[T], T any](t *testing.T, k *listKind[P, T], items []*T) []strictjson.Value {
	t.Helper()
	var list []strictjson.Value
	for _, item := range items {
		text, err := k.definition(item)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
	}
	return list
}

// withoutMember returns the object without one member.
func withoutMember(v strictjson.Value, name string) []byte {
	b := object(nil)
	b.rest(v, name)
	return b.end()
}

// FuzzResultsSurvive holds, for every kind of snapshot, that what is accepted comes out as it went in: each item with the
// very bytes of its place, the whole with nothing added and nothing but the cursor missing.
func FuzzResultsSurvive(f *testing.F) {
	for i, kind := range fuzzKinds {
		f.Add(uint8(i), []byte(digestKinds[kind].result))
	}
	for _, l := range lists() {
		i := slices.Index(fuzzKinds, map[bool]string{true: "resource_templates", false: l.name}[l.name == "templates"])
		f.Add(uint8(i), []byte(l.page(`,"_meta":{"x":1e1},"x":{"y":[]}`, l.item("a:1", `,"icons":[{"src":"x","z":1}],"_meta":{"k":1.0}`), l.item("b", `,"annotations":{"q":2}`))))
	}
	f.Fuzz(func(t *testing.T, n uint8, text []byte) {
		kind := fuzzKinds[int(n)%len(fuzzKinds)]
		before := bytes.Clone(text)
		s, err := keptSnapshot(kind, string(text))
		if err != nil {
			return
		}
		source, err := strictjson.Parse(text, strictjson.Limits{})
		if err != nil {
			t.Fatalf("accepted, but it is no JSON text: %v", err)
		}
		member, items := itemsOf(t, s)
		list, _ := source.Get(member)
		i := 0
		for e := range list.Elements() {
			if i == len(items) || !bytes.Equal(items[i], e) {
				t.Fatalf("item %d came out as %s, went in as %s", i, items[min(i, len(items)-1)], e)
			}
			i++
		}
		if i != len(items) {
			t.Fatalf("%d items came out, %d went in", len(items), i)
		}
		form, err := AppendSnapshotPreimage(nil, s)
		if err != nil {
			t.Fatalf("accepted, but no digest: %v", err)
		}
		whole := []byte(source)
		if member != "contents" && member != "" {
			whole = withoutMember(source, "nextCursor")
		}
		want, err := digest.AppendJSONPreimage(nil, digest.Kind(kind), whole, snapshotLimits)
		if err != nil || !bytes.Equal(form, want) {
			t.Fatalf("%s is hashed, want %s (%v)", form, want, err)
		}
		if p, _ := AppendSnapshotPreimage(nil, valueOf(s)); !bytes.Equal(p, form) {
			t.Fatal("a value and a pointer to it differ")
		}
		if !bytes.Equal(text, before) {
			t.Fatal("the input was written to")
		}
	})
}

// FuzzItemDigests holds that two definitions have one digest exactly if they have one canonical form, after what does not
// count has been left out of both.
func FuzzItemDigests(f *testing.F) {
	f.Add([]byte(`{"uri":"a:1","name":"n","uriTemplate":"t","x":1.0,"size":3}`), []byte(`{"name":"n","x":1,"uriTemplate":"t","uri":"a:1","annotations":{}}`))
	f.Add([]byte(`{"uri":"a","name":"n","uriTemplate":"","annotations":{"lastModified":"x"}}`), []byte(`{"uri":"a","name":"\u006e","annotations":{}}`))
	f.Add([]byte(`{"name":"a","arguments":[{"name":"b","required":true}]}`), []byte(`{"arguments":[{"required":true,"name":"b"}],"name":"a"}`))
	type item interface{ Raw() jsontext.Value }
	kinds := []struct {
		kind  digest.Kind
		parse func([]byte) (item, error)
		sum   func(item) (ItemDigest, error)
	}{
		{digest.KindResource, func(b []byte) (item, error) { return ParseResource(b) }, func(i item) (ItemDigest, error) { return ComputeResourceDigest(i.(*Resource)) }},
		{digest.KindResourceTemplate, func(b []byte) (item, error) { return ParseResourceTemplate(b) }, func(i item) (ItemDigest, error) { return ComputeResourceTemplateDigest(i.(*ResourceTemplate)) }},
		{digest.KindPrompt, func(b []byte) (item, error) { return ParsePrompt(b) }, func(i item) (ItemDigest, error) { return ComputePromptDigest(i.(*Prompt)) }},
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, k := range kinds {
			one, err := k.parse(a)
			if err != nil {
				continue
			}
			first, err := k.sum(one)
			if err != nil {
				t.Fatalf("%s is accepted, but has no digest: %v", a, err)
			}
			form := func(text []byte) strictjson.Value {
				if k.kind == digest.KindResource {
					text = gateView(text)
				}
				out, err := strictjson.AppendCanonical(nil, text, strictjson.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			// The canonical form is a spelling of the same definition, and its own canonical form.
			canonical, err := strictjson.AppendCanonical(nil, a, strictjson.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range [][]byte{b, canonical, append([]byte("\n "), a...)} {
				two, err := k.parse(other)
				if err != nil {
					continue
				}
				second, err := k.sum(two)
				if err != nil {
					t.Fatalf("%s is accepted, but has no digest: %v", other, err)
				}
				if equal := bytes.Equal(form(a), form(other)); equal != (first == second) {
					t.Fatalf("%s: %s and %s: canonical equality is %v, digests %s and %s", k.kind, a, other, equal, first, second)
				}
			}
		}
	})
}

// gateView leaves out what does not count in a resource, written down a second time.
func gateView(text []byte) []byte {
	v, _ := strictjson.Parse(text, strictjson.Limits{})
	b := object(nil)
	for name, m := range v.Members() {
		switch {
		case name == "size":
		case name == "annotations" && m.Kind() == strictjson.KindObject:
			b.raw(name, withoutMember(m, "lastModified"))
		default:
			b.raw(name, m)
		}
	}
	return b.end()
}

// FuzzPromptResult holds that what is accepted keeps its bytes, block by block.
func FuzzPromptResult(f *testing.F) {
	f.Add([]byte(promptFront + `{"role":"user","content":{"type":"text","text":"a","z":1.0},"y":null}],"description":"D"}`))
	f.Add([]byte(promptFront + `{"role":"assistant","content":{"type":"resource_link","uri":"a","name":"n","size":1e0,"icons":[]}}]}`))
	f.Add([]byte(promptFront + `{"role":"user","content":{"type":"resource","resource":{"uri":"a","blob":"AA=="}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := strictjson.Parse(text, strictjson.Limits{})
		if err != nil || v.Kind() != strictjson.KindObject {
			return
		}
		r := &GetPromptResult{}
		if r.decode(v) != nil {
			return
		}
		if !bytes.Equal(r.Raw(), v) {
			t.Fatal("the result lost its bytes")
		}
		list, _ := v.Get("messages")
		i := 0
		for e := range list.Elements() {
			content, _ := e.Get("content")
			if !bytes.Equal(r.Messages[i].Raw(), e) || !bytes.Equal(r.Messages[i].Content.Raw(), content) {
				t.Fatalf("message %d lost its bytes", i)
			}
			i++
		}
		if i != len(r.Messages) {
			t.Fatalf("%d messages of %d", len(r.Messages), i)
		}
	})
}
