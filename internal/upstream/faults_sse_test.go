//go:build linux

package upstream

import (
	"maps"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

const (
	quiet      = "TimeoutError M: an answer on an open event stream (N events so far)"
	lostEvents = "LostError on an event stream"
)

// sseWants says what becomes of each fault of a stream of events.
func sseWants() map[string]want {
	const carrier = "an event is not a JSON-RPC message"
	listen := mcptest.StepListen
	wants := map[string]want{
		"no-event-then-silence": {kind: "no answer in the stream", seen: quiet},
		"notifications-then-silence": {
			kind: "no answer in the stream", seen: quiet,
			at: at(listen, "ProtocolError  notifications/message: came before the acknowledgement"), kinds: at(listen, "event before acknowledgement"),
		},
		"endless-comments":           {kind: "no answer in the stream", seen: quiet},
		"endless-comment":            {kind: "no answer in the stream", seen: quiet},
		"half-an-event-then-silence": {kind: "silence in an event", seen: "StallError an event"},
		"slow-event":                 {kind: "slow event", seen: "TimeoutError M: the rest of an event"},
		"half-an-event-then-end":     {kind: "lost in the stream", seen: lostEvents},
		"half-an-event-then-close":   {kind: "lost in the stream", seen: lostEvents},
		"half-an-event-then-reset":   {kind: "lost in the stream", seen: lostEvents},
		"no-blank-line":              {kind: "lost in the stream", seen: lostEvents},
		"ends-at-once":               {kind: "lost in the stream", seen: lostEvents},
		"closes-at-once":             {kind: "lost in the stream", seen: lostEvents},
		"resets":                     {kind: "lost in the stream", seen: lostEvents},
		"broken-chunk":               {kind: "not HTTP", seen: notHTTP},
		"event-over-limit":           {kind: "event too long", seen: "LimitError an event"},
		"endless-event":              {kind: "event too long", seen: "LimitError an event"},
		"endless-field":              {kind: "event too long", seen: "LimitError an event"},
		"endless-events":             {kind: "too many events", seen: "LimitError an event stream"},
		"progress-of-another":        {kind: "progress of another request", seen: "ProtocolError notifications/progress for a progress token that the request does not have"},
		"list-change":                {kind: "foreign notification", seen: "ProtocolError notifications/tools/list_changed on the stream of a M"},
		"cancellation":               {kind: "foreign notification", seen: "ProtocolError notifications/cancelled on the stream of a M"},
	}
	for _, m := range messageWants {
		w := m.want
		w.seen = strings.ReplaceAll(w.seen, "CARRIER", carrier)
		for _, name := range m.names {
			wants[name] = w
		}
	}
	maps.Copy(wants, listenWants)
	return wants
}
