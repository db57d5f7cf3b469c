package view

import (
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// labelWidth is the column, behind labelColumn, where the values of a server's declared attributes begin.
const labelWidth = 13

// declaredOrder is how the attributes of an endpoint are shown; others follow by name. What the first row of the server
// says, the URL or the command, is left out.
var declaredOrder = []string{"headers", "auth", "egress", "tls", "env", "inherit_env", "workdir", "sha256", "files", "expect"}

var declaredAbove = []string{"transport", "url", "command", "args"}

// declared prints every attribute of a server that is not pinned yet: what its process or its requests get, and how long
// they may take. Plain values are shown whole, secrets by reference.
func (r *rows) declared(d *plan.Declared) {
	endpoint := strictjson.Value(d.Endpoint)
	names := slices.Clone(declaredOrder)
	for name := range endpoint.Members() {
		if !slices.Contains(names, name) && !slices.Contains(declaredAbove, name) {
			names = append(names, name)
		}
	}
	_, url := endpoint.Get("url")
	for _, name := range names {
		value, ok := endpoint.Get(name)
		switch {
		case ok && (name == "tls" || name == "files"):
			r.attribute(name, r.tlsText(value))
		case ok && name == "sha256":
			r.attribute(name, r.tlsSetting(value))
		case ok:
			r.attribute(name, settingText(name, value))
		case name == "auth" && url:
			r.attribute(name, "none")
		case name == "inherit_env" && !url:
			r.attribute(name, inheritDefault)
		}
	}
	r.attribute("timeouts", settingText("timeouts", strictjson.Value(d.Timeouts)))
	if d.Limits != nil {
		r.attribute("limits", settingText("limits", strictjson.Value(d.Limits)))
	}
	if d.Recheck != nil {
		r.attribute("recheck", settingText("recheck", strictjson.Value(d.Recheck)))
	}
}

func (r *rows) attribute(name, text string) {
	r.hang("", labelWidth, span{text: pad(esc(name), labelWidth)}, span{text: text})
}

const inheritDefault = "the default set"

// settingText words one attribute. An object is a list of its members, a secret its reference.
func settingText(name string, v strictjson.Value) string {
	if ref, ok := secretRef(v); ok {
		return "${" + esc(ref) + "}"
	}
	switch v.Kind() {
	case strictjson.KindInvalid, strictjson.KindNull:
		if name == "inherit_env" {
			return inheritDefault
		}
		return "none"
	case strictjson.KindObject:
		var parts []string
		for member, value := range v.Members() {
			switch {
			case name == "auth":
				parts = append(parts, esc(member)+" "+settingText("", value))
			case name == "timeouts":
				text, _ := value.Text()
				parts = append(parts, esc(member)+" "+esc(text))
			default:
				parts = append(parts, esc(member)+" = "+settingText("", value))
			}
		}
		if len(parts) == 0 {
			return "none"
		}
		return strings.Join(parts, ", ")
	case strictjson.KindArray:
		var parts []string
		for e := range v.Elements() {
			parts = append(parts, settingText("", e))
		}
		if len(parts) == 0 {
			return "none"
		}
		return strings.Join(parts, ", ")
	}
	return valueText(v)
}

// tlsText words a tls block, or files: files by their digest, and pins as the choice that they are.
func (r *rows) tlsText(v strictjson.Value) string {
	var parts []string
	for member, value := range v.Members() {
		parts = append(parts, esc(member)+" = "+r.tlsSetting(value))
	}
	return strings.Join(parts, ", ")
}

// tlsSetting words one attribute of a tls block.
func (r *rows) tlsSetting(v strictjson.Value) string {
	if text, ok := v.Text(); ok {
		if d, err := digest.Parse(text); err == nil {
			return r.p.digest(d)
		}
	}
	if v.Kind() != strictjson.KindArray {
		return settingText("", v)
	}
	var pins []string
	for e := range v.Elements() {
		pins = append(pins, r.tlsSetting(e))
	}
	return strings.Join(pins, " or ")
}

// secretRef is the reference of a secret as an endpoint holds it: {"secret": REF}.
func secretRef(v strictjson.Value) (string, bool) {
	n, ref, ok := 0, "", false
	for name, value := range v.Members() {
		n++
		if name == "secret" {
			ref, ok = value.Text()
		}
	}
	return ref, ok && n == 1
}

// differs prints how the catalog and the pinned entry of a server differ that was not checked.
func (r *rows) differs(leaves []plan.Leaf) {
	if len(leaves) == 0 {
		return
	}
	r.add("", span{text: "declared otherwise than it is pinned, so its tools are refused until it is checked and applied:"})
	for _, l := range leaves {
		r.leafComment(l, strings.TrimPrefix(l.Path, "/"), joinNote(string(l.Class), l.Note))
	}
}

func joinNote(comment, note string) string {
	if note != "" {
		comment += ", " + note
	}
	return comment
}
