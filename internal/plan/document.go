package plan

import (
	"encoding/json"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// FormatVersion is the version of the plan document, "MAJOR.MINOR". A new minor adds members, a new major breaks.
const FormatVersion = "1.0"

// Kind is the kind member of a plan document.
const Kind = "plan"

// MaxBytes bounds a plan file.
const MaxBytes = 512 << 20

// Decision says what must happen before a change is applied. Auto needs nobody, Ask a person, Deny cannot be applied.
type Decision string

// The decisions, from the mildest to the strictest.
const (
	Auto Decision = "auto"
	Ask  Decision = "ask"
	Deny Decision = "deny"
)

func (d Decision) rank() int {
	switch d {
	case Auto:
		return 0
	case Ask:
		return 1
	default:
		return 2
	}
}

// stricter returns the stricter of two decisions. What is not a known decision counts as Deny.
func stricter(a, b Decision) Decision {
	if b.rank() > a.rank() {
		return b
	}
	return a
}

// Class names what kind of change it is. The class decides; the strictest class of a change wins.
type Class string

// The change classes. Defaults stand with catalog.Classes.
const (
	ToolAdded            Class = "tool_added"
	ToolRemoved          Class = "tool_removed"
	ToolMoved            Class = "tool_moved"
	TitleChanged         Class = "title_changed"
	DescriptionChanged   Class = "description_changed"
	SchemaTextChanged    Class = "schema_text_changed"
	InputWidened         Class = "input_widened"
	InputNarrowed        Class = "input_narrowed"
	InputUnclear         Class = "input_unclear"
	OutputChanged        Class = "output_changed"
	HeaderMappingChanged Class = "header_mapping_changed"
	HintsWeakened        Class = "hints_weakened"
	HintsRelaxed         Class = "hints_relaxed"
	HintsChanged         Class = "hints_changed"
	IconsChanged         Class = "icons_changed"
	MetaChanged          Class = "meta_changed"
	UnknownChanged       Class = "unknown_changed"
	ConcealedText        Class = "concealed_text"

	ServerAdded         Class = "server_added"
	ServerRemoved       Class = "server_removed"
	EndpointChanged     Class = "endpoint_changed"
	IdentityChanged     Class = "identity_changed"
	CapabilitiesChanged Class = "capabilities_changed"
	InstructionsChanged Class = "instructions_changed"
	CacheChanged        Class = "cache_changed"
	OrderChanged        Class = "order_changed"
	ListingChanged      Class = "listing_changed"
	MetadataChanged     Class = "metadata_changed"
	GuardChanged        Class = "guard_changed"
	PolicyChanged       Class = "policy_changed"

	AgentAdded         Class = "agent_added"
	AgentRemoved       Class = "agent_removed"
	AgentGains         Class = "agent_gains"
	AgentLoses         Class = "agent_loses"
	ExposedNameChanged Class = "exposed_name_changed"
)

// Plan is the plan document: everything that plan saw and wants to change. Views and apply get nothing else. It holds no
// time, host or user, so equal inputs give equal documents.
type Plan struct {
	FormatVersion string        `json:"format_version"`
	Kind          string        `json:"kind"`
	MCPCatVersion string        `json:"mcpcat_version"`
	Complete      bool          `json:"complete"` // every enabled server was checked, and offers every declared tool
	Base          Base          `json:"base"`
	Config        Config        `json:"config"`
	Summary       Summary       `json:"summary"`
	Gate          *Settings     `json:"gate,omitempty"`   // absent: the run-time settings are the pinned ones
	Policy        *Settings     `json:"policy,omitempty"` // absent: the policies are the applied ones
	Servers       []Server      `json:"servers"`          // by address
	Changes       []Change      `json:"changes"`          // by address, unchanged tools left out
	Agents        []Agent       `json:"agents"`           // by name, unchanged agents left out
	Diagnostics   diag.List     `json:"diagnostics"`
	PlanDigest    digest.Digest `json:"plan_digest"` // over the document without this member
}

// Base names the lock that a plan was made from. Root is nil and Serial 0 when there was none; Lineage is then the one
// that the first lock will get.
type Base struct {
	Lock    string         `json:"lock"` // path beneath the catalog directory
	Lineage string         `json:"lineage"`
	Serial  uint64         `json:"serial"`
	Root    *digest.Digest `json:"root"`
}

// Config names the configuration that was compared.
type Config struct {
	Digest    digest.Digest `json:"digest"`
	Files     []string      `json:"files"`
	Variables []Variable    `json:"variables"` // by name
}

// Variable is one catalog variable. Value is absent for a sensitive one.
type Variable struct {
	Name      string          `json:"name"`
	Source    string          `json:"source"`
	Sensitive bool            `json:"sensitive,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
}

// Summary counts. It is what exit codes are decided from and what the last lines of the text view print.
type Summary struct {
	Add               int      `json:"add"`
	Change            int      `json:"change"`
	Remove            int      `json:"remove"`
	Move              int      `json:"move"`
	Forget            int      `json:"forget"`
	Unchanged         int      `json:"unchanged"`
	KeptUnchecked     int      `json:"kept_unchecked"`
	Denied            int      `json:"denied"` // tools, servers, agents with decision deny
	ServersChanged    int      `json:"servers_changed"`
	NotCallable       int      `json:"not_callable"` // new definitions that are pinned as text only
	NotOffered        int      `json:"not_offered"`  // declared tools that are neither offered nor pinned
	ServersChecked    int      `json:"servers_checked"`
	ServersNotChecked int      `json:"servers_not_checked"`
	ServersRefused    int      `json:"servers_refused"`
	AgentsChanged     int      `json:"agents_changed"`
	Decision          Decision `json:"decision"` // the strictest of all, auto when nothing changes
}

// Settings is a change of settings of the whole catalog.
type Settings struct {
	Changes   []Leaf          `json:"changes"`
	After     json.RawMessage `json:"after"` // canonical JSON; null: nothing is set any more
	DecidedBy []DecidedBy     `json:"decided_by,omitempty"`
}

// DecidedBy is a class or a rule of a policy that made the decision what it is. Where only built-in defaults decided, there
// is none.
type DecidedBy struct {
	Policy  string `json:"policy"`
	Applied bool   `json:"applied,omitempty"` // the policy as it was applied, which holds until its change is
	Class   Class  `json:"class,omitempty"`
	Rule    string `json:"rule,omitempty"`
	// Message is that of the rule, with texts of servers in it.
	Message  string   `json:"message,omitempty"`
	Decision Decision `json:"decision"`
	At       string   `json:"at,omitempty"` // "catalog.hcl:166"; absent if Applied
}

// Status of a server in a plan.
type Status string

// The statuses.
const (
	Checked    Status = "checked"
	NotChecked Status = "not_checked"
	Refused    Status = "refused"
	Disabled   Status = "disabled" // enabled = false: not asked, its pins are kept and no agent gets them
	Removed    Status = "removed"  // pinned, and no longer in the catalog
)

// Server is one server of the catalog or of the base lock. The members after Differs exist for checked servers only, apart
// from Changes, which a removed server has too.
type Server struct {
	Address string `json:"address"`
	// PreviousAddress is where the server is pinned, if a moved block says so. It stays there while it is not checked.
	PreviousAddress string        `json:"previous_address,omitempty"`
	Status          Status        `json:"status"`
	Transport       string        `json:"transport"` // "http" or "stdio"
	Endpoint        string        `json:"endpoint"`  // URL or command, secrets hidden
	EndpointDigest  digest.Digest `json:"endpoint_digest"`
	DeclaredAt      string        `json:"declared_at,omitempty"` // "catalog.hcl:158"
	RemovedAt       string        `json:"removed_at,omitempty"`  // the removed block that means it

	KeptTools *int     `json:"kept_tools,omitempty"` // pins that stay as they are; not for checked servers
	Error     *Failure `json:"error,omitempty"`

	// Declared is what the catalog says of a server that is not pinned yet, whether or not it was checked. Differs is how
	// the catalog and the pinned entry differ for a server that was not checked: nothing of that is applied.
	Declared *Declared `json:"declared,omitempty"`
	Differs  []Leaf    `json:"differs,omitempty"`

	Identity        *IdentityPair           `json:"identity,omitempty"`
	Snapshots       map[string]SnapshotPair `json:"snapshots,omitempty"`
	ListedTools     *int                    `json:"listed_tools,omitempty"`
	DeclaredTools   *int                    `json:"declared_tools,omitempty"`
	UndeclaredTools []string                `json:"undeclared_tools,omitzero"` // listed, in byte order
	UnchangedTools  []string                `json:"unchanged_tools,omitempty"` // declared and as pinned, in byte order
	ExcludedTools   []surface.Excluded      `json:"excluded_tools,omitempty"`
	ChangesByItself []string                `json:"changes_by_itself,omitempty"` // differed between two walks
	Label           string                  `json:"label,omitempty"`             // see the Label constants
	Changes         []Leaf                  `json:"changes,omitzero"`
	Flags           []Flag                  `json:"flags,omitempty"`
	DecidedBy       []DecidedBy             `json:"decided_by,omitempty"`
	After           *Pinned                 `json:"after,omitempty"` // what apply writes; absent: the entry stays as it is
}

// Declared is everything that the catalog says of how a server is reached and bounded, resolved: endpoint as
// catalog.Server.Endpoint gives it, but for the url, which is one text with secrets by reference and query values hidden.
type Declared struct {
	Endpoint json.RawMessage `json:"endpoint"`
	Timeouts json.RawMessage `json:"timeouts"`
	Limits   json.RawMessage `json:"limits,omitempty"`  // those that are set
	Recheck  json.RawMessage `json:"recheck,omitempty"` // its own
}

// Labels of a server whose changes touch no tool and are of one sort.
const (
	LabelOrder    = "order only"
	LabelCache    = "cache hints only"
	LabelMetadata = "server metadata only"
)

// Failure says why a server was not checked or was refused.
type Failure struct {
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	Retryable bool     `json:"retryable"`
	Offered   []string `json:"offered,omitempty"`
	RPCCode   int64    `json:"rpc_code,omitempty"`
}

// IdentityPair is what the server calls itself, pinned and observed.
type IdentityPair struct {
	Before *surface.Identity `json:"before"`
	After  *surface.Identity `json:"after"`
}

// SnapshotPair is a digest over a whole answer, pinned and observed.
type SnapshotPair struct {
	Before *digest.Digest `json:"before"`
	After  *digest.Digest `json:"after"`
}

// Pinned is the part of a server's lock entry that neither the catalog nor the rest of the document says.
type Pinned struct {
	Protocol        string          `json:"protocol"`
	Capabilities    json.RawMessage `json:"capabilities"`
	Instructions    *string         `json:"instructions,omitempty"`
	ToolsTTLMs      int64           `json:"tools_ttl_ms"`
	ToolsCacheScope string          `json:"tools_cache_scope"`
	ToolOrder       []string        `json:"tool_order"`
}

// Action is what happens to a pinned tool.
type Action string

// The actions.
const (
	Add    Action = "add"
	Modify Action = "change"
	Remove Action = "remove"
	Move   Action = "move" // the same definition of the same server under another address
)

// Reason says why a tool is removed.
type Reason string

// The reasons of a removal.
const (
	NotListedUpstream Reason = "not_listed_upstream"
	NotDeclared       Reason = "not_declared"
	ExcludedByClient  Reason = "excluded_by_client" // listed, and not usable as it is listed
)

// Change is what happens to one tool.
type Change struct {
	Address         string `json:"address"`
	PreviousAddress string `json:"previous_address,omitempty"` // for moves
	Action          Action `json:"action"`
	Reason          Reason `json:"reason,omitempty"`     // for removals
	Note            string `json:"note,omitempty"`       // why it is not usable, what it looks like, or why it was meant to go
	RemovedAt       string `json:"removed_at,omitempty"` // the removed block that means it
	// NotCallable says why the gate will refuse every call of the new definition: it is pinned as text.
	NotCallable    string      `json:"not_callable,omitempty"`
	Classes        []Class     `json:"classes"`
	Decision       Decision    `json:"decision"`
	ForcesApproval bool        `json:"forces_approval"`
	DecidedBy      []DecidedBy `json:"decided_by,omitempty"`
	DeclaredAt     string      `json:"declared_at,omitempty"` // "catalog.hcl:112"
	Before         *Version    `json:"before"`
	After          *Version    `json:"after"`
	Diff           []Leaf      `json:"diff"`
	Flags          []Flag      `json:"flags,omitempty"`
	Agents         Gains       `json:"agents"`
}

// Version is one definition of a tool. Definition is its canonical form; Received is the text as the server sent it,
// without white space between tokens; it stands in the new version only, and only if it is not the canonical form itself.
// Apply writes the received text.
type Version struct {
	Digest     digest.Digest   `json:"digest"`
	Definition json.RawMessage `json:"definition"`
	Received   string          `json:"received,omitempty"`
}

// Leaf is one difference. Path is a JSON Pointer (RFC 6901), into the definition for a tool and into the named section for
// a server. Before is null for an addition, After for a removal.
type Leaf struct {
	Path     string          `json:"path"`
	Op       string          `json:"op"` // "add", "remove", "replace"
	Before   json.RawMessage `json:"before"`
	After    json.RawMessage `json:"after"`
	Class    Class           `json:"class"`
	Effect   string          `json:"effect,omitempty"` // "widens", "narrows", "unclear" for schemas
	Decision Decision        `json:"decision"`
	Note     string          `json:"note,omitempty"`
	Words    []Word          `json:"words,omitempty"` // for replaced texts
}

// Word is a run of text: Op is "=" for text of both sides, "-" for text that went, "+" for text that came. In JSON it is
// an array of the two.
type Word struct {
	Op   string
	Text string
}

// Flag marks something about the new definition, whether or not it is a difference.
type Flag struct {
	Class    Class    `json:"class"`
	Path     string   `json:"path"`
	Decision Decision `json:"decision"`
	Note     string   `json:"note"`
}

// Gains names the agents that gain and lose a tool.
type Gains struct {
	Gain []string `json:"gain"`
	Lose []string `json:"lose"`
}

// Agent is a change of what one agent may use.
type Agent struct {
	Name      string        `json:"name"`
	Action    Action        `json:"action"`
	Changes   []AgentChange `json:"changes"`
	DecidedBy []DecidedBy   `json:"decided_by,omitempty"`
}

// AgentChange is one change of an agent: a tool that it gains or loses, or another exposed name.
type AgentChange struct {
	Class    Class    `json:"class"`
	Address  string   `json:"address,omitempty"` // the tool
	Before   string   `json:"before,omitempty"`  // exposed name, or the naming mode
	After    string   `json:"after,omitempty"`
	Decision Decision `json:"decision"`
}

// MarshalJSON writes the pair as an array.
func (w Word) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{w.Op, w.Text}) }

// UnmarshalJSON reads an array of two strings.
func (w *Word) UnmarshalJSON(b []byte) error {
	var pair []string
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return errWord
	}
	w.Op, w.Text = pair[0], pair[1]
	return nil
}
