package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// addNumbers calls a tool with two numbers.
func addNumbers(ctx context.Context, url string) error {
	return with(ctx, url, func(client *mcp.Client) error {
		return callNamed(ctx, client, "add_numbers", jsontext.Value(`{"a":5,"b":3}`))
	})
}

// lookAround asks what the server is, and which tools it has if it has any.
func lookAround(ctx context.Context, url string) error {
	return with(ctx, url, func(client *mcp.Client) error {
		discovery, err := client.Discover(ctx)
		if err != nil || discovery.Capabilities.Tools == nil {
			return err
		}
		list, err := client.SnapshotTools(ctx)
		if err != nil {
			return err
		}
		for _, tool := range list.Tools {
			// Compiles the schema. One with a reference to elsewhere cannot be used, and nothing may be fetched for it.
			var unusable *mcp.SchemaError
			if err := tool.CheckArguments(nil); err != nil && !errors.As(err, &unusable) {
				return err
			}
		}
		return nil
	})
}

// answerRounds calls every tool and answers what it asks for. One of them answers without resultType, which the library reports
// as what it is, a broken protocol; this host lets it be and goes on.
func answerRounds(ctx context.Context, url string) error {
	return with(ctx, url, func(client *mcp.Client) error {
		for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state"} {
			if err := callNamed(ctx, client, name, jsontext.Value(`{}`)); err != nil {
				return err
			}
		}
		var broken *mcp.ProtocolError
		if err := callNamed(ctx, client, "test_mrtr_no_result_type", jsontext.Value(`{}`)); !errors.As(err, &broken) {
			return fmt.Errorf("a result without resultType: got %v, want a *ProtocolError", err)
		}
		return nil
	})
}

// callFromContext makes the calls that the suite gives in MCP_CONFORMANCE_CONTEXT, byte for byte. One of them does not conform
// to the tool's inputSchema; that is for the server to judge.
func callFromContext(ctx context.Context, url string) error {
	var given struct {
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given); err != nil {
		return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	if len(given.ToolCalls) == 0 {
		return errors.New("MCP_CONFORMANCE_CONTEXT has no toolCalls")
	}
	return with(ctx, url, func(client *mcp.Client) error {
		for _, c := range given.ToolCalls {
			if err := callNamed(ctx, client, c.Name, jsontext.Value(c.Arguments)); err != nil {
				return err
			}
		}
		return nil
	})
}

// callWhatIsListed calls every tool that the library has not excluded for its header annotations.
func callWhatIsListed(ctx context.Context, url string) error {
	return with(ctx, url, func(client *mcp.Client) error {
		tools, err := client.SnapshotTools(ctx)
		if err != nil {
			return err
		}
		for _, tool := range tools.Tools {
			if _, err := call(ctx, client, tool, jsontext.Value(`{"region":"us-east1"}`)); err != nil {
				return err
			}
		}
		return nil
	})
}

// echoSchema gives the server's schema back to it.
func echoSchema(ctx context.Context, url string) error {
	return with(ctx, url, func(client *mcp.Client) error {
		tools, err := client.SnapshotTools(ctx)
		if err != nil {
			return err
		}
		focal := tools.Tool("json_schema_2020_12_tool")
		if focal == nil {
			return errors.New("tool json_schema_2020_12_tool is not listed")
		}
		return callNamed(ctx, client, "json_schema_echo", jsontext.Value(`{"schema":`+string(focal.InputSchema)+`}`))
	})
}

// useOneOfEach lists tools, resources and prompts, and uses each of them.
func useOneOfEach(ctx context.Context, url string) error {
	return with(ctx, url, func(client *mcp.Client) error {
		tools, err := client.SnapshotTools(ctx)
		if err != nil {
			return err
		}
		for _, tool := range tools.Tools {
			if _, err := call(ctx, client, tool, jsontext.Value(`{}`)); err != nil {
				return err
			}
		}
		resources, err := client.SnapshotResources(ctx)
		if err != nil {
			return err
		}
		for _, resource := range resources.Resources {
			if _, err := client.ReadResource(ctx, &mcp.ReadResourceParams{URI: resource.URI}); err != nil {
				return err
			}
		}
		prompts, err := client.SnapshotPrompts(ctx)
		if err != nil {
			return err
		}
		for _, prompt := range prompts.Prompts {
			if _, err := client.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompt.Name}); err != nil {
				return err
			}
		}
		return nil
	})
}

// callNamed calls a tool by the definition that the server lists now.
func callNamed(ctx context.Context, client *mcp.Client, name string, arguments jsontext.Value) error {
	tools, err := client.SnapshotTools(ctx)
	if err != nil {
		return err
	}
	tool := tools.Tool(name)
	if tool == nil {
		return fmt.Errorf("tool %q is not listed", name)
	}
	result, err := call(ctx, client, tool, arguments)
	if err != nil {
		return err
	}
	return result.Err()
}
