package mcptest

import (
	"strings"
	"time"
)

// Error codes of RFC 9113 section 7.
const (
	codeNone     = 0x0
	codeProtocol = 0x1
	codeInternal = 0x2
	codeRefused  = 0x7
	codeCancel   = 0x8
	codeCalm     = 0xb
	codeHTTP11   = 0xd
)

// http2Faults are the faults that only frames can show; bodies and messages are those of HTTP/1.1.
func http2Faults() []Fault {
	act := func(name string, f func(h *framed, stream uint32, r Request, answer string)) Fault {
		return Fault{Name: name, frame: frameFault{act: f}}
	}
	open := func(f Fault) Fault {
		f.Steps = allSteps
		return f
	}
	code := func(name string, code uint32) Fault {
		return open(act(name, func(h *framed, stream uint32, _ Request, _ string) { h.reset(stream, code) }))
	}
	goAway := func(last, code uint32) string { return number(last) + number(code) + "high \x1b[31mtide\x1b[0m" }
	flood := func(name string, frame func(h *framed, stream uint32) bool) Fault {
		return act(name, func(h *framed, stream uint32, _ Request, _ string) {
			// With a moment now and then, since both sides run on the same processors.
			for n := 0; frame(h, stream); n++ {
				if n%8 == 7 && !h.x.Pause(time.Millisecond) {
					return
				}
			}
		})
	}
	broken := func(name string, text func(stream uint32) string) Fault {
		return act(name, func(h *framed, stream uint32, _ Request, _ string) { h.send(text(stream)) })
	}
	kind := func(kind, flags byte, stream uint32, payload string) string {
		n := len(payload)
		return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}) + number(stream) + payload
	}
	jsonHead := func(h *framed, stream uint32) { h.head(stream, 0, "200", "content-type", "application/json") }
	control := act("control", func(h *framed, stream uint32, _ Request, answer string) {
		jsonHead(h, stream)
		h.frame(frameData, flagEndStream, stream, answer)
	})
	control.Legal, control.Steps = true, answered
	interim := act("interim-answers", func(h *framed, stream uint32, _ Request, answer string) {
		h.head(stream, 0, "103", "link", "</x>")
		h.head(stream, 0, "200", "content-type", "application/json")
		h.frame(frameData, 0, stream, answer)
		h.frame(frameHeaders, flagEndHeaders|flagEndStream, stream, block("x-tide", "high"))
	})
	interim.Legal, interim.Steps = true, answered
	// What the server says it has not looked at may be sent once more (RFC 9113 section 8.7), and no oftener.
	refuse := func(h *framed, stream uint32, _ Request, _ string) { h.reset(stream, codeRefused) }
	leave := func(h *framed, stream uint32, _ Request, _ string) {
		h.frame(frameGoAway, 0, 0, goAway(max(stream, 2)-2, codeNone))
	}
	untouched := func(name string, f func(h *framed, stream uint32, _ Request, _ string), always bool) Fault {
		fault := act(name, f)
		fault.Untouched, fault.Legal, fault.always = true, !always, always
		return fault
	}
	return []Fault{
		control, interim,
		untouched("refuses-once", refuse, false),
		untouched("refuses-always", refuse, true),
		untouched("goes-away-once", leave, false),
		untouched("goes-away-always", leave, true),
		act("goaway", func(h *framed, stream uint32, _ Request, _ string) {
			h.frame(frameGoAway, 0, 0, goAway(stream, codeInternal))
			_ = h.x.raw.Close()
		}),
		act("goaway-calm", func(h *framed, stream uint32, _ Request, _ string) {
			h.frame(frameGoAway, 0, 0, goAway(stream, codeCalm))
		}),
		open(act("goaway-within-answer", func(h *framed, stream uint32, _ Request, answer string) {
			h.begin(stream, answer)
			h.frame(frameGoAway, 0, 0, goAway(stream, codeInternal))
			_ = h.x.raw.Close()
		})),
		code("reset-internal", codeInternal),
		code("reset-protocol", codeProtocol),
		code("reset-cancel", codeCancel),
		code("reset-none", codeNone),
		code("reset-http11-required", codeHTTP11),
		open(act("reset-within-answer", func(h *framed, stream uint32, _ Request, answer string) {
			h.begin(stream, answer)
			h.reset(stream, codeInternal)
		})),
		open(act("connection-reset", func(h *framed, _ uint32, _ Request, _ string) { h.x.Reset() })),
		open(act("connection-closed", func(h *framed, _ uint32, _ Request, _ string) { _ = h.x.raw.Close() })),
		act("no-answer", func(*framed, uint32, Request, string) {}),
		act("frozen", func(h *framed, _ uint32, _ Request, _ string) { h.freeze() }),
		act("frozen-within-answer", func(h *framed, stream uint32, _ Request, answer string) {
			h.begin(stream, answer)
			h.freeze()
		}),
		act("header-then-silence", func(h *framed, stream uint32, _ Request, _ string) { jsonHead(h, stream) }),
		open(act("half-a-body-then-silence", func(h *framed, stream uint32, _ Request, answer string) { h.begin(stream, answer) })),
		open(act("half-a-body-then-end", func(h *framed, stream uint32, _ Request, answer string) {
			h.begin(stream, answer)
			h.frame(frameData, flagEndStream, stream, "")
		})),
		act("header-ends-stream", func(h *framed, stream uint32, _ Request, _ string) {
			h.head(stream, flagEndStream, "200", "content-type", "application/json")
		}),
		{Name: "window-never-opened", Steps: laterOnes, frame: frameFault{before: func(h *framed) {
			h.frame(frameSettings, 0, 0, "\x00\x04"+number(0))
		}}},
		{Name: "no-streams", Legal: true, Steps: laterOnes, frame: frameFault{before: func(h *framed) {
			h.frame(frameSettings, 0, 0, "\x00\x03"+number(0))
		}}},
		{Name: "garbage-at-start", Steps: []Step{StepDiscover}, frame: frameFault{hello: func(h *framed) {
			h.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
		}}},
		flood("ping-flood", func(h *framed, _ uint32) bool { return h.frame(framePing, 0, 0, "12345678") }),
		flood("settings-flood", func(h *framed, _ uint32) bool { return h.frame(frameSettings, 0, 0, "\x00\x04\x00\x00\xff\xff") }),
		flood("window-flood", func(h *framed, stream uint32) bool { return h.frame(frameWindow, 0, stream, number(1)) }),
		flood("unknown-flood", func(h *framed, stream uint32) bool { return h.frame(0xee, 0, stream, strings.Repeat("x", 1<<10)) }),
		act("interim-flood", func(h *framed, stream uint32, _ Request, _ string) {
			for h.head(stream, 0, "103", "link", strings.Repeat("x", 1<<10)) {
			}
		}),
		act("empty-data-flood", func(h *framed, stream uint32, _ Request, _ string) {
			jsonHead(h, stream)
			for n := 0; h.frame(frameData, 0, stream, ""); n++ {
				if n%8 == 7 && !h.x.Pause(time.Millisecond) {
					return
				}
			}
		}),
		act("continuation-flood", func(h *framed, stream uint32, _ Request, _ string) {
			h.frame(frameHeaders, 0, stream, block(":status", "200"))
			for h.frame(frameContinuation, 0, stream, block("x-tide", strings.Repeat("x", 1<<10))) {
			}
		}),
		act("endless-body", func(h *framed, stream uint32, _ Request, _ string) {
			jsonHead(h, stream)
			for h.frame(frameData, 0, stream, strings.Repeat("x", 8<<10)) {
			}
		}),
		broken("frame-too-large", func(stream uint32) string { return "\xff\xff\xff\x00\x00" + number(stream) }),
		broken("data-on-stream-0", func(uint32) string { return kind(frameData, 0, 0, "x") }),
		broken("push", func(stream uint32) string {
			return kind(framePush, flagEndHeaders, stream, number(2)+block(":method", "GET"))
		}),
		broken("broken-block", func(stream uint32) string {
			return kind(frameHeaders, flagEndHeaders, stream, "\xff\xff\xff\xff\xff\xff")
		}),
		broken("no-status", func(stream uint32) string {
			return kind(frameHeaders, flagEndHeaders|flagEndStream, stream, block("content-type", "application/json"))
		}),
		broken("text-status", func(stream uint32) string {
			return kind(frameHeaders, flagEndHeaders|flagEndStream, stream, block(":status", "tide"))
		}),
		broken("window-overflow", func(uint32) string {
			return kind(frameWindow, 0, 0, number(1<<31-1)) + kind(frameWindow, 0, 0, number(1<<31-1))
		}),
		broken("garbage", func(uint32) string { return "220 harbour.example ESMTP \x1b[31mready\x1b[0m\r\n" }),
	}
}

// begin writes the header and half of the body, or half an event more if the stream is open.
func (h *framed) begin(stream uint32, answer string) {
	if h.x.f.step == StepEvents {
		h.frame(frameData, 0, stream, "data: "+half(answer))
		return
	}
	h.head(stream, 0, "200", "content-type", "application/json")
	h.frame(frameData, 0, stream, half(answer))
}
