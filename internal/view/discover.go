package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// Discovered is what a server offers that nobody declared yet.
type Discovered struct {
	Endpoint        string                   `json:"endpoint"` // URL or command
	Protocol        string                   `json:"protocol"`
	Identity        *surface.Identity        `json:"identity"`
	Capabilities    json.RawMessage          `json:"capabilities"`
	Instructions    *string                  `json:"instructions"`
	Snapshots       map[string]digest.Digest `json:"snapshots"`
	Tools           []DiscoveredTool         `json:"tools"` // in list order
	Excluded        []surface.Excluded       `json:"excluded_tools"`
	ChangesByItself []string                 `json:"changes_by_itself"`
}

// DiscoveredTool is one offered tool. Definition is as received.
type DiscoveredTool struct {
	Name       string          `json:"name"`
	Digest     digest.Digest   `json:"digest"`
	Definition json.RawMessage `json:"definition"`
}

// NewDiscovered shows what a checked server offers; endpoint is its URL or command, safe to print.
func NewDiscovered(s *surface.Server, endpoint string) Discovered {
	d := Discovered{
		Endpoint: endpoint, Protocol: s.Protocol, Identity: s.Identity, Capabilities: s.Capabilities, Instructions: s.Instructions,
		Snapshots: s.Snapshots, Tools: []DiscoveredTool{},
		Excluded: append([]surface.Excluded{}, s.Excluded...), ChangesByItself: append([]string{}, s.ByItself...),
	}
	if d.Capabilities == nil {
		d.Capabilities = json.RawMessage("null")
	}
	for _, name := range s.ToolOrder {
		if it, ok := s.Tool(name); ok {
			d.Tools = append(d.Tools, DiscoveredTool{Name: name, Digest: it.Digest, Definition: it.Definition})
		}
	}
	return d
}

// Text prints the offer: identity, instructions, and every tool with its description and arguments.
func (d Discovered) Text(w io.Writer, o Options) error {
	p := &printer{o: o}
	p.flow("", 2, "", span{bold, esc(d.Endpoint)})
	p.row("protocol", span{text: esc(d.Protocol)})
	if d.Identity != nil {
		p.row("identity", span{text: esc(d.Identity.Name + " " + d.Identity.Version)})
	}
	p.row("capabilities", span{text: esc(string(d.Capabilities))})
	if d.Instructions != nil {
		p.row("instructions", span{text: quoteText(*d.Instructions)})
	}
	if len(d.ChangesByItself) > 0 {
		p.row("changes by itself", span{text: list(d.ChangesByItself)})
	}
	for _, t := range d.Tools {
		p.blank()
		p.flow("  ", 4, p.digest(t.Digest), span{bold, esc(t.Name)})
		p.definition(strictjson.Value(t.Definition))
	}
	for _, x := range d.Excluded {
		p.blank()
		p.flow("  ", 4, "", span{text: "not usable: " + diag.Quote(x.Name, 0) + ": " + ownText(x.Reason)})
	}
	p.blank()
	p.flow("", 0, "", span{text: plural(len(d.Tools), "tool") + ", nothing of it is pinned."})
	return p.writeTo(w)
}

// Block is the part of a server block that the server itself does not know. Either URL or Command is set.
type Block struct {
	Label        string
	URL          string
	AllowPrivate bool
	CAFile       string // as a catalog names it
	Pins         []string
	Command      string
	Args         []string
}

// HCL prints a server block that declares every offered tool. Names that a catalog cannot hold as they are come as
// comments with the reason.
func (d Discovered) HCL(w io.Writer, b Block) error {
	var out strings.Builder
	fmt.Fprintf(&out, "server %s {\n", addr.Quote(b.Label))
	if b.URL != "" {
		fmt.Fprintf(&out, "  http {\n    url = %s\n", addr.Quote(b.URL))
		if b.AllowPrivate {
			out.WriteString("\n    egress {\n      allow_private = true\n    }\n")
		}
		b.tls(&out)
		out.WriteString("  }\n")
	} else {
		fmt.Fprintf(&out, "  stdio {\n    command = %s\n", addr.Quote(b.Command))
		if len(b.Args) > 0 {
			args := make([]string, len(b.Args))
			for i, a := range b.Args {
				args[i] = addr.Quote(a)
			}
			fmt.Fprintf(&out, "    args    = [%s]\n", strings.Join(args, ", "))
		}
		out.WriteString("  }\n")
	}
	out.WriteString("\n  tools = [\n")
	names := make([]string, 0, len(d.Tools))
	for _, t := range d.Tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	for _, name := range names {
		if why := undeclarable(name); why != "" {
			fmt.Fprintf(&out, "    # left out, %s: %s\n", why, diag.Quote(name, 0))
			continue
		}
		fmt.Fprintf(&out, "    %s,\n", addr.Quote(name))
	}
	for _, x := range d.Excluded {
		fmt.Fprintf(&out, "    # not usable, %s: %s\n", ownText(strings.ReplaceAll(x.Reason, "\n", " ")), diag.Quote(x.Name, 0))
	}
	out.WriteString("  ]\n}\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// tls prints the tls block if there is anything to say in it.
func (b *Block) tls(out *strings.Builder) {
	if b.CAFile == "" && len(b.Pins) == 0 {
		return
	}
	out.WriteString("\n    tls {\n")
	if b.CAFile != "" {
		pad := ""
		if len(b.Pins) > 0 {
			pad = "   "
		}
		fmt.Fprintf(out, "      ca_file%s = %s\n", pad, addr.Quote(b.CAFile))
	}
	if len(b.Pins) > 0 {
		pins := make([]string, len(b.Pins))
		for i, p := range b.Pins {
			pins[i] = addr.Quote(p)
		}
		fmt.Fprintf(out, "      pin_sha256 = [%s]\n", strings.Join(pins, ", "))
	}
	out.WriteString("    }\n")
}

// undeclarable says why a name cannot stand in a catalog, empty if it can.
func undeclarable(name string) string {
	if _, _, hidden := diag.Concealed(name); hidden || strings.ContainsAny(name, "\n\t") {
		return "it holds characters that cannot be seen"
	}
	if len(name) > addr.MaxNameBytes {
		return fmt.Sprintf("it has more than %d bytes", addr.MaxNameBytes)
	}
	return ""
}
