package harbour

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestReleases holds what the package comment says of the two releases, through a running office whose release file
// changes.
func TestReleases(t *testing.T) {
	file := filepath.Join(t.TempDir(), "release")
	write(t, file, "1\n")
	var record []string
	server, err := New(Options{ReleaseFile: file, Record: func(line string) { record = append(record, line) }})
	if err != nil {
		t.Fatal(err)
	}
	session := connect(t, server)
	one := list(t, session)
	write(t, file, "2\n")
	two := list(t, session)

	if got, want := names(one), []string{"berth_status", "close_gate", "list_berths", "log_arrival", "tide_table"}; !slices.Equal(got, want) {
		t.Errorf("release 1 has %v, want %v", got, want)
	}
	if got, want := names(two), []string{"berth_status", "list_berths", "log_arrival", "tide_table"}; !slices.Equal(got, want) {
		t.Errorf("release 2 has %v, want %v", got, want)
	}
	for _, name := range []string{"berth_status", "list_berths"} {
		if !reflect.DeepEqual(one[name], two[name]) {
			t.Errorf("%s differs between the releases", name)
		}
	}
	if a, b := one["tide_table"], two["tide_table"]; a.Description == b.Description || !reflect.DeepEqual(a.InputSchema, b.InputSchema) {
		t.Errorf("tide_table: want another description and the same input")
	}
	if a, b := one["log_arrival"], two["log_arrival"]; a.Description != b.Description || reflect.DeepEqual(a.InputSchema, b.InputSchema) {
		t.Errorf("log_arrival: want the same description and another input")
	}

	ctx := t.Context()
	write(t, file, "1")
	calls := []struct {
		name string
		args any
	}{
		{"tide_table", map[string]any{"date": "2026-10-01"}},
		{"log_arrival", map[string]any{"ship": "Marjatta", "berth": "A2"}}, // taken: an error result
	}
	for _, c := range calls {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.name, Arguments: c.args})
		if err != nil {
			t.Fatal(err)
		}
		if res.IsError != (c.name == "log_arrival") {
			t.Errorf("%s: isError is %v", c.name, res.IsError)
		}
	}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "no_such_tool"}); err == nil {
		t.Error("no_such_tool was answered")
	}
	want := []string{
		`tide_table {"date":"2026-10-01"}`,
		`log_arrival {"berth":"A2","ship":"Marjatta"}`,
		`no_such_tool {}`, // the SDK's client sends {} for absent arguments
	}
	if !slices.Equal(record, want) {
		t.Errorf("record is %q, want %q", record, want)
	}
}

func TestReleaseIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "release")
	write(t, file, "3")
	for _, o := range []Options{{}, {Release: 3}, {ReleaseFile: file}, {ReleaseFile: file + ".absent", Release: 1}} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v) succeeded", o)
		}
	}
}

func connect(t *testing.T, server *mcp.Server) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	if _, err := server.Connect(ctx, there, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func list(t *testing.T, session *mcp.ClientSession) map[string]*mcp.Tool {
	t.Helper()
	tools := map[string]*mcp.Tool{}
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = tool
	}
	return tools
}

func names(tools map[string]*mcp.Tool) []string {
	var out []string
	for name := range tools {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
