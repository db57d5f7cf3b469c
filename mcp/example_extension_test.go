package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// tideSettings are the settings of an extension of this example.
type tideSettings struct {
	Datum string `json:"datum"`
}

// tideCodec reads and writes them.
type tideCodec struct{}

func (tideCodec) Decode(v jsontext.Value) (tideSettings, error) {
	var s tideSettings
	err := json.Unmarshal(v, &s)
	return s, err
}

func (tideCodec) Encode(s tideSettings) (jsontext.Value, error) { return json.Marshal(s) }

func ExampleRegisterExtension() {
	registry := mcp.NewExtensionRegistry()
	tides, err := mcp.RegisterExtension(registry, "com.example/tides", tideCodec{})
	if err != nil {
		log.Fatal(err)
	}
	// To register it advertises nothing; that is said for itself.
	var capabilities mcp.ClientCapabilities
	if err := tides.Advertise(&capabilities, tideSettings{Datum: "MSL"}); err != nil {
		log.Fatal(err)
	}
	client, err := mcp.Connect(context.Background(), harbour(), mcp.WithExtensions(registry), mcp.WithCapabilities(capabilities))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	_, declared, err := tides.FromServer(client.Discovery())
	fmt.Println(string(capabilities.Extensions["com.example/tides"]), declared, err)
	// Output: {"datum":"MSL"} false <nil>
}

func ExampleNewRegistryBuilder() {
	ctx := context.Background()
	client, err := mcp.Connect(ctx, harbour())
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	builder := mcp.NewRegistryBuilder()
	for proxy, err := range client.GetTools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		builder.Add(proxy)
	}
	registry, err := builder.Build() // a name that comes twice is refused
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range registry.Tools() {
		m := tool.Manifest()
		fmt.Println(m.Name, string(m.Parameters))
	}
	result, err := registry.Tool("tide_table").Execute(ctx, jsontext.Value(`{"harbour":"north"}`))
	if err != nil {
		log.Fatal(err) // a *mcp.ToolError if the tool itself failed
	}
	fmt.Println(len(result.Content), "block")
	// Output:
	// tide_table {"type":"object"}
	// log_arrival {"type":"object"}
	// 1 block
}

func ExampleInputRequired_Answer() {
	asked := &mcp.InputRequired{ // as it comes from a round
		Requests: map[string]mcp.InputRequest{"login": {
			Method: "elicitation/create",
			Params: jsontext.Value(`{"message":"Which berth?","requestedSchema":{"type":"object","required":["berth"],` +
				`"properties":{"berth":{"type":"integer","minimum":1,"maximum":9}}}}`),
		}},
		State: jsontext.Value(`"opaque"`),
	}
	for _, berth := range []string{"12", "3"} {
		continuation, err := asked.Answer(map[string]jsontext.Value{
			"login": jsontext.Value(`{"action":"accept","content":{"berth":` + berth + `}}`),
		})
		fmt.Println(continuation != nil, err) // the next CallToolParams.Continue
	}
	// Output:
	// false answer: response to "login": /content/berth: is more than the form's maximum
	// true <nil>
}
