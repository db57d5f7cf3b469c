//go:build unix

package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const harbourCatalog = `
server "harbour" {
  stdio {
    command = "harbour"
    args    = ["-release-file=harbour.release", "-calls=harbour.calls"]
  }
  tools = ["berth_status", "close_gate", "list_berths", "log_arrival", "tide_table"]
}

agent "clerk" {
  names = "plain"
  tools = [
    server.harbour.tool.close_gate,
    server.harbour.tool.list_berths,
    server.harbour.tool.log_arrival,
    server.harbour.tool.tide_table,
  ]
}
`

// harbourPlace has release 1 of the harbour office pinned.
func harbourPlace(t *testing.T, mcpcat string) *place {
	t.Helper()
	p := newPlace(t, harbourCatalog)
	p.mcpcat = mcpcat
	p.write(t, "harbour.release", "1")
	p.pin(t)
	return p
}

// received returns the calls that reached the harbour office, by its own record.
func received(t *testing.T, p *place) []string {
	t.Helper()
	var calls []string
	for _, line := range strings.Split(string(p.read(t, "harbour.calls")), "\n") {
		if line != "" && line != "start" {
			calls = append(calls, line)
		}
	}
	return calls
}

// The calls of the scenario: before the office changes its release each is allowed, after that only those of the
// unchanged tool are.
var (
	before = []toolCall{{"tide_table", `{"date":"2026-10-01"}`}, {"log_arrival", `{"berth":"A1","ship":"Aallotar"}`}, {"list_berths", `{}`}, {"close_gate", `{"reason":"storm"}`}}
	after  = []toolCall{{"tide_table", `{"date":"2026-10-02"}`}, {"log_arrival", `{"berth":"A1","ship":"Aino"}`}, {"list_berths", `{}`}, {"close_gate", `{"reason":"flood"}`}}
)

type toolCall struct{ tool, args string }

func (c toolCall) String() string { return c.tool + " " + c.args }

// scenario makes the calls before and after the switch, each with call, and returns what is wrong with the record of
// the office and with the answers: nothing for a gate that works.
func scenario(t *testing.T, p *place, call func(toolCall) (refused bool)) []string {
	t.Helper()
	var faults, allowed []string
	for _, c := range before {
		if call(c) {
			faults = append(faults, fmt.Sprintf("%v was refused before the switch", c))
		}
		allowed = append(allowed, c.String())
	}
	p.write(t, "harbour.release", "2")
	for _, c := range after {
		unchanged := c.tool == "list_berths"
		if refused := call(c); refused == unchanged {
			faults = append(faults, fmt.Sprintf("%v after the switch: refused is %v, want %v", c, refused, !unchanged))
		}
		if unchanged {
			allowed = append(allowed, c.String())
		}
	}
	if got := received(t, p); !slices.Equal(got, allowed) {
		faults = append(faults, fmt.Sprintf("the office received %q, want exactly the allowed calls %q", got, allowed))
	}
	return faults
}

// doors are the two ways to the gate.
var doors = []struct {
	name string
	run  func(t *testing.T, mcpcat string) (faults []string)
}{
	{"call", func(t *testing.T, mcpcat string) []string {
		p := harbourPlace(t, mcpcat)
		return scenario(t, p, func(c toolCall) bool {
			o := p.run(t, "call", "server.harbour.tool."+c.tool, c.args)
			if o.exit != 0 && o.exit != 3 {
				t.Fatalf("want exit status 0 or 3: %v", o)
			}
			return o.exit == 3
		})
	}},
	{"serve-stdio", func(t *testing.T, mcpcat string) []string {
		p := harbourPlace(t, mcpcat)
		return throughServe(t, p, serveStdio(t, p, "clerk"))
	}},
	{"serve-http", func(t *testing.T, mcpcat string) []string {
		p := harbourPlace(t, mcpcat)
		return throughServe(t, p, serveListen(t, p, "clerk"))
	}},
}

func throughServe(t *testing.T, p *place, s served) []string {
	t.Helper()
	faults := scenario(t, p, func(c toolCall) bool {
		_, err := s.session.CallTool(within(t), &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.args)})
		if err == nil {
			return false
		}
		var refusal *jsonrpc.Error
		if !errors.As(err, &refusal) {
			t.Fatalf("%v: %v", c, err)
		}
		if refusal.Code == 1403 {
			var data struct{ Reason, Address string }
			if err := json.Unmarshal(refusal.Data, &data); err != nil {
				t.Fatalf("%v: %v in %q", c, err, refusal.Data)
			}
			want := "drift"
			if c.tool == "close_gate" {
				want = "missing"
			}
			if data.Reason != want || data.Address != "server.harbour.tool."+c.tool {
				t.Errorf("%v: refusal says %s, want reason %q", c, refusal.Data, want)
			}
			return true
		}
		// A call that the gate let through may still be refused by the office itself.
		return false
	})
	s.stop()
	return faults
}

// TestAllowedCalls asks the office itself which calls reached it.
func TestAllowedCalls(t *testing.T) {
	t.Parallel()
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			for _, fault := range d.run(t, program("mcpcat")) {
				t.Error(fault)
			}
		})
	}
}

// TestAllowedCallsNoticesABlindGate runs the scenario on a build whose gate takes every definition for the pinned one:
// it must find faults, or it would prove nothing above.
func TestAllowedCallsNoticesABlindGate(t *testing.T) {
	t.Parallel()
	blind := buildBlind(t)
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			faults := strings.Join(d.run(t, blind), "\n")
			for _, want := range []string{"tide_table", "log_arrival", "the office received"} {
				if !strings.Contains(faults, want) {
					t.Errorf("faults are %q, want one about %q", faults, want)
				}
			}
		})
	}
}

// rpcCode is the code of a JSON-RPC error, 0 if there is none.
func rpcCode(_ *mcp.CallToolResult, err error) int64 {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// buildBlind builds mcpcat with another text in the one function of the gate that compares definitions.
func buildBlind(t *testing.T) string {
	t.Helper()
	const pinned, passes = "case s.digest != pinned:", "case false:"
	source, err := filepath.Abs(filepath.Join("..", "gate", "decide.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), pinned); n != 1 {
		t.Fatalf("%s holds %q %d times, want once", source, pinned, n)
	}
	dir := t.TempDir()
	mutant := filepath.Join(dir, "decide.go")
	if err := os.WriteFile(mutant, []byte(strings.Replace(string(text), pinned, passes, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "mcpcat")
	if err := build("..", "-overlay="+file, "-o", out, "./cmd/mcpcat"); err != nil {
		t.Fatal(err)
	}
	return out
}
