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
