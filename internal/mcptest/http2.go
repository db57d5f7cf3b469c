package mcptest

import (
	"encoding/binary"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// frameFault is what a faulty peer over HTTP/2 does; one connection serves all steps.
type frameFault struct {
	// hello runs in place of the peer's first SETTINGS.
	hello func(h *framed)
	// before runs before the answer of the step before is written.
	before func(h *framed)
	// act has the request on the stream and writes the whole answer; in an open subscription, what comes behind the
	// acknowledgement.
	act func(h *framed, stream uint32, r Request, answer string)
}

// The frames of RFC 9113 section 6, as far as they are used.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameSettings     = 0x4
	framePush         = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindow       = 0x8
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4

	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// framed is one connection over HTTP/2, written frame by frame. It knows as much of the protocol as one client needs that
// asks one thing after the other: header blocks of requests are not decoded, and windows are opened as wide as data comes.
type framed struct {
	x  *Exchange
	mu sync.Mutex // of writing

	frozen atomic.Bool
}

func (h *framed) serve() {
	hello := make([]byte, len(preface))
	if _, err := io.ReadFull(h.x.conn, hello); err != nil || string(hello) != preface {
		return
	}
	fault := &h.x.f.fault.frame
	if fault.hello != nil && h.x.f.due(true) {
		fault.hello(h)
	} else {
		h.frame(frameSettings, 0, 0, "")
	}
	var acting sync.WaitGroup
	defer acting.Wait()
	bodies := map[uint32][]byte{}
	var head [9]byte
	for {
		if _, err := io.ReadFull(h.x.conn, head[:]); err != nil {
			return
		}
		if h.frozen.Load() {
			h.x.Freeze()
			return
		}
		size := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
		kind, flags := head[3], head[4]
		stream := binary.BigEndian.Uint32(head[5:]) & 0x7fff_ffff
		payload := make([]byte, size)
		if _, err := io.ReadFull(h.x.conn, payload); err != nil {
			return
		}
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			h.frame(frameSettings, flagAck, 0, "")
		case kind == framePing && flags&flagAck == 0:
			h.frame(framePing, flagAck, 0, string(payload))
		case kind == frameData:
			bodies[stream] = append(bodies[stream], payload...)
			if size > 0 {
				h.frame(frameWindow, 0, 0, number(uint32(size)))
			}
			if flags&flagEndStream != 0 {
				r := parse(bodies[stream], map[string][]string{})
				delete(bodies, stream)
				acting.Go(func() { h.handle(stream, r) })
			}
		}
	}
}

// handle answers the request on the stream.
func (h *framed) handle(stream uint32, r Request) {
	f := h.x.f
	f.note(r)
	fault, step := &f.fault.frame, stepOf(r.Method)
	acts := fault.act != nil && step == f.step.request() && f.due(true)
	if acts && f.step != StepEvents {
		fault.act(h, stream, r, answer(r))
		return
	}
	if step == f.step.before() && fault.before != nil {
		fault.before(h)
	}
	if step != StepListen {
		h.head(stream, 0, "200", "content-type", "application/json")
		h.frame(frameData, flagEndStream, stream, answer(r))
		return
	}
	h.head(stream, 0, "200", "content-type", "text/event-stream")
	h.frame(frameData, 0, stream, "data: "+answer(r)+"\n\n")
	if acts {
		fault.act(h, stream, r, respond(r.ID, result(r)))
	}
}

// frame writes one frame and reports whether the connection took it.
func (h *framed) frame(kind, flags byte, stream uint32, payload string) bool {
	n := len(payload)
	return h.send(string([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}) + number(stream) + payload)
}

func (h *framed) send(s string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.frozen.Load() && h.x.Send(s)
}

// head writes the header of an answer as one HEADERS frame.
func (h *framed) head(stream uint32, flags byte, status string, fields ...string) bool {
	return h.frame(frameHeaders, flags|flagEndHeaders, stream, block(append([]string{":status", status}, fields...)...))
}

// block is a header block of literal fields that are not indexed (RFC 7541 section 6.2.2), without Huffman coding.
func block(fields ...string) string {
	var b strings.Builder
	for i := 0; i < len(fields); i += 2 {
		b.WriteByte(0)
		b.WriteString(hpack(fields[i]) + hpack(fields[i+1]))
	}
	return b.String()
}

// hpack is a string literal (RFC 7541 section 5.2).
func hpack(s string) string {
	n := len(s)
	if n < 127 {
		return string([]byte{byte(n)}) + s
	}
	prefix := []byte{127}
	for n -= 127; n >= 128; n /= 128 {
		prefix = append(prefix, byte(n%128)|128)
	}
	return string(append(prefix, byte(n))) + s
}

// number is 32 bits in the order of the network.
func number(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

// freeze makes the connection one whose other end has gone without a word: nothing is read and nothing written any more.
func (h *framed) freeze() { h.frozen.Store(true) }

// reset ends a stream with an error code (RFC 9113 section 7).
func (h *framed) reset(stream, code uint32) { h.frame(frameReset, 0, stream, number(code)) }
