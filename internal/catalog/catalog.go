// Package catalog reads the HCL files in which people declare servers, the tools pinned on them and the agents that may
// call those tools, and turns them into plain Go values.
//
// It is the only package that reads HCL and knows cty: nothing of either leaves it, and wire JSON never enters it, because
// cty normalises strings. It contacts nothing, starts nothing and writes nothing; it reads the catalog directory and the
// certificates, keys and secret files that a catalog names, and asks Options.Lookup for environment variables. Secrets leave the
// evaluator as secret.String with the reference they came from, and no diagnostic, Endpoint or digest contains a secret
// value.
//
// In the drawing it is a noun: observe, plan, gate and cli read catalogs, and catalog uses addr, diag, digest, schema, secret
// and strictjson only.
//
//	cat, diags := catalog.Load(catalog.Options{Dir: ".", Lookup: os.LookupEnv})
package catalog

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// Protocol is the only revision that a catalog may name.
const Protocol = "2026-07-28"

// Options say what Load reads.
type Options struct {
	// Dir is the catalog directory; "" is the current one.
	Dir string
	// Lookup returns the value of an environment variable, as os.LookupEnv does. It is asked for MCPCAT_VAR_<name> of
	// each declared variable, for the names given to env(), and where a server's proxy is that of the environment for the
	// variables of ProxyVariables, whose credentials become secrets. secret_file needs SecretsDirVariable. Nil means that no
	// variable is set.
	Lookup func(name string) (string, bool)
	// Environ lists the environment as os.Environ does, nil to leave it alone: the names MCPCAT_VAR_<name> that are nearly
	// those of declared variables are warnings, since they have no effect. Values are not looked at.
	Environ func() []string
	// Vars are the values given on the command line, in their order there.
	Vars []VarSource
	// Planned, if not nil, replaces every other source of values: each variable that is not sensitive takes its value
	// and source from here, and sensitive ones have none. Applying a saved plan uses it, so that catalog and plan
	// cannot differ by the environment.
	Planned []VariableValue
	// AllowMissingSecrets accepts sensitive variables without a value, unset environment variables in env(), and private
	// keys and files of secret_file() that are not there or may not be read; the secrets concerned are then empty. For commands that contact nothing.
	AllowMissingSecrets bool
	// LockPath overrides lock { path }; it obeys the same rules and is relative to the catalog directory.
	LockPath string
	// Version is the running version, checked against required_version. Empty: only the syntax is checked.
	Version string
	// Unsaved are files that are read as if they lay in Dir, in place of files of the same name: what is about to be
	// written is checked together with what is there.
	Unsaved []UnsavedFile
}

// UnsavedFile is a catalog file that is not written yet. Name is catalog.hcl or ends in .catalog.hcl and has no slash.
type UnsavedFile struct {
	Name string
	Text []byte
}

// VarSource is one value or file of values from the command line: Name and Value (-var), or File (-var-file).
type VarSource struct {
	Name, Value string
	// File is the path of a file of values, as given; a relative one is relative to the working directory.
	File string
	// Data, if not nil, is the content of File, which is then only a name for diagnostics (standard input).
	Data []byte
}

// Catalog is what the files of one directory declare, evaluated and checked. It is not modified after Load.
type Catalog struct {
	Dir   string   // as given in Options
	Files []string // the catalog files read, sorted, relative to Dir
	// Digest covers the catalog files, the value files in Dir, the certificates that the catalog names and what file()
	// read: names and contents, without byte order mark and with CR LF as LF. Files given with -var-file, private keys and secret files
	// are not part of it.
	Digest digest.Digest
	// Lock and Mirror are slash-separated paths relative to Dir and inside it.
	Lock, Mirror string
	Gate         Gate
	Timeouts     Timeouts // the defaults block; each server carries its own
	Limits       Limits   // likewise
	Variables    []VariableValue
	Servers      []*Server  // by address
	Toolsets     []*Toolset // by name
	Agents       []*Agent   // by name
	Policies     []*Policy  // by name; see PolicySet
	Moved        []Moved    // in source order
	Removed      []Removed  // in source order

	secrets     []secret.String
	unsupported diag.List
	needs       []Need
}

// Secrets returns every secret value that the catalog saw and its servers have learned, for a secret.Redactor.
func (c *Catalog) Secrets() []secret.String {
	all := slices.Clone(c.secrets)
	for _, s := range c.Servers {
		all = append(all, s.learned()...)
	}
	return all
}

// Server returns the server with the address a, or nil.
func (c *Catalog) Server(a addr.Server) *Server {
	i, ok := slices.BinarySearchFunc(c.Servers, a, func(s *Server, a addr.Server) int { return s.Addr.Compare(a) })
	if !ok {
		return nil
	}
	return c.Servers[i]
}

// Agent returns the agent called name, or nil.
func (c *Catalog) Agent(name string) *Agent {
	for _, a := range c.Agents {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Gate is the run-time block.
type Gate struct{ Recheck Recheck }

// Recheck says how old a comparison of a live list with the lock may be when a call passes.
//
// With "list_changed" a comparison is meant to serve until the server announces a change, at most MaxAge. The gate does not
// listen to announcements yet, so it compares for each call then, too.
type Recheck struct {
	Mode   string        // "each_call", "list_changed" or "interval"
	Every  time.Duration // for "interval", 1s to 24h; otherwise 0
	MaxAge time.Duration // for "list_changed", 1s to 24h, or 0 for no bound; otherwise 0
}

// The modes of Recheck.
const (
	RecheckEachCall    = "each_call"
	RecheckListChanged = "list_changed"
	RecheckInterval    = "interval"
)

// Timeouts bound the four kinds of waiting on a server. All are positive and at most MaxTimeout.
type Timeouts struct{ Connect, Discover, List, Call time.Duration }

// MaxTimeout is the largest timeout that a catalog may set.
const MaxTimeout = 10 * time.Minute

// DefaultTimeouts hold where a catalog sets nothing.
var DefaultTimeouts = Timeouts{Connect: 5 * time.Second, Discover: 10 * time.Second, List: 20 * time.Second, Call: time.Minute}

// VariableValue is the value of a declared variable.
type VariableValue struct {
	Name      string          `json:"name"`
	Source    string          `json:"source"` // default, environment, file or flag; "" for a missing secret
	Sensitive bool            `json:"sensitive,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"` // nil if sensitive
}

// Server is one declared server. Exactly one of HTTP and Stdio is set.
type Server struct {
	Addr        addr.Server
	Name        string // prefix of exposed names: the name argument, or the label
	Description string
	Enabled     bool
	HTTP        *HTTP
	Stdio       *Stdio
	Timeouts    Timeouts
	Expect      *Expect // nil: nothing
	Limits      Limits
	Recheck     Recheck // its own, or that of the catalog's gate
	OwnRecheck  bool    // the block has a recheck
	Isolation   string  // "shared" or "agent": whether each agent has a session of its own
	// What is declared by name, in byte order. Patterns are what Expand turns into further names.
	Tools                                 []ToolDecl
	Prompts, Resources, ResourceTemplates []ItemDecl
	Patterns                              []Pattern
	Policy                                string     // name of the policy that judges changes; "" for the default one
	Range                                 diag.Range // of the block header

	endpoint json.RawMessage
	digest   digest.Digest
	parts    []secret.String // values of the catalog that the block's secrets are made of
}

// ToolDecl is one tool that a server declares: by its name in tools, by a tool block, or by a pattern. Name is the upstream
// name, byte for byte.
type ToolDecl struct {
	Name        string
	As          string  // the name that agents see; "" for the usual one
	Description string  // for readers
	Disabled    bool    // the pin stays, and no agent has the tool
	Policy      string  // as that of Server; "" for that of the server
	Input       *Input  // how its arguments are narrowed; nil: not at all
	Output      *Output // limits on its results; nil: none
	Pattern     string  // that matched the name; "" if it is written out
	Range       diag.Range

	block *hclsyntax.Block // while the catalog is loaded; nil without a tool block
	at    where
}

// Text is a value that may be secret.
type Text struct {
	plain string
	sec   secret.String
}

// PlainText returns a Text that is not secret.
func PlainText(s string) Text { return Text{plain: s} }

// SecretText returns a Text that is secret.
func SecretText(s secret.String) Text { return Text{sec: s} }

// Expose returns the value, secret or not.
func (t Text) Expose() string {
	if t.Secret() {
		return t.sec.Expose()
	}
	return t.plain
}

// Secret reports whether the value is secret.
func (t Text) Secret() bool { return !t.sec.IsZero() }

// Ref returns the reference of a secret, otherwise "".
func (t Text) Ref() string { return t.sec.Ref() }

// String returns the plain value, or the reference of a secret as ${var.token}. It never returns a secret value.
func (t Text) String() string {
	if t.Secret() {
		return "${" + t.sec.Ref() + "}"
	}
	return t.plain
}

// GoString is String.
func (t Text) GoString() string { return t.String() }

// Template is a text of plain and secret parts in order.
type Template []Text

// Expose returns the whole text with its secrets.
func (t Template) Expose() string {
	var s string
	for _, p := range t {
		s += p.Expose()
	}
	return s
}

// Secret reports whether a part is secret.
func (t Template) Secret() bool { return slices.ContainsFunc(t, Text.Secret) }

// String returns the text with references in place of secrets.
func (t Template) String() string {
	var s string
	for _, p := range t {
		s += p.String()
	}
	return s
}

// HTTP is a Streamable HTTP endpoint.
type HTTP struct {
	URL     Template
	Headers []Header // by name, compared without case
	// Of the auth block at most one is set: a token; a header with a secret; a program, as written, and its arguments, which
	// print a token; OAuth.
	Bearer      *secret.String
	AuthHeader  *Header
	AuthCommand []string
	OAuth       *OAuth
	// AllowHosts are the hosts that may be connected to, in lower case, sorted: a name or an IP address for all its ports, or
	// "host:port". That of URL is among them. nil: that of URL alone.
	AllowHosts   []string
	Redirects    int    // of one request that are followed, 0 to 10
	AllowPrivate bool   // egress { allow_private }
	Proxy        *Proxy // egress { proxy }; nil: none, whatever the environment says
	TLS          *TLS   // nil: no tls block

	tokens *secret.Learned // that AuthCommand has printed; nil without one
}

// Header is a static request header. Name is a token as written; Value has no CR, LF or NUL.
type Header struct {
	Name  string
	Value Text
}

// Stdio is a command that speaks over its standard input and output.
type Stdio struct {
	// Command is as written: absolute, or relative to the catalog directory if it contains a slash, or a name that is
	// looked up in PATH.
	Command string
	Args    []string // passed as they are; no shell
	Env     []EnvVar // by name
	// InheritEnv are the variables passed on, sorted, if InheritSet; otherwise the default set is passed on.
	InheritEnv []string
	InheritSet bool
	// Workdir is the directory that it starts in, as written: absolute, or relative to the catalog directory; "": that one.
	Workdir string
	// SHA256 are digests of the program, one of which it must have when it starts: at most 16, sorted; nil: any.
	SHA256 []digest.Digest
	Files  []FilePin // further files and what they must be when it starts: at most 256, by path
}

// EnvVar is one environment variable of a child process.
type EnvVar struct {
	Name  string
	Value Text
}

// Agent is one declared agent and what it may call.
type Agent struct {
	Name        string
	Description string
	Names       string   // "prefixed" or "plain"
	Toolsets    []string // names of the toolsets that it has, sorted
	// Tools and Prompts are sorted by exposed name; no two names of one kind are equal when case is ignored. The name of
	// a resource is its URI, that of a template its text; no two are equal. What is disabled or denied is left out.
	Tools, Prompts, Resources, ResourceTemplates []Exposed
	// Instructions says whether the pinned instructions of its servers are passed on.
	Instructions bool
	// InputRequests are the kinds of input that servers may ask the agent for, sorted: form, roots, sampling, url.
	InputRequests []string
	Completion    bool       // whether it may ask for completions
	Rate          *Rate      // nil: no such limit
	Concurrency   int        // calls at a time; 0: no such limit
	Narrowed      []Narrowed // tools that are narrowed further for this agent, by address
	Range         diag.Range // of the block header

	grants, deny []grant
}

// Narrowed is a tool of an agent and how its arguments are narrowed beside what its tool block says.
type Narrowed struct {
	Item  addr.Item
	Input *Input
	Range diag.Range // of the block header
}

// The values of Agent.Names.
const (
	NamesPrefixed = "prefixed"
	NamesPlain    = "plain"
)

// The values of Server.Isolation.
const (
	IsolationShared = "shared"
	IsolationAgent  = "agent"
)

// Exposed is one item as an agent sees it.
type Exposed struct {
	Name string
	Item addr.Item
}
