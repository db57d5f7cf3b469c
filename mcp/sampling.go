package mcp

import (
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// sampleUse is what a sampling message has in it, by kind of block.
type sampleUse struct {
	uses, results map[string]bool // ids
	tools         []string        // names of the tools used
	other         int
}

// checkSample checks the parameters of sampling/createMessage.
//
// Spec: 2026-07-28 client/sampling, schema CreateMessageRequestParams.
func checkSample(params strictjson.Value) *fault {
	messages, ok := params.Get("messages")
	if !ok {
		return missing("messages", "an array")
	}
	if f := checkSampleMessages(messages); f != nil {
		return f.under("messages")
	}
	if _, ok := params.Get("maxTokens"); !ok {
		return missing("maxTokens", "a whole number")
	}
	return eachMember(params, func(key string, m strictjson.Value) *fault {
		var f *fault
		switch key {
		case "maxTokens":
			if _, ok := m.Int(); !ok {
				f = faultf("is not a whole number").under(key)
			}
		case "systemPrompt":
			_, f = asString(key, m)
		case "includeContext":
			f = asOneOf(key, m, "none", "thisServer", "allServers")
		case "temperature":
			_, f = asNumber(key, m)
		case "stopSequences":
			_, f = asStrings(key, m)
		case "metadata":
			f = asObject(key, m)
		case "modelPreferences":
			f = checkModelPreferences(m).under(key)
		case "tools":
			_, f = sampleTools(m)
		case "toolChoice":
			if f = asObject(key, m); f == nil {
				if mode, ok := m.Get("mode"); ok {
					f = asOneOf("mode", mode, "auto", "required", "none").under(key)
				}
			}
		}
		return f
	})
}

func asOneOf(name string, v strictjson.Value, want ...string) *fault {
	s, f := asString(name, v)
	if f == nil && !slices.Contains(want, s) {
		f = faultf("is %s, want one of %s", peer(s), quoteList(want)).under(name)
	}
	return f
}

func checkModelPreferences(v strictjson.Value) *fault {
	if v.Kind() != strictjson.KindObject {
		return faultf("is %s, want an object", kindName(v))
	}
	return eachMember(v, func(key string, m strictjson.Value) *fault {
		switch key {
		case "costPriority", "speedPriority", "intelligencePriority":
			p, f := asNumber(key, m)
			if f == nil && (p < 0 || p > 1) {
				f = faultf("is outside of 0 to 1").under(key)
			}
			return f
		case "hints":
			return checkHints(m)
		}
		return nil
	})
}

func checkHints(v strictjson.Value) *fault {
	if f := asArray("hints", v); f != nil {
		return f
	}
	i := 0
	for e := range v.Elements() {
		if e.Kind() != strictjson.KindObject {
			return faultf("is %s, want an object", kindName(e)).at(i).under("hints")
		}
		if name, ok := e.Get("name"); ok {
			if _, f := asString("name", name); f != nil {
				return f.at(i).under("hints")
			}
		}
		i++
	}
	return nil
}

// sampleTools returns the names of the tools that a sampling request offers to the model.
func sampleTools(v strictjson.Value) ([]string, *fault) {
	if f := asArray("tools", v); f != nil {
		return nil, f
	}
	limits, err := Limits{}.filled(Limits{})
	if err != nil {
		return nil, faultf("cannot be read")
	}
	names := []string{}
	for e := range v.Elements() {
		if len(names) == maxSampleTools {
			return nil, tooMuch("tools of a sampling request", maxSampleTools, "items")
		}
		t, f := decodeTool(e, &limits)
		if f == nil && slices.Contains(names, t.Name) {
			f = faultf("tool %s is offered twice", peer(t.Name))
		}
		if f != nil {
			return nil, f.at(len(names)).under("tools")
		}
		names = append(names, t.Name)
	}
	return names, nil
}

// maxSampleTools bounds the tools that one sampling request may offer.
const maxSampleTools = 1000

// checkSampleMessages checks a conversation: each message by itself, and that every use of a tool is answered by the very
// next message, which then holds nothing but such answers.
func checkSampleMessages(v strictjson.Value) *fault {
	if v.Kind() != strictjson.KindArray {
		return faultf("is %s, want an array", kindName(v))
	}
	var open map[string]bool // uses of the message before
	i := 0
	for m := range v.Elements() {
		use, f := checkSampleMessage(m)
		if f != nil {
			return f.at(i)
		}
		for id := range use.results {
			if !open[id] {
				return faultf("answers tool use %s, which the message before does not have", peer(id)).at(i)
			}
		}
		for id := range open {
			if !use.results[id] {
				return faultf("does not answer tool use %s of the message before", peer(id)).at(i)
			}
		}
		open = use.uses
		i++
	}
	for id := range open {
		return faultf("has tool use %s, which no message answers", peer(id)).at(i - 1)
	}
	return nil
}

// checkSampleMessage checks one message, or the answer to a sampling request, which has the same members.
func checkSampleMessage(m strictjson.Value) (*sampleUse, *fault) {
	if m.Kind() != strictjson.KindObject {
		return nil, faultf("is %s, want an object", kindName(m))
	}
	v, ok := m.Get("role")
	if !ok {
		return nil, missing("role", "a string")
	}
	role, _ := v.Text()
	if role != "user" && role != "assistant" {
		return nil, faultf(`is not "user" or "assistant"`).under("role")
	}
	content, ok := m.Get("content")
	if !ok {
		return nil, missing("content", "an object or an array")
	}
	use := &sampleUse{uses: map[string]bool{}, results: map[string]bool{}}
	if f := use.content(content); f != nil {
		return nil, f.under("content")
	}
	if meta, ok := m.Get("_meta"); ok {
		if _, f := decodeMeta(meta); f != nil {
			return nil, f
		}
	}
	switch {
	case len(use.uses) > 0 && role != "assistant":
		return nil, faultf("has tool_use, which only an assistant message may have").under("content")
	case len(use.results) > 0 && role != "user":
		return nil, faultf("has tool_result, which only a user message may have").under("content")
	case len(use.results) > 0 && use.other > 0:
		return nil, faultf("has tool_result beside other content").under("content")
	}
	return use, nil
}

// content reads one block or an array of blocks.
func (u *sampleUse) content(v strictjson.Value) *fault {
	switch v.Kind() {
	case strictjson.KindObject:
		return u.block(v)
	case strictjson.KindArray:
		i := 0
		for e := range v.Elements() {
			if f := u.block(e); f != nil {
				return f.at(i)
			}
			i++
		}
		return nil
	}
	return faultf("is %s, want an object or an array", kindName(v))
}

func (u *sampleUse) block(v strictjson.Value) *fault {
	typ := ""
	if v.Kind() == strictjson.KindObject {
		tag, _ := v.Get("type")
		typ, _ = tag.Text()
	}
	switch typ {
	case "tool_use":
		return u.toolUse(v)
	case "tool_result":
		return u.toolResult(v)
	case "resource", "resource_link":
		return faultf("is %s, which no sampling message may have", peer(typ)).under("type")
	}
	u.other++
	_, f := decodeBlock(v)
	return f
}

func (u *sampleUse) toolUse(v strictjson.Value) *fault {
	for _, name := range []string{"id", "name"} {
		if f := needString(v, name); f != nil {
			return f
		}
	}
	input, ok := v.Get("input")
	if !ok {
		return missing("input", "an object")
	}
	f := asObject("input", input)
	if meta, ok := v.Get("_meta"); ok && f == nil {
		_, f = decodeMeta(meta)
	}
	if f != nil {
		return f
	}
	id, name := textOf(v, "id"), textOf(v, "name")
	if u.uses[id] {
		return faultf("is used twice in one message").under("id")
	}
	u.uses[id] = true
	u.tools = append(u.tools, name)
	return nil
}

func (u *sampleUse) toolResult(v strictjson.Value) *fault {
	if f := needString(v, "toolUseId"); f != nil {
		return f
	}
	content, ok := v.Get("content")
	if !ok {
		return missing("content", "an array")
	}
	_, f := decodeContent("content", content)
	if f == nil {
		f = eachMember(v, func(key string, m strictjson.Value) *fault {
			var f *fault
			switch key {
			case "isError":
				_, f = asBool(key, m)
			case "_meta":
				_, f = decodeMeta(m)
			}
			return f
		})
	}
	if f != nil {
		return f
	}
	id := textOf(v, "toolUseId")
	if u.results[id] {
		return faultf("is answered twice in one message").under("toolUseId")
	}
	u.results[id] = true
	return nil
}

// textOf returns the string member name, "" if there is none.
func textOf(v strictjson.Value, name string) string {
	m, _ := v.Get(name)
	s, _ := m.Text()
	return s
}

// samplesTools reports whether the checked parameters of a sampling request have to do with tools.
func samplesTools(params strictjson.Value) bool {
	if _, ok := params.Get("tools"); ok {
		return true
	}
	if _, ok := params.Get("toolChoice"); ok {
		return true
	}
	messages, _ := params.Get("messages")
	for m := range messages.Elements() {
		if use, f := checkSampleMessage(m); f == nil && len(use.uses)+len(use.results) > 0 {
			return true
		}
	}
	return false
}
