package importer

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// stdioBlock and httpBlock are the blocks of a server as they are written.
type stdioBlock struct {
	command, workdir expr
	args             []outArg
	env              []outPair
}

type httpBlock struct {
	url     expr
	headers []outPair
	bearer  expr
	private bool
}

type outPair struct {
	name  string
	value expr
}

// judge finds out for all servers what is secret, before anything is converted: a value that is secret in one place is not
// written in another.
func (im *importer) judge() {
	for _, s := range im.servers {
		im.moveContainerEnv(s)
		im.judgeArgs(s)
		im.public = append(im.public, s.command, s.name, strings.SplitN(s.url, "?", 2)[0])
		for _, a := range s.arguments {
			if a.fault.format == "" {
				im.public = append(im.public, a.text)
			}
		}
	}
	for _, s := range im.servers {
		for _, p := range slices.Concat(s.env, s.headers) {
			im.collect(p.name, p.value)
		}
		var plain strings.Builder
		for _, p := range split(s.url) {
			plain.WriteString(p.lit)
		}
		values, _ := credentialURL(plain.String())
		for _, v := range values {
			im.keepSecret(v)
		}
	}
}

// convert fills what is written of a server.
func (im *importer) convert(s *server) {
	for _, f := range s.fields {
		im.convertField(s, f)
	}
	if s.hasURL {
		im.convertHTTP(s)
	} else {
		im.convertStdio(s)
	}
}

func (im *importer) convertHTTP(s *server) {
	s.http = &httpBlock{}
	s.http.url, s.http.private = im.convertURL(s)
	if !hasType(s) && strings.HasSuffix(strings.TrimRight(strings.SplitN(s.url, "?", 2)[0], "/"), "/sse") {
		im.note(s, "import.legacy", "Its url ends in /sse, as those of the legacy transport of HTTP with SSE do, which mcpcat does not speak. Look for the server's Streamable HTTP address, often /mcp.")
	}
	for _, h := range s.headers {
		switch {
		case h.null:
			im.note(s, "import.left_out", "The header %s, which is null.", foreign(h.name))
		case catalog.OwnedHeader(h.name):
			im.note(s, "import.left_out", "The header %s, which belongs to the protocol, to HTTP or to proxies. mcpcat sets what is needed.", foreign(h.name))
		case !catalog.ValidHeaderName(h.name):
			im.note(s, "import.left_out", "The header %s, whose name no header can have.", foreign(h.name))
		default:
			im.convertHeader(s, h)
		}
	}
	for _, p := range s.env {
		im.note(s, "import.left_out", "%s in env: a server over HTTP has no environment of its own.", foreign(p.name))
	}
	if len(s.arguments) > 0 {
		im.note(s, "import.left_out", "args: a server over HTTP has no arguments.")
	}
	if s.cwd != "" {
		im.note(s, "import.left_out", "cwd: a server over HTTP has no working directory.")
	}
}

func (im *importer) convertHeader(s *server, h pair) {
	if !strings.EqualFold(h.name, "Authorization") {
		s.http.headers = append(s.http.headers, outPair{h.name, im.value(s, "header", h.name, h.value)})
		return
	}
	parts := split(h.value)
	if len(parts) == 0 || parts[0].ref != nil {
		s.http.headers = append(s.http.headers, outPair{h.name, im.value(s, "header", h.name, h.value)})
		return
	}
	_, token, ok := cutBearer(parts[0].lit)
	if !ok || token == "" && len(parts) == 1 {
		s.http.headers = append(s.http.headers, outPair{h.name, im.value(s, "header", h.name, h.value)})
		return
	}
	rest := slices.Clone(parts)
	rest[0].lit = token
	if token == "" {
		rest = rest[1:]
	}
	if len(rest) > 1 || rest[0].ref == nil {
		s.http.bearer = ref(im.bearer(s))
		if len(rest) > 1 {
			im.note(s, "import.changed", "Its bearer token is composed of several parts. The whole token is the variable %s now.", s.http.bearer[0].ref[len("var."):])
		}
		return
	}
	x, ok := im.secretRef(s, rest[0].ref)
	if !ok || x.ref == "" {
		im.note(s, "import.changed", "Its bearer token refers to %s, which mcpcat does not know.", foreign(rest[0].ref.raw))
		x = piece{ref: im.bearer(s)}
	}
	s.http.bearer = expr{x}
}

// bearer declares a variable for a bearer token.
func (im *importer) bearer(s *server) string {
	name := im.secretFor(s, "header", "token", say("The token behind Bearer."))
	im.variables[name[len("var."):]].use = say("bearer token of %s", s.address())
	return name
}

func (im *importer) convertStdio(s *server) {
	s.stdio = &stdioBlock{}
	im.splitCommand(s)
	im.convertCommand(s)
	if s.cwd != "" {
		im.convertCwd(s)
	}
	s.stdio.args = im.convertArgs(s)
	for _, p := range s.env {
		switch {
		case !catalog.ValidEnvName(p.name):
			im.note(s, "import.left_out", "%s in env, whose name a catalog cannot hold: letters, digits and underscores.", foreign(p.name))
		case p.null:
			im.note(s, "import.left_out", "%s in env, which is null. A server gets PATH, HOME and a few more from the environment, and nothing else unless inherit_env names it.", foreign(p.name))
		default:
			s.stdio.env = append(s.stdio.env, outPair{p.name, im.value(s, "env", p.name, p.value)})
		}
	}
	for _, h := range s.headers {
		im.note(s, "import.left_out", "The header %s: a command is sent no headers.", foreign(h.name))
	}
	texts := make([]string, len(s.arguments))
	for i, a := range s.arguments {
		texts[i] = a.text
	}
	if i := slices.IndexFunc(texts, bridges.MatchString); i >= 0 {
		im.note(s, "import.bridge", "%s connects to a server over HTTP, which mcpcat can do itself. Declare that server with http { url = … }, so that its address is pinned and its token stays out of the arguments.", foreign(texts[i]))
	}
	if what, want, ok := floats(s.command, texts); ok {
		im.note(s, "import.floats", "%s starts whatever version of %s is the newest then, so what runs can change without a review. Write %s.", foreign(program(s.command)), foreign(what), want)
		s.comments = append(s.comments, say("The version of %s is not fixed: write %s.", foreign(what), want))
	}
}

// splitCommand takes a command apart that is a line of words, as some clients allow.
func (im *importer) splitCommand(s *server) {
	words := strings.Fields(s.command)
	if len(words) < 2 || strings.ContainsAny(words[0], `/\`) || strings.ContainsAny(s.command, "'\"`|&;<>$(){}*?\\") {
		return
	}
	more := make([]argument, 0, len(words)-1+len(s.arguments))
	for _, w := range words[1:] {
		more = append(more, argument{text: w})
	}
	s.command, s.arguments = words[0], append(more, s.arguments...)
	for i := range s.arguments {
		s.arguments[i].at = i + 1
	}
	im.judgeArgs(s)
	im.note(s, "import.changed", "Its command has several words. mcpcat starts one program without a shell, so the words behind the first became arguments.")
}

func (im *importer) convertCommand(s *server) {
	written := s.command
	e, why := expr(nil), sentence{}
	if rest, ok := strings.CutPrefix(written, "~/"); ok && im.o.Home != "" && textFault(im.o.Home) == "" {
		im.note(s, "import.changed", "Its command begins with \"~\", which mcpcat does not expand. It is written with the variable home.")
		if e, why = im.inPublic(s, rest); why.format == "" {
			e = join(append(expr{im.home(), {lit: "/"}}, e...))
		}
	} else {
		e, why = im.inPublic(s, written)
	}
	if why.format == "" {
		if fault := catalog.CommandFault(e.plain()); fault != "" {
			why = say("%s", strings.TrimSuffix(strings.SplitN(fault, ". ", 2)[0], "."))
		}
	}
	if why.format == "" && knownCredential(e.plain()) {
		why = say("it looks like a credential")
	}
	if why.format != "" {
		im.disable(s, "import.disabled", say("Its command cannot be written: %s.", why), "")
		s.stdio.command = text("replace-me")
		return
	}
	s.stdio.command = e
	if strings.Contains(written, `\`) || len(written) > 1 && written[1] == ':' || program(written) == "cmd" {
		im.note(s, "import.platform", "Its command is one of Windows and starts nowhere else.")
	}
}

// convertCwd converts where the server starts, from where relative paths of arguments are taken.
func (im *importer) convertCwd(s *server) {
	e, why := im.inPublic(s, s.cwd)
	dir := e.plain()
	fault := ""
	if why.format == "" {
		fault = catalog.WorkdirFault(dir)
	}
	clean := path.Clean(dir)
	switch {
	case why.format != "":
		im.disable(s, "import.disabled", say("cwd is left out: %s.", why), "")
	case clean == ".": // where servers start anyway
		return
	case fault != "":
		im.disable(s, "import.disabled", say("cwd is left out: it %s.", fault), "")
	default:
		s.stdio.workdir = e
	}
	s.base = ""
	if s.stdio.workdir != nil && !strings.HasPrefix(dir, "/") && !strings.ContainsAny(dir, `\:`) {
		s.base = strings.TrimSuffix(strings.Repeat("../", strings.Count(clean, "/")+1), "/")
	}
}

func hasType(s *server) bool {
	return slices.ContainsFunc(s.fields, func(f field) bool { return f.name == "type" || f.name == "transport" })
}

// fieldOf says of which clients a field is, none for all, and what becomes of it. take is nil for a field that was read already
// or that needs nothing.
type fieldOf struct {
	clients []Format
	take    func(*importer, *server, field)
}

// fields are the members of a server that clients know.
var fields map[string]fieldOf

func init() { // the functions refer to the table
	leftOut := func(why string) func(*importer, *server, field) {
		return func(im *importer, s *server, f field) {
			im.note(s, "import.left_out", "%s: "+why, foreign(f.name))
		}
	}
	fields = map[string]fieldOf{
		"command": {}, "args": {}, "env": {}, "url": {}, "headers": {},
		"cwd":       {clients: []Format{MCP, VSCode, Cursor}},
		"serverUrl": {clients: []Format{}}, "httpUrl": {clients: []Format{}},
		"type": {take: (*importer).takeType}, "transport": {clients: []Format{}, take: (*importer).takeType},
		"description": {take: (*importer).takeDescription},
		"disabled":    {take: (*importer).takeDisabled},
		"enabled":     {clients: []Format{Cursor}, take: (*importer).takeDisabled},
		"timeout":     {clients: []Format{MCP}, take: (*importer).takeTimeout},
		"alwaysAllow": {clients: []Format{MCP}, take: (*importer).takeApproved},
		"autoApprove": {clients: []Format{MCP}, take: (*importer).takeApproved},
		"envFile":     {[]Format{VSCode, Cursor}, leftOut("the file is not read. Declare its variables in env, with env(\"NAME\") for each that is secret.")},
		"oauth":       {[]Format{MCP, VSCode}, leftOut("this version of mcpcat does not sign in with OAuth. Use auth { bearer } with a token that you have.")},
		"auth":        {[]Format{Cursor}, leftOut("this version of mcpcat does not sign in with OAuth. Use auth { bearer } with a token that you have.")},

		"headersHelper": {[]Format{MCP}, leftOut("it prints headers. A program that prints a token runs for each connection with auth { command = […] }; otherwise use auth { bearer } with a token that you have.")},
		"gallery":       {[]Format{VSCode}, leftOut("where the editor has the server from means nothing here.")},
		"version":       {[]Format{VSCode}, leftOut("the version that the editor's gallery had means nothing here.")},
		"dev":           {[]Format{VSCode}, leftOut("a server that restarts by itself or waits for a debugger is no server to pin.")},
		"sandbox":       {[]Format{VSCode}, leftOut("mcpcat does not confine servers. Start the server through a program that does.")},

		"sandboxEnabled": {[]Format{VSCode}, leftOut("mcpcat does not confine servers. Start the server through a program that does.")},
		"disabledTools":  {[]Format{}, leftOut("a tool that is not named in tools cannot be called, so there is nothing to take away.")},
		"excludeTools":   {[]Format{}, leftOut("a tool that is not named in tools cannot be called, so there is nothing to take away.")},
		"includeTools":   {[]Format{}, (*importer).takeApproved},
		"trust":          {[]Format{}, leftOut("nobody is trusted as a whole: each tool is pinned by its definition.")},
	}
}

// reads reports whether a field belongs to the format that is read. With auto, those of all clients do.
func (im *importer) reads(name string) bool {
	f, known := fields[name]
	return known && (im.o.Format == Auto || f.clients == nil || slices.Contains(f.clients, im.o.Format))
}

func (im *importer) convertField(s *server, f field) {
	switch {
	case !im.reads(f.name) && im.o.Format == Auto:
		im.note(s, "import.left_out", "%s, which no client is known to have.", foreign(f.name))
	case !im.reads(f.name):
		im.note(s, "import.left_out", "%s, which does not belong to the format %s.", foreign(f.name), im.o.Format)
	case fields[f.name].take != nil:
		fields[f.name].take(im, s, f)
	}
}

func (im *importer) takeType(s *server, f field) {
	kind, _ := f.value.Text()
	switch strings.ToLower(kind) {
	case "stdio":
		if s.hasURL {
			im.disable(s, "import.disabled", say("Its %s is stdio, but it has a url and no command.", f.name), "")
		}
	case "http", "streamable-http", "streamablehttp", "streamable_http":
		if s.hasCommand {
			im.disable(s, "import.disabled", say("Its %s is an HTTP transport, but it has a command and no url.", f.name), "")
		}
	case "sse":
		im.disable(s, "import.legacy", say("Its %s is sse, the legacy transport of HTTP with SSE, which mcpcat does not speak.", f.name),
			"Look for the server's Streamable HTTP address, or put a bridge such as mcp-proxy in front.")
	default:
		im.disable(s, "import.disabled", say("Its %s is neither stdio nor http, so mcpcat does not speak with it.", f.name), "")
	}
}

func (im *importer) takeDescription(s *server, f field) {
	t, ok := f.value.Text()
	switch {
	case !ok || len(t) > 1024 || textFault(t) != "":
		im.note(s, "import.left_out", "description: it is no short text of visible characters.")
	case im.exposes(t):
		im.note(s, "import.left_out", "description: it holds a value that stands in env or headers, or looks like a credential.")
	default:
		s.description = t
	}
}

func (im *importer) takeDisabled(s *server, f field) {
	on, ok := f.value.Bool()
	switch off := on == (f.name == "disabled"); {
	case !ok:
		im.disable(s, "import.disabled", say("%s is not true or false.", foreign(f.name)), "")
	case off:
		s.off = append(s.off, say("The client has it disabled."))
	}
}

// takeTimeout takes over how long a call may take. Clients write seconds or milliseconds.
func (im *importer) takeTimeout(s *server, f field) {
	n, ok := f.value.Int()
	d := time.Duration(n) * time.Second
	if n >= 1000 {
		d = time.Duration(n) * time.Millisecond
	}
	if !ok || n < 1 || n > 1000*int64(catalog.MaxTimeout/time.Second) || d > catalog.MaxTimeout {
		im.note(s, "import.left_out", "timeout: it is no whole number of seconds or milliseconds up to %s. Calls may take %s unless timeouts { call } says otherwise.", catalog.MaxTimeout, catalog.DefaultTimeouts.Call)
		return
	}
	s.timeout = d.String()
	im.note(s, "import.changed", "timeout became timeouts { call = \"%s\" }, taking numbers from 1000 on for milliseconds.", d)
}

// takeApproved keeps the names of tools that the client calls without asking as a comment: candidates, no more.
func (im *importer) takeApproved(s *server, f field) {
	var names []any
	for v := range f.value.Elements() {
		if t, ok := v.Text(); ok {
			names = append(names, foreign(t))
		}
	}
	im.note(s, "import.left_out", "%s: what an agent may call is what tools pins and its agent block lists.", foreign(f.name))
	if f.value.Kind() != strictjson.KindArray || len(names) == 0 {
		return
	}
	more := ""
	if len(names) > 20 {
		names, more = names[:20], " and more"
	}
	s.comments = append(s.comments, say("%s named: "+list(len(names))+"%s.", append(append([]any{foreign(f.name)}, names...), more)...))
}
