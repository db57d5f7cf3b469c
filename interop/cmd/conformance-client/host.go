package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// maxRounds is how often this host answers a server that asks for input in one call.
const maxRounds = 16

// connect reaches the server. A server that refuses the revision and offers the same revision in one breath is asked once
// more, not in another way.
func connect(ctx context.Context, url string) (*mcp.Client, error) {
	transport := mcp.NewStreamableHTTPTransport(url)
	transport.AllowPrivate = true // the suite's servers are on this machine
	declared := mcp.WithCapabilities(mcp.ClientCapabilities{ElicitationForm: true})
	client, err := mcp.Connect(ctx, transport, declared)
	var refused *mcp.UnsupportedVersionError
	if errors.As(err, &refused) && slices.Contains(refused.Supported, mcp.ProtocolVersion) {
		client, err = mcp.Connect(ctx, transport, declared)
	}
	if err != nil {
		return nil, err
	}
	return client, nil
}

// with runs use on a connection to the server.
func with(ctx context.Context, url string, use func(*mcp.Client) error) error {
	client, err := connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(use(client), client.Close())
}

// call calls a tool and answers its rounds until it has a result.
func call(ctx context.Context, client *mcp.Client, tool *mcp.Tool, arguments jsontext.Value) (*mcp.CallToolResult, error) {
	params := &mcp.CallToolParams{Tool: tool, Arguments: arguments}
	for range maxRounds {
		round, err := client.CallTool(ctx, params)
		if err != nil {
			return nil, err
		}
		if round.InputRequired == nil {
			return round.Complete, nil
		}
		if params.Continue, err = answer(round.InputRequired); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("tool %q still asks for input after %d rounds", tool.Name, maxRounds)
}

// answer accepts every form of a round.
func answer(asked *mcp.InputRequired) (*mcp.Continuation, error) {
	responses := make(map[string]jsontext.Value, len(asked.Requests))
	for key, request := range asked.Requests {
		if request.Method != "elicitation/create" {
			return nil, fmt.Errorf("input request %q: %s was not declared", key, request.Method)
		}
		content, err := fill(request.Params)
		if err != nil {
			return nil, fmt.Errorf("input request %q: %w", key, err)
		}
		responses[key] = jsontext.Value(`{"action":"accept","content":` + string(content) + `}`)
	}
	return asked.Answer(responses)
}

// fill makes a value for each property of the form that an elicitation asks for.
func fill(params jsontext.Value) ([]byte, error) {
	var form struct {
		RequestedSchema struct {
			Properties map[string]struct{ Type string }
		}
	}
	if err := json.Unmarshal(params, &form); err != nil {
		return nil, err
	}
	content := map[string]any{}
	for name, property := range form.RequestedSchema.Properties {
		switch property.Type {
		case "boolean":
			content[name] = true
		case "integer", "number":
			content[name] = 1
		default:
			content[name] = "Marjatta"
		}
	}
	return json.Marshal(content)
}
