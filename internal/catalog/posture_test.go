package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func TestPostureIsCanonicalAndReadsBack(t *testing.T) {
	gates := []Gate{
		{Recheck{Mode: RecheckEachCall}},
		{Recheck{Mode: RecheckInterval, Every: 90 * time.Second}},
		{Recheck{Mode: RecheckListChanged}},
		{Recheck{Mode: RecheckListChanged, MaxAge: 5 * time.Minute}},
	}
	for _, g := range gates {
		got, err := ParseGate(g.Posture())
		if err != nil || got != g {
			t.Errorf("ParseGate(%s) = %v, %v, want %v", g.Posture(), got, err, g)
		}
	}
	for _, raw := range []string{
		string(gates[1].Posture()), string(gates[3].Posture()), string(DefaultTimeouts.Posture()),
		string(Limits{Tools: 1, ListBytes: 2, ResultBytes: 3, SchemaBytes: 4, Pages: 5, Concurrency: 6}.Posture()),
	} {
		canonical, err := strictjson.AppendCanonical(nil, []byte(raw), strictjson.Limits{})
		if err != nil || string(canonical) != raw {
			t.Errorf("canonical form of %s = %s, %v", raw, canonical, err)
		}
	}
	for _, raw := range []string{``, `[]`, `{}`, `{"recheck":"interval"}`, `{"recheck":"each_call","every":"1s"}`, `{"recheck":"never"}`, `{"recheck":1}`, `{"every":"x","recheck":"interval"}`, `{"recheck":"each_call","more":"x"}`, `{"max_age":"1s","recheck":"each_call"}`, `{"max_age":"0s","recheck":"list_changed"}`, `{"every":"1s","recheck":"list_changed"}`, `{"every":"1s","max_age":"1s","recheck":"interval"}`} {
		if g, err := ParseGate([]byte(raw)); err == nil {
			t.Errorf("ParseGate(%s) = %v, want an error", raw, g)
		}
	}
}

// TestCheckApplied: what the lock does not hold was not applied, and nothing looser than what it holds passes.
func TestCheckApplied(t *testing.T) {
	settings := func(s string) string { return "mcpcat {\n  gate {\n    " + s + "\n  }\n}\n" }
	server := func(s string) string {
		return "server \"a\" {\n" + s + "\n  stdio {\n    command = \"server\"\n  }\n}\n"
	}
	applied := func(text string) Applied {
		c := accepted(t, one(text))
		s := c.Servers[0]
		return Applied{
			Endpoint: s.EndpointDigest(), Protocol: Protocol, Timeouts: s.Timeouts.Posture(), Limits: s.Limits.Posture(),
			Recheck: s.RecheckPosture(), Gate: c.Gate.Posture(),
		}
	}
	const limits = "limits {\n tools = 64\n}"
	for _, test := range []struct{ was, is, want string }{
		{server(""), server(""), ""},
		{server(""), server(limits), "limits"},
		{server(limits), server(""), "limits"}, // looser
		{server(limits), server("limits {\n tools = 63\n}"), "limits"},
		{server(limits), server(limits), ""},
		{server(""), server("expect {\n name = \"a\"\n}"), "endpoint"},
		{server("expect {\n name = \"a\"\n}"), server(""), "endpoint"},
		{server(""), server("timeouts {\n call = \"1s\"\n}"), "timeouts"},
		{server(""), server("recheck = \"60s\""), "recheck"},
		{server(""), server("recheck = \"list_changed\""), "recheck"},
		{server(""), server("recheck = \"each_call\""), ""},
		{server("recheck = \"60s\""), server("recheck = \"61s\""), "recheck"},
		{server("recheck = \"60s\""), server("recheck = \"59s\""), ""},
		{server("recheck = \"60s\""), server(""), ""},
		{server("recheck = \"60s\""), server("recheck = \"list_changed\""), "recheck"},
		{server("recheck = \"list_changed\""), server("recheck = \"60s\""), "recheck"},
		{server("recheck = \"each_call\"") + settings(`recheck = "60s"`), server("") + settings(`recheck = "60s"`), "recheck"},
		{server("") + settings(`recheck = "60s"`), server("recheck = \"60s\"") + settings(`recheck = "60s"`), ""},
		{server("") + settings(`recheck = "60s"`), server("recheck = \"2m\"") + settings(`recheck = "60s"`), "recheck"},
	} {
		err := accepted(t, one(test.is)).Servers[0].CheckApplied(applied(test.was))
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("applied\n%s\ndeclared\n%s\n%v, want an error about %q", test.was, test.is, err, test.want)
		}
	}
	for was, is := range map[string]map[string]bool{
		`recheck = "list_changed"`: {`recheck = "list_changed"`: true, "recheck = \"list_changed\"\n max_age = \"1h\"": true, `recheck = "1s"`: false, `recheck = "each_call"`: true},
		"recheck = \"list_changed\"\n max_age = \"5m\"": {
			`recheck = "list_changed"`: false, "recheck = \"list_changed\"\n max_age = \"5m\"": true, "recheck = \"list_changed\"\n max_age = \"6m\"": false,
		},
		`recheck = "each_call"`: {`recheck = "list_changed"`: false, `recheck = "1s"`: false},
	} {
		for now, want := range is {
			if got := accepted(t, one(settings(now))).Gate.AtLeast(accepted(t, one(settings(was))).Gate.Posture()); got != want {
				t.Errorf("%s after %s: AtLeast = %v", now, was, got)
			}
		}
	}
}
