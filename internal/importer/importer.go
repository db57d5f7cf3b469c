// Package importer turns the JSON in which agent programs configure their MCP servers into a catalog file: bytes in, catalog
// text and remarks out.
//
// It reads mcpServers (.mcp.json, claude_desktop_config.json, Cursor's mcp.json) and VS Code's servers with inputs. Nothing is
// taken over silently and nothing is dropped silently: what the catalog language has no word for is named in a remark. A literal
// in env or in headers counts as a secret unless its name and form say otherwise; it is left behind and becomes a sensitive
// variable, and no text, remark or error holds it. Nothing here is pinned: every server gets tools = [].
//
// The package reads and writes no file and no environment variable. In the drawing it stands beside observe: cli imports it, and
// it imports catalog, addr, diag, secret and strictjson.
//
//	r, diags := importer.Import(text, importer.Options{Name: ".mcp.json"})
package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Limits of one client config.
const (
	MaxBytes   = 4 << 20
	MaxDepth   = 64
	MaxServers = 256
	maxFields  = 64 // members of one server
	maxArgs    = 1024
	maxEnv     = 256
	maxHeaders = 64
	maxInputs  = 256
)

// Format is whose client config a file is.
type Format string

// The formats. Auto takes the members of all of them.
const (
	Auto   Format = "auto"
	MCP    Format = "mcp"    // .mcp.json
	Claude Format = "claude" // claude_desktop_config.json
	VSCode Format = "vscode"
	Cursor Format = "cursor"
)

// ParseFormat reads the name of a format.
func ParseFormat(s string) (Format, error) {
	if f := Format(s); slices.Contains([]Format{Auto, MCP, Claude, VSCode, Cursor}, f) {
		return f, nil
	}
	return "", fmt.Errorf("got %q, want auto, mcp, claude, vscode or cursor", s)
}

// Options say how a config is read.
type Options struct {
	// Name is the file's path in diagnostics; not escaped. The text has the last part of it.
	Name string
	// Format is the program whose config it is; "" is Auto.
	Format Format
	// Home is the home directory that a variable for ${userHome} has as its default; "" if it is not known.
	Home string
}

// Result is what an import gives. No part of it holds a literal that counts as a secret, but for Secrets.
type Result struct {
	// Text is a catalog file, formatted.
	Text []byte
	// Servers are in the order of the config.
	Servers []Server
	// Variables are the sensitive variables of the text, to be set as MCPCAT_VAR_ and the name.
	Variables []Variable
	// Environment are the variables that the text asks for with env(), sorted.
	Environment []string

	secrets []secret.String
}

// Secrets returns the values that were left behind.
func (r *Result) Secrets() []secret.String { return slices.Clone(r.secrets) }

// Server is one imported server.
type Server struct {
	Label string `json:"label"`
	// Name is what the config calls it.
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
}

// Variable is a sensitive variable and what its value is for.
type Variable struct {
	Name string `json:"name"`
	Use  string `json:"use"` // such as: env API_KEY of server.github
}

// Import reads a client config. The list holds errors, and then there is no Result, or warnings, one for each thing that was
// changed, left out or needs a decision. Comments and trailing commas are allowed in src; a member name twice in one object is
// an error, and so is what no client would take.
func Import(src []byte, o Options) (*Result, diag.List) {
	im := &importer{src: src, o: o, variables: map[string]*variable{}, byUse: map[string]*variable{}, asked: map[string]bool{}}
	if im.o.Format == "" {
		im.o.Format = Auto
	}
	if !im.read() {
		return nil, im.diagnostics()
	}
	im.nameServers()
	im.judge()
	for _, s := range im.servers {
		im.convert(s)
	}
	im.tellInputs()
	text := im.write()
	if len(text) > catalog.MaxFileBytes {
		im.fail("import.limit", "Import too large", 0, "The catalog file would have %d bytes, at most %d can be read. Split the config.", len(text), catalog.MaxFileBytes)
	}
	list := im.diagnostics()
	if list.HasErrors() {
		return nil, list
	}
	r := &Result{Text: text}
	for _, s := range im.servers {
		name := s.name
		if im.exposes(name) {
			name = notShown
		}
		r.Servers = append(r.Servers, Server{Label: s.label, Name: name, Enabled: s.enabled()})
	}
	for _, v := range im.order {
		if v.sensitive {
			r.Variables = append(r.Variables, Variable{Name: v.name, Use: im.render(v.use)})
		}
	}
	for name := range im.asked {
		r.Environment = append(r.Environment, name)
	}
	slices.Sort(r.Environment)
	for _, v := range im.secrets {
		r.secrets = append(r.secrets, secret.New(v, "the client config"))
	}
	return r, list
}

type importer struct {
	src     []byte // as given
	o       Options
	servers []*server
	inputs  []*input

	variables map[string]*variable // by name
	byUse     map[string]*variable // by what they stand for, so that one thing has one variable
	order     []*variable
	asked     map[string]bool // names given to env()
	secrets   []string        // literals that were left behind
	public    []string        // texts of the config that are written out

	remarks []remark
}

// remark is a diagnostic before its foreign parts are rendered, which is when all secrets are known.
type remark struct {
	severity      diag.Severity
	code, summary string
	at            int // offset in src
	address       string
	text          sentence
}

// sentence is a format and its arguments; those of type foreign are quoted, and hidden if they hold a secret.
type sentence struct {
	format string
	args   []any
}

// foreign is a text of the config.
type foreign string

func say(format string, args ...any) sentence { return sentence{format, args} }

func (im *importer) render(s sentence) string {
	args := slices.Clone(s.args)
	for i, a := range args {
		switch a := a.(type) {
		case foreign:
			args[i] = im.shown(string(a))
		case sentence:
			args[i] = im.render(a)
		}
	}
	return fmt.Sprintf(s.format, args...)
}

const notShown = "(not shown)"

// maxShown is how many bytes of a name a message repeats.
const maxShown = 64

// shown is a name of the config as a message or a comment repeats it.
func (im *importer) shown(s string) string {
	switch {
	case im.exposes(s):
		return notShown
	case textFault(s) != "": // a comment that a catalog may hold has none of that
		return strconv.QuoteToASCII(s[:min(len(s), maxShown)])
	}
	return diag.Quote(s, maxShown)
}

// minGuarded is the length in bytes from which a secret is searched for in what is written. Shorter ones are parts of
// ordinary words.
const minGuarded = secret.MinRedacted

// exposes reports whether a text that is to be written holds a literal that was left behind, or what is known to be a
// credential by its form.
func (im *importer) exposes(s string) bool {
	return knownCredential(s) || slices.ContainsFunc(im.secrets, func(v string) bool { return len(v) >= minGuarded && strings.Contains(s, v) })
}

func (im *importer) keepSecret(v string) {
	if v != "" && !slices.Contains(im.secrets, v) {
		im.secrets = append(im.secrets, v)
	}
}

func (im *importer) fail(code, summary string, at int, format string, args ...any) {
	im.remarks = append(im.remarks, remark{severity: diag.Error, code: code, summary: summary, at: at, text: say(format, args...)})
}

// note is a warning about a server.
func (im *importer) note(s *server, code, format string, args ...any) {
	im.remarks = append(im.remarks, remark{severity: diag.Warning, code: code, summary: summaries[code], at: s.at, address: s.address(), text: say(format, args...)})
}

// general is a warning about the whole file.
func (im *importer) general(at int, code, format string, args ...any) {
	im.remarks = append(im.remarks, remark{severity: diag.Warning, code: code, summary: summaries[code], at: at, text: say(format, args...)})
}

var summaries = map[string]string{
	"import.name":     "Server was given another name",
	"import.left_out": "Not taken over",
	"import.changed":  "Taken over in another form",
	"import.disabled": "Server is not enabled",
	"import.floats":   "Version is not fixed",
	"import.legacy":   "Legacy transport",
	"import.platform": "Depends on the machine",
	"import.bridge":   "Bridge in front of a server",
}

func (im *importer) diagnostics() diag.List {
	var list diag.List
	slices.SortStableFunc(im.remarks, func(a, b remark) int { return cmp.Compare(a.at, b.at) })
	for _, r := range im.remarks {
		d := diag.Diagnostic{Severity: r.severity, Code: r.code, Summary: r.summary, Detail: im.render(r.text), Address: r.address}
		if label, ok := strings.CutPrefix(r.address, "server."); ok {
			d.Context = fmt.Sprintf("server %q", label)
		}
		list = append(list, d.At(im.place(r.at)))
	}
	return list
}

// place is the line and column of an offset in src.
func (im *importer) place(offset int) diag.Range {
	before := string(im.src[:min(offset, len(im.src))])
	line := strings.Count(before, "\n") + 1
	p := diag.Pos{Line: line, Column: len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1}
	return diag.Range{File: diag.Escape(im.o.Name), Start: p, End: diag.Pos{Line: p.Line, Column: p.Column + 1}}
}

// server is one server of the config, and what becomes of it.
type server struct {
	at     int // offset in src
	name   string
	label  string
	fields []field

	command            string
	arguments          []argument
	env, headers       []pair
	url, cwd           string
	hasCommand, hasURL bool

	// base is the catalog directory as the server sees it from where it starts; "" if that is not known.
	base       string
	workspace  bool // what became of ${workspaceFolder} was said
	urlSecrets int  // parts of url that became variables

	// What is written.
	off         []sentence // why the server is not enabled
	comments    []sentence
	description string
	timeout     string
	http        *httpBlock
	stdio       *stdioBlock
}

type field struct {
	name  string
	value strictjson.Value
}

// pair is a variable of env or a header; null says that the config unsets it.
type pair struct {
	name, value string
	null        bool
}

func (s *server) address() string {
	if s.label == "" {
		return ""
	}
	return addr.Server{Label: s.label}.String()
}

func (s *server) enabled() bool { return len(s.off) == 0 }

// disable switches the server off and says why, in the text and in a remark, which adds what to do.
func (im *importer) disable(s *server, code string, why sentence, todo string) {
	if !slices.ContainsFunc(s.off, func(o sentence) bool { return im.render(o) == im.render(why) }) {
		s.off = append(s.off, why)
	}
	if todo != "" {
		todo = " " + todo
	}
	im.note(s, code, "%s%s The server gets enabled = false until that is settled.", why, todo)
}

// nameServers gives each server a label. Names that are labels already keep them; the others follow in the order of the file.
func (im *importer) nameServers() {
	taken := map[string]bool{}
	for _, s := range im.servers {
		if addr.ValidLabel(s.name) {
			s.label = s.name
			taken[s.name] = true
		}
	}
	for _, s := range im.servers {
		if s.label != "" {
			continue
		}
		s.label = free(addr.MakeLabel(s.name, "server"), func(l string) bool { return taken[l] })
		taken[s.label] = true
		im.note(s, "import.name", "The client calls it %s. A label has lower-case letters, digits and single underscores, so it is called %s here.", foreign(s.name), s.label)
		s.comments = append(s.comments, say("The client calls it %s.", foreign(s.name)))
	}
}

// free returns label, or with a number behind it if that is taken.
func free(label string, taken func(string) bool) string {
	for n, l := 2, label; ; n++ {
		if !taken(l) {
			return l
		}
		tail := fmt.Sprintf("_%d", n)
		l = strings.TrimRight(label[:min(len(label), addr.MaxLabelBytes-len(tail))], "_") + tail
	}
}

// variable is a variable of the text.
type variable struct {
	name        string
	sensitive   bool
	def         *string // of one that is not sensitive
	use         sentence
	description sentence
}

// variableFor returns the variable for a use, which it declares at the first time. name is what it should be called.
func (im *importer) variableFor(key, name string, v variable) *variable {
	if old := im.byUse[key]; old != nil {
		return old
	}
	v.name = free(addr.MakeLabel(name, "value"), func(l string) bool { return im.variables[l] != nil })
	im.variables[v.name], im.byUse[key] = &v, &v
	im.order = append(im.order, &v)
	return &v
}

// secretFor declares a sensitive variable for a literal, or for a value that the catalog cannot compose.
func (im *importer) secretFor(s *server, kind, name string, description sentence) string {
	base := addr.MakeLabel(name, "value")
	if base != s.label && !strings.HasPrefix(base, s.label+"_") {
		base = s.label + "_" + base
	}
	use := say("%s %s of %s", kind, foreign(name), s.address())
	if description.format == "" {
		description = say("The %s.", use)
	}
	return "var." + im.variableFor(s.label+" "+kind+" "+name, base, variable{sensitive: true, use: use, description: description}).name
}

func asStrict(err error) *strictjson.Error {
	var e *strictjson.Error
	errors.As(err, &e)
	return e
}
