package mcptest

import (
	"strings"
	"time"
)

// event is a fault behind the header of a stream of events.
func event(name string, f func(x *Exchange, r Request, answer string)) Fault {
	return Fault{Name: name, Steps: allSteps, http: httpFault{event: f}}
}

// written is a fault that writes a text into a stream of events and ends the stream.
func written(name string, text func(r Request, answer string) string) Fault {
	return event(name, func(x *Exchange, r Request, answer string) {
		x.Body(text(r, answer))
		x.EndBody()
	})
}

// sseLegal is odd and right.
func sseLegal() []Fault {
	good := func(name string, text func(answer string) string) Fault {
		f := event(name, func(x *Exchange, _ Request, answer string) {
			x.Body(text(answer))
			x.Hold() // the client has what it needs
		})
		f.Legal, f.Steps = true, requests
		return f
	}
	endless := good("answer-then-endless-bytes", nil)
	endless.http.event = func(x *Exchange, _ Request, answer string) {
		x.Event(answer)
		x.Endless(x.Body, ": tide\n\n")
	}
	twice := good("second-answer", func(answer string) string { return "data: " + answer + "\n\ndata: " + answer + "\n\n" })
	twice.Steps = answered // nothing behind the answer is read
	note := good("unknown-notification", func(answer string) string {
		return `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}` + "\n\ndata: " + answer + "\n\n"
	})
	note.Steps = answered // nothing comes before an acknowledgement
	return []Fault{
		endless, twice, note,
		good("stream", func(answer string) string { return "data: " + answer + "\n\n" }),
		good("carriage-returns", func(answer string) string { return "data: " + answer + "\r\r" }),
		good("leading-byte-order-mark", func(answer string) string { return "\ufeffdata: " + answer + "\r\n\r\n" }),
		good("comments", func(answer string) string { return ": tide\n\n:\n\ndata: " + answer + "\n: tide\n\n" }),
		good("ids-and-retry", func(answer string) string { return "id: 7\nretry: 1\nevent: message\ndata: " + answer + "\n\n" }),
		good("other-events", func(answer string) string { return "event: tide\ndata: x\n\ndata\n\ndata: " + answer + "\n\n" }),
		good("several-data-lines", func(answer string) string { return "data: " + strings.Replace(answer, ",", ",\ndata: ", 1) + "\n\n" }),
	}
}

// sseFaults are the faults of streams of events.
func sseFaults() []Fault {
	endless := func(name, text string) Fault {
		return event(name, func(x *Exchange, _ Request, _ string) { x.Endless(x.Body, text) })
	}
	notOpen := func(f Fault) Fault { // an open subscription may wait for ever
		f.Steps = requests
		return f
	}
	slow := event("slow-event", func(x *Exchange, _ Request, answer string) {
		for i := range len(answer) {
			if !x.Body(answer[i:i+1]) || !x.Pause(50*time.Millisecond) {
				return
			}
		}
	})
	slow.Steps = requests
	// Without a pause, but no faster than a network: what it costs is bounded by time alone.
	comments := notOpen(event("endless-comments", func(x *Exchange, _ Request, _ string) {
		for x.Body(": "+strings.Repeat("tide ", 400)+"\n\n") && x.Pause(time.Millisecond) {
		}
	}))
	comment := notOpen(event("endless-comment", func(x *Exchange, _ Request, _ string) {
		for x.Body(": "+strings.Repeat("tide ", 400)) && x.Pause(time.Millisecond) {
		}
	}))
	flood := endless("endless-events", `data: {"jsonrpc":"2.0","method":"notifications/harbour"}`+"\n\n")
	flood.Steps = answered
	return []Fault{
		notOpen(event("no-event-then-silence", func(x *Exchange, _ Request, _ string) { x.Hold() })),
		notOpen(event("notifications-then-silence", func(x *Exchange, _ Request, _ string) {
			for range 3 {
				x.Event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
			}
			x.Hold()
		})),
		event("half-an-event-then-silence", func(x *Exchange, _ Request, answer string) { x.Body("data: " + half(answer)); x.Hold() }),
		event("half-an-event-then-end", func(x *Exchange, _ Request, answer string) { x.Body("data: " + half(answer)); x.EndBody() }),
		event("half-an-event-then-close", func(x *Exchange, _ Request, answer string) { x.Body("data: " + half(answer)) }),
		event("half-an-event-then-reset", func(x *Exchange, _ Request, answer string) {
			x.Body("data: " + half(answer))
			x.Pause(50 * time.Millisecond)
			x.Reset()
		}),
		event("no-blank-line", func(x *Exchange, _ Request, answer string) { x.Body("data: " + answer + "\n"); x.EndBody() }),
		slow,
		event("ends-at-once", func(x *Exchange, _ Request, _ string) { x.EndBody() }),
		event("closes-at-once", func(*Exchange, Request, string) {}),
		event("resets", func(x *Exchange, _ Request, _ string) { x.Pause(50 * time.Millisecond); x.Reset() }),
		event("broken-chunk", func(x *Exchange, _ Request, _ string) { x.Send("tide\r\n") }),
		event("event-over-limit", func(x *Exchange, r Request, _ string) {
			x.Body("data: " + respond(r.ID, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`) + "\n\n")
			x.EndBody()
		}),
		endless("endless-event", "data: x\n"),
		endless("endless-field", "data: "),
		comments, comment, flood,
		foreignNote("progress-of-another", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`),
		foreignNote("list-change", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`),
		foreignNote("cancellation", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`),
	}
}

// foreignNote is a notification that cannot belong to the request whose stream it is on.
func foreignNote(name, message string) Fault {
	f := written(name, func(_ Request, answer string) string { return "data: " + message + "\n\ndata: " + answer + "\n\n" })
	f.Steps = answered
	return f
}

// sseMessages are the messages that are wrong whatever carries them, and those of subscriptions.
func sseMessages() []Fault {
	var out []Fault
	for _, m := range messageFaults {
		out = append(out, written(m.name, func(r Request, _ string) string { return "data: " + m.make(r) + "\n\n" }))
	}
	return append(out, listenFaults(func(text func(r Request) string) Fault {
		return written("", func(r Request, _ string) string { return text(r) })
	}, func(s string) string { return "data: " + s + "\n\n" })...)
}
