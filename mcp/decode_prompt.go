package mcp

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func decodePrompt(v strictjson.Value, lim *Limits) (*Prompt, *fault) {
	name, f := decodeKey(v, "prompt", "name", lim.NameBytes)
	if f != nil {
		return nil, f
	}
	p := &Prompt{Wire: Wire{v}, Name: name}
	if f := p.decodeMembers(v, lim); f != nil {
		return nil, f.of("prompt", name)
	}
	return p, nil
}

func (p *Prompt) decodeMembers(v strictjson.Value, lim *Limits) *fault {
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "title":
			p.Title, f = asOptional(key, m)
		case "description":
			p.Description, f = asOptional(key, m)
		case "arguments":
			p.Arguments, f = decodePromptArguments(key, m, lim)
		case "icons":
			p.Icons, f = decodeIcons(m)
		case "_meta":
			p.Meta, f = decodeMeta(m)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

func decodePromptArguments(key string, v strictjson.Value, lim *Limits) ([]PromptArgument, *fault) {
	return asList(key, v, func(e strictjson.Value) (PromptArgument, *fault) { return decodePromptArgument(e, lim) })
}

func decodePromptArgument(v strictjson.Value, lim *Limits) (PromptArgument, *fault) {
	a := PromptArgument{Wire: Wire{v}}
	if v.Kind() != strictjson.KindObject {
		return a, faultf("is %s, want an object", kindName(v))
	}
	name := false
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "name":
			name = true
			a.Name, f = asName(key, m, "a prompt argument", "", lim)
		case "title":
			a.Title, f = asOptional(key, m)
		case "description":
			a.Description, f = asOptional(key, m)
		case "required":
			var required bool
			required, f = asBool(key, m)
			a.Required = &required
		}
		if f != nil {
			return a, f
		}
	}
	if !name {
		return a, missing("name", "a string")
	}
	return a, nil
}

// decode reads a complete result of prompts/get. It has no cache hints; members of their names mean nothing here.
func (r *GetPromptResult) decode(result strictjson.Value) *fault {
	r.Wire = Wire{result}
	for key, m := range result.Members() {
		var f *fault
		switch key {
		case "messages":
			r.Messages, f = asList(key, m, decodePromptMessage)
		case "description":
			r.Description, f = asOptional(key, m)
		case "_meta":
			r.Meta = jsontext.Value(m)
			r.ServerInfo, f = decodeResultMeta(m)
		}
		if f != nil {
			return f
		}
	}
	if r.Messages == nil {
		return missing("messages", "an array")
	}
	return nil
}

func decodePromptMessage(v strictjson.Value) (PromptMessage, *fault) {
	p := PromptMessage{Wire: Wire{v}}
	if v.Kind() != strictjson.KindObject {
		return p, faultf("is %s, want an object", kindName(v))
	}
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "role":
			p.Role, f = asString(key, m)
			if f == nil && p.Role != "user" && p.Role != "assistant" {
				f = faultf(`is %s, want "user" or "assistant"`, peer(p.Role)).under(key)
			}
		case "content":
			p.Content, f = decodeBlock(m)
			f = f.under(key)
		}
		if f != nil {
			return p, f
		}
	}
	switch {
	case p.Role == "":
		return p, missing("role", `"user" or "assistant"`)
	case p.Content == nil:
		return p, missing("content", "an object")
	}
	return p, nil
}

// append appends the definition of a prompt that was built by hand.
func (p *Prompt) append(dst []byte) []byte {
	b := object(dst)
	b.text("name", &p.Name)
	b.text("title", p.Title)
	b.text("description", p.Description)
	if p.Arguments != nil {
		b.key("arguments")
		b.dst = append(b.dst, '[')
		for i := range p.Arguments {
			if i > 0 {
				b.dst = append(b.dst, ',')
			}
			b.dst = p.Arguments[i].append(b.dst)
		}
		b.dst = append(b.dst, ']')
	}
	b.icons(p.Icons)
	b.raw("_meta", p.Meta)
	return b.end()
}

// append appends the argument: one that was received keeps its bytes.
func (a *PromptArgument) append(dst []byte) []byte {
	if a.raw != nil {
		return append(dst, a.raw...)
	}
	b := object(dst)
	b.text("name", &a.Name)
	b.text("title", a.Title)
	b.text("description", a.Description)
	b.flag("required", a.Required)
	return b.end()
}

func (p *Prompt) definition() (strictjson.Value, error) {
	return definitionOf(p, p.raw, "prompt "+quote(p.Name), decodePrompt, p.append)
}
