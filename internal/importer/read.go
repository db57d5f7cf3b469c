package importer

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// read fills servers and inputs and reports whether there was no error.
func (im *importer) read() bool {
	if len(im.src) > MaxBytes {
		im.fail("import.limit", "Client config too large", 0, "The file has more than %d bytes. Copy the servers that are meant into a file of their own.", MaxBytes)
		return false
	}
	text, bad := plainJSON(im.src)
	if bad >= 0 {
		im.fail("import.format", "Not a client config", bad, "A comment that begins with /* does not end.")
		return false
	}
	top, err := strictjson.Parse(text, strictjson.Limits{Bytes: MaxBytes, Depth: MaxDepth})
	if err != nil {
		at := 0
		if e := asStrict(err); e != nil {
			at = e.Offset
		}
		im.fail("import.format", "Not a client config", at, "%s. A client config is one JSON object; comments and trailing commas are allowed.", diag.Escape(err.Error()))
		return false
	}
	// Value drops the white space in front, and offsets are told of src.
	start := len(text) - len(strings.TrimLeft(string(text), " \t\r\n"))
	if top.Kind() != strictjson.KindObject {
		im.fail("import.format", "Not a client config", start, "The file is %s, want a JSON object with mcpServers or servers.", kindName(top))
		return false
	}
	if !im.readTop(members(top, start)) {
		return false
	}
	for _, s := range im.servers {
		im.readServer(s)
	}
	if !slices.ContainsFunc(im.remarks, func(r remark) bool { return r.severity == diag.Error }) {
		return true
	}
	// What is a secret is not known yet, so every value counts as one where names are told.
	for _, s := range im.servers {
		for _, p := range slices.Concat(s.env, s.headers) {
			im.keepSecret(p.value)
		}
	}
	return false
}

// member is a member of an object and the offsets of its name and value in src.
type member struct {
	name      string
	value     strictjson.Value
	at, start int
}

func members(v strictjson.Value, start int) []member {
	var out []member
	for name, span := range v.Spans() {
		out = append(out, member{name, v[span.Value:span.End], start + span.Start, start + span.Value})
	}
	return out
}

func find(list []member, name string) *member {
	i := slices.IndexFunc(list, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func kindName(v strictjson.Value) string {
	switch v.Kind() {
	case strictjson.KindNull:
		return "null"
	case strictjson.KindObject:
		return "an object"
	case strictjson.KindArray:
		return "a list"
	case strictjson.KindString:
		return "a text"
	case strictjson.KindNumber:
		return "a number"
	}
	return "true or false"
}

// readTop finds the servers. VS Code has them in servers, in its settings below mcp; all others in mcpServers.
func (im *importer) readTop(top []member) bool {
	where := top
	mcp := find(top, "mcp")
	if mcp != nil && mcp.value.Kind() == strictjson.KindObject && find(top, "servers") == nil && find(top, "mcpServers") == nil {
		if inner := members(mcp.value, mcp.start); find(inner, "servers") != nil {
			where = inner
		}
	}
	theirs, code := find(top, "mcpServers"), find(where, "servers")
	servers := theirs
	switch im.o.Format {
	case Auto:
		if theirs != nil && code != nil {
			im.fail("import.format", "Two lists of servers", code.at, "The file has both mcpServers and servers. Say which is meant with -format=vscode for servers, or another format for mcpServers.")
			return false
		}
		if code != nil {
			servers = code
		}
	case VSCode:
		servers = code
	}
	if servers == nil {
		want := "mcpServers (most clients) or servers (VS Code)"
		switch {
		case im.o.Format == VSCode:
			want = "servers, which is where VS Code has its servers"
		case im.o.Format != Auto:
			want = "mcpServers, which is where this format has its servers"
		}
		im.fail("import.format", "Not a client config", 0, "The file has no member %s.", want)
		return false
	}
	if servers.value.Kind() != strictjson.KindObject {
		im.fail("import.invalid", "Not a client config", servers.start, "%s is %s, want an object with one member for each server.", servers.name, kindName(servers.value))
		return false
	}
	if servers == code {
		if m := find(where, "inputs"); m != nil {
			im.readInputs(*m)
		}
	}
	im.others(top, where, servers)
	for _, m := range members(servers.value, servers.start) {
		s := &server{at: m.at, name: m.name, base: "."}
		im.servers = append(im.servers, s)
		if m.value.Kind() != strictjson.KindObject {
			im.fail("import.invalid", "Not a server", m.start, "%s is %s, want an object with command or url.", foreign(m.name), kindName(m.value))
			continue
		}
		for _, f := range members(m.value, m.start) {
			s.fields = append(s.fields, field{f.name, f.value})
		}
		if len(s.fields) > maxFields {
			im.fail("import.limit", "Server too large", m.at, "%s has %d members, at most %d are read.", foreign(m.name), len(s.fields), maxFields)
		}
	}
	switch n := len(im.servers); {
	case n == 0:
		im.fail("import.format", "No servers", servers.at, "%s is empty: there is nothing to import.", servers.name)
	case n > MaxServers:
		im.fail("import.limit", "Too many servers", servers.at, "The file has %d servers, at most %d are imported at a time.", n, MaxServers)
	}
	return true
}

// others names the members of the file that are not read.
func (im *importer) others(top, where []member, servers *member) {
	var names []any
	add := func(list []member, read ...string) {
		for _, m := range list {
			if m.name != servers.name && m.name != "$schema" && !slices.Contains(read, m.name) {
				names = append(names, foreign(m.name))
			}
		}
	}
	if len(where) > 0 && len(top) > 0 && &where[0] != &top[0] {
		add(where, "inputs")
		add(top, "mcp")
	} else if servers.name == "servers" {
		add(top, "inputs")
	} else {
		add(top)
	}
	if len(names) == 0 {
		return
	}
	more := ""
	if n := len(names) - 10; n > 0 {
		names, more = names[:10], fmt.Sprintf(" and %d more", n)
	}
	im.general(0, "import.left_out", strings.TrimSuffix("Besides the servers the file has "+strings.Repeat("%s, ", len(names)), ", ")+"%s; nothing of that was read. Servers that stand there are imported from a file of their own.", append(names, more)...)
}

// input is a value that VS Code asks its user for.
type input struct {
	at          int // offset in src of the whole list
	id          string
	description string
	more        string // what else it says and a variable cannot
	used        bool
}

func (im *importer) input(id string) *input {
	i := slices.IndexFunc(im.inputs, func(in *input) bool { return in.id == id })
	if i < 0 {
		return nil
	}
	return im.inputs[i]
}

// tellInputs names inputs that nothing refers to, and what a variable cannot take over of the others.
func (im *importer) tellInputs() {
	for _, in := range im.inputs {
		switch {
		case !in.used:
			im.general(in.at, "import.left_out", "The input %s, to which no server refers.", foreign(in.id))
		case in.more != "":
			im.general(in.at, "import.left_out", "Of the input %s %s.", foreign(in.id), in.more)
		}
	}
}

func (im *importer) readInputs(m member) {
	if m.value.Kind() != strictjson.KindArray {
		im.fail("import.invalid", "Not a list of inputs", m.start, "inputs is %s, want a list of objects with an id.", kindName(m.value))
		return
	}
	i := -1
	for v := range m.value.Elements() {
		i++
		id, ok := textOf(v, "id")
		if !ok || id == "" {
			im.fail("import.invalid", "Not an input", m.start, "inputs[%d] has no id, or one that is no text.", i)
			continue
		}
		if im.input(id) != nil {
			im.fail("import.invalid", "Input declared twice", m.start, "Two inputs have the id %s.", foreign(id))
			continue
		}
		in := &input{at: m.at, id: id}
		in.description, _ = textOf(v, "description")
		if _, has := v.Get("default"); has {
			in.more = "the default: a sensitive variable has none"
		}
		if kind, _ := textOf(v, "type"); kind == "command" {
			in.more = "the command that gives its value"
		} else if kind == "pickString" {
			in.more = "the list of values to choose from"
		}
		if im.inputs = append(im.inputs, in); len(im.inputs) > maxInputs {
			im.fail("import.limit", "Too many inputs", m.at, "inputs has more than %d elements.", maxInputs)
			return
		}
	}
}

func textOf(v strictjson.Value, name string) (string, bool) {
	m, ok := v.Get(name)
	if !ok {
		return "", false
	}
	return m.Text()
}

// readServer checks the types of the members that are read and keeps their values.
func (im *importer) readServer(s *server) {
	for _, f := range s.fields {
		if !im.reads(f.name) {
			continue
		}
		switch f.name {
		case "command":
			s.command, s.hasCommand = im.text(s, f)
		case "url", "serverUrl", "httpUrl":
			if s.hasURL {
				im.fail("import.invalid", "Two addresses", s.at, "%s has two of url, serverUrl and httpUrl.", foreign(s.name))
			}
			s.url, s.hasURL = im.text(s, f)
		case "cwd":
			s.cwd, _ = im.text(s, f)
		case "args":
			s.arguments = im.readArgs(s, f)
		case "env":
			s.env = im.pairs(s, f, maxEnv)
		case "headers":
			s.headers = im.pairs(s, f, maxHeaders)
		}
	}
	switch {
	case s.hasCommand && s.hasURL:
		im.fail("import.invalid", "Two transports", s.at, "%s has both a command and a url.", foreign(s.name))
	case !s.hasCommand && !s.hasURL:
		im.fail("import.invalid", "No transport", s.at, "%s has neither a command nor a url.", foreign(s.name))
	}
}

func (im *importer) text(s *server, f field) (string, bool) {
	t, ok := f.value.Text()
	if !ok || t == "" {
		what := kindName(f.value)
		if ok {
			what = "empty"
		}
		im.fail("import.invalid", "Not a server", s.at, "%s of %s is %s, want a text.", f.name, foreign(s.name), what)
	}
	return t, ok
}

func (im *importer) readArgs(s *server, f field) []argument {
	if f.value.Kind() == strictjson.KindNull {
		return nil
	}
	if f.value.Kind() != strictjson.KindArray {
		im.fail("import.invalid", "Not a server", s.at, "args of %s is %s, want a list of texts.", foreign(s.name), kindName(f.value))
		return nil
	}
	var out []argument
	for v := range f.value.Elements() {
		t, ok := scalar(v)
		if !ok {
			im.fail("import.invalid", "Not a server", s.at, "Argument %d of %s is %s, want a text.", len(out)+1, foreign(s.name), kindName(v))
		}
		if out = append(out, argument{at: len(out) + 1, text: t}); len(out) > maxArgs {
			im.fail("import.limit", "Server too large", s.at, "%s has more than %d arguments.", foreign(s.name), maxArgs)
			return out
		}
	}
	return out
}

func (im *importer) pairs(s *server, f field, most int) []pair {
	if f.value.Kind() == strictjson.KindNull {
		return nil
	}
	if f.value.Kind() != strictjson.KindObject {
		im.fail("import.invalid", "Not a server", s.at, "%s of %s is %s, want an object of texts.", f.name, foreign(s.name), kindName(f.value))
		return nil
	}
	var out []pair
	for name, v := range f.value.Members() {
		t, ok := scalar(v)
		null := v.Kind() == strictjson.KindNull
		if !ok && !null {
			im.fail("import.invalid", "Not a server", s.at, "%s in %s of %s is %s, want a text.", foreign(name), f.name, foreign(s.name), kindName(v))
		}
		if f.name == "headers" && slices.ContainsFunc(out, func(p pair) bool { return strings.EqualFold(p.name, name) }) {
			im.fail("import.invalid", "Header set twice", s.at, "%s sets the header %s twice; case does not matter.", foreign(s.name), foreign(name))
		}
		if out = append(out, pair{name, t, null}); len(out) > most {
			im.fail("import.limit", "Server too large", s.at, "%s of %s has more than %d members.", f.name, foreign(s.name), most)
			return out
		}
	}
	return out
}

// scalar is a text, or a number or truth value as the text that clients make of it.
func scalar(v strictjson.Value) (string, bool) {
	switch v.Kind() {
	case strictjson.KindString:
		return v.Text()
	case strictjson.KindNumber:
		return string(v), true
	}
	b, ok := v.Bool()
	return fmt.Sprint(b), ok
}

// textFault says why a catalog cannot hold a text, or returns "".
func textFault(s string) string {
	if _, r, found := diag.Concealed(s); found {
		return fmt.Sprintf("it holds U+%04X, which readers cannot see", r)
	}
	if !norm.NFC.IsNormalString(s) {
		return "it is not in Unicode normal form C, so it would be changed"
	}
	if s != "" && !norm.NFC.PropertiesString(s).BoundaryBefore() {
		return "it begins with a combining character"
	}
	return ""
}
