//go:build unix

package client

import (
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// TestGoSDKMemory uses a server whose tools have output schemas and whose state outlives a call. It says that its version is "".
func TestGoSDKMemory(t *testing.T) {
	t.Parallel()
	each(t, goSDK(t, "memory"), func(t *testing.T, p peer) {
		if p.name == "http" {
			olderOnly(t, p)
			return
		}
		client := p.connect(t)
		if info := client.Discovery().ServerInfo; info == nil || info.Name != "memory" || info.Version != "" {
			t.Errorf("got server info %+v", info)
		}
		d := newDesk(t, client)
		sameNames(t, "tools", names(d.tools.Tools), strings.Fields(`add_observations create_entities create_relations
			delete_entities delete_observations delete_relations open_nodes read_graph search_nodes`))
		typed := slices.DeleteFunc(slices.Clone(d.tools.Tools), func(tool *mcp.Tool) bool { return tool.OutputSchema == nil })
		if len(typed) != 7 {
			t.Errorf("%d tools have an outputSchema, want 7: %q", len(typed), names(typed))
		}

		type graph struct {
			Entities []struct {
				Name         string   `json:"name"`
				EntityType   string   `json:"entityType"`
				Observations []string `json:"observations"`
			} `json:"entities"`
			Relations []struct{ From, To, RelationType string } `json:"relations"`
		}
		read := func(tool, arguments string) graph {
			t.Helper()
			var g graph
			if err := json.Unmarshal(d.call(t, tool, arguments).StructuredContent, &g); err != nil {
				t.Fatal(err)
			}
			return g
		}
		if g := read("read_graph", ""); len(g.Entities) != 0 {
			t.Errorf("got %+v before anything was stored", g)
		}
		d.call(t, "create_entities", `{"entities":[{"name":"Aura","entityType":"quay","observations":["ät the \u2028 river"]}, {"name":"Korppoo","entityType":"quay","observations":[]}]}`)
		d.call(t, "create_relations", `{"relations":[{"from":"Aura","to":"Korppoo","relationType":"ferry"}]}`)
		g := read("open_nodes", `{"names":["Aura","Korppoo"]}`)
		if len(g.Entities) != 2 || g.Entities[0].Observations[0] != "ät the \u2028 river" || len(g.Relations) != 1 || g.Relations[0].To != "Korppoo" {
			t.Errorf("got %+v", g)
		}
		if g := read("search_nodes", `{"query":"Aura"}`); len(g.Entities) != 1 || g.Entities[0].EntityType != "quay" {
			t.Errorf("got %+v", g)
		}
		d.fails(t, "add_observations", `{"observations":[{"entityName":"Nauvo","contents":["x"]}]}`, "Nauvo")
	})
}

// TestGoSDKToolSchemas uses tools whose names have blanks. The program serves stdio alone.
func TestGoSDKToolSchemas(t *testing.T) {
	t.Parallel()
	client := overStdio(program("go-sdk/toolschemas")).connect(t)
	d := newDesk(t, client)
	sameNames(t, "tools", names(d.tools.Tools), []string{
		"customized greeting 1", "customized greeting 2", "manual greeting", "simple greeting", "unvalidated greeting",
	})
	for _, tool := range d.tools.Tools {
		if untyped := tool.Name == "unvalidated greeting"; untyped != (tool.OutputSchema == nil) {
			t.Errorf("%s has outputSchema %s", tool.Name, tool.OutputSchema)
		}
	}
	for _, tool := range []string{"customized greeting 1", "customized greeting 2", "manual greeting", "simple greeting"} {
		result := d.call(t, tool, `{"name":"Aino"}`)
		if got, want := string(result.StructuredContent), `{"greeting":"Hi Aino"}`; got != want {
			t.Errorf("%s: got %s, want %s", tool, got, want)
		}
	}
	if got := d.text(t, "unvalidated greeting", `{"user":"Aino"}`); got != "Hi Aino" {
		t.Errorf("unvalidated greeting: got %q", got)
	}
	// What does not conform to inputSchema is sent all the same; the server judges it.
	for _, tool := range []string{"customized greeting 1", "customized greeting 2", "manual greeting"} {
		d.fails(t, tool, `{"name":"much too long for it"}`, "maxLength")
	}

	// A definition with another outputSchema than the server has now is what its result is held against.
	pinned := strings.Replace(string(d.tool(t, "simple greeting").Raw()), `"type":"string"`, `"type":"string","maxLength":3`, -1)
	tool, err := mcp.ParseTool([]byte(pinned))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CallTool(within(t), &mcp.CallToolParams{Tool: tool, Arguments: jsontext.Value(`{"name":"Aino"}`)})
	var broken *mcp.SchemaError
	if !errors.As(err, &broken) || broken.Path != "/greeting" || broken.Keyword != "maxLength" || !broken.Delivered {
		t.Errorf("a result that does not conform to the definition given: got %v, want a *SchemaError at /greeting", err)
	}
}

// TestGoSDKExample uses the SDK's example of everything: icons with data: URIs, resource links, names with parentheses, and
// tools that ask the client in the ways of earlier revisions.
func TestGoSDKExample(t *testing.T) {
	t.Parallel()
	each(t, goSDK(t, "everything"), func(t *testing.T, p peer) {
		if p.name == "http" {
			olderOnly(t, p)
			return
		}
		client := p.connect(t, mcp.WithCapabilities(declared))
		discovery := client.Discovery()
		if discovery.Instructions == nil || *discovery.Instructions != "Use this server!" {
			t.Errorf("got instructions %v", discovery.Instructions)
		}
		if info := discovery.ServerInfo; info == nil || len(info.Icons) != 1 || !strings.HasPrefix(info.Icons[0].Src, "data:image/png;base64,") {
			t.Errorf("got server info %+v, want an icon with a data: URI", info)
		}
		d := newDesk(t, client)
		icons := d.tool(t, "greet (with Icons)").Icons
		if len(icons) != 1 || icons[0].Theme == nil || *icons[0].Theme != "light" || len(icons[0].Sizes) != 1 {
			t.Errorf("got icons %+v", icons)
		}
		if got, want := string(d.call(t, "greet (structured)", `{"name":"Aino"}`).StructuredContent), `{"message":"Hi Aino"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		link := only[*mcp.ResourceLink](t, d.call(t, "greet (content with ResourceLink)", `{"name":"Äinö"}`))
		if link.URI != "data:text/plain,Hi%20%C3%84in%C3%B6" || link.Title == nil || len(link.Icons) != 1 {
			t.Errorf("got %s", link.Raw())
		}
		for _, tool := range []string{"roots", "sample", "elicit (form)"} {
			d.fails(t, tool, "", "failed")
		}
		var logs []string
		d.result(t, "log", "", mcp.RequestMeta{LogLevel: mcp.LogError, OnLog: func(m mcp.LogMessage) { logs = append(logs, string(m.Raw())) }})
		if len(logs) != 1 || !strings.Contains(logs[0], "something happened!") {
			t.Errorf("got log messages %q", logs)
		}

		// A request of the server's own is no part of the revision. On stdio it ends the connection.
		_, err := d.round(t, within(t), "ping", "", mcp.RequestMeta{})
		var lost *mcp.TransportError
		var broken *mcp.ProtocolError
		if !errors.As(err, &lost) || !lost.Delivered || !errors.As(err, &broken) {
			t.Errorf("ping: got %T %v, want a *TransportError for a broken protocol", err, err)
		}
		<-client.Done()
		if client.Err() == nil {
			t.Error("ping: the client has ended without an error")
		}
	})
}

// TestGoSDKStateful meets a server that answers a discovery with a valid result that does not offer the revision.
func TestGoSDKStateful(t *testing.T) {
	t.Parallel()
	addr := atPort(t, func(addr string) *exec.Cmd {
		return exec.Command(program("go-sdk/everything-server"), "-http="+addr, "-stateless=false")
	})
	olderOnly(t, overHTTP("http://"+addr))
}

// olderOnly wants the server to be recognised as one that speaks older revisions: over HTTP, servers of the Go SDK that keep
// sessions, as its examples do, answer a discovery with those.
func olderOnly(t *testing.T, p peer) {
	t.Helper()
	_, err := mcp.Connect(within(t), p.transport(t))
	var legacy *mcp.LegacyServerError
	if !errors.As(err, &legacy) || !slices.Equal(legacy.Versions, []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
		t.Errorf("got %v, want a *LegacyServerError with four versions", err)
	}
}
