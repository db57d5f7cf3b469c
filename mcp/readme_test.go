package mcp_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// connectBlock is the first code block of the client's contract, as it stands there.
func connectBlock(ctx context.Context) error {
	transport := mcp.NewStdioTransport("my-mcp-server", nil)
	// or: transport := mcp.NewStreamableHTTPTransport("https://example.com/mcp")

	client, err := mcp.Connect(ctx, transport)
	if err != nil {
		return err
	}
	defer client.Close()

	return nil
}

// httpBlock is the same with the other line.
func httpBlock(ctx context.Context) error {
	transport := mcp.NewStreamableHTTPTransport("https://example.com/mcp")

	client, err := mcp.Connect(ctx, transport)
	if err != nil {
		return err
	}
	defer client.Close()

	return nil
}

// registryBlock is the second code block of the contract, with the package's name changed.
func registryBlock(ctx context.Context, client *mcp.Client) (*mcp.Registry, error) {
	builder := mcp.NewRegistryBuilder()
	for proxy, err := range client.GetTools(ctx) {
		if err != nil {
			return nil, err
		}
		builder.Add(proxy)
	}
	registry, err := builder.Build()
	return registry, err
}

func TestContractBlocks(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := connectBlock(t.Context())
	var te *mcp.TransportError
	if !errors.As(err, &te) || te.Op != "start" {
		t.Errorf("a command that does not exist: %v, want a *TransportError of op start", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := httpBlock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v, want its error", err)
	}
	list := `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"b","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]}`
	p := mcptest.Pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) { c.Result(r, list) }))
	client, err := mcp.Connect(t.Context(), mcp.NewIOTransport(p.R, p.W))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	registry, err := registryBlock(t.Context(), client)
	if err != nil || len(registry.Tools()) != 2 || registry.Tools()[0].Manifest().Name != "b" || registry.Tool("a") == nil || registry.Tool("A") != nil {
		t.Errorf("registry = %+v, %v", registry, err)
	}
}

func TestMinimalEnvironmentOfChildren(t *testing.T) {
	t.Setenv("HARBOUR_SECRET", "x")
	for _, entry := range mcp.MinimalEnv() {
		if entry == "HARBOUR_SECRET=x" {
			t.Error("MinimalEnv holds a variable that is not in its list")
		}
	}
	if len(mcp.MinimalEnv()) == 0 && os.Getenv("PATH") != "" {
		t.Error("MinimalEnv is empty")
	}
}
