package gate

import (
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// sight is what one walk over a server's list saw of one tool. The zero sight saw nothing.
type sight struct {
	complete   bool // the whole list was read
	listed     bool
	excluded   bool // listed, and left out by the client because it cannot be called over this transport
	digest     digest.Digest
	definition []byte
}

// pass is the reason of a call that is not refused.
const pass Reason = ""

// decide compares what is pinned with what was seen. Every proxied call stands on it.
func decide(pinned digest.Digest, s sight) Reason {
	switch {
	case !s.complete:
		return Unverified
	case !s.listed:
		return Missing
	case s.digest != pinned:
		return Drift
	case s.excluded:
		return Policy
	}
	return pass
}

// members are the names that MCP gives to the parts of a tool.
//
// Spec: 2026-07-28 server/tools#tool.
var members = map[string]bool{
	"name": true, "title": true, "description": true, "icons": true, "inputSchema": true, "outputSchema": true, "annotations": true, "_meta": true,
}

// changed names the members in which two definitions differ. A name that the server invented is "other".
func changed(pinned, live []byte) []string {
	lim := strictjson.Limits{}
	was, err := strictjson.AppendFields(nil, pinned, lim)
	if err != nil {
		return []string{"other"}
	}
	is, err := strictjson.AppendFields(nil, live, lim)
	if err != nil {
		return []string{"other"}
	}
	differ := map[string]bool{}
	values := map[string]strictjson.Value{}
	for _, f := range was {
		values[string(f.Name)] = f.Value
	}
	for _, f := range is {
		name := string(f.Name)
		if v, ok := values[name]; !ok || !strictjson.Equal(v, f.Value) {
			differ[name] = true
		}
		delete(values, name)
	}
	for name := range values {
		differ[name] = true
	}
	var out []string
	for name := range differ {
		if !members[name] {
			name = "other"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
