package catalog

// The decisions about a change, from the mildest to the strictest.
const (
	Auto = "auto" // applied without a person
	Ask  = "ask"  // applied when a person agrees
	Deny = "deny" // not applied
)

// Class is a class of changes, which a policy decides about.
type Class struct {
	Name    string `json:"name"`
	Default string `json:"default"` // Auto, Ask or Deny, where no policy says anything
	// Least is the mildest decision that a policy may give.
	Least   string `json:"least"`
	Summary string `json:"summary"`
}

// classes are those that a policy may name, in the order of the documentation.
var classes = []Class{
	{"tool_added", Ask, Auto, "a tool, prompt or resource that was not pinned"},
	{"tool_removed", Ask, Auto, "one that is pinned and no longer declared or offered"},
	{"tool_moved", Ask, Auto, "one that is pinned under another address"},
	{"title_changed", Ask, Auto, "its title"},
	{"icons_changed", Ask, Auto, "its icons"},
	{"meta_changed", Ask, Auto, "its _meta"},
	{"unknown_changed", Ask, Auto, "a member that the protocol does not know"},
	{"description_changed", Ask, Auto, "its description, which models read"},
	{"schema_text_changed", Ask, Auto, "texts in its schemas, which models read"},
	{"input_widened", Ask, Auto, "inputSchema takes more than before"},
	{"input_narrowed", Ask, Auto, "inputSchema takes less than before"},
	{"input_unclear", Ask, Auto, "inputSchema takes something else"},
	{"output_changed", Ask, Auto, "outputSchema"},
	{"header_mapping_changed", Ask, Auto, "x-mcp-header: arguments that go into HTTP headers"},
	{"hints_weakened", Ask, Auto, "the tool claims to be less safe than before"},
	{"hints_relaxed", Ask, Auto, "the tool claims to be safer than before"},
	{"hints_changed", Ask, Auto, "any other hint"},
	{"concealed_text", Deny, Ask, "characters that hide or deceive, anywhere in a definition"},
	{"instructions_changed", Ask, Auto, "the server's instructions, which models read"},
	{"identity_changed", Ask, Auto, "what the server calls itself"},
	{"capabilities_changed", Ask, Auto, "what the server says it can do"},
	{"server_added", Ask, Ask, "a server that was not pinned"},
	{"server_removed", Ask, Auto, "one that is pinned and no longer declared"},
	{"endpoint_changed", Ask, Ask, "transport, url or command, auth, egress or tls"},
	{"guard_changed", Ask, Ask, "expect, limits, timeouts or recheck"},
	{"launch_unpinned", Ask, Ask, "a program whose version or files are not fixed"},
	{"policy_changed", Ask, Ask, "the policies"},
	{"narrowing_changed", Ask, Ask, "the narrowing of a tool"},
	{"exposed_name_changed", Ask, Ask, "the name that agents see"},
	{"agent_added", Ask, Auto, "an agent that was not pinned"},
	{"agent_removed", Auto, Auto, "one that is no longer declared"},
	{"agent_gains", Ask, Auto, "an agent gets an item"},
	{"agent_loses", Auto, Auto, "an agent loses an item"},
	{"cache_changed", Auto, Auto, "ttlMs and cacheScope"},
	{"order_changed", Auto, Auto, "the order of a list"},
	{"listing_changed", Auto, Auto, "items that are offered and not declared"},
	{"metadata_changed", Auto, Auto, "metadata of an answer"},
}

// Classes returns the classes of changes that a policy decides about. The list is not to be modified.
func Classes() []Class { return classes }

func classArguments() []Argument {
	out := make([]Argument, len(classes))
	for i, c := range classes {
		values := []string{Auto, Ask, Deny}
		if c.Least == Ask {
			values = values[1:]
		}
		out[i] = Argument{Name: c.Name, Type: "string", Values: values, Default: `"` + c.Default + `"`, Summary: c.Summary}
	}
	return out
}
