package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// keptSnapshot is a snapshot of any kind from results that were kept, with the kind's name.
func keptSnapshot(kind string, results ...string) (Snapshot, error) {
	switch kind {
	case "discovery":
		return ParseDiscovery([]byte(results[0]))
	case "resource_read":
		return ParseReadResourceResult([]byte(results[0]))
	case "tools":
		pages, err := each(results, ParseToolsPage)
		if err != nil {
			return nil, err
		}
		return NewToolsSnapshot(pages...)
	case "resources":
		pages, err := each(results, ParseResourcesPage)
		if err != nil {
			return nil, err
		}
		return NewResourcesSnapshot(pages...)
	case "resource_templates":
		pages, err := each(results, ParseResourceTemplatesPage)
		if err != nil {
			return nil, err
		}
		return NewResourceTemplatesSnapshot(pages...)
	case "prompts":
		pages, err := each(results, ParsePromptsPage)
		if err != nil {
			return nil, err
		}
		return NewPromptsSnapshot(pages...)
	}
	panic(kind)
}

func each[P any](results []string, parse func([]byte) (P, error)) ([]P, error) {
	var pages []P
	for _, r := range results {
		p, err := parse([]byte(r))
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

func mustKept(t testing.TB, kind string, results ...string) Snapshot {
	t.Helper()
	s, err := keptSnapshot(kind, results...)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return s
}

// valueOf returns what a pointer to a snapshot points to.
func valueOf(s Snapshot) Snapshot { return reflect.ValueOf(s).Elem().Interface().(Snapshot) }

func hexSum(preimage string) string {
	d := sha256.Sum256([]byte(preimage))
	return hex.EncodeToString(d[:])
}

// digestKinds are results of one page of every kind, and their canonical forms, written by hand.
var digestKinds = map[string]struct{ result, canonical string }{
	"discovery": {
		`{"supportedVersions":["2026-07-28"],"resultType":"complete","ttlMs":6e4,"cacheScope":"public","capabilities":{"x":1.0},"z":null}`,
		`{"cacheScope":"public","capabilities":{"x":1},"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":60000,"z":null}`,
	},
	"tools": {
		`{"tools":[{"name":"b","inputSchema":{"type":"object"}},{"inputSchema":{"type":"object"},"name":"a"}],"resultType":"complete","ttlMs":0,"cacheScope":"public"}`,
		`{"cacheScope":"public","resultType":"complete","tools":[{"inputSchema":{"type":"object"},"name":"b"},{"inputSchema":{"type":"object"},"name":"a"}],"ttlMs":0}`,
	},
	"resources": {
		`{"resources":[{"uri":"b:1","name":"n","size":1.0,"annotations":{"lastModified":"l"}},{"uri":"a:1","name":"\u00e9"}],"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"k":[]}}`,
		`{"_meta":{"k":[]},"cacheScope":"private","resources":[{"annotations":{"lastModified":"l"},"name":"n","size":1,"uri":"b:1"},{"name":"é","uri":"a:1"}],"resultType":"complete","ttlMs":0}`,
	},
	"resource_templates": {
		`{"resourceTemplates":[{"uriTemplate":"b:{x}","name":"n"}],"resultType":"complete","ttlMs":1,"cacheScope":"public","x":{"b":1,"a":2}}`,
		`{"cacheScope":"public","resourceTemplates":[{"name":"n","uriTemplate":"b:{x}"}],"resultType":"complete","ttlMs":1,"x":{"a":2,"b":1}}`,
	},
	"prompts": {
		`{"prompts":[{"name":"b","arguments":[{"name":"z"},{"name":"a"}]}],"resultType":"complete","ttlMs":0,"cacheScope":"public"}`,
		`{"cacheScope":"public","prompts":[{"arguments":[{"name":"z"},{"name":"a"}],"name":"b"}],"resultType":"complete","ttlMs":0}`,
	},
	"resource_read": {
		`{"contents":[{"uri":"b:1","text":"<\/>"},{"uri":"a:1","blob":"AA==","x":1e0}],"resultType":"complete","ttlMs":0,"cacheScope":"private","y":0.10}`,
		`{"cacheScope":"private","contents":[{"text":"</>","uri":"b:1"},{"blob":"AA==","uri":"a:1","x":1}],"resultType":"complete","ttlMs":0,"y":0.1}`,
	},
}

// TestSnapshotDigestsOfEveryKind writes the preimages by hand, and compares value with pointer and kind with kind.
func TestSnapshotDigestsOfEveryKind(t *testing.T) {
	all := map[string]string{}
	for kind, test := range digestKinds {
		s := mustKept(t, kind, test.result)
		got, preimage := digestOf(t, s).String(), "mcpcat:"+kind+":v1\n"+test.canonical
		if want := hexSum(preimage); got != want {
			form, err := AppendSnapshotPreimage(nil, s)
			t.Errorf("%s: digest %s over %s (%v), want %s over %s", kind, got, form, err, want, preimage)
		}
		if digestOf(t, valueOf(s)).String() != got {
			t.Errorf("%s: a value has another digest than a pointer to it", kind)
		}
		if len(got) != 64 || strings.ToLower(got) != got {
			t.Errorf("%s: digest is written as %s", kind, got)
		}
		if other := all[got]; other != "" {
			t.Errorf("%s and %s have the same digest", kind, other)
		}
		all[got] = kind
		// What a server answers is what counts: hints, order, every member.
		for _, change := range [][2]string{
			{`"ttlMs":`, `"ttlMs":1`},
			{`"resultType"`, `"new":1,"resultType"`},
			{`"public"`, `"private"`},
			{`"private"`, `"public"`},
		} {
			changed := strings.Replace(test.result, change[0], change[1], 1)
			if changed == test.result {
				continue
			}
			if digestOf(t, mustKept(t, kind, changed)).String() == got {
				t.Errorf("%s: digest does not change with %s", kind, change[1])
			}
		}
	}
	for _, l := range lists() {
		kind := map[string]string{"templates": "resource_templates"}[l.name]
		if kind == "" {
			kind = l.name
		}
		a, b := l.item("a:1", ""), l.item("b:1", "")
		one := digestOf(t, mustKept(t, kind, l.page("", a, b)))
		if digestOf(t, mustKept(t, kind, l.page("", b, a))) == one {
			t.Errorf("%s: digest does not include the order", kind)
		}
		pages := mustKept(t, kind, l.page(`,"nextCursor":"c","_meta":{"k":2}`, a), l.page("", b))
		canonical := func(text string) string {
			form, err := strictjson.AppendCanonical(nil, []byte(text), strictjson.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			return string(form)
		}
		want := hexSum("mcpcat:" + kind + ":v1\n" + `{"pages":[` + canonical(l.page(`,"_meta":{"k":2}`, a)) + `,` + canonical(l.page("", b)) + `]}`)
		if got := digestOf(t, pages).String(); got != want || digestOf(t, valueOf(pages)).String() != want {
			t.Errorf("%s: two pages have digest %s, want %s", kind, got, want)
		}
		other := mustKept(t, kind, l.page(`,"nextCursor":"another","_meta":{"k":2}`, a), l.page("", b))
		if digestOf(t, other).String() != want {
			t.Errorf("%s: digest depends on the cursor", kind)
		}
		empty := mustKept(t, kind, l.page(""))
		if want := hexSum("mcpcat:" + kind + ":v1\n" + canonical(l.page(""))); digestOf(t, empty).String() != want {
			t.Errorf("%s: empty list has digest %s, want %s", kind, digestOf(t, empty), want)
		}
	}
}

// TestItemDigestsOfEveryKind writes the preimages of the digests that pins are made of by hand.
func TestItemDigestsOfEveryKind(t *testing.T) {
	resource := func(text string) string {
		t.Helper()
		r, err := ParseResource([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d, err := ComputeResourceDigest(r)
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	base := resource(`{"uri":"a:1","name":"n","annotations":{"priority":0.5},"x":1.0}`)
	if want := "sha256:" + hexSum("mcpcat:resource:v1\n"+`{"annotations":{"priority":0.5},"name":"n","uri":"a:1","x":1}`); base != want {
		t.Errorf("resource: %s, want %s", base, want)
	}
	if got := resource(`{"x":1,"size":7,"name":"n","uri":"a:1","annotations":{"lastModified":"2026-01-01","priority":5e-1}}`); got != base {
		t.Errorf("size and lastModified count: %s, want %s", got, base)
	}
	for _, other := range []string{
		`{"uri":"a:1","name":"n","annotations":{"priority":0.6},"x":1.0}`, `{"uri":"a:1","name":"n","annotations":{"priority":0.5},"x":2}`,
		`{"uri":"a:2","name":"n","annotations":{"priority":0.5},"x":1.0}`, `{"uri":"a:1","name":"n","annotations":{"priority":0.5},"x":1.0,"_meta":{"size":1}}`,
	} {
		if resource(other) == base {
			t.Errorf("%s has the same digest", other)
		}
	}
	template, err := ParseResourceTemplate([]byte(`{"uriTemplate":"a:{b}","name":"n","size":2}`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := ComputeResourceTemplateDigest(template)
	if want := "sha256:" + hexSum("mcpcat:resource_template:v1\n"+`{"name":"n","size":2,"uriTemplate":"a:{b}"}`); err != nil || d.String() != want {
		t.Errorf("template: %s (%v), want %s", d, err, want)
	}
	prompt, err := ParsePrompt([]byte(`{"name":"p","arguments":[{"name":"b","required":false},{"name":"a"}],"size":1}`))
	if err != nil {
		t.Fatal(err)
	}
	d, err = ComputePromptDigest(prompt)
	if want := "sha256:" + hexSum("mcpcat:prompt:v1\n"+`{"arguments":[{"name":"b","required":false},{"name":"a"}],"name":"p","size":1}`); err != nil || d.String() != want {
		t.Errorf("prompt: %s (%v), want %s", d, err, want)
	}
	// One text, four kinds, four digests.
	text := `{"name":"a:1","uri":"a:1","uriTemplate":"a:1","inputSchema":{"type":"object"}}`
	tool := mustTool(t, text)
	r, err1 := ParseResource([]byte(text))
	rt, err2 := ParseResourceTemplate([]byte(text))
	p, err3 := ParsePrompt([]byte(text))
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	a, err1 := ComputeToolDigest(tool)
	b, err2 := ComputeResourceDigest(r)
	c, err3 := ComputeResourceTemplateDigest(rt)
	e, err4 := ComputePromptDigest(p)
	if err := errors.Join(err1, err2, err3, err4); err != nil || len(map[ItemDigest]bool{a: true, b: true, c: true, e: true}) != 4 {
		t.Errorf("digests %s, %s, %s, %s (%v), want four", a, b, c, e, err)
	}
}

func TestDigestsOfItemsMadeByHand(t *testing.T) {
	s, size, prio, yes := "T", int64(7), 0.25, true
	annotations := &Annotations{Audience: []string{"user"}, Priority: &prio, LastModified: &s}
	icons := []Icon{{Src: "data:,x"}}
	same := func(what string, a, b ItemDigest, err ...error) {
		t.Helper()
		if errors.Join(err...) != nil || a != b {
			t.Errorf("%s: digests %s and %s (%v)", what, a, b, errors.Join(err...))
		}
	}
	r, err := ParseResource([]byte(`{"uri":"a:1","name":"n","title":"T","description":"T","mimeType":"T","size":7,"icons":[{"src":"data:,x"}],` +
		`"annotations":{"audience":["user"],"priority":0.25,"lastModified":"T"},"_meta":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	made := &Resource{URI: "a:1", Name: "n", Title: &s, Description: &s, MIMEType: &s, Size: &size, Icons: icons, Annotations: annotations, Meta: jsontext.Value(`{}`)}
	a, err1 := ComputeResourceDigest(made)
	b, err2 := ComputeResourceDigest(r)
	same("resource", a, b, err1, err2)
	byHand := ResourcesSnapshot{
		SnapshotInfo: SnapshotInfo{CacheScope: CachePublic}, Resources: []*Resource{made},
		Pages: []*ResourcesPage{{PageInfo: PageInfo{CacheScope: CachePublic}, Resources: []*Resource{made}}},
	}
	received := mustKept(t, "resources", `{"resultType":"complete","ttlMs":0,"cacheScope":"public","resources":[`+string(r.Raw())+`]}`)
	if digestOf(t, byHand) != digestOf(t, received) {
		t.Error("a list made by hand has another digest than the same list received")
	}
	tm, err := ParseResourceTemplate([]byte(`{"uriTemplate":"a:{b}","name":"n","mimeType":"T","annotations":{"audience":["user"],"priority":0.25,"lastModified":"T"}}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err1 = ComputeResourceTemplateDigest(&ResourceTemplate{URITemplate: "a:{b}", Name: "n", MIMEType: &s, Annotations: annotations})
	b, err2 = ComputeResourceTemplateDigest(tm)
	same("template", a, b, err1, err2)
	p, err := ParsePrompt([]byte(`{"name":"p","arguments":[{"name":"a","title":"T","required":true},{"name":"b"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err1 = ComputePromptDigest(&Prompt{Name: "p", Arguments: []PromptArgument{{Name: "a", Title: &s, Required: &yes}, {Name: "b"}}})
	b, err2 = ComputePromptDigest(p)
	same("prompt", a, b, err1, err2)
	read := ReadResourceResult{CacheScope: CachePrivate, Contents: []ResourceContents{{URI: "a:1", Text: &s}, {URI: "a:2", Blob: []byte{0}}}}
	if digestOf(t, read) != digestOf(t, mustKept(t, "resource_read",
		`{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[{"uri":"a:1","text":"T"},{"uri":"a:2","blob":"AA=="}]}`)) {
		t.Error("contents made by hand have another digest than the same received")
	}
	for name, s := range map[string]Snapshot{
		"both":       ReadResourceResult{CacheScope: CachePrivate, Contents: []ResourceContents{{URI: "a:1", Text: &s, Blob: []byte{}}}},
		"neither":    ReadResourceResult{CacheScope: CachePrivate, Contents: []ResourceContents{{URI: "a:1"}}},
		"no scope":   ReadResourceResult{},
		"ttl":        ReadResourceResult{CacheScope: CachePrivate, TTLMs: 1 << 53},
		"not UTF-8":  ReadResourceResult{CacheScope: CachePrivate, Contents: []ResourceContents{{URI: "\xff", Text: &s}}},
		"no pages":   ResourcesSnapshot{},
		"nil page":   PromptsSnapshot{Pages: []*PromptsPage{nil}},
		"nil":        (*PromptsSnapshot)(nil),
		"nil read":   (*ReadResourceResult)(nil),
		"nil list":   (*ResourcesSnapshot)(nil),
		"nil others": (*ResourceTemplatesSnapshot)(nil),
	} {
		if d, err := ComputeSnapshotDigest(s); err == nil || d != (SnapshotDigest{}) {
			t.Errorf("%s: digest %s", name, d)
		}
	}
	for name, err := range map[string]error{
		"nil resource": second(ComputeResourceDigest(nil)), "nil template": second(ComputeResourceTemplateDigest(nil)), "nil prompt": second(ComputePromptDigest(nil)),
		"no uri": second(ComputeResourceDigest(&Resource{Name: "n"})), "no text": second(ComputeResourceTemplateDigest(&ResourceTemplate{})),
		"no name": second(ComputePromptDigest(&Prompt{})), "priority": second(ComputeResourceDigest(&Resource{URI: "a", Annotations: &Annotations{Priority: new(float64(2))}})),
		"audience":  second(ComputeResourceDigest(&Resource{URI: "a", Annotations: &Annotations{Audience: []string{"x"}}})),
		"not UTF-8": second(ComputePromptDigest(&Prompt{Name: "\xff"})), "meta": second(ComputePromptDigest(&Prompt{Name: "a", Meta: jsontext.Value(`{"a":1,"a":2}`)})),
	} {
		if err == nil {
			t.Errorf("%s: a digest", name)
		}
	}
}

// TestChangedItemsHaveNoDigest changes each field of items that were received, through their pointers too.
func TestChangedItemsHaveNoDigest(t *testing.T) {
	const resource = `{"uri":"a:1","name":"n","title":"T","mimeType":"m","size":7,"icons":[{"src":"x"}],"annotations":{"priority":0.25},"_meta":{}}`
	for name, change := range map[string]func(*Resource){
		"uri": func(r *Resource) { r.URI = "a:2" }, "name": func(r *Resource) { r.Name = "" }, "title": func(r *Resource) { r.Title = nil },
		"title's text": func(r *Resource) { *r.Title = "x" }, "description": func(r *Resource) { r.Description = r.Title }, "mimeType": func(r *Resource) { *r.MIMEType = "" },
		"size": func(r *Resource) { *r.Size = 8 }, "icon": func(r *Resource) { r.Icons[0].Src = "y" }, "icons": func(r *Resource) { r.Icons = nil },
		"annotations": func(r *Resource) { *r.Annotations.Priority = 1 }, "meta": func(r *Resource) { r.Meta = jsontext.Value(`{"a":1}`) },
	} {
		r, err := ParseResource([]byte(resource))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ComputeResourceDigest(r); err != nil {
			t.Fatal(err)
		}
		page := &ResourcesPage{PageInfo{CacheScope: CachePublic}, []*Resource{r}}
		s, err := NewResourcesSnapshot(page)
		if err != nil {
			t.Fatal(err)
		}
		digestOf(t, s)
		change(r)
		_, err = ComputeResourceDigest(r)
		as[*RequestError](t, err)
		_, err = ComputeSnapshotDigest(s)
		wantText(t, err, "was changed")
		if err == nil {
			t.Errorf("%s: a digest", name)
		}
	}
	p, err := ParsePrompt([]byte(`{"name":"p","arguments":[{"name":"a","required":true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	*p.Arguments[0].Required = false
	as[*RequestError](t, second(ComputePromptDigest(p)))
	tm, err := ParseResourceTemplate([]byte(`{"uriTemplate":"a","name":"n"}`))
	if err != nil {
		t.Fatal(err)
	}
	tm.Name = "m"
	as[*RequestError](t, second(ComputeResourceTemplateDigest(tm)))
	read := mustKept(t, "resource_read", digestKinds["resource_read"].result).(*ReadResourceResult)
	read.Contents[1].Blob[0]++
	as[*RequestError](t, second(ComputeSnapshotDigest(read)))
	list := mustKept(t, "prompts", digestKinds["prompts"].result).(*PromptsSnapshot)
	list.Prompts = nil
	as[*RequestError](t, second(ComputeSnapshotDigest(list)))
}

// TestDigestsBeyondTheDefaultLimits holds that what a client has let pass has a digest.
func TestDigestsBeyondTheDefaultLimits(t *testing.T) {
	long := strings.Repeat("n", 2<<10)
	result := `{"resultType":"complete","ttlMs":0,"cacheScope":"public","prompts":[{"name":"` + long + `","arguments":[{"name":"` + long + `"}]}]}`
	c, _ := pipe(t, answering(result), WithLimits(Limits{NameBytes: 2 << 10}))
	s, err := c.SnapshotPrompts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	digestOf(t, s)
	if _, err := ComputePromptDigest(s.Prompts[0]); err != nil {
		t.Error(err)
	}
}

func TestSnapshotDigestBoundOfReads(t *testing.T) {
	of := func(size int) Snapshot {
		empty := `{"resultType":"complete","ttlMs":0,"cacheScope":"public","contents":[{"uri":"a","text":""}]}`
		text := strings.Repeat("x", size-len(empty))
		return ReadResourceResult{CacheScope: CachePublic, Contents: []ResourceContents{{URI: "a", Text: &text}}}
	}
	if _, err := ComputeSnapshotDigest(of(8 << 20)); err != nil {
		t.Errorf("8 MiB: %v", err)
	}
	as[*LimitError](t, second(ComputeSnapshotDigest(of(8<<20+1))))
}

// TestUnknownMembersSurvive holds, for every kind, that nothing that was received is missing in what is hashed, and that
// every value keeps its bytes.
func TestUnknownMembersSurvive(t *testing.T) {
	const unknown = `{"Name":"\u0041\/","b":[1.0,1e400,null],"a":{}}`
	for kind, test := range digestKinds {
		text := strings.ReplaceAll(test.result, `{"`, `{"com.example/unknown":`+unknown+`,"`)
		if kind == "discovery" { // whose capabilities are named by their members
			text = strings.Replace(test.result, `{"`, `{"com.example/unknown":`+unknown+`,"`, 1)
		}
		form, err := AppendSnapshotPreimage(nil, mustKept(t, kind, text))
		if err != nil {
			t.Fatal(err)
		}
		want, err := digest.AppendJSONPreimage(nil, digest.Kind(kind), []byte(text), strictjson.Limits{})
		if err != nil || string(form) != string(want) {
			t.Errorf("%s: %s is hashed, want %s (%v)", kind, form, want, err)
		}
	}
}
