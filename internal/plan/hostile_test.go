package plan_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// TestAnyValueAnywhere replaces every value of a document by values of other kinds and seals it again. Whatever can still
// be read prints without a panic, and none of it can be applied, except for what no one can derive.
func TestAnyValueAnywhere(t *testing.T) {
	const hcl = harbourHCL + `
server "wiki" {
  http {
    url = "https://wiki.example/mcp"
  }
  tools = ["search"]
}

server "crm" {
  http {
    url = "https://crm.example/mcp"
  }
  tools = ["find"]
}
`
	cat, _ := load(t, hcl)
	tool := func(name string) []json.RawMessage {
		return []json.RawMessage{json.RawMessage(`{"name":"` + name + `"}`)}
	}
	then := harbour(berth, arrival)
	then["server.wiki"] = offer{Tools: tool("search")}
	then["server.crm"] = offer{Tools: tool("find")}
	base := pinned(t, cat, then)
	now := harbour(`{"name":"berth_status","title":"Other","description":"Says which berths are free, and more.","inputSchema":{"type":"object","properties":{"harbour":{"type":"string"},"limit":{"type":"integer","maximum":31}},"required":["limit"]}}`)
	now["server.wiki"] = offer{Status: surface.NotChecked, Failure: &surface.Failure{Code: "server.timeout", Message: "No answer."}}
	now["server.crm"] = offer{Status: surface.Refused, Failure: &surface.Failure{Code: "server.protocol_unsupported", Message: "Old.", Offered: []string{"2025-11-25"}, RPCCode: -32022}}
	src := encode(t, makePlan(t, cat, base, now))
	doc := strictjson.Value(src)

	others := []string{"null", `""`, `"x"`, "0", "-7", "1e300", "true", "[]", "[null]", "{}", `{"x":1}`, `"server.harbour"`, `"removed"`, `"deny"`}
	n, read, applied := 0, 0, 0
	replaceEach(doc, func(path string, with func(string) string) {
		for _, other := range others {
			n++
			edited := reseal(t, canonical(t, with(other)))
			if edited == string(src) {
				continue
			}
			p, err := plan.Decode([]byte(edited))
			if err != nil {
				continue
			}
			read++
			for _, o := range []view.Options{{Width: 60}, {Color: true, Full: true, ShowUnchanged: true}} {
				if err := view.Text(io.Discard, p, o); err != nil {
					t.Fatal(err)
				}
			}
			p.ExitCode(true)
			if _, err := p.Next(base, cat); err == nil && !observedOnly(path) {
				applied++
				t.Errorf("%s = %s can be applied", path, other)
			}
		}
	})
	if n < 1000 || read < 100 {
		t.Errorf("%d edits, of which %d could be read: the test has lost its point", n, read)
	}
}

// observedOnly names what a document says of its own: what servers were seen to answer beside definitions, and which
// program made it. It is bound by the plan digest alone.
func observedOnly(path string) bool {
	for _, p := range []string{
		"/mcpcat_version", "/servers/1/identity/after", "/servers/1/error/", "/servers/1/after/", "/servers/1/snapshots/",
		"/servers/0/error/", "/servers/2/error/",
	} {
		if len(path) >= len(p) && path[:len(p)] == p {
			return true
		}
	}
	return false
}

// replaceEach calls f for every value in v with a function that gives the document with that value replaced.
func replaceEach(v strictjson.Value, f func(path string, with func(string) string)) {
	var walk func(path string, v strictjson.Value, build func(string) string)
	walk = func(path string, v strictjson.Value, build func(string) string) {
		if path != "" {
			f(path, build)
		}
		type part struct {
			name string
			v    strictjson.Value
		}
		var parts []part
		open, end := "{", "}"
		for name, m := range v.Members() {
			parts = append(parts, part{name, m})
		}
		for e := range v.Elements() {
			open, end = "[", "]"
			parts = append(parts, part{"", e})
		}
		for i, p := range parts {
			name := p.name
			if open == "[" {
				name = string(rune('0' + i%10))
			}
			walk(path+"/"+name, p.v, func(other string) string {
				var b bytes.Buffer
				b.WriteString(open)
				for j, q := range parts {
					if j > 0 {
						b.WriteByte(',')
					}
					if open == "{" {
						b.Write(strictjson.AppendString(nil, q.name))
						b.WriteByte(':')
					}
					if i == j {
						b.WriteString(other)
					} else {
						b.Write(q.v)
					}
				}
				b.WriteString(end)
				return build(b.String())
			})
		}
	}
	walk("", v, func(s string) string { return s })
}

func canonical(t testing.TB, src string) string {
	t.Helper()
	b, err := strictjson.AppendCanonical(nil, []byte(src), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// FuzzDecode: what Decode accepts, Encode gives back byte for byte, and it prints.
func FuzzDecode(f *testing.F) {
	cat, _ := load(f, harbourHCL)
	f.Add(encode(f, makePlan(f, cat, nil, harbour(berth, arrival))))
	f.Add(encode(f, makePlan(f, cat, pinned(f, cat, harbour(berth, arrival)), harbour(berth))))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := plan.Decode(src)
		if err != nil {
			return
		}
		if got := encode(t, p); !bytes.Equal(got, bytes.TrimSuffix(src, []byte("\n"))) {
			t.Fatalf("Encode(Decode(%q)) = %q", src, got)
		}
		if err := view.Text(io.Discard, p, view.Options{}); err != nil {
			t.Fatal(err)
		}
	})
}
