package mcptest

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"time"
)

// httpFaults are what a peer over HTTP can do wrong.
func httpFaults() []Fault {
	named := func(prefix string, over Transport, faults ...[]Fault) []Fault {
		out := slices.Concat(faults...)
		for i := range out {
			out[i].Name, out[i].Over = prefix+"/"+out[i].Name, over
			if out[i].Steps == nil {
				out[i].Steps = requests
			}
		}
		return out
	}
	return slices.Concat(
		named("http", OverHTTP, httpLegal(), httpConnections(), httpHeaders(), httpBodies(), httpMessages(), httpStatuses()),
		named("sse", OverHTTP, sseLegal(), sseFaults(), sseMessages()),
		named("tls", OverTLS, tlsFaults(), nameFaults()),
		named("http2", OverHTTP2, http2Faults()),
	)
}

// plain is a fault that has read the request and writes the whole answer.
func plain(name string, act func(x *Exchange, r Request, answer string)) Fault {
	return Fault{Name: name, http: httpFault{act: act}}
}

// raw is a fault that writes a text as its whole answer and closes the connection.
func raw(name string, text func(r Request, answer string) string) Fault {
	return plain(name, func(x *Exchange, r Request, answer string) { x.Send(text(r, answer)) })
}

// body is a good header with the length of a body.
func body(s string) string {
	return head("Content-Type: application/json", "Content-Length: "+itoa(len(s)), "Connection: close") + s
}

// answered are the steps that one JSON body answers.
var answered = Steps[:3]

// httpLegal is odd and right.
func httpLegal() []Fault {
	chunks := func(x *Exchange, _ Request, answer string) {
		x.Send(head("Content-Type: Application/JSON; charset=\"utf-8\"", "Transfer-Encoding: chunked", "Trailer: X-Tide", "Connection: close"))
		x.Body(half(answer))
		x.Pause(20 * time.Millisecond)
		x.Body(answer[len(answer)/2:])
		x.Send("0\r\nX-Tide: high\r\n\r\n")
	}
	out := []Fault{
		plain("chunked", chunks),
		raw("until-close", func(_ Request, answer string) string { return head("Content-Type: application/json") + answer }),
		raw("early-hints", func(_ Request, answer string) string {
			return "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + body(answer)
		}),
		raw("old-version", func(_ Request, answer string) string { return strings.Replace(body(answer), "HTTP/1.1", "HTTP/1.0", 1) }),
		raw("session-id", func(_ Request, answer string) string {
			return strings.Replace(body(answer), "\r\n", "\r\nMcp-Session-Id: 1\r\nSet-Cookie: a=b\r\n", 1)
		}),
	}
	kept := Fault{Name: "kept-connection", Steps: Steps[1:3], http: httpFault{kept: true, act: func(x *Exchange, _ Request, answer string) { x.Send(body(answer)) }}}
	out = append(out, kept)
	for i := range out {
		out[i].Legal = true
		if out[i].Steps == nil {
			out[i].Steps = answered
		}
	}
	return out
}

// httpConnections are the faults of connections.
func httpConnections() []Fault {
	accept := func(name string, f func(x *Exchange)) Fault { return Fault{Name: name, http: httpFault{accept: f}} }
	closed := func(name string, f func(x *Exchange)) Fault {
		return plain(name, func(x *Exchange, _ Request, _ string) { f(x) })
	}
	return []Fault{
		{Name: "refused", http: httpFault{before: func(f *Faulty) { _ = f.listener.Close() }}},
		{Name: "never-accepts", http: httpFault{before: func(f *Faulty) { f.fill() }}},
		// Behind the first byte, so that the client has begun: before that it is as if nobody listened.
		accept("closes-at-first-byte", func(x *Exchange) { _, _ = x.raw.Read(make([]byte, 1)) }),
		accept("resets-at-first-byte", func(x *Exchange) { _, _ = x.raw.Read(make([]byte, 1)); x.Reset() }),
		accept("accepts-and-reads-nothing", func(x *Exchange) { x.Freeze() }),
		{Name: "reads-header-only", Big: moreSocket, Steps: laterOnes, http: httpFault{}},
		closed("closes-before-answer", func(*Exchange) {}),
		closed("resets-before-answer", func(x *Exchange) { x.Reset() }),
		closed("no-answer", func(x *Exchange) { x.Hold() }),
		{Name: "resets-kept-connection", Steps: Steps[1:3], http: httpFault{kept: true, act: func(x *Exchange, _ Request, _ string) { x.Reset() }}},
		{Name: "closes-kept-connection", Steps: Steps[1:3], http: httpFault{kept: true, act: func(x *Exchange, _ Request, _ string) { _ = x.raw.Close() }}},
	}
}

// httpHeaders are the faults of status lines and headers.
func httpHeaders() []Fault {
	endless := func(name, start, line string) Fault {
		return plain(name, func(x *Exchange, _ Request, _ string) {
			x.Send(start)
			x.Endless(x.Send, line)
		})
	}
	text := func(name string, lines ...string) Fault {
		return raw(name, func(_ Request, answer string) string { return head(lines...) + answer })
	}
	halfHeader := "HTTP/1.1 200 OK\r\nContent-Type: application/js"
	return []Fault{
		plain("half-a-header-then-silence", func(x *Exchange, _ Request, _ string) { x.Send(halfHeader); x.Hold() }),
		plain("half-a-header-then-close", func(x *Exchange, _ Request, _ string) { x.Send(halfHeader) }),
		plain("half-a-header-then-reset", func(x *Exchange, _ Request, _ string) {
			x.Send(halfHeader)
			x.Pause(50 * time.Millisecond) // a reset overtakes what the client has not read
			x.Reset()
		}),
		plain("slow-header", func(x *Exchange, _ Request, answer string) { x.trickle(body(answer)) }),
		raw("garbage", func(Request, string) string { return "220 harbour.example ESMTP \x1b[31mready\x1b[0m\r\n" }),
		raw("binary-garbage", func(Request, string) string { return strings.Repeat("\x00\x01\xfe\xff", 64) + "\r\n\r\n" }),
		raw("text-status", func(_ Request, answer string) string { return "HTTP/1.1 two hundred\r\n\r\n" + answer }),
		raw("other-protocol", func(_ Request, answer string) string { return strings.Replace(body(answer), "HTTP/1.1", "RTSP/1.0", 1) }),
		endless("endless-status-line", "HTTP/1.1 200 ", "x"),
		endless("endless-header", "HTTP/1.1 200 OK\r\n", "X-Tide: high and low water of the harbour\r\n"),
		endless("endless-interim", "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
		text("header-without-colon", "Content-Type: application/json", "tide", "Connection: close"),
		text("length-text", "Content-Type: application/json", "Content-Length: many", "Connection: close"),
		text("length-negative", "Content-Type: application/json", "Content-Length: -1", "Connection: close"),
		text("length-twice", "Content-Type: application/json", "Content-Length: 10", "Content-Length: 11", "Connection: close"),
		text("unknown-transfer-encoding", "Content-Type: application/json", "Transfer-Encoding: tide", "Connection: close"),
		raw("upgrade", func(Request, string) string {
			return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
		}),
		text("no-content-type", "Connection: close"),
		text("two-content-types", "Content-Type: application/json", "Content-Type: text/event-stream", "Connection: close"),
		text("text-plain", "Content-Type: text/plain", "Connection: close"),
		raw("web-page", func(Request, string) string {
			return head("Content-Type: text/html; charset=utf-8", "Connection: close") + "<!DOCTYPE html><title>Harbour</title>\n"
		}),
	}
}

// trickle sends a text byte by byte, more slowly than a whole one would arrive in time and faster than any pause allowed.
func (x *Exchange) trickle(s string) {
	for i := range len(s) {
		if !x.Send(s[i:i+1]) || !x.Pause(50*time.Millisecond) {
			return
		}
	}
}

// httpBodies are the faults of bodies.
func httpBodies() []Fault {
	length := func(name string, more int, end func(x *Exchange)) Fault {
		return plain(name, func(x *Exchange, _ Request, answer string) {
			x.Send(head("Content-Type: application/json", "Content-Length: "+itoa(len(answer)+more)) + answer)
			end(x)
		})
	}
	begun := func(name string, end func(x *Exchange, rest string)) Fault {
		return plain(name, func(x *Exchange, _ Request, answer string) {
			x.Send(head("Content-Type: application/json", "Content-Length: "+itoa(len(answer))) + half(answer))
			end(x, answer[len(answer)/2:])
		})
	}
	chunked := func(name string, f func(x *Exchange, answer string)) Fault {
		return plain(name, func(x *Exchange, _ Request, answer string) {
			x.Send(head("Content-Type: application/json", "Transfer-Encoding: chunked"))
			f(x, answer)
		})
	}
	nothing := func(*Exchange) {}
	long := length("long-body", -1, nothing)
	long.Steps = answered
	return []Fault{
		length("short-body", 100, nothing),
		length("short-body-then-silence", 100, func(x *Exchange) { x.Hold() }),
		long,
		raw("empty-body", func(Request, string) string { return body("") }),
		begun("half-a-body-then-silence", func(x *Exchange, _ string) { x.Hold() }),
		begun("half-a-body-then-close", func(*Exchange, string) {}),
		begun("half-a-body-then-reset", func(x *Exchange, _ string) { x.Pause(50 * time.Millisecond); x.Reset() }),
		plain("slow-body", func(x *Exchange, _ Request, answer string) {
			x.Send(head("Content-Type: application/json", "Content-Length: "+itoa(len(answer))))
			x.trickle(answer)
		}),
		chunked("broken-chunk-size", func(x *Exchange, answer string) { x.Send("tide\r\n" + answer + "\r\n0\r\n\r\n") }),
		chunked("broken-chunk-end", func(x *Exchange, answer string) { x.Send("5\r\n" + answer + "\r\n0\r\n\r\n") }),
		chunked("no-last-chunk", func(x *Exchange, answer string) { x.Body(answer) }),
		chunked("endless-chunk-extension", func(x *Exchange, _ string) { x.Send("5;"); x.Endless(x.Send, "x") }),
		chunked("endless-trailer", func(x *Exchange, answer string) {
			x.Body(answer)
			x.Send("0\r\n")
			x.Endless(x.Send, "X-Tide: high and low water of the harbour\r\n")
		}),
		chunked("endless-body", func(x *Exchange, _ string) { x.Endless(x.Body, `{"x":`) }),
		raw("body-over-limit", func(r Request, _ string) string { return body(respond(r.ID, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)) }),
		raw("length-over-limit", func(Request, string) string {
			return head("Content-Type: application/json", "Content-Length: 9223372036854775807") + "{"
		}),
		raw("compressed", func(_ Request, answer string) string {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			_, _ = w.Write([]byte(answer)) // a buffer takes everything
			_ = w.Close()
			return head("Content-Type: application/json", "Content-Encoding: gzip", "Content-Length: "+itoa(b.Len())) + b.String()
		}),
	}
}

// httpMessages are the messages that are wrong whatever carries them.
func httpMessages() []Fault {
	var out []Fault
	for _, m := range messageFaults {
		out = append(out, raw(m.name, func(r Request, _ string) string { return body(m.make(r)) }))
	}
	return out
}
