package transport

import (
	"bytes"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
)

// http1Conn is a connection that speaks HTTP/1.1. It remembers how far the latest answer has come, which errors of net/http
// do not tell, and it hands out nothing behind an answer: net/http prints what it finds there, and a server may put there
// what it was sent in a header.
type http1Conn struct {
	net.Conn
	bytes atomic.Int64 // that were read
	begun atomic.Bool  // something was read since the last write
	ended atomic.Bool  // nothing more can be read
	asked atomic.Bool  // a request was written since the last answer began

	// Used by Read only, which net/http never calls twice at a time.
	answer answerEnd
	fault  error // of every further Read
}

var (
	errUnasked = errors.New("the server sent something that it was not asked for")
	errFolded  = errors.New("the answer has a header line that is folded")
)

func newHTTP1Conn(c net.Conn) *http1Conn {
	return &http1Conn{Conn: c, answer: answerEnd{part: partDone}}
}

func (c *http1Conn) Read(p []byte) (int, error) {
	if c.fault != nil {
		return 0, c.fault
	}
	n, err := c.Conn.Read(p)
	if err != nil {
		c.ended.Store(true)
	}
	if n == 0 {
		return 0, err
	}
	if c.answer.part == partDone {
		if !c.asked.Swap(false) {
			c.fault = errUnasked
			return 0, c.fault
		}
		c.answer = answerEnd{line: c.answer.line[:0]}
	}
	c.bytes.Add(int64(n))
	c.begun.Store(true)
	k := c.answer.take(p[:n])
	switch {
	case c.answer.folded:
		c.fault = errFolded
		return 0, c.fault
	case k < n:
		c.fault = errUnasked
		return k, nil
	}
	return n, err
}

func (c *http1Conn) Write(p []byte) (int, error) {
	c.begun.Store(false)
	c.asked.Store(true)
	return c.Conn.Write(p)
}

// The parts of an answer of HTTP/1.1.
type part uint8

const (
	partStatus part = iota
	partHeader
	partBody      // left bytes of it
	partChunkSize // a line
	partChunk     // left bytes of it, with the line end
	partTrailer   // lines
	partOpen      // it ends with the connection, or is malformed, and then net/http ends the connection
	partDone
)

// answerEnd finds the end of an answer to a POST, by the rules of net/http where the answer is well-formed.
//
// Spec: RFC 9112 section 6.3.
type answerEnd struct {
	part    part
	line    []byte // the line under way, at most lineStart bytes of it
	left    int64
	length  int64 // Content-Length, behind hasLength
	status  int
	old     bool // HTTP/1.0, which has no chunks
	chunked bool

	hasLength bool
	folded    bool // a header line is, which RFC 9112 lets a recipient refuse
}

// lineStart is how much of a line is kept: no line that matters is longer.
const lineStart = 256

// take looks at more of the answer and returns how much of it belongs there. It is all of p unless the answer ends in it.
func (a *answerEnd) take(p []byte) int {
	for i := 0; i < len(p); {
		switch a.part {
		case partDone:
			return i
		case partOpen:
			return len(p)
		case partBody, partChunk:
			n := min(a.left, int64(len(p)-i))
			i += int(n)
			if a.left -= n; a.left > 0 {
				return len(p)
			}
			if a.part == partBody {
				a.part = partDone
			} else {
				a.part = partChunkSize
			}
		default:
			end := bytes.IndexByte(p[i:], '\n')
			text := p[i:]
			if end >= 0 {
				text = p[i : i+end]
			}
			a.line = append(a.line, text[:min(len(text), lineStart-len(a.line))]...)
			if end < 0 {
				return len(p)
			}
			i += end + 1
			a.endLine(bytes.TrimRight(a.line, "\r"))
			a.line = a.line[:0]
		}
	}
	return len(p)
}

// endLine takes in a whole line, or the beginning of a long one.
func (a *answerEnd) endLine(line []byte) {
	switch a.part {
	case partStatus:
		version, rest, _ := bytes.Cut(line, []byte(" "))
		a.old = string(version) == "HTTP/1.0"
		code, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
		status, err := strconv.Atoi(string(code))
		a.status, a.part = status, partHeader
		if err != nil {
			a.part = partOpen
		}
	case partHeader:
		switch {
		case len(line) == 0:
			a.part = a.body()
		case line[0] == ' ' || line[0] == '\t':
			a.folded = true // nobody sends that, and it may hide how long the body is
		default:
			a.field(line)
		}
	case partChunkSize:
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseInt(string(bytes.TrimRight(size, " \t")), 16, 63)
		switch {
		case err != nil || n < 0:
			a.part = partOpen
		case n == 0:
			a.part = partTrailer
		default:
			a.part, a.left = partChunk, n+2
		}
	case partTrailer:
		if len(line) == 0 {
			a.part = partDone
		}
	}
}

// field looks for what says how long the body is.
func (a *answerEnd) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.Trim(value, " \t")
	switch {
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		a.chunked = !a.old && bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("Content-Length")):
		n, err := strconv.ParseUint(string(value), 10, 63)
		a.length, a.hasLength = int64(n), err == nil
	}
}

// body returns what comes behind the header.
func (a *answerEnd) body() part {
	switch {
	case a.status == 101:
		return partOpen
	case a.status < 200: // informational: the answer is yet to come
		*a = answerEnd{line: a.line}
		return partStatus
	case a.status == 204 || a.status == 304:
		return partDone
	case a.chunked:
		return partChunkSize
	case a.hasLength && a.length == 0:
		return partDone
	case a.hasLength:
		a.left = a.length
		return partBody
	}
	return partOpen
}
