//go:build unix

package interop

import (
	"fmt"
	"strings"
	"testing"
)

// contentKinds are tools of the SDK's everything server, one for each kind of content and outcome. Their results do not
// depend on who asks or how often.
var contentKinds = []struct {
	tool, args string
	holds      string // a text of the result, so that an empty answer cannot pass
}{
	{"test_simple_text", `{}`, `"type":"text"`},
	{"test_image_content", `{}`, `"type":"image"`},
	{"test_audio_content", `{}`, `"type":"audio"`},
	{"test_embedded_resource", `{}`, `"type":"resource"`},
	{"test_multiple_content_types", `{}`, `"type":"image"`},
	{"test_error_handling", `{}`, `"isError":true`},
	{"test_tool_with_logging", `{}`, `executed successfully`},
	{"json_schema_2020_12_tool", `{"name":"Marjatta","contactMethod":"email","email":"m@example.com"}`, `"type":"text"`},
	{"test_x_mcp_header", `{"region":"eu-nörd","level":3}`, `"type":"text"`},
}

// everythingCatalog declares the tools above on one server, and an agent that sees them by their own names.
func everythingCatalog(server string) string {
	var tools, refs []string
	for _, k := range contentKinds {
		tools = append(tools, fmt.Sprintf("%q", k.tool))
		refs = append(refs, "server.everything.tool."+k.tool)
	}
	return fmt.Sprintf(`
server "everything" {
  %s
  tools = [%s]
}

agent "suite" {
  names = "plain"
  tools = [%s]
}
`, server, strings.Join(tools, ", "), strings.Join(refs, ", "))
}

const everythingStdio = `stdio {
    command = "everything-server"
  }`

func everythingAt(url string) string {
	return fmt.Sprintf(`http {
    url = %q
    egress {
      allow_private = true
    }
  }`, url)
}

// TestEverythingServer takes the SDK's everything server through plan, apply, plan, verify, and calls each kind of
// content: the result that mcpcat hands out has the bytes that the reference client gets from the same server.
func TestEverythingServer(t *testing.T) {
	t.Parallel()
	url := everythingHTTP(t)
	for _, c := range []struct {
		transport, block string
	}{
		{"stdio", everythingStdio},
		{"http", everythingAt(url)},
	} {
		t.Run(c.transport, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, everythingCatalog(c.block))
			o := p.must(t, 0, "plan", "-contact=all", "-out=first.mcpplan")
			if want := fmt.Sprintf("Plan: %d to add", len(contentKinds)); !strings.Contains(o.stdout, want) {
				t.Fatalf("want %q: %v", want, o)
			}
			p.must(t, 0, "apply", "first.mcpplan")
			if o := p.must(t, 0, "plan", "-detailed-exitcode"); !strings.Contains(o.stdout, "No changes.") {
				t.Fatal(o)
			}
			p.must(t, 0, "verify")

			for _, k := range contentKinds {
				// Over stdio the reference client needs no Mcp-Param header, and the server answers the same.
				want := ask(t, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, k.tool, k.args), program("everything-server"))
				if !strings.Contains(string(want), k.holds) {
					t.Fatalf("%s: the server's own result is %s, want %s in it", k.tool, want, k.holds)
				}
				exit := 0
				if k.tool == "test_error_handling" {
					exit = 1 // the tool reports an error; its result is printed all the same
				}
				got := called(t, p.must(t, exit, "call", "server.everything.tool."+k.tool, k.args))
				if string(got) != string(want) {
					t.Errorf("%s: mcpcat call gives\n%s\nwant the server's bytes\n%s", k.tool, got, want)
				}
			}
		})
	}
}

// TestStructuredContent calls tools of the harbour office whose results have structured content, text, or an error of the
// tool's own, and compares the bytes in the same way.
func TestStructuredContent(t *testing.T) {
	t.Parallel()
	url := serveHTTP(t, "harbour", "-http=127.0.0.1:0")
	for _, c := range []struct {
		transport, block string
		server           []string
	}{
		{"stdio", "stdio {\n    command = \"harbour\"\n  }", []string{program("harbour")}},
		{"http", everythingAt(url), []string{url}},
	} {
		t.Run(c.transport, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, fmt.Sprintf("server \"harbour\" {\n  %s\n  tools = [\"list_berths\", \"log_arrival\", \"tide_table\"]\n}\n", c.block))
			p.pin(t)
			for _, k := range []struct {
				tool, args, holds string
				exit              int
			}{
				{"list_berths", `{}`, `"structuredContent":{"berths":[`, 0},
				{"tide_table", `{"date":"2026-10-01"}`, `high 2.9 m`, 0},
				{"log_arrival", `{"ship":"Aino","berth":"A2"}`, `"isError":true`, 1},
			} {
				want := ask(t, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, k.tool, k.args), c.server...)
				if !strings.Contains(string(want), k.holds) {
					t.Fatalf("%s: the server's own result is %s, want %s in it", k.tool, want, k.holds)
				}
				if got := called(t, p.must(t, k.exit, "call", "server.harbour.tool."+k.tool, k.args)); string(got) != string(want) {
					t.Errorf("%s: mcpcat call gives\n%s\nwant the server's bytes\n%s", k.tool, got, want)
				}
			}
		})
	}
}

// called is the result in the output of mcpcat call.
func called(t *testing.T, o outcome) []byte {
	t.Helper()
	return []byte(strings.TrimSuffix(o.stdout, "\n"))
}
