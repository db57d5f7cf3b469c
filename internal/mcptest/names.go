package mcptest

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
)

// names answers for the names of faulty peers, as a name server on a loopback port.
var names nameServer

type nameServer struct {
	mu    sync.Mutex
	conn  net.PacketConn
	count int
	hosts map[string]*Faulty
}

// Resolver starts the name server that faulty peers with a name need, and returns a resolver that asks it and nobody
// else. A test binary puts it into net.DefaultResolver before its first test; stop ends the server.
func Resolver() (r *net.Resolver, stop func(), err error) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	names.mu.Lock()
	defer names.mu.Unlock()
	if names.conn != nil {
		_ = conn.Close()
		return nil, nil, errors.New("the name server runs already")
	}
	names.conn, names.hosts = conn, map[string]*Faulty{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		names.serve(conn)
	}()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}
	return &net.Resolver{PreferGo: true, Dial: dial}, func() {
		_ = conn.Close()
		<-done
		names.mu.Lock()
		defer names.mu.Unlock()
		names.conn = nil
	}, nil
}

// add gives the peer a name of its own.
func (n *nameServer) add(t testing.TB, f *Faulty) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn == nil {
		t.Fatal("the fault needs the name server of mcptest.Resolver")
	}
	n.count++
	name := "peer" + itoa(n.count) + ".harbour.test"
	n.hosts[name] = f
	return name
}

func (n *nameServer) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.hosts, name)
}

func (n *nameServer) serve(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		size, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		query := buf[:size]
		n.mu.Lock()
		f := n.hosts[question(query)]
		n.mu.Unlock()
		reply := noSuchName(query)
		if f != nil {
			f.mu.Lock()
			lookup := f.lookup
			f.mu.Unlock()
			if lookup == nil {
				lookup = loopback
			}
			reply = lookup(query)
		}
		if reply != nil {
			_, _ = conn.WriteTo(reply, from)
		}
	}
}

// question is the name that a query asks for, lower case without the last dot; "" for what is no query.
func question(query []byte) string {
	var labels []string
	for at := 12; at < len(query); {
		n := int(query[at])
		if n == 0 {
			return strings.ToLower(strings.Join(labels, "."))
		}
		if at+1+n > len(query) {
			return ""
		}
		labels = append(labels, string(query[at+1:at+1+n]))
		at += 1 + n
	}
	return ""
}

// reply is the query as an answer with the code and answers behind the question (RFC 1035 section 4.1).
func reply(query []byte, code byte, answers ...[]byte) []byte {
	end := 12
	for end < len(query) && query[end] != 0 {
		end += 1 + int(query[end])
	}
	end += 5 // the last label, type and class
	if len(query) < end {
		return nil
	}
	out := append([]byte(nil), query[:end]...)
	out[2], out[3] = 0x81, 0x80|code
	binary.BigEndian.PutUint16(out[4:], 1)
	binary.BigEndian.PutUint16(out[6:], uint16(len(answers)))
	binary.BigEndian.PutUint32(out[8:], 0)
	for _, a := range answers {
		out = append(out, a...)
	}
	return out
}

func noSuchName(query []byte) []byte { return reply(query, 3) }

// address is a lookup with one IPv4 address.
func address(ip [4]byte) func([]byte) []byte {
	return func(query []byte) []byte {
		plain := reply(query, 0)
		if plain == nil || plain[len(plain)-3] != 1 { // another type than A
			return plain
		}
		return reply(query, 0, append([]byte{0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4}, ip[:]...))
	}
}

var loopback = address([4]byte{127, 0, 0, 1})
