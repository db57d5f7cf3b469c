package catalog

import "slices"

// BlockType describes one type of block of the catalog language: what may stand in it, and for readers what that means. It
// is what the loader checks files against; schema, completion and the documentation are made from it, too.
type BlockType struct {
	Type string `json:"type"`
	// Labels says what the labels of the block are, such as NAME; empty for none.
	Labels  []string `json:"labels,omitempty"`
	Summary string   `json:"summary"`
	// Repeated blocks may stand more than once in one place; the others once.
	Repeated bool `json:"repeated,omitempty"`
	// AnyArgument blocks take arguments of every name, of type "any".
	AnyArgument bool         `json:"any_argument,omitempty"`
	Arguments   []Argument   `json:"arguments,omitempty"`
	Blocks      []*BlockType `json:"blocks,omitempty"`
}

// Argument describes one argument of a block.
type Argument struct {
	Name string `json:"name"`
	// Type is the type in the notation of HCL (string, bool, number, list(string), map(string), any), or duration, size,
	// type, reference, list(reference).
	Type string `json:"type"`
	// Values are the only values that are allowed; nil: no such list.
	Values []string `json:"values,omitempty"`
	// Default is what holds if the argument is absent, as it would be written; "" where that is nothing.
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Literal arguments are written out: no references and no functions.
	Literal bool `json:"literal,omitempty"`
	// NotNull arguments take something away from servers or agents, so a value that happens to be null is an error in place of
	// the absence that it means elsewhere.
	NotNull bool `json:"not_null,omitempty"`
	// Secret arguments may hold secrets.
	Secret  bool   `json:"secret,omitempty"`
	Summary string `json:"summary"`
}

// Language returns the types of the blocks that a catalog file may hold, in the order in which people write them. It is
// not to be modified.
func Language() []*BlockType { return language }

var (
	language      = []*BlockType{mcpcatBlock, variableBlock, localsBlock, serverBlock, toolsetBlock, agentBlock, policyBlock, movedBlock, removedBlock}
	languageNames = blockNames(language)
)

// reservedBlocks have no meaning and may get one. The text says what to write instead.
var reservedBlocks = map[string]string{
	"module":   "There are no modules: the files of one directory form one catalog, and locals and for_each save repetition.",
	"import":   "mcpcat import reads the configuration of an agent program, and mcpcat plan finds out what a server offers.",
	"check":    "A variable is checked by validation { }, and a change by policy { rule { } }.",
	"output":   "Nothing is passed on: mcpcat console -e prints values, and the results of a tool are limited by output { } in its tool block.",
	"data":     "Nothing is read from elsewhere: values come from variables, env() and file().",
	"provider": "An upstream is declared by server \"NAME\" { http { … } } or server \"NAME\" { stdio { … } }.",
	"secret":   "A secret is a variable with sensitive = true, env(\"NAME\") or secret_file(\"PATH\").",
	"approval": "Approval is mcpcat apply of a reviewed plan; policy { } says which changes need one.",
}

// foreignWords are words of Terraform that have another form here.
var foreignWords = map[string]string{
	"terraform":  "Settings of the catalog stand in mcpcat { }.",
	"resource":   "A server is declared by server \"NAME\" { }; resources that it offers are listed in resources = [ ].",
	"local":      "Several locals are declared in locals { }; local.NAME refers to one.",
	"dynamic":    "Blocks are written out; for_each on a server makes several servers of one block.",
	"count":      "Write for_each = toset([ … ]), so that each server has a name of its own.",
	"depends_on": "References decide the order.",
	"lifecycle":  "policy { on { } } says what may change.",
	"source":     "A catalog is read from its own directory only.",
	"version":    "required_version in mcpcat { } is about mcpcat, expect { version } about a server.",
}

func (b *BlockType) argument(name string) *Argument {
	for i := range b.Arguments {
		if b.Arguments[i].Name == name {
			return &b.Arguments[i]
		}
	}
	return nil
}

func (b *BlockType) block(name string) *BlockType { return findBlock(b.Blocks, name) }

func findBlock(list []*BlockType, name string) *BlockType {
	i := slices.IndexFunc(list, func(b *BlockType) bool { return b.Type == name })
	if i < 0 {
		return nil
	}
	return list[i]
}

func (b *BlockType) argumentNames() []string {
	out := make([]string, len(b.Arguments))
	for i, a := range b.Arguments {
		out[i] = a.Name
	}
	return out
}

func blockNames(list []*BlockType) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = b.Type
	}
	return out
}

var mcpcatBlock = &BlockType{
	Type: "mcpcat", Summary: "settings of the whole catalog; at most one block over all files",
	Arguments: []Argument{
		{Name: "required_version", Type: "string", Literal: true, Summary: "versions of mcpcat that may read the catalog, checked before anything else"},
		{Name: "protocol", Type: "string", Literal: true, Values: []string{Protocol}, Default: `"` + Protocol + `"`, Summary: "revision of MCP that servers are spoken to in"},
	},
	Blocks: []*BlockType{
		{Type: "lock", Summary: "where the pins are kept", Arguments: []Argument{
			{Name: "path", Type: "string", Default: `"catalog.lock.db"`, Summary: "the lock, inside the catalog directory"},
			{Name: "mirror", Type: "string", Default: "the lock's name with .lock.txt", Summary: "the lock as text, for reviews"},
		}},
		gateBlock,
		{Type: "defaults", Summary: "what holds for servers that say nothing else", Blocks: []*BlockType{timeoutsBlock, limitsBlock}},
	},
}

var gateBlock = &BlockType{Type: "gate", Summary: "how calls are checked at run time", Arguments: []Argument{
	recheckArgument,
	{Name: "max_age", Type: "duration", Summary: "the longest that a comparison may serve, beside recheck = \"list_changed\" only"},
}}

var recheckArgument = Argument{Name: "recheck", Type: "string", Default: `"each_call"`, Summary: "when the live list is compared with the lock again: each_call, list_changed, or a duration"}

var timeoutsBlock = &BlockType{Type: "timeouts", Summary: "how long mcpcat waits for a server, each at most 10m", Arguments: []Argument{
	{Name: "connect", Type: "duration", NotNull: true, Default: `"5s"`, Summary: "for a process to start or a connection to be made"},
	{Name: "discover", Type: "duration", NotNull: true, Default: `"10s"`, Summary: "for the answer to server/discover"},
	{Name: "list", Type: "duration", NotNull: true, Default: `"20s"`, Summary: "for all pages of a list"},
	{Name: "call", Type: "duration", NotNull: true, Default: `"1m"`, Summary: "for the answer to a call"},
}}

var limitsBlock = &BlockType{Type: "limits", Summary: "how much mcpcat takes from a server", Arguments: []Argument{
	{Name: "tools", Type: "number", NotNull: true, Default: "10000", Summary: "items of one list"},
	{Name: "list_bytes", Type: "size", NotNull: true, Default: `"8MiB"`, Summary: "all pages of one list"},
	{Name: "result_bytes", Type: "size", NotNull: true, Default: `"16MiB"`, Summary: "one answer, a page of a list too"},
	{Name: "schema_bytes", Type: "size", NotNull: true, Default: `"256KiB"`, Summary: "one schema"},
	{Name: "pages", Type: "number", NotNull: true, Default: "1000", Summary: "pages of one list"},
	{Name: "concurrency", Type: "number", NotNull: true, Default: "64", Summary: "calls in flight at a time, at most 256"},
}}

var variableBlock = &BlockType{
	Type: "variable", Labels: []string{"NAME"}, Repeated: true, Summary: "a value that is given from outside",
	Arguments: []Argument{
		{Name: "type", Type: "type", Default: "any", Literal: true, Summary: "type of the value"},
		{Name: "default", Type: "any", Literal: true, Summary: "value if none is given"},
		{Name: "description", Type: "string", Literal: true, Summary: "for readers"},
		{Name: "sensitive", Type: "bool", Default: "false", Literal: true, Summary: "the value is a secret"},
		{Name: "nullable", Type: "bool", Default: "true", Literal: true, Summary: "whether the value may be null; if not, null means the default"},
	},
	Blocks: []*BlockType{
		{Type: "validation", Repeated: true, Summary: "a condition that the value must meet", Arguments: []Argument{
			{Name: "condition", Type: "bool", Required: true, Summary: "true if the value is good; refers to the variable, and may refer to others and to locals"},
			{Name: "error_message", Type: "string", Required: true, Summary: "what is said if it is not"},
		}},
	},
}

var localsBlock = &BlockType{Type: "locals", Repeated: true, AnyArgument: true, Summary: "named expressions"}

var (
	descriptionArgument = Argument{Name: "description", Type: "string", Summary: "for readers"}
	enabledArgument     = Argument{Name: "enabled", Type: "bool", NotNull: true, Default: "true"}
	policyArgument      = Argument{Name: "policy", Type: "reference", Default: "policy.default", Summary: "policy that judges changes"}
)

func (a Argument) saying(summary string) Argument {
	a.Summary = summary
	return a
}

var serverBlock = &BlockType{
	Type: "server", Labels: []string{"NAME"}, Repeated: true, Summary: "an MCP server and what is pinned of it",
	Arguments: []Argument{
		{Name: "for_each", Type: "set(string) or map", Summary: "one server for each element, server.NAME[\"KEY\"]"},
		{Name: "name", Type: "string", Default: "the label", Summary: "prefix of exposed names"},
		descriptionArgument,
		enabledArgument.saying("false: the server is not contacted, its pins stay, and no agent has anything of it"),
		policyArgument,
		recheckArgument.saying("as in gate, for this server"),
		{Name: "isolation", Type: "string", NotNull: true, Values: []string{"shared", "agent"}, Default: `"shared"`, Summary: "whether agents share one session or each has its own"},
		{Name: "tools", Type: "list(string)", Summary: "tools by name, byte for byte; * stands for any characters, and what matches is pinned by name"},
		{Name: "prompts", Type: "list(string)", Summary: "prompts by name; * as in tools"},
		{Name: "resources", Type: "list(string)", Summary: "resources by URI; * as in tools"},
		{Name: "resource_templates", Type: "list(string)", Summary: "resource templates as the server writes them"},
	},
	Blocks: []*BlockType{httpBlock, stdioBlock, expectBlock, timeoutsBlock, limitsBlock, toolBlock},
}

var httpBlock = &BlockType{
	Type: "http", Summary: "a Streamable HTTP endpoint",
	Arguments: []Argument{
		{Name: "url", Type: "string", Required: true, Secret: true, Summary: "https://, or http:// for this machine; secrets in its path and query only"},
		{Name: "headers", Type: "map(string)", Secret: true, Summary: "headers of every request"},
	},
	Blocks: []*BlockType{
		{Type: "auth", Summary: "how mcpcat proves who it is; one of bearer, header with value, command, oauth", Arguments: []Argument{
			{Name: "bearer", Type: "string", Secret: true, Summary: "token behind Authorization: Bearer"},
			{Name: "header", Type: "string", Summary: "name of a header that carries the credential"},
			{Name: "value", Type: "string", Secret: true, Summary: "value of that header"},
			{Name: "command", Type: "list(string)", Summary: "program and arguments that print a token, run for each connection"},
		}, Blocks: []*BlockType{
			{Type: "oauth", Summary: "OAuth 2.1", Arguments: []Argument{
				{Name: "grant", Type: "string", Values: []string{"authorization_code", "client_credentials", "jwt_bearer"}, Default: `"authorization_code"`, Summary: "how tokens are had"},
				{Name: "client_id", Type: "string", Summary: "identifier of a client that is registered already"},
				{Name: "client_secret", Type: "string", Secret: true, Summary: "its secret"},
				{Name: "scopes", Type: "list(string)", Summary: "scopes that are asked for"},
				{Name: "issuer", Type: "string", Summary: "the only authorization server that is trusted"},
				{Name: "private_key_file", Type: "string", Summary: "key that signs client assertions, outside the catalog directory"},
				{Name: "redirect_port", Type: "number", Default: "any free port", Summary: "port of the redirect to 127.0.0.1"},
			}},
		}},
		{Type: "egress", Summary: "where connections may go", Arguments: []Argument{
			{Name: "allow_hosts", Type: "list(string)", NotNull: true, Default: "the host of url", Summary: "hosts that may be connected to, by name or as \"host:port\"; that of url is among them"},
			{Name: "allow_private", Type: "bool", NotNull: true, Default: "false", Summary: "whether that may be this machine or a private network"},
			{Name: "redirects", Type: "number", NotNull: true, Default: "0", Summary: "redirects of one request that are followed, on the same origin only"},
			{Name: "proxy", Type: "string", Secret: true, Summary: `"environment", or the URL of an HTTP proxy; secrets in its user information only`},
		}},
		{Type: "tls", Summary: "what the server's certificate must be, and the one it is shown", Arguments: []Argument{
			{Name: "ca_file", Type: "string", NotNull: true, Summary: "certificates that are trusted instead of the system's"},
			{Name: "server_name", Type: "string", Default: "the host of url", Summary: "name that the certificate must be for"},
			{Name: "pin_sha256", Type: "string or list(string)", NotNull: true, Summary: "digests of public keys, one of which the chain must have"},
			{Name: "client_cert_file", Type: "string", Summary: "certificate that the server is shown"},
			{Name: "client_key_file", Type: "string", Summary: "its private key, outside the catalog directory"},
		}},
	},
}

var stdioBlock = &BlockType{
	Type: "stdio", Summary: "a command that speaks over its standard input and output",
	Arguments: []Argument{
		{Name: "command", Type: "string", Required: true, Summary: "the program: absolute, relative to the catalog, or found in PATH; never a shell line"},
		{Name: "args", Type: "list(string)", Summary: "its arguments, as they are"},
		{Name: "env", Type: "map(string)", Secret: true, Summary: "environment variables"},
		{Name: "inherit_env", Type: "list(string)", NotNull: true, Default: "PATH HOME USER LOGNAME SHELL TMPDIR TZ LANG LC_* TERM", Summary: "variables that are passed on, and no others"},
		{Name: "workdir", Type: "string", Default: "the catalog directory", Summary: "directory that the program starts in"},
		{Name: "sha256", Type: "string or list(string)", NotNull: true, Summary: "digests of the program, one of which it must have"},
		{Name: "files", Type: "map(string)", NotNull: true, Summary: "digests of further files, by path"},
	},
}

var expectBlock = &BlockType{Type: "expect", Summary: "what the server must say about itself", Arguments: []Argument{
	{Name: "name", Type: "string", NotNull: true, Summary: "its name"},
	{Name: "version", Type: "string", NotNull: true, Summary: "constraint on its version"},
}}

var toolBlock = &BlockType{
	Type: "tool", Labels: []string{"TOOL"}, Repeated: true, Summary: "a tool that needs more than its name",
	Arguments: []Argument{
		{Name: "as", Type: "string", Default: "SERVER__TOOL", Summary: "name that agents see"},
		descriptionArgument,
		enabledArgument.saying("false: the pin stays, and no agent has the tool"),
		policyArgument,
	},
	Blocks: []*BlockType{inputBlock, outputBlock},
}

var outputBlock = &BlockType{
	Type: "output", Summary: "limits on results",
	Arguments: []Argument{
		{Name: "max_bytes", Type: "size", NotNull: true, Summary: "a longer result is an error"},
		{Name: "drop_structured", Type: "bool", NotNull: true, Default: "false", Summary: "structuredContent and outputSchema are left out"},
	},
}

var inputBlock = &BlockType{
	Type: "input", Summary: "arguments that are narrowed",
	Arguments: []Argument{
		{Name: "set", Type: "map", NotNull: true, Summary: "arguments that mcpcat sets, which the agent neither sees nor sends"},
		{Name: "forbid", Type: "list(string)", NotNull: true, Summary: "arguments that the agent neither sees nor sends"},
		{Name: "schema", Type: "map", NotNull: true, Summary: "JSON Schema that arguments must meet as well"},
	},
	Blocks: []*BlockType{{
		Type: "constrain", Labels: []string{"PROPERTY"}, Repeated: true, Summary: "what one argument must be as well; it is required then",
		Arguments: []Argument{
			{Name: "optional", Type: "bool", NotNull: true, Default: "false", Summary: "the argument may be left out"},
			{Name: "enum", Type: "list", NotNull: true, Summary: "the only values"},
			{Name: "const", Type: "any", Summary: "the only value"},
			{Name: "pattern", Type: "string", NotNull: true, Summary: "regular expression that a text must match"},
			{Name: "minimum", Type: "number", NotNull: true, Summary: "the smallest number"},
			{Name: "maximum", Type: "number", NotNull: true, Summary: "the largest number"},
			{Name: "min_length", Type: "number", NotNull: true, Summary: "characters of a text, at least"},
			{Name: "max_length", Type: "number", NotNull: true, Summary: "characters of a text, at most"},
			{Name: "max_items", Type: "number", NotNull: true, Summary: "elements of a list, at most"},
			{Name: "schema", Type: "map", NotNull: true, Summary: "JSON Schema that the argument must meet as well"},
		},
	}},
}

// itemLists are what toolsets and agents hold.
func itemLists(of string) []Argument {
	return []Argument{
		{Name: "tools", Type: "list(reference)", Summary: "tools " + of + ": server.NAME.tool.TOOL, or server.NAME for all that are declared on it"},
		{Name: "prompts", Type: "list(reference)", Summary: "prompts " + of},
		{Name: "resources", Type: "list(reference)", Summary: "resources " + of},
		{Name: "resource_templates", Type: "list(reference)", Summary: "resource templates " + of},
	}
}

var toolsetBlock = &BlockType{
	Type: "toolset", Labels: []string{"NAME"}, Repeated: true, Summary: "a named list of tools, prompts and resources",
	Arguments: append([]Argument{descriptionArgument}, itemLists("of the set")...),
}

var agentToolBlock = &BlockType{
	Type: "tool", Labels: []string{"ADDRESS"}, Repeated: true, Summary: "a tool that is narrowed further for this agent", Blocks: []*BlockType{inputBlock},
}

var agentBlock = &BlockType{
	Type: "agent", Labels: []string{"NAME"}, Repeated: true, Summary: "an agent and what it may reach",
	Arguments: slices.Concat([]Argument{
		descriptionArgument,
		{Name: "names", Type: "string", Values: []string{NamesPrefixed, NamesPlain}, Default: `"prefixed"`, Summary: "whether exposed names begin with the server's"},
		{Name: "toolsets", Type: "list(reference)", Summary: "toolsets whose items the agent has"},
	}, itemLists("that the agent has"), []Argument{
		{Name: "deny", Type: "list(reference)", NotNull: true, Summary: "items and servers that are taken away last"},
		{Name: "instructions", Type: "bool", Default: "false", Summary: "whether the pinned instructions of its servers are passed on"},
		{Name: "input_requests", Type: "list(string)", Values: []string{"form", "url", "sampling", "roots"}, Summary: "requests for input that servers may put to the agent"},
		{Name: "completion", Type: "bool", Default: "false", Summary: "whether the agent may ask for completions"},
		{Name: "rate", Type: "string", NotNull: true, Summary: "calls in a time, such as \"60/1m\""},
		{Name: "concurrency", Type: "number", NotNull: true, Summary: "calls at a time"},
	}),
	Blocks: []*BlockType{agentToolBlock},
}

var policyBlock = &BlockType{
	Type: "policy", Labels: []string{"NAME"}, Repeated: true, Summary: "how changes are judged; the one called default holds where no other is named",
	Arguments: []Argument{{Name: "extends", Type: "reference", Summary: "policy that holds where this one says nothing"}},
	Blocks: []*BlockType{
		{Type: "on", Summary: "the decision for each class of change", Arguments: classArguments()},
		{Type: "rule", Labels: []string{"NAME"}, Repeated: true, Summary: "a stricter decision for changes that meet a condition", Arguments: []Argument{
			{Name: "when", Type: "bool", Required: true, Summary: "condition over change"},
			{Name: "decision", Type: "string", Required: true, Values: []string{"ask", "deny"}, Summary: "the decision if it holds"},
			{Name: "message", Type: "string", Summary: "what is said then"},
		}},
	},
}

var movedBlock = &BlockType{Type: "moved", Repeated: true, Summary: "a server or item that has another address now", Arguments: []Argument{
	{Name: "from", Type: "reference", Required: true, Literal: true, Summary: "the address before"},
	{Name: "to", Type: "reference", Required: true, Literal: true, Summary: "the address now"},
}}

var removedBlock = &BlockType{Type: "removed", Repeated: true, Summary: "a server or item that is meant to be gone", Arguments: []Argument{
	{Name: "from", Type: "reference", Required: true, Literal: true, Summary: "its address"},
	{Name: "reason", Type: "string", Summary: "for readers"},
}}
