package mcp

import (
	"strconv"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// builder writes the members of one JSON object.
type builder struct {
	dst   []byte
	start int
}

func object(dst []byte) *builder {
	dst = append(dst, '{')
	return &builder{dst: dst, start: len(dst)}
}

func (b *builder) end() []byte { return append(b.dst, '}') }

func (b *builder) key(name string) {
	if len(b.dst) > b.start {
		b.dst = append(b.dst, ',')
	}
	b.dst = append(strictjson.AppendString(b.dst, name), ':')
}

func (b *builder) raw(name string, value []byte) {
	if value != nil {
		b.key(name)
		b.dst = append(b.dst, value...)
	}
}

func (b *builder) text(name string, value *string) {
	if value != nil {
		b.key(name)
		b.dst = strictjson.AppendString(b.dst, *value)
	}
}

func (b *builder) flag(name string, value *bool) {
	if value != nil {
		b.key(name)
		b.dst = strconv.AppendBool(b.dst, *value)
	}
}

func (b *builder) texts(name string, values []string) {
	b.key(name)
	b.dst = append(b.dst, '[')
	for i, s := range values {
		if i > 0 {
			b.dst = append(b.dst, ',')
		}
		b.dst = strictjson.AppendString(b.dst, s)
	}
	b.dst = append(b.dst, ']')
}

func (b *builder) icons(icons []Icon) {
	if icons == nil {
		return
	}
	b.key("icons")
	b.dst = append(b.dst, '[')
	for i := range icons {
		if i > 0 {
			b.dst = append(b.dst, ',')
		}
		b.dst = icons[i].append(b.dst)
	}
	b.dst = append(b.dst, ']')
}

// append appends the icon: one that was received keeps its bytes.
func (i *Icon) append(dst []byte) []byte {
	if i.raw != nil {
		return append(dst, i.raw...)
	}
	b := object(dst)
	b.text("src", &i.Src)
	b.text("mimeType", i.MIMEType)
	if i.Sizes != nil {
		b.texts("sizes", i.Sizes)
	}
	b.text("theme", i.Theme)
	return b.end()
}

// append appends the identity: one that was received keeps its bytes.
func (i *Implementation) append(dst []byte) []byte {
	if i.raw != nil {
		return append(dst, i.raw...)
	}
	b := object(dst)
	b.text("name", &i.Name)
	b.text("version", &i.Version)
	b.text("title", i.Title)
	b.text("description", i.Description)
	b.text("websiteUrl", i.WebsiteURL)
	b.icons(i.Icons)
	return b.end()
}

// append appends the definition of a tool that was built by hand.
func (t *Tool) append(dst []byte) []byte {
	b := object(dst)
	b.text("name", &t.Name)
	b.text("title", t.Title)
	b.text("description", t.Description)
	b.icons(t.Icons)
	b.raw("inputSchema", t.InputSchema)
	b.raw("outputSchema", t.OutputSchema)
	if a := t.Annotations; a != nil {
		b.key("annotations")
		if a.raw != nil {
			b.dst = append(b.dst, a.raw...)
		} else {
			hints := object(b.dst)
			hints.text("title", a.Title)
			hints.flag("readOnlyHint", a.ReadOnlyHint)
			hints.flag("destructiveHint", a.DestructiveHint)
			hints.flag("idempotentHint", a.IdempotentHint)
			hints.flag("openWorldHint", a.OpenWorldHint)
			b.dst = hints.end()
		}
	}
	b.raw("_meta", t.Meta)
	return b.end()
}

// append appends capabilities that were built by hand.
func (c *Capabilities) append(dst []byte) []byte {
	if c.raw != nil {
		return append(dst, c.raw...)
	}
	b := object(dst)
	flags := func(name string, values map[string]bool) {
		b.key(name)
		inner := object(b.dst)
		for _, flag := range []string{"listChanged", "subscribe"} {
			if values[flag] {
				set := true
				inner.flag(flag, &set)
			}
		}
		b.dst = inner.end()
	}
	if c.Tools != nil {
		flags("tools", map[string]bool{"listChanged": c.Tools.ListChanged})
	}
	if c.Resources != nil {
		flags("resources", map[string]bool{"listChanged": c.Resources.ListChanged, "subscribe": c.Resources.Subscribe})
	}
	if c.Prompts != nil {
		flags("prompts", map[string]bool{"listChanged": c.Prompts.ListChanged})
	}
	b.raw("logging", c.Logging)
	b.raw("completions", c.Completions)
	if c.Experimental != nil {
		b.key("experimental")
		inner := object(b.dst)
		for name, v := range c.Experimental {
			inner.raw(name, v)
		}
		b.dst = inner.end()
	}
	if c.Extensions != nil {
		b.key("extensions")
		inner := object(b.dst)
		for name, v := range c.Extensions {
			inner.raw(name, v)
		}
		b.dst = inner.end()
	}
	return b.end()
}

// usable returns the tool if it is as it was received, and a copy with a definition of its own if it was built by hand.
func (t *Tool) usable() (*Tool, error) {
	if t.raw == nil || t.use == nil {
		return ParseTool(t.append(nil))
	}
	if !t.unchanged() {
		return nil, &RequestError{Reason: "definition of tool " + quote(t.Name) + " was changed after it was received; use ParseTool to make one"}
	}
	return t, nil
}

// definition returns the JSON text that digests are taken over.
func (t *Tool) definition() (strictjson.Value, error) {
	tool, err := t.usable()
	if err != nil {
		return nil, err
	}
	return tool.raw, nil
}

// unchanged reports whether the fields still are those that were decoded from the definition.
func (t *Tool) unchanged() bool {
	was := t.use.received
	return t.Name == was.Name && t.Title == was.Title && t.Description == was.Description && t.Annotations == was.Annotations &&
		sameSlice(t.InputSchema, was.InputSchema) && sameSlice(t.OutputSchema, was.OutputSchema) &&
		sameSlice(t.Meta, was.Meta) && sameSlice(t.Icons, was.Icons)
}

// sameSlice reports whether a and b are the same elements in memory.
func sameSlice[S ~[]E, E any](a, b S) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
