package contact

import (
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// posture lists the attributes of an endpoint beside those of the pinned one, by name. Before is absent where nothing is
// pinned.
func posture(before, after strictjson.Value) []Attribute {
	was, is := map[string]string{}, map[string]string{}
	flatten(was, "", before)
	flatten(is, "", after)
	var out []Attribute
	for name, value := range is {
		a := Attribute{Name: name, Value: value}
		switch old, ok := was[name]; {
		case len(before) == 0:
		case !ok:
			a.New = true
		case old != value:
			a.Was = &old
		}
		out = append(out, a)
	}
	for name, value := range was {
		if _, ok := is[name]; !ok {
			out = append(out, Attribute{Name: name, Value: value, Gone: true})
		}
	}
	slices.SortFunc(out, func(a, b Attribute) int {
		if a.Gone != b.Gone {
			if b.Gone {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// flatten writes the leaves of an endpoint: objects by their members' names, joined by dots; a secret as its reference; a
// URL with secrets as one text; everything else as it stands, texts without their quotes.
func flatten(into map[string]string, name string, v strictjson.Value) {
	if v.Kind() == strictjson.KindObject {
		if ref, ok := v.Get("secret"); ok && name != "" {
			text, _ := ref.Text()
			into[name] = text + " (secret)"
			return
		}
		for member, m := range v.Members() {
			full := member
			if name != "" {
				full = name + "." + member
			}
			flatten(into, full, m)
		}
		return
	}
	if text, ok := v.Text(); ok {
		into[name] = text
		return
	}
	switch {
	case (name == "url" || name == "egress.proxy") && v.Kind() == strictjson.KindArray:
		into[name] = urlText(v)
	case name != "":
		into[name] = string(v)
	}
}

// urlText is a URL with secrets, which an endpoint holds as an array of its parts: as it is written in a catalog.
func urlText(v strictjson.Value) string {
	var b strings.Builder
	for part := range v.Elements() {
		if text, ok := part.Text(); ok {
			b.WriteString(text)
			continue
		}
		ref, _ := part.Get("secret")
		text, _ := ref.Text()
		b.WriteString("${" + text + "}")
	}
	return b.String()
}
