package cli_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// logged reads a log of JSON lines.
func logged(t *testing.T, text string) []map[string]any {
	t.Helper()
	var records []map[string]any
	for line := range strings.Lines(text) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("not a record: %q: %v", line, err)
		}
		records = append(records, r)
	}
	return records
}

// is reports whether a record has all these members.
func is(r map[string]any, members map[string]any) bool {
	for name, v := range members {
		if r[name] != v {
			return false
		}
	}
	return true
}

func has(records []map[string]any, members map[string]any) bool {
	return slices.ContainsFunc(records, func(r map[string]any) bool { return is(r, members) })
}

// TestTrace runs every command that speaks with servers with a trace, over HTTP and stdio: each message is a record in
// both directions, each line of a JSON log is one, standard output has the same as ever, and no secret is in any of it.
func TestTrace(t *testing.T) {
	c := newCanaries(t, canaryPlaces)
	p := newCanaryPlace(t, c)
	office := newEchoOrigin(t, nil)
	record := filepath.Join(t.TempDir(), "record")
	mode := p.file("mode.said", "")
	p.catalog(map[string]string{"office": officeBlock(office.URL), "depot": depotBlock(mode, record)})
	p.pinned()
	trace := []string{"-log-level=trace", "-log-format=json"}
	agent := func(server string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + server + `__berth","arguments":{},` + agentMeta + "}}\n"
	}
	for _, tt := range []struct {
		args   []string
		server string
		stdin  string
		asks   string // the last method
	}{
		{args: []string{"plan", "-json", "-contact=all"}, server: "server.office", asks: "tools/list"},
		{args: []string{"plan", "-json", "-contact=all"}, server: "server.depot", asks: "tools/list"},
		{args: []string{"verify", "-json", "-contact=all"}, server: "server.depot", asks: "tools/list"},
		{args: []string{"apply", "-json", "-contact=all", "-auto-approve"}, server: "server.office", asks: "tools/list"},
		{args: []string{"call", "-json", "-contact=all", "server.office.tool.berth", "{}"}, server: "server.office", asks: "tools/call"},
		{args: []string{"call", "-contact=all", "server.depot.tool.berth", "{}"}, server: "server.depot", asks: "tools/call"},
		{args: []string{"serve", "-stdio", "-agent=pilot"}, server: "server.office", stdin: agent("office"), asks: "tools/call"},
		{args: []string{"serve", "-stdio", "-agent=pilot"}, server: "server.depot", stdin: agent("depot"), asks: "tools/call"},
		{args: []string{"discover", "-json", office.URL}, server: "server.server_127_0_0_1", asks: "tools/list"},
	} {
		p.stdin = tt.stdin
		_, plain, _ := p.streams(tt.args...)
		code, out, log := p.streams(append(tt.args, trace...)...)
		p.stdin = ""
		name := strings.Join(tt.args, " ")
		if code != 0 || out == "" || out != plain {
			t.Errorf("%s exited %d and printed %.300s, without a trace %.300s", name, code, out, plain)
		}
		records := logged(t, log)
		for _, method := range []string{"server/discover", tt.asks} {
			for _, way := range []string{"sent", "received"} {
				i := slices.IndexFunc(records, func(r map[string]any) bool {
					return is(r, map[string]any{"level": "TRACE", "msg": way, "server": tt.server, "method": method})
				})
				if i < 0 {
					t.Errorf("%s: no record of %s %s of %s in\n%s", name, method, way, tt.server, log)
					continue
				}
				if r := records[i]; r["id"] == nil || r["size"].(float64) < 50 || !strings.HasPrefix(r["text"].(string), `{"jsonrpc":"2.0","id":`) {
					t.Errorf("%s: %s %s is %v", name, method, way, r)
				}
			}
		}
		if tt.stdin != "" {
			for way, text := range map[string]string{"received": strings.TrimSpace(tt.stdin), "sent": strings.TrimSpace(out)} {
				if !has(records, map[string]any{"level": "TRACE", "msg": way, "agent": "pilot", "text": text, "size": float64(len(text))}) {
					t.Errorf("%s: no record of what the agent has %s in\n%s", name, way, log)
				}
			}
		}
		switch {
		case tt.server == "server.depot":
			if !has(records, map[string]any{"level": "DEBUG", "msg": "start", "server": tt.server}) || !has(records, map[string]any{"level": "DEBUG", "msg": "exit", "server": tt.server}) ||
				!strings.Contains(log, `"CANARY"`) || !has(records, map[string]any{"msg": "stderr", "text": strings.Repeat("p", 200)}) {
				t.Errorf("%s: the child is not told:\n%s", name, log)
			}
		case !has(records, map[string]any{"msg": "status", "server": tt.server, "status": 200.0}):
			t.Errorf("%s: no status in\n%s", name, log)
		case tt.server == "server.office":
			if !strings.Contains(log, `"url":"`+office.URL+`/${urlencode(var.path)}/mcp?k=${urlencode(var.query)}"`) || !strings.Contains(log, `"Authorization"`) {
				t.Errorf("%s: no URL in references or no names of headers:\n%s", name, log)
			}
		}
	}
	p.clean(c.but())

	for _, tt := range []struct {
		env  string
		args []string
		want []string // messages in the log; none: there is no log
	}{
		{"", nil, nil},
		{"", []string{"-log-level=info"}, nil}, // plan has nothing to say there
		{"", []string{"-log-level=debug"}, []string{"msg=start", "msg=exit"}},
		{"trace", nil, []string{"msg=start", "msg=sent", "msg=received", "msg=status", "msg=stderr", "msg=exit", "level=TRACE"}},
		{"trace", []string{"-log-level=error"}, nil},
		{"error", []string{"-log-level", "trace"}, []string{"msg=sent"}},
	} {
		p.env["MCPCAT_LOG"] = tt.env
		code, _, log := p.streams(append([]string{"plan", "-json", "-contact=all"}, tt.args...)...)
		if code != 0 || tt.want == nil && log != "" {
			t.Errorf("MCPCAT_LOG=%s %q: exit %d, log %.300s", tt.env, tt.args, code, log)
		}
		for _, want := range tt.want {
			if !strings.Contains(log, want) {
				t.Errorf("MCPCAT_LOG=%s %q: no %s in\n%s", tt.env, tt.args, want, log)
			}
		}
		if !slices.Contains(tt.want, "msg=sent") && strings.Contains(log, "msg=sent") {
			t.Errorf("MCPCAT_LOG=%s %q: messages in\n%s", tt.env, tt.args, log)
		}
	}
	for _, tt := range []struct {
		env  string
		args []string
		want string
	}{
		{"loud", []string{"version"}, "MCPCAT_LOG: got \"loud\", want error, warn, info, debug or trace"},
		{"", []string{"validate", "-log-level=loud"}, "want error, warn, info, debug or trace"},
		{"", []string{"validate", "-log-format=xml"}, "want text or json"},
	} {
		p.env["MCPCAT_LOG"] = tt.env
		if code, _, log := p.streams(tt.args...); code != 1 || !strings.Contains(strings.Join(strings.Fields(log), " "), tt.want) {
			t.Errorf("%q with MCPCAT_LOG=%s: exit %d: %s", tt.args, tt.env, code, log)
		}
	}
}

// TestTraceOfAnAgentIsBounded: what an agent says is cut at 4 KiB, and a secret at the cut leaves nothing of itself.
func TestTraceOfAnAgentIsBounded(t *testing.T) {
	const bound = 4 << 10
	token, said := echoed["plain"], "nothing"
	p := newEchoPlace(t, token, fmt.Sprintf(httpBlock, echoServer(t, "", &said, nil), bearer))
	p.file("agent.catalog.hcl", "agent \"pilot\" {\n  tools = [server.office]\n}\n")
	p.pinned()
	traced := func(pad int) string {
		t.Helper()
		p.stdin = `{"jsonrpc":"2.0","id":1,"method":"x","params":{"x":"` + strings.Repeat("p", pad) + token + "\"}}\n"
		_, _, log := p.streams("serve", "-stdio", "-agent=pilot", "-log-level=trace", "-log-format=json")
		for _, r := range logged(t, log) {
			if r["msg"] == "received" && r["agent"] == "pilot" {
				if piece := pieceIn([]byte(log), token); piece != "" {
					t.Fatalf("behind %d bytes %q is in %.300s", pad, piece, log)
				}
				return r["text"].(string)
			}
		}
		t.Fatalf("no record in %s", log)
		return ""
	}
	if got := traced(100); !strings.HasSuffix(got, `p(sensitive)"}}`) {
		t.Errorf("a short message is traced as %s", got)
	}
	for pad := bound - 100; pad < bound; pad += 3 {
		if got := traced(pad); len(got) > bound+len("…") {
			t.Errorf("%d bytes are shown", len(got))
		}
	}
	if got := traced(bound); !strings.HasSuffix(got, "ppp…") || len(got) != bound+len("…") {
		t.Errorf("a long message is traced as …%s", got[len(got)-20:])
	}
}
