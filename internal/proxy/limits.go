package proxy

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Bounds on what all agents together may make HTTPServer keep.
const (
	// MaxConns is how many connections Limit lets through at a time.
	MaxConns = 512
	// maxBodies is how many bytes of request bodies are kept at a time, not counting the first freeBody bytes of each. With
	// MaxConns that is at most 96 MiB.
	maxBodies = 64 << 20
	freeBody  = 64 << 10
	// firstBody is what is made ready for a body before its first byte, whatever its length is said to be.
	firstBody = 16 << 10
)

// errBusy says that too many bytes of other bodies are kept.
var errBusy = errors.New("too many large requests at a time")

// budget counts bytes that are kept at a time.
type budget struct{ left atomic.Int64 }

func (b *budget) take(n int64) bool {
	if b.left.Add(-n) >= 0 {
		return true
	}
	b.left.Add(n)
	return false
}

func (b *budget) give(n int64) { b.left.Add(n) }

// body is a request body as far as it was read. What is ready for it grows with what has arrived: a length in a header
// makes nothing happen.
type body struct {
	bytes   []byte
	budget  *budget
	charged int64
}

// release gives back what the body was charged for; its bytes are not to be used any more.
func (b *body) release() {
	b.budget.give(b.charged)
	b.bytes, b.charged = nil, 0
}

// grow makes room for at least one more byte, at most limit bytes in all.
func (b *body) grow(limit int) error {
	size := min(max(2*cap(b.bytes), firstBody), limit)
	if cost := int64(size-freeBody) - b.charged; cost > 0 {
		if !b.budget.take(cost) {
			return errBusy
		}
		b.charged += cost
	}
	b.bytes = append(make([]byte, 0, size), b.bytes...)
	return nil
}

// readBody reads a body to the end, so that the connection is watched for a client that leaves. The error is a
// *http.MaxBytesError for one of more than MaxMessageBytes, errBusy, or that of reading. The caller releases the body, also
// after an error.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (*body, error) {
	b := &body{budget: &s.bodies}
	if r.ContentLength > MaxMessageBytes {
		return b, &http.MaxBytesError{Limit: MaxMessageBytes}
	}
	limit := MaxMessageBytes + 1 // the reader ends before that
	if r.ContentLength >= 0 {
		limit = int(r.ContentLength)
	}
	reader := http.MaxBytesReader(w, r.Body, MaxMessageBytes)
	for {
		if len(b.bytes) == limit {
			n, err := io.ReadFull(reader, make([]byte, 1)) // sees the end
			if n == 0 && err == io.EOF {
				err = nil
			}
			return b, err
		}
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(limit); err != nil {
				return b, err
			}
		}
		n, err := reader.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		switch {
		case err == io.EOF && r.ContentLength < 0:
			return b, nil
		case err == io.EOF && len(b.bytes) == limit:
			return b, nil
		case err == io.EOF:
			return b, io.ErrUnexpectedEOF
		case err != nil:
			return b, err
		}
	}
}

// Limit returns a listener that has at most MaxConns connections open at a time. One more is closed at once: an agent
// that is told so can try again, one that waits in a queue cannot know.
func Limit(l net.Listener) net.Listener { return &limitListener{Listener: l, max: MaxConns} }

type limitListener struct {
	net.Listener
	max  int64
	open atomic.Int64
}

func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) > l.max {
			l.open.Add(-1)
			_ = c.Close() // nothing was promised to the other side
			continue
		}
		leave := sync.OnceFunc(func() { l.open.Add(-1) })
		if tcp, ok := c.(*net.TCPConn); ok {
			return &limitedTCP{tcp, leave}, nil
		}
		return &limitedConn{c, leave}, nil
	}
}

// limitedTCP keeps the methods that net/http looks for in a TCP connection.
type limitedTCP struct {
	*net.TCPConn
	leave func()
}

func (c *limitedTCP) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}

type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
