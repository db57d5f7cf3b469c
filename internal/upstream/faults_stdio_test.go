//go:build linux

package upstream

import (
	"maps"
	"strings"
)

// stdioWants says what becomes of each fault of a child process.
func stdioWants() map[string]want {
	const carrier = "stdout carries something that is not a JSON-RPC message"
	wants := map[string]want{
		"banner":                    {kind: "not JSON", seen: "ProtocolError " + carrier + " (at the top: got a byte, want a value)", ends: true},
		"pretty-printed":            {kind: "JSON cut off", seen: "ProtocolError " + carrier + " (at the top: got the end of the text)", ends: true},
		"long-line":                 {kind: "line too long", seen: "LimitError a line on stdout", ends: true},
		"endless-line":              {kind: "line too long", seen: "LimitError a line on stdout", ends: true},
		"notification-flood":        {kind: "no answer", seen: running, stuck: true},
		"endless-empty-lines":       {kind: "no answer", seen: running, stuck: true},
		"answer-after-cancellation": {kind: "no answer", seen: running},
		"second-answer":             {kind: "answer to nobody", seen: "ProtocolError answer to id", ends: true},
		"no-answer":                 {kind: "no answer", seen: running, stuck: true},
		"no-answer-and-deaf":        {kind: "no answer", seen: running, stuck: true},
		"no-answer-and-stubborn":    {kind: "no answer", seen: running, stuck: true},
		"stderr-flood-no-answer":    {kind: "no answer", seen: running, stuck: true, stderr: `warning: \x1b[1mtide`},
		"half-a-line-then-silence":  {kind: "silence within a line", seen: "StallError a line", ends: true},
		"slow-line":                 {kind: "no answer", seen: "TimeoutError M: the rest of a line", stuck: true},
		"closed-stdin":              {kind: "reads no more", seen: "TransportError send", undelivered: true, ends: true},
		"never-reads":               {kind: "does not read", seen: "TimeoutError M: the server to read the request", undelivered: true, ends: true},
		"closed-stdout":             {kind: "closed its output", seen: "ExitError ", ends: true},
		"stderr-flood-then-exit":    {kind: "exited: exit status 3", seen: "ExitError exit status 3", ends: true, stderr: `warning: \x1b[1mtide`},
		"answer-without-line-end":   {kind: "exited: exit status 0", seen: "ExitError exit status 0", ends: true},
	}
	for name, status := range map[string]string{"exit-0": "exit status 0", "exit-3": "exit status 3", "killed": "signal: killed"} {
		w := want{kind: "exited: " + status, seen: "ExitError " + status, ends: true}
		wants[name+"-between"], wants[name+"-within-the-answer"] = w, w
		w.stderr = `cannot open the \x1b[31mtide table`
		wants[name] = w
	}
	for _, m := range messageWants {
		w := m.want
		w.seen = strings.ReplaceAll(w.seen, "CARRIER", carrier)
		w.ends = m.frame
		for _, name := range m.names {
			wants[name] = w
		}
	}
	maps.Copy(wants, listenWants)
	return wants
}

const running = "TimeoutError M: an answer (the process is running)"
